/* SPDX-License-Identifier: Apache-2.0 */
/* Kimi Linear and Kimi K3: KDA in most layers, latent attention in the others, experts after the first. In K3 both have full
 * gates, experts work in a latent, and each block reads a weighted sum over earlier residuals, of which one stays for each so
 * many layers. */
#include "description/families/functions.h"
#include "description/families/common_mixers.h"

/* What a layer may be made of, and how many layers share a residual that stays; 0: there are no such. */
struct kimi_parts {
    ppsched_block delta, latent, mlp, experts;
    uint32_t residual_layers;
};

static const struct ppi_frame frame = {.vocabulary = 163840, .hidden = 2304, .layers = 27, .heads = 32};
static const ppsched_block latent_otherwise = {.key_value_rank = 512, .head_size = 128, .rope_size = 64, .value_size = 128};

/* --- blocks --- */

static ppsched_block read_delta(struct ppi_fields *fields, struct ppi_fields *part)
{
    uint32_t heads = ppi_count_or(fields, "linear_num_heads", 1, 32), size = ppi_count_or(fields, "linear_head_dim", 1, 128);
    uint32_t convolution = ppi_count_or(fields, "linear_conv_kernel_dim", 1, 4);
    ppsched_block block = {.kind = PPSCHED_BLOCK_KIND_DELTA,
                           .heads = ppi_count_or(part, "num_heads", 1, heads),
                           .head_size = ppi_count_or(part, "head_dim", 1, size),
                           .convolution = ppi_count_or(part, "short_conv_kernel_size", 1, convolution)};
    block.decay_rank = block.head_size;
    block.gate_rank = ppi_switch_or(part, "use_full_rank_gate", false) ? 0 : block.head_size;
    ppi_ignore(part, "gate_lower_bound|safe_gate");
    return block;
}

static ppsched_block read_latent(struct ppi_fields *fields)
{
    ppsched_block block = ppi_read_latent(fields, &frame, &latent_otherwise);
    if (ppi_switch_or(fields, "mla_use_output_gate", false))
        block.flags |= PPSCHED_BLOCK_FLAG_OUTPUT_GATE;
    ppi_ignore(fields, "mla_use_nope");
    return block;
}

static ppsched_block read_experts(struct ppi_fields *fields)
{
    ppsched_block block = {.kind = PPSCHED_BLOCK_KIND_EXPERTS,
                           .flags = PPSCHED_BLOCK_FLAG_GATED | PPSCHED_BLOCK_FLAG_ROUTER_BIAS,
                           .experts = ppi_count_or(fields, "num_experts|num_local_experts", 1, 256),
                           .experts_per_token = ppi_count_or(fields, "num_experts_per_token|num_experts_per_tok", 1, 8),
                           .width = ppi_count_or(fields, "moe_intermediate_size", 1, 1024),
                           .latent_size = ppi_count_or(fields, "routed_expert_hidden_size", 0, 0)};
    uint32_t shared = ppi_count_or(fields, "num_shared_experts|n_shared_experts", 0, 1);
    block.shared_width = ppi_size_product(fields, "the width of shared experts", shared, block.width);
    if (block.latent_size > 0 && ppi_switch_or(fields, "latent_moe_use_norm", false))
        block.flags |= PPSCHED_BLOCK_FLAG_LATENT_NORM;
    ppi_ignore(fields, "latent_moe_use_norm|activation_situ_beta|activation_situ_linear_beta|moe_renormalize|"
                       "moe_router_activation_func|num_expert_group|topk_group|use_grouped_topk|topk_method");
    return block;
}

/* --- layers --- */

/* Of each layer whether it has KDA: by layer_types, by the two lists of layers, which count from 1, or all but each fourth
 * after the first. */
struct kimi_pattern {
    const struct ppi_json_value *types, *linear, *full, *sparse_types;
    uint32_t dense;
};

static bool is_linear(struct ppi_fields *fields, const struct kimi_pattern *pattern, uint32_t layer)
{
    if (pattern->types != NULL || pattern->linear == NULL || pattern->full == NULL)
        return ppi_type_is(pattern->types, layer, "linear_attention", layer == 0 || layer % 4 != 0);
    bool in_linear = ppi_list_has(pattern->linear, (int64_t)layer + 1),
         in_full = ppi_list_has(pattern->full, (int64_t)layer + 1);
    if (in_linear == in_full)
        ppi_fields_fail(
            fields,
            "linear_attn_config names layer %u in %s of kda_layers and full_attn_layers; each layer must be in exactly one",
            layer + 1, in_full ? "both" : "none");
    return in_linear;
}

static bool is_sparse(const struct kimi_pattern *pattern, uint32_t layer)
{
    return ppi_type_is(pattern->sparse_types, layer, "sparse", layer >= pattern->dense);
}

static struct kimi_pattern read_pattern(struct ppi_fields *fields, struct ppi_fields *part, uint32_t layers)
{
    static const char *const mixers[] = {"linear_attention", "full_attention", NULL}, *const widths[] = {"dense", "sparse",
                                                                                                         NULL};
    struct kimi_pattern pattern = {.types = ppi_types_of(fields, "layer_types", layers, mixers),
                                   .linear = ppi_integers(part, "kda_layers"),
                                   .full = ppi_integers(part, "full_attn_layers"),
                                   .sparse_types = ppi_types_of(fields, "mlp_layer_types", layers, widths),
                                   .dense = ppi_count_or(fields, "first_k_dense_replace", 0, 1)};
    ppi_require_count(fields, "moe_layer_freq", 1);
    ppi_require_switch(fields, "is_moe", true);
    return pattern;
}

/* A query and a norm for each block read the residuals. */
static void add_layer(struct ppi_draft *draft, const struct kimi_parts *parts, bool has_delta, bool has_experts)
{
    ppsched_block blocks[] = {has_delta ? parts->delta : parts->latent, has_experts ? parts->experts : parts->mlp};
    if (parts->residual_layers > 0)
        blocks[0].extra_parameters = blocks[1].extra_parameters = 2 * (uint64_t)draft->info.hidden_size;
    ppi_draft_add_layer(draft, blocks, 2);
}

static void read_layers(struct ppi_fields *fields, struct ppi_fields *part, struct ppi_draft *draft)
{
    struct kimi_parts parts = {.delta = read_delta(fields, part),
                               .latent = read_latent(fields),
                               .mlp = ppi_gated_mlp(ppi_count_or(fields, "intermediate_size", 1, 9216)),
                               .experts = read_experts(fields),
                               .residual_layers = ppi_count_or(fields, "attn_res_block_size", 0, 0)};
    uint32_t layers = ppi_read_layers(fields, &frame);
    struct kimi_pattern pattern = read_pattern(fields, part, layers);
    for (uint32_t i = 0; i < layers && fields->status == PPSCHED_OK && part->status == PPSCHED_OK; i++)
        add_layer(draft, &parts, is_linear(fields, &pattern, i), is_sparse(&pattern, i));
    draft->info.stream_interval = parts.residual_layers;
    draft->info.extra_parameters = parts.residual_layers > 0 ? 2 * (uint64_t)draft->info.hidden_size : 0;
    const ppsched_block mtp[] = {parts.latent, parts.experts};
    ppi_read_mtp(fields, draft, "num_nextn_predict_layers", mtp, 2);
}

void ppi_family_kimi(struct ppi_fields *fields, struct ppi_draft *draft)
{
    struct ppi_fields part;
    ppi_read_frame(fields, draft, &frame);
    if (draft->info.sequence_length == 0)
        draft->info.sequence_length = ppi_count_or(fields, "model_max_length", 0, 0);
    ppi_part_start(&part, fields, "linear_attn_config");
    read_layers(fields, &part, draft);
    ppi_part_end(fields, &part, draft);
}
