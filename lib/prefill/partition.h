/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks as ends of blocks: equal ones, and those whose longest is shortest. */
#ifndef PPSCHED_PREFILL_PARTITION_H
#define PPSCHED_PREFILL_PARTITION_H

#include "prefill/prompts.h"

/* Fills the ends of `count` chunks whose longest is as short as possible, and returns what that takes. `count`: at least that
 * of prompts, at most that of blocks. Adds the chunks that it looked at to `visits`. */
double ppi_shortest_longest(uint32_t *ends, const struct ppi_prompts *prompts, uint32_t count, double *visits);

/* Fills the ends of `count` chunks that are as equal as blocks allow, in each prompt the longer ones first. */
void ppi_equal_chunks(uint32_t *ends, const struct ppi_prompts *prompts, uint32_t count);

#endif
