/* SPDX-License-Identifier: Apache-2.0 */
/* Lower bounds: see <ppsched/bound.h>. */
#ifndef PPSCHED_BOUND_BOUND_H
#define PPSCHED_BOUND_BOUND_H

#include <ppsched/bound.h>

#include "ir/config.h"
#include "ir/progress.h"

/* How much work a bound is worth: sums over stages, or also one over all ops (one_machine.h). */
enum ppi_bound_depth { PPI_BOUND_SUMS, PPI_BOUND_OPS };

struct ppi_bound_question {
    int32_t placement; /* as in ppi_config_place */
    int32_t objective;
    uint32_t unflushed; /* the times are those of one iteration of so many, which run without a flush between them and so share
                         * fill and drain; 1 for schedules that flush */
    enum ppi_bound_depth depth;
    struct ppi_poll *poll; /* that is told of the work; NULL: none */
};

/* Errors: RANGE where sums overflow; NO_MEMORY; CANCELLED where the watch says so. */
ppsched_status ppi_lower_bound(ppsched_bound *out, const ppsched_config *config, const struct ppi_bound_question *question,
                               ppsched_error *error);

#endif
