/* SPDX-License-Identifier: Apache-2.0 */
/* Structs that can grow: the first field is their size in bytes, and zero always means default. */
#ifndef PPSCHED_BASE_SIZED_H
#define PPSCHED_BASE_SIZED_H

#include <stddef.h>

#include <ppsched/status.h>

/* Size of a struct up to and with `field`: the struct's size in the release where that was the last field. */
#define PPI_SIZE_UP_TO(type, field) (offsetof(type, field) + sizeof(((const type *)NULL)->field))

/* Copies in the caller's struct (NULL: all zero): `out` has the `known` bytes of this library's version. A struct of an older
 * version, of at least `first` bytes, is completed with zeros; in a longer one the unknown bytes must be zero. `name` is for
 * the message. */
ppsched_status ppi_take_sized(void *out, size_t known, size_t first, const void *given, const char *name, ppsched_error *error);

/* Copies out this library's struct of `known` bytes, up to the size of the caller's, which is at least `first`; further bytes
 * become zero. The caller's `size` is kept. */
ppsched_status ppi_give_sized(void *given, const void *own, size_t known, size_t first, const char *name, ppsched_error *error);

#endif
