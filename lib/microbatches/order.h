/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the order in which microbatches that differ take the places of a schedule's microbatches. */
#ifndef PPSCHED_MICROBATCHES_ORDER_H
#define PPSCHED_MICROBATCHES_ORDER_H

#include <ppsched/microbatches.h>

#include "ir/schedule.h"

enum { PPI_MOST_ORDER_EFFORT = 10, PPI_DEFAULT_ORDER_EFFORT = 4 };

/* See ppsched_schedule_order_microbatches; the options are complete. */
ppsched_status ppi_order_microbatches(ppsched_config **out, uint32_t *order, const ppsched_schedule *schedule,
                                      const ppsched_config *config, const ppsched_order_options *options, ppsched_error *error);

/* Whether microbatches differ, so that their order matters. */
static inline bool ppi_microbatches_differ(const ppsched_config *config)
{
    return config->values[PPSCHED_QUANTITY_MICROBATCH_SCALE].count > 1 ||
           config->values[PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE].count > 1;
}

/* Copies the lists by microbatch of `from` into `to`, a copy of it, in an order. */
void ppi_put_microbatch_order(ppsched_config *to, const ppsched_config *from, const uint32_t *order);

#endif
