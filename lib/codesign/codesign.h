/* SPDX-License-Identifier: Apache-2.0 */
/* The joint search for the split of a candidate's layers and its order. */
#ifndef PPSCHED_CODESIGN_CODESIGN_H
#define PPSCHED_CODESIGN_CODESIGN_H

#include "candidate/candidate.h"

/* Visits of the search for a candidate's split: at least; and, at the usual effort, at most for one strategy and number of
 * stages (see docs/performance.md). */
#define PPI_LEAST_VISITS 200000u
#define PPI_MOST_VISITS 125000000u

/* Each effort takes eight times as long as the one before: PPI_SPLIT_EFFORT_BITS is its logarithm. */
enum { PPI_USUAL_SPLIT_EFFORT = 3, PPI_MOST_SPLIT_EFFORT = 4, PPI_SPLIT_EFFORT_BITS = 3 };

/* Visits at the usual effort, converted to the plan's. */
static inline uint64_t ppi_plan_visits(const ppsched_plan *plan, uint64_t usual)
{
    return plan->split_effort > PPI_USUAL_SPLIT_EFFORT
               ? usual << PPI_SPLIT_EFFORT_BITS * (plan->split_effort - PPI_USUAL_SPLIT_EFFORT)
               : usual >> PPI_SPLIT_EFFORT_BITS * (PPI_USUAL_SPLIT_EFFORT - plan->split_effort);
}

/* --- for plans --- */

/* With layers: finds the best split for the candidate, unless it has one. */
ppsched_status ppi_candidate_split(const ppsched_plan *plan, struct ppi_candidate *candidate,
                                   ppsched_progress_function progress, void *user, ppsched_error *error);

/* The same rule's schedule with fewer microbatches, on which splits can be searched; NULL where its results would not carry
 * over, or it would be hardly shorter. NO_MEMORY. */
ppsched_status ppi_candidate_shorten(ppsched_schedule **out, const struct ppi_candidate *candidate,
                                     const ppsched_config *config, const ppsched_schedule *schedule, ppsched_error *error);

/* Finds the best split for an order made for `config`, by one or several searches; starts from the split of `candidate->like`,
 * if any. */
ppsched_status ppi_candidate_fit(const ppsched_plan *plan, struct ppi_candidate *candidate, const ppsched_config *config,
                                 const ppsched_schedule *schedule, ppsched_error *error);

/* Replaces the candidate's strategy, which searches for orders, by a rule with the same placement. */
ppsched_status ppi_candidate_follow_rule(struct ppi_candidate *candidate, const ppsched_plan *plan, ppsched_error *error);

/* Whether the plan's runtime divides its decoders evenly. */
bool ppi_candidate_is_even(const ppsched_plan *plan, const struct ppi_candidate *candidate);

/* Equally many decoders on each stage, in addition to embedding and head. REFUSED, with the runtime's title, where some are
 * left over. */
ppsched_status ppi_divide_evenly(uint32_t *counts, const ppsched_layers *layers, uint32_t stages, const char *title,
                                 ppsched_error *error);

/* Share of the split in a candidate's progress. */
#define PPI_SPLIT_SHARE 0.75

/* Forgets the candidate's split. */
void ppi_candidate_drop_split(const ppsched_plan *plan, struct ppi_candidate *candidate);

/* --- the search --- */

struct ppi_codesign {
    const ppsched_plan *plan;
    struct ppi_candidate *candidate; /* has the present split */
    uint32_t *layers;                /* best split so far: layers by stage */
    uint8_t *recomputes;
    double overshoot, time;           /* of the best */
    double second;                    /* decides where both are equal; 0 where nothing does */
    const ppsched_schedule *schedule; /* order of the best split, if the strategy searches for orders; or NULL */
    ppsched_progress_function progress;
    void *user;
    double from, to; /* share of progress of the present part */
};

/* Makes the order for the present split, and the config of both. The order of the best split is not made again. */
ppsched_status ppi_codesign_order(ppsched_schedule **out, ppsched_config **config, struct ppi_codesign *codesign,
                                  ppsched_error *error);

/* The best split for an order becomes the present one. */
ppsched_status ppi_codesign_fit(struct ppi_codesign *codesign, const ppsched_config *config, const ppsched_schedule *schedule,
                                ppsched_error *error);

/* The same with so many visits. */
ppsched_status ppi_codesign_fit_for(struct ppi_codesign *codesign, uint64_t visits, const ppsched_config *config,
                                    const ppsched_schedule *schedule, ppsched_error *error);

/* Keeps the present split where its timeline is better than those before; returns whether it is. */
bool ppi_codesign_note(struct ppi_codesign *codesign, const ppsched_timeline *timeline, const ppsched_config *config);

/* The same for its overshoot, its time, and what decides where these are equal. */
bool ppi_codesign_note_time(struct ppi_codesign *codesign, double overshoot, double time, double second);

/* The same for a schedule of the present split. */
ppsched_status ppi_codesign_keep_better(bool *better, struct ppi_codesign *codesign, const ppsched_config *config,
                                        const ppsched_schedule *schedule, ppsched_error *error);

/* The same, with a new order for the present split. REFUSED where there is none. */
ppsched_status ppi_codesign_try_order(bool *better, struct ppi_codesign *codesign, ppsched_error *error);

/* The kept split becomes the present one. */
void ppi_codesign_go_back(struct ppi_codesign *codesign);

/* Whether a memory limit may change what is recomputed, or offloaded. */
static inline bool ppi_codesign_is_limited(const struct ppi_codesign *codesign)
{
    return codesign->plan->config->values[PPSCHED_QUANTITY_MEM_LIMIT].values != NULL || codesign->candidate->memory_limit >= 0;
}

/* Ops of the candidate, counting each compute kind for each stage pass. */
static inline uint64_t ppi_codesign_ops(const struct ppi_codesign *codesign)
{
    const struct ppi_candidate *candidate = codesign->candidate;
    return (uint64_t)PPSCHED_KIND_W * candidate->stages * candidate->microbatches * candidate->slices;
}

/* --- splits that are priced one by one --- */

/* Prices the present split, and keeps it where it is better. REFUSED where there is no order for it. */
typedef ppsched_status (*ppi_codesign_price)(bool *better, struct ppi_codesign *codesign, ppsched_error *error);

/* The same, but `*better` is false where there is none. CANCELLED where the caller stops the search. */
ppsched_status ppi_codesign_ask(bool *better, struct ppi_codesign *codesign, ppi_codesign_price price, ppsched_error *error);

/* Moves layers from stage to stage, starting from the best split, while that helps and tries are left. */
ppsched_status ppi_codesign_move_blocks(bool *better, struct ppi_codesign *codesign, ppi_codesign_price price, uint64_t *tries,
                                        ppsched_error *error);

/* Tries other recompute kinds for one layer after another, while tries are left. */
ppsched_status ppi_codesign_change_kinds(bool *better, struct ppi_codesign *codesign, ppi_codesign_price price, uint64_t *tries,
                                         ppsched_error *error);

/* The number of splits, and of recompute choices for one split, at most; approximate where they are many. */
double ppi_codesign_count_splits(const struct ppi_codesign *codesign);
double ppi_codesign_count_kinds(const struct ppi_codesign *codesign);

/* Prices all splits, and all recompute choices of the present one. */
ppsched_status ppi_codesign_try_all(struct ppi_codesign *codesign, ppi_codesign_price price, ppsched_error *error);
ppsched_status ppi_codesign_price_all_kinds(bool *better, struct ppi_codesign *codesign, ppi_codesign_price price,
                                            ppsched_error *error);

/* --- searches for the best split --- */

/* Keeps the best of several splits for a strategy whose order depends on the split. REFUSED where there is none. */
ppsched_status ppi_codesign_search(struct ppi_codesign *codesign, ppsched_error *error);

/* For a rule whose order depends on costs only by the least distance between a microbatch's forwards on two chunks of a
 * device: keeps the best split over distances. The candidate keeps the distance where its order is not the default one.
 * REFUSED where there is none. */
ppsched_status ppi_codesign_distances(struct ppi_codesign *codesign, ppsched_error *error);

/* Whether layers may move from the kept split: the runtime can express the recomputation after that. */
bool ppi_codesign_may_move(const struct ppi_codesign *codesign);

/* Whether the split must be searched for varying times: by the plan's ranking, and not yet for their average. */
static inline bool ppi_codesign_varies(const ppsched_plan *plan)
{
    return plan->scenario_count > 0 && plan->rank_by != PPSCHED_RANK_BY_STEP && !plan->has_average;
}

/* For varying times: the best split for their average, then moves that improve the time by which candidates are ranked. */
ppsched_status ppi_candidate_split_varied(const ppsched_plan *plan, struct ppi_candidate *candidate,
                                          ppsched_progress_function progress, void *user, ppsched_error *error);

/* Keeps the best of several splits with offload. REFUSED where there is none. */
ppsched_status ppi_codesign_offload(struct ppi_codesign *codesign, ppsched_error *error);

#endif
