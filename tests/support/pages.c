/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "support/pages.h"

#ifdef _WIN32
#include <windows.h>

size_t page_size(void)
{
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwPageSize;
}

void *take_pages(size_t size)
{
    DWORD before;
    char *pages = VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    if (pages != NULL)
        VirtualProtect(pages + size - page_size(), page_size(), PAGE_NOACCESS, &before);
    return pages;
}

void give_back_pages(void *pages, size_t size)
{
    (void)size;
    VirtualFree(pages, 0, MEM_RELEASE);
}
#else
#include <sys/mman.h>
#include <unistd.h>

size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

void *take_pages(size_t size)
{
    char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return NULL;
    mprotect(pages + size - page_size(), page_size(), PROT_NONE);
    return pages;
}

void give_back_pages(void *pages, size_t size)
{
    munmap(pages, size);
}
#endif
