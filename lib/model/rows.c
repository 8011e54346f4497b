/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a model, and their parameters. */
#include <string.h>

#include "model/blocks.h"

bool ppi_model_has_flag(const ppsched_model *model, uint32_t flag)
{
    return (model->shape->flags & flag) != 0;
}

const ppsched_block *ppi_model_experts_of(const ppsched_layer_kind *kind)
{
    for (uint32_t i = 0; i < kind->block_count; i++)
        if (kind->blocks[i]->kind == PPSCHED_BLOCK_KIND_EXPERTS)
            return kind->blocks[i];
    return NULL;
}

bool ppi_model_has_experts(const ppsched_model *model)
{
    for (uint32_t i = 0; i < model->shape->kind_count; i++)
        if (ppi_model_experts_of(model->shape->kinds[i]) != NULL)
            return true;
    return false;
}

static void add_row(ppsched_model *model, struct ppi_model_row row)
{
    model->rows[model->row_count++] = row;
}

/* Kinds that no layer has get no row. */
static void add_decoders(ppsched_model *model)
{
    const ppsched_description_info *shape = model->shape;
    uint32_t counts[PPSCHED_MAX_LAYER_KINDS] = {0};
    for (uint32_t i = 0; i < shape->layer_count; i++)
        counts[shape->layers[i]]++;
    for (uint32_t kind = 0; kind < shape->kind_count; kind++)
        if (counts[kind] > 0)
            add_row(model, (struct ppi_model_row){.role = PPSCHED_MODEL_ROLE_DECODER,
                                                  .name = shape->kinds[kind]->name,
                                                  .layers = counts[kind],
                                                  .index = kind,
                                                  .kind = shape->kinds[kind]});
}

void ppi_model_list_rows(ppsched_model *model)
{
    const ppsched_description_info *shape = model->shape;
    model->row_count = 0;
    for (uint32_t i = 0; i < shape->tower_count; i++)
        add_row(model, (struct ppi_model_row){.role = PPSCHED_MODEL_ROLE_TOWER,
                                              .name = shape->towers[i]->name,
                                              .layers = 1,
                                              .index = i,
                                              .kind = shape->towers[i]->kind,
                                              .tower = shape->towers[i]});
    add_row(model, (struct ppi_model_row){.role = PPSCHED_MODEL_ROLE_EMBEDDING, .name = "embedding", .layers = 1});
    add_decoders(model);
    if (shape->mtp_layers > 0)
        add_row(model, (struct ppi_model_row){.role = PPSCHED_MODEL_ROLE_MTP,
                                              .name = "mtp",
                                              .layers = shape->mtp_layers,
                                              .index = shape->mtp_kind,
                                              .kind = shape->kinds[shape->mtp_kind]});
    add_row(model, (struct ppi_model_row){.role = PPSCHED_MODEL_ROLE_HEAD, .name = "head", .layers = 1});
}

/* --- parameters --- */

/* The same model on one device. */
static ppsched_model undivided(const ppsched_model *model)
{
    ppsched_model whole = *model;
    whole.has_device = false;
    whole.training = (ppsched_training){.sequence_length = 1,
                                        .micro_batch_size = 1,
                                        .tensor_parallel = 1,
                                        .context_parallel = 1,
                                        .expert_parallel = 1,
                                        .expert_tensor_parallel = 1,
                                        .data_parallel = 1};
    return whole;
}

/* Parameters of an op list, by what they belong to. */
struct counts {
    double all, experts, norms;
};

static struct counts count_ops(const struct ppi_ops *ops)
{
    struct counts counts = {0};
    for (uint32_t i = 0; i < ops->count; i++) {
        double own = ops->list[i].parameters;
        counts.all += own;
        counts.experts += ops->list[i].is_expert ? own : 0;
        counts.norms += ops->list[i].is_norm ? own : 0;
    }
    return counts;
}

static bool is_feed_forward(const ppsched_block *block)
{
    return block->kind == PPSCHED_BLOCK_KIND_MLP || block->kind == PPSCHED_BLOCK_KIND_EXPERTS;
}

/* Of its routed experts a token uses `experts_per_token`. */
static double idle_parameters(const ppsched_block *block, double experts)
{
    return block == NULL || block->experts == 0 ? 0 : experts - experts / block->experts * block->experts_per_token;
}

double ppi_model_total(const ppsched_model *model)
{
    ppsched_model whole = undivided(model);
    struct ppi_ops ops;
    double total = 0;
    for (uint32_t row = 0; row < model->row_count; row++) {
        struct ppi_site site = ppi_site_of_row(&whole, row);
        for (uint32_t part = 0; ppi_ops_of_part(&ops, &site, row, part); part++)
            total += count_ops(&ops).all * model->rows[row].layers;
    }
    return total;
}

void ppi_model_describe_row(ppsched_model_row *out, const ppsched_model *model, uint32_t row)
{
    const struct ppi_model_row *own = &model->rows[row];
    ppsched_model whole = undivided(model);
    struct ppi_site site = ppi_site_of_row(&whole, row);
    struct ppi_ops ops;
    *out = (ppsched_model_row){
        .size = sizeof *out, .role = own->role, .name = own->name, .layers = own->layers, .index = own->index};
    for (uint32_t part = 0; ppi_ops_of_part(&ops, &site, row, part); part++) {
        const ppsched_block *block = ppi_block_of_part(&whole, row, part);
        struct counts counts = count_ops(&ops);
        double idle = idle_parameters(block, counts.experts), own_part = counts.all - counts.norms;
        out->parameters += (uint64_t)counts.all;
        out->active += (uint64_t)(counts.all - idle);
        out->norms += (uint64_t)counts.norms;
        if (block == NULL)
            continue;
        if (!is_feed_forward(block)) {
            out->mixers += (uint64_t)own_part;
            continue;
        }
        out->feed_forwards += (uint64_t)own_part;
        out->feed_forwards_active += (uint64_t)(own_part - idle);
    }
}

void ppi_model_count(ppsched_parameters *out, const ppsched_model *model)
{
    const ppsched_description_info *shape = model->shape;
    *out = (ppsched_parameters){.size = sizeof *out};
    out->positions = (uint64_t)shape->positions * shape->hidden_size;
    out->embedding = (uint64_t)shape->vocabulary_size * shape->hidden_size;
    out->output = ppi_model_has_flag(model, PPSCHED_DESCRIPTION_FLAG_TIED) ? 0 : out->embedding;
    out->other = shape->extra_parameters;
    for (uint32_t i = 0; i < model->row_count; i++) {
        ppsched_model_row row;
        ppi_model_describe_row(&row, model, i);
        if (row.role == PPSCHED_MODEL_ROLE_TOWER) {
            out->towers += row.parameters;
        } else if (row.role == PPSCHED_MODEL_ROLE_MTP) {
            out->mtp = row.parameters;
        } else {
            out->total += row.layers * row.parameters;
            out->active += row.layers * row.active;
        }
        if (row.role == PPSCHED_MODEL_ROLE_HEAD)
            out->final_norm = row.norms;
    }
}
