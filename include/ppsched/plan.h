/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: evaluates all strategies, chunks, group sizes, microbatches and memory limits that a
 * problem allows, and ranks them.
 *
 * Sample:
 *     const uint32_t chunks[] = {1, 2};
 *     const ppsched_plan_options options = {
 *         .size = sizeof options, .chunks = chunks, .chunk_count = 2};
 *     ppsched_config *config = NULL; // costs of 8 stages; the plan also tries them as 4
 *     ppsched_plan *plan = NULL;
 *     ppsched_candidate best = {.size = sizeof best};
 *     ppsched_status status = ppsched_config_create(&config, 4, 8, 16, NULL, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_plan_create(&plan, config, &options, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_plan_run(plan, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_plan_get_candidate(&best, plan, ppsched_plan_candidate_at_rank(plan, 0),
 *                                             NULL);
 *     if (status == PPSCHED_OK)
 *         printf("%s with V = %u takes %g\n", best.strategy, best.chunks, best.step_time);
 *     ppsched_plan_destroy(plan);
 *     ppsched_config_destroy(config);
 */
#ifndef PPSCHED_PLAN_H
#define PPSCHED_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/bound.h>
#include <ppsched/channel.h>
#include <ppsched/config.h>
#include <ppsched/evaluate.h>
#include <ppsched/export_macro.h>
#include <ppsched/launch.h>
#include <ppsched/layers.h>
#include <ppsched/lower.h>
#include <ppsched/op.h>
#include <ppsched/scenarios.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The candidates for a problem.
 * They are numbered from 0, and keep their numbers. The plan copies what it needs of config and
 * options. Only ppsched_plan_run calls the config's progress callback.
 * Lifetime: the caller destroys it.
 * Thread-safety: several threads may call ppsched_plan_evaluate at once for different candidates.
 *   Otherwise only one thread at a time may use a plan that is evaluated or run; any number of
 *   threads may read it. */
typedef struct ppsched_plan ppsched_plan;

/* The model by its layers: each candidate gets the split that suits it best. Sized: set `size`;
 * zero means the default.
 *   - `chunks` of the plan then has another default: every number from 1 to the number of layers
 *     per device, at most 16; and from 17 to 64 the number of layers per device, without the ends,
 *     divided by 1, 2, 3 and so on. On one device it is 1, unless strategies are named.
 *   - The costs of stages in the config are not read, nor are embedding and head.
 *   - With a lowering, splits are searched without transfers. */
typedef struct ppsched_split_options {
    uint32_t size;
    uint32_t effort;              /* work of the split search, 1 to 4; each value takes up to eight
                                     times as long as the one before. Default: 3 */
    const ppsched_layers *layers; /* required */
    uint32_t empty_stages;        /* 1: all stages but the first and the last may have no layers.
                                     With a `runtime` its rules decide this instead */
    uint32_t reserved;            /* 0 */
} ppsched_split_options;

/* Microbatches that are cut into slices. If an op takes t for a whole microbatch, and microbatches
 * are cut into K slices, then the op of slice k (from 0) takes
 *   (t / K + slice_time) * (1 - attention_share + attention_share * (2k + 1) / K).
 * With causal attention, slice k has (2k + 1) / K times the attention work of a slice in the middle
 * of the sequence. W takes no slice_time. Memory and bytes are 1 / K of those of the microbatch. If
 * the config has slices already, their costs do not change. Sized: set `size`; zero means the
 * default. */
typedef struct ppsched_slice_options {
    uint32_t size;
    uint32_t slice_count;   /* length of `slices`; 0 with NULL */
    const uint32_t *slices; /* values of K to try. Values above 1 need a config with whole
                               microbatches; unless strategies are named, only those that are made
                               for slices get them. Default: the config's */
    double slice_time;      /* how much longer F, B and I of a slice take than their share, as
                               kernels are slower on short sequences */
    double attention_share; /* share of times that is attention, 0 to 1 */
} ppsched_slice_options;

/* Ranking where times vary: the makespans of a candidate in scenarios, without lowering, divided by
 * the iterations. Stage factors are refused, as candidates differ in their stages. Sized: set
 * `size`; zero means the default. */
typedef struct ppsched_ranking_options {
    uint32_t size;
    uint32_t scenario_count; /* 1 or more; 0: no scenarios, only with rank_by STEP and without
                                scenario_options */
    int32_t rank_by;         /* enum ppsched_rank_by; all values but STEP need scenarios */
    uint32_t reserved;       /* 0 */
    double quantile;         /* for PPSCHED_RANK_BY_QUANTILE, above 0 to 1. Default: 0.9 */
    const ppsched_scenario_options *scenario_options; /* NULL: no factors */
} ppsched_ranking_options;

/* What a plan tries. Sized: set `size`; zero means the default. Lists and other pointers are read
 * during the call only. */
typedef struct ppsched_plan_options {
    uint32_t size;
    int32_t objective; /* enum ppsched_objective: the time of a step. Default: makespan */

    /* Names or aliases of strategies. Default: all whose iterations flush. Strategies that search
     * long come only with an `effort`, some others only if they are named: see
     * ppsched_strategy_info. */
    const char *const *strategies;

    const uint32_t *chunks; /* V, stages per device. Default: 1 to 4 */

    /* Group sizes g of interleaved strategies. Default, of those from 1 to M that can be run; S is
     * the number of stages of the config:
     *   - If M is at most 64, or M M S at most 1000000: all.
     *   - Otherwise D and 1; from (D+1)/2 to 2D sizes that are ceil(D/16) apart; and sizes up to M,
     *     each the next one above 5 g / 4 that divides M into fewer groups than any smaller size.
     *     If g is at least 32 and that size is above 3 g / 2, it is ceil(4 g / 3) instead.
     *   - With layers, if M is above 64 or V above 16: only D and those of these sizes that divide
     *     M; if M V D is at most 5000, also those from D to 2D.
     *   - With layers, group_interleaved_1f1b has none above D, and always (D+1)/2; pipeoffload has
     *     only D, (D+1)/2 and 1. */
    const uint32_t *group_sizes;

    const uint32_t *microbatches; /* numbers of microbatches M for the same batch. Default: the
                                     config's */
    const double *memory_limits;  /* each applies to all devices. Default: the config's */

    /* Lowers candidates in this way, and times them with their transfers. Its `lowering` must not
     * be NONE. Default: candidates are not lowered. */
    const ppsched_lower_options *lower;

    const ppsched_channel_model *channel;   /* with `lower`: how transfers wait. Default: only for
                                               their links */
    const ppsched_model_end *embedding;     /* see ppsched_config_with_stages. Default: nothing */
    const ppsched_model_end *head;          /* see ppsched_config_with_stages. Default: nothing */
    const ppsched_split_options *split;     /* Default: the config's stages */
    const ppsched_slice_options *slice;     /* Default: the config's slices */
    const ppsched_ranking_options *ranking; /* Default: by the planned time */
    uint32_t strategy_count;                /* length of each list; 0 with NULL */
    uint32_t chunk_count;
    uint32_t group_size_count;
    uint32_t microbatch_count;
    uint32_t memory_limit_count;
    uint32_t placements; /* placements that the model allows, bits 1 << enum ppsched_placement.
                            Default: all */
    uint32_t effort;     /* search effort of auto, 1 to 12. Default: its own, if auto is named */

    /* 1 to 10: orders the microbatches of each candidate, if they differ, as
     * ppsched_schedule_order_microbatches does with this effort. The candidate's config has them in
     * that order. Default: they stay in order. */
    uint32_t order_effort;

    uint32_t runtimes; /* runtimes for which `runs_on` is filled in, bits 1 << enum ppsched_runtime.
                          Default: none */
    int32_t runtime;   /* enum ppsched_runtime: refuses candidates that this runtime cannot run, and
                          makes splits by its rules. Default: none */

    /* 1: lists candidates of fixed rules a second time, with offload. If the candidate has a memory
     * limit, only as many activations are offloaded as needed to fit it, otherwise all, as by
     * ppsched_schedule_offload. It is refused if it needs no offload. Cannot be combined with
     * scenarios. Default: 0.
     *   - Without layers, also lists auto a second time where there is a memory limit.
     *   - With layers, splits are searched that suit the copies, for groups of D and (D+1)/2 or
     *     those that are named. This needs host_bandwidth; without layers offload_times suffice. */
    uint32_t offload;

    uint32_t reserved[9]; /* 0 */
} ppsched_plan_options;

/* A candidate. Sized. Texts are borrowed from the plan. */
typedef struct ppsched_candidate {
    uint32_t size;
    ppsched_status status; /* OK; or REFUSED: it cannot solve the problem, see `reason` */
    const char *strategy;
    const char *reason; /* why it is refused; NULL if it is not */
    uint32_t chunks;    /* V; 0 if the stages are no multiple of the devices */
    uint32_t stages;
    uint32_t microbatches;
    uint32_t group_size; /* 0 if the strategy has none */
    int32_t placement;   /* enum ppsched_placement */

    /* 1: it is evaluated. Until then, and if it is refused, `fits` and the numbers from `step_time`
     * to `transfers` are 0, and both devices are PPSCHED_NONE. */
    uint32_t evaluated;

    uint32_t fits;         /* 1: evaluated, and within its limit on every device */
    uint32_t limit_device; /* the first device over its limit, or PPSCHED_NONE */
    uint32_t peak_device;  /* the device with the highest peak memory */
    uint32_t rank;         /* from 0, the best; PPSCHED_NONE until the plan has run */
    double memory_limit;   /* the limit of all devices; NaN if they differ, infinite if there is
                              none */
    double step_time;      /* time of one iteration: makespan or span, by the objective */
    double makespan;       /* of all iterations */
    double span;           /* of all iterations */
    double bubble_of_total;
    double bubble_of_ideal;
    double bubble_of_span;
    double peak_memory; /* of `peak_device` */
    double overshoot;   /* the largest overshoot of a device over its limit; 0 if none is over it */

    /* Lower bound on `step_time`, always of the planned time, also with scenarios. A candidate that
     * is over its limit may be below it.
     *   - It holds for this placement and memory limit (ppsched_config_find_bound); with offload
     *     for any limit. If the strategy does not flush, it holds for schedules that do not flush.
     *   - With layers it holds for every split: the larger of the work of the fullest device, which
     *     has whole layers, and the path of one microbatch. */
    double bound;

    double bytes;       /* bytes that are transferred between devices in an iteration */
    uint64_t transfers; /* number of these transfers */
    uint32_t runs_on;   /* runtimes that run it, of those in `runtimes`: bits 1 << enum
                           ppsched_runtime */

    /* 1: it fits, and reaches its bound, so no schedule of this placement is shorter. Or, with
     * layers and without a lowering: no other split and no other recomputation is shorter with this
     * strategy and these options. Always 0 with scenarios, as planned times prove nothing there,
     * and with an order of microbatches on two copies of the model. */
    uint32_t proved;

    uint32_t slices;      /* slices per microbatch; 1: whole */
    uint32_t ordered;     /* 1: its microbatches have another order than those of the config */
    double scenario_time; /* of a step over the scenarios, by `rank_by`; with STEP the mean; 0
                             without scenarios */
    uint64_t offloads;    /* activations that are offloaded and reloaded in an iteration */
    uint32_t offloaded;   /* 1: listed with offload */

    /* With layers: the option min_group_size with which its split was found; 0: not set, as it
     * follows from the costs. */
    uint32_t min_group_size;

    /* The part of bubble_of_total that exists because devices have less work than the busiest one.
     * In the rest of it the busiest device is idle, too. */
    double imbalance;
} ppsched_candidate;

/* --- making and running it --- */

/* Makes a plan and lists its candidates, without evaluating any. `options` may be NULL. With a
 * placement map there are only candidates with the stages of the config: those of auto, or of the
 * named strategies, which are refused if they have a placement of their own. `chunks` cannot be
 * given then.
 * Errors: ARGUMENT, STRUCT_SIZE, RANGE, REFUSED, UNKNOWN_STRATEGY, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_plan_create(ppsched_plan **out, const ppsched_config *config,
                                               const ppsched_plan_options *options,
                                               ppsched_error *error);

/* Frees it. NULL is accepted. */
PPSCHED_API void ppsched_plan_destroy(ppsched_plan *plan);

/* Generates, lowers and times one candidate, if it is not evaluated yet. A refusal is no error: the
 * candidate keeps its reason.
 * Errors: ARGUMENT; RANGE, also past the last; NO_MEMORY, after which the call may be repeated. */
PPSCHED_API ppsched_status ppsched_plan_evaluate(ppsched_plan *plan, uint32_t candidate,
                                                 ppsched_error *error);

/* Evaluates all candidates that are not evaluated yet, and ranks them:
 *   - first those that fit, by step time (or by `rank_by`), then by peak memory;
 *   - then those over their limits, by overshoot, then by step time and peak memory;
 *   - then the refused ones. Ties stay in the order of the list.
 * Times and memory are compared to 40 bits, so that sums of the same numbers in another order are
 * equal. The config's progress callback receives the share of all work and the best step time.
 * Errors: those of ppsched_plan_evaluate; CANCELLED. After an error ranks do not change, evaluated
 *   candidates stay evaluated, and the plan may be run again. */
PPSCHED_API ppsched_status ppsched_plan_run(ppsched_plan *plan, ppsched_error *error);

/* --- reading it --- */

/* Number of candidates. */
PPSCHED_API uint32_t ppsched_plan_count(const ppsched_plan *plan);

/* The number of the candidate with a rank; rank 0 is the best. PPSCHED_NONE past the last rank, and
 * until the plan has run. */
PPSCHED_API uint32_t ppsched_plan_candidate_at_rank(const ppsched_plan *plan, uint32_t rank);

/* Describes a candidate, with its figures if it is evaluated.
 * Errors: ARGUMENT, RANGE past the last, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_plan_get_candidate(ppsched_candidate *out,
                                                      const ppsched_plan *plan, uint32_t candidate,
                                                      ppsched_error *error);

/* The split of a candidate: the number of layers of each stage, and for each layer 0 or the number,
 * from 1, of its kind of recomputation. They fill buffers: see ppsched.h.
 * Errors: ARGUMENT, also if the plan has no layers; RANGE past the last; REFUSED if the candidate
 *   is not evaluated or is refused; BUFFER. */
PPSCHED_API ppsched_status ppsched_plan_get_split(uint32_t *out, size_t capacity, size_t *needed,
                                                  const ppsched_plan *plan, uint32_t candidate,
                                                  ppsched_error *error);
PPSCHED_API ppsched_status ppsched_plan_get_recomputes(uint8_t *out, size_t capacity,
                                                       size_t *needed, const ppsched_plan *plan,
                                                       uint32_t candidate, ppsched_error *error);

/* For each microbatch of an ordered candidate's schedule, the number of the config's microbatch
 * that runs in its place. It fills a buffer: see ppsched.h.
 * Errors: ARGUMENT; RANGE past the last; REFUSED if the candidate is not evaluated, is refused, or
 *   is not ordered; BUFFER. */
PPSCHED_API ppsched_status ppsched_plan_get_microbatch_order(uint32_t *out, size_t capacity,
                                                             size_t *needed,
                                                             const ppsched_plan *plan,
                                                             uint32_t candidate,
                                                             ppsched_error *error);

/* Makes the config of a candidate: its stages, microbatches, memory limit and options of the
 * strategy. It has the placement, too, if that is V or bidirectional, so that a builder puts stages
 * on the same devices as the schedule.
 * Errors: ARGUMENT; RANGE, also past the last; REFUSED if its stages cannot be made from those of
 *   the config; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_plan_create_config(ppsched_config **out,
                                                      const ppsched_plan *plan, uint32_t candidate,
                                                      ppsched_error *error);

/* Makes the candidate's schedule again, and times it as the plan did. The timeline has all figures:
 * those of each device, idle causes, where the peak memory occurs, and the schedule itself
 * (ppsched_timeline_schedule).
 * Errors: as ppsched_plan_evaluate; REFUSED; INVALID_SCHEDULE if the lowered order deadlocks in the
 *   channel model. */
PPSCHED_API ppsched_status ppsched_plan_create_timeline(ppsched_timeline **out,
                                                        const ppsched_plan *plan,
                                                        uint32_t candidate, ppsched_error *error);

/* If no candidate fits: finds the least memory limit, one for all devices, under which a candidate
 * fits, and which one (`candidate` may be NULL). If several do, it is the one with the best rank.
 * Strategies that plan within a limit are tried with other limits. With layers, splits and
 * recomputation follow from the limit, so only a few candidates are tried: those that need the
 * least memory, or rank best.
 * Errors: ARGUMENT; REFUSED if there is no such limit; RANGE, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_plan_find_least_limit(double *out, uint32_t *candidate,
                                                         const ppsched_plan *plan,
                                                         ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
