/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 (RFC 3629): validation, printable characters, encoding. */
#ifndef PPSCHED_BASE_UTF8_H
#define PPSCHED_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Number of bytes of the character at `text`, of which `size` >= 1 bytes are available; 0 if there is no valid one. */
size_t ppi_utf8_length(const char *text, size_t size);

/* The same, and 0 for what a terminal would interpret or not show: control characters (C0, DEL, C1), line and paragraph
 * separators, and Unicode's format characters (Cf), which change the direction of others, join or tag them. */
size_t ppi_printable_length(const char *text, size_t size);

/* Index of the first byte that belongs to no character; `size` if there is none. */
size_t ppi_find_broken_utf8(const char *text, size_t size);

/* Encodes a character, not a surrogate, below 0x110000; returns its number of bytes, 1 to 4. */
size_t ppi_put_utf8(char out[4], uint32_t character);

#endif
