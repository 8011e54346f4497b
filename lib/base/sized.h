/* SPDX-License-Identifier: Apache-2.0 */
/* Structs whose first field is their size in bytes, so that they can grow: zero always means default. */
#ifndef PPSCHED_BASE_SIZED_H
#define PPSCHED_BASE_SIZED_H

#include <stddef.h>

#include <ppsched/status.h>

/* Size of a struct up to a field: of the release whose last field that was. */
#define PPI_SIZE_UP_TO(type, field) (offsetof(type, field) + sizeof(((const type *)NULL)->field))

/* Copies the caller's struct (NULL: all zero) into `out`, which has room for the `known` bytes of this library's version. One
 * of an older version, `first` bytes or more, is completed with zeros; of a longer one the unknown bytes must be zero. `name`
 * is for the message. */
ppsched_status ppi_take_sized(void *out, size_t known, size_t first, const void *given, const char *name, ppsched_error *error);

/* Copies this library's struct of `known` bytes into the caller's, as far as its size, `first` or more, reaches; further bytes
 * become zero. The caller's `size` stays. */
ppsched_status ppi_give_sized(void *given, const void *own, size_t known, size_t first, const char *name, ppsched_error *error);

#endif
