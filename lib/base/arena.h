/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that are given back together. Whoever needs several takes them all, asks once whether there was memory for them, and
 * clears the room in any case. */
#ifndef PPSCHED_BASE_ARENA_H
#define PPSCHED_BASE_ARENA_H

#include <stdbool.h>

#include "base/host.h"

/* Empty where only the host is set. */
struct ppi_arena {
    const struct ppi_host *host;    /* where memory comes from; outlives the room */
    struct ppi_arena_block *blocks; /* the last first */
    bool is_short;                  /* some array could not be had */
};

/* `count` elements of `size` bytes, uninitialised; NULL where that overflows or memory is short. */
void *ppi_arena_take(struct ppi_arena *arena, size_t count, size_t size);

/* The same, zeroed. */
void *ppi_arena_take_zeroed(struct ppi_arena *arena, size_t count, size_t size);

/* NO_MEMORY, for a purpose, where some array could not be had. */
ppsched_status ppi_arena_check(const struct ppi_arena *arena, const char *purpose, ppsched_error *error);

/* Gives back all arrays. */
void ppi_arena_clear(struct ppi_arena *arena);

#endif
