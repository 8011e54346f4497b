// SPDX-License-Identifier: Apache-2.0
// Timelines from afar: if ops are narrower than pixels, each column of pixels has the colour of the op that takes most of it.

/** A lane as flat arrays, which are fast to read: times, styles of both halves, and 1 for marks above, 2 for marks below, 0 for
 * blocks. */
function flatLane(lane) {
  const size = lane.length, start = new Float64Array(size), end = new Float64Array(size);
  const upper = new Uint16Array(size), lower = new Uint16Array(size), mark = new Uint8Array(size);
  for (let i = 0; i < size; i += 1) {
    const entry = lane[i];
    start[i] = entry.start;
    end[i] = entry.end;
    upper[i] = entry.style;
    lower[i] = (entry.second ?? entry).style;
    mark[i] = entry.isMark ? (MARKS[entry.kind].below ? 2 : 1) : 0;
  }
  return { start, end, upper, lower, mark };
}

/** Colours as numbers of an image's pixels, which are RGBA in memory. */
function pixelOf([red, green, blue]) {
  return new Uint32Array(new Uint8Array([red, green, blue, 255]).buffer)[0];
}

/** Bitmap and buffers of a panel, as large as its plot in pixels of the screen. */
function bitmapOf(panel, columns, rows) {
  if (panel.bitmap?.columns !== columns || panel.bitmap.rows !== rows) {
    const canvas = make("canvas", { width: columns, height: rows }), image = new ImageData(columns, rows);
    panel.bitmap = { columns, rows, canvas, image, pixels: new Uint32Array(image.data.buffer), most: new Float32Array(columns),
                     taken: new Float32Array(columns), index: new Int32Array(columns), line: new Uint32Array(columns) };
  }
  return panel.bitmap;
}

/** Finds for each column the block that takes most of it, or -1. */
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

/** Fills rows of pixels, from one place in the plot to another, with the prepared line of pixels. */
function fillRows({ pixels, columns, rows, line }, from, to) {
  const end = Math.min(rows, Math.max(Math.round(from * pixelRatio) + 1, Math.round(to * pixelRatio)));
  for (let y = Math.round(from * pixelRatio); y < end; y += 1)
    pixels.set(line, y * columns);
}

/** Half of the blocks of a device: the upper or the lower ones. */
function addBlocks(bitmap, numbers, fills, from, to) {
  for (let x = 0; x < bitmap.columns; x += 1)
    bitmap.line[x] = bitmap.index[x] >= 0 ? fills[numbers[bitmap.index[x]]] : 0;
  fillRows(bitmap, from, to);
}

/** Marks above, 1, or below, 2. */
function addMarks(flat, which, pixel, first, end, bitmap, perTime, from, to) {
  bitmap.line.fill(0);
  for (let i = first; i < end; i += 1) {
    if (flat.mark[i] !== which)
      continue;
    const start = Math.max(0, Math.floor((flat.start[i] - view.from) * perTime));
    bitmap.line.fill(pixel, start, Math.max(start + 1, (flat.end[i] - view.from) * perTime));
  }
  fillRows(bitmap, from, to);
}

/** Paints the rows of a timeline by columns of pixels. */
function paintColumns(panel, context, width, height) {
  const { timeline } = panel, { lanes } = timeline, { row, strip, top, block, below } = rowParts(timeline);
  const columns = Math.ceil(plotWidth(width) * pixelRatio), perTime = columns / (view.to - view.from);
  const bitmap = bitmapOf(panel, columns, Math.round(height * pixelRatio)), fills = styles.map((style) => pixelOf(style.parts));
  const send = pixelOf(partsOf(colours.send)), receive = pixelOf(partsOf(colours.receive));
  timeline.flat ??= lanes.map(flatLane);
  bitmap.pixels.fill(0);
  for (const [device, flat] of timeline.flat.entries()) {
    const first = firstVisible(lanes[device], view.from), y = device * row;
    const end = firstIndex(lanes[device].length, (i) => flat.start[i] > view.to);
    findLargest(flat, first, end, bitmap, perTime);
    addBlocks(bitmap, flat.upper, fills, y + top, y + top + (timeline.hasPairs ? block / 2 : block));
    if (timeline.hasPairs)
      addBlocks(bitmap, flat.lower, fills, y + top + block / 2, y + top + block);
    if (timeline.hasMarks) {
      addMarks(flat, 1, send, first, end, bitmap, perTime, y, y + strip);
      addMarks(flat, 2, receive, first, end, bitmap, perTime, y + below, y + below + strip);
    }
  }
  bitmap.canvas.getContext("2d").putImageData(bitmap.image, 0, 0);
  context.drawImage(bitmap.canvas, GUTTER, 0, columns / pixelRatio, bitmap.rows / pixelRatio);
}
