// SPDX-License-Identifier: Apache-2.0
// What is looked at beside the timeline: another one on the same axis, and the critical path.

const BESIDE = 1; // the slot of the timeline that is kept
const kept = { picture: null, title: "" };
let besidePanel = null, showsPath = false;

/** Keeps what is drawn now beside what will be. */
function keepBeside() {
  Object.assign(kept, { picture: current.picture, title: titleOf() });
  readTimelines.set(BESIDE, kept.picture);
  candidateByRank.set(BESIDE, { rank: BESIDE, strategy: current.schedule.name, options: {} });
  chosen.add(BESIDE);
  if (besidePanel === null) {
    besidePanel = makeLivePanel(() => kept.picture, besideText, false);
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

// --- the critical path ---

/** The entries of the critical path: [device, entry]. */
function pathOf(picture) {
  picture.path ??= current.timeline.criticalPath().map(({ device, position }) =>
    [device, picture.lanes[device].find((entry) => entry.position === position)]);
  return picture.path;
}

function paintPath(panel, context, width, height) {
  if (!showsPath || panel !== livePanel)
    return;
  context.save();
  context.beginPath();
  context.rect(GUTTER - 2, 0, width - GUTTER, height);
  context.clip();
  context.strokeStyle = colours.bad;
  for (const [device, entry] of pathOf(panel.timeline))
    if (entry.end >= view.from && entry.start <= view.to)
      frame(context, rectangleOf(entry, device, panel.timeline, width), 2);
  context.restore();
}

/** How the path is made, in words: how much of each kind it has, and how much on the way between devices. */
function pathText() {
  const sums = new Map(), path = pathOf(current.picture);
  for (const [, entry] of path) {
    const kind = opsOf(entry).map((op) => op.kind).join(" with ");
    sums.set(kind, (sums.get(kind) ?? 0) + entry.end - entry.start);
  }
  const parts = [...sums].map(([kind, time]) => `${kind} ${figure(time)}`), rest = current.picture.end - sum([...sums.values()]);
  if (rest > 1e-9 * current.picture.end)
    parts.push(`between devices ${figure(rest)}`);
  return `Critical path, framed: ${counted(path.length, "op")}; ${parts.join(", ")}.`;
}

function showPath() {
  byId("path-text").textContent = showsPath && current.timeline ? pathText() : "";
}

function startExtras() {
  byId("keep-beside").addEventListener("click", keepBeside);
  byId("show-path").addEventListener("click", () => {
    showsPath = !showsPath;
    byId("show-path").setAttribute("aria-pressed", showsPath);
    showPath();
    paintOvers();
  });
}
