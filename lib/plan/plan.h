/* SPDX-License-Identifier: Apache-2.0 */
/* A plan lists its candidates, evaluates them one by one, and ranks them. */
#ifndef PPSCHED_PLAN_PLAN_H
#define PPSCHED_PLAN_PLAN_H

#include "codesign/codesign.h"

/* ppsched_plan_options, checked and with its nested structs resolved. Zero means the default. Pointers must stay valid during
 * the call. */
struct ppi_plan_options {
    int32_t objective;
    const char *const *strategies;
    const uint32_t *chunks, *group_sizes, *microbatches, *slices;
    const double *memory_limits;
    uint32_t strategy_count, chunk_count, group_size_count, microbatch_count, slice_count, memory_limit_count;
    uint32_t placements, effort, order_effort, runtimes, offload, free_device_order, top;
    int32_t runtime;
    ppsched_lower_options lower; /* `lowering` NONE: candidates are not lowered */
    const ppsched_channel_model *channel;
    const ppsched_model_end *embedding, *head;
    const ppsched_layers *layers; /* NULL: the config's stages */
    uint32_t split_effort, empty_stages;
    double slice_time, attention_share;
    const ppsched_scenario_options *scenario_options;
    uint32_t scenario_count;
    int32_t rank_by;
    double quantile;
};

/* --- listing --- */

/* Fills in `candidates`; options must be checked. */
ppsched_status ppi_list_candidates(ppsched_plan *plan, const struct ppi_plan_options *options, ppsched_error *error);

/* --- one candidate --- */

/* Finds the order of a candidate's microbatches, if the plan asks for one and they differ. Does nothing if it has one. */
ppsched_status ppi_candidate_order(const ppsched_plan *plan, struct ppi_candidate *candidate,
                                   ppsched_progress_function progress, void *user, ppsched_error *error);

/* The share of the order of microbatches in the progress of a candidate. */
#define PPI_ORDER_SHARE 0.5

/* Frees the order. */
void ppi_candidate_drop_order(const ppsched_plan *plan, struct ppi_candidate *candidate);

/* Finds the split of a candidate's layers, and where the plan asks for it the order of its devices, unless it has them. */
ppsched_status ppi_candidate_arrange(const ppsched_plan *plan, struct ppi_candidate *candidate,
                                     ppsched_progress_function progress, void *user, ppsched_error *error);

/* Fills in the step time over the plan's scenarios, if there are any. `config` and `schedule` are those of the candidate. */
ppsched_status ppi_candidate_take_scenarios(const ppsched_plan *plan, struct ppi_candidate *candidate,
                                            const ppsched_schedule *schedule, const ppsched_config *config,
                                            ppsched_error *error);

/* The time by which a candidate is ranked. */
double ppi_candidate_rank_time(const ppsched_plan *plan, const struct ppi_candidate *candidate);

/* Whether a candidate is better than another; both are evaluated. */
bool ppi_candidate_ranks_before(const ppsched_plan *plan, const struct ppi_candidate *a, const struct ppi_candidate *b);

/* What the evaluations of a caller share: bounds, and the order that a candidate leaves to the next one. Starts zeroed. */
struct ppi_shared {
    struct ppi_known_bounds *known; /* NULL: none */
    bool leaves;                    /* the next candidate is this one with offload */
    const ppsched_schedule *order;
    ppsched_timeline *timeline; /* of `order`; NULL: unknown */
};

void ppi_shared_clear(struct ppi_shared *shared);

/* Whether the next candidate of the list is this one with offload, which is added to the very order. */
bool ppi_candidate_leaves(const ppsched_plan *plan, const struct ppi_candidate *candidate);

/* Fills in the figures of a candidate. `progress` replaces the progress callback of the config and may be NULL. A refusal is
 * kept in `reason`. `shared` may be NULL. */
ppsched_status ppi_candidate_evaluate(const ppsched_plan *plan, struct ppi_candidate *candidate, struct ppi_shared *shared,
                                      ppsched_progress_function progress, void *user, ppsched_error *error);

/* The same where another candidate has the very order and has been evaluated: takes its figures. Else does nothing. */
ppsched_status ppi_candidate_take_twin(const ppsched_plan *plan, struct ppi_candidate *candidate, ppsched_error *error);

/* A candidate that has been evaluated, and has the very order of this one: its groups are above D, too, or D. NULL: none, or
 * its layers, microbatches or devices may be arranged otherwise. */
const struct ppi_candidate *ppi_candidate_twin(const ppsched_plan *plan, const struct ppi_candidate *candidate);

/* --- the whole plan --- */

/* Progress of the whole plan, to which the share of the current candidate's search is added. */
struct ppi_plan_share {
    const ppsched_plan *plan;
    size_t done;
    double best;
};

/* Evaluates a candidate unless it is, and notes its step time. `view`: the plan, or a copy of it with its own memory. */
ppsched_status ppi_plan_evaluate(const ppsched_plan *view, struct ppi_plan_share *share, struct ppi_candidate *candidate,
                                 struct ppi_shared *shared, ppsched_error *error);

/* Reports progress; CANCELLED if the callback asks to stop. */
ppsched_status ppi_plan_go_on(const struct ppi_plan_share *share, ppsched_error *error);

/* Whether candidates may be left out that cannot have one of the wanted ranks. */
bool ppi_plan_may_leave_out(const ppsched_plan *plan);

/* Evaluates candidates until no other can have one of the wanted ranks. */
ppsched_status ppi_plan_evaluate_top(const ppsched_plan *view, ppsched_plan *plan, ppsched_error *error);

/* The candidate at a place: by rank, or in the order of the list if the plan is not ranked. */
static inline size_t ppi_candidate_at(const ppsched_plan *plan, size_t place)
{
    return plan->order != NULL ? plan->order[place] : place;
}

ppsched_status ppi_plan_make(ppsched_plan **out, const ppsched_config *config, const struct ppi_plan_options *options,
                             ppsched_error *error);
void ppi_plan_destroy(ppsched_plan *plan);
ppsched_status ppi_plan_run(ppsched_plan *plan, ppsched_error *error);

/* The same; where the order of devices is searched, the order as given is then one of those tried. */
ppsched_status ppi_plan_run_once(ppsched_plan *plan, ppsched_error *error);

/* Ranks all candidates. Equal ones stay in the order of the list. */
ppsched_status ppi_plan_rank(ppsched_plan *plan, ppsched_error *error);

ppsched_status ppi_plan_least_limit(double *out, uint32_t *index, const ppsched_plan *plan, ppsched_error *error);

#endif
