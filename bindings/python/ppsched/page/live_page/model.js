// SPDX-License-Identifier: Apache-2.0
// The model with the given costs. It stays the same if a strategy, or the knob for chunks, needs another number of stages.

let model = { devices: 8, stages: 8, values: {} }; // for the present devices; the problem is made from it
let givenModel = model;                            // for the devices for which it was given; the model is made from it

const OF_STAGES = /_times$|_share$|^mem_(?!limit|other)|_bytes$/; // quantities for costs of stages

const OF_LAYERS = new RegExp("^(forward|backward|backward_input|backward_weight|unshard|reduce_grad|recompute|offload|reload)_times$|"
  + "^mem_(forward|backward_input|backward_weight|recomputed_backward|recomputed_backward_input|static|weights|optimizer|gradients|gathered|offload)$|"
  + "^(unshard|reduce_grad|offload)_bytes$"); // what a stage has more of with more layers

let layers = 0; // equal layers that the model consists of; 0: each stage is as given

/** Takes the problem as given: other sizes are made from it. */
function takeModel({ devices, stages, values }) {
  layers = 0;
  model = givenModel = { devices, stages, values };
}

/** A list with more than one value that is not for stages is for devices. */
function takeOther(name, list) {
  model = withValues(model, name, list);
  givenModel = list.length > 1 ? model : withValues(givenModel, name, list);
}

/** The same pipeline on other devices: the costs of stages stay, except in lists, where the first and the last value stay. It is
 * made from the given model, so that changing a knob and changing it back loses nothing. */
function modelOn(devices) {
  const given = givenModel, stages = Math.max(1, Math.round(given.stages / given.devices)) * devices;
  if (devices === given.devices)
    return given;
  const fitting = (list) => (list.length < 2 ? list : list.length === given.stages ? stretched(list, stages)
    : list.length === given.devices ? stretched(list, devices) : list);
  return { devices, stages, values: Object.fromEntries(Object.entries(given.values).map(([name, list]) => [name, fitting(list)])) };
}

function alike(a, b) {
  return Math.abs(a - b) <= 1e-12 * Math.max(Math.abs(a), Math.abs(b));
}

/** Removes lists that are equal to the library's defaults. */
function withoutDefaults(lists, given) {
  const values = { ...lists }, all = (name, test) => lists[name].every(test);
  const { backward_times: whole, backward_input_times: input, backward_weight_times: weight } = lists;
  const share = given.backward_input_share?.[0] ?? 0.5;
  const left = given.backward_times && !given.backward_input_times && all("backward_input_times", (time, i) => alike(time, share * whole[i]));
  const drop = (name, test) => { if (!given[name] && test) delete values[name]; };
  if (left && given.backward_input_share)
    values.backward_input_share = given.backward_input_share;
  for (const name of ["backward_input_times", "backward_weight_times"])
    drop(name, left || (all("backward_input_times", (time) => time === 1) && all("backward_weight_times", (time) => time === 1)));
  drop("backward_times", all("backward_times", (time, i) => alike(time, input[i] + weight[i])));
  for (const name of ["forward_times", "mem_forward"])
    drop(name, all(name, (value) => value === 1));
  drop("mem_backward_input", all("mem_backward_input", (value) => value === 0));
  drop("mem_backward_weight", true); // the rest of the other two
  return values;
}

function inShort(list) {
  return list.every((value) => alike(value, list[0])) ? list.slice(0, 1) : list;
}

function greatestDivisor(a, b) {
  return b === 0 ? a : greatestDivisor(b, a % b);
}

/** The model's costs for another number of stages, divided or added up by the library. If neither number is a multiple of the
 * other, they are first divided into more stages. */
function valuesIn(stages) {
  const values = modelIn(stages);
  return layers > 0 ? inLayers(values, stages) : values;
}

/** How many layers each stage has: as many as the others, or one more for the first ones. */
function layersOf(stages) {
  return Array.from({ length: stages }, (_, stage) => Math.floor(layers / stages) + (stage < layers % stages ? 1 : 0));
}

/** The costs of stages that consist of whole layers. A stage costs what it would with an equal share of the layers, times what it has
 * of them. */
function inLayers(values, stages) {
  if (layers < stages)
    throw new Error(`${layers} layers cannot fill ${stages} stages; give ${stages} or more layers, or fewer stages`);
  if (values.overlapped_times)
    throw new Error("overlapped times are those of pairs of stages, and do not follow from layers; leave layers empty");
  const shares = layersOf(stages).map((count) => count * stages / layers);
  const plain = values.backward_times ? { forward_times: [1] } : { forward_times: [1], backward_input_times: [1], backward_weight_times: [1] };
  return Object.fromEntries(Object.entries({ ...plain, mem_forward: [1], ...values }).map(([name, list]) => [name, OF_LAYERS.test(name)
    ? inShort(shares.map((share, stage) => share * list[list.length === 1 ? 0 : stage])) : list]));
}

function modelIn(stages) {
  if (stages === model.stages)
    return model.values;
  const common = stages / greatestDivisor(stages, model.stages) * model.stages, made = [];
  if (common > SIZE_LIMITS.stages)
    throw new Error(`the costs of ${model.stages} stages cannot be converted to ${stages}; enter the times again`);
  try {
    made.push(configOf(engine, { ...problem, ...model, placement: "default", options: {} }));
    for (const count of [common, stages])
      if (count !== made.at(-1).stages)
        made.push(made.at(-1).withStages(count));
    const lists = valuesOf(made.at(-1), quantityNames), short = withoutDefaults(lists, model.values);
    return Object.fromEntries(Object.entries(short).map(([name, list]) => [name, inShort(list)]));
  } finally {
    for (const config of made)
      config.destroy();
  }
}

/** The problem that is ranked: the model as given, so that choosing a strategy does not change the table. */
function asGiven() {
  return { ...problem, stages: model.stages, values: layers < model.stages ? model.values : valuesIn(model.stages) };
}
