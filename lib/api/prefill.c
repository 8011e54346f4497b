/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: the chunks of a prompt. */
#include <ppsched/prefill.h>

#include "api/buffer.h"
#include "api/null.h"
#include "base/arena.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/sized.h"
#include "prefill/prefill.h"

static ppsched_status check_time(const char *name, double time, ppsched_error *error)
{
    if (time >= 0 && time < PPI_INFINITE)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s of the prefill is %g; it must be a finite number, 0 or more", name, time);
}

static ppsched_status check_sizes(const ppsched_prefill *own, ppsched_error *error)
{
    const uint64_t blocks = own->tokens / own->block + (own->tokens % own->block != 0);
    if (own->tokens == 0 || own->tokens > (uint64_t)1 << 53)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "tokens of the prefill is %llu; it must be 1 to 2^53",
                        (unsigned long long)own->tokens);
    if (blocks > PPI_MOST_BLOCKS)
        return ppi_fail(
            error, PPSCHED_ERROR_RANGE,
            "%llu tokens in blocks of %llu are %llu blocks; at most %d are possible, so give blocks of %llu or more",
            (unsigned long long)own->tokens, (unsigned long long)own->block, (unsigned long long)blocks, PPI_MOST_BLOCKS,
            (unsigned long long)(own->tokens / PPI_MOST_BLOCKS + 1));
    if (own->chunks > blocks)
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "%u chunks, but %llu tokens in blocks of %llu are %llu blocks; give that many chunks or fewer",
                        own->chunks, (unsigned long long)own->tokens, (unsigned long long)own->block,
                        (unsigned long long)blocks);
    if (own->constant + own->linear + own->quadratic > 0)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "chunks of the prefill take no time; give constant, linear or quadratic");
}

static ppsched_status take_prefill(ppsched_prefill *own, struct ppi_prompt *prompt, const ppsched_prefill *given,
                                   ppsched_error *error)
{
    ppsched_status status = ppi_take_sized(own, sizeof *own, sizeof(ppsched_prefill), given, "ppsched_prefill", error);
    if (status != PPSCHED_OK)
        return status;
    own->block = own->block != 0 ? own->block : 1;
    status = check_time("constant", own->constant, error);
    if (status == PPSCHED_OK)
        status = check_time("linear", own->linear, error);
    if (status == PPSCHED_OK)
        status = check_time("quadratic", own->quadratic, error);
    if (status == PPSCHED_OK)
        status = check_sizes(own, error);
    if (status != PPSCHED_OK)
        return status;
    *prompt = (struct ppi_prompt){own->constant,  own->linear,
                                  own->quadratic, own->tokens,
                                  own->block,     (uint32_t)(own->tokens / own->block + (own->tokens % own->block != 0))};
    if (ppi_chunk_time(prompt, 0, prompt->blocks) < 1e300)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "the prefill takes more than 1e300; give smaller times");
}

static ppsched_status check_config(const ppsched_config *config, const struct ppi_prompt *prompt, ppsched_error *error)
{
    static const int32_t others[] = {PPSCHED_QUANTITY_MICROBATCH_SCALE, PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE,
                                     PPSCHED_QUANTITY_MICROBATCH_REQUEST};
    PPI_REQUIRE_CHAIN(config, "a prefill");
    if (!config->is_forward_only)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "a prefill has forwards only; set that for the config");
    if (config->shape.slices != 1 || config->shape.iterations != 1)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "a prefill has 1 slice and 1 iteration, not %u and %u",
                        config->shape.slices, config->shape.iterations);
    if (prompt->blocks > PPSCHED_MAX_CELLS / config->shape.stages)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "%u blocks of a prefill for %u stages; give larger blocks", prompt->blocks,
                        config->shape.stages);
    if (config->values[PPSCHED_QUANTITY_OP_OVERHEAD].count > 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "op_overhead is given, but the time of a chunk would multiply it; add it to constant instead");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (config->values[others[i]].count > 0)
            return ppi_fail(error, PPSCHED_ERROR_RANGE,
                            "%s is given, but microbatches are the chunks of a prefill; leave it out",
                            ppsched_quantity_name(others[i]));
    return PPSCHED_OK;
}

static ppsched_status give_tokens(uint64_t *out, size_t capacity, const struct ppi_chosen_chunks *chosen,
                                  const struct ppi_prompt *prompt, ppsched_error *error)
{
    ppsched_status status = ppi_check_room(out, capacity, chosen->count, "chunks", error);
    for (uint32_t i = 0; status == PPSCHED_OK && out != NULL && i < chosen->count; i++)
        out[i] = ppi_prompt_tokens(prompt, chosen->ends[i]) - (i > 0 ? ppi_prompt_tokens(prompt, chosen->ends[i - 1]) : 0);
    return status;
}

ppsched_status ppsched_prefill_find_chunks(uint64_t *out, size_t capacity, size_t *needed, ppsched_prefill_figures *figures,
                                           const ppsched_prefill *prefill, const ppsched_config *config, const char *strategy,
                                           ppsched_error *error)
{
    const ppsched_prefill_figures nothing = {0};
    ppsched_prefill own;
    struct ppi_prompt prompt;
    struct ppi_chosen_chunks chosen = {0};
    uint32_t index = 0;
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(config);
    PPI_REQUIRE(strategy);
    PPI_REQUIRE(prefill);
    struct ppi_arena arena = {.host = &config->host};
    ppsched_status status = figures != NULL ? ppi_give_sized(figures, &nothing, sizeof nothing, sizeof(ppsched_prefill_figures),
                                                             "ppsched_prefill_figures", error)
                                            : PPSCHED_OK;
    if (status == PPSCHED_OK)
        status = take_prefill(&own, &prompt, prefill, error);
    if (status == PPSCHED_OK)
        status = check_config(config, &prompt, error);
    if (status == PPSCHED_OK)
        status = ppi_strategy_find(strategy, &index, error);
    if (status == PPSCHED_OK)
        status = ppi_choose_chunks(&chosen, config, ppi_strategy_at(index), &prompt, own.chunks, &arena, error);
    if (status == PPSCHED_OK)
        status = give_tokens(out, capacity, &chosen, &prompt, error);
    if (status == PPSCHED_OK && figures != NULL)
        status = ppi_give_sized(figures, &chosen.figures, sizeof chosen.figures, sizeof(ppsched_prefill_figures),
                                "ppsched_prefill_figures", error);
    ppi_arena_clear(&arena);
    return ppi_tell_needed(needed, chosen.count, status);
}

/* The time of each chunk, and its share of the tokens. */
static ppsched_status price_chunks(double *times, double *shares, const struct ppi_prompt *prompt, const uint64_t *chunks,
                                   size_t count, ppsched_error *error)
{
    uint64_t before = 0;
    for (size_t i = 0; i < count; i++) {
        if (chunks[i] == 0 || chunks[i] > prompt->tokens - before)
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "chunk %zu has %llu tokens; it must have 1 or more, all together %llu",
                            i, (unsigned long long)chunks[i], (unsigned long long)prompt->tokens);
        const double tokens = (double)chunks[i];
        shares[i] = tokens / (double)prompt->tokens;
        times[i] = prompt->constant + prompt->linear * tokens + prompt->quadratic * tokens * ((double)before + tokens / 2);
        before += chunks[i];
    }
    if (before == prompt->tokens)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "the chunks have %llu tokens, the prompt %llu", (unsigned long long)before,
                    (unsigned long long)prompt->tokens);
}

ppsched_status ppsched_prefill_create_config(ppsched_config **out, const ppsched_prefill *prefill, const ppsched_config *config,
                                             const uint64_t *chunks, size_t count, ppsched_error *error)
{
    ppsched_prefill own;
    struct ppi_prompt prompt;
    PPI_REQUIRE(out);
    PPI_REQUIRE(config);
    PPI_REQUIRE(prefill);
    PPI_REQUIRE(chunks);
    struct ppi_arena arena = {.host = &config->host};
    ppsched_status status = take_prefill(&own, &prompt, prefill, error);
    if (status == PPSCHED_OK)
        status = check_config(config, &prompt, error);
    if (status == PPSCHED_OK && (count == 0 || count > PPI_MOST_BLOCKS))
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "there are %zu chunks; there must be 1 to %d", count, PPI_MOST_BLOCKS);
    if (status != PPSCHED_OK)
        return status;
    double *times = ppi_arena_take(&arena, count, sizeof *times), *shares = ppi_arena_take(&arena, count, sizeof *shares);
    status = ppi_arena_check(&arena, "the chunks", error);
    if (status == PPSCHED_OK)
        status = price_chunks(times, shares, &prompt, chunks, count, error);
    if (status == PPSCHED_OK)
        status = ppi_config_with_chunks(out, config, times, shares, (uint32_t)count, error);
    ppi_arena_clear(&arena);
    return status;
}
