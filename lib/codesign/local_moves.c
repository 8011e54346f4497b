/* SPDX-License-Identifier: Apache-2.0 */
/* Splits that are priced one by one: those near the best. */
#include "base/checked.h"
#include "base/error.h"
#include "codesign/codesign.h"

static ppsched_status poll(const struct ppi_codesign *codesign, ppsched_error *error)
{
    const ppsched_progress part = {.size = sizeof part, .share = codesign->to, .best = codesign->time};
    if (codesign->progress == NULL || codesign->progress(codesign->user, &part) == 0)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_CANCELLED, "the plan was cancelled");
}

ppsched_status ppi_codesign_ask(bool *better, struct ppi_codesign *codesign, ppi_codesign_price price, ppsched_error *error)
{
    ppsched_status status = poll(codesign, error);
    *better = false;
    if (status == PPSCHED_OK)
        status = price(better, codesign, error);
    return status == PPSCHED_ERROR_REFUSED ? PPSCHED_OK : status;
}

/* --- from the best one on --- */

/* Moves the border behind a stage by what must stay together; false where a stage would be without layers that may not be. */
static bool move_border(const struct ppi_codesign *codesign, uint32_t stage, bool forward)
{
    const ppsched_layers *all = codesign->plan->layers;
    uint32_t *layers = codesign->candidate->layers, moved = 1, border = 0;
    uint32_t giver = forward ? stage + 1 : stage, taker = forward ? stage : stage + 1;
    bool may_be_empty = codesign->plan->may_be_empty && giver > 0 && giver + 1 < codesign->candidate->stages;
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
static bool move_block(const struct ppi_codesign *codesign, uint32_t from, uint32_t to)
{
    bool moves = true;
    for (uint32_t s = from; s < to && moves; s++)
        moves = move_border(codesign, s, false);
    for (uint32_t s = from; s > to && moves; s--)
        moves = move_border(codesign, s - 1, true);
    return moves;
}

/* Of a way: stages that are so far apart, the first of them first, and back. */
static ppsched_status try_path(bool *better, struct ppi_codesign *codesign, ppi_codesign_price price, uint32_t path,
                               uint32_t reach, uint64_t *tries, ppsched_error *error)
{
    const uint32_t low = path / 2, high = low + reach;
    *better = false;
    ppi_codesign_go_back(codesign);
    if (!move_block(codesign, path % 2 == 0 ? high : low, path % 2 == 0 ? low : high))
        return PPSCHED_OK;
    --*tries;
    return ppi_codesign_ask(better, codesign, price, error);
}

/* Between neighbours, and the same again, as long as that is better; then between stages ever farther apart, until one is;
 * while there are tries left, and visits for the ways, most of which may lead nowhere. */
ppsched_status ppi_codesign_move_blocks(bool *better, struct ppi_codesign *codesign, ppi_codesign_price price, uint64_t *tries,
                                        ppsched_error *error)
{
    const uint32_t stages = codesign->candidate->stages;
    uint64_t left = codesign->plan->most_visited;
    ppsched_status status = PPSCHED_OK;
    *better = false;
    for (uint32_t reach = 1; reach < stages; reach++) {
        const uint32_t paths = 2 * (stages - reach);
        const uint64_t a_path = codesign->plan->layers->count + (uint64_t)reach * stages;
        bool is_better = false, any = false;
        for (uint32_t i = 0, idle = 0; *tries > 0 && idle < paths && left >= a_path && status == PPSCHED_OK;
             i = (i + 1) % paths) {
            left -= a_path;
            status = try_path(&is_better, codesign, price, i, reach, tries, error);
            any |= is_better;
            idle = is_better ? 0 : idle + 1;
        }
        *better |= any;
        if (status != PPSCHED_OK || *tries == 0 || left < a_path)
            return status;
        reach = any && reach > 1 ? 0 : reach;
    }
    return status;
}

/* --- what is recomputed --- */

/* Whether a layer of the best split is like the one before it: one more or one less of them is all there is to tell. `begin`:
 * the first of its stage. */
static bool is_like_last(const struct ppi_codesign *codesign, uint32_t layer, uint32_t begin)
{
    const uint16_t *entry_of = codesign->plan->layers->entry_of;
    return layer > begin && entry_of[layer] == entry_of[layer - 1] &&
           codesign->recomputes[layer] == codesign->recomputes[layer - 1];
}

/* The layer with each other kind of its own, or none. */
static ppsched_status change_kind(bool *better, struct ppi_codesign *codesign, ppi_codesign_price price, uint32_t layer,
                                  uint64_t *tries, ppsched_error *error)
{
    const uint32_t kinds = ppi_layer_at(codesign->plan->layers, layer)->given.recompute_count;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t k = 0; k <= kinds && *tries > 0 && status == PPSCHED_OK; k++) {
        bool is_better = false;
        if (codesign->recomputes[layer] == k)
            continue;
        ppi_codesign_go_back(codesign);
        codesign->candidate->recomputes[layer] = (uint8_t)k;
        --*tries;
        status = ppi_codesign_ask(&is_better, codesign, price, error);
        *better |= is_better;
    }
    return status;
}

ppsched_status ppi_codesign_change_kinds(bool *better, struct ppi_codesign *codesign, ppi_codesign_price price, uint64_t *tries,
                                         ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    *better = false;
    for (uint32_t s = 0, begin = 0, layer = 0; s < codesign->candidate->stages; s++, begin = layer)
        for (const uint32_t end = begin + codesign->layers[s]; *tries > 0 && layer < end && status == PPSCHED_OK; layer++)
            if (!is_like_last(codesign, layer, begin))
                status = change_kind(better, codesign, price, layer, tries, error);
    return status;
}
