/* SPDX-License-Identifier: Apache-2.0 */
/* The same model in other numbers of stages and microbatches: see <ppsched/config.h>. No split of layers does that: stages are
 * divided too, pairs of them have times of their own, and sums are in the order of stages, to the last bit. */
#ifndef PPSCHED_CANDIDATE_RESTAGE_H
#define PPSCHED_CANDIDATE_RESTAGE_H

#include "ir/config.h"

/* What whole microbatches cost where they are cut: see ppsched_plan_options. */
struct ppi_slicing {
    double slice_time, attention_share;
};

/* Options go with the config; a map does not. `slicing` is for whole microbatches that are cut, else it may be NULL. */
ppsched_status ppi_restage(ppsched_config **out, const ppsched_config *config, const struct ppi_shape *shape,
                           const ppsched_model_end *embedding, const ppsched_model_end *head, const struct ppi_slicing *slicing,
                           ppsched_error *error);

#endif
