// SPDX-License-Identifier: Apache-2.0
// From a model's config.json and a number of GPUs to a layout: the library searches all of them in a worker.

const GIB = 2 ** 30;
const LAYOUT_COLUMNS = [
  ["#", (_, place) => place + 1], ["tp", (row) => row.tensor_parallel], ["cp", (row) => row.context_parallel], ["ep", (row) => row.expert_parallel],
  ["pp", (row) => row.pipeline], ["dp", (row) => row.data_parallel], ["V", (row) => row.chunks], ["micro batch", (row) => row.micro_batch_size],
  ["ZeRO", (row) => row.sharding], ["schedule", (row) => row.found.pipeline.strategy],
  ["recompute", ({ found: { pipeline: { recompute, recompute_layers: layers } } }) => (recompute ? `${recompute}${layers ? ` ${layers}` : ""}` : "none")],
  ["step (s)", (row) => figure(row.found.step.step_time)], ["tokens/s", (row) => Math.round(row.found.step.tokens_per_second_per_device * row.found.step.devices).toLocaleString("en")],
  ["MFU", (row) => percent(row.found.step.mfu, 1)], ["GiB", (row) => (row.found.memory / GIB).toFixed(1)], ["runs on", (row) => runtimesOf(row.found.runs_on) || "no runtime"],
];
const MOST_IN_MODEL = 64 * 2 ** 20; // bytes of a config.json
const LAYOUT_TEXTS = ["schedule", "recompute", "runs on"];

let layoutModel = null; // {name, text} of the config.json
let layoutAsker = null;

function runtimesOf(bits) {
  return Object.entries(library.Runtime).filter(([, number]) => bits >> number & 1).map(([name]) => name.toLowerCase()).join(" ");
}

function tellLayouts(text) {
  byId("job-told").textContent = text;
}

function isLayoutNumber(value) {
  return Number.isInteger(value) && value >= 1 && value <= 2 ** 20;
}

/** Numbers of a field; null if it is empty, and all that is possible is tried. */
function layoutNumbers(name, what) {
  const list = numberList(what, byId(`job-${name}`).value);
  if (!list.every(isLayoutNumber))
    throw new Error(`${what} must be integers from 1 to 1048576, or nothing for all that are possible`);
  return list.length > 0 ? list : null;
}

function layoutNumber(name, what) {
  const list = numberList(what, byId(`job-${name}`).value);
  if (list.length !== 1 || !isLayoutNumber(list[0]))
    throw new Error(`${what} must be one integer from 1 to 1048576`);
  return list[0];
}

function askLayouts() {
  if (layoutModel === null)
    return;
  document.documentElement.dataset.layouts = "no";
  try {
    const job = { device: byId("job-device").value, gpus: layoutNumber("gpus", "GPUs"), sequence: layoutNumber("sequence", "the sequence"),
                  tp: layoutNumbers("tp", "TP"), pp: layoutNumbers("pp", "PP"), global_batch: layoutNumbers("batch", "the global batch") };
    tellLayouts(`Searching the layouts of ${layoutModel.name}\u2026`);
    byId("job-table").classList.add("stale");
    layoutAsker.ask({ model: layoutModel.text, job });
  } catch (error) {
    layoutAsker.drop();
    showLayouts({ error: error.message });
  }
}

/** The problem of a layout's pipeline, in seconds and bytes. */
function problemOfLayout({ found: { pipeline: { strategy, devices, chunks, microbatches } }, values }) {
  const { backward_times, ...lists } = values; // the sums of those of I and W
  return { ...plainProblem(), strategy, devices, stages: devices * chunks, microbatches,
           values: Object.fromEntries(Object.entries(lists).map(([name, list]) => [name, inShort(list)])) };
}

/** Draws the pipeline of a layout; the browser's button Back returns to the problem that was drawn before. */
function drawLayout(row) {
  keepLink();
  history.pushState(null, "", location.hash);

  problem = problemOfLayout(row);
  takeModel(problem);
  shownOptions = null;
  showKnobs();
  turnedKnob();
  keepLink();
  byId("timelines").scrollIntoView();
  byId("timelines").focus({ preventScroll: true });
}

function showLayouts({ rows = [], count, error }) {
  document.documentElement.dataset.layouts = "yes";
  byId("job-table").classList.remove("stale");
  byId("job-table").hidden = rows.length === 0;
  byId("job-rows").replaceChildren(...rows.map((row, place) => {
    const cells = LAYOUT_COLUMNS.map(([heading, text]) => make("td", { class: LAYOUT_TEXTS.includes(heading) ? null : "number" }, String(text(row, place))));
    cells[0].append(" ", makeButton("Draw", `Draw the pipeline of layout ${place + 1}`, () => drawLayout(row)));
    const element = make("tr", {}, ...cells);
    element.classList.toggle("winner", place === 0);
    return element;
  }));
  if (error !== undefined || rows.length === 0) {
    tellLayouts(error === undefined ? `No layout of ${layoutModel.name} fits: try more GPUs, or a device with more memory.` : `No layout: ${error}`);
    return;
  }
  const [{ tensor_parallel: tp, context_parallel: cp, expert_parallel: ep, pipeline: pp, data_parallel: dp, chunks, found: { pipeline, step } }] = rows;
  const words = [`tp ${tp}`, ...(cp > 1 ? [`cp ${cp}`] : []), ...(ep > 1 ? [`ep ${ep}`] : []), `pp ${pp}`, `dp ${dp}`];
  tellLayouts(`The best of ${count.toLocaleString("en")} layouts of ${layoutModel.name}: ${words.join(", ")}, ${pipeline.strategy}`
    + `${chunks > 1 ? ` with ${chunks} stages per device` : ""}: ${figure(step.step_time)} s per step. Estimated, as by ppsched pick --gpus.`);
}

async function takeModelFile(file) {
  if (!file)
    return;
  byId("layouts").open = true;
  try {
    if (file.size > MOST_IN_MODEL)
      throw new Error("too large");
    layoutModel = { name: file.name, text: await file.text() };
  } catch { // a folder, or a file that is gone
    layoutModel = null;
    layoutAsker.drop();
    showLayouts({ error: `${file.name} is ${file.size > MOST_IN_MODEL ? "too large for" : "not a file that can be read as"} a config.json` });
    return;
  }
  askLayouts();
}

/** The answer is shown in another part of the page than where the file may be dropped. */
function takeDropped(files) {
  byId("job-model").files = files;
  takeModelFile(files[0]);
  byId("layouts").scrollIntoView();
}

function startLayouts(module) {
  layoutAsker = new Asker(liveKinds, "layouts", module, showLayouts);
  byId("job-device").append(...engine.accelerators().map(({ name }) => make("option", {}, name)));
  byId("job-head").append(...LAYOUT_COLUMNS.map(([heading]) => make("th", { scope: "col" }, heading)));
  byId("job-model").addEventListener("change", (event) => takeModelFile(event.target.files[0]));
  byId("job").addEventListener("input", (event) => { if (event.target.type !== "file") askLayouts(); });
  byId("job").addEventListener("submit", (event) => event.preventDefault());
  const isFile = (event) => [...event.dataTransfer?.types ?? []].includes("Files");
  addEventListener("dragover", (event) => { if (isFile(event)) event.preventDefault(); });
  addEventListener("drop", (event) => {
    if (!isFile(event))
      return;
    event.preventDefault();
    takeDropped(event.dataTransfer.files);
  });
}
