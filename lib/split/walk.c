/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes are numbered in the order in which devices, taking turns by a ring, can run their ops; a price is one pass over
 * them. */
#include "split/walk.h"

#include "base/checked.h"
#include "base/error.h"
#include "eval/sender_waits.h"

/* A slot of a stage pass holds the node that produces its value; 0: none yet; with this bit: the device that waits for it. */
#define WAITS 0x80000000u

struct walking {
    struct ppi_walk *walk;
    uint32_t microbatches;        /* of the iteration, or of all where there is no flush */
    uint32_t micro_slices;        /* micro-slices of these */
    uint32_t *forward, *backward; /* slots, stage by stage */
    size_t *next;                 /* op of each device */
    uint32_t *first_pair;         /* of each stage instance: the number of the last pair with its forward */
    uint32_t *ready;              /* ring of devices that can continue, from the one whose turn it is */
    uint32_t ready_first, ready_count;
    struct ppi_senders *senders; /* NULL: senders do not wait */
};

/* An op's stage instance, the slot of its value, and the slot of its input from another stage; NULL: it has none. */
struct place {
    uint32_t instance;
    size_t slot;
    uint32_t *input;
};

static inline struct place place_of(const struct walking *making, const ppsched_op *op)
{
    const ppsched_schedule *schedule = making->walk->schedule;
    const struct ppi_shape *shape = &schedule->shape;
    uint32_t micro_slice = shape->slices == 1 ? op->microbatch : ppi_micro_slice_of(shape, op);
    struct place place = {ppi_copy_of(&schedule->placement, shape, op->microbatch) * shape->stages + op->stage,
                          (size_t)op->stage * making->micro_slices + micro_slice, NULL};
    if (op->kind == PPSCHED_KIND_F && op->stage > 0)
        place.input = &making->forward[place.slot - making->micro_slices];
    if (ppi_is_backward(op->kind) && op->stage + 1u < shape->stages)
        place.input = &making->backward[place.slot + making->micro_slices];
    return place;
}

/* Whether its input is produced; if not, the device waits for it. */
static inline bool is_there(const struct place *place, uint32_t device)
{
    uint32_t *input = place->input;
    if (input == NULL || (*input != 0 && (*input & WAITS) == 0))
        return true;
    *input = WAITS | device;
    return false;
}

static void put_ready(struct walking *making, uint32_t device)
{
    uint32_t devices = making->walk->schedule->shape.devices, at = making->ready_first + making->ready_count++;
    making->ready[at < devices ? at : at - devices] = device;
}

static uint32_t take_ready(struct walking *making)
{
    uint32_t device = making->ready[making->ready_first++];
    if (making->ready_first == making->walk->schedule->shape.devices)
        making->ready_first = 0;
    making->ready_count--;
    return device;
}

static inline void note(struct walking *making, const ppsched_op *op, size_t slot, uint32_t node)
{
    uint32_t *value = op->kind == PPSCHED_KIND_F ? &making->forward[slot] : &making->backward[slot];
    if (op->kind == PPSCHED_KIND_W)
        return;
    if ((*value & WAITS) != 0)
        put_ready(making, *value & ~WAITS);
    *value = node;
}

static inline uint32_t put_node(struct ppi_walk *walk, const struct place *place, uint32_t device, uint32_t cost)
{
    uint32_t node = walk->count++, before = walk->last[device];
    walk->nodes[node] = (struct ppi_walk_node){before, place->input != NULL ? *place->input : PPI_WALK_NOTHING, cost};
    if (before == PPI_WALK_START)
        walk->first[device] = node;
    walk->last[device] = node;
    return node;
}

/* What the node of an op outside of pairs waits for in addition to its turn and its input. */
static void put_hold(struct walking *making, const ppsched_op *op, const struct place *place, uint32_t node)
{
    const ppsched_schedule *schedule = making->walk->schedule;
    const struct ppi_sender *sender = &making->senders->ops[op - schedule->ops];
    struct ppi_walk_hold *hold = &making->walk->holds[node];
    if (sender->previous != PPI_NO_OP) {
        const ppsched_op *receiver = &schedule->ops[sender->receiver];
        hold->turn = place_of(making, receiver).instance * PPI_WALK_KINDS + receiver->kind - 1;
    }
    if (sender->input != PPI_NO_OP) {
        hold->input = making->backward[place->slot];
        hold->cost = place->instance * PPI_WALK_KINDS + PPSCHED_KIND_I - 1;
    }
}

/* Costs of stage instances come first, four each; then one per instance for the first ops of its pairs, then one per pair. If
 * pairs have given times, these are followed by one per instance for the starts of pairs with its backward, and by two per
 * pair, for its ends. */
static inline uint32_t cost_of_first(const struct ppi_walk *walk, uint32_t instance)
{
    return walk->instances * PPI_WALK_KINDS + instance;
}

static inline uint32_t cost_of_pair(const struct ppi_walk *walk, uint32_t pair)
{
    return walk->instances * (PPI_WALK_KINDS + 1) + pair;
}

static inline uint32_t cost_of_start(const struct ppi_walk *walk, uint32_t instance)
{
    return walk->instances * (PPI_WALK_KINDS + 1) + walk->most_pairs + instance;
}

static inline uint32_t cost_of_end(const struct ppi_walk *walk, uint32_t pair, bool backward)
{
    return walk->instances * (PPI_WALK_KINDS + 2) + walk->most_pairs + 2 * pair + backward;
}

static uint32_t number_of_pair(struct walking *making, uint32_t forward, uint32_t backward, uint8_t kind)
{
    struct ppi_walk *walk = making->walk;
    uint32_t *first = &making->first_pair[forward];
    for (uint32_t i = *first; i != PPI_WALK_NO_COST; i = walk->pairs[i].next)
        if (walk->pairs[i].backward == backward && walk->pairs[i].kind == kind)
            return i;
    walk->pairs[walk->pair_count] = (struct ppi_walk_pair){forward, backward, *first, kind};
    return *first = walk->pair_count++;
}

/* A node for an output of a pair, which the device does not wait for. */
static uint32_t put_output(struct ppi_walk *walk, uint32_t start, uint32_t cost)
{
    walk->nodes[walk->count] = (struct ppi_walk_node){start, PPI_WALK_NOTHING, cost};
    return walk->count++;
}

static void put_pair(struct walking *making, const ppsched_op *op, const struct place *places, uint32_t device)
{
    static const struct place no_input = {0, 0, NULL};
    struct ppi_walk *walk = making->walk;
    const uint32_t pair = number_of_pair(making, places[0].instance, places[1].instance, op[1].kind);
    put_node(walk, &places[0], device, cost_of_first(walk, places[0].instance));
    if (!walk->has_pair_times) {
        const uint32_t node = put_node(walk, &places[1], device, cost_of_pair(walk, pair));
        note(making, op, places[0].slot, node);
        note(making, op + 1, places[1].slot, node);
        return;
    }
    const uint32_t start = put_node(walk, &places[1], device, cost_of_start(walk, places[1].instance));
    put_node(walk, &no_input, device, cost_of_pair(walk, pair));
    note(making, op, places[0].slot, put_output(walk, start, cost_of_end(walk, pair, false)));
    note(making, op + 1, places[1].slot, put_output(walk, start, cost_of_end(walk, pair, true)));
}

/* One op, or pair, of a device, which continues in its next turn: so neighbouring nodes do not wait for each other, and a
 * processor works on several at once. Copies to the host take no time here. */
static void take_turn(struct walking *making, uint32_t device)
{
    const struct ppsched_queue *queue = &making->walk->schedule->queues[device];
    size_t *next = &making->next[device];
    while (*next < queue->count && !ppi_is_compute(queue->ops[*next].kind))
        ++*next;
    if (*next == queue->count)
        return;
    const ppsched_op *op = &queue->ops[*next];
    if (op->microbatch >= making->microbatches)
        return; /* of the next iteration */
    struct place places[2] = {place_of(making, op)};
    if (!is_there(&places[0], device))
        return;
    if (ppi_unit_length(op) == 1) {
        uint32_t cost = places[0].instance * PPI_WALK_KINDS + op->kind - 1,
                 node = put_node(making->walk, &places[0], device, cost);
        if (making->senders != NULL)
            put_hold(making, op, &places[0], node);
        note(making, op, places[0].slot, node);
    } else {
        places[1] = place_of(making, op + 1);
        if (!is_there(&places[1], device))
            return;
        put_pair(making, op, places, device);
    }
    *next += ppi_unit_length(op);
    put_ready(making, device);
}

/* Counts pairs, and notes whether backwards are split. */
static void look_at_ops(struct ppi_walk *walk)
{
    const ppsched_schedule *schedule = walk->schedule;
    for (uint64_t i = 0; i < schedule->op_count; i++) {
        walk->most_pairs += ppi_unit_length(&schedule->ops[i]) == 2;
        walk->splits_backward |= schedule->ops[i].kind > PPSCHED_KIND_B && ppi_is_compute(schedule->ops[i].kind);
    }
}

/* A pair with given times has three more nodes than its two ops. */
static size_t most_nodes(const struct ppi_walk *walk)
{
    return (size_t)walk->schedule->op_count + PPI_WALK_FIRST + (walk->has_pair_times ? 3 * (size_t)walk->most_pairs : 0);
}

static ppsched_status reserve_walk(struct walking *making, struct ppi_arena *arena, struct ppi_arena *own, ppsched_error *error)
{
    struct ppi_walk *walk = making->walk;
    const struct ppi_shape *shape = &walk->schedule->shape;
    look_at_ops(walk);
    walk->instances = walk->schedule->placement.copies * shape->stages;
    size_t nodes = most_nodes(walk), cells = (size_t)shape->stages * making->micro_slices;
    size_t costs = walk->has_pair_times ? cost_of_end(walk, walk->most_pairs, false) : cost_of_pair(walk, walk->most_pairs);
    walk->nodes = ppi_arena_take(arena, nodes, sizeof *walk->nodes);
    walk->end = ppi_arena_take(arena, nodes, sizeof *walk->end);
    walk->first = ppi_arena_take_zeroed(arena, shape->devices, sizeof *walk->first);
    walk->last = ppi_arena_take_zeroed(arena, shape->devices, sizeof *walk->last);
    walk->costs = ppi_arena_take_zeroed(arena, costs, sizeof *walk->costs);
    walk->pairs = ppi_arena_take_zeroed(arena, walk->most_pairs, sizeof *walk->pairs);
    making->first_pair = ppi_arena_take(own, walk->instances, sizeof *making->first_pair);
    for (uint32_t i = 0; i < walk->instances && making->first_pair != NULL; i++)
        making->first_pair[i] = PPI_WALK_NO_COST;
    making->forward = ppi_arena_take_zeroed(own, cells, sizeof *making->forward);
    making->backward = ppi_arena_take_zeroed(own, cells, sizeof *making->backward);
    making->next = ppi_arena_take_zeroed(own, shape->devices, sizeof *making->next);
    making->ready = ppi_arena_take_zeroed(own, shape->devices, sizeof *making->ready);
    ppsched_status status = ppi_arena_check(arena, "the schedule's nodes", error);
    return status == PPSCHED_OK ? ppi_arena_check(own, "the schedule's nodes", error) : status;
}

/* Adds holds for senders that wait, all empty. */
static ppsched_status add_holds(struct walking *making, struct ppi_arena *arena, ppsched_error *error)
{
    struct ppi_walk *walk = making->walk;
    size_t nodes = most_nodes(walk);
    walk->holds = ppi_arena_take(arena, nodes, sizeof *walk->holds);
    ppsched_status status = ppi_arena_check(arena, "the schedule's nodes", error);
    for (size_t i = 0; i < nodes && status == PPSCHED_OK; i++)
        walk->holds[i] = (struct ppi_walk_hold){PPI_WALK_NO_COST, PPI_WALK_NOTHING, 0};
    if (status == PPSCHED_OK)
        status = ppi_senders_make(&making->senders, walk->schedule, error);
    if (status == PPSCHED_OK)
        ppi_senders_fill(making->senders, walk->schedule, NULL);
    return status;
}

ppsched_status ppi_walk_make(struct ppi_walk *out, struct ppi_arena *arena, const ppsched_schedule *schedule,
                             const struct ppi_walk_options *options, ppsched_error *error)
{
    struct ppi_arena own = {.host = arena->host};
    struct walking making = {.walk = out};
    *out = (struct ppi_walk){
        .schedule = schedule, .by_span = options->by_span, .has_pair_times = options->has_pair_times, .count = PPI_WALK_FIRST};
    making.microbatches = schedule->flushes ? schedule->shape.microbatches : ppi_total_microbatches(&schedule->shape);
    making.micro_slices = making.microbatches * schedule->shape.slices;
    ppsched_status status = reserve_walk(&making, arena, &own, error);
    if (status == PPSCHED_OK && options->senders_wait)
        status = add_holds(&making, arena, error);
    if (status == PPSCHED_OK) {
        out->end[PPI_WALK_START] = 0;
        out->end[PPI_WALK_NOTHING] = -PPI_INFINITE;
        for (uint32_t d = 0; d < schedule->shape.devices; d++)
            put_ready(&making, d);
    }
    while (making.ready_count > 0)
        take_turn(&making, take_ready(&making));
    ppi_senders_destroy(making.senders, arena->host);
    ppi_arena_clear(&own);
    return status;
}

/* --- other costs --- */

void ppi_walk_set_times(struct ppi_walk *walk, uint32_t stage, const double *duration)
{
    for (uint32_t instance = stage; instance < walk->instances; instance += walk->schedule->shape.stages)
        for (int kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++)
            walk->costs[instance * PPI_WALK_KINDS + (uint32_t)kind - 1].duration = duration[kind];
}

void ppi_walk_set_times_in(struct ppi_walk *walk, uint32_t copy, uint32_t stage, const double *duration)
{
    const uint32_t instance = copy * walk->schedule->shape.stages + stage;
    for (int kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++)
        walk->costs[instance * PPI_WALK_KINDS + (uint32_t)kind - 1].duration = duration[kind];
}

void ppi_walk_set_delays(struct ppi_walk *walk, uint32_t copy, uint32_t stage, double forward, double backward)
{
    uint32_t instance = copy * walk->schedule->shape.stages + stage;
    struct ppi_walk_cost *costs = &walk->costs[(size_t)instance * PPI_WALK_KINDS];
    costs[PPSCHED_KIND_F - 1].delay = forward;
    costs[PPSCHED_KIND_B - 1].delay = costs[PPSCHED_KIND_I - 1].delay = backward;
    walk->costs[cost_of_first(walk, instance)].delay = forward;
    if (walk->has_pair_times)
        walk->costs[cost_of_start(walk, instance)].delay = backward;
}

void ppi_walk_set_pair(struct ppi_walk *walk, uint32_t pair, double time, double forward_end, double backward_end)
{
    walk->costs[cost_of_pair(walk, pair)].duration = time;
    walk->costs[cost_of_end(walk, pair, false)].duration = forward_end;
    walk->costs[cost_of_end(walk, pair, true)].duration = backward_end;
}

double ppi_walk_sum_of_pair(const struct ppi_walk *walk, const struct ppi_walk_pair *pair)
{
    return walk->costs[pair->forward * PPI_WALK_KINDS + PPSCHED_KIND_F - 1].duration +
           walk->costs[pair->backward * PPI_WALK_KINDS + pair->kind - 1].duration;
}

static void fill_pairs(struct ppi_walk *walk)
{
    for (uint32_t i = 0; i < walk->pair_count; i++) {
        const struct ppi_walk_pair *pair = &walk->pairs[i];
        struct ppi_walk_cost backward = walk->costs[pair->backward * PPI_WALK_KINDS + pair->kind - 1];
        backward.duration = ppi_walk_sum_of_pair(walk, pair);
        walk->costs[cost_of_pair(walk, i)] = backward;
    }
}

/* --- the pass --- */

static inline double start_of(const struct ppi_walk *walk, const struct ppi_walk_node *node)
{
    double start = walk->end[node->before], there = walk->end[node->input] + walk->costs[node->cost].delay;
    return there > start ? there : start;
}

/* When the node's turn comes. */
static inline double turn_of(const struct ppi_walk *walk, uint32_t i)
{
    double turn = walk->end[walk->nodes[i].before];
    if (walk->holds != NULL && walk->holds[i].turn != PPI_WALK_NO_COST)
        turn += walk->costs[walk->holds[i].turn].delay;
    return turn;
}

/* When the input of its own I counts as sent. */
static inline double held_until(const struct ppi_walk *walk, uint32_t i)
{
    const struct ppi_walk_hold *hold = &walk->holds[i];
    return hold->input != PPI_WALK_NOTHING ? walk->end[hold->input] + walk->costs[hold->cost].delay : -PPI_INFINITE;
}

static double span_of(const struct ppi_walk *walk, uint32_t device)
{
    uint32_t first = walk->first[device];
    return first != PPI_WALK_START ? walk->end[walk->last[device]] - start_of(walk, &walk->nodes[first]) : 0;
}

/* The ends of all nodes where senders wait. */
static void find_ends_with_senders(struct ppi_walk *walk)
{
    const struct ppi_walk_node *nodes = walk->nodes;
    for (uint32_t i = PPI_WALK_FIRST; i < walk->count; i++) {
        const struct ppi_walk_cost cost = walk->costs[nodes[i].cost];
        double start = ppi_larger(turn_of(walk, i), held_until(walk, i)), there = walk->end[nodes[i].input] + cost.delay;
        walk->end[i] = ppi_larger(start, there) + cost.duration;
    }
}

static void find_ends(struct ppi_walk *walk)
{
    const struct ppi_walk_node *nodes = walk->nodes;
    double *end = walk->end;
    for (uint32_t i = PPI_WALK_FIRST; i < walk->count; i++) {
        const struct ppi_walk_cost cost = walk->costs[nodes[i].cost];
        double start = end[nodes[i].before], there = end[nodes[i].input] + cost.delay;
        end[i] = (there > start ? there : start) + cost.duration;
    }
}

double ppi_walk_price(struct ppi_walk *walk)
{
    double *end = walk->end, time = 0;
    if (!walk->has_pair_times)
        fill_pairs(walk);
    if (walk->holds == NULL)
        find_ends(walk);
    else
        find_ends_with_senders(walk);
    for (uint32_t d = 0; d < walk->schedule->shape.devices; d++)
        time = ppi_larger(time, walk->by_span ? span_of(walk, d) : end[walk->last[d]]);
    return time;
}

/* --- a critical path --- */

/* Adds a pair, or with given times its part that is on the path, as a share of the sum of both ops. */
static void add_pair(const struct ppi_walk *walk, uint32_t rows, uint32_t number, double time, double *weight)
{
    const struct ppi_walk_pair *pair = &walk->pairs[number];
    const double sum = ppi_walk_sum_of_pair(walk, pair), share = walk->has_pair_times && sum > 0 ? time / sum : 1;
    weight[(size_t)(pair->forward % rows) * PPI_WALK_KINDS + PPSCHED_KIND_F - 1] += share;
    weight[(size_t)(pair->backward % rows) * PPI_WALK_KINDS + pair->kind - 1] += share;
}

static void add_weight(const struct ppi_walk *walk, uint32_t rows, const struct ppi_walk_node *node, double *weight)
{
    const uint32_t cost = node->cost;
    const double time = walk->costs[cost].duration;
    if (cost < walk->instances * PPI_WALK_KINDS)
        weight[(size_t)(cost / PPI_WALK_KINDS % rows) * PPI_WALK_KINDS + cost % PPI_WALK_KINDS]++;
    else if (cost >= cost_of_pair(walk, 0) && cost < cost_of_pair(walk, walk->most_pairs))
        add_pair(walk, rows, cost - cost_of_pair(walk, 0), time, weight);
    else if (walk->has_pair_times && cost >= cost_of_end(walk, 0, false))
        add_pair(walk, rows, (cost - cost_of_end(walk, 0, false)) / 2, time, weight);
}

/* Follows the path back from the end of the longest device; by span up to the start of that device's first op. */
void ppi_walk_weigh(const struct ppi_walk *walk, uint32_t rows, double *weight)
{
    uint32_t device = 0;
    double most = -1;
    for (uint32_t d = 0; d < walk->schedule->shape.devices; d++) {
        double time = walk->by_span ? span_of(walk, d) : walk->end[walk->last[d]];
        device = time > most ? d : device;
        most = ppi_larger(most, time);
    }
    for (uint32_t i = walk->last[device]; i >= PPI_WALK_FIRST;) {
        const struct ppi_walk_node *node = &walk->nodes[i];
        double there = walk->end[node->input] + walk->costs[node->cost].delay;
        add_weight(walk, rows, node, weight);
        if (walk->by_span && i == walk->first[device])
            break;
        double turn = turn_of(walk, i), held = walk->holds != NULL ? held_until(walk, i) : -PPI_INFINITE;
        i = held > turn ? walk->holds[i].input : there > turn ? node->input : node->before;
    }
}
