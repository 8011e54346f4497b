/* SPDX-License-Identifier: Apache-2.0 */
/* JSON (RFC 8259), read from front to back: the caller says what comes next. Nothing recurses. */
#ifndef PPSCHED_FORMAT_JSON_SCAN_H
#define PPSCHED_FORMAT_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ppsched/status.h>

enum { PPI_JSON_DEPTH = 64 }; /* most arrays and objects in each other, in what is passed over */

struct ppi_json {
    const char *start, *next, *end;
    ppsched_error *error;
};

/* A string between its quotes, escapes as they stand. */
struct ppi_json_string {
    const char *text, *end;
    bool has_escapes;
};

/* An array or object that is being read. */
struct ppi_json_list {
    char close; /* ']' or '}' */
    bool begun;
};

/* Begins; the whole text must be UTF-8. */
ppsched_status ppi_json_start(struct ppi_json *json, const char *data, size_t size, ppsched_error *error);

/* Only blanks may be left. */
ppsched_status ppi_json_finish(struct ppi_json *json);

/* SYNTAX with the line and column of `at`. `what` is what should stand there, or what is wrong with it. */
ppsched_status ppi_json_fail(const struct ppi_json *json, const char *at, const char *what);

/* The next character that is no blank, unread; NUL at the end. */
char ppi_json_peek(struct ppi_json *json);

/* Enters an array ('[') or object ('{'), and moves to its next item: `*more` tells whether there is one. */
ppsched_status ppi_json_open(struct ppi_json *json, char open, struct ppi_json_list *list);
ppsched_status ppi_json_more(struct ppi_json *json, struct ppi_json_list *list, bool *more);

/* A member's key and the colon behind it. */
ppsched_status ppi_json_key(struct ppi_json *json, struct ppi_json_string *key);

ppsched_status ppi_json_string(struct ppi_json *json, struct ppi_json_string *string);
ppsched_status ppi_json_integer(struct ppi_json *json, int64_t *value);
ppsched_status ppi_json_bool(struct ppi_json *json, bool *value);

/* A number, or null; its value is not needed, but it must not be far beyond a double's. */
ppsched_status ppi_json_number_or_null(struct ppi_json *json);

/* A key that an object may have. */
struct ppi_json_member {
    const char *name;
    ppsched_status (*read)(void *user); /* reads its value */
    bool required;
};

/* Reads an object: known keys once each, in any order, those required all; what others hold is passed over. At most 32. */
ppsched_status ppi_json_object(struct ppi_json *json, const struct ppi_json_member *members, size_t count, void *user);

/* Passes over any value. */
ppsched_status ppi_json_skip(struct ppi_json *json);

/* Writes a string without its escapes, never longer than with them; returns the length. */
size_t ppi_json_decode(const struct ppi_json_string *string, char *out);

/* Whether the string, without its escapes, is `name`. */
bool ppi_json_equals(const struct ppi_json_string *string, const char *name);

#endif
