/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch and torchtitan: a schedule class where one makes this order, else _PipelineScheduleRuntime with a CSV. */
#include "base/error.h"
#include "format/formats.h"
#include "launch/launch.h"
#include "lower/wiring.h"

/* Where the caller names none. */
static const char csv_file[] = "schedule.csv";

/* --- what both ask --- */

/* What the format lets pass and PyTorch does not. */
static ppsched_status check_rows(const ppsched_schedule *schedule, ppsched_error *error)
{
    if (schedule->placement.copies != 1)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "PyTorch holds each stage on one rank, the schedule on two devices");
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        if (schedule->queues[d].count == 0)
            return ppi_fail(error, PPSCHED_ERROR_REFUSED, "PyTorch wants an op on every rank; device %u has none", d);
    return PPSCHED_OK;
}

/* A CSV with other ops than computation must have all sends and receives. */
static ppsched_status check_transfers(const ppsched_schedule *schedule, ppsched_error *error)
{
    static const ppsched_channel_model model = {.size = sizeof model, .order = PPSCHED_CHANNEL_ORDER_NONE};
    struct ppi_wiring wiring;
    ppsched_error reason;
    ppsched_status status = ppi_wiring_make(&wiring, schedule, &model, &reason);
    if (status == PPSCHED_OK)
        ppi_wiring_clear(&wiring);
    else if (status == PPSCHED_ERROR_NO_MEMORY)
        ppi_fail_memory(error, "the transfers");
    else
        status = ppi_fail_at(error, PPSCHED_ERROR_REFUSED,
                             (struct ppi_place){reason.device, reason.stage, reason.microbatch, reason.position},
                             "PyTorch wants all sends and receives, or computation alone: %s", reason.message);
    return status;
}

static ppsched_status fits(struct ppi_launch *launch, ppsched_error *error)
{
    const ppsched_schedule *schedule = launch->schedule;
    ppsched_status status = ppi_csv_format.fits(schedule, error);
    launch->lowered = !ppi_only_computes(schedule);
    launch->maker = NULL;
    if (status == PPSCHED_OK)
        status = check_rows(schedule, error);
    if (status == PPSCHED_OK && launch->lowered)
        status = check_transfers(schedule, error);
    if (status == PPSCHED_OK && launch->csv == NULL)
        status = ppi_torch_class_find(&launch->maker, schedule, error);
    return status;
}

/* --- PyTorch --- */

/* How stages lie on ranks: a style of generate_stage_to_rank_mapping, or rank by rank. */
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

static void write_pytorch(const struct ppi_launch *launch, struct ppi_line *line)
{
    const struct ppi_shape *shape = &launch->schedule->shape;
    ppi_line_choice(line, "class", launch->maker != NULL ? "Schedule" : "_PipelineScheduleRuntime");
    if (launch->maker != NULL)
        ppi_line_text(line, launch->maker->name);
    ppi_line_setting(line, "pp_size", shape->devices);
    ppi_line_setting(line, "num_stages", shape->stages);
    ppi_line_setting(line, "n_microbatches", shape->microbatches);
    write_style(launch->schedule, line);
    if (launch->maker != NULL)
        return;
    ppi_line_word(line, "csv=");
    ppi_line_quoted(line, launch->csv != NULL ? launch->csv : csv_file);
    ppi_line_choice(line, "format", launch->lowered ? "compute_comms" : "compute_only");
}

const struct ppi_runtime ppi_pytorch_runtime = {
    .name = "pytorch",
    .title = "PyTorch",
    .fits = fits,
    .write = write_pytorch,
};

/* --- torchtitan --- */

static uint32_t stages_per_rank(const struct ppi_launch *launch)
{
    return launch->schedule->shape.stages / launch->schedule->shape.devices;
}

/* torchtitan puts stages on ranks itself: in a loop, or in a v of two for the classes of that style. */
static ppsched_status fits_titan(struct ppi_launch *launch, ppsched_error *error)
{
    const ppsched_schedule *schedule = launch->schedule;
    ppsched_status status = fits(launch, error);
    if (status != PPSCHED_OK)
        return status;
    if (schedule->shape.devices == 1)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "torchtitan has no pipeline on one device");
    if (launch->lowered)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "torchtitan reads CSVs of computation alone and lowers them itself");
    if (!ppi_is_placed(schedule, PPSCHED_PLACEMENT_LOOP) &&
        !(ppi_is_placed(schedule, PPSCHED_PLACEMENT_V) && stages_per_rank(launch) == 2))
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "torchtitan places stages in a loop, or in a v of two stages a device");
    if (launch->maker != NULL && !launch->maker->single && stages_per_rank(launch) == 1)
        launch->maker = NULL; /* it gives classes that take a list at least two */
    return PPSCHED_OK;
}

/* With a CSV the name picks the placement, and one stage a rank or more. */
static const char *titan_name(const struct ppi_launch *launch)
{
    if (launch->maker != NULL)
        return launch->maker->name;
    if (stages_per_rank(launch) == 1)
        return "PipelineScheduleSingle";
    return ppi_is_placed(launch->schedule, PPSCHED_PLACEMENT_LOOP) ? "PipelineScheduleMulti" : "ZBVZeroBubble";
}

static void write_titan(const struct ppi_launch *launch, struct ppi_line *line)
{
    const char *csv = launch->csv != NULL ? launch->csv : csv_file;
    ppi_line_flag(line, "--parallelism.pipeline_parallel_degree", launch->schedule->shape.devices);
    ppi_line_word(line, "--parallelism.pipeline_parallel_schedule");
    ppi_line_word(line, titan_name(launch));
    if (launch->maker != NULL)
        return;
    ppi_line_word(line, "--parallelism.pipeline_parallel_schedule_csv");
    ppi_line_word(line, csv[0] == '-' ? "./" : ""); /* it is no flag */
    ppi_line_quoted(line, csv);
}

const struct ppi_runtime ppi_torchtitan_runtime = {
    .name = "torchtitan",
    .title = "torchtitan",
    .fits = fits_titan,
    .write = write_titan,
};
