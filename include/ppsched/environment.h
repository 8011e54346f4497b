/* SPDX-License-Identifier: Apache-2.0 */
/* What the caller may provide to the library: an allocator and a log. The library has no globals
 * and reads no environment variables. */
#ifndef PPSCHED_ENVIRONMENT_H
#define PPSCHED_ENVIRONMENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ppsched_log_level {
    PPSCHED_LOG_LEVEL_WARNING = 1, /* a result that the caller should know of, such as a memory
                                      limit exceeded */
    PPSCHED_LOG_LEVEL_INFO = 2     /* what a call generated, built, read, lowered, evaluated or
                                      planned: one line per result, none for results that it
                                      discards; also where a search leaves out candidates to bound
                                      its work */
};

/* Returns `size` bytes aligned for any type, or NULL if there is no memory. */
typedef void *(*ppsched_allocate_function)(void *user, size_t size);

/* Frees memory from the allocate function; `memory` is never NULL. */
typedef void (*ppsched_release_function)(void *user, void *memory);

/* Receives a message: one complete line without a newline. `level`: enum ppsched_log_level. */
typedef void (*ppsched_log_function)(void *user, int32_t level, const char *message);

/* The caller's functions. Sized: set `size`, zero the rest; zero means default.
 *
 * Set both `allocate` and `release`, or neither; without them the library uses malloc and free.
 *
 * Lifetime: objects made from a config keep a copy of its environment, so the functions and `user`
 *   must outlive all these objects.
 * Thread-safety: the library calls the functions on the thread that called the library. An object
 *   shared between threads may be released on any of them. If several threads use objects of one
 *   environment at once, its functions must be thread-safe. */
typedef struct ppsched_environment {
    uint32_t size;
    int32_t log_level; /* messages above this level are dropped; 0: PPSCHED_LOG_LEVEL_WARNING */
    void *user;        /* first argument of each of the functions */
    ppsched_allocate_function allocate;
    ppsched_release_function release;
    ppsched_log_function log; /* NULL: all messages are dropped */
} ppsched_environment;

#ifdef __cplusplus
}
#endif
#endif
