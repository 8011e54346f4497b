/* SPDX-License-Identifier: Apache-2.0 */
/* The one place that says who feeds an op: which stages feed which, which of them have backwards, and which microbatches and
 * devices they run. NULL stands for a chain: stage s feeds stage s + 1, every stage has a backward and runs all microbatches on
 * one device.
 *
 * A link goes from a stage to one that it feeds. Links are numbered stage by stage in the order of inputs. A seat is a stage on
 * one of its devices; without sets of devices there is one seat for each stage, with the stage's number. */
#ifndef PPSCHED_IR_STAGE_GRAPH_H
#define PPSCHED_IR_STAGE_GRAPH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ppsched/stage_graph.h>

#include "base/host.h"
#include "ir/op.h"
#include "ir/shape.h"

struct ppi_stage_graph {
    struct ppi_stage_graph *self; /* mutable, to count references; all else is constant once it is shared */
    struct ppi_host host;
    atomic_uint references;
    uint32_t stages, microbatches;  /* microbatches: of one iteration */
    bool is_chain;                  /* stage s feeds stage s + 1, and no other */
    bool has_sets;                  /* some stage runs on several devices */
    uint32_t *input_first, *inputs; /* inputs of stage s: inputs[input_first[s]] up to inputs[input_first[s + 1]] */
    uint32_t *consumer_first;       /* the same for the stages that it feeds: */
    uint32_t *consumers, *links;    /* with the number of the link */
    uint32_t *seat_first, *seats;   /* devices of each stage; NULL without sets */
    uint32_t *seat_stage;           /* stage of each seat; NULL without sets */
    uint32_t *pair_first;           /* by link, and the end: number of its first pair of seats; NULL without sets */
    uint8_t *passes;                /* by stage: enum ppsched_stage_passes */
    uint8_t *runs;                  /* by stage and microbatch: 1 if it runs; NULL: all */
};

/* What a graph is made of; lists that are NULL are as in a chain. */
struct ppi_graph_parts {
    const uint32_t *input_counts, *inputs, *device_counts, *devices;
    const uint8_t *passes, *runs;
};

/* The parts of a graph, whose counts are written to `counts` (two for each stage). */
struct ppi_graph_parts ppi_stage_graph_parts_of(const struct ppi_stage_graph *graph, uint32_t *counts);

/* `*out` is NULL if the parts are those of a chain. The sizes and values of the parts have been checked. */
ppsched_status ppi_stage_graph_make(struct ppi_stage_graph **out, const struct ppi_host *host, const struct ppi_shape *shape,
                                    const struct ppi_graph_parts *parts, ppsched_error *error);
const struct ppi_stage_graph *ppi_stage_graph_retain(const struct ppi_stage_graph *graph);
void ppi_stage_graph_release(const struct ppi_stage_graph *graph);
bool ppi_graphs_are_equal(const struct ppi_stage_graph *a, const struct ppi_stage_graph *b);

/* REFUSED, in one line: "<what> ... a chain of stages with one device each". OK without a graph. */
ppsched_status ppi_refuse_graph(const struct ppi_stage_graph *graph, const char *what, ppsched_error *error);

/* As the exported functions; the lists are not NULL where they have values. */
ppsched_status ppi_config_set_stage_inputs(ppsched_config *config, const uint32_t *counts, const uint32_t *inputs,
                                           size_t stages, ppsched_error *error);
ppsched_status ppi_config_set_stage_passes(ppsched_config *config, const int32_t *passes, size_t count, ppsched_error *error);
ppsched_status ppi_config_set_stage_microbatches(ppsched_config *config, uint32_t stage, const uint32_t *microbatches,
                                                 size_t count, ppsched_error *error);
ppsched_status ppi_config_set_stage_devices(ppsched_config *config, const uint32_t *counts, const uint32_t *devices,
                                            size_t stages, ppsched_error *error);

/* --- who feeds an op --- */

static inline bool ppi_stage_has_backward(const struct ppi_stage_graph *graph, uint32_t stage)
{
    return graph == NULL || graph->passes[stage] != PPSCHED_STAGE_PASSES_FORWARD;
}

/* Whether its backward is an I without a W. */
static inline bool ppi_stage_is_frozen(const struct ppi_stage_graph *graph, uint32_t stage)
{
    return graph != NULL && graph->passes[stage] == PPSCHED_STAGE_PASSES_FORWARD_INPUT;
}

static inline bool ppi_stage_runs(const struct ppi_stage_graph *graph, uint32_t stage, uint32_t microbatch)
{
    return graph == NULL || graph->runs == NULL ||
           graph->runs[(size_t)stage * graph->microbatches + microbatch % graph->microbatches] != 0;
}

/* Stages that may feed an F, B or I: for an F the inputs of its stage, for a backward the stages that its own feeds. */
struct ppi_feeds {
    const uint32_t *stages, *links; /* links: NULL for an F, whose links are `first_link` and on */
    uint32_t count, first_link;
};

static inline struct ppi_feeds ppi_feeds_of(const struct ppi_stage_graph *graph, uint8_t kind, uint32_t stage)
{
    const uint32_t *first = kind == PPSCHED_KIND_F ? graph->input_first : graph->consumer_first;
    if (kind == PPSCHED_KIND_F)
        return (struct ppi_feeds){graph->inputs + first[stage], NULL, first[stage + 1] - first[stage], first[stage]};
    if (!ppi_is_backward(kind))
        return (struct ppi_feeds){NULL, NULL, 0, 0};
    return (struct ppi_feeds){graph->consumers + first[stage], graph->links + first[stage], first[stage + 1] - first[stage], 0};
}

/* Whether the i-th of them does feed an op of a microbatch: it runs the microbatch and, for a backward, has one itself. */
static inline bool ppi_feed_runs(const struct ppi_stage_graph *graph, const struct ppi_feeds *feeds, uint32_t i,
                                 uint32_t microbatch)
{
    const uint32_t stage = feeds->stages[i];
    return ppi_stage_runs(graph, stage, microbatch) && (feeds->links == NULL || ppi_stage_has_backward(graph, stage));
}

static inline uint32_t ppi_feed_link(const struct ppi_feeds *feeds, uint32_t i)
{
    return feeds->links == NULL ? feeds->first_link + i : feeds->links[i];
}

/* Stages that an op may feed in turn: those whose feeds have this one. */
static inline struct ppi_feeds ppi_fed_by(const struct ppi_stage_graph *graph, uint8_t kind, uint32_t stage)
{
    return ppi_feeds_of(graph, kind == PPSCHED_KIND_F ? PPSCHED_KIND_B : kind == PPSCHED_KIND_W ? kind : PPSCHED_KIND_F, stage);
}

/* Whether the i-th of them needs what the op makes. */
static inline bool ppi_fed_runs(const struct ppi_stage_graph *graph, const struct ppi_feeds *fed, uint32_t i,
                                uint32_t microbatch)
{
    const uint32_t stage = fed->stages[i];
    return ppi_stage_runs(graph, stage, microbatch) && (fed->links != NULL || ppi_stage_has_backward(graph, stage));
}

static inline uint32_t ppi_graph_link_count(const struct ppi_stage_graph *graph)
{
    return graph->input_first[graph->stages];
}

/* --- seats --- */

static inline uint32_t ppi_seat_of(const struct ppi_stage_graph *graph, uint32_t stage)
{
    return graph != NULL && graph->has_sets ? graph->seat_first[stage] : stage;
}

/* The devices of a stage, in ascending order; the first is its home. */
static inline const uint32_t *ppi_devices_of(const struct ppi_placement *placement, uint32_t stage, uint32_t *count)
{
    const struct ppi_stage_graph *graph = placement->graph;
    if (graph == NULL || !graph->has_sets) {
        *count = 1;
        return &placement->device_of[stage];
    }
    *count = graph->seat_first[stage + 1] - graph->seat_first[stage];
    return graph->seats + graph->seat_first[stage];
}

/* The seat of a stage on a device; PPSCHED_NONE if it does not run there. */
uint32_t ppi_seat_on(const struct ppi_placement *placement, uint32_t stage, uint32_t device);

static inline uint32_t ppi_seat_count(const struct ppi_stage_graph *graph)
{
    return ppi_seat_of(graph, graph->stages);
}

static inline uint32_t ppi_stage_of_seat(const struct ppi_stage_graph *graph, uint32_t seat)
{
    return graph->has_sets ? graph->seat_stage[seat] : seat;
}

static inline uint32_t ppi_device_of_seat(const struct ppi_placement *placement, uint32_t seat)
{
    return placement->graph->has_sets ? placement->graph->seats[seat] : placement->device_of[seat];
}

/* The link from a stage to one that it feeds; PPSCHED_NONE if it does not. */
uint32_t ppi_link_between(const struct ppi_stage_graph *graph, uint32_t from, uint32_t to);

/* --- pairs of seats: a link, from each seat of its first stage to each of its second --- */

static inline uint32_t ppi_seat_pair_count(const struct ppi_stage_graph *graph)
{
    uint32_t links = ppi_graph_link_count(graph);
    return graph->has_sets ? graph->pair_first[links] : links;
}

/* The pair of a link from a seat to another, in the direction of the link. */
static inline uint32_t ppi_seat_pair_of(const struct ppi_stage_graph *graph, uint32_t link, uint32_t from, uint32_t to)
{
    if (!graph->has_sets)
        return link;
    uint32_t stage = graph->seat_stage[to], seats = graph->seat_first[stage + 1] - graph->seat_first[stage];
    return graph->pair_first[link] + (from - graph->seat_first[graph->seat_stage[from]]) * seats + to -
           graph->seat_first[stage];
}

/* The word of PPSCHED_STAGE_PASSES_* in JSON; NULL for another number. */
const char *ppi_stage_passes_name(int32_t passes);

#endif
