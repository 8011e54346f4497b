/* SPDX-License-Identifier: Apache-2.0 */
/* Families with Mamba-2: with attention in some layers (Granite 4, Bamba), next to attention in each layer (Falcon-H1), or
 * alone. */
#include "description/families/functions.h"
#include "description/families/common_mixers.h"

static const char *const types_allowed[] = {"linear_attention", "full_attention", NULL};

/* --- blocks --- */

/* `channels` are those of all heads together. */
static ppsched_block read_mamba(struct ppi_fields *fields, uint32_t channels)
{
    ppsched_block block = {.kind = PPSCHED_BLOCK_KIND_MAMBA,
                           .heads = ppi_count_or(fields, "mamba_n_heads", 1, 128),
                           .groups = ppi_count_or(fields, "mamba_n_groups", 1, 1),
                           .state_size = ppi_count_or(fields, "mamba_d_state", 1, 256),
                           .convolution = ppi_count_or(fields, "mamba_d_conv", 1, 4)};
    block.head_size = ppi_count_or_auto(fields, "mamba_d_head", block.heads > 0 ? channels / block.heads : 0);
    if (ppi_switch_or(fields, "mamba_conv_bias", true))
        block.flags |= PPSCHED_BLOCK_FLAG_CONVOLUTION_BIAS;
    if ((uint64_t)block.heads * block.head_size != channels)
        ppi_fields_fail(fields, "Mamba has %u channel%p, not %u head%p of %u", channels, block.heads, block.head_size);
    ppi_ignore(fields, "mamba_chunk_size|time_step_limit|time_step_min|time_step_max|time_step_floor|use_mamba_kernels");
    return block;
}

static uint32_t read_channels(struct ppi_fields *fields, const struct ppi_draft *draft, const char *expand)
{
    return ppi_size_product(fields, "the width of Mamba", ppi_count_or(fields, expand, 1, 2), draft->info.hidden_size);
}

static void add_bias(struct ppi_fields *fields, ppsched_block *block, const char *name, uint32_t flags)
{
    if (ppi_switch_or(fields, name, false))
        block->flags |= flags;
}

static ppsched_block read_attention(struct ppi_fields *fields, const struct ppi_frame *frame, uint32_t key_value_heads)
{
    ppsched_block block = ppi_read_attention(fields, frame, key_value_heads, 0);
    add_bias(fields, &block, "attention_bias", PPSCHED_BLOCK_FLAG_BIAS | PPSCHED_BLOCK_FLAG_OUTPUT_BIAS);
    return block;
}

/* --- Granite --- */

/* An MLP for all tokens, with experts in parallel if there are any. */
static ppsched_block read_granite_mlp(struct ppi_fields *fields)
{
    uint32_t shared = ppi_count_or(fields, "shared_intermediate_size", 1, 1024);
    uint32_t experts = ppi_count_or(fields, "num_local_experts|num_experts", 0, 8);
    uint32_t per_token = ppi_count_or(fields, "num_experts_per_tok", 0, 2);
    uint32_t width = ppi_count_or(fields, "intermediate_size", 0, 11008);
    if (experts == 0)
        return ppi_gated_mlp(shared);
    return (ppsched_block){.kind = PPSCHED_BLOCK_KIND_EXPERTS,
                           .flags = PPSCHED_BLOCK_FLAG_GATED,
                           .experts = experts,
                           .experts_per_token = per_token,
                           .width = width,
                           .shared_width = shared};
}

void ppi_family_granitemoehybrid(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_frame frame = {.vocabulary = 32000, .hidden = 4096, .layers = 32, .heads = 32};
    ppi_read_frame(fields, draft, &frame);
    ppsched_block mamba = read_mamba(fields, read_channels(fields, draft, "mamba_expand"));
    add_bias(fields, &mamba, "mamba_proj_bias", PPSCHED_BLOCK_FLAG_BIAS);
    ppsched_block attention = read_attention(fields, &frame, 0), mlp = read_granite_mlp(fields);
    uint32_t layers = ppi_read_layers(fields, &frame);
    const struct ppi_json_value *types = ppi_types_of(fields, "layer_types|layers_block_type", layers, types_allowed);
    for (uint32_t i = 0; i < layers && fields->status == PPSCHED_OK; i++) {
        const ppsched_block blocks[] = {ppi_type_is(types, i, "linear_attention", true) ? mamba : attention, mlp};
        ppi_draft_add_layer(draft, blocks, 2);
    }
}

/* --- Falcon-H1 --- */

/* Projections into Mamba and out of it have biases of their own. */
static ppsched_block read_falcon_mamba(struct ppi_fields *fields, struct ppi_draft *draft)
{
    uint32_t channels = read_channels(fields, draft, "mamba_expand");
    if (!ppi_is_null(fields, "mamba_d_ssm"))
        channels = ppi_count_or(fields, "mamba_d_ssm", 1, 1024);
    ppsched_block block = read_mamba(fields, channels);
    bool has_in = ppi_switch_or(fields, "mamba_proj_bias", false), has_out = ppi_switch_or(fields, "projectors_bias", false);
    if (has_in && has_out)
        block.flags |= PPSCHED_BLOCK_FLAG_BIAS;
    else if (has_in)
        block.extra_parameters = ppi_parameters(2.0 * channels + 2.0 * block.groups * block.state_size + block.heads);
    else if (has_out)
        block.extra_parameters = draft->info.hidden_size;
    if (!ppi_switch_or(fields, "mamba_rms_norm", false))
        block.flags |= PPSCHED_BLOCK_FLAG_NO_GATE_NORM;
    ppi_require_switch(fields, "mamba_use_mlp", true);
    ppi_ignore(fields, "mamba_norm_before_gate|ssm_multipliers|ssm_in_multiplier|ssm_out_multiplier");
    return block;
}

void ppi_family_falcon_h1(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_frame frame = {.vocabulary = 128000, .hidden = 4096, .width = 14336, .layers = 32, .heads = 32};
    ppi_read_frame(fields, draft, &frame);
    ppsched_block blocks[] = {read_attention(fields, &frame, 8), read_falcon_mamba(fields, draft),
                              ppi_read_mlp(fields, &frame)};
    blocks[1].flags |= PPSCHED_BLOCK_FLAG_PARALLEL;
    add_bias(fields, &blocks[2], "mlp_bias", PPSCHED_BLOCK_FLAG_BIAS);
    uint32_t layers = ppi_read_layers(fields, &frame);
    for (uint32_t i = 0; i < layers && fields->status == PPSCHED_OK; i++)
        ppi_draft_add_layer(draft, blocks, 3);
}

/* --- Bamba --- */

void ppi_family_bamba(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_frame frame = {.vocabulary = 128000, .hidden = 4096, .width = 14336, .layers = 32, .heads = 32};
    ppi_read_frame(fields, draft, &frame);
    ppsched_block mamba = read_mamba(fields, read_channels(fields, draft, "mamba_expand"));
    ppsched_block attention = read_attention(fields, &frame, 8), mlp = ppi_read_mlp(fields, &frame);
    add_bias(fields, &mamba, "mamba_proj_bias", PPSCHED_BLOCK_FLAG_BIAS);
    add_bias(fields, &mlp, "mlp_bias", PPSCHED_BLOCK_FLAG_BIAS);
    uint32_t layers = ppi_read_layers(fields, &frame);
    const struct ppi_json_value *full = ppi_integers(fields, "attn_layer_indices");
    for (uint32_t i = 0; i < layers && fields->status == PPSCHED_OK; i++) {
        const ppsched_block blocks[] = {ppi_list_has(full, i) ? attention : mamba, mlp};
        ppi_draft_add_layer(draft, blocks, 2);
    }
}

/* --- Mamba-2 alone --- */

void ppi_family_mamba2(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_frame frame = {.vocabulary = 32768, .hidden = 4096, .layers = 64};
    ppi_read_frame(fields, draft, &frame);
    ppsched_block block = {.kind = PPSCHED_BLOCK_KIND_MAMBA,
                           .heads = ppi_count_or(fields, "num_heads", 1, 128),
                           .head_size = ppi_count_or(fields, "head_dim", 1, 64),
                           .groups = ppi_count_or(fields, "n_groups", 1, 8),
                           .state_size = ppi_count_or(fields, "state_size", 1, 128),
                           .convolution = ppi_count_or(fields, "conv_kernel", 1, 4)};
    uint32_t channels = read_channels(fields, draft, "expand"), layers = ppi_read_layers(fields, &frame);
    add_bias(fields, &block, "use_bias", PPSCHED_BLOCK_FLAG_BIAS);
    if (ppi_switch_or(fields, "use_conv_bias", true))
        block.flags |= PPSCHED_BLOCK_FLAG_CONVOLUTION_BIAS;
    if ((uint64_t)block.heads * block.head_size != channels)
        ppi_fields_fail(fields, "num_heads times head_dim is not expand times hidden_size, which is %u", channels);
    for (uint32_t i = 0; i < layers && fields->status == PPSCHED_OK; i++)
        ppi_draft_add_layer(draft, &block, 1);
    ppi_ignore(fields, "chunk_size|time_step_rank|time_step_limit|time_step_min|time_step_max|time_step_floor|"
                       "layer_norm_epsilon");
}
