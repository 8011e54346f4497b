/* SPDX-License-Identifier: Apache-2.0 */
/* The candidates of a plan: listed, evaluated one by one, ranked. */
#ifndef PPSCHED_PLAN_PLAN_H
#define PPSCHED_PLAN_PLAN_H

#include <ppsched/lower.h>
#include <ppsched/plan.h>

#include "launch/launch.h"
#include "candidate/restage.h"
#include "split/recompute_options.h"
#include "strategy/strategy.h"

/* Nodes that the search for a candidate's split may visit at least. */
#define PPI_LEAST_VISITS 200000u
#define PPI_MOST_VISITS 125000000u

/* Each effort takes eight times as long as the one before. */
enum { PPI_USUAL_SPLIT_EFFORT = 3, PPI_MOST_SPLIT_EFFORT = 4, PPI_SPLIT_EFFORT_BITS = 3 };

/* How a plan's candidates are lowered. */
static inline ppsched_lower_options ppi_lower_options_of(const ppsched_plan_options *options)
{
    return (ppsched_lower_options){.size = sizeof(ppsched_lower_options),
                                   .lowering = options->lowering,
                                   .unshard = options->unshard,
                                   .unshard_lookahead = options->unshard_lookahead,
                                   .reduce_grad = options->reduce_grad,
                                   .receive_lead = options->receive_lead};
}

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
    double bound, excess, bytes, imbalance;
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

/* So many visits at the usual effort are as many at the plan's. */
static inline uint64_t ppi_plan_visits(const ppsched_plan *plan, uint64_t usual)
{
    return plan->split_effort > PPI_USUAL_SPLIT_EFFORT
               ? usual << PPI_SPLIT_EFFORT_BITS * (plan->split_effort - PPI_USUAL_SPLIT_EFFORT)
               : usual >> PPI_SPLIT_EFFORT_BITS * (PPI_USUAL_SPLIT_EFFORT - plan->split_effort);
}

/* Whether two candidates differ in the sizes of groups alone, so that what suits one is near what suits the other. */
static inline bool ppi_candidates_are_alike(const struct ppi_candidate *a, const struct ppi_candidate *b)
{
    return a->strategy == b->strategy && a->stages == b->stages && a->microbatches == b->microbatches &&
           a->slices == b->slices && a->placement == b->placement && a->offloads == b->offloads &&
           !(a->memory_limit < b->memory_limit) && !(a->memory_limit > b->memory_limit);
}

/* --- listing --- */

/* Fills in `candidates`; options must be checked. */
ppsched_status ppi_list_candidates(ppsched_plan *plan, const ppsched_plan_options *options, ppsched_error *error);

/* --- one candidate --- */

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

/* Finds the order of its microbatches, where the plan wants one and they differ, unless it has one. */
ppsched_status ppi_candidate_order(const ppsched_plan *plan, struct ppi_candidate *candidate,
                                   ppsched_progress_function progress, void *user, ppsched_error *error);

/* Of a candidate's work what the order is. */
#define PPI_ORDER_SHARE 0.5

/* Forgets it. */
void ppi_candidate_drop_order(const ppsched_plan *plan, struct ppi_candidate *candidate);

/* What its step takes over the plan's scenarios, if there are any. `config` and the schedule are its own. */
ppsched_status ppi_candidate_take_scenarios(const ppsched_plan *plan, struct ppi_candidate *candidate,
                                            const ppsched_schedule *schedule, const ppsched_config *config,
                                            ppsched_error *error);

/* What it is ranked by. */
double ppi_candidate_rank_time(const ppsched_plan *plan, const struct ppi_candidate *candidate);

/* With layers: finds the split that suits it, unless it has one. */
ppsched_status ppi_candidate_split(const ppsched_plan *plan, struct ppi_candidate *candidate,
                                   ppsched_progress_function progress, void *user, ppsched_error *error);

/* The same rule's schedule of fewer microbatches, on which splits can be searched for; NULL where that tells too little, or
 * would not be shorter by much. NO_MEMORY. */
ppsched_status ppi_candidate_shorten(ppsched_schedule **out, const struct ppi_candidate *candidate,
                                     const ppsched_config *config, const ppsched_schedule *schedule, ppsched_error *error);

/* The split that suits an order which was made for `config`, or of several searches the best; it begins with that which the
 * candidate is like, if any. */
ppsched_status ppi_candidate_suit(const ppsched_plan *plan, struct ppi_candidate *candidate, const ppsched_config *config,
                                  const ppsched_schedule *schedule, ppsched_error *error);

/* Whether the runtime that must run it divides its decoders evenly. */
bool ppi_candidate_is_even(const ppsched_plan *plan, const struct ppi_candidate *candidate);

/* As many decoders on each stage; embedding and head are beside them. REFUSED, with the runtime's title, where that leaves
 * some. */
ppsched_status ppi_divide_evenly(uint32_t *counts, const ppsched_layers *layers, uint32_t stages, const char *title,
                                 ppsched_error *error);

/* Of a candidate's work what the split is. */
#define PPI_SPLIT_SHARE 0.75

/* Forgets its split. */
void ppi_candidate_drop_split(const ppsched_plan *plan, struct ppi_candidate *candidate);

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

/* Fills in its figures; `progress`, which may be NULL, takes the place of the config's. A refusal goes to `reason`. `known`: of
 * the caller's thread, or NULL. */
ppsched_status ppi_candidate_evaluate(const ppsched_plan *plan, struct ppi_candidate *candidate, struct ppi_known_bounds *known,
                                      ppsched_progress_function progress, void *user, ppsched_error *error);

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

/* The most that a device lacks under its limit. */
double ppi_excess_of(const ppsched_timeline *timeline);

/* --- all --- */

/* The number of the candidate that comes `place`th: by rank, or as they are numbered where there are no ranks yet. */
static inline size_t ppi_candidate_at(const ppsched_plan *plan, size_t place)
{
    return plan->order != NULL ? plan->order[place] : place;
}

ppsched_status ppi_plan_make(ppsched_plan **out, const ppsched_config *config, const ppsched_plan_options *options,
                             ppsched_error *error);
void ppi_plan_destroy(ppsched_plan *plan);
ppsched_status ppi_plan_run(ppsched_plan *plan, ppsched_error *error);
ppsched_status ppi_plan_least_limit(double *out, uint32_t *index, const ppsched_plan *plan, ppsched_error *error);

#endif
