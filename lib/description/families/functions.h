/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of all families: each makes a draft of a model from the fields of its config.json. */
#ifndef PPSCHED_DESCRIPTION_FAMILIES_FUNCTIONS_H
#define PPSCHED_DESCRIPTION_FAMILIES_FUNCTIONS_H

#include "description/description.h"
#include "description/fields.h"

#define PPI_FAMILY(type, function, file) void function(struct ppi_fields *fields, struct ppi_draft *draft);
#include "description/families.h"
#undef PPI_FAMILY

#endif
