/* SPDX-License-Identifier: Apache-2.0 */
/* A hint that memory some bytes after (or before) a pointer will be used soon; the address may be outside the array. */
#ifndef PPSCHED_BASE_PREFETCH_H
#define PPSCHED_BASE_PREFETCH_H

#include <stdint.h>

#ifdef __GNUC__
#define PPI_PREFETCH(pointer, bytes) __builtin_prefetch((const void *)((uintptr_t)(pointer) + (uintptr_t)(bytes)))
#else
#define PPI_PREFETCH(pointer, bytes) ((void)(pointer))
#endif

#endif
