/* SPDX-License-Identifier: Apache-2.0 */
/* Local search over splits that are priced one by one with their own orders: moves blocks between stages, and changes
 * recompute kinds of layers. */
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

/* --- moves from the best split --- */

/* Moves the border after a stage by one block; false where a stage would become empty that may not be. */
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

/* Moves a block from one stage to another: all borders in between move by one block. */
static bool move_block(const struct ppi_codesign *codesign, uint32_t from, uint32_t to)
{
    bool moves = true;
    for (uint32_t s = from; s < to && moves; s++)
        moves = move_border(codesign, s, false);
    for (uint32_t s = from; s > to && moves; s--)
        moves = move_border(codesign, s - 1, true);
    return moves;
}

/* Tries move number `move` between stages that are `reach` apart: even numbers move a block backwards, odd ones forwards. */
static ppsched_status try_move(bool *better, struct ppi_codesign *codesign, ppi_codesign_price price, uint32_t move,
                               uint32_t reach, uint64_t *tries, ppsched_error *error)
{
    const uint32_t low = move / 2, high = low + reach;
    *better = false;
    ppi_codesign_go_back(codesign);
    if (!move_block(codesign, move % 2 == 0 ? high : low, move % 2 == 0 ? low : high))
        return PPSCHED_OK;
    --*tries;
    return ppi_codesign_ask(better, codesign, price, error);
}

/* Moves between neighbours while that helps; then between stages farther and farther apart, until a move helps, and again
 * between neighbours; while tries are left, and visits for making the moves, of which most may be impossible. */
ppsched_status ppi_codesign_move_blocks(bool *better, struct ppi_codesign *codesign, ppi_codesign_price price, uint64_t *tries,
                                        ppsched_error *error)
{
    const uint32_t stages = codesign->candidate->stages;
    uint64_t left = codesign->plan->most_visited;
    ppsched_status status = PPSCHED_OK;
    *better = false;
    for (uint32_t reach = 1; reach < stages; reach++) {
        const uint32_t moves = 2 * (stages - reach);
        const uint64_t a_move = codesign->plan->layers->count + (uint64_t)reach * stages;
        bool is_better = false, any = false;
        for (uint32_t i = 0, idle = 0; *tries > 0 && idle < moves && left >= a_move && status == PPSCHED_OK;
             i = (i + 1) % moves) {
            left -= a_move;
            status = try_move(&is_better, codesign, price, i, reach, tries, error);
            any |= is_better;
            idle = is_better ? 0 : idle + 1;
        }
        *better |= any;
        if (status != PPSCHED_OK || *tries == 0 || left < a_move)
            return status;
        reach = any && reach > 1 ? 0 : reach;
    }
    return status;
}

/* --- what is recomputed --- */

/* Whether a layer of the best split is identical to the one before it in its stage, which begins at `begin`: only the number
 * of such layers matters. */
static bool is_like_last(const struct ppi_codesign *codesign, uint32_t layer, uint32_t begin)
{
    const uint16_t *entry_of = codesign->plan->layers->entry_of;
    return layer > begin && entry_of[layer] == entry_of[layer - 1] &&
           codesign->recomputes[layer] == codesign->recomputes[layer - 1];
}

/* Tries each other recompute kind of a layer, or none. */
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
