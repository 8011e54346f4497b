// SPDX-License-Identifier: Apache-2.0
// Which layers each stage of the chosen candidates has: one row per device, one column per chunk.

/** "decoder \u00d7 2" */
function countedLayers(names) {
  const entries = Object.entries(names && typeof names === "object" ? names : {});
  return entries.map(([name, count]) => (count === 1 ? name : `${name} \u00d7 ${count}`)).join(", ");
}

/** "full \u00d7 1": the kind may apply to only some layers of a stage. */
function recomputedKinds(kinds) {
  const entries = Object.entries(kinds && typeof kinds === "object" ? kinds : {});
  return entries.map(([kind, count]) => `${kind} \u00d7 ${count}`).join(", ");
}

/** "decoder: full \u00d7 2" */
function recomputedText(recompute) {
  const entries = Object.entries(recompute && typeof recompute === "object" ? recompute : {});
  return entries.map(([name, kinds]) => `${name}: ${recomputedKinds(kinds)}`).join("; ");
}

function splitOf(rank) {
  const split = rawTimeline(rank)?.split;
  return Array.isArray(split) ? split.filter((row) => row && isNumber(row.stage) && isNumber(row.device)) : [];
}

function makeStage(row) {
  const recomputed = recomputedText(row.recompute);
  const cell = make("td", { class: "stage", title: `stage ${row.stage}` }, countedLayers(row.layers) || DASH);
  if (recomputed)
    cell.append(make("small", { class: "muted" }, `recomputed: ${recomputed}`));
  return cell;
}

/** The stages of each device, in order. */
function byDevice(split) {
  const devices = new Map();
  for (const row of split)
    devices.set(row.device, [...(devices.get(row.device) ?? []), row]);
  return [...devices].sort(([a], [b]) => a - b);
}

function makeSplitTable(split) {
  const devices = byDevice(split);
  const most = largest(devices.map(([, stages]) => stages.length)) || 0;
  const chunks = Array.from({ length: most }, (_, chunk) => make("th", { scope: "col" }, `chunk ${chunk}`));
  const rows = devices.map(([device, stages]) =>
    make("tr", {}, make("th", { scope: "row" }, `device ${device}`), ...stages.map(makeStage)));
  return make("div", { class: "scroll" }, make("table", { class: "split" },
    make("thead", {}, make("tr", {}, make("td", {}), ...chunks)), make("tbody", {}, ...rows)));
}

/** Which device stands in each place, where that is not its number. */
function makeDeviceOrder(rank) {
  const order = rawTimeline(rank)?.device_order;
  if (!Array.isArray(order) || !order.every(isNumber))
    return [];
  const words = `Order of devices: ${order.join(" ")}. This page numbers devices by their place in this order.`;
  return [make("p", { class: "muted" }, words)];
}

function makeLayersPanel(rank) {
  const split = splitOf(rank);
  const element = make("figure", {}, makeCaption(rank, sizesText(candidateOf(rank))), ...makeDeviceOrder(rank));
  element.append(split.length > 0 ? makeSplitTable(split) : make("p", { class: "muted" }, "No layers for this candidate."));
  return { element, update() {} };
}

/** Shows the section if any chosen candidate has layers. */
function showLayersSection() {
  byId("layers").hidden = !chosenRanks().some((rank) => splitOf(rank).length > 0);
}

function startLayers() {
  addPart(byId("layers-panels"), makeLayersPanel);
}
