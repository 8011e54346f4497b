/* SPDX-License-Identifier: Apache-2.0 */
/* JSON's numbers and words, skipping of values with a stack of open lists, and objects with known keys. */
#include <string.h>

#include "base/error.h"
#include "json/scan.h"

static bool is_digit(const struct ppi_json *json, const char *at)
{
    return at < json->end && *at >= '0' && *at <= '9';
}

static bool is_char(const struct ppi_json *json, const char *at, char c)
{
    return at < json->end && *at == c;
}

static const char *skip_digits(const struct ppi_json *json, const char *at)
{
    while (is_digit(json, at))
        at++;
    return at;
}

/* The integer part at `at`: where it ends, or NULL. */
static const char *skip_integer(const struct ppi_json *json, const char *at)
{
    at += is_char(json, at, '-');
    if (!is_digit(json, at))
        return NULL;
    return *at == '0' ? at + 1 : skip_digits(json, at);
}

ppsched_status ppi_json_integer(struct ppi_json *json, int64_t *value)
{
    static const char what[] = "expected an integer";
    ppi_json_peek(json);
    const char *at = json->next, *end = skip_integer(json, at);
    bool negative = is_char(json, at, '-');
    int64_t sum = 0;
    if (end == NULL || is_digit(json, end) || is_char(json, end, '.') || is_char(json, end, 'e') || is_char(json, end, 'E'))
        return ppi_json_fail(json, at, what);
    for (const char *digit = at + negative; digit < end; digit++) {
        if (sum > (INT64_MAX - 9) / 10)
            return ppi_json_fail(json, at, "the integer is too large");
        sum = sum * 10 + (*digit - '0');
    }
    *value = negative ? -sum : sum;
    json->next = end;
    return PPSCHED_OK;
}

/* The word, if it is next. */
static bool take_word(struct ppi_json *json, const char *word)
{
    size_t length = strlen(word);
    ppi_json_peek(json);
    if ((size_t)(json->end - json->next) < length || memcmp(json->next, word, length) != 0)
        return false;
    json->next += length;
    return true;
}

ppsched_status ppi_json_bool(struct ppi_json *json, bool *value)
{
    *value = take_word(json, "true");
    return *value || take_word(json, "false") ? PPSCHED_OK : ppi_json_fail(json, json->next, "expected true or false");
}

/* The exponent after its e, limited so that it cannot overflow; NULL where there is none. */
static const char *read_exponent(const struct ppi_json *json, const char *at, int64_t *exponent)
{
    bool negative = is_char(json, at, '-');
    at += negative || is_char(json, at, '+');
    if (!is_digit(json, at))
        return NULL;
    for (; is_digit(json, at); at++)
        *exponent = *exponent < 100000000 ? *exponent * 10 + (*at - '0') : *exponent;
    if (negative)
        *exponent = -*exponent;
    return at;
}

/* Digits before the point, as the value has them: those of 0.01 are -1. */
static int64_t magnitude(const struct ppi_json *json, const char *integer, const char *point)
{
    const char *at = integer + is_char(json, integer, '-');
    if (*at != '0')
        return point - at;
    if (!is_char(json, point, '.'))
        return INT32_MIN;
    for (at = point + 1; is_char(json, at, '0');)
        at++;
    return is_digit(json, at) ? -(at - (point + 1)) : INT32_MIN;
}

static ppsched_status skip_number(struct ppi_json *json)
{
    static const char what[] = "expected a JSON value";
    const char *start = json->next, *point = skip_integer(json, start), *at = point;
    int64_t exponent = 0;
    if (at != NULL && is_char(json, at, '.'))
        at = is_digit(json, at + 1) ? skip_digits(json, at + 1) : NULL;
    if (at != NULL && (is_char(json, at, 'e') || is_char(json, at, 'E')))
        at = read_exponent(json, at + 1, &exponent);
    if (at == NULL || is_digit(json, at))
        return ppi_json_fail(json, start, what);
    if (magnitude(json, start, point) + exponent > 309) /* the largest double has 309 digits */
        return ppi_json_fail(json, start, "the number is too large for a double");
    json->next = at;
    return PPSCHED_OK;
}

ppsched_status ppi_json_number_or_null(struct ppi_json *json)
{
    char c = ppi_json_peek(json);
    if (take_word(json, "null"))
        return PPSCHED_OK;
    if (c != '-' && (c < '0' || c > '9'))
        return ppi_json_fail(json, json->next, "expected a number or null");
    return skip_number(json);
}

static ppsched_status skip_scalar(struct ppi_json *json)
{
    struct ppi_json_string string;
    if (ppi_json_peek(json) == '"')
        return ppi_json_string(json, &string);
    if (take_word(json, "true") || take_word(json, "false") || take_word(json, "null"))
        return PPSCHED_OK;
    return skip_number(json);
}

/* Moves to the next value of the innermost list that has one left, and closes lists that have none; `*depth` is 0 at the
 * end. */
static ppsched_status next_value(struct ppi_json *json, struct ppi_json_list *lists, size_t *depth)
{
    struct ppi_json_string key;
    bool more = false;
    ppsched_status status = PPSCHED_OK;
    while (*depth > 0 && !more && status == PPSCHED_OK) {
        status = ppi_json_more(json, &lists[*depth - 1], &more);
        if (status == PPSCHED_OK && !more)
            --*depth;
    }
    if (status == PPSCHED_OK && more && lists[*depth - 1].close == '}')
        status = ppi_json_key(json, &key);
    return status;
}

ppsched_status ppi_json_skip(struct ppi_json *json)
{
    struct ppi_json_list lists[PPI_JSON_DEPTH];
    size_t depth = 0;
    ppsched_status status;
    do {
        char c = ppi_json_peek(json);
        if (c != '[' && c != '{')
            status = skip_scalar(json);
        else if (depth == PPI_JSON_DEPTH)
            status = ppi_json_fail(json, json->next, "arrays and objects are nested too deeply");
        else
            status = ppi_json_open(json, c, &lists[depth++]);
        if (status == PPSCHED_OK)
            status = next_value(json, lists, &depth);
    } while (status == PPSCHED_OK && depth > 0);
    return status;
}

static ppsched_status read_member(struct ppi_json *json, const struct ppi_json_member *members, size_t count, uint32_t *seen,
                                  void *user)
{
    struct ppi_json_string key;
    ppsched_status status = ppi_json_key(json, &key);
    if (status != PPSCHED_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        if (!ppi_json_equals(&key, members[i].name))
            continue;
        if ((*seen & 1u << i) != 0)
            return ppi_json_fail(json, key.text, "the key is repeated");
        *seen |= 1u << i;
        return members[i].read(user);
    }
    return ppi_json_skip(json);
}

ppsched_status ppi_json_object(struct ppi_json *json, const struct ppi_json_member *members, size_t count, void *user)
{
    struct ppi_json_list list;
    uint32_t seen = 0;
    bool more = false;
    ppsched_status status = ppi_json_open(json, '{', &list);
    const char *start = json->next;
    if (status == PPSCHED_OK)
        status = ppi_json_more(json, &list, &more);
    while (status == PPSCHED_OK && more) {
        status = read_member(json, members, count, &seen, user);
        if (status == PPSCHED_OK)
            status = ppi_json_more(json, &list, &more);
    }
    for (size_t i = 0; i < count && status == PPSCHED_OK; i++)
        if (members[i].required && (seen & 1u << i) == 0)
            return ppi_fail(json->error, PPSCHED_ERROR_SYNTAX, "the object that begins at byte %zu has no key \"%s\"",
                            (size_t)(start - 1 - json->start), members[i].name);
    return status;
}
