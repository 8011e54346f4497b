/* SPDX-License-Identifier: Apache-2.0 */
/* Hugging Face's config.json as descriptions: the table of families. */
#ifndef PPSCHED_DESCRIPTION_HUGGINGFACE_H
#define PPSCHED_DESCRIPTION_HUGGINGFACE_H

#include "description/description.h"
#include "description/fields.h"
#include "json/tree.h"

ppsched_status ppi_read_huggingface(const ppsched_description **out, const struct ppi_json_value *object,
                                    struct ppi_arena *arena, const struct ppi_host *host, ppsched_error *error);

/* The same for a config of any family: of one that is not known a guess, with a warning for each field that is not
 * understood. */
ppsched_status ppi_guess_huggingface(const ppsched_description **out, const struct ppi_json_value *object,
                                     struct ppi_arena *arena, const struct ppi_host *host, ppsched_error *error);

/* Fills in what the usual names say. */
void ppi_guess(struct ppi_fields *fields, struct ppi_draft *draft);

uint32_t ppi_family_count(void);

/* NULL past the last. */
const char *ppi_family_at(uint32_t index);

#endif
