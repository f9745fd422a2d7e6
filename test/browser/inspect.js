// What tests ask of the page that is shown.
"use strict";
globalThis.inspect = (() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const kind = (e) => [e.tagName, ...[...e.classList].sort(), ...e.getAttributeNames().sort()].join(".");

  // One visible element with text of each kind and place.
  const texts = () => {
    const path = (e) => (e === document.body ? "" : `${path(e.parentElement)} ${kind(e)}`);
    const found = new Map();
    for (const e of all("body *")) {
      if (![...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim()) || !e.checkVisibility()) continue;
      const at = path(e);
      if (!found.has(at)) found.set(at, e);
    }
    return [...found.values()];
  };

  // What axe-core finds on the page by the rules that do not depend on colours, or by those that do. preload would fetch
  // every style again, and sounds, of which there are none.
  const colours = ["color-contrast", "link-in-text-block"];
  const axeFinds = async (rules) => {
    const options = { resultTypes: ["violations"], preload: false };
    const { violations } = rules === "colours" ? await axe.run({ include: texts() }, { ...options, runOnly: colours })
      : await axe.run(document, { ...options, rules: Object.fromEntries([["label-content-name-mismatch", { enabled: true }], ...colours.map((rule) => [rule, { enabled: false }])]) });
    return violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary}`).join("; ")}`);
  };

  const tooWide = () => document.documentElement.scrollWidth - innerWidth;

  // By how many pixels the tables of lists are wider than their place.
  const cutOff = () => Math.max(0, ...all(".table, .wide").map((e) => e.scrollWidth - e.clientWidth));

  // Controls of a console that are less than 24 pixels high.
  const small = () => all("body:has(.me) :is(.does a, .crumb a, .card h2 > a, .spans a, .choices a, .acts a, .nav a, .me a, .me button, td > a, .facts dd > a)")
    .filter((e) => e.offsetParent && e.getBoundingClientRect().height < 24).map((e) => e.textContent);

  // Fields for a day that are narrower than "mm/dd/yyyy" with its button, in the greatest size that they have.
  const narrow = () => all("input[type=date]").filter((e) => e.offsetParent && e.offsetWidth < 140).map((e) => e.name);

  // Short words that are broken, in tables that are to be read.
  const broken = () => {
    if (!["/console/keys", "/console/requests", "/console/orders", "/console/pets"].includes(location.pathname)) return [];
    const range = document.createRange();
    const found = [];
    for (const cell of all("td .name, td .badge, td code")) {
      const text = [...cell.querySelectorAll("*"), cell].flatMap((e) => [...e.childNodes]).filter((n) => n.nodeType === Node.TEXT_NODE);
      for (const node of text) for (const word of node.data.matchAll(/(?<![A-Za-z])[A-Za-z]{2,14}(?![A-Za-z])/g)) {
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        if (new Set([...range.getClientRects()].map((r) => Math.round(r.top))).size > 1) found.push(word[0]);
      }
    }
    return found;
  };

  // Labels of cells that have nothing in them.
  const labels = () => all("td:empty").filter((e) => e.checkVisibility() && getComputedStyle(e, "::before").content.startsWith('"')).map((e) => e.dataset.label);

  // Things of the screen that are on paper too.
  const printed = () => all(".top, .nav, .theme, .copy, .tip")
    .filter((e) => e.offsetParent !== null || getComputedStyle(e).position === "sticky" && e.getClientRects().length > 0).map((e) => e.className);

  // What is wrong with the page, of what was asked for: the "rest" or the "colours" of axe-core, "tables" or "paper".
  const faults = async (...what) => {
    const found = [];
    if (tooWide() > 0) found.push(`it is ${tooWide()} pixels too wide`);
    if (document.title === "owned") found.push("it ran a script from a name");
    if (small().length > 0) found.push(`it has controls of less than 24 pixels: ${small().join(", ")}`);
    if (narrow().length > 0) found.push(`it has fields in which a day has no room: ${narrow().join(", ")}`);
    if (labels().length > 0) found.push(`it has labels without a value: ${labels().join(", ")}`);
    if (what.includes("tables") && cutOff() > 1) found.push(`a table is cut off by ${cutOff()} pixels`);
    if (what.includes("tables") && broken().length > 0) found.push(`it breaks ${broken().join(" ")}`);
    if (what.includes("paper") && printed().length > 0) found.push(`it has on paper: ${printed().join(", ")}`);
    for (const rules of ["rest", "colours"]) if (what.includes(rules)) found.push(...await axeFinds(rules));
    return found;
  };
  return { faults };
})();
