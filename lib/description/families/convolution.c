/* SPDX-License-Identifier: Apache-2.0 */
/* LFM2: gated short convolutions, and attention in some layers. */
#include "description/families/functions.h"
#include "description/families/common_mixers.h"

static const char *const types_allowed[] = {"conv", "full_attention", NULL};

/* Both mixers of the family, and the list of which layer has which. */
struct convolution_parts {
    ppsched_block convolution, attention;
    const struct ppi_json_value *types, *full;
};

static void read_mixers(struct convolution_parts *parts, struct ppi_fields *fields, const struct ppi_draft *draft,
                        const struct ppi_frame *frame)
{
    parts->convolution = (ppsched_block){.kind = PPSCHED_BLOCK_KIND_CONVOLUTION,
                                         .convolution = ppi_count_or(fields, "conv_L_cache", 1, 3)};
    if (ppi_switch_or(fields, "conv_bias", false))
        parts->convolution.flags |= PPSCHED_BLOCK_FLAG_BIAS;
    parts->attention = ppi_read_attention(fields, frame, 8, 0);
    parts->attention.flags |= PPSCHED_BLOCK_FLAG_QK_NORM;
    ppi_require_count(fields, "num_heads", parts->attention.heads);
    ppi_require_count(fields, "block_dim", draft->info.hidden_size);
    ppi_require_count(fields, "conv_dim", draft->info.hidden_size);
    ppi_require_count(fields, "conv_dim_out", draft->info.hidden_size);
    ppi_ignore(fields, "norm_eps|block_norm_eps|block_mlp_init_scale|block_out_init_scale|block_use_xavier_init|"
                       "conv_use_xavier_init|use_pos_enc|theta");
}

static const ppsched_block *mixer_of(const struct convolution_parts *parts, uint32_t layer)
{
    bool is_full = parts->full == NULL || ppi_list_has(parts->full, layer);
    return ppi_type_is(parts->types, layer, "conv", !is_full) ? &parts->convolution : &parts->attention;
}

/* The output is tied if the file does not say; tie_embedding is another name, which comes first. */
static void read_frame(struct ppi_fields *fields, struct ppi_draft *draft, const struct ppi_frame *frame)
{
    ppi_read_frame(fields, draft, frame);
    bool is_tied = (draft->info.flags & PPSCHED_DESCRIPTION_FLAG_TIED) != 0;
    draft->info.flags &= ~(uint32_t)PPSCHED_DESCRIPTION_FLAG_TIED;
    if (ppi_switch_or(fields, "tie_embedding", is_tied))
        draft->info.flags |= PPSCHED_DESCRIPTION_FLAG_TIED;
}

/* Two thirds of the width that the file has, times a factor, up to a multiple of a size. */
static uint32_t read_width(struct ppi_fields *fields, const struct ppi_frame *frame)
{
    const char *names = ppi_field(fields, "block_ff_dim") != NULL ? "block_ff_dim" : "intermediate_size";
    uint64_t width = ppi_size_or(fields, names, frame->width), multiple = ppi_count_or(fields, "block_multiple_of", 1, 256);
    double factor = ppi_number_or(fields, "block_ffn_dim_multiplier", 1.0);
    ppi_ignore(fields, "intermediate_size");
    ppi_require_switch(fields, "block_use_swiglu", true);
    if (!ppi_switch_or(fields, "block_auto_adjust_ff_dim", true))
        return (uint32_t)width;
    width = 2 * width / 3;
    if (ppi_is_null(fields, "block_ffn_dim_multiplier"))
        return (uint32_t)width;
    if (!(factor > 0 && factor * (double)width < INT32_MAX / 2.0) || multiple == 0 || multiple > INT32_MAX / 2) {
        ppi_fields_fail(fields,
                        "block_ffn_dim_multiplier and block_multiple_of give a width of 0 or less, or one that is too large");
        return 0;
    }
    width = (uint64_t)(factor * (double)width);
    return (uint32_t)((width + multiple - 1) / multiple * multiple);
}

void ppi_family_lfm2(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_frame frame = {
        .vocabulary = 65536, .hidden = 2560, .width = 12288, .layers = 32, .heads = 32, .is_tied = true};
    struct convolution_parts parts;
    read_frame(fields, draft, &frame);
    read_mixers(&parts, fields, draft, &frame);
    const ppsched_block mlp = ppi_gated_mlp(read_width(fields, &frame));
    uint32_t layers = ppi_read_layers(fields, &frame);
    parts.types = ppi_types_of(fields, "layer_types", layers, types_allowed);
    parts.full = ppi_integers(fields, "full_attn_idxs");
    for (uint32_t i = 0; i < layers && fields->status == PPSCHED_OK; i++) {
        const ppsched_block blocks[] = {*mixer_of(&parts, i), mlp};
        ppi_draft_add_layer(draft, blocks, 2);
    }
}

/* The first layers have an MLP, the others experts. */
void ppi_family_lfm2_moe(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_frame frame = {.vocabulary = 65536, .hidden = 2048, .layers = 32, .heads = 32, .is_tied = true};
    struct convolution_parts parts;
    read_frame(fields, draft, &frame);
    read_mixers(&parts, fields, draft, &frame);
    const ppsched_block mlp = ppi_gated_mlp(ppi_count_or(fields, "intermediate_size", 1, 7168));
    ppsched_block experts = {.kind = PPSCHED_BLOCK_KIND_EXPERTS,
                             .flags = PPSCHED_BLOCK_FLAG_GATED,
                             .experts = ppi_count_or(fields, "num_experts|num_local_experts", 1, 32),
                             .experts_per_token = ppi_count_or(fields, "num_experts_per_tok", 1, 4),
                             .width = ppi_count_or(fields, "moe_intermediate_size", 1, 1792)};
    if (ppi_switch_or(fields, "use_expert_bias", true))
        experts.flags |= PPSCHED_BLOCK_FLAG_ROUTER_BIAS;
    uint32_t layers = ppi_read_layers(fields, &frame), dense = ppi_count_or(fields, "num_dense_layers", 0, 2);
    parts.types = ppi_types_of(fields, "layer_types", layers, types_allowed);
    parts.full = ppi_integers(fields, "full_attn_idxs");
    if (parts.types == NULL && parts.full == NULL)
        ppi_needed(fields, "layer_types");
    for (uint32_t i = 0; i < layers && fields->status == PPSCHED_OK; i++) {
        const ppsched_block blocks[] = {*mixer_of(&parts, i), i < dense ? mlp : experts};
        ppi_draft_add_layer(draft, blocks, 2);
    }
}
