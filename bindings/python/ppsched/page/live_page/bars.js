// SPDX-License-Identifier: Apache-2.0
// Bars of the stages' times, which can be dragged by mouse or touch, or moved by keys. All times of a stage change in proportion.

const ROOM = 0.8;       // share of a bar's track that the longest stage takes
let barScale = null;    // the time of a whole track while a bar is dragged

/** The sum of times of each stage. */
function stageSums() {
  const times = stageColumns().map(stageTimes);
  return times[0].map((_, stage) => sum(times.map((list) => list[stage])));
}

/** The step of keys and dragging: about a fiftieth of the longest stage, as a round number. */
function barStep(most) {
  const power = 10 ** Math.floor(Math.log10(most / 50));
  return [1, 2, 5].map((digit) => digit * power).findLast((step) => step <= most / 50) ?? power;
}

/** Scales all times of a stage to this sum. */
function setStageSum(stage, wanted) {
  const columns = stageColumns(), now = stageSums()[stage], step = barStep(largest(stageSums()) || 1);
  const together = Math.max(step, Math.round(wanted / step) * step);
  for (const name of columns) {
    const times = stageTimes(name);
    times[stage] = Number((now > 0 ? times[stage] * together / now : together / columns.length).toPrecision(9));
    setValues(name, times);
  }
}

function dragBar(stage, track, x) {
  const { left, width } = track.getBoundingClientRect();
  turn(() => setStageSum(stage, (x - left) / width * barScale));
}

function listenToBar(bar, track, stage) {
  bar.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    bar.focus();
    bar.setPointerCapture(event.pointerId);
    barScale = (largest(stageSums()) || 1) / ROOM;
  });
  bar.addEventListener("pointermove", (event) => {
    if (barScale !== null && bar.hasPointerCapture(event.pointerId))
      dragBar(stage, track, event.clientX);
  });
  bar.addEventListener("lostpointercapture", () => {
    barScale = null;
    showStageTimes();
  });
  bar.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key], sums = stageSums();
    if (by === undefined)
      return;
    event.preventDefault();
    event.stopPropagation();
    turn(() => setStageSum(stage, sums[stage] + by * barStep(largest(sums) || 1)));
  });
}

function makeBar(stage) {
  const bar = make("span", { role: "slider", tabindex: 0, "aria-label": `Sum of times of stage ${stage}`, "aria-valuemin": 0 });
  const track = make("td", { class: "stage-bar" }, bar);
  listenToBar(bar, track, stage);
  return track;
}

function fillBars() {
  const sums = stageSums(), whole = barScale ?? (largest(sums) || 1) / ROOM;
  for (const [stage, bar] of byId("stage-times").querySelectorAll(".stage-bar span").entries()) {
    bar.style.width = `${Math.min(100, 100 * sums[stage] / whole)}%`;
    bar.setAttribute("aria-valuenow", figure(sums[stage]));
    bar.setAttribute("aria-valuemax", figure(whole));
  }
}
