// SPDX-License-Identifier: Apache-2.0
// Files of what is drawn, its launch line, and its link.

function save(name, content, type) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = make("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
  document.documentElement.dataset.saved = name;
  announce(`${name} is saved`);
}

function escaped(text) {
  return String(text).replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

/** The whole timeline as SVG, with what it is below. */
function svgOf(picture, title) {
  const width = 1200, gutter = 40, row = Math.max(6, Math.min(24, 600 / picture.lanes.length)), scale = (width - gutter - 10) / picture.end;
  const parts = [], height = picture.lanes.length * row + 44;
  const rectangle = (op, x, y, length, tall) => {
    parts.push(`<rect x="${x.toFixed(2)}" y="${y.toFixed(2)}" width="${Math.max(length - 0.5, 0.25).toFixed(2)}" height="${tall.toFixed(2)}" fill="${styles[op.style].fill}"/>`);
    if (length >= 12 && tall >= 9 && op.microbatch !== null)
      parts.push(`<text x="${(x + length / 2).toFixed(2)}" y="${(y + tall / 2 + 3).toFixed(2)}" text-anchor="middle" fill="${styles[op.style].ink}">${op.microbatch}</text>`);
  };
  for (const [device, lane] of picture.lanes.entries()) {
    parts.push(`<text x="${gutter - 6}" y="${(device * row + row / 2 + 3).toFixed(2)}" text-anchor="end">${device}</text>`);
    for (const entry of lane.filter((one) => !one.isMark))
      for (const [i, op] of opsOf(entry).entries()) {
        const tall = (row - 1) / opsOf(entry).length;
        rectangle(op, gutter + entry.start * scale, device * row + i * tall, (entry.end - entry.start) * scale, tall);
      }
  }
  const legend = [...picture.kinds].filter((kind) => Object.hasOwn(KINDS, kind)).map((kind, i) =>
    `<rect x="${gutter + 150 * i}" y="${height - 36}" width="10" height="10" fill="${KINDS[kind].shades[0]}"/>`
    + `<text x="${gutter + 150 * i + 15}" y="${height - 27}">${kind} ${KINDS[kind].words}</text>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="9">`
    + `<title>${escaped(title)}</title><rect width="100%" height="100%" fill="#fff"/>${parts.join("")}${legend.join("")}`
    + `<text x="${gutter}" y="${height - 8}" font-size="11">${escaped(title)}</text></svg>\n`;
}

function titleOf() {
  const { devices, stages, microbatches } = current.problem, { metrics } = current.picture;
  return `${current.schedule.name}, ${devices} devices, ${stages} stages, ${microbatches} microbatches: makespan ${figure(metrics.makespan)}, bubble ${percent(metrics.bubble_of_total)} of total`;
}

/** The timeline as it is seen, on the page's ground. */
function savePng(name) {
  const { canvas } = livePanel.surface, copy = make("canvas", { width: canvas.width, height: canvas.height }), context = copy.getContext("2d");
  context.fillStyle = colours.panel;
  context.fillRect(0, 0, copy.width, copy.height);
  context.drawImage(canvas, 0, 0);
  copy.toBlob((blob) => save(name, blob));
}

function startExports() {
  const { schedule: exported } = { schedule: (format) => current.schedule.export(format, current.timeline) };
  const actions = {
    csv: () => save(`${current.problem.strategy}.csv`, exported("csv"), "text/csv"),
    json: () => save(`${current.problem.strategy}.json`, exported("json"), "application/json"),
    trace: () => save(`${current.problem.strategy}.trace.json`, exported("chrome_trace"), "application/json"),
    svg: () => save(`${current.problem.strategy}.svg`, svgOf(current.picture, titleOf()), "image/svg+xml"),
    png: () => savePng(`${current.problem.strategy}.png`),
  };
  for (const [kind, action] of Object.entries(actions))
    byId(`save-${kind}`).addEventListener("click", () => {
      try {
        action();
      } catch (error) {
        showProblem(error.message);
      }
    });
  byId("copy-link").addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      announce("The link is copied");
      byId("copied").textContent = "copied";
    } catch {
      byId("copied").textContent = "the address of this page is the link";
    }
  });
  byId("runtime").append(...Object.keys(library.Runtime).map((name) => make("option", { value: name }, name.toLowerCase())));
  byId("runtime").addEventListener("input", showLaunch);
}

function showLaunch() {
  try {
    byId("launch-line").textContent = current.schedule.launchArguments(byId("runtime").value);
  } catch (error) {
    byId("launch-line").textContent = error.message;
  }
}
