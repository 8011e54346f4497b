// SPDX-License-Identifier: Apache-2.0
// A selected range of time, shown in all drawings, with sums of what the devices do in it below each timeline.

let selection = null;      // {from, to}
let selectsByDrag = false; // set by the button; otherwise a drag selects with Shift held

function paintSelection(context, width, height) {
  if (!selection)
    return;
  const left = clamp(xOf(selection.from, width), GUTTER, width - MARGIN);
  const right = clamp(xOf(selection.to, width), GUTTER, width - MARGIN);
  context.globalAlpha = 0.18;
  context.fillStyle = colours.accent;
  context.fillRect(left, 0, right - left, height);
  context.globalAlpha = 1;
  for (const x of [left, right])
    context.fillRect(snap(x) - 0.5, 0, 1.5, height);
}

function setSelection(from, to) {
  const ends = [clamp(Math.min(from, to), 0, view.whole), clamp(Math.max(from, to), 0, view.whole)];
  selection = ends[1] > ends[0] ? { from: ends[0], to: ends[1] } : null;
  showSelection();
}

function clearSelection() {
  selection = null;
  showSelection();
}

function showSelection() {
  byId("select-clear").hidden = byId("select-zoom").hidden = !selection;
  const figures = selection && [selection.from, selection.to, selection.to - selection.from].map((time) => timeFigure(time));
  byId("selected").textContent = selection ? `selected: ${figures[0]} to ${figures[1]}, ${figures[2]}` : "";
  showNotes();
  paintOvers();
}

/** [[what, time]], the largest first. */
function sortedSums(sums) {
  return [...sums].sort((a, b) => b[1] - a[1]);
}

function makeSumRows(heading, sums, whole, nameOfKey) {
  return sortedSums(sums).map(([key, time]) => make("tr", {}, make("td", {}, heading),
    make("th", { scope: "row" }, nameOfKey(key)), make("td", { class: "number" }, timeFigure(time)),
    make("td", { class: "number" }, percent(time / whole, 1))));
}

function idleName(cause) {
  return cause === "neighbour" ? "neighbour, with imbalance" : causeName(cause);
}

/** A table of what the devices of a timeline do in the selection. */
function makeSums(panel) {
  const to = Math.min(selection.to, panel.timeline.end), from = Math.min(selection.from, to);
  const { kinds, causes } = sumsBetween(panel.timeline, from, to), whole = panel.timeline.lanes.length * (to - from) || 1;
  const words = (key) => key.split(" with ").map((kind) => `${kind} ${wordsOf(kind)}`).join(" with ");
  const head = ["", "from " + figure(from) + " to " + figure(to), headingIn("time", "time"), "of all device time"];
  return make("table", { class: "sums" },
    make("caption", { class: "unseen" }, `Sums of ${nameOf(candidateOf(panel.rank))} over the selected range`),
    make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col" }, text)))),
    make("tbody", {}, ...makeSumRows("busy", kinds, whole, words),
      ...makeSumRows("idle", causes, whole, idleName)));
}

/** Below each timeline: the critical path in words, and the sums over the selection. */
function showNotes() {
  for (const panel of timelinePanels) {
    const notes = [];
    if (showsCritical && hasCritical(panel.rank))
      notes.push(make("p", { class: "muted critical-text" }, criticalText(panel)));
    if (selection)
      notes.push(makeSums(panel));
    panel.notes.replaceChildren(...notes);
  }
}

/** Moves one end of the selection to the held op, or to the end of the visible range. */
function selectFrom(time) {
  setSelection(time, selection?.to > time ? selection.to : view.to);
}

function selectTo(time) {
  setSelection(selection && selection.from < time ? selection.from : view.from, time);
}

function startSelection() {
  const button = byId("select");
  button.addEventListener("click", () => {
    selectsByDrag = !selectsByDrag;
    button.setAttribute("aria-pressed", selectsByDrag);
  });
  byId("select-clear").addEventListener("click", clearSelection);
  byId("select-zoom").addEventListener("click", () => setView(selection.from, selection.to));
}
