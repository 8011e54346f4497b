/* SPDX-License-Identifier: Apache-2.0 */
/* The same model in other numbers of stages and microbatches: see <ppsched/config.h>. No split of layers does that: stages are
 * divided too, pairs of them have times of their own, and sums are in the order of stages, to the last bit. */
#ifndef PPSCHED_PLAN_RESTAGE_H
#define PPSCHED_PLAN_RESTAGE_H

#include "model/config.h"

/* Options go with the config; a map does not. */
ppsched_status ppi_restage(ppsched_config **out, const ppsched_config *config, const struct ppi_shape *shape,
                           const ppsched_model_end *embedding, const ppsched_model_end *head, ppsched_error *error);

#endif
