// SPDX-License-Identifier: Apache-2.0
// Lessons: the learner places the ops of a small problem one by one, and compares with a strategy.

/** Each lesson: the strategy that is par, sizes, values of the problem, and what to find out. */
const LESSONS = [
  { title: "All forwards first", strategy: "gpipe", devices: 3, microbatches: 3, values: {},
    text: "Three devices hold one stage each. A forward (F) needs the F of the stage before; a backward (B) needs the B of the stage after. Run all forwards before any backward, as GPipe does. How many activations does device 0 hold?" },
  { title: "One forward, one backward", strategy: "1f1b", devices: 3, microbatches: 5, values: { mem_limit: [3] },
    text: "Now a device may hold only three activations. An F takes one activation, and its B frees it. Find an order that is as short as GPipe's." },
  { title: "Transfers take time", strategy: "eager_1f1b", devices: 3, microbatches: 5, values: { p2p_time: [0.5] },
    text: "A transfer to the next device takes 0.5. Device 0 loses time if it waits for each gradient. Let it run a few more forwards before its first backward, and see how much more memory this needs." },
  { title: "Two stages on a device", strategy: "interleaved_1f1b", devices: 2, chunks: 2, microbatches: 4, values: {},
    text: "Four stages on two devices: device 0 has stages 0 and 2, device 1 has 1 and 3. Work arrives earlier at device 1, so the idle time at both ends is half as long." },
  { title: "Split the backward", strategy: "zb_h1", devices: 3, microbatches: 4, values: { mem_limit: [3] },
    text: "A backward has two parts, I and W. The stage before waits for I. No device waits for W, so use W to fill idle time. W frees the activation." },
  { title: "A V", strategy: "zbv", devices: 2, chunks: 2, microbatches: 4, values: {},
    text: "Stages 0 and 3 are on device 0, stages 1 and 2 on device 1. The last stage is on device 0, so device 0 starts backwards without a transfer." },
  { title: "Forward and backward at once", strategy: "dualpipe_v", devices: 2, chunks: 2, microbatches: 6,
    values: { forward_times: [1], backward_times: [2], overlapped_times: [2] },
    text: "The stages are placed as before, but a forward and a backward of different microbatches may run together as a pair. A pair takes 2; one after another the two ops take 3. DualPipeV uses pairs in its middle part." },
];

let finished = null; // the problem of the last finished lesson
let placing = null; // the lesson in work: {lesson, problem, splits, stageDevice, par, queues, ends, free, held, moves}

/** The schedule of the lesson's strategy, its makespan and its highest peak. */
function parOf(problem) {
  const config = configOf(engine, problem);
  let schedule = null, timeline = null;
  try {
    schedule = config.generate(problem.strategy);
    timeline = schedule.evaluate(config);
    const devices = Array.from({ length: problem.devices }, (_, device) => device);
    const picture = pictureOf(schedule, timeline, null), peak = largest(picture.peaks.map((one) => one.memory ?? one));
    const units = devices.map((device) => picture.lanes[device].map((entry) => ({ start: entry.start, key: opsOf(entry).map((op) => op.token).join("+") })));
    const stageDevice = [];
    for (const device of devices)
      for (const { stage } of picture.lanes[device])
        stageDevice[stage] = device;
    return { makespan: timeline.metrics.makespan, peak, units, stageDevice, placement: schedule.placement, flushes: schedule.flushes,
             weightVersions: schedule.weightVersions, splits: picture.kinds.has("W") };
  } finally {
    timeline?.destroy();
    schedule?.destroy();
    config.destroy();
  }
}

function beginLesson(number) {
  const lesson = LESSONS[number], chunks = lesson.chunks ?? 1;
  const lessonProblem = { ...plainProblem(), strategy: lesson.strategy, devices: lesson.devices, stages: lesson.devices * chunks,
                          microbatches: lesson.microbatches, values: lesson.values };
  const par = parOf(lessonProblem), each = () => Array.from({ length: lesson.devices }, () => []);
  forgetUnknown();
  byId("place-lesson").value = number;
  placing = { lesson, number, problem: lessonProblem, par, queues: each(), ends: new Map(), free: each().map(() => 0), held: each().map(() => 0),
              peak: each().map(() => 0), history: [] };
  byId("place-text").textContent = lesson.text;
  tellPlaced("Choose an op of any device. Only ops that can run now are offered.");
  showPlaced();
  keepLink();
}

// --- the lesson in the link ---

let unknownLesson = "", unknownNote = null; // what the link has where it names no lesson, and what the page says of it

function forgetUnknown() {
  unknownLesson = "";
  unknownNote?.remove();
}

/** The number, from 0, of a lesson that is named by its strategy or by its number from 1; -1 if there is none. */
function lessonCalled(word) {
  const name = strategyCalled(word);
  return LESSONS.findIndex(({ strategy }, i) => strategy === name || word === String(i + 1));
}

/** What the link says of the lesson. */
function lessonWord() {
  return placing !== null && byId("place-lessons").open ? placing.lesson.strategy : unknownLesson;
}

function tellUnknown(word) {
  const names = LESSONS.map(({ strategy }) => strategy), near = library.nearName(word, names);
  unknownLesson = word;
  unknownNote = make("p", { class: "alert" }, `There is no lesson ${JSON.stringify(word.slice(0, 40))}; ${near === null
    ? `the lessons are ${names.join(", ")}, or 1 to ${names.length}` : `did you mean ${near}?`}`);
  byId("notes").append(unknownNote);
}

/** Opens the lesson that a link names. A lesson that is open already goes on. */
function takeLesson(word) {
  const number = lessonCalled(word), section = byId("place-lessons");
  forgetUnknown();
  if (word !== "" && number < 0)
    tellUnknown(word);
  if (number < 0 || (placing?.number === number && section.open))
    return;
  section.open = true;
  if (placing?.number !== number) {
    beginLesson(number);
    placeLinked();
  }
  section.scrollIntoView();
  byId("place-lesson").focus({ preventScroll: true });
}

/** Where a link holds the finished order of the lesson's problem, its ops are placed, in the order of time. */
function placeLinked() {
  const plain = (one) => linkOf({ ...one, order: "", beside: "", lesson: "", unknown: namesOf() }, quantityNames);
  if (problem.order === "" || current.problem !== problem || plain(problem) !== plain(placing.problem))
    return;
  const queues = readOrder(problem.order).queues, { number } = placing;
  const startsOf = () => queues.map((units, device) => ({ device, unit: units.length > 0 && movesOf(device).find((unit) => unitKey(unit) === unitKey(units[0])) }))
    .filter(({ unit }) => unit).map(({ device, unit }) => ({ device, unit, start: unitStart(device, unit).start }));
  for (let starts = startsOf(); starts.length > 0; starts = startsOf()) {
    const { device, unit } = starts.reduce((first, one) => (one.start < first.start ? one : first));
    placeUnit(device, unit);
    queues[device].shift();
  }
  if (!isPlaced()) {
    beginLesson(number); // an order that the lesson does not offer
    return;
  }
  finished = problem;
  tellDone();
  showPlaced();
}

function unitKey(unit) {
  return unit.map(keyOf).join("+");
}

function keyOf({ kind, stage, microbatch }) {
  return `${stage}${kind}${microbatch}`;
}

/** When an input is there; Infinity if its op is not placed yet. */
function arrival(kind, stage, microbatch, device) {
  const end = placing.ends.get(`${stage}${kind}${microbatch}`) ?? Infinity;
  return placing.par.stageDevice[stage] === device ? end : end + (placing.problem.values.p2p_time?.[0] ?? 0);
}

/** When all inputs of an op are there. */
function inputsThere({ kind, stage, microbatch }, device) {
  const back = placing.par.splits ? "I" : "B", { stages } = placing.problem;
  const ready = (letter, at) => (letter === "B" || letter === "I" ? Math.min(arrival("B", at, microbatch, device), arrival("I", at, microbatch, device))
    : arrival(letter, at, microbatch, device));
  if (kind === "F")
    return stage === 0 ? 0 : ready("F", stage - 1);
  if (kind === "W")
    return ready(back, stage);
  return Math.max(ready("F", stage), stage === stages - 1 ? 0 : ready(back, stage + 1));
}

/** Microbatches that a stage has run of these kinds. */
function countOf(device, stage, kinds) {
  return placing.queues[device].flat().filter((op) => op.stage === stage && kinds.includes(op.kind)).length;
}

/** The ops that a device may run next, one of each kind and stage. */
function singlesOf(device) {
  const found = [], { par, problem: { microbatches } } = placing, limit = placing.lesson.values.mem_limit?.[0] ?? Infinity;
  for (const [stage, owner] of par.stageDevice.entries()) {
    if (owner !== device)
      continue;
    const add = (kind, microbatch) => {
      const op = { kind, stage, microbatch };
      if (microbatch < microbatches && inputsThere(op, device) < Infinity)
        found.push(op);
    };
    if (placing.held[device] < limit)
      add("F", countOf(device, stage, ["F"]));
    const backs = countOf(device, stage, ["B", "I"]);
    add("B", backs);
    if (par.splits) {
      add("I", backs);
      const pending = placing.queues[device].flat().filter((op) => op.kind === "I" && op.stage === stage)
        .find((op) => !placing.ends.has(`${stage}W${op.microbatch}`));
      if (pending)
        found.push({ kind: "W", stage, microbatch: pending.microbatch });
    }
  }
  return found;
}

/** All moves of a device: single ops, and pairs where the lesson has them. */
function movesOf(device) {
  const singles = singlesOf(device);
  if (!placing.lesson.values.overlapped_times)
    return singles.map((op) => [op]);
  const pairs = singles.filter((op) => op.kind === "F").flatMap((forward) => singles.filter((op) => op.kind === "B" && op.microbatch !== forward.microbatch)
    .map((backward) => [forward, backward]));
  return [...singles.map((op) => [op]), ...pairs];
}

function durationOf(unit) {
  const { values } = placing.problem;
  if (unit.length === 2)
    return values.overlapped_times[0];
  return { F: values.forward_times?.[0] ?? 1, B: values.backward_times?.[0] ?? 2, I: 1, W: 1 }[unit[0].kind];
}

/** When a unit can start on a device, and how long the device is idle before. */
function unitStart(device, unit) {
  const start = Math.max(placing.free[device], ...unit.map((op) => inputsThere(op, device)));
  return { start, idle: start - placing.free[device] };
}

/** Places a unit on a device; returns when it starts and how long the device was idle before. */
function placeUnit(device, unit) {
  const { start, idle } = unitStart(device, unit), end = start + durationOf(unit);
  placing.history.push(device);
  placing.queues[device].push(Object.assign(unit, { start, end }));
  for (const op of unit) {
    placing.ends.set(keyOf(op), end);
    if (op.kind === "B" && placing.par.splits)
      placing.ends.set(`${op.stage}W${op.microbatch}`, end);
    placing.held[device] += op.kind === "F" ? 1 : 0;
    placing.peak[device] = Math.max(placing.peak[device], placing.held[device]);
  }
  for (const op of unit)
    placing.held[device] -= op.kind === "B" || op.kind === "W" ? 1 : 0;
  placing.free[device] = end;
  return { start, idle };
}

/** Places the units of a history again, without the last one. */
function undoPlaced() {
  const { history, queues, number } = placing;
  if (history.length === 0)
    return;
  beginLesson(number);
  const next = queues.map(() => 0);
  for (const device of history.slice(0, -1))
    placeUnit(device, [...queues[device][next[device]++]]);
  tellPlaced("The last op was taken back.");
  showPlaced();
}

function startText({ start, idle }) {
  return `from ${figure(start)}${idle > 0 ? `, after ${figure(idle)} of idle time` : ", without idle time"}`;
}

/** Places the op that the strategy runs next on the device whose order is the strategy's so far. */
function placeHint() {
  if (isPlaced())
    return tellPlaced("All ops are placed. Undo some ops, or start again.");
  const { queues, par } = placing;
  const devices = queues.map((_, device) => device).filter((device) => queues[device].length < par.units[device].length
    && queues[device].every((unit, i) => unitKey(unit) === par.units[device][i].key));
  devices.sort((a, b) => par.units[a][queues[a].length].start - par.units[b][queues[b].length].start);
  for (const device of devices) {
    const move = movesOf(device).find((unit) => unitKey(unit) === par.units[device][queues[device].length].key);
    if (move)
      return takeMove(device, move);
  }
  return tellPlaced(`Your order is no longer the order of ${placing.lesson.strategy}. Undo some ops first.`);
}

function isPlaced() {
  const { devices, stages, microbatches } = placing.problem, queues = placing.queues.flat(2);
  return devices > 0 && queues.filter((op) => op.kind === "F").length === stages * microbatches
    && queues.filter((op) => op.kind === "B" || op.kind === "W").length === stages * microbatches;
}

function takeMove(device, unit) {
  const name = unit.map(keyOf).join(" with ");
  tellPlaced(`Device ${device} runs ${name} ${startText(placeUnit(device, unit))}. ${heldText(device)}`);
  if (isPlaced())
    finishLesson();
  showPlaced();
}

function heldText(device) {
  const { held, lesson: { values } } = placing, limit = values.mem_limit?.[0];
  return `It holds ${counted(held[device], "activation")}${limit === undefined ? "" : ` of ${limit}`}.`;
}

/** Draws the finished order in the timeline, evaluated by the library, and compares it with par. */
function finishLesson() {
  const { par, problem: lessonProblem } = placing;
  const queues = placing.queues.map((units) => units.map((unit) => unit.map((op, i) => ({ kind: op.kind, stage: op.stage, microbatch: op.microbatch,
    slice: 0, flags: unit.length === 2 && i === 0 ? OVERLAPPED : 0 }))));
  const made = { queues, placement: par.placement, flushes: par.flushes, weightVersions: par.weightVersions };
  if (problem !== finished) { // the browser's button Back returns to the problem that was drawn before
    keepLink();
    history.pushState(null, "", location.hash);
  }
  problem = finished = { ...lessonProblem, order: orderOf(queues, made) };
  takeModel(problem);
  showKnobs();
  draw(scheduleOf(made, problem), problem);
  keepLink();
  rankSoon();
  tellDone();
}

/** Compares the drawn order with par. */
function tellDone() {
  const { par, lesson } = placing;
  const mine = current.timeline.metrics.makespan, peak = largest(placing.peak), gap = mine - par.makespan;
  const verdict = Math.abs(gap) < 1e-9 ? "as short as" : `${figure(Math.abs(gap))} ${gap > 0 ? "longer" : "shorter"} than`;
  tellPlaced(`Done: ${figure(mine)}, with at most ${counted(peak, "activation")} on a device. That is ${verdict} ${lesson.strategy}, which takes ${figure(par.makespan)} with ${figure(par.peak)}. The timeline above shows your order.`);
}

function tellPlaced(text) {
  byId("place-told").textContent = text;
}

/** A button for a unit that a device may run next, with what it costs. */
function makeMove(device, unit) {
  const { start, idle } = unitStart(device, unit), name = unit.map(keyOf).join("+"), cost = idle > 0 ? ` idle ${figure(idle)}` : "";
  const button = makeButton(name, `Device ${device}: run ${name}${cost}, from ${figure(start)}`, () => takeMove(device, unit));
  if (cost !== "")
    button.append(make("small", {}, cost));
  return button;
}

/** An op in its colour; a pair is two of them, one above the other. */
function makePlaced(op) {
  const { fill: colour, ink } = makeStyle(op.kind, 0), part = make("span", { "data-short": op.microbatch }, keyOf(op));
  part.style.background = colour;
  part.style.color = ink;
  return part;
}

/** Where an op is too narrow for its name, it shows the microbatch alone, or nothing. */
function shortenPlaced() {
  for (const shown of ["data-short", null])
    for (const op of [...byId("place-rows").querySelectorAll(".placed span")].filter((one) => one.scrollWidth > one.clientWidth))
      op.textContent = shown === null ? "" : op.getAttribute(shown);
}

/** Focuses what replaces the button of a device. */
function focusMove(device) {
  const rows = [...byId("place-rows").children];
  ([rows[device], ...rows].map((row) => row.querySelector("button")).find(Boolean) ?? byId("place-lesson")).focus();
}

/** Why a device may not run what is next on its stages: it is full; or, if it may run nothing, an op of another device comes first. */
function waitsOf(device) {
  const { par: { stageDevice, splits }, problem: { microbatches }, lesson: { values } } = placing, found = [], mayRun = movesOf(device).length > 0;
  const waits = (kind, stage, microbatch, before) => {
    if (!mayRun && stageDevice[before] !== device) // what waits for the same device says less than that for which it waits
      found.push(`${stage}${kind}${microbatch} waits for ${before}${kind}${microbatch} of device ${stageDevice[before]}`);
  };
  for (const stage of stageDevice.keys()) {
    if (stageDevice[stage] !== device)
      continue;
    const next = countOf(device, stage, ["F"]), back = countOf(device, stage, ["B", "I"]);
    if (next < microbatches && inputsThere({ kind: "F", stage, microbatch: next }, device) === Infinity)
      waits("F", stage, next, stage - 1);
    else if (next < microbatches && placing.held[device] >= (values.mem_limit?.[0] ?? Infinity))
      found.push(`${stage}F${next} waits: device ${device} holds ${placing.held[device]} of ${values.mem_limit[0]}`);
    if (back < next && inputsThere({ kind: "B", stage, microbatch: back }, device) === Infinity)
      waits(splits ? "I" : "B", stage, back, stage + 1);
  }
  return mayRun || found.length > 0 ? found : [`device ${device} is done`];
}

function makeWaits(device) {
  const text = waitsOf(device).join("; ");
  return text === "" ? [] : [make("small", {}, `${text[0].toUpperCase()}${text.slice(1)}.`)];
}

/** A row for each device: what is placed, on one axis, and buttons for what may come next. */
function showPlaced() {
  const used = [...byId("place-rows").children].findIndex((row) => row.contains(document.activeElement));
  const whole = Math.max(placing.par.makespan, largest(placing.free));
  byId("place-rows").replaceChildren(...placing.queues.map((units, device) => {
    const strip = make("div", { class: "strip", role: "img", "aria-label": `Device ${device}: ${units.map((unit) => unit.map(keyOf).join(" with ")).join(", ") || "no ops yet"}` });
    for (const unit of units) {
      const op = make("span", { class: "placed", title: `${unit.map(keyOf).join("+")}, ${figure(unit.start)} to ${figure(unit.end)}` }, ...unit.map(makePlaced));
      op.style.left = `${100 * unit.start / whole}%`;
      op.style.width = `${100 * (unit.end - unit.start) / whole}%`;
      strip.append(op);
    }
    return make("div", { class: "place-row" }, make("strong", {}, `Device ${device}`), strip, make("div", { class: "moves-next", role: "group", "aria-label": `Next op of device ${device}` }, ...movesOf(device).map((unit) => makeMove(device, unit)), ...makeWaits(device)));
  }));
  shortenPlaced();
  if (used >= 0)
    focusMove(used);
}

function startPlacing() {
  const select = byId("place-lesson");
  LESSONS.forEach(({ title }, i) => select.append(make("option", { value: i }, `${i + 1}. ${title}`)));
  select.addEventListener("change", () => beginLesson(Number(select.value)));
  byId("place-lessons").addEventListener("toggle", () => (placing === null ? beginLesson(0) : keepLink()));
  byId("place-undo").addEventListener("click", undoPlaced);
  byId("place-hint").addEventListener("click", placeHint);
  byId("place-again").addEventListener("click", () => beginLesson(placing.number));
}
