/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the chunks of prompts for a strategy. */
#ifndef PPSCHED_PREFILL_PREFILL_H
#define PPSCHED_PREFILL_PREFILL_H

#include "ir/config.h"
#include "prefill/partition.h"
#include "strategy/strategy.h"

/* The chunks that were chosen: `ends` has `count` entries, and belongs to the arena. */
struct ppi_chosen_chunks {
    uint32_t *ends, count;
    ppsched_prefill_figures figures;
};

/* `chunks` 0: their number is chosen. Errors: those of ppi_generate and ppi_evaluate. */
ppsched_status ppi_choose_chunks(struct ppi_chosen_chunks *out, const ppsched_config *config,
                                 const struct ppi_strategy *strategy, const struct ppi_prompts *prompts, uint32_t chunks,
                                 struct ppi_arena *arena, ppsched_error *error);

/* A copy of a config with a microbatch for each chunk. `times`: the factors of their times, `shares`: of their memory;
 * `requests`: the request of each, NULL: one of all. */
ppsched_status ppi_config_with_chunks(ppsched_config **out, const ppsched_config *config, const double *times,
                                      const double *shares, const double *requests, uint32_t count, ppsched_error *error);

#endif
