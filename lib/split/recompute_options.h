/* SPDX-License-Identifier: Apache-2.0 */
/* What a stage can do about its memory: the sets of recomputed layers of which none both takes longer and holds more than
 * another. */
#ifndef PPSCHED_SPLIT_RECOMPUTE_OPTIONS_H
#define PPSCHED_SPLIT_RECOMPUTE_OPTIONS_H

#include "ir/recompute_scope.h"
#include "split/held_passes.h"

/* Sets that are kept; of more some in between are left out. */
enum { PPI_FRONT_MOST = 256 };

/* A set: what it adds to the backward, and what a stage pass holds with it, by how far the pass is. */
struct ppi_recompute_option {
    double added, held[PPI_HELD];
    double largest;  /* of its layers that are computed again */
    uint16_t before; /* the set of all layers but the last one */
    uint8_t kind;    /* of the last one */
};

/* By what they add, the least first, which is that of no recomputation at all. */
struct ppi_recompute_front {
    uint32_t count, capacity;
    bool is_ordered;     /* no set holds more than one before it, however far a pass is */
    uint32_t begin, end; /* of the layers whose it is, where it is among those that are remembered */
    struct ppi_recompute_option *options;
};

/* Where layers cannot choose: the first `count` of each stage that a runtime reaches have the kind of that name, and no others;
 * NULL: none has any. */
struct ppi_same_kind {
    const char *kind;
    uint32_t count;
    enum ppi_reach reach;
    const char *only; /* of all these the layers of that name alone; NULL: all */
};

/* What a layer holds that would be computed again and has no such kind: more than any device has. */
#define PPI_HELD_OUT_OF_REACH 1e100

/* The menus of equal layers by how many there are, made as they are asked for. */
struct ppi_front_builder {
    const ppsched_layers *layers;
    struct ppi_arena *arena;
    uint32_t *begin; /* first layer of each entry */
    struct ppi_recompute_front *
        *known; /* of each layer: the menu of its entry's layers up to it; NULL where it was not asked for */
    struct ppi_recompute_front scratch[2];
    struct ppi_recompute_front *remembered; /* menus of layers that are not equal */
    uint64_t work;                          /* sets that were looked at */
    const struct ppi_same_kind *same;       /* NULL where each layer can choose */
    bool has_whole;                         /* the order has Bs: what they hold counts */
    uint8_t *reached;                       /* of each entry: the kind that it has then, where it is one of the first */
    bool has_thinned;                       /* some sets were left out */
};

/* What layers hold of a microbatch where all stages recompute alike. */
double ppi_builder_held(const struct ppi_front_builder *builder, uint32_t begin, uint32_t end);

ppsched_status ppi_builder_open(struct ppi_front_builder *out, struct ppi_arena *arena, const ppsched_layers *layers,
                                const struct ppi_same_kind *same, ppsched_error *error);

/* All stages recompute alike from now on; NULL: each layer can choose. */
void ppi_builder_recompute(struct ppi_front_builder *builder, const struct ppi_same_kind *same);

/* The menu of the layers from `begin` to before `end`, into one that is zeroed or was made before. */
ppsched_status ppi_front_make(struct ppi_recompute_front *out, struct ppi_front_builder *builder, uint32_t begin, uint32_t end,
                              ppsched_error *error);

/* Which kind each of these layers has in a set of their menu; `recomputes` is that of all layers. */
ppsched_status ppi_front_choose(uint8_t *recomputes, struct ppi_front_builder *builder, uint32_t begin, uint32_t end,
                                uint32_t option, ppsched_error *error);

#endif
