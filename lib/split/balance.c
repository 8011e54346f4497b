/* SPDX-License-Identifier: Apache-2.0 */
/* A first split: stages are filled with blocks up to a common multiple of their share of the work, the least that is enough,
 * found by halving; then, with several stages per device, the fullest device gives blocks to the emptiest. */
#include <string.h>

#include "base/checked.h"
#include "split/split_search.h"

/* Halvings for the least multiple: to rounding of the work. Most blocks that level_devices moves.
 * Measured: docs/performance.md. */
enum { HALVINGS = 36, MOST_MOVES = 512 };

/* By start: of a device's stages the last has 1 + tilt times their mean work, the first 1 - tilt. */
static const double tilts[PPI_SPLIT_STARTS] = {0, 0.25, 0.5, 0.75, 1, -0.3, 0.34, -0.34, 0.1, 0.6};

static double work_of(const struct ppi_splitting *splitting, uint32_t begin, uint32_t end)
{
    return ppi_split_work(&splitting->state, splitting->cut[begin], splitting->cut[end]);
}

/* The speed at which a stage runs; with two copies of the model that of the slower device. */
static double speed_of(const struct ppi_splitting *splitting, uint32_t stage)
{
    const struct ppi_split_state *state = &splitting->state;
    const uint32_t *device_of = state->schedule->placement.device_of;
    double speed = ppi_split_speed(state, device_of[stage]);
    if (state->schedule->placement.copies == 2)
        speed = ppi_smaller(speed, ppi_split_speed(state, device_of[state->stages + stage]));
    return speed;
}

/* The work at speed 1 that takes a stage as long as the overhead of its device; with two copies of the model the longer one. */
static double overhead_of(const struct ppi_splitting *splitting, uint32_t stage)
{
    const struct ppi_split_state *state = &splitting->state;
    const struct ppi_placement *placement = &state->schedule->placement;
    double most = 0;
    for (uint32_t copy = 0; copy < placement->copies && state->own_overhead != NULL; copy++)
        most = ppi_larger(most, ppi_split_pass_overhead(state, placement->device_of[(size_t)copy * state->stages + stage]));
    return state->own_overhead != NULL ? most * speed_of(splitting, stage) : 0;
}

/* A stage's share of the work. */
static double share_of_stage(const struct ppi_splitting *splitting, uint32_t stage, int start)
{
    uint32_t devices = splitting->state.schedule->shape.devices, chunks = splitting->state.stages / devices;
    double share = chunks > 1 ? 1 + tilts[start] * (2.0 * (stage / devices) / (chunks - 1) - 1) : 1;
    return splitting->state.speed != NULL ? share * speed_of(splitting, stage) : share;
}

/* Fills stages up to `most` times their share, leaving enough for later ones; the last has the rest. Returns whether that is
 * within its share. */
static bool fill(struct ppi_splitting *splitting, double most, int start)
{
    uint32_t stages = splitting->state.stages, block = 0, least_behind = 0;
    for (uint32_t s = 1; s < stages; s++)
        least_behind += ppi_split_least(splitting, s);
    for (uint32_t s = 0; s + 1 < stages; s++) {
        uint32_t begin = block, end = splitting->blocks - least_behind;
        block += ppi_split_least(splitting, s);
        const double room = most * share_of_stage(splitting, s, start) - overhead_of(splitting, s);
        while (block < end && work_of(splitting, begin, block + 1) <= room)
            block++;
        splitting->at[s] = begin;
        least_behind -= ppi_split_least(splitting, s + 1);
    }
    splitting->at[stages - 1] = block;
    splitting->at[stages] = splitting->blocks;
    return work_of(splitting, block, splitting->blocks) <=
           most * share_of_stage(splitting, stages - 1, start) - overhead_of(splitting, stages - 1);
}

/* Finds the least multiple of the shares with which all blocks fit. */
static void fill_evenly(struct ppi_splitting *splitting, int start)
{
    double low = 0, high = 4 * work_of(splitting, 0, splitting->blocks);
    for (uint32_t d = 0; d < splitting->state.schedule->shape.devices && splitting->state.speed != NULL; d++)
        high = ppi_larger(high, 4 * (work_of(splitting, 0, splitting->blocks) / splitting->state.speed[d] +
                                     ppi_split_pass_overhead(&splitting->state, d)));
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        if (fill(splitting, middle, start))
            high = middle;
        else
            low = middle;
    }
    fill(splitting, high, start);
}

/* Moves a block from one stage to another; stages in between shift by one block. */
void ppi_split_move(uint32_t *at, uint32_t from, uint32_t to)
{
    for (uint32_t s = from + 1; s <= to; s++)
        at[s]--;
    for (uint32_t s = to + 1; s <= from; s++)
        at[s]++;
}

/* --- devices --- */

static void sum_loads(const struct ppi_splitting *splitting, double *load)
{
    const struct ppi_placement *placement = &splitting->state.schedule->placement;
    memset(load, 0, splitting->state.schedule->shape.devices * sizeof *load);
    for (uint32_t s = 0; s < splitting->state.stages; s++)
        load[placement->device_of[s]] += work_of(splitting, splitting->at[s], splitting->at[s + 1]) /
                                             ppi_split_speed(&splitting->state, placement->device_of[s]) +
                                         ppi_split_pass_overhead(&splitting->state, placement->device_of[s]);
}

/* The nearest pair of a stage of one device and one of another. */
static bool find_stages(const struct ppi_splitting *splitting, uint32_t full, uint32_t empty, uint32_t *from, uint32_t *to)
{
    const struct ppi_held_passes *giver = &splitting->state.holdings[full], *taker = &splitting->state.holdings[empty];
    uint32_t nearest = PPSCHED_NONE;
    for (uint32_t i = 0; i < giver->count; i++) {
        uint32_t a = giver->stages[i];
        if (splitting->at[a + 1] - splitting->at[a] <= ppi_split_least(splitting, a))
            continue;
        for (uint32_t k = 0; k < taker->count; k++) {
            uint32_t b = taker->stages[k], distance = a < b ? b - a : a - b;
            if (distance < nearest) {
                nearest = distance;
                *from = a;
                *to = b;
            }
        }
    }
    return nearest != PPSCHED_NONE;
}

static double most_of(const double *load, uint32_t devices, uint32_t *which)
{
    *which = 0;
    for (uint32_t d = 1; d < devices; d++)
        *which = load[d] > load[*which] ? d : *which;
    return load[*which];
}

static uint32_t least_of(const double *load, uint32_t devices)
{
    uint32_t which = 0;
    for (uint32_t d = 1; d < devices; d++)
        which = load[d] < load[which] ? d : which;
    return which;
}

/* Moves blocks from the fullest device to the emptiest while that helps. */
static void level_devices(struct ppi_splitting *splitting)
{
    double *load = splitting->state.load;
    uint32_t devices = splitting->state.schedule->shape.devices, full = 0, from, to, next;
    sum_loads(splitting, load);
    for (int i = 0; i < MOST_MOVES && (uint64_t)i * splitting->state.stages < 1000000; i++) {
        double most = most_of(load, devices, &full);
        if (!find_stages(splitting, full, least_of(load, devices), &from, &to))
            break;
        ppi_split_move(splitting->at, from, to);
        sum_loads(splitting, load);
        if (most_of(load, devices, &next) > most * (1 + 1e-12) || load[full] >= most) {
            ppi_split_move(splitting->at, to, from);
            break;
        }
    }
}

/* --- chunks --- */

/* Blocks of the layers that are always in the first stage, or the last; and how many other blocks take as long. */
struct end {
    uint32_t blocks, others;
};

static struct end end_of(const struct ppi_splitting *splitting, uint32_t layers, bool is_first)
{
    uint32_t count = splitting->blocks, total = splitting->cut[count];
    struct end end = {0, 0};
    for (uint32_t block = 0; block < count; block++)
        end.blocks += is_first ? splitting->cut[block + 1] <= layers : splitting->cut[block] >= total - layers;
    if (end.blocks == 0 || end.blocks >= count)
        return (struct end){0, 0};
    double own = is_first ? work_of(splitting, 0, end.blocks) : work_of(splitting, count - end.blocks, count);
    double mean = (work_of(splitting, 0, count) - own) / (count - end.blocks);
    end.others = mean > 0 && own / mean < count ? (uint32_t)(own / mean + 0.5) : 0;
    return end;
}

/* Blocks of a stage with an end, which replaces other blocks that take as long. */
static uint32_t with_end(uint32_t count, struct end end)
{
    return end.blocks + (count > end.others ? count - end.others : end.blocks == 0);
}

/* Blocks per device in the chunks before one, as a whole number; `each`: in all chunks. */
static uint32_t before_chunk(uint32_t chunk, uint32_t chunks, uint32_t each, double tilt)
{
    double share = (double)chunk / chunks;
    double sum = each * (share + tilt * (chunks > 1 ? share * (chunk - 1.0) / (chunks - 1) - share : 0));
    return sum > 0 ? (uint32_t)(sum + 0.5) : 0;
}

static uint32_t of_chunk(uint32_t chunk, uint32_t chunks, uint32_t each, double tilt)
{
    return before_chunk(chunk + 1, chunks, each, tilt) - before_chunk(chunk, chunks, each, tilt);
}

/* The first chunk with another number of blocks than the one before, or the number of chunks; `*grows`: it has more. */
static uint32_t find_border(uint32_t chunks, uint32_t each, double tilt, bool *grows)
{
    *grows = true;
    for (uint32_t chunk = 1; chunk < chunks; chunk++) {
        uint32_t before = of_chunk(chunk - 1, chunks, each, tilt), now = of_chunk(chunk, chunks, each, tilt);
        *grows = now > before;
        if (now != before)
            return chunk;
    }
    return chunks;
}

/* Adds the blocks that are left over, or removes missing ones, where larger chunks meet smaller ones. */
static void put_rest(struct ppi_splitting *splitting, uint32_t border, bool grows)
{
    uint32_t stages = splitting->state.stages, *at = splitting->at;
    for (uint32_t i = 0; at[stages] != splitting->blocks && i < 4 * stages; i++) {
        bool misses = at[stages] > splitting->blocks, on = grows == misses;
        uint32_t s = (on ? border + i : border + 4 * stages - 1 - i) % stages;
        if (s == 0 || s + 1 == stages || (misses && at[s + 1] - at[s] <= ppi_split_least(splitting, s)))
            continue;
        for (uint32_t t = s + 1; t <= stages; t++)
            at[t] += misses ? -1u : 1u;
    }
}

static double speeds_of(const struct ppi_splitting *splitting)
{
    double sum = 0;
    for (uint32_t d = 0; d < splitting->state.schedule->shape.devices; d++)
        sum += ppi_split_speed(&splitting->state, d);
    return sum;
}

/* Puts equally many blocks on each stage of a chunk, or by the speeds of devices. False where that is impossible. */
static bool put_chunks(struct ppi_splitting *splitting, double tilt)
{
    const struct ppi_split_state *state = &splitting->state;
    struct end first = end_of(splitting, state->layers->first, true), last = end_of(splitting, state->layers->last, false);
    uint32_t devices = state->schedule->shape.devices, stages = state->stages, chunks = stages / devices, begin = 0;
    uint32_t each = (splitting->blocks - first.blocks - last.blocks + devices / 2) / devices;
    bool grows;
    for (uint32_t s = 0; s <= stages; s++) {
        uint32_t count = s < stages ? of_chunk(s / devices, chunks, each, tilt) : 0;
        if (s < stages && state->speed != NULL)
            count = (uint32_t)(count * speed_of(splitting, s) * devices / speeds_of(splitting) + 0.5);
        count = s == 0 ? with_end(count, first) : s + 1 == stages ? with_end(count, last) : count;
        splitting->at[s] = begin;
        begin += s == stages || count > ppi_split_least(splitting, s) ? count : ppi_split_least(splitting, s);
    }
    uint32_t border = find_border(chunks, each, tilt, &grows) * devices;
    put_rest(splitting, border, grows);
    return splitting->at[stages] == splitting->blocks;
}

void ppi_balance(struct ppi_splitting *splitting, int start)
{
    splitting->state.visited += (uint64_t)HALVINGS * (splitting->blocks + splitting->state.stages) / 8;
    if (start >= PPI_SPLIT_TILTS && put_chunks(splitting, tilts[start]))
        return;
    fill_evenly(splitting, start);
    if (splitting->state.stages > splitting->state.schedule->shape.devices)
        level_devices(splitting);
}
