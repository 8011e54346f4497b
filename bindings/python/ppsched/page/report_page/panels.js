// SPDX-License-Identifier: Apache-2.0
// The chosen candidates, with one panel for each of them in each section.

const chosen = new Set(); // ranks
const parts = [];         // {host, makePanel, panels: by rank}

/** A section gets panels from makePanel(rank), which returns {element, update()}; existing ones are updated and shown again. */
function addPart(host, makePanel) {
  parts.push({ host, makePanel, panels: new Map() });
}

function chosenRanks() {
  return [...chosen].sort((a, b) => a - b);
}

function chosenTimelines() {
  return chosenRanks().map(timelineOf);
}

function panelOf(part, rank) {
  if (!part.panels.has(rank))
    part.panels.set(rank, part.makePanel(rank));
  return part.panels.get(rank);
}

/** Draws the chosen candidates, on an axis that is long enough for all. */
function showChosen() {
  const ranks = chosenRanks();
  for (const section of document.querySelectorAll("#timelines, #memory, #idle"))
    section.classList.toggle("none", ranks.length === 0);
  for (const part of parts) {
    const panels = ranks.map((rank) => panelOf(part, rank));
    part.host.replaceChildren(...panels.map((panel) => panel.element));
    for (const panel of panels)
      panel.update();
  }
  letGo();
  showKinds();
  showDevices();
  showCauses();
  showMemoryCauses();
  showLayersSection();
  showLaunchSection();
  showScenarioSection();
  showNotes();
  setWhole(largest(chosenTimelines().map((timeline) => timeline.end)) || 1);
}

/** Drops all timelines, as they belong to other candidates. */
function forgetTimelines() {
  for (const { panels } of parts)
    for (const { element } of panels.values())
      forgetSurfaces(element);
  for (const drawn of [chosen, rawTimelines, readTimelines, ...parts.map((part) => part.panels)])
    drawn.clear();
  timelinePanels.length = 0;
}

function choose(rank, isWanted) {
  if (!isShown(rank) || chosen.has(rank) === isWanted)
    return;
  if (isWanted && !rawTimelines.has(rank)) {
    makeTimeline(rank);
    return;
  }
  if (isWanted)
    chosen.add(rank);
  else
    chosen.delete(rank);
  markChosen();
  showChosen();
}

/** "1 zbv_auto" and its description. */
function makeCaption(rank, text, ...controls) {
  const candidate = candidateOf(rank);
  const name = make("strong", {}, `${numberOf(candidate)}\u2002${nameOf(candidate)}`);
  return make("figcaption", {}, make("div", {}, name, " ", make("span", { class: "muted" }, text)), ...controls);
}

/** "V 2, M 16, v placement, limit 12" */
function sizesText(candidate) {
  const limit = isNumber(candidate.memory_limit) ? `, limit ${memoryFigure(candidate.memory_limit)}` : "";
  return `V ${candidate.chunks ?? DASH}, M ${candidate.microbatches ?? DASH}, ${candidate.placement ?? "no"} placement${limit}`;
}
