// Times in the reader's zone, which they name; what UTC says is told on hover, on touch and on keyboard focus. Pages have
// UTC in them, for those without the script. It also has the tip that tells such things, and reads charts bar by bar.
"use strict";
const times = (() => {
  const all = (selector, of = document) => [...of.querySelectorAll(selector)];
  const make = (name, props = {}) => Object.assign(document.createElement(name), props);
  const day = { day: "numeric", month: "short", year: "numeric" };
  const forms = {
    hour: { hour: "2-digit", minute: "2-digit" }, // the ticks of an axis, which names its zone once
    day: { hour: "2-digit", minute: "2-digit" },
    week: { day: "numeric", month: "short" },
    quarter: { day: "numeric", month: "short" },
    date: { ...day },
    exact: { ...day, hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short" },
    full: { ...day, hour: "2-digit", minute: "2-digit", timeZoneName: "short" },
  };
  // Of this year it goes without saying.
  const parts = (form, at) => {
    const { year, ...rest } = forms[form] ?? forms.full;
    return year && at.getFullYear() !== new Date().getFullYear() ? { year, ...rest } : rest;
  };
  const format = (form, at) => new Intl.DateTimeFormat(undefined, parts(form, at)).format(at);
  const zone = (at = new Date()) => new Intl.DateTimeFormat(undefined, { timeZoneName: "short" }).formatToParts(at).find((p) => p.type === "timeZoneName").value;
  const utc = (at) => `${new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium", timeZone: "UTC" }).format(at)} UTC`;

  const tip = make("div", { className: "tip", id: "tip", hidden: true });
  tip.setAttribute("role", "tooltip");

  // Shows a text above a place of the window, or below it where there is no room. where returns its middle, top and
  // bottom, also after the page was scrolled.
  let where = null;
  function place() {
    const [x, top, bottom] = where();
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(x - width / 2, document.documentElement.clientWidth - width - 8))}px`;
    tip.style.top = `${top - height - 8 < 8 ? bottom + 8 : top - height - 8}px`;
  }
  function show(text, at) {
    tip.textContent = text;
    tip.hidden = false;
    where = at;
    place();
  }
  const hide = () => { tip.hidden = true; };

  function localise(time) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) return;
    time.textContent = format(time.dataset.form, at);
    time.removeAttribute("title");
    if (time.closest("[aria-hidden]")) return;
    time.dataset.utc = utc(at);
    if (!time.hasAttribute("tabindex")) time.tabIndex = -1;
  }

  // One stop of the Tab key for all times of a table, and the arrow keys between them.
  function reach(table) {
    const inside = all("time[data-utc]", table);
    if (inside.length > 0 && inside.every((time) => time.tabIndex < 0)) inside[0].tabIndex = 0;
  }

  // Puts the times of a part of the page into the reader's zone.
  function bring(part) {
    all("time", part).forEach(localise);
    all("time[data-utc]", part).filter((time) => !time.closest("tbody, a")).forEach((time) => { time.tabIndex = 0; });
    all("tbody", part).forEach(reach);
    const place = Intl.DateTimeFormat().resolvedOptions().timeZone;
    for (const e of all("[data-zone]", part)) e.textContent = `Times in ${zone()}${place === zone() ? "" : `, ${place}`}`;
  }

  function step(event) {
    const table = event.target.closest?.("tbody");
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!by || !table || !event.target.matches("time")) return;
    const inside = all("time[data-utc]", table);
    const next = inside[inside.indexOf(event.target) + by];
    event.preventDefault();
    if (!next) return;
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  function tell(event) {
    const time = event.target.closest?.("time[data-utc]") ?? (event.target.matches?.("a:focus") ? event.target.querySelector("time[data-utc]") : null);
    if (!time || event.type === "pointerover" && event.pointerType !== "mouse") return;
    show(time.dataset.utc, () => {
      const box = time.getBoundingClientRect();
      return [box.left + box.width / 2, box.top, box.bottom];
    });
    time.setAttribute("aria-describedby", "tip");
  }

  // A chart is read bar by bar, with the mouse, a finger or the arrow keys. text says what bar i has.
  function bars(svg, count, text) {
    const marks = all(".columns rect", svg);
    let chosen = count - 1;
    const choose = (i) => {
      chosen = Math.max(0, Math.min(i, count - 1));
      marks.forEach((mark, n) => mark.classList.toggle("on", n === chosen));
      svg.setAttribute("aria-valuenow", chosen);
      svg.setAttribute("aria-valuetext", text(chosen));
      show(text(chosen), () => {
        const box = svg.getBoundingClientRect();
        return [box.left + (chosen + .5) * box.width / count, box.top, box.bottom];
      });
    };
    const leave = () => { hide(); marks.forEach((mark) => mark.classList.remove("on")); };
    const at = (event) => choose(Math.floor((event.clientX - svg.getBoundingClientRect().left) / svg.getBoundingClientRect().width * count));
    all("title", svg).forEach((title) => title.remove());
    svg.setAttribute("role", "slider");
    svg.setAttribute("aria-valuemin", 0);
    svg.setAttribute("aria-valuemax", count - 1);
    svg.setAttribute("aria-valuenow", chosen);
    svg.setAttribute("aria-valuetext", text(chosen));
    svg.tabIndex = 0;
    svg.addEventListener("pointermove", at);
    svg.addEventListener("pointerdown", at);
    svg.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse" && document.activeElement !== svg) leave(); });
    svg.addEventListener("focus", () => { if (svg.matches(":focus-visible")) choose(chosen); });
    svg.addEventListener("blur", leave);
    svg.addEventListener("keydown", (event) => {
      const to = { ArrowLeft: chosen - 1, ArrowDown: chosen - 1, ArrowRight: chosen + 1, ArrowUp: chosen + 1, Home: 0, End: count - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      choose(to);
    });
  }

  // A span of time, as it stands beside a bar.
  function range(from, seconds) {
    return new Intl.DateTimeFormat(undefined, parts("full", from)).formatRange(from, new Date(from.getTime() + seconds * 1000));
  }

  const two = (n) => String(n).padStart(2, "0");
  const localDay = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const replace = (input, value) => input.form.addEventListener("formdata", (event) => {
    if (input.value && event.formData.has(input.name)) event.formData.set(input.name, value());
  });

  // A time is entered in the reader's zone, and sent as an instant.
  function entering(input) {
    const named = input.labels[0].querySelector(".zone");
    const name = () => { named.textContent = `(${zone(input.value ? new Date(input.value) : undefined)})`; };
    if (input.value) {
      const at = new Date(`${input.value}Z`);
      input.value = `${localDay(at)}T${two(at.getHours())}:${two(at.getMinutes())}`;
    }
    name();
    input.addEventListener("input", name);
    replace(input, () => new Date(input.value).toISOString());
  }

  // A day is one of the reader's, from its first instant to its last.
  function choosing(input) {
    if (input.dataset.at) input.value = localDay(new Date(input.dataset.at));
    input.labels[0].querySelector(".zone").textContent = `(${zone()})`;
    replace(input, () => new Date(`${input.value}T${input.dataset.edge === "last" ? "23:59:59.999" : "00:00"}`).toISOString());
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelector("main").append(tip);
    bring(document);
    all('input[type="datetime-local"]').forEach(entering);
    all('input[type="date"]').forEach(choosing);
    for (const name of ["pointerover", "focusin"]) document.addEventListener(name, tell);
    document.addEventListener("pointerout", (event) => { if (event.target.matches?.("time") && event.target !== document.activeElement) hide(); });
    document.addEventListener("focusout", (event) => { if (event.target.matches?.("time, a")) hide(); });
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); else step(event); });
    addEventListener("scroll", () => { if (!tip.hidden) place(); }, { passive: true, capture: true });
  });
  return { localise, bring, bars, range };
})();
