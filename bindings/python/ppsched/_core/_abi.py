# SPDX-License-Identifier: Apache-2.0
# Written by generate_abi.py from include/ppsched/*.h. Do not edit.
"""The C ABI: constants, struct layouts and prototypes."""
from __future__ import annotations

import enum
from ctypes import (CDLL, CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_int32, c_int64, c_size_t,
                    c_uint8, c_uint16, c_uint32, c_uint64, c_void_p)
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

if TYPE_CHECKING:
    from ctypes import Array, _FuncPointer, _Pointer

EXACT_WINDOWS = 24
MAX_BLOCKS = 16
MAX_CELLS = 1073741824
MAX_LAYERS = 65535
MAX_LAYER_KINDS = 256
MAX_LAYOUT_LAYERS = 1000000
MAX_RECOMPUTES = 8
MAX_SCENARIOS = 16777216
MAX_SLICES = 65535
MAX_STAGES = 65535
MAX_WINDOWS = 1000
MAX_WINDOW_CHANNELS = 4
NONE = 4294967295


class Objective(enum.IntEnum):
    """What a search minimises.

    SPAN: the longest span of a device, from first start to last end
    MAKESPAN: the time from 0 to the end of the last op
    """

    SPAN = 1
    MAKESPAN = 2


class CalibratorConstant(enum.IntEnum):
    MATRIX_SHARE = 0
    ATTENTION_SHARE = 1
    OP_TIME = 2
    HOST_TIME = 3
    FP8_SHARE = 4
    MXFP8_SHARE = 5
    NVFP4_SHARE = 6


class ChakraSizes(enum.IntEnum):
    """How many bytes a message has in the traces.

    BYTES: the number of bytes that the config has for the message, at least 1. The simulated network determines how long a message
      takes
    TIMES: 2 bytes per nanosecond of the config's transfer time (latency included), at least 1 byte. On a network with 2 bytes per
      nanosecond and no latency, a message takes exactly the transfer time
    """

    BYTES = 0
    TIMES = 1


class ChakraLinks(enum.IntEnum):
    """How traces represent a link between two devices.

    SENDERS: traces have no links. A device has at most one message in flight, even if its messages go to different devices
      (ChannelOrder.SENDS)
    RANKS: each link is a rank, numbered after the ranks of the devices. A link has at most one message in flight. `sizes` must be
      TIMES
    """

    SENDERS = 0
    RANKS = 1


class ChannelOrder(enum.IntEnum):
    """Which sends and receives of a device wait for each other. Sends and receives of one channel run one after another, in the order
    of the device's queue. A send or receive may start when all sends and receives before it in its channel are done.

    GROUP: one channel per device: all sends and receives use one communicator
    DIRECTION: two channels per device: one for activations, one for gradients
    PAIR: one channel for each link (directed pair of devices)
    NONE: no channels: no send or receive waits for another. Example: each transfer has a unique tag
    SENDS: one channel for all sends of a device. In an evaluation a send occupies this channel until its value has arrived.
      Receives wait for no other send or receive of their device. Examples: ASTRA-sim, and network cards that send one message after
      another
    """

    GROUP = 0
    DIRECTION = 1
    PAIR = 2
    NONE = 3
    SENDS = 4


class FindingKind(enum.IntEnum):
    """What is wrong in a schedule.

    MISSING: `op` is on no device, but belongs on `device`
    DUPLICATE: `op` is in the queue a second time, or repeats work of `other`: `op` is a second backward, or a W in addition to a B
    MISPLACED: `op` is on `device`, but belongs on `other_device`. With a stage graph, `op` may belong on no device, because its
      stage does not have this op; then `other_device` is None
    CYCLE: one wait of a wait cycle: `op` waits for `other`, which is on the device of the next finding. In the last finding of the
      cycle, `other` is on the device of the first finding
    BLOCKED: `op` waits for `other`, which is missing or misplaced
    CONFLICT: `op` and `other` must not both be in the schedule: a RECOMPUTE and an OFFLOAD of one stage pass; a second REDUCE_GRAD
      while another REDUCE_GRAD is in flight; or, for a stage on several devices, a B on one device and an I on another
    """

    MISSING = 1
    DUPLICATE = 2
    MISPLACED = 3
    CYCLE = 4
    BLOCKED = 5
    CONFLICT = 6


class Placement(enum.IntEnum):
    """Which device holds which stages. D is the number of devices, S the number of stages.

    DEFAULT: the strategy's own placement. For custom schedules, the default is LOOP
    LINEAR: S = D, stage s on device s
    LOOP: stage s on device s mod D
    V: the first D stages are on devices 0 to D-1, the next D stages on devices D-1 to 0, and so on in turn
    BIDIRECTIONAL: S = D, and there are two copies of the model (DualPipe). For the first half of an iteration's microbatches, stage
      s is on device s. For the second half, stage s is on device D-1-s
    MAP: the caller gives a list with the device of each stage
    """

    DEFAULT = 0
    LINEAR = 1
    LOOP = 2
    V = 3
    BIDIRECTIONAL = 4
    MAP = 5


class SenderWaits(enum.IntEnum):
    """Whether a device that has sent a value waits until the value has arrived.

    NEVER: A sender never waits: transfers run at the same time as compute.
    LIKE_KIND: After an op, a device waits for its transfer if the next op is of the same kind and stage. By default, senders in
      Megatron-LM wait in this way in warm-up and cool-down: a device sends and receives before it continues.
      - This rule distinguishes two kinds: F is one kind, and B, I and W together are the other kind.
      - The rule applies to two successive ops of a device that have the same stage and the same kind. If the schedule flushes, both
      ops must also be in the same iteration. If the output of the first op goes to another device, the second op starts only when
      this transfer has ended. A W has no output, so by this rule no op waits after a W.
      - A W also waits after the end of its own I. This wait is as long as the transfer of the gradient that the I read. There is no
      such wait on the last stage, or if the gradient came from the same device.
      - There is no wait before, inside or after an overlapped pair. There is also no wait for a transfer whose value an overlapped
      pair reads.
    """

    NEVER = 0
    LIKE_KIND = 1


class BlockKind(enum.IntEnum):
    ATTENTION = 0
    LATENT_ATTENTION = 1
    DELTA = 2
    MAMBA = 3
    CONVOLUTION = 4
    COMPRESSED_ATTENTION = 5
    MLP = 6
    EXPERTS = 7
    LINEAR = 8


class BlockFlag(enum.IntEnum):
    PARALLEL = 1
    BIAS = 2
    OUTPUT_BIAS = 4
    QK_NORM = 8
    QK_NORM_ALL = 16
    NO_LATENT_NORMS = 32
    OUTPUT_GATE = 64
    HEAD_GATE = 128
    SINKS = 256
    VALUE_IS_KEY = 512
    SHARED_KEYS = 1024
    SHARED_INDEX = 2048
    MAMBA_1 = 4096
    CONVOLUTION_BIAS = 8192
    NO_GATE_NORM = 16384
    GATED = 32768
    ROUTER_BIAS = 65536
    SHARED_GATE = 131072
    LATENT_NORM = 262144
    FREE_NORMS = 524288
    NO_NORM = 1048576


class DescriptionFlag(enum.IntEnum):
    TIED = 1
    NORM_BIAS = 2
    NOT_CAUSAL = 4
    DROPOUT = 8
    NO_FINAL_NORM = 16


class TransformerFlag(enum.IntEnum):
    TIED = 1
    GATED = 2
    NORM_BIAS = 4
    QKV_BIAS = 8
    PROJECTION_BIAS = 16
    MLP_BIAS = 32
    QK_NORM = 64
    POST_NORMS = 128
    ROUTER_BIAS = 256
    CAUSAL = 512
    DROPOUT = 1024
    NO_FINAL_NORM = 2048
    NO_LATENT_NORMS = 4096


class LogLevel(enum.IntEnum):
    WARNING = 1
    INFO = 2


class EvaluateFlag(enum.IntEnum):
    EARLIEST_ONLY = 1
    REUSABLE = 2


class MemoryCause(enum.IntEnum):
    """Memory causes: the purposes for which a device holds memory. The comment of each cause names the quantities that set the amount.

    STATIC: mem_static of the device's stages
    WEIGHTS: mem_weights, times the number of weight versions
    OPTIMIZER: mem_optimizer
    OTHER: mem_other of the device
    GRADIENTS: mem_gradients
    GATHERED: mem_gathered
    SENDS: mem_send_forward, mem_send_backward
    RECEIVES: mem_receive_forward, mem_receive_backward
    OUTPUTS: mem_output
    WORK: mem_work_forward, mem_work_backward, mem_work_backward_input, mem_work_backward_weight
    ACTIVATIONS: mem_forward; plus what backwards recompute (mem_recomputed_backward_input, mem_recomputed_backward) or add (a
      positive mem_backward_input); minus what mem_backward_input and mem_backward_weight have released
    """

    STATIC = 0
    WEIGHTS = 1
    OPTIMIZER = 2
    OTHER = 3
    GRADIENTS = 4
    GATHERED = 5
    SENDS = 6
    RECEIVES = 7
    OUTPUTS = 8
    WORK = 9
    ACTIVATIONS = 10


class Reason(enum.IntEnum):
    """Why an op of the critical path starts when it does. An input that was computed on the op's own device is never the reason,
    because the previous op of the device never ends before this input is computed.

    BEGIN: the op is the first of its device, and starts at 0
    DEVICE: the previous F, B, I or W of its device ends at this time
    INPUT: an input from another device arrives at this time
    FLUSH: the iteration before ends at this time, on another device
    COPY: a copy ends at this time. If the op is a compute op, this is the copy of its own RELOAD, or a copy for which its device
      waited in an OFFLOAD_WAIT. If the op is an OFFLOAD or RELOAD, this is the copy before its copy on the same device or link. For
      a RELOAD, this may also be the copy of its OFFLOAD
    TRANSFER: only where senders wait (ppsched.SenderWaits): the device waited for a transfer that ends at this time. The wait was
      after the previous op of the device or, for a W, after the I of this W
    """

    BEGIN = 1
    DEVICE = 2
    INPUT = 3
    FLUSH = 4
    COPY = 5
    TRANSFER = 6


class Format(enum.IntEnum):
    """Formats.

    TEXT: a grid for terminals: one row per device, time to the right. With more than 1024 devices it shows only the first 512 and
      the last 511 devices
    CSV: PyTorch's CSV: one row per device, one cell per op. The CSV has PyTorch's form compute_only if each op is F, B, I or W,
      otherwise the form compute_comms
    JSON: JSON: one object. It has the sizes, the tokens of each queue, the starts and ends of ops, the metrics and the flags
    CHROME_TRACE: Trace Event JSON with tracks, arrows and memory counters, for Perfetto and chrome://tracing
    MEGATRON: Megatron-LM, only for 1F1B and interleaved 1F1B: a JSON object with the schedule table, the warm-up counts and the
      order lists
    DEEPSPEED: DeepSpeed, only for 1F1B: instruction lists with buffer ids, one line per rank
    SAIL: sail-sg's zero-bubble runtime: JSON with one list of scheduled nodes per rank
    """

    TEXT = 1
    CSV = 2
    JSON = 3
    CHROME_TRACE = 4
    MEGATRON = 5
    DEEPSPEED = 6
    SAIL = 7


class JobDimension(enum.IntEnum):
    TENSOR = 0
    CONTEXT = 1
    EXPERT = 2
    EXPERT_TENSOR = 3
    PIPELINE = 4
    CHUNKS = 5
    MICRO_BATCH = 6
    SHARDING = 7
    GLOBAL_BATCH = 8
    RANK_ORDER = 9


class JobGoal(enum.IntEnum):
    STEP = 0
    TOKENS = 1


class JobState(enum.IntEnum):
    LISTED = 0
    SLOWER = 1
    OVER_LIMIT = 2
    DOES_NOT_FIT = 3
    REFUSED = 4
    PRICED = 5


class Runtime(enum.IntEnum):
    """The training runtimes.

    MEGATRON: Megatron-LM: flags of its launcher
    TORCHTITAN: torchtitan: flags of its launcher
    PYTORCH: torch.distributed.pipelining: settings of the script, NAME=VALUE
    DEEPSPEED: DeepSpeed: num_stages of PipelineModule, and a key of its configuration, NAME=VALUE
    SAIL: sail-sg's zero-bubble fork of Megatron-LM: flags of its launcher
    PRIMUS: AMD Primus on Megatron-LM: overrides of its configuration
    COLOSSALAI: Colossal-AI: arguments of HybridParallelPlugin, NAME=VALUE
    JAXPP: JaxPP: a schedule class and its arguments, NAME=VALUE
    MINDSPEED: MindSpeed on Megatron-LM: flags of its launcher
    """

    MEGATRON = 1
    TORCHTITAN = 2
    PYTORCH = 3
    DEEPSPEED = 4
    SAIL = 5
    PRIMUS = 6
    COLOSSALAI = 7
    JAXPP = 8
    MINDSPEED = 9


class Collective(enum.IntEnum):
    ALL_REDUCE = 0
    ALL_GATHER = 1
    REDUCE_SCATTER = 2
    ALL_TO_ALL = 3
    SEND = 4


class Measure(enum.IntEnum):
    FORMULA = 0
    TABLE = 1
    NEAREST = 2
    SAME = 3
    OTHERS = 4


class LayerPlace(enum.IntEnum):
    ANY = 0
    FIRST = 1
    LAST = 2


class LayerFlag(enum.IntEnum):
    WITH_NEXT = 1
    TIED = 2
    COPIES_EMBEDDING = 4
    NOT_COPIED = 8
    SEVERAL_STREAMS = 16


class Lowering(enum.IntEnum):
    """Where lowering puts sends and receives. The producer of a value is the op that computes it; the consumer is the op that needs
    it. A send always comes after its producer; only receives may be between the send and its producer. There are no sends between
    stages on the same device.

    NONE: adds no sends and no receives. All other passes of Schedule.lower run if they are set
    PYTORCH: works as in PyTorch: devices take turns, and in its turn a device runs one op. When a value is sent, its receive is put
      at the place in the queue that the receiving device has reached
    BY_TIME: works as in sail-sg and zeropipe: a receive is put before the op that the receiving device runs at the time when the
      value is sent. Needs the config's times
    JUST_IN_TIME: a receive is put right before its consumer. But if devices that block in sends and receives would deadlock because
      of this, the receive is put earlier. So no channel model makes the result deadlock
    """

    NONE = 0
    PYTORCH = 1
    BY_TIME = 2
    JUST_IN_TIME = 3


class UnshardLookahead(enum.IntEnum):
    """How early a device gathers parameters. Before each op, the device looks at the next stages in its queue, beginning with the
    stage of the op. If it does not hold the parameters of one of these stages yet, it gathers them. The lookahead is the number of
    stages that the device looks at. With a lookahead of 1, the device looks only at the stage of the op.

    FULL: the lookahead of each device is `unshard`, the largest number of stages whose parameters the device holds
    AUTO: the lookahead of device r is the smaller of r + 2 and `unshard`. The reason for r + 2: if an UNSHARD takes as long as a
      forward, device r can complete r + 2 UNSHARDs before its first op has its input
    LIST: the lookaheads are in `unshard_lookaheads`, one number for each device
    NEEDED: each UNSHARD comes as late as it can without delaying a compute op. If possible, devices stay within their memory
      limits. The library finds these places from the config's times. If the schedule with FULL is within the limits, the schedule
      with NEEDED takes no longer than with FULL. The same is true for AUTO. The times compared are those of the evaluation with
      transfers, with ChannelOrder.NONE and buffered sends
    """

    FULL = 0
    AUTO = 1
    LIST = 2
    NEEDED = 3


class TrainingFlag(enum.IntEnum):
    SEQUENCE_PARALLEL = 1
    KEEPS_SCORES = 2
    OVERLAPS_TENSOR = 4
    OVERLAPS_CONTEXT = 8
    OVERLAPS_EXPERTS = 16
    OVERLAPS_GRADIENTS = 32
    OVERLAPS_PARAMETERS = 64
    ATTENTION_8BIT = 128
    GRAPHS = 256
    FROZEN_WEIGHTS = 512
    ONE_COPY_A_NODE = 1024
    ADAPTER_DROPOUT = 2048
    FUSED_ADAPTERS = 4096
    WINDOWS_EXPERTS = 8192
    WINDOWS_TENSOR = 16384
    WINDOWS_CONTEXT = 32768


class AdapterTarget(enum.IntEnum):
    QUERY = 1
    KEY = 2
    VALUE = 4
    OUTPUT = 8
    GATE = 16
    UP = 32
    DOWN = 64
    EXPERTS = 128
    ROUTER = 256
    SCAN_INPUT = 512
    SCAN_OUTPUT = 1024
    OTHER = 2048
    HEAD = 4096


class RecomputeModule(enum.IntEnum):
    CORE_ATTENTION = 1
    LAYERNORM = 2
    MLP = 4
    MOE = 8
    MOE_ACTIVATION = 16
    MLA_UP_PROJECTION = 32


class Precision(enum.IntEnum):
    BF16 = 0
    FP16 = 1
    FP8 = 2
    MXFP8 = 3
    NVFP4 = 4


class ModelRole(enum.IntEnum):
    EMBEDDING = 0
    TOWER = 1
    DECODER = 2
    MTP = 3
    HEAD = 4


class ModelPass(enum.IntEnum):
    FORWARD = 0
    INPUT = 1
    WEIGHT = 2
    SELECTIVE = 3
    FULL = 4
    MODULES = 5


class Kind(enum.IntEnum):
    """Kinds of operation. F, B, I and W are PyTorch's letters. A *stage pass* is all ops of one microbatch (or, if microbatches have
    slices, of one slice) on one stage.
    B is the full backward here and in PyTorch. The zero-bubble papers write B for the backward that computes only the input
    gradient. Here that backward is I.
    Time: F, B, I and W take time in every evaluation. SEND, RECV, UNSHARD and REDUCE_GRAD take time only in
    Schedule.evaluate_transfers. In that call, a device in a WAIT_REDUCE_GRAD does nothing until the REDUCE_GRAD is done. RESHARD
    and OPTIMIZER_STEP never take time, but they wait for the ops before them in the queue.
    Activation memory saving: RECOMPUTE, OFFLOAD, RELOAD and OFFLOAD_WAIT reduce the memory that a stage pass holds between its F
    and its backward (B or I).
    - A stage pass has one RECOMPUTE, or one OFFLOAD and later one RELOAD, or none of these ops. In the queue of the device,
    RECOMPUTE, OFFLOAD and RELOAD come after the F of the stage pass and before its backward.
    - An OFFLOAD may have one OFFLOAD_WAIT, anywhere after it in the queue. At the OFFLOAD_WAIT, the device does nothing until the
    memory of the OFFLOAD is free.
    - evaluate.h describes the time and memory of these ops (Schedule.evaluate). memory_saving.h has functions that add these ops to
    a schedule.
    RECOMPUTE, OFFLOAD, RELOAD, OFFLOAD_WAIT and OPTIMIZER_STEP are not supported everywhere.
    - A builder accepts these ops. The format JSON writes and reads them, CHROME_TRACE writes them, and TEXT leaves them out.
    - All other formats and all launch arguments refuse a schedule with any of these ops.
    - Schedule.lower refuses OPTIMIZER_STEP, and accepts the other four. Schedule.check checks RECOMPUTE, OFFLOAD, RELOAD,
    OFFLOAD_WAIT and WAIT_REDUCE_GRAD. It ignores SEND, RECV, UNSHARD, RESHARD and OPTIMIZER_STEP. It also ignores REDUCE_GRAD on a
    device that has no WAIT_REDUCE_GRAD.

    F: forward
    B: full backward: input and weight gradient
    I: backward for the input gradient only
    W: backward for the weight gradient only, after its I
    SEND_F: send the activation to the next stage
    RECV_F: receive the activation from the stage before
    SEND_B: send the gradient to the stage before
    RECV_B: receive the gradient from the next stage
    UNSHARD: all-gather a stage's parameters; it has no microbatch
    RESHARD: free the gathered parameters; it has no microbatch
    REDUCE_GRAD: reduce a stage's gradients over data-parallel ranks; it has no microbatch
    RECOMPUTE: run the forward again before a backward
    OFFLOAD: copy an activation to host memory, and free it
    RELOAD: copy an offloaded activation back to device memory
    OPTIMIZER_STEP: update a stage's weights; it has no microbatch
    OFFLOAD_WAIT: wait until the copy of an OFFLOAD is done
    WAIT_REDUCE_GRAD: wait until the REDUCE_GRAD of the stage is done; it has no microbatch
    """

    F = 1
    B = 2
    I = 3
    W = 4
    SEND_F = 5
    RECV_F = 6
    SEND_B = 7
    RECV_B = 8
    UNSHARD = 9
    RESHARD = 10
    REDUCE_GRAD = 11
    RECOMPUTE = 12
    OFFLOAD = 13
    RELOAD = 14
    OPTIMIZER_STEP = 15
    OFFLOAD_WAIT = 16
    WAIT_REDUCE_GRAD = 17


class OpFlag(enum.IntEnum):
    OVERLAPPED = 1
    SLICED = 2


class PairRule(enum.IntEnum):
    BEST = 0
    MEGATRON = 1
    MEGATRON_DELAYED = 2


class RankOrder(enum.IntEnum):
    DATA_FIRST = 0
    PIPELINE_FIRST = 1


class Quantity(enum.IntEnum):
    FORWARD_TIMES = 16
    BACKWARD_TIMES = 17
    BACKWARD_INPUT_TIMES = 18
    BACKWARD_WEIGHT_TIMES = 19
    BACKWARD_INPUT_SHARE = 20
    OVERLAPPED_TIMES = 21
    OP_OVERHEAD = 22
    DEVICE_SPEEDS = 23
    DEVICE_SCALE = 24
    LAYER_TYPES = 25
    STAGE_SCALE = 26
    DEVICE_OVERHEAD = 27
    MEM_FORWARD = 32
    MEM_BACKWARD_INPUT = 33
    MEM_BACKWARD_WEIGHT = 34
    MEM_STATIC = 35
    MEM_WEIGHTS = 36
    MEM_LIMIT = 37
    MEM_RECOMPUTED_BACKWARD_INPUT = 38
    MEM_RECOMPUTED_BACKWARD = 39
    MEM_OPTIMIZER = 48
    MEM_OTHER = 49
    MEM_GRADIENTS = 50
    MEM_GATHERED = 51
    MEM_OUTPUT = 52
    MEM_SEND_FORWARD = 53
    MEM_SEND_BACKWARD = 54
    MEM_RECEIVE_FORWARD = 55
    MEM_RECEIVE_BACKWARD = 56
    MEM_WORK_FORWARD = 57
    MEM_WORK_BACKWARD = 58
    MEM_WORK_BACKWARD_INPUT = 59
    MEM_WORK_BACKWARD_WEIGHT = 60
    P2P_TIME = 64
    P2P_BANDWIDTH = 65
    ACTIVATION_BYTES = 66
    GRADIENT_BYTES = 67
    SEND_OVERHEAD = 68
    UNSHARD_TIMES = 80
    REDUCE_GRAD_TIMES = 81
    UNSHARD_BYTES = 82
    REDUCE_GRAD_BYTES = 83
    SHARDING_BANDWIDTH = 84
    SHARDING_SLOWDOWN = 85
    RECOMPUTE_TIMES = 96
    MEM_RECOMPUTE = 97
    OFFLOAD_TIMES = 98
    RELOAD_TIMES = 99
    OFFLOAD_BYTES = 100
    MEM_OFFLOAD = 101
    HOST_BANDWIDTH = 102
    HOST_LATENCY = 103
    HOST_LINK = 104
    COPY_SLOWDOWN = 105
    MICROBATCH_SCALE = 112
    MICROBATCH_MEMORY_SCALE = 113
    SLICE_SCALE = 114
    MICROBATCH_REQUEST = 115


class Connecting(enum.IntEnum):
    """The connections that devices set up before they run a schedule.

    LINKS: a communicator for each directed pair of devices that have neighbouring stages. No device is in two communicators of a
      round, so one collective call can make all communicators of a round
    STAGES: a first message for each pair of neighbouring stages that are on different devices. All messages share one communicator.
      In a round, each device sends or receives at most one message
    """

    LINKS = 0
    STAGES = 1


class SlotUse(enum.IntEnum):
    """What a slot holds. If microbatches have slices, each slice counts as a microbatch.

    STAGE_MICROBATCH: a slot for each live stage pass: from its F to its B, or to its W if the backward is split
    MICROBATCH: a slot for each live microbatch: from the first F of its stage passes on the device to the last B or W
    RECEIVE: a slot for each received value: from its receive to the B of the stage pass, or to its W if the backward is split. Each
      stage has separate slots for activations and for gradients
    """

    STAGE_MICROBATCH = 0
    MICROBATCH = 1
    RECEIVE = 2


class Dispatch(enum.IntEnum):
    """The order in which a device runs its ops. READY describes a runtime with dispatch when ready: a free device runs an op whose
    inputs are there. Of several such ops, it runs the first in the order of the schedule. A free device is idle only in two cases:
    no op is ready; or all ready ops are Fs and overlapped pairs, and the first of these may not run yet because of the memory rule.
    - The memory rule: an F or an overlapped pair may overtake ops, that is, run before ops that come earlier in the order, only if
    all ops that it overtakes can still run after it, in their order, within the device's memory limit. So there is no deadlock. If
    there is no limit, or if the schedule exceeds the limit, the planned peak counts as the limit.
    - Of the Fs and overlapped pairs that are ready, only the first may run.
    - If several events happen at the same time, a device chooses its next op after all of them.
    - Flushes are kept: no op runs before a flush that comes before it in the order.

    PLANNED: a device runs its ops in the order of the schedule
    READY: a device runs the first op that is ready, as described above
    """

    PLANNED = 0
    READY = 1


class RankBy(enum.IntEnum):
    """The time by which plans rank candidates. Searches minimise the same time.

    STEP: rank by the planned time
    MEAN: rank by the mean time over all scenarios
    QUANTILE: rank by a quantile: the least time that a given share of the scenarios does not exceed
    WORST: rank by the longest time of all scenarios
    """

    STEP = 0
    MEAN = 1
    QUANTILE = 2
    WORST = 3


class StagePasses(enum.IntEnum):
    FORWARD_BACKWARD = 1
    FORWARD_INPUT = 2
    FORWARD = 3


class Status(enum.IntEnum):
    """How a call of the library ended: the attribute `status` of ppsched.Error.

    OK
    ERROR_ARGUMENT: a null pointer, or an unknown value
    ERROR_NO_MEMORY: the allocator returned null
    ERROR_RANGE: a number that is NaN, infinite, negative or out of its bounds; or the number of something that does not exist, such
      as a device
    ERROR_LENGTH: a list with a wrong number of values
    ERROR_STRUCT_SIZE: `size` of a struct is not set or not accepted; or the caller's struct is longer than the library's, and the
      additional bytes are not zero (ppsched.h: sized structs)
    ERROR_UNKNOWN_STRATEGY: no strategy has this name
    ERROR_UNKNOWN_OPTION: the strategy has no such option
    ERROR_REFUSED: a strategy or a placement does not support the problem; or a lowering, format or runtime does not support the
      schedule or layout
    ERROR_INVALID_SCHEDULE: a schedule is incomplete, has an op twice or on the wrong device, or cannot be executed
    ERROR_MISMATCH: two arguments do not belong together: for instance, a schedule and a config have different numbers of devices or
      stages
    ERROR_BUFFER: the caller's buffer is too small; `*needed` has the least size that is enough
    ERROR_WRITER: the caller's writer callback (export.h) asked to stop
    ERROR_CALLBACK: the caller's generator callback (schedule.h) failed
    ERROR_INTERNAL: a defect of the library
    ERROR_CANCELLED: the caller's progress callback asked to stop
    ERROR_SYNTAX: a text that does not follow its format
    """

    OK = 0
    ERROR_ARGUMENT = 1
    ERROR_NO_MEMORY = 2
    ERROR_RANGE = 3
    ERROR_LENGTH = 4
    ERROR_STRUCT_SIZE = 5
    ERROR_UNKNOWN_STRATEGY = 6
    ERROR_UNKNOWN_OPTION = 7
    ERROR_REFUSED = 8
    ERROR_INVALID_SCHEDULE = 9
    ERROR_MISMATCH = 10
    ERROR_BUFFER = 11
    ERROR_WRITER = 12
    ERROR_CALLBACK = 13
    ERROR_INTERNAL = 14
    ERROR_CANCELLED = 15
    ERROR_SYNTAX = 16


class SteadyReason(enum.IntEnum):
    """Whether a period was found, or why all ops were timed one by one.

    FOUND: a period was found
    ORDER: the order is not known to repeat. This is the case for searches, gpipe, looped_bfs, strategies with offload, schedules of
      only forwards, and stage graphs
    COSTS: one of three cases:
      - costs of microbatches or slices differ;
      - there are several iterations, and one of the quantities from MEM_OPTIMIZER to MEM_WORK_BACKWARD_WEIGHT is set, or memory
      rises in a backward (MEM_RECOMPUTED_BACKWARD_INPUT, MEM_RECOMPUTED_BACKWARD, a positive MEM_BACKWARD_INPUT);
      - devices have speeds, and the order depends on the costs
    SHORT: there are too few microbatches
    TRANSIENT: the times do not begin to repeat in the first half of the microbatches
    ROUNDING: the times are not multiples of one power of two, and rounding them to such multiples would change a time by more than
      a share of 2^-40
    """

    FOUND = 0
    ORDER = 1
    COSTS = 2
    SHORT = 3
    TRANSIENT = 4
    ROUNDING = 5


AllocateFunction = CFUNCTYPE(c_void_p, c_void_p, c_size_t)
ReleaseFunction = CFUNCTYPE(None, c_void_p, c_void_p)
LogFunction = CFUNCTYPE(None, c_void_p, c_int32, c_char_p)
WriteFunction = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_size_t)
GenerateFunction = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p)


class Bound(Structure):
    size: int
    device: int
    value: float
    work: float
    fill_drain: float
    memory: float
    least_limit: float
    one_machine: float
    proof: float
    _fields_ = [
        ("size", c_uint32),
        ("device", c_uint32),
        ("value", c_double),
        ("work", c_double),
        ("fill_drain", c_double),
        ("memory", c_double),
        ("least_limit", c_double),
        ("one_machine", c_double),
        ("proof", c_double),
    ]


class CalibratedConstant(Structure):
    size: int
    constant: int
    before: float
    after: float
    _fields_ = [
        ("size", c_uint32),
        ("constant", c_int32),
        ("before", c_double),
        ("after", c_double),
    ]


class CalibratedRun(Structure):
    size: int
    reserved: int
    step_time: float
    error_before: float
    error_after: float
    error_left_out: float
    _fields_ = [
        ("size", c_uint32),
        ("reserved", c_uint32),
        ("step_time", c_double),
        ("error_before", c_double),
        ("error_after", c_double),
        ("error_left_out", c_double),
    ]


class ChakraOptions(Structure):
    size: int
    sizes: int
    links: int
    reserved: int
    time_scale: float
    bytes_scale: float
    memory_scale: float
    most_loss: float
    _fields_ = [
        ("size", c_uint32),
        ("sizes", c_int32),
        ("links", c_int32),
        ("reserved", c_uint32),
        ("time_scale", c_double),
        ("bytes_scale", c_double),
        ("memory_scale", c_double),
        ("most_loss", c_double),
    ]


class ChakraTrace(Structure):
    data: Optional[bytes]
    length: int
    _fields_ = [
        ("data", c_char_p),
        ("length", c_size_t),
    ]


class ChannelModel(Structure):
    size: int
    order: int
    rendezvous: int
    batched: int
    blocking: int
    _fields_ = [
        ("size", c_uint32),
        ("order", c_int32),
        ("rendezvous", c_uint32),
        ("batched", c_uint32),
        ("blocking", c_uint32),
    ]


class Progress(Structure):
    size: int
    reserved: int
    share: float
    best: float
    _fields_ = [
        ("size", c_uint32),
        ("reserved", c_uint32),
        ("share", c_double),
        ("best", c_double),
    ]


ProgressFunction = CFUNCTYPE(c_int32, c_void_p, POINTER(Progress))


class ModelEnd(Structure):
    size: int
    reserved: int
    forward_time: float
    backward_time: float
    backward_input_time: float
    backward_weight_time: float
    mem_forward: float
    mem_backward_input: float
    mem_backward_weight: float
    mem_static: float
    mem_weights: float
    _fields_ = [
        ("size", c_uint32),
        ("reserved", c_uint32),
        ("forward_time", c_double),
        ("backward_time", c_double),
        ("backward_input_time", c_double),
        ("backward_weight_time", c_double),
        ("mem_forward", c_double),
        ("mem_backward_input", c_double),
        ("mem_backward_weight", c_double),
        ("mem_static", c_double),
        ("mem_weights", c_double),
    ]


class Block(Structure):
    size: int
    kind: int
    flags: int
    norms: int
    heads: int
    key_value_heads: int
    head_size: int
    value_size: int
    rope_size: int
    query_rank: int
    key_value_rank: int
    window: int
    chunk: int
    index_heads: int
    index_size: int
    index_tokens: int
    convolution: int
    decay_rank: int
    gate_rank: int
    state_size: int
    groups: int
    time_step_rank: int
    ratio: int
    output_groups: int
    output_rank: int
    width: int
    experts: int
    experts_per_token: int
    shared_width: int
    latent_size: int
    idle_experts: int
    reserved: int
    extra_parameters: int
    _fields_ = [
        ("size", c_uint32),
        ("kind", c_int32),
        ("flags", c_uint32),
        ("norms", c_uint32),
        ("heads", c_uint32),
        ("key_value_heads", c_uint32),
        ("head_size", c_uint32),
        ("value_size", c_uint32),
        ("rope_size", c_uint32),
        ("query_rank", c_uint32),
        ("key_value_rank", c_uint32),
        ("window", c_uint32),
        ("chunk", c_uint32),
        ("index_heads", c_uint32),
        ("index_size", c_uint32),
        ("index_tokens", c_uint32),
        ("convolution", c_uint32),
        ("decay_rank", c_uint32),
        ("gate_rank", c_uint32),
        ("state_size", c_uint32),
        ("groups", c_uint32),
        ("time_step_rank", c_uint32),
        ("ratio", c_uint32),
        ("output_groups", c_uint32),
        ("output_rank", c_uint32),
        ("width", c_uint32),
        ("experts", c_uint32),
        ("experts_per_token", c_uint32),
        ("shared_width", c_uint32),
        ("latent_size", c_uint32),
        ("idle_experts", c_uint32),
        ("reserved", c_uint32),
        ("extra_parameters", c_uint64),
    ]


class Transformer(Structure):
    size: int
    flags: int
    layers: int
    hidden_size: int
    ffn_size: int
    heads: int
    key_value_heads: int
    head_size: int
    vocabulary_size: int
    positions: int
    query_rank: int
    key_value_rank: int
    rope_head_size: int
    value_head_size: int
    experts: int
    experts_per_token: int
    expert_ffn_size: int
    shared_ffn_size: int
    dense_layers: int
    expert_interval: int
    expert_offset: int
    mtp_layers: int
    reserved: Array[c_uint32]
    expert_layers: _Pointer[c_uint8]
    _fields_ = [
        ("size", c_uint32),
        ("flags", c_uint32),
        ("layers", c_uint32),
        ("hidden_size", c_uint32),
        ("ffn_size", c_uint32),
        ("heads", c_uint32),
        ("key_value_heads", c_uint32),
        ("head_size", c_uint32),
        ("vocabulary_size", c_uint32),
        ("positions", c_uint32),
        ("query_rank", c_uint32),
        ("key_value_rank", c_uint32),
        ("rope_head_size", c_uint32),
        ("value_head_size", c_uint32),
        ("experts", c_uint32),
        ("experts_per_token", c_uint32),
        ("expert_ffn_size", c_uint32),
        ("shared_ffn_size", c_uint32),
        ("dense_layers", c_uint32),
        ("expert_interval", c_uint32),
        ("expert_offset", c_uint32),
        ("mtp_layers", c_uint32),
        ("reserved", c_uint32 * 2),
        ("expert_layers", POINTER(c_uint8)),
    ]


class Environment(Structure):
    size: int
    log_level: int
    user: Optional[int]
    allocate: _FuncPointer
    release: _FuncPointer
    log: _FuncPointer
    _fields_ = [
        ("size", c_uint32),
        ("log_level", c_int32),
        ("user", c_void_p),
        ("allocate", AllocateFunction),
        ("release", ReleaseFunction),
        ("log", LogFunction),
    ]


class Metrics(Structure):
    size: int
    span_device: int
    peak_device: int
    limit_device: int
    makespan: float
    span: float
    bubble_of_total: float
    bubble_of_ideal: float
    bubble_of_span: float
    peak_memory: float
    _fields_ = [
        ("size", c_uint32),
        ("span_device", c_uint32),
        ("peak_device", c_uint32),
        ("limit_device", c_uint32),
        ("makespan", c_double),
        ("span", c_double),
        ("bubble_of_total", c_double),
        ("bubble_of_ideal", c_double),
        ("bubble_of_span", c_double),
        ("peak_memory", c_double),
    ]


class DeviceMetrics(Structure):
    size: int
    peak_position: int
    busy: float
    idle: float
    first_start: float
    last_end: float
    static_memory: float
    peak_memory: float
    peak_time: float
    memory_limit: float
    _fields_ = [
        ("size", c_uint32),
        ("peak_position", c_uint32),
        ("busy", c_double),
        ("idle", c_double),
        ("first_start", c_double),
        ("last_end", c_double),
        ("static_memory", c_double),
        ("peak_memory", c_double),
        ("peak_time", c_double),
        ("memory_limit", c_double),
    ]


class Idle(Structure):
    size: int
    reserved: int
    fill: float
    drain: float
    neighbour: float
    imbalance: float
    transfer: float
    link: float
    head_of_line: float
    weights: float
    reload: float
    calls: float
    slow_devices: float
    _fields_ = [
        ("size", c_uint32),
        ("reserved", c_uint32),
        ("fill", c_double),
        ("drain", c_double),
        ("neighbour", c_double),
        ("imbalance", c_double),
        ("transfer", c_double),
        ("link", c_double),
        ("head_of_line", c_double),
        ("weights", c_double),
        ("reload", c_double),
        ("calls", c_double),
        ("slow_devices", c_double),
    ]


class IdleWindow(Structure):
    start: float
    end: float
    memory: float
    free: float
    _fields_ = [
        ("start", c_double),
        ("end", c_double),
        ("memory", c_double),
        ("free", c_double),
    ]


class MemoryItem(Structure):
    cause: int
    stage: int
    microbatch: int
    position: int
    memory: float
    since: float
    _fields_ = [
        ("cause", c_int32),
        ("stage", c_uint32),
        ("microbatch", c_uint32),
        ("position", c_uint32),
        ("memory", c_double),
        ("since", c_double),
    ]


class MemoryPoint(Structure):
    time: float
    memory: float
    _fields_ = [
        ("time", c_double),
        ("memory", c_double),
    ]


class Sensitivity(Structure):
    more: float
    less: float
    _fields_ = [
        ("more", c_double),
        ("less", c_double),
    ]


class ExportOptions(Structure):
    size: int
    text_columns: int
    time_scale: float
    _fields_ = [
        ("size", c_uint32),
        ("text_columns", c_uint32),
        ("time_scale", c_double),
    ]


class JobList(Structure):
    dimension: int
    count: int
    values: _Pointer[c_uint32]
    _fields_ = [
        ("dimension", c_int32),
        ("count", c_uint32),
        ("values", POINTER(c_uint32)),
    ]


class JobLayout(Structure):
    size: int
    state: int
    tensor_parallel: int
    context_parallel: int
    expert_parallel: int
    expert_tensor_parallel: int
    pipeline: int
    data_parallel: int
    chunks: int
    micro_batch_size: int
    microbatches: int
    global_batch: int
    sharding: int
    rank: int
    bound: float
    least_memory: float
    rank_order: int
    type_order: int
    memory_limit: float
    _fields_ = [
        ("size", c_uint32),
        ("state", c_int32),
        ("tensor_parallel", c_uint32),
        ("context_parallel", c_uint32),
        ("expert_parallel", c_uint32),
        ("expert_tensor_parallel", c_uint32),
        ("pipeline", c_uint32),
        ("data_parallel", c_uint32),
        ("chunks", c_uint32),
        ("micro_batch_size", c_uint32),
        ("microbatches", c_uint32),
        ("global_batch", c_uint32),
        ("sharding", c_uint32),
        ("rank", c_uint32),
        ("bound", c_double),
        ("least_memory", c_double),
        ("rank_order", c_int32),
        ("type_order", c_uint32),
        ("memory_limit", c_double),
    ]


class JobFound(Structure):
    size: int
    state: int
    runs_on: int
    tried: int
    memory: float
    memory_limit: float
    _fields_ = [
        ("size", c_uint32),
        ("state", c_int32),
        ("runs_on", c_uint32),
        ("tried", c_uint32),
        ("memory", c_double),
        ("memory_limit", c_double),
    ]


class MeasuredLayer(Structure):
    kind: Optional[bytes]
    recompute: Optional[bytes]
    tensor_parallel: int
    context_parallel: int
    expert_parallel: int
    expert_tensor_parallel: int
    micro_batch_size: int
    sequence_length: int
    forward_time: float
    backward_input_time: float
    backward_weight_time: float
    mem_forward: float
    mem_static: float
    _fields_ = [
        ("kind", c_char_p),
        ("recompute", c_char_p),
        ("tensor_parallel", c_uint32),
        ("context_parallel", c_uint32),
        ("expert_parallel", c_uint32),
        ("expert_tensor_parallel", c_uint32),
        ("micro_batch_size", c_uint32),
        ("sequence_length", c_uint32),
        ("forward_time", c_double),
        ("backward_input_time", c_double),
        ("backward_weight_time", c_double),
        ("mem_forward", c_double),
        ("mem_static", c_double),
    ]


class MeasuredCollective(Structure):
    collective: int
    group: int
    span: int
    reserved: int
    bytes: float
    time: float
    _fields_ = [
        ("collective", c_int32),
        ("group", c_uint32),
        ("span", c_uint32),
        ("reserved", c_uint32),
        ("bytes", c_double),
        ("time", c_double),
    ]


class FigureMeasure(Structure):
    source: int
    reserved: int
    factor: float
    _fields_ = [
        ("source", c_int32),
        ("reserved", c_uint32),
        ("factor", c_double),
    ]


class Recompute(Structure):
    name: Optional[bytes]
    time: float
    mem_forward: float
    _fields_ = [
        ("name", c_char_p),
        ("time", c_double),
        ("mem_forward", c_double),
    ]


class Split(Structure):
    size: int
    stages: int
    layers: _Pointer[c_uint32]
    recomputes: _Pointer[c_uint8]
    _fields_ = [
        ("size", c_uint32),
        ("stages", c_uint32),
        ("layers", POINTER(c_uint32)),
        ("recomputes", POINTER(c_uint8)),
    ]


class LayoutStage(Structure):
    embeddings: int
    decoders: int
    mtps: int
    heads: int
    _fields_ = [
        ("embeddings", c_uint32),
        ("decoders", c_uint32),
        ("mtps", c_uint32),
        ("heads", c_uint32),
    ]


class LayoutRules(Structure):
    size: int
    no_decoders: int
    no_mtps: int
    launcher: int
    no_overlap: int
    reserved: int
    chunks: int
    decoders: int
    mtps: int
    _fields_ = [
        ("size", c_uint32),
        ("no_decoders", c_uint32),
        ("no_mtps", c_uint32),
        ("launcher", c_uint32),
        ("no_overlap", c_uint32),
        ("reserved", c_uint32),
        ("chunks", c_int64),
        ("decoders", c_int64),
        ("mtps", c_int64),
    ]


class MegatronSplit(Structure):
    size: int
    account_for_embedding: int
    account_for_loss: int
    no_overlap: int
    layers_per_chunk: int
    chunks: int
    first_decoders: int
    last_decoders: int
    mtps: int
    _fields_ = [
        ("size", c_uint32),
        ("account_for_embedding", c_uint32),
        ("account_for_loss", c_uint32),
        ("no_overlap", c_uint32),
        ("layers_per_chunk", c_int64),
        ("chunks", c_int64),
        ("first_decoders", c_int64),
        ("last_decoders", c_int64),
        ("mtps", c_int64),
    ]


class LowerOptions(Structure):
    size: int
    lowering: int
    merge_backwards: int
    split_backwards: int
    unshard: int
    reduce_grad: int
    defer_receives: int
    unshard_lookahead: int
    unshard_lookaheads: _Pointer[c_uint32]
    unshard_lookahead_count: int
    receive_prefetch: int
    reduce_every: int
    reserved: int
    _fields_ = [
        ("size", c_uint32),
        ("lowering", c_int32),
        ("merge_backwards", c_uint32),
        ("split_backwards", c_uint32),
        ("unshard", c_uint32),
        ("reduce_grad", c_uint32),
        ("defer_receives", c_uint32),
        ("unshard_lookahead", c_int32),
        ("unshard_lookaheads", POINTER(c_uint32)),
        ("unshard_lookahead_count", c_uint32),
        ("receive_prefetch", c_uint32),
        ("reduce_every", c_uint32),
        ("reserved", c_uint32),
    ]


class RecomputeOptions(Structure):
    size: int
    chunks: int
    _fields_ = [
        ("size", c_uint32),
        ("chunks", c_uint32),
    ]


class OffloadOptions(Structure):
    size: int
    chunks: int
    until_limit: int
    prefetch_distance: int
    share: float
    _fields_ = [
        ("size", c_uint32),
        ("chunks", c_uint32),
        ("until_limit", c_uint32),
        ("prefetch_distance", c_uint32),
        ("share", c_double),
    ]


class OrderOptions(Structure):
    size: int
    objective: int
    effort: int
    _fields_ = [
        ("size", c_uint32),
        ("objective", c_int32),
        ("effort", c_uint32),
    ]


class Balance(Structure):
    size: int
    is_best: int
    most: float
    bound: float
    _fields_ = [
        ("size", c_uint32),
        ("is_best", c_uint32),
        ("most", c_double),
        ("bound", c_double),
    ]


class Training(Structure):
    size: int
    flags: int
    sequence_length: int
    micro_batch_size: int
    tensor_parallel: int
    context_parallel: int
    expert_parallel: int
    expert_tensor_parallel: int
    data_parallel: int
    sharding: int
    weight_bytes: float
    gradient_bytes: float
    optimizer_bytes: float
    activation_bytes: float
    precision: int
    recompute_modules: int
    expert_load: float
    adapter_rank: int
    adapter_expert_rank: int
    adapter_targets: int
    reserved: int
    _fields_ = [
        ("size", c_uint32),
        ("flags", c_uint32),
        ("sequence_length", c_uint32),
        ("micro_batch_size", c_uint32),
        ("tensor_parallel", c_uint32),
        ("context_parallel", c_uint32),
        ("expert_parallel", c_uint32),
        ("expert_tensor_parallel", c_uint32),
        ("data_parallel", c_uint32),
        ("sharding", c_uint32),
        ("weight_bytes", c_double),
        ("gradient_bytes", c_double),
        ("optimizer_bytes", c_double),
        ("activation_bytes", c_double),
        ("precision", c_int32),
        ("recompute_modules", c_uint32),
        ("expert_load", c_double),
        ("adapter_rank", c_uint32),
        ("adapter_expert_rank", c_uint32),
        ("adapter_targets", c_uint32),
        ("reserved", c_uint32),
    ]


class Efficiency(Structure):
    least: float
    share: float
    _fields_ = [
        ("least", c_double),
        ("share", c_double),
    ]


class LinkRate(Structure):
    bandwidth: float
    efficiency: float
    latency: float
    all_reduce: float
    all_gather: float
    _fields_ = [
        ("bandwidth", c_double),
        ("efficiency", c_double),
        ("latency", c_double),
        ("all_reduce", c_double),
        ("all_gather", c_double),
    ]


class Parameters(Structure):
    size: int
    reserved: int
    total: int
    active: int
    embedding: int
    positions: int
    other: int
    output: int
    final_norm: int
    towers: int
    mtp: int
    _fields_ = [
        ("size", c_uint32),
        ("reserved", c_uint32),
        ("total", c_uint64),
        ("active", c_uint64),
        ("embedding", c_uint64),
        ("positions", c_uint64),
        ("other", c_uint64),
        ("output", c_uint64),
        ("final_norm", c_uint64),
        ("towers", c_uint64),
        ("mtp", c_uint64),
    ]


class ModelRow(Structure):
    size: int
    role: int
    name: Optional[bytes]
    layers: int
    index: int
    parameters: int
    active: int
    mixers: int
    feed_forwards: int
    feed_forwards_active: int
    norms: int
    _fields_ = [
        ("size", c_uint32),
        ("role", c_int32),
        ("name", c_char_p),
        ("layers", c_uint32),
        ("index", c_uint32),
        ("parameters", c_uint64),
        ("active", c_uint64),
        ("mixers", c_uint64),
        ("feed_forwards", c_uint64),
        ("feed_forwards_active", c_uint64),
        ("norms", c_uint64),
    ]


class PassCost(Structure):
    size: int
    reserved: int
    time: float
    matrix_time: float
    vector_time: float
    memory_time: float
    communication_time: float
    matrix_operations: float
    vector_operations: float
    memory_bytes: float
    communication_bytes: float
    tensor_time: float
    context_time: float
    expert_time: float
    launch_time: float
    _fields_ = [
        ("size", c_uint32),
        ("reserved", c_uint32),
        ("time", c_double),
        ("matrix_time", c_double),
        ("vector_time", c_double),
        ("memory_time", c_double),
        ("communication_time", c_double),
        ("matrix_operations", c_double),
        ("vector_operations", c_double),
        ("memory_bytes", c_double),
        ("communication_bytes", c_double),
        ("tensor_time", c_double),
        ("context_time", c_double),
        ("expert_time", c_double),
        ("launch_time", c_double),
    ]


class LayerMemory(Structure):
    size: int
    reserved: int
    parameters: float
    weights: float
    gradients: float
    optimizer: float
    activations: float
    activations_until_weight: float
    selective: float
    full: float
    output_bytes: float
    expert_parameters: float
    modules: float
    trained: float
    expert_trained: float
    slice_state: float
    slice_gradients: float
    _fields_ = [
        ("size", c_uint32),
        ("reserved", c_uint32),
        ("parameters", c_double),
        ("weights", c_double),
        ("gradients", c_double),
        ("optimizer", c_double),
        ("activations", c_double),
        ("activations_until_weight", c_double),
        ("selective", c_double),
        ("full", c_double),
        ("output_bytes", c_double),
        ("expert_parameters", c_double),
        ("modules", c_double),
        ("trained", c_double),
        ("expert_trained", c_double),
        ("slice_state", c_double),
        ("slice_gradients", c_double),
    ]


class UpdateCost(Structure):
    size: int
    reserved: int
    optimizer_time: float
    reduce_time: float
    gradient_time: float
    parameter_time: float
    _fields_ = [
        ("size", c_uint32),
        ("reserved", c_uint32),
        ("optimizer_time", c_double),
        ("reduce_time", c_double),
        ("gradient_time", c_double),
        ("parameter_time", c_double),
    ]


class Calibration(Structure):
    size: int
    rows: int
    factors: _Pointer[c_double]
    _fields_ = [
        ("size", c_uint32),
        ("rows", c_uint32),
        ("factors", POINTER(c_double)),
    ]


class MegatronMemory(Structure):
    size: int
    reserved: int
    weight_and_optimizer_bytes: float
    activation_bytes: float
    activation_bytes_with_sequence_parallel: float
    activation_bytes_without: float
    _fields_ = [
        ("size", c_uint32),
        ("reserved", c_uint32),
        ("weight_and_optimizer_bytes", c_double),
        ("activation_bytes", c_double),
        ("activation_bytes_with_sequence_parallel", c_double),
        ("activation_bytes_without", c_double),
    ]


class MegatronPipeline(Structure):
    size: int
    devices: int
    chunks: int
    microbatches: int
    selective: int
    reserved: int
    _fields_ = [
        ("size", c_uint32),
        ("devices", c_uint32),
        ("chunks", c_uint32),
        ("microbatches", c_uint32),
        ("selective", c_uint32),
        ("reserved", c_uint32),
    ]


class Op(Structure):
    microbatch: int
    stage: int
    slice: int
    kind: int
    flags: int
    reserved: int
    _fields_ = [
        ("microbatch", c_uint32),
        ("stage", c_uint16),
        ("slice", c_uint16),
        ("kind", c_uint8),
        ("flags", c_uint8),
        ("reserved", c_uint16),
    ]


class Span(Structure):
    start: float
    end: float
    _fields_ = [
        ("start", c_double),
        ("end", c_double),
    ]


class Window(Structure):
    time: float
    channel: int
    after: int
    _fields_ = [
        ("time", c_double),
        ("channel", c_uint32),
        ("after", c_uint32),
    ]


class WindowSpan(Structure):
    start: float
    end: float
    kind: int
    index: int
    _fields_ = [
        ("start", c_double),
        ("end", c_double),
        ("kind", c_int32),
        ("index", c_uint32),
    ]


class PairTimes(Structure):
    size: int
    is_best: int
    time: float
    bound: float
    serial: float
    forward_end: float
    backward_end: float
    _fields_ = [
        ("size", c_uint32),
        ("is_best", c_uint32),
        ("time", c_double),
        ("bound", c_double),
        ("serial", c_double),
        ("forward_end", c_double),
        ("backward_end", c_double),
    ]


class SplitOptions(Structure):
    size: int
    effort: int
    layers: Optional[int]
    empty_stages: int
    reserved: int
    _fields_ = [
        ("size", c_uint32),
        ("effort", c_uint32),
        ("layers", c_void_p),
        ("empty_stages", c_uint32),
        ("reserved", c_uint32),
    ]


class SliceOptions(Structure):
    size: int
    slice_count: int
    slices: _Pointer[c_uint32]
    slice_time: float
    attention_share: float
    _fields_ = [
        ("size", c_uint32),
        ("slice_count", c_uint32),
        ("slices", POINTER(c_uint32)),
        ("slice_time", c_double),
        ("attention_share", c_double),
    ]


class Candidate(Structure):
    size: int
    status: int
    strategy: Optional[bytes]
    reason: Optional[bytes]
    chunks: int
    stages: int
    microbatches: int
    group_size: int
    placement: int
    evaluated: int
    fits: int
    limit_device: int
    peak_device: int
    rank: int
    memory_limit: float
    step_time: float
    makespan: float
    span: float
    bubble_of_total: float
    bubble_of_ideal: float
    bubble_of_span: float
    peak_memory: float
    overshoot: float
    bound: float
    bytes: float
    transfers: int
    runs_on: int
    proved: int
    slices: int
    ordered: int
    scenario_time: float
    offloads: int
    offloaded: int
    min_group_size: int
    imbalance: float
    _fields_ = [
        ("size", c_uint32),
        ("status", c_int32),
        ("strategy", c_char_p),
        ("reason", c_char_p),
        ("chunks", c_uint32),
        ("stages", c_uint32),
        ("microbatches", c_uint32),
        ("group_size", c_uint32),
        ("placement", c_int32),
        ("evaluated", c_uint32),
        ("fits", c_uint32),
        ("limit_device", c_uint32),
        ("peak_device", c_uint32),
        ("rank", c_uint32),
        ("memory_limit", c_double),
        ("step_time", c_double),
        ("makespan", c_double),
        ("span", c_double),
        ("bubble_of_total", c_double),
        ("bubble_of_ideal", c_double),
        ("bubble_of_span", c_double),
        ("peak_memory", c_double),
        ("overshoot", c_double),
        ("bound", c_double),
        ("bytes", c_double),
        ("transfers", c_uint64),
        ("runs_on", c_uint32),
        ("proved", c_uint32),
        ("slices", c_uint32),
        ("ordered", c_uint32),
        ("scenario_time", c_double),
        ("offloads", c_uint64),
        ("offloaded", c_uint32),
        ("min_group_size", c_uint32),
        ("imbalance", c_double),
    ]


class Prefill(Structure):
    size: int
    chunks: int
    tokens: int
    block: int
    constant: float
    linear: float
    quadratic: float
    prompts: _Pointer[c_uint64]
    prompt_count: int
    _fields_ = [
        ("size", c_uint32),
        ("chunks", c_uint32),
        ("tokens", c_uint64),
        ("block", c_uint64),
        ("constant", c_double),
        ("linear", c_double),
        ("quadratic", c_double),
        ("prompts", POINTER(c_uint64)),
        ("prompt_count", c_size_t),
    ]


class PrefillFigures(Structure):
    size: int
    is_best: int
    makespan: float
    equal_makespan: float
    _fields_ = [
        ("size", c_uint32),
        ("is_best", c_uint32),
        ("makespan", c_double),
        ("equal_makespan", c_double),
    ]


class Pipeline(Structure):
    size: int
    devices: int
    chunks: int
    microbatches: int
    strategy: Optional[bytes]
    split: _Pointer[c_uint32]
    recompute: Optional[bytes]
    recompute_layers: int
    pair_rule: int
    progress: _FuncPointer
    progress_user: Optional[int]
    memory_limit: float
    offload_layers: int
    rank_order: int
    reduce_every: int
    hides_copies: int
    _fields_ = [
        ("size", c_uint32),
        ("devices", c_uint32),
        ("chunks", c_uint32),
        ("microbatches", c_uint32),
        ("strategy", c_char_p),
        ("split", POINTER(c_uint32)),
        ("recompute", c_char_p),
        ("recompute_layers", c_uint32),
        ("pair_rule", c_int32),
        ("progress", ProgressFunction),
        ("progress_user", c_void_p),
        ("memory_limit", c_double),
        ("offload_layers", c_uint32),
        ("rank_order", c_int32),
        ("reduce_every", c_uint32),
        ("hides_copies", c_uint32),
    ]


class StepPrice(Structure):
    size: int
    devices: int
    step_time: float
    pipeline_time: float
    optimizer_time: float
    exposed_data_parallel: float
    exposed_tensor_parallel: float
    exposed_context_parallel: float
    exposed_expert_parallel: float
    exposed_pipeline: float
    tokens_per_second_per_device: float
    operations_per_second_per_device: float
    mfu: float
    _fields_ = [
        ("size", c_uint32),
        ("devices", c_uint32),
        ("step_time", c_double),
        ("pipeline_time", c_double),
        ("optimizer_time", c_double),
        ("exposed_data_parallel", c_double),
        ("exposed_tensor_parallel", c_double),
        ("exposed_context_parallel", c_double),
        ("exposed_expert_parallel", c_double),
        ("exposed_pipeline", c_double),
        ("tokens_per_second_per_device", c_double),
        ("operations_per_second_per_device", c_double),
        ("mfu", c_double),
    ]


class DevicePrice(Structure):
    size: int
    reserved: int
    weights: float
    gradients: float
    optimizer: float
    activations: float
    logits: float
    gathered: float
    other: float
    total: float
    _fields_ = [
        ("size", c_uint32),
        ("reserved", c_uint32),
        ("weights", c_double),
        ("gradients", c_double),
        ("optimizer", c_double),
        ("activations", c_double),
        ("logits", c_double),
        ("gathered", c_double),
        ("other", c_double),
        ("total", c_double),
    ]


class ReplanOptions(Structure):
    size: int
    running_devices: int
    strategy: Optional[bytes]
    layers: Optional[int]
    running_split: _Pointer[c_uint32]
    running_recomputes: _Pointer[c_uint8]
    running_order: _Pointer[c_uint32]
    lost: _Pointer[c_uint32]
    layer_bytes: _Pointer[c_double]
    running_stages: int
    lost_count: int
    layer_count: int
    group_size: int
    free_device_order: int
    split_effort: int
    load_bandwidth: float
    restart_time: float
    steps: float
    _fields_ = [
        ("size", c_uint32),
        ("running_devices", c_uint32),
        ("strategy", c_char_p),
        ("layers", c_void_p),
        ("running_split", POINTER(c_uint32)),
        ("running_recomputes", POINTER(c_uint8)),
        ("running_order", POINTER(c_uint32)),
        ("lost", POINTER(c_uint32)),
        ("layer_bytes", POINTER(c_double)),
        ("running_stages", c_uint32),
        ("lost_count", c_uint32),
        ("layer_count", c_uint32),
        ("group_size", c_uint32),
        ("free_device_order", c_uint32),
        ("split_effort", c_uint32),
        ("load_bandwidth", c_double),
        ("restart_time", c_double),
        ("steps", c_double),
    ]


class ReplanFigures(Structure):
    size: int
    can_stay: int
    stays: int
    fits: int
    running_step_time: float
    step_time: float
    moved_bytes: float
    loaded_bytes: float
    move_time: float
    pays_after: float
    group_size: int
    reserved: int
    _fields_ = [
        ("size", c_uint32),
        ("can_stay", c_uint32),
        ("stays", c_uint32),
        ("fits", c_uint32),
        ("running_step_time", c_double),
        ("step_time", c_double),
        ("moved_bytes", c_double),
        ("loaded_bytes", c_double),
        ("move_time", c_double),
        ("pays_after", c_double),
        ("group_size", c_uint32),
        ("reserved", c_uint32),
    ]


class LayerMove(Structure):
    first_layer: int
    layer_count: int
    from_device: int
    to_device: int
    bytes: float
    _fields_ = [
        ("first_layer", c_uint32),
        ("layer_count", c_uint32),
        ("from_device", c_uint32),
        ("to_device", c_uint32),
        ("bytes", c_double),
    ]


class ReplicasOptions(Structure):
    size: int
    microbatches: int
    strategy: Optional[bytes]
    layers: Optional[int]
    chunks: int
    group_size: int
    free_device_order: int
    split_effort: int
    _fields_ = [
        ("size", c_uint32),
        ("microbatches", c_uint32),
        ("strategy", c_char_p),
        ("layers", c_void_p),
        ("chunks", c_uint32),
        ("group_size", c_uint32),
        ("free_device_order", c_uint32),
        ("split_effort", c_uint32),
    ]


class ReplicasFigures(Structure):
    size: int
    proved: int
    step_time: float
    equal_step_time: float
    _fields_ = [
        ("size", c_uint32),
        ("proved", c_uint32),
        ("step_time", c_double),
        ("equal_step_time", c_double),
    ]


class Replica(Structure):
    size: int
    microbatches: int
    stages: int
    devices: int
    layers: int
    proved: int
    step_time: float
    split: _Pointer[c_uint32]
    device_order: _Pointer[c_uint32]
    recomputes: _Pointer[c_uint8]
    _fields_ = [
        ("size", c_uint32),
        ("microbatches", c_uint32),
        ("stages", c_uint32),
        ("devices", c_uint32),
        ("layers", c_uint32),
        ("proved", c_uint32),
        ("step_time", c_double),
        ("split", POINTER(c_uint32)),
        ("device_order", POINTER(c_uint32)),
        ("recomputes", POINTER(c_uint8)),
    ]


class Link(Structure):
    sender: int
    receiver: int
    transfers: int
    most_in_flight: int
    _fields_ = [
        ("sender", c_uint32),
        ("receiver", c_uint32),
        ("transfers", c_uint32),
        ("most_in_flight", c_uint32),
    ]


class OpBuffer(Structure):
    slot: int
    until: int
    _fields_ = [
        ("slot", c_uint32),
        ("until", c_uint32),
    ]


class Connection(Structure):
    round: int
    sender: int
    receiver: int
    sending_stage: int
    receiving_stage: int
    _fields_ = [
        ("round", c_uint32),
        ("sender", c_uint32),
        ("receiver", c_uint32),
        ("sending_stage", c_uint32),
        ("receiving_stage", c_uint32),
    ]


class Lifetime(Structure):
    microbatch: int
    stage: int
    kind: int
    slot: int
    first: int
    last: int
    _fields_ = [
        ("microbatch", c_uint32),
        ("stage", c_uint32),
        ("kind", c_int32),
        ("slot", c_uint32),
        ("first", c_uint32),
        ("last", c_uint32),
    ]


class Arena(Structure):
    stage: int
    kind: int
    slots: int
    first: int
    count: int
    _fields_ = [
        ("stage", c_uint32),
        ("kind", c_int32),
        ("slots", c_uint32),
        ("first", c_uint32),
        ("count", c_uint32),
    ]


class ScenarioOptions(Structure):
    size: int
    dispatch: int
    seed: int
    jitter: float
    message_jitter: float
    device_factors: _Pointer[c_double]
    device_factor_count: int
    stage_factors: _Pointer[c_double]
    stage_factor_count: int
    link_factors: _Pointer[c_double]
    link_factor_count: int
    _fields_ = [
        ("size", c_uint32),
        ("dispatch", c_int32),
        ("seed", c_uint64),
        ("jitter", c_double),
        ("message_jitter", c_double),
        ("device_factors", POINTER(c_double)),
        ("device_factor_count", c_size_t),
        ("stage_factors", POINTER(c_double)),
        ("stage_factor_count", c_size_t),
        ("link_factors", POINTER(c_double)),
        ("link_factor_count", c_size_t),
    ]


class ScenarioMetrics(Structure):
    size: int
    count: int
    best_scenario: int
    worst_scenario: int
    cause_device: int
    reserved: int
    mean: float
    best: float
    worst: float
    _fields_ = [
        ("size", c_uint32),
        ("count", c_uint32),
        ("best_scenario", c_uint32),
        ("worst_scenario", c_uint32),
        ("cause_device", c_uint32),
        ("reserved", c_uint32),
        ("mean", c_double),
        ("best", c_double),
        ("worst", c_double),
    ]


class Error(Structure):
    status: int
    device: int
    stage: int
    microbatch: int
    position: int
    reserved: Array[c_uint32]
    message: bytes
    _fields_ = [
        ("status", c_int32),
        ("device", c_uint32),
        ("stage", c_uint32),
        ("microbatch", c_uint32),
        ("position", c_uint32),
        ("reserved", c_uint32 * 3),
        ("message", c_char * 480),
    ]


class SteadyPeriod(Structure):
    size: int
    reason: int
    block: int
    blocks: int
    transient: int
    timed: int
    time: float
    cycle_time: float
    rounding: float
    _fields_ = [
        ("size", c_uint32),
        ("reason", c_int32),
        ("block", c_uint32),
        ("blocks", c_uint32),
        ("transient", c_uint32),
        ("timed", c_uint32),
        ("time", c_double),
        ("cycle_time", c_double),
        ("rounding", c_double),
    ]


class StrategyInfo(Structure):
    size: int
    placement: int
    option_count: int
    alias_count: int
    chunks: int
    weight_versions: int
    splits_backward: int
    flushes: int
    searches: int
    searches_long: int
    takes_group_size: int
    slices: int
    offloads: int
    reserved: int
    most_memory: int
    name: Optional[bytes]
    summary: Optional[bytes]
    source: Optional[bytes]
    aliases: _Pointer[c_char_p]
    _fields_ = [
        ("size", c_uint32),
        ("placement", c_int32),
        ("option_count", c_uint32),
        ("alias_count", c_uint32),
        ("chunks", c_uint32),
        ("weight_versions", c_uint32),
        ("splits_backward", c_uint32),
        ("flushes", c_uint32),
        ("searches", c_uint32),
        ("searches_long", c_uint32),
        ("takes_group_size", c_uint32),
        ("slices", c_uint32),
        ("offloads", c_uint32),
        ("reserved", c_uint32),
        ("most_memory", c_uint64),
        ("name", c_char_p),
        ("summary", c_char_p),
        ("source", c_char_p),
        ("aliases", POINTER(c_char_p)),
    ]


class OptionInfo(Structure):
    size: int
    choice_count: int
    minimum: int
    maximum: int
    name: Optional[bytes]
    default_text: Optional[bytes]
    summary: Optional[bytes]
    choices: _Pointer[c_char_p]
    _fields_ = [
        ("size", c_uint32),
        ("choice_count", c_uint32),
        ("minimum", c_int64),
        ("maximum", c_int64),
        ("name", c_char_p),
        ("default_text", c_char_p),
        ("summary", c_char_p),
        ("choices", POINTER(c_char_p)),
    ]


class Wait(Structure):
    device: int
    position: int
    op: Op
    _fields_ = [
        ("device", c_uint32),
        ("position", c_uint32),
        ("op", Op),
    ]


class Finding(Structure):
    kind: int
    device: int
    position: int
    other_device: int
    other_position: int
    op: Op
    other: Op
    _fields_ = [
        ("kind", c_int32),
        ("device", c_uint32),
        ("position", c_uint32),
        ("other_device", c_uint32),
        ("other_position", c_uint32),
        ("op", Op),
        ("other", Op),
    ]


class LayerKind(Structure):
    size: int
    block_count: int
    name: Optional[bytes]
    blocks: _Pointer[_Pointer[Block]]
    _fields_ = [
        ("size", c_uint32),
        ("block_count", c_uint32),
        ("name", c_char_p),
        ("blocks", POINTER(POINTER(Block))),
    ]


class CriticalOp(Structure):
    device: int
    position: int
    op: Op
    reason: int
    start: float
    end: float
    _fields_ = [
        ("device", c_uint32),
        ("position", c_uint32),
        ("op", Op),
        ("reason", c_int32),
        ("start", c_double),
        ("end", c_double),
    ]


class LaunchOptions(Structure):
    size: int
    exact: int
    csv: Optional[bytes]
    layers: int
    micro_batch: int
    model: Optional[int]
    split: _Pointer[Split]
    data_parallel: int
    reserved: int
    _fields_ = [
        ("size", c_uint32),
        ("exact", c_uint32),
        ("csv", c_char_p),
        ("layers", c_uint32),
        ("micro_batch", c_uint32),
        ("model", c_void_p),
        ("split", POINTER(Split)),
        ("data_parallel", c_uint32),
        ("reserved", c_uint32),
    ]


class LayerTable(Structure):
    size: int
    layer_count: int
    layers: _Pointer[MeasuredLayer]
    collectives: _Pointer[MeasuredCollective]
    collective_count: int
    reserved: int
    _fields_ = [
        ("size", c_uint32),
        ("layer_count", c_uint32),
        ("layers", POINTER(MeasuredLayer)),
        ("collectives", POINTER(MeasuredCollective)),
        ("collective_count", c_uint32),
        ("reserved", c_uint32),
    ]


class RowMeasure(Structure):
    size: int
    reserved: int
    forward: FigureMeasure
    input: FigureMeasure
    weight: FigureMeasure
    mem_forward: FigureMeasure
    mem_static: FigureMeasure
    selective: FigureMeasure
    full: FigureMeasure
    modules: FigureMeasure
    _fields_ = [
        ("size", c_uint32),
        ("reserved", c_uint32),
        ("forward", FigureMeasure),
        ("input", FigureMeasure),
        ("weight", FigureMeasure),
        ("mem_forward", FigureMeasure),
        ("mem_static", FigureMeasure),
        ("selective", FigureMeasure),
        ("full", FigureMeasure),
        ("modules", FigureMeasure),
    ]


class Accelerator(Structure):
    size: int
    node_devices: int
    name: Optional[bytes]
    matrix_rate: float
    vector_rate: float
    memory_bandwidth: float
    memory: float
    matrix_efficiency: _Pointer[Efficiency]
    vector_efficiency: _Pointer[Efficiency]
    memory_efficiency: _Pointer[Efficiency]
    matrix_efficiency_count: int
    vector_efficiency_count: int
    memory_efficiency_count: int
    shares_ports: int
    inside: LinkRate
    between: LinkRate
    rate_8bit: float
    rate_4bit: float
    matrix_share: float
    attention_share: float
    fp8_share: float
    mxfp8_share: float
    nvfp4_share: float
    op_time: float
    host_time: float
    hidden_share: float
    permute_traffic: float
    slowdown: float
    fused_permute_traffic: float
    bias_traffic: float
    memory_hidden: float
    scan_share: float
    host_bandwidth: float
    pod_nodes: int
    lacks_bf16: int
    beyond: LinkRate
    scale_slowdown: float
    part_node_ports: float
    pair_share: float
    _fields_ = [
        ("size", c_uint32),
        ("node_devices", c_uint32),
        ("name", c_char_p),
        ("matrix_rate", c_double),
        ("vector_rate", c_double),
        ("memory_bandwidth", c_double),
        ("memory", c_double),
        ("matrix_efficiency", POINTER(Efficiency)),
        ("vector_efficiency", POINTER(Efficiency)),
        ("memory_efficiency", POINTER(Efficiency)),
        ("matrix_efficiency_count", c_uint32),
        ("vector_efficiency_count", c_uint32),
        ("memory_efficiency_count", c_uint32),
        ("shares_ports", c_uint32),
        ("inside", LinkRate),
        ("between", LinkRate),
        ("rate_8bit", c_double),
        ("rate_4bit", c_double),
        ("matrix_share", c_double),
        ("attention_share", c_double),
        ("fp8_share", c_double),
        ("mxfp8_share", c_double),
        ("nvfp4_share", c_double),
        ("op_time", c_double),
        ("host_time", c_double),
        ("hidden_share", c_double),
        ("permute_traffic", c_double),
        ("slowdown", c_double),
        ("fused_permute_traffic", c_double),
        ("bias_traffic", c_double),
        ("memory_hidden", c_double),
        ("scan_share", c_double),
        ("host_bandwidth", c_double),
        ("pod_nodes", c_uint32),
        ("lacks_bf16", c_uint32),
        ("beyond", LinkRate),
        ("scale_slowdown", c_double),
        ("part_node_ports", c_double),
        ("pair_share", c_double),
    ]


class PairWindows(Structure):
    size: int
    reserved: int
    forward: _Pointer[Window]
    forward_count: int
    backward: _Pointer[Window]
    backward_count: int
    weight: _Pointer[Window]
    weight_count: int
    slowdown: Array[c_double]
    _fields_ = [
        ("size", c_uint32),
        ("reserved", c_uint32),
        ("forward", POINTER(Window)),
        ("forward_count", c_size_t),
        ("backward", POINTER(Window)),
        ("backward_count", c_size_t),
        ("weight", POINTER(Window)),
        ("weight_count", c_size_t),
        ("slowdown", c_double * 4),
    ]


class RankingOptions(Structure):
    size: int
    scenario_count: int
    rank_by: int
    reserved: int
    quantile: float
    scenario_options: _Pointer[ScenarioOptions]
    _fields_ = [
        ("size", c_uint32),
        ("scenario_count", c_uint32),
        ("rank_by", c_int32),
        ("reserved", c_uint32),
        ("quantile", c_double),
        ("scenario_options", POINTER(ScenarioOptions)),
    ]


class Tower(Structure):
    size: int
    is_frozen: int
    name: Optional[bytes]
    hidden_size: int
    layers: int
    tokens: int
    has_norm_bias: int
    kind: _Pointer[LayerKind]
    extra_parameters: int
    deepstack_layers: int
    patches_per_token: int
    _fields_ = [
        ("size", c_uint32),
        ("is_frozen", c_uint32),
        ("name", c_char_p),
        ("hidden_size", c_uint32),
        ("layers", c_uint32),
        ("tokens", c_uint32),
        ("has_norm_bias", c_uint32),
        ("kind", POINTER(LayerKind)),
        ("extra_parameters", c_uint64),
        ("deepstack_layers", c_uint32),
        ("patches_per_token", c_uint32),
    ]


class JobType(Structure):
    accelerator: _Pointer[Accelerator]
    gpus: int
    reserved: int
    memory_limit: float
    _fields_ = [
        ("accelerator", POINTER(Accelerator)),
        ("gpus", c_uint32),
        ("reserved", c_uint32),
        ("memory_limit", c_double),
    ]


class Layer(Structure):
    size: int
    count: int
    name: Optional[bytes]
    place: int
    flags: int
    forward_time: float
    backward_time: float
    backward_input_time: float
    backward_weight_time: float
    mem_forward: float
    mem_backward_input: float
    mem_backward_weight: float
    mem_static: float
    mem_weights: float
    output_bytes: float
    recomputes: _Pointer[Recompute]
    recompute_count: int
    type_count: int
    hybrid_symbols: Optional[bytes]
    device_scale: _Pointer[c_double]
    windows: _Pointer[PairWindows]
    mem_slice_state: float
    mem_slice_gradients: float
    attention_share: float
    _fields_ = [
        ("size", c_uint32),
        ("count", c_uint32),
        ("name", c_char_p),
        ("place", c_int32),
        ("flags", c_uint32),
        ("forward_time", c_double),
        ("backward_time", c_double),
        ("backward_input_time", c_double),
        ("backward_weight_time", c_double),
        ("mem_forward", c_double),
        ("mem_backward_input", c_double),
        ("mem_backward_weight", c_double),
        ("mem_static", c_double),
        ("mem_weights", c_double),
        ("output_bytes", c_double),
        ("recomputes", POINTER(Recompute)),
        ("recompute_count", c_uint32),
        ("type_count", c_uint32),
        ("hybrid_symbols", c_char_p),
        ("device_scale", POINTER(c_double)),
        ("windows", POINTER(PairWindows)),
        ("mem_slice_state", c_double),
        ("mem_slice_gradients", c_double),
        ("attention_share", c_double),
    ]


class PlanOptions(Structure):
    size: int
    objective: int
    strategies: _Pointer[c_char_p]
    chunks: _Pointer[c_uint32]
    group_sizes: _Pointer[c_uint32]
    microbatches: _Pointer[c_uint32]
    memory_limits: _Pointer[c_double]
    lower: _Pointer[LowerOptions]
    channel: _Pointer[ChannelModel]
    embedding: _Pointer[ModelEnd]
    head: _Pointer[ModelEnd]
    split: _Pointer[SplitOptions]
    slice: _Pointer[SliceOptions]
    ranking: _Pointer[RankingOptions]
    strategy_count: int
    chunk_count: int
    group_size_count: int
    microbatch_count: int
    memory_limit_count: int
    placements: int
    effort: int
    order_effort: int
    runtimes: int
    runtime: int
    offload: int
    free_device_order: int
    top: int
    reserved: Array[c_uint32]
    _fields_ = [
        ("size", c_uint32),
        ("objective", c_int32),
        ("strategies", POINTER(c_char_p)),
        ("chunks", POINTER(c_uint32)),
        ("group_sizes", POINTER(c_uint32)),
        ("microbatches", POINTER(c_uint32)),
        ("memory_limits", POINTER(c_double)),
        ("lower", POINTER(LowerOptions)),
        ("channel", POINTER(ChannelModel)),
        ("embedding", POINTER(ModelEnd)),
        ("head", POINTER(ModelEnd)),
        ("split", POINTER(SplitOptions)),
        ("slice", POINTER(SliceOptions)),
        ("ranking", POINTER(RankingOptions)),
        ("strategy_count", c_uint32),
        ("chunk_count", c_uint32),
        ("group_size_count", c_uint32),
        ("microbatch_count", c_uint32),
        ("memory_limit_count", c_uint32),
        ("placements", c_uint32),
        ("effort", c_uint32),
        ("order_effort", c_uint32),
        ("runtimes", c_uint32),
        ("runtime", c_int32),
        ("offload", c_uint32),
        ("free_device_order", c_uint32),
        ("top", c_uint32),
        ("reserved", c_uint32 * 7),
    ]


class DescriptionInfo(Structure):
    size: int
    flags: int
    hidden_size: int
    vocabulary_size: int
    positions: int
    layer_count: int
    layers: _Pointer[c_uint32]
    kinds: _Pointer[_Pointer[LayerKind]]
    kind_count: int
    tower_count: int
    towers: _Pointer[_Pointer[Tower]]
    mtp_layers: int
    mtp_kind: int
    streams: int
    stream_interval: int
    extra_parameters: int
    sequence_length: int
    layer_input: int
    family: Optional[bytes]
    _fields_ = [
        ("size", c_uint32),
        ("flags", c_uint32),
        ("hidden_size", c_uint32),
        ("vocabulary_size", c_uint32),
        ("positions", c_uint32),
        ("layer_count", c_uint32),
        ("layers", POINTER(c_uint32)),
        ("kinds", POINTER(POINTER(LayerKind))),
        ("kind_count", c_uint32),
        ("tower_count", c_uint32),
        ("towers", POINTER(POINTER(Tower))),
        ("mtp_layers", c_uint32),
        ("mtp_kind", c_uint32),
        ("streams", c_uint32),
        ("stream_interval", c_uint32),
        ("extra_parameters", c_uint64),
        ("sequence_length", c_uint32),
        ("layer_input", c_uint32),
        ("family", c_char_p),
    ]


class JobOptions(Structure):
    size: int
    gpus: int
    lists: _Pointer[JobList]
    list_count: int
    goal: int
    runtime: int
    top: int
    strategies: _Pointer[c_char_p]
    strategy_count: int
    type_count: int
    memory_limit: float
    table: _Pointer[LayerTable]
    types: _Pointer[JobType]
    _fields_ = [
        ("size", c_uint32),
        ("gpus", c_uint32),
        ("lists", POINTER(JobList)),
        ("list_count", c_uint32),
        ("goal", c_int32),
        ("runtime", c_int32),
        ("top", c_uint32),
        ("strategies", POINTER(c_char_p)),
        ("strategy_count", c_uint32),
        ("type_count", c_uint32),
        ("memory_limit", c_double),
        ("table", POINTER(LayerTable)),
        ("types", POINTER(JobType)),
    ]


# name: (result, arguments)
FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {
    "ppsched_config_find_bound": (c_int32, [POINTER(Bound), c_void_p, c_int32, POINTER(Error)]),
    "ppsched_config_prove_bound": (c_int32, [POINTER(Bound), c_void_p, c_int32, c_double, c_double, POINTER(Error)]),
    "ppsched_calibrator_constant_name": (c_char_p, [c_int32]),
    "ppsched_calibrator_create": (c_int32, [POINTER(c_void_p), POINTER(Accelerator), POINTER(Environment), POINTER(Error)]),
    "ppsched_calibrator_destroy": (None, [c_void_p]),
    "ppsched_calibrator_append_run": (c_int32, [c_void_p, c_void_p, POINTER(Training), POINTER(Pipeline), c_double, POINTER(Error)]),
    "ppsched_calibrator_set_progress": (c_int32, [c_void_p, ProgressFunction, c_void_p, POINTER(Error)]),
    "ppsched_calibrator_run": (c_int32, [c_void_p, POINTER(Error)]),
    "ppsched_calibrator_constant_count": (c_uint32, [c_void_p]),
    "ppsched_calibrator_get_constant": (c_int32, [POINTER(CalibratedConstant), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_calibrator_run_count": (c_uint32, [c_void_p]),
    "ppsched_calibrator_get_run": (c_int32, [POINTER(CalibratedRun), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_calibrator_get_accelerator": (c_int32, [POINTER(Accelerator), c_void_p, POINTER(Error)]),
    "ppsched_chakra_create": (c_int32, [POINTER(c_void_p), c_void_p, c_void_p, POINTER(ChakraOptions), POINTER(Error)]),
    "ppsched_chakra_destroy": (None, [c_void_p]),
    "ppsched_chakra_ranks": (c_uint32, [c_void_p]),
    "ppsched_chakra_export": (c_int32, [c_void_p, c_uint32, WriteFunction, c_void_p, POINTER(Error)]),
    "ppsched_chakra_import": (c_int32, [POINTER(c_void_p), POINTER(c_void_p), POINTER(ChakraTrace), c_size_t, POINTER(Environment), POINTER(Error)]),
    "ppsched_schedule_prove": (c_int32, [POINTER(Wait), c_size_t, POINTER(c_size_t), c_void_p, POINTER(ChannelModel), POINTER(Error)]),
    "ppsched_schedule_check": (c_int32, [POINTER(Finding), c_size_t, POINTER(c_size_t), c_void_p, POINTER(Error)]),
    "ppsched_finding_write_text": (c_int32, [c_void_p, c_size_t, POINTER(c_size_t), POINTER(Finding), POINTER(Error)]),
    "ppsched_config_create": (c_int32, [POINTER(c_void_p), c_int64, c_int64, c_int64, POINTER(Environment), POINTER(Error)]),
    "ppsched_config_copy": (c_int32, [POINTER(c_void_p), c_void_p, POINTER(Error)]),
    "ppsched_config_destroy": (None, [c_void_p]),
    "ppsched_config_devices": (c_uint32, [c_void_p]),
    "ppsched_config_stages": (c_uint32, [c_void_p]),
    "ppsched_config_microbatches": (c_uint32, [c_void_p]),
    "ppsched_config_iterations": (c_uint32, [c_void_p]),
    "ppsched_config_set_iterations": (c_int32, [c_void_p, c_int64, POINTER(Error)]),
    "ppsched_config_set_slices": (c_int32, [c_void_p, c_int64, POINTER(Error)]),
    "ppsched_config_slices": (c_uint32, [c_void_p]),
    "ppsched_config_set_placement": (c_int32, [c_void_p, c_int32, POINTER(c_uint32), c_size_t, POINTER(Error)]),
    "ppsched_config_placement": (c_int32, [c_void_p]),
    "ppsched_config_set_weight_versions": (c_int32, [c_void_p, c_int64, POINTER(Error)]),
    "ppsched_config_order_devices": (c_int32, [c_void_p, POINTER(c_uint32), c_size_t, POINTER(Error)]),
    "ppsched_config_set_split_backward": (c_int32, [c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_config_split_backward": (c_uint32, [c_void_p]),
    "ppsched_config_set_forward_only": (c_int32, [c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_config_forward_only": (c_uint32, [c_void_p]),
    "ppsched_config_set_sender_waits": (c_int32, [c_void_p, c_int32, POINTER(Error)]),
    "ppsched_config_sender_waits": (c_int32, [c_void_p]),
    "ppsched_config_set_values": (c_int32, [c_void_p, c_int32, POINTER(c_double), c_size_t, POINTER(Error)]),
    "ppsched_config_values": (POINTER(c_double), [c_void_p, c_int32, POINTER(c_size_t)]),
    "ppsched_config_validate": (c_int32, [c_void_p, POINTER(Error)]),
    "ppsched_config_set_option": (c_int32, [c_void_p, c_char_p, c_char_p, POINTER(Error)]),
    "ppsched_config_set_progress": (c_int32, [c_void_p, ProgressFunction, c_void_p, POINTER(Error)]),
    "ppsched_config_with_stages": (c_int32, [POINTER(c_void_p), c_void_p, c_int64, POINTER(ModelEnd), POINTER(ModelEnd), POINTER(Error)]),
    "ppsched_config_with_microbatches": (c_int32, [POINTER(c_void_p), c_void_p, c_int64, POINTER(Error)]),
    "ppsched_block_kind_name": (c_char_p, [c_int32]),
    "ppsched_description_create": (c_int32, [POINTER(c_void_p), POINTER(DescriptionInfo), POINTER(Environment), POINTER(Error)]),
    "ppsched_description_read": (c_int32, [POINTER(c_void_p), c_char_p, c_size_t, POINTER(Environment), POINTER(Error)]),
    "ppsched_description_from_transformer": (c_int32, [POINTER(c_void_p), POINTER(Transformer), POINTER(Environment), POINTER(Error)]),
    "ppsched_description_guess": (c_int32, [POINTER(c_void_p), c_char_p, c_size_t, POINTER(Environment), POINTER(Error)]),
    "ppsched_description_retain": (c_void_p, [c_void_p]),
    "ppsched_description_release": (None, [c_void_p]),
    "ppsched_description_get_info": (c_int32, [POINTER(DescriptionInfo), c_void_p, POINTER(Error)]),
    "ppsched_description_warning_count": (c_uint32, [c_void_p]),
    "ppsched_description_warning_at": (c_char_p, [c_void_p, c_uint32]),
    "ppsched_description_write": (c_int32, [c_void_p, WriteFunction, c_void_p, POINTER(Error)]),
    "ppsched_model_family_count": (c_uint32, []),
    "ppsched_model_family_at": (c_char_p, [c_uint32]),
    "ppsched_schedule_evaluate": (c_int32, [POINTER(c_void_p), c_void_p, c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_schedule_evaluate_transfers": (c_int32, [POINTER(c_void_p), c_void_p, c_void_p, POINTER(ChannelModel), c_uint32, POINTER(Error)]),
    "ppsched_timeline_update": (c_int32, [c_void_p, c_void_p, POINTER(Error)]),
    "ppsched_timeline_destroy": (None, [c_void_p]),
    "ppsched_timeline_schedule": (c_void_p, [c_void_p]),
    "ppsched_timeline_spans": (POINTER(Span), [c_void_p, c_uint32, POINTER(c_size_t)]),
    "ppsched_timeline_latest_starts": (POINTER(c_double), [c_void_p, c_uint32, POINTER(c_size_t)]),
    "ppsched_timeline_get_metrics": (c_int32, [POINTER(Metrics), c_void_p, POINTER(Error)]),
    "ppsched_timeline_get_device_metrics": (c_int32, [POINTER(DeviceMetrics), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_timeline_get_idle": (c_int32, [POINTER(Idle), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_timeline_get_memory": (c_int32, [POINTER(MemoryPoint), c_size_t, POINTER(c_size_t), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_timeline_get_memory_of_cause": (c_int32, [POINTER(MemoryPoint), c_size_t, POINTER(c_size_t), c_void_p, c_uint32, c_int32, POINTER(Error)]),
    "ppsched_timeline_get_peak_causes": (c_int32, [POINTER(c_double), c_size_t, POINTER(c_size_t), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_timeline_get_peak_items": (c_int32, [POINTER(MemoryItem), c_size_t, POINTER(c_size_t), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_timeline_get_idle_windows": (c_int32, [POINTER(IdleWindow), c_size_t, POINTER(c_size_t), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_memory_cause_name": (c_char_p, [c_int32]),
    "ppsched_timeline_get_critical_path": (c_int32, [POINTER(CriticalOp), c_size_t, POINTER(c_size_t), c_void_p, POINTER(Error)]),
    "ppsched_timeline_get_device_slack": (c_int32, [POINTER(c_double), c_size_t, POINTER(c_size_t), c_void_p, POINTER(Error)]),
    "ppsched_timeline_get_stage_slack": (c_int32, [POINTER(c_double), c_size_t, POINTER(c_size_t), c_void_p, POINTER(Error)]),
    "ppsched_timeline_get_sensitivities": (c_int32, [POINTER(Sensitivity), c_size_t, POINTER(c_size_t), c_void_p, c_int32, c_int32, ProgressFunction, c_void_p, POINTER(Error)]),
    "ppsched_schedule_export": (c_int32, [c_void_p, c_void_p, c_int32, POINTER(ExportOptions), WriteFunction, c_void_p, POINTER(Error)]),
    "ppsched_schedule_export_to_buffer": (c_int32, [c_void_p, c_size_t, POINTER(c_size_t), c_void_p, c_void_p, c_int32, POINTER(ExportOptions), POINTER(Error)]),
    "ppsched_schedule_import": (c_int32, [POINTER(c_void_p), c_int32, c_char_p, c_size_t, POINTER(Environment), POINTER(Error)]),
    "ppsched_job_dimension_name": (c_char_p, [c_int32]),
    "ppsched_job_goal_name": (c_char_p, [c_int32]),
    "ppsched_job_create": (c_int32, [POINTER(c_void_p), c_void_p, POINTER(Training), POINTER(Accelerator), POINTER(JobOptions), POINTER(Environment), POINTER(Error)]),
    "ppsched_job_destroy": (None, [c_void_p]),
    "ppsched_job_state_name": (c_char_p, [c_int32]),
    "ppsched_job_layout_count": (c_uint32, [c_void_p]),
    "ppsched_job_get_layout": (c_int32, [POINTER(JobLayout), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_job_evaluate_layout": (c_int32, [POINTER(c_void_p), POINTER(JobFound), c_void_p, c_uint32, c_double, POINTER(Error)]),
    "ppsched_job_set_progress": (c_int32, [c_void_p, ProgressFunction, c_void_p, POINTER(Error)]),
    "ppsched_job_run": (c_int32, [c_void_p, POINTER(Error)]),
    "ppsched_job_best_count": (c_uint32, [c_void_p]),
    "ppsched_job_layout_at_rank": (c_uint32, [c_void_p, c_uint32]),
    "ppsched_runtime_name": (c_char_p, [c_int32]),
    "ppsched_schedule_write_launch_arguments": (c_int32, [c_void_p, c_size_t, POINTER(c_size_t), c_void_p, c_int32, POINTER(LaunchOptions), POINTER(Error)]),
    "ppsched_collective_name": (c_char_p, [c_int32]),
    "ppsched_model_create_measured": (c_int32, [POINTER(c_void_p), c_void_p, POINTER(Training), POINTER(Accelerator), POINTER(LayerTable), POINTER(Environment), POINTER(Error)]),
    "ppsched_measure_name": (c_char_p, [c_int32]),
    "ppsched_model_get_row_measure": (c_int32, [POINTER(RowMeasure), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_model_get_link": (c_int32, [POINTER(c_double), POINTER(c_double), c_void_p, c_int64, POINTER(Error)]),
    "ppsched_layers_create": (c_int32, [POINTER(c_void_p), POINTER(POINTER(Layer)), c_size_t, POINTER(Environment), POINTER(Error)]),
    "ppsched_layers_retain": (c_void_p, [c_void_p]),
    "ppsched_layers_release": (None, [c_void_p]),
    "ppsched_layers_count": (c_uint32, [c_void_p]),
    "ppsched_layers_entries": (c_uint32, [c_void_p]),
    "ppsched_layers_get_entry": (c_int32, [POINTER(Layer), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_config_from_layers": (c_int32, [POINTER(c_void_p), c_void_p, c_void_p, POINTER(Split), POINTER(Error)]),
    "ppsched_layout_create": (c_int32, [POINTER(c_void_p), c_int64, POINTER(LayoutStage), c_size_t, POINTER(Environment), POINTER(Error)]),
    "ppsched_layout_create_from_text": (c_int32, [POINTER(c_void_p), c_char_p, c_size_t, c_int64, POINTER(LayoutRules), POINTER(Environment), POINTER(Error)]),
    "ppsched_layout_create_from_megatron": (c_int32, [POINTER(c_void_p), c_int64, c_int64, POINTER(MegatronSplit), POINTER(Environment), POINTER(Error)]),
    "ppsched_layout_create_from_torchtitan": (c_int32, [POINTER(c_void_p), c_int64, c_int64, c_int64, c_int64, c_int64, POINTER(Environment), POINTER(Error)]),
    "ppsched_layout_find_torchtitan_stages": (c_int32, [POINTER(c_uint32), c_int64, c_int64, c_int64, c_int64, c_int64, c_uint32, POINTER(Error)]),
    "ppsched_layout_destroy": (None, [c_void_p]),
    "ppsched_layout_devices": (c_uint32, [c_void_p]),
    "ppsched_layout_chunks": (c_uint32, [c_void_p]),
    "ppsched_layout_stages": (POINTER(LayoutStage), [c_void_p, POINTER(c_size_t)]),
    "ppsched_layout_offsets": (POINTER(c_uint32), [c_void_p, POINTER(c_size_t)]),
    "ppsched_layout_write_text": (c_int32, [c_void_p, c_size_t, POINTER(c_size_t), c_void_p, POINTER(Error)]),
    "ppsched_layout_write_modules": (c_int32, [c_void_p, c_size_t, POINTER(c_size_t), c_void_p, c_uint32, c_uint32, POINTER(Error)]),
    "ppsched_schedule_lower": (c_int32, [POINTER(c_void_p), c_void_p, c_void_p, POINTER(LowerOptions), POINTER(Error)]),
    "ppsched_schedule_renumber": (c_int32, [POINTER(c_void_p), c_void_p, POINTER(Error)]),
    "ppsched_schedule_recompute": (c_int32, [POINTER(c_void_p), c_void_p, POINTER(RecomputeOptions), POINTER(Error)]),
    "ppsched_schedule_offload": (c_int32, [POINTER(c_void_p), c_void_p, c_void_p, POINTER(OffloadOptions), POINTER(Error)]),
    "ppsched_schedule_order_microbatches": (c_int32, [POINTER(c_uint32), c_size_t, POINTER(c_size_t), POINTER(c_void_p), c_void_p, c_void_p, POINTER(OrderOptions), POINTER(Error)]),
    "ppsched_microbatches_balance": (c_int32, [POINTER(c_uint32), c_size_t, POINTER(c_size_t), POINTER(Balance), POINTER(c_double), c_size_t, c_int64, c_uint32, POINTER(Environment), POINTER(Error)]),
    "ppsched_accelerator_count": (c_uint32, []),
    "ppsched_accelerator_at": (POINTER(Accelerator), [c_uint32]),
    "ppsched_model_create": (c_int32, [POINTER(c_void_p), c_void_p, POINTER(Training), POINTER(Accelerator), POINTER(Environment), POINTER(Error)]),
    "ppsched_model_destroy": (None, [c_void_p]),
    "ppsched_model_get_parameters": (c_int32, [POINTER(Parameters), c_void_p, POINTER(Error)]),
    "ppsched_model_row_count": (c_uint32, [c_void_p]),
    "ppsched_model_get_row": (c_int32, [POINTER(ModelRow), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_precision_name": (c_char_p, [c_int32]),
    "ppsched_model_role_name": (c_char_p, [c_int32]),
    "ppsched_model_pass_name": (c_char_p, [c_int32]),
    "ppsched_model_get_pass_cost": (c_int32, [POINTER(PassCost), c_void_p, c_uint32, c_int32, POINTER(Error)]),
    "ppsched_model_get_memory": (c_int32, [POINTER(LayerMemory), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_model_get_update_cost": (c_int32, [POINTER(UpdateCost), c_void_p, c_double, c_double, POINTER(Error)]),
    "ppsched_layers_from_model": (c_int32, [POINTER(c_void_p), c_void_p, POINTER(Calibration), POINTER(Error)]),
    "ppsched_model_get_megatron_memory": (c_int32, [POINTER(MegatronMemory), c_void_p, POINTER(MegatronPipeline), POINTER(Error)]),
    "ppsched_placement_name": (c_char_p, [c_int32]),
    "ppsched_sender_waits_name": (c_char_p, [c_int32]),
    "ppsched_objective_name": (c_char_p, [c_int32]),
    "ppsched_channel_order_name": (c_char_p, [c_int32]),
    "ppsched_lowering_name": (c_char_p, [c_int32]),
    "ppsched_unshard_lookahead_name": (c_char_p, [c_int32]),
    "ppsched_dispatch_name": (c_char_p, [c_int32]),
    "ppsched_rank_by_name": (c_char_p, [c_int32]),
    "ppsched_format_name": (c_char_p, [c_int32]),
    "ppsched_finding_kind_name": (c_char_p, [c_int32]),
    "ppsched_reason_name": (c_char_p, [c_int32]),
    "ppsched_slot_use_name": (c_char_p, [c_int32]),
    "ppsched_connecting_name": (c_char_p, [c_int32]),
    "ppsched_layer_place_name": (c_char_p, [c_int32]),
    "ppsched_chakra_sizes_name": (c_char_p, [c_int32]),
    "ppsched_chakra_links_name": (c_char_p, [c_int32]),
    "ppsched_log_level_name": (c_char_p, [c_int32]),
    "ppsched_pair_rule_name": (c_char_p, [c_int32]),
    "ppsched_steady_reason_name": (c_char_p, [c_int32]),
    "ppsched_stage_passes_name": (c_char_p, [c_int32]),
    "ppsched_kind_token": (c_char_p, [c_int32]),
    "ppsched_kind_text": (c_char_p, [c_int32]),
    "ppsched_op_write_token": (c_int32, [c_void_p, c_size_t, POINTER(c_size_t), POINTER(Op), POINTER(Error)]),
    "ppsched_pair_find_order": (c_int32, [POINTER(WindowSpan), c_size_t, POINTER(c_size_t), POINTER(PairTimes), POINTER(PairWindows), POINTER(Environment), POINTER(Error)]),
    "ppsched_pair_run_order": (c_int32, [POINTER(WindowSpan), c_size_t, POINTER(c_size_t), POINTER(PairTimes), POINTER(PairWindows), POINTER(c_int32), c_size_t, POINTER(Environment), POINTER(Error)]),
    "ppsched_config_set_windows": (c_int32, [c_void_p, POINTER(POINTER(PairWindows)), c_size_t, POINTER(Error)]),
    "ppsched_config_get_windows": (c_int32, [POINTER(PairWindows), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_plan_create": (c_int32, [POINTER(c_void_p), c_void_p, POINTER(PlanOptions), POINTER(Error)]),
    "ppsched_plan_destroy": (None, [c_void_p]),
    "ppsched_plan_evaluate": (c_int32, [c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_plan_run": (c_int32, [c_void_p, POINTER(Error)]),
    "ppsched_plan_count": (c_uint32, [c_void_p]),
    "ppsched_plan_candidate_at_rank": (c_uint32, [c_void_p, c_uint32]),
    "ppsched_plan_get_candidate": (c_int32, [POINTER(Candidate), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_plan_get_split": (c_int32, [POINTER(c_uint32), c_size_t, POINTER(c_size_t), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_plan_get_recomputes": (c_int32, [POINTER(c_uint8), c_size_t, POINTER(c_size_t), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_plan_get_microbatch_order": (c_int32, [POINTER(c_uint32), c_size_t, POINTER(c_size_t), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_plan_get_device_order": (c_int32, [POINTER(c_uint32), c_size_t, POINTER(c_size_t), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_plan_create_config": (c_int32, [POINTER(c_void_p), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_plan_create_timeline": (c_int32, [POINTER(c_void_p), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_plan_find_least_limit": (c_int32, [POINTER(c_double), POINTER(c_uint32), c_void_p, POINTER(Error)]),
    "ppsched_prefill_find_chunks": (c_int32, [POINTER(c_uint64), c_size_t, POINTER(c_size_t), POINTER(PrefillFigures), POINTER(Prefill), c_void_p, c_char_p, POINTER(Error)]),
    "ppsched_prefill_create_config": (c_int32, [POINTER(c_void_p), POINTER(Prefill), c_void_p, POINTER(c_uint64), c_size_t, POINTER(Error)]),
    "ppsched_rank_order_name": (c_char_p, [c_int32]),
    "ppsched_price_create": (c_int32, [POINTER(c_void_p), c_void_p, POINTER(Pipeline), POINTER(Environment), POINTER(Error)]),
    "ppsched_price_destroy": (None, [c_void_p]),
    "ppsched_price_get_step": (c_int32, [POINTER(StepPrice), c_void_p, POINTER(Error)]),
    "ppsched_price_get_device": (c_int32, [POINTER(DevicePrice), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_price_get_pipeline": (c_int32, [POINTER(Pipeline), c_void_p, POINTER(Error)]),
    "ppsched_model_get_pipeline_link": (c_int32, [POINTER(c_double), POINTER(c_double), c_void_p, POINTER(Pipeline), c_uint32, c_uint32, POINTER(Error)]),
    "ppsched_model_get_pipeline_update_cost": (c_int32, [POINTER(UpdateCost), c_void_p, POINTER(Pipeline), c_double, c_double, POINTER(Error)]),
    "ppsched_model_get_copies_time": (c_int32, [POINTER(c_double), c_void_p, c_uint32, c_int64, POINTER(Error)]),
    "ppsched_model_get_attention_share": (c_int32, [POINTER(c_double), c_void_p, c_uint32, c_int32, POINTER(Error)]),
    "ppsched_quantity_name": (c_char_p, [c_int32]),
    "ppsched_replan_create": (c_int32, [POINTER(c_void_p), c_void_p, POINTER(ReplanOptions), POINTER(Error)]),
    "ppsched_replan_destroy": (None, [c_void_p]),
    "ppsched_replan_get_figures": (c_int32, [POINTER(ReplanFigures), c_void_p, POINTER(Error)]),
    "ppsched_replan_get_split": (c_int32, [POINTER(c_uint32), c_size_t, POINTER(c_size_t), c_void_p, POINTER(Error)]),
    "ppsched_replan_get_recomputes": (c_int32, [POINTER(c_uint8), c_size_t, POINTER(c_size_t), c_void_p, POINTER(Error)]),
    "ppsched_replan_get_device_order": (c_int32, [POINTER(c_uint32), c_size_t, POINTER(c_size_t), c_void_p, POINTER(Error)]),
    "ppsched_replan_get_moves": (c_int32, [POINTER(LayerMove), c_size_t, POINTER(c_size_t), c_void_p, POINTER(Error)]),
    "ppsched_replicas_create": (c_int32, [POINTER(c_void_p), POINTER(c_void_p), c_size_t, POINTER(ReplicasOptions), POINTER(Error)]),
    "ppsched_replicas_destroy": (None, [c_void_p]),
    "ppsched_replicas_get_figures": (c_int32, [POINTER(ReplicasFigures), c_void_p, POINTER(Error)]),
    "ppsched_replicas_get_replica": (c_int32, [POINTER(Replica), c_void_p, c_size_t, POINTER(Error)]),
    "ppsched_schedule_get_links": (c_int32, [POINTER(Link), c_size_t, POINTER(c_size_t), c_void_p, POINTER(Error)]),
    "ppsched_schedule_get_buffers": (c_int32, [POINTER(OpBuffer), c_size_t, POINTER(c_size_t), POINTER(c_uint32), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_schedule_get_connections": (c_int32, [POINTER(Connection), c_size_t, POINTER(c_size_t), c_void_p, c_int32, POINTER(Error)]),
    "ppsched_schedule_get_lifetimes": (c_int32, [POINTER(Lifetime), c_size_t, POINTER(c_size_t), c_void_p, c_uint32, c_int32, POINTER(Error)]),
    "ppsched_schedule_get_arenas": (c_int32, [POINTER(Arena), c_size_t, POINTER(c_size_t), c_void_p, c_uint32, c_int32, POINTER(Error)]),
    "ppsched_config_set_robust_objective": (c_int32, [c_void_p, c_int32, c_double, c_int64, POINTER(ScenarioOptions), POINTER(Error)]),
    "ppsched_schedule_evaluate_scenarios": (c_int32, [POINTER(c_void_p), c_void_p, c_void_p, c_int64, POINTER(ScenarioOptions), POINTER(Error)]),
    "ppsched_scenarios_destroy": (None, [c_void_p]),
    "ppsched_scenarios_makespans": (POINTER(c_double), [c_void_p, POINTER(c_size_t)]),
    "ppsched_scenarios_causes": (POINTER(c_double), [c_void_p, POINTER(c_size_t)]),
    "ppsched_scenarios_peaks": (POINTER(c_double), [c_void_p, POINTER(c_size_t)]),
    "ppsched_scenarios_get_metrics": (c_int32, [POINTER(ScenarioMetrics), c_void_p, POINTER(Error)]),
    "ppsched_scenarios_get_quantile": (c_int32, [POINTER(c_double), c_void_p, c_double, POINTER(Error)]),
    "ppsched_schedule_generate": (c_int32, [POINTER(c_void_p), c_void_p, c_char_p, POINTER(Error)]),
    "ppsched_schedule_retain": (c_void_p, [c_void_p]),
    "ppsched_schedule_release": (None, [c_void_p]),
    "ppsched_schedule_name": (c_char_p, [c_void_p]),
    "ppsched_schedule_devices": (c_uint32, [c_void_p]),
    "ppsched_schedule_stages": (c_uint32, [c_void_p]),
    "ppsched_schedule_microbatches": (c_uint32, [c_void_p]),
    "ppsched_schedule_iterations": (c_uint32, [c_void_p]),
    "ppsched_schedule_slices": (c_uint32, [c_void_p]),
    "ppsched_schedule_placement": (c_int32, [c_void_p]),
    "ppsched_schedule_device_of": (c_uint32, [c_void_p, c_uint32, c_uint32]),
    "ppsched_schedule_peer_of": (c_uint32, [c_void_p, POINTER(Op)]),
    "ppsched_schedule_peer_stage": (c_uint32, [c_void_p, POINTER(Op)]),
    "ppsched_schedule_place_of": (c_uint32, [c_void_p, c_uint32, c_uint32]),
    "ppsched_schedule_stage_input": (c_uint32, [c_void_p, c_uint32, c_uint32]),
    "ppsched_schedule_stage_device": (c_uint32, [c_void_p, c_uint32, c_uint32]),
    "ppsched_schedule_stage_passes": (c_int32, [c_void_p, c_uint32]),
    "ppsched_schedule_runs_stage": (c_uint32, [c_void_p, c_uint32, c_uint32]),
    "ppsched_schedule_has_graph": (c_uint32, [c_void_p]),
    "ppsched_schedule_flushes": (c_uint32, [c_void_p]),
    "ppsched_schedule_weight_versions": (c_uint32, [c_void_p]),
    "ppsched_schedule_op_count": (c_uint64, [c_void_p]),
    "ppsched_schedule_queue": (c_void_p, [c_void_p, c_uint32]),
    "ppsched_queue_ops": (POINTER(Op), [c_void_p, POINTER(c_size_t)]),
    "ppsched_builder_create": (c_int32, [POINTER(c_void_p), c_void_p, POINTER(Error)]),
    "ppsched_builder_destroy": (None, [c_void_p]),
    "ppsched_builder_append": (c_int32, [c_void_p, c_uint32, POINTER(Op), c_size_t, POINTER(Error)]),
    "ppsched_builder_set_name": (c_int32, [c_void_p, c_char_p, POINTER(Error)]),
    "ppsched_builder_set_flushes": (c_int32, [c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_builder_set_weight_versions": (c_int32, [c_void_p, c_int64, POINTER(Error)]),
    "ppsched_builder_finish": (c_int32, [POINTER(c_void_p), c_void_p, POINTER(Error)]),
    "ppsched_schedule_generate_with": (c_int32, [POINTER(c_void_p), c_void_p, c_char_p, GenerateFunction, c_void_p, POINTER(Error)]),
    "ppsched_config_set_stage_inputs": (c_int32, [c_void_p, POINTER(c_uint32), POINTER(c_uint32), c_size_t, POINTER(Error)]),
    "ppsched_config_set_stage_passes": (c_int32, [c_void_p, POINTER(c_int32), c_size_t, POINTER(Error)]),
    "ppsched_config_set_stage_microbatches": (c_int32, [c_void_p, c_uint32, POINTER(c_uint32), c_size_t, POINTER(Error)]),
    "ppsched_config_set_stage_devices": (c_int32, [c_void_p, POINTER(c_uint32), POINTER(c_uint32), c_size_t, POINTER(Error)]),
    "ppsched_status_name": (c_char_p, [c_int32]),
    "ppsched_status_text": (c_char_p, [c_int32]),
    "ppsched_steady_create": (c_int32, [POINTER(c_void_p), c_void_p, c_char_p, POINTER(Error)]),
    "ppsched_steady_destroy": (None, [c_void_p]),
    "ppsched_schedule_find_period": (c_int32, [POINTER(c_double), c_void_p, c_void_p, POINTER(Error)]),
    "ppsched_steady_get_period": (c_int32, [POINTER(SteadyPeriod), c_void_p, POINTER(Error)]),
    "ppsched_steady_get_metrics": (c_int32, [POINTER(Metrics), c_void_p, POINTER(Error)]),
    "ppsched_steady_get_device_metrics": (c_int32, [POINTER(DeviceMetrics), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_steady_get_idle": (c_int32, [POINTER(Idle), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_steady_get_peak_causes": (c_int32, [POINTER(c_double), c_size_t, POINTER(c_size_t), c_void_p, c_uint32, POINTER(Error)]),
    "ppsched_strategy_count": (c_uint32, []),
    "ppsched_strategy_get_info": (c_int32, [POINTER(StrategyInfo), c_uint32, POINTER(Error)]),
    "ppsched_strategy_get_option": (c_int32, [POINTER(OptionInfo), c_uint32, c_uint32, POINTER(Error)]),
    "ppsched_strategy_find": (c_int32, [POINTER(c_uint32), c_char_p, POINTER(Error)]),
    "ppsched_strategy_fits": (c_int32, [c_char_p, c_void_p, POINTER(Error)]),
    "ppsched_version": (c_uint32, []),
    "ppsched_version_text": (c_char_p, []),
    "ppsched_abi_version": (c_uint32, []),
}


class Library(CDLL):
    """The library, and what its functions return."""

    ppsched_config_find_bound: Callable[..., int]
    ppsched_config_prove_bound: Callable[..., int]
    ppsched_calibrator_constant_name: Callable[..., Optional[bytes]]
    ppsched_calibrator_create: Callable[..., int]
    ppsched_calibrator_destroy: Callable[..., None]
    ppsched_calibrator_append_run: Callable[..., int]
    ppsched_calibrator_set_progress: Callable[..., int]
    ppsched_calibrator_run: Callable[..., int]
    ppsched_calibrator_constant_count: Callable[..., int]
    ppsched_calibrator_get_constant: Callable[..., int]
    ppsched_calibrator_run_count: Callable[..., int]
    ppsched_calibrator_get_run: Callable[..., int]
    ppsched_calibrator_get_accelerator: Callable[..., int]
    ppsched_chakra_create: Callable[..., int]
    ppsched_chakra_destroy: Callable[..., None]
    ppsched_chakra_ranks: Callable[..., int]
    ppsched_chakra_export: Callable[..., int]
    ppsched_chakra_import: Callable[..., int]
    ppsched_schedule_prove: Callable[..., int]
    ppsched_schedule_check: Callable[..., int]
    ppsched_finding_write_text: Callable[..., int]
    ppsched_config_create: Callable[..., int]
    ppsched_config_copy: Callable[..., int]
    ppsched_config_destroy: Callable[..., None]
    ppsched_config_devices: Callable[..., int]
    ppsched_config_stages: Callable[..., int]
    ppsched_config_microbatches: Callable[..., int]
    ppsched_config_iterations: Callable[..., int]
    ppsched_config_set_iterations: Callable[..., int]
    ppsched_config_set_slices: Callable[..., int]
    ppsched_config_slices: Callable[..., int]
    ppsched_config_set_placement: Callable[..., int]
    ppsched_config_placement: Callable[..., int]
    ppsched_config_set_weight_versions: Callable[..., int]
    ppsched_config_order_devices: Callable[..., int]
    ppsched_config_set_split_backward: Callable[..., int]
    ppsched_config_split_backward: Callable[..., int]
    ppsched_config_set_forward_only: Callable[..., int]
    ppsched_config_forward_only: Callable[..., int]
    ppsched_config_set_sender_waits: Callable[..., int]
    ppsched_config_sender_waits: Callable[..., int]
    ppsched_config_set_values: Callable[..., int]
    ppsched_config_values: Callable[..., _Pointer[c_double]]
    ppsched_config_validate: Callable[..., int]
    ppsched_config_set_option: Callable[..., int]
    ppsched_config_set_progress: Callable[..., int]
    ppsched_config_with_stages: Callable[..., int]
    ppsched_config_with_microbatches: Callable[..., int]
    ppsched_block_kind_name: Callable[..., Optional[bytes]]
    ppsched_description_create: Callable[..., int]
    ppsched_description_read: Callable[..., int]
    ppsched_description_from_transformer: Callable[..., int]
    ppsched_description_guess: Callable[..., int]
    ppsched_description_retain: Callable[..., Optional[int]]
    ppsched_description_release: Callable[..., None]
    ppsched_description_get_info: Callable[..., int]
    ppsched_description_warning_count: Callable[..., int]
    ppsched_description_warning_at: Callable[..., Optional[bytes]]
    ppsched_description_write: Callable[..., int]
    ppsched_model_family_count: Callable[..., int]
    ppsched_model_family_at: Callable[..., Optional[bytes]]
    ppsched_schedule_evaluate: Callable[..., int]
    ppsched_schedule_evaluate_transfers: Callable[..., int]
    ppsched_timeline_update: Callable[..., int]
    ppsched_timeline_destroy: Callable[..., None]
    ppsched_timeline_schedule: Callable[..., Optional[int]]
    ppsched_timeline_spans: Callable[..., _Pointer[Span]]
    ppsched_timeline_latest_starts: Callable[..., _Pointer[c_double]]
    ppsched_timeline_get_metrics: Callable[..., int]
    ppsched_timeline_get_device_metrics: Callable[..., int]
    ppsched_timeline_get_idle: Callable[..., int]
    ppsched_timeline_get_memory: Callable[..., int]
    ppsched_timeline_get_memory_of_cause: Callable[..., int]
    ppsched_timeline_get_peak_causes: Callable[..., int]
    ppsched_timeline_get_peak_items: Callable[..., int]
    ppsched_timeline_get_idle_windows: Callable[..., int]
    ppsched_memory_cause_name: Callable[..., Optional[bytes]]
    ppsched_timeline_get_critical_path: Callable[..., int]
    ppsched_timeline_get_device_slack: Callable[..., int]
    ppsched_timeline_get_stage_slack: Callable[..., int]
    ppsched_timeline_get_sensitivities: Callable[..., int]
    ppsched_schedule_export: Callable[..., int]
    ppsched_schedule_export_to_buffer: Callable[..., int]
    ppsched_schedule_import: Callable[..., int]
    ppsched_job_dimension_name: Callable[..., Optional[bytes]]
    ppsched_job_goal_name: Callable[..., Optional[bytes]]
    ppsched_job_create: Callable[..., int]
    ppsched_job_destroy: Callable[..., None]
    ppsched_job_state_name: Callable[..., Optional[bytes]]
    ppsched_job_layout_count: Callable[..., int]
    ppsched_job_get_layout: Callable[..., int]
    ppsched_job_evaluate_layout: Callable[..., int]
    ppsched_job_set_progress: Callable[..., int]
    ppsched_job_run: Callable[..., int]
    ppsched_job_best_count: Callable[..., int]
    ppsched_job_layout_at_rank: Callable[..., int]
    ppsched_runtime_name: Callable[..., Optional[bytes]]
    ppsched_schedule_write_launch_arguments: Callable[..., int]
    ppsched_collective_name: Callable[..., Optional[bytes]]
    ppsched_model_create_measured: Callable[..., int]
    ppsched_measure_name: Callable[..., Optional[bytes]]
    ppsched_model_get_row_measure: Callable[..., int]
    ppsched_model_get_link: Callable[..., int]
    ppsched_layers_create: Callable[..., int]
    ppsched_layers_retain: Callable[..., Optional[int]]
    ppsched_layers_release: Callable[..., None]
    ppsched_layers_count: Callable[..., int]
    ppsched_layers_entries: Callable[..., int]
    ppsched_layers_get_entry: Callable[..., int]
    ppsched_config_from_layers: Callable[..., int]
    ppsched_layout_create: Callable[..., int]
    ppsched_layout_create_from_text: Callable[..., int]
    ppsched_layout_create_from_megatron: Callable[..., int]
    ppsched_layout_create_from_torchtitan: Callable[..., int]
    ppsched_layout_find_torchtitan_stages: Callable[..., int]
    ppsched_layout_destroy: Callable[..., None]
    ppsched_layout_devices: Callable[..., int]
    ppsched_layout_chunks: Callable[..., int]
    ppsched_layout_stages: Callable[..., _Pointer[LayoutStage]]
    ppsched_layout_offsets: Callable[..., _Pointer[c_uint32]]
    ppsched_layout_write_text: Callable[..., int]
    ppsched_layout_write_modules: Callable[..., int]
    ppsched_schedule_lower: Callable[..., int]
    ppsched_schedule_renumber: Callable[..., int]
    ppsched_schedule_recompute: Callable[..., int]
    ppsched_schedule_offload: Callable[..., int]
    ppsched_schedule_order_microbatches: Callable[..., int]
    ppsched_microbatches_balance: Callable[..., int]
    ppsched_accelerator_count: Callable[..., int]
    ppsched_accelerator_at: Callable[..., _Pointer[Accelerator]]
    ppsched_model_create: Callable[..., int]
    ppsched_model_destroy: Callable[..., None]
    ppsched_model_get_parameters: Callable[..., int]
    ppsched_model_row_count: Callable[..., int]
    ppsched_model_get_row: Callable[..., int]
    ppsched_precision_name: Callable[..., Optional[bytes]]
    ppsched_model_role_name: Callable[..., Optional[bytes]]
    ppsched_model_pass_name: Callable[..., Optional[bytes]]
    ppsched_model_get_pass_cost: Callable[..., int]
    ppsched_model_get_memory: Callable[..., int]
    ppsched_model_get_update_cost: Callable[..., int]
    ppsched_layers_from_model: Callable[..., int]
    ppsched_model_get_megatron_memory: Callable[..., int]
    ppsched_placement_name: Callable[..., Optional[bytes]]
    ppsched_sender_waits_name: Callable[..., Optional[bytes]]
    ppsched_objective_name: Callable[..., Optional[bytes]]
    ppsched_channel_order_name: Callable[..., Optional[bytes]]
    ppsched_lowering_name: Callable[..., Optional[bytes]]
    ppsched_unshard_lookahead_name: Callable[..., Optional[bytes]]
    ppsched_dispatch_name: Callable[..., Optional[bytes]]
    ppsched_rank_by_name: Callable[..., Optional[bytes]]
    ppsched_format_name: Callable[..., Optional[bytes]]
    ppsched_finding_kind_name: Callable[..., Optional[bytes]]
    ppsched_reason_name: Callable[..., Optional[bytes]]
    ppsched_slot_use_name: Callable[..., Optional[bytes]]
    ppsched_connecting_name: Callable[..., Optional[bytes]]
    ppsched_layer_place_name: Callable[..., Optional[bytes]]
    ppsched_chakra_sizes_name: Callable[..., Optional[bytes]]
    ppsched_chakra_links_name: Callable[..., Optional[bytes]]
    ppsched_log_level_name: Callable[..., Optional[bytes]]
    ppsched_pair_rule_name: Callable[..., Optional[bytes]]
    ppsched_steady_reason_name: Callable[..., Optional[bytes]]
    ppsched_stage_passes_name: Callable[..., Optional[bytes]]
    ppsched_kind_token: Callable[..., Optional[bytes]]
    ppsched_kind_text: Callable[..., Optional[bytes]]
    ppsched_op_write_token: Callable[..., int]
    ppsched_pair_find_order: Callable[..., int]
    ppsched_pair_run_order: Callable[..., int]
    ppsched_config_set_windows: Callable[..., int]
    ppsched_config_get_windows: Callable[..., int]
    ppsched_plan_create: Callable[..., int]
    ppsched_plan_destroy: Callable[..., None]
    ppsched_plan_evaluate: Callable[..., int]
    ppsched_plan_run: Callable[..., int]
    ppsched_plan_count: Callable[..., int]
    ppsched_plan_candidate_at_rank: Callable[..., int]
    ppsched_plan_get_candidate: Callable[..., int]
    ppsched_plan_get_split: Callable[..., int]
    ppsched_plan_get_recomputes: Callable[..., int]
    ppsched_plan_get_microbatch_order: Callable[..., int]
    ppsched_plan_get_device_order: Callable[..., int]
    ppsched_plan_create_config: Callable[..., int]
    ppsched_plan_create_timeline: Callable[..., int]
    ppsched_plan_find_least_limit: Callable[..., int]
    ppsched_prefill_find_chunks: Callable[..., int]
    ppsched_prefill_create_config: Callable[..., int]
    ppsched_rank_order_name: Callable[..., Optional[bytes]]
    ppsched_price_create: Callable[..., int]
    ppsched_price_destroy: Callable[..., None]
    ppsched_price_get_step: Callable[..., int]
    ppsched_price_get_device: Callable[..., int]
    ppsched_price_get_pipeline: Callable[..., int]
    ppsched_model_get_pipeline_link: Callable[..., int]
    ppsched_model_get_pipeline_update_cost: Callable[..., int]
    ppsched_model_get_copies_time: Callable[..., int]
    ppsched_model_get_attention_share: Callable[..., int]
    ppsched_quantity_name: Callable[..., Optional[bytes]]
    ppsched_replan_create: Callable[..., int]
    ppsched_replan_destroy: Callable[..., None]
    ppsched_replan_get_figures: Callable[..., int]
    ppsched_replan_get_split: Callable[..., int]
    ppsched_replan_get_recomputes: Callable[..., int]
    ppsched_replan_get_device_order: Callable[..., int]
    ppsched_replan_get_moves: Callable[..., int]
    ppsched_replicas_create: Callable[..., int]
    ppsched_replicas_destroy: Callable[..., None]
    ppsched_replicas_get_figures: Callable[..., int]
    ppsched_replicas_get_replica: Callable[..., int]
    ppsched_schedule_get_links: Callable[..., int]
    ppsched_schedule_get_buffers: Callable[..., int]
    ppsched_schedule_get_connections: Callable[..., int]
    ppsched_schedule_get_lifetimes: Callable[..., int]
    ppsched_schedule_get_arenas: Callable[..., int]
    ppsched_config_set_robust_objective: Callable[..., int]
    ppsched_schedule_evaluate_scenarios: Callable[..., int]
    ppsched_scenarios_destroy: Callable[..., None]
    ppsched_scenarios_makespans: Callable[..., _Pointer[c_double]]
    ppsched_scenarios_causes: Callable[..., _Pointer[c_double]]
    ppsched_scenarios_peaks: Callable[..., _Pointer[c_double]]
    ppsched_scenarios_get_metrics: Callable[..., int]
    ppsched_scenarios_get_quantile: Callable[..., int]
    ppsched_schedule_generate: Callable[..., int]
    ppsched_schedule_retain: Callable[..., Optional[int]]
    ppsched_schedule_release: Callable[..., None]
    ppsched_schedule_name: Callable[..., Optional[bytes]]
    ppsched_schedule_devices: Callable[..., int]
    ppsched_schedule_stages: Callable[..., int]
    ppsched_schedule_microbatches: Callable[..., int]
    ppsched_schedule_iterations: Callable[..., int]
    ppsched_schedule_slices: Callable[..., int]
    ppsched_schedule_placement: Callable[..., int]
    ppsched_schedule_device_of: Callable[..., int]
    ppsched_schedule_peer_of: Callable[..., int]
    ppsched_schedule_peer_stage: Callable[..., int]
    ppsched_schedule_place_of: Callable[..., int]
    ppsched_schedule_stage_input: Callable[..., int]
    ppsched_schedule_stage_device: Callable[..., int]
    ppsched_schedule_stage_passes: Callable[..., int]
    ppsched_schedule_runs_stage: Callable[..., int]
    ppsched_schedule_has_graph: Callable[..., int]
    ppsched_schedule_flushes: Callable[..., int]
    ppsched_schedule_weight_versions: Callable[..., int]
    ppsched_schedule_op_count: Callable[..., int]
    ppsched_schedule_queue: Callable[..., Optional[int]]
    ppsched_queue_ops: Callable[..., _Pointer[Op]]
    ppsched_builder_create: Callable[..., int]
    ppsched_builder_destroy: Callable[..., None]
    ppsched_builder_append: Callable[..., int]
    ppsched_builder_set_name: Callable[..., int]
    ppsched_builder_set_flushes: Callable[..., int]
    ppsched_builder_set_weight_versions: Callable[..., int]
    ppsched_builder_finish: Callable[..., int]
    ppsched_schedule_generate_with: Callable[..., int]
    ppsched_config_set_stage_inputs: Callable[..., int]
    ppsched_config_set_stage_passes: Callable[..., int]
    ppsched_config_set_stage_microbatches: Callable[..., int]
    ppsched_config_set_stage_devices: Callable[..., int]
    ppsched_status_name: Callable[..., Optional[bytes]]
    ppsched_status_text: Callable[..., Optional[bytes]]
    ppsched_steady_create: Callable[..., int]
    ppsched_steady_destroy: Callable[..., None]
    ppsched_schedule_find_period: Callable[..., int]
    ppsched_steady_get_period: Callable[..., int]
    ppsched_steady_get_metrics: Callable[..., int]
    ppsched_steady_get_device_metrics: Callable[..., int]
    ppsched_steady_get_idle: Callable[..., int]
    ppsched_steady_get_peak_causes: Callable[..., int]
    ppsched_strategy_count: Callable[..., int]
    ppsched_strategy_get_info: Callable[..., int]
    ppsched_strategy_get_option: Callable[..., int]
    ppsched_strategy_find: Callable[..., int]
    ppsched_strategy_fits: Callable[..., int]
    ppsched_version: Callable[..., int]
    ppsched_version_text: Callable[..., Optional[bytes]]
    ppsched_abi_version: Callable[..., int]
