// SPDX-License-Identifier: Apache-2.0
// Files that the page saves: the order as CSV for PyTorch, the schedule as JSON, the timeline as PNG or SVG.

/** Gives a file to the browser to save. */
function saveFile(name, content) {
  const link = make("a", { download: name, href: URL.createObjectURL(content) });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  announce(`Saved ${name}`);
}

function saveText(name, type, text) {
  saveFile(name, new Blob([text], { type }));
}

/** A name that is valid in any file system. */
function fileName(rank, ending) {
  const { strategy, chunks, microbatches } = candidateOf(rank);
  return `${strategy ?? "custom"}-v${chunks ?? 1}-m${microbatches ?? 0}`.replace(/[^\w.-]+/g, "_") + ending;
}

/** The order without lowering, as runtimes read it. */
function csvOf(rank) {
  const raw = rawTimeline(rank), queues = raw.order ?? list(raw.schedule?.queues).map((queue) => queue.ops);
  return queues.map((ops) => `${list(ops).join(",")}\n`).join("");
}

function saveCsv(rank, name = fileName(rank, ".csv")) {
  saveText(name, "text/csv", csvOf(rank));
}

function saveJson(rank) {
  saveText(fileName(rank, ".json"), "application/json", `${JSON.stringify(rawTimeline(rank).schedule)}\n`);
}

// --- pictures: the visible range of time, in the width of the page, on white ---

const CAPTION = 20, AXIS = 24; // pixels above and below

/** The functions of a canvas context that painting a timeline needs, as SVG. */
class SvgContext {
  constructor(element) {
    this.element = element;
    this.fillStyle = "#000000";
    this.textAlign = "left";
    this.font = "";
  }

  fillRect(x, y, width, height) {
    const box = { x, y, width: Math.max(0, width), height: Math.max(0, height) };
    const rounded = Object.fromEntries(Object.entries(box).map(([name, value]) => [name, Number(value.toFixed(2))]));
    this.element.append(makeSvg("rect", { ...rounded, fill: this.fillStyle }));
  }

  fillText(text, x, y) {
    const anchor = { left: "start", right: "end", center: "middle" }[this.textAlign];
    this.element.append(makeSvg("text", { x: Number(x.toFixed(2)), y: Number(y.toFixed(2)), "text-anchor": anchor,
      "dominant-baseline": "central", fill: this.fillStyle, "font-size": parseFloat(this.font), "font-family": FONT }, text));
  }

  measureText(text) {
    return { width: 0.6 * parseFloat(this.font) * text.length };
  }

  beginPath() {
    this.path = "";
  }

  moveTo(x, y) {
    this.path += `M${x.toFixed(2)} ${y.toFixed(2)}`;
  }

  lineTo(x, y) {
    this.path += `L${x.toFixed(2)} ${y.toFixed(2)}`;
  }

  stroke() {
    const pen = { stroke: this.strokeStyle, "stroke-width": this.lineWidth };
    this.element.append(makeSvg("path", { d: this.path, fill: "none", ...pen }));
  }

  save() {}
  restore() {}
  rect() {}
  clip() {}
}

/** Paints caption, timeline and axis; at(y) returns the context of the next part. */
function paintPicture(panel, width, height, at) {
  const caption = at(0);
  caption.font = `12px ${FONT}`;
  caption.textBaseline = "middle";
  caption.fillStyle = colours.ink;
  caption.fillText(`${nameOf(candidateOf(panel.rank))}: ${timelineText(panel.rank, panel.timeline)}`, GUTTER, CAPTION / 2);
  paintTimeline(panel, at(CAPTION), width, height, false);
  paintAxis(at(CAPTION + height), width, AXIS);
}

/** Paints in light colours, also if the page is dark. */
function inLight(paint) {
  const theme = document.documentElement.dataset.theme;
  setTheme("light");
  try {
    return paint();
  } finally {
    setTheme(theme);
  }
}

function savePng(panel) {
  const { width, height } = panel.surface.size(), canvas = make("canvas", {});
  canvas.width = Math.round(width * pixelRatio);
  canvas.height = Math.round((height + CAPTION + AXIS) * pixelRatio);
  const context = canvas.getContext("2d");
  inLight(() => {
    context.fillStyle = colours.panel;
    context.fillRect(0, 0, canvas.width, canvas.height);
    paintPicture(panel, width, height, (y) => {
      context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, y * pixelRatio);
      return context;
    });
  });
  canvas.toBlob((content) => saveFile(fileName(panel.rank, ".png"), content));
}

function svgOf(panel) {
  const { width, height } = panel.surface.size(), whole = height + CAPTION + AXIS;
  const svg = makeSvg("svg", { xmlns: SVG, width, height: whole, viewBox: `0 0 ${width} ${whole}` },
    makeSvg("rect", { width, height: whole, fill: "#ffffff" }));
  inLight(() => paintPicture(panel, width, height, (y) => {
    const group = makeSvg("g", { transform: `translate(0 ${y})` });
    svg.append(group);
    return new SvgContext(group);
  }));
  return new XMLSerializer().serializeToString(svg);
}

function saveSvg(panel) {
  saveText(fileName(panel.rank, ".svg"), "image/svg+xml", svgOf(panel));
}

/** The buttons in a timeline's caption; each names the file and the candidate that it saves. */
function makeSaveButtons(panel) {
  const of = `${numberOf(candidateOf(panel.rank))} ${nameOf(candidateOf(panel.rank))}`;
  const button = (text, what, action) => makeButton(text, `Save ${what} of ${of}`, action);
  const isGraph = rawTimeline(panel.rank).schedule?.stage_inputs !== undefined; // CSV cannot say which stages feed each other
  return make("span", { class: "saves", role: "group", "aria-label": `Save ${of}` },
    ...(isGraph ? [] : [button("CSV", "the order as CSV for PyTorch", () => saveCsv(panel.rank))]),
    button("JSON", "the schedule as JSON", () => saveJson(panel.rank)),
    button("PNG", "the picture as PNG", () => savePng(panel)),
    button("SVG", "the picture as SVG", () => saveSvg(panel)));
}

/** A button to save the file that a launch line names, if it names one. */
function makeNamedSave(rank, line, of) {
  const name = /([^\s=/'"]+\.csv)\b/.exec(line)?.[1];
  return name ? makeButton(`Save ${name}`, `Save ${name} ${of}`, () => saveCsv(rank, name)) : null;
}
