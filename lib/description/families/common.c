/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the layers of a family with attention and an MLP or experts, by the table of its class. */
#include <string.h>

#include <ppsched/layers.h>

#include "base/format.h"
#include "description/families/common.h"

static bool has_trait(const struct ppi_family_class *class, uint32_t trait)
{
    return (class->traits & trait) != 0;
}

/* --- sizes --- */

static uint32_t read_layer_count(struct ppi_fields *fields, const struct ppi_family_class *class)
{
    bool is_told = ppi_field(fields, "num_hidden_layers") != NULL || !fields->is_part;
    return is_told ? ppi_read_layer_count(fields) : class->sizes.layers;
}

/* --- blocks --- */

static uint32_t biases_of(struct ppi_fields *fields, const struct ppi_family_class *class)
{
    uint32_t all = PPSCHED_BLOCK_FLAG_BIAS | PPSCHED_BLOCK_FLAG_OUTPUT_BIAS;
    if (has_trait(class, PPI_CLASS_ALWAYS_BIAS))
        return PPSCHED_BLOCK_FLAG_BIAS;
    if (!has_trait(class, PPI_CLASS_BIAS | PPI_CLASS_INPUT_BIAS) ||
        !ppi_switch_or(fields, "attention_bias", has_trait(class, PPI_CLASS_IS_BIASED)))
        return 0;
    return has_trait(class, PPI_CLASS_BIAS) ? all : PPSCHED_BLOCK_FLAG_BIAS;
}

static ppsched_block read_attention(struct ppi_fields *fields, const struct ppi_family_class *class)
{
    ppsched_block block = {.kind = PPSCHED_BLOCK_KIND_ATTENTION, .norms = class->norms, .flags = biases_of(fields, class)};
    uint32_t head_size = ppi_is_null(fields, "head_dim") ? 0 : class->sizes.head_size;
    block.heads = ppi_size_or(fields, "num_attention_heads", class->sizes.heads);
    block.key_value_heads = ppi_count_or(fields, "num_key_value_heads", 1,
                                         ppi_is_null(fields, "num_key_value_heads") ? 0 : class->sizes.key_value_heads);
    block.head_size = ppi_count_or(fields, "head_dim", 1, head_size);
    if (has_trait(class, PPI_CLASS_NO_HEAD_DIM))
        block.head_size = 0;
    if (has_trait(class, PPI_CLASS_QK_NORM))
        block.flags |= PPSCHED_BLOCK_FLAG_QK_NORM;
    if (has_trait(class, PPI_CLASS_QK_NORM_ALL))
        block.flags |= PPSCHED_BLOCK_FLAG_QK_NORM_ALL;
    if (has_trait(class, PPI_CLASS_FREE_QK_NORM))
        block.flags |= PPSCHED_BLOCK_FLAG_QK_NORM | PPSCHED_BLOCK_FLAG_FREE_NORMS;
    if (has_trait(class, PPI_CLASS_OUTPUT_GATE))
        block.flags |= PPSCHED_BLOCK_FLAG_OUTPUT_GATE;
    return block;
}

static ppsched_block read_mlp(struct ppi_fields *fields, const struct ppi_family_class *class)
{
    ppsched_block block = {.kind = PPSCHED_BLOCK_KIND_MLP, .norms = class->norms};
    if (!has_trait(class, PPI_CLASS_OWN_WIDTH))
        block.width = ppi_size_or(fields, "intermediate_size", class->sizes.width);
    if (!has_trait(class, PPI_CLASS_NO_GATE))
        block.flags |= PPSCHED_BLOCK_FLAG_GATED;
    if (has_trait(class, PPI_CLASS_MLP_BIAS) && ppi_switch_or(fields, "mlp_bias", false))
        block.flags |= PPSCHED_BLOCK_FLAG_BIAS;
    return block;
}

/* --- windows --- */

void ppi_read_window(struct ppi_fields *fields, struct ppi_stack *stack, uint32_t otherwise)
{
    if (ppi_is_null(fields, "sliding_window"))
        otherwise = 0;
    stack->windowed = stack->attention;
    stack->windowed.window = ppi_count_or(fields, "sliding_window", 0, otherwise);
}

static const struct ppi_json_value *read_types(struct ppi_fields *fields, const struct ppi_family_class *class, uint32_t layers)
{
    static const char *const allowed[] = {"full_attention", "sliding_attention", NULL};
    static const char *const full[] = {"full_attention", NULL};
    bool has_window = has_trait(class, PPI_CLASS_WINDOW | PPI_CLASS_WINDOW_ALL), some = false;
    const struct ppi_json_value *types = ppi_types_of(fields, "layer_types", layers, has_window ? allowed : full);
    for (uint32_t i = 0; types != NULL && i < types->count; i++)
        some |= ppi_type_is(types, i, "sliding_attention", false);
    return has_trait(class, PPI_CLASS_WINDOW_ALL) && !some ? NULL : types;
}

static bool has_window(const struct ppi_stack *stack, uint32_t layer)
{
    bool otherwise = layer >= stack->first_window && layer < stack->end_window;
    if (stack->interval > 0 && (layer + stack->offset) % stack->interval == 0)
        otherwise = false;
    return ppi_type_is(stack->types, layer, "sliding_attention", otherwise) && stack->windowed.heads > 0;
}

/* --- experts --- */

ppsched_block ppi_read_experts(struct ppi_fields *fields, const char *names, uint32_t experts, uint32_t per_token,
                               uint32_t width)
{
    ppsched_block block = {.kind = PPSCHED_BLOCK_KIND_EXPERTS, .flags = PPSCHED_BLOCK_FLAG_GATED};
    block.experts = ppi_count_or(fields, names, 0, experts);
    block.experts_per_token = ppi_count_or(fields, "num_experts_per_tok", 1, per_token);
    block.width = ppi_count_or(fields, "moe_intermediate_size", 1, width);
    if (block.experts > 0 && block.width == 0)
        ppi_needed(fields, "moe_intermediate_size");
    return block;
}

void ppi_read_shared(struct ppi_fields *fields, ppsched_block *experts, const char *names, uint32_t otherwise)
{
    uint32_t shared = ppi_count_or(fields, names, 0, ppi_is_null(fields, names) ? 0 : otherwise);
    experts->shared_width = ppi_size_product(fields, "the width of shared experts", shared, experts->width);
}

void ppi_read_widths(struct ppi_fields *fields, struct ppi_stack *stack, uint32_t dense)
{
    static const char *const allowed[] = {"sparse", "dense", NULL};
    stack->widths = ppi_types_of(fields, "mlp_layer_types", stack->layers, allowed);
    stack->first_sparse = dense;
    ppi_require_count(fields, "first_k_dense_replace", dense);
}

void ppi_read_dense_layers(struct ppi_fields *fields, struct ppi_stack *stack, uint32_t otherwise)
{
    ppi_read_widths(fields, stack, ppi_count_or(fields, "first_k_dense_replace", 0, otherwise));
}

static bool has_experts_at(const struct ppi_stack *stack, uint32_t layer)
{
    if (stack->experts.experts == 0)
        return false;
    if (stack->widths != NULL)
        return ppi_type_is(stack->widths, layer, "sparse", false);
    if (stack->marks != NULL)
        return ppi_json_in_use(&stack->marks->items[layer]);
    if (stack->sparse != NULL)
        return ppi_list_has(stack->sparse, layer);
    bool is_due = stack->sparse_interval == 0 || (layer + stack->sparse_offset) % stack->sparse_interval == 0;
    bool is_between = layer >= stack->first_sparse && (stack->end_sparse == 0 || layer < stack->end_sparse);
    return is_due && is_between && !ppi_list_has(stack->dense, layer);
}

/* --- layers that differ --- */

/* The member of per_layer_config for a layer: its name is the number, perhaps with zeros before it. */
static const struct ppi_json_value *own_of(const struct ppi_json_value *all, uint32_t layer)
{
    char wanted[16];
    ppi_print(wanted, sizeof wanted, "%u", layer);
    for (uint32_t i = 0; all != NULL && all->type == PPI_JSON_OBJECT && i < all->count; i++) {
        const char *key = all->keys[i];
        while (key[0] == '0' && key[1] != '\0')
            key++;
        if (strcmp(key, wanted) == 0)
            return &all->items[i];
    }
    return NULL;
}

uint32_t ppi_read_override(struct ppi_fields *fields, uint32_t layer, const char *name, const char *other, uint32_t otherwise)
{
    const struct ppi_json_value *own = own_of(ppi_field(fields, "per_layer_config"), layer);
    for (uint32_t i = 0; own != NULL && own->type == PPI_JSON_OBJECT && i < own->count; i++)
        if (strcmp(own->keys[i], name) != 0 && (other == NULL || strcmp(own->keys[i], other) != 0))
            ppi_fields_fail(fields, "per_layer_config has %q for layer %u; only %s may differ", own->keys[i], layer, name);
    const struct ppi_json_value *value = ppi_json_member_of(own, name);
    if (value == NULL)
        return otherwise;
    if (value->type == PPI_JSON_NUMBER && value->is_integer && value->integer > 0 && value->integer <= INT32_MAX)
        return (uint32_t)value->integer;
    ppi_fields_fail(fields, "%s of layer %u in per_layer_config must be an integer above 0", name, layer);
    return otherwise;
}

/* --- all --- */

/* In the order in which what is missing is told. */
struct ppi_stack ppi_read_stack(struct ppi_fields *fields, struct ppi_draft *draft, const struct ppi_family_class *class)
{
    ppsched_description_info *info = &draft->info;
    struct ppi_stack stack = {.interval = class->interval, .offset = class->offset, .end_window = UINT32_MAX};
    if (!has_trait(class, PPI_CLASS_OWN_LAYERS))
        stack.layers = read_layer_count(fields, class);
    info->hidden_size = ppi_size_or(fields, "hidden_size", class->sizes.hidden);
    stack.attention = read_attention(fields, class);
    info->vocabulary_size = ppi_size_or(fields, "vocab_size", class->sizes.vocabulary);
    info->sequence_length = ppi_count_or(fields, "max_position_embeddings", 1, 0);
    if (ppi_switch_or(fields, "tie_word_embeddings", has_trait(class, PPI_CLASS_TIED)))
        info->flags |= PPSCHED_DESCRIPTION_FLAG_TIED;
    stack.mlp = read_mlp(fields, class);
    if (!has_trait(class, PPI_CLASS_OWN_TYPES))
        stack.types = read_types(fields, class, stack.layers);
    if (has_trait(class, PPI_CLASS_WINDOW | PPI_CLASS_WINDOW_ALL))
        ppi_read_window(fields, &stack, class->window);
    return stack;
}

void ppi_add_layer(struct ppi_draft *draft, const struct ppi_stack *stack, uint32_t layer, bool has_window)
{
    const ppsched_block blocks[] = {has_window ? stack->windowed : stack->attention,
                                    has_experts_at(stack, layer) ? stack->experts : stack->mlp};
    ppi_draft_add_layer(draft, blocks, 2);
}

void ppi_add_layers(struct ppi_fields *fields, struct ppi_draft *draft, const struct ppi_stack *stack)
{
    ppsched_block blocks[2] = {stack->attention, stack->mlp};
    if (stack->layers > PPSCHED_MAX_LAYERS)
        ppi_fields_fail(fields, "there are %u layer%p; there must be at most %d", stack->layers, PPSCHED_MAX_LAYERS);
    for (uint32_t i = 0; i < stack->layers && fields->status == PPSCHED_OK && fields->missing_count == 0; i++) {
        blocks[0] = has_window(stack, i) ? stack->windowed : stack->attention;
        blocks[1] = has_experts_at(stack, i) ? stack->experts : stack->mlp;
        ppi_draft_add_layer(draft, blocks, 2);
    }
    if (stack->has_mtp)
        ppi_read_mtp(fields, draft, "num_nextn_predict_layers|num_mtp_layers", blocks, 2);
}

void ppi_read_plain(struct ppi_fields *fields, struct ppi_draft *draft, const struct ppi_family_class *class)
{
    struct ppi_stack stack = ppi_read_stack(fields, draft, class);
    ppi_add_layers(fields, draft, &stack);
}
