// SPDX-License-Identifier: Apache-2.0
// Steps through a schedule in time: what runs, what it waited for, and the rule that put it there.

let lesson = null; // {picture, steps: [[device, entry]], at}

function isForward(op) {
  return op.kind === "F";
}

function isBackwardOp(op) {
  return op.kind === "B" || op.kind === "I";
}

const LESSON_KINDS = ["F", "B", "I", "W", "RECOMPUTE"];

/** All compute ops, by time. */
function lessonOf(picture) {
  const steps = picture.lanes.flatMap((lane, device) => lane.filter((entry) => LESSON_KINDS.includes(entry.kind)).map((entry) => [device, entry]));
  steps.sort(([a, one], [b, other]) => one.start - other.start || a - b);
  const made = new Map();
  for (const [device, entry] of steps)
    for (const op of opsOf(entry))
      made.set(`${isBackwardOp(op) ? "B" : op.kind} ${op.stage} ${op.microbatch} ${op.slice ?? 0}`, [device, entry, op]);
  return { picture, steps, made, at: -1, stages: largest(steps.map(([, entry]) => entry.stage)) + 1 };
}

/** The op that makes the input of an op: [device, entry, op], or null. */
function inputOf(op) {
  const find = (letter, stage) => lesson.made.get(`${letter} ${stage} ${op.microbatch} ${op.slice ?? 0}`) ?? null;
  if (isForward(op))
    return op.stage === 0 ? null : find("F", op.stage - 1);
  if (op.kind === "W")
    return find("B", op.stage);
  if (op.kind === "RECOMPUTE")
    return null; // the device has kept the input
  return op.stage === lesson.stages - 1 ? find("F", op.stage) : find("B", op.stage + 1);
}

/** Why an op starts when it does. */
function whenText(device, entry) {
  const lane = lesson.picture.lanes[device].filter((one) => !one.isMark), before = lane[lane.indexOf(entry) - 1], near = 1e-9 * lesson.picture.end;
  if (before && before.end >= entry.start - near)
    return `It starts when the device has finished ${opsOf(before).map((op) => op.token).join(" with ")}.`;
  const inputs = opsOf(entry).map(inputOf).filter((input) => input && input[0] !== device).sort((a, b) => b[1].end - a[1].end);
  if (inputs.length > 0) {
    const [from, { end }, op] = inputs[0], way = entry.start - end;
    return `The device was idle, waiting for ${op.token} of device ${from}${way > near ? `, which was ${figure(way)} on the way` : ""}.`;
  }
  return entry.start <= near ? "It waits for no other op." : "It waits for the end of the iteration before.";
}

/** The phase of a device: its forwards before the first backward, and whether forwards are left. */
function phaseOf(device, entry) {
  const lane = lesson.picture.lanes[device].filter((one) => !one.isMark), index = lane.indexOf(entry);
  const has = (entries, test) => entries.some((one) => opsOf(one).some(test));
  const first = lane.findIndex((one) => opsOf(one).some(isBackwardOp));
  return { warm: first < 0 ? lane.length : first, phase: !has(lane.slice(0, index + 1), isBackwardOp) ? "warm-up"
    : has(lane.slice(index), isForward) ? "steady state" : "cool-down" };
}

// The rule of each strategy, by phase: a text about an op.
const RULES = {
  gpipe: (op) => (isForward(op) ? "All forwards run first, in the order of the microbatches. Each leaves an activation in memory."
    : "When all forwards are done, the backwards follow in the same order. Each frees an activation."),
  "1f1b": (op, { phase, warm }) => ({
    "warm-up": `This device runs ${counted(warm, "forward")} before its first backward, the next device one fewer. So the first backward comes back as early as possible.`,
    "steady state": isForward(op) ? "The device runs one forward for each backward, so it frees as many activations as it adds. So memory grows only with the depth of the pipeline, not with the batch."
      : "One backward runs after each forward. It frees the memory that the next forward needs for its activation.",
    "cool-down": "No forwards are left. The remaining backwards run when their gradients arrive, which leaves as much idle time as the warm-up.",
  })[phase],
  interleaved_1f1b: (op, { phase, warm }) => ({
    "warm-up": `Each device has several chunks of the model. It runs the forwards of a group of microbatches on one chunk, then the forwards of the same group on the next chunk. This device runs ${warm} before its first backward.`,
    "steady state": isForward(op) ? "One forward for each backward, chunk by chunk, in groups of microbatches. Idle time at both ends is shorter, because a stage has only some of a device's layers."
      : "Backwards go through the groups as forwards do, but with the last chunk first.",
    "cool-down": "No forwards are left; backwards continue, the last chunk of each group first.",
  })[phase],
  zb_h1: (op, { phase }) => {
    if (op.kind === "W")
      return phase === "cool-down" ? "The delayed weight gradients fill the time in which the device would wait for gradients."
        : "No other device waits for a weight gradient (W). Later devices hold fewer activations and run W later. So the peak memory stays as in 1F1B.";
    if (op.kind === "I")
      return "The backward is split. The device before waits only for I, the input gradient, so I runs first.";
    return phase === "warm-up" ? "As in 1F1B: one forward fewer before the first backward on each next device." : "As in 1F1B, one forward for each backward.";
  },
  zbv: (op, { phase }) => {
    const way = op.chunk === 0 ? "down the V, from device 0 to the last" : "up the V, from the last device to device 0";
    if (op.kind === "W")
      return "W fills time in which nothing else can run. No other device waits for W.";
    if (op.kind === "I")
      return `The input gradient goes back ${op.chunk === 0 ? "up the left arm of the V, to device 0" : "down the right arm of the V"}: the last stage is on device 0, so device 0 starts backwards first.`;
    return phase === "warm-up" ? `This stage is on the way ${way}. Device r holds stages r and 2D-1-r; forwards fill the time until gradients come back.`
      : `A forward ${way}, in turn with a backward, so that no arm of the V waits.`;
  },
  dualpipe: (op, phase, entry) => (entry.second ? "A forward of one direction runs together with a backward of the other direction. So the communication of one overlaps with the compute of the other."
    : isForward(op) ? (op.chunk === 0 ? "There are two copies of the model: this half of the microbatches starts at device 0 and goes down." : "There are two copies of the model: this half of the microbatches starts at the last device and goes up.")
      : op.kind === "W" ? "W is delayed to a time in which the device would be idle." : "A backward, on the way back to the device where its microbatch started."),
};

function ruleText(device, entry) {
  if (entry.kind === "RECOMPUTE")
    return "The forward runs again for its backward, as the device has kept only its input.";
  const rule = RULES[current.problem.strategy];
  return rule && !/by hand$/.test(current.schedule.name) ? rule(entry, phaseOf(device, entry), entry)
    : `${current.schedule.name}: ${strategies.get(current.problem.strategy)?.summary ?? "a custom order"}.`;
}

function stepLesson(by) {
  if (lesson === null || lesson.picture !== current.picture)
    lesson = lessonOf(current.picture);
  lesson.at = clamp(lesson.at + by, 0, lesson.steps.length - 1);
  const [device, entry] = lesson.steps[lesson.at];
  const name = opsOf(entry).map((op) => `${op.token} (${wordsOf(op.kind)})`).join(" with ");
  const { phase } = phaseOf(device, entry);
  byId("lesson-text").replaceChildren(
    make("strong", {}, `${lesson.at + 1} of ${lesson.steps.length}, time ${figure(entry.start)}: device ${device} runs ${name}, in its ${phase}. `),
    `${whenText(device, entry)} ${ruleText(device, entry)}`);
  reveal(entry.start, entry.end);
  pointTo(livePanel, device, entry, true);
  hideTip();
}

function startLessons() {
  byId("step-on").addEventListener("click", () => stepLesson(1));
  byId("step-back").addEventListener("click", () => stepLesson(-1));
  byId("step-first").addEventListener("click", () => stepLesson(-Infinity));
}
