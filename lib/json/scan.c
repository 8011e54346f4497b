/* SPDX-License-Identifier: Apache-2.0 */
/* Checks UTF-8 once at the start; then the structural tokens and strings of JSON are read from one position. */
#include "json/scan.h"

#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

ppsched_status ppi_json_fail(const struct ppi_json *json, const char *at, const char *what)
{
    size_t line = 1, column = 1;
    for (const char *c = json->start; c < at; c++) {
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
    }
    if (at == json->end)
        return ppi_fail(json->error, PPSCHED_ERROR_SYNTAX, "line %zu, column %zu: the text ends; %s", line, column, what);
    return ppi_fail(json->error, PPSCHED_ERROR_SYNTAX, "line %zu, column %zu: %s", line, column, what);
}

ppsched_status ppi_json_start(struct ppi_json *json, const char *data, size_t size, ppsched_error *error)
{
    *json = (struct ppi_json){data, data, data + size, error};
    size_t broken = ppi_find_broken_utf8(data, size);
    if (broken < size)
        return ppi_json_fail(json, data + broken, "the byte is not UTF-8");
    return PPSCHED_OK;
}

char ppi_json_peek(struct ppi_json *json)
{
    while (json->next < json->end && (*json->next == ' ' || *json->next == '\n' || *json->next == '\r' || *json->next == '\t'))
        json->next++;
    return json->next < json->end ? *json->next : '\0';
}

ppsched_status ppi_json_finish(struct ppi_json *json)
{
    ppi_json_peek(json);
    return json->next == json->end ? PPSCHED_OK : ppi_json_fail(json, json->next, "there is text after the object");
}

/* Reads the character if it is the next one. */
static bool take(struct ppi_json *json, char c)
{
    if (ppi_json_peek(json) != c || json->next == json->end)
        return false;
    json->next++;
    return true;
}

ppsched_status ppi_json_open(struct ppi_json *json, char open, struct ppi_json_list *list)
{
    bool is_array = open == '[';
    *list = (struct ppi_json_list){is_array ? ']' : '}', false};
    if (take(json, open))
        return PPSCHED_OK;
    return ppi_json_fail(json, json->next, is_array ? "expected an array" : "expected an object");
}

ppsched_status ppi_json_more(struct ppi_json *json, struct ppi_json_list *list, bool *more)
{
    *more = false;
    if (take(json, list->close))
        return PPSCHED_OK;
    if (list->begun && !take(json, ','))
        return ppi_json_fail(json, json->next, list->close == ']' ? "expected ',' or ']'" : "expected ',' or '}'");
    list->begun = true;
    *more = true;
    return PPSCHED_OK;
}

ppsched_status ppi_json_key(struct ppi_json *json, struct ppi_json_string *key)
{
    if (ppi_json_peek(json) != '"')
        return ppi_json_fail(json, json->next, "expected a key in quotes");
    ppsched_status status = ppi_json_string(json, key);
    if (status == PPSCHED_OK && !take(json, ':'))
        return ppi_json_fail(json, json->next, "expected ':'");
    return status;
}

static int hex_value(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The four digits of "\uXXXX" after its u; false where there are none. */
static bool read_hex(const char *text, const char *end, uint32_t *value)
{
    *value = 0;
    if (end - text < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        int digit = hex_value(text[i]);
        if (digit < 0)
            return false;
        *value = *value * 16 + (uint32_t)digit;
    }
    return true;
}

/* The escape whose backslash is at `text`: its character, and where it ends; NULL where there is none. A pair of surrogates is
 * one escape. */
static const char *read_escape(const char *text, const char *end, uint32_t *character)
{
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    uint32_t second = 0;
    if (end - text < 2)
        return NULL;
    const char *name = text[1] != '\0' ? strchr(names, text[1]) : NULL;
    if (name != NULL) {
        *character = (unsigned char)meanings[name - names];
        return text + 2;
    }
    if (text[1] != 'u' || !read_hex(text + 2, end, character))
        return NULL;
    if (*character < 0xD800 || *character > 0xDFFF)
        return text + 6;
    if (*character > 0xDBFF || end - text < 12 || text[6] != '\\' || text[7] != 'u' || !read_hex(text + 8, end, &second) ||
        second < 0xDC00 || second > 0xDFFF)
        return NULL;
    *character = 0x10000 + ((*character - 0xD800) << 10) + (second - 0xDC00);
    return text + 12;
}

ppsched_status ppi_json_string(struct ppi_json *json, struct ppi_json_string *string)
{
    uint32_t character;
    if (!take(json, '"'))
        return ppi_json_fail(json, json->next, "expected a string");
    const char *next = json->next;
    *string = (struct ppi_json_string){next, next, false};
    while (next < json->end && *next != '"') {
        const char *behind = next + 1;
        if ((unsigned char)*next < 0x20)
            return ppi_json_fail(json, next, "a string must not hold control characters");
        if (*next == '\\') {
            behind = read_escape(next, json->end, &character);
            string->has_escapes = true;
        }
        if (behind == NULL)
            return ppi_json_fail(json, next, "the escape is not valid in JSON, or half of a surrogate pair");
        next = behind;
    }
    if (next == json->end)
        return ppi_json_fail(json, next, "a string must end with a quote");
    string->end = next;
    json->next = next + 1;
    return PPSCHED_OK;
}

size_t ppi_json_decode(const struct ppi_json_string *string, char *out)
{
    size_t length = 0;
    uint32_t character = 0;
    for (const char *text = string->text; text < string->end;) {
        if (*text != '\\') {
            out[length++] = *text++;
            continue;
        }
        text = read_escape(text, string->end, &character);
        length += ppi_put_utf8(out + length, character);
    }
    return length;
}

bool ppi_json_equals(const struct ppi_json_string *string, const char *name)
{
    char decoded[128];
    size_t length = (size_t)(string->end - string->text);
    if (!string->has_escapes)
        return strlen(name) == length && memcmp(name, string->text, length) == 0;
    if (length > sizeof decoded) /* no known name is as long, even all in escapes */
        return false;
    length = ppi_json_decode(string, decoded);
    return strlen(name) == length && memcmp(name, decoded, length) == 0;
}
