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
  panel.update = () => {
    const remove = makeButton("\u00d7", `Leave out ${nameOf(candidate)}`, () => leaveOut(rank));
    const none = timeline.lanes.some((lane) => lane.length > 0) ? null : make("p", { class: "muted" }, "It has no times.");
    element.replaceChildren(makeCaption(rank, timelineText(rank, timeline), remove), none ?? box);
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

/** Names the colours of what is chosen. */
function showKinds() {
  const timelines = chosenTimelines();
  const kinds = new Set(timelines.flatMap((timeline) => [...timeline.kinds]));
  const items = Object.keys(KINDS).filter((kind) => kinds.has(kind))
    .map((kind) => [colourOf({ kind, chunk: 0 }, 1), `${kind} ${KINDS[kind].words}`]);
  if (timelines.some((timeline) => timeline.chunks > 1))
    items.push([colourOf({ kind: "F", chunk: 1 }, 2), "paler: a later chunk, or the second model copy"]);
  if (timelines.some((timeline) => timeline.hasPairs))
    items.push(["linear-gradient(rgb(74 144 217) 50%, rgb(232 131 58) 50%)", "two halves: an overlapped pair"]);
  if (timelines.some((timeline) => timeline.hasMarks))
    items.push(["var(--send)", "thin, above: sends and what else goes out"], ["var(--receive)", "thin, below: receives"]);
  items.push(["var(--accent)", "line: the end"]);
  byId("kinds").replaceChildren(...items.map(([colour, text]) => make("li", {}, makeSwatch(colour), text)));
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
  addPart(byId("timeline-panels"), makeTimelinePanel);
}
