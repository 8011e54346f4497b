/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sized.h"

#include <string.h>

#include "base/error.h"

enum { LARGEST_STRUCT = 4096 };

static uint32_t size_of(const void *given)
{
    uint32_t size;
    memcpy(&size, given, sizeof size);
    return size;
}

ppsched_status ppi_take_sized(void *out, size_t known, size_t first, const void *given, const char *name, ppsched_error *error)
{
    memset(out, 0, known);
    if (given == NULL)
        return PPSCHED_OK;
    size_t size = size_of(given);
    if (size < first || size > LARGEST_STRUCT)
        return ppi_fail(error, PPSCHED_ERROR_STRUCT_SIZE, "%s: size is %zu; set it to sizeof(%s)", name, size, name);
    for (size_t i = known; i < size; i++)
        if (((const unsigned char *)given)[i] != 0)
            return ppi_fail(error, PPSCHED_ERROR_STRUCT_SIZE,
                            "%s: byte %zu is set, but this library knows only %zu bytes; it is older than the caller", name, i,
                            known);
    memcpy(out, given, size < known ? size : known);
    return PPSCHED_OK;
}

ppsched_status ppi_give_sized(void *given, const void *own, size_t known, size_t first)
{
    if (given == NULL)
        return PPSCHED_ERROR_ARGUMENT;
    uint32_t size = size_of(given);
    if (size < first || size > LARGEST_STRUCT)
        return PPSCHED_ERROR_STRUCT_SIZE;
    memset(given, 0, size);
    memcpy(given, own, size < known ? size : known);
    memcpy(given, &size, sizeof size);
    return PPSCHED_OK;
}
