/* SPDX-License-Identifier: Apache-2.0 */
/* What goes from one device to another: an activation to the next stage, a gradient to the stage before. And where its ops are
 * in a schedule.
 *
 * What stage s takes for piece p has the number 2 (s P + p), with P pieces over all iterations, and 1 more where it is a
 * gradient. Between stages of one device it has a number too, but is no transfer. */
#ifndef PPSCHED_IR_TRANSFER_H
#define PPSCHED_IR_TRANSFER_H

#include "ir/schedule.h"

struct ppi_transfer {
    uint32_t number;
    uint32_t from, to; /* devices */
    ppsched_op send, receive;
};

/* As many numbers as there can be; they fit by PPSCHED_MAX_CELLS. */
static inline size_t ppi_transfer_numbers(const ppsched_schedule *schedule)
{
    return 2 * ppi_cell_count(schedule);
}

/* F, B, I, sends and receives. */
static inline bool ppi_passes_on(const ppsched_op *op)
{
    return op->kind == PPSCHED_KIND_F || ppi_is_backward(op->kind) || ppi_is_comm(op);
}

/* Number of what such an op would take, whether or not a stage hands it on. */
static inline uint32_t ppi_number_of(const ppsched_schedule *schedule, const ppsched_op *op)
{
    return 2 * (uint32_t)ppi_cell_of(schedule, op) + ppi_goes_back(op->kind);
}

/* Number of what an F, B, I or RECV takes; PPSCHED_NONE where no stage hands it on, and for ops of other kinds. */
static inline uint32_t ppi_input_of(const ppsched_schedule *schedule, const ppsched_op *op)
{
    if (op->kind == PPSCHED_KIND_F || op->kind == PPSCHED_KIND_RECV_F)
        return op->stage > 0 ? ppi_number_of(schedule, op) : PPSCHED_NONE;
    if (ppi_is_backward(op->kind) || op->kind == PPSCHED_KIND_RECV_B)
        return op->stage + 1u < schedule->shape.stages ? ppi_number_of(schedule, op) : PPSCHED_NONE;
    return PPSCHED_NONE;
}

/* Number of what an F, B, I or SEND hands on; PPSCHED_NONE where no stage takes it, and for ops of other kinds. */
static inline uint32_t ppi_output_of(const ppsched_schedule *schedule, const ppsched_op *op)
{
    uint32_t row = 2 * schedule->micro_slices;
    if (op->kind == PPSCHED_KIND_F || op->kind == PPSCHED_KIND_SEND_F)
        return op->stage + 1u < schedule->shape.stages ? ppi_number_of(schedule, op) + row : PPSCHED_NONE;
    if (ppi_is_backward(op->kind) || op->kind == PPSCHED_KIND_SEND_B)
        return op->stage > 0 ? ppi_number_of(schedule, op) - row : PPSCHED_NONE;
    return PPSCHED_NONE;
}

/* Whether what a stage hands to a neighbour, of an op's piece, goes to another device; fills in all but the number. */
static inline bool ppi_transfer_between(const ppsched_schedule *schedule, const ppsched_op *op, uint32_t from, uint32_t to,
                                        struct ppi_transfer *out)
{
    bool forward = from < to;
    out->send = ppi_op_beside(op, from, forward ? PPSCHED_KIND_SEND_F : PPSCHED_KIND_SEND_B);
    out->receive = ppi_op_beside(op, to, forward ? PPSCHED_KIND_RECV_F : PPSCHED_KIND_RECV_B);
    out->from = ppi_device_of(&schedule->placement, &schedule->shape, from, op->microbatch);
    out->to = ppi_device_of(&schedule->placement, &schedule->shape, to, op->microbatch);
    return out->from != out->to;
}

/* Whether an op takes something from another device; then `*out` is that transfer. */
static inline bool ppi_transfer_in(const ppsched_schedule *schedule, const ppsched_op *op, struct ppi_transfer *out)
{
    out->number = ppi_input_of(schedule, op);
    return out->number != PPSCHED_NONE &&
           ppi_transfer_between(schedule, op, ppi_goes_back(op->kind) ? op->stage + 1u : op->stage - 1u, op->stage, out);
}

/* Whether an op hands something to another device. */
static inline bool ppi_transfer_out(const ppsched_schedule *schedule, const ppsched_op *op, struct ppi_transfer *out)
{
    out->number = ppi_output_of(schedule, op);
    return out->number != PPSCHED_NONE &&
           ppi_transfer_between(schedule, op, op->stage, ppi_goes_back(op->kind) ? op->stage - 1u : op->stage + 1u, out);
}

/* --- where their ops are --- */

/* Instead of an op: there is more than one. */
#define PPI_REPEATED 4294967294u

/* Ops are numbered over all devices, as in the schedule; PPSCHED_NONE where there is none. An op that no stage hands anything
 * stands as a consumer all the same. */
struct ppi_transfer_ops {
    uint32_t producer, send, receive, consumer;
};

struct ppi_transfers {
    const ppsched_schedule *schedule;
    struct ppi_transfer_ops *ops; /* by number */
};

/* Without any ops. RANGE where the schedule has more than can be numbered. */
ppsched_status ppi_transfers_make(struct ppi_transfers *out, const ppsched_schedule *schedule, ppsched_error *error);

/* With all ops of the schedule. */
ppsched_status ppi_transfers_find(struct ppi_transfers *out, const ppsched_schedule *schedule, ppsched_error *error);
void ppi_transfers_clear(struct ppi_transfers *transfers);

/* Adds op `i` of the schedule, which hands on; false where one like it is there already. */
bool ppi_transfers_add(struct ppi_transfers *transfers, uint32_t i);

/* Whether there are one send and one receive. */
static inline bool ppi_is_paired(const struct ppi_transfer_ops *ops)
{
    return ops->send < PPI_REPEATED && ops->receive < PPI_REPEATED;
}

#endif
