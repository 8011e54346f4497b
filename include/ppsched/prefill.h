/* SPDX-License-Identifier: Apache-2.0 */
/* Chunked prefill: how to cut prompts into chunks, so that a pipeline of forwards ends early.
 *
 * A chunk is a microbatch. Each chunk attends to all earlier tokens of its prompt, so of two equal
 * chunks the later one takes longer. More chunks fill the pipeline better, but each chunk adds a
 * constant cost. */
#ifndef PPSCHED_PREFILL_H
#define PPSCHED_PREFILL_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/config.h>
#include <ppsched/export_macro.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One or more prompts, and the cost of chunks. The F of a chunk of n tokens, after p earlier tokens
 * of its prompt, takes the forward time of its stage, multiplied by
 *   constant + linear * n + quadratic * n * (p + n / 2).
 * Set `size` to sizeof of this struct. */
typedef struct ppsched_prefill {
    uint32_t size;
    uint32_t chunks;  /* number of chunks of all prompts together. 0: the call chooses the number */
    uint64_t tokens;  /* number of tokens of the prompt, at least 1; 0 with `prompts` */
    uint64_t block;   /* the number of tokens of a chunk is a multiple of this number, except in the
                         last chunk of a prompt. 0 means 1 */
    double constant;  /* `constant` of the formula above; 0 or more */
    double linear;    /* `linear` of the formula above: cost per token; 0 or more */
    double quadratic; /* `quadratic` of the formula above: cost per pair of tokens; 0 or more */
    const uint64_t *prompts; /* several prompts, in the order of their requests: the number of
                                tokens of each, at least 1. NULL: one prompt of `tokens` tokens */
    size_t prompt_count;     /* number of prompts; 0 without `prompts` */
} ppsched_prefill;

/* How good the chosen chunks are. Set `size` to sizeof of this struct. */
typedef struct ppsched_prefill_figures {
    uint32_t size;
    uint32_t is_best;      /* 1 if no other choice of chunks makes the strategy's schedule
                              shorter */
    double makespan;       /* makespan of the strategy's schedule with the chosen chunks */
    double equal_makespan; /* makespan with the same number of chunks, cut as equally as blocks
                              allow */
} ppsched_prefill_figures;

/* Chooses the chunks of prompts for a strategy, so that the makespan is as short as can be found.
 *   - `config` must be for forwards only, with one iteration and whole microbatches. It must not
 *     set microbatch_scale, microbatch_memory_scale, microbatch_request, op_overhead or
 *     device_overhead. Its number of microbatches is ignored.
 *   - `out` receives the number of tokens of each chunk, prompt by prompt: the chunks of a prompt
 *     add up to its tokens. The call fills a buffer: see ppsched.h. A prompt of n tokens has at
 *     most n / `block` chunks, rounded up. The call searches even if it only writes `*needed`.
 *   - Suppose that every device has one stage, and all stages take equally long. Then the time of n
 *     chunks has two parts: the sum of their times; and, for each stage after the first, the time
 *     of the longest chunk. The sum depends only on n. So for each n the longest chunk is made as
 *     short as possible. In other cases with up to 13 blocks, all possible chunks are tried. With
 *     more blocks, the search starts from the chunks that are best by the rule for equal stages,
 *     and moves tokens between neighbouring chunks.
 *   - All chunks together may have up to 65,536 blocks.
 * The config's progress callback may cancel the call.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE (the message has the wrong value and one that works);
 *   UNKNOWN_STRATEGY; REFUSED, as for ppsched_schedule_generate; CANCELLED, BUFFER, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_prefill_find_chunks(uint64_t *out, size_t capacity,
                                                       size_t *needed,
                                                       ppsched_prefill_figures *figures,
                                                       const ppsched_prefill *prefill,
                                                       const ppsched_config *config,
                                                       const char *strategy, ppsched_error *error);

/* Makes a copy of a config in which each microbatch is a chunk of a prompt. The copy has `count`
 * microbatches, and a request for each prompt. The factor of a microbatch on times is the time of
 * its chunk; its factor on memory and bytes is its share of the tokens of all prompts. So memory
 * and bytes in `config` must be for all prompts together. The caller must destroy the copy.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE, also if the chunks of a prompt do not add up to the
 *   tokens of the prompt; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_prefill_create_config(ppsched_config **out,
                                                         const ppsched_prefill *prefill,
                                                         const ppsched_config *config,
                                                         const uint64_t *chunks, size_t count,
                                                         ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
