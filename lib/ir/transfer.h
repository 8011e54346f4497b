/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers between devices: an activation to the next stage, a gradient to the stage before; and the ops of each in a
 * schedule.
 *
 * The input of stage s for micro-slice p has the number 2 (s P + p), with P micro-slices over all iterations, plus 1 for a
 * gradient. Between stages of one device it has a number too, but is no transfer. Functions of one input or output are for
 * chains; ir/ports.h has those for stage graphs. */
#ifndef PPSCHED_IR_TRANSFER_H
#define PPSCHED_IR_TRANSFER_H

#include "ir/schedule.h"
#include "ir/stage_graph.h"

struct ppi_transfer {
    uint32_t number;
    uint32_t from, to; /* devices */
    ppsched_op send, receive;
};

/* Count of all numbers; they cannot overflow, by PPSCHED_MAX_CELLS. On a stage graph, ppi_transfers_make refuses what may. */
static inline size_t ppi_transfer_numbers(const ppsched_schedule *schedule)
{
    const struct ppi_stage_graph *graph = schedule->placement.graph;
    return graph == NULL ? 2 * ppi_cell_count(schedule) : (size_t)2 * ppi_seat_pair_count(graph) * schedule->micro_slices;
}

/* Whether an op has a transfer's number: F, B, I, sends and receives. */
static inline bool ppi_passes_on(const ppsched_op *op)
{
    return op->kind == PPSCHED_KIND_F || ppi_is_backward(op->kind) || ppi_is_comm(op);
}

/* Number of such an op's input, whether or not a stage sends it. */
static inline uint32_t ppi_number_of(const ppsched_schedule *schedule, const ppsched_op *op)
{
    return 2 * (uint32_t)ppi_cell_of(schedule, op) + ppi_goes_back(op->kind);
}

/* Number of the input of an F, B, I or RECV; PPSCHED_NONE if no stage sends it, and for other kinds. */
static inline uint32_t ppi_input_of(const ppsched_schedule *schedule, const ppsched_op *op)
{
    if (op->kind == PPSCHED_KIND_F || op->kind == PPSCHED_KIND_RECV_F)
        return op->stage > 0 ? ppi_number_of(schedule, op) : PPSCHED_NONE;
    if (ppi_is_backward(op->kind) || op->kind == PPSCHED_KIND_RECV_B)
        return op->stage + 1u < schedule->shape.stages ? ppi_number_of(schedule, op) : PPSCHED_NONE;
    return PPSCHED_NONE;
}

/* Number of the output of an F, B, I or SEND; PPSCHED_NONE if no stage takes it, and for other kinds. */
static inline uint32_t ppi_output_of(const ppsched_schedule *schedule, const ppsched_op *op)
{
    uint32_t row = 2 * schedule->micro_slices;
    if (op->kind == PPSCHED_KIND_F || op->kind == PPSCHED_KIND_SEND_F)
        return op->stage + 1u < schedule->shape.stages ? ppi_number_of(schedule, op) + row : PPSCHED_NONE;
    if (ppi_is_backward(op->kind) || op->kind == PPSCHED_KIND_SEND_B)
        return op->stage > 0 ? ppi_number_of(schedule, op) - row : PPSCHED_NONE;
    return PPSCHED_NONE;
}

/* Whether data of an op's micro-slice between neighbouring stages goes to another device; fills in all but the number. */
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

/* Whether an op's input comes from another device; then `*out` is that transfer. */
static inline bool ppi_transfer_in(const ppsched_schedule *schedule, const ppsched_op *op, struct ppi_transfer *out)
{
    out->number = ppi_input_of(schedule, op);
    return out->number != PPSCHED_NONE &&
           ppi_transfer_between(schedule, op, ppi_goes_back(op->kind) ? op->stage + 1u : op->stage - 1u, op->stage, out);
}

/* Whether an op's output goes to another device; then `*out` is that transfer. */
static inline bool ppi_transfer_out(const ppsched_schedule *schedule, const ppsched_op *op, struct ppi_transfer *out)
{
    out->number = ppi_output_of(schedule, op);
    return out->number != PPSCHED_NONE &&
           ppi_transfer_between(schedule, op, op->stage, ppi_goes_back(op->kind) ? op->stage - 1u : op->stage + 1u, out);
}

/* --- where their ops are --- */

/* In place of an op's index: there is more than one. */
#define PPI_REPEATED 4294967294u

/* Indices of ops over all devices, as in the schedule; PPSCHED_NONE: none. An F of the first stage, or backward of the last, is
 * the consumer of its number too. */
struct ppi_transfer_ops {
    uint32_t producer, send, receive, consumer;
};

struct ppi_transfers {
    const ppsched_schedule *schedule;
    struct ppi_transfer_ops *ops; /* by number */
};

/* Makes the table without ops. RANGE if the schedule has too many to be numbered. */
ppsched_status ppi_transfers_make(struct ppi_transfers *out, const ppsched_schedule *schedule, ppsched_error *error);

/* Makes the table with all ops of the schedule. */
ppsched_status ppi_transfers_find(struct ppi_transfers *out, const ppsched_schedule *schedule, ppsched_error *error);
void ppi_transfers_clear(struct ppi_transfers *transfers);

/* Adds op `i` of the schedule, of a device, for which ppi_passes_on holds; false if there is one in its place already. */
bool ppi_transfers_add_in_chain(struct ppi_transfers *transfers, uint32_t i);
bool ppi_transfers_add_on_graph(struct ppi_transfers *transfers, uint32_t device, uint32_t i);
static inline bool ppi_transfers_add(struct ppi_transfers *transfers, uint32_t device, uint32_t i)
{
    return transfers->schedule->placement.graph != NULL ? ppi_transfers_add_on_graph(transfers, device, i)
                                                        : ppi_transfers_add_in_chain(transfers, i);
}

/* Number of a comm op's transfer, in the queue of a device; PPSCHED_NONE if no stage is at its other end. */
uint32_t ppi_comm_number_on_graph(const ppsched_schedule *schedule, uint32_t device, const ppsched_op *comm);
static inline uint32_t ppi_comm_number(const ppsched_schedule *schedule, uint32_t device, const ppsched_op *comm)
{
    if (schedule->placement.graph != NULL)
        return ppi_comm_number_on_graph(schedule, device, comm);
    return ppi_is_send(comm->kind) ? ppi_output_of(schedule, comm) : ppi_input_of(schedule, comm);
}

/* Whether there is exactly one send and one receive. */
static inline bool ppi_is_paired(const struct ppi_transfer_ops *ops)
{
    return ops->send < PPI_REPEATED && ops->receive < PPI_REPEATED;
}

#endif
