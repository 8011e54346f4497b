/* SPDX-License-Identifier: Apache-2.0 */
/* A start of a description for a config of an unknown family: attention and an MLP, or experts, by the usual names of
 * fields. What is not understood becomes a warning each. */
#include "description/huggingface.h"

#include "base/error.h"
#include "description/families/common_mixers.h"
#include "description/known_fields.h"

/* A size that every model has; 1 and a warning if it is not there. */
static uint32_t size_of(struct ppi_fields *fields, struct ppi_draft *draft, const char *names, const char *name)
{
    uint32_t size = ppi_count_or(fields, names, 0, 0);
    if (size == 0)
        ppi_draft_warn(draft, "%s", name);
    return size > 0 ? size : 1;
}

static ppsched_block guess_attention(struct ppi_fields *fields, struct ppi_draft *draft)
{
    ppsched_block block = {.kind = PPSCHED_BLOCK_KIND_ATTENTION};
    block.heads = size_of(fields, draft, "num_attention_heads|n_head|num_heads|n_heads", "num_attention_heads");
    block.key_value_heads = ppi_count_or(fields, "num_key_value_heads|n_kv_heads|num_kv_heads", 0, 0);
    block.head_size = ppi_count_or(fields, "head_dim|attention_head_dim", 0, 0);
    if (block.head_size == 0 && draft->info.hidden_size % block.heads != 0)
        block.head_size = 1;
    if (ppi_switch_or(fields, "attention_bias|qkv_bias", false))
        block.flags |= PPSCHED_BLOCK_FLAG_BIAS;
    return block;
}

static ppsched_block guess_experts(struct ppi_fields *fields, struct ppi_draft *draft, uint32_t experts, uint32_t width)
{
    ppsched_block block = {.kind = PPSCHED_BLOCK_KIND_EXPERTS, .flags = PPSCHED_BLOCK_FLAG_GATED, .experts = experts};
    block.experts_per_token = size_of(fields, draft, "num_experts_per_tok|num_experts_per_token|moe_topk|top_k_experts|moe_k",
                                      "num_experts_per_tok");
    block.width = ppi_count_or(fields, "moe_intermediate_size|expert_ffn_hidden_size|moe_ffn_hidden_size", 0, 0);
    block.width = block.width > 0 ? block.width : width;
    block.shared_width = block.width * ppi_count_or(fields, "n_shared_experts|num_shared_experts|moe_num_shared_experts", 0, 0);
    if (block.experts_per_token > experts)
        block.experts_per_token = experts;
    return block;
}

static void guess_layers(struct ppi_fields *fields, struct ppi_draft *draft)
{
    uint32_t layers = size_of(fields, draft, "num_hidden_layers|n_layer|num_layers|n_layers", "num_hidden_layers");
    ppsched_block attention = guess_attention(fields, draft);
    ppsched_block mlp = {.kind = PPSCHED_BLOCK_KIND_MLP, .flags = PPSCHED_BLOCK_FLAG_GATED};
    mlp.width = size_of(fields, draft, "intermediate_size|ffn_hidden_size|n_inner|ffn_dim|d_ff", "intermediate_size");
    uint32_t experts = ppi_count_or(fields, "num_experts|num_local_experts|n_routed_experts|moe_num_experts", 0, 0);
    ppsched_block routed = experts > 0 ? guess_experts(fields, draft, experts, mlp.width) : mlp;
    uint32_t dense = experts > 0 ? ppi_count_or(fields, "first_k_dense_replace|num_dense_layers", 0, 0) : layers;
    uint32_t window = ppi_count_or(fields, "sliding_window", 0, 0);
    const struct ppi_json_value *types = ppi_list_of(fields, "layer_types", layers);
    for (uint32_t i = 0; i < layers && fields->status == PPSCHED_OK; i++) {
        ppsched_block blocks[] = {attention, i < dense ? mlp : routed};
        bool is_full = ppi_entry_is(types, i, "full_attention", types == NULL && window == 0);
        bool has_window = ppi_entry_is(types, i, "sliding_attention", types == NULL && window > 0);
        blocks[0].window = has_window ? window : 0;
        if (types != NULL && !is_full && !has_window) {
            ppi_draft_warn(draft, "layer_types");
            types = NULL;
        }
        ppi_draft_add_layer(draft, blocks, 2);
    }
}

static void warn_of_rest(const struct ppi_fields *fields, struct ppi_draft *draft)
{
    for (uint32_t i = 0; i < fields->object->count; i++) {
        const char *name = fields->object->keys[i];
        if (!fields->asked[i] && ppi_json_in_use(&fields->object->items[i]) && !ppi_is_harmless(name))
            ppi_draft_warn(draft, "%s", name);
    }
}

void ppi_guess(struct ppi_fields *fields, struct ppi_draft *draft)
{
    ppi_draft_warn(draft, "model_type");
    ppi_field(fields, "model_type");
    draft->info.hidden_size = size_of(fields, draft, "hidden_size|n_embd|d_model|dim", "hidden_size");
    draft->info.vocabulary_size = size_of(fields, draft, "vocab_size", "vocab_size");
    draft->info.sequence_length = ppi_count_or(fields, "max_position_embeddings|n_positions|n_ctx", 0, 0);
    if (ppi_switch_or(fields, "tie_word_embeddings", false))
        draft->info.flags |= PPSCHED_DESCRIPTION_FLAG_TIED;
    guess_layers(fields, draft);
    if (fields->status == PPSCHED_OK)
        warn_of_rest(fields, draft);
}
