/* SPDX-License-Identifier: Apache-2.0 */
/* The same model with another number of stages and microbatches: see <ppsched/config.h>. A split of layers cannot do this:
 * here stages are divided too, overlapped pairs have their own times, and sums go in the order of stages, exact to the last
 * bit. */
#ifndef PPSCHED_CANDIDATE_RESTAGE_H
#define PPSCHED_CANDIDATE_RESTAGE_H

#include "ir/config.h"

/* How slices cost more than their share of a whole microbatch: see ppsched_plan_options. */
struct ppi_slicing {
    double slice_time, attention_share;
    const double *shares; /* of attention on each stage; NULL: attention_share on all */
};

/* Copies the options, but no placement map. `slicing` is needed if whole microbatches are cut into slices, else it may be
 * NULL. */
ppsched_status ppi_restage(ppsched_config **out, const ppsched_config *config, const struct ppi_shape *shape,
                           const ppsched_model_end *embedding, const ppsched_model_end *head, const struct ppi_slicing *slicing,
                           ppsched_error *error);

/* Checks the costs of a head against those of the last stage, and fills in the times that follow from others. */
ppsched_status ppi_complete_head(ppsched_model_end *head, const ppsched_config *config, ppsched_error *error);

#endif
