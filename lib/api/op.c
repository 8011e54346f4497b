/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: names and tokens of ops. */
#include "api/buffer.h"
#include "ir/op.h"

const char *ppsched_kind_token(int32_t kind)
{
    return ppi_kind_token(kind);
}

const char *ppsched_kind_text(int32_t kind)
{
    return ppi_kind_text(kind);
}

ppsched_status ppsched_op_write_token(char *out, size_t capacity, size_t *needed, const ppsched_op *op, ppsched_error *error)
{
    char token[PPI_TOKEN_SIZE];
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(op);
    ppsched_status status = ppi_check_choice("kind", op->kind, 1, PPI_LAST_KIND, error);
    if (status != PPSCHED_OK)
        return status;
    size_t length = ppi_op_token(token, op);
    return ppi_give_text(out, capacity, needed, token, length, error);
}
