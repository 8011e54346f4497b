// SPDX-License-Identifier: Apache-2.0
// Additions to the timeline: other timelines on the same axis, and the critical path.

const BESIDE = [1, 2, 3]; // slots of timelines that stand beside the drawn one
// These timelines, oldest first: {slot, word, follows, picture, raw, title, panel}. Those of the link follow the knobs; those that
// were kept stay as they are, and are in the link as long as it makes the same ones.
const kept = [];

/** A free slot; if there is none, the oldest timeline is removed. */
function freeSlot() {
  if (kept.length === BESIDE.length)
    takeOut(kept[0]);
  return BESIDE.find((slot) => kept.every((one) => one.slot !== slot));
}

/** Shows a timeline beside; its panel is made when it has a picture. */
function showBeside(one, picture, raw, title) {
  Object.assign(one, { picture, raw, title });
  readTimelines.set(one.slot, picture);
  rawTimelines.set(one.slot, raw);
  candidateByRank.set(one.slot, { rank: one.slot, strategy: title.split(",")[0], options: {} });
  chosen.add(one.slot);
  if (one.panel)
    return;
  one.panel = makeLivePanel(one.slot, () => one.picture, () => besideText(one));
  one.panel.element.append(makeButton("Leave out", `Leave out ${title}`, () => leaveBeside(one)));
  byId("timeline-panels").append(one.panel.element);
}

/** All that a timeline depends on but its strategy, as a text. */
function basisOf() {
  const { strategy, options, placement, order, beside, lesson, unknown, ...rest } = asGiven();
  return JSON.stringify(rest);
}

/** Keeps the present timeline next to later ones. */
function keepBeside() {
  const { strategy, options, placement, order } = problem, isPlain = Object.keys(options).length === 0 && placement === "default" && order === "";
  const one = { slot: freeSlot(), word: strategies.get(strategy)?.chunks ? strategy : `${strategy}:${sizeOf("chunks")}`, follows: false,
                basis: isPlain ? basisOf() : null };
  kept.push(one);
  current.picture.idle; // computed now, as its timeline is destroyed
  showBeside(one, current.picture, rawNow(), titleOf());
  showPicture();
  settleSoon();
  announce(`${one.title} is kept`);
}

/** The timelines beside, and how much longer or shorter they are. */
function besideText({ picture, title, follows }) {
  const share = picture.end / current.picture.end - 1;
  return `${follows ? "beside" : "kept"}: ${title} (${share < 0 ? "" : "+"}${percent(share, 1)})`;
}

function hideBeside(one) {
  if (!one.panel)
    return;
  timelinePanels.splice(timelinePanels.indexOf(one.panel), 1);
  chosen.delete(one.slot);
  forgetSurfaces(one.panel.element);
  one.panel.element.remove();
  one.panel = null;
}

function takeOut(one) {
  one.searcher?.drop();
  kept.splice(kept.indexOf(one), 1);
  hideBeside(one);
}

function leaveBeside(one) {
  takeOut(one);
  showPicture();
  settleSoon();
  byId("keep-beside").focus();
}

// --- what the link puts beside ---

/** What the link says of the timelines beside. */
function besideWords() {
  const basis = basisOf();
  return kept.filter((one) => one.follows || one.basis === basis).map((one) => one.word).join(",");
}

/** The present problem with the strategy of a word, NAME or NAME:V. */
function problemBeside(word) {
  const [name, chunks] = word.split(":"), strategy = strategyCalled(name), stages = problem.devices * (Number(chunks) || chunksFor(strategy));
  return { ...problem, strategy, stages, values: valuesIn(stages), options: {}, placement: "default", order: "" };
}

/** Draws a schedule beside, and releases it. */
function drawBeside(one, schedule, besideProblem) {
  const config = configOf(engine, besideProblem);
  let timeline = null;
  try {
    timeline = schedule.evaluate(config);
    const picture = pictureOf(schedule, timeline);
    picture.idle; // computed now, as its timeline is destroyed
    showBeside(one, picture, rawOf(timeline), titleOf(schedule, besideProblem, picture));
    one.refusal = "";
  } finally {
    timeline?.destroy();
    schedule.destroy();
    config.destroy();
  }
}

/** Draws one of the link with the present problem; a search runs in a worker of its own. */
function followOne(one) {
  const besideProblem = problemBeside(one.word), { strategy } = besideProblem;
  if (workOf(besideProblem) > Math.max(MOST_AT_ONCE, allowed))
    throw new Error("it has too many ops to be drawn here, too");
  if (!strategies.get(strategy)?.searches) {
    const config = configOf(engine, besideProblem);
    try {
      drawBeside(one, keepLess(config.generate(strategy), config, besideProblem), besideProblem);
    } finally {
      config.destroy();
    }
    return;
  }
  const hear = ({ schedule, error, share }) => {
    if (share === undefined)
      tryBeside(one, () => {
        if (error !== undefined)
          throw new Error(error);
        const config = configOf(engine, one.asked);
        try {
          drawBeside(one, keepLess(engine.importSchedule("json", schedule), config, one.asked), one.asked);
        } finally {
          config.destroy();
        }
      });
  };
  one.asked = besideProblem;
  one.searcher ??= new Asker(liveKinds, "search", searcher.module, hear);
  one.searcher.ask(besideProblem);
}

/** Runs something for a timeline beside. If it is refused, its timeline is hidden, and the reason is shown. */
function tryBeside(one, act) {
  try {
    act();
  } catch (error) {
    one.refusal = `${one.word}: ${error.message}`;
    hideBeside(one);
  }
  byId("beside-told").textContent = kept.map(({ refusal }) => refusal).filter(Boolean).join(" ");
  if (current.picture?.metrics)
    showPicture();
}

function followBeside() {
  for (const one of kept.filter(({ follows }) => follows))
    tryBeside(one, () => followOne(one));
}

/** Takes the timelines that a link puts beside. */
function takeBeside(words) {
  for (const one of [...kept])
    takeOut(one);
  for (const [i, word] of words.split(",").filter(Boolean).entries())
    kept.push({ slot: BESIDE[i], word, follows: true, panel: null });
  byId("beside-told").textContent = "";
  followBeside();
}

// --- the critical path, which the report's code draws and describes ---

/** The data that this code needs: the path, and the slack of devices. */
function rawOf(timeline) {
  return { critical: timeline.criticalPath().map(({ device, position }) => [device, position]), slack: { devices: timeline.deviceSlack() } };
}

function rawNow() {
  const { picture, timeline } = current;
  if (timeline !== null)
    picture.raw ??= rawOf(timeline);
  return picture.raw ?? { critical: [], slack: {} };
}

function startExtras() {
  byId("keep-beside").addEventListener("click", keepBeside);
  byId("critical").parentElement.hidden = false;
  settling.push(followBeside);
}
