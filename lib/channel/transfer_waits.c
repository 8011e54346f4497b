/* SPDX-License-Identifier: Apache-2.0 */
/* Goes through a wait from its start: the value was not made, its transfer not asked for, not started, or in flight. */
#include "channel/transfer_waits.h"

#include "eval/idle.h"
#include "ir/ports.h"

void ppi_split_comm_wait(struct ppi_transfer_run *run, uint32_t device, uint32_t i)
{
    ppsched_idle *idle = &run->timeline->idle[device];
    bool is_send = ppi_is_send(run->schedule->ops[i].kind), has_computed = run->machines[device].has_computed;
    const struct ppi_transfer_state *state = &run->states[ppi_comm_at(&run->comms, i)->transfer];
    double *from = &run->machines[device].clock, end = run->timeline->spans[i].end;
    bool may_wait_longer = ppi_sharding_takes_time(&run->sharding) || run->copies.saving != NULL || run->comms.come != NULL;
    double now = may_wait_longer && end < run->now ? end : run->now;
    double made = run->timeline->spans[ppi_moved_by(&run->comms.channels, i)->producer].end;
    ppi_add_waiting_for_neighbour(idle, has_computed, ppi_part_of_wait(from, is_send ? state->asked : made, now));
    if (run->calls != NULL && !is_send) {
        const ppsched_span *call = &run->calls[ppi_comm_at(&run->comms, i)->transfer];
        idle->head_of_line += ppi_part_of_wait(from, call->start, now);
        idle->calls += ppi_part_of_wait(from, call->end, now);
    }
    idle->head_of_line += ppi_part_of_wait(from, state->asked, now);
    idle->link += ppi_part_of_wait(from, state->started, now);
    idle->transfer += ppi_part_of_wait(from, is_send ? now : state->there, now);
    idle->head_of_line += ppi_part_of_wait(from, now, now);
}

bool ppi_comm_blocks(const struct ppi_transfer_run *run, uint32_t device)
{
    const ppsched_queue *queue = &run->schedule->queues[device];
    uint32_t position = run->comms.position[device];
    if (position == 0 || !ppi_is_comm(&queue->ops[position - 1]))
        return false;
    if (run->comms.model.batched != 0 && position < queue->count && ppi_is_comm(&queue->ops[position]))
        return false; /* the batch continues */
    const struct ppi_comm *last = ppi_comm_at(&run->comms, (uint32_t)queue->first + position - 1);
    return run->comms.head[last->queue] <= last->place;
}

void ppi_leave_block(struct ppi_transfer_run *run, uint32_t device)
{
    const ppsched_queue *queue = &run->schedule->queues[device];
    uint32_t i = (uint32_t)queue->first + run->comms.position[device];
    run->machines[device].is_blocked = false;
    for (uint32_t k = i, batch = ppi_comm_at(&run->comms, i - 1)->batch;
         k-- > queue->first && ppi_is_comm(&run->schedule->ops[k]);)
        if (ppi_comm_at(&run->comms, k)->batch == batch && run->timeline->spans[k].end >= run->now) {
            ppi_split_comm_wait(run, device, k);
            return;
        }
}

uint32_t ppi_last_receive_on_graph(const struct ppi_transfer_run *run, uint32_t device, uint32_t i)
{
    uint32_t last = PPSCHED_NONE;
    struct ppi_transfer input;
    for (struct ppi_ports ports = ppi_ports_in(run->schedule, &run->schedule->ops[i], device); ppi_next_sent(&ports, &input);) {
        uint32_t receive = run->comms.channels.transfers.ops[input.number].receive;
        if (!run->comms.done[receive])
            return receive;
        if (last == PPSCHED_NONE || run->timeline->spans[receive].end > run->timeline->spans[last].end)
            last = receive;
    }
    return last;
}
