// SPDX-License-Identifier: Apache-2.0
// When each device is idle and why, so that sums over any range of time can be made. The causes are those of the library,
// except that imbalance is part of neighbour, that what slow devices cause is part of the others, and that with sends and
// receives the waits between ops have one name.

const WAITING = "waiting for an input";

/** When the last input of an entry was made on another device; null if all inputs are from the same device. */
function inputMade(timeline, device, entry) {
  const made = linked(timeline, entry, inputsOf).filter((found) => found.device !== device).map((found) => found.entry.end);
  return made.length > 0 ? Math.max(...made) : null;
}

function iterationOf(timeline, entry) {
  return timeline.microbatches > 0 && entry.microbatch !== null ? Math.floor(entry.microbatch / timeline.microbatches) : 0;
}

/** When each iteration but the last ends, if the next starts after that. */
function flushTimes(timeline) {
  const ends = [], starts = [];
  for (const entry of timeline.lanes.flat().filter((one) => !one.isMark)) {
    const iteration = iterationOf(timeline, entry);
    ends[iteration] = Math.max(ends[iteration] ?? 0, entry.end);
    starts[iteration] = Math.min(starts[iteration] ?? Infinity, entry.start);
  }
  const air = NOISE * timeline.end;
  return ends.slice(0, -1).map((end, i) => (starts[i + 1] >= end - air ? end : null));
}

/** The parts of a wait: until the input is made, and until it has arrived. */
function splitWait(timeline, device, entry, start, isFirst) {
  const made = inputMade(timeline, device, entry), cut = clamp(made ?? start, start, entry.start);
  if (timeline.hasMarks)
    return [{ start, end: entry.start, cause: isFirst ? "fill" : WAITING }];
  return [{ start, end: cut, cause: isFirst ? "fill" : "neighbour" }, { start: cut, end: entry.start, cause: "transfer" }];
}

/** [{start, end, cause}] of a device. */
function findGaps(timeline, device, flushes) {
  const gaps = [];
  let clock = 0, iteration = 0, isFirst = true;
  for (const entry of timeline.lanes[device].filter((one) => !one.isMark)) {
    for (; iteration < iterationOf(timeline, entry); iteration += 1)
      if (isNumber(flushes[iteration]) && flushes[iteration] > clock) {
        gaps.push({ start: clock, end: flushes[iteration], cause: "drain" });
        clock = flushes[iteration];
        isFirst = true;
      }
    if (entry.start > clock)
      gaps.push(...splitWait(timeline, device, entry, clock, isFirst));
    clock = Math.max(clock, entry.end);
    isFirst = false;
  }
  gaps.push({ start: clock, end: timeline.end, cause: "drain" });
  return gaps.filter(({ start, end }) => end - start > NOISE * timeline.end);
}

function gapsOf(timeline) {
  const flushes = timeline.gaps ? [] : flushTimes(timeline);
  timeline.gaps ??= timeline.lanes.map((_, device) => findGaps(timeline, device, flushes));
  return timeline.gaps;
}

/** Sums of times over all devices in a range of time: {kinds: Map, causes: Map}, each by its name. */
function sumsBetween(timeline, from, to) {
  const kinds = new Map(), causes = new Map();
  const add = (sums, name, start, end) => {
    const time = Math.min(end, to) - Math.max(start, from);
    if (time > 0)
      sums.set(name, (sums.get(name) ?? 0) + time);
  };
  for (const lane of timeline.lanes)
    for (let i = firstVisible(lane, from); i < lane.length && lane[i].start <= to; i += 1)
      if (!lane[i].isMark)
        add(kinds, opsOf(lane[i]).map((op) => op.kind).join(" with "), lane[i].start, lane[i].end);
  for (const gap of gapsOf(timeline).flat())
    add(causes, gap.cause, gap.start, gap.end);
  return { kinds, causes };
}
