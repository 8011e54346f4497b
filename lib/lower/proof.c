/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/proof.h"

#include <string.h>

#include "base/error.h"
#include "base/format.h"
#include "lower/transfer.h"
#include "lower/wiring.h"

struct run {
    struct ppi_wiring wiring;
    const ppsched_schedule *schedule;
    bool rendezvous;
    bool *done;          /* comm ops */
    uint32_t *position;  /* of each device: ops before it are issued or have run */
    uint32_t *head;      /* of each queue: the first place that is not done */
    uint32_t *received;  /* of each channel */
    uint32_t *ready, ready_count;   /* stack of devices that can go on */
    bool *is_ready;
    uint32_t *news, news_count;     /* stack of comm ops to look at */
    uint32_t *mark;                 /* of ops on the walk along a circle */
};

/* --- the run --- */

static bool is_issued(const struct run *run, uint32_t i)
{
    uint32_t device = run->wiring.wires[i].device;
    return i < run->schedule->queues[device].first + run->position[device];
}

/* Whether it is a comm op's turn: it is issued, and all in its queue before its batch are done. */
static bool has_turn(const struct run *run, uint32_t i)
{
    const struct ppi_wire *wire = &run->wiring.wires[i];
    return is_issued(run, i) && wire->batch <= run->head[wire->queue];
}

static void tell(struct run *run, uint32_t i)
{
    if (!run->done[i])
        run->news[run->news_count++] = i;
}

/* The next message of the channel may be taken now. */
static void take_message(struct run *run, uint32_t send)
{
    const struct ppi_wire *wire = &run->wiring.wires[send];
    uint32_t next = run->wiring.channel_first[wire->channel] + ++run->received[wire->channel];
    if (next < run->wiring.channel_first[wire->channel + 1])
        tell(run, run->wiring.wires[run->wiring.carried[next]].partner);
}

/* A comm op is done: its queue goes on, and if it is a receive its device may. */
static void finish(struct run *run, uint32_t i)
{
    const struct ppi_wire *wire = &run->wiring.wires[i];
    const uint32_t *queued = run->wiring.queued + run->wiring.queue_first[wire->queue];
    uint32_t size = run->wiring.queue_first[wire->queue + 1] - run->wiring.queue_first[wire->queue];
    uint32_t *head = &run->head[wire->queue], before = *head;
    run->done[i] = true;
    while (*head < size && run->done[queued[*head]])
        ++*head;
    if (*head > before) /* perhaps to a batch that has its turn now */
        for (uint32_t k = *head; k < size && run->wiring.wires[queued[k]].batch == *head; k++)
            tell(run, queued[k]);
    if (!run->is_ready[wire->device]) {
        run->is_ready[wire->device] = true;
        run->ready[run->ready_count++] = wire->device;
    }
}

/* Looks whether a comm op can be done now. */
static void look_at(struct run *run, uint32_t i)
{
    const struct ppi_wire *wire = &run->wiring.wires[i];
    bool is_send = ppi_is_send(run->schedule->ops[i].kind);
    uint32_t send = is_send ? i : wire->partner, receive = is_send ? wire->partner : i;
    if (run->done[i] || !has_turn(run, i))
        return;
    if (is_send && !run->rendezvous) {
        finish(run, i);
        tell(run, receive);
        return;
    }
    const struct ppi_wire *sent = &run->wiring.wires[send];
    bool can_send = run->rendezvous ? has_turn(run, send) && !run->done[send] : run->done[send];
    if (!can_send || !has_turn(run, receive) || run->received[sent->channel] != sent->number)
        return;
    if (run->rendezvous)
        finish(run, send);
    finish(run, receive);
    take_message(run, send);
}

/* Runs a device until a compute op waits for its receive. */
static void run_device(struct run *run, uint32_t d)
{
    const ppsched_queue *queue = &run->schedule->queues[d];
    for (; run->position[d] < queue->count; run->position[d]++) {
        uint32_t i = (uint32_t)(queue->first + run->position[d]);
        const ppsched_op *op = &run->schedule->ops[i];
        if (ppi_is_comm(op))
            tell(run, i);
        else if (run->wiring.wires[i].partner != PPI_NO_OP && !run->done[run->wiring.wires[i].partner])
            return;
    }
}

static void run_all(struct run *run)
{
    for (uint32_t d = run->schedule->shape.devices; d-- > 0;) {
        run->is_ready[d] = true;
        run->ready[run->ready_count++] = d;
    }
    while (run->ready_count > 0) {
        uint32_t d = run->ready[--run->ready_count];
        run->is_ready[d] = false;
        run_device(run, d);
        while (run->news_count > 0)
            look_at(run, run->news[--run->news_count]);
    }
}

/* --- the circle --- */

/* The first comm op of a queue that is not done. */
static uint32_t head_of(const struct run *run, uint32_t queue)
{
    return run->wiring.queued[run->wiring.queue_first[queue] + run->head[queue]];
}

/* The receive for which a device's compute op waits. */
static uint32_t awaited_by(const struct run *run, uint32_t device)
{
    return run->wiring.wires[run->schedule->queues[device].first + run->position[device]].partner;
}

/* What keeps a comm op from having its turn, or itself where nothing does. */
static uint32_t obstacle(const struct run *run, uint32_t i)
{
    if (!is_issued(run, i))
        return awaited_by(run, run->wiring.wires[i].device);
    return has_turn(run, i) ? i : head_of(run, run->wiring.wires[i].queue);
}

/* The op for which one that is not done waits: on its own device what has not let it come to its turn; else what is wrong at
 * the other end: its partner, or the message before it. */
static uint32_t next_link(const struct run *run, uint32_t i)
{
    uint32_t before = obstacle(run, i), partner = run->wiring.wires[i].partner;
    bool is_send = ppi_is_send(run->schedule->ops[i].kind);
    if (before != i)
        return before;
    const struct ppi_wire *sent = &run->wiring.wires[is_send ? i : partner];
    if (!run->done[partner] && obstacle(run, partner) != partner)
        return obstacle(run, partner);
    uint32_t oldest = run->wiring.carried[run->wiring.channel_first[sent->channel] + run->received[sent->channel]];
    uint32_t receive = run->wiring.wires[oldest].partner;
    if (run->rendezvous && obstacle(run, oldest) != oldest)
        return obstacle(run, oldest);
    return obstacle(run, receive);
}

/* Length of the circle that the walk from an op comes to; `*entry` gets an op of it. 0 where another walk has been there. */
static size_t find_circle(struct run *run, uint32_t from, uint32_t walk, uint32_t *entry)
{
    uint32_t i = from;
    while (run->mark[i] == 0) {
        run->mark[i] = walk;
        i = next_link(run, i);
    }
    if (run->mark[i] != walk)
        return 0;
    size_t length = 1;
    for (uint32_t k = next_link(run, i); k != i; k = next_link(run, k))
        length++;
    *entry = i;
    return length;
}

/* A shortest circle, from its op on the lowest device on. */
static size_t shortest_circle(struct run *run, uint32_t *first)
{
    size_t shortest = 0;
    for (uint32_t q = 0; q < run->wiring.queue_count; q++) {
        uint32_t entry = 0;
        if (run->wiring.queue_first[q] + run->head[q] == run->wiring.queue_first[q + 1])
            continue;
        size_t length = find_circle(run, head_of(run, q), q + 1, &entry);
        if (length == 0 || (shortest != 0 && length >= shortest))
            continue;
        shortest = length;
        *first = entry;
    }
    for (uint32_t k = next_link(run, *first), n = 1; n < shortest; n++, k = next_link(run, k))
        if (run->wiring.wires[k].device < run->wiring.wires[*first].device)
            *first = k;
    return shortest;
}

static ppsched_wait link_of(const struct run *run, uint32_t i)
{
    uint32_t device = run->wiring.wires[i].device;
    return (ppsched_wait){.device = device, .position = (uint32_t)(i - run->schedule->queues[device].first),
                          .op = run->schedule->ops[i]};
}

/* "device 0 waits in 0SEND_F1 for device 1, which waits in 1SEND_B0 for device 0" */
static void describe(const struct run *run, uint32_t first, size_t length, char *text, size_t capacity)
{
    size_t used = 0;
    for (uint32_t i = first, n = 0; n < length && used + 1 < capacity; n++) {
        char token[PPI_TOKEN_SIZE];
        uint32_t next = next_link(run, i);
        ppi_op_token(token, &run->schedule->ops[i]);
        if (n == 0)
            ppi_print(text, capacity, "device %u waits in %s for device %u", run->wiring.wires[i].device, token,
                      run->wiring.wires[next].device);
        else
            ppi_print(text + used, capacity - used, ", which waits in %s for device %u", token,
                      run->wiring.wires[next].device);
        used += strlen(text + used);
        i = next;
    }
}

static ppsched_status report(struct run *run, ppsched_wait *circle, size_t capacity, size_t *count, ppsched_error *error)
{
    uint32_t first = 0;
    char text[400] = "";
    size_t length = shortest_circle(run, &first);
    for (uint32_t i = first, n = 0; n < length && n < capacity; n++, i = next_link(run, i))
        circle[n] = link_of(run, i);
    if (count != NULL)
        *count = length;
    describe(run, first, length, text, sizeof text);
    struct ppi_place place = {run->wiring.wires[first].device, run->schedule->ops[first].stage,
                              run->schedule->ops[first].microbatch, link_of(run, first).position};
    return ppi_fail_at(error, PPSCHED_ERROR_INVALID_SCHEDULE, place, "%s", text);
}

/* --- room --- */

static ppsched_status make_room(struct run *run, ppsched_error *error)
{
    const struct ppi_host *host = &run->schedule->host;
    size_t ops = run->wiring.count, devices = run->schedule->shape.devices;
    run->done = ppi_allocate_zeroed(host, ops, sizeof *run->done);
    run->mark = ppi_allocate_zeroed(host, ops, sizeof *run->mark);
    run->news = ppi_allocate(host, 4 * ops + 4, sizeof *run->news);
    run->position = ppi_allocate_zeroed(host, devices, sizeof *run->position);
    run->ready = ppi_allocate(host, devices, sizeof *run->ready);
    run->is_ready = ppi_allocate_zeroed(host, devices, sizeof *run->is_ready);
    run->head = ppi_allocate_zeroed(host, (size_t)run->wiring.queue_count + 1, sizeof *run->head);
    run->received = ppi_allocate_zeroed(host, (size_t)run->wiring.channel_count + 1, sizeof *run->received);
    if (run->done == NULL || run->mark == NULL || run->news == NULL || run->position == NULL || run->ready == NULL ||
        run->is_ready == NULL || run->head == NULL || run->received == NULL)
        return ppi_fail_memory(error, "the proof");
    return PPSCHED_OK;
}

static void clear(struct run *run)
{
    const struct ppi_host *host = &run->schedule->host;
    ppi_release(host, run->received);
    ppi_release(host, run->head);
    ppi_release(host, run->is_ready);
    ppi_release(host, run->ready);
    ppi_release(host, run->position);
    ppi_release(host, run->news);
    ppi_release(host, run->mark);
    ppi_release(host, run->done);
    ppi_wiring_clear(&run->wiring);
}

static bool all_done(const struct run *run)
{
    for (uint32_t q = 0; q < run->wiring.queue_count; q++)
        if (run->wiring.queue_first[q] + run->head[q] < run->wiring.queue_first[q + 1])
            return false;
    return true;
}

ppsched_status ppi_prove(const ppsched_schedule *schedule, const ppsched_channel_model *model, ppsched_wait *circle,
                         size_t capacity, size_t *count, ppsched_error *error)
{
    struct run run = {.schedule = schedule, .rendezvous = model->rendezvous != 0};
    if (count != NULL)
        *count = 0;
    ppsched_status status = ppi_wiring_make(&run.wiring, schedule, model, error);
    if (status != PPSCHED_OK)
        return status;
    status = make_room(&run, error);
    if (status == PPSCHED_OK) {
        run_all(&run);
        if (!all_done(&run))
            status = report(&run, circle, capacity, count, error);
    }
    clear(&run);
    return status;
}
