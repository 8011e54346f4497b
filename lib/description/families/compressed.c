/* SPDX-License-Identifier: Apache-2.0 */
/* DeepSeek-V4: attention to a window and to compressed tokens, which in some layers an index selects; experts in all layers, in
 * the first ones chosen by a table of tokens; several residual streams, which each block mixes. */
#include "description/families/functions.h"
#include "description/families/common_mixers.h"

/* Attention by what it compresses, experts by who chooses them. */
struct compressed_parts {
    ppsched_block window, sparse, heavy, experts, chosen_by_token;
};

/* --- blocks --- */

/* Mixing n streams of width h: weights from all n h values to read, to write, and to mix, with a base each and three scales. */
static uint64_t mixer_of(const struct ppi_draft *draft)
{
    double n = draft->info.streams, weights = (2 + n) * n;
    return ppi_parameters(weights * n * draft->info.hidden_size + weights + 3);
}

/* The streams become one before the output: a weight for each from all values, a base for each and a scale. */
static uint64_t collapse_of(const struct ppi_draft *draft)
{
    double n = draft->info.streams;
    return ppi_parameters(n * n * draft->info.hidden_size + n + 1);
}

static ppsched_block read_window(struct ppi_fields *fields, const struct ppi_draft *draft, uint32_t heads)
{
    ppsched_block block = {.kind = PPSCHED_BLOCK_KIND_COMPRESSED_ATTENTION,
                           .heads = ppi_size_or(fields, "num_attention_heads", heads),
                           .head_size = ppi_count_or(fields, "head_dim", 1, 512),
                           .query_rank = ppi_count_or(fields, "q_lora_rank", 1, 1024),
                           .output_groups = ppi_count_or(fields, "o_groups", 1, 8),
                           .output_rank = ppi_count_or(fields, "o_lora_rank", 1, 1024),
                           .window = ppi_count_or(fields, "sliding_window", 1, 128),
                           .extra_parameters = mixer_of(draft)};
    ppi_require_count(fields, "num_key_value_heads", 1);
    ppi_require_switch(fields, "attention_bias", false);
    ppi_ignore(fields, "qk_rope_head_dim");
    return block;
}

/* compress_rates has how many tokens become one; the two other fields are older names. */
static void read_compressed(struct ppi_fields *fields, struct ppi_draft *draft, struct compressed_parts *parts)
{
    struct ppi_fields part;
    ppi_part_start(&part, fields, "compress_rates");
    uint32_t sparse = ppi_count_or(&part, "compressed_sparse_attention", 1, 4);
    uint32_t heavy = ppi_count_or(&part, "heavily_compressed_attention", 1, 128);
    ppi_part_end(fields, &part, draft);
    parts->sparse = parts->heavy = parts->window;
    parts->sparse.ratio = ppi_count_or(fields, "compress_rate_csa", 1, sparse);
    parts->sparse.index_heads = ppi_count_or(fields, "index_n_heads", 1, 64);
    parts->sparse.index_size = ppi_count_or(fields, "index_head_dim", 1, 128);
    parts->sparse.index_tokens = ppi_count_or(fields, "index_topk", 1, 512);
    parts->heavy.ratio = ppi_count_or(fields, "compress_rate_hca", 1, heavy);
}

/* The shared expert is as wide as the others. A table says which experts a token of the first layers has. */
static void read_experts(struct ppi_fields *fields, const struct ppi_draft *draft, struct compressed_parts *parts)
{
    ppsched_block block = {.kind = PPSCHED_BLOCK_KIND_EXPERTS,
                           .flags = PPSCHED_BLOCK_FLAG_GATED,
                           .experts = ppi_count_or(fields, "n_routed_experts|num_local_experts", 1, 256),
                           .experts_per_token = ppi_count_or(fields, "num_experts_per_tok", 1, 6),
                           .width = ppi_count_or(fields, "moe_intermediate_size|intermediate_size", 1, 2048),
                           .extra_parameters = mixer_of(draft)};
    block.shared_width = block.width;
    ppi_require_count(fields, "n_shared_experts", 1);
    if (ppi_switch_or(fields, "mlp_bias", false))
        block.extra_parameters += ppi_parameters(2.0 * block.width + draft->info.hidden_size); /* of the shared expert */
    parts->chosen_by_token = parts->experts = block;
    parts->experts.flags |= PPSCHED_BLOCK_FLAG_ROUTER_BIAS;
    ppi_ignore(fields, "swiglu_limit|router_jitter_noise|hc_sinkhorn_iters|hc_eps");
}

/* --- layers --- */

/* The attention for a ratio of the list compress_ratios. */
static const ppsched_block *attention_of_ratio(struct ppi_fields *fields, const struct compressed_parts *parts,
                                               const struct ppi_json_value *entry)
{
    int64_t ratio = entry->type == PPI_JSON_NUMBER && entry->is_integer ? entry->integer : -1;
    if (ratio != 0 && ratio != 4 && ratio != 128)
        ppi_fields_fail(fields, "compress_ratios has an entry other than 0 (only a window), 4 (with an index) or 128");
    return ratio == 0 ? &parts->window : ratio == 4 ? &parts->sparse : &parts->heavy;
}

/* Without a list the first two layers compress the most, and of the others each second one has an index. */
static const ppsched_block *attention_of_type(const struct compressed_parts *parts, const struct ppi_json_value *types,
                                              uint32_t layer)
{
    bool is_sparse = ppi_type_is(types, layer, "compressed_sparse_attention", layer > 1 && layer % 2 == 1);
    bool is_window = ppi_type_is(types, layer, "sliding_attention", false);
    return is_window ? &parts->window : is_sparse ? &parts->sparse : &parts->heavy;
}

/* The list may be longer than the layers by those of multi-token prediction, which a file may have turned off later. */
static const struct ppi_json_value *read_ratios(struct ppi_fields *fields, uint32_t layers, uint32_t mtp)
{
    const struct ppi_json_value *ratios = ppi_field(fields, "compress_ratios");
    uint32_t most = layers + (mtp > 0 ? mtp : 1);
    if (ratios == NULL || (ratios->type == PPI_JSON_LIST && (ratios->count == layers || ratios->count == most)))
        return ratios;
    ppi_fields_fail(fields,
                    "compress_ratios must be a list of %u entries, one for each layer, or %u with multi-token prediction",
                    layers, most);
    return NULL;
}

static void add_layers(struct ppi_fields *fields, struct ppi_draft *draft, const struct compressed_parts *parts,
                       const struct ppi_json_value *ratios, uint32_t layers)
{
    static const char *const allowed[] = {"sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention",
                                          NULL};
    static const char *const widths_allowed[] = {"hash_moe", "moe", NULL};
    const struct ppi_json_value *types = ppi_types_of(fields, "layer_types", layers, allowed);
    const struct ppi_json_value *widths = ppi_types_of(fields, "mlp_layer_types", layers, widths_allowed);
    uint32_t by_token = ppi_count_or(fields, "num_hash_layers", 0, 3);
    for (uint32_t i = 0; i < layers && fields->status == PPSCHED_OK; i++) {
        const ppsched_block *attention = types == NULL && ratios != NULL ? attention_of_ratio(fields, parts, &ratios->items[i])
                                                                         : attention_of_type(parts, types, i);
        bool is_by_token = ppi_type_is(widths, i, "hash_moe", i < by_token);
        const ppsched_block blocks[] = {*attention, is_by_token ? parts->chosen_by_token : parts->experts};
        ppi_draft_add_layer(draft, blocks, 2);
    }
}

/* A layer of multi-token prediction makes one of its streams itself. */
static void add_mtp(struct ppi_fields *fields, struct ppi_draft *draft, const struct compressed_parts *parts,
                    const struct ppi_json_value *ratios, uint32_t layers, uint32_t mtp)
{
    bool is_listed = ratios != NULL && ratios->count > layers && fields->status == PPSCHED_OK;
    ppsched_block blocks[] = {is_listed ? *attention_of_ratio(fields, parts, &ratios->items[layers]) : parts->window,
                              parts->experts};
    blocks[1].extra_parameters += collapse_of(draft);
    ppi_add_mtp(draft, mtp, blocks, 2);
}

void ppi_family_deepseek_v4(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_frame frame = {.vocabulary = 129280, .hidden = 4096, .layers = 43, .heads = 64};
    struct compressed_parts parts;
    ppi_read_frame(fields, draft, &frame);
    draft->info.streams = ppi_count_or(fields, "hc_mult", 1, 4);
    draft->info.extra_parameters = collapse_of(draft);
    parts.window = read_window(fields, draft, frame.heads);
    read_compressed(fields, draft, &parts);
    read_experts(fields, draft, &parts);
    uint32_t layers = ppi_read_layers(fields, &frame), mtp = ppi_count_or(fields, "num_nextn_predict_layers", 0, 1);
    const struct ppi_json_value *ratios = read_ratios(fields, layers, mtp);
    add_layers(fields, draft, &parts, ratios, layers);
    add_mtp(fields, draft, &parts, ratios, layers, mtp);
}
