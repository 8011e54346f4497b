/* SPDX-License-Identifier: Apache-2.0 */
/* Which moves of a block from one stage to another promise most. */
#ifndef PPSCHED_SPLIT_PROMISING_MOVES_H
#define PPSCHED_SPLIT_PROMISING_MOVES_H

#include "split/split_search.h"

enum { PPI_SPLIT_TRIED = 16 };

struct ppi_split_move {
    double overshoot; /* change of what devices lack, as far as one block tells */
    double worth;     /* change of the time, as far as the longest way tells; of the unevenness of the work, to mend a split */
    uint32_t from, to;
};

struct ppi_split_moves {
    const struct ppi_splitting *splitting;
    double *right, *left;        /* of each stage: worth of a block that moves there from stage 0, and from there to stage 0 */
    double *passes;              /* of each stage: held at once where its device holds most, */
    double *whole_passes;        /* and those of which all is there, as it was computed again */
    double *share;               /* of each stage: of its activations what is kept */
    double *slack;               /* of each device: what is left of its memory; below 0 what it lacks */
    double *gives[2], *takes[2]; /* of each stage: memory of the block that goes, or comes, by a move to the left, or right */
    bool repairs;                /* what devices lack comes first */
    bool has_overshoots;         /* memory matters */
    struct ppi_split_move list[PPI_SPLIT_TRIED]; /* the best first */
    uint32_t count;
};

ppsched_status ppi_split_moves_open(struct ppi_split_moves *out, const struct ppi_splitting *splitting, ppsched_error *error);

/* Forgets all moves, for the split at hand, whose times were weighed; or, to mend a split, were not. */
void ppi_split_moves_start(struct ppi_split_moves *moves, bool repairs);

/* Looks at all moves from a stage. */
void ppi_split_moves_offer(struct ppi_split_moves *moves, uint32_t from);

/* Moves blocks from the split at hand on, whatever time that takes, until no device lacks memory or nothing helps. */
ppsched_status ppi_split_repair(struct ppi_splitting *splitting, ppsched_error *error);

static inline bool ppi_split_may_give(const struct ppi_splitting *splitting, uint32_t stage)
{
    return splitting->at[stage + 1] - splitting->at[stage] > ppi_split_least(splitting, stage);
}

#endif
