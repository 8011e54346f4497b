/* SPDX-License-Identifier: Apache-2.0 */
/* One operation of a schedule, as plain data. */
#ifndef PPSCHED_OP_H
#define PPSCHED_OP_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/export_macro.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of operation, with PyTorch's letters.
 *
 * Beware of "B": here and in PyTorch it is the full backward; the zero-bubble papers write B for
 * the input gradient alone, which is I here.
 *
 * Of what only takes its place: F, B, I and W take time and memory, SEND and RECV are timed by
 * ppsched_schedule_evaluate_transfers. RESHARD and OPTIMIZER_STEP take neither anywhere; they wait
 * for their place in the queue, and the checker asks nothing of them.
 *
 * RECOMPUTE, OFFLOAD and RELOAD have a stage pass keep less between its F and its backward (B, or
 * I). They stand between the two in the queue of their device; a pass has one RECOMPUTE, or one
 * OFFLOAD and one RELOAD behind it, or none of these. Anywhere behind an OFFLOAD there may be one
 * OFFLOAD_WAIT, where its device stands still until the memory is free. See
 * ppsched_schedule_evaluate for their time and memory, and <ppsched/memory_saving.h> for who places
 * them.
 *
 * These four and OPTIMIZER_STEP: a builder takes them, JSON writes and reads them, CHROME_TRACE
 * writes them, TEXT leaves them out; all other formats and all launch arguments refuse a schedule
 * that has them. So does the lowering for OPTIMIZER_STEP alone. */
enum ppsched_kind {
    PPSCHED_KIND_F = 1,               /* forward */
    PPSCHED_KIND_B = 2,               /* full backward: input and weight gradient */
    PPSCHED_KIND_I = 3,               /* backward for the input gradient alone */
    PPSCHED_KIND_W = 4,               /* backward for the weight gradient, after its I */
    PPSCHED_KIND_SEND_F = 5,          /* send the activation to the next stage */
    PPSCHED_KIND_RECV_F = 6,          /* receive the activation from the stage before */
    PPSCHED_KIND_SEND_B = 7,          /* send the gradient to the stage before */
    PPSCHED_KIND_RECV_B = 8,          /* receive the gradient from the next stage */
    PPSCHED_KIND_UNSHARD = 9,         /* gather a stage's parameters; no microbatch */
    PPSCHED_KIND_RESHARD = 10,        /* drop the gathered parameters; no microbatch */
    PPSCHED_KIND_REDUCE_GRAD = 11,    /* reduce a stage's gradients over data-parallel ranks; no
                                        microbatch */
    PPSCHED_KIND_RECOMPUTE = 12,      /* run the forward again before a backward */
    PPSCHED_KIND_OFFLOAD = 13,        /* move an activation out of device memory */
    PPSCHED_KIND_RELOAD = 14,         /* bring it back */
    PPSCHED_KIND_OPTIMIZER_STEP = 15, /* update a stage's weights; no microbatch */
    PPSCHED_KIND_OFFLOAD_WAIT = 16    /* go on once the copy of an OFFLOAD is done */
};

/* Flags of an operation. */
enum ppsched_op_flag {
    PPSCHED_OP_FLAG_OVERLAPPED = 1, /* runs as one unit with the next op of its queue: this is an F,
                                       the next a B or an I */
    PPSCHED_OP_FLAG_SLICED = 2      /* is one of several slices of its microbatch: ops have it where
                                       microbatches are cut, and a builder sets it */
};

/* One operation. 12 bytes, no padding; arrays of it are the library's own memory. */
typedef struct ppsched_op {
    uint32_t
        microbatch;    /* iteration * microbatches + index; PPSCHED_NONE where the kind has none */
    uint16_t stage;    /* virtual stage, 0 holds the first layers */
    uint16_t slice;    /* of the microbatch's sequence, 0 the first; 0 where the kind has none */
    uint8_t kind;      /* enum ppsched_kind */
    uint8_t flags;     /* of enum ppsched_op_flag, or 0 */
    uint16_t reserved; /* 0 */
} ppsched_op;

/* Start and end of an operation, in the caller's unit of time. 16 bytes, no padding. */
typedef struct ppsched_span {
    double start;
    double end;
} ppsched_span;

/* The kind's token, such as "F" or "SEND_B"; NULL for an unknown kind. Static storage. */
PPSCHED_API const char *ppsched_kind_token(int32_t kind);

/* The kind in words, such as "input-gradient backward"; NULL for an unknown kind. Static
 * storage. */
PPSCHED_API const char *ppsched_kind_text(int32_t kind);

/* Writes one op in PyTorch's form: "3F0", "3SEND_B2", "0UNSHARD"; of a sliced microbatch with the
 * slice behind it, "3F0.2". Fills a buffer: see ppsched.h.
 * Errors: ARGUMENT, also for an unknown kind; BUFFER. */
PPSCHED_API ppsched_status ppsched_op_write_token(char *out, size_t capacity, size_t *needed,
                                                  const ppsched_op *op, ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
