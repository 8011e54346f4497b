/* SPDX-License-Identifier: Apache-2.0 */
/* Times a strategy's schedule of chunks. The schedule is kept for other chunks of the same number. */
#ifndef PPSCHED_PREFILL_TRIAL_H
#define PPSCHED_PREFILL_TRIAL_H

#include "base/arena.h"
#include "eval/timeline.h"
#include "ir/progress.h"
#include "prefill/prefill.h"

struct ppi_trial {
    const ppsched_config *config; /* the caller's */
    const struct ppi_strategy *strategy;
    const struct ppi_prompts *prompts;
    ppsched_config *made; /* with the chunks that were timed last */
    ppsched_schedule *schedule;
    ppsched_timeline *timeline;
    struct ppi_poll poll;
    double *times, *shares, *requests; /* of the chunks that were timed last; room for a chunk a block. `requests`: NULL of one
                                        * prompt */
    double visits, most_visits;
};

/* The makespan of chunks; infinite if the strategy refuses their number. */
ppsched_status ppi_trial_time(double *makespan, struct ppi_trial *trial, const uint32_t *ends, uint32_t count,
                              ppsched_error *error);

/* Why the strategy refuses a number of chunks. */
ppsched_status ppi_trial_refuse(struct ppi_trial *trial, uint32_t count, ppsched_error *error);

void ppi_trial_clear(struct ppi_trial *trial);

#endif
