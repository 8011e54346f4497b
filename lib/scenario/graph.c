/* SPDX-License-Identifier: Apache-2.0 */
/* A depth-first search over the wait graph, with its own stack, numbers each node after all that it waits for. */
#include "scenario/scenario.h"

#include "base/error.h"
#include "base/inline.h"
#include "scenario/draw.h"

/* A node on the path of the depth-first search, and how many of its waits are visited. */
struct step {
    size_t node;
    size_t seen;
};

struct graph_making {
    struct ppi_scenario_graph *graph;
    const struct ppi_waits *waits;
    const struct ppi_costs *costs;
    const ppsched_scenario_options *options;
    uint32_t *number; /* by node of the waits; 0: not numbered yet */
    struct step *path;
};

static uint32_t number_of(const struct graph_making *making, size_t node)
{
    return node == PPI_NO_NODE ? PPI_BEGINNING : making->number[node];
}

static void add_flush(struct graph_making *making, size_t node)
{
    struct ppi_scenario_graph *graph = making->graph;
    size_t first = (node - (size_t)making->waits->timeline->schedule->op_count) * graph->workers;
    graph->nodes[graph->count] = (struct ppi_scenario_node){.turn = (uint32_t)first, .device = PPSCHED_NONE};
    for (uint32_t i = 0; i < graph->workers; i++)
        graph->before[first + i] = number_of(making, making->waits->before_flush[first + i]);
    if (graph->more != NULL)
        graph->more_end[graph->count] = graph->more_end[graph->count - 1];
}

/* The product of factors that are the same in each scenario. */
static double fixed_factor(const struct graph_making *making, const struct ppi_scenario_node *node)
{
    const ppsched_scenario_options *options = making->options;
    const ppsched_schedule *schedule = making->waits->timeline->schedule;
    double factor = 1;
    if (options->device_factor_count == schedule->shape.devices)
        factor *= ppi_largest_factor(&schedule->placement, node, options->device_factors);
    if (options->stage_factor_count == making->costs->stages)
        factor *= options->stage_factors[node->stage];
    return factor;
}

/* Sets a node's i-th input: the op that reads it, and the node that sends it. */
static void add_input(const struct graph_making *making, struct ppi_scenario_node *node, const ppsched_op *op, size_t i,
                      size_t from)
{
    const ppsched_schedule *schedule = making->waits->timeline->schedule;
    const struct ppi_instance *instance = ppi_instance_of(making->costs, schedule, op);
    bool forward = op->kind == PPSCHED_KIND_F;
    if (from == PPI_NO_NODE)
        return;
    node->input[i] = number_of(making, from);
    node->delay[i] = ppi_delay_of(making->costs, schedule, op, !forward);
    node->message_stream[i] = ppi_stream_of(making->options->seed, op->kind + 16u, op->stage,
                                            ppi_micro_slice_of(&schedule->shape, op));
    if (making->options->link_factors != NULL) {
        uint32_t sender = forward ? instance[-1].device : instance[1].device;
        node->delay[i] *= making->options->link_factors[(size_t)sender * schedule->shape.devices + instance->device];
    }
}

/* Adds what a unit in a stage graph waits for after its turn: inputs, then turns on other devices. */
PPI_APART void add_waits(const struct graph_making *making, size_t unit)
{
    struct ppi_scenario_graph *graph = making->graph;
    const ppsched_schedule *schedule = making->waits->timeline->schedule;
    const ppsched_op *op = &schedule->ops[unit];
    const struct ppi_feeds feeds = ppi_feeds_of(schedule->placement.graph, op->kind, op->stage);
    const size_t waits = ppi_wait_count(making->waits, unit);
    size_t *end = &graph->more_end[graph->count];
    *end = graph->more_end[graph->count - 1];
    for (size_t i = 1; i < waits; i++) {
        struct ppi_scenario_wait *wait = &graph->more[*end];
        *wait = (struct ppi_scenario_wait){.node = number_of(making, ppi_wait_at(making->waits, unit, i).node),
                                           .is_message = i <= feeds.count};
        if (wait->node == PPI_BEGINNING)
            continue;
        if (wait->is_message) {
            const uint32_t feed = (uint32_t)i - 1, from = making->costs->instances[feeds.stages[feed]].device;
            const bool backward = op->kind != PPSCHED_KIND_F;
            wait->delay = ppi_link_delay_of(making->costs, schedule, op, ppi_feed_link(&feeds, feed), backward);
            wait->stream = ppi_stream_of(making->options->seed, op->kind + 16u + 32u * feed, op->stage,
                                         ppi_micro_slice_of(&schedule->shape, op));
            if (making->options->link_factors != NULL)
                wait->delay *= making->options->link_factors[(size_t)from * schedule->shape.devices +
                                                             ppi_instance_of(making->costs, schedule, op)->device];
        }
        ++*end;
    }
}

/* Adds what an op outside pairs waits for after sends: a W has no input, other ops have one. */
static void add_sent(const struct graph_making *making, struct ppi_scenario_node *node, size_t unit)
{
    const ppsched_timeline *timeline = making->waits->timeline;
    const struct ppi_sender *sender = &timeline->senders->ops[unit];
    if (sender->input != PPI_NO_OP)
        add_input(making, node, &timeline->schedule->ops[sender->input], 0, sender->input);
    if (sender->previous != PPI_NO_OP)
        add_input(making, node, &timeline->schedule->ops[sender->receiver], 1, sender->previous);
}

/* The ends of a unit's ops at its time, with the factors that are the same in each scenario. */
static void add_ends(const struct graph_making *making, const ppsched_op *unit, const struct ppi_scenario_node *node)
{
    struct ppi_ends_in_pair *ends = &making->graph->ends[making->graph->count];
    *ends = (struct ppi_ends_in_pair){{node->duration, node->duration}, node->duration};
    for (int i = 0; i < 2 && ppi_unit_length(unit) == 2; i++)
        ends->of[i] = ppi_end_in_pair(making->costs, unit, i == 1, node->duration);
}

static void add_unit(struct graph_making *making, size_t unit)
{
    const ppsched_op *op = &making->waits->timeline->schedule->ops[unit];
    struct ppi_scenario_node *node = &making->graph->nodes[making->graph->count];
    *node = (struct ppi_scenario_node){
        .device = ppi_device_of_unit(making->waits, unit), .stage = op->stage, .op = (uint32_t)unit};
    node->turn = number_of(making, ppi_wait_at(making->waits, unit, 0).node);
    node->duration = ppi_unit_duration(making->costs, making->waits->timeline->schedule, op) * fixed_factor(making, node);
    node->stream = ppi_stream_of(making->options->seed, op->kind, op->stage,
                                 ppi_micro_slice_of(&making->waits->timeline->schedule->shape, op));
    if (making->graph->more != NULL) {
        add_waits(making, unit);
        return;
    }
    for (size_t i = 0; i < ppi_unit_length(op); i++)
        add_input(making, node, &op[i], i, ppi_wait_at(making->waits, unit, i + 1).node);
    if (ppi_senders_of(making->waits->timeline) != NULL)
        add_sent(making, node, unit);
    if (making->graph->ends != NULL)
        add_ends(making, op, node);
}

/* Numbers a node after all that it waits for; there are no wait cycles, as the schedule has been timed. */
static void add_behind(struct graph_making *making, size_t node)
{
    struct step *top = making->path;
    if (number_of(making, node) != 0)
        return;
    *top = (struct step){node, 0};
    for (;;) {
        if (top->seen < ppi_wait_count(making->waits, top->node)) {
            size_t next = ppi_wait_at(making->waits, top->node, top->seen++).node;
            if (next != PPI_NO_NODE && making->number[next] == 0)
                *++top = (struct step){next, 0};
            continue;
        }
        if (ppi_is_flush(making->waits, top->node))
            add_flush(making, top->node);
        else
            add_unit(making, top->node);
        making->number[top->node] = making->graph->count++;
        if (top-- == making->path)
            return;
    }
}

static void add_all(struct graph_making *making)
{
    struct ppi_scenario_graph *graph = making->graph;
    graph->nodes[0] = (struct ppi_scenario_node){0};
    graph->count = 1;
    for (uint32_t w = 0; w < graph->workers; w++) {
        add_behind(making, making->waits->workers[w].last);
        graph->last[w] = number_of(making, making->waits->workers[w].last);
    }
}

/* Takes memory for what units in a stage graph wait for; true if there is none to take. */
static bool take_more(struct ppi_scenario_graph *graph, const struct ppi_waits *waits, size_t nodes)
{
    const ppsched_schedule *schedule = waits->timeline->schedule;
    size_t count = 0;
    if (schedule->placement.graph == NULL)
        return true;
    for (size_t i = 0; i < schedule->op_count; i++)
        count += ppi_wait_count(waits, i) - 1;
    graph->more = ppi_allocate(&graph->host, count + 1, sizeof *graph->more);
    graph->more_end = ppi_allocate_zeroed(&graph->host, nodes + 1, sizeof *graph->more_end);
    return graph->more != NULL && graph->more_end != NULL;
}

static ppsched_status make_of(struct ppi_scenario_graph *graph, struct graph_making *making, ppsched_error *error)
{
    const struct ppi_host *host = &graph->host;
    const ppsched_timeline *timeline = making->waits->timeline;
    size_t nodes = (size_t)timeline->schedule->op_count + timeline->flush_count;
    if (nodes >= UINT32_MAX || timeline->flush_count * making->waits->worker_count >= UINT32_MAX)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the schedule has too many ops for scenarios");
    graph->workers = (uint32_t)making->waits->worker_count;
    graph->nodes = ppi_allocate(host, nodes + 1, sizeof *graph->nodes);
    graph->before = ppi_allocate(host, timeline->flush_count * graph->workers, sizeof *graph->before);
    graph->last = ppi_allocate(host, graph->workers, sizeof *graph->last);
    if (making->costs->pair_ends != NULL)
        graph->ends = ppi_allocate_zeroed(host, nodes + 1, sizeof *graph->ends);
    making->number = ppi_allocate_zeroed(host, nodes, sizeof *making->number);
    making->path = ppi_allocate(host, nodes + 1, sizeof *making->path);
    bool has_all = graph->nodes != NULL && graph->before != NULL && graph->last != NULL && making->number != NULL &&
                   making->path != NULL && (graph->ends != NULL || making->costs->pair_ends == NULL) &&
                   take_more(graph, making->waits, nodes);
    if (has_all)
        add_all(making);
    ppi_release(host, making->number);
    ppi_release(host, making->path);
    return has_all ? PPSCHED_OK : ppi_fail_memory(error, "the scenarios");
}

ppsched_status ppi_scenario_graph_make(struct ppi_scenario_graph *out, const ppsched_timeline *timeline,
                                       const struct ppi_costs *costs, const ppsched_scenario_options *options,
                                       ppsched_error *error)
{
    struct ppi_waits waits;
    struct ppi_scenario_graph graph = {.host = timeline->host};
    struct graph_making making = {.graph = &graph, .waits = &waits, .costs = costs, .options = options};
    ppsched_status status = ppi_waits_make(&waits, timeline, error);
    if (status != PPSCHED_OK)
        return status;
    status = make_of(&graph, &making, error);
    ppi_waits_clear(&waits);
    if (status != PPSCHED_OK)
        ppi_scenario_graph_clear(&graph);
    else
        *out = graph;
    return status;
}

void ppi_scenario_graph_clear(struct ppi_scenario_graph *graph)
{
    ppi_release(&graph->host, graph->nodes);
    ppi_release(&graph->host, graph->before);
    ppi_release(&graph->host, graph->last);
    ppi_release(&graph->host, graph->ends);
    ppi_release(&graph->host, graph->more);
    ppi_release(&graph->host, graph->more_end);
}
