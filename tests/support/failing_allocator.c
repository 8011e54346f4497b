/* SPDX-License-Identifier: Apache-2.0 */
#include "support/failing_allocator.h"

#include "support/pages.h"

#include <stdlib.h>
#include <string.h>

enum { FILL = 0x5B, ALIGNED = 16 };

/* In front of a guarded block. */
struct mapping {
    void *base;
    size_t size, asked;
};

static size_t rounded(size_t size, size_t to)
{
    return (size + to - 1) / to * to;
}

/* The pages of a block, one in front with what is to be known of them, and one behind that no one may touch. It ends as near to
 * that as alignment lets it. */
static void *take_guarded(size_t size)
{
    size_t page = page_size();
    struct mapping mapping = {.size = rounded(size, page) + 2 * page, .asked = size};
    mapping.base = take_pages(mapping.size);
    if (mapping.base == NULL)
        return NULL;
    char *end = (char *)mapping.base + mapping.size - page, *block = end - rounded(size, ALIGNED);
    memcpy(block - sizeof mapping, &mapping, sizeof mapping);
    return memset(block, FILL, (size_t)(end - block));
}

static void release_guarded(char *block)
{
    struct mapping mapping;
    memcpy(&mapping, block - sizeof mapping, sizeof mapping);
    for (size_t i = mapping.asked; i < rounded(mapping.asked, ALIGNED); i++)
        if (block[i] != FILL)
            abort(); /* someone has written behind it */
    give_back_pages(mapping.base, mapping.size);
}

static void *allocate(void *user, size_t size)
{
    struct failing_allocator *allocator = user;
    allocator->asked++;
    if (allocator->until_failure == 0) {
        allocator->until_failure -= !allocator->keeps_failing;
        allocator->failed++;
        return NULL;
    }
    allocator->until_failure -= allocator->until_failure > 0;
    allocator->live++;
    return allocator->is_guarded ? take_guarded(size) : malloc(size);
}

static void release(void *user, void *memory)
{
    struct failing_allocator *allocator = user;
    allocator->live--;
    if (allocator->is_guarded)
        release_guarded(memory);
    else
        free(memory);
}

ppsched_environment failing_environment(struct failing_allocator *allocator)
{
    return (ppsched_environment){
        .size = sizeof(ppsched_environment), .user = allocator, .allocate = allocate, .release = release};
}
