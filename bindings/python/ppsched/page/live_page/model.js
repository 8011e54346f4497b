// SPDX-License-Identifier: Apache-2.0
// The model whose costs were given: it stays the same when a strategy, or the knob of chunks, wants it in another number of stages.

let model = { devices: 8, stages: 8, values: {} }; // on the devices that there are; the problem is made of it
let givenModel = model;                            // on those that it was given for, of which the model is made

const OF_STAGES = /_times$|_share$|^mem_(?!limit|other)|_bytes$/; // quantities that say what stages cost

/** What is now given: other sizes are made of it. */
function takeModel({ devices, stages, values }) {
  model = givenModel = { devices, stages, values };
}

/** A list of another length than one, and not of stages, is of the devices that there are. */
function takeOther(name, list) {
  model = withValues(model, name, list);
  givenModel = list.length > 1 ? model : withValues(givenModel, name, list);
}

/** The same pipeline on other devices: each stage costs what it did, but for lists, whose first and last stay. It is made of what
 * was given, so that a knob that is turned there and back loses nothing. */
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

/** Without the lists that say no more than the library's defaults do. */
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
  drop("mem_backward_weight", true); // what the other two leave
  return values;
}

function inShort(list) {
  return list.every((value) => alike(value, list[0])) ? list.slice(0, 1) : list;
}

function greatestDivisor(a, b) {
  return b === 0 ? a : greatestDivisor(b, a % b);
}

/** The model's costs in other stages, as the library divides them and adds them up; by way of more stages where neither number
 * is a multiple of the other. */
function valuesIn(stages) {
  if (stages === model.stages)
    return model.values;
  const common = stages / greatestDivisor(stages, model.stages) * model.stages, made = [];
  if (common > SIZE_LIMITS.stages)
    throw new Error(`the costs of ${model.stages} stages cannot be told for ${stages}; give the times anew`);
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

/** The problem that is ranked: the model as it was given, so that the table stays when a strategy is chosen. */
function asGiven() {
  return { ...problem, stages: model.stages, values: model.values };
}
