/* SPDX-License-Identifier: Apache-2.0 */
/* A caller's plan options, taken and checked. */
#ifndef PPSCHED_API_PLAN_OPTIONS_H
#define PPSCHED_API_PLAN_OPTIONS_H

#include "plan/plan.h"

/* What a caller's pointers lead to, in this library's versions of the structs. */
struct ppi_taken_plan_options {
    ppsched_channel_model channel;
    ppsched_model_end embedding, head;
    ppsched_scenario_options scenarios;
};

/* `out` points into `taken` and to the caller's lists. ARGUMENT, STRUCT_SIZE, RANGE, LENGTH, MISMATCH, REFUSED. */
ppsched_status ppi_take_plan_options(struct ppi_plan_options *out, struct ppi_taken_plan_options *taken,
                                     const ppsched_plan_options *given, const ppsched_config *config, ppsched_error *error);

#endif
