/* SPDX-License-Identifier: Apache-2.0 */
/* Random small problems for split_brute.h: layers, what may be recomputed, delays, limits, and a schedule of fixed order. */
#ifndef PPSCHED_TESTS_SPLIT_DRAW_H
#define PPSCHED_TESTS_SPLIT_DRAW_H

#include "prop/split_brute.h"
#include "support/problem.h"

/* How large they may be. */
struct split_sizes {
    uint32_t devices, chunks, microbatches;
    uint32_t spare;       /* layers beside one a stage */
    const char *strategy; /* NULL: any with a fixed order */
};

/* One whose schedule the caller releases. `*strategy` (may be NULL) is the name of its strategy. Times and memory are multiples
 * of 1/4, so that sums of them are exact. */
/* Devices have overheads of their own, in one of three problems; from a seed of its own. */
void draw_own_overheads(struct split_problem *out, uint32_t devices, uint64_t seed);

void draw_split_problem(struct split_problem *out, const char **strategy, const struct split_sizes *sizes, uint64_t *seed);

/* A config with these costs of its stages and the problem's sizes, placement, delays and limits; the caller destroys it. */
ppsched_config *config_of_stages(const struct split_problem *problem, const struct split_cost stage[SPLIT_STAGES]);

/* The problem's layers, which the caller releases; and which of them an answer puts where. */
const ppsched_layers *layers_of(const struct split_problem *problem);
void split_of_answer(uint32_t counts[SPLIT_STAGES], uint8_t recomputes[SPLIT_LAYERS], const struct split_problem *problem,
                     const struct split_answer *answer);

#endif
