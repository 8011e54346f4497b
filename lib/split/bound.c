/* SPDX-License-Identifier: Apache-2.0 */
/* What no split of the layers can do better: some device has its share of all work, or more; and in a pipeline of one stage a
 * device it waits for the stages before it. */
#include "base/checked.h"
#include "split/splitting.h"

enum { HALVINGS = 60 };

/* The least times of a layer: an order may have full backwards or split ones. */
static double backward_of(const ppsched_layers *layers, uint32_t layer)
{
    const double *cost = ppi_layer_at(layers, layer)->kinds[0].cost;
    return ppi_smaller(cost[PPI_LAYER_BACKWARD], cost[PPI_LAYER_INPUT] + cost[PPI_LAYER_WEIGHT]);
}

/* Layers that must be together: their work, and the forward way over them. Returns where they end. */
static uint32_t sum_block(const ppsched_layers *layers, uint32_t begin, double *work, double *way)
{
    uint32_t end = begin;
    *work = *way = 0;
    do {
        *work += ppi_layer_at(layers, end)->given.forward_time + backward_of(layers, end);
        *way += ppi_layer_at(layers, end)->given.forward_time;
    } while (++end < layers->count && !layers->is_cut[end]);
    return end;
}

/* Whether stages that are done by `time`, each filled as far as it can be, hold all layers: a device with `passes` of its work
 * begins after the forwards before it. Weight gradients may be its last, so nothing needs to come after it. */
static bool holds_all(const ppsched_layers *layers, uint32_t stages, double passes, double time)
{
    double gone = 0, before = 0, work = 0, own, way;
    uint32_t stage = 1;
    for (uint32_t i = 0, end; i < layers->count; i = end) {
        end = sum_block(layers, i, &own, &way);
        if (before + passes * (work + own) > time) {
            before = gone;
            work = 0;
            if (i == 0 || ++stage > stages || before + passes * own > time)
                return false;
        }
        work += own;
        gone += way;
    }
    return true;
}

double ppi_split_way(const ppsched_layers *layers)
{
    double way = 0;
    for (uint32_t i = 0; i < layers->count; i++) {
        const double *cost = ppi_layer_at(layers, i)->kinds[0].cost;
        way += cost[PPI_LAYER_FORWARD] + ppi_smaller(cost[PPI_LAYER_BACKWARD], cost[PPI_LAYER_INPUT]);
    }
    return way;
}

double ppi_split_bound(const ppsched_layers *layers, uint32_t devices, uint32_t stages, double passes, bool is_chain)
{
    double all = 0;
    for (uint32_t i = 0; i < layers->count; i++) {
        all += ppi_layer_at(layers, i)->given.forward_time + backward_of(layers, i);
    }
    double low = passes * all / devices, high = 2 * passes * all;
    if (!is_chain)
        return low;
    for (int i = 0; i < HALVINGS && low < high; i++) {
        double middle = (low + high) / 2;
        if (holds_all(layers, stages, passes, middle))
            high = middle;
        else
            low = middle;
    }
    return low;
}
