/* SPDX-License-Identifier: Apache-2.0 */
/* Encoders before a text model's layers. */
#ifndef PPSCHED_DESCRIPTION_FAMILIES_TOWERS_H
#define PPSCHED_DESCRIPTION_FAMILIES_TOWERS_H

#include "description/description.h"
#include "description/fields.h"

/* Adds the towers of a model with several configs in one, whose text's sizes the draft has already. A tower that is not known
 * gets a warning. */
void ppi_read_towers(struct ppi_fields *wrapper, struct ppi_draft *draft);

#endif
