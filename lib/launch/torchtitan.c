/* SPDX-License-Identifier: Apache-2.0 */
/* torchtitan: one of PyTorch's classes by name, or a CSV and a name that picks how stages lie. How many stages a device has it
 * knows from the name, one or two, or from the layers of a stage. */
#include "base/error.h"
#include "launch/torch.h"

/* The embedding and the output count as one layer each, as its options have it by default. */
enum { ENDS = 2 };

/* Stages a device where no layers are told: one for a name of a single stage, else two. */
static uint32_t usual_stages(const struct ppi_launch *launch)
{
    return ppi_chunks_of(launch->schedule) == 1 ? 1 : 2;
}

/* Layers a stage of which ceil(all / these) stages come out, if any number does; this is the least. */
static uint64_t layers_per_stage(const struct ppi_launch *launch)
{
    uint64_t stages = launch->schedule->shape.stages;
    return ((uint64_t)launch->layers + ENDS + stages - 1) / stages;
}

static ppsched_status fits_layers(const struct ppi_launch *launch, ppsched_error *error)
{
    uint32_t stages = launch->schedule->shape.stages;
    uint64_t layers = (uint64_t)launch->layers + ENDS, each = layers_per_stage(launch);
    bool usual = ppi_chunks_of(launch->schedule) == usual_stages(launch);
    if (launch->layers == 0 && !usual)
        return ppi_fail(
            error, PPSCHED_ERROR_REFUSED,
            "torchtitan takes two stages a device, the schedule has %u; give the model's layers, with which it can be "
            "told",
            ppi_chunks_of(launch->schedule));
    if (launch->layers != 0 && layers < stages)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "torchtitan splits %u layers, the embedding and the output into at most %llu stages, not %u",
                        launch->layers, (unsigned long long)layers, stages);
    if (launch->layers != 0 && !usual && (layers + each - 1) / each != stages)
        return ppi_fail(
            error, PPSCHED_ERROR_REFUSED,
            "torchtitan makes ceil((%u + 2) / n) stages of n layers of %u, which is %u for no n; %llu layers would do",
            launch->layers, launch->layers, stages, (unsigned long long)(each * stages - ENDS));
    return PPSCHED_OK;
}

static ppsched_status fits(struct ppi_launch *launch, ppsched_error *error)
{
    const ppsched_schedule *schedule = launch->schedule;
    ppsched_status status = ppi_torch_fits(launch, error);
    if (status != PPSCHED_OK)
        return status;
    if (schedule->shape.devices == 1)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "torchtitan has no pipeline on one device");
    if (launch->lowered)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "torchtitan reads CSVs of computation alone and lowers them itself");
    if (!ppi_is_placed(schedule, PPSCHED_PLACEMENT_LOOP) &&
        !(ppi_is_placed(schedule, PPSCHED_PLACEMENT_V) && ppi_chunks_of(launch->schedule) == 2))
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "torchtitan places stages in a loop, or in a v of two stages a device");
    if (launch->maker != NULL && !launch->maker->single && ppi_chunks_of(launch->schedule) == 1)
        launch->maker = NULL; /* it gives classes that take a list at least two */
    return fits_layers(launch, error);
}

/* With a CSV the name picks the placement, and one stage a rank or more. */
static const char *name_of(const struct ppi_launch *launch)
{
    if (launch->maker != NULL)
        return launch->maker->name;
    if (ppi_chunks_of(launch->schedule) == 1)
        return "PipelineScheduleSingle";
    return ppi_is_placed(launch->schedule, PPSCHED_PLACEMENT_LOOP) ? "PipelineScheduleMulti" : "ZBVZeroBubble";
}

static void write(const struct ppi_launch *launch, struct ppi_line *line)
{
    const char *csv = ppi_csv_of(launch);
    ppi_line_flag(line, "--parallelism.pipeline_parallel_degree", launch->schedule->shape.devices);
    ppi_line_word(line, "--parallelism.pipeline_parallel_schedule");
    ppi_line_word(line, name_of(launch));
    if (launch->maker == NULL) {
        ppi_line_word(line, "--parallelism.pipeline_parallel_schedule_csv");
        ppi_line_word(line, csv[0] == '-' ? "./" : ""); /* it is no flag */
        ppi_line_quoted(line, csv);
    }
    if (ppi_chunks_of(launch->schedule) != usual_stages(launch))
        ppi_line_flag(line, "--parallelism.pipeline_parallel_layers_per_stage", (uint32_t)layers_per_stage(launch));
    ppi_line_flag(line, "--parallelism.num_pp_microbatches", launch->schedule->shape.microbatches);
    ppi_line_word(line, "--training.disable_cuda_graphs"); /* which do not go with pipelines */
}

const struct ppi_runtime ppi_torchtitan_runtime = {
    .name = "torchtitan",
    .title = "torchtitan",
    .fits = fits,
    .write = write,
};
