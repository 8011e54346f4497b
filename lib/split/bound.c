/* SPDX-License-Identifier: Apache-2.0 */
/* A lower bound for all splits: the least time of the fullest device with whole layers. With one stage per device stages are
 * filled one after another; in a flushed iteration each also waits for the stages before it. With several, or two model
 * copies, the bound counts the layers that devices can run by a time, whichever these are: exact where all layers between the
 * ends take equally long, otherwise a relaxation. */
#include "split/load.h"

/* Halvings for the least time; after them the bound is the next time that may be enough. Measured: docs/performance.md. */
enum { BOUND_HALVINGS = 60 };

/* --- speeds --- */

static double fastest_of(const struct ppi_values *speeds)
{
    double fastest = speeds->values != NULL ? 0 : 1;
    for (size_t i = 0; i < speeds->count; i++)
        fastest = ppi_larger(fastest, speeds->values[i]);
    return fastest;
}

/* --- blocks --- */

uint32_t ppi_load_sum_block(const struct ppi_split_load *load, uint32_t begin, double *work, double *path)
{
    const ppsched_layers *layers = load->layers;
    uint32_t end = begin;
    *work = *path = 0;
    do {
        *work += ppi_load_work_of(load, end);
        *path += ppi_layer_at(layers, end)->given.forward_time;
    } while (++end < layers->count && !layers->is_cut[end]);
    return end;
}

static double sum_all(const struct ppi_split_load *load)
{
    double all = 0;
    for (uint32_t i = 0; i < load->layers->count; i++)
        all += ppi_load_work_of(load, i);
    return all;
}

double ppi_split_path(const ppsched_layers *layers, const struct ppi_values *speeds, const struct ppi_split_types *types)
{
    double path = 0;
    for (uint32_t i = 0; i < layers->count; i++) {
        const double *cost = ppi_layer_at(layers, i)->kinds[0].cost;
        path += types != NULL ? types->path[layers->entry_of[i]]
                              : cost[PPI_LAYER_FORWARD] + ppi_smaller(cost[PPI_LAYER_BACKWARD], cost[PPI_LAYER_INPUT]);
    }
    return types != NULL ? path : path / fastest_of(speeds);
}

double ppi_load_typed_time(const struct ppi_split_load *load, uint32_t device, uint32_t begin, uint32_t end)
{
    const double *own = load->types->work + (size_t)device * load->layers->entry_count;
    double work = 0;
    for (uint32_t i = begin; i < end; i++)
        work += own[load->layers->entry_of[i]];
    return work;
}

/* The time on the forward path of a block's layers, each on the device that runs it fastest. */
static double fastest_path(const struct ppi_split_load *load, uint32_t begin, uint32_t end)
{
    double path = 0;
    for (uint32_t i = begin; i < end; i++)
        path += load->types->forward[load->layers->entry_of[i]];
    return path;
}

/* --- one stage per device, in the order of the stages --- */

/* Whether stages that end by `time`, each filled as much as possible, hold all layers: in a chain a device starts after the
 * forwards of the stages before it, here at the speed of the fastest device: so fuller stages never delay those after them by
 * more than they relieve these. Weight gradients may be its last ops, so nothing needs to follow. */
static bool chain_holds_all(const void *what, double time, double *next)
{
    const struct ppi_split_load *load = what;
    const double passes = load->passes[0], fastest = fastest_of(load->speeds);
    double gone = 0, before = 0, work = ppi_load_overhead(load, load->device_of[0]), own, path;
    uint32_t stage = 1;
    for (uint32_t i = 0, end; i < load->layers->count; i = end) {
        end = ppi_load_sum_block(load, i, &own, &path);
        double here = ppi_load_time_on(load, load->device_of[stage - 1], i, end, own);
        while (!ppi_load_is_within(before + passes * (work + here), time, next)) { /* a slower stage may stay empty here */
            before = load->is_chain ? gone : 0;
            if (i == 0 || ++stage > load->stages)
                return false;
            work = ppi_load_overhead(load, load->device_of[stage - 1]);
            here = ppi_load_time_on(load, load->device_of[stage - 1], i, end, own);
        }
        work += here;
        gone += load->types == NULL ? path / fastest : fastest_path(load, i, end);
    }
    return true;
}

/* What the stage that needs most takes with the overhead of its device and as few blocks as it may have: the first or last one
 * at an end of the model, else one of the least work. */
static double most_needed(const struct ppi_split_load *load)
{
    double first = 0, least = PPI_INFINITE, last = 0, most = 0, path;
    for (uint32_t i = 0; i < load->layers->count;) {
        const bool begins = i == 0;
        i = ppi_load_sum_block(load, i, &last, &path);
        first = begins ? last : first;
        least = ppi_smaller(least, last);
    }
    for (uint32_t s = 0; s < load->stages; s++) {
        const uint32_t device = load->device_of[s];
        const double work = s == 0 ? first : s + 1 == load->stages ? last : load->may_be_empty ? 0 : least;
        const double time = load->types == NULL ? work / ppi_load_speed(load, device) : 0;
        most = ppi_larger(most, ppi_load_overhead(load, device) + time);
    }
    return load->passes[0] * most;
}

/* --- both --- */

double ppi_load_least_time(ppi_load_holds_function holds, const void *what, double low, double high)
{
    double next = PPI_INFINITE;
    if (holds(what, low, &next))
        return low;
    for (int i = 0; i < BOUND_HALVINGS && low < high; i++) {
        const double middle = low + (high - low) / 2;
        double unused = PPI_INFINITE;
        if (holds(what, middle, &unused))
            high = middle;
        else
            low = middle;
    }
    next = PPI_INFINITE;
    holds(what, low, &next);
    return next <= high ? ppi_larger(low, next) : low;
}

/* The sum over devices of their overheads, each weighted by the device's speed. */
static double sum_overheads(const struct ppi_split_load *load)
{
    const double *speeds = load->types != NULL ? load->types->speeds : NULL;
    double sum = 0;
    for (uint32_t d = 0; d < load->devices; d++)
        sum += (speeds != NULL ? speeds[d] : ppi_load_speed(load, d)) * ppi_load_overhead(load, d);
    return sum;
}

/* A bound for all splits and orders of devices that differ by more than speeds: the mean time of devices, each weighted by its
 * speed, where each layer takes the least weighted time. */
static double least_mean(const struct ppi_split_load *load)
{
    const struct ppi_split_types *types = load->types;
    const size_t entries = load->layers->entry_count;
    double sum = 0, speeds = 0;
    for (uint32_t d = 0; d < load->devices; d++)
        speeds += types->speeds[d];
    for (size_t e = 0; e < entries; e++) {
        double least = PPI_INFINITE;
        for (uint32_t d = 0; d < load->devices; d++)
            least = ppi_smaller(least, types->work[d * entries + e] * types->speeds[d]);
        sum += load->layers->entries[e].given.count * least;
    }
    const double overhead = load->overheads->values != NULL ? sum_overheads(load) / speeds : load->overhead;
    return (load->passes[0] + load->passes[1]) * (sum / speeds + overhead * (load->stages / load->devices));
}

/* A time that is enough. */
static double enough_time(const struct ppi_split_load *load)
{
    double slowest = 1, most = sum_all(load), overhead = 0;
    for (uint32_t d = 0; d < load->devices && load->types == NULL; d++)
        slowest = ppi_smaller(slowest, ppi_load_speed(load, d));
    for (uint32_t d = 0; d < load->devices && load->types != NULL; d++)
        most = ppi_larger(most, ppi_load_time_on(load, d, 0, load->layers->count, 0));
    for (uint32_t d = 0; d < load->devices; d++)
        overhead = ppi_larger(overhead, ppi_load_overhead(load, d));
    return 2 * (load->passes[0] + load->passes[1]) * (most + load->stages * overhead) / slowest;
}

/* The mean time of devices, which each split and order of the devices takes at least. */
static double mean_time(const struct ppi_split_load *load)
{
    double speeds = 0;
    if (load->types != NULL)
        return least_mean(load);
    for (uint32_t d = 0; d < load->devices; d++)
        speeds += ppi_load_speed(load, d);
    if (load->overheads->values != NULL)
        return (load->passes[0] + load->passes[1]) *
               (sum_all(load) + (double)load->stages / load->devices * sum_overheads(load)) / speeds;
    return (load->passes[0] + load->passes[1]) * (sum_all(load) + load->stages * load->overhead * (speeds / load->devices)) /
           speeds;
}

double ppi_split_bound(const struct ppi_split_load *load)
{
    const double high = enough_time(load);
    double low = mean_time(load);
    if (load->devices == 1 || load->any_order || !(low > 0) || !ppi_is_finite(high))
        return low;
    if (load->copies > 1 || load->stages != load->devices)
        return ppi_load_bound_of_units(load, low, high);
    if (load->overheads->values != NULL) /* else full stages tell as much, but for slow devices */
        low = ppi_larger(low, most_needed(load));
    return ppi_load_least_time(chain_holds_all, load, low, high);
}
