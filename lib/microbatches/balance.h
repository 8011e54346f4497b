/* SPDX-License-Identifier: Apache-2.0 */
/* Shares out microbatches that differ over replicas, so that the largest load is as small as can be found. */
#ifndef PPSCHED_MICROBATCHES_BALANCE_H
#define PPSCHED_MICROBATCHES_BALANCE_H

#include <stdbool.h>

#include <ppsched/microbatches.h>

#include "base/host.h"

/* See ppsched_microbatches_balance. Nothing is written on failure. */
ppsched_status ppi_share_out(ppsched_balance *out, uint32_t *replica, const double *costs, size_t count, int64_t replicas,
                             bool even_counts, const struct ppi_host *host, ppsched_error *error);

#endif
