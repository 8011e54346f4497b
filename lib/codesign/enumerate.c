/* SPDX-License-Identifier: Apache-2.0 */
/* All splits where there are few, as combinations of borders in lexicographic order, and all recompute choices where these are
 * few too. */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "codesign/codesign.h"

/* --- numbers --- */

/* The number of combinations, as a double. */
static double binomial(uint32_t all, uint32_t chosen)
{
    double count = 1;
    for (uint32_t i = 0; i < chosen && count < PPSCHED_NONE; i++)
        count = count * (all - i) / (i + 1);
    return count;
}

double ppi_codesign_count_splits(const struct ppi_codesign *codesign)
{
    const uint32_t stages = codesign->candidate->stages, blocks = ppi_count_blocks(codesign->plan->layers);
    const uint32_t empty = codesign->plan->may_be_empty && stages > 2 ? stages - 2 : 0;
    return ppi_candidate_is_even(codesign->plan, codesign->candidate) ? 1 : binomial(blocks - 1 + empty, stages - 1);
}

double ppi_codesign_count_kinds(const struct ppi_codesign *codesign)
{
    const ppsched_layers *layers = codesign->plan->layers;
    double choices = 1;
    for (uint32_t e = 0; e < layers->entry_count; e++) {
        const ppsched_layer *layer = &layers->entries[e].given;
        const uint32_t kinds = layer->recompute_count, stages = codesign->candidate->stages;
        const uint32_t parts = layer->count < stages ? layer->count : stages;
        const double of_part = binomial((layer->count + parts - 1) / parts + kinds, kinds);
        for (uint32_t p = 0; p < parts && choices < PPSCHED_NONE; p++)
            choices *= of_part;
    }
    return choices;
}

/* --- borders --- */

/* The borders between stages: `borders[i]` is the first block of stage i + 1; `begins`: the blocks' first layers. */
struct borders {
    uint32_t *borders, *begins;
    uint32_t count, blocks, apart; /* least distance of borders; 0: stages in between may be empty */
};

static ppsched_status make_borders(struct borders *out, const struct ppi_codesign *codesign, ppsched_error *error)
{
    const ppsched_layers *layers = codesign->plan->layers;
    const struct ppi_host *host = &codesign->plan->host;
    *out = (struct borders){.count = codesign->candidate->stages - 1,
                            .blocks = ppi_count_blocks(layers),
                            .apart = codesign->plan->may_be_empty ? 0 : 1};
    out->borders = ppi_allocate(host, out->count + 1u, sizeof *out->borders);
    out->begins = ppi_allocate(host, out->blocks + 1u, sizeof *out->begins);
    if (out->borders == NULL || out->begins == NULL)
        return ppi_fail_memory(error, "the splits");
    for (uint32_t i = 0; i < out->count; i++)
        out->borders[i] = 1 + i * out->apart;
    for (uint32_t i = 0, block = 0; i < layers->count; i++)
        if (i == 0 || layers->is_cut[i])
            out->begins[block++] = i;
    out->begins[out->blocks] = layers->count;
    return PPSCHED_OK;
}

static void put_at_hand(const struct ppi_codesign *codesign, const struct borders *all)
{
    for (uint32_t s = 0; s <= all->count; s++) {
        uint32_t first = s > 0 ? all->borders[s - 1] : 0, end = s < all->count ? all->borders[s] : all->blocks;
        codesign->candidate->layers[s] = all->begins[end] - all->begins[first];
    }
}

/* The next combination: the last border that can moves by one, and those after it move back next to it. */
static bool go_on(struct borders *all)
{
    uint32_t i = all->count;
    while (i > 0 && all->borders[i - 1] + 1 + (all->count - i) * all->apart >= all->blocks)
        i--;
    if (i == 0)
        return false;
    all->borders[i - 1]++;
    for (; i < all->count; i++)
        all->borders[i] = all->borders[i - 1] + all->apart;
    return true;
}

/* --- what is recomputed --- */

/* The next choice: the last layer that can gets its next kind, and those after it none. Of identical layers in a stage none
 * has a later kind than the one before it. */
static bool go_on_with_kinds(const struct ppi_codesign *codesign)
{
    const ppsched_layers *layers = codesign->plan->layers;
    uint8_t *kinds = codesign->candidate->recomputes;
    for (uint32_t s = codesign->candidate->stages, i = layers->count; s-- > 0;)
        for (uint32_t left = codesign->candidate->layers[s]; left > 0; left--) {
            i--;
            const bool is_like_last = left > 1 && layers->entry_of[i] == layers->entry_of[i - 1];
            if (kinds[i] < (is_like_last ? kinds[i - 1] : ppi_layer_at(layers, i)->given.recompute_count)) {
                kinds[i]++;
                memset(kinds + i + 1, 0, layers->count - i - 1);
                return true;
            }
        }
    return false;
}

ppsched_status ppi_codesign_price_all_kinds(bool *better, struct ppi_codesign *codesign, ppi_codesign_price price,
                                            ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    *better = false;
    memset(codesign->candidate->recomputes, 0, codesign->plan->layers->count);
    do {
        bool is_better;
        status = ppi_codesign_ask(&is_better, codesign, price, error);
        *better |= is_better;
    } while (status == PPSCHED_OK && go_on_with_kinds(codesign));
    return status;
}

/* --- all splits --- */

ppsched_status ppi_codesign_try_all(struct ppi_codesign *codesign, ppi_codesign_price price, ppsched_error *error)
{
    struct borders all;
    bool better;
    if (ppi_candidate_is_even(codesign->plan, codesign->candidate))
        return ppi_codesign_ask(&better, codesign, price, error);
    ppsched_status status = make_borders(&all, codesign, error);
    if (status == PPSCHED_OK)
        do {
            put_at_hand(codesign, &all);
            status = ppi_codesign_ask(&better, codesign, price, error);
        } while (status == PPSCHED_OK && go_on(&all));
    ppi_release(&codesign->plan->host, all.borders);
    ppi_release(&codesign->plan->host, all.begins);
    return status;
}
