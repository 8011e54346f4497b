/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/traffic.h"

#include "base/error.h"

static const ppsched_schedule *schedule_of(const struct ppi_traffic *traffic)
{
    return traffic->wiring.schedule;
}

static const ppsched_op *op_at(const struct ppi_traffic *traffic, uint32_t i)
{
    return &schedule_of(traffic)->ops[i];
}

static const struct ppi_wire *wire_at(const struct ppi_traffic *traffic, uint32_t i)
{
    return &traffic->wiring.wires[i];
}

/* The receive that a compute op waits for, or PPI_NO_OP. */
static uint32_t input_of(const struct ppi_traffic *traffic, uint32_t i)
{
    return ppi_is_comm(op_at(traffic, i)) ? PPI_NO_OP : wire_at(traffic, i)->partner;
}

static void find_consumers(struct ppi_traffic *traffic)
{
    const struct ppi_wiring *wiring = &traffic->wiring;
    for (uint32_t i = 0; i < wiring->count; i++)
        traffic->consumer[i] = PPI_NO_OP;
    for (uint32_t i = 0; i < wiring->count; i++)
        if (input_of(traffic, i) != PPI_NO_OP)
            traffic->consumer[input_of(traffic, i)] = i;
}

/* Channels are numbered device by device. */
static void find_channels(struct ppi_traffic *traffic)
{
    const struct ppi_wiring *wiring = &traffic->wiring;
    uint32_t device = 0, devices = schedule_of(traffic)->shape.devices;
    for (uint32_t c = 0; c < wiring->channel_count; c++) {
        uint32_t from = wire_at(traffic, wiring->carried[wiring->channel_first[c]])->device;
        while (device <= from)
            traffic->first_channel[device++] = c;
    }
    while (device <= devices)
        traffic->first_channel[device++] = wiring->channel_count;
}

ppsched_status ppi_traffic_make(struct ppi_traffic *out, const ppsched_schedule *schedule, ppsched_error *error)
{
    const ppsched_channel_model model = {.size = sizeof model, .order = PPSCHED_CHANNEL_ORDER_PAIR};
    struct ppi_traffic traffic = {0};
    ppsched_status status = ppi_wiring_make(&traffic.wiring, schedule, &model, error);
    if (status != PPSCHED_OK)
        return status;
    traffic.consumer = ppi_allocate(&schedule->host, traffic.wiring.count, sizeof *traffic.consumer);
    traffic.first_channel = ppi_allocate(&schedule->host, (size_t)schedule->shape.devices + 1, sizeof *traffic.first_channel);
    if (traffic.consumer == NULL || traffic.first_channel == NULL) {
        ppi_traffic_clear(&traffic);
        return ppi_fail_memory(error, "the traffic");
    }
    find_consumers(&traffic);
    find_channels(&traffic);
    *out = traffic;
    return PPSCHED_OK;
}

void ppi_traffic_clear(struct ppi_traffic *traffic)
{
    const struct ppi_host host = traffic->wiring.host;
    ppi_release(&host, traffic->first_channel);
    ppi_release(&host, traffic->consumer);
    ppi_wiring_clear(&traffic->wiring);
}

/* --- edges --- */

/* The edges of one receiving device while its queue is gone through. */
struct receiver {
    const struct ppi_traffic *traffic;
    uint32_t *edge;   /* by sending device: number of its edge, PPSCHED_NONE where there is none yet */
    uint32_t *flight; /* by sending device: receives in flight */
    ppsched_edge *edges;
    uint32_t count;
};

static uint32_t sender_of(const struct ppi_traffic *traffic, uint32_t receive)
{
    return wire_at(traffic, wire_at(traffic, receive)->partner)->device;
}

static void note_receive(struct receiver *receiver, uint32_t i)
{
    uint32_t from = sender_of(receiver->traffic, i), to = wire_at(receiver->traffic, i)->device;
    if (receiver->edge[from] == PPSCHED_NONE) {
        receiver->edge[from] = receiver->count++;
        receiver->flight[from] = 0;
        receiver->edges[receiver->edge[from]] = (ppsched_edge){.from = from, .to = to};
    }
    uint32_t flight = ++receiver->flight[from];
    ppsched_edge *edge = &receiver->edges[receiver->edge[from]];
    edge->messages++;
    edge->most_in_flight = flight > edge->most_in_flight ? flight : edge->most_in_flight;
}

static void go_through(struct receiver *receiver, uint32_t device)
{
    const ppsched_queue *queue = &schedule_of(receiver->traffic)->queues[device];
    uint32_t first = (uint32_t)queue->first, end = (uint32_t)(queue->first + queue->count);
    for (uint32_t i = first; i < end; i++) {
        if (ppi_is_receive(op_at(receiver->traffic, i)->kind))
            note_receive(receiver, i);
        else if (input_of(receiver->traffic, i) != PPI_NO_OP)
            receiver->flight[sender_of(receiver->traffic, input_of(receiver->traffic, i))]--;
    }
    for (uint32_t i = first; i < end; i++) /* for the next device */
        if (ppi_is_receive(op_at(receiver->traffic, i)->kind))
            receiver->edge[sender_of(receiver->traffic, i)] = PPSCHED_NONE;
}

/* A channel of the model of pairs is an edge. */
size_t ppi_edge_count(const struct ppi_traffic *traffic)
{
    return traffic->wiring.channel_count;
}

ppsched_status ppi_list_edges(ppsched_edge *out, const struct ppi_traffic *traffic, ppsched_error *error)
{
    const struct ppi_host *host = &traffic->wiring.host;
    uint32_t devices = schedule_of(traffic)->shape.devices;
    struct receiver receiver = {.traffic = traffic, .edges = out};
    receiver.edge = ppi_allocate(host, devices, 2 * sizeof *receiver.edge);
    if (receiver.edge == NULL)
        return ppi_fail_memory(error, "the traffic");
    receiver.flight = receiver.edge + devices;
    for (uint32_t d = 0; d < devices; d++)
        receiver.edge[d] = PPSCHED_NONE;
    for (uint32_t d = 0; d < devices; d++)
        go_through(&receiver, d);
    ppi_release(host, receiver.edge);
    return PPSCHED_OK;
}

/* --- buffers --- */

static uint32_t position_of(const struct ppi_traffic *traffic, uint32_t i)
{
    return (uint32_t)(i - schedule_of(traffic)->queues[wire_at(traffic, i)->device].first);
}

/* The sends from one device to another, in order; how many, and in `*out` the first. */
static uint32_t sends_between(const struct ppi_traffic *traffic, uint32_t from, uint32_t to, const uint32_t **out)
{
    const struct ppi_wiring *wiring = &traffic->wiring;
    for (uint32_t c = traffic->first_channel[from]; c < traffic->first_channel[from + 1]; c++) {
        const uint32_t *sends = wiring->carried + wiring->channel_first[c];
        if (wire_at(traffic, wire_at(traffic, sends[0])->partner)->device != to)
            continue;
        *out = sends;
        return wiring->channel_first[c + 1] - wiring->channel_first[c];
    }
    return 0;
}

/* The other device has used a value when it sends something back behind the consumer, and that is received here. */
static uint32_t release_of(const struct ppi_traffic *traffic, uint32_t send)
{
    uint32_t receive = wire_at(traffic, send)->partner, consumer = traffic->consumer[receive];
    const uint32_t *sends = NULL;
    uint32_t count = sends_between(traffic, wire_at(traffic, receive)->device, wire_at(traffic, send)->device, &sends);
    uint32_t from = 0, to = count, first = PPSCHED_NONE;
    if (consumer == PPI_NO_OP)
        return PPSCHED_NONE;
    while (from < to) { /* the first send behind the consumer */
        uint32_t middle = from + (to - from) / 2;
        if (sends[middle] > consumer)
            to = middle;
        else
            from = middle + 1;
    }
    if (from < count)
        first = traffic->consumer[wire_at(traffic, sends[from])->partner];
    return first != PPSCHED_NONE && first > send ? position_of(traffic, first) : PPSCHED_NONE;
}

/* A buffer serves one receive after another, so there are as many as receives in flight at once. */
uint32_t ppi_slot_count(const struct ppi_traffic *traffic, uint32_t device)
{
    const ppsched_queue *queue = &schedule_of(traffic)->queues[device];
    uint32_t flight = 0, most = 0, first = (uint32_t)queue->first, end = (uint32_t)(queue->first + queue->count);
    for (uint32_t i = first; i < end; i++) {
        if (ppi_is_receive(op_at(traffic, i)->kind))
            flight++;
        else if (input_of(traffic, i) != PPI_NO_OP)
            flight--;
        most = flight > most ? flight : most;
    }
    return most;
}

ppsched_status ppi_list_buffers(ppsched_op_buffer *out, const struct ppi_traffic *traffic, uint32_t device, uint32_t slots,
                                ppsched_error *error)
{
    const ppsched_queue *queue = &schedule_of(traffic)->queues[device];
    uint32_t *spare = ppi_allocate(&traffic->wiring.host, slots, sizeof *spare), spare_count = 0, used = 0;
    if (spare == NULL)
        return ppi_fail_memory(error, "the traffic");
    for (size_t k = 0; k < queue->count; k++) {
        uint32_t i = (uint32_t)(queue->first + k), input = input_of(traffic, i);
        out[k] = (ppsched_op_buffer){PPSCHED_NONE, PPSCHED_NONE};
        if (ppi_is_send(queue->ops[k].kind))
            out[k].until = release_of(traffic, i);
        if (ppi_is_receive(queue->ops[k].kind)) {
            out[k].slot = spare_count > 0 ? spare[--spare_count] : used++;
            if (traffic->consumer[i] != PPI_NO_OP)
                out[k].until = position_of(traffic, traffic->consumer[i]);
        }
        if (input != PPI_NO_OP)
            spare[spare_count++] = out[position_of(traffic, input)].slot;
    }
    ppi_release(&traffic->wiring.host, spare);
    return PPSCHED_OK;
}
