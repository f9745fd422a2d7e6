// The script of the reference: search, copying, languages, trying out. Pages are whole without it.
"use strict";
(() => {
  const memory = (store) => ({
    get: (key) => { try { return store().getItem(key); } catch { return null; } },
    set: (key, value) => { try { store().setItem(key, value); } catch { /* a reader may refuse to be remembered */ } },
  });
  const kept = memory(() => localStorage);
  const session = memory(() => sessionStorage);
  const all = (selector, of = document) => [...of.querySelectorAll(selector)];
  const make = (name, props = {}, ...children) => {
    const element = Object.assign(document.createElement(name), props);
    element.append(...children);
    return element;
  };

  function painting() {
    for (const code of all('code[class^="language-"]')) code.replaceChildren(samples.paint(code.textContent, code.className.slice("language-".length)));
  }

  function copying() {
    for (const panel of all(".panel")) {
      const button = make("button", { type: "button", className: "copy", textContent: "Copy" });
      button.addEventListener("click", async () => {
        const shown = all("pre", panel).find((pre) => pre.offsetParent !== null);
        try {
          await navigator.clipboard.writeText(samples.copied(shown));
          button.textContent = "Copied";
        } catch {
          getSelection().selectAllChildren(shown);
          button.textContent = "Selected";
        }
        setTimeout(() => { button.textContent = "Copy"; }, 1500);
      });
      panel.querySelector(".bar").append(button);
    }
  }

  // One choice of language holds for every sample, and for the next visit.
  function languages() {
    const choose = (value) => {
      for (const input of all(".tabs input")) input.checked = input.value === value;
    };
    document.addEventListener("change", (event) => {
      if (!event.target.matches(".tabs input")) return;
      const before = event.target.getBoundingClientRect().top;
      choose(event.target.value);
      scrollBy({ top: event.target.getBoundingClientRect().top - before, behavior: "instant" });
      kept.set("language", event.target.value);
    });
    if (["javascript", "python", "go"].includes(kept.get("language"))) choose(kept.get("language"));
  }

  function contents() {
    const links = new Map(all(".nav .ops a, .contents a").map((a) => [a.hash.slice(1), a]));
    const mark = (id) => {
      for (const [key, a] of links) key === id ? a.setAttribute("aria-current", "true") : a.removeAttribute("aria-current");
    };
    const watch = new IntersectionObserver((entries) => {
      const seen = entries.find((entry) => entry.isIntersecting);
      if (seen) mark(seen.target.id);
    }, { rootMargin: "-25% 0px -70%" });
    all(".op, .guide h2[id]").forEach((section) => watch.observe(section));
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && location.hash === "#nav") location.hash = "main";
    });
  }

  function search() {
    const input = document.getElementById("search");
    const list = document.getElementById("results");
    const answer = new XMLHttpRequest(); // which reads a page without a sink of Trusted Types
    let chosen = -1;
    const close = () => {
      list.hidden = true;
      input.setAttribute("aria-expanded", "false");
      input.removeAttribute("aria-activedescendant");
    };
    const choose = (at) => {
      const items = all('[role="option"]', list);
      if (items.length === 0) return;
      chosen = (at + items.length) % items.length;
      items.forEach((item, i) => item.setAttribute("aria-selected", String(i === chosen)));
      items[chosen].scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-activedescendant", items[chosen].id);
    };
    const ask = () => {
      answer.abort();
      if (input.value.trim() === "") return close();
      list.setAttribute("aria-busy", "true");
      answer.open("GET", `${input.form.action}?q=${encodeURIComponent(input.value)}`);
      answer.responseType = "document";
      answer.send();
    };
    answer.onload = () => {
      if (answer.status !== 200) return close();
      const found = all(".found li", answer.response).slice(0, 10);
      found.forEach((item, i) => {
        item.id = `result-${i}`;
        item.setAttribute("role", "option");
        item.querySelector("a").tabIndex = -1;
      });
      list.replaceChildren(...(found.length > 0 ? found : [make("li", { className: "none", textContent: "Nothing found." })]));
      list.hidden = false;
      list.setAttribute("aria-busy", "false");
      input.setAttribute("aria-expanded", "true");
      choose(0);
    };
    input.addEventListener("input", ask);
    input.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown") choose(chosen + 1);
      else if (event.key === "ArrowUp") choose(chosen - 1);
      else if (event.key === "Escape") { input.value = ""; close(); return; }
      else return;
      event.preventDefault();
    });
    // Enter leads to what is chosen. What the list does not have, or not yet, and all of it by the button, is a page.
    input.form.addEventListener("submit", (event) => {
      const link = list.hidden || list.getAttribute("aria-busy") === "true" ? null : list.querySelector('[aria-selected="true"] a');
      if (!link) return;
      event.preventDefault();
      link.click();
    });
    input.form.querySelector("button").addEventListener("click", (event) => { if (event.detail > 0) close(); });
    list.addEventListener("click", close);
    document.addEventListener("click", (event) => { if (!event.target.closest(".search")) close(); });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.matches("input, textarea, select")) return;
      event.preventDefault();
      input.focus();
    });
  }

  function request(form) {
    let path = form.dataset.path;
    const query = new URLSearchParams();
    const key = form.querySelector(".key");
    const headers = key ? { Authorization: `Bearer ${key.value.trim()}` } : {};
    for (const field of all("[data-in]", form)) {
      const value = field.value.trim();
      if (value === "") continue;
      const name = field.dataset.name;
      if (field.dataset.in === "path") path = path.replace(`{${name}}`, encodeURIComponent(value));
      else if (field.dataset.in === "header") headers[name] = value;
      else if (field.dataset.repeats) value.split(",").forEach((part) => query.append(name, part.trim()));
      else query.append(name, value);
    }
    const body = form.querySelector("textarea")?.value;
    if (body !== undefined) headers["Content-Type"] = form.dataset.media;
    return [path + (query.size ? `?${query}` : ""), { method: form.dataset.method, headers, body, credentials: "omit", cache: "no-store" }];
  }

  const shownHeaders = ["location", "etag", "link", "x-has-more", "retry-after", "deprecation", "sunset", "idempotency-replayed",
    "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "x-request-id"];

  // Shows what a request is answered, or why it is not.
  async function show(outcome, asked) {
    const [status, took, heads, text] = [".status", ".took", ".heads", ".text"].map((s) => outcome.querySelector(s));
    const start = performance.now();
    try {
      const answer = await asked;
      const raw = await answer.text();
      outcome.classList.toggle("bad", !answer.ok);
      status.textContent = `${answer.status} ${answer.statusText}`.trim();
      took.textContent = `${Math.round(performance.now() - start)} ms`;
      heads.textContent = shownHeaders.filter((name) => answer.headers.has(name)).map((name) => `${name}: ${answer.headers.get(name)}`).join("\n");
      let pretty = raw;
      try { pretty = JSON.stringify(JSON.parse(raw), null, 2); } catch { /* shown as it came */ }
      text.replaceChildren(samples.paint(pretty, "json"));
      text.hidden = raw === "";
    } catch (error) {
      outcome.classList.add("bad");
      status.textContent = "No answer";
      took.textContent = error.message;
      heads.textContent = "";
      text.hidden = true;
    }
    heads.hidden = heads.textContent === "";
    outcome.hidden = false;
    outcome.scrollIntoView({ block: "nearest" });
  }

  // The sandbox that a key is of, if this tab made it.
  function sandboxOf(key) {
    const made = JSON.parse(session.get("sandbox"));
    return made?.key === key ? made : null;
  }

  // Makes a sandbox and returns its key, or shows why there is none and returns undefined.
  async function makeSandbox(form, outcome) {
    const asked = fetch(form.dataset.sandboxes, { method: "POST", credentials: "omit", cache: "no-store" });
    const answer = await asked.catch(() => null);
    if (!answer?.ok) return show(outcome, asked);
    const { workspace, key, expiresAt } = await answer.json();
    session.set("sandbox", JSON.stringify({ name: workspace.name, key, expiresAt }));
    return key;
  }

  function openConsole(form) {
    const signIn = make("form", { method: "post", action: form.dataset.signin, hidden: true },
      make("input", { type: "hidden", name: "key", value: form.querySelector(".key").value }));
    document.body.append(signIn);
    signIn.submit();
    signIn.remove();
  }

  const withoutKey = (form) => Boolean(form.dataset.sandboxes) && form.querySelector(".key").value.trim() === "";

  // Says how a reader without a key gets one, and what is in the tab of one who got it.
  function tellOfSandbox(form) {
    const told = form.querySelector(".own");
    if (!told) return;
    const made = sandboxOf(form.querySelector(".key").value.trim());
    form.querySelector(".send button").textContent = `${withoutKey(form) ? "Get a key and send" : "Send"} ${form.dataset.method}`;
    told.replaceChildren();
    if (withoutKey(form)) told.append("Without a key, you get a sandbox: a workspace of your own with pets and orders, for which you need not sign up. It is removed by itself.");
    if (!made) return;
    const end = make("time", { dateTime: made.expiresAt });
    const open = make("button", { type: "button", textContent: "Open it in the console" });
    open.addEventListener("click", () => openConsole(form));
    times.localise(end);
    told.append("The key is that of your sandbox, which lasts until ", end, ". It stays in this tab. ", open);
  }

  // Who is signed in to the console has ids of the own workspace in the forms, else they are of the demo.
  async function ownIds(forms) {
    const main = document.querySelector("[data-examples]");
    if (!main || forms.length === 0) return;
    let found;
    try {
      found = await (await fetch(main.dataset.examples)).json();
    } catch { return; } // there is no console
    if (!found.workspace) return;
    for (const form of forms) {
      delete form.dataset.sandboxes; // which would have other ids
      for (const field of all('[data-in="path"]', form)) {
        if (field.value === field.defaultValue) field.value = found[field.dataset.name] ?? field.value;
      }
      const body = form.querySelector("textarea");
      if (body && body.value === body.defaultValue) {
        body.value = body.value.replace(/"(petId|categoryId)": \d+/g, (text, name) => (found[name] ? `"${name}": ${found[name]}` : text));
      }
      form.querySelector(".whose").append("The ids are of your workspace ", make("bdi", { textContent: found.workspace }), ".");
    }
    for (const link of all("[data-console]")) {
      const id = found[link.dataset.console];
      if (id) link.href = `${link.href}/${id}`;
    }
  }

  // Answers by status in tabs, where without the script they stand one after another.
  function answers() {
    for (const list of all(".rest > .answers")) {
      const op = list.closest(".op").id;
      const items = [...list.children];
      if (items.length < 2) continue;
      const bar = make("div", { className: "statuses" });
      const tabs = items.map((item, i) => {
        const status = item.querySelector(".status").textContent;
        const panel = item.querySelector("div");
        panel.id = `${op}-${status}`;
        const tab = make("button", { type: "button", id: `${panel.id}-tab`, className: item.querySelector(".status").className, textContent: status });
        tab.setAttribute("role", "tab");
        tab.setAttribute("aria-controls", panel.id);
        item.setAttribute("role", "none");
        panel.setAttribute("role", "tabpanel");
        panel.setAttribute("aria-labelledby", tab.id);
        tab.addEventListener("click", () => choose(i));
        return tab;
      });
      const choose = (at) => {
        items.forEach((item, i) => item.classList.toggle("off", i !== at));
        tabs.forEach((tab, i) => {
          tab.setAttribute("aria-selected", String(i === at));
          tab.tabIndex = i === at ? 0 : -1;
        });
      };
      bar.setAttribute("role", "tablist");
      bar.setAttribute("aria-label", "Responses by status");
      bar.append(...tabs);
      bar.addEventListener("keydown", (event) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!by) return;
        event.preventDefault();
        const to = (tabs.indexOf(document.activeElement) + by + tabs.length) % tabs.length;
        choose(to);
        tabs[to].focus();
      });
      list.setAttribute("role", "none");
      list.before(bar);
      choose(0);
    }
  }

  function trying() {
    const keys = all(".try .key");
    const forms = all(".try form");
    const updates = forms.map((form) => samples.follow(form, request));
    const update = () => {
      updates.forEach((bring) => bring());
      forms.forEach(tellOfSandbox);
    };
    const enter = (value) => {
      session.set("key", value);
      keys.forEach((key) => { key.value = value; });
      update();
    };
    const before = session.get("key") ?? "";
    for (const key of keys) {
      key.value = Date.parse(sandboxOf(before)?.expiresAt) <= Date.now() ? "" : before;
      key.addEventListener("input", () => enter(key.value));
    }
    forms.forEach((form, i) => form.addEventListener("input", updates[i]));
    update();
    ownIds(forms).then(update);
    for (const box of all(".try")) {
      box.hidden = false;
      if (location.hash === `#${box.id}`) {
        box.open = true;
        box.scrollIntoView();
      }
      const form = box.querySelector("form");
      form.addEventListener("submit", async (event) => {
        event.preventDefault();
        const button = form.querySelector(".send button");
        const outcome = box.querySelector(".outcome");
        button.disabled = true;
        const made = withoutKey(form) ? await makeSandbox(form, outcome) : null;
        if (made) enter(made);
        if (made !== undefined) await show(outcome, fetch(...request(form)));
        button.disabled = false;
      });
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const part of [painting, copying, languages, contents, search, answers, trying]) part();
  });
})();
