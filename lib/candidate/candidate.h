/* SPDX-License-Identifier: Apache-2.0 */
/* A plan and its candidates: the problem of a candidate, its timeline, the runtimes that run it, and its lower bound. */
#ifndef PPSCHED_CANDIDATE_CANDIDATE_H
#define PPSCHED_CANDIDATE_CANDIDATE_H

#include <ppsched/lower.h>
#include <ppsched/plan.h>

#include "candidate/restage.h"
#include "launch/launch.h"
#include "split/recompute_options.h"
#include "steady/steady.h"
#include "strategy/strategy.h"

/* A candidate and, once it is evaluated, its figures. */
struct ppi_candidate {
    const struct ppi_strategy *strategy;
    uint32_t stages, microbatches, group_size; /* group_size 0: none */
    uint32_t min_group_size;                   /* 0: follows from the costs */
    uint32_t slices;
    int32_t placement;   /* DEFAULT: that of the strategy */
    double memory_limit; /* of all devices; negative: those of the config */
    bool evaluated;
    char *reason;  /* why it is refused; NULL if it is not */
    uint32_t rank; /* PPSCHED_NONE until the plan is ranked */
    ppsched_metrics metrics;
    double bound, overshoot, bytes, imbalance;
    double order_bound; /* least bound of all orders of devices, each by itself; 0 where not all have one */
    uint64_t transfers;
    double scenario_time;       /* of a step; 0 without scenarios */
    uint32_t *microbatch_order; /* microbatch of the config at each place; NULL: unchanged */
    uint32_t *device_order;     /* the config's device at each place; NULL: unchanged */
    uint32_t *layers;           /* number of each stage, once evaluated; NULL without layers */
    uint8_t *recomputes;
    const ppsched_schedule *found; /* an order that has been made already, until it is timed; or NULL */
    ppsched_timeline *plain;       /* of `found`, which offload is added to; or NULL */
    bool proved;
    bool tried_all;                   /* all splits for its order that differ in times */
    struct ppi_same_kind same;        /* how it recomputes, if all stages recompute the same way */
    const struct ppi_candidate *like; /* the split search starts from its split; or NULL */
    bool only_near;                   /* and only goes down from there */
    bool is_chosen;                   /* for a longer split search that has not run yet */
    uint32_t runs_on;                 /* bits of the runtimes that run it */
    bool offloads;                    /* it has offload */
    uint64_t copies;                  /* OFFLOAD ops of an iteration */
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
    bool orders_devices;                /* the order of devices is searched, too */
    ppsched_scenario_options scenarios; /* its lists are the next two */
    double *device_factors, *link_factors;
    uint32_t scenario_count;
    int32_t rank_by;
    double quantile;
    bool has_average;                  /* the speeds and links of its config are those of the average scenario */
    const ppsched_layers *layers;      /* NULL if the config has stages */
    uint32_t runtimes;                 /* bits of the runtimes to ask */
    const struct ppi_runtime *runtime; /* the runtime that must run each candidate, or NULL */
    bool may_be_empty;
    uint32_t split_effort;  /* 1 to PPI_MOST_SPLIT_EFFORT */
    uint64_t most_visited;  /* most nodes of a candidate's split search */
    uint64_t small_visited; /* as many at least, where all of few splits are tried */
    uint64_t last_visited;  /* most nodes, if the strategy comes last */
    uint32_t rounds;        /* rounds of longer searches that have chosen candidates */
    uint32_t top;           /* how many ranks are wanted; 0: all */
    struct ppi_candidate *candidates;
    size_t count, capacity;
    uint32_t *order; /* candidates, best first; NULL until the plan is ranked */
};

/* Whether two candidates differ only in group size, so that a good split of one is near a good split of the other. */
static inline bool ppi_candidates_are_alike(const struct ppi_candidate *a, const struct ppi_candidate *b)
{
    return a->strategy == b->strategy && a->stages == b->stages && a->microbatches == b->microbatches &&
           a->slices == b->slices && a->placement == b->placement && a->offloads == b->offloads &&
           !(a->memory_limit < b->memory_limit) && !(a->memory_limit > b->memory_limit);
}

/* Whether its pairs take the time of their layers' windows, in place of the sum of both ops. */
static inline bool ppi_candidate_has_windows(const ppsched_plan *plan, const struct ppi_candidate *candidate)
{
    return plan->layers != NULL && plan->layers->has_windows && candidate->strategy->overlaps;
}

/* The size of a microbatch or slice of a candidate's config, relative to that of the plan. */
double ppi_candidate_size(const ppsched_plan *plan, const ppsched_config *config);

/* The plan's scenarios for a candidate's order of devices. `lists`: the caller releases it. */
struct ppi_ordered_scenarios {
    ppsched_scenario_options options;
    double *lists;
};

ppsched_status ppi_candidate_order_scenarios(struct ppi_ordered_scenarios *out, const ppsched_plan *plan,
                                             const struct ppi_candidate *candidate, ppsched_error *error);

/* Releases the order that has been made already, and its timeline. */
void ppi_candidate_drop_found(struct ppi_candidate *candidate);

/* The problem of a candidate. */
/* Whether its devices share the head that the plan has apart; its config then has more stages than the candidate says. */
bool ppi_has_head_to_share(const ppsched_plan *plan, const struct ppi_candidate *candidate);

ppsched_status ppi_candidate_config(ppsched_config **out, const ppsched_plan *plan, const struct ppi_candidate *candidate,
                                    ppsched_error *error);

/* Iterations that flush are identical. So a candidate with many ops is evaluated for one iteration, unless it is lowered or
 * does not flush. */
void ppi_candidate_take_one(const ppsched_plan *plan, const struct ppi_candidate *candidate, ppsched_config *config);

/* The metrics of all iterations, from the timeline of that config. */
ppsched_metrics ppi_candidate_metrics(const ppsched_timeline *timeline, const ppsched_config *config);

/* The timeline of the candidate's schedule for `config`; flags are those of ppsched_schedule_evaluate. Unless `order` is NULL,
 * it gets the schedule before lowering, which the caller releases. */
ppsched_status ppi_candidate_timeline(ppsched_timeline **out, const ppsched_schedule **order, const ppsched_plan *plan,
                                      const struct ppi_candidate *candidate, const ppsched_config *config, uint32_t flags,
                                      ppsched_error *error);

/* The same without the schedule, where its order repeats and nothing else is asked of it. `steady->timeline` is NULL where a
 * schedule must be made; else its figures are those of the candidate, and the caller clears it. */
ppsched_status ppi_candidate_steady(struct ppsched_steady *steady, const ppsched_plan *plan,
                                    const struct ppi_candidate *candidate, const ppsched_config *config, ppsched_error *error);

/* Sets `runs_on`: which of the plan's runtimes run the candidate's order and split. REFUSED if the runtime that must run it
 * cannot. */
ppsched_status ppi_candidate_ask_runtimes(const ppsched_plan *plan, struct ppi_candidate *candidate,
                                          const ppsched_schedule *order, ppsched_error *error);

/* With layers, before there is a good split: whether the runtime that must run it runs the order. REFUSED if it runs the order
 * neither with the present split nor without layers. */
ppsched_status ppi_candidate_ask_order(const ppsched_plan *plan, const struct ppi_candidate *candidate,
                                       const ppsched_schedule *order, ppsched_error *error);

/* The bounds found last, for candidates that differ only in strategy and group size. Starts zeroed, as no problem has 0
 * stages. */
enum { PPI_KNOWN_BOUNDS = 8 };

struct ppi_known_bound {
    int32_t placement;
    uint32_t unflushed, stages, microbatches, slices; /* unflushed: see bound/bound.h */
    double memory_limit, value;
};

struct ppi_known_bounds {
    uint32_t count; /* bounds found so far */
    struct ppi_known_bound bound[PPI_KNOWN_BOUNDS];
};

/* The lower bound of all candidates of a plan without layers, on a placement as in ppi_config_place. */
ppsched_status ppi_candidate_bound_at(double *out, struct ppi_known_bounds *known, const ppsched_plan *plan,
                                      const struct ppi_candidate *candidate, int32_t placement, uint32_t unflushed,
                                      const ppsched_config *config, ppsched_error *error);

/* The lower bound of all candidates with this placement, from the candidate's config and schedule; with layers for any
 * split. */
ppsched_status ppi_candidate_bound(double *out, struct ppi_known_bounds *known, const ppsched_plan *plan,
                                   const struct ppi_candidate *candidate, const ppsched_schedule *schedule,
                                   const ppsched_config *config, ppsched_error *error);

/* Raises the bound to the candidate's step time, if an order is searched for and the effort is enough to prove that none is
 * better. Errors: NO_MEMORY, CANCELLED, RANGE. */
ppsched_status ppi_candidate_prove(double *bound, const ppsched_plan *plan, const struct ppi_candidate *candidate,
                                   const ppsched_schedule *schedule, const ppsched_config *config, ppsched_error *error);

/* Fills in the bound and whether the candidate is proved. Its other figures must be filled in. */
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

/* The time of a step: one iteration, by the plan's objective. */
double ppi_candidate_step(const ppsched_plan *plan, const struct ppi_candidate *candidate);

/* The number of OFFLOAD ops in all iterations. */
uint64_t ppi_count_offloads(const ppsched_schedule *schedule);

/* The largest overshoot of a device over its memory limit. */
double ppi_overshoot_of(const ppsched_timeline *timeline);

#endif
