/* SPDX-License-Identifier: Apache-2.0 */
/* What the library takes from its host: memory and a place for messages. It has no globals and reads no variables. */
#ifndef PPSCHED_ENVIRONMENT_H
#define PPSCHED_ENVIRONMENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ppsched_log_level {
    PPSCHED_LOG_LEVEL_WARNING = 1, /* a result that the caller should know of, such as a memory limit exceeded */
    PPSCHED_LOG_LEVEL_INFO =
        2 /* what was generated, built, read, lowered, evaluated or planned: a line a call, none for what is
                                tried inside it */
};

/* Sized struct: set `size` to sizeof(ppsched_environment) and zero the rest; zero means default.
 * `allocate` and `release` come together or not at all (then malloc and free are used). `allocate` returns memory
 * aligned for any type, or NULL; `release` gets what `allocate` returned, never NULL. Objects made from a config keep a
 * copy of its environment, so the functions and `user` must outlive all of them.
 * Thread-safety: the functions are called on the thread that calls the library; objects shared between threads may be
 * released on any of them. Where several threads use objects of one environment at once, its functions must allow that. */
typedef struct ppsched_environment {
    uint32_t size;
    int32_t log_level; /* messages above this level are not sent; 0 means PPSCHED_LOG_LEVEL_WARNING */
    void *user;
    void *(*allocate)(void *user, size_t size);
    void (*release)(void *user, void *memory);
    void (*log)(void *user, int32_t level, const char *message); /* a finished line without newline */
} ppsched_environment;

#ifdef __cplusplus
}
#endif
#endif
