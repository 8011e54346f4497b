// SPDX-License-Identifier: Apache-2.0
// A layer on the timelines: the critical path, which is the chain of ops that makes up the makespan, and slack.

let showsCritical = false;

/** [[device, entry]] of the path, in order; found once. */
function criticalOf(panel) {
  panel.critical ??= list(rawTimeline(panel.rank)?.critical).map(([device, place]) =>
    [device, panel.timeline.lanes[device]?.find((entry) => entry.position === place)]).filter(([, entry]) => entry);
  return panel.critical;
}

function hasCritical(rank) {
  return list(rawTimeline(rank)?.critical).length > 0;
}

/** Draws a bar at the bottom of each op of the path, and lines where the path moves to another device. */
function paintCritical(panel, context, width) {
  if (!showsCritical)
    return;
  const { row, top, block } = rowParts(panel.timeline), thickness = clamp(row / 6, 2, 4);
  const foot = (device) => device * row + top + block - thickness;
  context.fillStyle = context.strokeStyle = colours.critical;
  context.lineWidth = Math.min(2, thickness);
  context.beginPath();
  let before = null;
  for (const [device, entry] of criticalOf(panel)) {
    const x = xOf(entry.start, width), end = xOf(entry.end, width);
    context.fillRect(x, foot(device), Math.max(1, end - x), thickness);
    if (before && before.device !== device) {
      context.moveTo(before.x, foot(before.device) + thickness / 2);
      context.lineTo(x, foot(device) + thickness / 2);
    }
    before = { device, x: end };
  }
  context.stroke();
}

/** Text below the timeline: the parts of the path, and which devices have slack. */
function criticalText(panel) {
  const times = new Map();
  for (const [, entry] of criticalOf(panel))
    times.set(entry.kind, (times.get(entry.kind) ?? 0) + entry.end - entry.start);
  const all = sum([...times.values()]), waits = panel.timeline.end - all;
  const parts = [...times].sort((a, b) => b[1] - a[1]).map(([kind, time]) => `${kind} ${timeFigure(time)}`);
  if (waits > NOISE * panel.timeline.end)
    parts.push(`transfers ${timeFigure(waits)}`);
  const slack = rawTimeline(panel.rank)?.slack ?? {};
  const later = list(slack.devices).map((time, device) => [device, time])
    .filter(([, time]) => time > NOISE * panel.timeline.end);
  const most = later.sort((a, b) => b[1] - a[1]).slice(0, 4).map(([device, time]) => `device ${device} ${timeFigure(time)}`);
  return `Critical path of ${counted(criticalOf(panel).length, "op")}: ${parts.join(", ")}. ` +
    (most.length > 0 ? `Slack (how much later a device may run): ${most.join(", ")}.` : "No device has slack.");
}

function setCritical(isWanted) {
  showsCritical = isWanted;
  showNotes();
  redraw();
}

function startCritical() {
  const box = byId("critical");
  box.checked = false;
  box.parentElement.hidden = ![...rawTimelines.keys()].some(hasCritical);
  box.addEventListener("change", () => setCritical(box.checked));
}
