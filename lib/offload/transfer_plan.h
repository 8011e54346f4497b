/* SPDX-License-Identifier: Apache-2.0 */
/* A placement of offload transfers, and its cost. */
#ifndef PPSCHED_OFFLOAD_TRANSFER_PLAN_H
#define PPSCHED_OFFLOAD_TRANSFER_PLAN_H

#include "offload/transfers.h"

/* Measured: docs/performance.md. */
enum { PPI_MOST_LEADS = 6 }; /* prefetch distances above 0 that are tried where reloads come too late */

/* A schedule and its figures: both, or neither. */
struct ppi_choice {
    ppsched_schedule *schedule;
    ppsched_timeline *timeline; /* NULL: it was priced without an evaluation, and has not been summed up */
    bool is_delayed;            /* copies delay ops, or may */
    double step;                /* its makespan */
    double *peaks;              /* by device */
    ppsched_span *extents;      /* by device, if they are delayed: from its first op that computes to the end of the last */
    uint32_t copies;            /* transfers that are made */
};

void ppi_choice_clear(struct ppi_choice *choice);

/* Makes the timeline of a choice that has none: its figures alone, maybe without times of peaks. */
ppsched_status ppi_choice_sum_up(struct ppi_choice *choice, const struct ppi_placing *placing, ppsched_error *error);

/* Places the picked transfers, and prices the schedule. */
ppsched_status ppi_choice_make(struct ppi_choice *out, struct ppi_placing *placing, ppsched_error *error);

/* The same; `*is_over`: a device is over `placing->limits`, and the choice may have no figures. */
ppsched_status ppi_choice_make_within(struct ppi_choice *out, bool *is_over, struct ppi_placing *placing, ppsched_error *error);

/* Places the picked transfers; does not evaluate. */
ppsched_status ppi_choice_place(struct ppi_choice *out, struct ppi_placing *placing, ppsched_error *error);

/* Whether two placements of the same transfers put the same ops in the same order. */
bool ppi_choices_are_same(const struct ppi_choice *a, const struct ppi_choice *b);

/* As ppi_choice_make, with waits that keep `limits`, one per device, where waits can: see waits.h. */
ppsched_status ppi_choice_hold(struct ppi_choice *out, struct ppi_placing *placing, const double *limits, ppsched_error *error);

/* Adds such waits to a choice that is placed already. */
ppsched_status ppi_choice_wait(struct ppi_choice *out, struct ppi_placing *placing, const struct ppi_choice *placed,
                               const double *limits, ppsched_error *error);

/* The number of prefetch distances to try; ppi_lead is the time of each: 0, half of an op, and so on, each twice the one
 * before. */
static inline uint32_t ppi_most_leads(const struct ppi_placing *placing)
{
    return placing->prefetch_distance > 0 ? 0 : PPI_MOST_LEADS;
}

/* The placing takes over the times of the choice that was priced last. */
void ppi_choice_take_times(struct ppi_placing *placing, const struct ppi_choice *choice);

double ppi_lead(const struct ppi_placing *placing, uint32_t number);

static inline double ppi_choice_step(const struct ppi_choice *choice)
{
    return choice->step;
}

/* Whether it takes longer than the schedule without copies. */
static inline bool ppi_choice_is_longer(const struct ppi_choice *choice, const struct ppi_placing *placing)
{
    return ppi_choice_step(choice) > placing->plain->metrics.makespan * (1 + 1e-12);
}

bool ppi_choice_is_within(const struct ppi_choice *choice, const double *limits);

/* Whether it is within the limits of the config. */
bool ppi_choice_fits(const struct ppi_choice *choice, const struct ppi_placing *placing);

/* `next` becomes `best`, which may be none, where it is shorter, or as long with fewer copies. Clears the other. */
bool ppi_choice_keep(struct ppi_choice *best, struct ppi_choice *next);

#endif
