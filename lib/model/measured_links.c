/* SPDX-License-Identifier: Apache-2.0 */
/* Measured collectives: sorted points of time by bytes for each group and span. */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/sort.h"
#include "model/table.h"

enum { MOST_DEVICES = 1 << 20 };

/* --- taking them --- */

static ppsched_status check_point(const ppsched_measured_collective *own, uint32_t number, ppsched_error *error)
{
    if (own->collective < 0 || own->collective > PPSCHED_COLLECTIVE_SEND || own->reserved != 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "collective %u of the layer table: its number is %d; it must be 0 to %d",
                        number, own->collective, PPSCHED_COLLECTIVE_SEND);
    if (own->group < 2 || own->group > MOST_DEVICES || (own->span != 0 && own->span < own->group) || own->span > MOST_DEVICES)
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "collective %u of the layer table: group is %u, span %u; group must be 2 to %d, and span at least that",
                        number, own->group, own->span, MOST_DEVICES);
    if (!(own->bytes > 0 && own->bytes < 1e18 && own->time > 0 && own->time < 1e9))
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "collective %u of the layer table: bytes is %g, time %g; both must be above 0, and finite", number,
                        own->bytes, own->time);
    return PPSCHED_OK;
}

/* By collective, group, span, bytes. */
static int compare_collectives(const ppsched_measured_collective *a, const ppsched_measured_collective *b)
{
    if (a->collective != b->collective)
        return a->collective < b->collective ? -1 : 1;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->span != b->span)
        return a->span < b->span ? -1 : 1;
    return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

static bool is_before(const void *context, uint32_t a, uint32_t b)
{
    const ppsched_measured_collective *list = context;
    return compare_collectives(&list[a], &list[b]) < 0;
}

static ppsched_status sort_points(ppsched_model *model, const ppsched_measured_collective *given, uint32_t *order,
                                  uint32_t count, ppsched_error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        model->collectives[i] = given[i];
        if (given[i].span == 0)
            model->collectives[i].span = given[i].group;
        order[i] = i;
    }
    const uint32_t *sorted = ppi_sort(order, order + count, count, is_before, model->collectives);
    ppsched_measured_collective *out = model->collectives + count;
    for (uint32_t i = 0; i < count; i++) {
        out[i] = model->collectives[sorted[i]];
        if (i > 0 && compare_collectives(&out[i - 1], &out[i]) == 0)
            return ppi_fail(
                error, PPSCHED_ERROR_RANGE,
                "collective %u of the layer table is that of %u: group %u, span %u, %g bytes; leave one of them out", sorted[i],
                sorted[i - 1], out[i].group, out[i].span, out[i].bytes);
    }
    memmove(model->collectives, out, count * sizeof *out);
    return PPSCHED_OK;
}

ppsched_status ppi_model_take_collectives(ppsched_model *model, const ppsched_layer_table *table, ppsched_error *error)
{
    uint32_t count = table->collective_count;
    for (uint32_t i = 0; i < count; i++) {
        ppsched_status status = check_point(&table->collectives[i], i, error);
        if (status != PPSCHED_OK)
            return status;
    }
    if (count == 0)
        return PPSCHED_OK;
    uint32_t *order = ppi_allocate(&model->host, 2 * (size_t)count, sizeof *order);
    model->collectives = ppi_allocate(&model->host, 2 * (size_t)count, sizeof *model->collectives);
    ppsched_status status = order == NULL || model->collectives == NULL ? ppi_fail_memory(error, "the layer table")
                                                                        : PPSCHED_OK;
    if (status == PPSCHED_OK)
        status = sort_points(model, table->collectives, order, count, error);
    ppi_release(&model->host, order);
    model->collective_count = count;
    return status;
}

/* --- looking them up --- */

/* Points of one collective, group and span. */
struct points {
    const ppsched_measured_collective *first;
    uint32_t count;
};

static struct ppi_spread spread_of_measured(const ppsched_measured_collective *own)
{
    return (struct ppi_spread){own->group, own->span, 0};
}

/* The points of the nearest group; those that are as far apart come first. */
static struct points nearest(const ppsched_model *model, int32_t collective, struct ppi_spread group)
{
    struct points best = {NULL, 0};
    double distance = 0;
    bool best_side = false;
    for (uint32_t i = 0, end; i < model->collective_count; i = end) {
        const ppsched_measured_collective *own = &model->collectives[i];
        for (end = i + 1; end < model->collective_count && model->collectives[end].collective == own->collective &&
                          model->collectives[end].group == own->group && model->collectives[end].span == own->span;
             end++)
            continue;
        bool side = ppi_distance_of(&model->device, own->span) == ppi_distance_of(&model->device, group.span);
        double far = ppi_size_ratio(own->group, group.count) * ppi_size_ratio(own->span, group.span);
        if (own->collective == collective &&
            (best.first == NULL || (side && !best_side) || (side == best_side && far < distance))) {
            best = (struct points){own, end - i};
            distance = far;
            best_side = side;
        }
    }
    return best;
}

static double interpolate(const struct points *points, double bytes)
{
    const ppsched_measured_collective *list = points->first;
    uint32_t above = 0;
    while (above < points->count && list[above].bytes < bytes)
        above++;
    if (above == 0)
        return list[0].time;
    const ppsched_measured_collective *b = &list[above < points->count ? above : above - 1], *a = b - 1;
    double slope = (b->time - a->time) / (b->bytes - a->bytes);
    if (above == points->count && !(slope > 0))
        return b->time * bytes / b->bytes;
    return a->time + (bytes - a->bytes) * slope;
}

static double time_by(const ppsched_model *model, const struct points *points, struct ppi_spread group,
                      enum ppi_collective collective, double bytes, double predicted)
{
    struct ppi_spread own = spread_of_measured(points->first);
    if (points->count > 1 && own.count == group.count && own.span == group.span)
        return interpolate(points, bytes);
    double there = points->count > 1 ? bytes : points->first->bytes;
    double expected = ppi_predicted_collective(model, own, collective, there);
    return expected > 0 ? predicted * interpolate(points, there) / expected : predicted;
}

double ppi_measured_collective(const ppsched_model *model, struct ppi_spread group, enum ppi_collective collective,
                               double bytes, double predicted)
{
    int32_t first = collective == PPI_ALL_REDUCE   ? PPSCHED_COLLECTIVE_ALL_REDUCE
                    : collective == PPI_ALL_TO_ALL ? PPSCHED_COLLECTIVE_ALL_TO_ALL
                                                   : PPSCHED_COLLECTIVE_ALL_GATHER;
    int32_t last = collective == PPI_GATHER ? PPSCHED_COLLECTIVE_REDUCE_SCATTER : first;
    double sum = 0;
    uint32_t count = 0;
    if (!(bytes > 0))
        return predicted;
    for (int32_t i = first; i <= last; i++) {
        struct points points = nearest(model, i, group);
        if (points.first == NULL)
            continue;
        sum += time_by(model, &points, group, collective, bytes, predicted);
        count++;
    }
    return count > 0 ? sum / count : predicted;
}

void ppi_model_link(double *latency, double *bandwidth, const ppsched_model *model, double devices)
{
    const ppsched_accelerator *device = &model->device;
    enum ppi_distance own = ppi_distance_of(device, devices);
    const ppsched_link_rate *link = ppi_link_over(device, own);
    double span = own == PPI_IN_NODE ? 1 : own == PPI_IN_POD ? device->node_devices : (double)ppi_pod_devices(device);
    struct points points = nearest(model, PPSCHED_COLLECTIVE_SEND, (struct ppi_spread){2, 2 * span, 0});
    *latency = link->latency;
    *bandwidth = link->bandwidth * (link->efficiency > 0 ? link->efficiency : 1);
    if (own == PPI_IN_NODE && device->pair_share > 0)
        *bandwidth *= device->pair_share;
    if (points.first == NULL || ppi_distance_of(device, points.first->span) != own)
        return;
    const ppsched_measured_collective *small = points.first, *large = small + points.count - 1;
    if (points.count > 1 && large->time > small->time) {
        *bandwidth = (large->bytes - small->bytes) / (large->time - small->time);
        double rest = small->time - small->bytes / *bandwidth;
        *latency = rest > 0 ? rest : 0;
    } else if (large->time > *latency) {
        *bandwidth = large->bytes / (large->time - *latency);
    } else {
        *latency = 0;
        *bandwidth = large->bytes / large->time;
    }
}
