/* SPDX-License-Identifier: Apache-2.0 */
/* A first split: stages take blocks until they have their share, with as little above it as there can be; then devices, which
 * may have several stages, give to each other. */
#include <string.h>

#include "base/checked.h"
#include "split/splitting.h"

enum { HALVINGS = 36, MOST_MOVES = 512 };

const double ppi_split_tilts[PPI_SPLIT_TILTS] = {0, 0.25, 0.5, 0.75, 1, -0.3};

static double work_of(const struct ppi_splitting *splitting, uint32_t begin, uint32_t end)
{
    return ppi_split_work(&splitting->state, splitting->cut[begin], splitting->cut[end]);
}

/* A stage's share: more for the later ones of each device, where `tilt` is above 0, and less below. */
static double share_of(const struct ppi_splitting *splitting, uint32_t stage, double tilt)
{
    uint32_t devices = splitting->state.schedule->shape.devices, chunks = splitting->state.stages / devices;
    return chunks > 1 ? 1 + tilt * (2.0 * (stage / devices) / (chunks - 1) - 1) : 1;
}

/* Fills stages up to `most` times their share, leaving enough for those behind; what is left is the last one's. Tells whether
 * that is no more than its own. */
static bool fill(struct ppi_splitting *splitting, double most, double tilt)
{
    uint32_t stages = splitting->state.stages, block = 0, least_behind = 0;
    for (uint32_t s = 1; s < stages; s++)
        least_behind += ppi_split_least(splitting, s);
    for (uint32_t s = 0; s + 1 < stages; s++) {
        uint32_t begin = block, end = splitting->blocks - least_behind;
        block += ppi_split_least(splitting, s);
        while (block < end && work_of(splitting, begin, block + 1) <= most * share_of(splitting, s, tilt))
            block++;
        splitting->at[s] = begin;
        least_behind -= ppi_split_least(splitting, s + 1);
    }
    splitting->at[stages - 1] = block;
    splitting->at[stages] = splitting->blocks;
    return work_of(splitting, block, splitting->blocks) <= most * share_of(splitting, stages - 1, tilt);
}

/* The least that the fullest stage can have. */
static void fill_evenly(struct ppi_splitting *splitting, double tilt)
{
    double low = 0, high = 4 * work_of(splitting, 0, splitting->blocks);
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        if (fill(splitting, middle, tilt))
            high = middle;
        else
            low = middle;
    }
    fill(splitting, high, tilt);
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

void ppi_balance(struct ppi_splitting *splitting, double tilt)
{
    splitting->state.visited += (uint64_t)HALVINGS * (splitting->blocks + splitting->state.stages) / 8;
    fill_evenly(splitting, tilt);
    if (splitting->state.stages > splitting->state.schedule->shape.devices)
        level_devices(splitting);
}
