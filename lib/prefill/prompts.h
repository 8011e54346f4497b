/* SPDX-License-Identifier: Apache-2.0 */
/* Prompts as blocks, and what chunks of them take. */
#ifndef PPSCHED_PREFILL_PROMPTS_H
#define PPSCHED_PREFILL_PROMPTS_H

#include <ppsched/prefill.h>

#include "base/arena.h"

enum { PPI_MOST_BLOCKS = 65536 };

/* Prompts, and their blocks one after another; the last block of each may be shorter. */
struct ppi_prompts {
    double constant, linear, quadratic;
    uint32_t count, blocks;
    uint32_t *begin;  /* [count + 1]: the first block of each, and the number of blocks */
    uint32_t *owner;  /* [blocks]: the prompt of each block */
    uint64_t *tokens; /* [blocks + 1]: of all blocks before */
};

static inline uint64_t ppi_tokens_of_all(const struct ppi_prompts *prompts)
{
    return prompts->tokens[prompts->blocks];
}

/* Where the prompt of a block ends. */
static inline uint32_t ppi_end_of_prompt(const struct ppi_prompts *prompts, uint32_t block)
{
    return prompts->begin[prompts->owner[block] + 1];
}

/* Makes blocks of prompts, whose lists are in the caller's arena. At most PPI_MOST_BLOCKS. */
ppsched_status ppi_prompts_make(struct ppi_prompts *out, const uint64_t *tokens, uint32_t count, uint64_t block,
                                struct ppi_arena *arena, ppsched_error *error);

/* What a chunk takes, from block `from` up to block `to` of the same prompt. */
double ppi_chunk_time(const struct ppi_prompts *prompts, uint32_t from, uint32_t to);

/* What all chunks take without the constant of each. */
double ppi_prompt_work(const struct ppi_prompts *prompts);

#endif
