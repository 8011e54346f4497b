/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of op, and the text of ops. */
#ifndef PPSCHED_IR_OP_H
#define PPSCHED_IR_OP_H

#include <stdbool.h>
#include <stddef.h>

#include <ppsched/op.h>

enum {
    PPI_COMPUTE_KINDS = PPSCHED_KIND_W + 1, /* F, B, I and W index arrays of this size */
    PPI_LAST_KIND = PPSCHED_KIND_WAIT_REDUCE_GRAD,
    PPI_TOKEN_SIZE = 48,      /* bytes of the longest op token, or more */
    PPI_UNIT_TOKEN_SIZE = 120 /* the same of a unit */
};

static inline bool ppi_is_compute(uint8_t kind)
{
    return kind >= PPSCHED_KIND_F && kind <= PPSCHED_KIND_W;
}

/* B or I: the stage before waits for it. */
static inline bool ppi_is_backward(uint8_t kind)
{
    return kind == PPSCHED_KIND_B || kind == PPSCHED_KIND_I;
}

static inline bool ppi_is_send(uint8_t kind)
{
    return kind == PPSCHED_KIND_SEND_F || kind == PPSCHED_KIND_SEND_B;
}

static inline bool ppi_is_receive(uint8_t kind)
{
    return kind == PPSCHED_KIND_RECV_F || kind == PPSCHED_KIND_RECV_B;
}

static inline bool ppi_is_comm(const ppsched_op *op)
{
    return ppi_is_send(op->kind) || ppi_is_receive(op->kind);
}

/* Ops of a gradient for the stage before: B, I, its sends and receives. */
static inline bool ppi_goes_back(uint8_t kind)
{
    return ppi_is_backward(kind) || kind == PPSCHED_KIND_SEND_B || kind == PPSCHED_KIND_RECV_B;
}

static inline bool ppi_is_same_op(const ppsched_op *a, const ppsched_op *b)
{
    return a->kind == b->kind && a->stage == b->stage && a->microbatch == b->microbatch && a->slice == b->slice &&
           a->flags == b->flags && a->reserved == b->reserved;
}

/* Kinds that PyTorch's runtime has. */
static inline bool ppi_is_of_pytorch(uint8_t kind)
{
    return kind <= PPSCHED_KIND_REDUCE_GRAD || kind == PPSCHED_KIND_WAIT_REDUCE_GRAD;
}

bool ppi_kind_known(int32_t kind);
bool ppi_kind_has_microbatch(int32_t kind);
const char *ppi_kind_token(int32_t kind);
const char *ppi_kind_text(int32_t kind);

/* Writes an op's token and a NUL; returns the length. The kind must be known. */
size_t ppi_op_token(char text[PPI_TOKEN_SIZE], const ppsched_op *op);

/* A copy to the host, or back. */
static inline bool ppi_is_copy(uint8_t kind)
{
    return kind == PPSCHED_KIND_OFFLOAD || kind == PPSCHED_KIND_RELOAD;
}

/* Ops of activation memory saving between a stage pass's F and its backward, and OFFLOAD_WAIT. */
static inline bool ppi_keeps_less(uint8_t kind)
{
    return (kind >= PPSCHED_KIND_RECOMPUTE && kind <= PPSCHED_KIND_RELOAD) || kind == PPSCHED_KIND_OFFLOAD_WAIT;
}

/* F, B, I or W of a whole microbatch that is not the first of an overlapped pair. One comparison, as sweeps test every op. */
static inline bool ppi_computes_alone(const ppsched_op *op)
{
    return (uint16_t)((op->kind | op->flags << 8) - 1) < PPSCHED_KIND_W;
}

/* The same if microbatches may be sliced. */
static inline bool ppi_computes_alone_of_any(const ppsched_op *op)
{
    return ppi_is_compute(op->kind) && (op->flags & PPSCHED_OP_FLAG_OVERLAPPED) == 0;
}

/* Number of ops in the unit that starts at `op`: an op, or an overlapped pair. */
static inline size_t ppi_unit_length(const ppsched_op *op)
{
    return (op->flags & PPSCHED_OP_FLAG_OVERLAPPED) != 0 ? 2 : 1;
}

/* An op of another kind of the same micro-slice, on a given stage. */
static inline ppsched_op ppi_op_beside(const ppsched_op *op, uint32_t stage, uint8_t kind)
{
    ppsched_op beside = *op;
    beside.stage = (uint16_t)stage;
    beside.kind = kind;
    beside.flags &= PPSCHED_OP_FLAG_SLICED;
    return beside;
}

/* A unit's token, "3F0" or "(0F1;3B0)OVERLAP_F_B", and a NUL; returns the length. */
size_t ppi_unit_token(char text[PPI_UNIT_TOKEN_SIZE], const ppsched_op *unit);

#endif
