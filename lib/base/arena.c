/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"

/* What stands before an array. */
struct ppi_room_block {
    struct ppi_room_block *before;
    max_align_t memory[];
};

void *ppi_room_take(struct ppi_room *room, size_t count, size_t size)
{
    struct ppi_room_block *block = NULL;
    size_t bytes = 0;
    if (ppi_mul_size(&bytes, count, size) && ppi_add_size(&bytes, bytes, sizeof *block))
        block = ppi_allocate(room->host, bytes, 1);
    if (block == NULL) {
        room->is_short = true;
        return NULL;
    }
    block->before = room->blocks;
    room->blocks = block;
    return block->memory;
}

void *ppi_room_take_zeroed(struct ppi_room *room, size_t count, size_t size)
{
    void *memory = ppi_room_take(room, count, size);
    if (memory != NULL)
        memset(memory, 0, count * size);
    return memory;
}

ppsched_status ppi_room_check(const struct ppi_room *room, const char *purpose, ppsched_error *error)
{
    return room->is_short ? ppi_fail_memory(error, purpose) : PPSCHED_OK;
}

void ppi_room_clear(struct ppi_room *room)
{
    while (room->blocks != NULL) {
        struct ppi_room_block *block = room->blocks;
        room->blocks = block->before;
        ppi_release(room->host, block);
    }
}
