/* SPDX-License-Identifier: Apache-2.0 */
/* A way to place trips, and what it costs. */
#ifndef PPSCHED_OFFLOAD_TRANSFER_PLAN_H
#define PPSCHED_OFFLOAD_TRANSFER_PLAN_H

#include "offload/transfers.h"

enum { PPI_MOST_LEADS = 6 }; /* how often reloads that come too late are tried earlier */

/* A schedule and its figures. */
struct ppi_choice {
    ppsched_schedule *schedule;
    ppsched_timeline *timeline;
    uint32_t copies; /* trips that go */
};

void ppi_choice_clear(struct ppi_choice *choice);

/* The trips that are picked, at their places. */
ppsched_status ppi_choice_make(struct ppi_choice *out, const struct ppi_placing *placing, ppsched_error *error);

/* Likewise, with waits that hold `limits`, one a device, as far as that goes: see hold.h. */
ppsched_status ppi_choice_hold(struct ppi_choice *out, const struct ppi_placing *placing, const double *limits,
                               ppsched_error *error);

/* What is placed already, with such waits. */
ppsched_status ppi_choice_wait(struct ppi_choice *out, const struct ppi_placing *placing, const struct ppi_choice *placed,
                               const double *limits, ppsched_error *error);

/* A lead to try: none, half of an op, and so on, each twice the one before. */
static inline uint32_t ppi_most_leads(const struct ppi_placing *placing)
{
    return placing->lead_ops > 0 ? 0 : PPI_MOST_LEADS;
}

double ppi_lead(const struct ppi_placing *placing, uint32_t number);

static inline double ppi_choice_step(const struct ppi_choice *choice)
{
    return choice->timeline->metrics.makespan;
}

/* Whether it takes longer than the schedule as it is. */
static inline bool ppi_choice_is_longer(const struct ppi_choice *choice, const struct ppi_placing *placing)
{
    return ppi_choice_step(choice) > placing->plain->metrics.makespan * (1 + 1e-12);
}

bool ppi_choice_is_within(const struct ppi_choice *choice, const double *limits);

/* Takes `next` for `best`, which may be none, where it is shorter, or as long with fewer copies; clears the other. */
bool ppi_choice_keep(struct ppi_choice *best, struct ppi_choice *next);

#endif
