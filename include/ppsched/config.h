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
#include <ppsched/quantity.h>
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
