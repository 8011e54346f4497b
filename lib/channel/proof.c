/* SPDX-License-Identifier: Apache-2.0 */
/* Runs devices and comm ops without times until none can advance; then each comm op left waits for one other, so that walks
 * along these waits end in cycles. */
#include "channel/proof.h"

#include <string.h>

#include "base/error.h"
#include "base/format.h"
#include "channel/comm_run.h"
#include "ir/stage_graph.h"

struct run {
    struct ppi_comm_run comms;
    const ppsched_schedule *schedule;
    uint32_t *ready, ready_count; /* stack of devices that can continue */
    bool *is_ready;
    uint32_t *mark; /* by op: number of the walk that visited it; 0: none */
};

/* --- the run --- */

PPI_INLINE void note_ready(struct run *run, uint32_t device)
{
    if (run->is_ready[device])
        return;
    run->is_ready[device] = true;
    run->ready[run->ready_count++] = device;
}

/* Marks a comm op as done: its queue advances, and its device may. */
static void finish_op(struct run *run, uint32_t i)
{
    ppi_comm_finish(&run->comms, i);
    note_ready(run, ppi_comm_at(&run->comms, i)->device);
}

/* Completes a comm op if it can be done now. */
static void look_at_op(struct run *run, uint32_t i)
{
    struct ppi_comm_run *comms = &run->comms;
    const struct ppi_transfer_ops *ops = ppi_moved_by(&comms->channels, i);
    uint32_t send = ops->send, receive = ops->receive, transfer = ppi_comm_at(&run->comms, i)->transfer;
    bool rendezvous = comms->model.rendezvous != 0;
    if (comms->done[i] || !ppi_comm_turn(comms, i))
        return;
    if (i == send && !rendezvous) {
        finish_op(run, i);
        ppi_comm_tell(comms, receive);
        return;
    }
    bool can_send = rendezvous ? ppi_comm_turn(comms, send) : comms->done[send];
    if (!can_send || !ppi_comm_turn(comms, receive) || !ppi_comm_oldest(comms, transfer))
        return;
    if (rendezvous)
        finish_op(run, send);
    finish_op(run, receive);
    ppi_comm_take(comms, transfer);
}

/* Runs a compute op of a stage graph on all its devices, once all have come to it; false until then. */
PPI_APART bool run_on_graph(struct run *run, uint32_t device, uint32_t i)
{
    uint32_t count = 0;
    const uint32_t *devices = ppi_devices_of(&run->schedule->placement, run->schedule->ops[i].stage, &count);
    if (!ppi_comm_gathers(&run->comms, device, i))
        return false;
    for (uint32_t k = 0; k < count; k++)
        if (devices[k] != device) {
            run->comms.position[devices[k]]++;
            note_ready(run, devices[k]);
        }
    return true;
}

/* Runs a device until a compute op waits for a receive, or for other devices. */
PPI_INLINE void run_device(struct run *run, uint32_t d, bool on_graph)
{
    const ppsched_queue *queue = &run->schedule->queues[d];
    uint32_t *position = &run->comms.position[d];
    for (; *position < queue->count; ++*position) {
        uint32_t i = (uint32_t)(queue->first + *position);
        if (ppi_is_comm(&run->schedule->ops[i])) {
            ppi_comm_tell(&run->comms, i);
            continue;
        }
        if ((on_graph ? ppi_comm_missing_on_graph(&run->comms, d, i) : ppi_comm_missing_in_chain(&run->comms, i)) !=
            PPSCHED_NONE)
            return;
        if (on_graph && !run_on_graph(run, d, i))
            return;
    }
}

PPI_INLINE void run_whole_proof(struct run *run, bool on_graph)
{
    for (uint32_t d = run->schedule->shape.devices; d-- > 0;) {
        run->is_ready[d] = true;
        run->ready[run->ready_count++] = d;
    }
    while (run->ready_count > 0) {
        uint32_t d = run->ready[--run->ready_count];
        run->is_ready[d] = false;
        run_device(run, d, on_graph);
        for (uint32_t i = 0; ppi_comm_next(&run->comms, &i);)
            look_at_op(run, i);
    }
}

/* A copy of the code, so that chains do not ask for a graph in each step. */
PPI_APART void run_graph(struct run *run)
{
    run_whole_proof(run, true);
}

/* --- the wait cycle --- */

/* The first comm op of a queue that is not done. */
static uint32_t head_of(const struct run *run, uint32_t queue)
{
    return run->comms.channels.queued[run->comms.channels.queue_first[queue] + run->comms.head[queue]];
}

/* The receive that a device's compute op waits for; if it waits for other devices, the receive that one of these waits for. As
 * the order of compute ops has been checked, these waits have an end. */
static uint32_t awaited_by(const struct run *run, uint32_t device)
{
    for (;;) {
        uint32_t i = (uint32_t)run->schedule->queues[device].first + run->comms.position[device];
        uint32_t receive = ppi_comm_missing(&run->comms, device, i);
        if (receive != PPSCHED_NONE)
            return receive;
        device = ppi_comm_absent(&run->comms, &run->schedule->ops[i]);
    }
}

/* The op that keeps a comm op from its turn, or itself if none does. A blocked device has not reached the ops after the head of
 * its queue. */
static uint32_t obstacle(const struct run *run, uint32_t i)
{
    if (!ppi_comm_issued(&run->comms, i)) {
        uint32_t awaited = awaited_by(run, ppi_comm_at(&run->comms, i)->device);
        bool is_reached = run->comms.model.blocking == 0 || ppi_comm_turn(&run->comms, awaited);
        return is_reached ? awaited : head_of(run, ppi_comm_at(&run->comms, awaited)->queue);
    }
    return ppi_comm_turn(&run->comms, i) ? i : head_of(run, ppi_comm_at(&run->comms, i)->queue);
}

/* The transfer that an op's channel must deliver first. */
static uint32_t oldest_before(const struct run *run, uint32_t i)
{
    const struct ppi_channels *channels = &run->comms.channels;
    uint32_t channel = channels->routes[ppi_comm_at(&run->comms, i)->transfer].channel;
    return channels->carried[channels->channel_first[channel] + run->comms.received[channel]];
}

/* The op that a comm op waits for: on its own device what keeps it from its turn; else the obstacle at the other end, of its
 * partner or of the transfer before it. */
static uint32_t next_in_cycle(const struct run *run, uint32_t i)
{
    const struct ppi_channels *channels = &run->comms.channels;
    const struct ppi_transfer_ops *ops = ppi_moved_by(channels, i);
    uint32_t before = obstacle(run, i), partner = i == ops->send ? ops->receive : ops->send;
    if (before != i)
        return before;
    if (!run->comms.done[partner] && obstacle(run, partner) != partner)
        return obstacle(run, partner);
    uint32_t oldest = oldest_before(run, i), send = channels->transfers.ops[oldest].send,
             receive = channels->transfers.ops[oldest].receive;
    if (run->comms.model.rendezvous != 0 && obstacle(run, send) != send)
        return obstacle(run, send);
    return obstacle(run, receive);
}

/* Length of the cycle that the walk from an op reaches; `*entry`: an op of it. 0 if an earlier walk has been there. */
static size_t find_cycle(struct run *run, uint32_t from, uint32_t walk, uint32_t *entry)
{
    uint32_t i = from;
    while (run->mark[i] == 0) {
        run->mark[i] = walk;
        i = next_in_cycle(run, i);
    }
    if (run->mark[i] != walk)
        return 0;
    size_t length = 1;
    for (uint32_t k = next_in_cycle(run, i); k != i; k = next_in_cycle(run, k))
        length++;
    *entry = i;
    return length;
}

/* A shortest cycle; `*first`: its op on the lowest device. */
static size_t shortest_cycle(struct run *run, uint32_t *first)
{
    const struct ppi_channels *channels = &run->comms.channels;
    size_t shortest = 0;
    for (uint32_t q = 0; q < channels->queue_count; q++) {
        uint32_t entry = 0;
        if (channels->queue_first[q] + run->comms.head[q] == channels->queue_first[q + 1])
            continue;
        size_t length = find_cycle(run, head_of(run, q), q + 1, &entry);
        if (length == 0 || (shortest != 0 && length >= shortest))
            continue;
        shortest = length;
        *first = entry;
    }
    for (uint32_t k = next_in_cycle(run, *first), n = 1; n < shortest; n++, k = next_in_cycle(run, k))
        if (ppi_comm_at(&run->comms, k)->device < ppi_comm_at(&run->comms, *first)->device)
            *first = k;
    return shortest;
}

static uint32_t position_of(const struct run *run, uint32_t i)
{
    return (uint32_t)(i - run->schedule->queues[ppi_comm_at(&run->comms, i)->device].first);
}

static ppsched_wait wait_of(const struct run *run, uint32_t i)
{
    uint32_t device = ppi_comm_at(&run->comms, i)->device;
    return (ppsched_wait){.device = device, .position = position_of(run, i), .op = run->schedule->ops[i]};
}

/* Describes an op's wait for its own device: for an op before it in its queue, or, as a channel delivers in order, for the
 * receive of what was sent first. */
static void describe_own(const struct run *run, uint32_t i, char *text, size_t capacity)
{
    char other[PPI_TOKEN_SIZE], sent[PPI_TOKEN_SIZE];
    uint32_t before = obstacle(run, i);
    if (before != i) {
        ppi_op_token(other, &run->schedule->ops[before]);
        ppi_print(text, capacity, "for its %s, which comes before, at position %u", other, position_of(run, before));
        return;
    }
    const struct ppi_transfer_ops *first = &run->comms.channels.transfers.ops[oldest_before(run, i)];
    ppi_op_token(other, &run->schedule->ops[first->receive]);
    ppi_op_token(sent, &run->schedule->ops[first->send]);
    ppi_print(text, capacity, "for its %s, which comes %s, at position %u, as %s comes first", other,
              first->receive < i ? "before" : "later", position_of(run, first->receive), sent);
}

/* bytes of the text of one wait */
enum { LINK_SIZE = 4 * PPI_TOKEN_SIZE + 80 };

/* "device 0 waits in 0SEND_F1 for device 1"; `before` precedes the second and later waits. */
static void describe_link(const struct run *run, uint32_t i, const char *before, char text[LINK_SIZE])
{
    char token[PPI_TOKEN_SIZE];
    uint32_t next = next_in_cycle(run, i), device = ppi_comm_at(&run->comms, i)->device;
    ppi_op_token(token, &run->schedule->ops[i]);
    if (before == NULL)
        ppi_print(text, LINK_SIZE, "device %u waits in %s ", device, token);
    else
        ppi_print(text, LINK_SIZE, "%s waits in %s ", before, token);
    size_t used = strlen(text);
    if (ppi_comm_at(&run->comms, next)->device == device)
        describe_own(run, i, text + used, LINK_SIZE - used);
    else
        ppi_print(text + used, LINK_SIZE - used, "for device %u", ppi_comm_at(&run->comms, next)->device);
}

/* "device 0 waits in 0SEND_F1 for device 1, which waits in 1SEND_B0 for device 0" */
static void describe(const struct run *run, uint32_t first, size_t length, char *text, size_t capacity)
{
    static const char end[] = ", and so on, 18446744073709551615 waits in all";
    const char *before = NULL;
    size_t used = 0, n = 0;
    for (uint32_t i = first; n < length; n++) {
        char link[LINK_SIZE];
        uint32_t next = next_in_cycle(run, i);
        describe_link(run, i, before, link);
        if (used + strlen(link) + sizeof end > capacity)
            break;
        ppi_print(text + used, capacity - used, "%s", link);
        used += strlen(link);
        before = ppi_comm_at(&run->comms, next)->device == ppi_comm_at(&run->comms, i)->device ? "; it" : ", which";
        i = next;
    }
    if (n < length)
        ppi_print(text + used, capacity - used, ", and so on, %zu waits in all", length);
}

static ppsched_status report(struct run *run, ppsched_wait *cycle, size_t capacity, size_t *count, ppsched_error *error)
{
    uint32_t first = 0;
    char text[460] = "";
    size_t length = shortest_cycle(run, &first);
    for (uint32_t i = first, n = 0; n < length && n < capacity; n++, i = next_in_cycle(run, i))
        cycle[n] = wait_of(run, i);
    if (count != NULL)
        *count = length;
    describe(run, first, length, text, sizeof text);
    struct ppi_place place = {ppi_comm_at(&run->comms, first)->device, run->schedule->ops[first].stage,
                              run->schedule->ops[first].microbatch, wait_of(run, first).position};
    return ppi_fail_at(error, PPSCHED_ERROR_INVALID_SCHEDULE, place, "%s", text);
}

/* --- allocation --- */

static ppsched_status reserve_proof(struct run *run, ppsched_error *error)
{
    const struct ppi_host *host = &run->schedule->host;
    size_t devices = run->schedule->shape.devices;
    run->mark = ppi_allocate_zeroed(host, (size_t)run->schedule->op_count, sizeof *run->mark);
    run->ready = ppi_allocate(host, devices, sizeof *run->ready);
    run->is_ready = ppi_allocate_zeroed(host, devices, sizeof *run->is_ready);
    if (run->mark == NULL || run->ready == NULL || run->is_ready == NULL)
        return ppi_fail_memory(error, "the proof");
    return PPSCHED_OK;
}

static void clear(struct run *run)
{
    const struct ppi_host *host = &run->schedule->host;
    ppi_release(host, run->is_ready);
    ppi_release(host, run->ready);
    ppi_release(host, run->mark);
    ppi_comm_run_clear(&run->comms);
}

ppsched_status ppi_prove(const ppsched_schedule *schedule, const ppsched_channel_model *model, ppsched_wait *cycle,
                         size_t capacity, size_t *count, ppsched_error *error)
{
    struct run run = {.schedule = schedule};
    if (count != NULL)
        *count = 0;
    ppsched_status status = ppi_comm_run_make(&run.comms, schedule, model, error);
    if (status != PPSCHED_OK)
        return status;
    status = reserve_proof(&run, error);
    if (status == PPSCHED_OK) {
        if (run.comms.come != NULL)
            run_graph(&run);
        else
            run_whole_proof(&run, false);
        if (!ppi_comm_all_done(&run.comms))
            status = report(&run, cycle, capacity, count, error);
    }
    clear(&run);
    return status;
}
