// SPDX-License-Identifier: Apache-2.0
// The whole timeline as SVG: title, rows of devices, axis of time, and legend.

const SHEET = { width: 1200, left: 46, right: 14, top: 26, axis: 22, legend: 16 }; // units of the picture

/** Removes characters that XML cannot contain: control characters, unpaired surrogates and U+FFFE. */
function escaped(text) {
  return String(text).replace(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, "?")
    .replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

function svgText(x, y, text, more = "") {
  return `<text x="${x.toFixed(2)}" y="${y.toFixed(2)}"${more}>${escaped(text)}</text>`;
}

function svgBlock(op, x, y, length, tall) {
  const { fill, ink } = styles[op.style], width = Math.max(length - 0.5, 0.25);
  const block = `<rect x="${x.toFixed(2)}" y="${y.toFixed(2)}" width="${width.toFixed(2)}" height="${tall.toFixed(2)}" fill="${fill}"/>`;
  const hasNumber = length >= 6 * String(op.microbatch).length + 4 && tall >= 9 && op.microbatch !== null;
  return hasNumber ? block + svgText(x + length / 2, y + tall / 2 + 3, op.microbatch, ` text-anchor="middle" fill="${ink}"`) : block;
}

function svgRow(lane, device, row, scale) {
  const y = SHEET.top + device * row, step = Math.ceil(9 / row);
  const parts = device % step === 0 ? [svgText(SHEET.left - 6, y + row / 2 + 3, device, ' text-anchor="end"')] : [];
  for (const entry of lane.filter((one) => !one.isMark)) {
    const ops = opsOf(entry), tall = (row - 1) / ops.length;
    for (const [i, op] of ops.entries())
      parts.push(svgBlock(op, SHEET.left + entry.start * scale, y + i * tall, (entry.end - entry.start) * scale, tall));
  }
  return parts.join("");
}

/** A line below the rows, with a mark and a number at round times. */
function svgAxis(end, y, scale) {
  const times = ticks(0, end, 12);
  const marks = times.map((time) => `M${(SHEET.left + time * scale).toFixed(2)} ${y}v4`).join("");
  return `<path d="M${SHEET.left} ${y}H${(SHEET.left + end * scale).toFixed(2)}${marks}" fill="none" stroke="#333"/>`
    + times.map((time) => svgText(SHEET.left + time * scale, y + 13, figure(time), ' text-anchor="middle"')).join("")
    + svgText(SHEET.left - 6, y + 13, "time", ' text-anchor="end"');
}

function svgLegend(picture, y) {
  const kinds = Object.keys(KINDS).filter((kind) => picture.kinds.has(kind)).map((kind) => [styles[styleNumber(kind, 0)].fill, `${kind} ${KINDS[kind].words}`]);
  const chunks = chunkItems(picture.chunks).map(([{ fill }, text]) => [fill, text]);
  let x = SHEET.left;
  return [...kinds, ...chunks].map(([fill, text]) => {
    const at = x;
    x += 28 + 5.2 * text.length;
    return `<rect x="${at.toFixed(2)}" y="${y}" width="10" height="10" fill="${fill}"/>${svgText(at + 14, y + 8.5, text)}`;
  }).join("");
}

function svgOf(picture, title) {
  const { width, left, right, top, axis, legend } = SHEET;
  const row = clamp(600 / picture.lanes.length, 4, 24), scale = (width - left - right) / picture.end, below = top + picture.lanes.length * row;
  const height = Math.ceil(below + axis + legend);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="9">`
    + `<title>${escaped(title)}</title><rect width="100%" height="100%" fill="#fff"/>${svgText(left, 16, title, ' font-size="12"')}`
    + picture.lanes.map((lane, device) => svgRow(lane, device, row, scale)).join("")
    + `${svgAxis(picture.end, below + 2, scale)}${svgLegend(picture, below + axis + 2)}</svg>\n`;
}
