/* SPDX-License-Identifier: Apache-2.0 */
/* The one order that runtimes with 1F1B built in run: 1F1B over V chunks a device, walked by Megatron-LM's schedule table. With
 * one chunk it is plain 1F1B.
 *
 * The table goes over groups of g microbatches (the last may be short), inside a group chunk by chunk, inside a chunk
 * microbatch by microbatch. Forwards walk it as it stands, backwards with chunk c replaced by V-1-c. Overlapped, there is one
 * warm-up forward more, and then a forward and a backward are one overlapped pair. */
#ifndef PPSCHED_FORMAT_ORDER_1F1B_H
#define PPSCHED_FORMAT_ORDER_1F1B_H

#include <stdbool.h>

#include "model/schedule.h"

struct ppi_order_1f1b {
    uint32_t devices, chunks, microbatches, group_size;
    bool overlapped;
};

/* A microbatch on a chunk of a device. */
struct ppi_visit {
    uint32_t microbatch, chunk;
    bool backward;
    bool overlapped; /* with the next */
};

/* Length of the table: forwards of a device, and backwards. */
static inline uint64_t ppi_visits_of(const struct ppi_order_1f1b *order)
{
    return (uint64_t)order->microbatches * order->chunks;
}

/* Entry k of the table. */
struct ppi_visit ppi_table_entry(const struct ppi_order_1f1b *order, uint64_t k);

/* Forwards of a device before its first pair of a forward and a backward. */
uint64_t ppi_warmup_of(const struct ppi_order_1f1b *order, uint32_t device);

/* What a device runs at a position of its queue, below twice the length of the table. */
struct ppi_visit ppi_visit_at(const struct ppi_order_1f1b *order, uint32_t device, uint64_t position);

/* The sizes of a schedule, with the group size that its first device's forwards show; one chunk: groups of D. No pairs. */
struct ppi_order_1f1b ppi_order_of(const ppsched_schedule *schedule);

/* OK where the schedule is that order, in one iteration and nothing else; REFUSED with the first op that differs. `runtime`
 * names who asks. */
ppsched_status ppi_has_order(const ppsched_schedule *schedule, const struct ppi_order_1f1b *order, const char *runtime,
                             ppsched_error *error);

#endif
