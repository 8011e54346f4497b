// SPDX-License-Identifier: Apache-2.0
// What is looked at beside the timeline: another one on the same axis, and the critical path.

const BESIDE = 1; // the slot of the timeline that is kept
const kept = { picture: null, title: "" };
let besidePanel = null;

/** Keeps what is drawn now beside what will be. */
function keepBeside() {
  Object.assign(kept, { picture: current.picture, title: titleOf() });
  readTimelines.set(BESIDE, kept.picture);
  rawTimelines.set(BESIDE, rawNow());
  candidateByRank.set(BESIDE, { rank: BESIDE, strategy: current.schedule.name, options: {} });
  chosen.add(BESIDE);
  if (besidePanel === null) {
    besidePanel = makeLivePanel(BESIDE, () => kept.picture, besideText);
    besidePanel.element.append(makeButton("Leave out", "Leave out the timeline that is kept", leaveBeside));
  }
  byId("timeline-panels").append(besidePanel.element);
  showPicture();
  announce(`${kept.title} is kept beside`);
}

/** What is kept, and how much longer or shorter it takes. */
function besideText() {
  const share = kept.picture.end / current.picture.end - 1;
  return `kept: ${kept.title} (${share < 0 ? "" : "+"}${percent(share, 1)})`;
}

function leaveBeside() {
  chosen.delete(BESIDE);
  besidePanel.element.remove();
  showPicture();
  byId("keep-beside").focus();
}

// --- the critical path, which the report's code draws and tells ---

/** What that code asks of what is drawn: the path, and the slack of devices. */
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
