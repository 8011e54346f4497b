// SPDX-License-Identifier: Apache-2.0
// Timelines: their panels, the axis that they share with its buttons, and the legend.

const timelinePanels = [];

function timelineText(rank, timeline) {
  const candidate = candidateOf(rank), bubble = candidate.bubble ?? {};
  const first = chosenRanks()[0], base = timelineOf(first ?? rank).end;
  const sign = timeline.end < base ? "" : "+";
  const longer = rank === first || first === undefined ? "" : ` (${sign}${percent(timeline.end / base - 1, 1)})`;
  const limit = isNumber(candidate.memory_limit) ? ` of ${memoryFigure(candidate.memory_limit)}` : "";
  const over = candidate.status === "over limit" ? ", over its limit" : "";
  return `${sizesText({ ...candidate, memory_limit: null })}; makespan ${timeFigure(timeline.end)}${longer}, ` +
    `span ${timeFigure(candidate.span)}; bubble ${percent(bubble.of_total)} of total, ${percent(bubble.of_ideal)} of ideal, ` +
    `${percent(bubble.of_span)} of span; peak memory ${memoryFigure(candidate.peak_memory)}${limit}${over}`;
}

/** The order of microbatches, if there is one. */
function makeOrder(rank) {
  const order = list(rawTimeline(rank)?.schedule?.microbatch_order);
  return order.length > 0 ? make("p", { class: "muted microbatch-order" }, `Order of microbatches: ${order.join(" ")}`) : null;
}

function leaveOut(rank) {
  choose(rank, false);
  byId("timelines-title").focus({ preventScroll: true });
}

function makeTimelinePanel(rank) {
  const timeline = timelineOf(rank), candidate = candidateOf(rank);
  const panel = { rank, timeline, drawn: 0 };
  panel.surface = new Surface(timeline.lanes.length * rowHeight(timeline.lanes.length),
    (...canvas) => paintTimeline(panel, ...canvas), (...canvas) => paintPointed(panel, ...canvas));
  const { box } = panel.surface;
  fill(box, { tabindex: 0, role: "application", "aria-roledescription": "timeline", "aria-describedby": "keys",
              "aria-label": `Timeline of ${nameOf(candidate)}: ${timelineText(rank, timeline)}` }, []);
  box.classList.add("moves");
  listenToPointers(box, { hover: (x, y) => pointAt(panel, x, y, false), tap: (x, y) => pointAt(panel, x, y, true),
                          leave: () => { if (!pointed?.isKept) letGo(); } });
  listenToWheel(box);
  listenToKeys(panel);
  const element = make("figure", {});
  panel.element = element;
  panel.notes = make("div", { class: "notes" });
  panel.update = () => {
    const remove = makeButton("\u00d7", `Leave out ${nameOf(candidate)}`, () => leaveOut(rank));
    const none = timeline.lanes.some((lane) => lane.length > 0) ? null
      : make("p", { class: "muted" }, "This candidate has no times.");
    const caption = makeCaption(rank, timelineText(rank, timeline), makeSaveButtons(panel), remove);
    element.replaceChildren(...[caption, none ?? box, makeOrder(rank), panel.notes].filter(Boolean));
  };
  timelinePanels.push(panel);
  return panel;
}

// --- the axis, its buttons, and the legend ---

function paintAxis(context, width, height) {
  context.font = `11px ${FONT}`;
  context.textBaseline = "middle";
  context.fillStyle = colours.muted;
  context.textAlign = "right";
  context.fillText("device", GUTTER - 6, height / 2);
  context.textAlign = "center";
  for (const time of ticks(view.from, view.to, plotWidth(width) / TICK)) {
    const x = xOf(time, width), text = figure(time), half = context.measureText(text).width / 2;
    context.fillRect(snap(x), height - 5, 1, 5);
    context.fillText(text, clamp(x, GUTTER + half, width - half), height / 2 - 2);
  }
}

function showWindow() {
  byId("window").textContent = `${figure(view.from, 4)} to ${figure(view.to, 4)} of ${timeFigure(view.whole, 4)}`;
}

function makeSwatch(colour) {
  const swatch = make("span", { class: "swatch", "aria-hidden": "true" });
  swatch.style.background = colour;
  return swatch;
}

function makeStyleSwatch({ fill, edge, isLined }) {
  const swatch = makeSwatch(fill);
  if (edge)
    swatch.style.border = `1px solid ${edge}`;
  if (isLined)
    swatch.style.background = `linear-gradient(${fill} 40%, ${DARK_INK} 40% 60%, ${fill} 60%)`;
  return swatch;
}

/** Of a colour that may be that of the page. */
function makeOutlinedSwatch(colour) {
  const swatch = makeSwatch(colour);
  swatch.style.outline = "1px solid var(--muted)";
  return swatch;
}

/** A swatch for each chunk that looks different. */
function chunkItems(chunks) {
  const several = Math.min(chunks, 2 * KINDS.F.shades.length);
  return Array.from({ length: several - 1 }, (_, i) => [styles[styleNumber("F", i + 1)], `chunk ${i + 1}`]);
}

/** Of the timeline whose windows have most. */
function largestChannels(timelines) {
  return timelines.map((timeline) => timeline.windows?.channels ?? [])
    .reduce((most, own) => (own.length > most.length ? own : most), []);
}

/** The legend of colours, for the chosen candidates. */
function showKinds() {
  const timelines = chosenTimelines(), has = (what) => timelines.some((timeline) => timeline[what]);
  const kinds = new Set(timelines.flatMap((timeline) => [...timeline.kinds]));
  const known = Object.keys(KINDS).filter((kind) => kinds.has(kind))
    .map((kind) => [styles[styleNumber(kind, 0)], `${kind} ${KINDS[kind].words}`]);
  const chunks = chunkItems(largest(timelines.map((timeline) => timeline.chunks), 1));
  const items = [...known, ...chunks].map(([style, text]) => [makeStyleSwatch(style), text]);
  if (chunks.length > 0)
    items.at(-1)[1] += ", or the second model copy";
  if (has("hasPairs"))
    items.push([makeSwatch(`linear-gradient(${KINDS.F.shades[0]} 50%, ${KINDS.B.shades[0]} 50%)`),
                "two halves: an overlapped pair"]);
  for (const [i, channel] of largestChannels(timelines).entries())
    items.push([makeOutlinedSwatch(CHANNELS[i]), `strip in a pair: its windows on ${channel}`]);
  if (has("hasMarks"))
    items.push([makeSwatch("var(--send)"), "thin, above: sends and other outgoing transfers"],
               [makeSwatch("var(--receive)"), "thin, below: receives"]);
  items.push([makeSwatch("var(--accent)"), "line: the end"]);
  byId("kinds").replaceChildren(...items.map(([swatch, text]) => make("li", {}, swatch, text)));
}

function setRowScale(scale) {
  rowScale = clamp(scale, 0, ROW_SCALES.length - 1);
  for (const { surface, timeline } of timelinePanels)
    surface.setHeight(timeline.lanes.length * rowHeight(timeline.lanes.length));
  letGo();
  redraw();
}

function startTimelines() {
  const axis = new Surface(24, paintAxis, paintCursor);
  axis.box.classList.add("moves");
  listenToPointers(axis.box, { hover() {}, leave() {}, tap() {} });
  listenToWheel(axis.box);
  byId("axis").append(axis.box);
  const buttons = { "zoom-in": () => zoom(0.6), "zoom-out": () => zoom(1 / 0.6), "zoom-fit": fitView,
                    earlier: () => pan(-0.25), later: () => pan(0.25),
                    "rows-lower": () => setRowScale(rowScale - 1), "rows-higher": () => setRowScale(rowScale + 1) };
  for (const [id, action] of Object.entries(buttons))
    byId(id).addEventListener("click", action);
  addEventListener("scroll", () => {
    if (pointed?.isKept)
      showHeld();
    else
      hideTip();
  }, { passive: true });
  document.addEventListener("pointerdown", (event) => {
    if (!event.target.closest(".surface"))
      letGo();
  });
  startSelection();
  startFinding();
  startCritical();
  listenToWalk();
  addPart(byId("timeline-panels"), makeTimelinePanel);
}
