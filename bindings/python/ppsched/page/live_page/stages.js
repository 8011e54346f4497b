// SPDX-License-Identifier: Apache-2.0
// Times by stage: a table of fields with one row per stage, each with a bar.

const STAGE_COLUMNS = { forward_times: "F", backward_times: "B", backward_input_times: "I", backward_weight_times: "W" };
const MOST_ROWS = 512; // most stages of the table
let shownStages = "";  // identifies the present table

/** B if it is given, else I and W. */
function stageColumns() {
  const others = problem.values.backward_times ? ["backward_input_times", "backward_weight_times"] : ["backward_times"];
  return Object.keys(STAGE_COLUMNS).filter((name) => !others.includes(name));
}

/** The values of a quantity by stage. */
function stageTimes(name) {
  const list = problem.values[name] ?? [1];
  return Array.from({ length: problem.stages }, (_, stage) => list[list.length === 1 ? 0 : stage] ?? 1);
}

function setStageTime(name, stage, text) {
  const [time, ...more] = numberList(`${STAGE_COLUMNS[name]} of stage ${stage}`, text), times = stageTimes(name);
  if (time === undefined || more.length > 0)
    throw new Error(`${STAGE_COLUMNS[name]} of stage ${stage} must be one number`);
  times[stage] = time;
  setValues(name, times);
}

function makeStageField(name, stage) {
  const field = make("input", { inputmode: "decimal", autocomplete: "off", "data-name": name, "data-stage": stage,
                                "aria-label": `${STAGE_COLUMNS[name]} time of stage ${stage}` });
  field.addEventListener("input", () => turn(() => setStageTime(name, stage, field.value)));
  return make("td", {}, field);
}

function makeStageRow(stage, columns) {
  return make("tr", {}, make("th", { scope: "row" }, String(stage)), makeBar(stage), ...columns.map((name) => makeStageField(name, stage)));
}

/** The keys up and down move to the same field of the stage before and after. */
function walkStages(event) {
  const by = { ArrowUp: -1, ArrowDown: 1 }[event.key], { name, stage } = event.target.dataset;
  if (by === undefined || stage === undefined)
    return;
  event.preventDefault();
  byId("stage-times").querySelector(`[data-name="${name}"][data-stage="${Number(stage) + by}"]`)?.select();
}

function fillStageTimes(columns) {
  const times = columns.map(stageTimes);
  for (const field of byId("stage-times").querySelectorAll("input")) {
    const text = String(times[columns.indexOf(field.dataset.name)][field.dataset.stage]);
    if (field !== document.activeElement)
      field.value = text;
  }
  fillBars();
}

/** Makes the table when it is opened, and again when stages change. */
function showStageTimes() {
  if (!byId("stages").open)
    return;
  const columns = stageColumns(), wanted = `${problem.stages} ${columns}`;
  if (problem.stages > MOST_ROWS) {
    shownStages = "";
    byId("stage-times").replaceChildren(make("caption", {}, `${problem.stages} stages are too many for a table; give their times as lists above.`),
      make("tr", {}));
    return;
  }
  if (shownStages !== wanted) {
    shownStages = wanted;
    const heads = ["stage", "together", ...columns.map((name) => STAGE_COLUMNS[name])];
    byId("stage-times").replaceChildren(
      make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text)))),
      make("tbody", {}, ...Array.from({ length: problem.stages }, (_, stage) => makeStageRow(stage, columns))));
  }
  fillStageTimes(columns);
}

function startStageTimes() {
  byId("stages").addEventListener("toggle", showStageTimes);
  byId("stage-times").addEventListener("keydown", walkStages);
}
