/* SPDX-License-Identifier: Apache-2.0 */
/* How many random problems a sweep takes. */
#ifndef PPSCHED_TESTS_ROUNDS_H
#define PPSCHED_TESTS_ROUNDS_H

/* Under sanitizers, which are slow and look at memory and not at results, a sixth of them. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ROUND_SHARE 6
#else
#define ROUND_SHARE 1
#endif

/* Of so many, and of what is counted in them. */
#define ROUNDS(count) ((count) / ROUND_SHARE)

#endif
