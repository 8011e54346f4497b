// SPDX-License-Identifier: Apache-2.0
// ppsched for JavaScript, on ppsched.wasm: browsers, web workers, node.
//
//   const pp = await load(bytesOrUrl);
//   const config = pp.config(4, 4, 8).set("forward_times", [1, 1.2, 1.2, 1.4]).set("p2p_time", 0.1);
//   const timeline = config.generate("zb_h1").evaluate(config);
//   timeline.metrics.makespan;
//   for (const { kind, microbatch, stage } of timeline.schedule.ops(3)) ...     // "F", 0, 3
//
// Enumerators are words, in objects and arguments; what there is not is null.
// What a handle hands out as Records is the library's own memory, not a copy: it holds as long as its handle is not
// destroyed. Handles that are forgotten are freed when the collector finds them; destroy() does it at once.
import { FUNCTIONS, Format, JobDimension, Kind, NONE, Objective, Placement, Quantity, Runtime, STRUCTS, SenderWaits, Status, ABI_VERSION,
  MemoryCause, Precision, TrainingFlag } from "./abi.mjs";

export { Format, Kind, NONE, Objective, Placement, Quantity, Runtime, SenderWaits, Status, MemoryCause };

/** What the library refuses, in its own words; device, stage, microbatch and position are null where they do not apply. */
export class PpschedError extends Error {
  constructor(status, record) {
    super(record?.message || `status ${status}`);
    this.name = "PpschedError";
    this.status = status;
    for (const field of ["device", "stage", "microbatch", "position"])
      this[field] = record?.[field] ?? null;
  }
}

const SIZES = { u8: 1, u16: 2, u32: 4, i32: 4, u64: 8, i64: 8, f64: 8, pointer: 4, string: 4 };
const decoder = new TextDecoder(), encoder = new TextEncoder();

/** How many letters must be added, left out or exchanged to make one word of another. */
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1)
    row = row.reduce((next, _, j) => [...next, j === 0 ? i : Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1))], []);
  return row[b.length];
}

/** The name that is near a given one; null if none is. */
function nearName(given, names) {
  const word = String(given).slice(0, 64).toLowerCase();
  const [[far, nearest]] = names.map((name) => [distance(word, name), name]).sort(([a], [b]) => a - b);
  return far <= Math.max(1, Math.floor(word.length / 4)) ? nearest : null;
}

/** The name that was meant, where one is near; else all. */
function namesNear(given, names) {
  const nearest = nearName(given, names);
  return nearest === null ? `there are ${names.join(", ")}` : `did you mean ${nearest}?`;
}

/** An enumerator's value, from its name in any case or from the value itself. */
function valueOf(enumeration, what, given) {
  const value = typeof given === "string" ? enumeration[given.toUpperCase()] : given;
  if (!Object.values(enumeration).includes(value))
    throw new TypeError(`no ${what} is called ${JSON.stringify(given)}; ${namesNear(given, Object.keys(enumeration).map((name) => name.toLowerCase()))}`);
  return value;
}

/** A value for a function of the module. */
function argument(room, name, type, value) {
  if (value === null || value === undefined)
    return type === "i64" || type === "u64" ? 0n : 0;
  if (typeof value === "string" && (type === "string" || type === "pointer"))
    return room.text(value);
  const number = numberOf(type, `an argument of ${name}`, value);
  return type === "i64" || type === "u64" ? BigInt(number) : number;
}

const LEAST = { i32: -(2 ** 31), i64: -(2n ** 63n) };
const MOST = { u8: 2 ** 8 - 1, u16: 2 ** 16 - 1, u32: 2 ** 32 - 1, i32: 2 ** 31 - 1, u64: 2n ** 64n - 1n, i64: 2n ** 63n - 1n,
               pointer: 2 ** 32 - 1, string: 2 ** 32 - 1 };

/** A value as messages have it: short, on one line. */
function shown(value) {
  const text = typeof value === "string" ? JSON.stringify(value) : Array.isArray(value) ? `[${value.slice(0, 4).map(shown)}${value.length > 4 ? ", ..." : ""}]`
    : typeof value === "object" && value !== null ? "an object" : String(value);
  return text.length > 80 ? `${text.slice(0, 80)}...` : text;
}

/** A number as a type has it. What does not fit is refused: the module would take what is left of it. */
function numberOf(type, what, value) {
  if (typeof value !== "number" && typeof value !== "bigint")
    throw new TypeError(`${what} is ${shown(value)}; it must be a number`);
  if (!(type in MOST))
    return Number(value);
  const least = LEAST[type] ?? 0, most = MOST[type];
  if ((typeof value === "number" && !Number.isInteger(value)) || value < least || value > most)
    throw new PpschedError(Status.ERROR_RANGE, { message: `${what} is ${shown(value)}; it must be a whole number from ${least} to ${most}` });
  return value;
}

/** A list of the caller's: an array, or one of numbers in memory. A text is none, though it has letters one by one. */
function listOf(what, given) {
  if (Array.isArray(given) || (ArrayBuffer.isView(given) && !(given instanceof DataView)))
    return given;
  if (typeof given === "object" && given !== null && typeof given[Symbol.iterator] === "function")
    return [...given];
  throw new TypeError(`${what} is ${shown(given)}; it must be a list`);
}

/** The word of an enumerator: in small letters, but kinds of ops as in their tokens. */
function nameOf(enumeration, value) {
  const name = Object.keys(enumeration).find((word) => enumeration[word] === value) ?? null;
  return enumeration === Kind ? name : name?.toLowerCase() ?? null;
}

const seenFields = {}; // of each struct, what of it is handed out

/** The module's memory, with views that are made anew when it has grown. */
class Memory {
  constructor(memory) {
    this.memory = memory;
    this.buffer = null;
  }

  get view() {
    this.refresh();
    return this.data;
  }

  get bytes() {
    this.refresh();
    return this.octets;
  }

  refresh() {
    if (this.buffer !== this.memory.buffer) {
      this.buffer = this.memory.buffer;
      this.data = new DataView(this.buffer);
      this.octets = new Uint8Array(this.buffer);
    }
  }

  text(pointer, length = this.bytes.indexOf(0, pointer) - pointer) {
    return pointer === 0 ? null : decoder.decode(this.bytes.subarray(pointer, pointer + length));
  }

  read(type, at) {
    const view = this.view;
    switch (type) {
      case "f64": return view.getFloat64(at, true);
      case "i32": return view.getInt32(at, true);
      case "u8": return view.getUint8(at);
      case "u16": return view.getUint16(at, true);
      case "u64": return Number(view.getBigUint64(at, true));
      case "i64": return Number(view.getBigInt64(at, true));
      case "string": return this.text(view.getUint32(at, true));
      default: return view.getUint32(at, true);
    }
  }

  write(type, at, value) {
    const view = this.view;
    switch (type) {
      case "f64": view.setFloat64(at, value, true); break;
      case "i32": view.setInt32(at, value, true); break;
      case "u8": view.setUint8(at, value); break;
      case "u16": view.setUint16(at, value, true); break;
      case "u64": view.setBigUint64(at, BigInt(value), true); break;
      case "i64": view.setBigInt64(at, BigInt(value), true); break;
      default: view.setUint32(at, value, true);
    }
  }

  field(struct, name, at) {
    const [type, offset, count, enumeration] = STRUCTS[struct].fields[name];
    if (type === "text")
      return this.text(at + offset);
    if (type in STRUCTS)
      return this.struct(type, at + offset);
    if (count === 1) {
      const value = this.read(type, at + offset);
      return enumeration !== undefined ? nameOf(enumeration, value) ?? value : type === "u32" && value === NONE ? null : value;
    }
    return Array.from({ length: count }, (_, i) => this.read(type, at + offset + i * SIZES[type]));
  }

  struct(name, at) {
    const row = {};
    for (const field of seenFields[name] ??= Object.keys(STRUCTS[name].fields).filter((word) => word !== "size" && !/reserved/.test(word)))
      row[field] = this.field(name, field, at);
    return row;
  }
}

/** Plain records in the library's memory, such as the ops of a queue. */
export class Records {
  constructor(engine, owner, struct, pointer, length) {
    Object.assign(this, { engine, owner, struct, pointer, length });
    this.stride = STRUCTS[struct].size;
  }

  /** One record as an object. */
  at(index) {
    this.place(index);
    return this.engine.memory.struct(this.struct, this.pointer + index * this.stride);
  }

  /** One field of a record, without an object. */
  get(index, field) {
    this.place(index);
    return this.engine.memory.field(this.struct, field, this.pointer + index * this.stride);
  }

  /** All of them as numbers of one type: for ops Uint8Array, for spans Float64Array (start, end, start, ...). It is a view of
   * the memory as it is now, and must be asked for again after another call. */
  view(Type = Uint8Array) {
    this.owner.alive();
    return new Type(this.engine.memory.memory.buffer, this.pointer, this.length * this.stride / Type.BYTES_PER_ELEMENT);
  }

  place(index) {
    this.owner.alive();
    if (!(Number.isInteger(index) && index >= 0 && index < this.length))
      throw new RangeError(`no record ${index} in ${this.length}`);
  }

  * [Symbol.iterator]() {
    for (let i = 0; i < this.length; i++)
      yield this.at(i);
  }
}

/** Something of the library's that is freed once. */
class Handle {
  constructor(engine, pointer, free) {
    this.engine = engine;
    this.pointer = pointer;
    this.free = () => engine.exports[free](pointer);
    engine.forgotten.register(this, this.free, this);
  }

  alive() {
    if (this.pointer === 0)
      throw new TypeError(`this ${this.constructor.name} has been destroyed`);
    return this.pointer;
  }

  destroy() {
    if (this.pointer === 0)
      return;
    this.engine.forgotten.unregister(this);
    this.engine.listeners?.delete(this.pointer);
    this.pointer = 0;
    this.free();
  }

  call(name, ...values) {
    return this.engine.call(name, this.alive(), ...values);
  }

  /** A call that fills a list of records or numbers: how many there are, then they. */
  list(type, name, ...values) {
    return this.engine.list(type, name, this.alive(), ...values);
  }

  struct(type, name, ...values) {
    return this.engine.struct(type, name, this.alive(), ...values);
  }

  borrowed(struct, name, ...values) {
    return this.engine.scratch((room) => {
      const count = room.take(4), pointer = this.call(name, ...values, count);
      return new Records(this.engine, this, struct, pointer, pointer === 0 ? 0 : this.engine.memory.read("u32", count));
    });
  }
}

/** A problem. */
export class Config extends Handle {
  constructor(engine, pointer) {
    super(engine, pointer, "ppsched_config_destroy");
  }

  get devices() { return this.call("ppsched_config_devices"); }
  get stages() { return this.call("ppsched_config_stages"); }
  get microbatches() { return this.call("ppsched_config_microbatches"); }
  get iterations() { return this.call("ppsched_config_iterations"); }
  set iterations(count) { this.call("ppsched_config_set_iterations", count); }
  get slices() { return this.call("ppsched_config_slices"); }
  set slices(count) { this.call("ppsched_config_set_slices", count); }
  get forwardOnly() { return this.call("ppsched_config_forward_only") !== 0; }
  set forwardOnly(isForwardOnly) { this.call("ppsched_config_set_forward_only", isForwardOnly ? 1 : 0); }
  set weightVersions(count) { this.call("ppsched_config_set_weight_versions", count); }
  get splitBackward() { return this.call("ppsched_config_split_backward") !== 0; }
  set splitBackward(isAllowed) { this.call("ppsched_config_set_split_backward", isAllowed ? 1 : 0); }
  get senderWaits() { return nameOf(SenderWaits, this.call("ppsched_config_sender_waits")); }
  set senderWaits(waits) { this.call("ppsched_config_set_sender_waits", valueOf(SenderWaits, "sender_waits", waits)); }
  get placement() { return nameOf(Placement, this.call("ppsched_config_placement")); }

  /** A placement by name; "map" with the device of each stage. */
  place(placement, map = []) {
    const devices = listOf("the map of a placement", map);
    this.engine.scratch((room) => this.call("ppsched_config_set_placement", valueOf(Placement, "placement", placement),
      room.list("u32", "a device of the map", devices), devices.length));
    return this;
  }

  /** Sets a quantity, such as "forward_times", to a number or a list of them; null takes it back. */
  set(quantity, values) {
    const number = valueOf(Quantity, "quantity", quantity), name = nameOf(Quantity, number);
    const list = values === null ? [] : typeof values === "number" ? [values] : listOf(name, values);
    this.engine.scratch((room) => this.call("ppsched_config_set_values", number, room.list("f64", `a value of ${name}`, list), list.length));
    return this;
  }

  get(quantity) {
    return this.engine.scratch((room) => {
      const count = room.take(4), pointer = this.call("ppsched_config_values", valueOf(Quantity, "quantity", quantity), count);
      return this.engine.numbers("f64", pointer, pointer === 0 ? 0 : this.engine.memory.read("u32", count));
    });
  }

  /** Sets an option of the strategy; null takes it back. */
  setOption(name, value) {
    this.call("ppsched_config_set_option", name, value === null ? null : String(value));
    return this;
  }

  /** Calls tell({share, best}) now and then while a search runs: the share of its work that is done, and the objective of the
   * best schedule so far, infinite for none. Where it returns false the search is stopped, and throws. null: nothing is told. */
  onProgress(tell) {
    this.engine.listen(this, tell);
    return this;
  }

  copy() {
    return new Config(this.engine, this.engine.made("ppsched_config_copy", this.alive()));
  }

  /** The same model in another number of stages: costs are divided, or added up. */
  withStages(stages) {
    return new Config(this.engine, this.engine.made("ppsched_config_with_stages", this.alive(), stages, null, null));
  }

  /** Throws where the lists contradict each other. */
  validate() { this.call("ppsched_config_validate"); }

  /** Throws where the strategy cannot serve the problem. */
  fits(strategy) { this.engine.call("ppsched_strategy_fits", strategy, this.alive()); }

  generate(strategy) {
    return new Schedule(this.engine, this.engine.made("ppsched_schedule_generate", this.alive(), strategy));
  }

  builder() {
    return new Builder(this.engine, this.engine.made("ppsched_builder_create", this.alive()));
  }

  bound(objective = "makespan") {
    return this.struct("Bound", "ppsched_config_find_bound", valueOf(Objective, "objective", objective));
  }

  /** All candidates; options are those of ppsched_plan_options: numbers, texts, lists, and groups as objects, such as
   * slice: { slices: [1, 2], slice_time: 0.1 }. */
  plan(options = {}) {
    return this.engine.scratch((room) =>
      new Plan(this.engine, this.engine.made("ppsched_plan_create", this.alive(), room.planOptions(options))));
  }
}

/** Collects ops: those of one device after another, or in turns. */
export class Builder extends Handle {
  constructor(engine, pointer) {
    super(engine, pointer, "ppsched_builder_destroy");
  }

  /** Appends ops, objects like those of Schedule.ops: kind, stage, microbatch, and where need be slice and flags. */
  append(device, ops) {
    const list = listOf("the ops of a device", ops);
    this.engine.scratch((room) => this.call("ppsched_builder_append", device, room.records("Op", list), list.length));
    return this;
  }

  name(text) {
    this.call("ppsched_builder_set_name", text);
    return this;
  }

  flushes(isFlushed) {
    this.call("ppsched_builder_set_flushes", isFlushed ? 1 : 0);
    return this;
  }

  weightVersions(count) {
    this.call("ppsched_builder_set_weight_versions", count);
    return this;
  }

  finish() {
    return new Schedule(this.engine, this.engine.made("ppsched_builder_finish", this.alive()));
  }
}

/** The order of ops of each device. */
export class Schedule extends Handle {
  constructor(engine, pointer) {
    super(engine, pointer, "ppsched_schedule_release");
  }

  get name() { return this.call("ppsched_schedule_name"); }
  get devices() { return this.call("ppsched_schedule_devices"); }
  get stages() { return this.call("ppsched_schedule_stages"); }
  get microbatches() { return this.call("ppsched_schedule_microbatches"); }
  get iterations() { return this.call("ppsched_schedule_iterations"); }
  get slices() { return this.call("ppsched_schedule_slices"); }
  get placement() { return nameOf(Placement, this.call("ppsched_schedule_placement")); }
  get flushes() { return this.call("ppsched_schedule_flushes") !== 0; }
  get weightVersions() { return this.call("ppsched_schedule_weight_versions"); }
  get opCount() { return this.call("ppsched_schedule_op_count"); }

  deviceOf(stage, microbatch = 0) {
    const device = this.call("ppsched_schedule_device_of", stage, microbatch);
    return device === NONE ? null : device;
  }

  /** A device's ops, in their order, as the library has them. */
  ops(device) {
    const queue = this.call("ppsched_schedule_queue", device);
    return this.engine.scratch((room) => {
      const count = room.take(4), pointer = queue === 0 ? 0 : this.engine.call("ppsched_queue_ops", queue, count);
      return new Records(this.engine, this, "Op", pointer, pointer === 0 ? 0 : this.engine.memory.read("u32", count));
    });
  }

  /** Times it with a config of as many devices and stages. */
  evaluate(config, { earliestOnly = false } = {}) {
    return new Timeline(this.engine, this, this.engine.made("ppsched_schedule_evaluate", this.alive(), config.alive(),
      earliestOnly ? 1 : 0));
  }

  /** The schedule with the passes of so many chunks of each device recomputed; 0 for all. */
  recompute({ chunks = 0 } = {}) {
    return this.engine.scratch((room) =>
      new Schedule(this.engine, this.engine.made("ppsched_schedule_recompute", this.alive(), room.struct("RecomputeOptions", { chunks }))));
  }

  /** The schedule with the passes of so many chunks of each device offloaded, 0 for all; untilLimit: as few as hold the limit;
   * share: those alone that live longest, up to that share; prefetchDistance: so many ops between a RELOAD and its backward. */
  offload(config, { chunks = 0, untilLimit = false, share = 1, prefetchDistance = 0 } = {}) {
    return this.engine.scratch((room) =>
      new Schedule(this.engine, this.engine.made("ppsched_schedule_offload", this.alive(), config.alive(),
        room.struct("OffloadOptions", { chunks, until_limit: untilLimit ? 1 : 0, share, prefetch_distance: prefetchDistance }))));
  }

  /** All that is wrong, in words; empty where nothing is. */
  findings(most = 64) {
    return this.engine.findings(this, most);
  }

  /** As text: "csv", "megatron", and with a timeline "json" and "chrome_trace". */
  export(format, timeline = null) {
    return this.engine.text("ppsched_schedule_export_to_buffer", this.alive(), timeline === null ? 0 : timeline.alive(),
      valueOf(Format, "format", format), 0);
  }

  /** What to type to run it. */
  launchArguments(runtime) {
    return this.engine.text("ppsched_schedule_write_launch_arguments", this.alive(), valueOf(Runtime, "runtime", runtime), 0);
  }
}

/** When each op runs, and what that costs. */
export class Timeline extends Handle {
  constructor(engine, schedule, pointer) {
    super(engine, pointer, "ppsched_timeline_destroy");
    this.schedule = schedule;
    this.mostPoints = 0; // of a device's memory, as far as asked for
  }

  get metrics() { return this.struct("Metrics", "ppsched_timeline_get_metrics"); }
  deviceMetrics(device) { return this.struct("DeviceMetrics", "ppsched_timeline_get_device_metrics", device); }
  idle(device) { return this.struct("Idle", "ppsched_timeline_get_idle", device); }

  /** Start and end of each op of a device. */
  spans(device) { return this.borrowed("Span", "ppsched_timeline_spans", device); }

  /** Memory over time: {time, memory} of each step. */
  memory(device) { return this.list("MemoryPoint", "ppsched_timeline_get_memory", device); }

  /** The same as numbers: time, memory, time, memory, ... */
  memoryCurve(device) {
    return this.engine.filled(16, "ppsched_timeline_get_memory", [this.alive(), device], (out, count) => {
      this.mostPoints = Math.max(this.mostPoints, count);
      return new Float64Array(this.engine.memory.memory.buffer, out, 2 * count).slice();
    }, this.mostPoints);
  }

  peakCauses(device) { return this.list("f64", "ppsched_timeline_get_peak_causes", device); }
  deviceSlack() { return this.list("f64", "ppsched_timeline_get_device_slack"); }
  criticalPath() { return this.list("CriticalOp", "ppsched_timeline_get_critical_path"); }

  export(format) { return this.schedule.export(format, this); }
}

/** The candidates for a problem. */
export class Plan extends Handle {
  constructor(engine, pointer) {
    super(engine, pointer, "ppsched_plan_destroy");
  }

  get length() { return this.call("ppsched_plan_count"); }

  /** Evaluates one candidate, so that a caller may tell how far it is. */
  evaluate(candidate) { this.call("ppsched_plan_evaluate", candidate); }

  /** Evaluates the rest, and ranks all. */
  run() {
    this.call("ppsched_plan_run");
    return this;
  }

  candidate(number) {
    const row = this.struct("Candidate", "ppsched_plan_get_candidate", number);
    return { ...row, number };
  }

  /** All candidates by rank, once it has run. */
  ranked() {
    return Array.from({ length: this.length }, (_, rank) => this.candidate(this.call("ppsched_plan_candidate_at_rank", rank)));
  }

  config(candidate) {
    return new Config(this.engine, this.engine.made("ppsched_plan_create_config", this.alive(), candidate));
  }

  leastLimit() {
    return this.engine.scratch((room) => {
      const limit = room.take(8), candidate = room.take(4);
      this.engine.call("ppsched_plan_find_least_limit", limit, candidate, this.alive());
      return { limit: this.engine.memory.read("f64", limit), candidate: this.engine.memory.read("u32", candidate) };
    });
  }
}

/** The layouts of a training on a number of devices. */
export class Job extends Handle {
  constructor(engine, pointer, asked) {
    super(engine, pointer, "ppsched_job_destroy");
    this.asked = asked; // {model, training, device}
  }

  get length() { return this.call("ppsched_job_layout_count"); }

  /** A layout by its number, with its bounds. */
  layout(number) { return { ...this.struct("JobLayout", "ppsched_job_get_layout", number), number }; }

  /** Prices a layout: what was found, with the step and the pipeline, which are null where nothing fits. above: seconds; what
   * cannot be faster is "slower". */
  price(number, above = Infinity) {
    const { engine } = this;
    return engine.scratch((room) => {
      const out = room.take(4), found = room.struct("JobFound", {});
      engine.call("ppsched_job_evaluate_layout", out, found, this.alive(), number, above);
      const price = engine.memory.read("pointer", out), row = { ...engine.memory.struct("JobFound", found), step: null, pipeline: null };
      if (price === 0)
        return row;
      try {
        const { strategy, split, recompute, recompute_layers, devices, chunks, microbatches, memory_limit } = engine.struct("Pipeline", "ppsched_price_get_pipeline", price);
        const memory = Array.from({ length: devices }, (_, device) => engine.struct("DevicePrice", "ppsched_price_get_device", price, device));
        const beside = memory.reduce((sum, { other }) => sum + other, 0) + Math.max(...memory.map(({ gathered }) => gathered)); // what the schedule's own memory is without
        return { ...row, step: engine.struct("StepPrice", "ppsched_price_get_step", price),
                 pipeline: { strategy, recompute, recompute_layers, devices, chunks, microbatches, mem_limit: memory_limit > 0 ? memory_limit - beside : null, split: engine.numbers("u32", split, devices * chunks) } };
      } finally {
        engine.exports.ppsched_price_destroy(price);
      }
    });
  }

  /** The problem of a layout's pipeline, in seconds and bytes; null where nothing fits. Its strategy is that of the price, which is
   * computed unless it is given. */
  config(number, { pipeline } = this.price(number)) {
    const { engine, asked: { model: text, training, device } } = this, made = [];
    if (pipeline === null)
      return null;
    const keep = (free, pointer) => { made.push(() => engine.exports[free](pointer)); return pointer; };
    return engine.scratch((room) => {
      try {
        const { tensor_parallel, context_parallel, expert_parallel, expert_tensor_parallel, data_parallel, micro_batch_size, sharding, rank_order } = this.layout(number);
        const { devices, chunks, microbatches } = pipeline, description = keep("ppsched_description_release", engine.described(room, text));
        const model = keep("ppsched_model_destroy", engine.made("ppsched_model_create", description, room.struct("Training", { ...training, tensor_parallel,
          context_parallel, expert_parallel, expert_tensor_parallel, data_parallel, micro_batch_size, sharding }), engine.call("ppsched_accelerator_at", device), 0));
        const { scale_slowdown: slowdown } = engine.accelerators()[device], rows = engine.call("ppsched_model_row_count", model);
        const scale = 1 + slowdown * Math.log2(tensor_parallel * context_parallel * data_parallel * devices);
        const factors = room.list("f64", "a factor", Array(3 * rows).fill(scale));
        const layers = keep("ppsched_layers_release", engine.made("ppsched_layers_from_model", model, room.struct("Calibration", { rows, factors })));
        const split = room.struct("Split", { stages: devices * chunks, layers: room.list("u32", "a stage's layers", pipeline.split),
                                             recomputes: room.list("u8", "a kind", engine.recomputesOf(layers, pipeline)) });
        const config = engine.config(devices, devices * chunks, microbatches);
        made.push(() => config.destroy());
        config.set("mem_limit", pipeline.mem_limit);
        engine.putLinks(config, room, model, room.struct("Pipeline", { devices, rank_order }), scale);
        return new Config(engine, engine.made("ppsched_config_from_layers", config.alive(), layers, split));
      } finally {
        for (const free of made.reverse())
          free();
      }
    });
  }

  /** Prices as many as the best ranks need. */
  run() {
    this.call("ppsched_job_run");
    return this;
  }

  /** The best layouts, once it has run. */
  ranked() {
    return Array.from({ length: this.call("ppsched_job_best_count") }, (_, rank) => this.layout(this.call("ppsched_job_layout_at_rank", rank)));
  }
}

/** Lists of a plan's options, with their numbers of values, and its groups with the structs that they are. */
const PLAN_LISTS = { chunks: ["u32", "chunk_count"], group_sizes: ["u32", "group_size_count"], microbatches: ["u32", "microbatch_count"],
                     memory_limits: ["f64", "memory_limit_count"] };
const SLICE_LISTS = { slices: ["u32", "slice_count"] };
const PLAN_GROUPS = { lower: "LowerOptions", slice: "SliceOptions", ranking: "RankingOptions" };

/** Room for arguments, until a call is over. */
class Room {
  constructor(engine) {
    this.engine = engine;
    this.taken = [];
  }

  take(size) {
    const pointer = this.engine.exports.malloc(Math.max(1, size)) >>> 0;
    if (pointer === 0)
      throw new PpschedError(Status.ERROR_NO_MEMORY, { message: "no memory" });
    this.taken.push(pointer);
    this.engine.memory.bytes.fill(0, pointer, pointer + size);
    return pointer;
  }

  text(text) {
    const bytes = encoder.encode(text), pointer = this.take(bytes.length + 1);
    this.engine.memory.bytes.set(bytes, pointer);
    return pointer;
  }

  /** Of numbers; what: each of them, in messages. */
  list(type, what, values) {
    const pointer = values.length === 0 ? 0 : this.take(values.length * SIZES[type]);
    for (const [i, value] of values.entries())
      this.engine.memory.write(type, pointer + i * SIZES[type], numberOf(type, what, value));
    return pointer;
  }

  struct(type, values, at = this.take(STRUCTS[type].size)) {
    const { fields, size } = STRUCTS[type];
    if ("size" in fields)
      this.engine.memory.write("u32", at, size);
    for (const [name, value] of Object.entries(values)) {
      if (!(name in fields))
        throw new TypeError(`no field ${name} in ${type}`);
      const [kind, offset, , enumeration] = fields[name];
      if (value !== null && value !== undefined)
        this.engine.memory.write(kind, at + offset,
          numberOf(kind, name, enumeration !== undefined && typeof value === "string" ? valueOf(enumeration, name, value) : value));
    }
    return at;
  }

  records(type, rows) {
    const { fields, size } = STRUCTS[type], pointer = this.take(rows.length * size);
    for (const [i, row] of rows.entries()) {
      if (typeof row !== "object" || row === null)
        throw new TypeError(`${shown(row)} is no object with the fields ${Object.keys(fields).join(", ")}`);
      this.struct(type, Object.fromEntries(Object.entries(row).filter(([name]) => name in fields)
        .map(([name, value]) => [name, value === null && fields[name][0] === "u32" ? NONE : value])), pointer + i * size);
    }
    return pointer;
  }

  /** Options with their lists as pointers, each with its count. */
  withLists(options, lists) {
    const found = { ...options };
    for (const [name, [type, count]] of Object.entries(lists)) {
      const list = listOf(name, options[name] ?? []);
      Object.assign(found, { [name]: this.list(type, `one of ${name}`, list), [count]: list.length });
    }
    return found;
  }

  /** {chunks: [1, 2], strategies: ["1f1b"], objective: "span", slice: {slices: [1, 2]}, ...} */
  planOptions({ objective = "makespan", strategies = [], ...others }) {
    const options = { ...this.withLists(others, PLAN_LISTS), objective: valueOf(Objective, "objective", objective) };
    const names = [...listOf("strategies", strategies)].map((name) => {
      if (typeof name !== "string")
        throw new TypeError(`a strategy is ${shown(name)}; it must be a name`);
      return this.text(name);
    });
    Object.assign(options, { strategies: this.list("u32", "a strategy", names), strategy_count: names.length });
    for (const [name, struct] of Object.entries(PLAN_GROUPS)) {
      const group = others[name] ?? null;
      if (group !== null && (typeof group !== "object" || Array.isArray(group)))
        throw new TypeError(`${name} is ${shown(group)}; it must be an object with fields of ${struct}`);
      options[name] = group && this.struct(struct, this.withLists(group, name === "slice" ? SLICE_LISTS : {}));
    }
    return this.struct("PlanOptions", options);
  }

  free() {
    for (const pointer of this.taken)
      this.engine.exports.free(pointer);
  }
}

// A module that hands its one import out again: what JavaScript has to wrap a function in before a table takes it. The library's
// own module so needs no import to call back.
const WRAPPER = new Uint8Array([
  0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00,             // the start of any module
  0x01, 0x07, 0x01, 0x60, 0x02, 0x7f, 0x7f, 0x01, 0x7f,       // type 0: (i32, i32) -> i32
  0x02, 0x07, 0x01, 0x01, 0x65, 0x01, 0x66, 0x00, 0x00,       // import "e" "f", of type 0
  0x07, 0x05, 0x01, 0x01, 0x66, 0x00, 0x00,                   // export "f"
]);

/** The library. */
export class Engine {
  constructor(instance) {
    this.exports = instance.exports;
    this.exports._initialize?.();
    this.memory = new Memory(this.exports.memory);
    this.forgotten = new FinalizationRegistry((free) => free());
    if (this.exports.ppsched_abi_version() !== ABI_VERSION)
      throw new Error("ppsched.wasm and abi.mjs are of different versions");
  }

  get version() { return this.call("ppsched_version_text"); }

  /** Has a config call tell; the user's pointer of such a call is the config's own. */
  listen(config, tell) {
    this.listeners ??= new Map();
    if (tell === null)
      this.listeners.delete(config.alive());
    else
      this.listeners.set(config.alive(), tell);
    this.hearer ??= this.placed((user, progress) => this.hear(user >>> 0, progress >>> 0));
    config.call("ppsched_config_set_progress", tell === null ? 0 : this.hearer, config.pointer);
  }

  hear(user, progress) {
    const { share, best } = this.memory.struct("Progress", progress);
    return this.listeners.get(user)?.({ share, best }) === false ? 1 : 0;
  }

  /** The number of a function in the module's table, where it calls it as one of C: (pointer, pointer) -> int. */
  placed(hear) {
    const { f } = new WebAssembly.Instance(new WebAssembly.Module(WRAPPER), { e: { f: hear } }).exports;
    const table = this.exports.__indirect_function_table, number = table.grow(1);
    table.set(number, f);
    return number;
  }

  scratch(use) {
    const room = new Room(this);
    try {
      return use(room);
    } finally {
      room.free();
    }
  }

  /** Calls a function by its name. Texts are copied in; a function that returns a status and takes an error record last gets
   * one, and throws where the status is not OK. */
  call(name, ...values) {
    const [result, ...types] = FUNCTIONS[name];
    return this.scratch((room) => {
      const hasError = values.length === types.length - 1, record = hasError ? room.take(STRUCTS.Error.size) : 0;
      const given = (hasError ? [...values, record] : values).map((value, i) => argument(room, name, types[i], value));
      const answer = this.exports[name](...given);
      if (hasError && answer !== Status.OK)
        throw new PpschedError(answer, this.memory.struct("Error", record));
      return result === "string" ? this.memory.text(answer >>> 0) : typeof answer === "bigint" ? Number(answer)
        : result === "u32" || result === "pointer" ? answer >>> 0 : answer;
    });
  }

  /** What a call makes that gives it out first. */
  made(name, ...values) {
    return this.scratch((room) => {
      const out = room.take(4);
      this.call(name, out, ...values);
      return this.memory.read("pointer", out);
    });
  }

  struct(type, name, ...values) {
    return this.scratch((room) => {
      const out = room.struct(type, {});
      this.call(name, out, ...values);
      return this.memory.struct(type, out);
    });
  }

  /** The room that a call needs, then what it fills that with. Where about as many are expected as there are, one call does. */
  filled(size, name, values, read, expected = 0) {
    return this.scratch((room) => {
      const needed = room.take(4), place = expected > 0 ? room.take(expected * size) : 0;
      try {
        this.call(name, place, expected, needed, ...values);
        if (expected > 0)
          return read(place, this.memory.read("u32", needed));
      } catch (error) {
        if (error.status !== Status.ERROR_BUFFER)
          throw error;
      }
      const count = this.memory.read("u32", needed), out = room.take(count * size);
      this.call(name, out, count, needed, ...values);
      return read(out, count);
    });
  }

  text(name, ...values) {
    return this.filled(1, name, values, (out, count) => this.memory.text(out, count - 1));
  }

  list(type, name, ...values) {
    if (type in SIZES)
      return this.filled(SIZES[type], name, values, (out, count) => this.numbers(type, out, count));
    const { size } = STRUCTS[type];
    return this.filled(size, name, values, (out, count) =>
      Array.from({ length: count }, (_, i) => this.memory.struct(type, out + i * size)));
  }

  numbers(type, pointer, count) {
    return Array.from({ length: count }, (_, i) => this.memory.read(type, pointer + i * SIZES[type]));
  }

  findings(schedule, most) {
    const { size } = STRUCTS.Finding;
    return this.scratch((room) => {
      const out = room.take(most * size), count = room.take(4);
      try {
        this.call("ppsched_schedule_check", out, most, count, schedule.alive());
      } catch (error) {
        if (error.status !== Status.ERROR_INVALID_SCHEDULE)
          throw error;
      }
      return Array.from({ length: Math.min(most, this.memory.read("u32", count)) }, (_, i) => ({
        ...this.memory.struct("Finding", out + i * size), text: this.text("ppsched_finding_write_text", out + i * size),
      }));
    });
  }

  config(devices, stages, microbatches) {
    for (const [what, size] of Object.entries({ devices, stages, microbatches }))
      numberOf("i64", what, size);
    return new Config(this, this.made("ppsched_config_create", devices, stages, microbatches, 0));
  }

  /** The devices whose data sheets the library has. */
  accelerators() {
    return Array.from({ length: this.call("ppsched_accelerator_count") }, (_, number) => {
      const row = this.memory.struct("Accelerator", this.call("ppsched_accelerator_at", number));
      for (const name of ["matrix_efficiency", "vector_efficiency", "memory_efficiency"]) {
        const { [name]: first, [`${name}_count`]: count } = row;
        row[name] = Array.from({ length: count }, (_, i) => this.memory.struct("Efficiency", first + i * STRUCTS.Efficiency.size));
        delete row[`${name}_count`];
      }
      return row;
    });
  }

  /** The layouts of a model, the text of its config.json, on so many devices of a name. fixed: numbers or lists of tp, cp, ep, etp, pp,
   * chunks, micro_batch, zero and global_batch; all that is possible is tried for the others. What overlaps is that of pick --gpus. */
  job(model, { device, gpus, sequence, memoryLimit = 0, top = 10, ...fixed }) {
    const known = this.accelerators(), names = known.map(({ name }) => name), number = names.findIndex((name) => name.toLowerCase() === String(device).toLowerCase());
    if (number < 0)
      throw new TypeError(`no device is called ${shown(device)}; ${namesNear(device, names)}`);
    const numbered = Object.values(JobDimension).filter((dimension) => dimension !== JobDimension.RANK_ORDER);
    const dimensions = new Map(numbered.map((dimension) => [this.call("ppsched_job_dimension_name", dimension), dimension]));
    const unknown = Object.keys(fixed).find((name) => !dimensions.has(name));
    if (unknown !== undefined)
      throw new TypeError(`layouts do not differ in ${shown(unknown)}; ${namesNear(unknown, [...dimensions.keys()])}`);
    const { SEQUENCE_PARALLEL, OVERLAPS_GRADIENTS, OVERLAPS_PARAMETERS, OVERLAPS_CONTEXT } = TrainingFlag;
    return this.scratch((room) => {
      const description = this.described(room, model);
      try {
        const lists = Object.entries(fixed).filter(([, given]) => given !== null).map(([name, given]) => {
          const values = typeof given === "number" ? [given] : listOf(name, given);
          return { dimension: dimensions.get(name), count: values.length, values: room.list("u32", name, values) };
        });
        const options = room.struct("JobOptions", { gpus, top, memory_limit: memoryLimit, lists: lists.length > 0 ? room.records("JobList", lists) : 0, list_count: lists.length });
        const precision = known[number].lacks_bf16 ? Precision.FP16 : Precision.BF16;
        const training = { sequence_length: sequence, precision, flags: SEQUENCE_PARALLEL | OVERLAPS_GRADIENTS | OVERLAPS_PARAMETERS | OVERLAPS_CONTEXT };
        return new Job(this, this.made("ppsched_job_create", description, room.struct("Training", training), this.call("ppsched_accelerator_at", number), options, 0),
          { model, training, device: number });
      } finally {
        this.exports.ppsched_description_release(description);
      }
    });
  }

  /** The description of a model in the text of its file. */
  described(room, model) {
    const bytes = encoder.encode(model), text = room.take(bytes.length);
    this.memory.bytes.set(bytes, text);
    return this.made("ppsched_description_read", text, bytes.length, 0);
  }

  /** Of each layer the number of the kind by which a pipeline recomputes it, from 1; 0: it does not. */
  recomputesOf(layers, { split, recompute, recompute_layers: most }) {
    const rows = [];
    for (let entry = 0; entry < this.call("ppsched_layers_entries", layers); entry += 1) {
      const { count, place, recomputes, recompute_count: kinds } = this.struct("Layer", "ppsched_layers_get_entry", layers, entry);
      const names = Array.from({ length: kinds }, (_, i) => this.memory.struct("Recompute", recomputes + i * STRUCTS.Recompute.size).name);
      rows.push(...Array(count || 1).fill({ isDecoder: place === "any", kind: names.indexOf(recompute) + 1 }));
    }
    return split.flatMap((count) => {
      let left = most || Infinity;
      return rows.splice(0, count).map(({ isDecoder, kind }) => {
        left -= isDecoder ? 1 : 0;
        return isDecoder && left >= 0 ? kind : 0;
      });
    });
  }

  /** Sets the links between the devices of a pipeline: one for all, or one for each pair. */
  putLinks(config, room, model, pipeline, scale) {
    const { devices } = config, latency = room.take(8), rate = room.take(8), times = [], rates = [];
    for (let pair = 0; pair < devices * devices; pair += 1) {
      this.call("ppsched_model_get_pipeline_link", latency, rate, model, pipeline, Math.floor(pair / devices), pair % devices);
      times.push(this.memory.read("f64", latency) * scale);
      rates.push(this.memory.read("f64", rate) / scale);
    }
    const areAlike = (list) => list.every((value, pair) => pair % (devices + 1) === 0 || value === list[1]);
    const short = areAlike(times) && areAlike(rates) ? (list) => [list[devices > 1 ? 1 : 0]] : (list) => list;
    config.set("p2p_time", short(times)).set("p2p_bandwidth", short(rates));
  }

  /** A schedule from a text of the format "csv" or "json". */
  importSchedule(format, text) {
    return this.scratch((room) => {
      const bytes = encoder.encode(text), data = room.take(bytes.length);
      this.memory.bytes.set(bytes, data);
      return new Schedule(this, this.made("ppsched_schedule_import", valueOf(Format, "format", format), data, bytes.length, 0));
    });
  }

  /** What all strategies are, with their options. */
  strategies() {
    return Array.from({ length: this.call("ppsched_strategy_count") }, (_, number) => {
      const info = this.struct("StrategyInfo", "ppsched_strategy_get_info", number);
      const options = Array.from({ length: info.option_count }, (__, option) => {
        const row = this.struct("OptionInfo", "ppsched_strategy_get_option", number, option);
        return { ...row, choices: this.texts(row.choices, row.choice_count) };
      });
      return { ...info, aliases: this.texts(info.aliases, info.alias_count), options };
    });
  }

  texts(pointer, count) {
    return Array.from({ length: count }, (_, i) => this.memory.read("string", pointer + 4 * i));
  }

  /** An op in PyTorch's form, such as "3F0". */
  token(op) {
    return this.scratch((room) => this.text("ppsched_op_write_token", room.records("Op", [op])));
  }

  kindText(kind) { return this.call("ppsched_kind_text", valueOf(Kind, "kind", kind)); }
}

/** Loads ppsched.wasm: its bytes, a compiled module, or where it is (default: beside this file). */
export async function load(source = new URL("ppsched.wasm", import.meta.url)) {
  let given = source;
  if (typeof given === "string" || given instanceof URL)
    given = String(given).startsWith("file:") ? await (await import("node:fs/promises")).readFile(new URL(given))
      : await (await fetch(given)).arrayBuffer();
  const module = given instanceof WebAssembly.Module ? given : await WebAssembly.compile(given);
  return new Engine(await WebAssembly.instantiate(module, {}));
}
