/* SPDX-License-Identifier: Apache-2.0 */
/* Lower bounds: see <ppsched/bound.h>. */
#ifndef PPSCHED_SEARCH_BOUND_H
#define PPSCHED_SEARCH_BOUND_H

#include <ppsched/bound.h>

#include "model/config.h"

/* How much work a bound is worth: sums over stages, or also one over all ops (one_machine.h). */
enum ppi_bound_depth { PPI_BOUND_SUMS, PPI_BOUND_OPS };

/* For a placement as in ppi_config_place. The times are those of one iteration out of `unflushed`, which run without a flush
 * between them and so share fill and drain; 1 for schedules that flush. */
ppsched_status ppi_lower_bound(ppsched_bound *out, const ppsched_config *config, int32_t placement, uint32_t unflushed,
                               int32_t objective, enum ppi_bound_depth depth, ppsched_error *error);

#endif
