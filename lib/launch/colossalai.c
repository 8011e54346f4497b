/* SPDX-License-Identifier: Apache-2.0 */
/* Colossal-AI's HybridParallelPlugin: 1F1B and interleaved 1F1B by style; its ZeroBubble pipe runs any order on a V placement,
 * two stages per device, as a list of nodes that docs/examples/colossalai_nodes.py makes from a CSV. */
#include "base/error.h"
#include "launch/launch.h"
#include "strategy/descriptors.h"

static bool interleaves(const struct ppi_shape *shape)
{
    return shape->stages > shape->devices && ppi_has_whole_groups(shape);
}

static const struct ppi_class classes[] = {
    {"1f1b", &ppi_1f1b, ppi_fills_devices},
    {"interleaved", &ppi_interleaved_1f1b, interleaves},
};

static const struct ppi_class zbv = {"zbv", NULL, NULL};

/* The number of an op's queue of passes: forward, input gradient or weight gradient. */
static int pass_of(const ppsched_op *op)
{
    return op->kind == PPSCHED_KIND_F ? 0 : op->kind == PPSCHED_KIND_W ? 2 : 1;
}

/* Data between a stage's passes is used oldest first, so each kind of pass must run the microbatches in ascending order. */
static ppsched_status check_turns(const ppsched_queue *queue, uint32_t stages, ppsched_error *error)
{
    uint32_t next[2][3] = {{0}};
    for (size_t i = 0; i < queue->count; i++) {
        const ppsched_op *op = &queue->ops[i];
        struct ppi_place place = {queue->device, op->stage, op->microbatch, (uint32_t)i};
        uint32_t chunk = op->stage < stages / 2 ? 0 : 1, *turn = &next[chunk][pass_of(op)];
        if (ppi_unit_length(op) == 2)
            return ppi_fail_at(error, PPSCHED_ERROR_REFUSED, place,
                               "Colossal-AI runs no overlapped pairs; device %u has one at position %zu", queue->device, i);
        if (op->microbatch != *turn)
            return ppi_fail_at(error, PPSCHED_ERROR_REFUSED, place,
                               "Colossal-AI runs the microbatches of each stage in order; device %u has microbatch %u at "
                               "position %zu, where %u must be",
                               queue->device, op->microbatch, i, *turn);
        (*turn)++;
        if (op->kind == PPSCHED_KIND_B && next[chunk][2] == op->microbatch)
            next[chunk][2]++; /* its W follows it */
    }
    return PPSCHED_OK;
}

static ppsched_status fits_v(struct ppi_launch *launch, ppsched_error *error)
{
    const ppsched_schedule *schedule = launch->schedule;
    ppsched_status status = PPSCHED_OK;
    launch->maker = &zbv;
    if (schedule->placement.copies != 1 || ppi_chunks_of(schedule) != 2 || !ppi_is_placed(schedule, PPSCHED_PLACEMENT_V))
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "Colossal-AI runs 1F1B, interleaved 1F1B, and orders on a v of two stages per device");
    if (!ppi_only_computes(schedule))
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "Colossal-AI supports only compute ops; use the schedule before lowering");
    if (!ppi_has_whole_groups(&schedule->shape))
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "Colossal-AI needs a multiple of %u microbatch%p, not %u",
                        schedule->shape.devices, schedule->shape.microbatches);
    for (uint32_t d = 0; d < schedule->shape.devices && status == PPSCHED_OK; d++)
        status = check_turns(&schedule->queues[d], schedule->shape.stages, error);
    return status;
}

/* Refuses numbers of microbatches that 1F1B or interleaved 1F1B (the only order in a loop) does not support. */
static ppsched_status check_microbatches(const ppsched_schedule *schedule, ppsched_error *error)
{
    static const struct ppi_class any_1f1b = {"1f1b", &ppi_1f1b, NULL};
    const struct ppi_shape *shape = &schedule->shape;
    const struct ppi_class *found = NULL;
    if (shape->stages > shape->devices && ppi_is_placed(schedule, PPSCHED_PLACEMENT_LOOP) && !ppi_has_whole_groups(shape))
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "Colossal-AI's interleaved 1F1B needs a multiple of %u microbatch%p, not %u", shape->devices,
                        shape->microbatches);
    ppsched_status status = ppi_class_find(&found, &any_1f1b, 1, schedule, error);
    if (status != PPSCHED_OK || found == NULL)
        return status;
    return ppi_fail(error, PPSCHED_ERROR_REFUSED, "Colossal-AI's 1F1B needs at least %u microbatch%p, not %u", shape->devices,
                    shape->microbatches);
}

static ppsched_status fits(struct ppi_launch *launch, ppsched_error *error)
{
    if (launch->schedule->shape.devices == 1)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "Colossal-AI has no pipeline on one device");
    ppsched_status status = ppi_class_find(&launch->maker, classes, 2, launch->schedule, error);
    if (status == PPSCHED_OK && launch->maker == NULL)
        status = check_microbatches(launch->schedule, error);
    return status == PPSCHED_OK && launch->maker == NULL ? fits_v(launch, error) : status;
}

/* Writes layers by stage of the model; without a list the plugin divides evenly. It accepts one number per device; with
 * several stages per device the list is for its stage manager. */
static void write_split(const struct ppi_launch *launch, struct ppi_line *line)
{
    const struct ppi_parts *parts = launch->parts;
    if (parts->is_even)
        return;
    ppi_line_word(line, ppi_chunks_of(launch->schedule) == 1 ? "num_layers_per_stage=" : "stage_manager.num_layers_per_stage=");
    for (uint32_t s = 0; s < parts->split->stages; s++) {
        ppi_line_text(line, s == 0 ? "" : ",");
        ppi_line_number(line, parts->stages[s].decoders);
    }
}

/* Writes numbers by device, then those of the next chunk, which on a V placement is reversed. */
static void write_recomputed(const struct ppi_launch *launch, struct ppi_line *line)
{
    uint32_t stages = launch->parts->split->stages, devices = launch->schedule->shape.devices;
    if (launch->parts->recomputed == PPI_RECOMPUTED_NONE)
        return;
    ppi_line_word(line, "num_ckpt_layers_per_stage=");
    for (uint32_t i = 0; i < stages; i++) {
        uint32_t stage = launch->maker == &zbv && i >= devices ? stages - 1 - (i - devices) : i;
        ppi_line_text(line, i == 0 ? "" : ",");
        ppi_line_number(line, ppi_parts_count_first(launch->parts, stage));
    }
}

static void write(const struct ppi_launch *launch, struct ppi_line *line)
{
    const struct ppi_shape *shape = &launch->schedule->shape;
    ppi_line_setting(line, "pp_size", shape->devices);
    ppi_line_choice(line, "pp_style", launch->maker->name);
    if (ppi_chunks_of(launch->schedule) > 1)
        ppi_line_setting(line, "num_model_chunks", ppi_chunks_of(launch->schedule));
    ppi_line_setting(line, "num_microbatches", shape->microbatches);
    if (launch->parts != NULL) {
        write_split(launch, line);
        write_recomputed(launch, line);
    }
    if (launch->maker != &zbv)
        return;
    ppi_line_word(line, "scheduler_nodes=");
    ppi_line_quoted(line, ppi_csv_of(launch));
}

const struct ppi_runtime ppi_colossalai_runtime = {
    .name = "colossalai",
    .title = "Colossal-AI",
    .fits = fits,
    .write = write,
    .rules = {.may_be_uneven = true, .first = "full", .by_stage = true},
};
