/* SPDX-License-Identifier: Apache-2.0 */
/* The problem: sizes, placement, durations, delays, memory, and the options of the strategy that
 * shall serve it. */
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
 * Lifetime: the caller destroys it; schedules and timelines copy what they need and may outlive it.
 * Thread-safety: one thread at a time while it is changed; any number of threads may read it and
 *   build from it. */
typedef struct ppsched_config ppsched_config;

/* Largest sizes that are accepted: of stages, of devices, and of slices. Stages times microbatches
 * times slices times iterations is bounded by PPSCHED_MAX_CELLS. */
#define PPSCHED_MAX_STAGES 65535
#define PPSCHED_MAX_SLICES 65535
#define PPSCHED_MAX_CELLS 1073741824

/* Which device holds which stages; D devices, S stages. */
enum ppsched_placement {
    PPSCHED_PLACEMENT_DEFAULT = 0,       /* what the strategy wants; for own schedules loop */
    PPSCHED_PLACEMENT_LINEAR = 1,        /* S = D, stage s on device s */
    PPSCHED_PLACEMENT_LOOP = 2,          /* stage s on device s mod D */
    PPSCHED_PLACEMENT_V = 3,             /* 0..D-1, D-1..0, and so on back and forth */
    PPSCHED_PLACEMENT_BIDIRECTIONAL = 4, /* S = D, two model copies: the second half of an
                                            iteration's microbatches runs stage s on device D-1-s
                                            (DualPipe) */
    PPSCHED_PLACEMENT_MAP = 5            /* the caller's own list, a device for each stage */
};

/* Lists of numbers that describe the problem.
 * Each takes one value for all, or the counts named here; D devices, S stages. Times and memory are
 * in units of the caller's choice. All must be finite, but for bandwidths. A quantity's number
 * divided by 16 is that of its topic. */
enum ppsched_quantity {
    /* --- times of ops --- */

    /* Duration of F: 1 or S values, >= 0. Default: 1. */
    PPSCHED_QUANTITY_FORWARD_TIMES = 16,

    /* Duration of B: 1 or S, >= 0. Default: I + W where both are given, else 2. */
    PPSCHED_QUANTITY_BACKWARD_TIMES = 17,

    /* Duration of I: 1 or S, >= 0. Default: B - W where W is given, else share * B. */
    PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES = 18,

    /* Duration of W: 1 or S, >= 0. Default: B - I. */
    PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES = 19,

    /* Share of B that is I where neither I nor W is given: 1 value in 0..1. Default: 0.5. */
    PPSCHED_QUANTITY_BACKWARD_INPUT_SHARE = 20,

    /* Duration of an overlapped pair: 1, S (by forward stage) or S*S values (row: forward stage,
     * column: backward stage), >= 0. Default: the sum of both ops. */
    PPSCHED_QUANTITY_OVERLAPPED_TIMES = 21,

    /* What the runtime takes for each op beside its stage, which does not shrink with the stage:
     * 1 for all, or 4, for F, B, I and W, >= 0. A pair of ops takes that of both, but where its
     * time is given, which has it; with the scales above it grows as the op's time does.
     * Default: 0. */
    PPSCHED_QUANTITY_OP_OVERHEAD = 22,

    /* --- memory of stage passes and stages, and what devices have --- */

    /* Added when F of a stage pass starts: 1 or S, >= 0. Default: 1, or what the next two leave. */
    PPSCHED_QUANTITY_MEM_FORWARD = 32,

    /* What I adds: 1 or S. Negative: given back when I ends. Positive: taken when I starts, until W
     * ends, as output gradients that W needs; and while a B runs. Default: 0, or what the other two
     * leave. */
    PPSCHED_QUANTITY_MEM_BACKWARD_INPUT = 33,

    /* Added when W ends: 1 or S, <= 0; B ends with nothing left. The three sum to 0, with
     * MEM_RECOMPUTED_BACKWARD_INPUT the four. Default: what the others leave. */
    PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT = 34,

    /* What a stage always takes (gradients, optimizer): 1 or S, >= 0. Default: 0. */
    PPSCHED_QUANTITY_MEM_STATIC = 35,

    /* One version of a stage's weights: 1 or S, >= 0. Default: 0. */
    PPSCHED_QUANTITY_MEM_WEIGHTS = 36,

    /* What a device has: 1 or D, >= 0. Default: no limit. */
    PPSCHED_QUANTITY_MEM_LIMIT = 37,

    /* What I of a stage pass computes again when it starts, of what F did not keep: 1 or S, >= 0.
     * W needs it too, so it stays until W ends. Default: 0. */
    PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD_INPUT = 38,

    /* What a B holds of that while it runs, as layer after layer comes back and goes: 1 or S, >= 0.
     * Default: MEM_RECOMPUTED_BACKWARD_INPUT, all at once. */
    PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD = 39,

    /* --- memory of other causes: see enum ppsched_memory_cause --- */

    /* Optimizer states of a stage: 1 or S, >= 0. Default: 0. */
    PPSCHED_QUANTITY_MEM_OPTIMIZER = 48,

    /* What a device holds beside its stages (contexts, communication library): 1 or D, >= 0.
     * Default: 0. */
    PPSCHED_QUANTITY_MEM_OTHER = 49,

    /* Gradients of a stage, from the start of its first B or W until the end of its REDUCE_GRAD;
     * without one they stay: 1 or S, >= 0. Default: 0. */
    PPSCHED_QUANTITY_MEM_GRADIENTS = 50,

    /* Gathered weights of a stage, from the start of its UNSHARD until its RESHARD: 1 or S, >= 0.
     * Default: 0. */
    PPSCHED_QUANTITY_MEM_GATHERED = 51,

    /* What a stage pass keeps of its forward's output, from the end of its F until the end of its B
     * or I: 1 or S, >= 0. Default: 0. */
    PPSCHED_QUANTITY_MEM_OUTPUT = 52,

    /* What F of a stage sends, from the end of F until its SEND_F is done: 1 or S, >= 0. Default:
     * 0. */
    PPSCHED_QUANTITY_MEM_SEND_FORWARD = 53,

    /* What B or I of a stage sends, likewise: 1 or S, >= 0. Default: 0. */
    PPSCHED_QUANTITY_MEM_SEND_BACKWARD = 54,

    /* What F of a stage receives, from where the device comes to its RECV_F until F starts, from
     * when on it is the stage pass's: 1 or S, >= 0. Default: 0. */
    PPSCHED_QUANTITY_MEM_RECEIVE_FORWARD = 55,

    /* What B or I of a stage receives, from where the device comes to its RECV_B until B or I ends:
     * 1 or S, >= 0. Default: 0. */
    PPSCHED_QUANTITY_MEM_RECEIVE_BACKWARD = 56,

    /* Work space of F, while it runs: 1 or S, >= 0. Default: 0. */
    PPSCHED_QUANTITY_MEM_WORK_FORWARD = 57,

    /* Of B: 1 or S, >= 0. Default: 0. */
    PPSCHED_QUANTITY_MEM_WORK_BACKWARD = 58,

    /* Of I: 1 or S, >= 0. Default: that of B. */
    PPSCHED_QUANTITY_MEM_WORK_BACKWARD_INPUT = 59,

    /* Of W: 1 or S, >= 0. Default: that of B. */
    PPSCHED_QUANTITY_MEM_WORK_BACKWARD_WEIGHT = 60,

    /* --- what is sent from device to device --- */

    /* Latency of what goes from one device to another: 1 or D*D values (row: from, column: to),
     * >= 0. Default: 0. */
    PPSCHED_QUANTITY_P2P_TIME = 64,

    /* Bytes per unit of time from one device to another: 1 or D*D, > 0, may be infinite. Default:
     * infinite. */
    PPSCHED_QUANTITY_P2P_BANDWIDTH = 65,

    /* Size of what F of a stage hands on to the next one: 1 or S, >= 0. Default: 0. */
    PPSCHED_QUANTITY_ACTIVATION_BYTES = 66,

    /* Size of what B or I of a stage hands back to the stage before: 1 or S, >= 0. Default: that of
     * the activation which came from there. */
    PPSCHED_QUANTITY_GRADIENT_BYTES = 67,

    /* Host time that the call of each SEND or RECV of a lowered schedule takes of its device, which
     * does nothing else meanwhile; the op is issued at the end of its call: 1 or D, >= 0. What
     * evaluates without transfers knows no calls and leaves it out: ppsched_schedule_evaluate,
     * bounds, searches, scenarios, and lowering but for PPSCHED_UNSHARD_LOOKAHEAD_NEEDED. As a call
     * only adds to what comes behind it, a bound stays one. Default: 0. */
    PPSCHED_QUANTITY_SEND_OVERHEAD = 68,

    /* --- sharded parameters, for ppsched_schedule_evaluate_transfers --- */

    /* Duration of UNSHARD: 1 or S, >= 0. Default: its bytes / the bandwidth. */
    PPSCHED_QUANTITY_UNSHARD_TIMES = 80,

    /* Duration of REDUCE_GRAD: 1 or S, >= 0. Default: its bytes / the bandwidth. */
    PPSCHED_QUANTITY_REDUCE_GRAD_TIMES = 81,

    /* What UNSHARD of a stage moves: 1 or S, >= 0. Default: 0. */
    PPSCHED_QUANTITY_UNSHARD_BYTES = 82,

    /* What REDUCE_GRAD of a stage moves: 1 or S, >= 0. Default: 0. */
    PPSCHED_QUANTITY_REDUCE_GRAD_BYTES = 83,

    /* Bytes per unit of time of both: 1 or D, > 0, may be infinite. Default: infinite. */
    PPSCHED_QUANTITY_SHARDING_BANDWIDTH = 84,

    /* How much longer a device's F, B, I and W take while one of them runs: 1 or D, >= 1; infinite:
     * they stand still. Default: 1, they run beside each other. */
    PPSCHED_QUANTITY_SHARDING_SLOWDOWN = 85,

    /* --- activation memory saving: RECOMPUTE, OFFLOAD and RELOAD, for
     *     ppsched_schedule_evaluate --- */

    /* Duration of RECOMPUTE: 1 or S, >= 0. Default: that of F. */
    PPSCHED_QUANTITY_RECOMPUTE_TIMES = 96,

    /* What a stage pass that is recomputed keeps from its F until its RECOMPUTE, such as its input:
     * 1 or S, >= 0, at most MEM_FORWARD. Default: 0. */
    PPSCHED_QUANTITY_MEM_RECOMPUTE = 97,

    /* Duration of the copy of OFFLOAD: 1 or S, >= 0. Default: HOST_LATENCY + OFFLOAD_BYTES /
     * HOST_BANDWIDTH. */
    PPSCHED_QUANTITY_OFFLOAD_TIMES = 98,

    /* Duration of the copy of RELOAD: 1 or S, >= 0. Default: that of OFFLOAD. */
    PPSCHED_QUANTITY_RELOAD_TIMES = 99,

    /* What OFFLOAD and RELOAD of a stage pass copy: 1 or S, >= 0. Default: MEM_OFFLOAD, where
     * memory is in bytes. */
    PPSCHED_QUANTITY_OFFLOAD_BYTES = 100,

    /* How much of a stage pass's activation goes with OFFLOAD and comes back with RELOAD: 1 or S,
     * >= 0, at most MEM_FORWARD. Default: all of it, MEM_FORWARD. */
    PPSCHED_QUANTITY_MEM_OFFLOAD = 101,

    /* Bytes per unit of time, each way: 1 or D, > 0, may be infinite. Default: infinite. */
    PPSCHED_QUANTITY_HOST_BANDWIDTH = 102,

    /* How long each copy takes beside its bytes: 1 or D, >= 0. Default: 0. */
    PPSCHED_QUANTITY_HOST_LATENCY = 103,

    /* Number of the link to the host: 1 or D integers from 0 to D - 1. Devices with the same number
     * share a link. Default: each has its own. */
    PPSCHED_QUANTITY_HOST_LINK = 104,

    /* How much longer a device's F, B, I, W and RECOMPUTE take while a copy of its OFFLOADs or
     * RELOADs runs, as far as one does: 1 or D, >= 1; infinite: they stand still. Default: 1, they
     * run beside each other. */
    PPSCHED_QUANTITY_COPY_SLOWDOWN = 105,

    /* --- microbatches that differ, M of an iteration, and their slices, K of each --- */

    /* Times, memory and bytes of a microbatch, as a multiple of what the lists above say: 1 or M,
     * > 0. Of the memory, what comes and goes with a stage pass; of a transfer and of a copy to the
     * host, what the bytes take, not the latency. A given overlapped time grows as the sum of its
     * two ops does. All iterations have the same microbatches. Default: 1. */
    PPSCHED_QUANTITY_MICROBATCH_SCALE = 112,

    /* Of memory and bytes alone, where they do not grow as times do (attention over documents of
     * several lengths): 1 or M, > 0. Default: MICROBATCH_SCALE. */
    PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE = 113,

    /* Times of a slice as a multiple, on top of its microbatch's: 1 or K, > 0. Memory and bytes of
     * slices are alike. Causal attention makes later slices longer: a + b k. Default: 1. */
    PPSCHED_QUANTITY_SLICE_SCALE = 114
};

/* --- making it --- */

/* Makes a problem of `devices` D, `stages` S (virtual stages of the whole model) and `microbatches`
 * M per iteration. `environment` may be NULL.
 * Errors: ARGUMENT; RANGE where a size is below 1 or too large; STRUCT_SIZE, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_create(ppsched_config **out, int64_t devices,
                                                 int64_t stages, int64_t microbatches,
                                                 const ppsched_environment *environment,
                                                 ppsched_error *error);

/* A copy of its own, in the same environment.
 * Errors: ARGUMENT, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_copy(ppsched_config **out, const ppsched_config *config,
                                               ppsched_error *error);

/* Frees it. NULL is accepted. */
PPSCHED_API void ppsched_config_destroy(ppsched_config *config);

/* --- sizes and placement --- */

/* The sizes, as given. */
PPSCHED_API uint32_t ppsched_config_devices(const ppsched_config *config);
PPSCHED_API uint32_t ppsched_config_stages(const ppsched_config *config);
PPSCHED_API uint32_t ppsched_config_microbatches(const ppsched_config *config);
PPSCHED_API uint32_t ppsched_config_iterations(const ppsched_config *config);

/* Training iterations in one schedule, 1 or more. Default 1.
 * Errors: ARGUMENT, RANGE. */
PPSCHED_API ppsched_status ppsched_config_set_iterations(ppsched_config *config, int64_t iterations,
                                                         ppsched_error *error);

/* Slices of each microbatch along its sequence, 1 or more; default 1, whole microbatches. Times and
 * memory of the lists are then those of a slice. On each stage F of a slice runs after F of the
 * slice before it, whose keys and values it reads, and B or I of a slice after that of the next
 * one.
 * Errors: ARGUMENT, RANGE; LENGTH where slice_scale has a value for each of another number of
 *   slices: set that anew behind this. */
PPSCHED_API ppsched_status ppsched_config_set_slices(ppsched_config *config, int64_t slices,
                                                     ppsched_error *error);
PPSCHED_API uint32_t ppsched_config_slices(const ppsched_config *config);

/* Chooses a placement (enum ppsched_placement). `map` is read for PPSCHED_PLACEMENT_MAP only:
 * `count` must be S, each value a device below D.
 * Errors: ARGUMENT, LENGTH, RANGE; REFUSED where S and D do not suit the placement; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_placement(ppsched_config *config, int32_t placement,
                                                        const uint32_t *map, size_t count,
                                                        ppsched_error *error);
PPSCHED_API int32_t ppsched_config_placement(const ppsched_config *config);

/* How many versions of the weights live at once: 1 to 1024, or 0 for what the strategy needs (the
 * default).
 * Errors: ARGUMENT, RANGE. */
PPSCHED_API ppsched_status ppsched_config_set_weight_versions(ppsched_config *config,
                                                              int64_t versions,
                                                              ppsched_error *error);

/* Whether a backward may run as I and W, two ops (the default, 1), or is always one B, as in
 * Megatron-LM and DeepSpeed (0). Then strategies that split refuse, plans leave them out, and auto,
 * bounds and searches know F and B alone; times and memory of B are as they would be.
 * Errors: ARGUMENT. */
PPSCHED_API ppsched_status ppsched_config_set_split_backward(ppsched_config *config,
                                                             uint32_t is_allowed,
                                                             ppsched_error *error);
PPSCHED_API uint32_t ppsched_config_split_backward(const ppsched_config *config);

/* Whether there are forward passes alone (1), as in inference and evaluation; 0, the default, is
 * training. Then gpipe, looped_bfs and interleaved_1f1b give their forwards in their order, other
 * strategies refuse, plans leave them out, and bounds know no backward. What an F adds to memory
 * stays to the end: keys and values, say; 0 where nothing is kept. With slices this is chunked
 * prefill. Any schedule without a B, I or W is complete with its Fs.
 * Errors: ARGUMENT. */
PPSCHED_API ppsched_status ppsched_config_set_forward_only(ppsched_config *config,
                                                           uint32_t is_forward_only,
                                                           ppsched_error *error);
PPSCHED_API uint32_t ppsched_config_forward_only(const ppsched_config *config);

/* Whether a device that has sent something waits until it is there. */
enum ppsched_sender_waits {
    /* It never does: transfers run beside computation. */
    PPSCHED_SENDER_WAITS_NEVER = 0,

    /* It does between ops of one kind on one stage, as in the warm-up and the flush of Megatron-LM
     * by default, which sends and receives before it goes on.
     *   - An op starts no earlier than the end of the op before it on its device plus the transfer
     *     of what that one made, where both are of one stage and kind (F is one, B, I and W are the
     *     other), and what was made goes to another device. A W makes nothing that is sent.
     *   - A W starts no earlier than the end of its own I plus the transfer of the gradient that
     *     this I read: on the last stage, and from its own device, that is nothing.
     *   - Nobody waits before, in and behind an overlapped pair, nor for what one reads. */
    PPSCHED_SENDER_WAITS_LIKE_KIND = 1
};

/* Chooses that (enum ppsched_sender_waits); the default is NEVER. It holds in evaluations without a
 * lowering: lowered schedules have their sends and receives as ops, and say by their channels who
 * waits. With LIKE_KIND ppsched_schedule_lower and ppsched_schedule_evaluate_transfers are REFUSED,
 * and so are schedules with RECOMPUTE, OFFLOAD or RELOAD, and scenarios with dispatch READY. Bounds
 * do not know it, and are below as before.
 * Errors: ARGUMENT, RANGE. */
PPSCHED_API ppsched_status ppsched_config_set_sender_waits(ppsched_config *config,
                                                           int32_t sender_waits,
                                                           ppsched_error *error);
PPSCHED_API int32_t ppsched_config_sender_waits(const ppsched_config *config);

/* --- numbers --- */

/* Sets a list of numbers (enum ppsched_quantity); the values are copied. `count` 0 goes back to the
 * default. On failure the list stays as it was. As many values as there are already take no memory.
 * Errors: ARGUMENT, LENGTH; RANGE, where `error->position` is the index of the value,
 *   `error->stage` or `error->device` what it is for; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_values(ppsched_config *config, int32_t quantity,
                                                     const double *values, size_t count,
                                                     ppsched_error *error);

/* The list as it was set, borrowed until it is set again; NULL and `*count` 0 where the default
 * holds. */
PPSCHED_API const double *ppsched_config_values(const ppsched_config *config, int32_t quantity,
                                                size_t *count);

/* The quantity's name as the command line and the config files have it: that of its enumerator,
 * such as "forward_times"; NULL for an unknown one; not all
 * numbers between the first and the last are quantities. Static storage. */
PPSCHED_API const char *ppsched_quantity_name(int32_t quantity);

/* Tells whether the lists agree with each other: B, I and W can be told from what is given, and
 * memory sums to 0. Building a schedule does not need it; evaluation does, and reports the same
 * errors.
 * Errors: ARGUMENT, RANGE. */
PPSCHED_API ppsched_status ppsched_config_validate(const ppsched_config *config,
                                                   ppsched_error *error);

/* --- the strategy --- */

/* Sets one option of the strategy, as text; it is checked when a strategy is asked to serve the
 * problem. NULL as `value` takes the option back. A config holds up to 256.
 * Errors: ARGUMENT, RANGE for one more, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_option(ppsched_config *config, const char *name,
                                                     const char *value, ppsched_error *error);

/* How far a search has come. Sized; borrowed during the call. */
typedef struct ppsched_progress {
    uint32_t size;
    uint32_t reserved; /* 0 */
    double share;      /* of its work that is done, 0 to 1, never less than before */
    double best;       /* objective of the best schedule so far; infinite: none yet */
} ppsched_progress;

/* Hears from a search while it runs: at least once in some half a million visits of ops, which take
 * 10 to 30 ms, or in a pass over all ops where these are more. Returns 0 to go on. Anything else
 * stops the search, which then fails with CANCELLED and leaves nothing behind. It may read the
 * config, and must not change it. */
typedef int32_t (*ppsched_progress_function)(void *user, const ppsched_progress *progress);

/* Sets what strategies that search call, in the thread that builds the schedule; NULL: nothing (the
 * default). A copy of the config has it too.
 * Errors: ARGUMENT. */
PPSCHED_API ppsched_status ppsched_config_set_progress(ppsched_config *config,
                                                       ppsched_progress_function tell, void *user,
                                                       ppsched_error *error);

/* --- the same model in other sizes --- */

/* What is in the first stage (embedding) or the last one (head) beside layers like those of the
 * others, in the config's units. Sized: set `size`; zero means nothing.
 *   - It is part of that stage's costs, takes no more than they are, and is not divided when the
 *     stage is.
 *   - Of its three backward times those that are 0 are what is left of backward = input + weight;
 *     where both of these are 0, backward is split as in the stage.
 *   - Its memory of a stage pass sums to 0, as the stage's does. */
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

/* The same model in another number of stages.
 *   - Where the config has more, each new stage is the sum of its old ones (costs by layer: a
 *     config with a stage a layer).
 *   - Where it has fewer, old ones are divided evenly, but for `embedding` and `head` (NULL: none),
 *     which stay in the first and the last.
 *   - Bytes are those at the new borders.
 *   - Lists that a device or a pair of devices has stay as they are, and so do sizes, placement (a
 *     map is refused) and options.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE, also where an end takes more than its stage; REFUSED where
 *   one number of stages is no multiple of the other, the placement is a map, or overlapped_times
 *   are given by pairs of stages; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_with_stages(ppsched_config **out,
                                                      const ppsched_config *config, int64_t stages,
                                                      const ppsched_model_end *embedding,
                                                      const ppsched_model_end *head,
                                                      ppsched_error *error);

/* The same batch in another number of microbatches: times, bytes and memory of a stage pass change
 * by their ratio; latency, static memory and weights stay.
 * Errors: ARGUMENT, RANGE, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_with_microbatches(ppsched_config **out,
                                                            const ppsched_config *config,
                                                            int64_t microbatches,
                                                            ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
