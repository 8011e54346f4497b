/* SPDX-License-Identifier: Apache-2.0 */
/* Longest ways through the order that were seen. The ops on a way wait for each other whatever they take, so no split is faster
 * than the sum of its times along any of them, which often tells without a walk that it is too slow. */
#ifndef PPSCHED_SPLIT_LONG_PATHS_H
#define PPSCHED_SPLIT_LONG_PATHS_H

#include "split/walk.h"

enum { PPI_LONG_PATHS = 32, PPI_LONG_PATH_KINDS = PPI_COMPUTE_KINDS - 1 };

/* How often each stage's ops are on it, by kind - 1, and how long it takes beside them. */
struct ppi_long_path {
    double *weight;
    double rest;
};

struct ppi_long_paths {
    struct ppi_long_path paths[PPI_LONG_PATHS]; /* that which told last comes first */
    uint32_t count, kinds, stages, width;       /* width: numbers of a way, a multiple of 4 */
    double *full;                               /* of each stage and kind */
    double *duration;                           /* of each stage and kind at hand */
};

ppsched_status ppi_long_paths_open(struct ppi_long_paths *out, struct ppi_arena *arena, const struct ppi_walk *walk,
                                   ppsched_error *error);

/* A stage's times, by kind. */
void ppi_long_paths_set_times(struct ppi_long_paths *paths, uint32_t stage, const double *duration);

/* Whether a way that is known takes longer than `most`, by more than rounding. Adds to `visited` what it looked at. */
bool ppi_long_paths_take_longer(struct ppi_long_paths *paths, double most, uint64_t *visited);

/* Keeps the longest way of what was priced last, which took `time`. has_delays: what is sent changes with the split. */
void ppi_long_paths_keep(struct ppi_long_paths *paths, const struct ppi_walk *walk, double time, bool has_delays,
                         uint64_t *visited);

#endif
