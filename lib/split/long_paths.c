/* SPDX-License-Identifier: Apache-2.0 */
/* Each path is a vector of counts by row and kind, so its time is a dot product with the present times. The path that was
 * longer last is tried first. */
#include "split/long_paths.h"

#include <string.h>

#include "base/checked.h"

/* Numbers of paths that are summed in the time of one node of a walk. Measured: docs/performance.md. */
enum { A_VISIT = 8 };

ppsched_status ppi_long_paths_open(struct ppi_long_paths *out, struct ppi_arena *arena, const struct ppi_walk *walk,
                                   uint32_t rows, ppsched_error *error)
{
    *out = (struct ppi_long_paths){.rows = rows, .kinds = walk->splits_backward ? 4 : 2};
    out->width = (rows * out->kinds + 3) / 4 * 4;
    out->full = ppi_arena_take(arena, (size_t)rows * PPI_LONG_PATH_KINDS, sizeof *out->full);
    out->duration = ppi_arena_take_zeroed(arena, out->width, sizeof *out->duration);
    for (int i = 0; i < PPI_LONG_PATHS; i++)
        out->paths[i].weight = ppi_arena_take_zeroed(arena, out->width, sizeof *out->duration);
    return ppi_arena_check(arena, "the split", error);
}

void ppi_long_paths_set_times(struct ppi_long_paths *paths, uint32_t row, const double *duration)
{
    memcpy(paths->duration + (size_t)row * paths->kinds, duration + 1, paths->kinds * sizeof *duration);
}

/* In four sums, which a processor adds at once. */
static double weighted_sum(const struct ppi_long_paths *paths, const double *weight)
{
    double sum[PPI_LONG_PATH_KINDS] = {0};
    for (uint32_t i = 0; i < paths->width; i += PPI_LONG_PATH_KINDS)
        for (uint32_t kind = 0; kind < PPI_LONG_PATH_KINDS; kind++)
            sum[kind] += weight[i + kind] * paths->duration[i + kind];
    return sum[0] + sum[1] + (sum[2] + sum[3]);
}

static void put_first(struct ppi_long_paths *paths, uint32_t number, struct ppi_long_path path)
{
    memmove(paths->paths + 1, paths->paths, number * sizeof *paths->paths);
    paths->paths[0] = path;
}

bool ppi_long_paths_take_longer(struct ppi_long_paths *paths, double most, uint64_t *visited)
{
    uint32_t looked = 0;
    bool longer = false;
    while (looked < paths->count && !longer) {
        const struct ppi_long_path path = paths->paths[looked];
        longer = weighted_sum(paths, path.weight) + path.rest > most * (1 + 1e-9);
        if (longer)
            put_first(paths, looked, path);
        looked++;
    }
    *visited += (uint64_t)looked * paths->width / A_VISIT;
    return longer;
}

void ppi_long_paths_keep(struct ppi_long_paths *paths, const struct ppi_walk *walk, double time, bool has_delays,
                         uint64_t *visited)
{
    if (paths->count < PPI_LONG_PATHS)
        paths->count++;
    struct ppi_long_path path = paths->paths[paths->count - 1];
    memset(paths->full, 0, (size_t)paths->rows * PPI_LONG_PATH_KINDS * sizeof *paths->full);
    ppi_walk_weigh(walk, paths->rows, paths->full);
    for (uint32_t s = 0; s < paths->rows; s++)
        memcpy(path.weight + (size_t)s * paths->kinds, paths->full + (size_t)s * PPI_LONG_PATH_KINDS,
               paths->kinds * sizeof *path.weight);
    path.rest = has_delays ? 0 : ppi_larger(0, time - weighted_sum(paths, path.weight));
    put_first(paths, paths->count - 1, path);
    *visited += walk->count / walk->schedule->shape.devices;
}
