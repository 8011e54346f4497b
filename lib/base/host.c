/* SPDX-License-Identifier: Apache-2.0 */
/* The default allocator is malloc, with huge pages for large blocks on Linux; the caller's functions replace it. */
#ifdef __linux__
#define _DEFAULT_SOURCE
#include <sys/mman.h>
#endif

#include "base/host.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/format.h"
#include "base/sized.h"

#ifdef MADV_HUGEPAGE
/* The first touch of a page costs a fault. A huge page of which at least a quarter is used costs less than its small pages; a
 * schedule of a million ops takes several. */
#define HUGE_PAGE ((size_t)2 << 20)

static void *allocate_pages(size_t size, size_t least)
{
    size_t pages = size / HUGE_PAGE + (size % HUGE_PAGE >= least);
    if (pages == 0 || pages >= SIZE_MAX / HUGE_PAGE)
        return malloc(size);
    void *memory = aligned_alloc(HUGE_PAGE, (size / HUGE_PAGE + 1) * HUGE_PAGE);
    if (memory != NULL)
        madvise(memory, pages * HUGE_PAGE, MADV_HUGEPAGE); /* a hint: if refused, only slower */
    return memory;
}

static void *default_allocate(void *user, size_t size)
{
    (void)user;
    return allocate_pages(size, HUGE_PAGE / 4);
}

static void *sparing_allocate(void *user, size_t size)
{
    (void)user;
    return allocate_pages(size, HUGE_PAGE / 4 * 3);
}
#else
static void *default_allocate(void *user, size_t size)
{
    (void)user;
    return malloc(size);
}

#define sparing_allocate default_allocate
#endif

static void default_release(void *user, void *memory)
{
    (void)user;
    free(memory);
}

ppsched_status ppi_host_take(struct ppi_host *host, const ppsched_environment *environment, ppsched_error *error)
{
    ppsched_environment taken;
    ppsched_status status = ppi_take_sized(&taken, sizeof taken, sizeof(ppsched_environment), environment,
                                           "ppsched_environment", error);
    if (status != PPSCHED_OK)
        return status;
    if ((taken.allocate == NULL) != (taken.release == NULL))
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "environment: allocate and release must be given together");
    host->user = taken.user;
    host->allocate = taken.allocate != NULL ? taken.allocate : default_allocate;
    host->release = taken.release != NULL ? taken.release : default_release;
    host->log_user = taken.user;
    host->log = taken.log;
    host->log_level = taken.log_level != 0 ? taken.log_level : PPSCHED_LOG_LEVEL_WARNING;
    return PPSCHED_OK;
}

struct ppi_host ppi_host_sparing(const struct ppi_host *host)
{
    struct ppi_host sparing = *host;
    if (host->allocate == default_allocate)
        sparing.allocate = sparing_allocate;
    return sparing;
}

void *ppi_allocate(const struct ppi_host *host, size_t count, size_t size)
{
    size_t bytes = 0;
    if (!ppi_mul_size(&bytes, count, size))
        return NULL;
    return host->allocate(host->user, bytes != 0 ? bytes : 1);
}

void *ppi_allocate_zeroed(const struct ppi_host *host, size_t count, size_t size)
{
    void *memory = ppi_allocate(host, count, size);
    if (memory != NULL)
        memset(memory, 0, count * size);
    return memory;
}

void ppi_release(const struct ppi_host *host, void *memory)
{
    if (memory != NULL)
        host->release(host->user, memory);
}

char *ppi_copy_text(const struct ppi_host *host, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = ppi_allocate(host, size, 1);
    if (copy != NULL)
        memcpy(copy, text, size);
    return copy;
}

void ppi_log(const struct ppi_host *host, int32_t level, const char *format, ...)
{
    char line[480]; /* longer lines are cut */
    va_list arguments;
    if (host->log == NULL || level > host->log_level)
        return;
    va_start(arguments, format);
    ppi_format(line, sizeof line, format, arguments);
    va_end(arguments);
    host->log(host->log_user, level, line);
}
