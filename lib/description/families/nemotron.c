/* SPDX-License-Identifier: Apache-2.0 */
/* Nemotron-H: each layer is one block, a mixer or a feed-forward, by a list or a pattern of letters. */
#include <string.h>

#include <ppsched/layers.h>

#include "description/families/functions.h"
#include "description/families/common_mixers.h"

/* Blocks by their type, in the order of `types` and `letters`. */
enum nemotron_type { MAMBA, ATTENTION, MLP, EXPERTS, TYPES };

static const char *const types[] = {"linear_attention", "full_attention", "mlp", "moe", NULL};
static const char letters[] = "M*-E";
static const struct ppi_frame frame = {.vocabulary = 131072, .hidden = 4096, .heads = 32};

/* --- blocks --- */

static ppsched_block read_mamba(struct ppi_fields *fields)
{
    ppsched_block block = {.kind = PPSCHED_BLOCK_KIND_MAMBA,
                           .heads = ppi_count_or(fields, "mamba_num_heads", 1, 128),
                           .head_size = ppi_count_or(fields, "mamba_head_dim", 1, 64),
                           .groups = ppi_count_or(fields, "mamba_n_groups|n_groups", 1, 8),
                           .state_size = ppi_count_or(fields, "ssm_state_size", 1, 128),
                           .convolution = ppi_count_or(fields, "mamba_d_conv|conv_kernel", 1, 4)};
    if (ppi_switch_or(fields, "mamba_conv_bias|use_conv_bias", true))
        block.flags |= PPSCHED_BLOCK_FLAG_CONVOLUTION_BIAS;
    if (ppi_switch_or(fields, "use_bias", false))
        block.flags |= PPSCHED_BLOCK_FLAG_BIAS;
    ppi_ignore(fields, "expand|mamba_expand|chunk_size|mamba_chunk_size|mamba_hidden_act|mamba_ssm_cache_dtype|"
                       "use_mamba_kernels|time_step_limit|time_step_min|time_step_max|time_step_floor|time_step_rank|"
                       "mamba_dt_limit|mamba_dt_min|mamba_dt_max|mamba_dt_init_floor|layer_norm_epsilon");
    return block;
}

/* Its matrices never have a bias. */
static ppsched_block read_attention(struct ppi_fields *fields)
{
    ppsched_block block = ppi_read_attention(fields, &frame, 8, ppi_count_or(fields, "attention_head_dim", 1, 128));
    ppi_require_switch(fields, "attention_bias", false);
    ppi_require_switch(fields, "mamba_proj_bias", false);
    ppi_require_count(fields, "sliding_window", 0);
    return block;
}

static ppsched_block read_mlp(struct ppi_fields *fields, bool has_bias)
{
    return (ppsched_block){.kind = PPSCHED_BLOCK_KIND_MLP,
                           .flags = has_bias ? PPSCHED_BLOCK_FLAG_BIAS : 0,
                           .width = ppi_count_or(fields, "intermediate_size", 0, 21504)};
}

/* Biases are of the shared experts and of the matrices into the latent and out of it alone. */
static ppsched_block read_experts(struct ppi_fields *fields, const struct ppi_draft *draft, bool has_bias)
{
    ppsched_block block = {.kind = PPSCHED_BLOCK_KIND_EXPERTS,
                           .flags = PPSCHED_BLOCK_FLAG_ROUTER_BIAS,
                           .experts = ppi_count_or(fields, "n_routed_experts|num_local_experts|num_experts", 0, 8),
                           .experts_per_token = ppi_count_or(fields, "num_experts_per_tok", 0, 2),
                           .width = ppi_count_or(fields, "moe_intermediate_size", 0, 7688),
                           .shared_width = ppi_count_or(fields, "moe_shared_expert_intermediate_size", 0, 7688),
                           .latent_size = ppi_count_or(fields, "moe_latent_size", 0, 0)};
    double hidden = draft->info.hidden_size, shared = block.shared_width + hidden, latent = block.latent_size + hidden;
    if (has_bias)
        block.extra_parameters = ppi_parameters(shared + (block.latent_size > 0 ? latent : 0));
    ppi_ignore(fields, "moe_shared_expert_overlap|mlp_hidden_act");
    return block;
}

/* --- layers --- */

/* The block of a list's entry or of a pattern's letter; TYPES with an error. */
static enum nemotron_type type_at(struct ppi_fields *fields, const struct ppi_json_value *list, const char *pattern,
                                  uint32_t layer)
{
    for (uint32_t type = 0; type < TYPES && list != NULL; type++)
        if (ppi_type_is(list, layer, types[type], false))
            return type;
    const char *letter = list == NULL && pattern[layer] != '\0' ? strchr(letters, pattern[layer]) : NULL;
    if (letter != NULL)
        return (enum nemotron_type)(letter - letters);
    ppi_fields_fail(
        fields,
        "a block of a %s must be M or linear_attention, * or full_attention, - or mlp, E or moe; number %u is none of these",
        fields->family, layer + 1);
    return TYPES;
}

/* A list of blocks, or a pattern of letters. */
struct nemotron_pattern {
    const struct ppi_json_value *list;
    const char *letters;
    uint32_t count;
};

static struct nemotron_pattern read_pattern(struct ppi_fields *fields, const char *list, const char *pattern,
                                            const char *otherwise)
{
    const struct ppi_json_value *given = ppi_field(fields, list);
    struct nemotron_pattern read = {.letters = ppi_text_or(fields, pattern, otherwise)};
    if (given != NULL && given->type != PPI_JSON_LIST)
        ppi_fields_fail(fields, "%s must be a list", list);
    else
        read.list = given;
    size_t count = read.list != NULL ? read.list->count : strlen(read.letters != NULL ? read.letters : "");
    if (count > PPSCHED_MAX_LAYERS)
        ppi_fields_fail(fields, "there are %zu block%p; there must be at most %d", count, PPSCHED_MAX_LAYERS);
    read.count = count > PPSCHED_MAX_LAYERS ? 0 : (uint32_t)count;
    return read;
}

static void add_layers(struct ppi_fields *fields, struct ppi_draft *draft, const ppsched_block *blocks)
{
    struct nemotron_pattern pattern = read_pattern(fields, "layers_block_type|layer_types", "hybrid_override_pattern", NULL);
    if (pattern.list == NULL && pattern.letters == NULL)
        ppi_needed(fields, "hybrid_override_pattern");
    uint32_t layers = ppi_count_or(fields, "num_hidden_layers", 0, 0);
    if (layers > 0 && layers != pattern.count && pattern.count > 0)
        ppi_fields_fail(fields, "num_hidden_layers is %u, and the pattern has %u layer%p", layers, pattern.count);
    bool has_shared = ppi_count_or(fields, "n_shared_experts", 0, 1) > 0;
    for (uint32_t i = 0; i < pattern.count && fields->status == PPSCHED_OK; i++) {
        enum nemotron_type type = type_at(fields, pattern.list, pattern.letters, i);
        if (type == EXPERTS && !has_shared)
            ppi_fields_fail(fields, "n_shared_experts is 0; layers with experts of a %s need a shared expert", fields->family);
        if (type != TYPES)
            ppi_draft_add_layer(draft, &blocks[type], 1);
    }
}

/* Attention and experts, which is what a list has if nobody set it. */
static bool is_usual(const struct ppi_json_value *list)
{
    return list != NULL && list->count == 2 && ppi_type_is(list, 0, types[ATTENTION], false) &&
           ppi_type_is(list, 1, types[EXPERTS], false);
}

/* A layer of multi-token prediction has all blocks of its pattern. */
static void read_mtp(struct ppi_fields *fields, struct ppi_draft *draft, const ppsched_block *blocks)
{
    ppsched_block own[PPSCHED_MAX_BLOCKS];
    bool has_list = !is_usual(ppi_field(fields, "mtp_layers_block_type"));
    struct nemotron_pattern pattern = read_pattern(fields, has_list ? "mtp_layers_block_type" : "",
                                                   "mtp_hybrid_override_pattern", "*E");
    if (pattern.count > PPSCHED_MAX_BLOCKS) {
        ppi_fields_fail(fields, "multi-token prediction has %u block%p; it may have %d", pattern.count, PPSCHED_MAX_BLOCKS);
        pattern.count = 0;
    }
    for (uint32_t i = 0; i < pattern.count; i++) {
        enum nemotron_type type = type_at(fields, pattern.list, pattern.letters, i);
        own[i] = type != TYPES ? blocks[type] : (ppsched_block){0};
    }
    if (fields->status == PPSCHED_OK)
        ppi_read_mtp(fields, draft, "num_nextn_predict_layers", own, pattern.count);
}

void ppi_family_nemotron_h(struct ppi_fields *fields, struct ppi_draft *draft)
{
    ppi_read_frame(fields, draft, &frame);
    if ((draft->info.flags & PPSCHED_DESCRIPTION_FLAG_TIED) != 0) {
        draft->info.flags &= ~(uint32_t)PPSCHED_DESCRIPTION_FLAG_TIED;
        ppi_draft_warn(
            draft, "tie_word_embeddings is true, but the class of a %s does not tie them; the output has weights of its own",
            fields->family);
    }
    bool has_bias = ppi_switch_or(fields, "mlp_bias", false);
    const ppsched_block blocks[TYPES] = {[MAMBA] = read_mamba(fields),
                                         [ATTENTION] = read_attention(fields),
                                         [MLP] = read_mlp(fields, has_bias),
                                         [EXPERTS] = read_experts(fields, draft, has_bias)};
    add_layers(fields, draft, blocks);
    read_mtp(fields, draft, blocks);
}
