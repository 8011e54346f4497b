// SPDX-License-Identifier: Apache-2.0
// Light and dark: as the system prefers, until the button is used.

const COLOURS = ["panel", "ink", "muted", "line", "lane", "ground", "accent", "bad", "send", "receive", "band", "curve",
                 "critical"];
const colours = {}; // the present colours, for canvases
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  const theme = document.documentElement.dataset.theme;
  return theme === "dark" || (!theme && systemIsDark.matches);
}

function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of COLOURS)
    colours[name] = style.getPropertyValue(`--${name}`).trim();
}

/** Reads the colours again, and redraws everything that uses them. */
function themeChanged() {
  readColours();
  byId("theme").textContent = isDark() ? "Light" : "Dark";
  redraw();
}

// If a page cannot store anything, as files in some browsers, the choice lasts until the page is closed.
function remember(theme) {
  try {
    localStorage.setItem("ppsched-theme", theme);
  } catch { /* not kept */ }
}

function remembered() {
  try {
    return localStorage.getItem("ppsched-theme");
  } catch {
    return null;
  }
}

function setTheme(theme) {
  if (theme === "dark" || theme === "light")
    document.documentElement.dataset.theme = theme;
  else
    delete document.documentElement.dataset.theme;
  themeChanged();
}

function startTheme() {
  setTheme(remembered());
  systemIsDark.addEventListener("change", themeChanged);
  byId("theme").addEventListener("click", () => {
    setTheme(isDark() ? "light" : "dark");
    remember(document.documentElement.dataset.theme);
  });
}

// --- paper ---

const PAPER_WIDTH = "700px"; // A4 and letter, without margins

/** For paper: light colours, and drawings as wide as the paper; afterwards as before. */
function startPrinting() {
  let screenTheme;
  addEventListener("beforeprint", () => {
    screenTheme = document.documentElement.dataset.theme;
    document.documentElement.dataset.paper = "yes";
    document.body.style.width = PAPER_WIDTH;
    setTheme("light");
    paintAll();
  });
  addEventListener("afterprint", () => {
    delete document.documentElement.dataset.paper;
    document.body.style.width = "";
    setTheme(screenTheme);
    paintAll();
  });
}
