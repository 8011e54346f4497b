/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what a cell holds: an op's token, or an overlapped pair. The other way of ppi_unit_token. */
#ifndef PPSCHED_FORMAT_TOKEN_H
#define PPSCHED_FORMAT_TOKEN_H

#include "ir/op.h"

enum { PPI_QUOTE_SIZE = 44 }; /* room for as much of a token as a message shows */

/* Reads the op that starts at `*text`, and moves `*text` behind it; what follows is the caller's business. Returns NULL, or why
 * there is none; then `*text` and `*op` may be anything. Kinds above `last_kind` are unknown. */
const char *ppi_read_op(const char **text, const char *end, int32_t last_kind, ppsched_op *op);

/* Reads the op or the pair that `text` holds, blanks around its parts allowed, and tells the number of ops; nothing but blanks
 * is 0 ops. Returns NULL, or why that cannot be read. */
const char *ppi_read_unit(const char *text, const char *end, int32_t last_kind, ppsched_op unit[2], size_t *count);

/* The text as a message may show it: printable ASCII, cut where it is long. */
void ppi_quote(char quote[PPI_QUOTE_SIZE], const char *text, const char *end);

#endif
