/* SPDX-License-Identifier: Apache-2.0 */
/* PPSCHED_API marks what the shared library exports. Everything else is hidden. */
#ifndef PPSCHED_EXPORT_MACRO_H
#define PPSCHED_EXPORT_MACRO_H

#if defined(__GNUC__) || defined(__clang__)
#define PPSCHED_API __attribute__((visibility("default")))
#else
#define PPSCHED_API
#endif

#endif
