/* SPDX-License-Identifier: Apache-2.0 */
/* What the library takes from its host: memory, and a place for messages. It has no globals, and
 * reads no variables of the process. */
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
    PPSCHED_LOG_LEVEL_INFO = 2 /* what was generated, built, read, lowered, evaluated or planned:
                                      a line a call, none for what is tried inside it */
};

/* Returns `size` bytes aligned for any type, or NULL. */
typedef void *(*ppsched_allocate_function)(void *user, size_t size);

/* Takes back what the allocate function returned; never NULL. */
typedef void (*ppsched_release_function)(void *user, void *memory);

/* Takes a message: a finished line without newline. `level`: enum ppsched_log_level. */
typedef void (*ppsched_log_function)(void *user, int32_t level, const char *message);

/* The caller's own functions. Sized: set `size`, zero the rest; zero means default.
 *
 * `allocate` and `release` come together or not at all; then malloc and free are used.
 *
 * Lifetime: objects made from a config keep a copy of its environment, so the functions and `user`
 *   must outlive all of them.
 * Thread-safety: the functions are called on the thread that calls the library; objects shared
 *   between threads may be released on any of them. Where several threads use objects of one
 *   environment at once, its functions must allow that. */
typedef struct ppsched_environment {
    uint32_t size;
    int32_t log_level; /* messages above this level are not sent; 0: PPSCHED_LOG_LEVEL_WARNING */
    void *user;        /* handed to each of the functions */
    ppsched_allocate_function allocate;
    ppsched_release_function release;
    ppsched_log_function log; /* NULL: messages go nowhere */
} ppsched_environment;

#ifdef __cplusplus
}
#endif
#endif
