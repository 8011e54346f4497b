/* SPDX-License-Identifier: Apache-2.0 */
/* Encoders before a text model's layers. */
#ifndef PPSCHED_DESCRIPTION_FAMILIES_TOWERS_H
#define PPSCHED_DESCRIPTION_FAMILIES_TOWERS_H

#include "description/description.h"
#include "description/families/tower_parts.h"
#include "description/fields.h"

/* Adds the towers of a model with several configs in one, whose text's sizes the draft has already. A tower that is not known
 * gets a warning. */
void ppi_read_towers(struct ppi_fields *wrapper, struct ppi_draft *draft);

/* How the audio tower of a family is read; NULL if it is not known. */
ppi_tower_function ppi_audio_tower_of(const char *family);

#endif
