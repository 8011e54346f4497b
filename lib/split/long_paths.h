/* SPDX-License-Identifier: Apache-2.0 */
/* Critical paths through the order that were found before. The ops on a path wait for each other whatever their times, so no
 * split is faster than the sum of its times along any path; that often shows without a walk that a split is too slow. */
#ifndef PPSCHED_SPLIT_LONG_PATHS_H
#define PPSCHED_SPLIT_LONG_PATHS_H

#include "split/walk.h"

/* Paths that are kept: a new one replaces the last. Measured: docs/performance.md. */
enum { PPI_LONG_PATHS = 32, PPI_LONG_PATH_KINDS = PPI_COMPUTE_KINDS - 1 };

/* A row is a stage, or where copies of the model take unlike times a stage of a copy. `weight`: how often each row's ops are on
 * the path, by kind - 1; `rest`: its time in addition to them. */
struct ppi_long_path {
    double *weight;
    double rest;
};

struct ppi_long_paths {
    struct ppi_long_path paths[PPI_LONG_PATHS]; /* the one that was longer last comes first */
    uint32_t count, kinds, rows, width;         /* width: numbers of a path, a multiple of 4 */
    double *full;                               /* scratch, of each row and kind */
    double *duration;                           /* present times, of each row and kind */
};

ppsched_status ppi_long_paths_open(struct ppi_long_paths *out, struct ppi_arena *arena, const struct ppi_walk *walk,
                                   uint32_t rows, ppsched_error *error);

/* Sets a row's times, by kind. */
void ppi_long_paths_set_times(struct ppi_long_paths *paths, uint32_t row, const double *duration);

/* Whether a known path takes longer than `most`, by more than rounding. Adds the work to `visited`. */
bool ppi_long_paths_take_longer(struct ppi_long_paths *paths, double most, uint64_t *visited);

/* Keeps the critical path of the split priced last, which took `time`. `has_delays`: delays depend on the split. */
void ppi_long_paths_keep(struct ppi_long_paths *paths, const struct ppi_walk *walk, double time, bool has_delays,
                         uint64_t *visited);

#endif
