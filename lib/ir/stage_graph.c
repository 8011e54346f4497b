/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a graph from its parts in one block, with the links in both directions; counts its references. */
#include "ir/stage_graph.h"

#include <string.h>

#include "base/error.h"

/* Parts with the defaults filled in: sizes of the lists. */
struct sizes {
    uint32_t links, seats;
    uint64_t pairs;
};

static uint32_t inputs_of(const struct ppi_graph_parts *parts, uint32_t stage)
{
    return parts->input_counts != NULL ? parts->input_counts[stage] : stage > 0;
}

static uint32_t seats_of(const struct ppi_graph_parts *parts, uint32_t stage)
{
    return parts->device_counts != NULL ? parts->device_counts[stage] : 1;
}

static struct sizes sizes_of(const struct ppi_shape *shape, const struct ppi_graph_parts *parts)
{
    struct sizes sizes = {0, 0, 0};
    for (uint32_t s = 0; s < shape->stages; s++) {
        for (uint32_t i = 0; i < inputs_of(parts, s); i++, sizes.links++)
            sizes.pairs += (uint64_t)seats_of(parts, s) *
                           seats_of(parts, parts->input_counts != NULL ? parts->inputs[sizes.links] : s - 1);
        sizes.seats += parts->device_counts != NULL ? parts->device_counts[s] : 0;
    }
    return sizes;
}

static bool feeds_as_chain(const struct ppi_shape *shape, const struct ppi_graph_parts *parts)
{
    const uint32_t *input = parts->inputs;
    for (uint32_t s = 0; s < shape->stages && parts->input_counts != NULL; s++) {
        if (parts->input_counts[s] != (s > 0) || (s > 0 && *input != s - 1))
            return false;
        input += parts->input_counts[s];
    }
    return true;
}

static bool has_sets(const struct ppi_shape *shape, const struct ppi_graph_parts *parts)
{
    for (uint32_t s = 0; s < shape->stages && parts->device_counts != NULL; s++)
        if (parts->device_counts[s] > 1)
            return true;
    return false;
}

static bool has_all(const struct ppi_shape *shape, const struct ppi_graph_parts *parts)
{
    for (uint32_t s = 0; s < shape->stages && parts->passes != NULL; s++)
        if (parts->passes[s] != PPSCHED_STAGE_PASSES_FORWARD_BACKWARD)
            return false;
    return parts->runs == NULL || memchr(parts->runs, 0, (size_t)shape->stages * shape->microbatches) == NULL;
}

static void fill_links(struct ppi_stage_graph *graph, const struct ppi_graph_parts *parts)
{
    uint32_t stages = graph->stages, link = 0;
    for (uint32_t s = 0; s < stages; s++) {
        graph->input_first[s] = link;
        for (uint32_t i = 0; i < inputs_of(parts, s); i++, link++) {
            graph->inputs[link] = parts->input_counts != NULL ? parts->inputs[link] : s - 1;
            graph->consumer_first[graph->inputs[link] + 1]++;
        }
    }
    graph->input_first[stages] = link;
    for (uint32_t s = 0; s < stages; s++)
        graph->consumer_first[s + 1] += graph->consumer_first[s];
    for (uint32_t s = 0; s < stages; s++) /* consumers in ascending order, as links are */
        for (uint32_t i = graph->input_first[s]; i < graph->input_first[s + 1]; i++) {
            uint32_t place = graph->consumer_first[graph->inputs[i]]++;
            graph->consumers[place] = s;
            graph->links[place] = i;
        }
    memmove(graph->consumer_first + 1, graph->consumer_first, stages * sizeof *graph->consumer_first);
    graph->consumer_first[0] = 0;
}

static void fill_seats(struct ppi_stage_graph *graph, const struct ppi_graph_parts *parts)
{
    uint32_t seat = 0;
    for (uint32_t s = 0; s < graph->stages; s++) {
        graph->seat_first[s] = seat;
        for (uint32_t i = 0; i < parts->device_counts[s]; i++)
            graph->seat_stage[seat++] = s;
    }
    graph->seat_first[graph->stages] = seat;
    memcpy(graph->seats, parts->devices, seat * sizeof *graph->seats);
    for (uint32_t s = 0, link = 0; s < graph->stages; s++)
        for (; link < graph->input_first[s + 1]; link++)
            graph->pair_first[link + 1] = graph->pair_first[link] + seats_of(parts, s) * seats_of(parts, graph->inputs[link]);
}

/* All lists, of 4 bytes each value and then of 1, behind the struct. */
static void take_lists(struct ppi_stage_graph *graph, struct sizes sizes, bool has_runs)
{
    uint32_t *list = (uint32_t *)(void *)(graph + 1);
    graph->input_first = list, list += graph->stages + 1u;
    graph->consumer_first = list, list += graph->stages + 1u;
    graph->inputs = list, list += sizes.links;
    graph->consumers = list, list += sizes.links;
    graph->links = list, list += sizes.links;
    if (graph->has_sets) {
        graph->seat_first = list, list += graph->stages + 1u;
        graph->seats = list, list += sizes.seats;
        graph->seat_stage = list, list += sizes.seats;
        graph->pair_first = list, list += sizes.links + 1u;
    }
    graph->passes = (uint8_t *)(void *)list;
    graph->runs = has_runs ? graph->passes + graph->stages : NULL;
}

ppsched_status ppi_stage_graph_make(struct ppi_stage_graph **out, const struct ppi_host *host, const struct ppi_shape *shape,
                                    const struct ppi_graph_parts *parts, ppsched_error *error)
{
    const bool is_chain = feeds_as_chain(shape, parts), sets = has_sets(shape, parts);
    const struct sizes sizes = sizes_of(shape, parts);
    const size_t cells = (size_t)shape->stages * shape->microbatches;
    *out = NULL;
    if (is_chain && !sets && has_all(shape, parts))
        return PPSCHED_OK;
    if (sizes.pairs > PPSCHED_MAX_CELLS)
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "stage_devices: %llu pairs of devices of stages that feed each other; at most %d",
                        (unsigned long long)sizes.pairs, PPSCHED_MAX_CELLS);
    size_t values = (size_t)3 * (shape->stages + 1u) + (size_t)4 * sizes.links + (size_t)2 * sizes.seats + 1;
    struct ppi_stage_graph *graph = ppi_allocate_zeroed(
        host, sizeof *graph + values * sizeof *graph->inputs + shape->stages + (parts->runs != NULL ? cells : 0), 1);
    if (graph == NULL)
        return ppi_fail_memory(error, "the stage graph");
    graph->self = graph;
    graph->host = *host;
    atomic_init(&graph->references, 1);
    graph->stages = shape->stages;
    graph->microbatches = shape->microbatches;
    graph->is_chain = is_chain;
    graph->has_sets = sets;
    take_lists(graph, sizes, parts->runs != NULL);
    fill_links(graph, parts);
    if (sets)
        fill_seats(graph, parts);
    for (uint32_t s = 0; s < shape->stages; s++)
        graph->passes[s] = parts->passes != NULL ? parts->passes[s] : PPSCHED_STAGE_PASSES_FORWARD_BACKWARD;
    if (parts->runs != NULL)
        memcpy(graph->runs, parts->runs, cells);
    *out = graph;
    return PPSCHED_OK;
}

struct ppi_graph_parts ppi_stage_graph_parts_of(const struct ppi_stage_graph *graph, uint32_t *counts)
{
    if (graph == NULL)
        return (struct ppi_graph_parts){0};
    for (uint32_t s = 0; s < graph->stages; s++) {
        counts[s] = graph->input_first[s + 1] - graph->input_first[s];
        counts[graph->stages + s] = graph->has_sets ? graph->seat_first[s + 1] - graph->seat_first[s] : 1;
    }
    return (struct ppi_graph_parts){.input_counts = counts,
                                    .inputs = graph->inputs,
                                    .device_counts = graph->has_sets ? counts + graph->stages : NULL,
                                    .devices = graph->seats,
                                    .passes = graph->passes,
                                    .runs = graph->runs};
}

const struct ppi_stage_graph *ppi_stage_graph_retain(const struct ppi_stage_graph *graph)
{
    if (graph != NULL)
        atomic_fetch_add_explicit(&graph->self->references, 1, memory_order_relaxed);
    return graph;
}

void ppi_stage_graph_release(const struct ppi_stage_graph *graph)
{
    if (graph == NULL || atomic_fetch_sub_explicit(&graph->self->references, 1, memory_order_acq_rel) != 1)
        return;
    struct ppi_host host = graph->host;
    ppi_release(&host, graph->self);
}

static bool same_list(const uint32_t *a, const uint32_t *b, size_t count)
{
    return memcmp(a, b, count * sizeof *a) == 0;
}

static bool same_seats(const struct ppi_stage_graph *a, const struct ppi_stage_graph *b)
{
    return a->has_sets == b->has_sets && (!a->has_sets || (same_list(a->seat_first, b->seat_first, a->stages + 1u) &&
                                                           same_list(a->seats, b->seats, a->seat_first[a->stages])));
}

/* Whether they run the same microbatches; one of them may not say. */
static bool same_runs(const struct ppi_stage_graph *a, const struct ppi_stage_graph *b)
{
    if (a->runs == NULL && b->runs == NULL)
        return true;
    for (uint32_t s = 0; s < a->stages; s++)
        for (uint32_t m = 0; m < a->microbatches; m++)
            if (ppi_stage_runs(a, s, m) != ppi_stage_runs(b, s, m))
                return false;
    return true;
}

bool ppi_graphs_are_equal(const struct ppi_stage_graph *a, const struct ppi_stage_graph *b)
{
    if (a == b)
        return true;
    return a != NULL && b != NULL && a->stages == b->stages && a->microbatches == b->microbatches &&
           same_list(a->input_first, b->input_first, a->stages + 1u) &&
           same_list(a->inputs, b->inputs, ppi_graph_link_count(a)) && memcmp(a->passes, b->passes, a->stages) == 0 &&
           same_seats(a, b) && same_runs(a, b);
}

ppsched_status ppi_refuse_graph(const struct ppi_stage_graph *graph, const char *what, ppsched_error *error)
{
    if (graph == NULL)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s: only for chains, and the problem has %s", what,
                    graph->has_sets    ? "stages on several devices"
                    : !graph->is_chain ? "a graph of stages (stage_inputs)"
                                       : "stages without some passes (stage_passes or stage_microbatches)");
}

uint32_t ppi_seat_on(const struct ppi_placement *placement, uint32_t stage, uint32_t device)
{
    uint32_t count = 0;
    const uint32_t *devices = ppi_devices_of(placement, stage, &count);
    for (uint32_t i = 0; i < count; i++)
        if (devices[i] == device)
            return ppi_seat_of(placement->graph, stage) + i;
    return PPSCHED_NONE;
}

uint32_t ppi_link_between(const struct ppi_stage_graph *graph, uint32_t from, uint32_t to)
{
    uint32_t low = graph->consumer_first[from], high = graph->consumer_first[from + 1], end = high;
    while (low < high) { /* consumers are in ascending order */
        uint32_t middle = low + (high - low) / 2;
        if (graph->consumers[middle] < to)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && graph->consumers[low] == to ? graph->links[low] : PPSCHED_NONE;
}

const char *ppi_stage_passes_name(int32_t passes)
{
    static const char *const names[] = {[PPSCHED_STAGE_PASSES_FORWARD_BACKWARD] = "FB",
                                        [PPSCHED_STAGE_PASSES_FORWARD_INPUT] = "FI",
                                        [PPSCHED_STAGE_PASSES_FORWARD] = "F"};
    return passes >= 0 && passes <= PPSCHED_STAGE_PASSES_FORWARD ? names[passes] : NULL;
}
