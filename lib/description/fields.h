/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a model's config file, by name. The first error is kept; missing fields are reported together. A name may have
 * alternatives, "num_local_experts|num_experts": the first that exists and is not null is used, and all of them count as read.
 * Numbers with two names must be equal; a 0 counts as missing if the other is not 0. */
#ifndef PPSCHED_DESCRIPTION_FIELDS_H
#define PPSCHED_DESCRIPTION_FIELDS_H

#include "json/tree.h"

enum { PPI_MOST_MISSING = 8 };

struct ppi_fields {
    const struct ppi_json_value *object;
    struct ppi_arena *arena;
    bool *asked; /* of each member of the object whether a family has read it */
    const char *family;
    bool is_part; /* of a config with several in it, where sizes that are missing are those of the class */
    const char *missing[PPI_MOST_MISSING];
    uint32_t missing_count;
    ppsched_status status; /* the first error */
    ppsched_error *error;
};

/* NO_MEMORY in `status` where memory is short. */
void ppi_fields_start(struct ppi_fields *fields, const struct ppi_json_value *object, const char *family,
                      struct ppi_arena *arena, ppsched_error *error);

/* The value, marked as read; NULL if none of the names is there, or all are null. */
const struct ppi_json_value *ppi_field(struct ppi_fields *fields, const char *names);

/* An integer, 1 to 2^31; noted as missing if it is not there (the result is then 0). */
uint32_t ppi_needed(struct ppi_fields *fields, const char *names);

/* The same; in a part of a config `otherwise` if it is not there. */
uint32_t ppi_size_or(struct ppi_fields *fields, const char *names, uint32_t otherwise);

/* An integer from `least`; `otherwise` if it is not there. */
uint32_t ppi_count_or(struct ppi_fields *fields, const char *names, uint32_t least, uint32_t otherwise);

bool ppi_switch_or(struct ppi_fields *fields, const char *names, bool otherwise);
double ppi_number_or(struct ppi_fields *fields, const char *names, double otherwise);
const char *ppi_text_or(struct ppi_fields *fields, const char *names, const char *otherwise);

/* A list of `count` entries, one for each layer; NULL if it is not there or empty. Another length is an error. */
const struct ppi_json_value *ppi_list_of(struct ppi_fields *fields, const char *names, uint32_t count);

/* Whether the list's entry is this text; with a null list `otherwise`. */
bool ppi_entry_is(const struct ppi_json_value *list, uint32_t index, const char *text, bool otherwise);

/* Keeps the first error. */
void ppi_fields_fail(struct ppi_fields *fields, const char *format, ...);

/* The first error, or RANGE with all that is missing. */
ppsched_status ppi_fields_check(struct ppi_fields *fields);

#endif
