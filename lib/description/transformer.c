/* SPDX-License-Identifier: Apache-2.0 */
/* A transformer of two kinds of layers as a description, and back. */
#include "description/transformer.h"

#include <string.h>

#include "base/error.h"

struct bounded {
    const char *name;
    uint32_t value, least, most;
};

static ppsched_status check_bounds(const struct bounded *list, size_t count, ppsched_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].value < list[i].least || list[i].value > list[i].most)
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s is %u; it must be %u to %u", list[i].name, list[i].value,
                            list[i].least, list[i].most);
    return PPSCHED_OK;
}

static bool divides(uint32_t part, uint32_t number)
{
    return number % part == 0;
}

/* --- checks --- */

static bool has_experts(const ppsched_transformer *shape, uint32_t layer)
{
    if (shape->expert_layers != NULL)
        return shape->expert_layers[layer] != 0;
    return shape->experts > 0 && layer >= shape->dense_layers &&
           (layer + (uint64_t)shape->expert_offset) % shape->expert_interval == 0;
}

static uint32_t expert_layers_of(const ppsched_transformer *shape)
{
    uint32_t count = 0;
    for (uint32_t layer = 0; layer < shape->layers; layer++)
        count += has_experts(shape, layer);
    return count;
}

static ppsched_status check_attention(const ppsched_transformer *shape, ppsched_error *error)
{
    bool is_latent = shape->key_value_rank > 0;
    const struct bounded latent[] = {{"rope_head_size", shape->rope_head_size, 0, PPI_MOST_COUNT},
                                     {"value_head_size", shape->value_head_size, 1, PPI_MOST_COUNT},
                                     {"query_rank", shape->query_rank, 0, PPI_MOST_COUNT},
                                     {"key_value_rank", shape->key_value_rank, 1, PPI_MOST_COUNT}};
    if (is_latent)
        return check_bounds(latent, sizeof latent / sizeof latent[0], error);
    if ((shape->query_rank | shape->rope_head_size | shape->value_head_size) != 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "query_rank, rope_head_size and value_head_size are of latent attention, which needs key_value_rank "
                        "too");
    if (!divides(shape->key_value_heads, shape->heads))
        return ppi_fail_divisor(error, "heads", shape->heads, "key_value_heads", shape->key_value_heads);
    return PPSCHED_OK;
}

static ppsched_status check_experts(const ppsched_transformer *shape, ppsched_error *error)
{
    const struct bounded sizes[] = {{"expert_ffn_size", shape->expert_ffn_size, 1, PPI_MOST_COUNT},
                                    {"experts_per_token", shape->experts_per_token, 1, shape->experts},
                                    {"shared_ffn_size", shape->shared_ffn_size, 0, PPI_MOST_COUNT},
                                    {"dense_layers", shape->dense_layers, 0, shape->layers}};
    if (shape->experts > 0)
        return check_bounds(sizes, sizeof sizes / sizeof sizes[0], error);
    if ((shape->experts_per_token | shape->expert_ffn_size | shape->shared_ffn_size) != 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "experts is 0; experts_per_token, expert_ffn_size and shared_ffn_size must be 0 then too");
    return PPSCHED_OK;
}

/* Experts are given by layer, or by the three numbers. */
static ppsched_status check_expert_layers(const ppsched_transformer *shape, ppsched_error *error)
{
    if (shape->expert_layers == NULL)
        return PPSCHED_OK;
    if ((shape->dense_layers | shape->expert_interval | shape->expert_offset) != 0)
        return ppi_fail(
            error, PPSCHED_ERROR_RANGE,
            "expert_layers lists the layers with experts; dense_layers, expert_interval and expert_offset must then be 0");
    for (uint32_t i = 0; i < shape->layers; i++)
        if (shape->expert_layers[i] > (shape->experts > 0))
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "expert_layers: entry %u is %u; it must be %s", i,
                            (unsigned)shape->expert_layers[i], shape->experts > 0 ? "0 or 1" : "0, as there are no experts");
    return PPSCHED_OK;
}

static void complete_shape(ppsched_transformer *shape)
{
    if (shape->key_value_heads == 0)
        shape->key_value_heads = shape->heads;
    if (shape->head_size == 0)
        shape->head_size = shape->hidden_size / shape->heads;
    if (shape->expert_interval == 0)
        shape->expert_interval = 1;
}

static ppsched_status check_shape(ppsched_transformer *shape, ppsched_error *error)
{
    const uint32_t flags = 2 * PPSCHED_TRANSFORMER_FLAG_NO_LATENT_NORMS - 1;
    const struct bounded sizes[] = {{"layers", shape->layers, 1, PPI_MOST_LAYERS},
                                    {"hidden_size", shape->hidden_size, 1, PPI_MOST_COUNT},
                                    {"heads", shape->heads, 1, PPI_MOST_COUNT},
                                    {"key_value_heads", shape->key_value_heads, 0, shape->heads},
                                    {"head_size", shape->head_size, 0, PPI_MOST_COUNT},
                                    {"ffn_size", shape->ffn_size, 0, PPI_MOST_COUNT},
                                    {"vocabulary_size", shape->vocabulary_size, 1, PPI_MOST_SIZE},
                                    {"positions", shape->positions, 0, PPI_MOST_SIZE},
                                    {"experts", shape->experts, 0, PPI_MOST_COUNT},
                                    {"mtp_layers", shape->mtp_layers, 0, 32},
                                    {"reserved[0]", shape->reserved[0], 0, 0},
                                    {"reserved[1]", shape->reserved[1], 0, 0}};
    if ((shape->flags & ~flags) != 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "flags of the transformer is %u, with unknown bits; it must be 0 to %u",
                        shape->flags, flags);
    ppsched_status status = check_bounds(sizes, sizeof sizes / sizeof sizes[0], error);
    if (status == PPSCHED_OK && shape->head_size == 0 && !divides(shape->heads, shape->hidden_size))
        status = ppi_fail_divisor(error, "of hidden_size (head_size is not given)", shape->hidden_size, "heads", shape->heads);
    if (status == PPSCHED_OK)
        status = check_expert_layers(shape, error);
    if (status == PPSCHED_OK)
        complete_shape(shape);
    if (status == PPSCHED_OK)
        status = check_attention(shape, error);
    if (status == PPSCHED_OK)
        status = check_experts(shape, error);
    if (status == PPSCHED_OK && shape->ffn_size == 0 && expert_layers_of(shape) < shape->layers)
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "ffn_size is 0, but %u layer%p without experts need it",
                          shape->layers - expert_layers_of(shape));
    return status;
}

/* --- to a description --- */

static bool has(const ppsched_transformer *shape, uint32_t flag)
{
    return (shape->flags & flag) != 0;
}

static uint32_t norms_of(const ppsched_transformer *shape)
{
    return has(shape, PPSCHED_TRANSFORMER_FLAG_POST_NORMS) ? 2 : 1;
}

static ppsched_block attention_of(const ppsched_transformer *shape)
{
    bool is_latent = shape->key_value_rank > 0;
    ppsched_block block = {.kind = is_latent ? PPSCHED_BLOCK_KIND_LATENT_ATTENTION : PPSCHED_BLOCK_KIND_ATTENTION,
                           .norms = norms_of(shape),
                           .heads = shape->heads,
                           .head_size = shape->head_size,
                           .rope_size = shape->rope_head_size,
                           .query_rank = shape->query_rank,
                           .key_value_rank = shape->key_value_rank,
                           .value_size = is_latent ? shape->value_head_size : shape->head_size};
    block.key_value_heads = is_latent ? 0 : shape->key_value_heads;
    block.flags |= has(shape, PPSCHED_TRANSFORMER_FLAG_QKV_BIAS) ? PPSCHED_BLOCK_FLAG_BIAS : 0;
    block.flags |= has(shape, PPSCHED_TRANSFORMER_FLAG_PROJECTION_BIAS) ? PPSCHED_BLOCK_FLAG_OUTPUT_BIAS : 0;
    block.flags |= !is_latent && has(shape, PPSCHED_TRANSFORMER_FLAG_QK_NORM) ? PPSCHED_BLOCK_FLAG_QK_NORM : 0;
    block.flags |= is_latent && has(shape, PPSCHED_TRANSFORMER_FLAG_NO_LATENT_NORMS) ? PPSCHED_BLOCK_FLAG_NO_LATENT_NORMS : 0;
    return block;
}

static uint32_t mlp_flags_of(const ppsched_transformer *shape)
{
    return (has(shape, PPSCHED_TRANSFORMER_FLAG_GATED) ? PPSCHED_BLOCK_FLAG_GATED : 0u) |
           (has(shape, PPSCHED_TRANSFORMER_FLAG_MLP_BIAS) ? PPSCHED_BLOCK_FLAG_BIAS : 0u);
}

static ppsched_block mlp_of(const ppsched_transformer *shape)
{
    return (ppsched_block){
        .kind = PPSCHED_BLOCK_KIND_MLP, .flags = mlp_flags_of(shape), .norms = norms_of(shape), .width = shape->ffn_size};
}

static ppsched_block experts_of(const ppsched_transformer *shape)
{
    ppsched_block block = {.kind = PPSCHED_BLOCK_KIND_EXPERTS,
                           .flags = mlp_flags_of(shape),
                           .norms = norms_of(shape),
                           .width = shape->expert_ffn_size,
                           .experts = shape->experts,
                           .experts_per_token = shape->experts_per_token,
                           .shared_width = shape->shared_ffn_size};
    block.flags |= has(shape, PPSCHED_TRANSFORMER_FLAG_ROUTER_BIAS) ? PPSCHED_BLOCK_FLAG_ROUTER_BIAS : 0;
    return block;
}

static uint32_t flags_of(const ppsched_transformer *shape)
{
    static const uint32_t same[][2] = {{PPSCHED_TRANSFORMER_FLAG_TIED, PPSCHED_DESCRIPTION_FLAG_TIED},
                                       {PPSCHED_TRANSFORMER_FLAG_NORM_BIAS, PPSCHED_DESCRIPTION_FLAG_NORM_BIAS},
                                       {PPSCHED_TRANSFORMER_FLAG_DROPOUT, PPSCHED_DESCRIPTION_FLAG_DROPOUT},
                                       {PPSCHED_TRANSFORMER_FLAG_NO_FINAL_NORM, PPSCHED_DESCRIPTION_FLAG_NO_FINAL_NORM}};
    uint32_t flags = has(shape, PPSCHED_TRANSFORMER_FLAG_CAUSAL) ? 0 : PPSCHED_DESCRIPTION_FLAG_NOT_CAUSAL;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        flags |= has(shape, same[i][0]) ? same[i][1] : 0;
    return flags;
}

/* Layers without experts are the first kind, wherever they stand. */
static void add_layers(struct ppi_draft *draft, const ppsched_transformer *shape)
{
    const ppsched_block dense[] = {attention_of(shape), mlp_of(shape)}, routed[] = {attention_of(shape), experts_of(shape)};
    uint32_t count = expert_layers_of(shape), kinds[2] = {0, 0};
    if (count < shape->layers)
        kinds[0] = ppi_draft_add_named_kind(draft, "decoder", dense, 2);
    if (count > 0)
        kinds[1] = ppi_draft_add_named_kind(draft, "moe_decoder", routed, 2);
    for (uint32_t i = 0; i < shape->layers; i++)
        ppi_draft_add_layer_of(draft, kinds[has_experts(shape, i)]);
    draft->info.mtp_layers = shape->mtp_layers;
    draft->info.mtp_kind = kinds[has_experts(shape, shape->layers - 1)];
}

ppsched_status ppi_description_from_transformer(const ppsched_description **out, const ppsched_transformer *transformer,
                                                const struct ppi_host *host, ppsched_error *error)
{
    ppsched_transformer shape = *transformer;
    struct ppi_draft draft;
    ppsched_status status = check_shape(&shape, error);
    if (status != PPSCHED_OK)
        return status;
    ppi_draft_start(&draft, host);
    draft.info.flags = flags_of(&shape);
    draft.info.hidden_size = shape.hidden_size;
    draft.info.vocabulary_size = shape.vocabulary_size;
    draft.info.positions = shape.positions;
    add_layers(&draft, &shape);
    status = ppi_draft_finish(&draft, out, error);
    ppi_draft_clear(&draft);
    if (status == PPSCHED_OK)
        (*out)->self->ffn_size = shape.ffn_size;
    return status;
}

/* --- back --- */

/* The only block of a list that may stand there, in a layer of attention and one feed-forward. */
static bool take_attention(ppsched_transformer *shape, const ppsched_block *block)
{
    const uint32_t known = PPSCHED_BLOCK_FLAG_BIAS | PPSCHED_BLOCK_FLAG_OUTPUT_BIAS | PPSCHED_BLOCK_FLAG_QK_NORM |
                           PPSCHED_BLOCK_FLAG_NO_LATENT_NORMS;
    bool is_latent = block->kind == PPSCHED_BLOCK_KIND_LATENT_ATTENTION;
    if ((!is_latent && block->kind != PPSCHED_BLOCK_KIND_ATTENTION) || (block->flags & ~known) != 0 || block->window > 0 ||
        block->chunk > 0 || block->index_heads > 0 || block->extra_parameters > 0 || block->norms > 2 || block->norms == 0)
        return false;
    shape->heads = block->heads;
    shape->head_size = block->head_size;
    shape->key_value_heads = is_latent ? block->heads : block->key_value_heads;
    shape->rope_head_size = block->rope_size;
    shape->value_head_size = is_latent ? block->value_size : 0;
    shape->query_rank = block->query_rank;
    shape->key_value_rank = block->key_value_rank;
    shape->flags |= (block->flags & PPSCHED_BLOCK_FLAG_BIAS) != 0 ? PPSCHED_TRANSFORMER_FLAG_QKV_BIAS : 0;
    shape->flags |= (block->flags & PPSCHED_BLOCK_FLAG_OUTPUT_BIAS) != 0 ? PPSCHED_TRANSFORMER_FLAG_PROJECTION_BIAS : 0;
    shape->flags |= (block->flags & PPSCHED_BLOCK_FLAG_QK_NORM) != 0 ? PPSCHED_TRANSFORMER_FLAG_QK_NORM : 0;
    shape->flags |= (block->flags & PPSCHED_BLOCK_FLAG_NO_LATENT_NORMS) != 0 ? PPSCHED_TRANSFORMER_FLAG_NO_LATENT_NORMS : 0;
    shape->flags |= block->norms == 2 ? PPSCHED_TRANSFORMER_FLAG_POST_NORMS : 0;
    return is_latent || block->value_size == block->head_size;
}

static bool take_feed_forward(ppsched_transformer *shape, const ppsched_block *block, uint32_t norms)
{
    const uint32_t known = PPSCHED_BLOCK_FLAG_BIAS | PPSCHED_BLOCK_FLAG_GATED | PPSCHED_BLOCK_FLAG_ROUTER_BIAS;
    bool is_routed = block->kind == PPSCHED_BLOCK_KIND_EXPERTS;
    if ((!is_routed && block->kind != PPSCHED_BLOCK_KIND_MLP) || (block->flags & ~known) != 0 || block->latent_size > 0 ||
        block->idle_experts > 0 || block->extra_parameters > 0 || block->norms != norms)
        return false;
    shape->flags |= (block->flags & PPSCHED_BLOCK_FLAG_GATED) != 0 ? PPSCHED_TRANSFORMER_FLAG_GATED : 0;
    shape->flags |= (block->flags & PPSCHED_BLOCK_FLAG_BIAS) != 0 ? PPSCHED_TRANSFORMER_FLAG_MLP_BIAS : 0;
    shape->flags |= (block->flags & PPSCHED_BLOCK_FLAG_ROUTER_BIAS) != 0 ? PPSCHED_TRANSFORMER_FLAG_ROUTER_BIAS : 0;
    if (!is_routed) {
        shape->ffn_size = block->width;
        return true;
    }
    shape->experts = block->experts;
    shape->experts_per_token = block->experts_per_token;
    shape->expert_ffn_size = block->width;
    shape->shared_ffn_size = block->shared_width;
    return true;
}

/* Takes a kind; what it has must agree with what other kinds brought. */
static bool take_kind(ppsched_transformer *shape, const ppsched_layer_kind *kind, bool is_first)
{
    const ppsched_transformer before = *shape;
    if (kind->block_count != 2 || !take_attention(shape, kind->blocks[0]) ||
        !take_feed_forward(shape, kind->blocks[1], kind->blocks[0]->norms))
        return false;
    ppsched_transformer same = *shape;
    same.ffn_size = before.ffn_size, same.experts = before.experts, same.experts_per_token = before.experts_per_token;
    same.expert_ffn_size = before.expert_ffn_size, same.shared_ffn_size = before.shared_ffn_size;
    same.flags = (same.flags & ~(uint32_t)PPSCHED_TRANSFORMER_FLAG_ROUTER_BIAS) |
                 (before.flags & PPSCHED_TRANSFORMER_FLAG_ROUTER_BIAS);
    bool adds = (shape->ffn_size == before.ffn_size || before.ffn_size == 0) &&
                (shape->experts == before.experts || before.experts == 0) &&
                (before.experts == 0 ||
                 memcmp(&before.experts_per_token, &shape->experts_per_token, 3 * sizeof(uint32_t)) == 0);
    return is_first || (adds && memcmp(&same, &before, sizeof same) == 0);
}

static bool is_routed(const ppsched_layer_kind *kind)
{
    return kind->block_count == 2 && kind->blocks[1]->kind == PPSCHED_BLOCK_KIND_EXPERTS;
}

bool ppi_description_to_transformer(ppsched_transformer *out, uint8_t *expert_layers, const ppsched_description *description)
{
    const ppsched_description_info *info = &description->info;
    ppsched_transformer shape = {.size = sizeof shape,
                                 .layers = info->layer_count,
                                 .hidden_size = info->hidden_size,
                                 .vocabulary_size = info->vocabulary_size,
                                 .positions = info->positions,
                                 .mtp_layers = info->mtp_layers};
    bool has_any = false;
    if (info->streams != 1 || info->stream_interval > 0 || info->layer_input > 0 || info->extra_parameters > 0 ||
        info->kind_count > 2)
        return false;
    for (uint32_t i = 0; i < info->kind_count; i++)
        if (!take_kind(&shape, info->kinds[i], i == 0))
            return false;
    for (uint32_t i = 0; i < info->layer_count; i++) {
        bool routed = is_routed(info->kinds[info->layers[i]]);
        has_any |= routed;
        if (expert_layers != NULL)
            expert_layers[i] = routed;
    }
    shape.flags |= (info->flags & PPSCHED_DESCRIPTION_FLAG_TIED) != 0 ? PPSCHED_TRANSFORMER_FLAG_TIED : 0;
    shape.flags |= (info->flags & PPSCHED_DESCRIPTION_FLAG_NORM_BIAS) != 0 ? PPSCHED_TRANSFORMER_FLAG_NORM_BIAS : 0;
    shape.flags |= (info->flags & PPSCHED_DESCRIPTION_FLAG_NOT_CAUSAL) != 0 ? 0 : PPSCHED_TRANSFORMER_FLAG_CAUSAL;
    shape.flags |= (info->flags & PPSCHED_DESCRIPTION_FLAG_DROPOUT) != 0 ? PPSCHED_TRANSFORMER_FLAG_DROPOUT : 0;
    shape.flags |= (info->flags & PPSCHED_DESCRIPTION_FLAG_NO_FINAL_NORM) != 0 ? PPSCHED_TRANSFORMER_FLAG_NO_FINAL_NORM : 0;
    shape.expert_layers = has_any ? expert_layers : NULL;
    if (shape.ffn_size == 0) /* Megatron-LM has one width, which experts have if they have none of their own */
        shape.ffn_size = description->ffn_size > 0 ? description->ffn_size : shape.expert_ffn_size;
    *out = shape;
    return true;
}
