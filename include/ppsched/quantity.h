/* SPDX-License-Identifier: Apache-2.0 */
/* The quantities of a problem: lists of numbers that ppsched_config_set_values sets. */
#ifndef PPSCHED_QUANTITY_H
#define PPSCHED_QUANTITY_H

#include <stdint.h>

#include <ppsched/export_macro.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Lists of numbers that describe the problem. The comment of each quantity says how many values its
 * list may have.
 *   - D is the number of devices, S the number of stages. So "1 or S values" means one value for
 *     all stages, or one value per stage.
 *   - Times and memory are in units of the caller's choice. Values are 0 or more, unless the
 *     comment has another rule. Values are finite; only bandwidths and slowdowns may be infinite.
 *   - The kinds of ops (F, B, I, W, SEND, RECV, UNSHARD and so on) are in enum ppsched_kind. A
 *     *stage pass* is all ops of one microbatch (or, if microbatches have slices, of one slice) on
 *     one stage. "I + W" means the duration of I plus the duration of W.
 *   - Quantities of one topic, such as the times of ops, have numbers from 16 * n to 16 * n +
 *     15. */
enum ppsched_quantity {
    /* --- times of ops --- */

    /* Duration of F: 1 or S values. Default: 1. */
    PPSCHED_QUANTITY_FORWARD_TIMES = 16,

    /* Duration of B: 1 or S values. Default: I + W if both are given, 2 if neither is given. If
     * only one of I and W is given, B must be given, too. */
    PPSCHED_QUANTITY_BACKWARD_TIMES = 17,

    /* Duration of I: 1 or S values. Default: B - W if W is given, otherwise BACKWARD_INPUT_SHARE *
     * B. */
    PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES = 18,

    /* Duration of W: 1 or S values. Default: B - I. */
    PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES = 19,

    /* Duration of I as a share of the duration of B: 1 value from 0 to 1. Used if neither I nor W
     * is given. Default: 0.5. */
    PPSCHED_QUANTITY_BACKWARD_INPUT_SHARE = 20,

    /* Duration of an overlapped pair: 1 value, S values (one per stage of the F) or S*S values
     * (row: stage of the F, column: stage of the B or I). Default: the sum of the durations of both
     * ops. */
    PPSCHED_QUANTITY_OVERLAPPED_TIMES = 21,

    /* Op overhead: the runtime's own time per op, in addition to the op's time. This time does not
     * depend on the size of the stage. The list has 1 value for all ops, or 4 values, for F, B, I
     * and W. An overlapped pair has the overhead of both ops. If OVERLAPPED_TIMES are given, they
     * include this overhead. MICROBATCH_SCALE and SLICE_SCALE multiply both the op's time and the
     * overhead. Default: 0. */
    PPSCHED_QUANTITY_OP_OVERHEAD = 22,

    /* Speed of a device: 1 or D values above 0. The speed divides the times of F, B, I, W,
     * overlapped pairs and RECOMPUTE. It does not change OP_OVERHEAD, transfers, UNSHARD,
     * REDUCE_GRAD and copies. Default: 1. */
    PPSCHED_QUANTITY_DEVICE_SPEEDS = 23,

    /* Factors on the times of F, B, I and W on a device: 1 or 4 * D values above 0. The list has
     * the factors of F on each device, then those of B, then those of I, then those of W. The
     * factors apply in addition to DEVICE_SPEEDS. Overlapped pairs and RECOMPUTE have the factor of
     * F. Default: 1. */
    PPSCHED_QUANTITY_DEVICE_SCALE = 24,

    /* The type of a device: 1 or D whole numbers from 0 to 255. For each type, `device_scale` of
     * ppsched_layer has factors on the times of a layer. Used only with layers. Default: 0. */
    PPSCHED_QUANTITY_LAYER_TYPES = 25,

    /* Factors on the times of F, B, I and W of a stage on a device: 1 or 4 * S * D values. The
     * factors apply in addition to DEVICE_SCALE. The list has the factors of F for stage 0 on each
     * device, then for stage 1 and so on. The factors of B, of I and of W follow in the same form.
     * Default: 1. */
    PPSCHED_QUANTITY_STAGE_SCALE = 26,

    /* Device overhead: a time per op that depends on the device, in addition to OP_OVERHEAD; 1 or D
     * values. DEVICE_SPEEDS and the factors above change the times of F, B, I and W, but not this
     * overhead, which is added afterwards. In all other respects, this overhead has the same effect
     * as OP_OVERHEAD. Default: 0. */
    PPSCHED_QUANTITY_DEVICE_OVERHEAD = 27,

    /* --- memory of stage passes and stages, and memory limits --- */

    /* Memory that a stage pass takes when its F starts: 1 or S values. Default: 1, unless
     * MEM_BACKWARD_INPUT and MEM_BACKWARD_WEIGHT are both given. Then the default is
     * -(MEM_BACKWARD_INPUT + MEM_BACKWARD_WEIGHT + MEM_RECOMPUTED_BACKWARD_INPUT), but at least
     * 0. */
    PPSCHED_QUANTITY_MEM_FORWARD = 32,

    /* Change of a stage pass's memory by I, not counting recomputed activations: 1 or S values. If
     * the value is negative, I releases this memory at its end. If the value is positive, I takes
     * this memory at its start, and the memory is held until W ends. A B holds this memory while
     * the B runs. Example of a positive value: output gradients that W needs. Default: 0, unless
     * MEM_BACKWARD_WEIGHT is given. Then the default is -(MEM_FORWARD + MEM_BACKWARD_WEIGHT +
     * MEM_RECOMPUTED_BACKWARD_INPUT). */
    PPSCHED_QUANTITY_MEM_BACKWARD_INPUT = 33,

    /* Change of a stage pass's memory when W ends: 1 or S values. Each value must be 0 or less.
     * MEM_FORWARD, MEM_RECOMPUTED_BACKWARD_INPUT, MEM_BACKWARD_INPUT and MEM_BACKWARD_WEIGHT must
     * add up to 0. So between I and W, a stage pass holds the sum of the first three, and W
     * releases this sum. After a B the stage pass holds no memory. Default: the value with which
     * these four add up to 0. */
    PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT = 34,

    /* Memory that a stage always takes, and that has no quantity of its own: 1 or S values.
     * Example: gradients and optimizer states, if MEM_GRADIENTS and MEM_OPTIMIZER are not used.
     * Default: 0. */
    PPSCHED_QUANTITY_MEM_STATIC = 35,

    /* Memory of one version of a stage's weights: 1 or S values. Default: 0. */
    PPSCHED_QUANTITY_MEM_WEIGHTS = 36,

    /* Memory limit of a device: 1 or D values. Default: no limit. */
    PPSCHED_QUANTITY_MEM_LIMIT = 37,

    /* Memory of activations that F does not keep, and that I recomputes: 1 or S values. This memory
     * is held from the start of I until W ends, because W also needs these activations. MEM_FORWARD
     * and MEM_BACKWARD_INPUT do not include this memory. Default: 0. */
    PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD_INPUT = 38,

    /* Memory of recomputed activations that a B holds while it runs: 1 or S values. The value may
     * be less than MEM_RECOMPUTED_BACKWARD_INPUT, because a B may recompute and release one layer
     * after another. Default: MEM_RECOMPUTED_BACKWARD_INPUT, as if a B recomputed all activations
     * at the same time. */
    PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD = 39,

    /* --- memory of other causes: see enum ppsched_memory_cause --- */

    /* Memory of the optimizer states of a stage: 1 or S values. Default: 0. */
    PPSCHED_QUANTITY_MEM_OPTIMIZER = 48,

    /* Memory that a device holds in addition to its stages, such as contexts and a communication
     * library: 1 or D values. Default: 0. */
    PPSCHED_QUANTITY_MEM_OTHER = 49,

    /* Memory of the gradients of a stage: 1 or S values. The gradients are held from the start of
     * the stage's first B or W until its REDUCE_GRAD ends. Without a REDUCE_GRAD, they are held to
     * the end of the schedule. Default: 0. */
    PPSCHED_QUANTITY_MEM_GRADIENTS = 50,

    /* Memory of the gathered weights of a stage, held from the start of its UNSHARD until its
     * RESHARD: 1 or S values. Default: 0. */
    PPSCHED_QUANTITY_MEM_GATHERED = 51,

    /* Memory of the output of F, which a stage pass holds from the end of F until the end of its B
     * or I: 1 or S values. Default: 0. */
    PPSCHED_QUANTITY_MEM_OUTPUT = 52,

    /* Memory of the send buffer of F, held from the end of F until its SEND_F is done: 1 or S
     * values. Default: 0. */
    PPSCHED_QUANTITY_MEM_SEND_FORWARD = 53,

    /* Memory of the send buffer of B or I, held from the end of B or I until its SEND_B is done: 1
     * or S values. Default: 0. */
    PPSCHED_QUANTITY_MEM_SEND_BACKWARD = 54,

    /* Memory of the receive buffer of F: 1 or S values. The buffer is held from when the device
     * reaches RECV_F until F starts. From then on, the buffer is part of MEM_FORWARD. Default:
     * 0. */
    PPSCHED_QUANTITY_MEM_RECEIVE_FORWARD = 55,

    /* Memory of the receive buffer of B or I, held from when the device reaches RECV_B until B or I
     * ends: 1 or S values. Default: 0. */
    PPSCHED_QUANTITY_MEM_RECEIVE_BACKWARD = 56,

    /* Memory of the work space of F and of RECOMPUTE, held while the op runs: 1 or S values.
     * Default: 0. */
    PPSCHED_QUANTITY_MEM_WORK_FORWARD = 57,

    /* Memory of the work space of B, held while B runs: 1 or S values. Default: 0. */
    PPSCHED_QUANTITY_MEM_WORK_BACKWARD = 58,

    /* Memory of the work space of I, held while I runs: 1 or S values. Default:
     * MEM_WORK_BACKWARD. */
    PPSCHED_QUANTITY_MEM_WORK_BACKWARD_INPUT = 59,

    /* Memory of the work space of W, held while W runs: 1 or S values. Default:
     * MEM_WORK_BACKWARD. */
    PPSCHED_QUANTITY_MEM_WORK_BACKWARD_WEIGHT = 60,

    /* --- transfers between devices --- */

    /* Latency of a transfer from one device to another: 1 or D*D values (row: from, column:
     * to). Default: 0. */
    PPSCHED_QUANTITY_P2P_TIME = 64,

    /* Bytes per unit of time from one device to another: 1 or D*D values above 0 (in the order of
     * P2P_TIME), which may be infinite. Default: infinite. */
    PPSCHED_QUANTITY_P2P_BANDWIDTH = 65,

    /* Bytes that F of a stage sends to the next stage: 1 or S values. Default: 0. */
    PPSCHED_QUANTITY_ACTIVATION_BYTES = 66,

    /* Bytes that B or I of a stage sends to the stage before: 1 or S values. Default:
     * ACTIVATION_BYTES of the stage before. */
    PPSCHED_QUANTITY_GRADIENT_BYTES = 67,

    /* Send overhead: how long a device is in the call of each SEND and RECV of a lowered schedule;
     * 1 or D values. During a call the device does nothing else. The send or receive may start at
     * the end of its call. This time counts in ppsched_schedule_evaluate_transfers, and in a
     * lowering with PPSCHED_UNSHARD_LOOKAHEAD_NEEDED. It is ignored in all other lowerings, in
     * ppsched_schedule_evaluate, bounds, searches and scenarios. Bounds stay valid, because calls
     * only add time. Default: 0. */
    PPSCHED_QUANTITY_SEND_OVERHEAD = 68,

    /* --- sharded parameters, for ppsched_schedule_evaluate_transfers --- */

    /* Duration of UNSHARD: 1 or S values. Default: UNSHARD_BYTES / SHARDING_BANDWIDTH. */
    PPSCHED_QUANTITY_UNSHARD_TIMES = 80,

    /* Duration of REDUCE_GRAD: 1 or S values. Default: REDUCE_GRAD_BYTES / SHARDING_BANDWIDTH. */
    PPSCHED_QUANTITY_REDUCE_GRAD_TIMES = 81,

    /* Bytes that UNSHARD of a stage transfers: 1 or S values. Default: 0. */
    PPSCHED_QUANTITY_UNSHARD_BYTES = 82,

    /* Bytes that REDUCE_GRAD of a stage transfers: 1 or S values. Default: 0. */
    PPSCHED_QUANTITY_REDUCE_GRAD_BYTES = 83,

    /* Bytes per unit of time of UNSHARD and REDUCE_GRAD: 1 or D values above 0, which may be
     * infinite. Default: infinite. */
    PPSCHED_QUANTITY_SHARDING_BANDWIDTH = 84,

    /* Factor on the times of a device's F, B, I and W while an UNSHARD or REDUCE_GRAD runs: 1 or D
     * values of at least 1. With an infinite factor, F, B, I and W stop during that time. Default:
     * 1, no slowdown. */
    PPSCHED_QUANTITY_SHARDING_SLOWDOWN = 85,

    /* --- activation memory saving: RECOMPUTE, OFFLOAD and RELOAD, for
     *     ppsched_schedule_evaluate --- */

    /* Duration of RECOMPUTE: 1 or S values. Default: the duration of F. */
    PPSCHED_QUANTITY_RECOMPUTE_TIMES = 96,

    /* Memory that a stage pass with RECOMPUTE holds from its F until its RECOMPUTE, such as the
     * memory of its input: 1 or S values. Each value must be at most MEM_FORWARD. Default: 0. */
    PPSCHED_QUANTITY_MEM_RECOMPUTE = 97,

    /* Duration of the copy of OFFLOAD: 1 or S values. Default: HOST_LATENCY + OFFLOAD_BYTES /
     * HOST_BANDWIDTH. */
    PPSCHED_QUANTITY_OFFLOAD_TIMES = 98,

    /* Duration of the copy of RELOAD: 1 or S values. Default: the duration of the copy of
     * OFFLOAD. */
    PPSCHED_QUANTITY_RELOAD_TIMES = 99,

    /* Bytes that OFFLOAD and RELOAD of a stage pass each copy: 1 or S values. Default: the value of
     * MEM_OFFLOAD, which is right only if memory is in bytes. */
    PPSCHED_QUANTITY_OFFLOAD_BYTES = 100,

    /* Activation memory of a stage pass that OFFLOAD frees and RELOAD takes again: 1 or S values.
     * Each value must be at most MEM_FORWARD. Default: MEM_FORWARD. */
    PPSCHED_QUANTITY_MEM_OFFLOAD = 101,

    /* Bytes per unit of time between a device and its host, in each direction: 1 or D values above
     * 0, which may be infinite. Default: infinite. */
    PPSCHED_QUANTITY_HOST_BANDWIDTH = 102,

    /* Fixed time of each copy, in addition to the time of its bytes: 1 or D values. Default: 0. */
    PPSCHED_QUANTITY_HOST_LATENCY = 103,

    /* Number of the device's host link: 1 or D whole numbers from 0 to D - 1. Devices with the same
     * number share a link. Default: each device has its own link. */
    PPSCHED_QUANTITY_HOST_LINK = 104,

    /* Factor on the times of a device's F, B, I, W and RECOMPUTE while one of its OFFLOADs or
     * RELOADs copies: 1 or D values of at least 1. With an infinite factor, F, B, I, W and
     * RECOMPUTE stop during that time. Default: 1, no slowdown. */
    PPSCHED_QUANTITY_COPY_SLOWDOWN = 105,

    /* --- factors of microbatches (M per iteration) and of slices (K per microbatch) --- */

    /* Factor of a microbatch on its times, memory and bytes, in all quantities above: 1 or M values
     * above 0. The factor multiplies the memory that a stage pass takes and releases. In transfers
     * and in copies to the host, the factor multiplies the time of the bytes, not the latency. If
     * OVERLAPPED_TIMES are given, the time of a pair changes in the same ratio as the sum of its
     * two ops. The M factors apply to each iteration, because all iterations have the same
     * microbatches. Default: 1. */
    PPSCHED_QUANTITY_MICROBATCH_SCALE = 112,

    /* Factor of a microbatch on memory and bytes only, for microbatches whose memory and times have
     * different factors: 1 or M values above 0. Example: attention over documents of several
     * lengths. Default: MICROBATCH_SCALE. */
    PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE = 113,

    /* Factor of a slice on times, in addition to the factor of its microbatch: 1, K or S * K values
     * above 0. With S * K values (K above 1), each stage has its own factors: first those of all
     * slices on stage 0, then on stage 1 and so on. Memory and bytes are the same for all slices.
     * With causal attention, later slices take longer: the factor of slice k is a + b * k, where a
     * and b depend on the share of attention in the times of the stage. Default: 1. */
    PPSCHED_QUANTITY_SLICE_SCALE = 114,

    /* The number of the request to which a microbatch belongs: 1 or M whole numbers. This quantity
     * is only for schedules that have only forwards, and whole microbatches. Consecutive
     * microbatches with the same number are chunks of one request. On each stage, a chunk runs
     * after the chunk before it. Default: each microbatch is a separate request. */
    PPSCHED_QUANTITY_MICROBATCH_REQUEST = 115
};

/* The quantity's name in config files, such as "forward_times" for PPSCHED_QUANTITY_FORWARD_TIMES.
 * On the command line, the name has '-' in place of '_'. For a number that is no quantity, the
 * result is NULL. Some numbers between the first and the last quantity are no quantities either.
 * The text has static storage. */
PPSCHED_API const char *ppsched_quantity_name(int32_t quantity);

#ifdef __cplusplus
}
#endif

#endif
