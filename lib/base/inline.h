/* SPDX-License-Identifier: Apache-2.0 */
/* For a function that is better where it knows its arguments: inlined even where the compiler would rather not. */
#ifndef PPSCHED_BASE_INLINE_H
#define PPSCHED_BASE_INLINE_H

#ifdef __GNUC__
#define PPI_INLINE static inline __attribute__((always_inline))
#else
#define PPI_INLINE static inline
#endif

#endif
