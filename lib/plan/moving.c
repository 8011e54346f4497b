/* SPDX-License-Identifier: Apache-2.0 */
/* Splits that are priced one by one: those near the best, and all of them where they are few. */
#include "base/checked.h"
#include "base/error.h"
#include "plan/layering.h"

static ppsched_status poll(const struct ppi_layering *layering, ppsched_error *error)
{
    const ppsched_progress part = {.size = sizeof part, .share = layering->to, .best = layering->time};
    if (layering->progress == NULL || layering->progress(layering->user, &part) == 0)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_CANCELLED, "the plan was cancelled");
}

/* Whether the split at hand is better than the best, of which it then takes the place. */
static ppsched_status ask(bool *better, struct ppi_layering *layering, ppi_layering_price price, ppsched_error *error)
{
    ppsched_status status = poll(layering, error);
    *better = false;
    if (status == PPSCHED_OK)
        status = price(better, layering, error);
    return status == PPSCHED_ERROR_REFUSED ? PPSCHED_OK : status;
}

/* --- from the best one on --- */

/* Moves the border behind a stage by what must stay together; false where a stage would be without layers that may not be. */
static bool move_border(const struct ppi_layering *layering, uint32_t stage, bool forward)
{
    const ppsched_layers *all = layering->plan->layers;
    uint32_t *layers = layering->candidate->layers, moved = 1, border = 0;
    uint32_t giver = forward ? stage + 1 : stage, taker = forward ? stage : stage + 1;
    bool may_be_empty = layering->plan->may_be_empty && giver > 0 && giver + 1 < layering->candidate->stages;
    for (uint32_t s = 0; s <= stage; s++)
        border += layers[s];
    while (moved < layers[giver] && !all->is_cut[forward ? border + moved : border - moved])
        moved++;
    if (moved > layers[giver] || (moved == layers[giver] && !may_be_empty))
        return false;
    layers[giver] -= moved;
    layers[taker] += moved;
    return true;
}

/* Moves what must stay together from one stage to another: all borders between them by as much. */
static bool move_block(const struct ppi_layering *layering, uint32_t from, uint32_t to)
{
    bool moves = true;
    for (uint32_t s = from; s < to && moves; s++)
        moves = move_border(layering, s, false);
    for (uint32_t s = from; s > to && moves; s--)
        moves = move_border(layering, s - 1, true);
    return moves;
}

/* Of a way: stages that are so far apart, the first of them first, and back. */
static ppsched_status try_way(bool *better, struct ppi_layering *layering, ppi_layering_price price, uint32_t way,
                              uint32_t reach, uint64_t *tries, ppsched_error *error)
{
    const uint32_t low = way / 2, high = low + reach;
    *better = false;
    ppi_layering_go_back(layering);
    if (!move_block(layering, way % 2 == 0 ? high : low, way % 2 == 0 ? low : high))
        return PPSCHED_OK;
    --*tries;
    return ask(better, layering, price, error);
}

/* Between neighbours, and the same again, as long as that is better; then between stages ever farther apart, until one is;
 * while there are tries left, and visits for the ways, most of which may lead nowhere. */
ppsched_status ppi_layering_move_blocks(struct ppi_layering *layering, ppi_layering_price price, uint64_t tries,
                                        ppsched_error *error)
{
    const uint32_t stages = layering->candidate->stages;
    uint64_t left = layering->plan->most_visited;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t reach = 1; reach < stages; reach++) {
        const uint32_t ways = 2 * (stages - reach);
        const uint64_t a_way = layering->plan->layers->count + (uint64_t)reach * stages;
        bool better = false, any = false;
        for (uint32_t i = 0, idle = 0; idle < ways && tries > 0 && left >= a_way && status == PPSCHED_OK; i = (i + 1) % ways) {
            left -= a_way;
            status = try_way(&better, layering, price, i, reach, &tries, error);
            any |= better;
            idle = better ? 0 : idle + 1;
        }
        if (status != PPSCHED_OK || tries == 0 || left < a_way)
            return status;
        reach = any && reach > 1 ? 0 : reach;
    }
    return status;
}

/* --- all of them --- */

double ppi_layering_count_splits(const struct ppi_layering *layering)
{
    const uint32_t stages = layering->candidate->stages, blocks = ppi_count_blocks(layering->plan->layers);
    const uint32_t places = layering->plan->may_be_empty && stages > 2 ? blocks - 1 + stages - 2 : blocks - 1;
    double count = 1;
    if (ppi_candidate_is_even(layering->plan, layering->candidate))
        return 1;
    for (uint32_t i = 0; i + 1 < stages && count < PPSCHED_NONE; i++)
        count = count * (places - i) / (i + 1);
    return count;
}

/* All borders between stages: `borders[i]` is the block that stage i + 1 begins with, `begins` the first layer of each block. */
struct borders {
    uint32_t *borders, *begins;
    uint32_t count, blocks, apart; /* 0: they may be the same, and the stage between them empty */
};

static ppsched_status make_borders(struct borders *out, const struct ppi_layering *layering, ppsched_error *error)
{
    const ppsched_layers *layers = layering->plan->layers;
    const struct ppi_host *host = &layering->plan->host;
    *out = (struct borders){.count = layering->candidate->stages - 1,
                            .blocks = ppi_count_blocks(layers),
                            .apart = layering->plan->may_be_empty ? 0 : 1};
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

static void put_at_hand(const struct ppi_layering *layering, const struct borders *all)
{
    for (uint32_t s = 0; s <= all->count; s++) {
        uint32_t first = s > 0 ? all->borders[s - 1] : 0, end = s < all->count ? all->borders[s] : all->blocks;
        layering->candidate->layers[s] = all->begins[end] - all->begins[first];
    }
}

/* The last border that can goes on by one, with those behind it as near as they may be. */
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

ppsched_status ppi_layering_try_all(struct ppi_layering *layering, ppi_layering_price price, ppsched_error *error)
{
    struct borders all;
    bool better;
    ppsched_status status = make_borders(&all, layering, error);
    if (status == PPSCHED_OK)
        do {
            put_at_hand(layering, &all);
            status = ask(&better, layering, price, error);
        } while (status == PPSCHED_OK && go_on(&all));
    ppi_release(&layering->plan->host, all.borders);
    ppi_release(&layering->plan->host, all.begins);
    return status;
}
