// SPDX-License-Identifier: Apache-2.0
// The problem that the knobs describe, and its link. Only functions, as workers use them, too.

/** An object without inherited names, for keys from elsewhere. */
function namesOf() {
  return Object.create(null);
}

/** A problem with sizes and nothing else. */
function plainProblem() {
  return { strategy: "1f1b", devices: 8, stages: 8, microbatches: 16, iterations: 1, slices: 1, placement: "default", split_backward: 1,
           forward_only: 0, sender_waits: "never", weight_versions: 0, recompute: "", offload: "", order: "", beside: "", lesson: "", values: {},
           options: namesOf(), unknown: namesOf() };
}

const LINK_VERSION = 1;
const LONGEST_LINK = 200_000;
const SIZE_LIMITS = { devices: 65535, stages: 65535, microbatches: 1073741824, iterations: 1073741824, slices: 65535, weight_versions: 1024 };

/** The fragment of the link: all values that are not defaults, with the names of the command line. */
function linkOf(problem, quantities) {
  const plain = plainProblem(), words = [`v=${LINK_VERSION}`];
  const add = (key, text) => words.push(`${encodeURIComponent(key)}=${encodeURIComponent(text).replaceAll("%2C", ",").replaceAll("%3A", ":")}`);
  for (const key of ["strategy", "devices", "stages", "microbatches"])
    add(key, problem[key]);
  for (const key of ["iterations", "slices", "placement", "split_backward", "forward_only", "sender_waits", "weight_versions", "recompute", "offload",
                     "order", "beside", "lesson"])
    if (String(problem[key]) !== String(plain[key]))
      add(key, problem[key]);
  for (const name of quantities)
    if (problem.values[name]?.length > 0)
      add(name, problem.values[name].join(","));
  for (const [name, value] of Object.entries(problem.options))
    add(`option.${name}`, value);
  for (const [key, value] of Object.entries(problem.unknown))
    add(key, value);
  return words.join("&");
}

function wholeNumber(key, text, most = SIZE_LIMITS[key]) {
  const number = Number(text);
  if (!/^\d{1,10}$/.test(text) || number < 1 || number > most)
    throw new Error(`${key} is ${JSON.stringify(text.slice(0, 40))}; it must be an integer from 1 to ${most}`);
  return number;
}

/** A list of numbers, separated by commas, blanks or both. */
function numberList(key, text) {
  const words = text.trim().split(/[\s,]+/).filter(Boolean);
  for (const word of words)
    if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|^(inf|Infinity)$/i.test(word))
      throw new Error(`${key} has ${JSON.stringify(word.slice(0, 40))}; it must be numbers: one for all, or one for each`);
  return words.map((word) => (/^inf/i.test(word) ? Infinity : Number(word)));
}

const MOST_IN_PLACEMENT = 65535; // most stages, and most devices

/** The devices of a placement that lists one for each stage; null for a placement with a name. */
function devicesOf(placement) {
  return /^[\d\s,]+$/.test(placement) ? placement.split(/[\s,]+/).filter(Boolean).map(Number) : null;
}

const PLACEMENTS = ["default", "linear", "loop", "v", "bidirectional"];

/** The name of a placement, or its devices. */
function placementOf(text) {
  const devices = devicesOf(text);
  if (devices === null && !PLACEMENTS.includes(text))
    throw new Error(`placement is ${JSON.stringify(text.slice(0, 40))}; it must be ${PLACEMENTS.join(", ")}, or the device of each stage`);
  if (devices === null)
    return text;
  if (devices.length > MOST_IN_PLACEMENT || devices.some((device) => device > MOST_IN_PLACEMENT))
    throw new Error(`placement has ${devices.length} devices, up to ${Math.max(...devices.slice(0, 1000))}; at most ${MOST_IN_PLACEMENT} are read`);
  return devices.join(",");
}

/** The value of recompute or offload, as on the command line; empty for none. */
function keepingOf(key, text) {
  if (text !== "" && !/^chunks=[1-9]\d{0,8}$/.test(text) && !(key === "offload" && ["all", "limit"].includes(text)))
    throw new Error(`${key} is ${JSON.stringify(text.slice(0, 40))}; it must be chunks=N${key === "offload" ? ", all or limit" : ""}`);
  return text;
}

const MOST_BESIDE = 3;

/** The strategies beside the drawn one: NAME or NAME:V, V stages per device. */
function besideOf(text) {
  const words = text.split(",").filter(Boolean), wrong = words.find((word) => !/^[\w-]{1,64}(:[1-9]\d{0,4})?$/.test(word));
  if (wrong !== undefined)
    throw new Error(`beside has ${JSON.stringify(wrong.slice(0, 40))}; it must be strategies, with or without their stages per device, such as zbv,interleaved_1f1b:4`);
  if (words.length > MOST_BESIDE)
    throw new Error(`beside has ${words.length} strategies; it may have at most ${MOST_BESIDE}`);
  return words.join(",");
}

function flagOf(key, text) {
  if (text !== "0" && text !== "1")
    throw new Error(`${key} is ${JSON.stringify(text.slice(0, 40))}; it must be 0 or 1`);
  return Number(text);
}

function textOf(key, word) {
  try {
    return decodeURIComponent(word.replaceAll("+", " "));
  } catch {
    throw new Error(`${key} in the link has a wrong encoding`);
  }
}

function senderWaitsOf(text) {
  if (text !== "never" && text !== "like_kind")
    throw new Error(`sender_waits is ${JSON.stringify(text.slice(0, 40))}; it must be never or like_kind`);
  return text;
}

/** Reads a link into {problem, notes}. Unknown keys are kept, and named in the notes. */
function readLink(fragment, quantities) {
  if (fragment.length > LONGEST_LINK)
    throw new Error(`the link has ${fragment.length} characters; it may have at most ${LONGEST_LINK}`);
  const problem = plainProblem(), notes = [], seen = new Set();
  for (const part of fragment.split("&").filter(Boolean)) {
    const [name, ...rest] = part.split("="), key = textOf("a key", name), text = textOf(key.slice(0, 40), rest.join("="));
    if (seen.has(key))
      throw new Error(`the link has ${key.slice(0, 40)} twice`);
    seen.add(key);
    if (key === "v")
      notes.push(...(text === String(LINK_VERSION) ? [] : [`The link has version ${text.slice(0, 20)}, but this page reads links of version ${LINK_VERSION}. The drawing may be wrong.`]));
    else if (Object.hasOwn(SIZE_LIMITS, key))
      problem[key] = wholeNumber(key, text);
    else if (key === "strategy")
      problem[key] = text.slice(0, 64);
    else if (key === "placement")
      problem[key] = placementOf(text);
    else if (key === "recompute" || key === "offload")
      problem[key] = keepingOf(key, text);
    else if (key === "order")
      problem[key] = text;
    else if (key === "beside")
      problem[key] = besideOf(text);
    else if (key === "lesson")
      problem[key] = text.slice(0, 64);
    else if (key === "split_backward" || key === "forward_only")
      problem[key] = flagOf(key, text);
    else if (key === "sender_waits")
      problem[key] = senderWaitsOf(text);
    else if (quantities.includes(key))
      problem.values[key] = numberList(key, text);
    else if (key.startsWith("option."))
      problem.options[key.slice(7)] = text;
    else
      problem.unknown[key] = text;
  }
  if (problem.recompute !== "" && problem.offload !== "")
    throw new Error("a schedule recomputes or offloads, not both");
  if (!seen.has("stages"))
    problem.stages = problem.devices;
  const unknown = Object.keys(problem.unknown);
  if (unknown.length > 0)
    notes.push(`This page cannot draw some values of the link, but keeps them in the link: ${unknown.join(", ").slice(0, 200)}.`);
  return { problem, notes };
}

/** Makes the library's config of a problem; the caller destroys it. */
function configOf(pp, problem) {
  const config = pp.config(problem.devices, problem.stages, problem.microbatches);
  try {
    config.iterations = problem.iterations;
    config.slices = problem.slices;
    const devices = /^\d/.test(problem.placement) ? problem.placement.split(",").map(Number) : null;
    if (devices !== null)
      config.place("map", devices);
    else if (problem.placement !== "default")
      config.place(problem.placement);
    config.splitBackward = Boolean(problem.split_backward);
    config.forwardOnly = Boolean(problem.forward_only);
    config.senderWaits = problem.sender_waits ?? "never";
    if (problem.weight_versions)
      config.weightVersions = problem.weight_versions;
    for (const [name, values] of Object.entries(problem.values))
      config.set(name, values);
    for (const [name, value] of Object.entries(problem.options))
      config.setOption(name, value);
    return config;
  } catch (error) {
    config.destroy();
    throw error;
  }
}

/** The quantities for which a config has lists. */
function valuesOf(config, quantities) {
  return Object.fromEntries(quantities.map((name) => [name, config.get(name)]).filter(([, list]) => list.length > 0));
}

/** I or W of each stage if it is not given: its share of B. */
function partOfBackward(values, name) {
  const share = values.backward_input_share?.[0] ?? 0.5, part = name === "backward_input_times" ? share : 1 - share;
  return (values.backward_times ?? [2]).map((time) => part * time);
}

/** The problem with another value of a quantity, or its default. I and W are given together; B is then their sum. */
function withValues(problem, name, list) {
  const values = { ...problem.values };
  const partner = { backward_input_times: "backward_weight_times", backward_weight_times: "backward_input_times" }[name];
  if (list.length > 0)
    values[name] = list;
  else
    delete values[name];
  if (partner === undefined || (list.length === 0 && !values[partner]))
    return { ...problem, values };
  values[partner] ??= partOfBackward(values, partner);
  values[name] ??= [1];
  for (const other of ["backward_times", "backward_input_share"])
    delete values[other];
  return { ...problem, values };
}

/** The schedule with the problem's recompute or offload. If this makes another schedule, the given one is released. */
function keepLess(schedule, config, { recompute, offload }) {
  const chunks = Number(/^chunks=(\d+)$/.exec(recompute || offload)?.[1] ?? 0);
  if (!recompute && !offload)
    return schedule;
  try {
    return recompute ? schedule.recompute({ chunks }) : schedule.offload(config, { chunks, untilLimit: offload === "limit" });
  } finally {
    schedule.destroy();
  }
}

/** An upper bound on the number of ops of a problem. */
function opsOfProblem({ stages, microbatches, iterations, slices }) {
  return 3 * stages * microbatches * iterations * slices;
}

/** Converts a list to `count` values: the first and the last stay, those between are stretched. */
function stretched(list, count) {
  const inner = list.length - 2;
  return Array.from({ length: count }, (_, i) => {
    if (i === 0 || inner < 1)
      return i > 0 && i === count - 1 ? list.at(-1) : list[0];
    return i === count - 1 ? list.at(-1) : list[1 + Math.floor((i - 1) * inner / (count - 2))];
  });
}
