/* SPDX-License-Identifier: Apache-2.0 */
/* A first split: stages take blocks until they have their share, with as little above it as there can be; then devices, which
 * may have several stages, give to each other. */
#include <string.h>

#include "base/checked.h"
#include "split/splitting.h"

enum { HALVINGS = 50, MOST_MOVES = 512 };

static double work_of(const struct ppi_splitting *splitting, uint32_t begin, uint32_t end)
{
    return ppi_split_work(&splitting->state, splitting->cut[begin], splitting->cut[end]);
}

/* Fills stages up to `most` each, leaving enough for those behind; what is left is the last one's. Its work. */
static double fill(struct ppi_splitting *splitting, double most)
{
    uint32_t stages = splitting->state.stages, block = 0, least_behind = 0;
    for (uint32_t s = 1; s < stages; s++)
        least_behind += ppi_split_least(splitting, s);
    for (uint32_t s = 0; s + 1 < stages; s++) {
        uint32_t begin = block, end = splitting->blocks - least_behind;
        block += ppi_split_least(splitting, s);
        while (block < end && work_of(splitting, begin, block + 1) <= most)
            block++;
        splitting->at[s] = begin;
        least_behind -= ppi_split_least(splitting, s + 1);
    }
    splitting->at[stages - 1] = block;
    splitting->at[stages] = splitting->blocks;
    return work_of(splitting, block, splitting->blocks);
}

/* The least that the fullest stage can have. */
static void fill_evenly(struct ppi_splitting *splitting)
{
    double high = work_of(splitting, 0, splitting->blocks), low = high / splitting->state.stages;
    low *= 1 - 1e-9;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        if (fill(splitting, middle) <= middle)
            high = middle;
        else
            low = middle;
    }
    fill(splitting, high);
}

/* Moves a block from one stage to another over those between them. */
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
        load[placement->device_of[s]] += work_of(splitting, splitting->at[s], splitting->at[s + 1]);
}

/* A stage of one device and one of another, both as near as there are. */
static bool find_stages(const struct ppi_splitting *splitting, uint32_t full, uint32_t empty, uint32_t *from, uint32_t *to)
{
    const struct ppi_holding *giver = &splitting->state.holdings[full], *taker = &splitting->state.holdings[empty];
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

/* The fullest device gives a block to the emptiest, as long as that helps. */
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

void ppi_balance(struct ppi_splitting *splitting)
{
    fill_evenly(splitting);
    if (splitting->state.stages > splitting->state.schedule->shape.devices)
        level_devices(splitting);
}
