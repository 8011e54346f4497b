/* SPDX-License-Identifier: Apache-2.0 */
/* Lists what each block belongs to, so that no chunk looks for its prompt. */
#include "prefill/prompts.h"

#include "base/checked.h"
#include "base/error.h"

static void fill(struct ppi_prompts *prompts, const uint64_t *tokens, uint64_t block)
{
    uint32_t at = 0;
    prompts->tokens[0] = 0;
    for (uint32_t i = 0; i < prompts->count; i++) {
        const uint64_t before = prompts->tokens[at];
        prompts->begin[i] = at;
        for (uint64_t done = 0; done < tokens[i]; at++) {
            done = tokens[i] - done > block ? done + block : tokens[i];
            prompts->owner[at] = i;
            prompts->tokens[at + 1] = before + done;
        }
    }
    prompts->begin[prompts->count] = at;
}

ppsched_status ppi_prompts_make(struct ppi_prompts *out, const uint64_t *tokens, uint32_t count, uint64_t block,
                                struct ppi_arena *arena, ppsched_error *error)
{
    uint64_t blocks = 0;
    for (uint32_t i = 0; i < count; i++)
        blocks += tokens[i] / block + (tokens[i] % block != 0);
    out->count = count;
    out->blocks = (uint32_t)blocks;
    out->begin = ppi_arena_take(arena, (size_t)count + 1, sizeof *out->begin);
    out->owner = ppi_arena_take(arena, (size_t)blocks, sizeof *out->owner);
    out->tokens = ppi_arena_take(arena, (size_t)blocks + 1, sizeof *out->tokens);
    ppsched_status status = ppi_arena_check(arena, "the chunks", error);
    if (status == PPSCHED_OK)
        fill(out, tokens, block);
    return status;
}

double ppi_chunk_time(const struct ppi_prompts *prompts, uint32_t from, uint32_t to)
{
    const double before = (double)(prompts->tokens[from] - prompts->tokens[prompts->begin[prompts->owner[from]]]);
    const double tokens = (double)(prompts->tokens[to] - prompts->tokens[from]);
    return prompts->constant + prompts->linear * tokens + prompts->quadratic * tokens * (before + tokens / 2);
}

double ppi_prompt_work(const struct ppi_prompts *prompts)
{
    double work = 0;
    for (uint32_t i = 0; i < prompts->count; i++)
        work += ppi_chunk_time(prompts, prompts->begin[i], prompts->begin[i + 1]) - prompts->constant;
    return work;
}
