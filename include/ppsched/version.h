/* SPDX-License-Identifier: Apache-2.0 */
/* Version numbers of the library. They are written only in this header; the build reads them from
 * here. */
#ifndef PPSCHED_VERSION_H
#define PPSCHED_VERSION_H

#include <stdint.h>

#include <ppsched/export_macro.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Release number. */
#define PPSCHED_VERSION_MAJOR 0
#define PPSCHED_VERSION_MINOR 2
#define PPSCHED_VERSION_PATCH 0

/* ABI number, which is also the number in the soname. It changes only if programs that are linked
 * against an older library would not work with the new one. */
#define PPSCHED_ABI_VERSION 1

/* Release of the loaded library, as 10000 * major + 100 * minor + patch. */
PPSCHED_API uint32_t ppsched_version(void);

/* Release of the loaded library, as "major.minor.patch". The text has static storage. */
PPSCHED_API const char *ppsched_version_text(void);

/* ABI number of the loaded library. A binding compares it with PPSCHED_ABI_VERSION before it makes
 * any other call. */
PPSCHED_API uint32_t ppsched_abi_version(void);

#ifdef __cplusplus
}
#endif
#endif
