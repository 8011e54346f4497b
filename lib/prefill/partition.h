/* SPDX-License-Identifier: Apache-2.0 */
/* The chunks of a prompt as ends of blocks, what each takes, and those whose longest is shortest. */
#ifndef PPSCHED_PREFILL_PARTITION_H
#define PPSCHED_PREFILL_PARTITION_H

#include <ppsched/prefill.h>

/* A prompt, with its number of blocks. */
struct ppi_prompt {
    double constant, linear, quadratic;
    uint64_t tokens, block;
    uint32_t blocks;
};

/* Tokens of the first `blocks` blocks; the last one may be shorter. */
static inline uint64_t ppi_prompt_tokens(const struct ppi_prompt *prompt, uint32_t blocks)
{
    return blocks < prompt->blocks ? blocks * prompt->block : prompt->tokens;
}

/* What a chunk takes, from the end of block `from` to that of block `to`. */
double ppi_chunk_time(const struct ppi_prompt *prompt, uint32_t from, uint32_t to);

/* Fills the ends of `count` chunks whose longest is as short as possible, and returns what that takes. 1 <= count <= blocks.
 * Adds the chunks that it looked at to `visits`. */
double ppi_shortest_longest(uint32_t *ends, const struct ppi_prompt *prompt, uint32_t count, double *visits);

/* Fills the ends of `count` chunks that are as equal as blocks allow, the longer ones first. */
void ppi_equal_chunks(uint32_t *ends, const struct ppi_prompt *prompt, uint32_t count);

#endif
