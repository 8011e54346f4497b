// SPDX-License-Identifier: Apache-2.0
// How long the chosen candidates take if times vary: quantiles in a table, and a histogram of each on one axis.

const HISTOGRAM = 70; // pixels

function scenariosOf(rank) {
  const found = rawTimeline(rank)?.scenarios;
  return found && isNumber(found.mean) && Array.isArray(found.histogram?.counts) ? found : null;
}

/** The range from the least to the largest makespan of the chosen candidates. */
function scenarioRange() {
  const all = chosenRanks().map(scenariosOf).filter(Boolean);
  const from = Math.min(...all.map(({ histogram }) => histogram.from)), to = largest(all.map(({ histogram }) => histogram.to));
  return { from, length: to - from || 1 };
}

function makeHistogram({ histogram, quantiles }) {
  const { from, length } = scenarioRange(), most = largest(histogram.counts) || 1;
  const width = (histogram.to - histogram.from) / histogram.counts.length;
  const place = (time) => `${100 * (time - from) / length}%`;
  const bars = histogram.counts.map((count, i) => makeSvg("rect", {
    class: "count", x: place(histogram.from + i * width), width: `${Math.max(0.3, 100 * width / length)}%`,
    y: `${100 - 100 * count / most}%`, height: `${100 * count / most}%` }));
  const lines = Object.values(quantiles ?? {}).map((time) =>
    makeSvg("line", { class: "quantile", x1: place(time), x2: place(time), y1: "0%", y2: "100%" }));
  const svg = makeSvg("svg", { height: HISTOGRAM, width: "100%", "aria-hidden": "true" }, ...bars, ...lines);
  return make("div", { class: "histogram" }, svg);
}

function scenarioText(rank, { count, mean, best, worst, quantiles, cause_device: device, causes }) {
  const parts = Object.entries(quantiles ?? {}).map(([q, time]) => `${percent(Number(q), 0)} within ${timeFigure(time)}`);
  const later = mean / timelineOf(rank).end - 1, longer = `${later < 0 ? "" : "+"}${percent(later, 1)}`;
  return `${counted(count, "scenario")}: mean ${timeFigure(mean)} (${longer}), ${parts.join(", ")}, ` +
    `from ${timeFigure(best)} to ${timeFigure(worst)}; device ${device} is longest on the critical path, ` +
    `${percent(largest(list(causes)), 0)} of it`;
}

function makeScenarioPanel(rank) {
  const element = make("figure", {}), found = scenariosOf(rank);
  const text = found ? scenarioText(rank, found) : "No scenarios for this candidate.";
  const update = () => element.replaceChildren(makeCaption(rank, text), ...(found ? [makeHistogram(found)] : []));
  return { element, update };
}

/** Shows the section if any chosen candidate has scenarios. */
function showScenarioSection() {
  const has = chosenRanks().some(scenariosOf), { from, length } = has ? scenarioRange() : {};
  byId("scenarios").hidden = !has;
  const ends = has ? `${timeFigure(from)} to ${timeFigure(from + length)}` : "";
  byId("scenario-axis").textContent = `Each axis: ${ends}. Lines: the quantiles.`;
}

function startScenarios() {
  addPart(byId("scenario-panels"), makeScenarioPanel);
}
