/* SPDX-License-Identifier: Apache-2.0 */
/* A pattern that all microbatches repeat, one period apart: when each op of the first one starts, so that those of all others
 * find their device free. Compilers schedule loops like this: modulo scheduling (Rau, "Iterative Modulo Scheduling", 1994).
 * The sooner a microbatch is finished, the fewer are in flight; with a longer period fewer are in flight too. */
#ifndef PPSCHED_SEARCH_PERIODIC_H
#define PPSCHED_SEARCH_PERIODIC_H

#include "bound/problem.h"
#include "search/orders.h"

/* A microbatch runs through a chain of links: its Fs up the stages, then its Is (or Bs) down. Its Ws are numbered after the
 * chain, in the order of their Is. */
static inline uint32_t ppi_link_of(const struct ppi_problem *problem, uint32_t stage, uint8_t kind)
{
    uint32_t stages = problem->stages, back = stages - 1 - stage;
    return kind == PPSCHED_KIND_F ? stage : kind == PPSCHED_KIND_W ? stages + stages + back : stages + back;
}

/* An op of a pattern. */
struct ppi_beat {
    double start;  /* of microbatch 0 */
    double phase;  /* within its period */
    double length; /* for which it occupies its device */
    double wait;   /* before it, in addition to the delay, when it is laid next; set by searches, 0 at first */
    uint32_t turn; /* the period in which it starts */
    uint16_t stage;
    uint8_t kind;
};

/* The beats of a device; sorted by phase, unless the Ws are open. */
struct ppi_beats {
    struct ppi_beat **beat;
    uint32_t count;
};

struct ppi_periodic {
    double period;
    struct ppi_beat *beat; /* by link */
    struct ppi_beats *row; /* by device */
};

/* Where the Ws are laid. */
enum ppi_weights {
    PPI_WEIGHTS_OPEN,   /* nowhere, and Is take their least time */
    PPI_WEIGHTS_JOINED, /* the backwards are Bs */
    PPI_WEIGHTS_EARLY,  /* each after its I, before the next link of the chain is laid */
    PPI_WEIGHTS_LATE,   /* each after its I, once the chain has been laid */
    PPI_WEIGHTS_LAST    /* after the end of the whole chain */
};

/* How a pattern is laid: each op at the first time after its inputs that is free in its device's period. */
struct ppi_recipe {
    double period;
    double share; /* part of its time for which an op occupies its device: below 1 patterns get tighter, at 0 ops may overlap */
    enum ppi_weights weights;
    bool crowds; /* an op that finds no free time starts when its inputs arrive: only the order counts */
};

/* In the caller's arena. */
ppsched_status ppi_periodic_make(struct ppi_periodic *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                                 ppsched_error *error);

/* False, and the pattern is invalid, where an op finds no free time. */
bool ppi_periodic_lay(struct ppi_periodic *pattern, const struct ppi_problem *problem, const struct ppi_recipe *recipe);

/* Whether all devices stay within their limits when the problem's microbatches follow one another; `endless`: when infinitely
 * many do, on those devices that cannot hold all of the problem's at once. Checks the steady state where there is one: where
 * some forwards have ended by then, more may have been held before. */
bool ppi_periodic_fits(const struct ppi_periodic *pattern, const struct ppi_problem *problem, bool endless);

/* Activations of a stage that are held at once while a pattern with open Ws repeats, each W right after its I. */
double ppi_periodic_in_flight(const struct ppi_periodic *pattern, const struct ppi_problem *problem, uint32_t stage);

/* Writes the order in which each device runs all microbatches. */
void ppi_periodic_repeat(const struct ppi_periodic *pattern, const struct ppi_problem *problem, struct ppi_orders *out);

#endif
