/* SPDX-License-Identifier: Apache-2.0 */
/* Arena blocks are a singly linked list: each array has a header that points to the block before it. */
#include "base/arena.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"

/* The header before each array. */
struct ppi_arena_block {
    struct ppi_arena_block *before;
    max_align_t memory[];
};

void *ppi_arena_take(struct ppi_arena *arena, size_t count, size_t size)
{
    struct ppi_arena_block *block = NULL;
    size_t bytes = 0;
    if (ppi_mul_size(&bytes, count, size) && ppi_add_size(&bytes, bytes, sizeof *block))
        block = ppi_allocate(arena->host, bytes, 1);
    if (block == NULL) {
        arena->is_short = true;
        return NULL;
    }
    block->before = arena->blocks;
    arena->blocks = block;
    return block->memory;
}

void *ppi_arena_take_zeroed(struct ppi_arena *arena, size_t count, size_t size)
{
    void *memory = ppi_arena_take(arena, count, size);
    if (memory != NULL)
        memset(memory, 0, count * size);
    return memory;
}

ppsched_status ppi_arena_check(const struct ppi_arena *arena, const char *purpose, ppsched_error *error)
{
    return arena->is_short ? ppi_fail_memory(error, purpose) : PPSCHED_OK;
}

void ppi_arena_clear(struct ppi_arena *arena)
{
    while (arena->blocks != NULL) {
        struct ppi_arena_block *block = arena->blocks;
        arena->blocks = block->before;
        ppi_release(arena->host, block);
    }
}
