/* SPDX-License-Identifier: Apache-2.0 */
/* torchtitan: one of PyTorch's classes by name, or a CSV and a name that selects the placement. It gets the number of stages
 * per device from the name, one or two, or from the layers per stage. */
#include "base/error.h"
#include "launch/torch.h"

/* ENDS: embedding and output count as one layer each, as by default. MOST_LESS: bounds the search for numbers that make a
 * split. */
enum { ENDS = 2, MOST_LESS = 64 };

/* Stages per device where no layers are given: one for a class of a single stage, else two. */
static uint32_t usual_stages(const struct ppi_launch *launch)
{
    return ppi_chunks_of(launch->schedule) == 1 ? 1 : 2;
}

/* The least number of layers per stage for which ceil(layers / number) is the number of stages, if there is one. */
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
            "torchtitan has two stages per device by default, the schedule has %u; give the number of the model's layers",
            ppi_chunks_of(launch->schedule));
    if (launch->layers != 0 && layers < stages)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "torchtitan splits %u layer%p, the embedding and the output into at most %llu stage%p, not %u",
                        launch->layers, (unsigned long long)layers, stages);
    if (!usual && (layers + each - 1) / each != stages)
        return ppi_fail(
            error, PPSCHED_ERROR_REFUSED,
            "torchtitan makes ceil((%u + 2) / n) stages of n layers from %u layer%p, which is %u for no n; use %llu "
            "layers, or give their split (--split)",
            launch->layers, launch->layers, stages, (unsigned long long)(each * stages - ENDS));
    return PPSCHED_OK;
}

/* Whether torchtitan's rule makes this split with so many fewer layers at the ends: the first stages get the remainder. */
static bool makes_split(const struct ppi_parts *parts, uint32_t first_less, uint32_t last_less)
{
    uint64_t stages = parts->split->stages, all = (uint64_t)parts->decoders + first_less + last_less;
    if (first_less > all / stages || last_less > all / stages)
        return false;
    for (uint32_t s = 0; s < stages; s++) {
        uint64_t has = all / stages + (s < all % stages) - (s == 0 ? first_less : 0) - (s + 1 == stages ? last_less : 0);
        if (parts->stages[s].decoders != has)
            return false;
    }
    return true;
}

/* Whether flags with so many fewer layers at the ends make the split and the number of stages; keeps them. */
static bool tells_split(struct ppi_launch *launch, uint32_t first_less, uint32_t last_less)
{
    const struct ppi_parts *parts = launch->parts;
    if (!makes_split(parts, first_less, last_less))
        return false;
    uint32_t stages = parts->split->stages, all = parts->decoders + first_less + last_less, each = (all + stages - 1) / stages;
    bool usual = ppi_chunks_of(launch->schedule) == usual_stages(launch);
    launch->ends = (struct ppi_end_layers){first_less, last_less, usual ? 0 : each, false};
    return usual || (all + each - 1) / each == stages;
}

/* Finds flags that make the split, first the defaults; otherwise the modules of each stage are listed. */
static void find_split(struct ppi_launch *launch)
{
    if (tells_split(launch, 1, 1))
        return;
    for (uint32_t first = 0; first <= MOST_LESS; first++)
        for (uint32_t last = 0; last <= MOST_LESS; last++)
            if (tells_split(launch, first, last))
                return;
    launch->ends = (struct ppi_end_layers){.lists_modules = true};
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
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "torchtitan supports only compute ops, and lowers them itself; use the schedule before lowering");
    if (!ppi_is_placed(schedule, PPSCHED_PLACEMENT_LOOP) &&
        !(ppi_is_placed(schedule, PPSCHED_PLACEMENT_V) && ppi_chunks_of(launch->schedule) == 2))
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "torchtitan places stages in a loop, or in a v of two stages per device");
    if (launch->maker != NULL && !launch->maker->single && ppi_chunks_of(launch->schedule) == 1)
        launch->maker = NULL; /* it uses classes of a list with at least two stages */
    if (launch->parts == NULL)
        return launch->order_alone ? PPSCHED_OK : fits_layers(launch, error);
    find_split(launch);
    return PPSCHED_OK;
}

/* With a CSV the name selects the placement, and one or more stages per rank. */
static const char *name_of(const struct ppi_launch *launch)
{
    if (launch->maker != NULL)
        return launch->maker->name;
    if (ppi_chunks_of(launch->schedule) == 1)
        return "PipelineScheduleSingle";
    return ppi_is_placed(launch->schedule, PPSCHED_PLACEMENT_LOOP) ? "PipelineScheduleMulti" : "ZBVZeroBubble";
}

/* Both are 1 by default. */
static void write_ends(const struct ppi_end_layers *ends, struct ppi_line *line)
{
    if (ends->first_less != 1)
        ppi_line_flag(line, "--parallelism.pipeline_parallel_first_stage_less_layers", ends->first_less);
    if (ends->last_less != 1)
        ppi_line_flag(line, "--parallelism.pipeline_parallel_last_stage_less_layers", ends->last_less);
    if (ends->each != 0)
        ppi_line_flag(line, "--parallelism.pipeline_parallel_layers_per_stage", ends->each);
}

/* The modules of each stage: commas within a stage, blanks between stages. */
static void write_modules(const struct ppi_parts *parts, struct ppi_line *line)
{
    uint32_t stages = parts->split->stages, layer = 0;
    ppi_line_word(line, "--parallelism.module_fqns_per_model_part");
    for (uint32_t s = 0; s < stages; s++) {
        const char *before = "";
        ppi_line_word(line, s == 0 ? "tok_embeddings" : "");
        for (uint32_t i = 0; i < parts->stages[s].decoders; i++, before = ",") {
            ppi_line_text(line, s == 0 ? "," : before);
            ppi_line_text(line, "layers.");
            ppi_line_number(line, layer++);
        }
        if (s + 1 == stages) {
            ppi_line_text(line, before);
            ppi_line_text(line, "norm,lm_head");
        }
    }
}

/* The default is selective recomputation, so none is written too. After the options, as it is a separate command. */
static void write_recomputed(const struct ppi_parts *parts, struct ppi_line *line)
{
    if (!parts->has_kinds)
        return;
    ppi_line_word(line, "activation-checkpoint:");
    ppi_line_text(line, parts->kind != NULL ? parts->kind : "none");
}

/* A microbatch has one sample where the caller says nothing. M is the number of samples over those of a microbatch. */
static void write_batch(const struct ppi_launch *launch, struct ppi_line *line)
{
    uint32_t micro_batch = launch->micro_batch > 0 ? launch->micro_batch : 1;
    ppi_line_flag(line, "--training.local_batch_size", micro_batch * launch->schedule->shape.microbatches);
    ppi_line_flag(line, "--parallelism.pipeline_parallel_microbatch_size", micro_batch);
}

static void write(const struct ppi_launch *launch, struct ppi_line *line)
{
    const char *csv = ppi_csv_of(launch);
    ppi_line_flag(line, "--parallelism.pipeline_parallel_degree", launch->schedule->shape.devices);
    ppi_line_word(line, "--parallelism.pipeline_parallel_schedule");
    ppi_line_word(line, name_of(launch));
    if (launch->maker == NULL) {
        ppi_line_word(line, "--parallelism.pipeline_parallel_schedule_csv");
        ppi_line_word(line, csv[0] == '-' ? "./" : ""); /* not a flag */
        ppi_line_quoted(line, csv);
    }
    if (launch->parts != NULL && launch->ends.lists_modules)
        write_modules(launch->parts, line);
    else if (launch->parts != NULL)
        write_ends(&launch->ends, line);
    else if (ppi_chunks_of(launch->schedule) != usual_stages(launch))
        ppi_line_flag(line, "--parallelism.pipeline_parallel_layers_per_stage", (uint32_t)layers_per_stage(launch));
    write_batch(launch, line);
    ppi_line_word(line, "--training.disable_cuda_graphs"); /* not supported with pipelines */
    if (launch->parts != NULL)
        write_recomputed(launch->parts, line);
}

const struct ppi_runtime ppi_torchtitan_runtime = {
    .name = "torchtitan",
    .title = "torchtitan",
    .fits = fits,
    .write = write,
    .rules = {.may_be_uneven = true, .all = {"full", "selective"}},
};
