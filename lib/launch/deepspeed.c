/* SPDX-License-Identifier: Apache-2.0 */
/* DeepSpeed's PipelineModule runs 1F1B; its microbatches are gradient accumulation steps. */
#include "format/formats.h"
#include "launch/launch.h"

static ppsched_status fits(struct ppi_launch *launch, ppsched_error *error)
{
    return ppi_deepspeed_format.fits(launch->schedule, error);
}

/* Each layer is recomputed by itself; unless all are, they are given by the model's layer names, in place of class names. */
static void write_recomputed(const struct ppi_parts *parts, struct ppi_line *line)
{
    const ppsched_layers *layers = parts->layers;
    const char *before = " checkpointable_layers=";
    bool is_all = true;
    ppi_line_setting(line, "activation_checkpoint_interval", 1);
    for (uint32_t i = 0; i < layers->count; i++)
        is_all &= ppi_parts_is_recomputed(parts, i);
    for (uint32_t e = 0, layer = 0; e < layers->entry_count && !is_all; layer += layers->entries[e++].given.count) {
        if (!ppi_parts_is_recomputed(parts, layer) || ppi_parts_first_named(parts, e) != layer)
            continue;
        ppi_line_text(line, before);
        ppi_line_quoted(line, layers->entries[e].given.name);
        before = ",";
    }
}

/* The first layer of each stage, then the number of layers, as in PipelineModule. */
static void write_parts(const struct ppi_parts *parts, struct ppi_line *line)
{
    uint32_t layer = 0;
    ppi_line_word(line, "parts=0");
    for (uint32_t s = 0; s < parts->split->stages; s++) {
        layer += parts->split->layers[s];
        ppi_line_text(line, ",");
        ppi_line_number(line, layer);
    }
    if (parts->recomputed == PPI_RECOMPUTED_ALL)
        write_recomputed(parts, line);
}

static void write(const struct ppi_launch *launch, struct ppi_line *line)
{
    ppi_line_setting(line, "num_stages", launch->schedule->shape.stages);
    ppi_line_setting(line, "gradient_accumulation_steps", launch->schedule->shape.microbatches);
    if (launch->micro_batch > 0)
        ppi_line_setting(line, "train_micro_batch_size_per_gpu", launch->micro_batch);
    if (launch->parts != NULL)
        write_parts(launch->parts, line);
}

const struct ppi_runtime ppi_deepspeed_runtime = {
    .name = "deepspeed",
    .title = "DeepSpeed",
    .fits = fits,
    .write = write,
    .rules = {.takes_list = true, .may_be_uneven = true, .by_name = true, .all = {"full"}},
};
