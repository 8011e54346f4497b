/* SPDX-License-Identifier: Apache-2.0 */
/* Families in which attention and feed-forward of a layer read the same normed input. */
#include "description/families/common.h"
#include "description/families/functions.h"

static void put_side_by_side(struct ppi_stack *stack)
{
    stack->mlp.flags |= PPSCHED_BLOCK_FLAG_PARALLEL;
    stack->experts.flags |= PPSCHED_BLOCK_FLAG_PARALLEL;
}

void ppi_family_cohere(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {256000, 8192, 22528, 40, 64, 0, 0},
                                                  .traits = PPI_CLASS_TIED | PPI_CLASS_BIAS};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    put_side_by_side(&stack);
    if (ppi_switch_or(fields, "use_qk_norm", false)) /* each head has weights of its own */
        stack.attention.flags |= PPSCHED_BLOCK_FLAG_QK_NORM_ALL;
    ppi_ignore(fields, "layer_norm_eps");
    ppi_add_layers(fields, draft, &stack);
}

/* How often attention is full, if layer_types does not say. */
static void read_turns(struct ppi_fields *fields, struct ppi_stack *stack)
{
    stack->interval = ppi_count_or(fields, "sliding_window_pattern|layer_switch", 1, 4);
    stack->offset = 1;
}

void ppi_family_cohere2(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {256000, 8192, 22528, 40, 64, 0, 0},
                                                  .window = 4096,
                                                  .traits = PPI_CLASS_TIED | PPI_CLASS_BIAS | PPI_CLASS_WINDOW};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    put_side_by_side(&stack);
    read_turns(fields, &stack);
    ppi_require_switch(fields, "use_gated_activation", true);
    ppi_require_switch(fields, "use_parallel_block", true);
    ppi_ignore(fields, "layer_norm_eps|order_of_interleaved_layers|use_embedding_sharing|use_parallel_embedding");
    ppi_add_layers(fields, draft, &stack);
}

/* Full attention comes in turns of its own in the first layers, which have no experts. */
void ppi_family_cohere2_moe(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {256000, 8192, 22528, 40, 64, 0, 128},
                                                  .window = 4096,
                                                  .traits = PPI_CLASS_TIED | PPI_CLASS_BIAS | PPI_CLASS_WINDOW};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    uint32_t first_turn = ppi_count_or(fields, "prefix_dense_sliding_window_pattern", 1, 1);
    read_turns(fields, &stack);
    stack.experts = ppi_read_experts(fields, "num_experts|num_local_experts", 8, 2, stack.mlp.width);
    ppi_require_count(fields, "moe_intermediate_size", stack.mlp.width);
    ppi_read_shared(fields, &stack.experts, "num_shared_experts", 0);
    stack.mlp.width = ppi_count_or(fields, "prefix_dense_intermediate_size", 1, stack.mlp.width);
    ppi_read_dense_layers(fields, &stack, 0);
    put_side_by_side(&stack);
    ppi_ignore(fields, "layer_norm_eps|shared_expert_combination_strategy");
    for (uint32_t i = 0; i < stack.layers && fields->status == PPSCHED_OK && fields->missing_count == 0; i++) {
        bool is_first = i < stack.first_sparse;
        uint32_t place = is_first ? i : i - stack.first_sparse, turn = is_first ? first_turn : stack.interval;
        ppi_add_layer(draft, &stack, i, ppi_type_is(stack.types, i, "sliding_attention", (place + 1) % turn != 0));
    }
}

/* LayerNorm, no gates, and biases everywhere, of the output too. */
void ppi_family_phi(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {51200, 2048, 8192, 24, 32, 0, 0},
                                                  .traits = PPI_CLASS_ALWAYS_BIAS | PPI_CLASS_NO_GATE};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    put_side_by_side(&stack);
    stack.attention.flags |= PPSCHED_BLOCK_FLAG_OUTPUT_BIAS;
    stack.mlp.flags |= PPSCHED_BLOCK_FLAG_BIAS;
    draft->info.flags |= PPSCHED_DESCRIPTION_FLAG_NORM_BIAS;
    draft->info.extra_parameters = draft->info.vocabulary_size;
    ppi_require_switch(fields, "qk_layernorm", false);
    ppi_add_layers(fields, draft, &stack);
}
