/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates every move of one block by the criticality of the stages for its time, and by the fullest held set for its memory;
 * the best are kept in a sorted list. Repair uses the same list with memory first. */
#include "split/promising_moves.h"

#include "base/checked.h"

/* MOST_MENDED: stages up to which splits are repaired, as each step tries all pairs of stages. IDLE: moves without gain before
 * the list is made again. Measured: docs/performance.md. */
enum { MOST_MENDED = 256, IDLE = 16 };

ppsched_status ppi_split_moves_open(struct ppi_split_moves *out, const struct ppi_splitting *splitting, ppsched_error *error)
{
    const struct ppi_split_state *state = &splitting->state;
    *out = (struct ppi_split_moves){.splitting = splitting};
    out->right = ppi_arena_take_zeroed(state->arena, state->stages, sizeof *out->right);
    out->left = ppi_arena_take_zeroed(state->arena, state->stages, sizeof *out->left);
    out->passes = ppi_arena_take_zeroed(state->arena, state->stages, sizeof *out->passes);
    out->whole_passes = ppi_arena_take_zeroed(state->arena, state->stages, sizeof *out->whole_passes);
    out->share = ppi_arena_take_zeroed(state->arena, state->stages, sizeof *out->share);
    out->slack = ppi_arena_take_zeroed(state->arena, state->schedule->shape.devices, sizeof *out->slack);
    for (int right = 0; right < 2; right++) {
        out->gives[right] = ppi_arena_take_zeroed(state->arena, state->stages, sizeof **out->gives);
        out->takes[right] = ppi_arena_take_zeroed(state->arena, state->stages, sizeof **out->takes);
    }
    return ppi_arena_check(state->arena, "the split", error);
}

/* --- time --- */

/* The cost of a block's time in a stage: its time on the critical path. */
static double worth_of(const struct ppi_splitting *splitting, uint32_t block, uint32_t stage)
{
    static const int costs[PPI_WALK_KINDS] = {PPI_LAYER_FORWARD, PPI_LAYER_BACKWARD, PPI_LAYER_INPUT, PPI_LAYER_WEIGHT};
    const double *weight = &splitting->state.weight[(size_t)stage * PPI_WALK_KINDS];
    double worth = 0;
    for (int k = 0; k < PPI_WALK_KINDS; k++) {
        const double *sums = splitting->state.sums[costs[k]];
        worth += weight[k] * (sums[splitting->cut[block + 1]] - sums[splitting->cut[block]]);
    }
    return worth;
}

/* Prefix sums over borders, so that any move is a difference of two. */
static void sum_worth(struct ppi_split_moves *moves)
{
    const struct ppi_splitting *splitting = moves->splitting;
    for (uint32_t s = 1; s < splitting->state.stages; s++) {
        uint32_t border = splitting->at[s];
        uint32_t before = border > 0 ? border - 1 : 0, behind = border < splitting->blocks ? border : border - 1;
        moves->right[s] = moves->right[s - 1] + worth_of(splitting, before, s) - worth_of(splitting, before, s - 1);
        moves->left[s] = moves->left[s - 1] + worth_of(splitting, behind, s - 1) - worth_of(splitting, behind, s);
    }
}

/* --- memory --- */

static double memory_of(const struct ppi_split_state *state, int cost, uint32_t begin, uint32_t end)
{
    return state->sums[cost][end] - state->sums[cost][begin];
}

/* The share of its activations that a stage keeps with the option that holds least. */
static double share_of(const struct ppi_split_state *state, uint32_t stage)
{
    const struct ppi_recompute_front *front = &state->fronts[stage];
    double whole = memory_of(state, PPI_LAYER_MEM_FORWARD, state->border[stage], state->border[stage + 1]);
    return whole > 0 ? front->options[front->count - 1].held[PPI_HELD_KEPT] / whole : 1;
}

/* Finds how often a device holds each stage at its peak, and the memory that is left then. */
static void find_slack(struct ppi_split_moves *moves, uint32_t device)
{
    const struct ppi_split_state *state = &moves->splitting->state;
    const struct ppi_held_passes *holding = &state->holdings[device];
    const struct ppi_fit fit = ppi_split_state_fit(state, device);
    uint32_t which;
    moves->slack[device] = fit.room - ppi_fit_most(state->option, &fit, &which);
    for (uint32_t i = 0; i < holding->count; i++) {
        uint32_t stage = holding->stages[i];
        const uint32_t *passes = holding->sets + ((size_t)which * holding->count + i) * holding->width;
        moves->passes[stage] = holding->set_count > 0 ? passes[PPI_HELD_KEPT] : 0;
        moves->whole_passes[stage] = holding->set_count > 0 && holding->width > PPI_HELD_INPUT
                                         ? passes[PPI_HELD_WEIGHT] + passes[PPI_HELD_INPUT]
                                         : 0;
        moves->share[stage] = share_of(state, stage);
    }
}

/* Estimated memory in a stage of the blocks from `begin` to before `end`. */
static double need_of(const struct ppi_split_moves *moves, uint32_t stage, uint32_t begin, uint32_t end)
{
    const struct ppi_splitting *splitting = moves->splitting;
    const struct ppi_split_state *state = &splitting->state;
    uint32_t first = splitting->cut[begin], last = splitting->cut[end];
    double held = state->builder.same != NULL ? ppi_builder_held(&state->builder, first, last)
                                              : moves->share[stage] * memory_of(state, PPI_LAYER_MEM_FORWARD, first, last);
    double copied = state->copies != NULL ? ppi_split_state_copied(state, stage, first, last) : 0;
    double need = moves->passes[stage] * held;
    if (moves->whole_passes[stage] > 0)
        need += moves->whole_passes[stage] * memory_of(state, PPI_LAYER_MEM_FORWARD, first, last);
    return need + memory_of(state, PPI_LAYER_STATIC, first, last) +
           state->versions * memory_of(state, PPI_LAYER_WEIGHTS, first, last) + copied;
}

/* Finds the memory of the first or last block of each stage when it leaves, and of the next block when it comes. */
static void find_needs(struct ppi_split_moves *moves)
{
    const struct ppi_splitting *splitting = moves->splitting;
    for (uint32_t s = 0; s < splitting->state.stages; s++) {
        uint32_t begin = splitting->at[s], end = splitting->at[s + 1];
        double now = need_of(moves, s, begin, end);
        moves->gives[0][s] = begin < end ? now - need_of(moves, s, begin + 1, end) : 0;
        moves->gives[1][s] = begin < end ? now - need_of(moves, s, begin, end - 1) : 0;
        moves->takes[0][s] = end < splitting->blocks ? need_of(moves, s, begin, end + 1) - now : 0;
        moves->takes[1][s] = begin > 0 ? need_of(moves, s, begin - 1, end) - now : 0;
    }
}

/* The added overshoot of a device with so much more memory in use. */
static double added_overshoot(double slack, double more)
{
    return ppi_larger(more - slack, 0) - ppi_larger(-slack, 0);
}

/* The effect of moves from a stage, to the left and to the right, that does not depend on the receiving stage. */
struct giving {
    double given[2], overshoot[2], work[2];
};

static double overshoot_of(const struct ppi_split_moves *moves, const struct giving *giving, uint32_t from, uint32_t to)
{
    const uint32_t *device_of = moves->splitting->state.schedule->placement.device_of;
    if (!moves->has_overshoots)
        return 0;
    double taken = moves->takes[to > from][to];
    if (device_of[from] == device_of[to])
        return added_overshoot(moves->slack[device_of[from]], taken - giving->given[to > from]);
    return giving->overshoot[to > from] + added_overshoot(moves->slack[device_of[to]], taken);
}

/* --- all moves --- */

/* The order of the list. In repair, where all moves in it lower the overshoot, the one with the least uneven work is first. */
static bool is_before(const struct ppi_split_moves *moves, const struct ppi_split_move *a, const struct ppi_split_move *b)
{
    if (moves->repairs && a->worth != b->worth)
        return a->worth < b->worth;
    return a->overshoot != b->overshoot ? a->overshoot < b->overshoot : a->worth < b->worth;
}

static void offer(struct ppi_split_moves *moves, struct ppi_split_move move)
{
    uint32_t i = moves->count;
    if (moves->repairs && move.overshoot >= 0)
        return;
    if (i == PPI_SPLIT_TRIED && !is_before(moves, &move, &moves->list[PPI_SPLIT_TRIED - 1]))
        return;
    i -= i == PPI_SPLIT_TRIED;
    for (; i > 0 && is_before(moves, &move, &moves->list[i - 1]); i--)
        moves->list[i] = moves->list[i - 1];
    moves->list[i] = move;
    moves->count += moves->count < PPI_SPLIT_TRIED;
}

/* Overshoots count only in repair, where there are some, or where stages cannot choose to recompute more. */
void ppi_split_moves_start(struct ppi_split_moves *moves, bool repairs)
{
    const struct ppi_splitting *splitting = moves->splitting;
    moves->count = 0;
    moves->repairs = repairs;
    if (!repairs)
        sum_worth(moves);
    moves->has_overshoots = splitting->state.fronts != NULL &&
                            (repairs || splitting->now.overshoot > 0 || splitting->state.builder.same != NULL);
    if (!moves->has_overshoots)
        return;
    for (uint32_t d = 0; d < splitting->state.schedule->shape.devices; d++)
        find_slack(moves, d);
    find_needs(moves);
}

/* The change in the unevenness of two devices' work. */
static double unevenness_of(const struct ppi_split_moves *moves, double work, uint32_t from, uint32_t to)
{
    const struct ppi_split_state *state = &moves->splitting->state;
    const uint32_t *device_of = state->schedule->placement.device_of;
    if (device_of[from] == device_of[to])
        return 0;
    if (state->speed == NULL)
        return work * (state->load[device_of[to]] - state->load[device_of[from]] + work);
    const double taken = work / state->speed[device_of[to]], given = work / state->speed[device_of[from]];
    return taken * (state->load[device_of[to]] + taken / 2) - given * (state->load[device_of[from]] - given / 2);
}

static double worth_of_move(const struct ppi_split_moves *moves, const struct giving *giving, uint32_t from, uint32_t to)
{
    if (moves->repairs)
        return unevenness_of(moves, giving->work[to > from], from, to);
    return to > from ? moves->right[to] - moves->right[from] : moves->left[from] - moves->left[to];
}

static struct giving giving_of(const struct ppi_split_moves *moves, uint32_t from)
{
    const struct ppi_splitting *splitting = moves->splitting;
    const struct ppi_split_state *state = &splitting->state;
    struct giving giving = {{0}};
    for (int right = 0; right < 2; right++) {
        uint32_t block = right != 0 ? splitting->at[from + 1] - 1 : splitting->at[from];
        giving.work[right] = ppi_split_work(state, splitting->cut[block], splitting->cut[block + 1]);
        giving.given[right] = moves->gives[right][from];
        giving.overshoot[right] = added_overshoot(moves->slack[state->schedule->placement.device_of[from]],
                                                  -giving.given[right]);
    }
    return giving;
}

void ppi_split_moves_offer(struct ppi_split_moves *moves, uint32_t from)
{
    const struct ppi_splitting *splitting = moves->splitting;
    if (!ppi_split_may_give(splitting, from))
        return;
    const struct giving giving = giving_of(moves, from);
    for (uint32_t to = 0; to < splitting->state.stages; to++)
        if (to != from)
            offer(moves, (struct ppi_split_move){overshoot_of(moves, &giving, from, to),
                                                 worth_of_move(moves, &giving, from, to), from, to});
}

/* --- repair --- */

/* Prices the present split without its time. */
static ppsched_status find_overshoot(struct ppi_splitting *splitting, double *overshoot, ppsched_error *error)
{
    struct ppi_split_price price = {0, 0, 0};
    splitting->state.most_overshoot = -1;
    ppsched_status status = ppi_splitting_price(splitting, &price, error);
    splitting->state.most_overshoot = PPI_INFINITE;
    *overshoot = price.overshoot;
    return status;
}

/* Lists moves from the devices with overshoot, the most promising first. */
static void find_repairs(struct ppi_splitting *splitting)
{
    struct ppi_split_moves *moves = splitting->moves;
    const uint32_t *device_of = splitting->state.schedule->placement.device_of;
    ppi_split_moves_start(moves, true);
    for (uint32_t s = 0; s < splitting->state.stages; s++)
        if (moves->slack[device_of[s]] < 0) {
            ppi_split_moves_offer(moves, s);
            splitting->state.visited += splitting->state.stages;
        }
}

static ppsched_status repair_by(struct ppi_splitting *splitting, const struct ppi_split_move *move, double *overshoot,
                                bool *better, ppsched_error *error)
{
    double then;
    ppi_split_move(splitting->at, move->from, move->to);
    ppsched_status status = find_overshoot(splitting, &then, error);
    *better = then < *overshoot * (1 - 1e-9);
    if (*better)
        *overshoot = then;
    else
        ppi_split_move(splitting->at, move->to, move->from);
    return status;
}

/* Makes all listed moves that help. Estimates change with each, so after IDLE moves that do not help the list is made
 * again. */
static ppsched_status repair_some(struct ppi_splitting *splitting, double *overshoot, bool *better, ppsched_error *error)
{
    const struct ppi_split_moves *moves = splitting->moves;
    ppsched_status status = PPSCHED_OK;
    bool helps;
    find_repairs(splitting);
    *better = false;
    for (uint32_t i = 0, idle = 0; i < moves->count && idle < IDLE && status == PPSCHED_OK; i++) {
        const struct ppi_split_move *move = &moves->list[i];
        if (*overshoot <= 0 || !ppi_split_may_give(splitting, move->from))
            continue;
        status = repair_by(splitting, move, overshoot, &helps, error);
        *better |= helps;
        idle = helps ? 0 : idle + 1;
    }
    return status;
}

ppsched_status ppi_split_repair(struct ppi_splitting *splitting, ppsched_error *error)
{
    double overshoot;
    ppsched_status status = find_overshoot(splitting, &overshoot, error);
    bool better = splitting->state.stages <= MOST_MENDED;
    for (uint32_t i = 0; i < 4 * splitting->blocks && better && overshoot > 0 && status == PPSCHED_OK; i++)
        status = repair_some(splitting, &overshoot, &better, error);
    return status;
}
