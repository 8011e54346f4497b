// SPDX-License-Identifier: Apache-2.0
// Stepping through a schedule in time: what runs, what it waited for, and the rule that put it there.

let lesson = null; // {picture, steps: [[device, entry]], at}

function isForward(op) {
  return op.kind === "F";
}

function isBackwardOp(op) {
  return op.kind === "B" || op.kind === "I";
}

const LESSON_KINDS = ["F", "B", "I", "W", "RECOMPUTE"];

/** All ops that compute, in the order of time. */
function lessonOf(picture) {
  const steps = picture.lanes.flatMap((lane, device) => lane.filter((entry) => LESSON_KINDS.includes(entry.kind)).map((entry) => [device, entry]));
  steps.sort(([a, one], [b, other]) => one.start - other.start || a - b);
  const made = new Map();
  for (const [device, entry] of steps)
    for (const op of opsOf(entry))
      made.set(`${isBackwardOp(op) ? "B" : op.kind} ${op.stage} ${op.microbatch} ${op.slice ?? 0}`, [device, entry, op]);
  return { picture, steps, made, at: -1, stages: largest(steps.map(([, entry]) => entry.stage)) + 1 };
}

/** What an op needs that another one makes: [device, entry, op], or null. */
function inputOf(op) {
  const find = (letter, stage) => lesson.made.get(`${letter} ${stage} ${op.microbatch} ${op.slice ?? 0}`) ?? null;
  if (isForward(op))
    return op.stage === 0 ? null : find("F", op.stage - 1);
  if (op.kind === "W")
    return find("B", op.stage);
  if (op.kind === "RECOMPUTE")
    return null; // of what the device has kept
  return op.stage === lesson.stages - 1 ? find("F", op.stage) : find("B", op.stage + 1);
}

/** Why it starts when it does. */
function whenText(device, entry) {
  const lane = lesson.picture.lanes[device].filter((one) => !one.isMark), before = lane[lane.indexOf(entry) - 1], near = 1e-9 * lesson.picture.end;
  if (before && before.end >= entry.start - near)
    return `It starts when the device has finished ${opsOf(before).map((op) => op.token).join(" with ")}.`;
  const inputs = opsOf(entry).map(inputOf).filter((input) => input && input[0] !== device).sort((a, b) => b[1].end - a[1].end);
  if (inputs.length > 0) {
    const [from, { end }, op] = inputs[0], way = entry.start - end;
    return `The device was idle, waiting for ${op.token} of device ${from}${way > near ? `, which was ${figure(way)} on the way` : ""}.`;
  }
  return entry.start <= near ? "Nothing has to come before it." : "It waits for the iteration before.";
}

/** Where the device is in its work: its forwards before the first backward, and whether forwards are left. */
function phaseOf(device, entry) {
  const lane = lesson.picture.lanes[device].filter((one) => !one.isMark), index = lane.indexOf(entry);
  const has = (entries, test) => entries.some((one) => opsOf(one).some(test));
  const first = lane.findIndex((one) => opsOf(one).some(isBackwardOp));
  return { warm: first < 0 ? lane.length : first, phase: !has(lane.slice(0, index + 1), isBackwardOp) ? "warm-up"
    : has(lane.slice(index), isForward) ? "steady state" : "cool-down" };
}

// The rule that each strategy follows, by phase: what it says of an op.
const RULES = {
  gpipe: (op) => (isForward(op) ? "All forwards run first, in the order of the microbatches; each leaves an activation in memory."
    : "When all forwards are done, the backwards follow in the same order; each frees an activation."),
  "1f1b": (op, { phase, warm }) => ({
    "warm-up": `This device runs ${counted(warm, "forward")} before its first backward, the next device one fewer: so the first backward comes back as soon as it can.`,
    "steady state": isForward(op) ? "One forward for each backward: as many activations are made as are freed, so memory stays at the depth of the pipeline, whatever the batch."
      : "One backward after each forward; it frees the activation that the next forward will need.",
    "cool-down": "No forwards are left; the remaining backwards run as their gradients arrive, which leaves holes as long as the warm-up's.",
  })[phase],
  interleaved_1f1b: (op, { phase, warm }) => ({
    "warm-up": `Each device has several chunks of the model. Forwards go through a group of microbatches on one chunk, then the same group on the next; this device runs ${warm} before its first backward.`,
    "steady state": isForward(op) ? "One forward for each backward; chunk by chunk in groups of microbatches. The holes at both ends are those of a stage, which is shorter than all of a device's layers."
      : "Backwards walk the groups as the forwards did, the last chunk first.",
    "cool-down": "No forwards are left; the backwards go on, the last chunk of each group first.",
  })[phase],
  zb_h1: (op, { phase }) => {
    if (op.kind === "W")
      return phase === "cool-down" ? "The weight gradients that were put off fill the time in which the device would wait for gradients."
        : "W: nobody waits for a weight gradient. It comes late on later devices, which hold fewer activations, so that memory stays 1F1B's.";
    if (op.kind === "I")
      return "The backward is split. I, the input gradient, is what the device before waits for, so it goes first and alone.";
    return phase === "warm-up" ? "As in 1F1B: one forward fewer before the first backward on each next device." : "As in 1F1B, one forward for each backward.";
  },
  zbv: (op, { phase }) => {
    const way = op.chunk === 0 ? "down the V, from device 0 to the last" : "up the V, from the last device to device 0";
    if (op.kind === "W")
      return "W fills time in which nothing else can run; nobody waits for it.";
    if (op.kind === "I")
      return `The input gradient goes back ${op.chunk === 0 ? "up the left arm of the V, to device 0" : "down the right arm of the V"}: the last stage is on device 0, so device 0 starts backwards first.`;
    return phase === "warm-up" ? `This stage is on the way ${way}. Device r holds stages r and 2D-1-r; forwards fill the time until gradients come back.`
      : `A forward ${way}, in turn with a backward, so that neither arm of the V waits.`;
  },
  dualpipe: (op, phase, entry) => (entry.second ? "A forward of one direction runs together with a backward of the other, so that each one's communication hides behind the other's computing."
    : isForward(op) ? (op.chunk === 0 ? "Two copies of the model: this half of the microbatches enters at device 0 and goes down." : "Two copies of the model: this half of the microbatches enters at the last device and goes up.")
      : op.kind === "W" ? "W is put off to where the device would be idle." : "A backward, on the way back to where its microbatch entered."),
};

function ruleText(device, entry) {
  if (entry.kind === "RECOMPUTE")
    return "The forward runs once more, for its backward: between the two the device has kept no more than the forward's input.";
  const rule = RULES[current.problem.strategy];
  return rule && !/by hand$/.test(current.schedule.name) ? rule(entry, phaseOf(device, entry), entry)
    : `${current.schedule.name}: ${strategies.get(current.problem.strategy)?.summary ?? "an order of your own"}.`;
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
