/* SPDX-License-Identifier: Apache-2.0 */
/* Families with an index that selects which tokens a query sees: DeepSeek-V3.2, GLM-5, MiniMax-M3. */
#include <string.h>

#include "description/families/functions.h"
#include "description/families/common_mixers.h"

static const char *const widths_allowed[] = {"sparse", "dense", NULL};

/* What a layer may be made of. */
struct index_parts {
    ppsched_block attention, mlp, experts;
};

/* --- DeepSeek-V3.2, GLM-5 --- */

/* A class: its sizes, and those of its latent attention. */
struct latent_class {
    struct ppi_frame frame;
    ppsched_block attention;
};

static const struct latent_class deepseek = {
    .frame = {.vocabulary = 129280, .hidden = 7168, .width = 18432, .layers = 61, .heads = 128},
    .attention = {
        .query_rank = 1536, .key_value_rank = 512, .head_size = 128, .rope_size = 64, .value_size = 128, .index_heads = 64}};
static const struct latent_class glm = {
    .frame = {.vocabulary = 154880, .hidden = 6144, .width = 12288, .layers = 78, .heads = 64},
    .attention = {
        .query_rank = 2048, .key_value_rank = 512, .head_size = 192, .rope_size = 64, .value_size = 256, .index_heads = 32}};

/* The index makes its queries from the rank of queries. */
static ppsched_block read_latent(struct ppi_fields *fields, const struct latent_class *class)
{
    ppsched_block block = ppi_read_latent(fields, &class->frame, &class->attention);
    block.index_heads = ppi_count_or(fields, "index_n_heads", 1, class->attention.index_heads);
    block.index_size = ppi_count_or(fields, "index_head_dim", 1, 128);
    block.index_tokens = ppi_count_or(fields, "index_topk", 1, 2048);
    if (block.query_rank == 0)
        ppi_fields_fail(fields, "q_lora_rank is 0; the index of a %s needs it", fields->family);
    ppi_ignore(fields, "indexer_rope_interleave|rope_interleave");
    return block;
}

static ppsched_block read_experts(struct ppi_fields *fields)
{
    ppsched_block block = {.kind = PPSCHED_BLOCK_KIND_EXPERTS,
                           .flags = PPSCHED_BLOCK_FLAG_GATED | PPSCHED_BLOCK_FLAG_ROUTER_BIAS,
                           .experts = ppi_count_or(fields, "num_experts|n_routed_experts|num_local_experts", 1, 256),
                           .experts_per_token = ppi_count_or(fields, "num_experts_per_tok", 1, 8),
                           .width = ppi_count_or(fields, "moe_intermediate_size", 1, 2048)};
    uint32_t shared = ppi_count_or(fields, "n_shared_experts", 0, 1);
    block.shared_width = ppi_size_product(fields, "the width of shared experts", shared, block.width);
    return block;
}

static struct index_parts read_latent_parts(struct ppi_fields *fields, struct ppi_draft *draft,
                                            const struct latent_class *class)
{
    ppi_read_frame(fields, draft, &class->frame);
    return (struct index_parts){
        .attention = read_latent(fields, class), .mlp = ppi_read_mlp(fields, &class->frame), .experts = read_experts(fields)};
}

/* Which layers have an index of their own. */
struct index_pattern {
    const struct ppi_json_value *types; /* full, shared; or F, S */
    const char *letters;
    uint32_t interval, offset; /* without these two, each so many layers after the first */
};

static bool has_own_index(const struct index_pattern *pattern, uint32_t layer)
{
    if (pattern->types != NULL)
        return ppi_type_is(pattern->types, layer, "full", false) || ppi_type_is(pattern->types, layer, "F", false);
    if (pattern->letters != NULL)
        return pattern->letters[layer] == 'F';
    return layer + 1 < pattern->offset || (layer + 1 - pattern->offset) % pattern->interval == 0;
}

static void add_latent_layers(struct ppi_fields *fields, struct ppi_draft *draft, const struct index_parts *parts,
                              const struct index_pattern *pattern, uint32_t layers)
{
    static const char *const allowed[] = {"indexed_attention", "full_attention", NULL};
    const struct ppi_json_value *widths = ppi_types_of(fields, "mlp_layer_types", layers, widths_allowed);
    uint32_t dense = ppi_count_or(fields, "first_k_dense_replace", 0, 3);
    ppi_types_of(fields, "layer_types", layers, allowed);
    ppi_require_count(fields, "moe_layer_freq", 1);
    ppi_require_switch(fields, "mlp_bias", false);
    for (uint32_t i = 0; i < layers && fields->status == PPSCHED_OK; i++) {
        ppsched_block blocks[] = {parts->attention, ppi_type_is(widths, i, "sparse", i >= dense) ? parts->experts : parts->mlp};
        if (!has_own_index(pattern, i))
            blocks[0].flags |= PPSCHED_BLOCK_FLAG_SHARED_INDEX;
        if (i == 0 && !has_own_index(pattern, i))
            ppi_fields_fail(fields, "the first layer shares its index; there is no layer before it to share with");
        ppi_draft_add_layer(draft, blocks, 2);
    }
    const ppsched_block mtp[] = {parts->attention, parts->experts};
    ppi_read_mtp(fields, draft, "num_nextn_predict_layers|num_mtp_layers", mtp, 2);
}

void ppi_family_deepseek_v32(struct ppi_fields *fields, struct ppi_draft *draft)
{
    const struct index_pattern pattern = {.interval = 1};
    struct index_parts parts = read_latent_parts(fields, draft, &deepseek);
    add_latent_layers(fields, draft, &parts, &pattern, ppi_read_layers(fields, &deepseek.frame));
}

/* The pattern of letters, one for each layer. */
static const char *read_letters(struct ppi_fields *fields, uint32_t layers)
{
    const char *letters = ppi_text_or(fields, "index_topk_pattern", NULL);
    if (letters != NULL && (strlen(letters) != layers || strspn(letters, "FS") != layers)) {
        ppi_fields_fail(fields, "index_topk_pattern must be F or S for each of the %u layer%p", layers);
        return NULL;
    }
    return letters;
}

/* Layers may share the index of an earlier one: by a list, a pattern, or all but each so many. */
void ppi_family_glm_moe_dsa(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const char *const allowed[] = {"full", "shared", "F", "S", NULL};
    struct index_parts parts = read_latent_parts(fields, draft, &glm);
    uint32_t layers = ppi_read_layers(fields, &glm.frame);
    const struct ppi_json_value *letters = ppi_field(fields, "index_topk_pattern");
    struct index_pattern pattern = {.types = ppi_types_of(fields, "indexer_types", layers, allowed),
                                    .interval = ppi_count_or(fields, "index_topk_freq", 0, 1),
                                    .offset = ppi_count_or(fields, "index_skip_topk_offset", 0, 2)};
    if (pattern.interval == 0)
        pattern.interval = 1;
    if (pattern.types == NULL && letters != NULL && letters->type == PPI_JSON_LIST)
        pattern.types = ppi_types_of(fields, "index_topk_pattern", layers, allowed);
    else if (pattern.types == NULL)
        pattern.letters = read_letters(fields, layers);
    add_latent_layers(fields, draft, &parts, &pattern, layers);
}

/* --- MiniMax-M3 --- */

static const struct ppi_frame minimax = {.vocabulary = 200064, .hidden = 6144, .layers = 60, .heads = 64};

/* It selects blocks of tokens. */
static ppsched_block read_block_index(struct ppi_fields *fields, struct ppi_fields *part, ppsched_block block)
{
    uint32_t heads = ppi_count_or(fields, "index_n_heads", 1, 4), size = ppi_count_or(fields, "index_head_dim", 1, 128);
    uint32_t tokens = ppi_count_or(fields, "index_block_size", 1, 128),
             blocks = ppi_count_or(fields, "index_topk_blocks", 1, 16);
    tokens = ppi_count_or(part, "sparse_block_size", 1, tokens);
    block.index_heads = ppi_count_or(part, "sparse_num_index_heads", 1, heads);
    block.index_size = ppi_count_or(part, "sparse_index_dim", 1, size);
    block.index_tokens = ppi_size_product(fields, "the number of selected tokens", tokens,
                                          ppi_count_or(part, "sparse_topk_blocks", 1, blocks));
    ppi_require_switch(part, "use_sparse_attention", true);
    ppi_ignore(fields, "index_local_blocks");
    ppi_ignore(part, "sparse_local_block|sparse_init_block|sparse_score_type");
    return block;
}

static ppsched_block read_minimax_experts(struct ppi_fields *fields)
{
    ppsched_block block = {.kind = PPSCHED_BLOCK_KIND_EXPERTS,
                           .flags = PPSCHED_BLOCK_FLAG_GATED,
                           .experts = ppi_count_or(fields, "num_local_experts|num_experts", 1, 128),
                           .experts_per_token = ppi_count_or(fields, "num_experts_per_tok", 1, 4),
                           .width = ppi_count_or(fields, "moe_intermediate_size|intermediate_size", 1, 3072)};
    uint32_t shared = ppi_count_or(fields, "shared_intermediate_size", 1, 3072);
    block.shared_width = ppi_size_product(fields, "the width of shared experts", ppi_count_or(fields, "n_shared_experts", 0, 1),
                                          shared);
    if (ppi_switch_or(fields, "use_routing_bias", true))
        block.flags |= PPSCHED_BLOCK_FLAG_ROUTER_BIAS;
    return block;
}

/* Whether the list of numbers has 0 for the layer; `otherwise` without a list. */
static bool is_off(const struct ppi_json_value *list, uint32_t layer, bool otherwise)
{
    if (list == NULL || layer >= list->count)
        return otherwise;
    return !ppi_json_in_use(&list->items[layer]);
}

static void add_minimax_layers(struct ppi_fields *fields, struct ppi_fields *part, struct ppi_draft *draft,
                               const struct index_parts *parts)
{
    static const char *const allowed[] = {"minimax_m3_sparse", "full_attention", NULL};
    ppsched_block indexed = read_block_index(fields, part, parts->attention);
    uint32_t layers = ppi_read_layers(fields, &minimax);
    const struct ppi_json_value *types = ppi_types_of(fields, "layer_types", layers, allowed);
    const struct ppi_json_value *widths = ppi_types_of(fields, "mlp_layer_types", layers, widths_allowed);
    const struct ppi_json_value *indexes = ppi_list_of(part, "sparse_attention_freq", layers);
    const struct ppi_json_value *sparse = ppi_list_of(fields, "moe_layer_freq", layers);
    uint32_t dense = ppi_count_or(fields, "first_k_dense_replace", 0, 0);
    const struct ppi_json_value *no_values = ppi_list_of(part, "sparse_disable_index_value", layers);
    for (uint32_t i = 0; i < layers && fields->status == PPSCHED_OK && part->status == PPSCHED_OK; i++) {
        bool is_indexed = ppi_type_is(types, i, allowed[0], !is_off(indexes, i, true));
        bool is_sparse = ppi_type_is(widths, i, "sparse", !is_off(sparse, i, i < dense));
        if (is_sparse && i < dense)
            ppi_fields_fail(fields, "first_k_dense_replace is %u, and layer %u has experts", dense, i + 1);
        if (is_indexed && is_off(no_values, i, false))
            ppi_fields_fail(fields, "sparse_disable_index_value is 0 for layer %u; an index with values is not supported",
                            i + 1);
        const ppsched_block blocks[] = {is_indexed ? indexed : parts->attention, is_sparse ? parts->experts : parts->mlp};
        ppi_draft_add_layer(draft, blocks, 2);
    }
    const ppsched_block mtp[] = {indexed, parts->experts};
    uint32_t modules = ppi_count_or(fields, "num_mtp_modules", 0, 0); /* some share a layer, where both are given */
    ppi_add_mtp(draft, ppi_count_or(fields, "num_nextn_predict_layers", 0, modules), mtp, 2);
}

void ppi_family_minimax_m3(struct ppi_fields *fields, struct ppi_draft *draft)
{
    struct ppi_fields part;
    ppi_read_frame(fields, draft, &minimax);
    ppi_part_start(&part, fields, "sparse_attention_config");
    struct index_parts parts = {.attention = ppi_read_attention(fields, &minimax, 4, 128),
                                .mlp = ppi_gated_mlp(ppi_count_or(fields, "dense_intermediate_size", 1, 12288)),
                                .experts = read_minimax_experts(fields)};
    parts.attention.flags |= PPSCHED_BLOCK_FLAG_QK_NORM;
    ppi_require_switch(fields, "use_qk_norm", true);
    ppi_require_switch(fields, "attention_output_gate", false);
    ppi_require_text(fields, "qk_norm_type", "per_head");
    ppi_ignore(fields, "use_gemma_norm|use_mtp|mtp_transformer_layers|swiglu_alpha|swiglu_limit|rotary_dim");
    add_minimax_layers(fields, &part, draft, &parts);
    ppi_part_end(fields, &part, draft);
}
