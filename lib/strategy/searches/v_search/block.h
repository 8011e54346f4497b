/* SPDX-License-Identifier: Apache-2.0 */
/* Building blocks on the V placement: a pattern of six unit cells that every device repeats, and how a whole schedule grows
 * from it. After "Pipeline Parallelism with Controllable Memory" (Qi et al. 2024, arXiv 2405.15362), in the form of its first
 * public search.
 *
 * A schedule is a grid of unit cells, a row a device. Letters, as in that search: F, f the forwards of a device's first and
 * second stage, B, W the input and weight gradients of the second, b, w those of the first. */
#ifndef PPSCHED_STRATEGY_V_BLOCK_H
#define PPSCHED_STRATEGY_V_BLOCK_H

#include "model/builder.h"

enum { PPI_V_PERIOD = 6 };

/* The letters F, f, B, b, W, w. */
enum ppi_v_letter { PPI_V_BLANK, PPI_V_F, PPI_V_SECOND_F, PPI_V_B, PPI_V_FIRST_B, PPI_V_W, PPI_V_FIRST_W };

/* A block: the slots of F, f, B and b on the first device, and how far they move from one device to the next: F and B by
 * `step[0]`, from the `turn`-th device on by step[1]; f and b back by one. */
struct ppi_v_block {
    uint32_t slot[4];
    uint32_t step[2], turn;
};

/* Room to grow schedules of one size. */
struct ppi_v_grid {
    struct ppi_host host;
    int32_t devices, microbatches, built; /* built: microbatches of the repeated pattern */
    int32_t columns, used;                /* there is room for; there is nothing behind */
    uint8_t *cells, *spare;               /* row by row */
    uint8_t *slots;                       /* of the six letters of each device in the repeated pattern */
    int32_t squeezed;                     /* columns before it are as the last squeeze left them */
    int32_t *placed;                      /* column of each F, f, B and b that a squeeze has placed */
    int32_t *counts; /* a squeeze's numbers for each device: placed F, f, B and b, and the first free column */
};

ppsched_status ppi_v_grid_make(struct ppi_v_grid *out, const struct ppi_host *host, uint32_t devices, uint32_t microbatches,
                               ppsched_error *error);
void ppi_v_grid_clear(struct ppi_v_grid *grid);

/* Grows the schedule of a block. False where the block does not give one: cells collide, or memory grows beyond
 * `most_activations`, counted in stage passes from F to W. Where `keeps_early` is not set, also where it is plain that a weight
 * gradient stands before its own input gradient. */
bool ppi_v_grow(struct ppi_v_grid *grid, const struct ppi_v_block *block, int32_t most_activations, bool keeps_early);

/* What growth leaves open: a weight gradient may stand before its own input gradient. Lays the weight gradients anew from the
 * first such place on. False where memory grows beyond `most_activations`. */
bool ppi_v_mend(struct ppi_v_grid *grid, int32_t most_activations);

/* Writes the grid's ops, device by device, 6 * microbatches each. False where a weight gradient comes before its input
 * gradient, or ops were lost. */
bool ppi_v_ops(const struct ppi_v_grid *grid, ppsched_op *ops);

#endif
