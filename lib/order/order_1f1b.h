/* SPDX-License-Identifier: Apache-2.0 */
/* 1F1B, with one stage per device or interleaved over V: the rules that generate it, and recognise it for runtimes that have it
 * built in.
 *
 * A device runs its warm-up forwards, then forward and backward in turn while forwards remain, then the other backwards.
 * Overlapped, there is one more warm-up forward, and then a forward and a backward are one overlapped pair. */
#ifndef PPSCHED_ORDER_ORDER_1F1B_H
#define PPSCHED_ORDER_ORDER_1F1B_H

#include "base/inline.h"
#include "order/table.h"

struct ppi_order_1f1b {
    uint32_t devices, chunks, microbatches, group_size;
    bool overlapped;
};

/* --- the rules --- */

/* Forwards, and backwards, of a device: the length of the table. */
static inline uint64_t ppi_visits_of(const struct ppi_order_1f1b *order)
{
    return (uint64_t)order->microbatches * order->chunks;
}

/* Warm-up forwards: (V-1)g, plus `slope` for each device after this one; at most all forwards. */
static inline uint64_t ppi_sloped_warmup(const struct ppi_order_1f1b *order, uint32_t device, uint32_t slope)
{
    uint64_t behind = order->devices - 1 - device, visits = ppi_visits_of(order);
    uint64_t warmup = (uint64_t)(order->chunks - 1) * order->group_size + slope * behind + order->overlapped;
    return warmup < visits ? warmup : visits;
}

/* The warm-up of Megatron-LM. */
static inline uint64_t ppi_warmup_of(const struct ppi_order_1f1b *order, uint32_t device)
{
    return ppi_sloped_warmup(order, device, order->chunks == 1 ? 1 : 2);
}

/* A cursor at the start of the table. */
static inline struct ppi_table_cursor ppi_cursor_start(const struct ppi_order_1f1b *order, uint32_t device, uint32_t slices,
                                                       struct ppi_op_writer *writer)
{
    struct ppi_table table = ppi_table_start(order->chunks, order->microbatches, order->group_size);
    return (struct ppi_table_cursor){writer, device, order->devices, slices, table, table};
}

/* `slices` is a constant where this is inlined. */
PPI_INLINE void ppi_put_interleaved_slices(const struct ppi_order_1f1b *order, uint32_t device, uint64_t warmup,
                                           uint32_t slices, struct ppi_op_writer *writer)
{
    struct ppi_table_cursor cursor = ppi_cursor_start(order, device, slices, writer);
    uint64_t pairs = ppi_visits_of(order) - warmup;
    for (uint64_t k = 0; k < warmup; k++)
        ppi_cursor_put_forward(&cursor);
    for (uint64_t k = 0; k < pairs && order->overlapped; k++)
        ppi_cursor_put_pair(&cursor);
    for (uint64_t k = 0; k < pairs && !order->overlapped; k++) {
        ppi_cursor_put_forward(&cursor);
        ppi_cursor_put_backward(&cursor, PPSCHED_KIND_B);
    }
    for (uint64_t k = 0; k < warmup; k++)
        ppi_cursor_put_backward(&cursor, PPSCHED_KIND_B);
}

/* Puts a device's ops of one run, with `warmup` warm-up forwards. */
PPI_INLINE void ppi_put_interleaved_1f1b(const struct ppi_order_1f1b *order, uint32_t device, uint64_t warmup,
                                         struct ppi_op_writer *writer)
{
    if (writer->slices == 1)
        ppi_put_interleaved_slices(order, device, warmup, 1, writer);
    else
        ppi_put_interleaved_slices(order, device, warmup, writer->slices, writer);
}

/* The same with one chunk, which needs no table. */
static inline void ppi_put_1f1b(uint32_t stage, uint32_t run, uint32_t warmup, bool overlapped, struct ppi_op_writer *writer)
{
    for (uint32_t m = 0; m < warmup; m++)
        ppi_put(writer, PPSCHED_KIND_F, stage, m);
    for (uint32_t m = warmup; m < run; m++) {
        ppi_put_flagged(writer, PPSCHED_KIND_F, stage, m, overlapped ? PPSCHED_OP_FLAG_OVERLAPPED : 0);
        ppi_put(writer, PPSCHED_KIND_B, stage, m - warmup);
    }
    for (uint32_t m = run - warmup; m < run; m++)
        ppi_put(writer, PPSCHED_KIND_B, stage, m);
}

/* The same over micro-slices; `warmup` includes the slices before a microbatch's last. */
static inline void ppi_put_sliced_1f1b(uint32_t stage, uint32_t micro_slices, uint64_t warmup, struct ppi_op_writer *writer)
{
    uint32_t forwards = warmup < micro_slices ? (uint32_t)warmup : micro_slices;
    for (uint32_t p = 0; p < forwards; p++)
        ppi_put_micro_slice(writer, writer->slices, PPSCHED_KIND_F, stage, p);
    for (uint32_t i = 0; i < micro_slices; i++) {
        if (forwards < micro_slices)
            ppi_put_micro_slice(writer, writer->slices, PPSCHED_KIND_F, stage, forwards++);
        ppi_put_micro_slice(writer, writer->slices, PPSCHED_KIND_B, stage, ppi_backward_micro_slice(i, writer->slices));
    }
}

/* --- recognising it --- */

/* Whether it is 1F1B over slices, with one stage per device: OK; REFUSED with the first op that differs; NO_MEMORY. */
ppsched_status ppi_has_sliced_order(const ppsched_schedule *schedule, const char *runtime, ppsched_error *error);

/* The sizes of a schedule, with the group size by its first device's forwards; with one chunk, D. Without overlapped pairs. */
struct ppi_order_1f1b ppi_order_of(const ppsched_schedule *schedule);

/* OK if the schedule is exactly that order with Megatron-LM's warm-up, in one iteration; REFUSED with the first op that
 * differs. `runtime` is named in the message. Errors: NO_MEMORY. */
ppsched_status ppi_has_order(const ppsched_schedule *schedule, const struct ppi_order_1f1b *order, const char *runtime,
                             ppsched_error *error);

/* The same, also for groups larger than M microbatches, which only the warm-up shows: `order->group_size` becomes the smallest
 * such size. */
ppsched_status ppi_find_order(struct ppi_order_1f1b *order, const ppsched_schedule *schedule, const char *runtime,
                              ppsched_error *error);

#endif
