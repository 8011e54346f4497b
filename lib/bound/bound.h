/* SPDX-License-Identifier: Apache-2.0 */
/* Lower bounds: see <ppsched/bound.h>. */
#ifndef PPSCHED_BOUND_BOUND_H
#define PPSCHED_BOUND_BOUND_H

#include <ppsched/bound.h>

#include "ir/config.h"
#include "ir/progress.h"

/* The depth of a bound: sums over stages, or also the bound over all ops (one_machine.h), which is more work. */
enum ppi_bound_depth { PPI_BOUND_SUMS, PPI_BOUND_OPS };

struct ppi_bound_question {
    int32_t placement; /* as in ppi_config_place */
    int32_t objective;
    uint32_t unflushed; /* iterations without a flush between them, which share fill and drain; or 1 */
    enum ppi_bound_depth depth;
    struct ppi_poll *poll; /* counts the work; or NULL */
    double known, visits; /* the objective of a schedule, per iteration like the bound and in the config's unit of time; and the
                              work, in visits of ops, to try to prove that none is better; visits 0: no try */
};

/* The bound is per iteration. Errors: RANGE if sums overflow; NO_MEMORY; CANCELLED if the progress callback cancels. */
ppsched_status ppi_lower_bound(ppsched_bound *out, const ppsched_config *config, const struct ppi_bound_question *question,
                               ppsched_error *error);

#endif
