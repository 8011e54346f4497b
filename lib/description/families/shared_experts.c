/* SPDX-License-Identifier: Apache-2.0 */
/* Families with shared experts, and an MLP in the first layers: GLM-4.5, dots.llm1, Ling 2.0, ERNIE 4.5, Hunyuan, Solar. */
#include "description/families/common.h"
#include "description/families/functions.h"

/* --- GLM-4.5 and its like --- */

/* Heads need not divide the hidden size: what remains is left out. */
static void round_heads(const struct ppi_draft *draft, struct ppi_stack *stack)
{
    if (stack->attention.head_size == 0 && stack->attention.heads > 0)
        stack->attention.head_size = draft->info.hidden_size / stack->attention.heads;
}

/* The width of an MLP need not be told by a file whose layers all have experts. */
static void read_routed(struct ppi_fields *fields, struct ppi_stack *stack, const char *names, const ppsched_block *otherwise)
{
    stack->mlp.width = ppi_count_or(fields, "intermediate_size", 1, stack->mlp.width);
    stack->experts = ppi_read_experts(fields, names, otherwise->experts, otherwise->experts_per_token, otherwise->width);
    stack->experts.flags |= otherwise->flags;
    stack->has_mtp = true;
}

static const ppsched_block glm_experts = {
    .experts = 128, .experts_per_token = 8, .width = 1408, .flags = PPSCHED_BLOCK_FLAG_ROUTER_BIAS};

void ppi_family_glm4_moe(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {151552, 4096, 10944, 46, 96, 8, 0}, .traits = PPI_CLASS_INPUT_BIAS};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    round_heads(draft, &stack);
    read_routed(fields, &stack, "n_routed_experts|num_local_experts|num_experts", &glm_experts);
    ppi_read_shared(fields, &stack.experts, "n_shared_experts", 1);
    ppi_read_dense_layers(fields, &stack, 1);
    if (ppi_switch_or(fields, "use_qk_norm", false))
        stack.attention.flags |= PPSCHED_BLOCK_FLAG_QK_NORM;
    ppi_add_layers(fields, draft, &stack);
}

/* The text of GLM-4.5V. */
void ppi_family_glm4v_moe(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {151424, 4096, 10944, 46, 96, 8, 0},
                                                  .traits = PPI_CLASS_INPUT_BIAS | PPI_CLASS_IS_BIASED};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    round_heads(draft, &stack);
    read_routed(fields, &stack, "n_routed_experts|num_local_experts|num_experts", &glm_experts);
    ppi_read_shared(fields, &stack.experts, "n_shared_experts", 1);
    ppi_read_dense_layers(fields, &stack, 1);
    ppi_require_switch(fields, "use_qk_norm", false);
    ppi_add_layers(fields, draft, &stack);
}

void ppi_family_solar_open(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {196608, 4096, 0, 48, 64, 8, 128},
                                                  .traits = PPI_CLASS_INPUT_BIAS | PPI_CLASS_OWN_WIDTH};
    static const ppsched_block experts = {
        .experts = 128, .experts_per_token = 8, .width = 1280, .flags = PPSCHED_BLOCK_FLAG_ROUTER_BIAS};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    read_routed(fields, &stack, "n_routed_experts|num_local_experts", &experts);
    ppi_read_shared(fields, &stack.experts, "n_shared_experts", 1);
    ppi_require_switch(fields, "use_qk_norm", false);
    ppi_require_count(fields, "first_k_dense_replace", 0);
    ppi_add_layers(fields, draft, &stack);
}

/* Layers from max_window_layers on have a window. */
void ppi_family_dots1(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {152064, 4608, 10944, 62, 32, 32, 0},
                                                  .window = 4096,
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_QK_NORM | PPI_CLASS_WINDOW};
    static const ppsched_block experts = {.width = 1408, .flags = PPSCHED_BLOCK_FLAG_ROUTER_BIAS};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    read_routed(fields, &stack, "n_routed_experts|num_local_experts", &experts);
    if (stack.experts.experts > 0 && stack.experts.experts_per_token == 0)
        ppi_needed(fields, "num_experts_per_tok");
    ppi_read_shared(fields, &stack.experts, "n_shared_experts", 0);
    ppi_read_dense_layers(fields, &stack, 0);
    stack.first_window = ppi_count_or(fields, "max_window_layers", 0, 62);
    ppi_require_count(fields, "moe_layer_freq", 1);
    ppi_ignore(fields, "use_sliding_window");
    ppi_add_layers(fields, draft, &stack);
}

/* Ling: its classes come with the models. Files of Ling 2.0 may have the type of those before it, and say what they have. */
static void read_bailing(struct ppi_fields *fields, struct ppi_draft *draft, bool is_second)
{
    static const struct ppi_family_class class = {.sizes = {157184, 2048, 5120, 20, 16, 0, 0}, .traits = 0};
    static const ppsched_block experts = {.experts = 256, .experts_per_token = 8};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    read_routed(fields, &stack, "num_experts|num_local_experts", &experts);
    ppi_read_shared(fields, &stack.experts, "num_shared_experts", 0);
    ppi_read_dense_layers(fields, &stack, 0);
    if (ppi_switch_or(fields, "use_qk_norm", is_second))
        stack.attention.flags |= PPSCHED_BLOCK_FLAG_QK_NORM;
    if (ppi_switch_or(fields, "use_qkv_bias", false))
        stack.attention.flags |= PPSCHED_BLOCK_FLAG_BIAS;
    if (ppi_switch_or(fields, "use_bias", false))
        stack.attention.flags |= PPSCHED_BLOCK_FLAG_OUTPUT_BIAS;
    if (ppi_switch_or(fields, "moe_router_enable_expert_bias", is_second))
        stack.experts.flags |= PPSCHED_BLOCK_FLAG_ROUTER_BIAS;
    if (stack.experts.shared_width > 0)
        ppi_require_count(fields, "moe_shared_expert_intermediate_size", stack.experts.width);
    ppi_require_switch(fields, "use_rmsnorm", true);
    ppi_require_switch(fields, "moe_router_enable_shared_expert", true);
    ppi_add_layers(fields, draft, &stack);
}

void ppi_family_bailing_moe(struct ppi_fields *fields, struct ppi_draft *draft)
{
    read_bailing(fields, draft, false);
}

void ppi_family_bailing_moe_v2(struct ppi_fields *fields, struct ppi_draft *draft)
{
    read_bailing(fields, draft, true);
}

/* The bias of the router is one of the class's own; mlp_bias is of shared experts too. */
void ppi_family_hy_v3(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {120832, 4096, 13312, 80, 64, 8, 128},
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_MLP_BIAS | PPI_CLASS_QK_NORM};
    static const ppsched_block experts = {
        .experts = 192, .experts_per_token = 8, .width = 1536, .flags = PPSCHED_BLOCK_FLAG_ROUTER_BIAS};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    read_routed(fields, &stack, "num_experts|num_local_experts", &experts);
    ppi_read_shared(fields, &stack.experts, "num_shared_experts", 1);
    ppi_read_widths(fields, &stack, 1);
    if ((stack.mlp.flags & PPSCHED_BLOCK_FLAG_BIAS) != 0 && stack.experts.shared_width > 0)
        stack.experts.extra_parameters = 2 * (uint64_t)stack.experts.shared_width + draft->info.hidden_size;
    ppi_require_switch(fields, "qk_norm", true);
    ppi_add_layers(fields, draft, &stack);
}

/* --- ERNIE 4.5 --- */

/* One switch for all biases but those of routed experts, the output's included. */
static void read_ernie_biases(struct ppi_fields *fields, struct ppi_draft *draft, struct ppi_stack *stack)
{
    if (!ppi_switch_or(fields, "use_bias", false))
        return;
    stack->attention.flags |= PPSCHED_BLOCK_FLAG_BIAS | PPSCHED_BLOCK_FLAG_OUTPUT_BIAS;
    stack->mlp.flags |= PPSCHED_BLOCK_FLAG_BIAS;
    if (stack->experts.shared_width > 0)
        stack->experts.extra_parameters = 2 * (uint64_t)stack->experts.shared_width + draft->info.hidden_size;
    draft->info.extra_parameters = draft->info.vocabulary_size;
}

/* The last layer with experts; -1 is the last of all. */
static uint32_t read_end(struct ppi_fields *fields, uint32_t layers)
{
    const struct ppi_json_value *end = ppi_field(fields, "moe_layer_end_index");
    if (end == NULL || (end->type == PPI_JSON_NUMBER && end->is_integer && end->integer == -1))
        return layers;
    return ppi_count_or(fields, "moe_layer_end_index", 0, 0) + 1;
}

void ppi_family_ernie4_5_moe(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {103424, 2560, 12288, 28, 20, 4, 0}, .traits = PPI_CLASS_TIED};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    stack.experts = (ppsched_block){.kind = PPSCHED_BLOCK_KIND_EXPERTS,
                                    .flags = PPSCHED_BLOCK_FLAG_GATED | PPSCHED_BLOCK_FLAG_ROUTER_BIAS,
                                    .experts = ppi_count_or(fields, "moe_num_experts|num_experts", 0, 64),
                                    .experts_per_token = ppi_count_or(fields, "moe_k|num_experts_per_tok", 1, 6),
                                    .width = ppi_count_or(fields, "moe_intermediate_size", 1, 1536)};
    ppi_read_shared(fields, &stack.experts, "moe_num_shared_experts", 2);
    stack.first_sparse = ppi_count_or(fields, "moe_layer_start_index", 0, 1);
    stack.end_sparse = read_end(fields, stack.layers);
    stack.sparse_interval = ppi_count_or(fields, "moe_layer_interval", 1, 1);
    stack.sparse_offset = 1;
    stack.has_mtp = true;
    read_ernie_biases(fields, draft, &stack);
    ppi_add_layers(fields, draft, &stack);
}

/* --- Hunyuan --- */

/* A number, or a list of equal ones, one for each layer. */
static uint32_t read_equal(struct ppi_fields *fields, const char *names, uint32_t layers, uint32_t otherwise)
{
    const struct ppi_json_value *given = ppi_field(fields, names);
    if (given == NULL || given->type != PPI_JSON_LIST)
        return ppi_count_or(fields, names, 0, otherwise);
    const struct ppi_json_value *list = ppi_list_of(fields, names, layers);
    for (uint32_t i = 0; list != NULL && i < list->count; i++)
        if (!list->items[i].is_integer || list->items[i].type != PPI_JSON_NUMBER || list->items[i].integer < 0 ||
            list->items[i].integer > INT32_MAX || list->items[i].integer != list->items[0].integer)
            ppi_fields_fail(fields, "%s has different numbers for the layers; only equal ones are supported", names);
    return list != NULL && fields->status == PPSCHED_OK ? (uint32_t)list->items[0].integer : otherwise;
}

/* Routed and shared experts are as wide as intermediate_size. */
void ppi_family_hunyuan_v1_moe(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {290943, 4096, 11008, 32, 32, 0, 0},
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_QK_NORM};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    uint32_t width = stack.mlp.width;
    stack.experts = (ppsched_block){.kind = PPSCHED_BLOCK_KIND_EXPERTS,
                                    .flags = PPSCHED_BLOCK_FLAG_GATED,
                                    .experts = read_equal(fields, "num_experts|num_local_experts", stack.layers, 1),
                                    .experts_per_token = read_equal(fields, "moe_topk|num_experts_per_tok", stack.layers, 1),
                                    .width = width,
                                    .shared_width = width};
    if (read_equal(fields, "moe_intermediate_size", stack.layers, width) != width ||
        read_equal(fields, "num_shared_expert", stack.layers, 1) != 1)
        ppi_fields_fail(fields,
                        "moe_intermediate_size must be intermediate_size, and num_shared_expert 1; others are not supported");
    ppi_require_count(fields, "moe_layer_num_skipped", 0);
    ppi_require_switch(fields, "use_mixed_mlp_moe", true);
    ppi_require_switch(fields, "use_qk_norm", true);
    ppi_require_switch(fields, "use_cla", false);
    if (stack.attention.head_size > 0)
        ppi_require_count(fields, "attention_head_dim", stack.attention.head_size);
    ppi_ignore(fields, "cla_share_factor");
    ppi_add_layers(fields, draft, &stack);
}
