// SPDX-License-Identifier: Apache-2.0
// Helpers of all parts of the page: elements, numbers, words. The files of this folder are joined to one module, in the order
// of the list in report.py. Each may use what earlier files define, and functions of all files.

const DASH = "\u2013";
const SVG = "http://www.w3.org/2000/svg";

// Errors are counted in an attribute of <html>, for tests of the page. If the page does not start, it shows an error.
function countError(message) {
  const { dataset } = document.documentElement;
  dataset.errors = Number(dataset.errors ?? 0) + 1;
  if (dataset.state === "ready")
    return;
  dataset.state = "failed";
  byId("alert").textContent = `This page cannot show its data: ${message}`;
  byId("alert").hidden = false;
}
addEventListener("error", (event) => countError(event.message));
addEventListener("unhandledrejection", (event) => countError(event.reason));

function byId(id) {
  return document.getElementById(id);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes))
    if (value !== null && value !== undefined && value !== false)
      element.setAttribute(name, value === true ? "" : value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** An element. Children that are strings become text, so data is never read as HTML. */
function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** A text without characters that XML cannot contain: control characters, unpaired surrogates and U+FFFE. */
function inXml(text) {
  return String(text).replace(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, "?");
}

function makeSvg(tag, attributes = {}, ...children) {
  const safe = children.map((child) => (typeof child === "string" ? inXml(child) : child));
  return fill(document.createElementNS(SVG, tag), attributes, safe);
}

function makeButton(text, label, action) {
  const button = make("button", { type: "button", "aria-label": label, title: label }, text);
  button.addEventListener("click", action);
  return button;
}

// --- numbers ---

function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}

function clamp(value, least, most) {
  return Math.max(least, Math.min(most, value));
}

/** A number with six digits; large ones with M, G and so on. */
function figure(value, digits = 6) {
  if (!isNumber(value))
    return DASH;
  const steps = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"]];
  const [size, letter] = steps.find(([size]) => Math.abs(value) >= size) ?? [1, ""];
  return String(Number((value / size).toPrecision(digits))) + (letter && `\u00a0${letter}`);
}

function percent(share, digits = 2) {
  return isNumber(share) ? `${(100 * share).toFixed(digits)}\u00a0%` : DASH;
}

/** "1 device", "2 devices"; a dash if the number is unknown. */
function counted(count, word, plural = `${word}s`) {
  return `${isNumber(count) ? count : DASH} ${count === 1 ? word : plural}`;
}

function largest(values, least = 0) {
  let most = least;
  for (const value of values)
    if (isNumber(value) && value > most)
      most = value;
  return most;
}

function sum(values) {
  return values.reduce((total, value) => total + (isNumber(value) ? value : 0), 0);
}

/** Round numbers from 0 to `most` and between `from` and `to`, about `count` of them. */
function ticks(from, to, count) {
  const rough = (to - from) / Math.max(1, count);
  if (!(rough > 0) || !Number.isFinite(rough))
    return [];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
  const found = [];
  for (let number = Math.ceil(from / step - 1e-9); number * step <= to + 1e-9 * step; number += 1)
    found.push(number * step);
  return found;
}

/** The first index from which on `isPast(index)` holds; `count` if it never does. */
function firstIndex(count, isPast) {
  let low = 0, high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isPast(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

// --- words ---

/** Announces a text to screen readers. */
function announce(text) {
  byId("announce").textContent = text;
}

/** Makes a list of definitions from [[name, value]]. */
function makeList(rows) {
  return make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

/** Shows details near a point of the window: a title and [[name, value]]. */
function showTip(x, y, title, rows) {
  const tip = byId("tip");
  tip.replaceChildren(make("strong", {}, title), makeList(rows));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = x + 14 + width > innerWidth ? x - 14 - width : x + 14;
  const top = y + 18 + height > innerHeight ? y - 12 - height : y + 18;
  tip.style.left = `${clamp(left, 4, Math.max(4, innerWidth - width - 4))}px`;
  tip.style.top = `${clamp(top, 4, Math.max(4, innerHeight - height - 4))}px`;
}

function hideTip() {
  byId("tip").hidden = true;
}
