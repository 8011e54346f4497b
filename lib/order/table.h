/* SPDX-License-Identifier: Apache-2.0 */
/* Megatron-LM's schedule table, along which interleaved orders go, on the loop placement.
 *
 * It goes over groups of g microbatches (the last may be short), inside a group chunk by chunk, inside a chunk microbatch by
 * microbatch. Forwards go along it as it stands, backwards with chunk c replaced by V-1-c. */
#ifndef PPSCHED_ORDER_TABLE_H
#define PPSCHED_ORDER_TABLE_H

#include "base/inline.h"
#include "ir/builder.h"

/* What the table goes over are pieces: microbatches, or where these are cut their slices one behind the other. Then a group
 * holds whole microbatches, and backwards run from a microbatch's last slice to its first. */

/* A place in the table. */
struct ppi_table {
    uint32_t chunks, microbatches, group_size;
    uint32_t group_first, group_end; /* microbatches of the present group */
    uint32_t chunk, microbatch;
};

static inline void ppi_table_enter_group(struct ppi_table *table, uint32_t first)
{
    table->group_first = first;
    table->group_end = table->microbatches - first > table->group_size ? first + table->group_size : table->microbatches;
    table->chunk = 0;
    table->microbatch = first;
}

static inline struct ppi_table ppi_table_start(uint32_t chunks, uint32_t microbatches, uint32_t group_size)
{
    struct ppi_table table = {.chunks = chunks, .microbatches = microbatches, .group_size = group_size};
    ppi_table_enter_group(&table, 0);
    return table;
}

PPI_INLINE void ppi_table_advance(struct ppi_table *table)
{
    if (++table->microbatch < table->group_end)
        return;
    table->microbatch = table->group_first;
    if (++table->chunk == table->chunks)
        ppi_table_enter_group(table, table->group_end);
}

/* A device's hand, which puts its ops: where its forwards and its backwards are in the table. */
struct ppi_table_cursor {
    struct ppi_op_writer *writer;
    uint32_t device, devices, slices;
    struct ppi_table forwards, backwards;
};

static inline uint32_t ppi_hand_forward(const struct ppi_table_cursor *cursor)
{
    return cursor->forwards.chunk * cursor->devices + cursor->device;
}

static inline uint32_t ppi_hand_backward(const struct ppi_table_cursor *cursor)
{
    return (cursor->backwards.chunks - 1 - cursor->backwards.chunk) * cursor->devices + cursor->device;
}

PPI_INLINE void ppi_hand_put_forward(struct ppi_table_cursor *cursor)
{
    ppi_put_micro_slice(cursor->writer, cursor->slices, PPSCHED_KIND_F, ppi_hand_forward(cursor), cursor->forwards.microbatch);
    ppi_table_advance(&cursor->forwards);
}

/* A B or an I. */
PPI_INLINE void ppi_hand_put_backward(struct ppi_table_cursor *cursor, uint8_t kind)
{
    ppi_put_micro_slice(cursor->writer, cursor->slices, kind, ppi_hand_backward(cursor),
                        ppi_backward_micro_slice(cursor->backwards.microbatch, cursor->slices));
    ppi_table_advance(&cursor->backwards);
}

/* A forward and a B, overlapped. */
static inline void ppi_hand_put_pair(struct ppi_table_cursor *cursor)
{
    ppi_put_pair(cursor->writer, ppi_hand_forward(cursor), cursor->forwards.microbatch, ppi_hand_backward(cursor),
                 cursor->backwards.microbatch);
    ppi_table_advance(&cursor->forwards);
    ppi_table_advance(&cursor->backwards);
}

#endif
