/* SPDX-License-Identifier: Apache-2.0 */
/* A pattern that all microbatches repeat, one period apart: when each op of the first one starts, so that those of all others
 * find their device free. Compilers do the same to loops: modulo scheduling (Rau, "Iterative Modulo Scheduling", 1994). The
 * faster a microbatch runs through, the fewer are in flight; a longer period holds fewer, waits on its way more. */
#ifndef PPSCHED_SEARCH_PERIODIC_H
#define PPSCHED_SEARCH_PERIODIC_H

#include "bound/problem.h"
#include "search/orders.h"

/* A microbatch runs through a chain of links: its Fs up the stages, then its Is (or Bs) down. Behind the chain its Ws are
 * numbered, in the order of their Is. */
static inline uint32_t ppi_link_of(const struct ppi_problem *problem, uint32_t stage, uint8_t kind)
{
    uint32_t stages = problem->stages, back = stages - 1 - stage;
    return kind == PPSCHED_KIND_F ? stage : kind == PPSCHED_KIND_W ? stages + stages + back : stages + back;
}

/* An op of a pattern. */
struct ppi_beat {
    double start;  /* of microbatch 0 */
    double phase;  /* within its period */
    double length; /* for which it has its device for itself */
    double wait;   /* before it, besides the delay: for the next laying; searches set it, at first it is 0 */
    uint32_t turn; /* the period in which it starts */
    uint16_t stage;
    uint8_t kind;
};

/* The beats of a device; by phases, unless the Ws are open. */
struct ppi_beats {
    struct ppi_beat **beat;
    uint32_t count;
};

struct ppi_periodic {
    double period;
    struct ppi_beat *beat; /* by link */
    struct ppi_beats *row; /* by device */
};

/* What becomes of the Ws. */
enum ppi_weights {
    PPI_WEIGHTS_OPEN,   /* none are laid, and Is take their least time */
    PPI_WEIGHTS_JOINED, /* the backwards are Bs */
    PPI_WEIGHTS_EARLY,  /* each is laid behind its I, before the chain goes on */
    PPI_WEIGHTS_LATE,   /* likewise, but when the chain has been laid */
    PPI_WEIGHTS_LAST    /* behind the whole chain */
};

/* How a pattern is laid: each op at the first time from its inputs on that its device's period has free. */
struct ppi_recipe {
    double period;
    double share; /* part of its time for which an op has its device for itself: with less than 1 patterns get tighter, and
                     with 0 ops meet */
    enum ppi_weights weights;
    bool crowds; /* an op that finds no room starts when its inputs are there: what counts in the end is the order */
};

/* In a room of the caller's. */
ppsched_status ppi_periodic_make(struct ppi_periodic *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                                 ppsched_error *error);

/* False, and the pattern is of no use, where an op finds no room. */
bool ppi_periodic_lay(struct ppi_periodic *pattern, const struct ppi_problem *problem, const struct ppi_recipe *recipe);

/* Whether all devices stay within their limits when the problem's microbatches follow one another; `endless`: when ever more
 * do, on those devices that cannot hold all of the problem's at once. Looks at the steady state where there is one: where some
 * forwards have ended by then, more may have been held before. */
bool ppi_periodic_fits(const struct ppi_periodic *pattern, const struct ppi_problem *problem, bool endless);

/* Activations of a stage that are held at once while a pattern repeats that leaves the Ws open, each behind its I. */
double ppi_periodic_in_flight(const struct ppi_periodic *pattern, const struct ppi_problem *problem, uint32_t stage);

/* Writes the order in which the devices run all microbatches. */
void ppi_periodic_repeat(const struct ppi_periodic *pattern, const struct ppi_problem *problem, struct ppi_orders *out);

#endif
