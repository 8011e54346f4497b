/* SPDX-License-Identifier: Apache-2.0 */
/* The candidates of a plan: listed, evaluated one by one, ranked. */
#ifndef PPSCHED_PLAN_PLAN_H
#define PPSCHED_PLAN_PLAN_H

#include "codesign/codesign.h"

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

/* --- listing --- */

/* Fills in `candidates`; options must be checked. */
ppsched_status ppi_list_candidates(ppsched_plan *plan, const ppsched_plan_options *options, ppsched_error *error);

/* --- one candidate --- */

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

/* Fills in its figures; `progress`, which may be NULL, takes the place of the config's. A refusal goes to `reason`. `known`: of
 * the caller's thread, or NULL. */
ppsched_status ppi_candidate_evaluate(const ppsched_plan *plan, struct ppi_candidate *candidate, struct ppi_known_bounds *known,
                                      ppsched_progress_function progress, void *user, ppsched_error *error);

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
