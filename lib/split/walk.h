/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule as a list of nodes in topological order, so that one pass over it finds all ends for other times of the stages.
 * Results equal the evaluator's to the last bit. */
#ifndef PPSCHED_SPLIT_WALK_H
#define PPSCHED_SPLIT_WALK_H

#include "base/arena.h"
#include "ir/op.h"
#include "ir/schedule.h"

/* Kinds of passes whose times a stage has. */
enum { PPI_WALK_KINDS = PPI_COMPUTE_KINDS - 1 };

/* Nodes for inputs that are there at time 0, and for an input that nothing waits for. */
enum { PPI_WALK_START, PPI_WALK_NOTHING, PPI_WALK_FIRST };

struct ppi_walk_node {
    uint32_t before; /* on its device */
    uint32_t input;  /* from another stage */
    uint32_t cost;   /* index of its duration and its input's delay */
};

struct ppi_walk_cost {
    double duration, delay;
};

/* What a node also waits for where senders wait: a cost whose delay counts after the node before it, and a node with its
 * cost. */
struct ppi_walk_hold {
    uint32_t turn;        /* PPI_WALK_NO_COST: none */
    uint32_t input, cost; /* of a W, its I; PPI_WALK_NOTHING: none */
};

#define PPI_WALK_NO_COST UINT32_MAX

/* Overlapped pairs of the same two stage instances have the same costs. */
struct ppi_walk_pair {
    uint32_t forward, backward; /* stage instances */
    uint32_t next;              /* number of the next pair with this forward; PPI_WALK_NO_COST: none */
    uint8_t kind;               /* of the backward */
};

struct ppi_walk {
    const ppsched_schedule *schedule;
    bool by_span;
    struct ppi_walk_node *nodes;
    struct ppi_walk_hold *holds; /* by node; NULL where senders do not wait */
    double *end;                 /* of each node */
    uint32_t count;
    uint32_t *first, *last; /* node of each device; PPI_WALK_START: none */
    struct ppi_walk_cost *costs;
    struct ppi_walk_pair *pairs;
    uint32_t instances, pair_count;
    uint32_t most_pairs;  /* room for them */
    bool has_pair_times;  /* pairs have given times; otherwise they take the sum of both ops */
    bool splits_backward; /* it has Is and Ws */
};

struct ppi_walk_options {
    bool by_span, senders_wait;
    bool has_pair_times; /* the caller gives the time of each pair, and both of its ends */
};

/* For one iteration of a valid schedule. NO_MEMORY. */
ppsched_status ppi_walk_make(struct ppi_walk *out, struct ppi_arena *arena, const ppsched_schedule *schedule,
                             const struct ppi_walk_options *options, ppsched_error *error);

/* Sets the times (F, B, I, W by kind) of a stage in all copies of the model, or in one; and the delays of its inputs from the
 * stage before and after it, by copy. */
void ppi_walk_set_times(struct ppi_walk *walk, uint32_t stage, const double *duration);
void ppi_walk_set_times_in(struct ppi_walk *walk, uint32_t copy, uint32_t stage, const double *duration);
void ppi_walk_set_delays(struct ppi_walk *walk, uint32_t copy, uint32_t stage, double forward, double backward);

/* The sum of both ops of a pair. */
double ppi_walk_sum_of_pair(const struct ppi_walk *walk, const struct ppi_walk_pair *pair);

/* Sets what a pair takes, and from its start to the ends of its forward and its backward. */
void ppi_walk_set_pair(struct ppi_walk *walk, uint32_t pair, double time, double forward_end, double backward_end);

/* The time of the schedule: span or makespan. */
double ppi_walk_price(struct ppi_walk *walk);

/* Adds up how often ops are on a critical path of that price: `weight` has four values, by kind - 1, for each of `rows` rows:
 * stages, or stages of each copy. */
void ppi_walk_weigh(const struct ppi_walk *walk, uint32_t rows, double *weight);

#endif
