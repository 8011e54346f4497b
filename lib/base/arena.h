/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that are freed together. A function takes all its arrays, checks once whether memory sufficed, and always clears the
 * arena. */
#ifndef PPSCHED_BASE_ARENA_H
#define PPSCHED_BASE_ARENA_H

#include <stdbool.h>

#include "base/host.h"

/* An arena with only `host` set is empty. Once `is_short` is set, it stays so. */
struct ppi_arena {
    const struct ppi_host *host;    /* where memory comes from; outlives the arena */
    struct ppi_arena_block *blocks; /* the newest first */
    bool is_short;                  /* some allocation failed */
};

/* `count` elements of `size` bytes, uninitialised; NULL if that overflows or memory is short. */
void *ppi_arena_take(struct ppi_arena *arena, size_t count, size_t size);

/* The same, zeroed. */
void *ppi_arena_take_zeroed(struct ppi_arena *arena, size_t count, size_t size);

/* NO_MEMORY if some allocation failed; `purpose` is for the message. */
ppsched_status ppi_arena_check(const struct ppi_arena *arena, const char *purpose, ppsched_error *error);

/* Frees all arrays. */
void ppi_arena_clear(struct ppi_arena *arena);

#endif
