// SPDX-License-Identifier: Apache-2.0
// Additions to the timeline: kept timelines on the same axis, and the critical path.

const KEPT = [1, 2]; // slots of kept timelines
const kept = [];     // kept timelines, oldest first: {slot, picture, raw, name, title, panel}

/** A free slot; if there is none, the oldest timeline is removed. */
function freeSlot() {
  if (kept.length === KEPT.length)
    takeOut(kept[0]);
  return KEPT.find((slot) => kept.every((one) => one.slot !== slot));
}

/** Keeps the present timeline next to later ones. */
function keepBeside() {
  const one = { slot: freeSlot(), picture: current.picture, raw: rawNow(), idle: current.picture.idle, title: titleOf() }; // computed now, as its timeline is destroyed
  readTimelines.set(one.slot, one.picture);
  rawTimelines.set(one.slot, one.raw);
  candidateByRank.set(one.slot, { rank: one.slot, strategy: current.schedule.name, options: {} });
  chosen.add(one.slot);
  one.panel = makeLivePanel(one.slot, () => one.picture, () => besideText(one));
  one.panel.element.append(makeButton("Leave out", `Leave out ${one.title}`, () => leaveBeside(one)));
  kept.push(one);
  byId("timeline-panels").append(one.panel.element);
  showPicture();
  announce(`${one.title} is kept`);
}

/** The kept timelines, and how much longer or shorter they are. */
function besideText({ picture, title }) {
  const share = picture.end / current.picture.end - 1;
  return `kept: ${title} (${share < 0 ? "" : "+"}${percent(share, 1)})`;
}

function takeOut(one) {
  kept.splice(kept.indexOf(one), 1);
  timelinePanels.splice(timelinePanels.indexOf(one.panel), 1);
  chosen.delete(one.slot);
  forgetSurfaces(one.panel.element);
  one.panel.element.remove();
}

function leaveBeside(one) {
  takeOut(one);
  showPicture();
  byId("keep-beside").focus();
}

// --- the critical path, which the report's code draws and describes ---

/** The data that this code needs: the path, and the slack of devices. */
function rawNow() {
  const { picture, timeline } = current;
  if (timeline !== null)
    picture.raw ??= { critical: timeline.criticalPath().map(({ device, position }) => [device, position]), slack: { devices: timeline.deviceSlack() } };
  return picture.raw ?? { critical: [], slack: {} };
}

function startExtras() {
  byId("keep-beside").addEventListener("click", keepBeside);
  byId("critical").parentElement.hidden = false;
}
