/* SPDX-License-Identifier: Apache-2.0 */
/* Lower bounds: see <ppsched/bound.h>. */
#ifndef PPSCHED_SEARCH_BOUND_H
#define PPSCHED_SEARCH_BOUND_H

#include <ppsched/bound.h>

#include "model/config.h"

/* For a placement as in ppi_config_place. */
ppsched_status ppi_lower_bound(ppsched_bound *out, const ppsched_config *config, int32_t placement, int32_t objective,
                               ppsched_error *error);

#endif
