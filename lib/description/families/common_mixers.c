/* SPDX-License-Identifier: Apache-2.0 */
/* What families with several kinds of layers share: fields, lists of layer types, blocks. */
#include <string.h>

#include <ppsched/layers.h>

#include "description/families/common_mixers.h"
#include "description/known_fields.h"

/* --- fields --- */

void ppi_part_start(struct ppi_fields *part, struct ppi_fields *whole, const char *name)
{
    static const struct ppi_json_value nothing = {.type = PPI_JSON_OBJECT};
    const struct ppi_json_value *object = ppi_field(whole, name);
    if (object != NULL && object->type != PPI_JSON_OBJECT) {
        ppi_fields_fail(whole, "%s must be an object", name);
        object = NULL;
    }
    ppsched_error *own = ppi_arena_take_zeroed(whole->arena, 1, sizeof *own);
    ppi_fields_start(part, object != NULL ? object : &nothing, whole->family, whole->arena, own);
}

void ppi_part_join(struct ppi_fields *whole, const struct ppi_fields *part)
{
    if (whole->status == PPSCHED_OK && part->status != PPSCHED_OK) {
        whole->status = part->status;
        if (whole->error != NULL && part->error != NULL)
            *whole->error = *part->error;
    }
    for (uint32_t i = 0; i < part->missing_count && whole->missing_count < PPI_MOST_MISSING; i++)
        whole->missing[whole->missing_count++] = part->missing[i];
}

void ppi_part_end(struct ppi_fields *whole, struct ppi_fields *part, struct ppi_draft *draft)
{
    ppi_check_fields(part, draft);
    ppi_part_join(whole, part);
}

bool ppi_is_null(struct ppi_fields *fields, const char *name)
{
    const struct ppi_json_value *value = ppi_json_member_of(fields->object, name);
    return value != NULL && value->type == PPI_JSON_NULL;
}

void ppi_ignore(struct ppi_fields *fields, const char *names)
{
    ppi_field(fields, names);
}

void ppi_require_switch(struct ppi_fields *fields, const char *name, bool expected)
{
    if (ppi_switch_or(fields, name, expected) != expected)
        ppi_fields_fail(fields, "%s is %s; for a %s only %s is supported", name, expected ? "false" : "true", fields->family,
                        expected ? "true" : "false");
}

void ppi_require_text(struct ppi_fields *fields, const char *name, const char *expected)
{
    const char *given = ppi_text_or(fields, name, expected);
    if (given != NULL && strcmp(given, expected) != 0)
        ppi_fields_fail(fields, "%s is %q; for a %s only %s is supported", name, given, fields->family, expected);
}

void ppi_require_count(struct ppi_fields *fields, const char *name, uint32_t expected)
{
    uint32_t given = ppi_count_or(fields, name, 0, expected);
    if (given != expected)
        ppi_fields_fail(fields, "%s is %u; for a %s only %u is supported", name, given, fields->family, expected);
}

uint32_t ppi_count_or_auto(struct ppi_fields *fields, const char *name, uint32_t otherwise)
{
    const struct ppi_json_value *value = ppi_field(fields, name);
    if (value != NULL && value->type == PPI_JSON_TEXT && strcmp(value->text, "auto") == 0)
        return otherwise;
    return ppi_count_or(fields, name, 1, otherwise);
}

uint32_t ppi_size_product(struct ppi_fields *fields, const char *what, uint32_t a, uint32_t b)
{
    uint64_t product = (uint64_t)a * b;
    if (product <= INT32_MAX)
        return (uint32_t)product;
    ppi_fields_fail(fields, "%s is %u times %u; it must be at most %d", what, a, b, INT32_MAX);
    return 0;
}

uint64_t ppi_parameters(double number)
{
    const double most = 9007199254740992.0;
    return (uint64_t)(number < most ? number : most);
}

/* --- lists --- */

const struct ppi_json_value *ppi_integers(struct ppi_fields *fields, const char *name)
{
    const struct ppi_json_value *list = ppi_field(fields, name);
    bool is_right = list == NULL || list->type == PPI_JSON_LIST;
    for (uint32_t i = 0; is_right && list != NULL && i < list->count; i++)
        is_right = list->items[i].type == PPI_JSON_NUMBER && list->items[i].is_integer;
    if (is_right)
        return list;
    ppi_fields_fail(fields, "%s must be a list of integers", name);
    return NULL;
}

bool ppi_list_has(const struct ppi_json_value *list, int64_t number)
{
    for (uint32_t i = 0; list != NULL && i < list->count; i++)
        if (list->items[i].integer == number)
            return true;
    return false;
}

/* Today's name of a type. */
static const char *type_of(const struct ppi_json_value *entry)
{
    static const char *const names[][2] = {
        {"mamba", "linear_attention"}, {"attention", "full_attention"}, {"deepseek_sparse_attention", "indexed_attention"}};
    const char *text = entry->type == PPI_JSON_TEXT ? entry->text : "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i][0]) == 0)
            return names[i][1];
    return text;
}

static bool is_among(const char *type, const char *const *allowed)
{
    for (; *allowed != NULL; allowed++)
        if (strcmp(type, *allowed) == 0)
            return true;
    return false;
}

static void refuse_type(struct ppi_fields *fields, const char *names, const struct ppi_json_value *types, uint32_t layer,
                        const char *const *allowed)
{
    char shown[64], known[320] = "";
    for (uint32_t i = 0; allowed[i] != NULL; i++)
        ppi_add_name(known, sizeof known, i, allowed[i]);
    ppi_fields_fail(fields, "%s has %s for layer %u; layers of a %s are of %s", names,
                    ppi_json_show(shown, sizeof shown, &types->items[layer]), layer, fields->family, known);
}

const struct ppi_json_value *ppi_types_of(struct ppi_fields *fields, const char *names, uint32_t layers,
                                          const char *const *allowed)
{
    const struct ppi_json_value *types = ppi_list_of(fields, names, layers);
    for (uint32_t i = 0; types != NULL && i < layers && i < types->count; i++) {
        if (is_among(type_of(&types->items[i]), allowed))
            continue;
        refuse_type(fields, names, types, i, allowed);
        return NULL;
    }
    return types;
}

bool ppi_type_is(const struct ppi_json_value *types, uint32_t layer, const char *type, bool otherwise)
{
    if (types == NULL || layer >= types->count)
        return otherwise;
    return strcmp(type_of(&types->items[layer]), type) == 0;
}

/* --- the model --- */

void ppi_read_frame(struct ppi_fields *fields, struct ppi_draft *draft, const struct ppi_frame *frame)
{
    ppsched_description_info *info = &draft->info;
    info->hidden_size = ppi_size_or(fields, "hidden_size", frame->hidden);
    info->vocabulary_size = ppi_size_or(fields, "vocab_size", frame->vocabulary);
    info->sequence_length = ppi_count_or(fields, "max_position_embeddings", 0, 0);
    if (ppi_switch_or(fields, "tie_word_embeddings", frame->is_tied))
        info->flags |= PPSCHED_DESCRIPTION_FLAG_TIED;
}

uint32_t ppi_read_layer_count(struct ppi_fields *fields)
{
    uint32_t layers = ppi_needed(fields, "num_hidden_layers");
    if (layers <= PPSCHED_MAX_LAYERS)
        return layers;
    ppi_fields_fail(fields, "num_hidden_layers is %u; it must be at most %d", layers, PPSCHED_MAX_LAYERS);
    return 0;
}

uint32_t ppi_read_layers(struct ppi_fields *fields, const struct ppi_frame *frame)
{
    bool is_told = !fields->is_part || ppi_field(fields, "num_hidden_layers") != NULL;
    return is_told ? ppi_read_layer_count(fields) : frame->layers;
}

ppsched_block ppi_read_mlp(struct ppi_fields *fields, const struct ppi_frame *frame)
{
    return ppi_gated_mlp(ppi_size_or(fields, "intermediate_size", frame->width));
}

void ppi_add_mtp(struct ppi_draft *draft, uint32_t layers, const ppsched_block *blocks, uint32_t count)
{
    draft->info.mtp_layers = layers;
    if (layers > 0)
        draft->info.mtp_kind = ppi_draft_add_kind(draft, blocks, count);
}

void ppi_read_mtp(struct ppi_fields *fields, struct ppi_draft *draft, const char *names, const ppsched_block *blocks,
                  uint32_t count)
{
    ppi_add_mtp(draft, ppi_count_or(fields, names, 0, 0), blocks, count);
}

/* --- blocks --- */

ppsched_block ppi_read_attention(struct ppi_fields *fields, const struct ppi_frame *frame, uint32_t key_value_heads,
                                 uint32_t head_size)
{
    ppsched_block block = {.kind = PPSCHED_BLOCK_KIND_ATTENTION,
                           .heads = ppi_size_or(fields, "num_attention_heads", frame->heads)};
    if (ppi_is_null(fields, "num_key_value_heads"))
        key_value_heads = 0;
    block.key_value_heads = ppi_count_or(fields, "num_key_value_heads", 1, key_value_heads);
    block.head_size = ppi_count_or(fields, "head_dim", 1, head_size);
    return block;
}

ppsched_block ppi_read_latent(struct ppi_fields *fields, const struct ppi_frame *frame, const ppsched_block *otherwise)
{
    ppsched_block block = {.kind = PPSCHED_BLOCK_KIND_LATENT_ATTENTION,
                           .heads = ppi_size_or(fields, "num_attention_heads", frame->heads)};
    uint32_t query_rank = ppi_is_null(fields, "q_lora_rank") ? 0 : otherwise->query_rank;
    block.query_rank = ppi_count_or(fields, "q_lora_rank", 0, query_rank);
    block.key_value_rank = ppi_count_or(fields, "kv_lora_rank", 1, otherwise->key_value_rank);
    block.head_size = ppi_count_or(fields, "qk_nope_head_dim", 1, otherwise->head_size);
    block.rope_size = ppi_count_or(fields, "qk_rope_head_dim", 0, otherwise->rope_size);
    block.value_size = ppi_count_or(fields, "v_head_dim", 1, otherwise->value_size);
    if (ppi_switch_or(fields, "attention_bias", false))
        block.flags |= PPSCHED_BLOCK_FLAG_BIAS | PPSCHED_BLOCK_FLAG_OUTPUT_BIAS;
    ppi_ignore(fields, "num_key_value_heads|head_dim");
    ppi_require_count(fields, "qk_head_dim", block.head_size + block.rope_size);
    return block;
}

ppsched_block ppi_gated_mlp(uint32_t width)
{
    return (ppsched_block){.kind = PPSCHED_BLOCK_KIND_MLP, .flags = PPSCHED_BLOCK_FLAG_GATED, .width = width};
}
