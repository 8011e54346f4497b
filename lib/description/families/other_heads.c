/* SPDX-License-Identifier: Apache-2.0 */
/* Families with experts in which layers with a window have other heads than those without: MiMo-V2, Step 3.5, Laguna. */
#include <string.h>

#include "description/families/common.h"
#include "description/families/functions.h"

/* --- MiMo-V2 --- */

/* Of layers with a window: twice as many key-value heads, and a sink for each head, if the file does not say. */
static void read_mimo_heads(struct ppi_fields *fields, struct ppi_stack *stack)
{
    ppsched_block *full = &stack->attention, *window = &stack->windowed;
    full->value_size = ppi_count_or(fields, "v_head_dim", 1, 128);
    *window = *full;
    window->window = ppi_count_or(fields, "sliding_window|sliding_window_size", 1, 129);
    if (ppi_field(fields, "sliding_window_size") != NULL)
        window->window++;
    window->heads = ppi_count_or(fields, "swa_num_attention_heads", 1, full->heads);
    window->key_value_heads = ppi_count_or(fields, "swa_num_key_value_heads", 1, 2 * full->key_value_heads);
    window->head_size = ppi_count_or(fields, "swa_head_dim", 1, full->head_size);
    window->value_size = ppi_count_or(fields, "swa_v_head_dim", 1, full->value_size);
    if (ppi_switch_or(fields, "add_swa_attention_sink_bias", true))
        window->flags |= PPSCHED_BLOCK_FLAG_SINKS;
    if (ppi_switch_or(fields, "add_full_attention_sink_bias", false))
        full->flags |= PPSCHED_BLOCK_FLAG_SINKS;
    ppi_ignore(fields, "attention_chunk_size");
}

/* Lists of 0 and 1 for the layers, of older files. */
static bool is_on(const struct ppi_json_value *list, uint32_t layer, bool otherwise)
{
    return list != NULL && layer < list->count ? ppi_json_in_use(&list->items[layer]) : otherwise;
}

void ppi_family_mimo_v2_flash(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const char *const allowed[] = {"full_attention", "sliding_attention", NULL};
    static const struct ppi_family_class class = {.sizes = {152576, 4096, 16384, 48, 64, 4, 192},
                                                  .traits = PPI_CLASS_INPUT_BIAS | PPI_CLASS_OWN_TYPES};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    stack.types = ppi_types_of(fields, "layer_types", stack.layers, allowed);
    stack.experts = ppi_read_experts(fields, "n_routed_experts|num_local_experts", 256, 8, 2048);
    stack.experts.flags |= PPSCHED_BLOCK_FLAG_ROUTER_BIAS;
    ppi_read_shared(fields, &stack.experts, "n_shared_experts", 0);
    read_mimo_heads(fields, &stack);
    ppi_read_widths(fields, &stack, 1);
    const struct ppi_json_value *windows = ppi_list_of(fields, "hybrid_layer_pattern", stack.layers);
    const struct ppi_json_value *sparse = ppi_list_of(fields, "moe_layer_freq", stack.layers);
    for (uint32_t i = 0; i < stack.layers && fields->status == PPSCHED_OK && fields->missing_count == 0; i++) {
        bool has_window = ppi_type_is(stack.types, i, allowed[1], is_on(windows, i, i > 0 && (i + 1) % 6 != 0));
        bool has_experts = ppi_type_is(stack.widths, i, "sparse", is_on(sparse, i, i >= stack.first_sparse));
        const ppsched_block blocks[] = {has_window ? stack.windowed : stack.attention, has_experts ? stack.experts : stack.mlp};
        ppi_draft_add_layer(draft, blocks, 2);
    }
}

/* --- gates for each head --- */

/* A gate for each head, or for each element. */
static void read_gating(struct ppi_fields *fields, struct ppi_stack *stack)
{
    const struct ppi_json_value *gating = ppi_field(fields, "gating");
    bool is_text = gating != NULL && gating->type == PPI_JSON_TEXT;
    bool is_per_head = is_text ? strcmp(gating->text, "per-head") == 0 : ppi_switch_or(fields, "gating", true);
    stack->attention.flags |= is_per_head ? PPSCHED_BLOCK_FLAG_HEAD_GATE : PPSCHED_BLOCK_FLAG_OUTPUT_GATE;
    stack->windowed.flags = stack->attention.flags;
}

void ppi_family_laguna(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {100352, 2048, 8192, 40, 48, 8, 128},
                                                  .window = 512,
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_QK_NORM | PPI_CLASS_WINDOW};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    const struct ppi_json_value *heads = ppi_list_of(fields, "num_attention_heads_per_layer", stack.layers);
    read_gating(fields, &stack);
    stack.end_window = 0;
    stack.experts = ppi_read_experts(fields, "num_experts|num_local_experts", 256, 8, 512);
    stack.experts.flags |= PPSCHED_BLOCK_FLAG_ROUTER_BIAS;
    stack.experts.shared_width = ppi_count_or(fields, "shared_expert_intermediate_size", 0, 512);
    ppi_read_widths(fields, &stack, 1);
    ppi_require_switch(fields, "moe_apply_router_weight_on_input", false);
    for (uint32_t i = 0; i < stack.layers && fields->status == PPSCHED_OK && fields->missing_count == 0; i++) {
        struct ppi_stack own = stack;
        if (heads != NULL &&
            (!heads->items[i].is_integer || heads->items[i].integer < 1 || heads->items[i].integer > INT32_MAX))
            ppi_fields_fail(fields, "num_attention_heads_per_layer must have integers above 0");
        else if (heads != NULL)
            own.attention.heads = own.windowed.heads = (uint32_t)heads->items[i].integer;
        ppi_add_layer(draft, &own, i, ppi_type_is(stack.types, i, "sliding_attention", false));
    }
}

/* --- Step 3.5 --- */

/* A list with a text for each layer, and perhaps for layers of multi-token prediction after them. */
static const struct ppi_json_value *read_long_list(struct ppi_fields *fields, const char *name, uint32_t layers, uint32_t mtp)
{
    const struct ppi_json_value *given = ppi_field(fields, name);
    bool is_long = given != NULL && given->type == PPI_JSON_LIST && given->count == layers + mtp;
    return is_long ? given : ppi_list_of(fields, name, layers);
}

/* Whether the text "3,4,5" or the list has the number; without both, from 3 on. */
static bool is_enumerated(const struct ppi_json_value *numbers, uint32_t layer, uint32_t dense)
{
    if (numbers == NULL)
        return layer >= dense;
    if (numbers->type != PPI_JSON_TEXT)
        return ppi_list_has(numbers, layer);
    for (const char *at = numbers->text; *at != '\0'; at += strcspn(at, "0123456789")) {
        uint32_t number = 0;
        for (; *at >= '0' && *at <= '9'; at++)
            number = number > 1000000 ? number : 10 * number + (uint32_t)(*at - '0');
        if (number == layer)
            return true;
    }
    return false;
}

/* Heads of layers with a window: in the field of today's class, in an object of older files, or by layer. */
static void read_step_heads(struct ppi_fields *fields, struct ppi_draft *draft, struct ppi_stack *stack)
{
    struct ppi_fields part;
    ppi_part_start(&part, fields, "attention_other_setting");
    uint32_t heads = ppi_count_or(&part, "num_attention_heads", 1, stack->attention.heads);
    uint32_t groups = ppi_count_or(&part, "num_attention_groups", 1, stack->attention.key_value_heads);
    uint32_t size = ppi_count_or(&part, "head_dim", 1, stack->attention.head_size);
    ppi_ignore(&part, "attention_type|true_head_dim");
    ppi_part_end(fields, &part, draft);
    stack->windowed.heads = ppi_count_or(fields, "num_sliding_attention_heads", 1, heads);
    stack->windowed.key_value_heads = groups;
    stack->windowed.head_size = size;
}

static void read_step_experts(struct ppi_fields *fields, struct ppi_stack *stack)
{
    stack->experts = (ppsched_block){
        .kind = PPSCHED_BLOCK_KIND_EXPERTS,
        .flags = PPSCHED_BLOCK_FLAG_GATED,
        .experts = ppi_count_or(fields, "n_routed_experts|moe_num_experts|num_experts|num_local_experts", 1, 288),
        .experts_per_token = ppi_count_or(fields, "num_experts_per_tok|moe_top_k", 1, 8),
        .width = ppi_count_or(fields, "moe_intermediate_size", 1, 1280),
        .shared_width = ppi_count_or(fields, "share_expert_dim|share_expert_dims", 0, 1280)};
    if (ppi_switch_or(fields, "use_moe_router_bias", true))
        stack->experts.flags |= PPSCHED_BLOCK_FLAG_ROUTER_BIAS;
    ppi_require_switch(fields, "use_moe", true);
    ppi_require_switch(fields, "mlp_bias", false);    /* which shared experts have, too */
    ppi_require_count(fields, "n_shared_experts", 1); /* as wide as share_expert_dim */
    ppi_ignore(fields, "swiglu_limits|swiglu_limits_shared|mtp_layer_types|mtp_mlp_layer_types");
}

static ppsched_block step_attention(struct ppi_fields *fields, const struct ppi_stack *stack, uint32_t layer, bool has_window)
{
    ppsched_block block = has_window ? stack->windowed : stack->attention;
    block.heads = ppi_read_override(fields, layer, "num_attention_heads", NULL, block.heads);
    return block;
}

void ppi_family_step3p5(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {128815, 4096, 11264, 45, 64, 8, 128},
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_QK_NORM | PPI_CLASS_OWN_TYPES};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    uint32_t mtp = ppi_count_or(fields, "num_nextn_predict_layers|num_mtp_layers", 0, 0);
    stack.attention.key_value_heads = ppi_count_or(fields, "num_attention_groups|num_key_value_heads", 1, 8);
    ppi_read_window(fields, &stack, 0);
    read_gating(fields, &stack);
    ppi_require_switch(fields, "use_head_wise_attn_gate", true);
    ppi_require_switch(fields, "use_qk_norm", true);
    read_step_heads(fields, draft, &stack);
    read_step_experts(fields, &stack);
    const struct ppi_json_value *types = read_long_list(fields, "layer_types", stack.layers, mtp);
    const struct ppi_json_value *widths = read_long_list(fields, "mlp_layer_types", stack.layers, mtp);
    const struct ppi_json_value *sparse = ppi_field(fields, "moe_layers_enum");
    uint32_t dense = ppi_count_or(fields, "first_k_dense_replace", 0, 3);
    ppsched_block blocks[2];
    for (uint32_t i = 0; i < stack.layers && fields->status == PPSCHED_OK && fields->missing_count == 0; i++) {
        blocks[0] = step_attention(fields, &stack, i, ppi_type_is(types, i, "sliding_attention", false));
        blocks[1] = ppi_type_is(widths, i, "sparse", is_enumerated(sparse, i, dense)) ? stack.experts : stack.mlp;
        ppi_draft_add_layer(draft, blocks, 2);
    }
    const ppsched_block *last = types != NULL && types->count > stack.layers &&
                                        ppi_type_is(types, stack.layers, "sliding_attention", false)
                                    ? &stack.windowed
                                    : &stack.attention;
    const ppsched_block after[] = {*last, stack.mlp};
    ppi_add_mtp(draft, mtp, after, 2);
}
