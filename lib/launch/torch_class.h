/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's schedule classes: does one of them make this very order? */
#ifndef PPSCHED_LAUNCH_TORCH_CLASS_H
#define PPSCHED_LAUNCH_TORCH_CLASS_H

#include <stdbool.h>

#include "model/schedule.h"

struct ppi_strategy;

struct ppi_torch_class {
    const char *name;                    /* as get_schedule_class has it; the class has "Schedule" before it */
    const struct ppi_strategy *strategy; /* whose rule it follows */
    bool single;                         /* takes one stage a rank, not a list of them */
    bool rounds;                         /* M must be a multiple of its rounds, max(1, M div D); a round is a group */
    bool fills_ranks;                    /* M must be D or more */
};

/* `*out` gets the class that makes the schedule's order, a single one if there is one, or NULL. The schedule has one iteration.
 * Errors: NO_MEMORY. */
ppsched_status ppi_torch_class_find(const struct ppi_torch_class **out, const ppsched_schedule *schedule, ppsched_error *error);

#endif
