/* SPDX-License-Identifier: Apache-2.0 */
/* The most promising moves of a block from one stage to another. */
#ifndef PPSCHED_SPLIT_PROMISING_MOVES_H
#define PPSCHED_SPLIT_PROMISING_MOVES_H

#include "split/split_search.h"

/* Measured: docs/performance.md. */
enum { PPI_SPLIT_TRIED = 16 }; /* moves that are priced before others are estimated */

struct ppi_split_move {
    double overshoot; /* estimated change of the devices' overshoot */
    double worth;     /* estimated change of the time, by the critical path; in repair, of the unevenness */
    uint32_t from, to;
};

struct ppi_split_moves {
    const struct ppi_splitting *splitting;
    double *right, *left;        /* by stage: worth of a block's move from stage 0 to it, and from it to stage 0 */
    double *passes;              /* by stage: passes held at its device's peak, */
    double *whole_passes;        /* and those with all activations, after recomputation */
    double *share;               /* by stage: share of its activations that is kept */
    double *slack;               /* by device: memory that is left; below 0: overshoot */
    double *gives[2], *takes[2]; /* by stage: memory of the block that leaves, or comes, by a move to the left, or right */
    bool repairs;                /* overshoot comes first */
    bool has_overshoots;         /* overshoots are estimated */
    struct ppi_split_move list[PPI_SPLIT_TRIED]; /* sorted, the best first */
    uint32_t count;
};

ppsched_status ppi_split_moves_open(struct ppi_split_moves *out, const struct ppi_splitting *splitting, ppsched_error *error);

/* Starts an empty list for the present split, whose criticality has been found; not needed with `repairs`. */
void ppi_split_moves_start(struct ppi_split_moves *moves, bool repairs);

/* Estimates all moves from a stage. */
void ppi_split_moves_offer(struct ppi_split_moves *moves, uint32_t from);

/* Repairs the present split: moves blocks, whatever the step time, until no device exceeds its memory or no move helps. */
ppsched_status ppi_split_repair(struct ppi_splitting *splitting, ppsched_error *error);

static inline bool ppi_split_may_give(const struct ppi_splitting *splitting, uint32_t stage)
{
    return splitting->at[stage + 1] - splitting->at[stage] > ppi_split_least(splitting, stage);
}

#endif
