/* SPDX-License-Identifier: Apache-2.0 */
/* Which schedule: all that strategies, chunks, groups, microbatches and memory limits allow,
 * evaluated and ranked.
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
 * options; ppsched_plan_run alone calls the config's progress callback.
 * Lifetime: the caller destroys it.
 * Thread-safety: ppsched_plan_evaluate may be called by several threads at once for different
 *   candidates. Apart from that one thread at a time while it is evaluated or run; any number of
 *   threads may read it. */
typedef struct ppsched_plan ppsched_plan;

/* The model by its layers: each candidate gets the split that suits it. Sized: set `size`; zero
 * means the default.
 *   - `chunks` of the plan is then by default all from 1 to the layers a device, up to 16, and up
 *     to 64 those between the ends divided by 1, 2, 3 and so on; on one device 1 where no
 *     strategies are named.
 *   - What the config says of stages is not read, nor are embedding and head.
 *   - With a lowering splits are found as if there were none. */
typedef struct ppsched_split_options {
    uint32_t size;
    uint32_t effort;              /* 1 to 4: how long splits are searched for, each up to eight
                                     times as long as the one before. Default: 3 */
    const ppsched_layers *layers; /* needed */
    uint32_t empty_stages;        /* 1: stages but the first and the last may be without layers;
                                     with a runtime they may where that takes it */
    uint32_t reserved;            /* 0 */
} ppsched_split_options;

/* Microbatches that are cut. Cut into K slices, an op of slice k (from 0) of what takes t with
 * whole microbatches takes
 *   (t / K + slice_time) * (1 - attention_share + attention_share * (2k + 1) / K),
 * as causal attention sees (2k + 1) / K of what it does in the middle of the sequence; W without
 * slice_time. Memory and bytes are the K-th part. The config's own slices stay as they are.
 * Sized. */
typedef struct ppsched_slice_options {
    uint32_t size;
    uint32_t slice_count;   /* 0 with NULL */
    const uint32_t *slices; /* K. Those above 1 are for a config of whole microbatches and, by
                               default, strategies that know slices. Default: the config's */
    double slice_time;      /* what F, B and I of a slice take longer than their share: kernels are
                               slower on short sequences */
    double attention_share; /* of times, 0 to 1 */
} ppsched_slice_options;

/* When times vary: makespans of candidates as ordered by their strategies, without lowering, over
 * the iterations. Stage factors are not taken, as stages differ by candidate. Sized. */
typedef struct ppsched_ranking_options {
    uint32_t size;
    uint32_t scenario_count; /* 1 or more; 0 with rank_by STEP and no scenario_options: none */
    int32_t rank_by;         /* enum ppsched_rank_by; all but STEP need scenarios */
    uint32_t reserved;       /* 0 */
    double quantile;         /* of PPSCHED_RANK_BY_QUANTILE, above 0 to 1. Default: 0.9 */
    const ppsched_scenario_options *scenario_options; /* NULL: no factors */
} ppsched_ranking_options;

/* What may vary. Sized: set `size`; zero means the default. Lists and what pointers lead to are
 * read during the call only. */
typedef struct ppsched_plan_options {
    uint32_t size;
    int32_t objective;             /* enum ppsched_objective: the time of a step. Default:
                                      makespan */
    const char *const *strategies; /* names or aliases. Default: all whose iterations flush, but
                                      those that search long (see ppsched_strategy_info) only with
                                      an `effort` */
    const uint32_t *chunks;        /* V, stages a device. Default: 1 to 4 */
    const uint32_t *group_sizes;  /* g of the interleaved ones. Default: D, and of those from 1 to M
                                      that can be run all where M is 64 at most, or M M S 1000000
                                      (S: the config's stages). Of more some: 1; (D+1)/2 to 2D, each
                                      ceil(D/16) above the one before at most; and up to M, after
                                      each g, the next above 5 g / 4 that parts M into fewer groups
                                      than any smaller size (but ceil(4 g / 3) where that is above
                                      3 g / 2 and g 32 at least). With layers, where M is above 64
                                      or V above 16, of these those that divide M, and where M V D
                                      is 5000 at most those from D to 2D; group_interleaved_1f1b has
                                      none above D, and (D+1)/2 always; pipeoffload has D, (D+1)/2
                                      and 1 alone */
    const uint32_t *microbatches; /* M at the same batch. Default: the config's */
    const double *memory_limits;  /* each for all devices. Default: the config's */
    const ppsched_lower_options *lower;     /* candidates are lowered so, and timed with their
                                             transfers; its `lowering` is not NONE. Default: they
                                             are not */
    const ppsched_channel_model *channel;   /* how transfers wait then. Default: for their links
                                             alone */
    const ppsched_model_end *embedding;     /* see ppsched_config_with_stages. Default: nothing */
    const ppsched_model_end *head;          /* see ppsched_config_with_stages. Default: nothing */
    const ppsched_split_options *split;     /* Default: the config's stages */
    const ppsched_slice_options *slice;     /* Default: the config's slices */
    const ppsched_ranking_options *ranking; /* Default: by the time as planned */
    uint32_t strategy_count;                /* of each list; 0 with NULL */
    uint32_t chunk_count;
    uint32_t group_size_count;
    uint32_t microbatch_count;
    uint32_t memory_limit_count;
    uint32_t placements;   /* those that the model allows, bits 1 << enum ppsched_placement.
                              Default: all */
    uint32_t effort;       /* of auto, 1 to 12. Default: its own, where it is named */
    uint32_t order_effort; /* 1 to 10: each candidate's microbatches are ordered as by
                              ppsched_schedule_order_microbatches, where they differ, and are in
                              that order in its config. Default: as they are */
    uint32_t runtimes;     /* which are asked whether they run a candidate, bits 1 << enum
                              ppsched_runtime. Default: none */
    int32_t runtime;       /* enum ppsched_runtime: candidates that it cannot run are refused, and
                              splits follow its rules. Default: none */
    uint32_t offload;      /* 1: each candidate of a rule a second time, with activations that go
                              to the host: as few as hold its limit, all where it has none, as by
                              ppsched_schedule_offload; refused where it needs none. Not together
                              with a lowering or scenarios. With layers splits are looked for that
                              suit the copies, which need host_bandwidth, for groups of D and
                              (D+1)/2 or those that are named. Default: 0 */
    uint32_t top;         /* how many of the best are wanted: what bounds rule out of these ranks is
                              left out, neither evaluated nor refused, and ranks after all others.
                              The wanted ranks are as without it, but for times and memory that
                              differ by less than 2^-40 of them. Everything is evaluated where
                              the plan has layers, an `order_effort`, or ranks by scenarios.
                              Default: all */
    uint32_t reserved[8]; /* 0 */
} ppsched_plan_options;

/* A candidate. Sized. Texts are borrowed from the plan. */
typedef struct ppsched_candidate {
    uint32_t size;
    ppsched_status status; /* OK, or REFUSED: it cannot serve the problem, see `reason` */
    const char *strategy;
    const char *reason; /* why it is refused; NULL where it is not */
    uint32_t chunks;    /* V; 0 where stages are no multiple of devices */
    uint32_t stages;
    uint32_t microbatches;
    uint32_t group_size;   /* 0 where the strategy has none */
    int32_t placement;     /* enum ppsched_placement */
    uint32_t evaluated;    /* 1: it has been. Until then, and where it is refused, `fits` and
                              the numbers from `step_time` to `transfers` are 0, but for the `bound`
                              of what a plan has left out, and both devices PPSCHED_NONE */
    uint32_t fits;         /* 1: evaluated, and within its limit on every device */
    uint32_t limit_device; /* the first device over its limit, or PPSCHED_NONE */
    uint32_t peak_device;
    uint32_t rank;       /* 0 the best; PPSCHED_NONE until the plan has run */
    double memory_limit; /* that of all devices; NaN where they differ, infinite where there is
                            none */
    double step_time;    /* makespan or span, by the objective, of one iteration */
    double makespan;     /* of all iterations */
    double span;
    double bubble_of_total;
    double bubble_of_ideal;
    double bubble_of_span;
    double peak_memory; /* of `peak_device` */
    double overshoot;   /* the largest that a device is over its limit; 0 where none is */
    double bound;       /* of `step_time`: what none of this placement within its limit can do
                            better (ppsched_config_find_bound), nor without a flush where the
                            strategy has none; a candidate that is over its limit may be below it.
                            With layers: what no split of them can do better, whose fullest device
                            has whole ones. Of planned times, also with scenarios */
    double bytes;       /* that go from device to device in an iteration */
    uint64_t transfers; /* likewise */
    uint32_t runs_on;   /* the runtimes that run it, of those that were asked: bits 1 << enum
                           ppsched_runtime */
    uint32_t proved;    /* 1: it fits, and reaches its bound, so that no schedule of this placement
                           is shorter; or with layers, without a lowering, no other split of them,
                           and no other recomputation, is shorter with this strategy and these
                           options. 0 with scenarios, of which planned times prove nothing, and
                           where it is ordered on two copies of the model */
    uint32_t slices;    /* of a microbatch; 1: whole */
    uint32_t ordered;   /* 1: its microbatches are in an order of their own */
    double
        scenario_time;  /* of a step, by `rank_by` over the scenarios, the mean where that is STEP;
                             0 without scenarios */
    uint64_t offloads;  /* of an iteration: activations that go to the host and come back */
    uint32_t offloaded; /* 1: it is one whose activations do */
    uint32_t min_group_size; /* with layers, the option of that name that its split was found
                                 with; 0: not set, as it follows from the costs */
    double
        imbalance; /* of bubble_of_total, what devices have less to do than the one that has most:
                         the rest is idle time of that one too */
} ppsched_candidate;

/* --- making and running it --- */

/* Lists the candidates; nothing is generated yet. `options` may be NULL.
 * A config with a placement map has candidates of its own stages alone: auto, or the strategies
 * that are named, which refuse where they have a placement of their own; `chunks` do not go with
 * it.
 * Errors: ARGUMENT, STRUCT_SIZE, RANGE, UNKNOWN_STRATEGY, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_plan_create(ppsched_plan **out, const ppsched_config *config,
                                               const ppsched_plan_options *options,
                                               ppsched_error *error);

/* Frees it. NULL is accepted. */
PPSCHED_API void ppsched_plan_destroy(ppsched_plan *plan);

/* Generates, lowers and times one candidate, unless it is evaluated already; a refusal is kept with
 * it, and is no error.
 * Errors: ARGUMENT; RANGE, also past the last; NO_MEMORY, after which it may be tried again. */
PPSCHED_API ppsched_status ppsched_plan_evaluate(ppsched_plan *plan, uint32_t candidate,
                                                 ppsched_error *error);

/* Evaluates all that are not yet, and ranks them:
 *   - those that fit, by step time (or as `rank_by` says), then by peak memory;
 *   - then those over their limits, the one that lacks least first, equal ones likewise;
 *   - then the refused; ties stay in order.
 * What is compared is rounded to 40 bits, so that sums of the same numbers in another order are
 * equal. The config's progress callback is told the share of all work and the best step time.
 * Errors: those of ppsched_plan_evaluate; CANCELLED. Then ranks stay as they are, what has been
 *   evaluated is kept, and the plan may be run again. */
PPSCHED_API ppsched_status ppsched_plan_run(ppsched_plan *plan, ppsched_error *error);

/* --- reading it --- */

/* Number of candidates. */
PPSCHED_API uint32_t ppsched_plan_count(const ppsched_plan *plan);

/* The candidate that has a rank, 0 the best: its number. PPSCHED_NONE past the last rank, and until
 * the plan has run. */
PPSCHED_API uint32_t ppsched_plan_candidate_at_rank(const ppsched_plan *plan, uint32_t rank);

/* What a candidate is, and once it is evaluated what it costs.
 * Errors: ARGUMENT, RANGE past the last, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_plan_get_candidate(ppsched_candidate *out,
                                                      const ppsched_plan *plan, uint32_t candidate,
                                                      ppsched_error *error);

/* The split of the layers that a candidate has: how many are in each of its stages, and of each
 * layer 0 or the number from 1 of its kind of recomputation. They fill buffers: see ppsched.h.
 * Errors: ARGUMENT, also where the plan has no layers; RANGE past the last, REFUSED where it is not
 *   evaluated or is refused; BUFFER. */
PPSCHED_API ppsched_status ppsched_plan_get_split(uint32_t *out, size_t capacity, size_t *needed,
                                                  const ppsched_plan *plan, uint32_t candidate,
                                                  ppsched_error *error);
PPSCHED_API ppsched_status ppsched_plan_get_recomputes(uint8_t *out, size_t capacity,
                                                       size_t *needed, const ppsched_plan *plan,
                                                       uint32_t candidate, ppsched_error *error);

/* Which of the config's microbatches goes through each slot of an ordered candidate: as many as it
 * has microbatches. It fills a buffer: see ppsched.h.
 * Errors: ARGUMENT; RANGE past the last; REFUSED where it is not evaluated, is refused, or is not
 *   ordered; BUFFER. */
PPSCHED_API ppsched_status ppsched_plan_get_microbatch_order(uint32_t *out, size_t capacity,
                                                             size_t *needed,
                                                             const ppsched_plan *plan,
                                                             uint32_t candidate,
                                                             ppsched_error *error);

/* The candidate's own problem: stages, microbatches, limit and the strategy's options; and the
 * placement where that is a v or bidirectional, so that a builder puts stages as the schedule has.
 * Errors: ARGUMENT; RANGE, also past the last; REFUSED where its stages cannot be made of the
 *   config's; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_plan_create_config(ppsched_config **out,
                                                      const ppsched_plan *plan, uint32_t candidate,
                                                      ppsched_error *error);

/* Makes the candidate's schedule again, and times it as the plan did, with all figures that there
 * are: those of each device, why it is idle, where its peak memory stands, and the schedule itself
 * (ppsched_timeline_schedule).
 * Errors: as ppsched_plan_evaluate; REFUSED, or INVALID_SCHEDULE where its lowered order hangs in
 *   the channel model. */
PPSCHED_API ppsched_status ppsched_plan_create_timeline(ppsched_timeline **out,
                                                        const ppsched_plan *plan,
                                                        uint32_t candidate, ppsched_error *error);

/* Where no candidate fits: the least memory limit, one for all devices, under which one does, and
 * which (`candidate` may be NULL). Strategies that plan within a limit are tried with others. Of
 * several it is the one of the best rank. With layers, whose splits and recomputation follow from
 * the limit, those few are tried that need least, or rank best.
 * Errors: ARGUMENT; REFUSED where there is none at all; RANGE, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_plan_find_least_limit(double *out, uint32_t *candidate,
                                                         const ppsched_plan *plan,
                                                         ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
