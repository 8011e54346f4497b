/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions as JSON, in the library's own form. */
#ifndef PPSCHED_DESCRIPTION_JSON_H
#define PPSCHED_DESCRIPTION_JSON_H

#include "base/writer.h"
#include "description/description.h"
#include "json/tree.h"

/* Whether an object has the library's own form: kinds or layers, and no model_type. */
bool ppi_is_own_form(const struct ppi_json_value *object);

ppsched_status ppi_read_own_form(const ppsched_description **out, const struct ppi_json_value *object,
                                 const struct ppi_host *host, ppsched_error *error);

void ppi_write_description(struct ppi_writer *writer, const ppsched_description *description);

/* --- the pattern of layers --- */

/* Adds the layers of a text such as "2xa 10x[5xb c]", by the names of the draft's kinds. RANGE with the character that is
 * wrong. */
ppsched_status ppi_read_pattern(struct ppi_draft *draft, const char *text, ppsched_error *error);

/* Writes such a text, as short as runs and repeated groups make it, for between the quotes of a JSON string. */
void ppi_write_pattern(struct ppi_writer *writer, const ppsched_description_info *info);

#endif
