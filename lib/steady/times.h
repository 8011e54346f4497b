/* SPDX-License-Identifier: Apache-2.0 */
/* Whether sums of a problem's times are exact, and how its times are rounded where they are not. */
#ifndef PPSCHED_STEADY_TIMES_H
#define PPSCHED_STEADY_TIMES_H

#include "eval/timeline.h"
#include "strategy/strategy.h"

/* The most that rounding may change a time, as a share of it. */
#define PPI_MOST_ROUNDING 0x1p-40

struct ppi_exactness {
    struct ppi_costs costs;
    uint32_t instances;
    bool is_exact;     /* times are multiples of one power of two, and no sum of all is too large */
    double work, path; /* of the busiest device for one microbatch; of one microbatch through all stages and back */
    double *pairs;     /* the times of overlapped pairs, rounded; NULL: not given, or they need not be */
    double rounding;   /* with the last step: the largest change of a time, as a share of it */
};

/* `task`: of the whole problem. Errors: those of ppi_costs_make. Cleared by the caller, also after an error. */
ppsched_status ppi_exactness_find(struct ppi_exactness *out, const ppsched_config *config, const struct ppi_task *task,
                                  ppsched_error *error);
void ppi_exactness_clear(struct ppi_exactness *exactness);

/* Rounds the times of a config with the caller's lists for `count` microbatches, if they need it. */
void ppi_exactness_round(struct ppi_exactness *exactness, ppsched_config *config, uint32_t count);

/* Whether all sums of a timeline of that config are exact. */
bool ppi_exactness_holds(const struct ppi_exactness *exactness, const ppsched_config *config, const ppsched_timeline *timeline);

#endif
