/* SPDX-License-Identifier: Apache-2.0 */
/* Writes traces of devices and of links. One pass over a device's queue: each node depends on the last COMP and SEND before
 * it, and on what the ops in between without time, which have no node, depend on. */
#include "base/error.h"
#include "base/format.h"
#include "chakra/nodes.h"

/* ASTRA-sim distinguishes tags below TAGS. The last FLUSH_TAGS are those of flushes, one per round. */
enum { TAGS = 500000000, FLUSH_TAGS = 32 };

#define NO_NODE UINT64_MAX

struct walk {
    const ppsched_chakra *chakra;
    uint32_t device;
    struct ppi_proto to;
    size_t nodes;
    uint64_t comp, send; /* the last ones; NO_NODE: none yet */
    uint64_t *waits;     /* receives for which nodes after the last COMP wait */
    size_t wait_count;
    size_t sent;      /* of these, the number that the last SEND has waited for */
    uint64_t next_id; /* for nodes that are not ops, above those of ops */
    uint64_t flush;   /* microbatches from this one on belong to the next iteration */
    uint32_t at_once; /* a send without time that waits for nothing; PPSCHED_NONE: none */
};

static const struct ppi_comm *comm_of(const ppsched_chakra *chakra, uint32_t i)
{
    return &chakra->channels.comms[i];
}

/* --- nodes --- */

static void put(struct walk *walk, const struct ppi_chakra_node *node)
{
    walk->nodes++;
    ppi_chakra_put_node(&walk->to, node);
}

/* The tensor of a stage pass, named by stage and micro-slice. */
static struct ppi_chakra_tensor tensor_of(const ppsched_chakra *chakra, const ppsched_op *op)
{
    struct ppi_chakra_tensor tensor = {.bytes = chakra->tensors[op->stage]};
    if (tensor.bytes > 0)
        ppi_print(tensor.name, sizeof tensor.name, "T%u.%u", (unsigned)op->stage,
                  ppi_micro_slice_of(&chakra->schedule->shape, op));
    return tensor;
}

static void add_tensors(const ppsched_chakra *chakra, const ppsched_op *unit, struct ppi_chakra_node *node)
{
    node->has_tensors = chakra->tensors != NULL;
    for (size_t k = 0; node->has_tensors && k < ppi_unit_length(unit); k++) {
        if (unit[k].kind == PPSCHED_KIND_F)
            node->out = tensor_of(chakra, &unit[k]);
        if (unit[k].kind == PPSCHED_KIND_B || unit[k].kind == PPSCHED_KIND_W)
            node->in = tensor_of(chakra, &unit[k]);
    }
}

static void compute(struct walk *walk, uint32_t i)
{
    const ppsched_chakra *chakra = walk->chakra;
    const ppsched_op *unit = &chakra->schedule->ops[i];
    char name[PPI_UNIT_TOKEN_SIZE];
    for (uint32_t k = i; k < i + ppi_unit_length(unit); k++) {
        uint32_t receive = ppi_awaited_by(&chakra->channels, k);
        if (receive != PPSCHED_NONE)
            walk->waits[walk->wait_count++] = receive - chakra->schedule->queues[walk->device].first;
    }
    if (chakra->micros[i] == 0)
        return;
    ppi_unit_token(name, unit);
    struct ppi_chakra_node node = {.id = i - chakra->schedule->queues[walk->device].first, .name = name};
    node.type = PPI_CHAKRA_COMP;
    node.micros = chakra->micros[i];
    node.ctrl = (struct ppi_chakra_deps){&walk->comp, walk->comp != NO_NODE};
    node.data = (struct ppi_chakra_deps){walk->waits, walk->wait_count};
    add_tensors(chakra, unit, &node);
    put(walk, &node);
    walk->comp = node.id;
    walk->wait_count = walk->sent = 0;
}

/* Writes a SEND, whose dependencies are known. */
static void put_send(struct walk *walk, struct ppi_chakra_node *node)
{
    if (walk->comp != NO_NODE)
        walk->waits[walk->wait_count] = walk->comp; /* temporarily; there is space for one more */
    node->type = PPI_CHAKRA_SEND;
    node->ctrl = (struct ppi_chakra_deps){&walk->send, walk->send != NO_NODE};
    node->data = (struct ppi_chakra_deps){walk->waits + walk->sent, walk->wait_count - walk->sent + (walk->comp != NO_NODE)};
    node->has_tensors = walk->chakra->tensors != NULL;
    put(walk, node);
    walk->send = node->id;
    walk->sent = walk->wait_count;
}

static void put_receive(struct walk *walk, struct ppi_chakra_node *node)
{
    node->type = PPI_CHAKRA_RECV;
    node->has_tensors = walk->chakra->tensors != NULL;
    put(walk, node);
}

/* --- messages --- */

static uint64_t tag_of(const ppsched_chakra *chakra, uint32_t transfer)
{
    const ppsched_schedule *schedule = chakra->schedule;
    const ppsched_op *receive = &schedule->ops[chakra->channels.transfers.ops[transfer].receive];
    uint64_t stages = schedule->shape.stages, micro_slices = schedule->micro_slices;
    if (2 * stages * micro_slices > TAGS - FLUSH_TAGS)
        return chakra->channels.routes[transfer].place % (TAGS - FLUSH_TAGS);
    return (ppi_goes_back(receive->kind) * stages + receive->stage) * micro_slices +
           ppi_micro_slice_of(&schedule->shape, receive);
}

static void communicate(struct walk *walk, uint32_t i)
{
    const ppsched_chakra *chakra = walk->chakra;
    const ppsched_schedule *schedule = chakra->schedule;
    uint32_t transfer = comm_of(chakra, i)->transfer;
    const struct ppi_transfer_ops *ops = ppi_moved_by(&chakra->channels, i);
    bool is_send = i == ops->send, has_links = chakra->options.links == PPSCHED_CHAKRA_LINKS_RANKS;
    char name[PPI_TOKEN_SIZE];
    ppi_op_token(name, &schedule->ops[i]);
    struct ppi_chakra_node node = {.id = i - schedule->queues[walk->device].first, .name = name};
    node.peer = has_links ? (uint64_t)schedule->shape.devices + chakra->channels.routes[transfer].channel
                          : comm_of(chakra, is_send ? ops->receive : ops->send)->device;
    node.tag = tag_of(chakra, transfer);
    node.bytes = has_links && is_send ? 1 : chakra->bytes[transfer];
    if (!is_send) {
        put_receive(walk, &node);
        return;
    }
    bool waits = walk->comp != NO_NODE || walk->send != NO_NODE || walk->wait_count > 0;
    if (!waits && node.bytes == 1 && ppi_chakra_has_times(chakra))
        walk->at_once = i;
    put_send(walk, &node);
}

/* Between two iterations: in round k each device sends to the one 2^k after it that it, and all it has heard from, are
 * done. */
static void flush(struct walk *walk)
{
    const ppsched_chakra *chakra = walk->chakra;
    uint32_t devices = chakra->schedule->shape.devices;
    for (uint32_t k = 0; k < chakra->rounds; k++) {
        uint32_t step = (uint32_t)1 << k;
        struct ppi_chakra_node node = {.id = walk->next_id++, .name = PPI_CHAKRA_FLUSH "SEND", .bytes = 1};
        node.tag = TAGS - FLUSH_TAGS + k;
        node.peer = (walk->device + step) % devices;
        put_send(walk, &node);
        node.id = walk->next_id++;
        node.name = PPI_CHAKRA_FLUSH "RECV";
        node.peer = (walk->device + devices - step) % devices;
        put_receive(walk, &node);
        walk->waits[walk->wait_count++] = node.id;
    }
}

/* --- ranks --- */

static void go_through(struct walk *walk)
{
    const ppsched_schedule *schedule = walk->chakra->schedule;
    const ppsched_queue *queue = &schedule->queues[walk->device];
    ppi_chakra_put_metadata(&walk->to, walk->chakra);
    for (size_t k = 0; k < queue->count; k += ppi_unit_length(&queue->ops[k])) {
        const ppsched_op *op = &queue->ops[k];
        while (ppi_kind_has_microbatch(op->kind) && op->microbatch >= walk->flush) {
            flush(walk);
            walk->flush += schedule->shape.microbatches;
        }
        if (ppi_is_compute(op->kind))
            compute(walk, (uint32_t)(queue->first + k));
        else if (ppi_is_comm(op))
            communicate(walk, (uint32_t)(queue->first + k));
    }
}

/* Allocates an entry for each receive of a queue, flushes included, and one more. */
static uint64_t *make_waits(const ppsched_chakra *chakra, uint32_t device)
{
    size_t flushes = (size_t)chakra->rounds * chakra->schedule->shape.iterations;
    return ppi_allocate(&chakra->host, chakra->schedule->queues[device].count + flushes + 1, sizeof(uint64_t));
}

static struct walk begin(const ppsched_chakra *chakra, uint32_t device, uint64_t *waits, struct ppi_writer *writer)
{
    const struct ppi_shape *shape = &chakra->schedule->shape;
    return (struct walk){.chakra = chakra,
                         .device = device,
                         .to = {writer, 0},
                         .comp = NO_NODE,
                         .send = NO_NODE,
                         .waits = waits,
                         .next_id = chakra->schedule->queues[device].count,
                         .flush = chakra->schedule->flushes ? shape->microbatches : ppi_total_microbatches(shape),
                         .at_once = PPSCHED_NONE};
}

void ppi_chakra_write_device(const ppsched_chakra *chakra, uint32_t device, struct ppi_writer *writer)
{
    uint64_t *waits = make_waits(chakra, device);
    if (waits == NULL) {
        writer->out_of_memory = "the trace";
        return;
    }
    struct walk walk = begin(chakra, device, waits, writer);
    go_through(&walk);
    ppi_release(&chakra->host, waits);
}

ppsched_status ppi_chakra_check(const ppsched_chakra *chakra, uint32_t device, ppsched_error *error)
{
    uint64_t *waits = make_waits(chakra, device);
    struct ppi_place place = {device, PPSCHED_NONE, PPSCHED_NONE, PPSCHED_NONE};
    if (waits == NULL)
        return ppi_fail_memory(error, "the trace");
    struct walk walk = begin(chakra, device, waits, NULL);
    go_through(&walk);
    ppi_release(&chakra->host, waits);
    if (walk.nodes == 0)
        return ppi_fail_at(error, PPSCHED_ERROR_REFUSED, place,
                           "device %u has no op that takes time; a simulator needs a node on each rank", device);
    if (walk.at_once == PPSCHED_NONE)
        return PPSCHED_OK;
    char token[PPI_TOKEN_SIZE];
    ppi_op_token(token, &chakra->schedule->ops[walk.at_once]);
    place.position = (uint32_t)(walk.at_once - chakra->schedule->queues[device].first);
    return ppi_fail_at(
        error, PPSCHED_ERROR_REFUSED, place,
        "device %u: %s at position %u takes no time at time 0, which simulators do not support; give the ops before it a time",
        device, token, place.position);
}

void ppi_chakra_write_link(const ppsched_chakra *chakra, uint32_t link, struct ppi_writer *writer)
{
    const struct ppi_channels *channels = &chakra->channels;
    struct ppi_proto to = {writer, 0};
    uint64_t first = channels->channel_first[link], count = channels->channel_first[link + 1] - first;
    ppi_chakra_put_metadata(&to, chakra);
    for (uint64_t k = 0; k < count; k++) {
        uint32_t transfer = channels->carried[first + k];
        const struct ppi_transfer_ops *ops = &channels->transfers.ops[transfer];
        char name[sizeof PPI_CHAKRA_LINK + PPI_TOKEN_SIZE] = PPI_CHAKRA_LINK, *token = name + sizeof PPI_CHAKRA_LINK - 1;
        const uint64_t received = 2 * k, before = 2 * k - 1;
        ppi_op_token(token, &chakra->schedule->ops[ops->send]);
        struct ppi_chakra_node node = {.id = received, .name = name, .type = PPI_CHAKRA_RECV, .bytes = 1};
        node.peer = comm_of(chakra, ops->send)->device;
        node.tag = tag_of(chakra, transfer);
        node.has_tensors = chakra->tensors != NULL;
        ppi_chakra_put_node(&to, &node);
        ppi_op_token(token, &chakra->schedule->ops[ops->receive]);
        node.id = received + 1;
        node.type = PPI_CHAKRA_SEND;
        node.ctrl = (struct ppi_chakra_deps){&before, k > 0};
        node.data = (struct ppi_chakra_deps){&received, 1};
        node.peer = comm_of(chakra, ops->receive)->device;
        node.bytes = chakra->bytes[transfer];
        ppi_chakra_put_node(&to, &node);
    }
}
