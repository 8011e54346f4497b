/* SPDX-License-Identifier: Apache-2.0 */
/* PPI_INLINE: for functions that gain from constant arguments; always inlined. PPI_APART: for functions called rarely from hot
 * code; never inlined. */
#ifndef PPSCHED_BASE_INLINE_H
#define PPSCHED_BASE_INLINE_H

#ifdef __GNUC__
#define PPI_INLINE static inline __attribute__((always_inline))
#define PPI_APART static __attribute__((noinline))
#else
#define PPI_INLINE static inline
#define PPI_APART static
#endif

#endif
