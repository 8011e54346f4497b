/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the caller may give to the library: an allocator and a log. The library has no
 * globals and reads no environment variables. */
#ifndef PPSCHED_ENVIRONMENT_H
#define PPSCHED_ENVIRONMENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Levels of messages. */
enum ppsched_log_level {
    PPSCHED_LOG_LEVEL_WARNING = 1, /* something that the caller should know about a result, such as
                                      an exceeded memory limit */
    PPSCHED_LOG_LEVEL_INFO = 2     /* the library sends one message per result that a call
                                      generated, built, read, lowered, evaluated or planned, and one
                                      message if a search leaves out candidates to limit its work */
};

/* Returns `size` bytes of memory aligned for any type, or NULL if there is not enough. */
typedef void *(*ppsched_allocate_function)(void *user, size_t size);

/* Frees memory that the allocate function returned. `memory` is never NULL. */
typedef void (*ppsched_release_function)(void *user, void *memory);

/* Receives a message: one line, without a newline at its end. `level`: enum ppsched_log_level. */
typedef void (*ppsched_log_function)(void *user, int32_t level, const char *message);

/* The caller's functions. Set `size` to sizeof of this struct. All other members that are zero have
 * their defaults.
 *
 * Set `allocate` and `release` together. Without them the library uses malloc and free.
 *
 * Lifetime: a config, and each object made from it, has a copy of its environment. So the functions
 *   and `user` must stay valid until all these objects are freed.
 * Thread-safety: the library calls the functions on the thread that called the library. If threads
 *   share an object, any of these threads may be the one that frees its memory. If several threads
 *   use objects of one environment at the same time, the functions must be thread-safe. */
typedef struct ppsched_environment {
    uint32_t size;
    int32_t log_level; /* messages of a level above this number are dropped; 0 means
                          PPSCHED_LOG_LEVEL_WARNING */
    void *user;        /* first argument of each call of these functions */
    ppsched_allocate_function allocate;
    ppsched_release_function release;
    ppsched_log_function log; /* receives messages; NULL: all messages are dropped */
} ppsched_environment;

#ifdef __cplusplus
}
#endif
#endif
