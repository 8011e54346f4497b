// SPDX-License-Identifier: Apache-2.0
// Timelines from afar: where ops are narrower than pixels each column of pixels has the colour of what takes most of it.

const ROWS = 4; // of pixels a device: marks above, upper and lower half of blocks, marks below

/** A lane as flat arrays, which are read fast: times, styles of both halves, and for marks 1 above, 2 below, for blocks 0. */
function flatLane(lane) {
  const flat = { start: new Float64Array(lane.length), end: new Float64Array(lane.length), upper: new Uint16Array(lane.length),
                 lower: new Uint16Array(lane.length), mark: new Uint8Array(lane.length) };
  for (const [i, entry] of lane.entries()) {
    flat.start[i] = entry.start;
    flat.end[i] = entry.end;
    flat.upper[i] = entry.style;
    flat.lower[i] = (entry.second ?? entry).style;
    flat.mark[i] = entry.isMark ? (MARKS[entry.kind].below ? 2 : 1) : 0;
  }
  return flat;
}

/** Colours as numbers of an image's pixels, which are RGBA in memory. */
function pixelOf([red, green, blue]) {
  return new Uint32Array(new Uint8Array([red, green, blue, 255]).buffer)[0];
}

/** Bitmap and room of a panel, as wide as it is. */
function bitmapOf(panel, columns, devices) {
  if (panel.bitmap?.columns !== columns) {
    const canvas = make("canvas", { width: columns, height: ROWS * devices });
    const image = new ImageData(columns, ROWS * devices);
    panel.bitmap = { columns, canvas, image, pixels: new Uint32Array(image.data.buffer), most: new Float32Array(columns),
                     taken: new Float32Array(columns), index: new Int32Array(columns) };
  }
  return panel.bitmap;
}

/** Finds for each column the block that takes most of it, -1 where that is none. */
function findLargest(flat, first, end, bitmap, perTime) {
  const { most, taken, index, columns } = bitmap;
  most.fill(0);
  taken.fill(0);
  index.fill(-1);
  for (let i = first; i < end; i += 1) {
    if (flat.mark[i] !== 0)
      continue;
    const from = Math.max(0, (flat.start[i] - view.from) * perTime);
    const to = Math.min(columns, (flat.end[i] - view.from) * perTime);
    for (let x = Math.floor(from); x < to; x += 1) {
      const part = Math.min(to, x + 1) - Math.max(from, x);
      taken[x] += part;
      if (part > most[x]) {
        most[x] = part;
        index[x] = i;
      }
    }
  }
  for (let x = 0; x < columns; x += 1)
    if (1 - taken[x] > Math.max(most[x], 0.5)) // idle
      index[x] = -1;
}

function addMarks(flat, first, end, bitmap, perTime, row, pixels) {
  for (let i = first; i < end; i += 1) {
    if (flat.mark[i] === 0)
      continue;
    const from = Math.max(0, Math.floor((flat.start[i] - view.from) * perTime));
    const to = Math.min(bitmap.columns, Math.max(from + 1, (flat.end[i] - view.from) * perTime));
    const line = (row + (flat.mark[i] === 1 ? 0 : ROWS - 1)) * bitmap.columns;
    bitmap.pixels.fill(pixels[flat.mark[i]], line + from, line + Math.floor(to));
  }
}

/** Paints the rows of a timeline by columns of pixels. */
function paintColumns(panel, context, width) {
  const { timeline } = panel, { lanes } = timeline;
  const columns = Math.ceil(plotWidth(width) * pixelRatio), perTime = columns / (view.to - view.from);
  const bitmap = bitmapOf(panel, columns, lanes.length), fills = styles.map((style) => pixelOf(style.parts));
  const marks = [0, pixelOf(partsOf(colours.send)), pixelOf(partsOf(colours.receive))];
  timeline.flat ??= lanes.map(flatLane);
  bitmap.pixels.fill(0);
  for (const [device, flat] of timeline.flat.entries()) {
    const first = firstVisible(lanes[device], view.from), row = ROWS * device;
    const end = firstIndex(lanes[device].length, (i) => flat.start[i] > view.to);
    findLargest(flat, first, end, bitmap, perTime);
    for (let x = 0; x < columns; x += 1) {
      const i = bitmap.index[x];
      if (i >= 0) {
        bitmap.pixels[(row + 1) * columns + x] = fills[flat.upper[i]];
        bitmap.pixels[(row + 2) * columns + x] = fills[flat.lower[i]];
      }
    }
    if (timeline.hasMarks)
      addMarks(flat, first, end, bitmap, perTime, row, marks);
  }
  bitmap.canvas.getContext("2d").putImageData(bitmap.image, 0, 0);
  drawBitmap(context, bitmap, timeline, width);
}

function drawBitmap(context, { canvas, columns }, timeline, width) {
  const { row, strip, top, block, below } = rowParts(timeline);
  context.imageSmoothingEnabled = false;
  for (let device = 0; device < timeline.lanes.length; device += 1) {
    const from = ROWS * device, y = device * row;
    context.drawImage(canvas, 0, from + 1, columns, 2, GUTTER, y + top, plotWidth(width), block);
    if (strip > 0) {
      context.drawImage(canvas, 0, from, columns, 1, GUTTER, y, plotWidth(width), strip);
      context.drawImage(canvas, 0, from + 3, columns, 1, GUTTER, y + below, plotWidth(width), strip);
    }
  }
}
