/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a cell's content: an op's token, or an overlapped pair. The inverse of ppi_unit_token. */
#ifndef PPSCHED_FORMAT_TOKEN_H
#define PPSCHED_FORMAT_TOKEN_H

#include "ir/op.h"

enum { PPI_QUOTE_SIZE = 44 }; /* size of the part of a token that a message shows */

/* Reads the op that starts at `*text`, and moves `*text` after it; the caller checks what follows. Returns NULL, or why there
 * is no op; then `*text` and `*op` are undefined. Kinds above `last_kind` are unknown. */
const char *ppi_read_op(const char **text, const char *end, int32_t last_kind, ppsched_op *op);

/* Reads the op or the pair in `text`, with blanks allowed around its parts. `*count`: the number of ops, 0 for only blanks.
 * Returns NULL, or why that cannot be read. */
const char *ppi_read_unit(const char *text, const char *end, int32_t last_kind, ppsched_op unit[2], size_t *count);

/* The text for a message: only printable ASCII, cut where it is long. */
void ppi_quote(char quote[PPI_QUOTE_SIZE], const char *text, const char *end);

#endif
