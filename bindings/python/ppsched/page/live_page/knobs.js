// SPDX-License-Identifier: Apache-2.0
// The knobs: the values that they show, and the effect of changing them.

let problem = plainProblem();
const strategies = new Map(); // by name
const quantityNames = [];
let turned = () => {};

const SIZE_KNOBS = ["devices", "chunks", "microbatches", "slices", "iterations"];
const LIST_KNOBS = { forward_times: 1, backward_input_times: 1, backward_weight_times: 1, p2p_time: 0, mem_limit: null, offload_times: 0, device_speeds: 1 };
const LIST_OF_DEVICES = "list"; // the choice of placement that has its own field

function sizeOf(name) {
  return name === "chunks" ? Math.max(1, Math.round(problem.stages / problem.devices)) : problem[name];
}

/** New sizes: more devices make a longer pipeline of the same stages; more chunks divide the same model into smaller stages. */
function resize(devices, chunks, microbatches) {
  const stages = devices * chunks;
  const placement = stages !== problem.stages && devicesOf(problem.placement) ? "default" : problem.placement; // a list is for one number of stages
  if (devices !== model.devices)
    model = modelOn(devices);
  problem = { ...problem, microbatches };
  problem = { ...problem, devices, stages, values: valuesIn(stages), placement };
}

function setSize(name, value) {
  const sizes = Object.fromEntries(SIZE_KNOBS.map((knob) => [knob, sizeOf(knob)]));
  sizes[name] = value;
  problem = { ...problem, slices: sizes.slices, iterations: sizes.iterations };
  resize(sizes.devices, sizes.chunks, sizes.microbatches);
}

/** Another number of layers; 0: the stages as they were given. */
function setLayers(count) {
  const before = layers;
  try {
    layers = count;
    resize(problem.devices, sizeOf("chunks"), problem.microbatches);
  } catch (error) {
    layers = before;
    throw error;
  }
}

/** How many chunks a strategy gets: its own number, or the present one. */
function chunksFor(name) {
  const wanted = strategies.get(name)?.chunks;
  return wanted || (wanted === 0 && /interleaved|looped/.test(name) && sizeOf("chunks") === 1 ? 2 : sizeOf("chunks"));
}

/** Another strategy has its own number of chunks, placement and options. */
function setStrategy(name) {
  const known = new Set(strategies.get(name)?.options.map((option) => option.name)), chunks = chunksFor(name);
  const options = Object.fromEntries(Object.entries(problem.options).filter(([option]) => known.has(option)));
  problem = { ...problem, strategy: name, options, placement: "default" };
  resize(problem.devices, chunks, problem.microbatches);
}

function setValues(name, list) {
  problem = withValues(problem, name, list);
  if (OF_STAGES.test(name))
    takeModel(problem);
  else
    takeOther(name, list);
}

function setOptionOf(name, value) {
  const options = { ...problem.options };
  if (value === "")
    delete options[name];
  else
    options[name] = value;
  problem = { ...problem, options };
}

// --- the values of the knobs ---

function makeOptionKnob(option) {
  const value = problem.options[option.name] ?? "";
  const knob = option.choice_count > 0
    ? make("select", { name: option.name }, make("option", { value: "" }, `default: ${option.default_text}`),
      ...option.choices.map((choice) => make("option", { value: choice, selected: choice === value }, choice)))
    : make("input", { name: option.name, type: "number", min: option.minimum, max: option.maximum, value, placeholder: option.default_text });
  knob.addEventListener("input", () => turn(() => setOptionOf(option.name, knob.value)));
  return make("label", { title: option.summary }, option.name.replaceAll("_", " "), " ", knob);
}

// --- placement, and what is recomputed or offloaded ---

function showPlacement() {
  const devices = devicesOf(problem.placement), field = byId("knob-devices_of_stages");
  byId("knob-placement").value = devices === null ? problem.placement : LIST_OF_DEVICES;
  field.parentElement.hidden = devices === null;
  if (field !== document.activeElement)
    field.value = devices?.join(" ") ?? "";
}

/** A name; or, for a list, the present device of each stage, to edit. */
function choosePlacement(choice) {
  const stages = Array.from({ length: problem.stages }, (_, stage) => stage);
  const place = (stage) => (current.schedule?.stages === problem.stages ? current.schedule.deviceOf(stage) : null) ?? stage % problem.devices;
  problem = { ...problem, placement: choice === LIST_OF_DEVICES ? stages.map(place).join(",") : choice };
}

/** The choices of recompute and offload: stages of each device, or as many as needed to fit the limit. */
function keepingChoices() {
  const chunks = Array.from({ length: Math.min(8, sizeOf("chunks")) }, (_, i) => `chunks=${i + 1}`);
  const choices = [...chunks.map((what) => ["recompute", what]), ...[...chunks, "all", "limit"].map((what) => ["offload", what])];
  const now = problem.recompute ? ["recompute", problem.recompute] : ["offload", problem.offload];
  return now[1] === "" || choices.some(([how, what]) => how === now[0] && what === now[1]) ? choices : [...choices, now];
}

let shownKeeping = ""; // the present choices
const KEEPING_WORDS = { all: "all", limit: "as needed to fit the limit" };

function showKeeping() {
  const choices = keepingChoices(), words = (what) => KEEPING_WORDS[what] ?? `${counted(Number(what.slice(7)), "chunk")} per device`;
  const value = problem.recompute ? `recompute ${problem.recompute}` : problem.offload ? `offload ${problem.offload}` : "";
  if (shownKeeping !== choices.join()) {
    shownKeeping = choices.join();
    byId("knob-keep").replaceChildren(make("option", { value: "" }, "nothing"),
      ...choices.map(([how, what]) => make("option", { value: `${how} ${what}` }, `${how} ${words(what)}`)));
  }
  byId("knob-keep").value = value;
}

function chooseKeeping(choice) {
  const [how, what] = choice.split(" ");
  problem = { ...problem, recompute: how === "recompute" ? what : "", offload: how === "offload" ? what : "" };
}

let shownOptions = null;

/** Shows a number, also in the slider if there is one. */
function sizeElements(name) {
  return [byId(`knob-${name}`), byId(`slide-${name}`)].filter(Boolean);
}

/** Updates all knobs by the problem, except the one in which the user types. */
function showKnobs() {
  const set = (element, value) => {
    if (element !== document.activeElement || element.type === "range" || element.tagName === "SELECT")
      element.value = value;
  };
  for (const name of SIZE_KNOBS)
    for (const element of sizeElements(name))
      set(element, sizeOf(name));
  set(byId("knob-strategy"), problem.strategy);
  set(byId("knob-layers"), layers || "");
  byId("knob-whole").checked = !problem.split_backward;
  byId("knob-forward").checked = Boolean(problem.forward_only);
  byId("knob-senders").checked = problem.sender_waits === "like_kind";
  for (const name of Object.keys(LIST_KNOBS))
    set(byId(`knob-${name}`), problem.values[name]?.join(" ") ?? "");
  for (const name of ["backward_input_times", "backward_weight_times"])
    byId(`knob-${name}`).placeholder = inShort(partOfBackward(problem.values, name)).map((time) => figure(time)).join(" ");
  showPlacement();
  showKeeping();
  showStageTimes();
  if (shownOptions !== problem.strategy) {
    shownOptions = problem.strategy;
    byId("options").replaceChildren(...(strategies.get(problem.strategy)?.options ?? []).map(makeOptionKnob));
  }
  const others = Object.keys(problem.values).filter((name) => !(name in LIST_KNOBS));
  const more = [...others, ...["weight_versions"].filter((name) => problem[name]).map((name) => `${name} ${problem[name]}`)];
  byId("also").textContent = more.length > 0 ? `Other given values: ${more.join(", ")}.` : "";
  byId("summary").textContent = strategies.get(problem.strategy)?.summary ?? "";
}

/** Handles a changed knob: takes its value, or shows what is wrong with it. */
function turn(change) {
  try {
    problem = { ...problem, order: "" }; // a knob returns to the order of the strategy
    change();
    showKnobs();
    turned();
  } catch (error) {
    showProblem(error.message);
  }
}

function wholeOf(name, text) {
  return wholeNumber(name === "chunks" ? "stages" : name, text.trim());
}

/** Makes the last stage twice as long, as with a large head; if it is already, makes all stages equal. */
function toggleHead() {
  const isSlow = (problem.values.forward_times?.length ?? 0) > 1;
  for (const name of ["forward_times", "backward_input_times", "backward_weight_times"]) {
    const usual = problem.values[name]?.[0] ?? 1;
    setValues(name, isSlow ? [usual] : Array.from({ length: problem.stages }, (_, stage) => (stage === problem.stages - 1 ? 2 : 1) * usual));
  }
}

/** On a phone the picture comes first: some knobs are folded, and the figures come after the picture. */
function startPhone() {
  const isPhone = matchMedia("(max-width: 40rem)").matches;
  byId("more").open = !isPhone;
  if (isPhone)
    byId("timeline-panels").after(byId("cards"));
}

function startKnobs() {
  byId("knob-strategy").append(...[...strategies.keys()].map((name) => make("option", { value: name }, name)));
  byId("knob-strategy").addEventListener("input", (event) => turn(() => setStrategy(event.target.value)));
  for (const name of SIZE_KNOBS)
    for (const element of sizeElements(name))
      element.addEventListener("input", (event) => turn(() => setSize(name, wholeOf(name, event.target.value))));
  for (const name of Object.keys(LIST_KNOBS))
    byId(`knob-${name}`).addEventListener("input", (event) => turn(() => setValues(name, numberList(name.replaceAll("_", " "), event.target.value))));
  byId("knob-layers").addEventListener("input", (event) => turn(() => setLayers(
    event.target.value.trim() === "" ? 0 : wholeNumber("layers", event.target.value.trim(), SIZE_LIMITS.stages))));
  byId("knob-whole").addEventListener("input", (event) => turn(() => {
    problem = { ...problem, split_backward: event.target.checked ? 0 : 1 };
  }));
  byId("knob-forward").addEventListener("input", (event) => turn(() => {
    problem = { ...problem, forward_only: event.target.checked ? 1 : 0 };
  }));
  byId("knob-senders").addEventListener("input", (event) => turn(() => {
    problem = { ...problem, sender_waits: event.target.checked ? "like_kind" : "never" };
  }));
  byId("knob-placement").addEventListener("input", (event) => turn(() => choosePlacement(event.target.value)));
  byId("knob-devices_of_stages").addEventListener("input", (event) => turn(() => {
    if (devicesOf(event.target.value) === null)
      throw new Error("the devices of the stages must be integers, one for each stage");
    problem = { ...problem, placement: placementOf(event.target.value) };
  }));
  byId("knob-keep").addEventListener("input", (event) => turn(() => chooseKeeping(event.target.value)));
  startPhone();
  startStageTimes();
  byId("knobs").addEventListener("submit", (event) => event.preventDefault()); // of Enter in a field
  byId("head").addEventListener("click", () => turn(toggleHead));
}
