/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch: a schedule class where one makes the order, else _PipelineScheduleRuntime with a CSV. */
#include "launch/torch.h"

#include "base/error.h"
#include "channel/channels.h"
#include "format/formats.h"
#include "strategy/descriptors.h"

/* By the names of get_schedule_class; class names start with "Schedule". Those of a single stage come first. */
static const struct ppi_class classes[] = {
    {"1F1B", &ppi_1f1b, ppi_fills_devices, .single = true},
    {"GPipe", &ppi_gpipe, NULL, .single = true},
    {"Interleaved1F1B", &ppi_interleaved_1f1b, ppi_has_whole_rounds},
    {"LoopedBFS", &ppi_looped_bfs},
    {"InterleavedZeroBubble", &ppi_interleaved_zb, ppi_has_whole_rounds},
    {"ZBVZeroBubble", &ppi_zbv},
    {"DualPipeV", &ppi_dualpipe_v},
};

/* Checks what the format allows and PyTorch does not. */
static ppsched_status check_rows(const ppsched_schedule *schedule, ppsched_error *error)
{
    if (schedule->placement.copies != 1)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "PyTorch has each stage on one rank, the schedule has each on two devices");
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        if (schedule->queues[d].count == 0)
            return ppi_fail(error, PPSCHED_ERROR_REFUSED, "PyTorch needs an op on every rank; device %u has none", d);
    return PPSCHED_OK;
}

/* A CSV with other ops than computation must have all sends and receives. */
static ppsched_status check_transfers(const ppsched_schedule *schedule, ppsched_error *error)
{
    static const ppsched_channel_model model = {.size = sizeof model, .order = PPSCHED_CHANNEL_ORDER_NONE};
    struct ppi_channels channels;
    ppsched_error reason;
    ppsched_status status = ppi_channels_make(&channels, schedule, &model, &reason);
    if (status == PPSCHED_OK)
        ppi_channels_clear(&channels);
    else if (status == PPSCHED_ERROR_NO_MEMORY)
        ppi_fail_memory(error, "the transfers");
    else
        status = ppi_fail_at(error, PPSCHED_ERROR_REFUSED,
                             (struct ppi_place){reason.device, reason.stage, reason.microbatch, reason.position},
                             "PyTorch needs all sends and receives, or compute ops only: %s", reason.message);
    return status;
}

/* PyTorch keeps the losses in the order in which the last stage computes them, and uses the m-th for microbatch m. The
 * schedule is valid and the stage is on one device. (torch.distributed.pipelining: _maybe_compute_loss, _maybe_get_loss) */
static ppsched_status check_losses(const ppsched_schedule *schedule, ppsched_error *error)
{
    uint32_t last = schedule->shape.stages - 1, next = 0;
    const ppsched_queue *queue = &schedule->queues[schedule->placement.device_of[last]];
    for (size_t i = 0; i < queue->count; i++) {
        const ppsched_op *op = &queue->ops[i];
        if (op->kind != PPSCHED_KIND_F || op->stage != last || op->microbatch == next++)
            continue;
        struct ppi_place place = {queue->device, op->stage, op->microbatch, (uint32_t)i};
        return ppi_fail_at(error, PPSCHED_ERROR_REFUSED, place,
                           "PyTorch takes the losses in the order of the last stage's forwards: device %u has %uF%u at "
                           "position %zu, where %uF%u must be; use ppsched_schedule_renumber",
                           queue->device, last, op->microbatch, i, last, next - 1);
    }
    return PPSCHED_OK;
}

ppsched_status ppi_torch_fits(struct ppi_launch *launch, ppsched_error *error)
{
    const ppsched_schedule *schedule = launch->schedule;
    ppsched_status status = ppi_csv_format.fits(schedule, error);
    launch->lowered = !ppi_only_computes(schedule);
    launch->maker = NULL;
    if (status == PPSCHED_OK)
        status = check_rows(schedule, error);
    if (status == PPSCHED_OK)
        status = check_losses(schedule, error);
    if (status == PPSCHED_OK && launch->lowered)
        status = check_transfers(schedule, error);
    if (status == PPSCHED_OK && launch->csv == NULL)
        status = ppi_class_find(&launch->maker, classes, sizeof classes / sizeof classes[0], schedule, error);
    return status;
}

/* Writes the placement of stages: a style of generate_stage_to_rank_mapping, or rank by rank. */
static void write_style(const ppsched_schedule *schedule, struct ppi_line *line)
{
    if (ppi_is_placed(schedule, PPSCHED_PLACEMENT_LOOP) || ppi_is_placed(schedule, PPSCHED_PLACEMENT_V)) {
        ppi_line_choice(line, "style", ppi_is_placed(schedule, PPSCHED_PLACEMENT_LOOP) ? "loop" : "v");
        return;
    }
    ppi_line_word(line, "stage_index_to_group_rank=");
    for (uint32_t s = 0; s < schedule->shape.stages; s++) {
        ppi_line_text(line, s > 0 ? "," : "");
        ppi_line_number(line, schedule->placement.device_of[s]);
    }
}

/* Writes the number of layers of the model's list in each stage. */
static void write_layers(const struct ppi_parts *parts, struct ppi_line *line)
{
    ppi_line_word(line, "layers_per_stage=");
    for (uint32_t s = 0; s < parts->split->stages; s++) {
        ppi_line_text(line, s > 0 ? "," : "");
        ppi_line_number(line, parts->split->layers[s]);
    }
}

static void write(const struct ppi_launch *launch, struct ppi_line *line)
{
    const struct ppi_shape *shape = &launch->schedule->shape;
    ppi_line_choice(line, "class", launch->maker != NULL ? "Schedule" : "_PipelineScheduleRuntime");
    if (launch->maker != NULL)
        ppi_line_text(line, launch->maker->name);
    ppi_line_setting(line, "pp_size", shape->devices);
    ppi_line_setting(line, "num_stages", shape->stages);
    ppi_line_setting(line, "n_microbatches", shape->microbatches);
    write_style(launch->schedule, line);
    if (launch->parts != NULL)
        write_layers(launch->parts, line);
    if (launch->maker != NULL)
        return;
    ppi_line_word(line, "csv=");
    ppi_line_quoted(line, ppi_csv_of(launch));
    ppi_line_choice(line, "format", launch->lowered ? "compute_comms" : "compute_only");
}

const struct ppi_runtime ppi_pytorch_runtime = {
    .name = "pytorch",
    .title = "PyTorch",
    .fits = ppi_torch_fits,
    .write = write,
    .rules = {.takes_list = true, .may_be_uneven = true, .may_be_empty = true, .may_recompute_any = true},
};
