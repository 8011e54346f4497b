/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/proof.h"

#include <string.h>

#include "base/error.h"
#include "base/format.h"
#include "lower/channels.h"

struct run {
    struct ppi_channels channels;
    const ppsched_schedule *schedule;
    uint32_t *ready, ready_count; /* stack of devices that can go on */
    bool *is_ready;
    uint32_t *mark; /* of ops on the walk along a circle */
};

static const struct ppi_wire *wire_of(const struct run *run, uint32_t i)
{
    return &run->channels.wiring.wires[i];
}

/* --- the run --- */

/* A comm op is done: its queue goes on, and if it is a receive its device may. */
static void finish(struct run *run, uint32_t i)
{
    uint32_t device = wire_of(run, i)->device;
    ppi_channels_finish(&run->channels, i);
    if (!run->is_ready[device]) {
        run->is_ready[device] = true;
        run->ready[run->ready_count++] = device;
    }
}

/* Looks whether a comm op can be done now. */
static void look_at(struct run *run, uint32_t i)
{
    struct ppi_channels *channels = &run->channels;
    bool is_send = ppi_is_send(run->schedule->ops[i].kind), rendezvous = channels->model.rendezvous != 0;
    uint32_t send = is_send ? i : wire_of(run, i)->partner, receive = is_send ? wire_of(run, i)->partner : i;
    if (channels->done[i] || !ppi_channels_turn(channels, i))
        return;
    if (is_send && !rendezvous) {
        finish(run, i);
        ppi_channels_tell(channels, receive);
        return;
    }
    bool can_send = rendezvous ? ppi_channels_turn(channels, send) && !channels->done[send] : channels->done[send];
    if (!can_send || !ppi_channels_turn(channels, receive) || !ppi_channels_oldest(channels, send))
        return;
    if (rendezvous)
        finish(run, send);
    finish(run, receive);
    ppi_channels_take(channels, send);
}

/* Runs a device until a compute op waits for its receive. */
static void run_device(struct run *run, uint32_t d)
{
    const ppsched_queue *queue = &run->schedule->queues[d];
    uint32_t *position = &run->channels.position[d];
    for (; *position < queue->count; ++*position) {
        uint32_t i = (uint32_t)(queue->first + *position);
        if (ppi_is_comm(&run->schedule->ops[i]))
            ppi_channels_tell(&run->channels, i);
        else if (wire_of(run, i)->partner != PPI_NO_OP && !run->channels.done[wire_of(run, i)->partner])
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
        for (uint32_t i = 0; ppi_channels_next(&run->channels, &i);)
            look_at(run, i);
    }
}

/* --- the circle --- */

/* The first comm op of a queue that is not done. */
static uint32_t head_of(const struct run *run, uint32_t queue)
{
    return run->channels.wiring.queued[run->channels.wiring.queue_first[queue] + run->channels.head[queue]];
}

/* The receive for which a device's compute op waits. */
static uint32_t awaited_by(const struct run *run, uint32_t device)
{
    return wire_of(run, (uint32_t)run->schedule->queues[device].first + run->channels.position[device])->partner;
}

/* What keeps a comm op from having its turn, or itself where nothing does. */
static uint32_t obstacle(const struct run *run, uint32_t i)
{
    if (!ppi_channels_issued(&run->channels, i))
        return awaited_by(run, wire_of(run, i)->device);
    return ppi_channels_turn(&run->channels, i) ? i : head_of(run, wire_of(run, i)->queue);
}

/* The op for which one that is not done waits: on its own device what has not let it come to its turn; else what is wrong at
 * the other end: its partner, or the message before it. */
static uint32_t next_link(const struct run *run, uint32_t i)
{
    uint32_t before = obstacle(run, i), partner = wire_of(run, i)->partner;
    bool is_send = ppi_is_send(run->schedule->ops[i].kind);
    if (before != i)
        return before;
    const struct ppi_wire *sent = wire_of(run, is_send ? i : partner);
    if (!run->channels.done[partner] && obstacle(run, partner) != partner)
        return obstacle(run, partner);
    const struct ppi_wiring *wiring = &run->channels.wiring;
    uint32_t oldest = wiring->carried[wiring->channel_first[sent->channel] + run->channels.received[sent->channel]];
    uint32_t receive = wire_of(run, oldest)->partner;
    if (run->channels.model.rendezvous != 0 && obstacle(run, oldest) != oldest)
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
    const struct ppi_wiring *wiring = &run->channels.wiring;
    size_t shortest = 0;
    for (uint32_t q = 0; q < wiring->queue_count; q++) {
        uint32_t entry = 0;
        if (wiring->queue_first[q] + run->channels.head[q] == wiring->queue_first[q + 1])
            continue;
        size_t length = find_circle(run, head_of(run, q), q + 1, &entry);
        if (length == 0 || (shortest != 0 && length >= shortest))
            continue;
        shortest = length;
        *first = entry;
    }
    for (uint32_t k = next_link(run, *first), n = 1; n < shortest; n++, k = next_link(run, k))
        if (wire_of(run, k)->device < wire_of(run, *first)->device)
            *first = k;
    return shortest;
}

static ppsched_wait link_of(const struct run *run, uint32_t i)
{
    uint32_t device = wire_of(run, i)->device;
    return (ppsched_wait){
        .device = device, .position = (uint32_t)(i - run->schedule->queues[device].first), .op = run->schedule->ops[i]};
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
            ppi_print(text, capacity, "device %u waits in %s for device %u", wire_of(run, i)->device, token,
                      wire_of(run, next)->device);
        else
            ppi_print(text + used, capacity - used, ", which waits in %s for device %u", token, wire_of(run, next)->device);
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
    struct ppi_place place = {wire_of(run, first)->device, run->schedule->ops[first].stage,
                              run->schedule->ops[first].microbatch, link_of(run, first).position};
    return ppi_fail_at(error, PPSCHED_ERROR_INVALID_SCHEDULE, place, "%s", text);
}

/* --- room --- */

static ppsched_status make_room(struct run *run, ppsched_error *error)
{
    const struct ppi_host *host = &run->schedule->host;
    size_t devices = run->schedule->shape.devices;
    run->mark = ppi_allocate_zeroed(host, run->channels.wiring.count, sizeof *run->mark);
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
    ppi_channels_clear(&run->channels);
}

ppsched_status ppi_prove(const ppsched_schedule *schedule, const ppsched_channel_model *model, ppsched_wait *circle,
                         size_t capacity, size_t *count, ppsched_error *error)
{
    struct run run = {.schedule = schedule};
    if (count != NULL)
        *count = 0;
    ppsched_status status = ppi_channels_make(&run.channels, schedule, model, error);
    if (status != PPSCHED_OK)
        return status;
    status = make_room(&run, error);
    if (status == PPSCHED_OK) {
        run_all(&run);
        if (!ppi_channels_all_done(&run.channels))
            status = report(&run, circle, capacity, count, error);
    }
    clear(&run);
    return status;
}
