/* SPDX-License-Identifier: Apache-2.0 */
/* Where blocks stand: in the model's layers, or in a tower. */
#include "model/blocks.h"

static bool splits_sequence(const ppsched_model *model)
{
    return (model->training.flags & PPSCHED_TRAINING_FLAG_SEQUENCE_PARALLEL) != 0;
}

struct ppi_site ppi_site_of_model(const ppsched_model *model)
{
    const ppsched_training *training = &model->training;
    struct ppi_site site = {.model = model,
                            .hidden = model->shape->hidden_size,
                            .tokens = (double)training->sequence_length * training->micro_batch_size /
                                      training->context_parallel,
                            .sequence = training->sequence_length,
                            .samples = training->micro_batch_size,
                            .size = training->activation_bytes,
                            .tensor = training->tensor_parallel,
                            .context = training->context_parallel,
                            .streams = model->shape->streams,
                            .is_causal = !ppi_model_has_flag(model, PPSCHED_DESCRIPTION_FLAG_NOT_CAUSAL),
                            .has_norm_bias = ppi_model_has_flag(model, PPSCHED_DESCRIPTION_FLAG_NORM_BIAS),
                            .has_dropout = ppi_model_has_flag(model, PPSCHED_DESCRIPTION_FLAG_DROPOUT)};
    site.rows = site.tokens / (splits_sequence(model) ? training->tensor_parallel : 1);
    return site;
}

/* Context parallelism does not divide a tower: each of its devices encodes the whole sample. */
struct ppi_site ppi_site_of_tower(const ppsched_model *model, const ppsched_tower *tower)
{
    struct ppi_site site = ppi_site_of_model(model);
    site.hidden = tower->hidden_size;
    site.sequence = tower->tokens > 0 ? tower->tokens : site.sequence;
    site.tokens = site.sequence * site.samples;
    site.rows = site.tokens / (splits_sequence(model) ? site.tensor : 1);
    site.context = 1;
    site.streams = 1;
    site.is_causal = false;
    site.has_norm_bias = tower->has_norm_bias != 0;
    site.has_dropout = false;
    return site;
}

struct ppi_site ppi_site_of_row(const ppsched_model *model, uint32_t row)
{
    const ppsched_tower *tower = model->rows[row].tower;
    return tower != NULL ? ppi_site_of_tower(model, tower) : ppi_site_of_model(model);
}
