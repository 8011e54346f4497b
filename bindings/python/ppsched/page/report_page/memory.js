// SPDX-License-Identifier: Apache-2.0
// Memory over time of one device, with the fullest device in the background, and the peak of each device.

const CHART = 130, WIDEST_BAR = 70; // pixels
let memoryDevice = null; // null: the fullest device of each candidate

// Curves are numbers: time, level, time, level, ...

function peakOf(curve) {
  let best = 1;
  for (let i = 3; i < curve.length; i += 2)
    if (curve[i] > curve[best])
      best = i;
  return curve.length === 0 ? null : { time: curve[best - 1], level: curve[best] };
}

/** The first point after a time. */
function pointBehind(curve, time) {
  return firstIndex(curve.length / 2, (i) => curve[2 * i] > time);
}

function peaksOf(timeline) {
  timeline.curvePeaks ??= timeline.memory.map(peakOf);
  return timeline.curvePeaks;
}

/** The device of a timeline that is shown. */
function deviceOf(timeline) {
  const peaks = peaksOf(timeline);
  if (memoryDevice !== null && peaks[memoryDevice])
    return memoryDevice;
  const most = largest(peaks.map((peak) => peak?.level), -Infinity);
  return Math.max(0, peaks.findIndex((peak) => peak?.level === most));
}

/** The range of all charts: up to the highest peak, or to a limit that is not far above it. */
function memoryRange() {
  const timelines = chosenTimelines();
  const peak = largest(timelines.flatMap((timeline) => peaksOf(timeline).map((found) => found?.level))) || 1;
  const limit = largest(timelines.flatMap((timeline) => timeline.limits));
  return limit <= 2 * peak ? Math.max(limit, peak) : peak;
}

/** The top of the charts, with some space. */
function memoryTop() {
  return 1.12 * memoryRange();
}

// --- the chart ---

function yOf(level, top) {
  return (CHART - 4) * (1 - level / top) + 2;
}

/** For each column of pixels the highest level of all devices. */
function highest(timeline, width) {
  const columns = Math.ceil(plotWidth(width)), most = new Float64Array(columns);
  for (const curve of timeline.memory)
    for (let i = 2 * Math.max(0, pointBehind(curve, view.from) - 1); i < curve.length && curve[i] <= view.to; i += 2) {
      const start = Math.max(0, Math.floor(xOf(curve[i], width) - GUTTER));
      const end = xOf(i + 2 < curve.length ? curve[i + 2] : timeline.end, width) - GUTTER;
      for (let x = start; x < columns && (x === start || x < end); x += 1)
        most[x] = Math.max(most[x], curve[i + 1]);
    }
  return most;
}

function paintScale(context, width, top) {
  context.font = `11px ${FONT}`;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const level of ticks(0, top, 3)) {
    context.fillStyle = colours.line;
    context.fillRect(GUTTER, snap(yOf(level, top)), plotWidth(width), 1);
    context.fillStyle = colours.muted;
    context.fillText(figure(level, 3), GUTTER - 5, clamp(yOf(level, top), 7, CHART - 7));
  }
}

function paintBand(context, timeline, width, top) {
  context.fillStyle = colours.band;
  for (const [x, level] of highest(timeline, width).entries())
    if (level > 0)
      context.fillRect(GUTTER + x, yOf(level, top), 1, yOf(0, top) - yOf(level, top));
}

/** The visible steps of a device's curve. */
function paintCurve(context, timeline, curve, width, top) {
  context.strokeStyle = colours.curve;
  context.lineWidth = 1.75;
  context.lineJoin = "round";
  context.beginPath();
  let x = GUTTER, y = null;
  for (let i = 2 * Math.max(0, pointBehind(curve, view.from) - 1); i < curve.length && curve[i] <= view.to; i += 2) {
    x = Math.max(GUTTER, xOf(curve[i], width));
    if (y === null)
      context.moveTo(x, yOf(curve[i + 1], top));
    else
      context.lineTo(x, y);
    y = yOf(curve[i + 1], top);
    context.lineTo(x, y);
  }
  if (y !== null)
    context.lineTo(Math.min(xOf(timeline.end, width), width - MARGIN), y);
  context.stroke();
}

/** Text with a background, so that it can be read anywhere. */
function paintLabel(context, text, x, y, colour) {
  context.font = `11px ${FONT}`;
  context.textBaseline = "middle";
  context.textAlign = "left";
  const width = context.measureText(text).width;
  const left = clamp(x, GUTTER + 2, Math.max(GUTTER + 2, context.canvas.clientWidth - MARGIN - width - 2));
  const middle = clamp(y, 8, CHART - 8);
  context.globalAlpha = 0.85;
  context.fillStyle = colours.panel;
  context.fillRect(left - 2, middle - 7, width + 4, 14);
  context.globalAlpha = 1;
  context.fillStyle = colour;
  context.fillText(text, left, middle);
}

function paintLimit(context, limit, width, top) {
  if (!isNumber(limit))
    return;
  const isInside = limit <= top;
  if (isInside) {
    context.strokeStyle = colours.bad;
    context.lineWidth = 1.5;
    context.setLineDash([5, 3]);
    context.beginPath();
    context.moveTo(GUTTER, yOf(limit, top));
    context.lineTo(width - MARGIN, yOf(limit, top));
    context.stroke();
    context.setLineDash([]);
  }
  const text = `limit ${memoryFigure(limit)}${isInside ? "" : ", above this chart"}`;
  paintLabel(context, text, width, isInside ? yOf(limit, top) + 10 : 8, colours.bad);
}

function paintPeak(context, peak, width, top) {
  const x = xOf(peak.time, width), y = yOf(peak.level, top);
  if (x < GUTTER - 1 || x > width - MARGIN + 1)
    return;
  context.fillStyle = colours.ink;
  context.beginPath();
  context.arc(x, y, 3.5, 0, 2 * Math.PI);
  context.fill();
  paintLabel(context, `peak ${memoryFigure(peak.level)} at ${timeFigure(peak.time)}`, x + 8, y + 11, colours.ink);
}

function paintMemory(timeline, context, width) {
  const device = deviceOf(timeline), top = memoryTop(), peak = peaksOf(timeline)[device];
  paintScale(context, width, top);
  paintBand(context, timeline, width, top);
  if (!peak)
    return;
  context.save();
  context.beginPath();
  context.rect(GUTTER - 1, 0, plotWidth(width) + 2, CHART);
  context.clip();
  paintCurve(context, timeline, timeline.memory[device], width, top);
  context.restore();
  paintLimit(context, timeline.limits[device], width, top);
  paintPeak(context, peak, width, top);
}

function pointAtMemory(timeline, box, x, y) {
  const device = deviceOf(timeline), curve = timeline.memory[device] ?? [], time = timeOf(x, box.clientWidth);
  const index = pointBehind(curve, time) - 1;
  if (index < 0 || x < GUTTER || time > timeline.end) {
    letGo();
    return;
  }
  const { left, top } = box.getBoundingClientRect();
  pointed = null;
  cursorTime = time;
  paintOvers();
  showTip(left + x, top + y, `device ${device}`, [["time", timeFigure(time, 4)], ["memory", memoryFigure(curve[2 * index + 1])],
                                                    ["limit", memoryFigure(timeline.limits[device])]]);
}

// --- bars, one per device ---

/** A chart with one bar per device: draw(group, device) puts SVG into a group; pointAt(device) returns title and rows. */
function makeBars(devices, topText, draw, pointAt, onClick = null) {
  const width = 100 / Math.max(1, devices);
  const svg = makeSvg("svg", { "aria-hidden": "true" });
  for (let device = 0; device < devices; device += 1)
    svg.append(...draw(device, `${(device + 0.1) * width}%`, `${0.8 * width}%`));
  const step = Math.ceil(devices / 16), names = make("div", { class: "names" });
  for (let device = 0; device < devices; device += step) {
    const name = make("span", {}, String(device));
    name.style.left = `${(device + 0.5) * width}%`;
    names.append(name);
  }
  const deviceAt = (event) => {
    const box = svg.getBoundingClientRect();
    return clamp(Math.floor((event.clientX - box.left) / box.width * devices), 0, devices - 1);
  };
  const tell = (event) => showTip(event.clientX, event.clientY, ...pointAt(deviceAt(event)));
  svg.addEventListener("pointermove", tell);
  svg.addEventListener("pointerleave", hideTip);
  svg.addEventListener("click", (event) => {
    onClick?.(deviceAt(event));
    tell(event);
  });
  for (const element of [svg, names])
    element.style.maxWidth = `${WIDEST_BAR * devices}px`;
  const scale = make("div", { class: "scale", "aria-hidden": "true" }, make("span", {}, topText), make("span", {}, "0"));
  return make("div", { class: onClick ? "bars pick" : "bars" }, scale, svg, names);
}

/** The parts of a device's peak: causes and sizes. */
function heldBy(timeline, device) {
  return Object.entries(timeline.held).map(([cause, sizes]) => [cause, sizes[device]]).filter(([, size]) => size > 0);
}

/** The parts of a bar, stacked. */
function makeHeldParts(timeline, device, x, width, top) {
  let below = 0;
  return heldBy(timeline, device).map(([cause, size]) => {
    below += size / top;
    const y = `${100 * Math.max(0, 1 - below)}%`;
    return makeSvg("rect", { class: `held-${cause}`, x, width, y, height: `${100 * size / top}%` });
  });
}

/** The legend of the colours of causes, if the data has them. */
function showMemoryCauses() {
  const found = new Set(chosenTimelines().flatMap((timeline) => Object.keys(timeline.held)));
  const swatch = (cause) => make("span", { class: `swatch held-${cause}`, "aria-hidden": "true" });
  const causes = HELD.filter((cause) => found.has(cause));
  byId("held").replaceChildren(...causes.map((cause) => make("li", {}, swatch(cause), cause)));
}

function makePeakBars(timeline) {
  const top = memoryRange(), peaks = peaksOf(timeline), current = deviceOf(timeline);
  const percentOf = (level) => `${100 * clamp(1 - level / top, 0, 1)}%`;
  const draw = (device, x, width) => {
    const level = peaks[device]?.level ?? 0, limit = timeline.limits[device];
    const parts = makeHeldParts(timeline, device, x, width, top);
    const classes = ["bar", parts.length > 0 ? "parted" : "", isNumber(limit) && level > limit ? "over" : "",
                     device === current ? "current" : ""];
    const height = `${100 * level / top}%`;
    const bar = makeSvg("rect", { class: classes.filter(Boolean).join(" "), x, width, y: percentOf(level), height });
    const drawn = [...parts, bar];
    if (!isNumber(limit) || limit > top)
      return drawn;
    const end = `${Number.parseFloat(x) + Number.parseFloat(width)}%`;
    return [...drawn, makeSvg("line", { class: "limit", x1: x, x2: end, y1: percentOf(limit), y2: percentOf(limit) })];
  };
  const pointAt = (device) =>
    [`device ${device}`, [["peak", memoryFigure(peaks[device]?.level)], ["limit", memoryFigure(timeline.limits[device])],
                          ...heldBy(timeline, device).map(([cause, size]) => [cause, memoryFigure(size)])]];
  return makeBars(timeline.memory.length, memoryFigure(top, 3), draw, pointAt, setMemoryDevice);
}

// --- panels ---

function setMemoryDevice(device) {
  memoryDevice = device;
  byId("memory-device").value = device ?? "";
  updateMemory();
}

/** One entry for each device of the chosen candidates. */
function showDevices() {
  const select = byId("memory-device"), devices = largest(chosenTimelines().map((timeline) => timeline.memory.length));
  if (select.options.length !== devices + 1)
    select.replaceChildren(select.options[0],
      ...Array.from({ length: devices }, (_, device) => make("option", { value: device }, String(device))));
  if (memoryDevice !== null && memoryDevice >= devices)
    memoryDevice = null;
  select.value = memoryDevice ?? "";
}

function memoryText(timeline) {
  const device = deviceOf(timeline), peak = peaksOf(timeline)[device], limit = timeline.limits[device];
  return `device ${device}: peak ${memoryFigure(peak?.level)} at ${timeFigure(peak?.time)}, ` +
    (isNumber(limit) ? `limit ${memoryFigure(limit)}${peak?.level > limit ? ", which is exceeded" : ""}` : "no limit") +
    heldBy(timeline, device).map(([cause, size], i) => `${i === 0 ? "; " : ", "}${cause} ${memoryFigure(size)}`).join("");
}

function makeMemoryPanel(rank) {
  const timeline = timelineOf(rank), element = make("figure", {});
  const surface = new Surface(CHART, (...canvas) => paintMemory(timeline, ...canvas), paintCursor);
  const { box } = surface;
  box.classList.add("moves");
  box.setAttribute("role", "img");
  const point = (x, y) => pointAtMemory(timeline, box, x, y);
  listenToPointers(box, { hover: point, tap: point, leave: letGo });
  listenToWheel(box);
  const update = () => {
    const text = memoryText(timeline);
    box.setAttribute("aria-label", `Memory over time, ${text}`);
    element.replaceChildren(makeCaption(rank, text), box, makePeakBars(timeline));
    surface.isDirty = true;
  };
  return { element, update };
}

function updateMemory() {
  const part = parts.find(({ host }) => host.id === "memory-panels");
  for (const rank of chosenRanks())
    panelOf(part, rank).update();
  paintSoon();
}

function startMemory() {
  byId("memory-device").addEventListener("change", (event) =>
    setMemoryDevice(event.target.value === "" ? null : Number(event.target.value)));
  addPart(byId("memory-panels"), makeMemoryPanel);
}
