/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a device's queue with an order. */
#ifndef PPSCHED_ORDER_COMPARE_H
#define PPSCHED_ORDER_COMPARE_H

#include "ir/schedule.h"

/* The first position at which a queue and an order of `count` ops differ; PPSCHED_NONE if they are the same. */
static inline uint32_t ppi_first_difference(const ppsched_queue *queue, const ppsched_op *ops, size_t count)
{
    size_t i = 0, both = queue->count < count ? queue->count : count;
    while (i < both && ppi_is_same_op(&queue->ops[i], &ops[i]))
        i++;
    return i < queue->count || i < count ? (uint32_t)i : PPSCHED_NONE;
}

#endif
