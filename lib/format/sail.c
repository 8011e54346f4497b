/* SPDX-License-Identifier: Apache-2.0 */
/* Scheduled nodes of sail-sg's zero-bubble runtime as JSON: a list per rank, a node per op, with that runtime's field names.
 * Its "stage" is a rank, its "layer_group_idx" a stage; its "B" is I here, its "BW" B. Communication nodes are at their places
 * in the schedule, without length, at the time when their data is produced. */
#include "base/error.h"
#include "format/formats.h"
#include "ir/transfer.h"

/* The runtime's name of a kind, or NULL. */
static const char *type_of(uint8_t kind)
{
    static const char *const types[PPI_LAST_KIND + 1] = {
        [PPSCHED_KIND_F] = "F",
        [PPSCHED_KIND_B] = "BW",
        [PPSCHED_KIND_I] = "B",
        [PPSCHED_KIND_W] = "W",
        [PPSCHED_KIND_SEND_F] = "SEND_FORWARD",
        [PPSCHED_KIND_RECV_F] = "RECV_FORWARD",
        [PPSCHED_KIND_SEND_B] = "SEND_BACKWARD",
        [PPSCHED_KIND_RECV_B] = "RECV_BACKWARD",
    };
    return types[kind];
}

/* The devices of an op's input and output; PPSCHED_NONE: its own, or none. */
struct peers {
    uint32_t source, target;
};

static struct peers peers_of(const ppsched_schedule *schedule, const ppsched_op *op)
{
    struct ppi_transfer transfer;
    uint32_t source = ppi_transfer_in(schedule, op, &transfer) ? transfer.from : PPSCHED_NONE;
    return (struct peers){source, ppi_transfer_out(schedule, op, &transfer) ? transfer.to : PPSCHED_NONE};
}

/* The schedule's transfers, and whether its ops must send and receive. */
struct check {
    const ppsched_schedule *schedule;
    struct ppi_transfers transfers;
    bool lowered;
};

static const char *fault_of_comm(const struct check *check, uint32_t device, const ppsched_op *op)
{
    bool send = ppi_is_send(op->kind);
    struct ppi_transfer transfer;
    if (check->schedule->placement.device_of[op->stage] != device)
        return "is on a device that does not hold its stage";
    if (!(send ? ppi_transfer_out(check->schedule, op, &transfer) : ppi_transfer_in(check->schedule, op, &transfer)))
        return "does not cross devices";
    return ppi_is_paired(&check->transfers.ops[transfer.number]) ? NULL : "is not one SEND with one RECV";
}

static const char *fault_of_compute(const struct check *check, const ppsched_op *op)
{
    uint32_t input = ppi_input_of(check->schedule, op);
    if (input == PPSCHED_NONE)
        return NULL;
    const struct ppi_transfer_ops *ops = &check->transfers.ops[input];
    if (ops->producer < PPI_REPEATED && check->schedule->ops[ops->producer].kind != op->kind)
        return "follows the other kind of backward, which the runtime does not connect";
    bool is_moved = ops->send != PPSCHED_NONE || ops->receive != PPSCHED_NONE;
    return check->lowered && !is_moved && peers_of(check->schedule, op).source != PPSCHED_NONE
               ? "has no SEND and RECV, but others have"
               : NULL;
}

static const char *fault_of(const struct check *check, uint32_t device, const ppsched_op *op)
{
    if (type_of(op->kind) == NULL)
        return "has no counterpart in sail-sg";
    if (ppi_unit_length(op) == 2)
        return "is in an overlapped pair, which the runtime does not support";
    return ppi_is_compute(op->kind) ? fault_of_compute(check, op) : fault_of_comm(check, device, op);
}

static ppsched_status check_ops(const struct check *check, ppsched_error *error)
{
    char token[PPI_TOKEN_SIZE];
    for (uint32_t d = 0; d < check->schedule->shape.devices; d++) {
        const ppsched_queue *queue = &check->schedule->queues[d];
        for (size_t i = 0; i < queue->count; i++) {
            const ppsched_op *op = &queue->ops[i];
            const char *fault = fault_of(check, d, op);
            if (fault == NULL)
                continue;
            ppi_op_token(token, op);
            return ppi_fail_at(error, PPSCHED_ERROR_REFUSED, (struct ppi_place){d, op->stage, op->microbatch, (uint32_t)i},
                               "sail-sg's nodes cannot hold the schedule: device %u, position %zu: %s %s", d, i, token, fault);
        }
    }
    return PPSCHED_OK;
}

/* Whether no op can have a fault. */
static bool is_plain(const ppsched_schedule *schedule)
{
    return ppi_only_computes(schedule) && !ppi_mixes_backwards(schedule) && !ppi_has_pairs(schedule);
}

static ppsched_status fits(const ppsched_schedule *schedule, ppsched_error *error)
{
    struct check check = {.schedule = schedule, .lowered = ppi_has_comm_ops(schedule)};
    int32_t placement = schedule->placement.kind;
    if (!schedule->flushes)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "sail-sg's runtime flushes after every iteration, the schedule does not");
    if (schedule->shape.iterations != 1)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "sail-sg's nodes are those of one iteration, not of %u",
                        schedule->shape.iterations);
    if (placement == PPSCHED_PLACEMENT_MAP || placement == PPSCHED_PLACEMENT_BIDIRECTIONAL)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "sail-sg's runtime has linear, loop and v placement, not %s",
                        placement == PPSCHED_PLACEMENT_MAP ? "a map" : "bidirectional");
    if (is_plain(schedule))
        return PPSCHED_OK;
    ppsched_status status = ppi_transfers_find(&check.transfers, schedule, error);
    if (status == PPSCHED_OK)
        status = check_ops(&check, error);
    ppi_transfers_clear(&check.transfers);
    return status;
}

static void write_integer(struct ppi_writer *writer, const char *name, uint32_t value)
{
    ppi_write_text(writer, name);
    if (value == PPSCHED_NONE)
        ppi_write_text(writer, "null");
    else
        ppi_write_integer(writer, value);
}

/* Writes the fields of all nodes. */
static void write_start(struct ppi_writer *writer, uint32_t device, uint32_t devices, const ppsched_op *op,
                        const ppsched_span *span)
{
    ppi_write_text(writer, "{\"type\": \"");
    ppi_write_text(writer, type_of(op->kind));
    write_integer(writer, "\", \"stage\": ", device);
    write_integer(writer, ", \"microbatch\": ", op->microbatch);
    write_integer(writer, ", \"chunk\": ", op->stage / devices);
    write_integer(writer, ", \"seq_split_idx\": ", op->slice);
    write_integer(writer, ", \"layer_group_idx\": ", op->stage);
    ppi_write_figure(writer, ", \"start_time\": ", span->start);
    ppi_write_figure(writer, ", \"completion_time\": ", span->end);
}

static void write_compute(struct ppi_writer *writer, const ppsched_schedule *schedule, const ppsched_op *op)
{
    struct peers peers = peers_of(schedule, op);
    write_integer(writer, ", \"recv_peer_stage\": ", peers.source);
    write_integer(writer, ", \"send_peer_stage\": ", peers.target);
    ppi_write_text(writer, ", \"comm_direction\": null, \"comm_peer_stage\": null, \"comm_pair_id\": null");
}

/* Transfers from a rank to the next one around the ring go to NEXT and come from PREV; with two ranks all do. */
static void write_comm(struct ppi_writer *writer, const ppsched_schedule *schedule, uint32_t device, const ppsched_op *op,
                       uint32_t number)
{
    bool send = ppi_is_send(op->kind);
    struct peers peers = peers_of(schedule, op);
    uint32_t peer = send ? peers.target : peers.source, from = send ? device : peer, to = send ? peer : device;
    bool upwards = (from + 1) % schedule->shape.devices == to;
    ppi_write_text(writer, ", \"recv_peer_stage\": null, \"send_peer_stage\": null, \"comm_direction\": ");
    ppi_write_text(writer, send == upwards ? "\"NEXT\"" : "\"PREV\"");
    write_integer(writer, ", \"comm_peer_stage\": ", peer);
    write_integer(writer, ", \"comm_pair_id\": ", number);
}

static void write_rank(struct ppi_writer *writer, const ppsched_timeline *timeline, const struct ppi_transfers *transfers,
                       uint32_t device)
{
    const ppsched_schedule *schedule = timeline->schedule;
    const ppsched_queue *queue = &schedule->queues[device];
    const ppsched_span *spans = ppi_spans_of(timeline, queue);
    for (size_t i = 0; i < queue->count; i++) {
        const ppsched_op *op = &queue->ops[i];
        ppi_write_text(writer, i > 0 ? ",\n  " : "");
        if (ppi_is_compute(op->kind)) {
            write_start(writer, device, schedule->shape.devices, op, &spans[i]);
            write_compute(writer, schedule, op);
        } else {
            uint32_t number = ppi_is_send(op->kind) ? ppi_output_of(schedule, op) : ppi_input_of(schedule, op);
            double made = timeline->spans[transfers->ops[number].producer].end;
            write_start(writer, device, schedule->shape.devices, op, &(ppsched_span){made, made});
            write_comm(writer, schedule, device, op, number);
        }
        ppi_write_text(writer, ", \"rollback\": false, \"need_recompute\": false, \"should_offload\": false}");
    }
}

static void write_sail(struct ppi_writer *writer, const ppsched_schedule *schedule, const ppsched_timeline *timeline,
                       const ppsched_export_options *options)
{
    struct ppi_transfers transfers = {.ops = NULL};
    (void)options;
    if (ppi_has_comm_ops(schedule) && ppi_transfers_find(&transfers, schedule, NULL) != PPSCHED_OK) {
        writer->out_of_memory = "the transfers";
        return;
    }
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        ppi_write_text(writer, d > 0 ? ",\n [" : "[[");
        write_rank(writer, timeline, &transfers, d);
        ppi_write(writer, "]", 1);
    }
    ppi_write_text(writer, "]\n");
    ppi_transfers_clear(&transfers);
}

const struct ppi_format ppi_sail_format = {.name = "sail", .needs_timeline = true, .fits = fits, .write = write_sail};
