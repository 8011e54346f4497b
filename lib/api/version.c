/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: the version of the library and of its ABI. */
#include <ppsched/version.h>

#define TEXT(x) #x
#define VERSION_TEXT(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

uint32_t ppsched_version(void)
{
    return 10000 * PPSCHED_VERSION_MAJOR + 100 * PPSCHED_VERSION_MINOR + PPSCHED_VERSION_PATCH;
}

const char *ppsched_version_text(void)
{
    return VERSION_TEXT(PPSCHED_VERSION_MAJOR, PPSCHED_VERSION_MINOR, PPSCHED_VERSION_PATCH);
}

uint32_t ppsched_abi_version(void)
{
    return PPSCHED_ABI_VERSION;
}
