/* SPDX-License-Identifier: Apache-2.0 */
/* Megatron-LM's schedule table, which interleaved orders on the loop placement follow.
 *
 * It runs over groups of g microbatches (the last may be smaller); in a group over chunks, in a chunk over microbatches.
 * Forwards follow it as it is, backwards with chunk c replaced by V-1-c. */
#ifndef PPSCHED_ORDER_TABLE_H
#define PPSCHED_ORDER_TABLE_H

#include "base/inline.h"
#include "ir/builder.h"

/* The table's microbatches are micro-slices if microbatches are sliced. Then a group holds whole microbatches, and backwards
 * run from a microbatch's last slice to its first. */

/* A position in the table; `microbatch` is from `group_first` to before `group_end`, unless the table has ended. */
struct ppi_table {
    uint32_t chunks, microbatches, group_size;
    uint32_t group_first, group_end; /* microbatches of the current group */
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

/* Puts a device's ops: the positions of its forwards and backwards in the table. */
struct ppi_table_cursor {
    struct ppi_op_writer *writer;
    uint32_t device, devices, slices;
    struct ppi_table forwards, backwards;
};

static inline uint32_t ppi_cursor_forward(const struct ppi_table_cursor *cursor)
{
    return cursor->forwards.chunk * cursor->devices + cursor->device;
}

static inline uint32_t ppi_cursor_backward(const struct ppi_table_cursor *cursor)
{
    return (cursor->backwards.chunks - 1 - cursor->backwards.chunk) * cursor->devices + cursor->device;
}

PPI_INLINE void ppi_cursor_put_forward(struct ppi_table_cursor *cursor)
{
    ppi_put_micro_slice(cursor->writer, cursor->slices, PPSCHED_KIND_F, ppi_cursor_forward(cursor),
                        cursor->forwards.microbatch);
    ppi_table_advance(&cursor->forwards);
}

/* Puts a B or an I. */
PPI_INLINE void ppi_cursor_put_backward(struct ppi_table_cursor *cursor, uint8_t kind)
{
    ppi_put_micro_slice(cursor->writer, cursor->slices, kind, ppi_cursor_backward(cursor),
                        ppi_backward_micro_slice(cursor->backwards.microbatch, cursor->slices));
    ppi_table_advance(&cursor->backwards);
}

/* Puts a forward and a B as an overlapped pair. */
static inline void ppi_cursor_put_pair(struct ppi_table_cursor *cursor)
{
    ppi_put_pair(cursor->writer, ppi_cursor_forward(cursor), cursor->forwards.microbatch, ppi_cursor_backward(cursor),
                 cursor->backwards.microbatch);
    ppi_table_advance(&cursor->forwards);
    ppi_table_advance(&cursor->backwards);
}

#endif
