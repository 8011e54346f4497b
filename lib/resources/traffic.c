/* SPDX-License-Identifier: Apache-2.0 */
/* Counts receives in flight in one pass over each queue; the channels of ppi_channels, in pair order, are the links. */
#include "resources/traffic.h"

#include "base/error.h"
#include "ir/ports.h"

static const ppsched_schedule *schedule_of(const struct ppi_traffic *traffic)
{
    return traffic->channels.schedule;
}

static const ppsched_op *op_at(const struct ppi_traffic *traffic, uint32_t i)
{
    return &schedule_of(traffic)->ops[i];
}

static uint32_t device_of(const struct ppi_traffic *traffic, uint32_t i)
{
    return traffic->channels.comms[i].device;
}

static const struct ppi_transfer_ops *first_of(const struct ppi_traffic *traffic, uint32_t channel)
{
    const struct ppi_channels *channels = &traffic->channels;
    return &channels->transfers.ops[channels->carried[channels->channel_first[channel]]];
}

/* Channels are numbered device by device. */
static void find_channels(struct ppi_traffic *traffic)
{
    uint32_t device = 0, devices = schedule_of(traffic)->shape.devices;
    for (uint32_t c = 0; c < traffic->channels.channel_count; c++)
        while (device <= device_of(traffic, first_of(traffic, c)->send))
            traffic->first_channel[device++] = c;
    while (device <= devices)
        traffic->first_channel[device++] = traffic->channels.channel_count;
}

ppsched_status ppi_traffic_make(struct ppi_traffic *out, const ppsched_schedule *schedule, ppsched_error *error)
{
    const ppsched_channel_model model = {.size = sizeof model, .order = PPSCHED_CHANNEL_ORDER_PAIR};
    struct ppi_traffic traffic = {0};
    ppsched_status status = ppi_channels_make(&traffic.channels, schedule, &model, error);
    if (status != PPSCHED_OK)
        return status;
    traffic.first_channel = ppi_allocate(&schedule->host, (size_t)schedule->shape.devices + 1, sizeof *traffic.first_channel);
    if (traffic.first_channel == NULL) {
        ppi_traffic_clear(&traffic);
        return ppi_fail_memory(error, "the traffic");
    }
    find_channels(&traffic);
    *out = traffic;
    return PPSCHED_OK;
}

void ppi_traffic_clear(struct ppi_traffic *traffic)
{
    ppi_release(&schedule_of(traffic)->host, traffic->first_channel);
    ppi_channels_clear(&traffic->channels);
}

/* --- links --- */

/* The links of one receiving device, during the pass over its queue. */
struct receiver {
    const struct ppi_traffic *traffic;
    uint32_t *link;   /* by sending device: index of its link; PPSCHED_NONE: none yet */
    uint32_t *flight; /* by sending device: receives in flight */
    ppsched_link *links;
    uint32_t count;
};

/* The device that sends an op's input. */
static uint32_t sender_of(const struct ppi_traffic *traffic, uint32_t i)
{
    return device_of(traffic, ppi_moved_by(&traffic->channels, i)->send);
}

/* Goes through the receives whose values a compute op takes: one on a chain, by its ports on a stage graph. */
struct takings {
    const struct ppi_traffic *traffic;
    uint32_t next; /* on a chain; PPSCHED_NONE: none, or no more */
    struct ppi_ports ports;
};

static struct takings takings_of(const struct ppi_traffic *traffic, uint32_t i)
{
    struct takings takings = {.traffic = traffic, .next = PPSCHED_NONE};
    if (!ppi_is_compute(op_at(traffic, i)->kind))
        return takings;
    if (schedule_of(traffic)->placement.graph != NULL)
        takings.ports = ppi_ports_in(schedule_of(traffic), op_at(traffic, i), device_of(traffic, i));
    else
        takings.next = ppi_awaited_by(&traffic->channels, i);
    return takings;
}

/* The next receive; PPSCHED_NONE after the last. */
static uint32_t next_taken(struct takings *takings)
{
    struct ppi_transfer transfer;
    if (takings->ports.schedule != NULL)
        return ppi_next_sent(&takings->ports, &transfer) ? takings->traffic->channels.transfers.ops[transfer.number].receive
                                                         : PPSCHED_NONE;
    uint32_t next = takings->next;
    takings->next = PPSCHED_NONE;
    return next;
}

static void add_receive(struct receiver *receiver, uint32_t i)
{
    uint32_t from = sender_of(receiver->traffic, i), to = device_of(receiver->traffic, i);
    if (receiver->link[from] == PPSCHED_NONE) {
        receiver->link[from] = receiver->count++;
        receiver->flight[from] = 0;
        receiver->links[receiver->link[from]] = (ppsched_link){.sender = from, .receiver = to};
    }
    uint32_t flight = ++receiver->flight[from];
    ppsched_link *link = &receiver->links[receiver->link[from]];
    link->transfers++;
    link->most_in_flight = flight > link->most_in_flight ? flight : link->most_in_flight;
}

static void go_through(struct receiver *receiver, uint32_t device)
{
    const ppsched_queue *queue = &schedule_of(receiver->traffic)->queues[device];
    uint32_t first = (uint32_t)queue->first, end = (uint32_t)(queue->first + queue->count);
    for (uint32_t i = first; i < end; i++) {
        if (ppi_is_receive(op_at(receiver->traffic, i)->kind))
            add_receive(receiver, i);
        struct takings takings = takings_of(receiver->traffic, i);
        for (uint32_t taken; (taken = next_taken(&takings)) != PPSCHED_NONE;)
            receiver->flight[sender_of(receiver->traffic, taken)]--;
    }
    for (uint32_t i = first; i < end; i++) /* reset for the next device */
        if (ppi_is_receive(op_at(receiver->traffic, i)->kind))
            receiver->link[sender_of(receiver->traffic, i)] = PPSCHED_NONE;
}

/* A channel of pair order is a link. */
size_t ppi_link_count(const struct ppi_traffic *traffic)
{
    return traffic->channels.channel_count;
}

ppsched_status ppi_list_links(ppsched_link *out, const struct ppi_traffic *traffic, ppsched_error *error)
{
    const struct ppi_host *host = &schedule_of(traffic)->host;
    uint32_t devices = schedule_of(traffic)->shape.devices;
    struct receiver receiver = {.traffic = traffic, .links = out};
    receiver.link = ppi_allocate(host, devices, 2 * sizeof *receiver.link);
    if (receiver.link == NULL)
        return ppi_fail_memory(error, "the traffic");
    receiver.flight = receiver.link + devices;
    for (uint32_t d = 0; d < devices; d++)
        receiver.link[d] = PPSCHED_NONE;
    for (uint32_t d = 0; d < devices; d++)
        go_through(&receiver, d);
    ppi_release(host, receiver.link);
    return PPSCHED_OK;
}

/* --- buffers --- */

static uint32_t position_of(const struct ppi_traffic *traffic, uint32_t i)
{
    return (uint32_t)(i - schedule_of(traffic)->queues[device_of(traffic, i)].first);
}

/* The transfers from one device to another, in order: returns their number, and the first in `*out`. */
static uint32_t transfers_between(const struct ppi_traffic *traffic, uint32_t from, uint32_t to, const uint32_t **out)
{
    const struct ppi_channels *channels = &traffic->channels;
    for (uint32_t c = traffic->first_channel[from]; c < traffic->first_channel[from + 1]; c++) {
        if (device_of(traffic, first_of(traffic, c)->receive) != to)
            continue;
        *out = channels->carried + channels->channel_first[c];
        return channels->channel_first[c + 1] - channels->channel_first[c];
    }
    return 0;
}

/* The position after which a send's buffer is free: once this device has received something that the other device sends after
 * its consumer. */
static uint32_t release_of(const struct ppi_traffic *traffic, uint32_t send)
{
    const struct ppi_transfer_ops *all = traffic->channels.transfers.ops, *ops = ppi_moved_by(&traffic->channels, send);
    const uint32_t *back = NULL;
    uint32_t count = transfers_between(traffic, device_of(traffic, ops->receive), device_of(traffic, send), &back);
    uint32_t from = 0, to = count;
    while (from < to) { /* the first send after the consumer; none if there is no consumer */
        uint32_t middle = from + (to - from) / 2;
        if (all[back[middle]].send > ops->consumer)
            to = middle;
        else
            from = middle + 1;
    }
    uint32_t first = from < count ? all[back[from]].consumer : PPSCHED_NONE;
    return first != PPSCHED_NONE && first > send ? position_of(traffic, first) : PPSCHED_NONE;
}

/* A buffer holds one receive after another, so there are as many as receives in flight at once. */
uint32_t ppi_slot_count(const struct ppi_traffic *traffic, uint32_t device)
{
    const ppsched_queue *queue = &schedule_of(traffic)->queues[device];
    uint32_t flight = 0, most = 0, first = (uint32_t)queue->first, end = (uint32_t)(queue->first + queue->count);
    for (uint32_t i = first; i < end; i++) {
        struct takings takings = takings_of(traffic, i);
        flight += ppi_is_receive(op_at(traffic, i)->kind);
        while (next_taken(&takings) != PPSCHED_NONE)
            flight--;
        most = flight > most ? flight : most;
    }
    return most;
}

ppsched_status ppi_list_buffers(ppsched_op_buffer *out, const struct ppi_traffic *traffic, uint32_t device, uint32_t slots,
                                ppsched_error *error)
{
    const ppsched_queue *queue = &schedule_of(traffic)->queues[device];
    const struct ppi_host *host = &schedule_of(traffic)->host;
    uint32_t *spare = ppi_allocate(host, slots, sizeof *spare), spare_count = 0, used = 0;
    if (spare == NULL)
        return ppi_fail_memory(error, "the traffic");
    for (size_t k = 0; k < queue->count; k++) {
        uint32_t i = (uint32_t)(queue->first + k);
        out[k] = (ppsched_op_buffer){PPSCHED_NONE, PPSCHED_NONE};
        if (ppi_is_send(queue->ops[k].kind))
            out[k].until = release_of(traffic, i);
        if (ppi_is_receive(queue->ops[k].kind)) {
            uint32_t consumer = ppi_moved_by(&traffic->channels, i)->consumer;
            out[k].slot = spare_count > 0 ? spare[--spare_count] : used++;
            out[k].until = consumer != PPSCHED_NONE ? position_of(traffic, consumer) : PPSCHED_NONE;
        }
        struct takings takings = takings_of(traffic, i);
        for (uint32_t taken; (taken = next_taken(&takings)) != PPSCHED_NONE;)
            spare[spare_count++] = out[position_of(traffic, taken)].slot;
    }
    ppi_release(host, spare);
    return PPSCHED_OK;
}
