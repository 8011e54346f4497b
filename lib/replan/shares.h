/* SPDX-License-Identifier: Apache-2.0 */
/* How a whole is shared out so that the largest value is least. */
#ifndef PPSCHED_REPLAN_SHARES_H
#define PPSCHED_REPLAN_SHARES_H

#include "ir/progress.h"

/* `values[r][m]`: the value of row r with a share of m, from 1 to `whole`; infinite if it cannot have it. Shares are at least 1
 * and sum to `whole`. `*largest` is infinite, and `shares` unchanged, if no values up to `limit` do. */
ppsched_status ppi_share_batch(uint32_t *shares, double *largest, const double *const *values, size_t count, uint32_t whole,
                               double limit, struct ppi_poll *poll, ppsched_error *error);

#endif
