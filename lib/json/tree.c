/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a JSON text into a tree. Items are collected on a stack that grows by doubling, then copied to the arena as one
 * array, so that the work is linear in the text; equal keys are found by sorting. */
#include "json/tree.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/format.h"
#include "base/sort.h"
#include "json/scan.h"

/* What a list or an object has so far, with the keys of members. */
struct stack {
    struct ppi_json_value *items;
    const char **keys;
    const char **places; /* of keys in the text */
    uint32_t count, capacity;
};

struct reader {
    struct ppi_json json;
    struct ppi_arena *arena;
    struct stack stack; /* of all open lists, the innermost last */
    uint32_t depth;
};

static ppsched_status read_value(struct reader *reader, struct ppi_json_value *out);

/* --- numbers --- */

/* Digits as an integer and a power of ten; what is beyond 19 digits only counts as a power. */
struct decimal {
    uint64_t digits;
    int exponent;
    bool is_integer;
};

static void add_digit(struct decimal *decimal, char c, bool is_fraction)
{
    const uint64_t most = (UINT64_MAX - 9) / 10;
    bool fits = decimal->digits <= most;
    if (fits)
        decimal->digits = decimal->digits * 10 + (uint64_t)(c - '0');
    decimal->exponent += is_fraction ? -fits : !fits;
}

/* Of a number that the scanner has accepted; exponents are limited so that they cannot overflow. */
static struct decimal decimal_of(const char *at, const char *end)
{
    struct decimal decimal = {.is_integer = true};
    bool is_fraction = false, is_negative = false;
    int exponent = 0;
    for (; at < end && *at != 'e' && *at != 'E'; at++)
        if (*at == '.')
            is_fraction = true;
        else if (*at != '-')
            add_digit(&decimal, *at, is_fraction);
    decimal.is_integer = !is_fraction && at == end;
    for (at += at < end; at < end; at++)
        if (*at == '-' || *at == '+')
            is_negative = *at == '-';
        else
            exponent = exponent < 10000 ? exponent * 10 + (*at - '0') : exponent;
    decimal.exponent += is_negative ? -exponent : exponent;
    return decimal;
}

/* Exact for up to 15 digits and powers of ten up to 22; else to the last digits but one. */
static double double_of(struct decimal decimal)
{
    double value = (double)decimal.digits, power = 1, step = 10;
    int exponent = decimal.exponent < 0 ? -decimal.exponent : decimal.exponent;
    if (value == 0)
        return 0;
    for (int left = exponent < 400 ? exponent : 400; left > 0; left /= 2, step *= step)
        power *= left % 2 != 0 ? step : 1;
    return decimal.exponent < 0 ? value / power : value * power;
}

static ppsched_status read_number(struct reader *reader, struct ppi_json_value *out)
{
    const char *start = reader->json.next;
    ppsched_status status = ppi_json_number_or_null(&reader->json);
    if (status != PPSCHED_OK)
        return status;
    struct decimal decimal = decimal_of(start, reader->json.next);
    bool is_negative = *start == '-';
    out->type = PPI_JSON_NUMBER;
    out->number = is_negative ? -double_of(decimal) : double_of(decimal);
    out->is_integer = decimal.is_integer && decimal.exponent == 0 && decimal.digits <= INT64_MAX;
    if (out->is_integer)
        out->integer = is_negative ? -(int64_t)decimal.digits : (int64_t)decimal.digits;
    return PPSCHED_OK;
}

/* Infinity, -Infinity and NaN, which are no JSON; Python's writer makes them, and config files have them. */
static bool read_named_number(struct reader *reader, struct ppi_json_value *out)
{
    static const struct {
        const char *name;
        double number;
    } names[] = {{"Infinity", INFINITY}, {"-Infinity", -INFINITY}, {"NaN", NAN}};
    size_t left = (size_t)(reader->json.end - reader->json.next);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i].name);
        if (left < length || memcmp(reader->json.next, names[i].name, length) != 0)
            continue;
        reader->json.next += length;
        out->type = PPI_JSON_NUMBER;
        out->number = names[i].number;
        return true;
    }
    return false;
}

/* --- texts --- */

static ppsched_status take_text(struct reader *reader, const struct ppi_json_string *string, const char **out)
{
    char *text = ppi_arena_take(reader->arena, (size_t)(string->end - string->text) + 1, 1);
    if (text == NULL)
        return ppi_fail_memory(reader->json.error, "the text");
    size_t length = ppi_json_decode(string, text);
    text[length] = '\0';
    *out = text;
    return strlen(text) == length ? PPSCHED_OK
                                  : ppi_json_fail(&reader->json, string->text, "a string must not hold the character NUL");
}

static ppsched_status read_text(struct reader *reader, struct ppi_json_value *out)
{
    struct ppi_json_string string;
    ppsched_status status = ppi_json_string(&reader->json, &string);
    out->type = PPI_JSON_TEXT;
    return status == PPSCHED_OK ? take_text(reader, &string, &out->text) : status;
}

/* --- lists and objects --- */

static bool grow(struct reader *reader)
{
    struct stack *stack = &reader->stack;
    uint32_t capacity = stack->capacity > 0 ? 2 * stack->capacity : 256;
    struct stack wider = {.count = stack->count, .capacity = capacity};
    if (stack->capacity > UINT32_MAX / 4)
        return false;
    wider.items = ppi_arena_take(reader->arena, capacity, sizeof *wider.items);
    wider.keys = ppi_arena_take(reader->arena, capacity, sizeof *wider.keys);
    wider.places = ppi_arena_take(reader->arena, capacity, sizeof *wider.places);
    if (wider.items == NULL || wider.keys == NULL || wider.places == NULL)
        return false;
    if (stack->count > 0) {
        memcpy(wider.items, stack->items, stack->count * sizeof *wider.items);
        memcpy(wider.keys, stack->keys, stack->count * sizeof *wider.keys);
        memcpy(wider.places, stack->places, stack->count * sizeof *wider.places);
    }
    *stack = wider;
    return true;
}

/* One more item; `is_member`: with its key. */
static ppsched_status read_item(struct reader *reader, bool is_member)
{
    struct ppi_json_value value;
    struct ppi_json_string key;
    const char *name = NULL, *place = reader->json.next;
    ppsched_status status = is_member ? ppi_json_key(&reader->json, &key) : PPSCHED_OK;
    if (status == PPSCHED_OK && is_member) {
        place = key.text;
        status = take_text(reader, &key, &name);
    }
    if (status == PPSCHED_OK)
        status = read_value(reader, &value);
    if (status != PPSCHED_OK)
        return status;
    if (reader->stack.count == reader->stack.capacity && !grow(reader))
        return ppi_fail_memory(reader->json.error, "the text");
    uint32_t item = reader->stack.count++;
    reader->stack.items[item] = value;
    reader->stack.keys[item] = name;
    reader->stack.places[item] = place;
    return PPSCHED_OK;
}

static bool goes_before(const void *context, uint32_t a, uint32_t b)
{
    const char *const *keys = context;
    return strcmp(keys[a], keys[b]) < 0;
}

/* Refuses two equal keys among the last `count`. */
static ppsched_status check_keys(struct reader *reader, uint32_t first, uint32_t count)
{
    const char **keys = reader->stack.keys + first;
    uint32_t *order = ppi_arena_take(reader->arena, count, sizeof *order);
    uint32_t *scratch = ppi_arena_take(reader->arena, count, sizeof *scratch);
    if (order == NULL || scratch == NULL)
        return ppi_fail_memory(reader->json.error, "the text");
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    order = ppi_sort(order, scratch, count, goes_before, keys);
    for (uint32_t i = 1; i < count; i++)
        if (strcmp(keys[order[i - 1]], keys[order[i]]) == 0)
            return ppi_json_fail(&reader->json, reader->stack.places[first + order[i]], "the key occurs twice in its object");
    return PPSCHED_OK;
}

/* Moves the items from `first` on from the stack to arrays of their own. */
static ppsched_status take_items(struct reader *reader, struct ppi_json_value *out, uint32_t first)
{
    uint32_t count = reader->stack.count - first;
    ppsched_status status = PPSCHED_OK;
    out->count = count;
    reader->stack.count = first;
    if (count == 0)
        return PPSCHED_OK;
    if (out->type == PPI_JSON_OBJECT)
        status = check_keys(reader, first, count);
    struct ppi_json_value *items = ppi_arena_take(reader->arena, count, sizeof *items);
    const char **keys = ppi_arena_take(reader->arena, count, sizeof *keys);
    if (items == NULL || keys == NULL)
        return ppi_fail_memory(reader->json.error, "the text");
    memcpy(items, reader->stack.items + first, count * sizeof *items);
    memcpy(keys, reader->stack.keys + first, count * sizeof *keys);
    out->items = items;
    out->keys = out->type == PPI_JSON_OBJECT ? keys : NULL;
    return status;
}

static ppsched_status read_items(struct reader *reader, struct ppi_json_value *out)
{
    struct ppi_json_list list;
    uint32_t first = reader->stack.count;
    bool more = false, is_object = ppi_json_peek(&reader->json) == '{';
    if (reader->depth == PPI_JSON_DEPTH)
        return ppi_json_fail(&reader->json, reader->json.next, "arrays and objects are nested too deeply");
    reader->depth++;
    out->type = is_object ? PPI_JSON_OBJECT : PPI_JSON_LIST;
    ppsched_status status = ppi_json_open(&reader->json, is_object ? '{' : '[', &list);
    if (status == PPSCHED_OK)
        status = ppi_json_more(&reader->json, &list, &more);
    while (status == PPSCHED_OK && more) {
        status = read_item(reader, is_object);
        if (status == PPSCHED_OK)
            status = ppi_json_more(&reader->json, &list, &more);
    }
    reader->depth--;
    return status == PPSCHED_OK ? take_items(reader, out, first) : status;
}

static ppsched_status read_value(struct reader *reader, struct ppi_json_value *out)
{
    char c = ppi_json_peek(&reader->json);
    *out = (struct ppi_json_value){.type = PPI_JSON_NULL};
    if (c == '{' || c == '[')
        return read_items(reader, out);
    if (c == '"')
        return read_text(reader, out);
    if (c == 'n')
        return ppi_json_number_or_null(&reader->json);
    if (c == 't' || c == 'f') {
        out->type = PPI_JSON_BOOL;
        return ppi_json_bool(&reader->json, &out->truth);
    }
    if (read_named_number(reader, out))
        return PPSCHED_OK;
    if (c != '-' && (c < '0' || c > '9'))
        return ppi_json_fail(&reader->json, reader->json.next, "expected a JSON value");
    return read_number(reader, out);
}

ppsched_status ppi_json_tree(struct ppi_json_value *out, struct ppi_arena *arena, const char *data, size_t size,
                             ppsched_error *error)
{
    struct reader reader = {.arena = arena};
    ppsched_status status = ppi_json_start(&reader.json, data, size, error);
    if (status == PPSCHED_OK)
        status = read_value(&reader, out);
    return status == PPSCHED_OK ? ppi_json_finish(&reader.json) : status;
}

/* --- use --- */

const struct ppi_json_value *ppi_json_member_of(const struct ppi_json_value *object, const char *key)
{
    for (uint32_t i = 0; object != NULL && object->type == PPI_JSON_OBJECT && i < object->count; i++)
        if (strcmp(object->keys[i], key) == 0)
            return &object->items[i];
    return NULL;
}

bool ppi_json_in_use(const struct ppi_json_value *value)
{
    if (value == NULL)
        return false;
    switch (value->type) {
    case PPI_JSON_NULL:
        return false;
    case PPI_JSON_BOOL:
        return value->truth;
    case PPI_JSON_NUMBER:
        return value->number != 0;
    case PPI_JSON_TEXT:
        return value->text[0] != '\0';
    default:
        return value->count > 0;
    }
}

/* Whether it would be shown as an integer. */
static bool is_whole(double number)
{
    return number > INT32_MIN && number < INT32_MAX && number == (double)(int32_t)number;
}

/* Of numbers that are no integers, also whole ones: 32.0. Lists and objects by their size alone. */
const char *ppi_json_show(char *out, size_t size, const struct ppi_json_value *value)
{
    if (value == NULL || value->type == PPI_JSON_NULL)
        ppi_print(out, size, "null");
    else if (value->type == PPI_JSON_BOOL)
        ppi_print(out, size, value->truth ? "true" : "false");
    else if (value->type == PPI_JSON_NUMBER && value->is_integer)
        ppi_print(out, size, "%lld", (long long)value->integer);
    else if (value->type == PPI_JSON_NUMBER)
        ppi_print(out, size, is_whole(value->number) ? "%g.0" : "%g", value->number);
    else if (value->type == PPI_JSON_TEXT)
        ppi_print(out, size, "\"%q\"", value->text);
    else if (value->count == 0)
        ppi_print(out, size, value->type == PPI_JSON_LIST ? "[]" : "{}");
    else
        ppi_print(out, size, value->type == PPI_JSON_LIST ? "a list of %u" : "an object of %u", value->count);
    return out;
}
