// The script of the console: forms that are sent once, live figures and lists, copying. Pages are whole without it.
"use strict";
(() => {
  const all = (selector, of = document) => [...of.querySelectorAll(selector)];
  const make = (name, props = {}, ...children) => {
    const element = Object.assign(document.createElement(name), props);
    element.append(...children);
    return element;
  };

  // A reset that is near is counted down, to the server's clock as far as the page knows it.
  function countdown(span) {
    const time = span.querySelector("time");
    const show = () => {
      const left = Math.max(0, Math.ceil((new Date(time.dateTime) - Date.now()) / 1000));
      const [hours, minutes, seconds] = [Math.floor(left / 3600), Math.floor(left / 60) % 60, left % 60];
      if (hours) time.textContent = `in ${hours} h ${minutes} min`;
      else if (minutes) time.textContent = `in ${minutes} min ${seconds} s`;
      else time.textContent = `in ${seconds} s`;
    };
    show();
    setInterval(show, 1000);
  }

  const set = (of, name, value) => all(`[data-${name}]`, of).forEach((e) => { if (e.textContent !== value) e.textContent = value; });

  // One value of a row, as the template "cell" makes it.
  function cell(c) {
    const parts = [];
    if (c.meter) parts.push(gauge(c.meter));
    if (c.code) parts.push(make("code", { textContent: c.text }));
    else if (c.badge) parts.push(make("span", { className: `badge ${c.badge}`, textContent: c.text }));
    else if (c.text) {
      const said = c.prose ? times.prose(c.text) : [c.text];
      const text = make(c.name ? "bdi" : "span", {}, ...said);
      if (c.url) parts.push(make("a", { href: c.url, className: c.name ? "name" : "" }, text));
      else {
        if (c.name) text.className = "name";
        parts.push(text);
      }
    }
    if (c.note) parts.push(" ", make("small", { textContent: c.note }));
    if (c.at) {
      const time = make("time", { dateTime: c.at });
      times.localise(time);
      parts.push(" ", time);
    }
    for (const l of c.links ?? []) parts.push(make("a", { href: l.url, textContent: l.title, className: l.danger ? "danger" : "" }), " ");
    return parts;
  }

  function gauge(m) {
    const drawn = (name, attributes, ...children) => {
      const element = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      element.append(...children);
      return element;
    };
    const bar = drawn("svg", { viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
      drawn("rect", { class: "rail", width: 100, height: 4 }), drawn("rect", { class: "fill", width: m.percent, height: 4 }));
    return make("span", { className: `gauge ${m.level}` }, make("span", {}, `${m.used} `, make("small", { textContent: `of ${m.limit}` })), bar);
  }

  // Rows take the place of those that a table has, unless somebody is about to use one, and facts of those beside it.
  function fill(table, { rows, facts }) {
    if (facts) {
      const box = document.querySelector(".facts");
      box.replaceChildren(...facts.map((f) => make("div", {}, make("dt", {}, f.title), make("dd", {}, ...cell(f)))));
    }
    if (table.contains(document.activeElement)) return;
    const heads = all("th", table);
    table.tBodies[0].replaceChildren(...rows.map((row) => {
      const cells = row.map((c, i) => {
        const box = make("td", { className: c.links ? "does" : heads[i].className }, ...cell(c));
        box.setAttribute("role", "cell");
        box.dataset.label = c.links ? "" : heads[i].textContent;
        return box;
      });
      const line = make("tr", {}, ...cells);
      line.setAttribute("role", "row");
      return line;
    }));
    times.reach(table.tBodies[0]);
    const place = table.closest(".table, .wide") ?? table;
    place.hidden = rows.length === 0;
    if (place.nextElementSibling) place.nextElementSibling.hidden = rows.length > 0;
  }

  function list(table) {
    const button = document.querySelector("[data-pause]");
    let latest = null;
    let paused = false;
    live(table.dataset.rows, "rows", (now) => {
      latest = now;
      if (!paused) fill(table, now);
    });
    if (!button) return;
    button.hidden = false;
    button.addEventListener("click", () => {
      paused = !paused;
      button.textContent = paused ? "Resume" : "Pause";
      if (!paused && latest) fill(table, latest);
    });
  }

  // A chart is read bar by bar. It returns what draws it anew.
  function chart(box) {
    const svg = box.querySelector(".chart svg");
    let titles = all(".columns title", svg).map((title) => title.textContent.replace(/^.* UTC: /, ""));
    const start = (i) => new Date(new Date(svg.dataset.from).getTime() + i * svg.dataset.seconds * 1000);
    times.bars(svg, titles.length, (i) => `${times.range(start(i), svg.dataset.seconds)}: ${titles[i]}`);
    return (drawn) => {
      all(".chart path:not(.grid)", box).forEach((path, i) => path.setAttribute("d", drawn.paths[i]));
      titles = drawn.titles;
      svg.dataset.from = drawn.from;
      all(".labels time", box).forEach((time, i) => {
        time.dateTime = drawn.labels[i];
        times.localise(time);
      });
    };
  }

  function figures(box) {
    const draw = chart(box);
    const small = box.querySelector(".buckets");
    let buckets = all(".columns title", small).map((title) => title.textContent);
    times.bars(small, buckets.length, (i) => buckets[i]);
    const bars = all(":scope > rect", small);
    live(box.dataset.figures, "figures", (f) => {
      draw(f.chart);
      set(box, "top", f.chart.top);
      set(box, "half", f.chart.half);
      f.totals.forEach((t, i) => {
        set(box, `total="${i}"`, t.count);
        set(box, `share="${i}"`, t.share);
      });
      for (const name of ["p50", "p95", "p99"]) set(box, name, f.latency[name]);
      buckets = f.buckets.map((b) => b.Title);
      bars.forEach((bar, i) => {
        bar.setAttribute("y", f.buckets[i].Y);
        bar.setAttribute("height", f.buckets[i].H);
      });
      (f.meters ?? []).forEach((m, i) => meter(box.querySelector(`[data-meter="${i}"]`), m));
      (f.cards ?? []).forEach((c, i) => {
        const card = box.querySelector(`[data-card="${i}"]`);
        card.classList.toggle("bad", c.bad);
        set(card, "value", c.value);
        card.querySelector("[data-hint]").replaceChildren(...times.prose(c.hint));
      });
      for (const table of all("[data-table]", box)) fill(table, { rows: f[table.dataset.table] });
      if (f.limits) limits(f.limits);
    });
  }

  function meter(card, m) {
    card.className = `card meter ${m.level}`;
    for (const name of ["used", "limit", "left"]) set(card, name, m[name]);
    card.querySelector(".fill").setAttribute("width", m.percent);
    card.querySelector("time").dateTime = m.reset;
  }

  function limits(now) {
    const note = document.querySelector(".limits");
    note.hidden = !now.title;
    if (note.hidden) return;
    const until = note.querySelector("time");
    note.querySelector("strong").textContent = now.title;
    note.querySelector("span").replaceChildren(...times.prose(now.text));
    if (until.dateTime !== now.until) {
      until.dateTime = now.until;
      times.localise(until);
    }
  }

  // A browser has six connections to a host, so a page has its stream only while it is looked at. What it missed
  // meanwhile comes with the next event.
  function live(url, name, handle) {
    const badge = (shown) => all(".live").forEach((e) => { e.hidden = !shown; });
    let source = null;
    const open = () => {
      source = new EventSource(url);
      source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
      source.addEventListener("ended", () => { source.close(); location.reload(); }); // to the page that says why
      source.addEventListener("error", () => badge(false));
      source.addEventListener("open", () => badge(true));
    };
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) { source?.close(); badge(false); }
      else open();
    });
    if (!document.hidden) open();
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
    all(".reset").forEach(countdown);
    all("[data-figures]").forEach(figures);
    all("[data-chart]").forEach(chart);
    all("[data-rows]").forEach(list);
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
