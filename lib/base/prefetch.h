/* SPDX-License-Identifier: Apache-2.0 */
/* A hint that memory will be read or written soon; it may lie behind the end of an array. */
#ifndef PPSCHED_BASE_PREFETCH_H
#define PPSCHED_BASE_PREFETCH_H

#ifdef __GNUC__
#define PPI_PREFETCH(address) __builtin_prefetch(address)
#else
#define PPI_PREFETCH(address) ((void)(address))
#endif

#endif
