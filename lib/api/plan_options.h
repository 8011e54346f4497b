/* SPDX-License-Identifier: Apache-2.0 */
/* Copies in the caller's plan options and checks them. */
#ifndef PPSCHED_API_PLAN_OPTIONS_H
#define PPSCHED_API_PLAN_OPTIONS_H

#include "plan/plan.h"

/* Copies of the structs that the caller points to, in this version's size. */
struct ppi_taken_plan_options {
    ppsched_channel_model channel;
    ppsched_model_end embedding, head;
    ppsched_scenario_options scenarios;
};

/* `out` points into `taken` and to the caller's lists. Fails with ARGUMENT, STRUCT_SIZE, RANGE, LENGTH, MISMATCH or
 * REFUSED. */
ppsched_status ppi_take_plan_options(struct ppi_plan_options *out, struct ppi_taken_plan_options *taken,
                                     const ppsched_plan_options *given, const ppsched_config *config, ppsched_error *error);

#endif
