/* SPDX-License-Identifier: Apache-2.0 */
/* For a function that is better where it knows its arguments: inlined even where the compiler would rather not. And for one
 * that is rarely called, from where much is done: apart, likewise. */
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
