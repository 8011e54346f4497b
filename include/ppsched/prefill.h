/* SPDX-License-Identifier: Apache-2.0 */
/* Chunked prefill: how to cut a prompt into chunks, so that a pipeline of forwards ends early.
 *
 * A chunk is a microbatch. Later chunks attend to all earlier tokens, so equal chunks take longer
 * and longer; and more chunks fill the pipeline better but each costs a constant. */
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

/* A prompt, and what its chunks take. A chunk of n tokens after p earlier ones takes
 *   constant + linear * n + quadratic * n * (p + n / 2)
 * times the stage's forward time. Sized: set `size`. */
typedef struct ppsched_prefill {
    uint32_t size;
    uint32_t chunks;  /* number of chunks. 0: chosen */
    uint64_t tokens;  /* of the prompt, >= 1 */
    uint64_t block;   /* all chunks but the last have multiples of this number of tokens. 0: 1 */
    double constant;  /* >= 0 */
    double linear;    /* a token, >= 0 */
    double quadratic; /* a pair of tokens, >= 0 */
} ppsched_prefill;

/* How good the chunks are. Sized. */
typedef struct ppsched_prefill_figures {
    uint32_t size;
    uint32_t is_best;      /* 1 if no chunks make the strategy's schedule shorter */
    double makespan;       /* of the strategy's schedule with the chunks */
    double equal_makespan; /* with as many chunks that are as equal as blocks allow */
} ppsched_prefill_figures;

/* Chooses the chunks of a prompt for a strategy, so that the makespan is as short as can be found.
 *   - `config` is for forwards only, with one iteration and slice, and without factors and requests
 *     of microbatches and without op_overhead; its number of microbatches does not count.
 *   - `out` receives the tokens of each chunk. It fills a buffer: see ppsched.h; there are at most
 *     tokens / block chunks, rounded up. A call for `*needed` alone searches, too.
 *   - If every device has one stage and all stages take equally long, n chunks take the sum of
 *     their times and, on each further stage, the time of the longest: the sum depends on n alone,
 *     so the longest is made as short as possible for each n. With up to 13 blocks all chunks are
 *     tried. Otherwise the best of these starts is improved by moving tokens between neighbours.
 *   - Chunks may have up to 65,536 blocks together.
 * The config's progress callback may cancel it.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE, with the wrong value and one that works; UNKNOWN_STRATEGY;
 *   REFUSED, as for ppsched_schedule_generate; CANCELLED, BUFFER, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_prefill_find_chunks(uint64_t *out, size_t capacity,
                                                       size_t *needed,
                                                       ppsched_prefill_figures *figures,
                                                       const ppsched_prefill *prefill,
                                                       const ppsched_config *config,
                                                       const char *strategy, ppsched_error *error);

/* A copy of a config in which each microbatch is a chunk of the prompt: with `count` microbatches,
 * the time of each as its factor of times, its share of the tokens as its factor of memory and
 * bytes, and one request. So the config's memory and bytes are those of the whole prompt.
 * The caller destroys it.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE, also if the chunks do not add up to the prompt;
 *   NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_prefill_create_config(ppsched_config **out,
                                                         const ppsched_prefill *prefill,
                                                         const ppsched_config *config,
                                                         const uint64_t *chunks, size_t count,
                                                         ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
