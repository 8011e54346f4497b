/* SPDX-License-Identifier: Apache-2.0 */
/* A plan's question and one candidate for its answer: the candidate's own problem, its timeline, the runtimes that run it and
 * its lower bound. */
#ifndef PPSCHED_CANDIDATE_CANDIDATE_H
#define PPSCHED_CANDIDATE_CANDIDATE_H

#include <ppsched/lower.h>
#include <ppsched/plan.h>

#include "candidate/restage.h"
#include "launch/launch.h"
#include "split/recompute_options.h"
#include "strategy/strategy.h"

/* What a candidate is, and once it is evaluated what it costs. */
struct ppi_candidate {
    const struct ppi_strategy *strategy;
    uint32_t stages, microbatches, group_size; /* group_size 0: none */
    uint32_t min_group_size;                   /* 0: what follows from costs */
    uint32_t slices;
    int32_t placement;   /* DEFAULT: the strategy's own */
    double memory_limit; /* for all devices; negative: the config's */
    bool evaluated;
    char *reason;  /* why it is refused; NULL where it is not */
    uint32_t rank; /* PPSCHED_NONE until the plan is ranked */
    ppsched_metrics metrics;
    double bound, overshoot, bytes, imbalance;
    uint64_t transfers;
    double scenario_time;       /* of a step; 0: there are no scenarios */
    uint32_t *microbatch_order; /* the config's microbatch of each slot; NULL: as they are */
    uint32_t *layers;           /* of each stage, with layers, once it is evaluated; else NULL */
    uint8_t *recomputes;
    bool proved;
    bool tried_all;                   /* splits for its order, as far as they are told apart by what a microbatch takes */
    struct ppi_same_kind same;        /* how it recomputes, where all stages do alike */
    const struct ppi_candidate *like; /* whose split the search for its own begins with; or NULL */
    bool only_near;                   /* and goes down from there alone */
    bool is_chosen;                   /* for a longer search for its split, which is still to come */
    uint32_t runs_on;                 /* bits of runtimes */
    bool offloads;                    /* its activations go to the host */
    uint64_t copies;                  /* so many of an iteration */
};

struct ppsched_plan {
    struct ppi_host host;
    ppsched_config *config;
    int32_t objective;
    ppsched_lower_options lower;
    uint32_t effort;
    ppsched_channel_model channel;
    ppsched_model_end embedding, head;
    struct ppi_slicing slicing;
    uint32_t order_effort;              /* 0: microbatches stay in order */
    ppsched_scenario_options scenarios; /* whose lists are these */
    double *device_factors, *link_factors;
    uint32_t scenario_count;
    int32_t rank_by;
    double quantile;
    const ppsched_layers *layers;      /* NULL where stages are given */
    uint32_t runtimes;                 /* that are asked, bits */
    const struct ppi_runtime *runtime; /* that must run it, or NULL */
    bool may_be_empty;
    uint32_t split_effort;  /* 1 to PPI_MOST_SPLIT_EFFORT */
    uint64_t most_visited;  /* by the search for a candidate's split */
    uint64_t small_visited; /* at least, where all splits are tried as they are very few */
    uint64_t last_visited;  /* the same for those whose strategy comes last */
    uint32_t rounds;        /* for which those that are searched for longer are chosen */
    struct ppi_candidate *candidates;
    size_t count, capacity;
    uint32_t *order; /* numbers of the candidates, best first; NULL until it is ranked */
};

/* Whether two candidates differ in the sizes of groups alone, so that what suits one is near what suits the other. */
static inline bool ppi_candidates_are_alike(const struct ppi_candidate *a, const struct ppi_candidate *b)
{
    return a->strategy == b->strategy && a->stages == b->stages && a->microbatches == b->microbatches &&
           a->slices == b->slices && a->placement == b->placement && a->offloads == b->offloads &&
           !(a->memory_limit < b->memory_limit) && !(a->memory_limit > b->memory_limit);
}

/* The size of a microbatch of a candidate's config, or of a slice of one, as a share of the plan's. */
double ppi_candidate_size(const ppsched_plan *plan, const ppsched_config *config);

/* Its own problem. */
ppsched_status ppi_candidate_config(ppsched_config **out, const ppsched_plan *plan, const struct ppi_candidate *candidate,
                                    ppsched_error *error);

/* Iterations that flush are alike: unless it is lowered, a candidate whose iterations do is evaluated as one of them, where
 * they have many ops. */
void ppi_candidate_take_one(const ppsched_plan *plan, const struct ppi_candidate *candidate, ppsched_config *config);

/* The metrics of all iterations, from a timeline for that config. */
ppsched_metrics ppi_candidate_metrics(const ppsched_timeline *timeline, const ppsched_config *config);

/* Its schedule, timed for `config`; flags as for ppsched_schedule_evaluate. Unless `order` is NULL it gets the schedule as it
 * was before it was lowered, for the caller to release. */
ppsched_status ppi_candidate_timeline(ppsched_timeline **out, const ppsched_schedule **order, const ppsched_plan *plan,
                                      const struct ppi_candidate *candidate, const ppsched_config *config, uint32_t flags,
                                      ppsched_error *error);

/* Which of the runtimes that are asked run its order, with its split. REFUSED where the one that must cannot. */
ppsched_status ppi_candidate_ask_runtimes(const ppsched_plan *plan, struct ppi_candidate *candidate,
                                          const ppsched_schedule *order, ppsched_error *error);

/* With layers: whether the runtime that must runs the order, before there is a good split: REFUSED where it does neither with
 * that at hand nor with stages that have no layers told. */
ppsched_status ppi_candidate_ask_order(const ppsched_plan *plan, const struct ppi_candidate *candidate,
                                       const ppsched_schedule *order, ppsched_error *error);

/* The lower bounds that were found last, for candidates that differ in their strategies and groups alone. Starts zeroed: no
 * problem has 0 stages. */
enum { PPI_KNOWN_BOUNDS = 8 };

struct ppi_known_bound {
    int32_t placement;
    uint32_t unflushed, stages, microbatches, slices; /* unflushed: see bound/bound.h */
    double memory_limit, value;
};

struct ppi_known_bounds {
    uint32_t count; /* that were found */
    struct ppi_known_bound bound[PPI_KNOWN_BOUNDS];
};

/* What no candidate of its placement can do better, by its own config and schedule; with layers, whatever their split is. */
ppsched_status ppi_candidate_bound(double *out, struct ppi_known_bounds *known, const ppsched_plan *plan,
                                   const struct ppi_candidate *candidate, const ppsched_schedule *schedule,
                                   const ppsched_config *config, ppsched_error *error);

/* Fills in that bound, and what it proves of the candidate, whose other figures are there. */
void ppi_candidate_take_bound(struct ppi_candidate *candidate, const ppsched_plan *plan, const ppsched_schedule *schedule,
                              double bound);

static inline bool ppi_candidate_runs(const struct ppi_candidate *candidate)
{
    return candidate->evaluated && candidate->reason == NULL;
}

static inline bool ppi_candidate_fits(const struct ppi_candidate *candidate)
{
    return ppi_candidate_runs(candidate) && candidate->metrics.limit_device == PPSCHED_NONE;
}

/* Time of a step: of one iteration, by the plan's objective. */
double ppi_candidate_step(const ppsched_plan *plan, const struct ppi_candidate *candidate);

/* Copies to the host in all iterations. */
uint64_t ppi_count_offloads(const ppsched_schedule *schedule);

/* The most that a device lacks under its limit. */
double ppi_overshoot_of(const ppsched_timeline *timeline);

#endif
