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

/* Kinds of operation. F, B, I and W are PyTorch's letters. A *stage pass* is all ops of one
 * microbatch (or, if microbatches have slices, of one slice) on one stage.
 *
 * B is the full backward here and in PyTorch. The zero-bubble papers write B for the backward that
 * computes only the input gradient. Here that backward is I.
 *
 * Time: F, B, I and W take time in every evaluation. SEND, RECV, UNSHARD and REDUCE_GRAD take time
 * only in ppsched_schedule_evaluate_transfers. In that call, a device in a WAIT_REDUCE_GRAD does
 * nothing until the REDUCE_GRAD is done. RESHARD and OPTIMIZER_STEP never take time, but they wait
 * for the ops before them in the queue.
 *
 * Activation memory saving: RECOMPUTE, OFFLOAD, RELOAD and OFFLOAD_WAIT reduce the memory that a
 * stage pass holds between its F and its backward (B or I).
 *   - A stage pass has one RECOMPUTE, or one OFFLOAD and later one RELOAD, or none of these ops. In
 *     the queue of the device, RECOMPUTE, OFFLOAD and RELOAD come after the F of the stage pass and
 *     before its backward.
 *   - An OFFLOAD may have one OFFLOAD_WAIT, anywhere after it in the queue. At the OFFLOAD_WAIT,
 *     the device does nothing until the memory of the OFFLOAD is free.
 *   - evaluate.h describes the time and memory of these ops (ppsched_schedule_evaluate).
 *     memory_saving.h has functions that add these ops to a schedule.
 *
 * RECOMPUTE, OFFLOAD, RELOAD, OFFLOAD_WAIT and OPTIMIZER_STEP are not supported everywhere.
 *   - A builder accepts these ops. The format JSON writes and reads them, CHROME_TRACE writes them,
 *     and TEXT leaves them out.
 *   - All other formats and all launch arguments refuse a schedule with any of these ops.
 *   - ppsched_schedule_lower refuses OPTIMIZER_STEP, and accepts the other four.
 * ppsched_schedule_check checks RECOMPUTE, OFFLOAD, RELOAD, OFFLOAD_WAIT and WAIT_REDUCE_GRAD. It
 * ignores SEND, RECV, UNSHARD, RESHARD and OPTIMIZER_STEP. It also ignores REDUCE_GRAD on a device
 * that has no WAIT_REDUCE_GRAD. */
enum ppsched_kind {
    PPSCHED_KIND_F = 1,                /* forward */
    PPSCHED_KIND_B = 2,                /* full backward: input and weight gradient */
    PPSCHED_KIND_I = 3,                /* backward for the input gradient only */
    PPSCHED_KIND_W = 4,                /* backward for the weight gradient only, after its I */
    PPSCHED_KIND_SEND_F = 5,           /* send the activation to the next stage */
    PPSCHED_KIND_RECV_F = 6,           /* receive the activation from the stage before */
    PPSCHED_KIND_SEND_B = 7,           /* send the gradient to the stage before */
    PPSCHED_KIND_RECV_B = 8,           /* receive the gradient from the next stage */
    PPSCHED_KIND_UNSHARD = 9,          /* all-gather a stage's parameters; it has no microbatch */
    PPSCHED_KIND_RESHARD = 10,         /* free the gathered parameters; it has no microbatch */
    PPSCHED_KIND_REDUCE_GRAD = 11,     /* reduce a stage's gradients over data-parallel ranks; it
                                         has no microbatch */
    PPSCHED_KIND_RECOMPUTE = 12,       /* run the forward again before a backward */
    PPSCHED_KIND_OFFLOAD = 13,         /* copy an activation to host memory, and free it */
    PPSCHED_KIND_RELOAD = 14,          /* copy an offloaded activation back to device memory */
    PPSCHED_KIND_OPTIMIZER_STEP = 15,  /* update a stage's weights; it has no microbatch */
    PPSCHED_KIND_OFFLOAD_WAIT = 16,    /* wait until the copy of an OFFLOAD is done */
    PPSCHED_KIND_WAIT_REDUCE_GRAD = 17 /* wait until the REDUCE_GRAD of the stage is done; it has no
                                          microbatch */
};

/* Flags of an operation. */
enum ppsched_op_flag {
    PPSCHED_OP_FLAG_OVERLAPPED = 1, /* this F and the next op of its queue, which is a B or an I,
                                       run as one op: an overlapped pair */
    PPSCHED_OP_FLAG_SLICED = 2      /* the op runs one of several slices of its microbatch. A
                                       builder sets this flag itself if the config has 2 or more
                                       slices, and otherwise clears it */
};

/* One operation. 12 bytes, no padding. The library stores queues as arrays of ppsched_op.
 *
 * `stage` is the stage whose device has the op in its queue. For a SEND, this is the stage that
 * computed the value. For a RECV, it is the stage that needs the value. ppsched_schedule_peer_of
 * returns the device at the other end. The sends and receives between stages s and s+1 for
 * microbatch m are:
 *   - activation: SEND_F with stage s on the device of s, RECV_F with stage s+1 on the device of
 *     s+1;
 *   - gradient: SEND_B with stage s+1 on the device of s+1, RECV_B with stage s on the device of s.
 * Both ends have the same microbatch m and the same slice.
 *
 * In a schedule with a stage graph (ppsched_schedule_has_graph), each device of a stage sends to
 * each device of each stage that needs the value, except to itself. So `reserved` of each SEND and
 * RECV says which stage and device are at its other end: it is 1 + the number of their place
 * (ppsched_schedule_place_of). The token of the op has the number of the place after a ">":
 * "0SEND_F3>2".
 *
 * UNSHARD, RESHARD, REDUCE_GRAD, WAIT_REDUCE_GRAD and OPTIMIZER_STEP belong to a stage, not to a
 * microbatch. Their `microbatch` must be PPSCHED_NONE; a builder refuses other values. Their
 * `slice` is 0. These ops do not store an iteration, because their position in the queue shows to
 * which iteration they belong. */
typedef struct ppsched_op {
    uint32_t microbatch; /* iteration * M + number in the iteration, where M is the number of
                            microbatches per iteration; or PPSCHED_NONE (see above) */
    uint16_t stage;      /* virtual stage; stage 0 has the first layers */
    uint16_t slice;      /* slice, from 0; 0 if microbatches are whole, or the kind has no slice */
    uint8_t kind;        /* enum ppsched_kind */
    uint8_t flags;       /* flags of enum ppsched_op_flag, or 0 */
    uint16_t reserved; /* 0; in a SEND or RECV of a stage graph: 1 + the place at the other end, as
                            ppsched_schedule_place_of returns it */
} ppsched_op;

/* Start and end of an operation, in the caller's unit of time. 16 bytes, no padding. */
typedef struct ppsched_span {
    double start; /* time when the op starts */
    double end;   /* time when the op ends */
} ppsched_span;

/* The kind's token, such as "F" or "SEND_B"; NULL for an unknown kind. The text has static
 * storage. */
PPSCHED_API const char *ppsched_kind_token(int32_t kind);

/* The kind in words, such as "input-gradient backward"; NULL for an unknown kind. The text has
 * static storage. */
PPSCHED_API const char *ppsched_kind_text(int32_t kind);

/* Writes one op in PyTorch's form: stage, kind and microbatch, such as "3F0", "3SEND_B2" and
 * "0UNSHARD". If the op has the flag SLICED, the slice follows the microbatch: "3F0.2". Fills a
 * buffer: see ppsched.h.
 * Errors: ARGUMENT, also for an unknown kind; BUFFER. */
PPSCHED_API ppsched_status ppsched_op_write_token(char *out, size_t capacity, size_t *needed,
                                                  const ppsched_op *op, ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
