/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Hugging Face's config.json: finds the family of the text model and its fields, and lets the family read them. Then
 * reads the towers. */
#include "description/huggingface.h"

#include <string.h>

#include "base/error.h"
#include "base/nearest.h"
#include "description/families/functions.h"
#include "description/families/towers.h"
#include "description/known_fields.h"

enum { MOST_WRAPPERS = 2, MISSING_LINE = 320, TYPE_SHOWN = 64 };

static const struct family {
    const char *type;
    void (*read)(struct ppi_fields *fields, struct ppi_draft *draft);
} families[] = {
#define PPI_FAMILY(type, function, file) {type, function},
#include "description/families.h"
#undef PPI_FAMILY
};

enum { FAMILIES = sizeof families / sizeof families[0] };

uint32_t ppi_family_count(void)
{
    return FAMILIES;
}

const char *ppi_family_at(uint32_t index)
{
    return index < FAMILIES ? families[index].type : NULL;
}

/* --- the family --- */

static const struct family *find_family(const char *type)
{
    for (size_t i = 0; i < FAMILIES && type != NULL; i++)
        if (strcmp(families[i].type, type) == 0)
            return &families[i];
    return NULL;
}

static bool has_same_digits(const char *one, const char *other)
{
    static const char digits[] = "0123456789";
    for (;;) {
        one += strcspn(one, digits);
        other += strcspn(other, digits);
        if (*one != *other || *one == '\0')
            return *one == *other;
        one++, other++;
    }
}

/* The known type of which this is a slip of two letters at most; NULL if there is none. Other digits are another model, and so
 * are these types of transformers 5.23. */
static const char *meant_by(const char *type)
{
    static const char *const others[] = {"csm",    "flava",   "gemma3n", "gemma3n_text", "gpt_neo", "mimi",  "mllama",
                                         "molmo2", "pixtral", "voxtral", "xglm",         "xlm",     "zamba", "zamba2"};
    struct ppi_nearest search = ppi_nearest_start(type);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(type, others[i]) == 0)
            return NULL;
    for (size_t i = 0; i < FAMILIES; i++)
        if (has_same_digits(type, families[i].type))
            ppi_nearest_offer(&search, families[i].type, families[i].type);
    size_t most = strlen(type) / 3 < 2 ? strlen(type) / 3 : 2;
    return search.distance <= most ? search.answer : NULL;
}

/* The model_type of an object; NULL if it has none. */
static ppsched_status take_type(const char **out, const struct ppi_json_value *object, ppsched_error *error)
{
    char shown[TYPE_SHOWN];
    const struct ppi_json_value *type = ppi_json_member_of(object, "model_type");
    *out = type != NULL && type->type == PPI_JSON_TEXT ? type->text : NULL;
    if (*out != NULL || type == NULL || type->type == PPI_JSON_NULL)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "model_type must be a text such as \"llama\", not %s",
                    ppi_json_show(shown, sizeof shown, type));
}

/* --- configs with several in them --- */

/* Where the fields of the text model are: in the file itself, or in a part of a part of it. */
struct text_place {
    const struct ppi_json_value *wrappers[MOST_WRAPPERS];
    uint32_t wrapper_count;
    const struct ppi_json_value *text;
};

static const struct ppi_json_value *part_of(const struct ppi_json_value *object)
{
    static const char *const names[] = {"text_config", "llm_config", "language_config", "thinker_config"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct ppi_json_value *part = ppi_json_member_of(object, names[i]);
        if (part != NULL && part->type == PPI_JSON_OBJECT && part->count > 0)
            return part;
    }
    return NULL;
}

static struct text_place find_text(const struct ppi_json_value *object)
{
    struct text_place place = {.text = object};
    const struct ppi_json_value *part = part_of(object);
    for (; part != NULL && place.wrapper_count < MOST_WRAPPERS; part = part_of(part)) {
        place.wrappers[place.wrapper_count++] = place.text;
        place.text = part;
    }
    return place;
}

/* Of these the text's own fields say that the output is tied, even if those around them do not. */
static bool has_own_tie(const char *type)
{
    static const char *const types[] = {"glm4v", "glm4v_moe", "llava", "minimax_m3_vl", "qwen2_5_vl", "qwen2_vl"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i]) == 0)
            return true;
    return false;
}

/* Whether the output is tied: what is said around the text's fields, else in them. */
static void read_tied(struct ppi_fields *wrapper, const struct ppi_json_value *text, struct ppi_draft *draft)
{
    const struct ppi_json_value *own = ppi_json_member_of(text, "tie_word_embeddings");
    bool is_tied = (draft->info.flags & PPSCHED_DESCRIPTION_FLAG_TIED) != 0, is_own = own != NULL && own->type != PPI_JSON_NULL;
    bool is_told = ppi_switch_or(wrapper, "tie_word_embeddings", is_tied);
    if (is_told == is_tied)
        return;
    bool is_right = !(is_own && is_tied && has_own_tie(wrapper->family));
    if (is_right)
        draft->info.flags ^= PPSCHED_DESCRIPTION_FLAG_TIED;
    if (is_own)
        ppi_draft_warn(draft,
                       "tie_word_embeddings is %s in the text's own fields, and %s outside of them; the output counts as %s",
                       is_tied ? "true" : "false", is_told ? "true" : "false", is_right == is_told ? "tied" : "not tied");
}

/* Whether the file says which tower there is, or that there is none. */
static bool tells_tower(const struct ppi_fields *wrapper, const char *name)
{
    const struct ppi_json_value *value = ppi_json_member_of(wrapper->object, name);
    return value != NULL && (value->type == PPI_JSON_NULL || ppi_json_in_use(value));
}

/* Files leave out a config that is the class's own: then towers are not known. Omni models have one for sound, too. */
static void warn_of_no_towers(const struct ppi_fields *wrapper, struct ppi_draft *draft)
{
    bool has_audio = tells_tower(wrapper, "audio_config");
    bool has_one = has_audio || tells_tower(wrapper, "vision_config");
    if (tells_tower(wrapper, "thinker_config") || (has_one && (has_audio || strstr(wrapper->family, "omni") == NULL)))
        return;
    ppi_draft_warn(draft, "there is no %s, so a tower that a %s may have is not counted",
                   has_one ? "audio_config" : "vision_config", wrapper->family);
}

static ppsched_status read_wrapper(const struct ppi_json_value *object, const char *type, const struct ppi_json_value *text,
                                   struct ppi_arena *arena, struct ppi_draft *draft, ppsched_error *error)
{
    struct ppi_fields fields;
    ppi_fields_start(&fields, object, type, arena, error);
    ppi_field(&fields, "model_type|text_config|llm_config|language_config|thinker_config");
    read_tied(&fields, text, draft);
    if (fields.status == PPSCHED_OK)
        ppi_read_towers(&fields, draft);
    warn_of_no_towers(&fields, draft);
    if (fields.status == PPSCHED_OK)
        ppi_check_wrapper(&fields, text, draft);
    return ppi_fields_check(&fields);
}

/* What stands around a text of a family that is not known. */
static ppsched_status guess_wrapper(const struct ppi_json_value *object, const struct ppi_json_value *text,
                                    struct ppi_arena *arena, struct ppi_draft *draft, ppsched_error *error)
{
    struct ppi_fields fields;
    ppi_fields_start(&fields, object, "model", arena, error);
    ppi_field(&fields, "model_type|text_config|llm_config|language_config|thinker_config");
    read_tied(&fields, text, draft);
    if (fields.status == PPSCHED_OK)
        ppi_check_wrapper(&fields, text, draft);
    return ppi_fields_check(&fields);
}

/* --- all --- */

static ppsched_status read_text_config(const struct text_place *place, const struct family *family, struct ppi_arena *arena,
                                       struct ppi_draft *draft, ppsched_error *error)
{
    struct ppi_fields fields;
    ppi_fields_start(&fields, place->text, family->type, arena, error);
    fields.is_part = place->wrapper_count > 0;
    if (fields.status != PPSCHED_OK)
        return fields.status;
    ppi_field(&fields, "model_type");
    family->read(&fields, draft);
    if (ppi_fields_check(&fields) == PPSCHED_OK && !fields.is_part)
        ppi_read_towers(&fields, draft);
    if (ppi_fields_check(&fields) == PPSCHED_OK)
        ppi_check_fields(&fields, draft);
    return ppi_fields_check(&fields);
}

/* How many letters two names begin with in common. */
static size_t common_start(const char *one, const char *other)
{
    size_t count = 0;
    while (one[count] != '\0' && one[count] == other[count])
        count++;
    return count;
}

/* The known type of the same name but for its number or ending: four letters at the start, and the fewest edits. NULL if there
 * is none. */
static const char *nearest_to(const char *type)
{
    struct ppi_nearest search = ppi_nearest_start(type);
    for (size_t i = 0; i < FAMILIES; i++)
        if (common_start(type, families[i].type) >= 4)
            ppi_nearest_offer(&search, families[i].type, families[i].type);
    return search.answer;
}

/* Of a family that is not known: what is understood by the usual names. */
static ppsched_status guess_text(const struct text_place *place, const char *type, struct ppi_arena *arena,
                                 struct ppi_draft *draft, ppsched_error *error)
{
    struct ppi_fields fields;
    ppi_fields_start(&fields, place->text, type != NULL ? type : "model", arena, error);
    if (fields.status == PPSCHED_OK)
        ppi_guess(&fields, draft);
    draft->info.family = type;
    ppsched_status status = ppi_fields_check(&fields);
    for (uint32_t i = 0; i < place->wrapper_count && status == PPSCHED_OK; i++)
        status = guess_wrapper(place->wrappers[i], place->text, arena, draft, error);
    return status;
}

/* Whether the text or what stands around it has the field, and it is in use. */
static bool is_used(const struct text_place *place, const char *name)
{
    bool is_in_use = ppi_json_in_use(ppi_json_member_of(place->text, name));
    for (uint32_t i = 0; i < place->wrapper_count; i++)
        is_in_use |= ppi_json_in_use(ppi_json_member_of(place->wrappers[i], name));
    return is_in_use;
}

/* The fields that a guess does not understand. */
static void list_not_understood(char parts[MISSING_LINE], const struct text_place *place, const struct ppi_draft *draft)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < draft->warning_count; i++)
        if (strcmp(draft->warnings[i], "model_type") != 0 && is_used(place, draft->warnings[i]))
            ppi_add_name(parts, MISSING_LINE, count++, draft->warnings[i]);
}

/* What a family must have that the object lacks, and what it has that would not be counted. */
static ppsched_status fail_unknown_type(const struct text_place *place, const char *type, struct ppi_arena *arena,
                                        struct ppi_draft *draft, ppsched_error *error)
{
    static const char *const needed[] = {"num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads",
                                         "vocab_size"};
    char missing[MISSING_LINE] = "", parts[MISSING_LINE] = "";
    uint32_t missing_count = 0;
    const char *meant = meant_by(type), *nearest = nearest_to(type);
    if (meant != NULL)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "model_type %q is not known; did you mean %s?", type, meant);
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!ppi_json_in_use(ppi_json_member_of(place->text, needed[i])))
            ppi_add_name(missing, sizeof missing, missing_count++, needed[i]);
    draft->is_start = true;
    if (guess_text(place, type, arena, draft, error) == PPSCHED_ERROR_NO_MEMORY)
        return PPSCHED_ERROR_NO_MEMORY;
    list_not_understood(parts, place, draft);
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "model_type %q is not known%s%s%s%s%s%s%s; " PPI_INSTEAD, type,
                    nearest != NULL ? "; the nearest is " : "", nearest != NULL ? nearest : "",
                    nearest != NULL ? ", which is another model" : "", missing_count > 0 ? "; it lacks " : "", missing,
                    *parts != '\0' ? "; not understood: " : "", parts);
}

static ppsched_status read_model(const struct ppi_json_value *object, bool may_guess, struct ppi_arena *arena,
                                 struct ppi_draft *draft, ppsched_error *error)
{
    struct text_place place = find_text(object);
    const char *type, *text_type;
    ppsched_status status = take_type(&type, object, error);
    if (status == PPSCHED_OK)
        status = take_type(&text_type, place.text, error);
    if (status != PPSCHED_OK)
        return status;
    const char *known = text_type != NULL ? text_type : type;
    const struct family *family = find_family(known);
    if (known == NULL && !may_guess)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "it has no model_type, and it is not a description with kinds and layers");
    if (family == NULL && may_guess)
        return guess_text(&place, known, arena, draft, error);
    if (family == NULL)
        return fail_unknown_type(&place, known, arena, draft, error);
    draft->info.family = type != NULL ? type : known;
    status = read_text_config(&place, family, arena, draft, error);
    for (uint32_t i = 0; i < place.wrapper_count && status == PPSCHED_OK; i++)
        status = read_wrapper(place.wrappers[i], draft->info.family, place.text, arena, draft, error);
    return status;
}

static ppsched_status read_config(const ppsched_description **out, const struct ppi_json_value *object, bool may_guess,
                                  struct ppi_arena *arena, const struct ppi_host *host, ppsched_error *error)
{
    struct ppi_draft draft;
    ppi_draft_start(&draft, host);
    draft.is_start = may_guess;
    ppsched_status status = ppi_arena_check(&draft.arena, "the description", error);
    if (status == PPSCHED_OK)
        status = read_model(object, may_guess, arena, &draft, error);
    if (status == PPSCHED_OK)
        status = ppi_draft_finish(&draft, out, error);
    ppi_draft_clear(&draft);
    return status;
}

ppsched_status ppi_read_huggingface(const ppsched_description **out, const struct ppi_json_value *object,
                                    struct ppi_arena *arena, const struct ppi_host *host, ppsched_error *error)
{
    return read_config(out, object, false, arena, host, error);
}

ppsched_status ppi_guess_huggingface(const ppsched_description **out, const struct ppi_json_value *object,
                                     struct ppi_arena *arena, const struct ppi_host *host, ppsched_error *error)
{
    return read_config(out, object, true, arena, host, error);
}
