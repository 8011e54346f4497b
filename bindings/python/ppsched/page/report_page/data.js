// SPDX-License-Identifier: Apache-2.0
// The data of the page: candidates, and packed timelines, whose ops are read when they are first shown.

/** The text of deflated data in base64. */
async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}

const data = JSON.parse(byId("data").textContent);
let candidates = typeof data.candidates === "string" ? JSON.parse(await unpack(data.candidates)) : list(data.candidates);
const units = data.units ?? {};
const objective = data.objective === "span" ? "span" : "makespan";

/** A number with the unit of "time", "memory" or "bytes", if the data has one. */
function figureIn(measure, value, digits = 6) {
  return figure(value, digits) + (isNumber(value) && units[measure] ? `\u00a0${units[measure]}` : "");
}

function timeFigure(value, digits) {
  return figureIn("time", value, digits);
}

function memoryFigure(value, digits) {
  return figureIn("memory", value, digits);
}

/** A heading with the unit of its numbers. */
function headingIn(measure, text) {
  return units[measure] ? `${text} (${units[measure]})` : text;
}

// Kinds that are drawn as blocks in a row. Shades of the first chunks and ink of digits are as in the package's pictures
// (colours.py); other kinds are grey.
const GREY = ["#767676"];
const KINDS = {
  F: { words: "forward", shades: ["#0072b2", "#0a94fb", "#9ab8fc"] },
  B: { words: "full backward", shades: ["#d55e00", "#e2804d", "#ffb323"] },
  I: { words: "input gradient", shades: ["#009e73", "#15cd75", "#93f7aa"] },
  W: { words: "weight gradient", shades: ["#cc79a7", "#e0abba", "#ffd4ff"] },
  RECOMPUTE: { words: "recompute", shades: GREY },
  OPTIMIZER_STEP: { words: "optimizer step", shades: GREY },
};
const UNKNOWN = { words: "other", shades: GREY };

// Kinds that run next to compute: thin marks, above (sends) or below (receives).
const MARKS = {
  SEND_F: { words: "send activation" }, RECV_F: { words: "receive activation", below: true },
  SEND_B: { words: "send gradient" }, RECV_B: { words: "receive gradient", below: true },
  UNSHARD: { words: "gather parameters", below: true }, RESHARD: { words: "drop parameters" },
  REDUCE_GRAD: { words: "reduce gradients" }, OFFLOAD: { words: "offload" }, RELOAD: { words: "reload", below: true },
  OFFLOAD_WAIT: { words: "wait for an offload" }, WAIT_REDUCE_GRAD: { words: "wait for a reduction" },
};

const CAUSES = {
  fill: "before its first op of an iteration", drain: "after its last op of an iteration",
  neighbour: "its input is not computed yet", imbalance: "its input is not computed yet, because other devices have more work",
  transfer: "its input is being transferred", link: "its input waits for the link",
  head_of_line: "its input waits for others in its channel", weights: "its weights are not gathered yet",
  reload: "its activations are not reloaded yet, or an offload is not done",
  calls: "the call of a send or receive runs, here or on the sending device",
  slow_devices: "it would not be idle if all devices were as fast as stated",
};

const TOKEN = /^(\d+)([A-Z_]+?)(\d*)(?:\.(\d+))?(?:>\d+)?$/; // after the ">": the place at the other end, on a stage graph
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

/** An op from its token, such as 3F0, 3F0.2 or 3SEND_F0>4; only the token, if it cannot be read. */
function readOp(token) {
  const match = TOKEN.exec(token);
  return match
    ? { token, kind: match[2], stage: Number(match[1]), microbatch: match[3] === "" ? null : Number(match[3]),
        slice: match[4] === undefined ? null : Number(match[4]) }
    : { token: String(token), kind: "?", stage: null, microbatch: null, slice: null };
}

/** One entry of a queue: an op, with the other op of an overlapped pair as `second`. */
function readEntry(token, start, end, position) {
  const pair = PAIR.exec(token);
  const op = readOp(pair ? pair[1] : token);
  const second = pair ? readOp(pair[2]) : null;
  const isMark = Object.hasOwn(MARKS, op.kind);
  return { ...op, second, start, end: Math.max(start, end), position, isMark, reach: 0, chunk: 0, style: 0 };
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

/** The op of an entry, or both ops of a pair. */
function opsOf(entry) {
  return entry.second ? [entry, entry.second] : [entry];
}

/** Numbers the stages of each device; with two model copies, the copies. */
function setChunks(lanes, placement) {
  let chunks = 1;
  for (const [device, lane] of lanes.entries()) {
    const stages = new Set();
    for (const entry of lane)
      for (let op = entry; op; op = op.second)
        if (!stages.has(op.stage))
          stages.add(op.stage);
    const inOrder = [...stages].sort((a, b) => a - b);
    const numbers = new Map(inOrder.map((stage, i) => [stage, placement === "bidirectional" ? Number(stage !== device) : i]));
    let stage = null, chunk = 0;
    for (const entry of lane)
      for (let op = entry; op; op = op.second) {
        if (op.stage !== stage)
          chunk = numbers.get(stage = op.stage);
        op.chunk = chunk;
      }
    chunks = Math.max(chunks, 1 + largest(numbers.values()));
  }
  return chunks;
}

// How an op is drawn: `fill` by kind and chunk, `edge` around paler shades, a line through it if an earlier chunk has the same
// shade, and the ink of its digits.
const styles = [];
const styleNumbers = new Map();

function partsOf(colour) {
  return [1, 3, 5].map((i) => Number.parseInt(colour.slice(i, i + 2), 16));
}

/** Relative luminance by WCAG 2. */
function luminance(colour) {
  const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const [red, green, blue] = partsOf(colour).map((part) => linear(part / 255));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function makeStyle(kind, chunk) {
  const { shades } = KINDS[kind] ?? UNKNOWN, fill = shades[chunk % shades.length];
  const lightInk = 1.05 / (luminance(fill) + 0.05), darkInk = (luminance(fill) + 0.05) / 0.05;
  return { fill, parts: partsOf(fill), edge: chunk % shades.length > 0 ? shades[0] : null,
           isLined: Math.floor(chunk / shades.length) % 2 === 1, ink: lightInk > darkInk ? "#ffffff" : "#000000" };
}

/** The number of the style of a kind and chunk. */
function styleNumber(kind, chunk) {
  let ofKind = styleNumbers.get(kind);
  if (!ofKind)
    styleNumbers.set(kind, ofKind = []);
  return ofKind[chunk] ??= styles.push(makeStyle(kind, chunk)) - 1;
}

/** Sets the style of each op; returns the kinds that occur. */
function setStyles(lanes) {
  const kinds = new Set();
  for (const lane of lanes)
    for (const entry of lane)
      for (let op = entry; op; op = op.second) {
        op.style = styleNumber(op.kind, op.chunk);
        if (!kinds.has(op.kind))
          kinds.add(op.kind);
      }
  return kinds;
}

/** Memory over time as numbers: time, level, time, level, ...; from pairs, or from such numbers. */
function curveOf(points) {
  if (points instanceof Float64Array)
    return points;
  const sound = list(points).filter((point) => isNumber(point?.[0]) && isNumber(point?.[1]));
  return Float64Array.from(sound.flatMap(([time, level]) => [time, level]));
}

const NOISE = 1e-9; // share of the makespan; less is rounding of sums, not idle time

/** Idle times by cause, one row per device, without rounding noise. */
function readIdle(given, end) {
  const { edge: former, ...raw } = given ?? {}; // the name of link before 1.0
  const cleaned = (times) => times.map((time) => (Math.abs(time) <= NOISE * end ? 0 : time));
  return Object.fromEntries(Object.entries(raw).map(([cause, times]) =>
    [cause, Array.isArray(times) ? cleaned(times) : times]));
}

// Memory causes, in the order in which the parts of a peak are added up.
const HELD = ["static", "weights", "optimizer", "other", "gradients", "gathered", "sends", "receives", "outputs", "work",
              "activations"];

/** The parts of each device's peak by cause, without those that are 0; empty if the data has none. */
function readHeld(parts) {
  const found = HELD.filter((cause) => list(parts?.[cause]).some((size) => size > 0));
  return Object.fromEntries(found.map((cause) => [cause, list(parts[cause])]));
}

const CHANNELS = ["#202020", "#ffe14d", "#8a8a8a", "#d8d8d8"]; // of windows in a pair

/** What is in overlapped pairs: channels, and by the stages of both ops and the kind of the second [of, channel, start, end],
    as shares of the pair. */
function readWindows(given) {
  const byOps = new Map(list(given?.pairs)
    .map(({ forward, backward, kind, windows }) => [`${forward} ${backward} ${kind}`, list(windows)]));
  return { channels: list(given?.channels).slice(0, CHANNELS.length), byOps };
}

/** The windows of an entry, which has some where it is such a pair. Timelines of the live page have none. */
function windowsOf(timeline, entry) {
  return (entry.second && timeline.windows?.byOps.get(`${entry.stage} ${entry.second.stage} ${entry.second.kind}`)) || [];
}

/** What the page needs of one of the data's timelines. */
function readTimeline(raw) {
  const schedule = raw.schedule ?? {};
  const lanes = list(schedule.queues).map(readLane);
  const chunks = setChunks(lanes, schedule.placement);
  const kinds = setStyles(lanes);
  const makespan = schedule.metrics?.makespan;
  const last = largest(lanes.map((lane) => lane.length ? lane.at(-1).reach : 0));
  const end = isNumber(makespan) && makespan > 0 ? makespan : last || 1;
  return {
    lanes, chunks, kinds, end,
    hasMarks: [...kinds].some((kind) => Object.hasOwn(MARKS, kind)),
    hasPairs: lanes.some((lane) => lane.some((entry) => entry.second)),
    microbatches: schedule.microbatches, iterations: schedule.iterations,
    memory: list(raw.memory).map(curveOf),
    limits: list(raw.memory_limits), peaks: list(schedule.metrics?.peak_memory),
    held: readHeld(schedule.peak_by_cause),
    busy: list(schedule.metrics?.busy), idleTotal: list(schedule.metrics?.idle),
    idle: readIdle(schedule.idle_by_cause, end),
    windows: readWindows(raw.windows),
  };
}

// Timelines by the rank of their candidate: as given, or as JSON; and those read so far.
const rawTimelines = new Map(await Promise.all(list(data.timelines)
  .map(async (raw) => [raw.rank, typeof raw.packed === "string" ? await unpack(raw.packed) : raw])));
const readTimelines = new Map();

const DIGITS = 12; // digits of times, as in report_packing.py

/** Starts and ends of a queue, from the gap before each op and its duration. */
function setTimes(queue) {
  if (!Array.isArray(queue?.gap))
    return;
  let clock = 0;
  const rounded = (time) => Number(time.toPrecision(DIGITS));
  queue.start = [];
  queue.end = [];
  for (const [i, gap] of queue.gap.entries()) {
    queue.start.push(rounded(clock + gap));
    queue.end.push(clock = rounded(queue.start[i] + queue.duration[i]));
  }
  delete queue.gap;
  delete queue.duration;
}

function readRaw(text) {
  const raw = JSON.parse(text);
  for (const queue of list(raw.schedule?.queues))
    setTimes(queue);
  return raw;
}

/** A timeline as in the data: schedule, memory, launch lines and so on; undefined if there is none. */
function rawTimeline(rank) {
  if (typeof rawTimelines.get(rank) === "string")
    rawTimelines.set(rank, readRaw(rawTimelines.get(rank)));
  return rawTimelines.get(rank);
}

function timelineOf(rank) {
  if (!readTimelines.has(rank))
    readTimelines.set(rank, readTimeline(rawTimeline(rank)));
  return readTimelines.get(rank);
}

const candidateByRank = new Map(candidates.map((candidate) => [candidate.rank, candidate]));

function candidateOf(rank) {
  return candidateByRank.get(rank) ?? { rank, strategy: rawTimeline(rank)?.schedule?.strategy, options: {} };
}

// Makes a timeline that the page does not have yet, if the page has the library.
let makeTimeline = null;

/** Whether a candidate's timeline can be drawn. */
function isShown(rank) {
  return rawTimelines.has(rank) || (makeTimeline !== null && (candidateByRank.get(rank)?.status ?? "refused") !== "refused");
}

// --- words for candidates ---

/** "group_size 8", without options that have their own columns. */
function optionsText(candidate) {
  return Object.entries(candidate.options ?? {}).filter(([name]) => name !== "placement" && name !== "objective")
    .map(([name, value]) => `${name} ${value}`).join(", ");
}

function nameOf(candidate) {
  const options = optionsText(candidate);
  return `${candidate.strategy ?? "custom"}${options && ` (${options})`}`;
}

/** Groups of candidates with the same strategy and memory limit, the best first. A group can be folded. */
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

const numbers = new Map(); // of candidates: 3 is the best of the third strategy, 3.2 the second of that strategy
function numberCandidates() {
  for (const [place, group] of [...groupsOf(candidates.filter(({ status }) => status !== "refused")).values()].entries())
    for (const [within, candidate] of group.entries())
      numbers.set(candidate, within === 0 ? `${place + 1}` : `${place + 1}.${within + 1}`);
}

numberCandidates();

function numberOf(candidate) {
  return numbers.get(candidate) ?? DASH;
}

/** How far a step is above a bound. null if the candidate is over its memory limit: then it may be below the bound. */
function gapOf(candidate, bound = candidate.bound) {
  if (!isNumber(candidate.step_time) || !(bound > 0) || candidate.fits === false)
    return null;
  const gap = candidate.step_time / bound - 1;
  return gap < -1e-9 ? null : Math.max(0, gap);
}
