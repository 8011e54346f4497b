/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the fields of a config file: checks their types and sizes, and notes which of them were asked for. */
#include "description/fields.h"

#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "base/format.h"

enum { FIELD_SHOWN = 64, FIELDS_LINE = 400 };
static const int64_t most_value = (int64_t)1 << 31;

void ppi_fields_start(struct ppi_fields *fields, const struct ppi_json_value *object, const char *family,
                      struct ppi_arena *arena, ppsched_error *error)
{
    *fields = (struct ppi_fields){.object = object, .arena = arena, .family = family, .error = error};
    fields->asked = ppi_arena_take_zeroed(arena, object->count + (size_t)1, sizeof *fields->asked);
    if (fields->asked == NULL)
        fields->status = ppi_fail_memory(error, "the fields of the model");
}

void ppi_fields_fail(struct ppi_fields *fields, const char *format, ...)
{
    char line[FIELDS_LINE];
    va_list arguments;
    if (fields->status != PPSCHED_OK)
        return;
    va_start(arguments, format);
    ppi_format(line, sizeof line, format, arguments);
    va_end(arguments);
    fields->status = ppi_fail(fields->error, PPSCHED_ERROR_RANGE, "%s", line);
}

/* --- values by name --- */

/* The next of the alternatives: its length; `*names` goes to what follows it. 0 at the end. */
static size_t next_name(const char **names, const char **name)
{
    *name = *names;
    size_t length = strcspn(*names, "|");
    *names += length + ((*names)[length] == '|');
    return length;
}

/* The member of this name, marked as read; NULL if there is none, or it is null. */
static const struct ppi_json_value *take(struct ppi_fields *fields, const char *name, size_t length)
{
    const struct ppi_json_value *object = fields->object;
    for (uint32_t i = 0; i < object->count && fields->asked != NULL; i++)
        if (strncmp(object->keys[i], name, length) == 0 && object->keys[i][length] == '\0') {
            fields->asked[i] = true;
            return object->items[i].type == PPI_JSON_NULL ? NULL : &object->items[i];
        }
    return NULL;
}

/* The first of the alternatives that is there; `*key`: its name. */
static const struct ppi_json_value *find(struct ppi_fields *fields, const char *names, const char **key)
{
    const struct ppi_json_value *found = NULL;
    const char *name;
    size_t length;
    while ((length = next_name(&names, &name)) > 0) {
        const struct ppi_json_value *value = take(fields, name, length);
        if (value == NULL || found != NULL)
            continue;
        found = value;
        *key = fields->object->keys[value - fields->object->items];
    }
    return found;
}

const struct ppi_json_value *ppi_field(struct ppi_fields *fields, const char *names)
{
    const char *key;
    return find(fields, names, &key);
}

/* Refuses a value of a wrong type. */
static void fail_type(struct ppi_fields *fields, const char *key, const char *wanted, const struct ppi_json_value *value)
{
    char shown[FIELD_SHOWN];
    ppi_fields_fail(fields, "%q must be %s, not %s", key, wanted, ppi_json_show(shown, sizeof shown, value));
}

/* --- integers --- */

/* An integer from `least`; with an error -1. What is not in use is 0. */
static int64_t check_integer(struct ppi_fields *fields, const char *key, const struct ppi_json_value *value, uint32_t least)
{
    if (least == 0 && !ppi_json_in_use(value))
        return 0;
    if (value->type != PPI_JSON_NUMBER || !value->is_integer)
        fail_type(fields, key, "an integer", value);
    else if (value->integer < least)
        ppi_fields_fail(fields, "%s is %lld; it must be %u or more", key, (long long)value->integer, least);
    else if (value->integer > most_value)
        ppi_fields_fail(fields, "%s is %lld; it must be %u to %lld", key, (long long)value->integer, least,
                        (long long)most_value);
    else
        return value->integer;
    return -1;
}

/* The value of all alternatives that are there; -1 if there is none, or with an error. */
static int64_t take_integer(struct ppi_fields *fields, const char *names, uint32_t least)
{
    int64_t found = -1;
    const char *name, *first = NULL;
    size_t length;
    while ((length = next_name(&names, &name)) > 0 && fields->status == PPSCHED_OK) {
        const struct ppi_json_value *value = take(fields, name, length);
        if (value == NULL || (first != NULL && !ppi_json_in_use(value)))
            continue;
        const char *key = fields->object->keys[value - fields->object->items];
        int64_t number = check_integer(fields, key, value, least);
        if (first != NULL && number >= 0 && number != found)
            ppi_fields_fail(fields, "%s is %lld, and %s, another name of it, %lld; give one of them", key, (long long)number,
                            first, (long long)found);
        first = first != NULL ? first : key;
        found = found >= 0 ? found : number;
    }
    return fields->status == PPSCHED_OK ? found : -1;
}

static void note_missing(struct ppi_fields *fields, const char *names)
{
    if (fields->status == PPSCHED_OK && fields->missing_count < PPI_MOST_MISSING)
        fields->missing[fields->missing_count++] = names;
}

uint32_t ppi_needed(struct ppi_fields *fields, const char *names)
{
    int64_t value = take_integer(fields, names, 1);
    if (value < 0)
        note_missing(fields, names);
    return value > 0 ? (uint32_t)value : 0;
}

uint32_t ppi_count_or(struct ppi_fields *fields, const char *names, uint32_t least, uint32_t otherwise)
{
    int64_t value = take_integer(fields, names, least);
    return value >= 0 ? (uint32_t)value : otherwise;
}

uint32_t ppi_size_or(struct ppi_fields *fields, const char *names, uint32_t otherwise)
{
    return fields->is_part ? ppi_count_or(fields, names, 1, otherwise) : ppi_needed(fields, names);
}

/* --- other types --- */

bool ppi_switch_or(struct ppi_fields *fields, const char *names, bool otherwise)
{
    const char *key = NULL;
    const struct ppi_json_value *value = find(fields, names, &key);
    if (value == NULL)
        return otherwise;
    if (!ppi_json_in_use(value))
        return false;
    if (value->type != PPI_JSON_BOOL)
        fail_type(fields, key, "true or false", value);
    return value->type == PPI_JSON_BOOL ? value->truth : otherwise;
}

double ppi_number_or(struct ppi_fields *fields, const char *names, double otherwise)
{
    const char *key = NULL;
    const struct ppi_json_value *value = find(fields, names, &key);
    if (value == NULL)
        return otherwise;
    if (value->type != PPI_JSON_NUMBER)
        fail_type(fields, key, "a number", value);
    return value->type == PPI_JSON_NUMBER ? value->number : otherwise;
}

const char *ppi_text_or(struct ppi_fields *fields, const char *names, const char *otherwise)
{
    const char *key = NULL;
    const struct ppi_json_value *value = find(fields, names, &key);
    if (value == NULL)
        return otherwise;
    if (value->type != PPI_JSON_TEXT)
        fail_type(fields, key, "a text", value);
    return value->type == PPI_JSON_TEXT ? value->text : otherwise;
}

const struct ppi_json_value *ppi_list_of(struct ppi_fields *fields, const char *names, uint32_t count)
{
    const char *key = NULL;
    const struct ppi_json_value *value = find(fields, names, &key);
    if (!ppi_json_in_use(value))
        return NULL;
    if (value->type != PPI_JSON_LIST)
        fail_type(fields, key, "a list", value);
    else if (value->count != count)
        ppi_fields_fail(fields, "%s has %u entries, and the model has %u layer%p", key, value->count, count);
    return fields->status == PPSCHED_OK ? value : NULL;
}

bool ppi_entry_is(const struct ppi_json_value *list, uint32_t index, const char *text, bool otherwise)
{
    if (list == NULL || index >= list->count)
        return otherwise;
    return list->items[index].type == PPI_JSON_TEXT && strcmp(list->items[index].text, text) == 0;
}

/* --- the end --- */

ppsched_status ppi_fields_check(struct ppi_fields *fields)
{
    char line[FIELDS_LINE] = "";
    if (fields->status != PPSCHED_OK || fields->missing_count == 0)
        return fields->status;
    for (uint32_t i = 0; i < fields->missing_count; i++) {
        char name[FIELD_SHOWN];
        size_t used = strlen(line), length = strcspn(fields->missing[i], "|");
        ppi_print(name, length < sizeof name ? length + 1 : sizeof name, "%s", fields->missing[i]);
        ppi_print(line + used, sizeof line - used, "%s%s", i > 0 ? ", " : "", name);
    }
    ppi_fields_fail(fields, "a %s needs %s; add %s", fields->family, line, fields->missing_count == 1 ? "it" : "them");
    return fields->status;
}
