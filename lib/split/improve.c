/* SPDX-License-Identifier: Apache-2.0 */
/* Better splits by moving blocks from stage to stage. How often a stage's ops are on a longest way tells what a move would be
 * worth if no other way became longest; the most promising are priced. Where none helps, some moves at random lead away from
 * there, and the search begins again. */
#include <string.h>

#include "base/checked.h"
#include "split/splitting.h"

enum { KINDS = PPI_COMPUTE_KINDS - 1, TRIED = 16, MOST_GIVERS = 64, MOST_KICKS = 400 };

struct move {
    double worth; /* change of the time, as far as the longest way tells */
    uint32_t from, to;
};

struct improving {
    struct ppi_splitting *splitting;
    double *right, *left; /* of each stage: worth of a block that moves there from stage 0, and from there to stage 0 */
    struct move moves[TRIED];
    uint32_t count;
    uint64_t random;
};

static uint32_t random_below(struct improving *improving, uint32_t limit)
{
    improving->random = improving->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((improving->random >> 33) * limit >> 31);
}

/* What a block's time costs in a stage. */
static double worth_of(const struct ppi_splitting *splitting, uint32_t block, uint32_t stage)
{
    static const int costs[KINDS] = {PPI_LAYER_FORWARD, PPI_LAYER_BACKWARD, PPI_LAYER_INPUT, PPI_LAYER_WEIGHT};
    const double *weight = &splitting->state.weight[(size_t)stage * KINDS];
    double worth = 0;
    for (int k = 0; k < KINDS; k++) {
        const double *sums = splitting->state.sums[costs[k]];
        worth += weight[k] * (sums[splitting->cut[block + 1]] - sums[splitting->cut[block]]);
    }
    return worth;
}

static bool may_give(const struct ppi_splitting *splitting, uint32_t stage)
{
    return splitting->at[stage + 1] - splitting->at[stage] > ppi_split_least(splitting, stage);
}

/* Sums over borders, so that any move is the difference of two of them. */
static void sum_worth(struct improving *improving)
{
    const struct ppi_splitting *splitting = improving->splitting;
    improving->right[0] = improving->left[0] = 0;
    for (uint32_t s = 1; s < splitting->state.stages; s++) {
        uint32_t border = splitting->at[s];
        uint32_t before = border > 0 ? border - 1 : 0, behind = border < splitting->blocks ? border : border - 1;
        improving->right[s] = improving->right[s - 1] + worth_of(splitting, before, s) - worth_of(splitting, before, s - 1);
        improving->left[s] = improving->left[s - 1] + worth_of(splitting, behind, s - 1) - worth_of(splitting, behind, s);
    }
}

/* Keeps the best few, the best first. */
static void offer(struct improving *improving, struct move move)
{
    uint32_t i = improving->count;
    if (i == TRIED && improving->moves[TRIED - 1].worth <= move.worth)
        return;
    i -= i == TRIED;
    for (; i > 0 && improving->moves[i - 1].worth > move.worth; i--)
        improving->moves[i] = improving->moves[i - 1];
    improving->moves[i] = move;
    improving->count += improving->count < TRIED;
}

static void offer_all(struct improving *improving, uint32_t from)
{
    const struct ppi_splitting *splitting = improving->splitting;
    for (uint32_t to = 0; to < splitting->state.stages; to++)
        if (to > from)
            offer(improving, (struct move){improving->right[to] - improving->right[from], from, to});
        else if (to < from)
            offer(improving, (struct move){improving->left[from] - improving->left[to], from, to});
}

/* Of very many stages some are looked at as givers, others the next time. */
static void find_moves(struct improving *improving)
{
    const struct ppi_splitting *splitting = improving->splitting;
    uint32_t stages = splitting->state.stages;
    improving->count = 0;
    sum_worth(improving);
    if (stages <= MOST_GIVERS) {
        for (uint32_t from = 0; from < stages; from++)
            if (may_give(splitting, from))
                offer_all(improving, from);
        return;
    }
    for (int i = 0; i < MOST_GIVERS; i++) {
        uint32_t from = random_below(improving, stages);
        if (may_give(splitting, from))
            offer_all(improving, from);
    }
}

static bool goes_on(const struct improving *improving)
{
    return improving->splitting->state.visited < improving->splitting->most_visited;
}

/* Tries the moves that promise most, until one is better. */
static ppsched_status try_moves(struct improving *improving, bool *better, ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    ppsched_status status = PPSCHED_OK;
    *better = false;
    for (uint32_t i = 0; i < improving->count && !*better && goes_on(improving) && status == PPSCHED_OK; i++) {
        const struct move *move = &improving->moves[i];
        ppi_split_move(splitting->at, move->from, move->to);
        status = ppi_splitting_try(splitting, better, error);
        if (!*better)
            ppi_split_move(splitting->at, move->to, move->from);
    }
    return status;
}

/* To a split that no move of those tried makes better. */
static ppsched_status descend(struct improving *improving, ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    bool better = true;
    ppsched_status status = PPSCHED_OK;
    while (better && goes_on(improving) && status == PPSCHED_OK) {
        ppi_split_state_weigh(&splitting->state, &splitting->now);
        ppi_splitting_keep_better(splitting);
        find_moves(improving);
        status = try_moves(improving, &better, error);
    }
    return status;
}

/* Moves some blocks, from wherever there are any. */
static void kick(struct improving *improving, uint32_t moves)
{
    struct ppi_splitting *splitting = improving->splitting;
    uint32_t stages = splitting->state.stages;
    ppi_splitting_go_back(splitting);
    for (uint32_t i = 0; i < moves; i++) {
        uint32_t from = random_below(improving, stages), to = random_below(improving, stages);
        if (from != to && may_give(splitting, from))
            ppi_split_move(splitting->at, from, to);
    }
}

/* From a split beside the best one down again. */
static ppsched_status start_again(struct improving *improving, uint32_t moves, ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    bool better;
    kick(improving, moves);
    splitting->now = (struct ppi_split_price)PPI_NO_SPLIT;
    ppsched_status status = ppi_splitting_try(splitting, &better, error);
    return status == PPSCHED_OK ? descend(improving, error) : status;
}

ppsched_status ppi_split_improve(struct ppi_splitting *splitting, ppsched_error *error)
{
    struct improving improving = {.splitting = splitting, .random = 1};
    uint32_t stages = splitting->state.stages;
    improving.right = ppi_room_take(splitting->state.room, stages, sizeof *improving.right);
    improving.left = ppi_room_take(splitting->state.room, stages, sizeof *improving.left);
    ppsched_status status = ppi_room_check(splitting->state.room, "the split", error);
    if (stages == 1)
        return status;
    if (status == PPSCHED_OK)
        status = descend(&improving, error);
    for (uint32_t i = 0; i < MOST_KICKS && goes_on(&improving) && status == PPSCHED_OK; i++)
        status = start_again(&improving, 2 + i % 3, error);
    return status;
}
