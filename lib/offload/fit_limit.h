/* SPDX-License-Identifier: Apache-2.0 */
/* As few offload transfers as keep the config's memory limits. */
#ifndef PPSCHED_OFFLOAD_FIT_LIMIT_H
#define PPSCHED_OFFLOAD_FIT_LIMIT_H

#include "offload/transfer_plan.h"

/* REFUSED where none are found, with limits that work; see ppi_offload_to_fit for `least`. */
ppsched_status ppi_offload_until_limit(struct ppi_choice *out, double *least, struct ppi_placing *placing,
                                       ppsched_error *error);

#endif
