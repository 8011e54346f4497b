// SPDX-License-Identifier: Apache-2.0
// Dependencies of an op: other ops of its microbatch, found by kind, stage, microbatch and slice.

const BACKWARDS = ["B", "I"];

/** {device, entry, op} of each op, by its name. */
function indexOf(timeline) {
  if (!timeline.index) {
    timeline.index = new Map();
    for (const [device, lane] of timeline.lanes.entries())
      for (const entry of lane)
        for (const op of opsOf(entry))
          timeline.index.set(opKey(op.kind, op.stage, op.microbatch, op.slice), { device, entry, op });
  }
  return timeline.index;
}

function opKey(kind, stage, microbatch, slice) {
  return `${kind} ${stage} ${microbatch} ${slice ?? ""}`;
}

/** The ops of these names that exist. */
function foundOps(timeline, op, wanted) {
  const index = indexOf(timeline);
  return wanted.map(([kind, stage, slice]) => index.get(opKey(kind, stage, op.microbatch, slice))).filter(Boolean);
}

function both(stage, slice) {
  return BACKWARDS.map((kind) => [kind, stage, slice]);
}

/** Kinds, stages and slices that an op waits for. With slices, a forward also waits for the slice before, and a backward for
 * the next one. */
function inputsOf({ kind, stage, slice }) {
  const before = slice === null ? [] : [["F", stage, slice - 1]], behind = slice === null ? [] : both(stage, slice + 1);
  if (kind === "F")
    return [["F", stage - 1, slice], ...before];
  if (BACKWARDS.includes(kind))
    return [["F", stage, slice], ["RECOMPUTE", stage, slice], ...both(stage + 1, slice), ...behind];
  return kind === "W" ? [["I", stage, slice]] : kind === "RECOMPUTE" ? [["F", stage, slice]] : [];
}

function outputsOf({ kind, stage, slice }) {
  const behind = slice === null ? [] : [["F", stage, slice + 1]], before = slice === null ? [] : both(stage, slice - 1);
  if (kind === "F")
    return [["F", stage + 1, slice], ["RECOMPUTE", stage, slice], ...both(stage, slice), ...behind];
  if (BACKWARDS.includes(kind))
    return [...both(stage - 1, slice), ...(kind === "I" ? [["W", stage, slice]] : []), ...before];
  return kind === "RECOMPUTE" ? both(stage, slice) : [];
}

/** [{device, entry, op}] that an entry waits for, or that wait for it; without those between the two ops of a pair. */
function linked(timeline, entry, wantedOf) {
  if (entry.isMark)
    return [];
  return opsOf(entry).flatMap((op) => foundOps(timeline, op, wantedOf(op))).filter((found) => found.entry !== entry);
}

// --- arrows ---

const HEAD = 6; // pixels

function paintArrow(context, { start, end, isDashed }) {
  const angle = Math.atan2(end.y - start.y, end.x - start.x);
  context.setLineDash(isDashed ? [4, 3] : []);
  context.beginPath();
  context.moveTo(start.x, start.y);
  context.lineTo(end.x, end.y);
  context.stroke();
  context.setLineDash([]);
  context.beginPath();
  context.moveTo(end.x, end.y);
  for (const turn of [-0.45, 0.45])
    context.lineTo(end.x - HEAD * Math.cos(angle + turn), end.y - HEAD * Math.sin(angle + turn));
  context.fill();
}

function arrowOf(from, to, isDashed) {
  const start = { x: from.x + from.width, y: from.y + from.height / 2 }, end = { x: to.x, y: to.y + to.height / 2 };
  return { start, end, isDashed };
}

/** The distance of a point from an arrow's line. */
function distanceTo({ start, end }, { x, y }) {
  const dx = end.x - start.x, dy = end.y - start.y, length = dx * dx + dy * dy;
  const share = length > 0 ? Math.min(1, Math.max(0, ((x - start.x) * dx + (y - start.y) * dy) / length)) : 0;
  return Math.hypot(start.x + share * dx - x, start.y + share * dy - y);
}

/** Draws digits in front of arrows that would cross them. */
function paintNumbersAbove(context, numbers, arrows) {
  const isNear = (number) => arrows.some((arrow) => distanceTo(arrow, number) < 0.4 * number.size * number.text.length + 1);
  const crossed = numbers.filter(isNear);
  for (const { x, y, size, text, fill } of crossed) {
    const wide = 0.62 * size * text.length;
    context.fillStyle = fill;
    context.fillRect(x - wide / 2 - 2, y - 0.45 * size, wide + 4, 0.9 * size);
  }
  paintNumbers(context, crossed);
}

/** Draws arrows from the ops that the held op waits for, and dashed arrows to the ops that wait for it. */
function paintArrows(context, panel, { device, entry }, width) {
  const place = (found) => rectangleOf(found.entry, found.device, panel.timeline, width), own = place({ device, entry });
  context.strokeStyle = context.fillStyle = colours.ink;
  context.lineWidth = 1.5;
  const inputs = linked(panel.timeline, entry, inputsOf), outputs = linked(panel.timeline, entry, outputsOf);
  const arrows = [...inputs.map((found) => arrowOf(place(found), own, false)),
                  ...outputs.map((found) => arrowOf(own, place(found), true))];
  for (const arrow of arrows)
    paintArrow(context, arrow);
  paintNumbersAbove(context, panel.numbers ?? [], arrows);
  panel.arrows = arrows.length;
}

/** [[name, tokens]] for an op's details. */
function linkRows(timeline, entry) {
  const tokens = (found) => [...new Set(found.map(({ op }) => op.token))].join(", ");
  const rows = [["waits for", tokens(linked(timeline, entry, inputsOf))],
                ["waited for by", tokens(linked(timeline, entry, outputsOf))]];
  return rows.filter(([, text]) => text);
}
