// SPDX-License-Identifier: Apache-2.0
// The data of the page: candidates, and timelines whose ops are read when they are first shown.

const data = JSON.parse(byId("data").textContent);
const candidates = Array.isArray(data.candidates) ? data.candidates : [];
const units = data.units ?? {};
const objective = data.objective === "span" ? "span" : "makespan";

/** A number with the unit of what it measures, "time", "memory" or "bytes", where the data names one. */
function figureIn(measure, value, digits = 6) {
  return figure(value, digits) + (isNumber(value) && units[measure] ? `\u00a0${units[measure]}` : "");
}

function timeFigure(value, digits) {
  return figureIn("time", value, digits);
}

function memoryFigure(value, digits) {
  return figureIn("memory", value, digits);
}

/** A heading with the unit of the numbers below. */
function headingIn(measure, text) {
  return units[measure] ? `${text} (${units[measure]})` : text;
}

// Kinds that have a place of their own in a row; colours as in the package's pictures. Others are grey.
const KINDS = {
  F: { words: "forward", colour: [74, 144, 217] },
  B: { words: "full backward", colour: [232, 131, 58] },
  I: { words: "input gradient", colour: [47, 168, 140] },
  W: { words: "weight gradient", colour: [201, 162, 39] },
  RECOMPUTE: { words: "recompute", colour: [160, 160, 160] },
  OPTIMIZER_STEP: { words: "optimizer step", colour: [140, 140, 140] },
};
const UNKNOWN = { words: "other", colour: [136, 136, 136] };

// Kinds that run beside the others: thin marks, above (what goes out) or below (what comes in).
const MARKS = {
  SEND_F: { words: "send activation" }, RECV_F: { words: "receive activation", below: true },
  SEND_B: { words: "send gradient" }, RECV_B: { words: "receive gradient", below: true },
  UNSHARD: { words: "gather parameters", below: true }, RESHARD: { words: "drop parameters" },
  REDUCE_GRAD: { words: "reduce gradients" }, OFFLOAD: { words: "offload" }, RELOAD: { words: "reload", below: true },
};

const CAUSES = {
  fill: "before its first op of an iteration", drain: "after its last op of an iteration",
  neighbour: "what it waits for is not made yet", imbalance: "as neighbour, as other devices have more work",
  transfer: "what it waits for is on its way", edge: "its edge is taken",
  head_of_line: "it waits behind others in a queue", weights: "its weights are not gathered yet",
};

const TOKEN = /^(\d+)([A-Z_]+?)(\d*)(?:\.(\d+))?$/;
const PAIR = /^\(([^();]*);([^();]*)\)OVERLAP_F_B$/;

function wordsOf(kind) {
  return (KINDS[kind] ?? MARKS[kind] ?? UNKNOWN).words;
}

function causeName(cause) {
  return cause.replaceAll("_", " ");
}

function list(value) {
  return Array.isArray(value) ? value : [];
}

/** An op from its token, such as 3F0 or 3F0.2; of one that cannot be read the token alone. */
function readOp(token) {
  const match = TOKEN.exec(token);
  return match
    ? { token, kind: match[2], stage: Number(match[1]), microbatch: match[3] === "" ? null : Number(match[3]),
        slice: match[4] === undefined ? null : Number(match[4]) }
    : { token: String(token), kind: "?", stage: null, microbatch: null, slice: null };
}

/** One entry of a queue: an op, with the other one of an overlapped pair as `second`. */
function readEntry(token, start, end, position) {
  const pair = PAIR.exec(token);
  const op = readOp(pair ? pair[1] : token);
  const second = pair ? readOp(pair[2]) : null;
  const isMark = Object.hasOwn(MARKS, op.kind);
  return { ...op, second, start, end: Math.max(start, end), position, isMark, reach: 0, chunk: 0, colour: "" };
}

/** A device's entries by start; `reach` is the latest end so far, for searches. */
function readLane(queue) {
  const starts = list(queue.start), ends = list(queue.end);
  const lane = list(queue.ops).map((token, i) => readEntry(token, starts[i], ends[i], i))
    .filter((entry) => isNumber(entry.start) && isNumber(entry.end));
  lane.sort((a, b) => a.start - b.start || a.position - b.position);
  let reach = -Infinity;
  for (const entry of lane)
    entry.reach = reach = Math.max(reach, entry.end);
  return lane;
}

/** The one op of an entry, or the two of a pair. */
function opsOf(entry) {
  return entry.second ? [entry, entry.second] : [entry];
}

/** Numbers the stages of each device, so that later chunks can be paler; of two model copies, the copies. */
function setChunks(lanes, placement) {
  let chunks = 1;
  for (const [device, lane] of lanes.entries()) {
    const stages = [...new Set(lane.flatMap(opsOf).map((op) => op.stage))];
    stages.sort((a, b) => a - b);
    const numbers = new Map(stages.map((stage, i) => [stage, placement === "bidirectional" ? Number(stage !== device) : i]));
    for (const op of lane.flatMap(opsOf))
      op.chunk = numbers.get(op.stage);
    chunks = Math.max(chunks, 1 + largest(numbers.values()));
  }
  return chunks;
}

/** The colour of a kind, mixed with white for later chunks. */
function colourOf(op, chunks) {
  const share = chunks > 1 ? 0.55 * Math.min(op.chunk, chunks - 1) / (chunks - 1) : 0;
  const mixed = (KINDS[op.kind] ?? UNKNOWN).colour.map((part) => Math.round(part + (255 - part) * share));
  return `rgb(${mixed.join(" ")})`;
}

/** Gives each op its colour, the same text for the same colour; returns the kinds that there are. */
function setColours(lanes, chunks) {
  const kinds = new Set(), made = new Map();
  for (const op of lanes.flatMap((lane) => lane.flatMap(opsOf))) {
    kinds.add(op.kind);
    const key = `${op.kind} ${op.chunk}`;
    if (!made.has(key))
      made.set(key, colourOf(op, chunks));
    op.colour = made.get(key);
  }
  return kinds;
}

// What memory is held for, in the order in which a peak's parts are summed up.
const HELD = ["static", "weights", "optimizer", "other", "gradients", "gathered", "sends", "receives", "outputs", "work",
              "activations"];

/** The parts of each device's peak by cause, but those of nothing; without any where the data has none. */
function readHeld(parts) {
  const found = HELD.filter((cause) => list(parts?.[cause]).some((size) => size > 0));
  return Object.fromEntries(found.map((cause) => [cause, list(parts[cause])]));
}

/** What the page needs of one of the data's timelines. */
function readTimeline(raw) {
  const schedule = raw.schedule ?? {};
  const lanes = list(schedule.queues).map(readLane);
  const chunks = setChunks(lanes, schedule.placement);
  const kinds = setColours(lanes, chunks);
  const makespan = schedule.metrics?.makespan;
  const last = largest(lanes.map((lane) => lane.length ? lane.at(-1).reach : 0));
  return {
    lanes, chunks, kinds, end: isNumber(makespan) && makespan > 0 ? makespan : last || 1,
    hasMarks: [...kinds].some((kind) => Object.hasOwn(MARKS, kind)),
    hasPairs: lanes.some((lane) => lane.some((entry) => entry.second)),
    microbatches: schedule.microbatches, iterations: schedule.iterations,
    memory: list(raw.memory).map((curve) => list(curve).filter((point) => isNumber(point?.[0]) && isNumber(point?.[1]))),
    limits: list(raw.memory_limits), peaks: list(schedule.metrics?.peak_memory),
    held: readHeld(schedule.peak_by_cause),
    busy: list(schedule.metrics?.busy), idleTotal: list(schedule.metrics?.idle), idle: schedule.idle_by_cause ?? {},
  };
}

// Raw timelines by the rank of their candidate, and those read so far.
const rawTimelines = new Map(list(data.timelines).map((raw) => [raw.rank, raw]));
const readTimelines = new Map();

function timelineOf(rank) {
  if (!readTimelines.has(rank))
    readTimelines.set(rank, readTimeline(rawTimelines.get(rank)));
  return readTimelines.get(rank);
}

const candidateByRank = new Map(candidates.map((candidate) => [candidate.rank, candidate]));

function candidateOf(rank) {
  return candidateByRank.get(rank) ?? { rank, strategy: rawTimelines.get(rank)?.schedule?.strategy, options: {} };
}

function isShown(rank) {
  return rawTimelines.has(rank);
}

// --- words for candidates ---

/** "group_size 8", without what other columns tell. */
function optionsText(candidate) {
  return Object.entries(candidate.options ?? {}).filter(([name]) => name !== "placement" && name !== "objective")
    .map(([name, value]) => `${name} ${value}`).join(", ");
}

function nameOf(candidate) {
  const options = optionsText(candidate);
  return `${candidate.strategy ?? "custom"}${options && ` (${options})`}`;
}

/** What folds together: the candidates of a strategy, under one memory limit. The best is first. */
function groupsOf(some) {
  const groups = new Map();
  for (const candidate of some) {
    const key = `${candidate.strategy} ${candidate.memory_limit}`;
    if (!groups.has(key))
      groups.set(key, []);
    groups.get(key).push(candidate);
  }
  return groups;
}

const numbers = new Map(); // of candidates: 3 is the best of the third strategy, 3.2 that strategy's second
for (const [place, group] of [...groupsOf(candidates.filter(({ status }) => status !== "refused")).values()].entries())
  for (const [within, candidate] of group.entries())
    numbers.set(candidate, within === 0 ? `${place + 1}` : `${place + 1}.${within + 1}`);

function numberOf(candidate) {
  return numbers.get(candidate) ?? DASH;
}

/** How far a step is above the bound; null where it is below, as one that does not keep to the memory limit may be. */
function gapOf(candidate) {
  if (!isNumber(candidate.step_time) || !(candidate.bound > 0))
    return null;
  const gap = candidate.step_time / candidate.bound - 1;
  return gap < -1e-9 ? null : Math.max(0, gap);
}
