// SPDX-License-Identifier: Apache-2.0
// How a timeline is laid out and painted: one row per device, all on one time axis.

const TALLEST = 4096;                              // most pixels of a timeline
const TICK = 70;                                   // least pixels between ticks
const ROW_SCALES = [0.5, 0.7, 1, 1.5, 2, 3, 4];
const DARK_INK = "#000000";
const LEAST_EDGED = 6;                             // least pixels of an op with an edge
const COARSE = 5;                                  // mean pixels per op below which ops are drawn by columns
const LEAST_NUMBER = 8, LARGEST_NUMBER = 11;       // pixels of a microbatch number
const LEAST_HALF = 8, LEAST_PAIR = 24;             // pixels of an op of a pair, and of the pair, with its windows
const FONT = "system-ui, 'DejaVu Sans', sans-serif";

let rowScale = 2;       // index into ROW_SCALES

function rowHeight(devices) {
  const plain = clamp(Math.floor(440 / Math.max(1, devices)), 7, 30);
  return Math.min(Math.max(2, Math.round(plain * ROW_SCALES[rowScale])), TALLEST / Math.max(1, devices));
}

/** The position of an entry in its row: marks above and below, blocks between them. The ops of a pair share the row. */
function rowParts(timeline) {
  const row = rowHeight(timeline.lanes.length);
  const gap = row >= 12 ? 2 : row >= 4 ? 1 : 0;
  const strip = timeline.hasMarks ? Math.max(1.5, Math.round(row * 0.13)) : 0;
  return { row, strip, top: strip, block: row - gap - 2 * strip, below: row - gap - strip };
}

function rectangleOf(entry, device, timeline, width) {
  const { row, strip, top, block, below } = rowParts(timeline);
  const left = snap(xOf(entry.start, width)), right = snap(xOf(entry.end, width));
  const y = device * row + (entry.isMark ? (MARKS[entry.kind].below ? below : 0) : top);
  return { x: left, y, width: Math.max(right - left, entry.isMark ? 1.5 : 0.5), height: entry.isMark ? strip : block };
}

/** Index of the lane's first entry that ends at a time or later. */
function firstVisible(lane, time) {
  return firstIndex(lane.length, (i) => lane[i].reach >= time);
}

// --- painting ---

/** Rectangles by colour, painted together. */
class Strokes {
  constructor() {
    this.byColour = new Map();
    this.count = 0;
  }

  add(colour, x, y, width, height) {
    let list = this.byColour.get(colour);
    if (!list)
      this.byColour.set(colour, list = []);
    list.push(x, y, width, height);
    this.count += 1;
  }

  paint(context) {
    for (const [colour, list] of this.byColour) {
      context.fillStyle = colour;
      for (let i = 0; i < list.length; i += 4)
        context.fillRect(list[i], list[i + 1], list[i + 2], list[i + 3]);
    }
  }
}

function paintRows(context, timeline, width, height) {
  const { row } = rowParts(timeline);
  const left = Math.max(GUTTER, xOf(0, width)), right = Math.min(width - MARGIN, xOf(timeline.end, width));
  context.fillStyle = colours.ground;
  for (let device = 0; device < timeline.lanes.length; device += 1)
    context.fillRect(left, device * row, Math.max(0, right - left), row - (row >= 4 ? 1 : 0));
  context.fillStyle = colours.line;
  for (const time of ticks(view.from, view.to, plotWidth(width) / TICK))
    context.fillRect(snap(xOf(time, width)), 0, 1, height);
}

function paintDevices(context, timeline) {
  const { row, top, block } = rowParts(timeline);
  const size = clamp(row * 0.7, 8, 12), step = Math.ceil((size + 2) / row);
  context.fillStyle = colours.muted;
  context.font = `${size}px ${FONT}`;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (let device = 0; device < timeline.lanes.length; device += step)
    context.fillText(String(device), GUTTER - 6, device * row + Math.max(top + block / 2, size / 2));
}

/** Paints the number of an op's microbatch, if the longest number fits into all visible ops of its kind. */
function addNumber(painting, op, { ink, fill }, x, y, width, height, { seen, whole }) {
  if (op.microbatch === null || whole <= 0 || painting.bare.has(op.kind))
    return;
  const text = op.slice === null ? String(op.microbatch) : `${op.microbatch}.${op.slice}`;
  const letters = painting.letters + text.length - String(op.microbatch).length;
  const sizeIn = (room) => Math.floor(Math.min(LARGEST_NUMBER, 0.8 * height, (room - 1.5) / (0.62 * letters)));
  if (sizeIn(whole) < LEAST_NUMBER)
    painting.bare.add(op.kind);
  else if (sizeIn(seen) >= LEAST_NUMBER)
    painting.numbers.push({ text, kind: op.kind, size: sizeIn(seen), ink, fill, x: x + width / 2, y: y + height / 2 + 0.5 });
}

/** Collects what is painted for a lane's ops: edges at the bottom, then fills, lines and digits. */
class Painting {
  constructor(letters) {
    this.edges = new Strokes();
    this.fills = new Strokes();
    this.lines = new Strokes();
    this.numbers = [];
    this.bare = new Set();  // kinds without numbers, as one op of them is too narrow
    this.letters = letters; // letters of the largest microbatch number
  }

  paint(context) {
    for (const strokes of [this.edges, this.fills, this.lines])
      strokes.paint(context);
    this.numbers = this.numbers.filter(({ kind }) => !this.bare.has(kind));
    paintNumbers(context, this.numbers);
  }
}

/** Adds the visible ops of a device; of entries that share a column of pixels, only the first. */
function addLane(painting, lane, device, timeline, width) {
  const parts = rowParts(timeline), least = 1 / pixelRatio, y = device * parts.row;
  const last = { block: -Infinity, above: -Infinity, below: -Infinity };
  for (let i = firstVisible(lane, view.from); i < lane.length && lane[i].start <= view.to; i += 1) {
    const entry = lane[i];
    const left = Math.max(snap(xOf(entry.start, width)), GUTTER - 1);
    const right = Math.min(snap(xOf(entry.end, width)), width - MARGIN + 1);
    const place = !entry.isMark ? "block" : MARKS[entry.kind].below ? "below" : "above";
    if (entry.end < view.from || (right <= last[place] && right - left <= least))
      continue;
    last[place] = Math.max(right, left + least);
    if (entry.isMark)
      painting.fills.add(place === "below" ? colours.receive : colours.send, left, y + (place === "below" ? parts.below : 0),
        Math.max(right - left, 1.5), parts.strip);
    else
      addBlock(painting, entry, left, y + parts.top, right - left, parts.block,
        roomOf(xOf(entry.end, width) - xOf(entry.start, width), right - left + 1));
    if (entry.second && parts.block >= 2 * LEAST_HALF && right - left >= LEAST_PAIR)
      addWindows(painting, entry, timeline, y + parts.top, parts.block, width);
  }
}

/** Strips at the edges of a pair: the windows of its forward above, those of its backward and weight gradient below. */
function addWindows(painting, entry, timeline, y, height, width) {
  const strip = Math.max(1.5, 0.07 * height);
  const tops = { forward: y, backward: y + height - 2 * strip, weight: y + height - strip };
  const place = (share) => clamp(xOf(entry.start + share * (entry.end - entry.start), width), GUTTER - 1, width - MARGIN + 1);
  for (const [of, channel, start, end] of windowsOf(timeline, entry))
    painting.lines.add(CHANNELS[channel], place(start), tops[of], place(end) - place(start), strip);
}

/** The space for a number is the exact visible width, so that ops of the same duration look the same. */
function roomOf(whole, seen) {
  return { whole, seen: Math.min(whole, seen) };
}

function addBlock(painting, entry, x, y, length, height, room) {
  const width = Math.max(length > 4 ? length - 1 : length, 1 / pixelRatio); // neighbours are a pixel apart if there is space
  if (entry.second) {
    addOp(painting, entry, x, y, width, height / 2, room);
    addOp(painting, entry.second, x, y + height / 2, width, height / 2, room);
  } else {
    addOp(painting, entry, x, y, width, height, room);
  }
}

function addOp(painting, op, x, y, width, height, room) {
  const { fill, edge, isLined } = styles[op.style];
  const rim = edge && width >= LEAST_EDGED && height >= LEAST_EDGED ? 1 : 0;
  if (rim)
    painting.edges.add(edge, x, y, width, height);
  painting.fills.add(fill, x + rim, y + rim, width - 2 * rim, height - 2 * rim);
  if (isLined)
    painting.lines.add(DARK_INK, x, y + 0.75 * height, width, Math.max(1, 0.1 * height));
  addNumber(painting, op, styles[op.style], x, y, width, height, room);
}

function paintNumbers(context, numbers) {
  context.textAlign = "center";
  context.textBaseline = "middle";
  let size = 0, ink = "";
  for (const number of numbers) {
    if (number.size !== size)
      context.font = `${size = number.size}px ${FONT}`;
    if (number.ink !== ink)
      context.fillStyle = ink = number.ink;
    context.fillText(number.text, number.x, number.y);
  }
}

/** Letters of the largest microbatch number. */
function lettersOf({ microbatches, iterations }) {
  return String(Math.max(1, (microbatches ?? 1) * (iterations ?? 1)) - 1).length;
}

/** The number of visible entries, nearly. */
function countVisible(timeline) {
  return sum(timeline.lanes.map((lane) =>
    Math.max(0, firstIndex(lane.length, (i) => lane[i].start > view.to) - firstVisible(lane, view.from))));
}

function paintTimeline(panel, context, width, height, mayBeCoarse = true) {
  const { timeline } = panel, visible = countVisible(timeline);
  panel.numbers = [];
  paintRows(context, timeline, width, height);
  context.save();
  context.beginPath();
  context.rect(GUTTER - 0.5, 0, width - GUTTER - MARGIN + 1, height);
  context.clip();
  if (mayBeCoarse && visible * COARSE > timeline.lanes.length * plotWidth(width)) {
    paintColumns(panel, context, width, height);
    panel.drawn = visible;
  } else {
    const painting = new Painting(lettersOf(timeline));
    for (const [device, lane] of timeline.lanes.entries())
      addLane(painting, lane, device, timeline, width);
    painting.paint(context);
    panel.drawn = painting.fills.count;
    panel.numbers = painting.numbers;
  }
  paintCritical(panel, context, width);
  context.fillStyle = colours.accent;
  context.fillRect(snap(xOf(timeline.end, width)), 0, 1.5, height);
  context.restore();
  paintDevices(context, timeline);
}
