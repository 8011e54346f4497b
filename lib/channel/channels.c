/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs sends, receives and consumers by transfer number, numbers queues, channels and links as they occur, then fills the
 * lists with a counting sort. */
#include "channel/channels.h"

#include "base/error.h"
#include "ir/ports.h"

/* Assigns numbers to the keys of a device, in order of occurrence. One device after another, so that one table serves all. */
struct numbering {
    uint32_t *number, *owner; /* by key; owner: device + 1 for which `number` is valid */
    uint32_t given;           /* over all devices */
};

struct making {
    struct ppi_channels *channels;
    const ppsched_schedule *schedule;
    const ppsched_channel_model *model;
    struct numbering queues, through, links; /* through: channels */
    uint32_t *queue_size, *channel_size;
};

/* --- ops and transfers --- */

static ppsched_status fail_at(const struct making *making, uint32_t i, const char *what, ppsched_error *error)
{
    char token[PPI_TOKEN_SIZE];
    const ppsched_op *op = &making->schedule->ops[i];
    uint32_t device = making->channels->comms[i].device;
    size_t position = i - making->schedule->queues[device].first;
    ppi_op_token(token, op);
    return ppi_fail_at(error, PPSCHED_ERROR_INVALID_SCHEDULE,
                       (struct ppi_place){device, op->stage, op->microbatch, (uint32_t)position},
                       "device %u: %s at position %zu %s", device, token, position, what);
}

/* Adds an op to the table; refuses one that is there twice, or on the wrong device. */
PPI_INLINE ppsched_status add_op(struct making *making, uint32_t device, uint32_t i, bool on_graph, ppsched_error *error)
{
    const ppsched_schedule *schedule = making->schedule;
    const ppsched_op *op = &schedule->ops[i];
    struct ppi_transfers *transfers = &making->channels->transfers;
    if (!(on_graph ? ppi_transfers_add_on_graph(transfers, device, i) : ppi_transfers_add_in_chain(transfers, i)))
        return fail_at(making, i, "is there twice", error);
    if (ppi_schedule_device_of(schedule, op) != device &&
        !(on_graph && ppi_seat_on(&schedule->placement, op->stage, device) != PPSCHED_NONE))
        return fail_at(making, i, "is on the wrong device", error);
    return PPSCHED_OK;
}

PPI_INLINE ppsched_status find_ops(struct making *making, bool on_graph, ppsched_error *error)
{
    const ppsched_schedule *schedule = making->schedule;
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        uint32_t iteration_start = 0;
        for (size_t k = 0; k < schedule->queues[d].count; k++) {
            uint32_t i = (uint32_t)(schedule->queues[d].first + k);
            const ppsched_op *op = &schedule->ops[i];
            making->channels->comms[i] = (struct ppi_comm){.device = d, .transfer = PPSCHED_NONE};
            if (ppi_passes_on(op)) {
                ppsched_status status = add_op(making, d, i, on_graph, error);
                if (status != PPSCHED_OK)
                    return status;
            } else if (op->kind != PPSCHED_KIND_W) {
                continue;
            }
            if (op->microbatch < iteration_start)
                return fail_at(making, i, "comes too late, after the flush of its iteration", error);
            if (schedule->flushes)
                iteration_start = op->microbatch / schedule->shape.microbatches * schedule->shape.microbatches;
        }
    }
    return PPSCHED_OK;
}

/* Refuses a send that cannot be connected, with the reason. */
PPI_APART ppsched_status refuse_send(const struct making *making, uint32_t i, ppsched_error *error)
{
    const ppsched_op *op = &making->schedule->ops[i];
    struct ppi_transfer transfer;
    if (making->schedule->placement.graph != NULL
            ? !ppi_transfer_of(making->schedule, op, making->channels->comms[i].device, &transfer)
            : !ppi_transfer_out(making->schedule, op, &transfer))
        return fail_at(making, i, "sends to its own device, or to none", error);
    if (making->channels->transfers.ops[transfer.number].producer > i)
        return fail_at(making, i, "comes before the op whose output it sends", error);
    return fail_at(making, i, "has no receive", error);
}

PPI_INLINE ppsched_status connect_send(struct making *making, uint32_t i, bool on_graph, ppsched_error *error)
{
    struct ppi_comm *comms = making->channels->comms;
    const ppsched_op *op = &making->schedule->ops[i];
    uint32_t number = on_graph ? ppi_comm_number_on_graph(making->schedule, comms[i].device, op)
                               : ppi_output_of(making->schedule, op);
    if (number == PPSCHED_NONE)
        return refuse_send(making, i, error);
    const struct ppi_transfer_ops *ops = &making->channels->transfers.ops[number];
    if (ops->producer > i || ops->receive == PPSCHED_NONE || comms[ops->receive].device == comms[i].device)
        return refuse_send(making, i, error);
    comms[i].transfer = comms[ops->receive].transfer = number;
    return PPSCHED_OK;
}

PPI_APART ppsched_status refuse_consumer(const struct making *making, uint32_t i, uint32_t receive, ppsched_error *error)
{
    return fail_at(making, i,
                   receive == PPSCHED_NONE ? "needs a receive that is missing" : "comes before the receive that it needs",
                   error);
}

/* On a stage graph an op may await several receives; comm_run finds them by its ports. */
PPI_APART ppsched_status connect_on_graph(const struct making *making, uint32_t i, ppsched_error *error)
{
    struct ppi_transfer transfer;
    for (struct ppi_ports ports = ppi_ports_in(making->schedule, &making->schedule->ops[i], making->channels->comms[i].device);
         ppi_next_sent(&ports, &transfer);) {
        uint32_t receive = making->channels->transfers.ops[transfer.number].receive;
        if (receive > i)
            return refuse_consumer(making, i, receive, error);
    }
    return PPSCHED_OK;
}

PPI_INLINE ppsched_status connect_consumer(struct making *making, uint32_t i, bool on_graph, ppsched_error *error)
{
    const ppsched_op *op = &making->schedule->ops[i];
    struct ppi_transfer transfer;
    if (on_graph)
        return connect_on_graph(making, i, error);
    uint32_t number = ppi_input_of(making->schedule, op);
    if (number == PPSCHED_NONE)
        return PPSCHED_OK;
    uint32_t receive = making->channels->transfers.ops[number].receive;
    if (receive < i)
        making->channels->comms[i].transfer = number;
    else if (ppi_transfer_in(making->schedule, op, &transfer))
        return refuse_consumer(making, i, receive, error);
    return PPSCHED_OK;
}

PPI_INLINE ppsched_status connect_all(struct making *making, bool on_graph, ppsched_error *error)
{
    const ppsched_schedule *schedule = making->schedule;
    ppsched_status status = PPSCHED_OK;
    size_t receives = 0, sends = 0;
    for (uint32_t i = 0; i < schedule->op_count && status == PPSCHED_OK; i++) {
        const uint8_t kind = schedule->ops[i].kind;
        if (ppi_is_receive(kind)) {
            receives++;
        } else if (ppi_is_send(kind)) {
            sends++;
            status = connect_send(making, i, on_graph, error);
        } else if (ppi_is_compute(kind)) {
            status = connect_consumer(making, i, on_graph, error);
        }
    }
    for (uint32_t i = 0; status == PPSCHED_OK && sends < receives; i++)
        if (ppi_is_receive(schedule->ops[i].kind) && making->channels->comms[i].transfer == PPSCHED_NONE)
            return fail_at(making, i, "has no send", error);
    return status;
}

PPI_INLINE ppsched_status pair_all(struct making *making, bool on_graph, ppsched_error *error)
{
    ppsched_status status = find_ops(making, on_graph, error);
    return status == PPSCHED_OK ? connect_all(making, on_graph, error) : status;
}

/* A copy of the code, so that chains do not ask for a graph at each op. */
PPI_APART ppsched_status pair_all_on_graph(struct making *making, ppsched_error *error)
{
    return pair_all(making, true, error);
}

/* --- queues and channels --- */

static uint32_t number_of(struct numbering *numbering, uint32_t device, uint32_t key)
{
    if (numbering->owner[key] != device + 1) {
        numbering->owner[key] = device + 1;
        numbering->number[key] = numbering->given++;
    }
    return numbering->number[key];
}

/* Whether a comm op waits for no other comm op of its device. */
static bool is_free(const struct making *making, const ppsched_op *op)
{
    int32_t order = making->model->order;
    return order == PPSCHED_CHANNEL_ORDER_NONE || (order == PPSCHED_CHANNEL_ORDER_SENDS && ppi_is_receive(op->kind));
}

/* Whether transfers between two devices may overtake each other. */
static bool may_overtake(const struct making *making)
{
    return making->model->order == PPSCHED_CHANNEL_ORDER_NONE || making->model->order == PPSCHED_CHANNEL_ORDER_SENDS;
}

/* The key of a comm op's queue; `peer`: the other device. */
static uint32_t queue_key(const struct making *making, const ppsched_op *op, uint32_t peer)
{
    switch (making->model->order) {
    case PPSCHED_CHANNEL_ORDER_GROUP:
    case PPSCHED_CHANNEL_ORDER_SENDS:
        return 0;
    case PPSCHED_CHANNEL_ORDER_DIRECTION:
        return ppi_goes_back(op->kind);
    default:
        return 2 * peer + ppi_is_send(op->kind);
    }
}

static uint32_t channel_key(const struct making *making, const ppsched_op *send, uint32_t to)
{
    return 2 * to + (making->model->order == PPSCHED_CHANNEL_ORDER_DIRECTION && ppi_goes_back(send->kind));
}

/* Gives every comm op its queue and every transfer its channel, and counts them. */
static void number_all(struct making *making)
{
    struct ppi_channels *channels = making->channels;
    uint32_t batch = 0;
    for (uint32_t i = 0; i < making->schedule->op_count; i++) {
        const ppsched_op *op = &making->schedule->ops[i];
        struct ppi_comm *comm = &channels->comms[i];
        bool continues = i > 0 && ppi_is_comm(op - 1) && comm[-1].device == comm->device && making->model->batched != 0;
        if (!ppi_is_comm(op))
            continue;
        const struct ppi_transfer_ops *ops = ppi_moved_by(channels, i);
        uint32_t device = comm->device, peer = channels->comms[ppi_is_send(op->kind) ? ops->receive : ops->send].device;
        batch += !continues;
        comm->batch = batch; /* its number, until fill_lists */
        comm->queue = is_free(making, op) ? making->queues.given++
                                          : number_of(&making->queues, device, queue_key(making, op, peer));
        comm->place = making->queue_size[comm->queue]++;
        if (!ppi_is_send(op->kind))
            continue;
        struct ppi_route *route = &channels->routes[comm->transfer];
        route->channel = may_overtake(making) ? making->through.given++
                                              : number_of(&making->through, device, channel_key(making, op, peer));
        route->place = making->channel_size[route->channel]++;
        route->link = number_of(&making->links, device, peer);
    }
    channels->queue_count = making->queues.given;
    channels->channel_count = making->through.given;
    channels->link_count = making->links.given;
}

/* Turns sizes into the first index of each list. */
static void add_up(uint32_t *first, const uint32_t *size, uint32_t count)
{
    first[0] = 0;
    for (uint32_t k = 0; k < count; k++)
        first[k + 1] = first[k] + size[k];
}

static void fill_lists(struct making *making)
{
    struct ppi_channels *channels = making->channels;
    add_up(channels->queue_first, making->queue_size, channels->queue_count);
    add_up(channels->channel_first, making->channel_size, channels->channel_count);
    for (uint32_t i = 0; i < making->schedule->op_count; i++) {
        const struct ppi_comm *comm = &channels->comms[i];
        if (!ppi_is_comm(&making->schedule->ops[i]))
            continue;
        channels->queued[channels->queue_first[comm->queue] + comm->place] = i;
        if (!ppi_is_send(making->schedule->ops[i].kind))
            continue;
        const struct ppi_route *route = &channels->routes[comm->transfer];
        channels->carried[channels->channel_first[route->channel] + route->place] = comm->transfer;
    }
    for (uint32_t q = 0; q < channels->queue_count; q++) /* from the number of a batch to its first place */
        for (uint32_t k = channels->queue_first[q], first = 0, last = 0; k < channels->queue_first[q + 1]; k++) {
            struct ppi_comm *comm = &channels->comms[channels->queued[k]];
            if (k == channels->queue_first[q] || comm->batch != last) {
                last = comm->batch;
                first = comm->place;
            }
            comm->batch = first;
        }
}

/* --- allocation --- */

static ppsched_status allocate(struct making *making, ppsched_error *error)
{
    struct ppi_channels *channels = making->channels;
    const struct ppi_host *host = &making->schedule->host;
    size_t count = (size_t)making->schedule->op_count, keys = 2 * (size_t)making->schedule->shape.devices;
    channels->comms = ppi_allocate(host, count, sizeof *channels->comms);
    channels->routes = ppi_allocate(host, ppi_transfer_numbers(making->schedule), sizeof *channels->routes);
    channels->queue_first = ppi_allocate(host, count + 1, sizeof *channels->queue_first);
    channels->queued = ppi_allocate(host, count, sizeof *channels->queued);
    channels->channel_first = ppi_allocate(host, count + 1, sizeof *channels->channel_first);
    channels->carried = ppi_allocate(host, count, sizeof *channels->carried);
    making->queues.owner = ppi_allocate_zeroed(host, keys, 2 * sizeof *making->queues.owner);
    making->through.owner = ppi_allocate_zeroed(host, keys, 2 * sizeof *making->through.owner);
    making->links.owner = ppi_allocate_zeroed(host, keys, 2 * sizeof *making->links.owner);
    making->queue_size = ppi_allocate_zeroed(host, count, sizeof *making->queue_size);
    making->channel_size = ppi_allocate_zeroed(host, count, sizeof *making->channel_size);
    if (channels->comms == NULL || channels->routes == NULL || channels->queue_first == NULL || channels->queued == NULL ||
        channels->channel_first == NULL || channels->carried == NULL || making->queues.owner == NULL ||
        making->through.owner == NULL || making->links.owner == NULL || making->queue_size == NULL ||
        making->channel_size == NULL)
        return ppi_fail_memory(error, "the channels");
    making->queues.number = making->queues.owner + keys;
    making->through.number = making->through.owner + keys;
    making->links.number = making->links.owner + keys;
    return PPSCHED_OK;
}

static void release(struct making *making)
{
    const struct ppi_host *host = &making->schedule->host;
    ppi_release(host, making->channel_size);
    ppi_release(host, making->queue_size);
    ppi_release(host, making->links.owner);
    ppi_release(host, making->through.owner);
    ppi_release(host, making->queues.owner);
}

ppsched_status ppi_channels_make(struct ppi_channels *out, const ppsched_schedule *schedule, const ppsched_channel_model *model,
                                 ppsched_error *error)
{
    struct making making = {.channels = out, .schedule = schedule, .model = model};
    *out = (struct ppi_channels){.schedule = schedule};
    ppsched_status status = ppi_transfers_make(&out->transfers, schedule, error);
    if (status == PPSCHED_OK)
        status = allocate(&making, error);
    if (status == PPSCHED_OK)
        status = schedule->placement.graph != NULL ? pair_all_on_graph(&making, error) : pair_all(&making, false, error);
    if (status == PPSCHED_OK) {
        number_all(&making);
        fill_lists(&making);
    }
    release(&making);
    if (status != PPSCHED_OK)
        ppi_channels_clear(out);
    return status;
}

void ppi_channels_clear(struct ppi_channels *channels)
{
    const struct ppi_host *host = &channels->schedule->host;
    ppi_release(host, channels->carried);
    ppi_release(host, channels->channel_first);
    ppi_release(host, channels->queued);
    ppi_release(host, channels->queue_first);
    ppi_release(host, channels->routes);
    ppi_release(host, channels->comms);
    ppi_transfers_clear(&channels->transfers);
}
