/* SPDX-License-Identifier: Apache-2.0 */
/* Which orders Megatron-LM runs; shared by its format and its launch arguments. */
#ifndef PPSCHED_FORMAT_MEGATRON_H
#define PPSCHED_FORMAT_MEGATRON_H

#include "order/order_1f1b.h"

/* OK where the schedule is that order and Megatron-LM supports its sizes, else REFUSED. */
ppsched_status ppi_megatron_fits(const ppsched_schedule *schedule, const struct ppi_order_1f1b *order, ppsched_error *error);

#endif
