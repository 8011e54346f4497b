/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: all candidate schedules for a problem, evaluated and ranked. Candidates differ in
 * strategy, chunks (stages per device), group size, microbatches, slices and memory limit. In an
 * interleaved strategy, the group size is how many microbatches a device runs on one chunk before
 * it goes on to the next chunk.
 *
 * In this header, D is the number of devices, S the number of stages, V the number of stages per
 * device, M the number of microbatches, and K the number of slices per microbatch.
 *
 * Sample:
 *     const uint32_t chunks[] = {1, 2};
 *     const ppsched_plan_options options = {
 *         .size = sizeof options, .chunks = chunks, .chunk_count = 2};
 *     ppsched_config *config = NULL; // 8 stages; the plan also joins them to 4
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

/* The candidates for a problem. Candidates are numbered from 0, and keep their numbers. The plan
 * copies config and options. Only ppsched_plan_run calls the config's progress callback.
 * Lifetime: the caller destroys the plan.
 * Thread-safety: any number of threads may read a plan at the same time. Several threads may call
 *   ppsched_plan_evaluate at the same time, each for another candidate. During these calls, no
 *   thread may use the plan in any other way. During ppsched_plan_run, no other thread may use the
 *   plan. */
typedef struct ppsched_plan ppsched_plan;

/* The layers of the model. For each candidate, the plan searches for a split of these layers into
 * stages. Set `size` to sizeof of this struct. A field that is 0 has its default. If `split` of
 * ppsched_plan_options is set, the other options of the plan change as follows:
 *   - `chunks` has another default. The default has each number from 1 to 16 that is at most the
 *     number of layers per device. Of the numbers from 17 to 64, the default has only quotients:
 *     the number of layers per device divided by 1, 2, 3 and so on, and rounded down. In these
 *     quotients, the number of layers per device does not count layers that must be in the first or
 *     last stage. On one device, the default is only 1, unless `strategies` is set.
 *   - The plan ignores `embedding` and `head`, and the config's lists with values per stage.
 *   - The search for splits ignores `lower`. */
typedef struct ppsched_split_options {
    uint32_t size;
    uint32_t effort;              /* 1 to 4: how much work the search for splits does. Each value
                                     takes up to 8 times as long as the next lower value. Default:
                                     3 */
    const ppsched_layers *layers; /* the layers of the model. Required */
    uint32_t empty_stages;        /* 1: a stage may have no layers, unless it is the first or the
                                     last stage. If `runtime` is set, this value is ignored, and the
                                     rules of the runtime apply */
    uint32_t reserved;            /* 0 */
} ppsched_split_options;

/* Microbatches that are cut into slices. An op that takes t for a whole microbatch takes this time
 * for slice k (from 0) of K:
 *   (t / K + slice_time) * (1 - attention_share + attention_share * (2k + 1) / K).
 * The reason is causal attention: the attention work of slice k is (2k + 1) / K times the mean over
 * all slices of the microbatch. Set `size` to sizeof of this struct.
 *   - For a W, slice_time is not added.
 *   - PPSCHED_QUANTITY_MICROBATCH_SCALE multiplies the whole formula, including slice_time.
 *   - Memory and bytes are divided by K. With layers, mem_slice_state and mem_slice_gradients
 *     (ppsched_layer) are then added.
 *   - With layers, each stage has its own attention_share: the mean of attention_share of its
 *     layers, weighted by the times that the layers take without recomputation.
 *   - The search for splits gives each slice the mean cost of all slices of the microbatch.
 *   - If the config already has slices, the plan does not change their costs. */
typedef struct ppsched_slice_options {
    uint32_t size;
    uint32_t slice_count;   /* length of `slices`; 0 if `slices` is NULL */
    const uint32_t *slices; /* numbers of slices K to try. For values above 1, the config must have
                               whole microbatches. If `strategies` is not set, a value above 1 is
                               tried only with strategies that support slices. If `strategies` is
                               set, each value is tried with all strategies in `strategies`.
                               Default: the config's number of slices */
    double slice_time;      /* time that is added to F, B and I of each slice, in the caller's unit.
                               It models kernels that are less efficient on short sequences */
    double attention_share; /* share of attention in the times of ops on all stages, 0 to 1:
                               attention_share in the formula above. Default: with layers their own
                               attention_share, otherwise 0 */
} ppsched_slice_options;

/* How to rank candidates if times vary. Each scenario gives a candidate a step time: its makespan
 * in this scenario, divided by the number of iterations. Scenarios ignore the lowering. A plan
 * refuses stage_factors in `scenario_options`, because candidates have different stages. Set `size`
 * to sizeof of this struct. */
typedef struct ppsched_ranking_options {
    uint32_t size;
    uint32_t scenario_count; /* number of scenarios. 0 means no scenarios. Then rank_by must be
                                STEP, and scenario_options must be NULL */
    int32_t rank_by;         /* enum ppsched_rank_by; all values except STEP need scenarios */
    uint32_t reserved;       /* 0 */
    double quantile;         /* the quantile for PPSCHED_RANK_BY_QUANTILE, above 0, up to 1.
                                Default: 0.9 */
    const ppsched_scenario_options *scenario_options; /* how times vary. NULL: no factors */
} ppsched_ranking_options;

/* The candidates to list, and how to evaluate and rank them. Set `size` to sizeof of this struct. A
 * field that is 0 has its default. The call copies what it needs from lists and structs behind
 * pointers, so they may be freed afterwards.
 *
 * By default, the plan tries all strategies that flush between iterations, with the exceptions
 * below. (With a placement map or a stage graph, another rule holds: see ppsched_plan_create.)
 *   - It tries strategies that search long (`searches_long` of ppsched_strategy_info) only if
 *     `effort` is set.
 *   - It tries strategies that divide the head among devices (vocab_1f1b and interlaced) only if a
 *     time in `head` is above 0.
 *   - It does not try strategies with offload.
 *   - It does not try strategies whose schedules, with whole microbatches, equal the schedules of
 *     another strategy.
 *   - If the config does not allow I and W, it does not try strategies that must split backwards.
 *
 * By default, group size D is always tried. Other sizes from 1 to M are tried if the strategy
 * supports them, and if they are in the following list:
 *   - If M is at most 64, or M * M * S is at most 1000000 (S: the config's stages), the list has
 *     all sizes.
 *   - Otherwise, the list has 1, and the sizes from (D+1)/2 to 2D in steps of ceil(D/16). Further
 *     sizes up to M fill the gaps. After each size g in the list, the next size is c, unless the
 *     steps of ceil(D/16) give a smaller next size. Here c is the smallest size above 5 * g / 4
 *     that gives fewer groups than the size c - 1. If c is above 3 * g / 2, and g is 32 or more,
 *     ceil(4 * g / 3) is used in place of c.
 * With layers, each size needs a search for splits. So fewer sizes of this list are tried:
 *   - If M is above 64, or V is above 16: only the sizes that divide M and, if M * V * D is at most
 *     5000, the sizes from D to 2D.
 *   - For group_interleaved_1f1b: no size above D, and always (D+1)/2.
 *   - For pipeoffload: only D, (D+1)/2 and 1. */
typedef struct ppsched_plan_options {
    uint32_t size;
    int32_t objective;             /* enum ppsched_objective: which time counts as the step time.
                                      Default: makespan */
    const char *const *strategies; /* names or aliases of the strategies to try. Default: see
                                      above */
    const uint32_t *chunks;        /* values of V (stages per device) to try. Default: 1 to 4.
                                      Strategies with the placement LOOP are tried with V = 1 only
                                      if `strategies` names them */
    const uint32_t *group_sizes;   /* group sizes g to try with interleaved strategies. Default: see
                                      above */
    const uint32_t *microbatches;  /* values of M (number of microbatches) to try for the same
                                      batch. Default: M of the config */
    const double *memory_limits;   /* memory limits to try. Each value applies to every device.
                                      Default: the limits of the config */
    const ppsched_lower_options *lower;     /* how candidates are lowered. Lowered candidates are
                                               timed with their transfers. `lowering` must not be
                                               NONE. Default: candidates are not lowered */
    const ppsched_channel_model *channel;   /* how transfers of lowered schedules wait for each
                                               other. Default: transfers wait only for their
                                               links */
    const ppsched_model_end *embedding;     /* cost of the embedding, see
                                               ppsched_config_with_stages. Default: no cost */
    const ppsched_model_end *head;          /* cost of the head, see ppsched_config_with_stages.
                                               Default: no cost */
    const ppsched_split_options *split;     /* the layers to split into stages. Default: the
                                               config's stages are used */
    const ppsched_slice_options *slice;     /* how to cut microbatches into slices. Default: the
                                               config's slices are used */
    const ppsched_ranking_options *ranking; /* how to rank candidates if times vary. Default: rank
                                               by the planned time */
    uint32_t strategy_count;                /* length of `strategies`; 0 if `strategies` is NULL.
                                               The four counts below are the lengths of the other
                                               lists */
    uint32_t chunk_count;
    uint32_t group_size_count;
    uint32_t microbatch_count;
    uint32_t memory_limit_count;
    uint32_t placements;   /* the allowed placements, as bits 1 << enum ppsched_placement. Default:
                              all */
    uint32_t effort;       /* search effort of the strategy auto, 1 to 12. From 6 on, auto also
                              tries to prove that no order is better than the order that it found.
                              With 0, auto is tried only if `strategies` names it, and then has its
                              default effort */
    uint32_t order_effort; /* 1 to 10: effort of the search for an order of the microbatches, for
                              microbatches with different costs. The plan orders the microbatches of
                              each candidate with ppsched_schedule_order_microbatches. The
                              candidate's own config has its microbatches in this order. Default: 0,
                              which keeps the config's order */
    uint32_t runtimes;     /* runtimes to check, as bits 1 << enum ppsched_runtime. `runs_on` of a
                              candidate says which of these runtimes run it. Default: none */
    int32_t runtime;       /* enum ppsched_runtime. Candidates that this runtime cannot run are
                              refused, and splits follow its rules. Default: none */
    uint32_t offload;      /* 1: the plan lists some candidates twice, once without offload and once
                              with offload. The candidate with offload is called the second
                              candidate here. Default: 0.
                              - Each strategy that is a rule and has no offload itself has second
                              candidates. Under a memory limit and without layers, auto also has
                              second candidates. The search of auto then chooses the order and the
                              offload together.
                              - Under a memory limit, the second candidate offloads only as much as
                              it must to fit. Without a limit, it offloads everything
                              (ppsched_schedule_offload). A second candidate that offloads nothing
                              is refused. One reason to offload nothing is that the schedule fits
                              without offload.
                              - The config must have host_bandwidth or, if there are no layers,
                              offload_times.
                              - With layers, the search for splits also counts the offload
                              transfers. If the strategy has groups, only the group sizes D and
                              (D+1)/2 have second candidates or, if `group_sizes` is set, all
                              sizes in that list.
                              - With `lower`, offload is added before the lowering.
                              - With scenarios, ppsched_plan_create returns ARGUMENT */
    uint32_t free_device_order; /* 1, only with layers: the plan also searches for an order of the
                                   devices. If there are few different orders, the plan tries all of
                                   them, otherwise some of them. See ppsched_plan_get_device_order.
                                   In lists by device or link, and in device_factors and
                                   link_factors of scenarios, devices have the numbers of the
                                   config, not of the order found. Bounds hold for all orders of the
                                   devices. Default: 0 */
    uint32_t top;               /* number of best candidates to find. Default: all.
                                   - The plan leaves out candidates whose bounds show that they
                                   cannot be among the best. A candidate that is left out is not
                                   evaluated, and does not count as refused. It is ranked after
                                   all other candidates.
                                   - The best candidates and their ranks are the same as without
                                   `top`, with one exception: candidates may change places if
                                   their times or their memory differ by less than a share of
                                   2^-40.
                                   - All candidates are evaluated in three cases: with layers, with
                                   `order_effort`, and if candidates are ranked by scenarios */
    uint32_t reserved[7];       /* 0 */
} ppsched_plan_options;

/* A candidate. Set `size` to sizeof of this struct. Texts are borrowed from the plan. */
typedef struct ppsched_candidate {
    uint32_t size;
    ppsched_status status; /* OK, or REFUSED if the candidate does not support the problem (`reason`
                              says why) */
    const char *strategy;  /* name of the strategy */
    const char *reason;    /* why the candidate is refused; NULL if it is not */
    uint32_t chunks; /* V, stages per device; 0 if the number of stages is not a multiple of the
                        number of devices */
    uint32_t stages; /* number of stages, S */
    uint32_t microbatches; /* number of microbatches, M */
    uint32_t group_size;   /* group size g; 0 if the strategy has no groups */
    int32_t placement;     /* enum ppsched_placement */
    uint32_t evaluated;    /* 1: the candidate is evaluated. If it is not evaluated, or is refused,
                              then `fits`, `step_time` and all members after `step_time` are 0,
                              except `slices` and `offloaded`. `limit_device` and `peak_device` are
                              then PPSCHED_NONE. But if the plan has left out the candidate (see
                              `top`), `bound` is set */
    uint32_t fits;         /* 1: the candidate is evaluated, and every device is within its limit */
    uint32_t limit_device; /* the first device over its limit, or PPSCHED_NONE */
    uint32_t peak_device;  /* the device with the largest peak memory */
    uint32_t rank;         /* 0 for the best candidate; PPSCHED_NONE until the plan has run */
    double memory_limit;   /* limit of all devices; NaN if their limits differ, infinite if there is
                              no limit */
    double step_time;      /* the objective (makespan or span), divided by the number of
                              iterations */
    double makespan;       /* makespan of all iterations */
    double span;           /* span as in ppsched_metrics */
    double bubble_of_total; /* bubble_of_total as in ppsched_metrics */
    double bubble_of_ideal; /* bubble_of_ideal as in ppsched_metrics */
    double bubble_of_span;  /* bubble_of_span as in ppsched_metrics */
    double peak_memory;     /* peak memory of `peak_device` */
    double overshoot; /* the largest amount of memory by which a device exceeds its limit; 0 if the
                         candidate fits */
    double bound;     /* lower bound on `step_time`: no schedule that has this placement and stays
                         within the memory limit has a shorter step time
                         (ppsched_config_find_bound). For a strategy that does not flush, the bound
                         holds for schedules that do not flush. With offload, the bound ignores the
                         limit. With layers, the bound holds for all splits, and also ignores the
                         limit. The step time of a candidate over its limit may be below the bound.
                         With scenarios, the bound is on the planned time, not on `scenario_time` */
    double bytes;     /* bytes sent between devices in an iteration */
    uint64_t transfers;   /* number of transfers between devices in an iteration */
    uint32_t runs_on;     /* which of the plan's `runtimes` run this candidate, as bits 1 << enum
                             ppsched_runtime */
    uint32_t proved;      /* 1: the candidate fits, and is proved to be the best in one of two ways:
                             - It reaches its bound, so no schedule of this placement is shorter.
                             - The plan has layers and no lowering, and no other split or
                             recomputation gives a shorter step with the same strategy and
                             options.
                             Always 0 with scenarios, and for ordered microbatches with the
                             bidirectional placement */
    uint32_t slices;      /* number of slices of a microbatch; 1: whole microbatches */
    uint32_t ordered;     /* 1: the candidate's microbatches have another order than in the config
                             (see `order_effort`) */
    double scenario_time; /* mean, quantile or longest of the step times in the scenarios, as
                             `rank_by` says. With STEP, `scenario_time` is the mean. 0 without
                             scenarios */
    uint64_t offloads;    /* number of activations copied to the host and back in an iteration */
    uint32_t offloaded;   /* 1: this candidate was listed a second time, with offload (see `offload`
                             of the options) */
    uint32_t min_group_size; /* with layers: the value of the strategy's option min_group_size with
                                which the split was found. 0: the option is not set, and the
                                strategy computes a value from the costs */
    double imbalance; /* the part of bubble_of_total that exists because other devices have less
                         work than the most loaded device. The rest of bubble_of_total is the share
                         of the makespan in which the most loaded device is idle */
} ppsched_candidate;

/* --- making and running a plan --- */

/* Makes a plan and lists its candidates. No schedule is generated yet. `options` may be NULL. If
 * the config has a placement map or a stage graph, all candidates have the config's stages, and
 * `chunks` must not be given. `strategies` then has another default:
 *   - With a placement map, the default is only auto. A strategy that needs another placement is
 *     refused.
 *   - With a stage graph, the default is auto, and each of 1f1b, vocab_1f1b and interlaced that
 *     supports the graph.
 * Errors: ARGUMENT, STRUCT_SIZE, RANGE, UNKNOWN_STRATEGY, NO_MEMORY; REFUSED where senders wait
 *   (ppsched_config_set_sender_waits) and scenarios have dispatch READY. */
PPSCHED_API ppsched_status ppsched_plan_create(ppsched_plan **out, const ppsched_config *config,
                                               const ppsched_plan_options *options,
                                               ppsched_error *error);

/* Frees a plan. NULL is accepted. */
PPSCHED_API void ppsched_plan_destroy(ppsched_plan *plan);

/* Generates, lowers and times one candidate. A candidate that is already evaluated is not evaluated
 * again. If the candidate is refused, the call returns OK, and the candidate has the reason.
 * Errors: ARGUMENT; RANGE, also for a candidate past the last; NO_MEMORY, after which the call may
 *   be repeated. */
PPSCHED_API ppsched_status ppsched_plan_evaluate(ppsched_plan *plan, uint32_t candidate,
                                                 ppsched_error *error);

/* Evaluates all candidates that are not evaluated yet, and ranks them:
 *   - first the candidates that fit, by step time (or by `rank_by`), then by peak memory;
 *   - then the candidates over their limits, by overshoot, then by step time and peak memory;
 *   - then the candidates that are refused.
 * Candidates that tie are ranked in the order of their numbers. Figures are rounded to 40 bits
 * before they are compared, so that two sums of the same values in different orders count as equal.
 * The config's progress callback receives the share of all work that is done, and the best step
 * time.
 * Errors: as ppsched_plan_evaluate; CANCELLED. After an error the order of the candidates does not
 *   change, evaluated candidates are kept, and the plan may be run again. */
PPSCHED_API ppsched_status ppsched_plan_run(ppsched_plan *plan, ppsched_error *error);

/* --- reading a plan --- */

/* Number of candidates. */
PPSCHED_API uint32_t ppsched_plan_count(const ppsched_plan *plan);

/* The number of the candidate with a rank; rank 0 is the best. The result is PPSCHED_NONE if the
 * rank is past the last, or if the plan has not run yet. */
PPSCHED_API uint32_t ppsched_plan_candidate_at_rank(const ppsched_plan *plan, uint32_t rank);

/* Describes a candidate. Its figures are filled in if it is evaluated.
 * Errors: ARGUMENT; RANGE for a candidate past the last; STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_plan_get_candidate(ppsched_candidate *out,
                                                      const ppsched_plan *plan, uint32_t candidate,
                                                      ppsched_error *error);

/* The split of a candidate. The first function returns the number of layers of each stage. The
 * second function returns a number for each layer: 0 for no recomputation, or the number of its
 * kind of recomputation, counted from 1. Both functions fill buffers: see ppsched.h.
 * Errors: ARGUMENT, also if the plan has no layers; RANGE for a candidate past the last; REFUSED if
 *   the candidate is not evaluated or is refused; BUFFER. */
PPSCHED_API ppsched_status ppsched_plan_get_split(uint32_t *out, size_t capacity, size_t *needed,
                                                  const ppsched_plan *plan, uint32_t candidate,
                                                  ppsched_error *error);
PPSCHED_API ppsched_status ppsched_plan_get_recomputes(uint8_t *out, size_t capacity,
                                                       size_t *needed, const ppsched_plan *plan,
                                                       uint32_t candidate, ppsched_error *error);

/* The order of microbatches of an ordered candidate: for each microbatch of its schedule, the
 * number of that microbatch in the config. Fills a buffer: see ppsched.h.
 * Errors: ARGUMENT; RANGE for a candidate past the last; REFUSED if the candidate is not evaluated,
 *   is refused, or is not ordered; BUFFER. */
PPSCHED_API ppsched_status ppsched_plan_get_microbatch_order(uint32_t *out, size_t capacity,
                                                             size_t *needed,
                                                             const ppsched_plan *plan,
                                                             uint32_t candidate,
                                                             ppsched_error *error);

/* With `free_device_order`: for each place in the pipeline, the number that the plan's config gives
 * to the device in this place. In the candidate's own config and in all figures of the candidate,
 * each device has the number of its place. Fills a buffer: see ppsched.h.
 * Errors: ARGUMENT; RANGE for a candidate past the last; REFUSED if the candidate is not evaluated
 *   or is refused, or if no order was searched; BUFFER. */
PPSCHED_API ppsched_status ppsched_plan_get_device_order(uint32_t *out, size_t capacity,
                                                         size_t *needed, const ppsched_plan *plan,
                                                         uint32_t candidate, ppsched_error *error);

/* Makes the candidate's own config, with its stages, microbatches, memory limit and strategy
 * options. If the placement is V or bidirectional, the config has this placement, too, so that a
 * builder places the stages as the candidate's schedule does. The caller destroys the config.
 * Errors: ARGUMENT; RANGE, also for a candidate past the last; REFUSED if the config's stages
 *   cannot be converted to the candidate's stages; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_plan_create_config(ppsched_config **out,
                                                      const ppsched_plan *plan, uint32_t candidate,
                                                      ppsched_error *error);

/* Makes the candidate's schedule again, and times it as the plan did. The timeline has the schedule
 * (ppsched_timeline_schedule) and, for each device, its figures, its idle causes, and the place of
 * its peak memory. The caller destroys the timeline.
 * Errors: as ppsched_plan_evaluate; REFUSED; INVALID_SCHEDULE if the lowered schedule deadlocks in
 *   the channel model. */
PPSCHED_API ppsched_status ppsched_plan_create_timeline(ppsched_timeline **out,
                                                        const ppsched_plan *plan,
                                                        uint32_t candidate, ppsched_error *error);

/* Finds the least memory limit under which at least one candidate fits. `*out` receives this limit,
 * and `*candidate` the number of this candidate. The limit is the same for all devices. `candidate`
 * may be NULL. The call is for plans in which no candidate fits.
 *   - If several candidates need the same limit, `*candidate` is the candidate with the best rank.
 *   - If the strategy of a candidate is a search, or a rule with offload, the call evaluates the
 *     candidate again under other limits. But the call does not try candidates with offload whose
 *     strategy is a search.
 *   - With layers, splits and recomputation depend on the limit. So the call tries only a few
 *     candidates: the rules that need the least memory, and the searches with the best ranks. For
 *     this reason, a candidate may also fit under a limit below the result.
 * Errors: ARGUMENT; REFUSED if no limit works; RANGE, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_plan_find_least_limit(double *out, uint32_t *candidate,
                                                         const ppsched_plan *plan,
                                                         ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
