// The choice between light and dark, which is remembered. It is made before the page is painted, so that it does not flash.
"use strict";
(() => {
  const root = document.documentElement;
  const remembered = (value) => {
    try {
      if (value) localStorage.setItem("theme", value);
      return localStorage.getItem("theme");
    } catch { return null; /* a reader may refuse to be remembered */ }
  };
  root.classList.add("js");
  if (remembered()) root.dataset.theme = remembered();
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.querySelector(".theme");
    button.hidden = false;
    button.addEventListener("click", () => {
      const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      remembered(root.dataset.theme);
    });
  });
})();
