// SPDX-License-Identifier: Apache-2.0
// A client that the compiler must find nothing in, but on the lines that end with "wrong".
import { Kind, PpschedError, load, type Candidate, type Op } from "../../../bindings/wasm/ppsched.mjs";

const pp = await load("ppsched.wasm");
const config = pp.config(4, 4, 8).set("forward_times", [1, 1.2, 1.2, 1.4]).set("P2P_TIME", 0.1).setOption("effort", 2).place("map", [0, 1, 2, 3]);
config.onProgress(({ share, best }) => share < 0.5 || best > 1);
config.splitBackward = false;
const timeline = config.generate("zb_h1").evaluate(config, { earliestOnly: true });
const makespan: number = timeline.metrics.makespan;
const times: Float64Array = timeline.spans(3).view(Float64Array), bytes: Uint8Array = timeline.schedule.ops(0).view();
const kinds = Array.from(timeline.schedule.ops(3), (op: Op) => op.kind === "F");
const stage: number = timeline.schedule.ops(3).get(0, "stage");
const best: Candidate | undefined = config.plan({ chunks: [1, 2], objective: "span", order_effort: 2, slice: { slices: [1, 2], slice_time: 0.1 } }).run().ranked()[0];
const placement: "default" | "linear" | "loop" | "v" | "bidirectional" | "map" | undefined = best?.placement;
const mine = config.builder().append(0, [{ kind: Kind.F, stage: 0, microbatch: 0 }]).finish();
const found: string[] = mine.findings().map(({ text }) => text);
const [time, memory]: Float64Array = timeline.memoryCurve(0);
const shares: number[] = pp.accelerators().flatMap(({ matrix_efficiency: steps }) => steps.map(({ share }) => share));
const choices: string[] = pp.strategies().flatMap(({ options }) => options.flatMap((option) => option.choices));
try {
  mine.export("csv", timeline);
} catch (error) {
  if (error instanceof PpschedError && error.stage !== null)
    console.log(error.status, error.stage + 1);
}
console.log(makespan, times, bytes, kinds, stage, placement, found, time, memory, shares, choices);

pp.config(4, 4); // wrong
config.set("forward_time", 1); // wrong
config.set("p2p_time", "1"); // wrong
config.devices = 3; // wrong
config.place("zigzag"); // wrong
config.plan({ chunk: [1] }); // wrong
config.plan({ layers: 3 }); // wrong
config.plan({ slices: [1, 2] }); // wrong
timeline.metrics.span = "long"; // wrong
timeline.metric; // wrong
timeline.spans(0).get(0, "begin"); // wrong
timeline.schedule.export("yaml"); // wrong
config.builder().append(0, [{ kind: Kind.F }]); // wrong
Kind.F = 2; // wrong
new Map<string, number>().set("rank", best!.rank); // wrong
