/* SPDX-License-Identifier: Apache-2.0 */
/* The times of overlapped pairs of a split, where they follow from the windows of its layers. */
#ifndef PPSCHED_SPLIT_PAIR_TIMES_H
#define PPSCHED_SPLIT_PAIR_TIMES_H

#include "split/recompute_options.h"
#include "split/walk.h"

struct ppi_pair_slot;
struct ppi_type_times;
struct ppi_pair_key;

struct ppi_pair_times {
    struct ppi_front_builder *builder; /* chooses how layers recompute; its arena and layers are used */
    struct ppi_pair_slot *slots;       /* the pairs that were found, by hash; a collision overwrites the slot */
    struct ppi_pair_key *loaded;       /* by pair of the walk: what its times are of */
    uint8_t *recomputes;               /* by layer */
    double *scale;                     /* by device: on the times of its pairs */
    uint32_t *forwards, *backwards;    /* by layer: windows of the layers before it, without recomputation */
    uint8_t *exceeds;                  /* by pair of the walk: it has too many windows */
    bool is_refused;                   /* the split that was loaded has stages whose pair has too many windows */
    uint32_t generation;               /* of the choices how layers recompute */
};

/* What the stages of a split have. */
struct ppi_pair_split {
    const uint32_t *border;             /* first layer of each stage, then the number of layers */
    const uint32_t *like;               /* by stage: first and end of identical layers */
    const uint32_t *option;             /* how each stage recomputes; NULL: none does */
    const struct ppi_type_times *types; /* by device; NULL where these differ by speeds alone */
    const double *forward;              /* by layer: sums of times of the layers before it, at speed 1 */
};

/* `*out` stays NULL where the walk has no times of pairs. All memory is from `arena`. */
ppsched_status ppi_pair_times_open(struct ppi_pair_times **out, struct ppi_arena *arena, struct ppi_front_builder *builder,
                                   const struct ppi_walk *walk, const ppsched_config *config, ppsched_error *error);

/* Options are numbered in another way from now on. */
void ppi_pair_times_forget(struct ppi_pair_times *times);

/* Sets the times of all pairs of the walk that have changed, and `is_refused`. `*visited` grows by the work. NO_MEMORY. */
ppsched_status ppi_pair_times_load(struct ppi_pair_times *times, struct ppi_walk *walk, const struct ppi_pair_split *split,
                                   uint64_t *visited, ppsched_error *error);

#endif
