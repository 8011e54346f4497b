/* SPDX-License-Identifier: Apache-2.0 */
/* A search for the best schedule of one problem: the problem, the best schedule so far, and the one place where candidates are
 * priced, checked against the memory limits and kept. */
#ifndef PPSCHED_SEARCH_ATTEMPT_H
#define PPSCHED_SEARCH_ATTEMPT_H

#include "bound/problem.h"
#include "ir/progress.h"
#include "search/pool.h"
#include "search/price.h"

struct ppi_attempt {
    const void *asked;            /* the caller's request, which a search never reads */
    const char *name;             /* the strategy's, for refusals */
    const ppsched_config *config; /* with one iteration */
    const ppsched_config *stated; /* the caller's, where `config` is its average scenario; else NULL */
    ppsched_config *expected;     /* owned: the average scenario */
    int32_t placement;
    struct ppi_poll poll;
    struct ppi_arena arena;      /* of arrays that live as long as the attempt */
    struct ppi_problem problem;  /* the config on that placement */
    struct ppi_orders best;      /* the best so far; owns its ops */
    double objective;            /* its time; infinite where there is none */
    double goal;                 /* a lower bound, with rounding: a search stops here */
    struct ppi_orders candidate; /* scratch for one more, which owns its ops; changes place with `best` where it is better */
    struct ppi_pool *pool;       /* of the shortest candidates; NULL: they are not kept */
    bool is_out_of_memory;       /* a candidate could not be priced, so the best may have been missed */
    struct ppi_pricer pricer;    /* holds the candidate, or what a search puts there */
};

/* For a placement as in ppi_config_place; the objective is the longest device span or the makespan. All arguments must outlive
 * it. Errors: RANGE where the config's lists contradict each other, or times overflow; REFUSED, NO_MEMORY. */
ppsched_status ppi_attempt_make(struct ppi_attempt *out, const void *asked, const char *name, const ppsched_config *config,
                                int32_t placement, bool by_span, ppsched_error *error);
void ppi_attempt_clear(struct ppi_attempt *attempt);

/* Hands the ops of the best over to the caller: memory of the config's host. */
ppsched_op *ppi_attempt_release_best(struct ppi_attempt *attempt);

/* REFUSED, with the least limit that works, where a device cannot hold one microbatch's activations; otherwise some schedule
 * fits. */
ppsched_status ppi_attempt_require_fit(const struct ppi_attempt *attempt, ppsched_error *error);

/* Where the objective is the span: it becomes that of so many iterations of the schedule, divided by their number. The lower
 * bound is computed again, with more work. */
ppsched_status ppi_attempt_repeat(struct ppi_attempt *attempt, uint32_t iterations, ppsched_error *error);

/* For a search that splits all backwards: raises the lower bound to the Fs, Is and Ws of the busiest device. */
void ppi_attempt_split_only(struct ppi_attempt *attempt);

/* Whether a shorter schedule may exist. */
static inline bool ppi_attempt_goes_on(const struct ppi_attempt *attempt)
{
    return attempt->objective > attempt->goal;
}

/* Counts so many passes over all ops as work (see ir/progress.h). CANCELLED where the caller stops the search. */
static inline ppsched_status ppi_attempt_spend(struct ppi_attempt *attempt, double passes, ppsched_error *error)
{
    return ppi_poll_spend(&attempt->poll, passes * (double)ppi_problem_ops(&attempt->problem), error);
}

/* The candidate becomes the best where its time, which the search passes, is shorter; it is offered to the pool too. Best and
 * candidate change places, so a search must write each candidate whole, counts included. */
void ppi_attempt_keep(struct ppi_attempt *attempt, double objective);

/* Whether that depends on the time alone, and not on the ops. */
bool ppi_attempt_keeps_by_time(const struct ppi_attempt *attempt);

/* Prices the candidate with the evaluator. Errors: INVALID_SCHEDULE where it cannot be run; RANGE where its times overflow;
 * NO_MEMORY. */
ppsched_status ppi_attempt_price(struct ppi_attempt *attempt, double *objective, ppsched_error *error);

/* Prices the candidate, and keeps it where it is within all limits and shorter. One that cannot be run is skipped. Errors:
 * RANGE where its times overflow, NO_MEMORY. */
ppsched_status ppi_attempt_offer(struct ppi_attempt *attempt, ppsched_error *error);

/* The candidate's peak memory on any device, static memory included; `*fits`: whether all devices keep their limits up to
 * rounding. Needs no times. */
double ppi_attempt_peak(const struct ppi_attempt *attempt, bool *fits);

#endif
