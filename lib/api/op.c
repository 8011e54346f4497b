/* SPDX-License-Identifier: Apache-2.0 */
#include "api/buffer.h"
#include "model/op.h"

const char *ppsched_kind_token(int32_t kind)
{
    return ppi_kind_token(kind);
}

const char *ppsched_kind_text(int32_t kind)
{
    return ppi_kind_text(kind);
}

ppsched_status ppsched_op_token(const ppsched_op *op, char *buffer, size_t capacity, size_t *needed)
{
    char token[PPI_TOKEN_SIZE];
    if (op == NULL || !ppi_kind_known(op->kind))
        return PPSCHED_ERROR_ARGUMENT;
    return ppi_give_text(token, ppi_op_token(token, op), buffer, capacity, needed);
}
