/* SPDX-License-Identifier: Apache-2.0 */
/* 1F1B on a stage graph. The stages of a device run one after the other, as if they were one stage. A device has as many
 * warm-up forwards as links are on the longest path from it to a device that feeds no other. On a chain this is 1F1B. */
#include "strategy/rules/graph_1f1b.h"

#include "base/arena.h"
#include "base/error.h"
#include "ir/stage_graph.h"

/* The devices of a placement. */
struct devices {
    uint32_t count, most;     /* most: stages of a device, at most */
    uint32_t *first, *stages; /* stages of device d, in ascending order: stages[first[d]] up to stages[first[d + 1]] */
    uint32_t *heights;        /* links between devices on the longest path from each device to one that feeds no other */
    bool feed_each_other;     /* paths then have no end */
};

static void list_stages(struct devices *devices, const struct ppi_placement *placement, uint32_t stages)
{
    uint32_t next = 0;
    for (uint32_t s = 0; s < stages; s++)
        devices->first[placement->device_of[s]]++;
    for (uint32_t d = 0; d < devices->count; d++) {
        const uint32_t count = devices->first[d];
        devices->most = count > devices->most ? count : devices->most;
        devices->first[d] = next;
        next += count;
    }
    for (uint32_t s = 0; s < stages; s++)
        devices->stages[devices->first[placement->device_of[s]]++] = s;
    for (uint32_t d = devices->count; d > 0; d--)
        devices->first[d] = devices->first[d - 1];
    devices->first[0] = 0;
}

/* Goes from the devices that feed no other to those that feed them. `left`: links to devices whose heights are not known;
 * `order`: the devices whose heights are known. Both have one entry for each device. */
static void find_heights(struct devices *devices, const struct ppi_placement *placement, uint32_t *left, uint32_t *order)
{
    const struct ppi_stage_graph *graph = placement->graph;
    uint32_t known = 0;
    for (uint32_t s = 0; s < graph->stages; s++)
        for (uint32_t i = graph->input_first[s]; i < graph->input_first[s + 1]; i++)
            left[placement->device_of[graph->inputs[i]]] += placement->device_of[graph->inputs[i]] != placement->device_of[s];
    for (uint32_t d = 0; d < devices->count; d++)
        if (left[d] == 0)
            order[known++] = d;
    for (uint32_t n = 0; n < known; n++) {
        const uint32_t to = order[n];
        for (uint32_t k = devices->first[to]; k < devices->first[to + 1]; k++)
            for (uint32_t i = graph->input_first[devices->stages[k]]; i < graph->input_first[devices->stages[k] + 1]; i++) {
                const uint32_t from = placement->device_of[graph->inputs[i]];
                if (from == to)
                    continue;
                if (devices->heights[from] <= devices->heights[to])
                    devices->heights[from] = devices->heights[to] + 1;
                if (--left[from] == 0)
                    order[known++] = from;
            }
    }
    devices->feed_each_other = known < devices->count;
}

/* In the caller's arena. */
static ppsched_status find_devices(struct devices *out, struct ppi_arena *arena, const struct ppi_placement *placement,
                                   const struct ppi_shape *shape, ppsched_error *error)
{
    *out = (struct devices){.count = shape->devices};
    out->first = ppi_arena_take_zeroed(arena, (size_t)shape->devices + 1, sizeof *out->first);
    out->stages = ppi_arena_take(arena, shape->stages, sizeof *out->stages);
    out->heights = ppi_arena_take_zeroed(arena, shape->devices, sizeof *out->heights);
    uint32_t *left = ppi_arena_take_zeroed(arena, shape->devices, sizeof *left);
    uint32_t *order = ppi_arena_take(arena, shape->devices, sizeof *order);
    ppsched_status status = ppi_arena_check(arena, "the order of a stage graph", error);
    if (status != PPSCHED_OK)
        return status;
    list_stages(out, placement, shape->stages);
    find_heights(out, placement, left, order);
    return PPSCHED_OK;
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

ppsched_status ppi_order_graph_1f1b(ppsched_builder *builder, const struct ppi_task *task, const ppsched_config *config,
                                    ppsched_error *error)
{
    const struct ppi_shape *shape = &task->shape;
    struct ppi_arena arena = {.host = &config->host};
    struct devices devices;
    ppsched_op *ops = NULL;
    ppsched_status status = find_devices(&devices, &arena, &builder->placement, shape, error);
    if (status == PPSCHED_OK) {
        ops = ppi_arena_take(&arena, 2 * (size_t)devices.most * ppi_total_microbatches(shape), sizeof *ops);
        status = ppi_arena_check(&arena, "the order of a stage graph", error);
    }
    for (uint32_t d = 0; d < shape->devices && status == PPSCHED_OK; d++) {
        struct line line = {.graph = builder->placement.graph,
                            .stages = devices.stages + devices.first[d],
                            .count = devices.first[d + 1] - devices.first[d],
                            .microbatches = shape->microbatches};
        status = append(builder, &line, ops, d, devices.heights[d], error);
    }
    ppi_arena_clear(&arena);
    return status;
}

/* --- what it does not support --- */

static ppsched_status check_placement(const struct ppi_task *task, const struct ppi_placement *placement,
                                      const struct ppi_host *host, ppsched_error *error)
{
    struct ppi_arena arena = {.host = host};
    struct devices devices;
    if (placement->copies > 1)
        return ppi_refuse(error, task, "runs a stage graph in one direction, not in both; auto supports both");
    ppsched_status status = find_devices(&devices, &arena, placement, &task->shape, error);
    if (status == PPSCHED_OK && devices.feed_each_other)
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
