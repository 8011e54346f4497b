/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the split of a list of layers that suits an order of ops: balanced first, then improved, and where the problem
 * is small all splits. */
#ifndef PPSCHED_SPLIT_SPLIT_SEARCH_H
#define PPSCHED_SPLIT_SPLIT_SEARCH_H

#include "base/checked.h"
#include "split/split_state.h"

/* Dearer than any. */
#define PPI_NO_SPLIT                                                                                                           \
    {                                                                                                                          \
        PPI_INFINITE, PPI_INFINITE, PPI_INFINITE                                                                               \
    }

/* What is searched, and the best so far. Layers that must stay together make a block; `at` counts blocks. */
struct ppi_splitting {
    struct ppi_split_state state;
    uint32_t *cut; /* first layer of each block, and behind them the number of all */
    uint32_t blocks;
    uint32_t *at;               /* first block of each stage, and behind them the number of all: those at hand */
    uint32_t *border;           /* the same in layers */
    uint32_t *now_at, *now_pin; /* that of which `now` is the price */
    uint32_t *best_at, *best_pin, *best_option;
    double *best_weight; /* by which its sets were chosen */
    struct ppi_split_moves *moves;
    struct ppi_split_runner *runners; /* made when they are needed first */
    struct ppi_split_price now, best;
    double first_overshoot; /* of the first split, whose devices have work alike */
    uint64_t next_poll;     /* visits at which the caller is asked next */
    uint64_t most_visited;  /* nodes of walks, after which the search ends */
    bool proved;            /* no split is better */
};

/* Ops of the largest schedule that is searched for: the search holds 28 bytes of each. */
enum { PPI_SPLIT_MOST_OPS = 1 << 22 };

/* What is asked. */
struct ppi_split_question {
    const ppsched_config *config; /* sizes, links, limits */
    const ppsched_layers *layers;
    const ppsched_schedule *schedule;   /* of as many stages as the split shall have */
    double overhead[PPI_COMPUTE_KINDS]; /* what ops take beside their layers */
    bool by_span, may_be_empty;
    uint64_t most_visited;
    uint64_t small_visited;           /* at least, to try all splits where they are very few */
    const struct ppi_same_kind *same; /* how all stages recompute; NULL: as each layer likes */
    const uint32_t *fixed;            /* layers of each stage, where these are given; else NULL */
    const uint32_t *start;            /* layers of each stage of a split to begin with; or NULL */
    bool only_near;                   /* goes down from there alone */
    uint32_t left_out;                /* microbatches more than the schedule has: see ppi_split_state_leave_out */
    bool must_fit;                    /* goes no further where the first splits do not fit */
};

/* Gets ready for searches. `out` is the caller's to clear with its room. RANGE where there are fewer blocks than stages;
 * NO_MEMORY. */
ppsched_status ppi_splitting_open(struct ppi_splitting *out, struct ppi_arena *arena, const struct ppi_split_question *question,
                                  ppsched_error *error);

/* Finds a split; may be called again for other ways to recompute, visits, and starts. */
ppsched_status ppi_splitting_search(struct ppi_splitting *splitting, const struct ppi_split_question *question,
                                    ppsched_error *error);

/* Goes on from what another search for the same found with a shorter schedule. */
ppsched_status ppi_splitting_go_on(struct ppi_splitting *splitting, const struct ppi_splitting *from,
                                   const struct ppi_split_question *question, ppsched_error *error);

/* The best split: layers of each stage, and the kind of each layer. */
ppsched_status ppi_splitting_tell(struct ppi_splitting *splitting, uint32_t *layers, uint8_t *recomputes, ppsched_error *error);

/* Devices whose fullest one is to have as little work as may be. */
struct ppi_split_load {
    const ppsched_layers *layers; /* of the candidate's microbatches, or of slices of one */
    const uint32_t *device_of;    /* of each stage of the first copy of the model */
    uint32_t devices, stages, copies;
    double passes[2];         /* of each copy: its microbatches, each as often as it is larger than what layers say; 0 */
    double overhead;          /* of a stage pass beside its layers, at least */
    bool may_be_empty;        /* stages but the first and the last */
    bool has_whole_backwards; /* of all ops, else some may be split */
    bool is_chain;            /* the makespan of a flushed iteration with one stage a device */
};

/* What no split of the layers, no recomputation and no order can do better. */
double ppi_split_bound(const struct ppi_split_load *load);

/* What one microbatch takes at least on its way over all layers and back. */
double ppi_split_path(const ppsched_layers *layers);

/* --- its parts --- */

/* Prices the split at hand. */
ppsched_status ppi_splitting_price(struct ppi_splitting *splitting, struct ppi_split_price *price, ppsched_error *error);

/* The same; where devices lack more than `now`, or it is longer than that by more than a share, it takes infinitely long. */
ppsched_status ppi_splitting_price_near(struct ppi_splitting *splitting, double share, struct ppi_split_price *price,
                                        ppsched_error *error);

/* Prices the split at hand; tells whether it is better than `now`, which it is then. */
ppsched_status ppi_splitting_try(struct ppi_splitting *splitting, bool *better, ppsched_error *error);

/* Takes the split at hand, and its pins, for `now`; keeps it where it is the best. */
void ppi_splitting_take(struct ppi_splitting *splitting, const struct ppi_split_price *price);

/* Asks the config's progress function now and then; CANCELLED where it wants no more. */
ppsched_status ppi_splitting_poll(struct ppi_splitting *splitting, ppsched_error *error);

/* Puts the best split at hand. */
void ppi_splitting_go_back(struct ppi_splitting *splitting);

/* Moves a block from one stage to another, over those between them, which keep as many. */
void ppi_split_move(uint32_t *at, uint32_t from, uint32_t to);

/* Splits to begin with: of each device the stages have work alike, or the later ones more and more, or less; those from TILTS
 * on have as many blocks on each stage of a chunk. */
enum { PPI_SPLIT_TILTS = 6, PPI_SPLIT_STARTS = 10 };

/* Puts one at hand. */
void ppi_balance(struct ppi_splitting *splitting, int start);

/* Tries one, mended where devices lack memory. */
ppsched_status ppi_splitting_try_start(struct ppi_splitting *splitting, int start, ppsched_error *error);

/* Moves blocks from stage to stage, those first whose time matters, until nothing gets better or enough was visited. */
ppsched_status ppi_split_improve(struct ppi_splitting *splitting, ppsched_error *error);

/* The same from the best split alone, without walks. */
ppsched_status ppi_split_improve_near(struct ppi_splitting *splitting, ppsched_error *error);

/* Down from the best split, on from there at random, and down again, with so many visits. */
ppsched_status ppi_split_improve_on(struct ppi_splitting *splitting, uint64_t visits, ppsched_error *error);

/* Tries all splits, but those that cannot be better, as long as that visits no more nodes; `proved` where it came to its
 * end. */
ppsched_status ppi_split_enumerate(struct ppi_splitting *splitting, uint64_t most_visited, ppsched_error *error);

/* Whether there are few enough to try that. */
bool ppi_split_is_small(const struct ppi_splitting *splitting);

/* Whether there are so few that it may take `small_visited`. */
bool ppi_split_is_tiny(const struct ppi_splitting *splitting);

/* Fewest blocks of a stage. */
static inline uint32_t ppi_split_least(const struct ppi_splitting *splitting, uint32_t stage)
{
    return splitting->state.may_be_empty && stage > 0 && stage + 1 < splitting->state.stages ? 0 : 1;
}

#endif
