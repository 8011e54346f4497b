/* SPDX-License-Identifier: Apache-2.0 */
/* The problem: sizes, placement, durations, delays, memory, and the options of the strategy.
 *
 * Sample:
 *     ppsched_error error;
 *     ppsched_config *config = NULL; // 4 devices, 4 stages, 8 microbatches
 *     const double forward_times[] = {1, 1, 1, 1.5};
 *     ppsched_status status = ppsched_config_create(&config, 4, 4, 8, NULL, &error);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_config_set_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, forward_times,
 *                                            4, &error);
 *     if (status != PPSCHED_OK)
 *         puts(error.message); // what was wrong, where, and what would work
 *     ppsched_config_destroy(config);
 */
#ifndef PPSCHED_CONFIG_H
#define PPSCHED_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/environment.h>
#include <ppsched/export_macro.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A problem.
 * Lifetime: the caller destroys it. Schedules and timelines copy what they need, and may outlive
 *   it.
 * Thread-safety: only one thread at a time may change it, and none may use it meanwhile; any number
 *   of threads may read it and build from it. */
typedef struct ppsched_config ppsched_config;

/* The largest sizes. PPSCHED_MAX_STAGES limits the stages and the devices, PPSCHED_MAX_SLICES the
 * slices per microbatch. PPSCHED_MAX_CELLS limits stages times microbatches times slices times
 * iterations. */
#define PPSCHED_MAX_STAGES 65535
#define PPSCHED_MAX_SLICES 65535
#define PPSCHED_MAX_CELLS 1073741824

/* Which device holds which stages; D devices, S stages. */
enum ppsched_placement {
    PPSCHED_PLACEMENT_DEFAULT = 0,       /* that of the strategy; loop for custom schedules */
    PPSCHED_PLACEMENT_LINEAR = 1,        /* S = D, stage s on device s */
    PPSCHED_PLACEMENT_LOOP = 2,          /* stage s on device s mod D */
    PPSCHED_PLACEMENT_V = 3,             /* devices 0..D-1, then D-1..0, and so on alternately */
    PPSCHED_PLACEMENT_BIDIRECTIONAL = 4, /* S = D, two model copies: the second half of an
                                            iteration's microbatches runs stage s on device D-1-s
                                            (DualPipe) */
    PPSCHED_PLACEMENT_MAP = 5            /* a list from the caller: the device of each stage */
};

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
    /* Factors on these times on each device: of F, then of B, I and W: 1 or 4 * D, > 0. That of F
     * also applies to overlapped pairs and RECOMPUTE. Default: 1. */
    PPSCHED_QUANTITY_DEVICE_SCALE = 24,
    /* Which times a device has, in `device_scale` of ppsched_layer: 1 or D, 0 to 255. Default: 0. */
    PPSCHED_QUANTITY_LAYER_TYPES = 25,
    /* Factors like DEVICE_SCALE, for each stage in turn: 1 or 4 * S * D. Default: 1. */
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
    PPSCHED_QUANTITY_SLICE_SCALE = 114
};

/* --- making a config --- */

/* Makes a problem of `devices` D, `stages` S (virtual stages of the whole model) and `microbatches`
 * M per iteration. `environment` may be NULL.
 * Errors: ARGUMENT; RANGE where a size is below 1 or too large; STRUCT_SIZE, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_create(ppsched_config **out, int64_t devices,
                                                 int64_t stages, int64_t microbatches,
                                                 const ppsched_environment *environment,
                                                 ppsched_error *error);

/* Makes an independent copy, in the same environment.
 * Errors: ARGUMENT, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_copy(ppsched_config **out, const ppsched_config *config,
                                               ppsched_error *error);

/* Frees it. NULL is accepted. */
PPSCHED_API void ppsched_config_destroy(ppsched_config *config);

/* --- sizes and placement --- */

/* The sizes, as set. */
PPSCHED_API uint32_t ppsched_config_devices(const ppsched_config *config);
PPSCHED_API uint32_t ppsched_config_stages(const ppsched_config *config);
PPSCHED_API uint32_t ppsched_config_microbatches(const ppsched_config *config);
PPSCHED_API uint32_t ppsched_config_iterations(const ppsched_config *config);

/* Sets the number of training iterations in one schedule, 1 or more. Default: 1.
 * Errors: ARGUMENT, RANGE. */
PPSCHED_API ppsched_status ppsched_config_set_iterations(ppsched_config *config, int64_t iterations,
                                                         ppsched_error *error);

/* Sets the number of slices of each microbatch along its sequence, 1 or more. Default: 1, whole
 * microbatches. With more, the times and memory of the lists are those of a slice. On each stage, F
 * of a slice runs after F of the slice before, whose keys and values it reads; B or I of a slice
 * runs after B or I of the next slice.
 * Errors: ARGUMENT, RANGE; LENGTH where slice_scale has one value per slice, for another number of
 *   slices: clear it first, and set it again afterwards. */
PPSCHED_API ppsched_status ppsched_config_set_slices(ppsched_config *config, int64_t slices,
                                                     ppsched_error *error);
PPSCHED_API uint32_t ppsched_config_slices(const ppsched_config *config);

/* Sets the placement (enum ppsched_placement). `map` is read for PPSCHED_PLACEMENT_MAP only:
 * `count` must be S, and each value a device below D.
 * Errors: ARGUMENT, LENGTH, RANGE; REFUSED where S and D do not fit the placement; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_placement(ppsched_config *config, int32_t placement,
                                                        const uint32_t *map, size_t count,
                                                        ppsched_error *error);
PPSCHED_API int32_t ppsched_config_placement(const ppsched_config *config);

/* Sets how many versions of the weights a device holds at once: 1 to 1024, or 0 for the number that
 * the strategy needs (the default).
 * Errors: ARGUMENT, RANGE. */
PPSCHED_API ppsched_status ppsched_config_set_weight_versions(ppsched_config *config,
                                                              int64_t versions,
                                                              ppsched_error *error);

/* Device `order[p]` becomes device p, and lists of devices and their pairs follow; `count` is D.
 * Errors: ARGUMENT; LENGTH; RANGE where devices are missing; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_order_devices(ppsched_config *config,
                                                        const uint32_t *order, size_t count,
                                                        ppsched_error *error);

/* Sets whether a backward may run as two ops, I and W (1, the default), or always runs as one B
 * (0), as in Megatron-LM and DeepSpeed. With 0, strategies that must split backwards refuse, plans
 * leave them out, and auto, bounds and searches use F and B alone. B itself does not change.
 * Errors: ARGUMENT; RANGE where `is_allowed` is not 0 or 1. */
PPSCHED_API ppsched_status ppsched_config_set_split_backward(ppsched_config *config,
                                                             uint32_t is_allowed,
                                                             ppsched_error *error);
PPSCHED_API uint32_t ppsched_config_split_backward(const ppsched_config *config);

/* Sets whether there are forwards alone (1), as in inference and evaluation, or training (0, the
 * default). With 1, gpipe, looped_bfs and interleaved_1f1b make schedules of their forwards, in
 * their order; other strategies refuse, plans leave them out, and bounds count no backwards. Memory
 * that an F adds is held to the end, such as keys and values; set it to 0 if nothing is held. With
 * slices this is chunked prefill. A schedule without any B, I and W is complete if it has all its
 * Fs.
 * Errors: ARGUMENT; RANGE where `is_forward_only` is not 0 or 1. */
PPSCHED_API ppsched_status ppsched_config_set_forward_only(ppsched_config *config,
                                                           uint32_t is_forward_only,
                                                           ppsched_error *error);
PPSCHED_API uint32_t ppsched_config_forward_only(const ppsched_config *config);

/* Whether a device waits until what it sent has arrived. */
enum ppsched_sender_waits {
    /* It never waits: transfers run next to compute. */
    PPSCHED_SENDER_WAITS_NEVER = 0,

    /* It waits between two ops of one kind on one stage, as Megatron-LM by default does in warm-up
     * and cool-down, where it sends and receives before it continues.
     *   - The two kinds are F, and B, I and W together.
     *   - An op starts no earlier than the end of the op before it on its device plus the transfer
     *     of that op's output. This holds if both ops have the same stage and kind (and iteration,
     *     if the schedule flushes), and the output goes to another device. W has no output.
     *   - A W starts no earlier than the end of its own I plus the transfer of the gradient that
     *     this I read. This is no wait on the last stage, or if the gradient came from the same
     *     device.
     *   - No device waits before, in or after an overlapped pair, nor for a transfer that an
     *     overlapped pair reads. */
    PPSCHED_SENDER_WAITS_LIKE_KIND = 1
};

/* Sets whether senders wait (enum ppsched_sender_waits); the default is NEVER. This applies to
 * evaluations of schedules that are not lowered: lowered schedules have sends and receives as ops,
 * and their channel model says which of them wait. With LIKE_KIND, these are REFUSED:
 * ppsched_schedule_lower (except PPSCHED_LOWERING_NONE), ppsched_schedule_evaluate_transfers,
 * schedules with RECOMPUTE, OFFLOAD or RELOAD, and scenarios with dispatch READY. Bounds do not
 * count these waits, and stay valid.
 * Errors: ARGUMENT, also where `sender_waits` is unknown. */
PPSCHED_API ppsched_status ppsched_config_set_sender_waits(ppsched_config *config,
                                                           int32_t sender_waits,
                                                           ppsched_error *error);
PPSCHED_API int32_t ppsched_config_sender_waits(const ppsched_config *config);

/* --- numbers --- */

/* Sets a list of numbers (enum ppsched_quantity); the values are copied. `count` 0 restores the
 * default. On failure the list does not change. Replacing a list by one of the same length
 * allocates nothing.
 * Errors: ARGUMENT, LENGTH; RANGE, where `error->position` is the index of the value, and
 *   `error->stage` or `error->device` its stage or device; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_values(ppsched_config *config, int32_t quantity,
                                                     const double *values, size_t count,
                                                     ppsched_error *error);

/* The list as it was set, borrowed until it is set again; NULL, and `*count` 0, for a list with its
 * default. */
PPSCHED_API const double *ppsched_config_values(const ppsched_config *config, int32_t quantity,
                                                size_t *count);

/* The quantity's name on the command line and in config files, which is that of its enumerator,
 * such as "forward_times". NULL for an unknown quantity; not all numbers between the first and the
 * last are quantities. Static storage. */
PPSCHED_API const char *ppsched_quantity_name(int32_t quantity);

/* Checks that the lists agree with each other: the times of B, I and W follow from those given, and
 * memory sums to 0. Building a schedule does not need this check. Evaluation makes it, and reports
 * the same errors.
 * Errors: ARGUMENT, RANGE. */
PPSCHED_API ppsched_status ppsched_config_validate(const ppsched_config *config,
                                                   ppsched_error *error);

/* --- the strategy --- */

/* Sets an option of the strategy, as text. It is checked when a strategy builds a schedule. NULL as
 * `value` removes the option. A config holds up to 256 options.
 * Errors: ARGUMENT; RANGE for an option beyond these 256; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_option(ppsched_config *config, const char *name,
                                                     const char *value, ppsched_error *error);

/* Progress of a search. Sized; borrowed during the call. */
typedef struct ppsched_progress {
    uint32_t size;
    uint32_t reserved; /* 0 */
    double share;      /* share of the work that is done, 0 to 1; never decreases */
    double best;       /* objective of the best schedule so far; infinite if there is none yet */
} ppsched_progress;

/* Progress callback of a search. It is called at least once per some 500,000 visits of ops, which
 * take 10 to 30 ms, or once per pass over all ops if that is longer. It returns 0 to continue. Any
 * other value stops the search, which then fails with CANCELLED and makes nothing. The callback may
 * read the config, but must not change it. */
typedef int32_t (*ppsched_progress_function)(void *user, const ppsched_progress *progress);

/* Sets the progress callback of strategies that search, which they call on the thread that builds
 * the schedule. NULL: none (the default). A copy of the config has the same callback.
 * Errors: ARGUMENT. */
PPSCHED_API ppsched_status ppsched_config_set_progress(ppsched_config *config,
                                                       ppsched_progress_function tell, void *user,
                                                       ppsched_error *error);

/* --- the same model in other sizes --- */

/* What the first stage has (the embedding), or the last one (the head), in addition to layers like
 * those of other stages; in the config's units. Sized: set `size`; zero means nothing.
 *   - It is included in that stage's costs, may not cost more than that stage, and is not divided
 *     when the stage is.
 *   - Of its three backward times, those that are 0 follow from backward = input + weight. If both
 *     input and weight are 0, backward is split in the ratio of the stage.
 *   - Its memory of a stage pass sums to 0, like that of the stage. */
typedef struct ppsched_model_end {
    uint32_t size;
    uint32_t reserved; /* 0 */
    double forward_time;
    double backward_time;
    double backward_input_time;
    double backward_weight_time;
    double mem_forward;
    double mem_backward_input;
    double mem_backward_weight;
    double mem_static;
    double mem_weights;
} ppsched_model_end;

/* Makes a config of the same model with another number of stages.
 *   - If the config has more stages, each new stage is the sum of its old stages; its work space is
 *     the largest of theirs. So a config with one stage per layer can give costs by layer.
 *   - If it has fewer, old stages are divided evenly, except `embedding` and `head` (NULL: none),
 *     which stay in the first and the last stage.
 *   - Bytes are those at the new borders between stages.
 *   - Lists by device or by pair of devices do not change, nor do sizes, options and the placement;
 *     a map is refused.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE, also where an end costs more than its stage; REFUSED where
 *   neither number of stages is a multiple of the other, the placement is a map, or
 *   overlapped_times has a value per pair of stages; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_with_stages(ppsched_config **out,
                                                      const ppsched_config *config, int64_t stages,
                                                      const ppsched_model_end *embedding,
                                                      const ppsched_model_end *head,
                                                      ppsched_error *error);

/* Makes a config of the same batch in another number of microbatches. Times, bytes and memory of a
 * stage pass are multiplied by the old number / the new number. Latencies, overheads, static memory
 * and weights do not change.
 * Errors: ARGUMENT, RANGE; REFUSED where microbatch_scale, or LENGTH where only
 *   microbatch_memory_scale, has one value per microbatch; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_with_microbatches(ppsched_config **out,
                                                            const ppsched_config *config,
                                                            int64_t microbatches,
                                                            ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
