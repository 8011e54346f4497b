/* SPDX-License-Identifier: Apache-2.0 */
#include "split/long_paths.h"

#include <string.h>

#include "base/checked.h"

/* Numbers of ways that take as long to look at as a node of a walk. */
enum { A_VISIT = 8 };

ppsched_status ppi_long_ways_open(struct ppi_long_ways *out, struct ppi_room *room, const struct ppi_walk *walk,
                                  ppsched_error *error)
{
    uint32_t stages = walk->schedule->shape.stages;
    *out = (struct ppi_long_ways){.stages = stages, .kinds = walk->splits_backward ? 4 : 2};
    out->width = (stages * out->kinds + 3) / 4 * 4;
    out->full = ppi_room_take(room, (size_t)stages * PPI_LONG_WAY_KINDS, sizeof *out->full);
    out->duration = ppi_room_take_zeroed(room, out->width, sizeof *out->duration);
    for (int i = 0; i < PPI_LONG_WAYS; i++)
        out->ways[i].weight = ppi_room_take_zeroed(room, out->width, sizeof *out->duration);
    return ppi_room_check(room, "the split", error);
}

void ppi_long_ways_set_times(struct ppi_long_ways *ways, uint32_t stage, const double *duration)
{
    memcpy(ways->duration + (size_t)stage * ways->kinds, duration + 1, ways->kinds * sizeof *duration);
}

/* By four sums, one a kind, which a processor adds at once. */
static double sum_of(const struct ppi_long_ways *ways, const double *weight)
{
    double sum[PPI_LONG_WAY_KINDS] = {0};
    for (uint32_t i = 0; i < ways->width; i += PPI_LONG_WAY_KINDS)
        for (uint32_t kind = 0; kind < PPI_LONG_WAY_KINDS; kind++)
            sum[kind] += weight[i + kind] * ways->duration[i + kind];
    return sum[0] + sum[1] + (sum[2] + sum[3]);
}

static void put_first(struct ppi_long_ways *ways, uint32_t number, struct ppi_long_way way)
{
    memmove(ways->ways + 1, ways->ways, number * sizeof *ways->ways);
    ways->ways[0] = way;
}

bool ppi_long_ways_take_longer(struct ppi_long_ways *ways, double most, uint64_t *visited)
{
    uint32_t looked = 0;
    bool longer = false;
    while (looked < ways->count && !longer) {
        const struct ppi_long_way way = ways->ways[looked];
        longer = sum_of(ways, way.weight) + way.rest > most * (1 + 1e-9);
        if (longer)
            put_first(ways, looked, way);
        looked++;
    }
    *visited += (uint64_t)looked * ways->width / A_VISIT;
    return longer;
}

void ppi_long_ways_keep(struct ppi_long_ways *ways, const struct ppi_walk *walk, double time, bool has_delays,
                        uint64_t *visited)
{
    if (ways->count < PPI_LONG_WAYS)
        ways->count++;
    struct ppi_long_way way = ways->ways[ways->count - 1];
    memset(ways->full, 0, (size_t)ways->stages * PPI_LONG_WAY_KINDS * sizeof *ways->full);
    ppi_walk_weigh(walk, ways->full);
    for (uint32_t s = 0; s < ways->stages; s++)
        memcpy(way.weight + (size_t)s * ways->kinds, ways->full + (size_t)s * PPI_LONG_WAY_KINDS,
               ways->kinds * sizeof *way.weight);
    way.rest = has_delays ? 0 : ppi_larger(0, time - sum_of(ways, way.weight));
    put_first(ways, ways->count - 1, way);
    *visited += walk->count / walk->schedule->shape.devices;
}
