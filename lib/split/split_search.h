/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the best split of a list of layers for an order of ops: balanced splits first, then improved ones, and where
 * the problem is small all splits. */
#ifndef PPSCHED_SPLIT_SPLIT_SEARCH_H
#define PPSCHED_SPLIT_SPLIT_SEARCH_H

#include "base/checked.h"
#include "split/split_state.h"

/* Worse than any. */
#define PPI_NO_SPLIT                                                                                                           \
    {                                                                                                                          \
        PPI_INFINITE, PPI_INFINITE, PPI_INFINITE                                                                               \
    }

/* A search, with its present and best split. Layers that must stay together make a block; `at` counts blocks. */
struct ppi_splitting {
    struct ppi_split_state state;
    uint32_t *cut; /* first layer of each block, then the number of layers */
    uint32_t blocks;
    uint32_t *at;               /* the present split: first block of each stage, then the number of blocks */
    uint32_t *border;           /* the present split in layers */
    uint32_t *now_at, *now_pin; /* the split of which `now` is the price */
    uint32_t *best_at, *best_pin, *best_option;
    double *best_weight; /* criticality by which its options were chosen */
    struct ppi_split_moves *moves;
    struct ppi_split_runner *runners; /* of successive halving; made when first needed */
    struct ppi_split_price now, best;
    double first_overshoot; /* of the first split, with equal work on all devices */
    uint64_t next_poll;     /* visits at which progress is reported next */
    uint64_t most_visited;  /* nodes of walks, after which the search ends */
    bool proved;            /* no split is better: all were tried */
};

/* The most ops of a schedule: the search holds 28 bytes per op. */
enum { PPI_SPLIT_MOST_OPS = 1 << 22 };

/* The input of a search. */
struct ppi_split_question {
    const ppsched_config *config; /* sizes, links, limits */
    const ppsched_layers *layers;
    const ppsched_schedule *schedule;   /* with as many stages as the split will have */
    double overhead[PPI_COMPUTE_KINDS]; /* time of ops in addition to their layers */
    double overhead_scale;              /* of the overheads of devices, which the config has */
    bool by_span, may_be_empty;
    uint64_t most_visited;
    uint64_t small_visited;           /* for all splits, at least, where there are very few */
    const struct ppi_same_kind *same; /* how all stages recompute; NULL: each layer can choose */
    const uint32_t *fixed;            /* layers of each stage, where these are given; else NULL */
    const uint32_t *start;            /* layers of each stage of a first split; or NULL */
    bool only_near;                   /* only a local search from there */
    uint32_t left_out;                /* microbatches that the schedule leaves out: see ppi_split_state_leave_out */
    bool must_fit;                    /* ends where no balanced split fits */
};

/* Prepares for searches. `out` is freed with the caller's arena. RANGE where there are fewer blocks than stages; NO_MEMORY. */
ppsched_status ppi_splitting_open(struct ppi_splitting *out, struct ppi_arena *arena, const struct ppi_split_question *question,
                                  ppsched_error *error);

/* Finds a split; may be called again with other `same`, visits and starts. */
ppsched_status ppi_splitting_search(struct ppi_splitting *splitting, const struct ppi_split_question *question,
                                    ppsched_error *error);

/* Continues from the result of another search for the same layers with a shorter schedule. */
ppsched_status ppi_splitting_go_on(struct ppi_splitting *splitting, const struct ppi_splitting *from,
                                   const struct ppi_split_question *question, ppsched_error *error);

/* Outputs the best split: layers of each stage, and the recompute kind of each layer. */
ppsched_status ppi_splitting_tell(struct ppi_splitting *splitting, uint32_t *layers, uint8_t *recomputes, ppsched_error *error);

/* --- its parts --- */

/* Prices the present split. */
ppsched_status ppi_splitting_price(struct ppi_splitting *splitting, struct ppi_split_price *price, ppsched_error *error);

/* The same; the time is infinite where its overshoot is above that of `now`, or its time longer by more than a share. */
ppsched_status ppi_splitting_price_near(struct ppi_splitting *splitting, double share, struct ppi_split_price *price,
                                        ppsched_error *error);

/* Prices the present split. `*better`: whether it is better than `now`, and became that. */
ppsched_status ppi_splitting_try(struct ppi_splitting *splitting, bool *better, ppsched_error *error);

/* The present split, with its pins, becomes `now`, and the best where it is better. */
void ppi_splitting_take(struct ppi_splitting *splitting, const struct ppi_split_price *price);

/* Calls the config's progress callback at times; CANCELLED where it stops the search. */
ppsched_status ppi_splitting_poll(struct ppi_splitting *splitting, ppsched_error *error);

/* The best split becomes the present one. */
void ppi_splitting_go_back(struct ppi_splitting *splitting);

/* Moves a block from one stage to another; those in between keep their number of blocks. */
void ppi_split_move(uint32_t *at, uint32_t from, uint32_t to);

/* First splits, by number: a device's stages have equal work, or later ones more and more, or less; those from PPI_SPLIT_TILTS
 * on have equally many blocks on each stage of a chunk. */
enum { PPI_SPLIT_TILTS = 6, PPI_SPLIT_STARTS = 10 };

/* A first split becomes the present one. */
void ppi_balance(struct ppi_splitting *splitting, int start);

/* Tries a first split, repaired where devices exceed memory. */
ppsched_status ppi_splitting_try_start(struct ppi_splitting *splitting, int start, ppsched_error *error);

/* Moves blocks from stage to stage, those with the most critical times first, until nothing gets better or the visits are
 * spent. */
ppsched_status ppi_split_improve(struct ppi_splitting *splitting, ppsched_error *error);

/* A local search from the best split, without random walks. */
ppsched_status ppi_split_improve_near(struct ppi_splitting *splitting, ppsched_error *error);

/* A local search from the best split, a random walk, and a local search, with so many visits. */
ppsched_status ppi_split_improve_on(struct ppi_splitting *splitting, uint64_t visits, ppsched_error *error);

/* Tries all splits but those that cannot be better, with at most so many visits; sets `proved` where it completes. */
ppsched_status ppi_split_enumerate(struct ppi_splitting *splitting, uint64_t most_visited, ppsched_error *error);

/* Whether there are few enough splits to try that. */
bool ppi_split_is_small(const struct ppi_splitting *splitting);

/* Whether there are so few that it may use `small_visited`. */
bool ppi_split_is_tiny(const struct ppi_splitting *splitting);

/* The fewest blocks of a stage. */
static inline uint32_t ppi_split_least(const struct ppi_splitting *splitting, uint32_t stage)
{
    return splitting->state.may_be_empty && stage > 0 && stage + 1 < splitting->state.stages ? 0 : 1;
}

#endif
