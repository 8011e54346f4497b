// SPDX-License-Identifier: Apache-2.0
// Written by generate_abi.py from include/ppsched/*.h. Do not edit.
// Types of the C ABI: constants, and structs as objects of JavaScript.

export const ABI_VERSION: 1;
export const EXACT_WINDOWS: 24;
export const MAX_BLOCKS: 16;
export const MAX_CELLS: 1073741824;
export const MAX_LAYERS: 65535;
export const MAX_LAYER_KINDS: 256;
export const MAX_LAYOUT_LAYERS: 1000000;
export const MAX_RECOMPUTES: 8;
export const MAX_SCENARIOS: 16777216;
export const MAX_SLICES: 65535;
export const MAX_STAGES: 65535;
export const MAX_WINDOWS: 1000;
export const MAX_WINDOW_CHANNELS: 4;
export const NONE: 4294967295;
export const VERSION_MAJOR: 0;
export const VERSION_MINOR: 2;
export const VERSION_PATCH: 0;

export const Objective: {
  readonly SPAN: 1;
  readonly MAKESPAN: 2;
};
export type Objective = (typeof Objective)[keyof typeof Objective];

export const CalibratorConstant: {
  readonly MATRIX_SHARE: 0;
  readonly ATTENTION_SHARE: 1;
  readonly OP_TIME: 2;
  readonly HOST_TIME: 3;
  readonly FP8_SHARE: 4;
  readonly MXFP8_SHARE: 5;
  readonly NVFP4_SHARE: 6;
};
export type CalibratorConstant = (typeof CalibratorConstant)[keyof typeof CalibratorConstant];

export const ChakraSizes: {
  readonly BYTES: 0;
  readonly TIMES: 1;
};
export type ChakraSizes = (typeof ChakraSizes)[keyof typeof ChakraSizes];

export const ChakraLinks: {
  readonly SENDERS: 0;
  readonly RANKS: 1;
};
export type ChakraLinks = (typeof ChakraLinks)[keyof typeof ChakraLinks];

export const ChannelOrder: {
  readonly GROUP: 0;
  readonly DIRECTION: 1;
  readonly PAIR: 2;
  readonly NONE: 3;
  readonly SENDS: 4;
};
export type ChannelOrder = (typeof ChannelOrder)[keyof typeof ChannelOrder];

export const FindingKind: {
  readonly MISSING: 1;
  readonly DUPLICATE: 2;
  readonly MISPLACED: 3;
  readonly CYCLE: 4;
  readonly BLOCKED: 5;
  readonly CONFLICT: 6;
};
export type FindingKind = (typeof FindingKind)[keyof typeof FindingKind];

export const Placement: {
  readonly DEFAULT: 0;
  readonly LINEAR: 1;
  readonly LOOP: 2;
  readonly V: 3;
  readonly BIDIRECTIONAL: 4;
  readonly MAP: 5;
};
export type Placement = (typeof Placement)[keyof typeof Placement];

export const SenderWaits: {
  readonly NEVER: 0;
  readonly LIKE_KIND: 1;
};
export type SenderWaits = (typeof SenderWaits)[keyof typeof SenderWaits];

export const BlockKind: {
  readonly ATTENTION: 0;
  readonly LATENT_ATTENTION: 1;
  readonly DELTA: 2;
  readonly MAMBA: 3;
  readonly CONVOLUTION: 4;
  readonly COMPRESSED_ATTENTION: 5;
  readonly MLP: 6;
  readonly EXPERTS: 7;
  readonly LINEAR: 8;
};
export type BlockKind = (typeof BlockKind)[keyof typeof BlockKind];

export const BlockFlag: {
  readonly PARALLEL: 1;
  readonly BIAS: 2;
  readonly OUTPUT_BIAS: 4;
  readonly QK_NORM: 8;
  readonly QK_NORM_ALL: 16;
  readonly NO_LATENT_NORMS: 32;
  readonly OUTPUT_GATE: 64;
  readonly HEAD_GATE: 128;
  readonly SINKS: 256;
  readonly VALUE_IS_KEY: 512;
  readonly SHARED_KEYS: 1024;
  readonly SHARED_INDEX: 2048;
  readonly MAMBA_1: 4096;
  readonly CONVOLUTION_BIAS: 8192;
  readonly NO_GATE_NORM: 16384;
  readonly GATED: 32768;
  readonly ROUTER_BIAS: 65536;
  readonly SHARED_GATE: 131072;
  readonly LATENT_NORM: 262144;
  readonly FREE_NORMS: 524288;
  readonly NO_NORM: 1048576;
};
export type BlockFlag = (typeof BlockFlag)[keyof typeof BlockFlag];

export const DescriptionFlag: {
  readonly TIED: 1;
  readonly NORM_BIAS: 2;
  readonly NOT_CAUSAL: 4;
  readonly DROPOUT: 8;
  readonly NO_FINAL_NORM: 16;
};
export type DescriptionFlag = (typeof DescriptionFlag)[keyof typeof DescriptionFlag];

export const TransformerFlag: {
  readonly TIED: 1;
  readonly GATED: 2;
  readonly NORM_BIAS: 4;
  readonly QKV_BIAS: 8;
  readonly PROJECTION_BIAS: 16;
  readonly MLP_BIAS: 32;
  readonly QK_NORM: 64;
  readonly POST_NORMS: 128;
  readonly ROUTER_BIAS: 256;
  readonly CAUSAL: 512;
  readonly DROPOUT: 1024;
  readonly NO_FINAL_NORM: 2048;
  readonly NO_LATENT_NORMS: 4096;
};
export type TransformerFlag = (typeof TransformerFlag)[keyof typeof TransformerFlag];

export const LogLevel: {
  readonly WARNING: 1;
  readonly INFO: 2;
};
export type LogLevel = (typeof LogLevel)[keyof typeof LogLevel];

export const EvaluateFlag: {
  readonly EARLIEST_ONLY: 1;
  readonly REUSABLE: 2;
};
export type EvaluateFlag = (typeof EvaluateFlag)[keyof typeof EvaluateFlag];

export const MemoryCause: {
  readonly STATIC: 0;
  readonly WEIGHTS: 1;
  readonly OPTIMIZER: 2;
  readonly OTHER: 3;
  readonly GRADIENTS: 4;
  readonly GATHERED: 5;
  readonly SENDS: 6;
  readonly RECEIVES: 7;
  readonly OUTPUTS: 8;
  readonly WORK: 9;
  readonly ACTIVATIONS: 10;
};
export type MemoryCause = (typeof MemoryCause)[keyof typeof MemoryCause];

export const Reason: {
  readonly BEGIN: 1;
  readonly DEVICE: 2;
  readonly INPUT: 3;
  readonly FLUSH: 4;
  readonly COPY: 5;
  readonly TRANSFER: 6;
};
export type Reason = (typeof Reason)[keyof typeof Reason];

export const Format: {
  readonly TEXT: 1;
  readonly CSV: 2;
  readonly JSON: 3;
  readonly CHROME_TRACE: 4;
  readonly MEGATRON: 5;
  readonly DEEPSPEED: 6;
  readonly SAIL: 7;
};
export type Format = (typeof Format)[keyof typeof Format];

export const JobDimension: {
  readonly TENSOR: 0;
  readonly CONTEXT: 1;
  readonly EXPERT: 2;
  readonly EXPERT_TENSOR: 3;
  readonly PIPELINE: 4;
  readonly CHUNKS: 5;
  readonly MICRO_BATCH: 6;
  readonly SHARDING: 7;
  readonly GLOBAL_BATCH: 8;
  readonly RANK_ORDER: 9;
};
export type JobDimension = (typeof JobDimension)[keyof typeof JobDimension];

export const JobGoal: {
  readonly STEP: 0;
  readonly TOKENS: 1;
};
export type JobGoal = (typeof JobGoal)[keyof typeof JobGoal];

export const JobState: {
  readonly LISTED: 0;
  readonly SLOWER: 1;
  readonly OVER_LIMIT: 2;
  readonly DOES_NOT_FIT: 3;
  readonly REFUSED: 4;
  readonly PRICED: 5;
};
export type JobState = (typeof JobState)[keyof typeof JobState];

export const Runtime: {
  readonly MEGATRON: 1;
  readonly TORCHTITAN: 2;
  readonly PYTORCH: 3;
  readonly DEEPSPEED: 4;
  readonly SAIL: 5;
  readonly PRIMUS: 6;
  readonly COLOSSALAI: 7;
  readonly JAXPP: 8;
  readonly MINDSPEED: 9;
};
export type Runtime = (typeof Runtime)[keyof typeof Runtime];

export const Collective: {
  readonly ALL_REDUCE: 0;
  readonly ALL_GATHER: 1;
  readonly REDUCE_SCATTER: 2;
  readonly ALL_TO_ALL: 3;
  readonly SEND: 4;
};
export type Collective = (typeof Collective)[keyof typeof Collective];

export const Measure: {
  readonly FORMULA: 0;
  readonly TABLE: 1;
  readonly NEAREST: 2;
  readonly SAME: 3;
  readonly OTHERS: 4;
};
export type Measure = (typeof Measure)[keyof typeof Measure];

export const LayerPlace: {
  readonly ANY: 0;
  readonly FIRST: 1;
  readonly LAST: 2;
};
export type LayerPlace = (typeof LayerPlace)[keyof typeof LayerPlace];

export const LayerFlag: {
  readonly WITH_NEXT: 1;
  readonly TIED: 2;
  readonly COPIES_EMBEDDING: 4;
  readonly NOT_COPIED: 8;
  readonly SEVERAL_STREAMS: 16;
};
export type LayerFlag = (typeof LayerFlag)[keyof typeof LayerFlag];

export const Lowering: {
  readonly NONE: 0;
  readonly PYTORCH: 1;
  readonly BY_TIME: 2;
  readonly JUST_IN_TIME: 3;
};
export type Lowering = (typeof Lowering)[keyof typeof Lowering];

export const UnshardLookahead: {
  readonly FULL: 0;
  readonly AUTO: 1;
  readonly LIST: 2;
  readonly NEEDED: 3;
};
export type UnshardLookahead = (typeof UnshardLookahead)[keyof typeof UnshardLookahead];

export const TrainingFlag: {
  readonly SEQUENCE_PARALLEL: 1;
  readonly KEEPS_SCORES: 2;
  readonly OVERLAPS_TENSOR: 4;
  readonly OVERLAPS_CONTEXT: 8;
  readonly OVERLAPS_EXPERTS: 16;
  readonly OVERLAPS_GRADIENTS: 32;
  readonly OVERLAPS_PARAMETERS: 64;
  readonly ATTENTION_8BIT: 128;
  readonly GRAPHS: 256;
  readonly FROZEN_WEIGHTS: 512;
  readonly ONE_COPY_A_NODE: 1024;
  readonly ADAPTER_DROPOUT: 2048;
  readonly FUSED_ADAPTERS: 4096;
  readonly WINDOWS_EXPERTS: 8192;
  readonly WINDOWS_TENSOR: 16384;
  readonly WINDOWS_CONTEXT: 32768;
};
export type TrainingFlag = (typeof TrainingFlag)[keyof typeof TrainingFlag];

export const AdapterTarget: {
  readonly QUERY: 1;
  readonly KEY: 2;
  readonly VALUE: 4;
  readonly OUTPUT: 8;
  readonly GATE: 16;
  readonly UP: 32;
  readonly DOWN: 64;
  readonly EXPERTS: 128;
  readonly ROUTER: 256;
  readonly SCAN_INPUT: 512;
  readonly SCAN_OUTPUT: 1024;
  readonly OTHER: 2048;
  readonly HEAD: 4096;
};
export type AdapterTarget = (typeof AdapterTarget)[keyof typeof AdapterTarget];

export const RecomputeModule: {
  readonly CORE_ATTENTION: 1;
  readonly LAYERNORM: 2;
  readonly MLP: 4;
  readonly MOE: 8;
  readonly MOE_ACTIVATION: 16;
  readonly MLA_UP_PROJECTION: 32;
};
export type RecomputeModule = (typeof RecomputeModule)[keyof typeof RecomputeModule];

export const Precision: {
  readonly BF16: 0;
  readonly FP16: 1;
  readonly FP8: 2;
  readonly MXFP8: 3;
  readonly NVFP4: 4;
};
export type Precision = (typeof Precision)[keyof typeof Precision];

export const ModelRole: {
  readonly EMBEDDING: 0;
  readonly TOWER: 1;
  readonly DECODER: 2;
  readonly MTP: 3;
  readonly HEAD: 4;
};
export type ModelRole = (typeof ModelRole)[keyof typeof ModelRole];

export const ModelPass: {
  readonly FORWARD: 0;
  readonly INPUT: 1;
  readonly WEIGHT: 2;
  readonly SELECTIVE: 3;
  readonly FULL: 4;
  readonly MODULES: 5;
};
export type ModelPass = (typeof ModelPass)[keyof typeof ModelPass];

export const Kind: {
  readonly F: 1;
  readonly B: 2;
  readonly I: 3;
  readonly W: 4;
  readonly SEND_F: 5;
  readonly RECV_F: 6;
  readonly SEND_B: 7;
  readonly RECV_B: 8;
  readonly UNSHARD: 9;
  readonly RESHARD: 10;
  readonly REDUCE_GRAD: 11;
  readonly RECOMPUTE: 12;
  readonly OFFLOAD: 13;
  readonly RELOAD: 14;
  readonly OPTIMIZER_STEP: 15;
  readonly OFFLOAD_WAIT: 16;
  readonly WAIT_REDUCE_GRAD: 17;
};
export type Kind = (typeof Kind)[keyof typeof Kind];

export const OpFlag: {
  readonly OVERLAPPED: 1;
  readonly SLICED: 2;
};
export type OpFlag = (typeof OpFlag)[keyof typeof OpFlag];

export const PairRule: {
  readonly BEST: 0;
  readonly MEGATRON: 1;
  readonly MEGATRON_DELAYED: 2;
};
export type PairRule = (typeof PairRule)[keyof typeof PairRule];

export const RankOrder: {
  readonly DATA_FIRST: 0;
  readonly PIPELINE_FIRST: 1;
};
export type RankOrder = (typeof RankOrder)[keyof typeof RankOrder];

export const Quantity: {
  readonly FORWARD_TIMES: 16;
  readonly BACKWARD_TIMES: 17;
  readonly BACKWARD_INPUT_TIMES: 18;
  readonly BACKWARD_WEIGHT_TIMES: 19;
  readonly BACKWARD_INPUT_SHARE: 20;
  readonly OVERLAPPED_TIMES: 21;
  readonly OP_OVERHEAD: 22;
  readonly DEVICE_SPEEDS: 23;
  readonly DEVICE_SCALE: 24;
  readonly LAYER_TYPES: 25;
  readonly STAGE_SCALE: 26;
  readonly DEVICE_OVERHEAD: 27;
  readonly MEM_FORWARD: 32;
  readonly MEM_BACKWARD_INPUT: 33;
  readonly MEM_BACKWARD_WEIGHT: 34;
  readonly MEM_STATIC: 35;
  readonly MEM_WEIGHTS: 36;
  readonly MEM_LIMIT: 37;
  readonly MEM_RECOMPUTED_BACKWARD_INPUT: 38;
  readonly MEM_RECOMPUTED_BACKWARD: 39;
  readonly MEM_OPTIMIZER: 48;
  readonly MEM_OTHER: 49;
  readonly MEM_GRADIENTS: 50;
  readonly MEM_GATHERED: 51;
  readonly MEM_OUTPUT: 52;
  readonly MEM_SEND_FORWARD: 53;
  readonly MEM_SEND_BACKWARD: 54;
  readonly MEM_RECEIVE_FORWARD: 55;
  readonly MEM_RECEIVE_BACKWARD: 56;
  readonly MEM_WORK_FORWARD: 57;
  readonly MEM_WORK_BACKWARD: 58;
  readonly MEM_WORK_BACKWARD_INPUT: 59;
  readonly MEM_WORK_BACKWARD_WEIGHT: 60;
  readonly P2P_TIME: 64;
  readonly P2P_BANDWIDTH: 65;
  readonly ACTIVATION_BYTES: 66;
  readonly GRADIENT_BYTES: 67;
  readonly SEND_OVERHEAD: 68;
  readonly UNSHARD_TIMES: 80;
  readonly REDUCE_GRAD_TIMES: 81;
  readonly UNSHARD_BYTES: 82;
  readonly REDUCE_GRAD_BYTES: 83;
  readonly SHARDING_BANDWIDTH: 84;
  readonly SHARDING_SLOWDOWN: 85;
  readonly RECOMPUTE_TIMES: 96;
  readonly MEM_RECOMPUTE: 97;
  readonly OFFLOAD_TIMES: 98;
  readonly RELOAD_TIMES: 99;
  readonly OFFLOAD_BYTES: 100;
  readonly MEM_OFFLOAD: 101;
  readonly HOST_BANDWIDTH: 102;
  readonly HOST_LATENCY: 103;
  readonly HOST_LINK: 104;
  readonly COPY_SLOWDOWN: 105;
  readonly MICROBATCH_SCALE: 112;
  readonly MICROBATCH_MEMORY_SCALE: 113;
  readonly SLICE_SCALE: 114;
  readonly MICROBATCH_REQUEST: 115;
};
export type Quantity = (typeof Quantity)[keyof typeof Quantity];

export const Connecting: {
  readonly LINKS: 0;
  readonly STAGES: 1;
};
export type Connecting = (typeof Connecting)[keyof typeof Connecting];

export const SlotUse: {
  readonly STAGE_MICROBATCH: 0;
  readonly MICROBATCH: 1;
  readonly RECEIVE: 2;
};
export type SlotUse = (typeof SlotUse)[keyof typeof SlotUse];

export const Dispatch: {
  readonly PLANNED: 0;
  readonly READY: 1;
};
export type Dispatch = (typeof Dispatch)[keyof typeof Dispatch];

export const RankBy: {
  readonly STEP: 0;
  readonly MEAN: 1;
  readonly QUANTILE: 2;
  readonly WORST: 3;
};
export type RankBy = (typeof RankBy)[keyof typeof RankBy];

export const StagePasses: {
  readonly FORWARD_BACKWARD: 1;
  readonly FORWARD_INPUT: 2;
  readonly FORWARD: 3;
};
export type StagePasses = (typeof StagePasses)[keyof typeof StagePasses];

export const Status: {
  readonly OK: 0;
  readonly ERROR_ARGUMENT: 1;
  readonly ERROR_NO_MEMORY: 2;
  readonly ERROR_RANGE: 3;
  readonly ERROR_LENGTH: 4;
  readonly ERROR_STRUCT_SIZE: 5;
  readonly ERROR_UNKNOWN_STRATEGY: 6;
  readonly ERROR_UNKNOWN_OPTION: 7;
  readonly ERROR_REFUSED: 8;
  readonly ERROR_INVALID_SCHEDULE: 9;
  readonly ERROR_MISMATCH: 10;
  readonly ERROR_BUFFER: 11;
  readonly ERROR_WRITER: 12;
  readonly ERROR_CALLBACK: 13;
  readonly ERROR_INTERNAL: 14;
  readonly ERROR_CANCELLED: 15;
  readonly ERROR_SYNTAX: 16;
};
export type Status = (typeof Status)[keyof typeof Status];

export const SteadyReason: {
  readonly FOUND: 0;
  readonly ORDER: 1;
  readonly COSTS: 2;
  readonly SHORT: 3;
  readonly TRANSIENT: 4;
  readonly ROUNDING: 5;
};
export type SteadyReason = (typeof SteadyReason)[keyof typeof SteadyReason];

export interface Bound {
  device: number;
  value: number;
  work: number;
  fill_drain: number;
  memory: number;
  least_limit: number;
  one_machine: number;
  proof: number;
}

export interface CalibratedConstant {
  constant: Lowercase<keyof typeof CalibratorConstant>;
  before: number;
  after: number;
}

export interface CalibratedRun {
  step_time: number;
  error_before: number;
  error_after: number;
  error_left_out: number;
}

export interface ChakraOptions {
  sizes: Lowercase<keyof typeof ChakraSizes>;
  links: Lowercase<keyof typeof ChakraLinks>;
  time_scale: number;
  bytes_scale: number;
  memory_scale: number;
  most_loss: number;
}

export interface ChakraTrace {
  data: string | null;
  length: number;
}

export interface ChannelModel {
  order: Lowercase<keyof typeof ChannelOrder>;
  rendezvous: number;
  batched: number;
  blocking: number;
}

export interface Progress {
  share: number;
  best: number;
}

export interface ModelEnd {
  forward_time: number;
  backward_time: number;
  backward_input_time: number;
  backward_weight_time: number;
  mem_forward: number;
  mem_backward_input: number;
  mem_backward_weight: number;
  mem_static: number;
  mem_weights: number;
}

export interface Block {
  kind: Lowercase<keyof typeof BlockKind>;
  flags: number;
  norms: number;
  heads: number;
  key_value_heads: number;
  head_size: number;
  value_size: number;
  rope_size: number;
  query_rank: number;
  key_value_rank: number;
  window: number;
  chunk: number;
  index_heads: number;
  index_size: number;
  index_tokens: number;
  convolution: number;
  decay_rank: number;
  gate_rank: number;
  state_size: number;
  groups: number;
  time_step_rank: number;
  ratio: number;
  output_groups: number;
  output_rank: number;
  width: number;
  experts: number;
  experts_per_token: number;
  shared_width: number;
  latent_size: number;
  idle_experts: number;
  extra_parameters: number;
}

export interface Transformer {
  flags: number;
  layers: number;
  hidden_size: number;
  ffn_size: number;
  heads: number;
  key_value_heads: number;
  head_size: number;
  vocabulary_size: number;
  positions: number;
  query_rank: number;
  key_value_rank: number;
  rope_head_size: number;
  value_head_size: number;
  experts: number;
  experts_per_token: number;
  expert_ffn_size: number;
  shared_ffn_size: number;
  dense_layers: number;
  expert_interval: number;
  expert_offset: number;
  mtp_layers: number;
  expert_layers: number;
}

export interface Environment {
  log_level: number;
  user: number;
  allocate: number;
  release: number;
  log: number;
}

export interface Metrics {
  span_device: number;
  peak_device: number;
  limit_device: number | null;
  makespan: number;
  span: number;
  bubble_of_total: number;
  bubble_of_ideal: number;
  bubble_of_span: number;
  peak_memory: number;
}

export interface DeviceMetrics {
  peak_position: number | null;
  busy: number;
  idle: number;
  first_start: number;
  last_end: number;
  static_memory: number;
  peak_memory: number;
  peak_time: number;
  memory_limit: number;
}

export interface Idle {
  fill: number;
  drain: number;
  neighbour: number;
  imbalance: number;
  transfer: number;
  link: number;
  head_of_line: number;
  weights: number;
  reload: number;
  calls: number;
  slow_devices: number;
}

export interface IdleWindow {
  start: number;
  end: number;
  memory: number;
  free: number;
}

export interface MemoryItem {
  cause: Lowercase<keyof typeof MemoryCause>;
  stage: number | null;
  microbatch: number | null;
  position: number | null;
  memory: number;
  since: number;
}

export interface MemoryPoint {
  time: number;
  memory: number;
}

export interface Sensitivity {
  more: number;
  less: number;
}

export interface ExportOptions {
  text_columns: number;
  time_scale: number;
}

export interface JobList {
  dimension: Lowercase<keyof typeof JobDimension>;
  count: number;
  values: number;
}

export interface JobLayout {
  state: Lowercase<keyof typeof JobState>;
  tensor_parallel: number;
  context_parallel: number;
  expert_parallel: number;
  expert_tensor_parallel: number;
  pipeline: number;
  data_parallel: number;
  chunks: number;
  micro_batch_size: number;
  microbatches: number;
  global_batch: number;
  sharding: number;
  rank: number | null;
  bound: number;
  least_memory: number;
  rank_order: Lowercase<keyof typeof RankOrder>;
  type_order: number;
  memory_limit: number;
}

export interface JobFound {
  state: Lowercase<keyof typeof JobState>;
  runs_on: number;
  tried: number;
  memory: number;
  memory_limit: number;
}

export interface MeasuredLayer {
  kind: string | null;
  recompute: string | null;
  tensor_parallel: number;
  context_parallel: number;
  expert_parallel: number;
  expert_tensor_parallel: number;
  micro_batch_size: number;
  sequence_length: number;
  forward_time: number;
  backward_input_time: number;
  backward_weight_time: number;
  mem_forward: number;
  mem_static: number;
}

export interface MeasuredCollective {
  collective: Lowercase<keyof typeof Collective>;
  group: number;
  span: number;
  bytes: number;
  time: number;
}

export interface FigureMeasure {
  source: Lowercase<keyof typeof Measure>;
  factor: number;
}

export interface Recompute {
  name: string | null;
  time: number;
  mem_forward: number;
}

export interface Split {
  stages: number;
  layers: number;
  recomputes: number;
}

export interface LayoutStage {
  embeddings: number;
  decoders: number;
  mtps: number;
  heads: number;
}

export interface LayoutRules {
  no_decoders: number;
  no_mtps: number;
  launcher: number;
  no_overlap: number;
  chunks: number;
  decoders: number;
  mtps: number;
}

export interface MegatronSplit {
  account_for_embedding: number;
  account_for_loss: number;
  no_overlap: number;
  layers_per_chunk: number;
  chunks: number;
  first_decoders: number;
  last_decoders: number;
  mtps: number;
}

export interface LowerOptions {
  lowering: Lowercase<keyof typeof Lowering>;
  merge_backwards: number;
  split_backwards: number;
  unshard: number;
  reduce_grad: number;
  defer_receives: number;
  unshard_lookahead: Lowercase<keyof typeof UnshardLookahead>;
  unshard_lookaheads: number;
  unshard_lookahead_count: number;
  receive_prefetch: number;
  reduce_every: number;
}

export interface RecomputeOptions {
  chunks: number;
}

export interface OffloadOptions {
  chunks: number;
  until_limit: number;
  prefetch_distance: number;
  share: number;
}

export interface OrderOptions {
  objective: Lowercase<keyof typeof Objective>;
  effort: number;
}

export interface Balance {
  is_best: number;
  most: number;
  bound: number;
}

export interface Training {
  flags: number;
  sequence_length: number;
  micro_batch_size: number;
  tensor_parallel: number;
  context_parallel: number;
  expert_parallel: number;
  expert_tensor_parallel: number;
  data_parallel: number;
  sharding: number;
  weight_bytes: number;
  gradient_bytes: number;
  optimizer_bytes: number;
  activation_bytes: number;
  precision: Lowercase<keyof typeof Precision>;
  recompute_modules: number;
  expert_load: number;
  adapter_rank: number;
  adapter_expert_rank: number;
  adapter_targets: number;
}

export interface Efficiency {
  least: number;
  share: number;
}

export interface LinkRate {
  bandwidth: number;
  efficiency: number;
  latency: number;
  all_reduce: number;
  all_gather: number;
}

export interface Parameters {
  total: number;
  active: number;
  embedding: number;
  positions: number;
  other: number;
  output: number;
  final_norm: number;
  towers: number;
  mtp: number;
}

export interface ModelRow {
  role: Lowercase<keyof typeof ModelRole>;
  name: string | null;
  layers: number;
  index: number;
  parameters: number;
  active: number;
  mixers: number;
  feed_forwards: number;
  feed_forwards_active: number;
  norms: number;
}

export interface PassCost {
  time: number;
  matrix_time: number;
  vector_time: number;
  memory_time: number;
  communication_time: number;
  matrix_operations: number;
  vector_operations: number;
  memory_bytes: number;
  communication_bytes: number;
  tensor_time: number;
  context_time: number;
  expert_time: number;
  launch_time: number;
}

export interface LayerMemory {
  parameters: number;
  weights: number;
  gradients: number;
  optimizer: number;
  activations: number;
  activations_until_weight: number;
  selective: number;
  full: number;
  output_bytes: number;
  expert_parameters: number;
  modules: number;
  trained: number;
  expert_trained: number;
  slice_state: number;
  slice_gradients: number;
}

export interface UpdateCost {
  optimizer_time: number;
  reduce_time: number;
  gradient_time: number;
  parameter_time: number;
}

export interface Calibration {
  rows: number;
  factors: number;
}

export interface MegatronMemory {
  weight_and_optimizer_bytes: number;
  activation_bytes: number;
  activation_bytes_with_sequence_parallel: number;
  activation_bytes_without: number;
}

export interface MegatronPipeline {
  devices: number;
  chunks: number;
  microbatches: number;
  selective: number;
}

export interface Op {
  microbatch: number | null;
  stage: number;
  slice: number;
  kind: keyof typeof Kind;
  flags: number;
}

export interface Span {
  start: number;
  end: number;
}

export interface Window {
  time: number;
  channel: number;
  after: number;
}

export interface WindowSpan {
  start: number;
  end: number;
  kind: number;
  index: number;
}

export interface PairTimes {
  is_best: number;
  time: number;
  bound: number;
  serial: number;
  forward_end: number;
  backward_end: number;
}

export interface SplitOptions {
  effort: number;
  layers: number;
  empty_stages: number;
}

export interface SliceOptions {
  slice_count: number;
  slices: number;
  slice_time: number;
  attention_share: number;
}

export interface Candidate {
  status: Lowercase<keyof typeof Status>;
  strategy: string | null;
  reason: string | null;
  chunks: number;
  stages: number;
  microbatches: number;
  group_size: number;
  placement: Lowercase<keyof typeof Placement>;
  evaluated: number;
  fits: number;
  limit_device: number | null;
  peak_device: number;
  rank: number | null;
  memory_limit: number;
  step_time: number;
  makespan: number;
  span: number;
  bubble_of_total: number;
  bubble_of_ideal: number;
  bubble_of_span: number;
  peak_memory: number;
  overshoot: number;
  bound: number;
  bytes: number;
  transfers: number;
  runs_on: number;
  proved: number;
  slices: number;
  ordered: number;
  scenario_time: number;
  offloads: number;
  offloaded: number;
  min_group_size: number;
  imbalance: number;
}

export interface Prefill {
  chunks: number;
  tokens: number;
  block: number;
  constant: number;
  linear: number;
  quadratic: number;
  prompts: number;
  prompt_count: number;
}

export interface PrefillFigures {
  is_best: number;
  makespan: number;
  equal_makespan: number;
}

export interface Pipeline {
  devices: number;
  chunks: number;
  microbatches: number;
  strategy: string | null;
  split: number;
  recompute: string | null;
  recompute_layers: number;
  pair_rule: Lowercase<keyof typeof PairRule>;
  progress: number;
  progress_user: number;
  memory_limit: number;
  offload_layers: number;
  rank_order: Lowercase<keyof typeof RankOrder>;
  reduce_every: number;
  hides_copies: number;
}

export interface StepPrice {
  devices: number;
  step_time: number;
  pipeline_time: number;
  optimizer_time: number;
  exposed_data_parallel: number;
  exposed_tensor_parallel: number;
  exposed_context_parallel: number;
  exposed_expert_parallel: number;
  exposed_pipeline: number;
  tokens_per_second_per_device: number;
  operations_per_second_per_device: number;
  mfu: number;
}

export interface DevicePrice {
  weights: number;
  gradients: number;
  optimizer: number;
  activations: number;
  logits: number;
  gathered: number;
  other: number;
  total: number;
}

export interface ReplanOptions {
  running_devices: number;
  strategy: string | null;
  layers: number;
  running_split: number;
  running_recomputes: number;
  running_order: number;
  lost: number;
  layer_bytes: number;
  running_stages: number;
  lost_count: number;
  layer_count: number;
  group_size: number;
  free_device_order: number;
  split_effort: number;
  load_bandwidth: number;
  restart_time: number;
  steps: number;
}

export interface ReplanFigures {
  can_stay: number;
  stays: number;
  fits: number;
  running_step_time: number;
  step_time: number;
  moved_bytes: number;
  loaded_bytes: number;
  move_time: number;
  pays_after: number;
  group_size: number;
}

export interface LayerMove {
  first_layer: number;
  layer_count: number;
  from_device: number | null;
  to_device: number;
  bytes: number;
}

export interface ReplicasOptions {
  microbatches: number;
  strategy: string | null;
  layers: number;
  chunks: number;
  group_size: number;
  free_device_order: number;
  split_effort: number;
}

export interface ReplicasFigures {
  proved: number;
  step_time: number;
  equal_step_time: number;
}

export interface Replica {
  microbatches: number;
  stages: number;
  devices: number;
  layers: number;
  proved: number;
  step_time: number;
  split: number;
  device_order: number;
  recomputes: number;
}

export interface Link {
  sender: number;
  receiver: number;
  transfers: number;
  most_in_flight: number;
}

export interface OpBuffer {
  slot: number | null;
  until: number | null;
}

export interface Connection {
  round: number;
  sender: number;
  receiver: number;
  sending_stage: number | null;
  receiving_stage: number | null;
}

export interface Lifetime {
  microbatch: number;
  stage: number | null;
  kind: number;
  slot: number;
  first: number;
  last: number;
}

export interface Arena {
  stage: number | null;
  kind: number;
  slots: number;
  first: number;
  count: number;
}

export interface ScenarioOptions {
  dispatch: Lowercase<keyof typeof Dispatch>;
  seed: number;
  jitter: number;
  message_jitter: number;
  device_factors: number;
  device_factor_count: number;
  stage_factors: number;
  stage_factor_count: number;
  link_factors: number;
  link_factor_count: number;
}

export interface ScenarioMetrics {
  count: number;
  best_scenario: number;
  worst_scenario: number;
  cause_device: number;
  mean: number;
  best: number;
  worst: number;
}

export interface Error {
  status: Lowercase<keyof typeof Status>;
  device: number | null;
  stage: number | null;
  microbatch: number | null;
  position: number | null;
  message: string;
}

export interface SteadyPeriod {
  reason: Lowercase<keyof typeof SteadyReason>;
  block: number;
  blocks: number;
  transient: number;
  timed: number;
  time: number;
  cycle_time: number;
  rounding: number;
}

export interface StrategyInfo {
  placement: Lowercase<keyof typeof Placement>;
  option_count: number;
  alias_count: number;
  chunks: number;
  weight_versions: number;
  splits_backward: number;
  flushes: number;
  searches: number;
  searches_long: number;
  takes_group_size: number;
  slices: number;
  offloads: number;
  most_memory: number;
  name: string | null;
  summary: string | null;
  source: string | null;
  aliases: number;
}

export interface OptionInfo {
  choice_count: number;
  minimum: number;
  maximum: number;
  name: string | null;
  default_text: string | null;
  summary: string | null;
  choices: number;
}

export interface Wait {
  device: number;
  position: number;
  op: Op;
}

export interface Finding {
  kind: Lowercase<keyof typeof FindingKind>;
  device: number;
  position: number | null;
  other_device: number | null;
  other_position: number | null;
  op: Op;
  other: Op;
}

export interface LayerKind {
  block_count: number;
  name: string | null;
  blocks: number;
}

export interface CriticalOp {
  device: number;
  position: number;
  op: Op;
  reason: Lowercase<keyof typeof Reason>;
  start: number;
  end: number;
}

export interface LaunchOptions {
  exact: number;
  csv: string | null;
  layers: number;
  micro_batch: number;
  model: number;
  split: number;
  data_parallel: number;
}

export interface LayerTable {
  layer_count: number;
  layers: number;
  collectives: number;
  collective_count: number;
}

export interface RowMeasure {
  forward: FigureMeasure;
  input: FigureMeasure;
  weight: FigureMeasure;
  mem_forward: FigureMeasure;
  mem_static: FigureMeasure;
  selective: FigureMeasure;
  full: FigureMeasure;
  modules: FigureMeasure;
}

export interface Accelerator {
  node_devices: number;
  name: string | null;
  matrix_rate: number;
  vector_rate: number;
  memory_bandwidth: number;
  memory: number;
  matrix_efficiency: number;
  vector_efficiency: number;
  memory_efficiency: number;
  matrix_efficiency_count: number;
  vector_efficiency_count: number;
  memory_efficiency_count: number;
  shares_ports: number;
  inside: LinkRate;
  between: LinkRate;
  rate_8bit: number;
  rate_4bit: number;
  matrix_share: number;
  attention_share: number;
  fp8_share: number;
  mxfp8_share: number;
  nvfp4_share: number;
  op_time: number;
  host_time: number;
  hidden_share: number;
  permute_traffic: number;
  slowdown: number;
  fused_permute_traffic: number;
  bias_traffic: number;
  memory_hidden: number;
  scan_share: number;
  host_bandwidth: number;
  pod_nodes: number;
  lacks_bf16: number;
  beyond: LinkRate;
  scale_slowdown: number;
  part_node_ports: number;
  pair_share: number;
}

export interface PairWindows {
  forward: number;
  forward_count: number;
  backward: number;
  backward_count: number;
  weight: number;
  weight_count: number;
  slowdown: number[];
}

export interface RankingOptions {
  scenario_count: number;
  rank_by: Lowercase<keyof typeof RankBy>;
  quantile: number;
  scenario_options: number;
}

export interface Tower {
  is_frozen: number;
  name: string | null;
  hidden_size: number;
  layers: number;
  tokens: number;
  has_norm_bias: number;
  kind: number;
  extra_parameters: number;
  deepstack_layers: number;
  patches_per_token: number;
}

export interface JobType {
  accelerator: number;
  gpus: number;
  memory_limit: number;
}

export interface Layer {
  count: number;
  name: string | null;
  place: Lowercase<keyof typeof LayerPlace>;
  flags: number;
  forward_time: number;
  backward_time: number;
  backward_input_time: number;
  backward_weight_time: number;
  mem_forward: number;
  mem_backward_input: number;
  mem_backward_weight: number;
  mem_static: number;
  mem_weights: number;
  output_bytes: number;
  recomputes: number;
  recompute_count: number;
  type_count: number;
  hybrid_symbols: string | null;
  device_scale: number;
  windows: number;
  mem_slice_state: number;
  mem_slice_gradients: number;
  attention_share: number;
}

export interface PlanOptions {
  objective: Lowercase<keyof typeof Objective>;
  strategies: number;
  chunks: number;
  group_sizes: number;
  microbatches: number;
  memory_limits: number;
  lower: number;
  channel: number;
  embedding: number;
  head: number;
  split: number;
  slice: number;
  ranking: number;
  strategy_count: number;
  chunk_count: number;
  group_size_count: number;
  microbatch_count: number;
  memory_limit_count: number;
  placements: number;
  effort: number;
  order_effort: number;
  runtimes: number;
  runtime: Lowercase<keyof typeof Runtime>;
  offload: number;
  free_device_order: number;
  top: number;
}

export interface DescriptionInfo {
  flags: number;
  hidden_size: number;
  vocabulary_size: number;
  positions: number;
  layer_count: number;
  layers: number;
  kinds: number;
  kind_count: number;
  tower_count: number;
  towers: number;
  mtp_layers: number;
  mtp_kind: number;
  streams: number;
  stream_interval: number;
  extra_parameters: number;
  sequence_length: number;
  layer_input: number;
  family: string | null;
}

export interface JobOptions {
  gpus: number;
  lists: number;
  list_count: number;
  goal: Lowercase<keyof typeof JobGoal>;
  runtime: Lowercase<keyof typeof Runtime>;
  top: number;
  strategies: number;
  strategy_count: number;
  type_count: number;
  memory_limit: number;
  table: number;
  types: number;
}

export const STRUCTS: Record<string, { size: number; fields: Record<string, [string, number, number, Record<string, number>?]> }>;
export const FUNCTIONS: Record<string, string[]>;
