/* SPDX-License-Identifier: Apache-2.0 */
/* Families with experts and without first layers that have none: Mixtral, OLMoE, Granite, Qwen, MiniMax-M2. */
#include "description/families/common.h"
#include "description/families/functions.h"

/* Experts in all layers, as wide as intermediate_size. */
static void read_wide_experts(struct ppi_fields *fields, struct ppi_stack *stack, const char *names, uint32_t experts,
                              uint32_t per_token)
{
    stack->experts = ppi_read_experts(fields, names, experts, per_token, stack->mlp.width);
    ppi_require_count(fields, "moe_intermediate_size", stack->mlp.width);
    stack->experts.width = stack->mlp.width;
}

/* --- as wide as intermediate_size --- */

void ppi_family_mixtral(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {32000, 4096, 14336, 32, 32, 8, 0}, .traits = PPI_CLASS_WINDOW_ALL};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    stack.experts = (ppsched_block){.kind = PPSCHED_BLOCK_KIND_EXPERTS,
                                    .flags = PPSCHED_BLOCK_FLAG_GATED,
                                    .experts = ppi_size_or(fields, "num_local_experts|num_experts", 8),
                                    .experts_per_token = ppi_size_or(fields, "num_experts_per_tok", 2),
                                    .width = stack.mlp.width};
    ppi_ignore(fields, "use_sliding_window");
    ppi_add_layers(fields, draft, &stack);
}

/* LayerNorm; the output may have a bias. */
void ppi_family_phimoe(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {32064, 4096, 6400, 32, 32, 8, 0},
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_WINDOW_ALL};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    read_wide_experts(fields, &stack, "num_local_experts|num_experts", 16, 2);
    draft->info.flags |= PPSCHED_DESCRIPTION_FLAG_NORM_BIAS;
    if (ppi_switch_or(fields, "lm_head_bias", false))
        draft->info.extra_parameters = draft->info.vocabulary_size;
    ppi_add_layers(fields, draft, &stack);
}

void ppi_family_olmoe(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {50304, 2048, 2048, 16, 16, 0, 0},
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_QK_NORM_ALL};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    read_wide_experts(fields, &stack, "num_experts|num_local_experts", 64, 8);
    ppi_add_layers(fields, draft, &stack);
}

void ppi_family_flex_olmo(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {100352, 4096, 11008, 32, 32, 0, 0},
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_QK_NORM_ALL};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    read_wide_experts(fields, &stack, "num_experts|num_local_experts", 7, 5);
    ppi_add_layers(fields, draft, &stack);
}

/* An MLP for all tokens next to the experts, if it has a width. */
void ppi_family_granitemoe(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {32000, 4096, 11008, 32, 32, 0, 0}, .traits = PPI_CLASS_BIAS};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    read_wide_experts(fields, &stack, "num_local_experts", 8, 2);
    stack.experts.shared_width = ppi_count_or(fields, "shared_intermediate_size", 0, 0);
    ppi_add_layers(fields, draft, &stack);
}

void ppi_family_granitemoe_swa(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {
        .sizes = {32000, 4096, 11008, 32, 32, 0, 0}, .window = 128, .interval = 4, .traits = PPI_CLASS_BIAS | PPI_CLASS_WINDOW};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    read_wide_experts(fields, &stack, "num_local_experts", 8, 2);
    stack.experts.shared_width = ppi_count_or(fields, "shared_intermediate_size", 0, 0);
    stack.attention.flags |= PPSCHED_BLOCK_FLAG_SINKS;
    stack.windowed.flags |= PPSCHED_BLOCK_FLAG_SINKS;
    ppi_add_layers(fields, draft, &stack);
}

/* Whether the list has something else than 1 for a layer. */
static bool has_others(const struct ppi_json_value *list)
{
    for (uint32_t i = 0; list != NULL && list->type == PPI_JSON_LIST && i < list->count; i++)
        if (list->items[i].type != PPI_JSON_NUMBER || list->items[i].number != 1)
            return true;
    return list != NULL && list->type != PPI_JSON_LIST;
}

void ppi_family_minimax_m2(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {200064, 3072, 1536, 62, 48, 8, 128},
                                                  .traits = PPI_CLASS_QK_NORM_ALL};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    read_wide_experts(fields, &stack, "num_local_experts|num_experts", 256, 8);
    stack.experts.flags |= PPSCHED_BLOCK_FLAG_ROUTER_BIAS;
    if (has_others(ppi_field(fields, "attn_type_list")))
        ppi_fields_fail(fields, "attn_type_list has layers of another type than 1, full attention; these are not supported");
    ppi_require_switch(fields, "use_qk_norm", true);
    ppi_require_switch(fields, "use_routing_bias", true);
    ppi_require_count(fields, "shared_intermediate_size", 0);
    ppi_require_count(fields, "mtp_transformer_layers", 1);
    ppi_require_text(fields, "qk_norm_type", "per_layer");
    ppi_add_layers(fields, draft, &stack);
    if (ppi_switch_or(fields, "use_mtp", true))
        ppi_read_mtp(fields, draft, "num_nextn_predict_layers|num_mtp_modules",
                     (ppsched_block[]){stack.attention, stack.experts}, 2);
    ppi_ignore(fields, "num_nextn_predict_layers|num_mtp_modules");
}

/* --- Qwen --- */

/* Layer i has experts if decoder_sparse_step divides i + 1, and mlp_only_layers does not name it. */
static void read_steps(struct ppi_fields *fields, struct ppi_stack *stack)
{
    stack->dense = ppi_integers(fields, "mlp_only_layers");
    stack->sparse_interval = ppi_count_or(fields, "decoder_sparse_step", 1, 1);
    stack->sparse_offset = 1;
}

/* The width of dense layers must be told if there are some. */
static void read_dense_width(struct ppi_fields *fields, struct ppi_stack *stack, uint32_t otherwise)
{
    bool some = ppi_json_in_use(stack->dense) || stack->sparse_interval > 1;
    stack->mlp.width = some ? ppi_size_or(fields, "intermediate_size", otherwise)
                            : ppi_count_or(fields, "intermediate_size", 1, otherwise);
}

void ppi_family_qwen2_moe(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {151936, 2048, 0, 24, 16, 16, 0},
                                                  .window = 4096,
                                                  .interval = 2,
                                                  .offset = 1,
                                                  .traits = PPI_CLASS_WINDOW | PPI_CLASS_OWN_WIDTH};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    stack.end_window = ppi_count_or(fields, "max_window_layers", 0, 28);
    if (!ppi_switch_or(fields, "use_sliding_window", false) && stack.types == NULL)
        stack.end_window = 0;
    if (ppi_switch_or(fields, "qkv_bias", true)) {
        stack.attention.flags |= PPSCHED_BLOCK_FLAG_BIAS;
        stack.windowed.flags |= PPSCHED_BLOCK_FLAG_BIAS;
    }
    stack.experts = ppi_read_experts(fields, "num_experts|num_local_experts", 60, 4, 1408);
    stack.experts.flags |= PPSCHED_BLOCK_FLAG_SHARED_GATE;
    stack.experts.shared_width = ppi_count_or(fields, "shared_expert_intermediate_size", 1, 5632);
    read_steps(fields, &stack);
    read_dense_width(fields, &stack, 5632);
    ppi_add_layers(fields, draft, &stack);
}

/* 0 if the file says that there are none. */
static uint32_t read_count(struct ppi_fields *fields, const char *names, uint32_t otherwise)
{
    uint32_t count = ppi_count_or(fields, names, 0, UINT32_MAX);
    return count < UINT32_MAX ? count : ppi_size_or(fields, names, otherwise);
}

void ppi_family_qwen3_moe(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {151936, 2048, 0, 24, 32, 4, 0},
                                                  .window = 4096,
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_QK_NORM | PPI_CLASS_WINDOW_ALL |
                                                            PPI_CLASS_OWN_WIDTH};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    if (!ppi_switch_or(fields, "use_sliding_window", false) && stack.types == NULL)
        stack.end_window = 0;
    stack.experts = (ppsched_block){.kind = PPSCHED_BLOCK_KIND_EXPERTS,
                                    .flags = PPSCHED_BLOCK_FLAG_GATED,
                                    .experts = read_count(fields, "num_experts|num_local_experts", 128),
                                    .experts_per_token = ppi_size_or(fields, "num_experts_per_tok", 8),
                                    .width = ppi_size_or(fields, "moe_intermediate_size", 768)};
    read_steps(fields, &stack);
    read_dense_width(fields, &stack, 6144);
    ppi_require_switch(fields, "use_qk_norm", true);
    ppi_ignore(fields, "max_window_layers");
    ppi_add_layers(fields, draft, &stack);
}

static void read_qwen3_text(struct ppi_fields *fields, struct ppi_draft *draft, const struct ppi_family_class *class,
                            const ppsched_block *otherwise)
{
    struct ppi_stack stack = ppi_read_stack(fields, draft, class);
    stack.experts = ppi_read_experts(fields, "num_experts|num_local_experts", otherwise->experts, otherwise->experts_per_token,
                                     otherwise->width);
    read_steps(fields, &stack);
    read_dense_width(fields, &stack, class->sizes.width);
    ppi_add_layers(fields, draft, &stack);
}

void ppi_family_qwen3_vl_moe(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {151936, 2048, 5632, 24, 16, 16, 0},
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_QK_NORM | PPI_CLASS_OWN_WIDTH};
    static const ppsched_block experts = {.experts = 60, .experts_per_token = 4, .width = 1408};
    read_qwen3_text(fields, draft, &class, &experts);
}

void ppi_family_qwen3_omni_moe(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {3584, 2048, 18944, 28, 28, 4, 0},
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_QK_NORM | PPI_CLASS_OWN_WIDTH |
                                                            PPI_CLASS_WINDOW_ALL};
    static const ppsched_block experts = {.experts = 128, .experts_per_token = 8, .width = 768};
    read_qwen3_text(fields, draft, &class, &experts);
    ppi_require_switch(fields, "use_qk_norm", true);
    ppi_require_switch(fields, "use_sliding_window", false);
    ppi_require_count(fields, "shared_expert_intermediate_size", 0);
}
