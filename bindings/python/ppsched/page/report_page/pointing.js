// SPDX-License-Identifier: Apache-2.0
// Pointing at ops in a timeline by mouse, touch or keys: finding them, frames, and descriptions.

let cursorTime = null; // time at the pointer, for a line through all drawings
let pointed = null;    // {panel, device, entry, isKept, mates}

// --- finding ---

function distance(entry, time) {
  return Math.max(0, entry.start - time, time - entry.end);
}

/** The entry of a lane nearest to a time, within `most`, for which `isWanted` returns true; or null. */
function nearest(lane, time, most, isWanted) {
  let best = null;
  const end = firstIndex(lane.length, (i) => lane[i].start > time + most);
  for (let i = end - 1; i >= 0 && lane[i].reach >= time - most; i -= 1)
    if (isWanted(lane[i]) && distance(lane[i], time) <= most && (!best || distance(lane[i], time) < distance(best, time)))
      best = lane[i];
  return best;
}

/** {device, entry, time} at a point of a panel, or null outside. entry is null if the device is idle. */
function entryAt(panel, x, y) {
  const { timeline, surface } = panel;
  const width = surface.box.clientWidth, parts = rowParts(timeline);
  const device = Math.floor(y / parts.row), lane = timeline.lanes[device], time = timeOf(x, width);
  if (!lane || x < GUTTER - 3 || time < 0 || time > timeline.end)
    return null;
  const within = y - device * parts.row, most = 3 * (view.to - view.from) / plotWidth(width);
  const isAbove = within < parts.strip, isBelow = within >= parts.below;
  let entry = null;
  if (timeline.hasMarks && (isAbove || isBelow))
    entry = nearest(lane, time, most, (mark) => mark.isMark && Boolean(MARKS[mark.kind].below) === isBelow);
  entry ??= nearest(lane, time, 0, (block) => !block.isMark) ?? nearest(lane, time, most / 3, (block) => !block.isMark);
  return { device, entry, time };
}

/** The range around a time in which a device is idle. */
function gapAround(timeline, device, time) {
  const blocks = timeline.lanes[device].filter((entry) => !entry.isMark);
  const next = blocks.find((entry) => entry.start >= time);
  const before = blocks.findLast((entry) => entry.end <= time);
  return [before ? before.end : 0, next ? next.start : timeline.end];
}

// --- in words ---

function microbatchText(op, timeline) {
  if (op.microbatch === null)
    return DASH;
  const iteration = timeline.iterations > 1 ? ` (iteration ${Math.floor(op.microbatch / timeline.microbatches)})` : "";
  const slice = op.slice === null ? "" : `, slice ${op.slice}`;
  return `${op.microbatch}${iteration}${slice}`;
}

function stageText(op, timeline) {
  return op.stage === null ? DASH : `${op.stage}${timeline.chunks > 1 ? ` (chunk ${op.chunk})` : ""}`;
}

/** How long each channel is busy in a pair. */
function channelRows(timeline, entry) {
  const windows = windowsOf(timeline, entry);
  const busy = (number) => sum(windows.map(([, channel, start, end]) => (channel === number ? end - start : 0)));
  return windows.length === 0 ? [] : timeline.windows.channels.map((channel, number) =>
    [`busy on ${channel}`, timeFigure(busy(number) * (entry.end - entry.start))]);
}

/** A title and [[name, value]] of an entry. */
function describe(entry, device, timeline) {
  const ops = opsOf(entry);
  const both = (text) => ops.map((op) => text(op, timeline)).join(" and ");
  return {
    title: ops.map((op) => `${op.token} ${wordsOf(op.kind)}`).join(" and ") + (entry.second ? ", overlapped" : ""),
    rows: [["stage", both(stageText)], ["microbatch", both(microbatchText)], ["device", String(device)],
           ["start", timeFigure(entry.start)], ["end", timeFigure(entry.end)],
           ["duration", timeFigure(entry.end - entry.start)], ...channelRows(timeline, entry), ...linkRows(timeline, entry)],
  };
}

function describeIdle(timeline, device, time) {
  const [start, end] = gapAround(timeline, device, time);
  return { title: "idle", rows: [["device", String(device)], ["start", timeFigure(start)], ["end", timeFigure(end)],
                                 ["duration", timeFigure(end - start)]] };
}

function spoken({ title, rows }) {
  return `${title}; ${rows.map(([name, value]) => `${name} ${value}`).join(", ")}`;
}

// --- frames ---

function frame(context, { x, y, width, height }, lineWidth) {
  context.lineWidth = lineWidth;
  context.strokeRect(x, y, Math.max(width, 2), height);
}

/** Draws the line at the pointer's time in all drawings. */
function paintCursor(context, width, height) {
  paintSelection(context, width, height);
  if (cursorTime === null || cursorTime < view.from || cursorTime > view.to)
    return;
  context.fillStyle = colours.muted;
  context.fillRect(snap(xOf(cursorTime, width)), 0, 1, height);
}

/** Frames the op under the pointer, and with thin lines the other ops of its microbatch. */
function paintPointed(panel, context, width, height) {
  paintCursor(context, width, height);
  if (pointed?.panel !== panel || !pointed.entry)
    return;
  context.save();
  context.beginPath();
  context.rect(GUTTER - 2, 0, width - GUTTER, height);
  context.clip();
  context.strokeStyle = colours.ink;
  for (const [device, entry] of pointed.mates)
    if (entry.end >= view.from && entry.start <= view.to)
      frame(context, rectangleOf(entry, device, panel.timeline, width), 1);
  frame(context, rectangleOf(pointed.entry, pointed.device, panel.timeline, width), 2.5);
  if (pointed.isKept)
    paintArrows(context, panel, pointed, width);
  context.restore();
}

// --- pointing ---

function matesOf(entry, timeline) {
  if (entry.microbatch === null || entry.isMark)
    return [];
  const wanted = new Set([entry.microbatch, entry.second?.microbatch ?? entry.microbatch]);
  const isMate = (other) => !other.isMark && (wanted.has(other.microbatch) || wanted.has(other.second?.microbatch));
  return timeline.lanes.flatMap((lane, device) => lane.filter(isMate).map((other) => [device, other]));
}

function pointTo(panel, device, entry, isKept) {
  if (pointed?.entry !== entry || pointed?.panel !== panel)
    pointed = { panel, device, entry, mates: entry ? matesOf(entry, panel.timeline) : [] };
  pointed.isKept = isKept;
  paintOvers();
}

function letGo() {
  if (pointed || cursorTime !== null) {
    pointed = cursorTime = null;
    hideTip();
    paintOvers();
  }
}

function pointAt(panel, x, y, isKept) {
  const found = entryAt(panel, x, y);
  if (!found) {
    letGo();
    return;
  }
  cursorTime = found.time;
  pointTo(panel, found.device, found.entry, isKept && found.entry !== null);
  const { left, top } = panel.surface.box.getBoundingClientRect();
  const { title, rows } = found.entry ? describe(found.entry, found.device, panel.timeline)
    : describeIdle(panel.timeline, found.device, found.time);
  showTip(left + x, top + y, title, rows);
}

/** The time that stays in place in a zoom without a pointer: the middle of the held op, or of the visible range. */
function zoomCentre() {
  const middle = pointed?.isKept ? (pointed.entry.start + pointed.entry.end) / 2 : NaN;
  return middle >= view.from && middle <= view.to ? middle : (view.from + view.to) / 2;
}

/** Shows the details next to the held op, at its present position. */
function showHeld() {
  const { panel, device, entry } = pointed;
  const { left, top, width } = panel.surface.box.getBoundingClientRect();
  const { x, y, height } = rectangleOf(entry, device, panel.timeline, width);
  const { title, rows } = describe(entry, device, panel.timeline);
  showTip(left + clamp(x, GUTTER, width), top + y + height, title, rows);
}

/** Moves to an op by keys: makes it visible, and announces it. */
function hold(panel, device, entry) {
  if (!entry)
    return;
  cursorTime = null;
  reveal(entry.start, entry.end);
  pointTo(panel, device, entry, true);
  const { top, width } = panel.surface.box.getBoundingClientRect();
  const { y, height } = rectangleOf(entry, device, panel.timeline, width);
  const least = byId("axis").clientHeight + 8;
  if (top + y < least || top + y + height > innerHeight - 8)
    scrollBy(0, top + y - innerHeight / 2);
  showHeld();
  announce(spoken(describe(entry, device, panel.timeline)));
}

// --- keys ---

/** Where keys start: the held op, or the first visible one. */
function startOf(panel) {
  if (pointed?.panel === panel && pointed.entry)
    return pointed;
  const device = panel.timeline.lanes.findIndex((lane) => lane.length > 0);
  const lane = panel.timeline.lanes[device] ?? [];
  return { device, entry: null, first: lane[Math.min(firstVisible(lane, view.from), lane.length - 1)] };
}

function step(panel, by) {
  const { device, entry, first } = startOf(panel), lane = panel.timeline.lanes[device] ?? [];
  hold(panel, device, entry ? lane[lane.indexOf(entry) + by] : first);
}

/** Moves to the op of another device at about the same time. */
function stepDevice(panel, by) {
  const { device, entry, first } = startOf(panel);
  if (!entry) {
    hold(panel, device, first);
    return;
  }
  const lane = panel.timeline.lanes[device + by] ?? [];
  hold(panel, device + by, nearest(lane, (entry.start + entry.end) / 2, Infinity, (other) => !other.isMark));
}

function stepToEnd(panel, index) {
  const { device } = startOf(panel);
  hold(panel, device, panel.timeline.lanes[device]?.at(index));
}

const PLAIN_KEYS = {
  ArrowLeft: (panel) => step(panel, -1), ArrowRight: (panel) => step(panel, 1),
  ArrowUp: (panel) => stepDevice(panel, -1), ArrowDown: (panel) => stepDevice(panel, 1),
  Home: (panel) => stepToEnd(panel, 0), End: (panel) => stepToEnd(panel, -1),
  "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), "0": fitView, Escape: letGo,
  "[": () => selectFrom(pointed?.isKept ? pointed.entry.start : view.from),
  "]": () => selectTo(pointed?.isKept ? pointed.entry.end : view.to),
};
const SHIFT_KEYS = { ArrowLeft: () => pan(-0.25), ArrowRight: () => pan(0.25), "+": () => zoom(0.6) };

function listenToKeys(panel) {
  panel.surface.box.addEventListener("keydown", (event) => {
    const action = (event.shiftKey ? SHIFT_KEYS : PLAIN_KEYS)[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey)
      return;
    event.preventDefault();
    action(panel);
    if (pointed?.isKept && pointed.panel === panel)
      showHeld();
  });
}

// --- keys of the whole page, as in Perfetto ---

const WALK = { w: () => zoom(0.6), s: () => zoom(1 / 0.6), a: () => pan(-0.25), d: () => pan(0.25) };

/** W, A, S and D, except in fields. */
function listenToWalk() {
  document.addEventListener("keydown", (event) => {
    const action = Object.hasOwn(WALK, event.key.toLowerCase()) ? WALK[event.key.toLowerCase()] : null;
    const isTyping = event.target.closest?.("input:not([type=checkbox]), select, textarea");
    if (!action || isTyping || event.ctrlKey || event.metaKey || event.altKey || chosen.size === 0)
      return;
    event.preventDefault();
    action();
    if (pointed?.isKept)
      showHeld();
  });
}
