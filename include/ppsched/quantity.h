/* SPDX-License-Identifier: Apache-2.0 */
/* The quantities of a problem: lists of numbers, which ppsched_config_set_values sets. */
#ifndef PPSCHED_QUANTITY_H
#define PPSCHED_QUANTITY_H

#include <stdint.h>

#include <ppsched/export_macro.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Lists of numbers that describe the problem. Each list takes one value for all, or as many as
 * the count named here; D devices, S stages. Times and memory are in units of the caller's
 * choice. Values are >= 0, if nothing else is said, and finite, except bandwidths and
 * slowdowns. A quantity's number divided by 16, rounded down, is the number of its topic. */
enum ppsched_quantity {
    /* --- times of ops --- */

    /* Duration of F: 1 or S values. Default: 1. */
    PPSCHED_QUANTITY_FORWARD_TIMES = 16,

    /* Duration of B: 1 or S. Default: I + W if both are given, else 2. */
    PPSCHED_QUANTITY_BACKWARD_TIMES = 17,

    /* Duration of I: 1 or S. Default: B - W if W is given, else BACKWARD_INPUT_SHARE * B. */
    PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES = 18,

    /* Duration of W: 1 or S. Default: B - I. */
    PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES = 19,

    /* Share of B that is I if neither I nor W is given: 1 value in 0..1. Default: 0.5. */
    PPSCHED_QUANTITY_BACKWARD_INPUT_SHARE = 20,

    /* Duration of an overlapped pair: 1, S (by forward stage) or S*S values (row: forward stage,
     * column: backward stage). Default: the sum of both ops. */
    PPSCHED_QUANTITY_OVERLAPPED_TIMES = 21,

    /* Time of the runtime per op, in addition to the op's time; it does not depend on the size of
     * the stage: 1 for all, or 4, for F, B, I and W. An overlapped pair takes that of both
     * ops, unless OVERLAPPED_TIMES are given, which include it. MICROBATCH_SCALE and SLICE_SCALE
     * multiply it like the op's time. Default: 0. */
    PPSCHED_QUANTITY_OP_OVERHEAD = 22,

    /* Speed of a device, which divides the times of F, B, I, W, overlapped pairs and RECOMPUTE, not
     * OP_OVERHEAD, transfers, UNSHARD, REDUCE_GRAD and copies: 1 or D, > 0. Default: 1. */
    PPSCHED_QUANTITY_DEVICE_SPEEDS = 23,

    /* Times of F, B, I and W on a device, as a multiple of those stated: of F on each device, then
     * of B, I and W: 1 or 4 * D, > 0. Applies in addition to DEVICE_SPEEDS, and to the same times;
     * to those of overlapped pairs and RECOMPUTE with the value of F. Default: 1. */
    PPSCHED_QUANTITY_DEVICE_SCALE = 24,

    /* The type of a device, whose times of layers are in `device_scale` of ppsched_layer: 1 or D,
     * whole numbers from 0 to 255. Read with layers only. Default: 0. */
    PPSCHED_QUANTITY_LAYER_TYPES = 25,

    /* Like DEVICE_SCALE, and in addition to it, by stage: of F for stage 0 on each device, then for
     * stage 1 and so on, then of B, I and W: 1 or 4 * S * D, > 0. Default: 1. */
    PPSCHED_QUANTITY_STAGE_SCALE = 26,

    /* --- memory of stage passes and stages, and memory limits --- */

    /* Memory that a stage pass takes when its F starts: 1 or S. Default: 1; if both of the
     * next two are given, the value with which the three add up to 0. */
    PPSCHED_QUANTITY_MEM_FORWARD = 32,

    /* Change by I: 1 or S. If negative, I releases it at its end. If positive, it is held from the
     * start of I until W ends, such as output gradients that W needs, and also while a B runs.
     * Default: 0; if MEM_BACKWARD_WEIGHT is given, the value with which the three add up to 0. */
    PPSCHED_QUANTITY_MEM_BACKWARD_INPUT = 33,

    /* Change when W ends: 1 or S, <= 0. After a B nothing is held. The three sum to 0;
     * MEM_RECOMPUTED_BACKWARD_INPUT, if given, is a fourth term of this sum. Default: what makes
     * the sum 0. */
    PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT = 34,

    /* Memory that a stage always takes (gradients, optimizer): 1 or S. Default: 0. */
    PPSCHED_QUANTITY_MEM_STATIC = 35,

    /* One version of a stage's weights: 1 or S. Default: 0. */
    PPSCHED_QUANTITY_MEM_WEIGHTS = 36,

    /* Memory limit of a device: 1 or D. Default: no limit. */
    PPSCHED_QUANTITY_MEM_LIMIT = 37,

    /* Activations that F did not keep and that I recomputes when it starts: 1 or S. W needs
     * them too, so they are held until W ends. Default: 0. */
    PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD_INPUT = 38,

    /* What a B holds of them while it runs, as it recomputes and releases layer after layer: 1 or
     * S. Default: MEM_RECOMPUTED_BACKWARD_INPUT, all at once. */
    PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD = 39,

    /* --- memory of other causes: see enum ppsched_memory_cause --- */

    /* Optimizer states of a stage: 1 or S. Default: 0. */
    PPSCHED_QUANTITY_MEM_OPTIMIZER = 48,

    /* What a device holds in addition to its stages (contexts, communication library): 1 or D.
     * Default: 0. */
    PPSCHED_QUANTITY_MEM_OTHER = 49,

    /* Gradients of a stage, from the start of its first B or W until its REDUCE_GRAD ends; without
     * REDUCE_GRAD they are held to the end: 1 or S. Default: 0. */
    PPSCHED_QUANTITY_MEM_GRADIENTS = 50,

    /* Gathered weights of a stage, from the start of its UNSHARD until its RESHARD: 1 or S.
     * Default: 0. */
    PPSCHED_QUANTITY_MEM_GATHERED = 51,

    /* Output of F that a stage pass holds from the end of F until the end of its B or I: 1 or
     * S. Default: 0. */
    PPSCHED_QUANTITY_MEM_OUTPUT = 52,

    /* Send buffer of F, from the end of F until its SEND_F is done: 1 or S. Default: 0. */
    PPSCHED_QUANTITY_MEM_SEND_FORWARD = 53,

    /* Send buffer of B or I, from its end until its SEND_B is done: 1 or S. Default: 0. */
    PPSCHED_QUANTITY_MEM_SEND_BACKWARD = 54,

    /* Receive buffer of F, from when the device reaches RECV_F until F starts; from then on the
     * stage pass's memory includes it: 1 or S. Default: 0. */
    PPSCHED_QUANTITY_MEM_RECEIVE_FORWARD = 55,

    /* Receive buffer of B or I, from when the device reaches RECV_B until B or I ends: 1 or S.
     * Default: 0. */
    PPSCHED_QUANTITY_MEM_RECEIVE_BACKWARD = 56,

    /* Work space of F, and of RECOMPUTE, while it runs: 1 or S. Default: 0. */
    PPSCHED_QUANTITY_MEM_WORK_FORWARD = 57,

    /* Work space of B, while it runs: 1 or S. Default: 0. */
    PPSCHED_QUANTITY_MEM_WORK_BACKWARD = 58,

    /* Work space of I, while it runs: 1 or S. Default: that of B. */
    PPSCHED_QUANTITY_MEM_WORK_BACKWARD_INPUT = 59,

    /* Work space of W, while it runs: 1 or S. Default: that of B. */
    PPSCHED_QUANTITY_MEM_WORK_BACKWARD_WEIGHT = 60,

    /* --- transfers between devices --- */

    /* Latency of a transfer from one device to another: 1 or D*D values (row: from, column:
     * to). Default: 0. */
    PPSCHED_QUANTITY_P2P_TIME = 64,

    /* Bytes per unit of time from one device to another: 1 or D*D, > 0, may be infinite. Default:
     * infinite. */
    PPSCHED_QUANTITY_P2P_BANDWIDTH = 65,

    /* Bytes that F of a stage sends to the next stage: 1 or S. Default: 0. */
    PPSCHED_QUANTITY_ACTIVATION_BYTES = 66,

    /* Bytes that B or I of a stage sends to the stage before: 1 or S. Default:
     * ACTIVATION_BYTES of the stage before. */
    PPSCHED_QUANTITY_GRADIENT_BYTES = 67,

    /* Time of the call of each SEND or RECV of a lowered schedule, during which the device does
     * nothing else: 1 or D. The op is issued at the end of its call. Evaluations without
     * transfers ignore this time: ppsched_schedule_evaluate, bounds, searches, scenarios, and
     * lowering, except with PPSCHED_UNSHARD_LOOKAHEAD_NEEDED. Bounds stay valid, as calls only add
     * time. Default: 0. */
    PPSCHED_QUANTITY_SEND_OVERHEAD = 68,

    /* --- sharded parameters, for ppsched_schedule_evaluate_transfers --- */

    /* Duration of UNSHARD: 1 or S. Default: UNSHARD_BYTES / SHARDING_BANDWIDTH. */
    PPSCHED_QUANTITY_UNSHARD_TIMES = 80,

    /* Duration of REDUCE_GRAD: 1 or S. Default: REDUCE_GRAD_BYTES / SHARDING_BANDWIDTH. */
    PPSCHED_QUANTITY_REDUCE_GRAD_TIMES = 81,

    /* Bytes that UNSHARD of a stage moves: 1 or S. Default: 0. */
    PPSCHED_QUANTITY_UNSHARD_BYTES = 82,

    /* Bytes that REDUCE_GRAD of a stage moves: 1 or S. Default: 0. */
    PPSCHED_QUANTITY_REDUCE_GRAD_BYTES = 83,

    /* Bytes per unit of time of UNSHARD and REDUCE_GRAD: 1 or D, > 0, may be infinite. Default:
     * infinite. */
    PPSCHED_QUANTITY_SHARDING_BANDWIDTH = 84,

    /* Factor on the times of a device's F, B, I and W while an UNSHARD or REDUCE_GRAD runs: 1 or D,
     * >= 1; infinite: they stop meanwhile. Default: 1, no slowdown. */
    PPSCHED_QUANTITY_SHARDING_SLOWDOWN = 85,

    /* --- activation memory saving: RECOMPUTE, OFFLOAD and RELOAD, for
     *     ppsched_schedule_evaluate --- */

    /* Duration of RECOMPUTE: 1 or S. Default: that of F. */
    PPSCHED_QUANTITY_RECOMPUTE_TIMES = 96,

    /* What a stage pass with RECOMPUTE holds from its F until its RECOMPUTE, such as its input: 1
     * or S, >= 0, at most MEM_FORWARD. Default: 0. */
    PPSCHED_QUANTITY_MEM_RECOMPUTE = 97,

    /* Duration of the copy of OFFLOAD: 1 or S. Default: HOST_LATENCY + OFFLOAD_BYTES /
     * HOST_BANDWIDTH. */
    PPSCHED_QUANTITY_OFFLOAD_TIMES = 98,

    /* Duration of the copy of RELOAD: 1 or S. Default: that of OFFLOAD. */
    PPSCHED_QUANTITY_RELOAD_TIMES = 99,

    /* Bytes that OFFLOAD and RELOAD of a stage pass copy: 1 or S. Default, for memory in
     * bytes: MEM_OFFLOAD, which is MEM_FORWARD by default. */
    PPSCHED_QUANTITY_OFFLOAD_BYTES = 100,

    /* Activation memory of a stage pass that OFFLOAD frees and RELOAD takes again: 1 or S, >= 0, at
     * most MEM_FORWARD. Default: MEM_FORWARD, all of it. */
    PPSCHED_QUANTITY_MEM_OFFLOAD = 101,

    /* Bytes per unit of time between a device and its host, in each direction: 1 or D, > 0, may be
     * infinite. Default: infinite. */
    PPSCHED_QUANTITY_HOST_BANDWIDTH = 102,

    /* Fixed time of each copy, in addition to that of its bytes: 1 or D. Default: 0. */
    PPSCHED_QUANTITY_HOST_LATENCY = 103,

    /* Number of the device's host link: 1 or D integers from 0 to D - 1. Devices with the same
     * number share a link. Default: each device has a link to itself. */
    PPSCHED_QUANTITY_HOST_LINK = 104,

    /* Factor on the times of a device's F, B, I, W and RECOMPUTE while an OFFLOAD or RELOAD of it
     * copies: 1 or D, >= 1; infinite: they stop meanwhile. Default: 1, no slowdown. */
    PPSCHED_QUANTITY_COPY_SLOWDOWN = 105,

    /* --- different microbatches, M per iteration, and their slices, K per microbatch --- */

    /* Factor of a microbatch on times, memory and bytes of the lists above: 1 or M, > 0. Of memory
     * it multiplies what a stage pass takes and releases; of transfers and of copies to the host,
     * the time of the bytes, not the latency. A given overlapped time is scaled like the sum of its
     * two ops. All iterations have the same microbatches. Default: 1. */
    PPSCHED_QUANTITY_MICROBATCH_SCALE = 112,

    /* The factor on memory and bytes alone, if it differs from that on times (attention over
     * documents of several lengths): 1 or M, > 0. Default: MICROBATCH_SCALE. */
    PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE = 113,

    /* Factor of a slice on times, which multiplies that of its microbatch: 1 or K, > 0. Memory and
     * bytes are the same for all slices. With causal attention later slices take longer: a + b k.
     * Default: 1. */
    PPSCHED_QUANTITY_SLICE_SCALE = 114,

    /* For forwards alone: the number of the request whose chunk a microbatch is, 1 or M, >= 0.
     * Neighbours with the same number are chunks of one request: on each stage a chunk runs after
     * the one before. Default: each microbatch is a request of its own. */
    PPSCHED_QUANTITY_MICROBATCH_REQUEST = 115
};

/* The quantity's name on the command line and in config files, which is that of its enumerator,
 * such as "forward_times". NULL for an unknown quantity; not all numbers between the first and the
 * last are quantities. Static storage. */
PPSCHED_API const char *ppsched_quantity_name(int32_t quantity);

#ifdef __cplusplus
}
#endif

#endif
