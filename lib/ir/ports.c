/* SPDX-License-Identifier: Apache-2.0 */
/* Goes through the stages at the other ends, and the devices of each. */
#include "ir/ports.h"

static const struct ppi_stage_graph *graph_of(const ppsched_schedule *schedule)
{
    return schedule->placement.graph;
}

static struct ppi_ports ports_of(const ppsched_schedule *schedule, const ppsched_op *op, uint32_t device, bool is_out)
{
    const struct ppi_stage_graph *graph = graph_of(schedule);
    return (struct ppi_ports){.schedule = schedule,
                              .op = *op,
                              .seat = ppi_seat_on(&schedule->placement, op->stage, device),
                              .stages = is_out ? ppi_fed_by(graph, op->kind, op->stage)
                                               : ppi_feeds_of(graph, op->kind, op->stage),
                              .is_out = is_out};
}

struct ppi_ports ppi_ports_in(const ppsched_schedule *schedule, const ppsched_op *op, uint32_t device)
{
    return ports_of(schedule, op, device, false);
}

struct ppi_ports ppi_ports_out(const ppsched_schedule *schedule, const ppsched_op *op, uint32_t device)
{
    return ports_of(schedule, op, device, true);
}

/* The value of an op's micro-slice from a seat to another, over a link. */
static struct ppi_transfer transfer_between(const ppsched_schedule *schedule, const ppsched_op *op, uint32_t link,
                                            uint32_t from, uint32_t to)
{
    const struct ppi_stage_graph *graph = graph_of(schedule);
    const bool back = ppi_goes_back(op->kind);
    const uint32_t pair = back ? ppi_seat_pair_of(graph, link, to, from) : ppi_seat_pair_of(graph, link, from, to);
    const size_t value = (size_t)pair * schedule->micro_slices + ppi_micro_slice_of(&schedule->shape, op);
    struct ppi_transfer made = {
        .number = 2 * (uint32_t)value + back,
        .from = ppi_device_of_seat(&schedule->placement, from),
        .to = ppi_device_of_seat(&schedule->placement, to),
        .send = ppi_op_beside(op, ppi_stage_of_seat(graph, from), back ? PPSCHED_KIND_SEND_B : PPSCHED_KIND_SEND_F),
        .receive = ppi_op_beside(op, ppi_stage_of_seat(graph, to), back ? PPSCHED_KIND_RECV_B : PPSCHED_KIND_RECV_F)};
    made.send.reserved = (uint16_t)(to + 1);
    made.receive.reserved = (uint16_t)(from + 1);
    return made;
}

/* Whether the value goes from, or to, the stage of a port. */
static bool runs(const struct ppi_ports *ports)
{
    const struct ppi_stage_graph *graph = graph_of(ports->schedule);
    return ports->is_out ? ppi_fed_runs(graph, &ports->stages, ports->stage, ports->op.microbatch)
                         : ppi_feed_runs(graph, &ports->stages, ports->stage, ports->op.microbatch);
}

bool ppi_next_port(struct ppi_ports *ports, struct ppi_transfer *out)
{
    const struct ppi_stage_graph *graph = graph_of(ports->schedule);
    uint32_t count = 0;
    for (; ports->stage < ports->stages.count; ports->stage++, ports->place = 0) {
        const uint32_t stage = ports->stages.stages[ports->stage];
        ppi_devices_of(&ports->schedule->placement, stage, &count);
        if (ports->place == count || !runs(ports))
            continue;
        const uint32_t other = ppi_seat_of(graph, stage) + ports->place++;
        *out = transfer_between(ports->schedule, &ports->op, ppi_feed_link(&ports->stages, ports->stage),
                                ports->is_out ? ports->seat : other, ports->is_out ? other : ports->seat);
        return true;
    }
    return false;
}

uint32_t ppi_comm_link(const struct ppi_stage_graph *graph, const ppsched_op *comm)
{
    const uint32_t other = comm->reserved - 1u;
    if (comm->reserved == 0 || other >= ppi_seat_count(graph))
        return PPSCHED_NONE;
    const uint32_t peer = ppi_stage_of_seat(graph, other);
    return ppi_is_send(comm->kind) == ppi_goes_back(comm->kind) ? ppi_link_between(graph, peer, comm->stage)
                                                                : ppi_link_between(graph, comm->stage, peer);
}

const char *ppi_refuse_place(const struct ppi_stage_graph *graph, const ppsched_op *op)
{
    if (graph == NULL || !ppi_is_comm(op))
        return op->reserved != 0 ? "only sends and receives of a stage graph have a place at the other end, such as 0SEND_F1>2"
                                 : NULL;
    if (op->reserved == 0)
        return "sends and receives of a stage graph need the place at the other end, such as 0SEND_F1>2";
    return ppi_comm_link(graph, op) == PPSCHED_NONE ? "its stage and the place at its other end do not feed each other" : NULL;
}

bool ppi_transfer_of(const ppsched_schedule *schedule, const ppsched_op *comm, uint32_t device, struct ppi_transfer *out)
{
    const struct ppi_stage_graph *graph = graph_of(schedule);
    const bool sends = ppi_is_send(comm->kind), back = ppi_goes_back(comm->kind);
    const uint32_t own = ppi_seat_on(&schedule->placement, comm->stage, device), link = ppi_comm_link(graph, comm);
    if (own == PPSCHED_NONE || link == PPSCHED_NONE)
        return false;
    const uint32_t other = comm->reserved - 1u, peer = ppi_stage_of_seat(graph, other);
    const uint32_t from = sends ? comm->stage : peer, to = sends ? peer : comm->stage;
    if (!ppi_stage_runs(graph, from, comm->microbatch) || !ppi_stage_runs(graph, to, comm->microbatch) ||
        (back && !(ppi_stage_has_backward(graph, from) && ppi_stage_has_backward(graph, to))))
        return false;
    *out = transfer_between(schedule, comm, link, sends ? own : other, sends ? other : own);
    return out->from != out->to;
}
