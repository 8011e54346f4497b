/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a description in the library's own form. */
#include <string.h>

#include "base/error.h"
#include "base/format.h"
#include "base/nearest.h"
#include "description/block_table.h"
#include "description/huggingface.h"
#include "description/json.h"

enum { SHOWN = 64, WHERE = 128 };

/* Where a value stands, for messages: "kind \"a\", block 0". */
struct place {
    const char *where;
    ppsched_error *error;
};

static ppsched_status fail_value(const struct place *place, const char *name, const char *wanted,
                                 const struct ppi_json_value *value)
{
    char shown[SHOWN];
    return ppi_fail(place->error, PPSCHED_ERROR_RANGE, "%s%s must be %s, not %s", place->where, name, wanted,
                    ppi_json_show(shown, sizeof shown, value));
}

static ppsched_status fail_unknown(const struct place *place, const char *name, const struct ppi_nearest *search)
{
    return ppi_fail(place->error, PPSCHED_ERROR_RANGE, "%sthere is no %q; did you mean %s?", place->where, name,
                    search->answer);
}

static ppsched_status read_number(const struct place *place, const char *name, const struct ppi_json_value *value,
                                  uint32_t *out)
{
    if (value->type != PPI_JSON_NUMBER || !value->is_integer || value->integer < 0 || value->integer > UINT32_MAX)
        return fail_value(place, name, "an integer of 0 or more", value);
    *out = (uint32_t)value->integer;
    return PPSCHED_OK;
}

static ppsched_status read_long(const struct place *place, const char *name, const struct ppi_json_value *value, uint64_t *out)
{
    if (value->type != PPI_JSON_NUMBER || !value->is_integer || value->integer < 0)
        return fail_value(place, name, "an integer of 0 or more", value);
    *out = (uint64_t)value->integer;
    return PPSCHED_OK;
}

/* Sets or clears a bit. */
static ppsched_status read_flag(const struct place *place, const char *name, const struct ppi_json_value *value, uint32_t bit,
                                uint32_t *flags)
{
    if (value->type != PPI_JSON_BOOL)
        return fail_value(place, name, "true or false", value);
    *flags = value->truth ? *flags | bit : *flags & ~bit;
    return PPSCHED_OK;
}

/* --- blocks --- */

/* Names that others give to kinds of blocks, for messages. */
static const struct {
    const char *name, *kind;
} other_names[] = {{"conv", "convolution"},
                   {"dense", "mlp"},
                   {"feed_forward", "mlp"},
                   {"feedforward", "mlp"},
                   {"ffn", "mlp"},
                   {"full_attention", "attention"},
                   {"gated_delta_net", "delta"},
                   {"gdn", "delta"},
                   {"gqa", "attention"},
                   {"kda", "delta"},
                   {"linear_attention", "delta"},
                   {"mamba2", "mamba"},
                   {"mixture_of_experts", "experts"},
                   {"mla", "latent_attention"},
                   {"moe", "experts"},
                   {"multi_latent_attention", "latent_attention"},
                   {"self_attention", "attention"},
                   {"short_conv", "convolution"},
                   {"sliding_attention", "attention"},
                   {"ssm", "mamba"}};

static ppsched_status read_block_kind(const struct place *place, const struct ppi_json_value *object, ppsched_block *block)
{
    const struct ppi_json_value *value = ppi_json_member_of(object, "kind");
    if (value == NULL || value->type != PPI_JSON_TEXT)
        return fail_value(place, "kind", "the name of a kind of block, such as \"attention\"", value);
    struct ppi_nearest search = ppi_nearest_start(value->text);
    for (int32_t kind = 0; kind < PPI_BLOCK_KINDS; kind++) {
        if (strcmp(value->text, ppi_block_kinds[kind]) == 0) {
            block->kind = kind;
            return PPSCHED_OK;
        }
        ppi_nearest_offer(&search, ppi_block_kinds[kind], ppi_block_kinds[kind]);
    }
    for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++)
        ppi_nearest_offer(&search, other_names[i].name, other_names[i].kind);
    return fail_unknown(place, value->text, &search);
}

static ppsched_status read_block_member(const struct place *place, const char *name, const struct ppi_json_value *value,
                                        ppsched_block *block)
{
    struct ppi_nearest search = ppi_nearest_start(name);
    if (strcmp(name, "kind") == 0)
        return PPSCHED_OK;
    if (strcmp(name, "extra_parameters") == 0)
        return read_long(place, name, value, &block->extra_parameters);
    for (size_t i = 0; i < PPI_BLOCK_FIELDS; i++) {
        if (strcmp(name, ppi_block_fields[i].name) == 0)
            return read_number(place, name, value, ppi_block_number(block, &ppi_block_fields[i]));
        ppi_nearest_offer(&search, ppi_block_fields[i].name, ppi_block_fields[i].name);
    }
    for (size_t i = 0; i < PPI_BLOCK_FLAGS; i++) {
        if (strcmp(name, ppi_block_flags[i].name) == 0)
            return read_flag(place, name, value, ppi_block_flags[i].flag, &block->flags);
        ppi_nearest_offer(&search, ppi_block_flags[i].name, ppi_block_flags[i].name);
    }
    return fail_unknown(place, name, &search);
}

/* A list of blocks; `name`: of the kind or tower. */
static ppsched_status read_blocks(const char *name, const struct ppi_json_value *list, ppsched_block *blocks, uint32_t *count,
                                  ppsched_error *error)
{
    char where[WHERE];
    struct place place = {"", error};
    if (list == NULL || list->type != PPI_JSON_LIST)
        return fail_value(&place, name, "a list of blocks", list);
    if (list->count > PPSCHED_MAX_BLOCKS)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "kind %q has %u block%p; it must be 0 to %d", name, list->count,
                        PPSCHED_MAX_BLOCKS);
    place.where = where;
    *count = list->count;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct ppi_json_value *object = &list->items[i];
        ppi_print(where, sizeof where, "kind %q, block %u: ", name, i);
        if (object->type != PPI_JSON_OBJECT)
            return fail_value(&place, "it", "an object such as {\"kind\": \"mlp\", \"width\": 1024}", object);
        blocks[i] = (ppsched_block){.size = sizeof blocks[i]};
        ppsched_status status = read_block_kind(&place, object, &blocks[i]);
        for (uint32_t m = 0; m < object->count && status == PPSCHED_OK; m++)
            status = read_block_member(&place, object->keys[m], &object->items[m], &blocks[i]);
        if (status != PPSCHED_OK)
            return status;
    }
    return PPSCHED_OK;
}

/* --- parts --- */

static ppsched_status read_kinds(struct ppi_draft *draft, const struct ppi_json_value *kinds, ppsched_error *error)
{
    ppsched_block blocks[PPSCHED_MAX_BLOCKS];
    const struct place place = {"", error};
    if (kinds == NULL || kinds->type != PPI_JSON_OBJECT || kinds->count == 0)
        return fail_value(&place, "kinds", "an object of names and lists of blocks", kinds);
    for (uint32_t i = 0; i < kinds->count; i++) {
        uint32_t count = 0;
        ppsched_status status = read_blocks(kinds->keys[i], &kinds->items[i], blocks, &count, error);
        if (status != PPSCHED_OK)
            return status;
        ppi_draft_add_named_kind(draft, kinds->keys[i], blocks, count);
    }
    return PPSCHED_OK;
}

static bool find_kind(const struct ppi_draft *draft, const char *name, uint32_t *kind)
{
    for (uint32_t i = 0; i < draft->info.kind_count; i++)
        if (strcmp(draft->kinds[i]->name, name) == 0) {
            *kind = i;
            return true;
        }
    return false;
}

static ppsched_status read_layers(struct ppi_draft *draft, const struct ppi_json_value *layers, ppsched_error *error)
{
    const struct place place = {"", error};
    if (layers != NULL && layers->type == PPI_JSON_TEXT)
        return ppi_read_pattern(draft, layers->text, error);
    if (layers == NULL || layers->type != PPI_JSON_LIST || layers->count == 0)
        return fail_value(&place, "layers", "a list of names, or a text such as \"8x[5xa b]\"", layers);
    if (layers->count > PPI_MOST_LAYERS)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the number of layers is %u; it must be 1 to %d", layers->count,
                        PPI_MOST_LAYERS);
    for (uint32_t i = 0; i < layers->count; i++) {
        uint32_t kind = 0;
        if (layers->items[i].type != PPI_JSON_TEXT)
            return fail_value(&place, "an entry of layers", "the name of a kind", &layers->items[i]);
        if (!find_kind(draft, layers->items[i].text, &kind))
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "layers: entry %u is %q; there is no such kind; did you mean %q?", i,
                            layers->items[i].text, ppi_draft_nearest_kind(draft, layers->items[i].text));
        ppi_draft_add_layer_of(draft, kind);
    }
    return PPSCHED_OK;
}

static ppsched_status read_tower_member(const struct place *place, const char *name, const struct ppi_json_value *value,
                                        ppsched_tower *tower)
{
    static const char *const names[] = {
        "name",      "hidden_size", "layers",           "tokens",           "frozen",
        "norm_bias", "blocks",      "extra_parameters", "deepstack_layers", "patches_per_token"};
    struct ppi_nearest search = ppi_nearest_start(name);
    if (strcmp(name, "name") == 0 || strcmp(name, "blocks") == 0)
        return PPSCHED_OK;
    if (strcmp(name, "hidden_size") == 0)
        return read_number(place, name, value, &tower->hidden_size);
    if (strcmp(name, "layers") == 0)
        return read_number(place, name, value, &tower->layers);
    if (strcmp(name, "tokens") == 0)
        return read_number(place, name, value, &tower->tokens);
    if (strcmp(name, "deepstack_layers") == 0)
        return read_number(place, name, value, &tower->deepstack_layers);
    if (strcmp(name, "patches_per_token") == 0)
        return read_number(place, name, value, &tower->patches_per_token);
    if (strcmp(name, "frozen") == 0)
        return read_flag(place, name, value, 1, &tower->is_frozen);
    if (strcmp(name, "norm_bias") == 0)
        return read_flag(place, name, value, 1, &tower->has_norm_bias);
    if (strcmp(name, "extra_parameters") == 0)
        return read_long(place, name, value, &tower->extra_parameters);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        ppi_nearest_offer(&search, names[i], names[i]);
    return fail_unknown(place, name, &search);
}

static ppsched_status read_tower_object(struct ppi_draft *draft, const struct ppi_json_value *object, ppsched_error *error)
{
    ppsched_block blocks[PPSCHED_MAX_BLOCKS];
    uint32_t count = 0;
    char where[WHERE];
    struct place place = {"", error};
    const struct ppi_json_value *name = ppi_json_member_of(object, "name");
    if (object->type != PPI_JSON_OBJECT || name == NULL || name->type != PPI_JSON_TEXT)
        return fail_value(&place, "an entry of towers", "an object with a name", object);
    ppsched_tower tower = {.size = sizeof tower, .name = name->text};
    ppi_print(where, sizeof where, "tower %q: ", name->text);
    place.where = where;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < object->count && status == PPSCHED_OK; i++)
        status = read_tower_member(&place, object->keys[i], &object->items[i], &tower);
    if (status == PPSCHED_OK)
        status = read_blocks(name->text, ppi_json_member_of(object, "blocks"), blocks, &count, error);
    if (status == PPSCHED_OK)
        ppi_draft_add_tower(draft, &tower, blocks, count);
    return status;
}

static ppsched_status read_towers(struct ppi_draft *draft, const struct ppi_json_value *list, ppsched_error *error)
{
    const struct place place = {"", error};
    ppsched_status status = PPSCHED_OK;
    if (list == NULL)
        return PPSCHED_OK;
    if (list->type != PPI_JSON_LIST)
        return fail_value(&place, "towers", "a list", list);
    for (uint32_t i = 0; i < list->count && status == PPSCHED_OK; i++)
        status = read_tower_object(draft, &list->items[i], error);
    return status;
}

/* --- all --- */

/* Members of the model that are numbers, and those that are switches, with the flag and whether true clears it. */
static const struct {
    const char *name;
    size_t offset; /* in ppsched_description_info */
} numbers[] = {{"hidden_size", offsetof(ppsched_description_info, hidden_size)},
               {"vocabulary_size", offsetof(ppsched_description_info, vocabulary_size)},
               {"positions", offsetof(ppsched_description_info, positions)},
               {"mtp_layers", offsetof(ppsched_description_info, mtp_layers)},
               {"streams", offsetof(ppsched_description_info, streams)},
               {"stream_interval", offsetof(ppsched_description_info, stream_interval)},
               {"layer_input", offsetof(ppsched_description_info, layer_input)},
               {"sequence_length", offsetof(ppsched_description_info, sequence_length)}};
static const struct {
    const char *name;
    uint32_t flag;
    bool clears;
} switches[] = {{"tied", PPSCHED_DESCRIPTION_FLAG_TIED, false},
                {"norm_bias", PPSCHED_DESCRIPTION_FLAG_NORM_BIAS, false},
                {"causal", PPSCHED_DESCRIPTION_FLAG_NOT_CAUSAL, true},
                {"dropout", PPSCHED_DESCRIPTION_FLAG_DROPOUT, false},
                {"final_norm", PPSCHED_DESCRIPTION_FLAG_NO_FINAL_NORM, true}};
static const char *const others[] = {"unknown", "kinds", "layers", "towers", "mtp_kind", "extra_parameters", "family"};

enum {
    NUMBERS = sizeof numbers / sizeof numbers[0],
    SWITCHES = sizeof switches / sizeof switches[0],
    OTHERS = sizeof others / sizeof others[0]
};

static ppsched_status read_member(const struct place *place, const char *name, const struct ppi_json_value *value,
                                  ppsched_description_info *info)
{
    struct ppi_nearest search = ppi_nearest_start(name);
    for (size_t i = 0; i < NUMBERS; i++) {
        if (strcmp(name, numbers[i].name) == 0)
            return read_number(place, name, value, (uint32_t *)(void *)((char *)info + numbers[i].offset));
        ppi_nearest_offer(&search, numbers[i].name, numbers[i].name);
    }
    for (size_t i = 0; i < SWITCHES; i++) {
        ppi_nearest_offer(&search, switches[i].name, switches[i].name);
        if (strcmp(name, switches[i].name) != 0)
            continue;
        ppsched_status status = read_flag(place, name, value, switches[i].flag, &info->flags);
        info->flags ^= status == PPSCHED_OK && switches[i].clears ? switches[i].flag : 0;
        return status;
    }
    if (strcmp(name, "extra_parameters") == 0)
        return read_long(place, name, value, &info->extra_parameters);
    for (size_t i = 0; i < OTHERS; i++) {
        if (strcmp(name, others[i]) == 0)
            return PPSCHED_OK;
        ppi_nearest_offer(&search, others[i], others[i]);
    }
    return fail_unknown(place, name, &search);
}

/* The kind of MTP layers, by its name; that of the last layer if it is not told. */
static ppsched_status read_mtp_kind(struct ppi_draft *draft, const struct ppi_json_value *value, ppsched_error *error)
{
    const struct place place = {"", error};
    ppsched_description_info *info = &draft->info;
    if (value == NULL) {
        info->mtp_kind = info->layer_count > 0 && draft->layers != NULL ? draft->layers[info->layer_count - 1] : 0;
        return PPSCHED_OK;
    }
    if (value->type != PPI_JSON_TEXT)
        return fail_value(&place, "mtp_kind", "the name of a kind", value);
    if (!find_kind(draft, value->text, &info->mtp_kind))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "mtp_kind is %q; there is no such kind; did you mean %q?", value->text,
                        ppi_draft_nearest_kind(draft, value->text));
    return PPSCHED_OK;
}

static ppsched_status read_family(struct ppi_draft *draft, const struct ppi_json_value *value, ppsched_error *error)
{
    const struct place place = {"", error};
    if (value == NULL)
        return PPSCHED_OK;
    if (value->type != PPI_JSON_TEXT)
        return fail_value(&place, "family", "a text", value);
    draft->info.family = value->text;
    return PPSCHED_OK;
}

/* The start of a description says what is not in it yet. */
static ppsched_status check_unknown(const struct ppi_json_value *value, ppsched_error *error)
{
    char shown[SHOWN];
    if (!ppi_json_in_use(value))
        return PPSCHED_OK;
    const struct ppi_json_value *first = value->type == PPI_JSON_LIST ? &value->items[0] : value;
    return ppi_fail(error, PPSCHED_ERROR_RANGE,
                    "the key \"unknown\" lists parts that are not described yet, such as %s; describe them, and remove the key",
                    ppi_json_show(shown, sizeof shown, first));
}

static ppsched_status fill_draft(struct ppi_draft *draft, const struct ppi_json_value *object, ppsched_error *error)
{
    const struct place place = {"", error};
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < object->count && status == PPSCHED_OK; i++)
        status = read_member(&place, object->keys[i], &object->items[i], &draft->info);
    if (status == PPSCHED_OK)
        status = read_kinds(draft, ppi_json_member_of(object, "kinds"), error);
    if (status == PPSCHED_OK && draft->has_too_many_kinds)
        return PPSCHED_OK; /* told when the draft is finished */
    if (status == PPSCHED_OK)
        status = read_layers(draft, ppi_json_member_of(object, "layers"), error);
    if (status == PPSCHED_OK)
        status = read_mtp_kind(draft, ppi_json_member_of(object, "mtp_kind"), error);
    if (status == PPSCHED_OK)
        status = read_towers(draft, ppi_json_member_of(object, "towers"), error);
    if (status == PPSCHED_OK)
        status = check_unknown(ppi_json_member_of(object, "unknown"), error);
    return status == PPSCHED_OK ? read_family(draft, ppi_json_member_of(object, "family"), error) : status;
}

bool ppi_is_own_form(const struct ppi_json_value *object)
{
    return ppi_json_member_of(object, "model_type") == NULL &&
           (ppi_json_member_of(object, "kinds") != NULL || ppi_json_member_of(object, "layers") != NULL);
}

ppsched_status ppi_read_own_form(const ppsched_description **out, const struct ppi_json_value *object,
                                 const struct ppi_host *host, ppsched_error *error)
{
    struct ppi_draft draft;
    ppi_draft_start(&draft, host);
    ppsched_status status = ppi_arena_check(&draft.arena, "the description", error);
    if (status == PPSCHED_OK)
        status = fill_draft(&draft, object, error);
    if (status == PPSCHED_OK)
        status = ppi_draft_finish(&draft, out, error);
    ppi_draft_clear(&draft);
    return status;
}

static ppsched_status read_text(const ppsched_description **out, const char *text, size_t length, bool may_guess,
                                const struct ppi_host *host, ppsched_error *error)
{
    struct ppi_arena arena = {.host = host};
    struct ppi_json_value value;
    ppsched_status status = ppi_json_tree(&value, &arena, text, length, error);
    if (status == PPSCHED_OK && value.type != PPI_JSON_OBJECT)
        status = ppi_fail(error, PPSCHED_ERROR_SYNTAX, "a description must be an object of names and values");
    if (status == PPSCHED_OK)
        status = ppi_is_own_form(&value) ? ppi_read_own_form(out, &value, host, error)
                 : may_guess             ? ppi_guess_huggingface(out, &value, &arena, host, error)
                                         : ppi_read_huggingface(out, &value, &arena, host, error);
    ppi_arena_clear(&arena);
    return status;
}

ppsched_status ppi_description_read(const ppsched_description **out, const char *text, size_t length,
                                    const struct ppi_host *host, ppsched_error *error)
{
    return read_text(out, text, length, false, host, error);
}

ppsched_status ppi_description_guess(const ppsched_description **out, const char *text, size_t length,
                                     const struct ppi_host *host, ppsched_error *error)
{
    return read_text(out, text, length, true, host, error);
}
