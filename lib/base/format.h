/* SPDX-License-Identifier: Apache-2.0 */
/* Formats messages with the few conversions that they need, without stdio and without locale. */
#ifndef PPSCHED_BASE_FORMAT_H
#define PPSCHED_BASE_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

/* Writes `format` to `buffer` and ends it with a NUL; what does not fit is cut off at a whole UTF-8 character. Conversions:
 * %s text (NULL: "(null)"), %q a caller's text (shortened, in UTF-8, without control characters), %u unsigned, %d int,
 * %zu size_t, %lld long long, %g double (shortest form that reads back), %p the plural ending of the word before it (takes no
 * argument: nothing if the last number was 1, otherwise s, or es after ch), %%. */
void ppi_format(char *buffer, size_t capacity, const char *format, va_list arguments);

/* The same with variadic arguments. */
void ppi_print(char *buffer, size_t capacity, const char *format, ...);

#endif
