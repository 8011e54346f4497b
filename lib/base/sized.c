/* SPDX-License-Identifier: Apache-2.0 */
/* Copies in and out by the smaller of both sizes; bytes that one side does not know must be, or become, zero. */
#include "base/sized.h"

#include <string.h>

#include "base/error.h"

enum { LARGEST_STRUCT = 4096 }; /* a larger `size` is refused as unset: no struct is that large */

static uint32_t size_of(const void *given)
{
    uint32_t size;
    memcpy(&size, given, sizeof size);
    return size;
}

static ppsched_status check_size(size_t size, size_t first, const char *name, ppsched_error *error)
{
    if (size >= first && size <= LARGEST_STRUCT)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_STRUCT_SIZE, "%s: size is %zu; set it to sizeof(%s)", name, size, name);
}

ppsched_status ppi_take_sized(void *out, size_t known, size_t first, const void *given, const char *name, ppsched_error *error)
{
    memset(out, 0, known);
    if (given == NULL)
        return PPSCHED_OK;
    size_t size = size_of(given);
    ppsched_status status = check_size(size, first, name, error);
    if (status != PPSCHED_OK)
        return status;
    for (size_t i = known; i < size; i++)
        if (((const unsigned char *)given)[i] != 0)
            return ppi_fail(error, PPSCHED_ERROR_STRUCT_SIZE,
                            "%s: byte %zu is set, but this library knows only %zu byte%p; it is older than the caller", name, i,
                            known);
    memcpy(out, given, size < known ? size : known);
    return PPSCHED_OK;
}

ppsched_status ppi_give_sized(void *given, const void *own, size_t known, size_t first, const char *name, ppsched_error *error)
{
    uint32_t size = size_of(given);
    ppsched_status status = check_size(size, first, name, error);
    if (status != PPSCHED_OK)
        return status;
    memset(given, 0, size);
    memcpy(given, own, size < known ? size : known);
    memcpy(given, &size, sizeof size);
    return PPSCHED_OK;
}
