/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes are rounded up to powers of two, with a list of free blocks for each power. */
#include "base/recycler.h"

#include <stddef.h>
#include <stdint.h>

enum { LEAST_CLASS = 14 }; /* log2: below 16 KiB the system's allocator is fast enough */

/* The header before each block; padded to the strictest alignment. */
struct ppi_recycled_block {
    union {
        unsigned size_class; /* the block has 2^size_class bytes; 0: small, not kept */
        max_align_t alignment;
    };
    struct ppi_recycled_block *next; /* in the list of kept blocks */
    max_align_t memory[];
};

/* The class of a size; 0 for small ones. */
static unsigned class_of(size_t size)
{
    unsigned size_class = LEAST_CLASS;
    while (size > (size_t)1 << size_class)
        size_class++;
    return size >= (size_t)1 << LEAST_CLASS ? size_class : 0;
}

static void *allocate(void *user, size_t size)
{
    struct ppi_recycler *recycler = user;
    if (size > SIZE_MAX / 4)
        return NULL;
    unsigned size_class = class_of(size);
    struct ppi_recycled_block *block = recycler->kept[size_class];
    if (block != NULL) {
        recycler->kept[size_class] = block->next;
        return block->memory;
    }
    size_t room = size_class > 0 ? (size_t)1 << size_class : size;
    block = ppi_allocate(&recycler->host, 1, sizeof *block + room);
    if (block == NULL)
        return NULL;
    block->size_class = size_class;
    return block->memory;
}

static void release(void *user, void *memory)
{
    struct ppi_recycler *recycler = user;
    struct ppi_recycled_block *block = (void *)((char *)memory - offsetof(struct ppi_recycled_block, memory));
    if (block->size_class == 0) {
        ppi_release(&recycler->host, block);
        return;
    }
    block->next = recycler->kept[block->size_class];
    recycler->kept[block->size_class] = block;
}

void ppi_recycler_start(struct ppi_recycler *recycler, const struct ppi_host *host)
{
    *recycler = (struct ppi_recycler){.host = *host};
}

struct ppi_host ppi_recycler_host(struct ppi_recycler *recycler)
{
    struct ppi_host host = recycler->host;
    host.user = recycler;
    host.allocate = allocate;
    host.release = release;
    return host;
}

void ppi_recycler_clear(struct ppi_recycler *recycler)
{
    for (size_t c = 0; c < sizeof recycler->kept / sizeof recycler->kept[0]; c++)
        while (recycler->kept[c] != NULL) {
            struct ppi_recycled_block *block = recycler->kept[c];
            recycler->kept[c] = block->next;
            ppi_release(&recycler->host, block);
        }
}
