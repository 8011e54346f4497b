/* SPDX-License-Identifier: Apache-2.0 */
/* 1F1B on a stage graph. The stages of a device run one after the other, as if they were one stage. A device has as many
 * warm-up forwards as links are on the longest path from it to a device that feeds no other. On a chain this is 1F1B. */
#include "strategy/rules/graph_1f1b.h"

#include "base/arena.h"
#include "base/error.h"
#include "ir/stage_graph.h"

/* The longest paths, in links between devices, from each device to one that feeds no other. False where devices feed each
 * other: paths then have no end. */
static bool find_heights(uint32_t *heights, const struct ppi_placement *placement, uint32_t devices)
{
    const struct ppi_stage_graph *graph = placement->graph;
    bool grows = true;
    while (grows) {
        grows = false;
        for (uint32_t s = graph->stages; s-- > 0;)
            for (uint32_t i = graph->input_first[s]; i < graph->input_first[s + 1]; i++) {
                const uint32_t to = placement->device_of[s], from = placement->device_of[graph->inputs[i]];
                if (from == to || heights[from] > heights[to])
                    continue;
                heights[from] = heights[to] + 1;
                if (heights[from] >= devices)
                    return false;
                grows = true;
            }
    }
    return true;
}

/* --- one device --- */

struct line {
    const struct ppi_stage_graph *graph;
    const uint32_t *stages; /* of the device, in ascending order: a stage's inputs come before it */
    uint32_t count, microbatches;
    struct ppi_op_writer writer;
};

static void put_forwards(struct line *line, uint32_t microbatch)
{
    for (uint32_t i = 0; i < line->count && microbatch < line->microbatches; i++)
        if (ppi_stage_runs(line->graph, line->stages[i], microbatch))
            ppi_put(&line->writer, PPSCHED_KIND_F, line->stages[i], microbatch);
}

static void put_backwards(struct line *line, uint32_t microbatch)
{
    for (uint32_t i = line->count; i-- > 0;) {
        const uint32_t stage = line->stages[i];
        if (ppi_stage_has_backward(line->graph, stage) && ppi_stage_runs(line->graph, stage, microbatch))
            ppi_put(&line->writer, ppi_stage_is_frozen(line->graph, stage) ? PPSCHED_KIND_I : PPSCHED_KIND_B, stage,
                    microbatch);
    }
}

static void put_iteration(struct line *line, uint32_t warmup)
{
    warmup = warmup < line->microbatches ? warmup : line->microbatches;
    for (uint32_t m = 0; m < warmup; m++)
        put_forwards(line, m);
    for (uint32_t m = 0; m < line->microbatches; m++) {
        put_forwards(line, warmup + m);
        put_backwards(line, m);
    }
}

/* Appends the device's ops of all iterations, made in the space of `ops`. */
static ppsched_status append(ppsched_builder *builder, struct line *line, ppsched_op *ops, uint32_t device, uint32_t warmup,
                             ppsched_error *error)
{
    const struct ppi_shape *shape = &builder->shape;
    line->writer = (struct ppi_op_writer){.next = ops, .slices = 1};
    line->writer.end = ops + 2 * (size_t)line->count * ppi_total_microbatches(shape);
    for (uint32_t i = 0; i < shape->iterations; i++) {
        line->writer.first_microbatch = i * shape->microbatches;
        put_iteration(line, warmup);
    }
    return ppi_builder_append(builder, device, ops, (size_t)(line->writer.next - ops), error);
}

/* --- all devices --- */

/* Numbers stages by device: those of device d are stages[first[d]] up to stages[first[d + 1]]. The most on one device. */
static uint32_t list_by_device(uint32_t *first, uint32_t *stages, const struct ppi_placement *placement,
                               const struct ppi_shape *shape)
{
    uint32_t most = 0, next = 0;
    for (uint32_t s = 0; s < shape->stages; s++)
        first[placement->device_of[s]]++;
    for (uint32_t d = 0; d < shape->devices; d++) {
        const uint32_t count = first[d];
        most = count > most ? count : most;
        first[d] = next;
        next += count;
    }
    for (uint32_t s = 0; s < shape->stages; s++)
        stages[first[placement->device_of[s]]++] = s;
    for (uint32_t d = shape->devices; d > 0; d--)
        first[d] = first[d - 1];
    first[0] = 0;
    return most;
}

ppsched_status ppi_order_graph_1f1b(ppsched_builder *builder, const struct ppi_task *task, const ppsched_config *config,
                                    ppsched_error *error)
{
    const struct ppi_shape *shape = &task->shape;
    const uint32_t devices = shape->devices;
    struct ppi_arena arena = {.host = &config->host};
    uint32_t *heights = ppi_arena_take_zeroed(&arena, devices, sizeof *heights);
    uint32_t *first = ppi_arena_take_zeroed(&arena, (size_t)devices + 1, sizeof *first);
    uint32_t *stages = ppi_arena_take(&arena, shape->stages, sizeof *stages);
    ppsched_op *ops = NULL;
    ppsched_status status = ppi_arena_check(&arena, "the order of a stage graph", error);
    if (status == PPSCHED_OK) {
        const size_t most = list_by_device(first, stages, &builder->placement, shape);
        ops = ppi_arena_take(&arena, 2 * most * ppi_total_microbatches(shape), sizeof *ops);
        find_heights(heights, &builder->placement, devices);
        status = ppi_arena_check(&arena, "the order of a stage graph", error);
    }
    for (uint32_t d = 0; d < devices && status == PPSCHED_OK; d++) {
        struct line line = {.graph = builder->placement.graph,
                            .stages = stages + first[d],
                            .count = first[d + 1] - first[d],
                            .microbatches = shape->microbatches};
        status = append(builder, &line, ops, d, heights[d], error);
    }
    ppi_arena_clear(&arena);
    return status;
}

/* --- what it does not support --- */

static ppsched_status check_placement(const struct ppi_task *task, const struct ppi_placement *placement,
                                      const struct ppi_host *host, ppsched_error *error)
{
    struct ppi_arena arena = {.host = host};
    uint32_t *heights = ppi_arena_take_zeroed(&arena, task->shape.devices, sizeof *heights);
    ppsched_status status = ppi_arena_check(&arena, "the order of a stage graph", error);
    if (status == PPSCHED_OK && placement->copies > 1)
        status = ppi_refuse(error, task, "runs a stage graph in one direction, not in both; auto supports both");
    else if (status == PPSCHED_OK && !find_heights(heights, placement, task->shape.devices))
        status = ppi_refuse(error, task, "needs a placement in which no devices feed each other; auto supports any placement");
    ppi_arena_clear(&arena);
    return status;
}

ppsched_status ppi_check_graph_1f1b(const struct ppi_task *task, const ppsched_config *config, ppsched_error *error)
{
    struct ppi_placement placement;
    if (config->graph == NULL)
        return PPSCHED_OK;
    if (task->shape.slices > 1)
        return ppi_refuse(error, task, "runs whole microbatches on a stage graph, not slices");
    if (config->graph->has_sets)
        return ppi_refuse(error, task, "needs one device for each stage; auto supports stages on several devices");
    ppsched_status status = ppi_config_place(&placement, config, task->placement, error);
    if (status != PPSCHED_OK)
        return status;
    status = check_placement(task, &placement, &config->host, error);
    ppi_placement_clear(&placement, &config->host);
    return status;
}
