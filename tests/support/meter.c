/* SPDX-License-Identifier: Apache-2.0 */
#include "support/meter.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER = 16 };

static void *allocate(void *user, size_t size)
{
    struct meter *meter = user;
    if (meter->until_failure > 0 && --meter->until_failure == 0) {
        meter->has_failed = true;
        return NULL;
    }
    char *block = malloc(size + HEADER);
    if (block == NULL)
        return NULL;
    memcpy(block, &size, sizeof size);
    meter->used += size;
    meter->peak = meter->used > meter->peak ? meter->used : meter->peak;
    return block + HEADER;
}

static void release(void *user, void *memory)
{
    struct meter *meter = user;
    size_t size;
    memcpy(&size, (char *)memory - HEADER, sizeof size);
    meter->used -= size;
    free((char *)memory - HEADER);
}

ppsched_environment metered_environment(struct meter *meter)
{
    return (ppsched_environment){.size = sizeof(ppsched_environment), .user = meter, .allocate = allocate, .release = release};
}
