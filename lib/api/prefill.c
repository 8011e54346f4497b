/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: the chunks of prompts. */
#include <ppsched/prefill.h>

#include "api/buffer.h"
#include "api/null.h"
#include "base/arena.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/sized.h"
#include "prefill/prefill.h"

static const uint64_t MOST_TOKENS = (uint64_t)1 << 53;

static ppsched_status check_time(const char *name, double time, ppsched_error *error)
{
    if (time >= 0 && time < PPI_INFINITE)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s of the prefill is %g; it must be a finite number, 0 or more", name, time);
}

/* Tokens of one prompt, or of each of several. */
static ppsched_status check_tokens(const ppsched_prefill *own, uint64_t *blocks, uint64_t *tokens, ppsched_error *error)
{
    uint64_t sum = own->tokens;
    if (own->prompts == NULL && own->prompt_count != 0)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "prompt_count of the prefill is %zu, but prompts is NULL",
                        own->prompt_count);
    if (own->prompts == NULL && (own->tokens == 0 || own->tokens > MOST_TOKENS))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "tokens of the prefill is %llu; it must be 1 to 2^53",
                        (unsigned long long)own->tokens);
    if (own->prompts != NULL && (own->prompt_count == 0 || own->prompt_count > PPI_MOST_BLOCKS || own->tokens != 0))
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "the prefill has %zu prompt%p and %llu token%p; there must be 1 to %d prompt%p, and then tokens is 0",
                        own->prompt_count, (unsigned long long)own->tokens, PPI_MOST_BLOCKS);
    for (size_t i = 0; i < own->prompt_count; i++) {
        if (own->prompts[i] == 0 || own->prompts[i] > MOST_TOKENS - sum)
            return ppi_fail(
                error, PPSCHED_ERROR_RANGE,
                "prompt %zu of the prefill has %llu token%p; it must have 1 or more, and all prompts together at most 2^53", i,
                (unsigned long long)own->prompts[i]);
        sum += own->prompts[i];
        *blocks += own->prompts[i] / own->block + (own->prompts[i] % own->block != 0);
    }
    if (own->prompts == NULL)
        *blocks = own->tokens / own->block + (own->tokens % own->block != 0);
    *tokens = sum;
    return PPSCHED_OK;
}

static ppsched_status check_prefill_sizes(const ppsched_prefill *own, ppsched_error *error)
{
    const size_t count = own->prompts != NULL ? own->prompt_count : 1;
    uint64_t blocks = 0, tokens = 0;
    ppsched_status status = check_tokens(own, &blocks, &tokens, error);
    if (status != PPSCHED_OK)
        return status;
    if (blocks > PPI_MOST_BLOCKS)
        return ppi_fail(
            error, PPSCHED_ERROR_RANGE,
            "%llu token%p in blocks of %llu are %llu block%p; at most %d are possible, so give blocks of %llu or more",
            (unsigned long long)tokens, (unsigned long long)own->block, (unsigned long long)blocks, PPI_MOST_BLOCKS,
            (unsigned long long)(tokens / (PPI_MOST_BLOCKS + 1 - count) + 1));
    if (own->chunks > blocks || (own->chunks > 0 && own->chunks < count))
        return ppi_fail(
            error, PPSCHED_ERROR_RANGE,
            "chunks is %u, but %llu token%p in blocks of %llu make %llu block%p of %zu prompt%p; give %zu to %llu chunk%p",
            own->chunks, (unsigned long long)tokens, (unsigned long long)own->block, (unsigned long long)blocks, count, count,
            (unsigned long long)blocks);
    if (own->constant + own->linear + own->quadratic > 0)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "chunks of the prefill take no time; give constant, linear or quadratic");
}

static ppsched_status take_prefill(ppsched_prefill *own, struct ppi_prompts *prompts, const ppsched_prefill *given,
                                   struct ppi_arena *arena, ppsched_error *error)
{
    ppsched_status status = ppi_take_sized(own, sizeof *own, PPI_SIZE_UP_TO(ppsched_prefill, quadratic), given,
                                           "ppsched_prefill", error);
    if (status != PPSCHED_OK)
        return status;
    own->block = own->block != 0 ? own->block : 1;
    status = check_time("constant", own->constant, error);
    if (status == PPSCHED_OK)
        status = check_time("linear", own->linear, error);
    if (status == PPSCHED_OK)
        status = check_time("quadratic", own->quadratic, error);
    if (status == PPSCHED_OK)
        status = check_prefill_sizes(own, error);
    if (status != PPSCHED_OK)
        return status;
    *prompts = (struct ppi_prompts){.constant = own->constant, .linear = own->linear, .quadratic = own->quadratic};
    status = ppi_prompts_make(prompts, own->prompts != NULL ? own->prompts : &own->tokens,
                              own->prompts != NULL ? (uint32_t)own->prompt_count : 1, own->block, arena, error);
    if (status != PPSCHED_OK || (ppi_prompt_work(prompts) + prompts->constant) < 1e300)
        return status;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "the prefill takes more than 1e300; give smaller times");
}

static ppsched_status check_prefill_config(const ppsched_config *config, const struct ppi_prompts *prompts,
                                           ppsched_error *error)
{
    static const int32_t others[] = {PPSCHED_QUANTITY_MICROBATCH_SCALE, PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE,
                                     PPSCHED_QUANTITY_MICROBATCH_REQUEST},
                         overheads[] = {PPSCHED_QUANTITY_OP_OVERHEAD, PPSCHED_QUANTITY_DEVICE_OVERHEAD};
    PPI_REQUIRE_CHAIN(config, "a prefill");
    if (!config->is_forward_only)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "a prefill has forwards only; set that for the config");
    if (config->shape.slices != 1 || config->shape.iterations != 1)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "a prefill has 1 slice and 1 iteration, not %u and %u",
                        config->shape.slices, config->shape.iterations);
    if (prompts->blocks > PPSCHED_MAX_CELLS / config->shape.stages)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "%u block%p of a prefill for %u stage%p; give larger blocks",
                        prompts->blocks, config->shape.stages);
    for (size_t i = 0; i < sizeof overheads / sizeof *overheads; i++)
        if (config->values[overheads[i]].count > 0)
            return ppi_fail(error, PPSCHED_ERROR_RANGE,
                            "%s is given, but the time of a chunk would multiply it; add it to constant instead",
                            ppsched_quantity_name(overheads[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (config->values[others[i]].count > 0)
            return ppi_fail(error, PPSCHED_ERROR_RANGE,
                            "%s is given, but microbatches are the chunks of a prefill; leave it out",
                            ppsched_quantity_name(others[i]));
    return PPSCHED_OK;
}

static ppsched_status give_tokens(uint64_t *out, size_t capacity, const struct ppi_chosen_chunks *chosen,
                                  const struct ppi_prompts *prompts, ppsched_error *error)
{
    ppsched_status status = ppi_check_room(out, capacity, chosen->count, "chunks", error);
    for (uint32_t i = 0; status == PPSCHED_OK && out != NULL && i < chosen->count; i++)
        out[i] = prompts->tokens[chosen->ends[i]] - (i > 0 ? prompts->tokens[chosen->ends[i - 1]] : 0);
    return status;
}

ppsched_status ppsched_prefill_find_chunks(uint64_t *out, size_t capacity, size_t *needed, ppsched_prefill_figures *figures,
                                           const ppsched_prefill *prefill, const ppsched_config *config, const char *strategy,
                                           ppsched_error *error)
{
    const ppsched_prefill_figures nothing = {0};
    ppsched_prefill own;
    struct ppi_prompts prompts;
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
        status = take_prefill(&own, &prompts, prefill, &arena, error);
    if (status == PPSCHED_OK)
        status = check_prefill_config(config, &prompts, error);
    if (status == PPSCHED_OK)
        status = ppi_strategy_find(strategy, &index, error);
    if (status == PPSCHED_OK)
        status = ppi_choose_chunks(&chosen, config, ppi_strategy_at(index), &prompts, own.chunks, &arena, error);
    if (status == PPSCHED_OK)
        status = give_tokens(out, capacity, &chosen, &prompts, error);
    if (status == PPSCHED_OK && figures != NULL)
        status = ppi_give_sized(figures, &chosen.figures, sizeof chosen.figures, sizeof(ppsched_prefill_figures),
                                "ppsched_prefill_figures", error);
    ppi_arena_clear(&arena);
    return ppi_tell_needed(needed, chosen.count, status);
}

/* What the chunks of a config are: their factors on times and memory, and their requests; by chunk. */
struct priced {
    double *times, *shares, *requests;
};

/* Prices the chunks of a prompt from chunk `*at` on. */
static ppsched_status price_prompt(struct priced *out, const struct ppi_prompts *prompts, uint32_t prompt,
                                   const uint64_t *chunks, size_t count, size_t *at, ppsched_error *error)
{
    const uint64_t tokens = prompts->tokens[prompts->begin[prompt + 1]] - prompts->tokens[prompts->begin[prompt]];
    uint64_t before = 0;
    for (; *at < count && before < tokens; ++*at) {
        const uint64_t own = chunks[*at];
        if (own == 0 || own > tokens - before)
            return ppi_fail(error, PPSCHED_ERROR_RANGE,
                            "chunk %zu has %llu token%p; it must have 1 or more, and all chunks of prompt %u together %llu",
                            *at, (unsigned long long)own, prompt, (unsigned long long)tokens);
        out->requests[*at] = prompt;
        out->shares[*at] = (double)own / (double)ppi_tokens_of_all(prompts);
        out->times[*at] = prompts->constant + prompts->linear * (double)own +
                          prompts->quadratic * (double)own * ((double)before + (double)own / 2);
        before += own;
    }
    if (before == tokens)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "the chunks of prompt %u have %llu token%p, the prompt %llu", prompt,
                    (unsigned long long)before, (unsigned long long)tokens);
}

static ppsched_status price_chunks(struct priced *out, const struct ppi_prompts *prompts, const uint64_t *chunks, size_t count,
                                   ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    size_t at = 0;
    for (uint32_t i = 0; i < prompts->count && status == PPSCHED_OK; i++)
        status = price_prompt(out, prompts, i, chunks, count, &at, error);
    if (status != PPSCHED_OK || at == count)
        return status;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "chunk %zu is after the end of the last prompt; leave it out", at);
}

ppsched_status ppsched_prefill_create_config(ppsched_config **out, const ppsched_prefill *prefill, const ppsched_config *config,
                                             const uint64_t *chunks, size_t count, ppsched_error *error)
{
    ppsched_prefill own;
    struct ppi_prompts prompts;
    PPI_REQUIRE(out);
    PPI_REQUIRE(config);
    PPI_REQUIRE(prefill);
    PPI_REQUIRE(chunks);
    struct ppi_arena arena = {.host = &config->host};
    struct priced priced = {0};
    ppsched_status status = take_prefill(&own, &prompts, prefill, &arena, error);
    if (status == PPSCHED_OK)
        status = check_prefill_config(config, &prompts, error);
    if (status == PPSCHED_OK && (count == 0 || count > PPI_MOST_BLOCKS))
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "there are %zu chunk%p; there must be 1 to %d", count, PPI_MOST_BLOCKS);
    if (status == PPSCHED_OK) {
        priced.times = ppi_arena_take(&arena, count, sizeof *priced.times);
        priced.shares = ppi_arena_take(&arena, count, sizeof *priced.shares);
        priced.requests = ppi_arena_take(&arena, count, sizeof *priced.requests);
        status = ppi_arena_check(&arena, "the chunks", error);
    }
    if (status == PPSCHED_OK)
        status = price_chunks(&priced, &prompts, chunks, count, error);
    if (status == PPSCHED_OK)
        status = ppi_config_with_chunks(out, config, priced.times, priced.shares, prompts.count > 1 ? priced.requests : NULL,
                                        (uint32_t)count, error);
    ppi_arena_clear(&arena);
    return status;
}
