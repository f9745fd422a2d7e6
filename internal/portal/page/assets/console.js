// The script of the console: forms that are sent once, pages that are live, copying. Pages are whole without it.
"use strict";
(() => {
  const all = (selector, of = document) => [...of.querySelectorAll(selector)];
  const make = (name, props = {}, ...children) => {
    const element = Object.assign(document.createElement(name), props);
    element.append(...children);
    return element;
  };

  // Resets that are near are counted down, to the server's clock as far as the page knows it.
  function countdown() {
    for (const time of all(".reset time")) {
      const left = Math.max(0, Math.ceil((new Date(time.dateTime) - Date.now()) / 1000));
      const [hours, minutes, seconds] = [Math.floor(left / 3600), Math.floor(left / 60) % 60, left % 60];
      if (hours) time.textContent = `in ${hours} h ${minutes} min`;
      else if (minutes) time.textContent = `in ${minutes} min ${seconds} s`;
      else time.textContent = `in ${seconds} s`;
    }
  }

  // A chart is read bar by bar.
  function chart(svg) {
    const titles = all(".columns title", svg).map((title) => title.textContent.replace(/^.* UTC: /, ""));
    const start = (i) => new Date(new Date(svg.dataset.from).getTime() + i * svg.dataset.seconds * 1000);
    times.bars(svg, titles.length, (i) => `${times.range(start(i), svg.dataset.seconds)}: ${titles[i]}`);
  }

  // The parts of a page that are live, and what the server sent of them, before anything is written into them.
  const parts = (of) => all("[data-live], .limits", of);
  let seen = [];
  addEventListener("DOMContentLoaded", () => { seen = parts(document).map((part) => part.cloneNode(true)); }, true);

  // A part is in use while a bar of it is read, text of it is selected, or something in it has the focus. That a table can be scrolled, and
  // has the focus for that, does not count.
  const regions = ".table, .wide";
  function used(part) {
    const [selection, focused] = [getSelection(), document.activeElement];
    return part.contains(focused) && !focused.matches(regions) || part.querySelector(".on") !== null
      || !selection.isCollapsed && selection.containsNode(part, true);
  }

  // Puts a part in the place of the one that is shown. Its tables are scrolled as they were, and keep the focus.
  function replace(shown, part) {
    const were = all(regions, shown).map((e) => [e.scrollLeft, e === document.activeElement]);
    shown.replaceWith(part);
    bring(part);
    all(regions, part).forEach((e, i) => {
      const [left, focused] = were[i] ?? [0];
      e.scrollLeft = left;
      if (focused) e.focus({ preventScroll: true });
    });
  }

  // While somebody looks at a page that is live, it is asked for again every few seconds. The parts that have changed take
  // the place of those that are shown, unless these are in use. Then the page does not say that it is live.
  function live() {
    const badge = (shown) => all(".live").forEach((e) => { e.hidden = !shown; });
    const button = document.querySelector("[data-pause]");
    let paused = false;
    const request = new XMLHttpRequest(); // which reads a page without a sink of Trusted Types
    request.onloadend = () => {
      if (request.status === 401) return location.reload(); // to the page that says why
      let current = request.status === 200 && !paused;
      const shown = parts(document);
      if (current) parts(request.response).forEach((part, i) => {
        if (seen[i].isEqualNode(part)) return;
        if (used(shown[i])) {
          current = false;
          return;
        }
        seen[i] = part.cloneNode(true);
        replace(shown[i], part);
      });
      badge(current);
    };
    const ask = () => {
      if (document.hidden || paused || request.readyState % 4) return;
      request.open("GET", location.href);
      request.responseType = "document";
      request.setRequestHeader("Petstore-Live", "1");
      request.send();
    };
    badge(true);
    setInterval(ask, 5000);
    document.addEventListener("visibilitychange", ask);
    if (!button) return;
    button.hidden = false;
    button.addEventListener("click", () => {
      paused = !paused;
      button.textContent = paused ? "Resume" : "Pause";
      badge(!paused);
      ask();
    });
  }

  // Brings what a part of the page shows to those who have the script.
  function bring(part) {
    times.bring(part);
    countdown();
    all(".chart svg", part).forEach(chart);
  }

  function copying(button) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const text = document.getElementById(button.dataset.copy);
      try {
        await navigator.clipboard.writeText(text.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(text);
        button.textContent = "Selected";
      }
    });
  }

  // What comes of units to add, while they are entered.
  function sum(output) {
    const field = document.getElementById(output.htmlFor.value);
    const was = Number(output.dataset.sum);
    const show = () => {
      const n = Number(field.value);
      output.hidden = !field.value.trim() || !Number.isInteger(n);
      output.textContent = `${was} ${n < 0 ? "−" : "+"} ${Math.abs(n)} = ${was + n}`;
    };
    field.addEventListener("input", show);
    show();
  }

  // A form is sent once: its button says that it is at work until the next page is there.
  function sending(form) {
    form.addEventListener("submit", (event) => {
      const button = event.submitter;
      if (form.ariaBusy) return event.preventDefault();
      const text = button.textContent;
      const again = () => { form.ariaBusy = button.ariaDisabled = null; button.textContent = text; };
      form.ariaBusy = button.ariaDisabled = "true";
      button.textContent = "Working…";
      addEventListener("pageshow", (shown) => { if (shown.persisted) again(); });
      setTimeout(again, 30000);
    });
  }

  // While somebody types a name, the server says which there are.
  function finding(field) {
    let waiting = 0;
    let asked = "";
    field.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(async () => {
        const name = field.value.trim();
        if (name.length < 2 || name === asked || /#\d+$/.test(name)) return;
        asked = name;
        const answer = await fetch(`${field.dataset.find}?name=${encodeURIComponent(name)}`);
        if (!answer.ok || name !== asked) return;
        field.list.replaceChildren(...(await answer.json()).map((value) => make("option", { value })));
      }, 250);
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    all(".chart svg").forEach(chart);
    countdown();
    setInterval(countdown, 1000);
    if (document.querySelector("[data-live]")) live();
    all("[data-copy]").forEach(copying);
    all("[data-find]").forEach(finding);
    all("[data-sum]").forEach(sum);
    all('form[method="post"]').forEach(sending);
    const wrong = document.querySelector("[aria-invalid]");
    if (wrong) wrong.focus();
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && location.hash === "#nav") location.hash = "main";
      const find = document.getElementById("find");
      if (event.key !== "/" || !find || event.ctrlKey || event.metaKey || event.target.matches("input, textarea, select")) return;
      event.preventDefault();
      find.focus();
    });
  });
})();
