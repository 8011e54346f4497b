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
 * Lifetime: the caller destroys the config. Schedules and timelines copy the values that they use,
 *   so the config may be destroyed before them.
 * Thread-safety: any number of threads may read a config and build schedules from it at the same
 *   time. While one thread changes the config, no other thread may use it. */
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
                                            s is on device s. For the second half, stage s is on
                                            device D-1-s */
    PPSCHED_PLACEMENT_MAP = 5            /* the caller gives a list with the device of each stage */
};

/* --- making a config --- */

/* Makes a problem with D devices, S stages (virtual stages of the whole model) and M microbatches
 * per iteration. All other values are defaults. `environment` may be NULL.
 * Errors: ARGUMENT; RANGE where a size is below 1 or too large; STRUCT_SIZE, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_create(ppsched_config **out, int64_t devices,
                                                 int64_t stages, int64_t microbatches,
                                                 const ppsched_environment *environment,
                                                 ppsched_error *error);

/* Makes an independent copy with the same environment. The caller destroys the copy.
 * Errors: ARGUMENT, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_copy(ppsched_config **out, const ppsched_config *config,
                                               ppsched_error *error);

/* Frees a config. NULL is accepted. */
PPSCHED_API void ppsched_config_destroy(ppsched_config *config);

/* --- sizes and placement --- */

/* The sizes that were set; 0 for a NULL config. */
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
 * each stage, the F of a slice reads the keys and values of the slice before, so it runs after the
 * F of that slice. The B or I of a slice runs after the B or I of the next slice.
 * Errors: ARGUMENT, RANGE; LENGTH where slice_scale already has several values, and the number of
 *   slices would change. In this case, clear slice_scale first, and set it again afterwards. */
PPSCHED_API ppsched_status ppsched_config_set_slices(ppsched_config *config, int64_t slices,
                                                     ppsched_error *error);
PPSCHED_API uint32_t ppsched_config_slices(const ppsched_config *config);

/* Sets the placement (enum ppsched_placement). `map` and `count` are used only for
 * PPSCHED_PLACEMENT_MAP. `map` then has the number of a device, 0 to D-1, for each stage, and
 * `count` must be S.
 * Errors: ARGUMENT, LENGTH, RANGE; REFUSED where S and D do not fit the placement; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_placement(ppsched_config *config, int32_t placement,
                                                        const uint32_t *map, size_t count,
                                                        ppsched_error *error);
PPSCHED_API int32_t ppsched_config_placement(const ppsched_config *config);

/* Sets how many versions of the weights a device holds at the same time: 1 to 1024. The default is
 * 0, which means the number that the strategy needs.
 * Errors: ARGUMENT, RANGE. */
PPSCHED_API ppsched_status ppsched_config_set_weight_versions(ppsched_config *config,
                                                              int64_t versions,
                                                              ppsched_error *error);

/* Renumbers the devices: device `order[p]` becomes device p. The call reorders all lists with
 * values per device or per pair of devices in the same way. `count` must be D.
 * Errors: ARGUMENT; LENGTH; RANGE where `order` does not name each device once; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_order_devices(ppsched_config *config,
                                                        const uint32_t *order, size_t count,
                                                        ppsched_error *error);

/* Sets whether a backward may run as two ops, I and W. With 1, the default, it may. With 0, every
 * backward runs as one B, as in Megatron-LM and DeepSpeed: strategies that must split backwards
 * refuse the config, and plans leave out these strategies. The strategy auto, other searches and
 * bounds then use only F and B. The time and memory of B are the same with 0 and 1.
 * Errors: ARGUMENT; RANGE where `is_allowed` is not 0 or 1. */
PPSCHED_API ppsched_status ppsched_config_set_split_backward(ppsched_config *config,
                                                             uint32_t is_allowed,
                                                             ppsched_error *error);
PPSCHED_API uint32_t ppsched_config_split_backward(const ppsched_config *config);

/* Sets whether schedules have only forwards (1), as in inference and evaluation, or also backwards
 * (0, the default), as in training.
 *   - With 1, the strategies gpipe, looped_bfs and interleaved_1f1b keep the order of their
 *     forwards, and auto searches for an order of forwards. All other strategies refuse the config,
 *     and plans leave them out. Bounds count no backwards.
 *   - With 1, memory that an F takes (PPSCHED_QUANTITY_MEM_FORWARD), such as keys and values, is
 *     held to the end of the schedule. If an F keeps nothing, set this memory to 0.
 *   - With 1 and slices, the schedule is a chunked prefill: each slice is a chunk of a prompt.
 *   - A schedule that has no B, no I and no W is complete if it has all its Fs.
 * Errors: ARGUMENT; RANGE where `is_forward_only` is not 0 or 1. */
PPSCHED_API ppsched_status ppsched_config_set_forward_only(ppsched_config *config,
                                                           uint32_t is_forward_only,
                                                           ppsched_error *error);
PPSCHED_API uint32_t ppsched_config_forward_only(const ppsched_config *config);

/* Whether a device that has sent a value waits until the value has arrived. */
enum ppsched_sender_waits {
    /* A sender never waits: transfers run at the same time as compute. */
    PPSCHED_SENDER_WAITS_NEVER = 0,

    /* After an op, a device waits for its transfer if the next op is of the same kind and stage. By
     * default, senders in Megatron-LM wait in this way in warm-up and cool-down: a device sends and
     * receives before it continues.
     *   - This rule distinguishes two kinds: F is one kind, and B, I and W together are the other
     *     kind.
     *   - The rule applies to two successive ops of a device that have the same stage and the same
     *     kind. If the schedule flushes, both ops must also be in the same iteration. If the output
     *     of the first op goes to another device, the second op starts only when this transfer has
     *     ended. A W has no output, so by this rule no op waits after a W.
     *   - A W also waits after the end of its own I. This wait is as long as the transfer of the
     *     gradient that the I read. There is no such wait on the last stage, or if the gradient
     *     came from the same device.
     *   - There is no wait before, inside or after an overlapped pair. There is also no wait for a
     *     transfer whose value an overlapped pair reads. */
    PPSCHED_SENDER_WAITS_LIKE_KIND = 1
};

/* Sets whether senders wait (enum ppsched_sender_waits). The default is NEVER. The setting applies
 * to evaluations of schedules that are not lowered. In lowered schedules, sends and receives are
 * ops, and the channel model says which of these ops wait. Bounds do not count the waits of
 * senders. But bounds stay valid, because waits only add time. With LIKE_KIND, the following calls
 * return REFUSED:
 *   - ppsched_schedule_lower, except with PPSCHED_LOWERING_NONE;
 *   - ppsched_schedule_evaluate_transfers;
 *   - evaluations of schedules with RECOMPUTE, OFFLOAD or RELOAD, or with a stage graph;
 *   - scenarios with dispatch READY.
 * Errors: ARGUMENT, also where `sender_waits` is unknown. */
PPSCHED_API ppsched_status ppsched_config_set_sender_waits(ppsched_config *config,
                                                           int32_t sender_waits,
                                                           ppsched_error *error);
PPSCHED_API int32_t ppsched_config_sender_waits(const ppsched_config *config);

/* --- numbers --- */

/* Sets the list of numbers of a quantity (enum ppsched_quantity). The call copies the values. A
 * `count` of 0 restores the default. If the call fails, the list does not change. If the list
 * already has `count` values, the call allocates nothing.
 * Errors: ARGUMENT, LENGTH; RANGE, with the index of the wrong value in `error->position`, and its
 *   stage or device in `error->stage` or `error->device`; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_values(ppsched_config *config, int32_t quantity,
                                                     const double *values, size_t count,
                                                     ppsched_error *error);

/* Returns a list that was set, and writes its length to `*count`. The list is borrowed, and valid
 * until the list is set again or the config is destroyed. For a list that has its default, the
 * result is NULL and `*count` becomes 0. */
PPSCHED_API const double *ppsched_config_values(const ppsched_config *config, int32_t quantity,
                                                size_t *count);

/* Checks that the values of each stage agree with each other:
 *   - If the times of B and I are given, but not of W, then I must not take longer than B. If the
 *     times of B and W are given, but not of I, then W must not take longer than B.
 *   - If the times of B are not given, the times of I and W must both be given, or neither of them.
 *   - If the times of B, I and W are all given, B may take more or less time than I + W.
 *   - The changes of the memory of each stage pass must add up to 0
 *     (PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT).
 * Strategies build schedules without this check. Evaluation makes the check itself, and reports the
 * same errors.
 * Errors: ARGUMENT, RANGE. */
PPSCHED_API ppsched_status ppsched_config_validate(const ppsched_config *config,
                                                   ppsched_error *error);

/* --- the strategy --- */

/* Sets an option of the strategy. The call copies `name` and `value`. The strategy checks `name`
 * and `value` only when it builds a schedule. A NULL `value` removes the option. A config holds up
 * to 256 options.
 * Errors: ARGUMENT; RANGE for option 257; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_option(ppsched_config *config, const char *name,
                                                     const char *value, ppsched_error *error);

/* Progress of a search, which a progress callback receives. The library sets `size`. */
typedef struct ppsched_progress {
    uint32_t size;
    uint32_t reserved; /* 0 */
    double share;      /* share of the work that is done, 0 to 1; it never decreases */
    double best;       /* objective of the best schedule found so far; infinite if none is found
                          yet */
} ppsched_progress;

/* Progress callback of a search. `progress` is valid only during the call.
 *   - The search calls the callback at least once for about 500,000 ops that it visits, which is
 *     once in 10 to 30 ms. But if one pass over all ops takes longer, the search calls the callback
 *     once per pass.
 *   - If the callback returns 0, the search continues. If the callback returns another value, the
 *     search stops, fails with CANCELLED, and makes no schedule.
 *   - The callback may read the config, but must not change it. */
typedef int32_t (*ppsched_progress_function)(void *user, const ppsched_progress *progress);

/* Sets the progress callback, and the `user` that it receives. Strategies that search call it on
 * the thread that builds the schedule. NULL, the default, means no callback. A copy of the config
 * has the same callback.
 * Errors: ARGUMENT. */
PPSCHED_API ppsched_status ppsched_config_set_progress(ppsched_config *config,
                                                       ppsched_progress_function tell, void *user,
                                                       ppsched_error *error);

/* --- the same model in other sizes --- */

/* The costs of the embedding in the first stage, or of the head in the last stage, in the units of
 * the config. When ppsched_config_with_stages divides the stage, it does not divide the embedding
 * or the head. Set `size` to sizeof of this struct. A field that is 0 means no cost, except for
 * backward times (see below).
 *   - The costs of the stage include the costs of its embedding or head. So no value may be larger
 *     than the same value of the stage.
 *   - If one of the three backward times is 0, it is computed from the other two: backward_time =
 *     backward_input_time + backward_weight_time. If only backward_time is set, it is divided into
 *     the other two in the same ratio as in the stage.
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

/* Makes a config of the same model with another number of stages. The caller destroys the new
 * config.
 *   - If `config` has more stages, each new stage joins several old stages. The costs of the new
 *     stage are the sums of the costs of these old stages. But its work space is the largest of
 *     their work spaces. So the caller can make a config with one stage per layer, and give the
 *     costs of each layer.
 *   - If `config` has fewer stages, each old stage is divided evenly. The embedding stays whole in
 *     the first stage, and the head in the last stage. A NULL `embedding` or `head` has no cost.
 *   - A transfer from a new stage to the next stage has the bytes of the output at the border
 *     between the two.
 *   - Lists by device or by pair of devices, other sizes, options and the placement do not change.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE, also where `embedding` or `head` costs more than its stage;
 *   REFUSED where neither number of stages is a multiple of the other, where there is a placement
 *   map or a stage graph, or where overlapped_times, stage_scale or slice_scale has values that
 *   cannot be converted (one per pair of stages, per stage and device, or per stage and slice);
 *   NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_with_stages(ppsched_config **out,
                                                      const ppsched_config *config, int64_t stages,
                                                      const ppsched_model_end *embedding,
                                                      const ppsched_model_end *head,
                                                      ppsched_error *error);

/* Makes a config that divides the same batch into another number of microbatches. Times, bytes and
 * memory of a stage pass are multiplied by the old number of microbatches, divided by the new
 * number. Latencies, overheads, static memory and weights do not change. The caller destroys the
 * config.
 * Errors: ARGUMENT, RANGE; REFUSED where microbatch_scale has one value per microbatch, or where
 *   there is a stage graph; LENGTH where microbatch_memory_scale or microbatch_request has one
 *   value per microbatch, and microbatch_scale does not; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_with_microbatches(ppsched_config **out,
                                                            const ppsched_config *config,
                                                            int64_t microbatches,
                                                            ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
