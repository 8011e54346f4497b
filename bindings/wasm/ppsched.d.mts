// SPDX-License-Identifier: Apache-2.0
// Types of ppsched.mjs. What the library fills is typed by abi.d.mts, which is written from the headers.
import type { Accelerator as AbiAccelerator, Bound as AbiBound, Candidate as AbiCandidate, CriticalOp, DeviceMetrics, Efficiency, Finding as AbiFinding, Idle, JobFound, JobLayout, MemoryPoint,
  Metrics, Op, OptionInfo as AbiOption, PlanOptions as AbiPlanOptions, SliceOptions as AbiSliceOptions, Span, StepPrice, StrategyInfo as AbiStrategy } from "./abi.mjs";
import { Format, Kind, MemoryCause, NONE, Objective, Placement, Quantity, Runtime, SenderWaits, Status } from "./abi.mjs";

export { Format, Kind, MemoryCause, NONE, Objective, Placement, Quantity, Runtime, SenderWaits, Status };
export type { CriticalOp, DeviceMetrics, Idle, MemoryPoint, Metrics, Op, Span };

/** An enumerator: its value, or its name in capitals or small letters. */
type Of<Enumeration> = Enumeration[keyof Enumeration] | keyof Enumeration | Lowercase<keyof Enumeration & string>;
type PlacementName = Lowercase<keyof typeof Placement>;

export class PpschedError extends Error {
  readonly status: Status;
  readonly device: number | null;
  readonly stage: number | null;
  readonly microbatch: number | null;
  readonly position: number | null;
}

/** A typed array's constructor, such as Uint8Array or Float64Array. */
interface ViewType<View> {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBuffer, offset: number, length: number): View;
}

/** Records in the memory of the module, not copied. */
export class Records<Row> implements Iterable<Row> {
  private constructor();
  readonly length: number;
  readonly pointer: number;
  readonly stride: number;
  readonly struct: string;
  readonly owner: Schedule | Timeline;
  at(index: number): Row;
  get<Field extends keyof Row>(index: number, field: Field): Row[Field];
  view(): Uint8Array;
  view<View>(Type: ViewType<View>): View;
  [Symbol.iterator](): Iterator<Row>;
}

declare class Handle {
  protected constructor();
  destroy(): void;
}

export interface Progress {
  /** Of the search's work. */
  share: number;
  /** The objective of the best schedule so far, infinite for none. */
  best: number;
}

export class Config extends Handle {
  readonly devices: number;
  readonly stages: number;
  readonly microbatches: number;
  iterations: number;
  slices: number;
  forwardOnly: boolean;
  splitBackward: boolean;
  set weightVersions(count: number);
  get senderWaits(): Lowercase<keyof typeof SenderWaits>;
  set senderWaits(waits: Of<typeof SenderWaits>);
  readonly placement: PlacementName;
  place(placement: Of<typeof Placement>, map?: readonly number[]): this;
  set(quantity: Of<typeof Quantity>, values: number | readonly number[] | null): this;
  get(quantity: Of<typeof Quantity>): number[];
  setOption(name: string, value: string | number | null): this;
  onProgress(tell: ((progress: Progress) => boolean | void) | null): this;
  copy(): Config;
  withStages(stages: number): Config;
  validate(): void;
  fits(strategy: string): void;
  generate(strategy: string): Schedule;
  builder(): Builder;
  bound(objective?: Of<typeof Objective>): AbiBound;
  plan(options?: PlanOptions): Plan;
}

/** An op to append. */
export type NewOp = { kind: Of<typeof Kind> } & Pick<Op, "stage" | "microbatch"> & Partial<Omit<Op, "kind">>;

export class Builder extends Handle {
  append(device: number, ops: readonly NewOp[]): this;
  name(text: string): this;
  flushes(isFlushed: boolean): this;
  weightVersions(count: number): this;
  finish(): Schedule;
}

export interface Finding extends AbiFinding {
  text: string;
}

export class Schedule extends Handle {
  readonly name: string;
  readonly devices: number;
  readonly stages: number;
  readonly microbatches: number;
  readonly iterations: number;
  readonly slices: number;
  readonly placement: PlacementName;
  readonly flushes: boolean;
  readonly weightVersions: number;
  readonly opCount: number;
  deviceOf(stage: number, microbatch?: number): number | null;
  ops(device: number): Records<Op>;
  evaluate(config: Config, options?: { earliestOnly?: boolean }): Timeline;
  recompute(options?: { chunks?: number }): Schedule;
  offload(config: Config, options?: { chunks?: number; untilLimit?: boolean; share?: number; prefetchDistance?: number }): Schedule;
  findings(most?: number): Finding[];
  export(format: Of<typeof Format>, timeline?: Timeline | null): string;
  launchArguments(runtime: Of<typeof Runtime>): string;
}

export class Timeline extends Handle {
  readonly schedule: Schedule;
  readonly metrics: Metrics;
  deviceMetrics(device: number): DeviceMetrics;
  idle(device: number): Idle;
  spans(device: number): Records<Span>;
  memory(device: number): MemoryPoint[];
  memoryCurve(device: number): Float64Array;
  peakCauses(device: number): number[];
  deviceSlack(): number[];
  criticalPath(): CriticalOp[];
  export(format: Of<typeof Format>): string;
}

/** Lists take the place of the header's pointers and counts, and objects that of groups; other fields are as there. */
export interface PlanOptions extends Partial<Pick<AbiPlanOptions, "placements" | "effort" | "runtimes" | "runtime" | "order_effort" | "offload" | "top">> {
  objective?: Of<typeof Objective>;
  strategies?: readonly string[];
  chunks?: readonly number[];
  group_sizes?: readonly number[];
  microbatches?: readonly number[];
  memory_limits?: readonly number[];
  slice?: SliceOptions;
}

/** Microbatches that are cut. */
export interface SliceOptions extends Partial<Pick<AbiSliceOptions, "slice_time" | "attention_share">> {
  slices?: readonly number[];
}

export interface Candidate extends Omit<AbiCandidate, "peak_device" | "strategy"> {
  number: number;
  strategy: string;
  /** null where it is not evaluated. */
  peak_device: number | null;
}

export class Plan extends Handle {
  readonly length: number;
  evaluate(candidate: number): void;
  run(): this;
  candidate(number: number): Candidate;
  ranked(): Candidate[];
  config(candidate: number): Config;
  leastLimit(): { limit: number; candidate: number };
}

export interface Layout extends JobLayout {
  number: number;
}

/** What was found for a layout; the pipeline's split is the layers of each stage, with ends. */
export interface FoundLayout extends JobFound {
  step: StepPrice | null;
  pipeline: { strategy: string; recompute: string | null; recompute_layers: number; devices: number; chunks: number; microbatches: number; mem_limit: number | null; split: number[] } | null;
}

export class Job extends Handle {
  readonly length: number;
  layout(number: number): Layout;
  price(number: number, above?: number): FoundLayout;
  config(number: number, price?: FoundLayout): Config | null;
  run(): this;
  ranked(): Layout[];
}

type Efficiencies = "matrix_efficiency" | "vector_efficiency" | "memory_efficiency";

export type Accelerator = Omit<AbiAccelerator, Efficiencies | `${Efficiencies}_count`> & Record<Efficiencies, Efficiency[]>;

type SomeNumbers = number | readonly number[] | null;

export interface JobOptions {
  /** A name of Engine.accelerators. */
  device: string;
  gpus: number;
  /** Tokens. */
  sequence: number;
  memoryLimit?: number;
  top?: number;
  tp?: SomeNumbers;
  cp?: SomeNumbers;
  ep?: SomeNumbers;
  etp?: SomeNumbers;
  pp?: SomeNumbers;
  chunks?: SomeNumbers;
  micro_batch?: SomeNumbers;
  zero?: SomeNumbers;
  global_batch?: SomeNumbers;
}

export interface Option extends Omit<AbiOption, "choices" | "name"> {
  name: string;
  choices: string[];
}

export interface Strategy extends Omit<AbiStrategy, "aliases" | "name"> {
  name: string;
  aliases: string[];
  options: Option[];
}

/** The library. */
export class Engine {
  constructor(instance: WebAssembly.Instance);
  readonly exports: WebAssembly.Exports & { readonly memory: WebAssembly.Memory };
  readonly version: string;
  config(devices: number, stages: number, microbatches: number): Config;
  accelerators(): Accelerator[];
  job(model: string, options: JobOptions): Job;
  importSchedule(format: "csv" | "json" | "CSV" | "JSON" | Format, text: string): Schedule;
  strategies(): Strategy[];
  token(op: NewOp): string;
  kindText(kind: Of<typeof Kind>): string;
}

export function load(source?: string | URL | BufferSource | WebAssembly.Module): Promise<Engine>;
