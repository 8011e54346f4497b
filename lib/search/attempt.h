/* SPDX-License-Identifier: Apache-2.0 */
/* A search for the best schedule of one problem: what is asked, the best that has been found, and the one place where
 * candidates are priced, held against the limits and kept. */
#ifndef PPSCHED_SEARCH_ATTEMPT_H
#define PPSCHED_SEARCH_ATTEMPT_H

#include "bound/problem.h"
#include "ir/progress.h"
#include "search/pool.h"
#include "search/price.h"

struct ppi_attempt {
    const void *asked;            /* the caller's: what it was asked for */
    const char *name;             /* the strategy's, for refusals */
    const ppsched_config *config; /* with one iteration */
    const ppsched_config *stated; /* where that is the average scenario of one with a goal: that one; else NULL */
    ppsched_config *expected;     /* owned: the average scenario */
    int32_t placement;
    struct ppi_poll poll;
    struct ppi_arena arena;      /* arrays for as long as the attempt */
    struct ppi_problem problem;  /* the config on that placement */
    struct ppi_orders best;      /* the best so far */
    double objective;            /* its time; infinite where there is none */
    double goal;                 /* a lower bound, and its rounding: nothing below is hoped for */
    struct ppi_orders candidate; /* room for another */
    struct ppi_pool *pool;       /* of candidates, the shortest; NULL: they are not kept */
    bool is_out_of_memory;       /* a price could not be had, so that the best may not be */
    struct ppi_pricer pricer;    /* of the candidate, or of what a search puts there */
};

/* For a placement as in ppi_config_place, and for the longest device span or the makespan. All must outlive it but the name's
 * owner. Errors: RANGE where the config's lists contradict each other, or times overflow; REFUSED, NO_MEMORY. */
ppsched_status ppi_attempt_make(struct ppi_attempt *out, const void *asked, const char *name, const ppsched_config *config,
                                int32_t placement, bool by_span, ppsched_error *error);
void ppi_attempt_clear(struct ppi_attempt *attempt);

/* REFUSED, with the least limit that works, where a device cannot hold one microbatch's activations; else there is a schedule
 * that fits. */
ppsched_status ppi_attempt_require_fit(const struct ppi_attempt *attempt, ppsched_error *error);

/* Where the objective is the span: that of so many iterations, of which each runs the schedule, divided by their number. The
 * goal is found anew, with more work. */
ppsched_status ppi_attempt_repeat(struct ppi_attempt *attempt, uint32_t iterations, ppsched_error *error);

/* For a search that splits all backwards: its goal is no less than the Fs, Is and Ws of the busiest device. */
void ppi_attempt_split_only(struct ppi_attempt *attempt);

/* Whether a shorter schedule may exist. */
static inline bool ppi_attempt_goes_on(const struct ppi_attempt *attempt)
{
    return attempt->objective > attempt->goal;
}

/* Counts so many passes over all ops (see watch.h). CANCELLED where the caller wants no more. */
static inline ppsched_status ppi_attempt_spend(struct ppi_attempt *attempt, double passes, ppsched_error *error)
{
    return ppi_poll_spend(&attempt->poll, passes * (double)ppi_problem_ops(&attempt->problem), error);
}

/* The candidate becomes the best where its time, which the search knows, is shorter. The two change places: a search writes its
 * candidates whole, counts included. The pool is offered it too. */
void ppi_attempt_keep(struct ppi_attempt *attempt, double objective);

/* Prices the candidate by the evaluator. Errors: INVALID_SCHEDULE where it cannot be run; RANGE where its times overflow;
 * NO_MEMORY. */
ppsched_status ppi_attempt_price(struct ppi_attempt *attempt, double *objective, ppsched_error *error);

/* Prices the candidate, and keeps it where it is within all limits and shorter. What cannot be run is passed
 * over. Errors: RANGE where its times overflow, NO_MEMORY. */
ppsched_status ppi_attempt_offer(struct ppi_attempt *attempt, ppsched_error *error);

/* The most memory that the candidate needs on a device, static memory included; `*fits`: whether no device goes over its limit
 * by more than rounding. No times are needed. */
double ppi_attempt_peak(const struct ppi_attempt *attempt, bool *fits);

#endif
