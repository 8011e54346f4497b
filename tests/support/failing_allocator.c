/* SPDX-License-Identifier: Apache-2.0 */
#include "support/failing_allocator.h"

#include <stdlib.h>

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
    return malloc(size);
}

static void release(void *user, void *memory)
{
    ((struct failing_allocator *)user)->live--;
    free(memory);
}

ppsched_environment failing_environment(struct failing_allocator *allocator)
{
    return (ppsched_environment){
        .size = sizeof(ppsched_environment), .user = allocator, .allocate = allocate, .release = release};
}
