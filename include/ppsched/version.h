/* SPDX-License-Identifier: Apache-2.0 */
/* Version numbers of the library. The numbers are written only in this header, and the build reads
 * them from here. */
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

/* ABI number, which is also the number in the soname. The ABI number changes only if programs that
 * are linked against the older library would not work with the new library. */
#define PPSCHED_ABI_VERSION 1

/* Release of the loaded library, as 10000 * major + 100 * minor + patch. */
PPSCHED_API uint32_t ppsched_version(void);

/* Release of the loaded library, as "major.minor.patch". The text has static storage. */
PPSCHED_API const char *ppsched_version_text(void);

/* ABI number of the loaded library. A binding compares this number with PPSCHED_ABI_VERSION before
 * the binding makes any other call. */
PPSCHED_API uint32_t ppsched_abi_version(void);

#ifdef __cplusplus
}
#endif
#endif
