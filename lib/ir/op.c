/* SPDX-License-Identifier: Apache-2.0 */
/* A table by kind of op: token, text, and whether it has a microbatch. */
#include "ir/op.h"

#include <string.h>

#include "base/inline.h"
#include "base/number.h"

struct row {
    const char *token, *text;
    bool has_microbatch;
};

static const struct row rows[PPI_LAST_KIND + 1] = {
    [PPSCHED_KIND_F] = {"F", "forward", true},
    [PPSCHED_KIND_B] = {"B", "full backward", true},
    [PPSCHED_KIND_I] = {"I", "input-gradient backward", true},
    [PPSCHED_KIND_W] = {"W", "weight-gradient backward", true},
    [PPSCHED_KIND_SEND_F] = {"SEND_F", "send activation", true},
    [PPSCHED_KIND_RECV_F] = {"RECV_F", "receive activation", true},
    [PPSCHED_KIND_SEND_B] = {"SEND_B", "send gradient", true},
    [PPSCHED_KIND_RECV_B] = {"RECV_B", "receive gradient", true},
    [PPSCHED_KIND_UNSHARD] = {"UNSHARD", "gather parameters", false},
    [PPSCHED_KIND_RESHARD] = {"RESHARD", "drop gathered parameters", false},
    [PPSCHED_KIND_REDUCE_GRAD] = {"REDUCE_GRAD", "reduce gradients", false},
    [PPSCHED_KIND_RECOMPUTE] = {"RECOMPUTE", "recompute forward", true},
    [PPSCHED_KIND_OFFLOAD] = {"OFFLOAD", "offload activation", true},
    [PPSCHED_KIND_RELOAD] = {"RELOAD", "reload activation", true},
    [PPSCHED_KIND_OPTIMIZER_STEP] = {"OPTIMIZER_STEP", "optimizer step", false},
    [PPSCHED_KIND_OFFLOAD_WAIT] = {"OFFLOAD_WAIT", "wait for an offload", true},
    [PPSCHED_KIND_WAIT_REDUCE_GRAD] = {"WAIT_REDUCE_GRAD", "wait for a reduction", false},
};

bool ppi_kind_known(int32_t kind)
{
    return kind >= 1 && kind <= PPI_LAST_KIND;
}

bool ppi_kind_has_microbatch(int32_t kind)
{
    return rows[kind].has_microbatch;
}

const char *ppi_kind_token(int32_t kind)
{
    return ppi_kind_known(kind) ? rows[kind].token : NULL;
}

const char *ppi_kind_text(int32_t kind)
{
    return ppi_kind_known(kind) ? rows[kind].text : NULL;
}

static size_t put_number(char *text, char before, uint32_t number)
{
    text[0] = before;
    return 1 + ppi_integer_to_text(text + 1, number);
}

/* A separate function, as few ops have a slice, or a place at the other end. */
PPI_APART size_t put_rest(char *text, const ppsched_op *op)
{
    size_t length = 0;
    if ((op->flags & PPSCHED_OP_FLAG_SLICED) != 0)
        length = put_number(text, '.', op->slice);
    if (op->reserved != 0)
        length += put_number(text + length, '>', op->reserved - 1u);
    return length;
}

PPI_INLINE size_t put_op(char *text, const ppsched_op *op)
{
    const struct row *row = &rows[op->kind];
    const char *kind = row->token;
    size_t length = ppi_integer_to_text(text, op->stage), kind_length = strlen(kind);
    memcpy(text + length, kind, kind_length);
    length += kind_length;
    if (row->has_microbatch)
        length += ppi_integer_to_text(text + length, op->microbatch);
    if (((op->flags & PPSCHED_OP_FLAG_SLICED) | op->reserved) != 0)
        length += put_rest(text + length, op);
    text[length] = '\0';
    return length;
}

size_t ppi_op_token(char text[PPI_TOKEN_SIZE], const ppsched_op *op)
{
    return put_op(text, op);
}

size_t ppi_unit_token(char text[PPI_UNIT_TOKEN_SIZE], const ppsched_op *unit)
{
    static const char tail[] = ")OVERLAP_F_B";
    if (ppi_unit_length(unit) == 1)
        return put_op(text, unit);
    size_t length = 0;
    text[length++] = '(';
    length += ppi_op_token(text + length, unit);
    text[length++] = ';';
    length += ppi_op_token(text + length, unit + 1);
    memcpy(text + length, tail, sizeof tail);
    return length + sizeof tail - 1;
}
