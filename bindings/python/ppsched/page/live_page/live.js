// SPDX-License-Identifier: Apache-2.0
// The start of the live page, and the reaction to a changed knob.

const SLOT = 0;               // the rank of the only candidate of this page, for the drawing code

const library = makeLibrary();
const current = { problem: null, schedule: null, timeline: null, picture: null }; // the drawn schedule
const settling = [];         // updates that come a little later
let engine = null, searcher = null, ranker = null, livePanel = null;

// Functions that the report's panels need, of parts that this page does not have.
const showLayersSection = () => {}, showLaunchSection = () => {}, showScenarioSection = () => {}, markChosen = () => {};

/** For tests of the page: what it shows. */
function tellState() {
  Object.assign(document.documentElement.dataset, { drawn: livePanel?.drawn ?? 0, strategy: current.problem?.strategy ?? "" });
}

// --- panels: as in a report, but for a timeline that changes ---

/** A timeline whose picture and description are made again at each update. */
function makeLivePanel(rank, pictureNow, textNow) {
  const panel = { rank, timeline: pictureNow(), drawn: 0, notes: make("div", { class: "notes" }) };
  panel.surface = new Surface(200, (...canvas) => paintTimeline(panel, ...canvas), (...canvas) => paintPointed(panel, ...canvas));
  const { box } = panel.surface;
  fill(box, { tabindex: 0, role: "application", "aria-roledescription": "timeline", "aria-describedby": "keys" }, []);
  box.classList.add("moves");
  listenToPointers(box, { hover: (x, y) => pointAt(panel, x, y, false), tap: (x, y) => pointAt(panel, x, y, true),
                          leave: () => { if (!pointed?.isKept) letGo(); } });
  listenToWheel(box);
  listenToKeys(panel);
  panel.element = make("figure", {}, make("figcaption", {}, ""), box, panel.notes);
  panel.update = () => {
    panel.timeline = pictureNow();
    panel.critical = null;
    panel.surface.setHeight(panel.timeline.lanes.length * rowHeight(panel.timeline.lanes.length));
    panel.surface.isDirty = true;
    panel.element.firstChild.textContent = textNow();
    box.setAttribute("aria-label", `Timeline: ${textNow()}`);
  };
  timelinePanels.push(panel);
  return panel;
}

function makeLiveMemory() {
  const surface = new Surface(CHART, (...canvas) => paintMemory(current.picture, ...canvas), paintCursor), { box } = surface;
  box.classList.add("moves");
  box.setAttribute("role", "img");
  const point = (x, y) => pointAtMemory(current.picture, box, x, y), caption = make("figcaption", {}, ""), bars = make("div", {});
  listenToPointers(box, { hover: point, tap: point, leave: letGo });
  listenToWheel(box);
  const update = () => {
    const text = memoryText(current.picture);
    box.setAttribute("aria-label", `Memory over time, ${text}`);
    caption.textContent = text;
    surface.isDirty = true;
  };
  settling.push(() => bars.replaceChildren(makePeakBars(current.picture)));
  return { element: make("figure", {}, caption, box, bars), update };
}

function makeLiveIdle() {
  const caption = make("figcaption", {}, ""), bars = make("div", {}), table = make("details", {}, make("summary", {}, "Figures of all devices"));
  const fillTable = () => table.replaceChildren(table.firstChild, ...(table.open ? [makeFigures(SLOT, current.picture)] : []));
  table.addEventListener("toggle", fillTable);
  settling.push(() => {
    caption.textContent = idleText(current.picture);
    bars.replaceChildren(makeIdleBars(current.picture));
    fillTable();
    showCauses();
  });
  return { element: make("figure", {}, caption, bars, table), update() {} };
}

/** Shows another picture in the same panels. */
function showPicture() {
  readTimelines.set(SLOT, current.picture);
  candidateByRank.set(SLOT, { rank: SLOT, strategy: current.problem.strategy, options: current.problem.options });
  for (const { panels } of parts)
    panels.get(SLOT).update();
  for (const { panel } of kept)
    panel?.update();
  letGo();
  showNotes();
  showKinds();
  showDevices();
  setWhole(largest(chosenTimelines().map((picture) => picture.end)));
  tellState();
}

// --- a changed knob ---

/** Draws a schedule of the problem, and owns it from now on. */
function draw(schedule, drawnProblem) {
  const config = configOf(engine, drawnProblem), begun = performance.now();
  try {
    const timeline = schedule.evaluate(config), isKept = kept.some((one) => one.picture === current.picture);
    const picture = pictureOf(schedule, timeline, isKept ? null : current.picture);
    current.timeline?.destroy();
    current.schedule?.destroy();
    Object.assign(current, { problem: drawnProblem, schedule, timeline, picture });
    hideProblem();
    showPicture();
    showCards(picture, boundOf(config, schedule, keepsLess(drawnProblem)), schedule);
    settleSoon();
    measureDrawing((performance.now() - begun) / 1000, schedule.opCount);
    if (byId("launch").open)
      showLaunch();
  } finally {
    config.destroy();
  }
}

function generateHere() {
  const config = configOf(engine, problem);
  try {
    return keepLess(config.generate(problem.strategy), config, problem);
  } finally {
    config.destroy();
  }
}

let unread = null; // the problem that is drawn in place of a link that cannot be read

function keepLink() {
  if (problem === unread)
    return; // the link stays, so that it can be corrected
  const link = `#${linkOf({ ...problem, beside: besideWords(), lesson: lessonWord() }, quantityNames)}`;
  if (location.hash !== link)
    history.replaceState(null, "", link);
}

let rankTimer = 0, settleTimer = 0;

function rankSoon() {
  clearTimeout(rankTimer);
  document.documentElement.dataset.ranked = "no";
  byId("ranks").classList.add("stale");
  rankTimer = setTimeout(() => ranker.ask(asGiven()), 120);
}

/** Updates what does not follow each step of a slider: the link, and the panels without a canvas. */
function settleSoon() {
  settleTimer ||= setTimeout(() => {
    settleTimer = 0;
    keepLink();
    for (const settle of settling)
      settle();
    document.documentElement.dataset.settled = "yes";
  }, 150);
  document.documentElement.dataset.settled = "no";
}

function drawProblem() {
  if (problem.order !== "") {
    searcher.drop();
    showSearching(false);
    draw(scheduleOf(readOrder(problem.order), problem), problem);
  } else if (strategies.get(problem.strategy)?.searches) {
    startSearch();
  } else {
    searcher.drop();
    showSearching(false);
    draw(generateHere(), problem);
  }
  rankSoon();
}

function turnedKnob() {
  const begun = performance.now();
  settleSoon();
  byId("moved").textContent = "";
  if (isAllowed())
    try {
      drawProblem();
    } catch (error) {
      showProblem(error.message);
      rankSoon();
    }
  document.documentElement.dataset.turn = (performance.now() - begun).toFixed(2);
}

// --- the start ---

/** The name of a strategy, from its name or an alias. An unknown name stays, and the library refuses it. */
function strategyCalled(name) {
  const plain = name.toLowerCase().replaceAll("-", "_");
  return [...strategies.values()].find((info) => [info.name, ...info.aliases].some((word) => word.toLowerCase().replaceAll("-", "_") === plain))?.name ?? name;
}

/** For unknown keys of a link: the known keys that may be meant. */
function meantNotes({ unknown }) {
  const { values, options, unknown: none, ...plain } = plainProblem(), known = [...Object.keys(plain), ...quantityNames];
  return Object.keys(unknown).slice(0, 8).map((key) => [key, library.nearName(key, known)]).filter(([, name]) => name !== null)
    .map(([key, name]) => `${key}: did you mean ${name}?`);
}

function followLink() {
  byId("notes").replaceChildren();
  try {
    const { problem: linked, notes } = readLink(location.hash.slice(1), quantityNames);
    problem = { ...linked, strategy: strategyCalled(linked.strategy) };
    byId("notes").append(...[...notes, ...meantNotes(linked)].map((note) => make("p", {}, note)));
  } catch (error) {
    problem = unread = plainProblem();
    byId("notes").append(make("p", { class: "alert" }, `The link cannot be read: ${error.message}. The drawing shows another problem.`));
  }
  takeModel(problem);
  allowed = 0;
  shownOptions = null;
  showKnobs();
  turnedKnob();
  takeBeside(problem.beside);
  takeLesson(problem.lesson);
}

function startPanels() {
  startTimelines();
  startMemory();
  startIdle();
  const makers = { "timeline-panels": () => makeLivePanel(SLOT, () => current.picture, titleOf), "memory-panels": makeLiveMemory, "idle-panels": makeLiveIdle };
  chosen.add(SLOT);
  rawTimelines.set(SLOT, { get critical() { return rawNow().critical; }, get slack() { return rawNow().slack; } });
  for (const part of parts) {
    const panel = makers[part.host.id]();
    part.panels.set(SLOT, panel);
    part.host.append(panel.element);
  }
  livePanel = timelinePanels[0];
  startExtras();
  startHand();
  startLessons();
  startPlacing();
  byId("launch").addEventListener("toggle", showLaunch);
}

async function start() {
  const module = await WebAssembly.compile(await bytesOfLibrary());
  engine = await library.load(module);
  for (const [name, number] of Object.entries(library.Kind))
    kindNames[number] = name;
  quantityNames.push(...Object.keys(library.Quantity).map((name) => name.toLowerCase()));
  for (const info of engine.strategies())
    strategies.set(info.name, info);
  searcher = new Asker(liveKinds, "search", module, heardSearch);
  ranker = new Asker(liveKinds, "rank", module, showRanks);
  turned = turnedKnob;
  startKnobs();
  current.picture = { lanes: [], chunks: 1, kinds: new Set(), end: 1, memory: [], limits: [], held: {}, idle: {}, peaks: [], busy: [], idleTotal: [] };
  readTimelines.set(SLOT, current.picture);
  startPanels();
  startTheme();
  startExports();
  startPrinting();
  watchPixelRatio();
  startWaiting();
  startLayouts(module);
  addEventListener("hashchange", followLink);
  followLink();
  paintAll();
  document.documentElement.dataset.state = "ready";
}

start();
