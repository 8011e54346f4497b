// SPDX-License-Identifier: Apache-2.0
// ppsched.mjs on ppsched.wasm, under node. usage: node suite.mjs FOLDER_OF_PPSCHED_MJS PPSCHED.WASM
// Prints a line a test that failed, then one of JSON: how many, and what native results are compared with.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { pathToFileURL } from "node:url";

const [folder, wasm] = process.argv.slice(2);
const url = pathToFileURL(`${folder}/ppsched.mjs`).href;
const module = await import(url), { load, PpschedError, Kind, Status } = module;
const bytes = readFileSync(wasm);
const pp = await load(bytes);

/** Why a call, or the candidate that it gives, is refused. */
function refusal(call) {
  try {
    return call().reason;
  } catch (error) {
    return error.message;
  }
}

const MODEL = readFileSync(new URL("../../docs/examples/config.json", import.meta.url), "utf8");

function jobOf(options) {
  return pp.job(MODEL, { device: "h100", sequence: 4096, ...options });
}

const tests = {
  "layouts of a model"() {
    const job = jobOf({ gpus: 16, global_batch: 64, tp: [1, 2, 4], cp: 1, pp: 4, top: 5 }).run(), best = job.ranked();
    assert.equal(best.length, 5);
    assert.ok(best.every(({ tensor_parallel: tp, pipeline, data_parallel: dp, state }) => pipeline === 4 && tp * dp * 4 === 16 && state === "priced"));
    const times = best.map(({ number }) => job.price(number).step.step_time);
    assert.deepEqual(times, [...times].sort((a, b) => a - b));
    const { pipeline, runs_on } = job.price(best[0].number);
    assert.ok(runs_on > 0 && pipeline.split.length === pipeline.devices * pipeline.chunks);
    assert.equal(job.price(best[0].number, times[0] / 2).state, "slower");
    for (const options of [{ gpus: 16, global_batch: 64, pp: 4 }, { gpus: 64, pp: [1, 2, 8] }, { gpus: 8, device: "v100", sequence: 8192, pp: 4, tp: 1 },
                           { gpus: 16, device: "mi300x", sequence: 65536, pp: 8, top: 5 }]) { // with recompute; with the limit of a search
      const search = jobOf({ top: 3, ...options }).run();
      for (const { number } of search.ranked()) { // the problem of a layout takes as long as its price says
        const price = search.price(number), config = search.config(number), { makespan } = config.generate(price.pipeline.strategy).evaluate(config).metrics;
        assert.ok(Math.abs(makespan / price.step.pipeline_time - 1) < 1e-9, `${makespan} ${price.step.pipeline_time}`);
      }
    }
    assert.equal(jobOf({ gpus: 64, device: "v100", tp: 4, pp: 4, top: 1 }).run().ranked()[0].state, "priced"); // without bf16
    assert.throws(() => jobOf({ gpus: 16, device: "h10" }), /no device is called "h10"; did you mean h100\?/);
    assert.throws(() => jobOf({ gpus: 16, tpp: 2 }), /did you mean tp\?/);
    assert.throws(() => jobOf({ gpus: 0 }), PpschedError);
    assert.throws(() => pp.job("{}", { device: "h100", gpus: 8, sequence: 4096 }), PpschedError);
  },
  "no imports"() {
    assert.deepEqual(WebAssembly.Module.imports(new WebAssembly.Module(bytes)), []);
  },
  "a search tells how far it is, and can be stopped"() {
    const config = pp.config(4, 8, 16).set("mem_limit", 9), told = [];
    const makespan = config.onProgress((progress) => { told.push(progress); }).generate("v_search").evaluate(config).metrics.makespan;
    assert.ok(told.length > 0);
    assert.ok(told.every(({ share }, i) => share >= (told[i - 1]?.share ?? 0) && share <= 1));
    assert.ok(told.at(-1).best > 0 && told.at(-1).best < 2 * makespan);
    assert.throws(() => config.onProgress(() => false).generate("v_search"), (error) => error.status === Status.ERROR_CANCELLED);
    assert.equal(config.onProgress(null).generate("v_search").evaluate(config).metrics.makespan, makespan);
  },
  "the same model in other stages"() {
    const config = pp.config(2, 2, 4).set("forward_times", [1, 3]);
    assert.deepEqual(config.withStages(4).get("forward_times"), [0.5, 0.5, 1.5, 1.5]);
    assert.deepEqual(config.withStages(4).withStages(2).get("forward_times"), [1, 3]);
    assert.throws(() => config.withStages(3), PpschedError);
  },
  "views of ops and spans are the library's memory"() {
    const config = pp.config(4, 4, 8), schedule = config.generate("1f1b"), timeline = schedule.evaluate(config);
    const ops = schedule.ops(3), view = ops.view(Uint8Array);
    assert.equal(view.buffer, pp.exports.memory.buffer);
    assert.equal(view.byteOffset, ops.pointer);
    assert.equal(ops.length, 16);
    assert.deepEqual([...ops].slice(0, 2).map((op) => pp.token(op)), ["3F0", "3B0"]);
    assert.equal(ops.get(1, "kind"), "B");
    assert.equal(ops.at(0).kind, "F");
    assert.equal(pp.kindText("RECOMPUTE"), pp.kindText(Kind.RECOMPUTE));
    assert.equal(timeline.spans(3).view(Float64Array)[0], 3);
    assert.throws(() => ops.at(16), RangeError);
  },
  "enumerators are words, and nothing is null"() {
    const config = pp.config(2, 2, 3), queues = [["F0", "F1", "B0", "F2", "B1", "B2"], ["F0", "B0", "F1", "B1", "F2", "B2"]], builder = config.builder();
    for (const [stage, queue] of queues.entries())
      builder.append(stage, queue.map(([kind, microbatch]) => ({ kind, stage, microbatch: Number(microbatch) })));
    const schedule = builder.finish(), { metrics } = schedule.evaluate(config);
    assert.deepEqual(schedule.findings(), []);
    assert.equal(metrics.limit_device, null);
    assert.equal(metrics.peak_device, 0);
    assert.equal(schedule.evaluate(config.copy().set("mem_limit", 0.5)).metrics.limit_device, 0);
    const plan = config.plan({ strategies: ["1f1b", "dualpipe"] }), [first] = plan.run().ranked();
    assert.deepEqual([first.status, first.placement, first.limit_device], ["ok", "linear", null]);
    const refused = plan.ranked().at(-1);
    assert.deepEqual([refused.status, refused.peak_device], ["error_refused", null]);
    assert.equal(pp.strategies().find(({ name }) => name === "zbv").placement, "v");
    const h100 = pp.accelerators().find(({ name }) => name === "h100");
    assert.ok(h100.matrix_efficiency.length > 1 && h100.matrix_efficiency.every(({ least, share }) => least >= 0 && share > 0 && share <= 1));
    assert.equal("matrix_efficiency_count" in h100, false);
    assert.throws(() => builder.append(0, [{ kind: "FF", stage: 0, microbatch: 0 }]), /no kind is called "FF"/);
    const recomputed = schedule.recompute(), [op] = [...recomputed.ops(0)].filter(({ kind }) => kind === "RECOMPUTE");
    assert.equal(pp.token(op), `0RECOMPUTE${op.microbatch}`);
    const reduced = pp.config(1, 1, 1).builder().append(0, [{ kind: "F", stage: 0, microbatch: 0 }, { kind: "B", stage: 0, microbatch: 0 },
      { kind: "REDUCE_GRAD", stage: 0, microbatch: null }]).finish();
    assert.equal(reduced.ops(0).at(2).microbatch, null);
  },
  "types name what there is, and all of it"() {
    const config = pp.config(2, 2, 4), builder = config.builder(), schedule = config.generate("gpipe"), timeline = schedule.evaluate(config);
    const samples = { Job: jobOf({ gpus: 8 }), Config: config, Builder: builder, Schedule: schedule, Timeline: timeline, Plan: config.plan(), Engine: pp,
                      Records: schedule.ops(0), PpschedError: new PpschedError(Status.ERROR_RANGE) };
    const text = readFileSync(`${folder}/ppsched.d.mts`, "utf8"), seen = [];
    for (const [, name, body] of text.matchAll(/^export class (\w+)[^{]*\{\n(.*?)^\}/gms)) {
      const declared = [...body.matchAll(/^ {2}(?:readonly |set )?(\w+)[(<:]/gm)].map((match) => match[1]).filter((word) => word !== "constructor");
      const own = Object.getOwnPropertyNames(module[name].prototype).filter((word) => word !== "constructor" && !(name === "Records" && word === "place"));
      assert.deepEqual(declared.filter((word) => !(word in samples[name])), [], name);
      assert.deepEqual(name === "Engine" ? [] : own.filter((word) => !declared.includes(word)), [], name);
      seen.push(name);
    }
    assert.deepEqual(seen.sort(), Object.keys(samples).sort());
  },
  "errors carry the library's message"() {
    assert.throws(() => pp.config(4, 4, 8).generate("1f1x"),
      (error) => error instanceof PpschedError && error.status === Status.ERROR_UNKNOWN_STRATEGY && /did you mean 1f1b/.test(error.message));
    assert.throws(() => pp.config(4, 4, 8).set("forward_times", [1, 2, -3, 4]),
      (error) => error.status === Status.ERROR_RANGE && error.stage === 2 && error.position === 2 && error.device === null);
    assert.throws(() => pp.config(4, 4, 8).set("forward_time", 1), /no quantity is called "forward_time"; did you mean forward_times\?/);
    assert.throws(() => pp.config(4, 4, 8).set("weather", 1), /no quantity is called "weather"; there are forward_times, /);
    assert.throws(() => pp.config(0, 4, 8), PpschedError);
  },
  "numbers that do not fit are refused, not cut"() {
    const isRange = (what) => (error) => error instanceof PpschedError && error.status === Status.ERROR_RANGE && what.test(error.message)
      && error.device === null && !error.message.includes("\n");
    const above = [2 ** 64, 2 ** 64 + 4096, 2n ** 64n + 4n, 2 ** 63, -(2 ** 64), 1.5, NaN, Infinity];
    for (const size of above)
      for (const [place, name] of ["devices", "stages", "microbatches"].entries())
        assert.throws(() => pp.config(...[4, 4, 8].map((usual, i) => (i === place ? size : usual))), isRange(new RegExp(`^${name} is .*; it must be a whole`)));
    for (const size of [-1, 0, 2 ** 32 + 4, 2 ** 40])
      assert.throws(() => pp.config(size, 4, 8), PpschedError); // in the library's words
    const config = pp.config(2, 4, 4), schedule = config.generate("zbv"), timeline = schedule.evaluate(config), plan = config.plan().run();
    for (const size of above) {
      assert.throws(() => { config.iterations = size; }, isRange(/an argument of ppsched_config_set_iterations/));
      assert.throws(() => config.withStages(size), PpschedError);
    }
    for (const number of [2 ** 32, 2 ** 32 + 1, -1, 0.5, 2 ** 64]) {
      assert.throws(() => schedule.deviceOf(number), isRange(/ppsched_schedule_device_of/));
      assert.throws(() => timeline.spans(number), isRange(/ppsched_timeline_spans/));
      assert.throws(() => timeline.memoryCurve(number), isRange(/ppsched_timeline_get_memory/));
      assert.throws(() => plan.candidate(number), isRange(/ppsched_plan_get_candidate/));
      assert.throws(() => config.plan({ chunks: [2, number] }), isRange(/one of chunks/));
      assert.throws(() => config.plan({ effort: number }), isRange(/effort/));
      assert.throws(() => config.place("map", [0, 1, 0, number]), isRange(/a device of the map/));
      assert.throws(() => config.builder().append(0, [{ kind: Kind.F, stage: 0, microbatch: number }]), isRange(/microbatch/));
      assert.throws(() => schedule.recompute({ chunks: number }), isRange(/chunks/));
    }
    assert.throws(() => config.builder().append(0, [{ kind: Kind.F, stage: 65536, microbatch: 0 }]), isRange(/stage is 65536; .* to 65535/));
    assert.throws(() => config.builder().append(0, [{ kind: 257, stage: 0, microbatch: 0 }]), isRange(/kind is 257/));
    assert.equal(pp.config(2n, 2n, 4n).microbatches, 4);
  },
  "a text is no list, and no number"() {
    const config = pp.config(2, 4, 4);
    const isType = (what) => (error) => error instanceof TypeError && what.test(error.message);
    for (const wrong of ["12", "1,2", "", 3n, true, {}, undefined, () => [1]])
      assert.throws(() => config.set("forward_times", wrong), isType(/^forward_times is .*; it must be a list/));
    for (const wrong of [["1", "2"], [1, null], [undefined], [[1]], [{}]])
      assert.throws(() => config.set("forward_times", wrong), isType(/^a value of forward_times is .*; it must be a number/));
    assert.throws(() => config.place("map", "0110"), isType(/the map of a placement is "0110"; it must be a list/));
    assert.throws(() => config.place("map", ["0", "1", "1", "0"]), isType(/a device of the map is "0"/));
    for (const name of ["strategies", "chunks", "group_sizes", "microbatches", "memory_limits"])
      for (const wrong of ["12", 2, {}])
        assert.throws(() => config.plan({ [name]: wrong }), isType(new RegExp(`^${name} is .*; it must be a list`)));
    for (const wrong of ["12", 2, [1]])
      assert.throws(() => config.plan({ slice: wrong }), isType(/^slice is .*; it must be an object with fields of SliceOptions/));
    assert.throws(() => config.plan({ slice: { slices: "12" } }), isType(/^slices is "12"; it must be a list/));
    assert.throws(() => config.plan({ slice: { slice: 1 } }), isType(/no field slice in SliceOptions/));
    assert.throws(() => config.plan({ strategies: ["1f1b", 2] }), isType(/a strategy is 2; it must be a name/));
    assert.throws(() => config.plan({ chunks: ["2"] }), isType(/one of chunks is "2"/));
    assert.throws(() => config.plan({ effort: "2" }), isType(/effort is "2"; it must be a number/));
    assert.throws(() => config.plan({ efort: 2 }), isType(/no field efort/));
    for (const wrong of ["0F0", 3, null, {}])
      assert.throws(() => config.builder().append(0, wrong), isType(/the ops of a device is .*; it must be a list/));
    assert.throws(() => config.builder().append(0, ["0F0"]), isType(/"0F0" is no object with the fields/));
    for (const flag of [true, false]) {
      const isNumber = isType(new RegExp(`is ${flag}; it must be a number`));
      for (const wrong of [() => pp.config(flag, 4, 4), () => config.set("forward_times", [flag]), () => config.place("map", [flag, 1, 1, 0]),
        () => config.plan({ effort: flag }), () => config.plan({ offload: flag }), () => config.plan({ chunks: [flag] }), () => config.withStages(flag),
        () => config.plan({ slice: { slice_time: flag } }), () => { config.iterations = flag; }, () => config.builder().append(flag, []),
        () => config.builder().append(0, [{ kind: Kind.F, stage: 0, microbatch: flag }]), () => config.generate("zbv").deviceOf(flag)])
        assert.throws(wrong, isNumber);
    }
    assert.throws(() => config.builder().append("0", []), isType(/an argument of ppsched_builder_append is "0"/));
    assert.throws(() => { config.iterations = "2"; }, isType(/must be a number/));
    assert.throws(() => config.place("zigzag"), isType(/no placement is called "zigzag"; there are default, linear/));
    assert.deepEqual(config.set("forward_times", new Float64Array([1, 2, 3, 4])).get("forward_times"), [1, 2, 3, 4]);
    assert.deepEqual(config.set("forward_times", new Set([1, 2, 3, 5])).get("forward_times"), [1, 2, 3, 5]);
    assert.deepEqual(config.set("forward_times", 2).get("forward_times"), [2]);
    assert.equal(config.place("map", new Uint32Array([0, 1, 1, 0])).placement, "map");
  },
  "a candidate's config has its placement"() {
    const plan = pp.config(4, 4, 8).plan({ strategies: ["zbv", "dualpipe", "interleaved_1f1b"], chunks: [1, 2] }).run();
    for (const { number, strategy, status, placement } of plan.ranked().filter((row) => row.status === "ok")) {
      const config = plan.config(number), schedule = config.generate(strategy), builder = config.builder();
      assert.equal(config.placement, ["v", "bidirectional"].includes(placement) ? placement : "default", String(status));
      for (let device = 0; device < 4; device++)
        builder.append(device, [...schedule.ops(device)]);
      assert.deepEqual(builder.finish().findings(), []);
    }
  },
  "what is destroyed is not used again"() {
    const config = pp.config(2, 2, 2), ops = config.generate("gpipe").ops(0);
    config.destroy();
    config.destroy();
    assert.throws(() => config.stages, /destroyed/);
    assert.equal(ops.length, 4); // the schedule lives on
    ops.owner.destroy();
    assert.throws(() => ops.at(0), /destroyed/);
    assert.throws(() => ops.view(), /destroyed/);
  },
  "the memory grows, and is given back"() {
    const before = pp.exports.memory.buffer.byteLength;
    const small = pp.config(4, 4, 8), kept = small.generate("gpipe").ops(2), tokens = () => [...kept].map((op) => pp.token(op)).join();
    const expected = tokens();
    for (let round = 0; round < 40; round++) {
      const config = pp.config(64, 64, 512), schedule = config.generate("1f1b"), timeline = schedule.evaluate(config);
      assert.equal(schedule.opCount, 64 * 512 * 2);
      timeline.destroy();
      schedule.destroy();
      config.destroy();
    }
    const grown = pp.exports.memory.buffer.byteLength;
    assert.ok(grown > before && grown < before + 4 * 64 * 512 * 2 * 48, `${before} ${grown}`);
    assert.equal(tokens(), expected);
  },
  "values and options"() {
    const config = pp.config(4, 8, 8).set("p2p_time", 0.5).set("mem_limit", [4, 5, 6, 7]);
    assert.deepEqual([config.get("p2p_time"), config.get("mem_limit"), config.get("forward_times")], [[0.5], [4, 5, 6, 7], []]);
    assert.deepEqual(config.set("mem_limit", null).get("mem_limit"), []);
    config.splitBackward = false;
    config.iterations = 2;
    assert.deepEqual([config.splitBackward, config.iterations, config.stages, config.slices, config.placement], [false, 2, 8, 1, "default"]);
    config.setOption("group_size", 4).place("loop").validate();
    assert.equal(config.copy().generate("interleaved_1f1b").placement, "loop");
    assert.throws(() => config.setOption("group_size", "many").fits("interleaved_1f1b"), PpschedError);
    assert.equal(pp.config(2, 4, 2).place("map", [1, 0, 0, 1]).builder().finish().deviceOf(3), 1);
  },
  "strategies and their options"() {
    const strategies = pp.strategies(), auto = strategies.find(({ name }) => name === "auto");
    assert.ok(strategies.length >= 20);
    assert.equal(auto.searches, 1);
    assert.ok(auto.options.some((option) => option.name === "effort" && option.minimum === 0 && option.maximum === 12));
    assert.ok(auto.options.some((option) => option.choices.length > 1));
    assert.ok(strategies.find(({ name }) => name === "interleaved_1f1b").aliases.length > 0);
  },
  "a schedule of one's own, and what is wrong with one"() {
    const config = pp.config(1, 1, 2), op = (kind, microbatch) => ({ kind: Kind[kind], microbatch, stage: 0 });
    const good = config.builder().name("mine").append(0, [op("F", 0), op("F", 1), op("B", 1), op("B", 0)]).finish();
    assert.deepEqual([good.name, good.findings(), good.evaluate(config).metrics.makespan], ["mine", [], 6]);
    const bad = config.builder().append(0, [op("B", 0), op("F", 0), op("F", 1)]).finish();
    assert.match(bad.findings().map(({ text }) => text).join("; "), /0B1 is missing/);
    assert.throws(() => bad.evaluate(config), (error) => error.status === Status.ERROR_INVALID_SCHEDULE);
  },
  "texts go out and come back"() {
    const config = pp.config(4, 8, 8), schedule = config.generate("zbv"), timeline = schedule.evaluate(config);
    const json = JSON.parse(timeline.export("json"));
    assert.equal(json.metrics.makespan, timeline.metrics.makespan);
    assert.equal(pp.importSchedule("csv", schedule.export("csv")).export("csv"), schedule.export("csv"));
    assert.equal(pp.importSchedule("json", timeline.export("json")).name, "zbv");
    assert.throws(() => pp.importSchedule("csv", "0F0,what\n"), (error) => error.status === Status.ERROR_SYNTAX && error.position === 1);
    assert.match(schedule.launchArguments("torchtitan"), /ZBV/);
  },
  "a plan, candidate by candidate"() {
    const config = pp.config(4, 16, 8), plan = config.plan({ chunks: [1, 2, 3], strategies: ["1f1b", "zbv", "interleaved_1f1b"] });
    for (let number = 0; number < plan.length; number++)
      plan.evaluate(number);
    const rows = plan.run().ranked();
    assert.ok(rows.length >= 3 && rows[0].fits === 1 && rows[0].step_time <= rows[1].step_time);
    assert.ok(rows.some((row) => row.reason !== null));
    assert.equal(plan.config(rows[0].number).stages, rows[0].stages);
    assert.equal(rows[0].bound, plan.config(rows[0].number).place(rows[0].placement).bound().value);
    assert.throws(() => config.plan({ chunk: [1] }), /no field chunk/);
    const tight = pp.config(4, 4, 8).set("mem_limit", 0.5).plan({ strategies: ["1f1b"] }).run();
    assert.equal(tight.ranked()[0].fits, 0);
    assert.equal(tight.leastLimit().limit, 4);
  },
  "what is computed again, or copied to the host"() {
    const config = pp.config(4, 8, 8).set("offload_times", 0.5), schedule = config.generate("zbv");
    const kinds = (some) => new Set(Array.from(some.ops(0), ({ kind }) => kind));
    assert.ok(kinds(schedule.recompute({ chunks: 1 })).has("RECOMPUTE"));
    assert.ok(schedule.recompute().opCount > schedule.recompute({ chunks: 1 }).opCount);
    assert.ok(kinds(schedule.offload(config)).has("OFFLOAD"));
    assert.ok(schedule.offload(config).opCount > schedule.offload(config, { chunks: 1 }).opCount);
    config.set("mem_limit", 7);
    assert.equal(schedule.offload(config, { untilLimit: true }).evaluate(config).metrics.peak_memory, 7);
    config.set("mem_limit", 1);
    assert.throws(() => schedule.offload(config, { untilLimit: true }), /no choice fits the memory limit of 1; the least limit found to work is 7/);
  },
  "what the module is without says so"() {
    const config = pp.config(2, 2, 4), schedule = config.generate("gpipe");
    for (const [what, options] of [["lowerings", { lower: { lowering: 1 } }], ["scenarios", { ranking: { scenario_count: 4 } }]])
      assert.match(refusal(() => config.plan({ strategies: ["gpipe"], ...options }).run().candidate(0)), new RegExp(`without ${what}`));
    assert.throws(() => schedule.export("sail"), /without the formats text, deepspeed and sail/);
  },
  "slices that a plan tries"() {
    const plan = pp.config(4, 4, 8).plan({ slice: { slices: [1, 2] }, strategies: ["1f1b"], chunks: [1] }).run();
    assert.deepEqual(plan.ranked().map(({ slices }) => slices).sort(), [1, 2]);
  },
  "why a device is idle, and the way that takes longest"() {
    const config = pp.config(4, 4, 8), timeline = config.generate("1f1b").evaluate(config), device = timeline.deviceMetrics(3);
    const idle = timeline.idle(3);
    assert.equal(Object.values(idle).reduce((a, b) => a + b, 0), device.idle);
    const path = timeline.criticalPath();
    assert.equal(path.at(-1).end, timeline.metrics.makespan);
    assert.equal(path[0].op.kind, "F");
    assert.equal(timeline.memory(0).reduce((most, { memory }) => Math.max(most, memory), 0), timeline.metrics.peak_memory);
  },
  async "in a worker"() {
    const text = `import { parentPort, workerData } from "node:worker_threads";
      import { load } from ${JSON.stringify(url)};
      const pp = await load(workerData), config = pp.config(8, 8, 32);
      parentPort.postMessage(config.generate("auto").evaluate(config).metrics.makespan);`;
    const module = await WebAssembly.compile(bytes);
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(text)}`), { workerData: module });
    const makespan = await new Promise((resolve, reject) => worker.on("message", resolve).on("error", reject));
    const config = pp.config(8, 8, 32);
    assert.equal(makespan, config.generate("auto").evaluate(config).metrics.makespan);
  },
};

/** What Python computes natively too: each strategy with uneven costs, as JSON. */
function results() {
  const rows = {};
  for (const { name, chunks } of pp.strategies()) {
    const stages = 4 * (chunks || 1);
    const config = pp.config(4, stages, 8).set("p2p_time", 0.1).set("backward_input_share", 0.45)
      .set("forward_times", Array.from({ length: stages }, (_, stage) => 1 + 0.1 * ((7 * stage) % 5)));
    try {
      rows[name] = config.generate(name).evaluate(config).export("json");
    } catch (error) {
      rows[name] = error.message;
    }
  }
  return rows;
}

let failed = 0;
for (const [name, run] of Object.entries(tests))
  try {
    await run();
  } catch (error) {
    failed++;
    console.error(`${name}: ${error.stack}`);
  }
console.log(JSON.stringify({ tests: Object.keys(tests).length, failed, results: results() }));
