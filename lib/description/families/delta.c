/* SPDX-License-Identifier: Apache-2.0 */
/* Families with the gated delta rule and, every few layers, full attention: Qwen3-Next, Qwen3.5, OLMo Hybrid. */
#include "description/families/functions.h"
#include "description/families/common_mixers.h"

static const char *const types_allowed[] = {"linear_attention", "full_attention", NULL};

/* What a layer of the family may be made of, and the sizes of its class. */
struct delta_parts {
    ppsched_block delta, attention, mlp, experts;
    const struct ppi_frame *frame;
};

/* --- Qwen --- */

static ppsched_block read_delta(struct ppi_fields *fields)
{
    return (ppsched_block){.kind = PPSCHED_BLOCK_KIND_DELTA,
                           .heads = ppi_count_or(fields, "linear_num_value_heads", 1, 32),
                           .key_value_heads = ppi_count_or(fields, "linear_num_key_heads", 1, 16),
                           .head_size = ppi_count_or(fields, "linear_key_head_dim", 1, 128),
                           .value_size = ppi_count_or(fields, "linear_value_head_dim", 1, 128),
                           .convolution = ppi_count_or(fields, "linear_conv_kernel_dim", 1, 4)};
}

/* Queries are twice as wide: half of them gates the output. */
static ppsched_block read_gated_attention(struct ppi_fields *fields, const struct ppi_frame *frame, uint32_t key_value_heads)
{
    ppsched_block block = ppi_read_attention(fields, frame, key_value_heads, 256);
    block.flags |= PPSCHED_BLOCK_FLAG_QK_NORM | PPSCHED_BLOCK_FLAG_OUTPUT_GATE;
    if (ppi_switch_or(fields, "attention_bias", false)) {
        block.flags |= PPSCHED_BLOCK_FLAG_BIAS | PPSCHED_BLOCK_FLAG_OUTPUT_BIAS;
        block.extra_parameters = ppi_parameters((double)block.heads * block.head_size); /* of the gate */
    }
    ppi_require_switch(fields, "attn_output_gate", true);
    return block;
}

static ppsched_block read_experts(struct ppi_fields *fields, uint32_t experts, uint32_t per_token)
{
    return (ppsched_block){.kind = PPSCHED_BLOCK_KIND_EXPERTS,
                           .flags = PPSCHED_BLOCK_FLAG_GATED | PPSCHED_BLOCK_FLAG_SHARED_GATE,
                           .experts = ppi_count_or(fields, "num_experts|num_local_experts", 0, experts),
                           .experts_per_token = ppi_count_or(fields, "num_experts_per_tok", 1, per_token),
                           .width = ppi_count_or(fields, "moe_intermediate_size", 1, 512),
                           .shared_width = ppi_count_or(fields, "shared_expert_intermediate_size", 1, 512)};
}

/* Every fourth layer has full attention, or as often as full_attention_interval says, if the file does not list them. */
static void add_layers(struct ppi_fields *fields, struct ppi_draft *draft, const struct delta_parts *parts, bool may_be_dense)
{
    uint32_t layers = ppi_read_layers(fields, parts->frame), interval = ppi_count_or(fields, "full_attention_interval", 1, 4);
    const struct ppi_json_value *types = ppi_types_of(fields, "layer_types", layers, types_allowed);
    const struct ppi_json_value *dense = may_be_dense ? ppi_integers(fields, "mlp_only_layers") : NULL;
    uint32_t step = may_be_dense ? ppi_count_or(fields, "decoder_sparse_step", 1, 1) : 1;
    for (uint32_t i = 0; i < layers && fields->status == PPSCHED_OK; i++) {
        bool is_linear = ppi_type_is(types, i, "linear_attention", (i + 1) % interval != 0);
        bool is_sparse = parts->experts.experts > 0 && (i + 1) % step == 0 && !ppi_list_has(dense, i);
        const ppsched_block blocks[] = {is_linear ? parts->delta : parts->attention, is_sparse ? parts->experts : parts->mlp};
        ppi_draft_add_layer(draft, blocks, 2);
    }
    ppi_ignore(fields, "intermediate_size|mamba_ssm_dtype");
}

static void read_mtp(struct ppi_fields *fields, struct ppi_draft *draft, const struct delta_parts *parts)
{
    const ppsched_block blocks[] = {parts->attention, parts->experts.experts > 0 ? parts->experts : parts->mlp};
    ppi_read_mtp(fields, draft, "mtp_num_hidden_layers|num_nextn_predict_layers", blocks, 2);
    ppi_require_switch(fields, "mtp_use_dedicated_embeddings", false);
}

void ppi_family_qwen3_next(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_frame frame = {.vocabulary = 151936, .hidden = 2048, .layers = 48, .heads = 16};
    ppi_read_frame(fields, draft, &frame);
    struct delta_parts parts = {.frame = &frame,
                                .delta = read_delta(fields),
                                .attention = read_gated_attention(fields, &frame, 2),
                                .mlp = ppi_gated_mlp(ppi_count_or(fields, "intermediate_size", 1, 5632)),
                                .experts = read_experts(fields, 512, 10)};
    add_layers(fields, draft, &parts, true);
    read_mtp(fields, draft, &parts);
}

void ppi_family_qwen3_5(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_frame frame = {.vocabulary = 248320, .hidden = 4096, .width = 12288, .layers = 32, .heads = 16};
    ppi_read_frame(fields, draft, &frame);
    struct delta_parts parts = {.frame = &frame,
                                .delta = read_delta(fields),
                                .attention = read_gated_attention(fields, &frame, 4),
                                .mlp = ppi_read_mlp(fields, &frame)};
    ppi_ignore(fields, "output_gate_type"); /* an activation */
    add_layers(fields, draft, &parts, false);
    read_mtp(fields, draft, &parts);
}

void ppi_family_qwen3_5_moe(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_frame frame = {.vocabulary = 248320, .hidden = 2048, .layers = 40, .heads = 16};
    ppi_read_frame(fields, draft, &frame);
    struct delta_parts parts = {.frame = &frame,
                                .delta = read_delta(fields),
                                .attention = read_gated_attention(fields, &frame, 2),
                                .experts = read_experts(fields, 256, 8)};
    if (parts.experts.experts == 0)
        ppi_needed(fields, "num_experts|num_local_experts");
    ppi_ignore(fields, "output_gate_type"); /* an activation */
    add_layers(fields, draft, &parts, false);
    read_mtp(fields, draft, &parts);
}

/* --- OLMo Hybrid --- */

static ppsched_block read_olmo_delta(struct ppi_fields *fields, uint32_t hidden, uint32_t heads)
{
    ppsched_block block = {.kind = PPSCHED_BLOCK_KIND_DELTA,
                           .heads = ppi_count_or(fields, "linear_num_value_heads", 1, heads),
                           .key_value_heads = ppi_count_or(fields, "linear_num_key_heads", 1, heads),
                           .convolution = ppi_count_or(fields, "linear_conv_kernel_dim", 1, 4)};
    uint32_t key_heads = block.key_value_heads > 0 ? block.key_value_heads : 1;
    block.head_size = ppi_count_or(fields, "linear_key_head_dim", 1, (uint32_t)(0.75 * hidden / key_heads));
    block.value_size = ppi_count_or(fields, "linear_value_head_dim", 1, 2 * block.head_size);
    ppi_ignore(fields, "linear_a_log_min|linear_a_log_max|linear_dt_min|linear_dt_max|linear_dt_init_floor|"
                       "linear_allow_neg_eigval");
    return block;
}

/* Without a list every fourth layer has full attention, and the last one if there are fewer. */
void ppi_family_olmo_hybrid(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_frame frame = {.vocabulary = 100352, .hidden = 3840, .width = 11008, .layers = 32, .heads = 30};
    ppi_read_frame(fields, draft, &frame);
    ppsched_block attention = ppi_read_attention(fields, &frame, 0, 0);
    attention.flags |= PPSCHED_BLOCK_FLAG_QK_NORM_ALL;
    if (ppi_switch_or(fields, "attention_bias", false))
        attention.flags |= PPSCHED_BLOCK_FLAG_BIAS | PPSCHED_BLOCK_FLAG_OUTPUT_BIAS;
    ppsched_block delta = read_olmo_delta(fields, draft->info.hidden_size, attention.heads);
    ppsched_block mlp = ppi_read_mlp(fields, &frame);
    uint32_t layers = ppi_read_layers(fields, &frame);
    const struct ppi_json_value *types = ppi_types_of(fields, "layer_types", layers, types_allowed);
    for (uint32_t i = 0; i < layers && fields->status == PPSCHED_OK; i++) {
        bool is_full = i % 4 == 3 || (layers < 4 && i + 1 == layers);
        const ppsched_block blocks[] = {ppi_type_is(types, i, "full_attention", is_full) ? attention : delta, mlp};
        ppi_draft_add_layer(draft, blocks, 2);
    }
}
