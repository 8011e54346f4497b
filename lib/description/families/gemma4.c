/* SPDX-License-Identifier: Apache-2.0 */
/* Gemma 4: layers that see all have wider heads, the last layers may have no keys and values of their own, experts stand
 * next to the MLP, and a table of further embeddings may go into each layer. */
#include "description/families/common.h"
#include "description/families/functions.h"

/* Sizes of layers without a window, and how many of the last layers share keys and values. */
struct gemma4_parts {
    struct ppi_stack stack;
    uint32_t shared_layers, extra_width; /* width of the further embeddings; 0: none */
    bool has_wide_mlp;
};

/* --- parts --- */

/* Layers without a window: other heads, and the same matrix for keys and values if the file says so. */
static void read_heads(struct ppi_fields *fields, struct ppi_stack *stack)
{
    bool is_listed = ppi_json_member_of(fields->object, "per_layer_config") != NULL; /* then it has what differs */
    uint32_t heads = stack->attention.key_value_heads;
    bool is_key = ppi_switch_or(fields, "attention_k_eq_v", false);
    uint32_t global = ppi_count_or(fields, "num_global_key_value_heads", 1, heads);
    uint32_t size = ppi_count_or(fields, "global_head_dim", 1, 512);
    if (is_key)
        stack->attention.flags |= PPSCHED_BLOCK_FLAG_VALUE_IS_KEY;
    if (is_listed)
        return;
    stack->attention.head_size = size;
    if (is_key)
        stack->attention.key_value_heads = global;
}

/* Next to the MLP, with three norms of their own, a scale for each channel before the router and one for each expert after
 * it. */
static void read_experts(struct ppi_fields *fields, struct ppi_stack *stack, uint32_t hidden)
{
    bool has_experts = ppi_switch_or(fields, "enable_moe_block", false);
    if (has_experts) {
        stack->experts = (ppsched_block){.kind = PPSCHED_BLOCK_KIND_EXPERTS,
                                         .flags = PPSCHED_BLOCK_FLAG_GATED | PPSCHED_BLOCK_FLAG_PARALLEL,
                                         .norms = 3,
                                         .experts = ppi_needed(fields, "num_experts|num_local_experts"),
                                         .experts_per_token = ppi_needed(fields, "top_k_experts|num_experts_per_tok"),
                                         .width = ppi_needed(fields, "moe_intermediate_size|expert_intermediate_size")};
        stack->experts.extra_parameters = (uint64_t)hidden + stack->experts.experts;
    }
    ppi_ignore(
        fields,
        "num_experts|num_local_experts|top_k_experts|num_experts_per_tok|moe_intermediate_size|expert_intermediate_size");
}

/* A table with an entry for each layer, a matrix from the hidden size to all of them, and a norm; in each layer a gate, a
 * matrix back, and a norm. */
static void read_embeddings(struct ppi_fields *fields, struct ppi_draft *draft, struct gemma4_parts *parts)
{
    uint32_t width = ppi_is_null(fields, "hidden_size_per_layer_input")
                         ? 0
                         : ppi_count_or(fields, "hidden_size_per_layer_input", 0, 256);
    uint32_t rows = ppi_count_or(fields, "vocab_size_per_layer_input", 1, 262144);
    double all = (double)width * parts->stack.layers;
    parts->extra_width = draft->info.layer_input = width;
    if (width > 0)
        draft->info.extra_parameters = ppi_parameters(all * rows + all * draft->info.hidden_size + width);
}

/* --- layers --- */

static void add_layer(struct ppi_fields *fields, struct ppi_draft *draft, const struct gemma4_parts *parts, uint32_t layer)
{
    const struct ppi_stack *stack = &parts->stack;
    uint64_t hidden = draft->info.hidden_size;
    bool is_last = layer + 1 == stack->layers, is_shared = layer + parts->shared_layers >= stack->layers;
    bool has_window = !is_last && ppi_type_is(stack->types, layer, "sliding_attention", (layer + 1) % 6 != 0);
    ppsched_block blocks[3] = {has_window ? stack->windowed : stack->attention, stack->mlp, stack->experts};
    blocks[0].head_size = ppi_read_override(fields, layer, "head_dim", "num_key_value_heads", blocks[0].head_size);
    blocks[0].key_value_heads = ppi_read_override(fields, layer, "num_key_value_heads", "head_dim", blocks[0].key_value_heads);
    blocks[0].extra_parameters = 1; /* a scale of the layer's output */
    if (is_shared) {
        blocks[0].flags |= PPSCHED_BLOCK_FLAG_SHARED_KEYS;
        blocks[0].flags &= ~(uint32_t)PPSCHED_BLOCK_FLAG_VALUE_IS_KEY;
        blocks[1].width *= parts->has_wide_mlp ? 2 : 1;
    }
    if (parts->extra_width > 0)
        blocks[1].extra_parameters = 2 * hidden * parts->extra_width + hidden;
    ppi_draft_add_layer(draft, blocks, stack->experts.experts > 0 ? 3 : 2);
}

static void read_layers(struct ppi_fields *fields, struct ppi_draft *draft, struct gemma4_parts *parts)
{
    parts->shared_layers = ppi_count_or(fields, "num_kv_shared_layers", 0, 0);
    parts->has_wide_mlp = ppi_switch_or(fields, "use_double_wide_mlp", false);
    const struct ppi_json_value *sight = ppi_field(fields, "use_bidirectional_attention");
    if (ppi_json_in_use(sight) && !ppi_entry_is(&(struct ppi_json_value){.count = 1, .items = sight}, 0, "vision", false))
        ppi_fields_fail(fields, "use_bidirectional_attention is set for text; for a %s only causal layers are supported",
                        fields->family);
    for (uint32_t i = 0; i < parts->stack.layers && fields->status == PPSCHED_OK && fields->missing_count == 0; i++)
        add_layer(fields, draft, parts, i);
}

static const struct ppi_family_class gemma4 = {.sizes = {262144, 2304, 9216, 30, 8, 4, 256},
                                               .norms = 2,
                                               .window = 512,
                                               .traits = PPI_CLASS_TIED | PPI_CLASS_BIAS | PPI_CLASS_QK_NORM |
                                                         PPI_CLASS_WINDOW};

void ppi_family_gemma4(struct ppi_fields *fields, struct ppi_draft *draft)
{
    struct gemma4_parts parts = {.stack = ppi_read_stack(fields, draft, &gemma4)};
    read_heads(fields, &parts.stack);
    read_experts(fields, &parts.stack, draft->info.hidden_size);
    read_embeddings(fields, draft, &parts);
    read_layers(fields, draft, &parts);
}

/* Without experts and further embeddings. */
void ppi_family_gemma4_unified(struct ppi_fields *fields, struct ppi_draft *draft)
{
    struct ppi_family_class class = gemma4;
    class.window = 1024;
    struct gemma4_parts parts = {.stack = ppi_read_stack(fields, draft, &class)};
    read_heads(fields, &parts.stack);
    read_layers(fields, draft, &parts);
}
