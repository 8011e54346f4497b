/* SPDX-License-Identifier: Apache-2.0 */
/* A search for the split of a candidate's layers. */
#ifndef PPSCHED_CODESIGN_CODESIGN_H
#define PPSCHED_CODESIGN_CODESIGN_H

#include "candidate/candidate.h"

/* Nodes that the search for a candidate's split may visit at least. */
#define PPI_LEAST_VISITS 200000u
#define PPI_MOST_VISITS 125000000u

/* Each effort takes eight times as long as the one before. */
enum { PPI_USUAL_SPLIT_EFFORT = 3, PPI_MOST_SPLIT_EFFORT = 4, PPI_SPLIT_EFFORT_BITS = 3 };

/* So many visits at the usual effort are as many at the plan's. */
static inline uint64_t ppi_plan_visits(const ppsched_plan *plan, uint64_t usual)
{
    return plan->split_effort > PPI_USUAL_SPLIT_EFFORT
               ? usual << PPI_SPLIT_EFFORT_BITS * (plan->split_effort - PPI_USUAL_SPLIT_EFFORT)
               : usual >> PPI_SPLIT_EFFORT_BITS * (PPI_USUAL_SPLIT_EFFORT - plan->split_effort);
}

/* --- for plans --- */

/* With layers: finds the split that suits it, unless it has one. */
ppsched_status ppi_candidate_split(const ppsched_plan *plan, struct ppi_candidate *candidate,
                                   ppsched_progress_function progress, void *user, ppsched_error *error);

/* The same rule's schedule of fewer microbatches, on which splits can be searched for; NULL where that tells too little, or
 * would not be shorter by much. NO_MEMORY. */
ppsched_status ppi_candidate_shorten(ppsched_schedule **out, const struct ppi_candidate *candidate,
                                     const ppsched_config *config, const ppsched_schedule *schedule, ppsched_error *error);

/* The split that suits an order which was made for `config`, or of several searches the best; it begins with that which the
 * candidate is like, if any. */
ppsched_status ppi_candidate_fit(const ppsched_plan *plan, struct ppi_candidate *candidate, const ppsched_config *config,
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

/* --- the search --- */

struct ppi_codesign {
    const ppsched_plan *plan;
    struct ppi_candidate *candidate; /* its split is that at hand */
    uint32_t *layers;                /* the best so far */
    uint8_t *recomputes;
    double overshoot, time; /* of the best */
    ppsched_progress_function progress;
    void *user;
    double from, to; /* the present part of the work */
};

/* The order for the split at hand, and the config of both. */
ppsched_status ppi_codesign_order(ppsched_schedule **out, ppsched_config **config, struct ppi_codesign *codesign,
                                  ppsched_error *error);

/* Puts the split that suits an order at hand. */
ppsched_status ppi_codesign_fit(struct ppi_codesign *codesign, const ppsched_config *config, const ppsched_schedule *schedule,
                                ppsched_error *error);

/* The same with so many visits. */
ppsched_status ppi_codesign_fit_for(struct ppi_codesign *codesign, uint64_t visits, const ppsched_config *config,
                                    const ppsched_schedule *schedule, ppsched_error *error);

/* Keeps the split at hand where its timeline is better than those before; tells whether it is. */
bool ppi_codesign_note(struct ppi_codesign *codesign, const ppsched_timeline *timeline, const ppsched_config *config);

/* The same with its order. */
ppsched_status ppi_codesign_keep_better(bool *better, struct ppi_codesign *codesign, const ppsched_config *config,
                                        const ppsched_schedule *schedule, ppsched_error *error);

/* The same, with the order for the split at hand. REFUSED where there is none. */
ppsched_status ppi_codesign_try_order(bool *better, struct ppi_codesign *codesign, ppsched_error *error);

/* Puts the kept split at hand. */
void ppi_codesign_go_back(struct ppi_codesign *codesign);

/* Whether a limit may change what is recomputed, or copied. */
static inline bool ppi_codesign_is_limited(const struct ppi_codesign *codesign)
{
    return codesign->plan->config->values[PPSCHED_QUANTITY_MEM_LIMIT].values != NULL || codesign->candidate->memory_limit >= 0;
}

/* Ops of the candidate, W and its like too. */
static inline uint64_t ppi_codesign_ops(const struct ppi_codesign *codesign)
{
    const struct ppi_candidate *candidate = codesign->candidate;
    return (uint64_t)PPSCHED_KIND_W * candidate->stages * candidate->microbatches * candidate->slices;
}

/* --- splits that are priced one by one --- */

/* Prices the split at hand, and keeps it where it is better. REFUSED where there is no order for it. */
typedef ppsched_status (*ppi_codesign_price)(bool *better, struct ppi_codesign *codesign, ppsched_error *error);

/* The same, but *better is false where there is none. CANCELLED where the caller wishes. */
ppsched_status ppi_codesign_ask(bool *better, struct ppi_codesign *codesign, ppi_codesign_price price, ppsched_error *error);

/* Moves layers from stage to stage, from the best split on, as long as that helps and there are tries left. */
ppsched_status ppi_codesign_move_blocks(bool *better, struct ppi_codesign *codesign, ppi_codesign_price price, uint64_t *tries,
                                        ppsched_error *error);

/* Gives each layer in turn its other kinds of recomputation, while there are tries left. */
ppsched_status ppi_codesign_change_kinds(bool *better, struct ppi_codesign *codesign, ppi_codesign_price price, uint64_t *tries,
                                         ppsched_error *error);

/* How many splits there are, and at most how many ways to recompute the layers of one; about, where they are many. */
double ppi_codesign_count_splits(const struct ppi_codesign *codesign);
double ppi_codesign_count_kinds(const struct ppi_codesign *codesign);

/* Prices all splits, and all ways to recompute layers of the one at hand. */
ppsched_status ppi_codesign_try_all(struct ppi_codesign *codesign, ppi_codesign_price price, ppsched_error *error);
ppsched_status ppi_codesign_price_all_kinds(bool *better, struct ppi_codesign *codesign, ppi_codesign_price price,
                                            ppsched_error *error);

/* --- what finds the best --- */

/* Keeps the best of some splits for a strategy whose order follows from the split. REFUSED where there is none. */
ppsched_status ppi_codesign_search(struct ppi_codesign *codesign, ppsched_error *error);

/* Keeps the best of the splits for a rule whose order follows from costs by the least distance of a microbatch's forwards on
 * two chunks of a device, each for a distance of its own, which the candidate then tells where its order is not the usual one.
 * REFUSED where there is none. */
ppsched_status ppi_codesign_distances(struct ppi_codesign *codesign, ppsched_error *error);

/* Keeps the best of some splits whose activations go to the host. REFUSED where there is none. */
ppsched_status ppi_codesign_offload(struct ppi_codesign *codesign, ppsched_error *error);

#endif
