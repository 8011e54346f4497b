/* SPDX-License-Identifier: Apache-2.0 */
/* What a config file holds that its family did not ask for: fields of other families, and fields that change nothing. */
#ifndef PPSCHED_DESCRIPTION_KNOWN_FIELDS_H
#define PPSCHED_DESCRIPTION_KNOWN_FIELDS_H

#include "description/description.h"
#include "description/fields.h"

/* What to do with a model that is not read, for the end of a message. */
#define PPI_INSTEAD "describe its layers in the library's own form, or plan by their costs"

/* Makes layers what they are in some family: parts, their sizes and kinds. */
bool ppi_is_structure(const char *name);

/* Changes neither parameters nor operations of layers: names, scales, initial values, how to generate. */
bool ppi_is_harmless(const char *name);

/* Writes up to six names, and how many more there are: the next call adds to it. `count`: of the names before. */
void ppi_add_name(char *line, size_t size, uint32_t count, const char *name);

/* After the family has read its fields. Refuses what makes other layers than it has, and warns of what is not known. */
void ppi_check_fields(struct ppi_fields *fields, struct ppi_draft *draft);

/* The same for a config with several in it, after all of them were read: what is not known, or not the same in its text. */
void ppi_check_wrapper(struct ppi_fields *wrapper, const struct ppi_json_value *text, struct ppi_draft *draft);

#endif
