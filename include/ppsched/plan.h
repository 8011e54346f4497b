/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: all candidate schedules for a problem, evaluated and ranked. Candidates differ in
 * strategy, chunks, group size, microbatches and memory limit.
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
 *   Apart from that, no other thread may use the plan while one evaluates or runs it. Otherwise any
 *   number of threads may read it. */
typedef struct ppsched_plan ppsched_plan;

/* The model by its layers: each candidate gets the split that suits it. Sized: set `size`; zero
 * means the default.
 *   - `chunks` of the plan has another default. Up to 16 it has all numbers from 1 to the number of
 *     layers per device. From 17 to 64 it has the layers per device, without those of the first and
 *     the last stage, divided by 1, 2, 3 and so on, and rounded down. On one device it is 1, unless
 *     the caller names strategies.
 *   - The plan does not read the config's lists for stages, nor `embedding` and `head`.
 *   - The search for splits ignores a lowering. */
typedef struct ppsched_split_options {
    uint32_t size;
    uint32_t effort;              /* 1 to 4: the work of the search for splits; each value takes up
                                     to eight times as long as the one before. Default: 3 */
    const ppsched_layers *layers; /* required */
    uint32_t empty_stages;        /* 1: all stages except the first and the last may have no layers.
                                     With `runtime` set this is not read: the runtime decides */
    uint32_t reserved;            /* 0 */
} ppsched_split_options;

/* Microbatches that are cut into slices. If an op takes t with whole microbatches, then slice k
 * (from 0) of K takes
 *   (t / K + slice_time) * (1 - attention_share + attention_share * (2k + 1) / K).
 * The reason is causal attention: slice k has (2k + 1) / K of the attention work of a slice in the
 * middle of the sequence. W has no slice_time. Memory and bytes are divided by K. If the config has
 * slices, these keep their costs.
 * Sized. */
typedef struct ppsched_slice_options {
    uint32_t size;
    uint32_t slice_count;   /* 0 with NULL */
    const uint32_t *slices; /* numbers of slices K to try. Values above 1 need a config of whole
                               microbatches. Unless strategies are named, only those that support
                               slices are tried with them. Default: the config's slices */
    double slice_time;      /* added to the time of F, B and I of a slice, as kernels are slower on
                               short sequences */
    double attention_share; /* share of attention in the times, 0 to 1 */
} ppsched_slice_options;

/* How to rank if times vary. In each scenario the score of a candidate is its makespan divided by
 * the iterations. Lowering is left out. Stage factors are refused, as candidates differ in stages.
 * Sized. */
typedef struct ppsched_ranking_options {
    uint32_t size;
    uint32_t scenario_count; /* 1 or more. 0: no scenarios; rank_by must then be STEP, and
                                scenario_options NULL */
    int32_t rank_by;         /* enum ppsched_rank_by; all except STEP need scenarios */
    uint32_t reserved;       /* 0 */
    double quantile;         /* for PPSCHED_RANK_BY_QUANTILE, above 0, up to 1. Default: 0.9 */
    const ppsched_scenario_options *scenario_options; /* NULL: no factors */
} ppsched_ranking_options;

/* The candidates to list, and how to evaluate and rank them. Sized: set `size`; zero means the
 * default. Lists and structs that pointers lead to are read during the call only.
 *
 * By default all strategies are tried whose iterations flush, except
 *   - those that search long (ppsched_strategy_info), unless `effort` is set;
 *   - those with offload, and those that are identical to another one with whole microbatches;
 *   - those that must split backwards, if the config does not allow that.
 *
 * By default group size D is tried, and of the sizes g from 1 to M that the strategy supports:
 *   - all, if M is at most 64, or if M * M * S is at most 1000000 (S: the config's stages);
 *   - otherwise 1; sizes from (D+1)/2 to 2D in steps of ceil(D/16), and D; and larger ones up to M.
 *     Each g is followed at the latest by the smallest size above 5 g / 4 that gives fewer groups
 *     than the size below it. If that is above 3 g / 2, and g is 32 or more, ceil(4 g / 3) follows
 *     instead.
 * With layers there are fewer, as each needs a search for splits:
 *   - If M is above 64, or V above 16: of these sizes, the divisors of M, and if M * V * D is at
 *     most 5000, also those from D to 2D.
 *   - group_interleaved_1f1b has no size above D, and always (D+1)/2.
 *   - pipeoffload has D, (D+1)/2 and 1. */
typedef struct ppsched_plan_options {
    uint32_t size;
    int32_t objective;             /* enum ppsched_objective: which time is the step time. Default:
                                      makespan */
    const char *const *strategies; /* names or aliases. Default: see above */
    const uint32_t *chunks;        /* V, stages per device. Default: 1 to 4 */
    const uint32_t *group_sizes;   /* g of interleaved strategies. Default: see above */
    const uint32_t *microbatches;  /* M, with the same batch. Default: the config's */
    const double *memory_limits;   /* each for all devices. Default: the config's */
    const ppsched_lower_options *lower;     /* candidates are lowered in this way, and timed with
                                               their transfers; `lowering` must not be NONE.
                                               Default: not lowered */
    const ppsched_channel_model *channel;   /* how the transfers then wait. Default: only for their
                                               links */
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
    uint32_t placements;   /* which placements are allowed, bits 1 << enum ppsched_placement.
                              Default: all */
    uint32_t effort;       /* search effort of auto, 1 to 12. Default: that of auto, if it is
                              named */
    uint32_t order_effort; /* 1 to 10: if microbatches differ, each candidate's are ordered as by
                              ppsched_schedule_order_microbatches, and its config has them in that
                              order. Default: the order of the config */
    uint32_t runtimes;     /* which runtimes are asked whether they run a candidate, bits 1 << enum
                              ppsched_runtime. Default: none */
    int32_t runtime;       /* enum ppsched_runtime: candidates that it cannot run are refused, and
                              splits follow its rules. Default: none */
    uint32_t offload;      /* 1: candidates with a fixed rule are listed a second time, with
                              offload. Default: 0.
                              - They offload as ppsched_schedule_offload does: as little as needed
                                to fit the memory limit, or everything if there is none. A candidate
                                that needs no offload is refused.
                              - Under a memory limit, and without layers, those of auto are also
                                listed twice: the search chooses order and offload together.
                              - The config must have host_bandwidth or, if there are no layers,
                                offload_times.
                              - With layers the search for splits counts the copies. Group sizes are
                                D and (D+1)/2, or those in `group_sizes`.
                              - With `lower`, offload comes before the lowering. With scenarios
                                offload is an ARGUMENT error */
    uint32_t free_device_order; /* 1, with layers: the order of devices is searched, too: all orders
                                   if only few differ, otherwise some. See
                                   ppsched_plan_get_device_order. Lists of devices and links, and
                                   device_factors and link_factors of scenarios, number devices as
                                   the config does. Bounds hold for all orders. Default: 0 */
    uint32_t top;               /* how many of the best are wanted. Default: all.
                              - Candidates that bounds rule out of these ranks are left out: neither
                                evaluated nor refused, and ranked after all others.
                              - The wanted ranks are as without it, but for times and memory that
                                differ by less than 2^-40 of them.
                              - With layers, an `order_effort`, or ranks by scenarios, everything is
                                evaluated */
    uint32_t reserved[7];       /* 0 */
} ppsched_plan_options;

/* A candidate. Sized. Texts are borrowed from the plan. */
typedef struct ppsched_candidate {
    uint32_t size;
    ppsched_status status; /* OK, or REFUSED if it does not support the problem: see `reason` */
    const char *strategy;
    const char *reason; /* why it is refused; NULL if it is not */
    uint32_t chunks;    /* V; 0 if the stages are no multiple of the devices */
    uint32_t stages;
    uint32_t microbatches;
    uint32_t group_size;   /* 0 if the strategy has none */
    int32_t placement;     /* enum ppsched_placement */
    uint32_t evaluated;    /* 1: it is evaluated. Until then, and if it is refused, `fits` and the
                              figures from `step_time` on are 0, but the `bound` of a candidate that
                              the plan has left out, and both devices PPSCHED_NONE */
    uint32_t fits;         /* 1: evaluated, and within its limit on every device */
    uint32_t limit_device; /* the first device over its limit, or PPSCHED_NONE */
    uint32_t peak_device;
    uint32_t rank;       /* 0 is the best; PPSCHED_NONE until the plan has run */
    double memory_limit; /* that of all devices; NaN if they differ, infinite if there is none */
    double step_time;    /* makespan or span of one iteration, by the objective */
    double makespan;     /* of all iterations */
    double span;
    double bubble_of_total;
    double bubble_of_ideal;
    double bubble_of_span;
    double peak_memory; /* of `peak_device` */
    double overshoot;   /* the largest memory of a device above its limit; 0 if it fits */
    double bound; /* lower bound on `step_time`: no schedule of this placement within the limit is
                     shorter (ppsched_config_find_bound). For a strategy that does not flush, it
                     holds for schedules that do not flush. With offload it ignores the limit. A
                     candidate over its limit may be below it. With layers it holds for all splits,
                     and ignores the limit, too. It refers to the planned time, also with
                     scenarios */
    double bytes; /* bytes that are sent between devices in an iteration */
    uint64_t transfers;   /* number of transfers between devices in an iteration */
    uint32_t runs_on;     /* the runtimes that run it, of those that were asked: bits 1 << enum
                             ppsched_runtime */
    uint32_t proved;      /* 1: it fits and reaches its bound, so no schedule of this placement is
                             shorter; or with layers and without lowering, it fits, and no other
                             split and no other recomputation is shorter with this strategy and
                             these options. 0 with scenarios, and if its microbatches are ordered on
                             two copies of the model */
    uint32_t slices;      /* slices of a microbatch; 1: whole microbatches */
    uint32_t ordered;     /* 1: its microbatches have an order of their own */
    double scenario_time; /* time of a step over the scenarios, as `rank_by` says (the mean if it is
                             STEP); 0 without scenarios */
    uint64_t offloads;    /* activations that are copied to the host and back in an iteration */
    uint32_t offloaded;   /* 1: it is listed as a candidate with offload */
    uint32_t min_group_size; /* with layers: the strategy's option of that name with which the split
                                was found; 0: not set, the strategy takes it from the costs */
    double imbalance; /* part of bubble_of_total: idle time because devices have less work than the
                         most loaded one. In the remaining idle time that one is idle, too */
} ppsched_candidate;

/* --- making and running it --- */

/* Lists the candidates. It generates nothing yet. `options` may be NULL.
 * A config with a placement map has candidates only for its own stages: those of auto, or of the
 * strategies that are named. Of these, the ones with a placement of their own are refused. `chunks`
 * must not be given then.
 * Errors: ARGUMENT, STRUCT_SIZE, RANGE, UNKNOWN_STRATEGY, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_plan_create(ppsched_plan **out, const ppsched_config *config,
                                               const ppsched_plan_options *options,
                                               ppsched_error *error);

/* Frees it. NULL is accepted. */
PPSCHED_API void ppsched_plan_destroy(ppsched_plan *plan);

/* Generates, lowers and times one candidate, unless it is evaluated already. A refusal is no error:
 * the candidate keeps the reason.
 * Errors: ARGUMENT; RANGE, also past the last; NO_MEMORY, after which it may be tried again. */
PPSCHED_API ppsched_status ppsched_plan_evaluate(ppsched_plan *plan, uint32_t candidate,
                                                 ppsched_error *error);

/* Evaluates all candidates that are not evaluated yet, and ranks them:
 *   - first those that fit, by step time (or by `rank_by`), then by peak memory;
 *   - then those over their limits, by overshoot, then by step time and peak memory;
 *   - then those that are refused.
 * Ties stay in the order of their numbers. Figures are compared rounded to 40 bits, so that sums of
 * the same numbers in another order are equal. The config's progress callback receives the share of
 * all work, and the best step time.
 * Errors: those of ppsched_plan_evaluate; CANCELLED. After an error the ranks do not change,
 *   evaluated candidates are kept, and the plan may be run again. */
PPSCHED_API ppsched_status ppsched_plan_run(ppsched_plan *plan, ppsched_error *error);

/* --- reading it --- */

/* Number of candidates. */
PPSCHED_API uint32_t ppsched_plan_count(const ppsched_plan *plan);

/* The number of the candidate with a rank; rank 0 is the best. PPSCHED_NONE past the last rank, and
 * until the plan has run. */
PPSCHED_API uint32_t ppsched_plan_candidate_at_rank(const ppsched_plan *plan, uint32_t rank);

/* Describes a candidate. Once it is evaluated, its figures are filled in.
 * Errors: ARGUMENT, RANGE past the last, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_plan_get_candidate(ppsched_candidate *out,
                                                      const ppsched_plan *plan, uint32_t candidate,
                                                      ppsched_error *error);

/* The split of a candidate: the number of layers of each stage; and for each layer 0, or the number
 * from 1 of its kind of recomputation. They fill buffers: see ppsched.h.
 * Errors: ARGUMENT, also if the plan has no layers; RANGE past the last; REFUSED if the candidate
 *   is not evaluated or is refused; BUFFER. */
PPSCHED_API ppsched_status ppsched_plan_get_split(uint32_t *out, size_t capacity, size_t *needed,
                                                  const ppsched_plan *plan, uint32_t candidate,
                                                  ppsched_error *error);
PPSCHED_API ppsched_status ppsched_plan_get_recomputes(uint8_t *out, size_t capacity,
                                                       size_t *needed, const ppsched_plan *plan,
                                                       uint32_t candidate, ppsched_error *error);

/* The order of microbatches of an ordered candidate: for each microbatch of its schedule, the
 * number of that microbatch in the config. Fills a buffer: see ppsched.h.
 * Errors: ARGUMENT; RANGE past the last; REFUSED if the candidate is not evaluated, is refused, or
 *   is not ordered; BUFFER. */
PPSCHED_API ppsched_status ppsched_plan_get_microbatch_order(uint32_t *out, size_t capacity,
                                                             size_t *needed,
                                                             const ppsched_plan *plan,
                                                             uint32_t candidate,
                                                             ppsched_error *error);

/* With `free_device_order`, the device in each place, as the config numbers it. The candidate's
 * config, and all its figures, number devices by place. It fills a buffer: see ppsched.h.
 * Errors: ARGUMENT; RANGE past the last; REFUSED if it is not evaluated, is refused, or no order
 *   was searched; BUFFER. */
PPSCHED_API ppsched_status ppsched_plan_get_device_order(uint32_t *out, size_t capacity,
                                                         size_t *needed, const ppsched_plan *plan,
                                                         uint32_t candidate, ppsched_error *error);

/* Makes the candidate's own problem, with its stages, microbatches, limit and the strategy's
 * options. It also has the placement if that is V or bidirectional, so that a builder places the
 * stages as the schedule does.
 * Errors: ARGUMENT; RANGE, also past the last; REFUSED if the config's stages cannot be converted
 *   to the candidate's; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_plan_create_config(ppsched_config **out,
                                                      const ppsched_plan *plan, uint32_t candidate,
                                                      ppsched_error *error);

/* Makes the candidate's schedule again, and times it as the plan did. The timeline has all figures:
 * those of each device, its idle causes, the place of its peak memory, and the schedule
 * (ppsched_timeline_schedule).
 * Errors: as ppsched_plan_evaluate; REFUSED; INVALID_SCHEDULE if the lowered schedule deadlocks in
 *   the channel model. */
PPSCHED_API ppsched_status ppsched_plan_create_timeline(ppsched_timeline **out,
                                                        const ppsched_plan *plan,
                                                        uint32_t candidate, ppsched_error *error);

/* Finds the least memory limit, the same for all devices, under which a candidate fits, and that
 * candidate (`candidate` may be NULL). It is for plans in which none fits.
 *   - If several candidates need the same, it is the one with the best rank.
 *   - Searches, and rules with offload, are tried under other limits; searches with offload are not
 *     tried.
 *   - With layers, splits and recomputation depend on the limit. So only a few candidates are
 *     tried: the rules that need least, and the searches that rank best. A smaller limit may then
 *     work, too.
 * Errors: ARGUMENT; REFUSED if no limit works; RANGE, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_plan_find_least_limit(double *out, uint32_t *candidate,
                                                         const ppsched_plan *plan,
                                                         ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
