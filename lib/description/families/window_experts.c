/* SPDX-License-Identifier: Apache-2.0 */
/* Families with experts in which some layers see a window or a chunk: gpt-oss, Llama 4, AFMoE, Mellum, Kolibri. */
#include "description/families/common.h"
#include "description/families/functions.h"

/* Biases everywhere, of experts and router too, and a sink for each head. */
void ppi_family_gpt_oss(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {201088, 2880, 2880, 36, 64, 8, 64},
                                                  .window = 128,
                                                  .interval = 2,
                                                  .offset = 1,
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_IS_BIASED | PPI_CLASS_WINDOW};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    stack.attention.flags |= PPSCHED_BLOCK_FLAG_SINKS;
    stack.windowed.flags |= PPSCHED_BLOCK_FLAG_SINKS;
    stack.experts = (ppsched_block){.kind = PPSCHED_BLOCK_KIND_EXPERTS,
                                    .flags = PPSCHED_BLOCK_FLAG_GATED | PPSCHED_BLOCK_FLAG_BIAS |
                                             PPSCHED_BLOCK_FLAG_ROUTER_BIAS,
                                    .experts = ppi_count_or(fields, "num_local_experts|num_experts", 1, 128),
                                    .experts_per_token = ppi_count_or(fields, "num_experts_per_tok|experts_per_token", 1, 4),
                                    .width = stack.mlp.width};
    ppi_ignore(fields, "swiglu_limit|swiglu_alpha");
    ppi_add_layers(fields, draft, &stack);
}

/* --- Llama 4 --- */

/* Of layers with chunks: by layer_types, by no_rope_layers, or all but each so many. */
struct chunk_pattern {
    const struct ppi_json_value *types, *has_rope;
    uint32_t interval;
};

static struct chunk_pattern read_chunks(struct ppi_fields *fields, struct ppi_stack *stack)
{
    static const char *const allowed[] = {"full_attention", "chunked_attention", NULL};
    struct chunk_pattern pattern = {.types = ppi_types_of(fields, "layer_types", stack->layers, allowed),
                                    .has_rope = ppi_list_of(fields, "no_rope_layers", stack->layers),
                                    .interval = ppi_count_or(fields, "no_rope_layer_interval", 1, 4)};
    stack->windowed = stack->attention;
    stack->windowed.chunk = ppi_is_null(fields, "attention_chunk_size") ? 0
                                                                        : ppi_count_or(fields, "attention_chunk_size", 0, 8192);
    return pattern;
}

static bool has_chunks(const struct chunk_pattern *pattern, uint32_t layer)
{
    bool otherwise = pattern->has_rope != NULL ? ppi_json_in_use(&pattern->has_rope->items[layer])
                                               : (layer + 1) % pattern->interval != 0;
    return ppi_type_is(pattern->types, layer, "chunked_attention", otherwise);
}

static void read_llama4_experts(struct ppi_fields *fields, struct ppi_stack *stack)
{
    stack->experts = (ppsched_block){.kind = PPSCHED_BLOCK_KIND_EXPERTS,
                                     .flags = PPSCHED_BLOCK_FLAG_GATED,
                                     .experts = ppi_count_or(fields, "num_local_experts|num_experts", 1, 16),
                                     .experts_per_token = ppi_count_or(fields, "num_experts_per_tok", 1, 1),
                                     .width = ppi_size_or(fields, "intermediate_size", 8192)};
    stack->experts.shared_width = stack->experts.width;
    stack->mlp.width = ppi_count_or(fields, "intermediate_size_mlp", 1, 16384);
    stack->sparse_interval = ppi_count_or(fields, "interleave_moe_layer_step", 1, 1);
    stack->sparse_offset = 1;
    stack->sparse = ppi_integers(fields, "moe_layers");
}

/* Norms of queries and keys have no weights; experts have a width of their own, and one is shared. */
void ppi_family_llama4(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {202048, 5120, 0, 48, 40, 8, 128},
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_OWN_WIDTH | PPI_CLASS_OWN_TYPES};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    if (ppi_switch_or(fields, "use_qk_norm", true))
        stack.attention.flags |= PPSCHED_BLOCK_FLAG_QK_NORM | PPSCHED_BLOCK_FLAG_FREE_NORMS;
    struct chunk_pattern pattern = read_chunks(fields, &stack);
    read_llama4_experts(fields, &stack);
    for (uint32_t i = 0; i < stack.layers && fields->status == PPSCHED_OK && fields->missing_count == 0; i++)
        ppi_add_layer(draft, &stack, i, has_chunks(&pattern, i));
}

/* --- others --- */

void ppi_family_afmoe(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {200192, 2048, 6144, 32, 16, 0, 128},
                                                  .window = 1024,
                                                  .offset = 1,
                                                  .norms = 2,
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_QK_NORM | PPI_CLASS_OUTPUT_GATE |
                                                            PPI_CLASS_WINDOW};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    stack.interval = ppi_count_or(fields, "global_attn_every_n_layers", 1, 4);
    stack.experts = ppi_read_experts(fields, "num_experts|num_local_experts", 64, 6, 1408);
    stack.experts.flags |= PPSCHED_BLOCK_FLAG_ROUTER_BIAS;
    stack.experts.norms = 2;
    ppi_read_shared(fields, &stack.experts, "num_shared_experts", 2);
    stack.first_sparse = ppi_count_or(fields, "num_dense_layers", 0, 1);
    ppi_add_layers(fields, draft, &stack);
}

void ppi_family_kolibri1(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {128000, 2560, 0, 50, 48, 4, 128},
                                                  .window = 513,
                                                  .interval = 5,
                                                  .offset = 1,
                                                  .norms = 2,
                                                  .traits = PPI_CLASS_QK_NORM | PPI_CLASS_WINDOW | PPI_CLASS_OWN_WIDTH};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    stack.experts = ppi_read_experts(fields, "num_experts|num_local_experts", 384, 6, 512);
    stack.experts.flags |= PPSCHED_BLOCK_FLAG_ROUTER_BIAS;
    stack.experts.norms = 2;
    stack.experts.shared_width = ppi_count_or(fields, "shared_expert_intermediate_size", 0, 512);
    ppi_add_layers(fields, draft, &stack);
}

/* Without layer_types no layer has a window. */
void ppi_family_mellum(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {98304, 2304, 7168, 28, 32, 4, 128},
                                                  .window = 1024,
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_QK_NORM | PPI_CLASS_WINDOW};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    stack.end_window = 0;
    stack.experts = ppi_read_experts(fields, "num_experts|num_local_experts", 64, 8, 896);
    ppi_read_widths(fields, &stack, 0);
    ppi_add_layers(fields, draft, &stack);
    const ppsched_block mtp[] = {stack.windowed, stack.experts};
    ppi_read_mtp(fields, draft, "num_nextn_predict_layers|num_mtp_layers", mtp, 2);
    ppi_ignore(fields, "mtp_layer_types|mtp_mlp_layer_types");
}
