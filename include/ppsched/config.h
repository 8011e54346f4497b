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
 * Lifetime: the caller destroys it. Schedules and timelines copy the values that they use, so the
 *   config may be destroyed before them.
 * Thread-safety: any number of threads may read a config and build schedules from it at the same
 *   time. While one thread changes it, no other thread may use it. */
typedef struct ppsched_config ppsched_config;

/* The largest sizes. PPSCHED_MAX_STAGES is the largest number of stages, and also the largest
 * number of devices. PPSCHED_MAX_SLICES is the largest number of slices per microbatch.
 * PPSCHED_MAX_CELLS is the largest product stages * microbatches * slices * iterations. */
#define PPSCHED_MAX_STAGES 65535
#define PPSCHED_MAX_SLICES 65535
#define PPSCHED_MAX_CELLS 1073741824

/* Which device holds which stages. D is the number of devices, S the number of stages. */
enum ppsched_placement {
    PPSCHED_PLACEMENT_DEFAULT = 0,       /* the strategy's own placement. For custom schedules, the
                                            default is LOOP */
    PPSCHED_PLACEMENT_LINEAR = 1,        /* S = D, stage s on device s */
    PPSCHED_PLACEMENT_LOOP = 2,          /* stage s on device s mod D */
    PPSCHED_PLACEMENT_V = 3,             /* the first D stages are on devices 0 to D-1, the next D
                                            stages on devices D-1 to 0, and so on in turn */
    PPSCHED_PLACEMENT_BIDIRECTIONAL = 4, /* S = D, and there are two copies of the model (DualPipe).
                                            For the first half of an iteration's microbatches, stage
                                            s is on device s. For the second half, it is on device
                                            D-1-s */
    PPSCHED_PLACEMENT_MAP = 5            /* the caller gives a list with the device of each stage */
};

/* --- making a config --- */

/* Makes a problem of `devices` D, `stages` S (virtual stages of the whole model) and `microbatches`
 * M per iteration. `environment` may be NULL.
 * Errors: ARGUMENT; RANGE where a size is below 1 or too large; STRUCT_SIZE, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_create(ppsched_config **out, int64_t devices,
                                                 int64_t stages, int64_t microbatches,
                                                 const ppsched_environment *environment,
                                                 ppsched_error *error);

/* Makes an independent copy with the same environment.
 * Errors: ARGUMENT, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_copy(ppsched_config **out, const ppsched_config *config,
                                               ppsched_error *error);

/* Frees a config. NULL is accepted. */
PPSCHED_API void ppsched_config_destroy(ppsched_config *config);

/* --- sizes and placement --- */

/* The sizes that were set. */
PPSCHED_API uint32_t ppsched_config_devices(const ppsched_config *config);
PPSCHED_API uint32_t ppsched_config_stages(const ppsched_config *config);
PPSCHED_API uint32_t ppsched_config_microbatches(const ppsched_config *config);
PPSCHED_API uint32_t ppsched_config_iterations(const ppsched_config *config);

/* Sets the number of training iterations in one schedule, 1 or more. Default: 1.
 * Errors: ARGUMENT, RANGE. */
PPSCHED_API ppsched_status ppsched_config_set_iterations(ppsched_config *config, int64_t iterations,
                                                         ppsched_error *error);

/* Sets the number of slices into which the sequence of each microbatch is cut, 1 or more. Default:
 * 1, whole microbatches. With 2 or more slices, the config's times and memory are for one slice. On
 * each stage, the F of a slice runs after the F of the slice before, because it reads the keys and
 * values of that earlier slice. The B or I of a slice runs after the B or I of the next slice.
 * Errors: ARGUMENT, RANGE; LENGTH where slice_scale already has several values, and the number of
 *   slices would change. In that case clear slice_scale first, and set it again afterwards. */
PPSCHED_API ppsched_status ppsched_config_set_slices(ppsched_config *config, int64_t slices,
                                                     ppsched_error *error);
PPSCHED_API uint32_t ppsched_config_slices(const ppsched_config *config);

/* Sets the placement (enum ppsched_placement). `map` is read only for PPSCHED_PLACEMENT_MAP. It has
 * the number of a device, 0 to D-1, for each stage, so `count` must be S.
 * Errors: ARGUMENT, LENGTH, RANGE; REFUSED where S and D do not fit the placement; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_placement(ppsched_config *config, int32_t placement,
                                                        const uint32_t *map, size_t count,
                                                        ppsched_error *error);
PPSCHED_API int32_t ppsched_config_placement(const ppsched_config *config);

/* Sets how many versions of the weights a device holds at the same time: 1 to 1024. 0, the default,
 * means the number that the strategy needs.
 * Errors: ARGUMENT, RANGE. */
PPSCHED_API ppsched_status ppsched_config_set_weight_versions(ppsched_config *config,
                                                              int64_t versions,
                                                              ppsched_error *error);

/* Renumbers the devices: device `order[p]` becomes device p. All lists with values per device or
 * per pair of devices are reordered in the same way. `count` must be D.
 * Errors: ARGUMENT; LENGTH; RANGE where `order` does not name each device once; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_order_devices(ppsched_config *config,
                                                        const uint32_t *order, size_t count,
                                                        ppsched_error *error);

/* Sets whether a backward may run as two ops, I and W. 1, the default, allows this. 0 means that
 * every backward runs as one B, as in Megatron-LM and DeepSpeed. With 0, strategies that must split
 * backwards refuse the config, and plans leave out these strategies. The strategy auto, other
 * searches and bounds then use only F and B. The time and memory of B are the same with 0 and 1.
 * Errors: ARGUMENT; RANGE where `is_allowed` is not 0 or 1. */
PPSCHED_API ppsched_status ppsched_config_set_split_backward(ppsched_config *config,
                                                             uint32_t is_allowed,
                                                             ppsched_error *error);
PPSCHED_API uint32_t ppsched_config_split_backward(const ppsched_config *config);

/* Sets whether schedules have only forwards (1), as in inference and evaluation, or also backwards
 * (0, the default), as in training.
 *   - With 1, the strategies gpipe, looped_bfs and interleaved_1f1b keep the order of their
 *     forwards. All other strategies refuse the config, and plans leave out these other strategies.
 *     Bounds count no backwards.
 *   - With 1, memory that an F takes, such as keys and values, is held to the end of the schedule.
 *     If an F keeps nothing, set this memory to 0.
 *   - With 1 and slices, the schedule is a chunked prefill.
 *   - A schedule that has no B, no I and no W is complete if it has all its Fs.
 * Errors: ARGUMENT; RANGE where `is_forward_only` is not 0 or 1. */
PPSCHED_API ppsched_status ppsched_config_set_forward_only(ppsched_config *config,
                                                           uint32_t is_forward_only,
                                                           ppsched_error *error);
PPSCHED_API uint32_t ppsched_config_forward_only(const ppsched_config *config);

/* Whether a device that has sent a value waits until the value has arrived. */
enum ppsched_sender_waits {
    /* A sender never waits: transfers run next to compute. */
    PPSCHED_SENDER_WAITS_NEVER = 0,

    /* A sender waits between two ops of one kind on the same stage. Senders in Megatron-LM wait in
     * this way by default, in warm-up and cool-down. In these phases a device sends and receives
     * before it continues.
     *   - This rule distinguishes two kinds: F is one kind, and B, I and W together are the other
     *     kind.
     *   - The rule applies to two successive ops of a device that have the same stage and the same
     *     kind. If the schedule flushes, both must also be in the same iteration. If the output of
     *     the first op goes to another device, the second op starts only after this transfer. A W
     *     has no output, so by this rule no op waits after a W.
     *   - A W also waits after the end of its own I. This wait is as long as the transfer of the
     *     gradient that the I read. There is no such wait on the last stage, or if the gradient
     *     came from the same device.
     *   - There is no wait before, in or after an overlapped pair. There is also no wait for a
     *     transfer whose value an overlapped pair reads. */
    PPSCHED_SENDER_WAITS_LIKE_KIND = 1
};

/* Sets whether senders wait (enum ppsched_sender_waits). The default is NEVER. The setting applies
 * to evaluations of schedules that are not lowered. In lowered schedules sends and receives are
 * ops, and the channel model says which of these ops wait. Bounds do not count the waits of
 * senders, and stay valid. With LIKE_KIND the following are REFUSED:
 *   - ppsched_schedule_lower, except with PPSCHED_LOWERING_NONE
 *   - ppsched_schedule_evaluate_transfers
 *   - schedules with RECOMPUTE, OFFLOAD or RELOAD
 *   - scenarios with dispatch READY.
 * Errors: ARGUMENT, also where `sender_waits` is unknown. */
PPSCHED_API ppsched_status ppsched_config_set_sender_waits(ppsched_config *config,
                                                           int32_t sender_waits,
                                                           ppsched_error *error);
PPSCHED_API int32_t ppsched_config_sender_waits(const ppsched_config *config);

/* --- numbers --- */

/* Sets the list of numbers of a quantity (enum ppsched_quantity). The values are copied. A `count`
 * of 0 restores the default. If the call fails, the list does not change. Replacing a list by
 * another of the same length allocates nothing.
 * Errors: ARGUMENT, LENGTH; RANGE, with the index of the wrong value in `error->position`, and its
 *   stage or device in `error->stage` or `error->device`; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_values(ppsched_config *config, int32_t quantity,
                                                     const double *values, size_t count,
                                                     ppsched_error *error);

/* Returns a list that was set. It is borrowed until the list is set again. For a list that has its
 * default, the result is NULL and `*count` becomes 0. */
PPSCHED_API const double *ppsched_config_values(const ppsched_config *config, int32_t quantity,
                                                size_t *count);

/* Checks that the lists agree with each other: times must give B = I + W for each stage, and the
 * changes of the memory of each stage pass must add up to 0. Strategies build schedules without
 * this check. Evaluation makes the check itself, and reports the same errors.
 * Errors: ARGUMENT, RANGE. */
PPSCHED_API ppsched_status ppsched_config_validate(const ppsched_config *config,
                                                   ppsched_error *error);

/* --- the strategy --- */

/* Sets an option of the strategy. `value` is a text, and is checked when a strategy builds a
 * schedule. A NULL `value` removes the option. A config holds up to 256 options.
 * Errors: ARGUMENT; RANGE for option 257; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_option(ppsched_config *config, const char *name,
                                                     const char *value, ppsched_error *error);

/* Progress of a search. The library sets `size`. The pointer is valid only during the call. */
typedef struct ppsched_progress {
    uint32_t size;
    uint32_t reserved; /* 0 */
    double share;      /* share of the work that is done, 0 to 1; it never decreases */
    double best;       /* objective of the best schedule found so far; infinite if none is found
                          yet */
} ppsched_progress;

/* Progress callback of a search. The search calls it at least once per about 500,000 visits of ops,
 * which take 10 to 30 ms. If one pass over all ops takes longer, the search calls the callback once
 * per pass. The callback returns 0 to continue the search. Any other value stops the search, which
 * then fails with CANCELLED and makes nothing. The callback may read the config, but must not
 * change it. */
typedef int32_t (*ppsched_progress_function)(void *user, const ppsched_progress *progress);

/* Sets the progress callback. Strategies that search call it on the thread that builds the
 * schedule. NULL, the default, means no callback. A copy of the config has the same callback.
 * Errors: ARGUMENT. */
PPSCHED_API ppsched_status ppsched_config_set_progress(ppsched_config *config,
                                                       ppsched_progress_function tell, void *user,
                                                       ppsched_error *error);

/* --- the same model in other sizes --- */

/* The costs of the embedding in the first stage, or of the head in the last stage, in the units of
 * the config. When ppsched_config_with_stages divides the stage, it does not divide the embedding
 * or the head. Set `size` to sizeof of this struct. A field that is 0 means no cost.
 *   - The costs of the stage include these costs. So no value may be larger than the same value of
 *     the stage.
 *   - Backward times that are 0 are computed from backward = input + weight. If input and weight
 *     are both 0, backward is divided into them in the same ratio as in the stage.
 *   - mem_forward, mem_backward_input and mem_backward_weight must sum to 0, like the values of the
 *     stage. */
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
 *   - With fewer stages than `config` has, each new stage joins several old stages. Its costs are
 *     the sums of the costs of these old stages, and its work space is the largest of their work
 *     spaces. So the caller can make a config with one stage per layer, and state the costs of each
 *     layer.
 *   - With more stages, each old stage is divided evenly. `embedding` stays whole in the first
 *     stage, and `head` in the last stage. If `embedding` or `head` is NULL, it has no cost.
 *   - A transfer from a new stage to the next has the bytes of the output at the border between the
 *     two.
 *   - Lists by device or by pair of devices, other sizes, options and the placement do not change.
 *     A placement map is refused.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE, also where `embedding` or `head` costs more than its stage;
 *   REFUSED where neither number of stages is a multiple of the other, where the placement is a
 *   map, or where overlapped_times has a value per pair of stages; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_with_stages(ppsched_config **out,
                                                      const ppsched_config *config, int64_t stages,
                                                      const ppsched_model_end *embedding,
                                                      const ppsched_model_end *head,
                                                      ppsched_error *error);

/* Makes a config that divides the same batch into another number of microbatches. Times, bytes and
 * memory of a stage pass are multiplied by old number / new number. Latencies, overheads, static
 * memory and weights do not change.
 * Errors: ARGUMENT, RANGE; REFUSED where microbatch_scale has one value per microbatch; LENGTH
 *   where only microbatch_memory_scale has one value per microbatch; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_with_microbatches(ppsched_config **out,
                                                            const ppsched_config *config,
                                                            int64_t microbatches,
                                                            ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
