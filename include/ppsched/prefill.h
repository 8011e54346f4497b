/* SPDX-License-Identifier: Apache-2.0 */
/* Chunked prefill: how to cut prompts into chunks, so that a pipeline with only forwards ends
 * early.
 *
 * A chunk is a part of a prompt, and one microbatch. Each chunk attends to all earlier tokens of
 * its prompt. So of two chunks with equally many tokens, the later chunk takes longer. More chunks
 * fill the pipeline better, but each chunk adds a constant cost. */
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

/* One or more prompts, and the cost of chunks. Suppose that a chunk has n tokens, and p tokens of
 * its prompt come before it. Its F (forward) takes the forward time of the stage, multiplied by
 *   constant + linear * n + quadratic * n * (p + n / 2).
 * Set `size` to sizeof of this struct. */
typedef struct ppsched_prefill {
    uint32_t size;
    uint32_t chunks;  /* number of chunks of all prompts together. 0: ppsched_prefill_find_chunks
                         chooses it */
    uint64_t tokens;  /* number of tokens of the prompt, at least 1; 0 if `prompts` is given */
    uint64_t block;   /* the number of tokens of each chunk is a multiple of `block`, except in the
                         last chunk of a prompt. 0 means 1 */
    double constant;  /* cost of a chunk in the formula above; 0 or more */
    double linear;    /* cost per token in the formula above; 0 or more */
    double quadratic; /* cost per pair of tokens in the formula above; 0 or more */
    const uint64_t *prompts; /* for several prompts: the number of tokens of each prompt, at least
                                1, in the order of their requests. NULL: one prompt of `tokens`
                                tokens */
    size_t prompt_count;     /* length of `prompts`; 0 if `prompts` is NULL */
} ppsched_prefill;

/* How good the chosen chunks are. Set `size` to sizeof of this struct. */
typedef struct ppsched_prefill_figures {
    uint32_t size;
    uint32_t is_best;      /* 1: no other choice of chunks makes the strategy's schedule shorter */
    double makespan;       /* makespan of the strategy's schedule with the chosen chunks */
    double equal_makespan; /* makespan with the same total number of chunks, if all chunks are as
                              equal as `block` allows */
} ppsched_prefill_figures;

/* Searches for the chunks of the prompts with which the makespan of the strategy's schedule is
 * shortest.
 *   - `config` must be for forwards only, with one iteration and whole microbatches. It must not
 *     set microbatch_scale, microbatch_memory_scale, microbatch_request, op_overhead or
 *     device_overhead. The call ignores its number of microbatches.
 *   - `out` receives the number of tokens of each chunk, prompt by prompt. The tokens of a prompt's
 *     chunks add up to the tokens of the prompt. The call fills a buffer: see ppsched.h. It
 *     searches even if it only writes `*needed`.
 *   - A prompt of n tokens has at most n / `block` chunks, rounded up. All chunks together may have
 *     up to 65,536 blocks.
 *   - If every device has one stage, and all stages take equally long, the time of n chunks has two
 *     parts: the sum of their times, and the time of the longest chunk for each stage after the
 *     first. The sum depends only on n. So for each n, the call makes the longest chunk as short as
 *     possible.
 *   - If devices have several stages, or if stages take different times, the call uses another
 *     search. With up to 13 blocks in all prompts together, this search tries all possible chunks.
 *     With more blocks, it starts from the chunks that would be best for equal stages, and moves
 *     tokens between neighbouring chunks.
 * The config's progress callback may cancel the call.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE (the message has the wrong value and one that works);
 *   UNKNOWN_STRATEGY; REFUSED, as for ppsched_schedule_generate; CANCELLED, BUFFER, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_prefill_find_chunks(uint64_t *out, size_t capacity,
                                                       size_t *needed,
                                                       ppsched_prefill_figures *figures,
                                                       const ppsched_prefill *prefill,
                                                       const ppsched_config *config,
                                                       const char *strategy, ppsched_error *error);

/* Makes a copy of a config in which each microbatch is a chunk of a prompt. `chunks` has the number
 * of tokens of each of the `count` chunks. The copy has `count` microbatches, and a request for
 * each prompt. The caller must destroy the copy.
 *   - The times of a microbatch are multiplied by the value of the formula above for its chunk.
 *   - The memory and bytes of a microbatch are multiplied by the chunk's share of the tokens of all
 *     prompts. So memory and bytes in `config` must be for all prompts together.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE, also if the chunks of a prompt do not add up to the tokens
 *   of the prompt; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_prefill_create_config(ppsched_config **out,
                                                         const ppsched_prefill *prefill,
                                                         const ppsched_config *config,
                                                         const uint64_t *chunks, size_t count,
                                                         ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
