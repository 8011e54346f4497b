/* SPDX-License-Identifier: Apache-2.0 */
/* The recompute options of a stage: the Pareto front of choices of recomputed layers, by added time and held memory. */
#ifndef PPSCHED_SPLIT_RECOMPUTE_OPTIONS_H
#define PPSCHED_SPLIT_RECOMPUTE_OPTIONS_H

#include "ir/recompute_scope.h"
#include "split/held_passes.h"

/* Most options of a front; of more, some between the ends are dropped. Measured: docs/performance.md. */
enum { PPI_FRONT_MOST = 256 };

/* A recompute option: the time that it adds to the backward, and the memory of a stage pass with it, by state of the pass. */
struct ppi_recompute_option {
    double added, held[PPI_HELD];
    double largest;  /* of its recomputed layers */
    uint16_t before; /* the option of all layers but the last */
    uint8_t kind;    /* of the last layer */
};

/* Options sorted by added time; the first has no recomputation. */
struct ppi_recompute_front {
    uint32_t count, capacity;
    bool is_ordered;     /* no option holds more than one before it, in any state of a pass */
    uint32_t begin, end; /* layers of the front, where it is in `remembered` */
    struct ppi_recompute_option *options;
};

/* Where layers cannot choose: the first `count` of each stage that a runtime reaches have the kind named `kind`, no others;
 * NULL: none is recomputed. */
struct ppi_same_kind {
    const char *kind;
    uint32_t count;
    enum ppi_reach reach;
    const char *only; /* of these only the layers of that name; NULL: all */
};

/* Memory of a layer that would be recomputed but has no such kind: more than any device has. */
#define PPI_HELD_OUT_OF_REACH 1e100

/* Makes and keeps fronts; those of equal layers by their number, made when they are needed. */
struct ppi_front_builder {
    const ppsched_layers *layers;
    struct ppi_arena *arena;
    uint32_t *begin;                    /* first layer of each entry */
    struct ppi_recompute_front **known; /* by layer: the front of its entry's layers up to it; NULL: not made yet */
    struct ppi_recompute_front scratch[2];
    struct ppi_recompute_front *remembered; /* fronts of layers that are not equal, by hash */
    uint64_t work;                          /* options that were compared */
    const struct ppi_same_kind *same;       /* NULL where each layer can choose */
    bool has_whole;                         /* the order has Bs: what they hold counts */
    uint8_t *reached;                       /* with `same`, by entry: the kind of its layers among the first `count` */
    bool has_thinned;                       /* some options were dropped */
};

/* What layers hold of a microbatch where all stages recompute in the same way. */
double ppi_builder_held(const struct ppi_front_builder *builder, uint32_t begin, uint32_t end);

ppsched_status ppi_builder_open(struct ppi_front_builder *out, struct ppi_arena *arena, const ppsched_layers *layers,
                                const struct ppi_same_kind *same, ppsched_error *error);

/* From now on all stages recompute in the same way; NULL: each layer can choose. */
void ppi_builder_recompute(struct ppi_front_builder *builder, const struct ppi_same_kind *same);

/* Makes the front of the layers from `begin` to before `end`, into one that is zeroed or was made before. */
ppsched_status ppi_front_make(struct ppi_recompute_front *out, struct ppi_front_builder *builder, uint32_t begin, uint32_t end,
                              ppsched_error *error);

/* Writes the kind of each of these layers in an option of their front; `recomputes` is indexed by layer. */
ppsched_status ppi_front_choose(uint8_t *recomputes, struct ppi_front_builder *builder, uint32_t begin, uint32_t end,
                                uint32_t option, ppsched_error *error);

#endif
