/* SPDX-License-Identifier: Apache-2.0 */
/* Families with latent attention in all layers: DeepSeek-V2 and V3, Kimi K2, Mistral 4, GLM-4.7-Flash, A.X K1, LongCat-Flash,
 * MiniCPM3, Youtu. */
#include "description/families/common.h"
#include "description/families/functions.h"

/* --- parts --- */

/* A stack with latent attention in place of the plain one. `ranks`: sizes that the file may leave out; 0: it must say them. */
static struct ppi_stack read_stack(struct ppi_fields *fields, struct ppi_draft *draft, const struct ppi_family_class *class,
                                   const ppsched_block *ranks)
{
    struct ppi_stack stack = ppi_read_stack(fields, draft, class);
    static const struct {
        const char *name;
        size_t offset;
    } sizes[] = {{"kv_lora_rank", offsetof(ppsched_block, key_value_rank)},
                 {"qk_nope_head_dim", offsetof(ppsched_block, head_size)},
                 {"qk_rope_head_dim", offsetof(ppsched_block, rope_size)},
                 {"v_head_dim", offsetof(ppsched_block, value_size)}};
    ppsched_block block = {
        .kind = PPSCHED_BLOCK_KIND_LATENT_ATTENTION, .heads = stack.attention.heads, .flags = stack.attention.flags};
    block.query_rank = ppi_count_or(fields, "q_lora_rank", 0, ppi_is_null(fields, "q_lora_rank") ? 0 : ranks->query_rank);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint32_t otherwise = *(const uint32_t *)(const void *)((const char *)ranks + sizes[i].offset);
        uint32_t *size = (uint32_t *)(void *)((char *)&block + sizes[i].offset);
        *size = otherwise > 0 ? ppi_count_or(fields, sizes[i].name, 1, otherwise) : ppi_needed(fields, sizes[i].name);
    }
    if (fields->status == PPSCHED_OK && fields->missing_count == 0)
        ppi_require_count(fields, "qk_head_dim", block.head_size + block.rope_size);
    stack.attention = block;
    return stack;
}

/* Experts with the names of DeepSeek's, and shared ones. */
static void read_experts(struct ppi_fields *fields, struct ppi_stack *stack, const ppsched_block *otherwise)
{
    stack->experts = ppi_read_experts(fields, "n_routed_experts|num_local_experts|num_experts", otherwise->experts,
                                      otherwise->experts_per_token, otherwise->width);
    stack->experts.flags |= otherwise->flags;
    ppi_read_shared(fields, &stack->experts, "n_shared_experts", 1);
    stack->has_mtp = true;
}

/* --- DeepSeek --- */

static const struct ppi_family_class deepseek = {.sizes = {129280, 7168, 18432, 61, 128, 0, 0},
                                                 .traits = PPI_CLASS_BIAS | PPI_CLASS_OWN_WIDTH};

/* How many shared experts and first layers without experts there are in files that do not say. */
static void read_deepseek(struct ppi_fields *fields, struct ppi_draft *draft, uint32_t shared, uint32_t dense, uint32_t flags)
{
    static const char experts[] = "n_routed_experts|num_local_experts|num_experts";
    static const ppsched_block ranks = {.query_rank = 1536}, part_ranks = {.query_rank = 1536,
                                                                           .key_value_rank = 512,
                                                                           .head_size = 128,
                                                                           .rope_size = 64,
                                                                           .value_size = 128};
    struct ppi_stack stack = read_stack(fields, draft, &deepseek, fields->is_part ? &part_ranks : &ranks);
    stack.mlp.width = ppi_count_or(fields, "intermediate_size", 1, 0);
    stack.experts = (ppsched_block){.kind = PPSCHED_BLOCK_KIND_EXPERTS,
                                    .flags = PPSCHED_BLOCK_FLAG_GATED | flags,
                                    .experts = ppi_count_or(fields, experts, 0, 0)};
    if (ppi_field(fields, experts) == NULL)
        ppi_needed(fields, experts);
    if (stack.experts.experts > 0) {
        stack.experts.width = ppi_needed(fields, "moe_intermediate_size");
        stack.experts.experts_per_token = ppi_needed(fields, "num_experts_per_tok");
    }
    ppi_ignore(fields, "moe_intermediate_size|num_experts_per_tok");
    ppi_read_shared(fields, &stack.experts, "n_shared_experts", shared);
    ppi_read_dense_layers(fields, &stack, dense);
    stack.sparse_interval = ppi_count_or(fields, "moe_layer_freq", 1, 1);
    stack.has_mtp = true;
    ppi_add_layers(fields, draft, &stack);
}

void ppi_family_deepseek_v2(struct ppi_fields *fields, struct ppi_draft *draft)
{
    read_deepseek(fields, draft, 2, 0, 0);
}

void ppi_family_deepseek_v3(struct ppi_fields *fields, struct ppi_draft *draft)
{
    read_deepseek(fields, draft, 1, 3, PPSCHED_BLOCK_FLAG_ROUTER_BIAS);
}

/* --- others with experts --- */

void ppi_family_mistral4(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {131072, 4096, 12288, 36, 32, 32, 0}, .traits = PPI_CLASS_BIAS};
    static const ppsched_block ranks = {
        .query_rank = 1024, .key_value_rank = 256, .head_size = 64, .rope_size = 64, .value_size = 128};
    static const ppsched_block experts = {.experts = 128, .experts_per_token = 4, .width = 2048};
    struct ppi_stack stack = read_stack(fields, draft, &class, &ranks);
    read_experts(fields, &stack, &experts);
    ppi_read_dense_layers(fields, &stack, 0);
    ppi_add_layers(fields, draft, &stack);
}

void ppi_family_glm4_moe_lite(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {154880, 2048, 10240, 47, 20, 20, 0}, .traits = PPI_CLASS_BIAS};
    static const ppsched_block ranks = {
        .query_rank = 768, .key_value_rank = 512, .head_size = 192, .rope_size = 64, .value_size = 256};
    static const ppsched_block experts = {
        .experts = 64, .experts_per_token = 4, .width = 1536, .flags = PPSCHED_BLOCK_FLAG_ROUTER_BIAS};
    struct ppi_stack stack = read_stack(fields, draft, &class, &ranks);
    read_experts(fields, &stack, &experts);
    ppi_read_widths(fields, &stack, 1);
    ppi_add_layers(fields, draft, &stack);
}

/* Experts have a norm after them too. */
void ppi_family_axk1(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {163840, 7168, 18432, 61, 64, 64, 0}, .traits = PPI_CLASS_BIAS};
    static const ppsched_block ranks = {
        .query_rank = 1536, .key_value_rank = 512, .head_size = 128, .rope_size = 64, .value_size = 128};
    static const ppsched_block experts = {
        .experts = 192, .experts_per_token = 8, .width = 2048, .flags = PPSCHED_BLOCK_FLAG_ROUTER_BIAS};
    struct ppi_stack stack = read_stack(fields, draft, &class, &ranks);
    read_experts(fields, &stack, &experts);
    stack.experts.norms = 2;
    ppi_read_dense_layers(fields, &stack, 1);
    stack.sparse_interval = ppi_count_or(fields, "moe_layer_freq", 1, 1);
    ppi_add_layers(fields, draft, &stack);
}

/* --- without experts --- */

void ppi_family_minicpm3(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {73448, 2560, 6400, 62, 40, 40, 0},
                                                  .traits = PPI_CLASS_TIED | PPI_CLASS_BIAS | PPI_CLASS_MLP_BIAS};
    static const ppsched_block ranks = {
        .query_rank = 768, .key_value_rank = 256, .head_size = 64, .rope_size = 32, .value_size = 128};
    ppsched_block own = ranks;
    if (ppi_is_null(fields, "v_head_dim") || ppi_field(fields, "v_head_dim") == NULL)
        own.value_size = ppi_count_or(fields, "hidden_size", 1, 2560) / ppi_count_or(fields, "num_attention_heads", 1, 40);
    struct ppi_stack stack = read_stack(fields, draft, &class, &own);
    ppi_add_layers(fields, draft, &stack);
}

void ppi_family_youtu(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {128256, 2048, 6144, 32, 16, 16, 0},
                                                  .traits = PPI_CLASS_TIED | PPI_CLASS_BIAS};
    static const ppsched_block ranks = {
        .query_rank = 1536, .key_value_rank = 512, .head_size = 128, .rope_size = 64, .value_size = 128};
    struct ppi_stack stack = read_stack(fields, draft, &class, &ranks);
    ppi_require_switch(fields, "mlp_bias", false);
    ppi_add_layers(fields, draft, &stack);
}

/* --- LongCat-Flash --- */

static ppsched_block read_longcat_experts(struct ppi_fields *fields)
{
    return (ppsched_block){.kind = PPSCHED_BLOCK_KIND_EXPERTS,
                           .flags = PPSCHED_BLOCK_FLAG_GATED | PPSCHED_BLOCK_FLAG_ROUTER_BIAS | PPSCHED_BLOCK_FLAG_PARALLEL,
                           .experts = ppi_count_or(fields, "n_routed_experts|num_local_experts", 1, 512),
                           .idle_experts = ppi_count_or(fields, "zero_expert_num", 0, 256),
                           .experts_per_token = ppi_count_or(fields, "moe_topk|num_experts_per_tok", 1, 12),
                           .width = ppi_count_or(fields, "expert_ffn_hidden_size|moe_intermediate_size", 1, 2048)};
}

/* A layer is attention, an MLP with experts in parallel, attention and an MLP. */
void ppi_family_longcat_flash(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {131072, 6144, 0, 28, 64, 0, 0},
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_OWN_WIDTH | PPI_CLASS_OWN_LAYERS};
    static const ppsched_block ranks = {
        .query_rank = 1536, .key_value_rank = 512, .head_size = 128, .rope_size = 64, .value_size = 128};
    struct ppi_stack stack = read_stack(fields, draft, &class, &ranks);
    stack.layers = ppi_needed(fields, "num_layers");
    stack.mlp.width = ppi_count_or(fields, "ffn_hidden_size|intermediate_size", 1, 12288);
    stack.experts = read_longcat_experts(fields);
    if (ppi_count_or(fields, "num_hidden_layers", 1, stack.layers) != stack.layers) /* attention counts as layers there */
        ppi_require_count(fields, "num_hidden_layers", ppi_size_product(fields, "num_hidden_layers", 2, stack.layers));
    const ppsched_block blocks[] = {stack.attention, stack.mlp, stack.experts, stack.attention, stack.mlp};
    for (uint32_t i = 0; i < stack.layers && fields->status == PPSCHED_OK && fields->missing_count == 0; i++)
        ppi_draft_add_layer(draft, blocks, 5);
    ppi_read_mtp(fields, draft, "num_nextn_predict_layers", blocks, 2);
    ppi_require_switch(fields, "router_bias", false);
}
