/* SPDX-License-Identifier: Apache-2.0 */
/* What an op sends to another device, and what it needs from one. */
#ifndef PPSCHED_LOWER_TRANSFER_H
#define PPSCHED_LOWER_TRANSFER_H

#include "model/builder.h"

/* A value on its way. */
struct ppi_transfer {
    uint32_t from, to; /* devices */
    ppsched_op send, receive;
};

/* Whether an op's result goes to another device. */
static inline bool ppi_transfer_of(const ppsched_schedule *schedule, const ppsched_op *op, struct ppi_transfer *out)
{
    bool forward = op->kind == PPSCHED_KIND_F;
    if (forward ? op->stage + 1u >= schedule->shape.stages : !ppi_is_backward(op->kind) || op->stage == 0)
        return false;
    ppsched_op peer = {.microbatch = op->microbatch, .stage = (uint16_t)(forward ? op->stage + 1 : op->stage - 1)};
    out->from = ppi_schedule_device_of(schedule, op);
    out->to = ppi_schedule_device_of(schedule, &peer);
    if (out->from == out->to)
        return false;
    out->send = *op;
    out->send.flags = 0;
    out->send.kind = forward ? PPSCHED_KIND_SEND_F : PPSCHED_KIND_SEND_B;
    out->receive = peer;
    out->receive.kind = forward ? PPSCHED_KIND_RECV_F : PPSCHED_KIND_RECV_B;
    return true;
}

/* Whether an op needs a value from another device; then `out` is that transfer. */
static inline bool ppi_transfer_to(const ppsched_schedule *schedule, const ppsched_op *op, struct ppi_transfer *out)
{
    bool forward = op->kind == PPSCHED_KIND_F;
    if (forward ? op->stage == 0 : !ppi_is_backward(op->kind) || op->stage + 1u >= schedule->shape.stages)
        return false;
    ppsched_op producer = {.microbatch = op->microbatch,
                           .stage = (uint16_t)(forward ? op->stage - 1 : op->stage + 1),
                           .kind = forward ? PPSCHED_KIND_F : PPSCHED_KIND_I};
    return ppi_transfer_of(schedule, &producer, out);
}

/* Where the schedule flushes, ops wait until all of the iteration before is done: the first microbatch that must wait in its
 * `iteration`. */
static inline uint32_t ppi_iteration_end(const ppsched_schedule *schedule, uint32_t iteration)
{
    return schedule->flushes ? (iteration + 1) * schedule->shape.microbatches : ppi_total_microbatches(&schedule->shape);
}

static inline bool ppi_waits_for_flush(const ppsched_op *op, uint32_t iteration_end)
{
    return ppi_kind_has_microbatch(op->kind) && op->microbatch >= iteration_end;
}

/* Which inputs of a stage pass are there: a byte for each. */
enum { PPI_FORWARD_THERE = 1, PPI_BACKWARD_THERE = 2 };

static inline size_t ppi_cell_of(const ppsched_schedule *schedule, const ppsched_op *op)
{
    return (size_t)op->stage * ppi_total_microbatches(&schedule->shape) + op->microbatch;
}

/* The bit that an op needs; 0 for none. */
static inline uint8_t ppi_input_of(const ppsched_schedule *schedule, const ppsched_op *op)
{
    if (op->kind == PPSCHED_KIND_F && op->stage > 0)
        return PPI_FORWARD_THERE;
    if (ppi_is_backward(op->kind) && op->stage + 1u < schedule->shape.stages)
        return PPI_BACKWARD_THERE;
    return 0;
}

/* Notes that an op has run, or its value has been received: the input of the next stage (of the stage before) is there. */
static inline void ppi_note_output(const ppsched_schedule *schedule, uint8_t *there, const ppsched_op *op)
{
    size_t row = ppi_total_microbatches(&schedule->shape);
    if (op->kind == PPSCHED_KIND_F && op->stage + 1u < schedule->shape.stages)
        there[ppi_cell_of(schedule, op) + row] |= PPI_FORWARD_THERE;
    if (ppi_is_backward(op->kind) && op->stage > 0)
        there[ppi_cell_of(schedule, op) - row] |= PPI_BACKWARD_THERE;
}

/* Whether all inputs of the unit that starts at `op` are there. */
static inline bool ppi_inputs_are_there(const ppsched_schedule *schedule, const uint8_t *there, const ppsched_op *op)
{
    for (size_t i = 0; i < ppi_unit_length(op); i++) {
        uint8_t needed = ppi_input_of(schedule, &op[i]);
        if (needed != 0 && (there[ppi_cell_of(schedule, &op[i])] & needed) == 0)
            return false;
    }
    return true;
}

#endif
