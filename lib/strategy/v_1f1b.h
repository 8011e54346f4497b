/* SPDX-License-Identifier: Apache-2.0 */
/* 1F1B on the V placement as a candidate for searches: each B as an I with its W behind it. */
#ifndef PPSCHED_STRATEGY_V_1F1B_H
#define PPSCHED_STRATEGY_V_1F1B_H

#include "strategy/strategy.h"

/* Fills in the ops of all devices, 6M each. */
ppsched_status ppi_v_1f1b_split(const struct ppi_task *task, const ppsched_config *config, ppsched_op *ops,
                                ppsched_error *error);

#endif
