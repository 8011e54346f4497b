/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's environment, with defaults filled in: all memory and log lines go through it. */
#ifndef PPSCHED_BASE_HOST_H
#define PPSCHED_BASE_HOST_H

#include <stddef.h>

#include <ppsched/environment.h>
#include <ppsched/status.h>

struct ppi_host {
    void *user; /* of allocate and release */
    ppsched_allocate_function allocate;
    ppsched_release_function release;
    void *log_user;
    ppsched_log_function log;
    int32_t log_level;
};

/* Reads the caller's struct (NULL: defaults). */
ppsched_status ppi_host_take(struct ppi_host *host, const ppsched_environment *environment, ppsched_error *error);

/* The same, whose default allocator takes a huge page only where three quarters of it are used: for few blocks, whose memory
 * counts. */
struct ppi_host ppi_host_sparing(const struct ppi_host *host);

/* `count` elements of `size` bytes, uninitialised; NULL if that overflows or memory is short. Never requests 0 bytes. */
void *ppi_allocate(const struct ppi_host *host, size_t count, size_t size);

/* The same, zeroed. */
void *ppi_allocate_zeroed(const struct ppi_host *host, size_t count, size_t size);

/* Frees memory; NULL is accepted. */
void ppi_release(const struct ppi_host *host, void *memory);

/* A copy of the text; NULL if memory is short. */
char *ppi_copy_text(const struct ppi_host *host, const char *text);

/* Sends a formatted line (see ppi_format) to the caller's log, if there is one and it accepts that level. */
void ppi_log(const struct ppi_host *host, int32_t level, const char *format, ...);

#endif
