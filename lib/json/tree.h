/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON text as a tree of values, for texts whose members depend on each other. */
#ifndef PPSCHED_JSON_TREE_H
#define PPSCHED_JSON_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ppsched/status.h>

#include "base/arena.h"

enum ppi_json_type { PPI_JSON_NULL, PPI_JSON_BOOL, PPI_JSON_NUMBER, PPI_JSON_TEXT, PPI_JSON_LIST, PPI_JSON_OBJECT };

/* A value; what it points to is in the arena. */
struct ppi_json_value {
    enum ppi_json_type type;
    bool truth;      /* of a bool */
    bool is_integer; /* of a number: it has no fraction or exponent, and `integer` is exact */
    double number;   /* may be infinite or no number: texts of Python have Infinity, -Infinity and NaN */
    int64_t integer;
    const char *text; /* without escapes, NUL-terminated; a text with a NUL in it is refused */
    uint32_t count;   /* items of a list, members of an object */
    const struct ppi_json_value *items;
    const char *const *keys; /* of an object's members, in the order of the text; no two alike */
};

/* Reads the whole text, at most PPI_JSON_DEPTH deep. SYNTAX with line and column, also for a key that occurs twice in an
 * object; NO_MEMORY. */
ppsched_status ppi_json_tree(struct ppi_json_value *out, struct ppi_arena *arena, const char *data, size_t size,
                             ppsched_error *error);

/* The member of an object; NULL if there is none, or `object` is none. */
const struct ppi_json_value *ppi_json_member_of(const struct ppi_json_value *object, const char *key);

/* Whether the value is there, and not null, false, 0, or empty. */
bool ppi_json_in_use(const struct ppi_json_value *value);

/* The value as JSON in at most `size` bytes with the NUL, cut with "..." if it is longer: for messages. Returns `out`. */
const char *ppi_json_show(char *out, size_t size, const struct ppi_json_value *value);

#endif
