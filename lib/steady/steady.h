/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of a strategy's schedule without the schedule: a rule's order repeats, and so do its times after a while. Few
 * microbatches are timed op by op until the state has come back; the rest are multiples of the period. */
#ifndef PPSCHED_STEADY_STEADY_H
#define PPSCHED_STEADY_STEADY_H

#include <ppsched/steady.h>

#include "eval/timeline.h"
#include "strategy/strategy.h"

struct ppsched_steady {
    ppsched_timeline *timeline; /* its figures, `idle` and `peak_causes` are those of all microbatches; its spans are not, and
                                 * its schedule may have fewer, or no ops */
    ppsched_steady_period period;
};

struct ppi_steady_options {
    bool wants_idle;
    uint32_t share;    /* the state must come back in 1 / share of the microbatches */
    bool only_repeats; /* `timeline` stays NULL where the state does not come back; else all ops are timed */
};

/* Errors: those of ppi_generate and ppi_evaluate. After an error nothing is to be cleared. */
ppsched_status ppi_steady_make(struct ppsched_steady *out, const struct ppi_strategy *strategy, const ppsched_config *config,
                               const struct ppi_steady_options *options, ppsched_error *error);
void ppi_steady_clear(struct ppsched_steady *steady);

#endif
