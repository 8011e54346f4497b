// SPDX-License-Identifier: Apache-2.0
// Converts the library's schedule and timeline to the form that the page draws, the same as readTimeline makes from a report's data.

const kindNames = []; // by number

/** An op as readEntry makes it from a report's data; its token is made when needed. */
class DrawnOp {
  fill(kind, stage, microbatch, slice, start, end, position) {
    this.kind = kind;
    this.stage = stage;
    this.microbatch = microbatch;
    this.slice = slice;
    this.start = start;
    this.end = end;
    this.position = position;
    this.second = null;
    this.isMark = Object.hasOwn(MARKS, kind);
    this.reach = end;
    this.chunk = 0;
    this.style = 0;
  }

  get token() {
    return `${this.stage}${this.kind}${this.microbatch ?? ""}${this.slice === null ? "" : `.${this.slice}`}`;
  }
}

const OVERLAPPED = 1, SLICED = 2; // flags of an op

/** The entries of a device, read from the library's memory. They reuse the objects of a lane that is no longer needed, as garbage
 * collection would take longest at large sizes. */
function laneOf(schedule, timeline, device, lane) {
  const ops = schedule.ops(device), bytes = ops.view(Uint8Array), numbers = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const times = timeline.spans(device).view(Float64Array);
  const opAt = (i, spare) => {
    const at = 12 * i, microbatch = numbers.getUint32(at, true), op = spare ?? new DrawnOp();
    op.fill(kindNames[bytes[at + 8]], numbers.getUint16(at + 4, true), microbatch === 0xFFFFFFFF ? null : microbatch,
      bytes[at + 9] & SLICED ? numbers.getUint16(at + 6, true) : null, times[2 * i], times[2 * i + 1], i);
    return op;
  };
  let reach = -Infinity, before = -Infinity, areInOrder = true, count = 0;
  for (let i = 0; i < ops.length; i += 1) {
    const entry = opAt(i, lane[count]);
    if (bytes[12 * i + 9] & OVERLAPPED)
      entry.second = opAt(i += 1, null);
    areInOrder &&= before <= entry.start;
    before = entry.start;
    lane[count] = entry;
    count += 1;
  }
  lane.length = count;
  if (!areInOrder) // ops that run next to compute
    lane.sort((a, b) => a.start - b.start || a.position - b.position);
  for (const entry of lane)
    entry.reach = reach = Math.max(reach, entry.end);
  return lane;
}

function idleByCause(timeline, devices) {
  const rows = Array.from({ length: devices }, (_, device) => timeline.idle(device));
  const least = NOISE * timeline.metrics.makespan;
  return Object.fromEntries(Object.keys(rows[0]).map((cause) => [cause, rows.map((row) => (Math.abs(row[cause]) > least ? row[cause] : 0))])
    .filter(([, times]) => times.some((time) => time !== 0)));
}

/** The data for the drawings; `spare` is a picture that is no longer shown, or null. */
function pictureOf(schedule, timeline, spare = null) {
  const devices = schedule.devices, numbers = Array.from({ length: devices }, (_, device) => device);
  const lanes = numbers.map((device) => laneOf(schedule, timeline, device, spare?.lanes[device] ?? []));
  const figures = numbers.map((device) => timeline.deviceMetrics(device)), { metrics } = timeline;
  const chunks = setChunks(lanes, schedule.placement), kinds = setStyles(lanes);
  return {
    lanes, chunks, kinds, metrics, end: metrics.makespan > 0 ? metrics.makespan : 1,
    hasMarks: [...kinds].some((kind) => Object.hasOwn(MARKS, kind)), hasPairs: lanes.some((lane) => lane.some((entry) => entry.second)),
    microbatches: schedule.microbatches, iterations: schedule.iterations,
    memory: numbers.map((device) => timeline.memoryCurve(device)),
    limits: figures.map(({ memory_limit: limit }) => (Number.isFinite(limit) ? limit : null)), peaks: figures.map((row) => row.peak_memory),
    held: {}, busy: figures.map((row) => row.busy), idleTotal: figures.map((row) => row.idle),
    get idle() { // computed when first needed, while the timeline exists, and not at each step of a slider
      const value = idleByCause(timeline, devices);
      Object.defineProperty(this, "idle", { value });
      return value;
    },
  };
}
