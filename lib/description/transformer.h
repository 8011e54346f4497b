/* SPDX-License-Identifier: Apache-2.0 */
/* Transformers of two kinds of layers, and descriptions. */
#ifndef PPSCHED_DESCRIPTION_TRANSFORMER_H
#define PPSCHED_DESCRIPTION_TRANSFORMER_H

#include "description/description.h"

ppsched_status ppi_description_from_transformer(const ppsched_description **out, const ppsched_transformer *transformer,
                                                const struct ppi_host *host, ppsched_error *error);

/* The transformer of a description with attention, and an MLP or experts of one size, in each layer; false if it is another
 * model. `expert_layers` has space for a value of each layer, which the transformer then points to; NULL: it has none. */
bool ppi_description_to_transformer(ppsched_transformer *out, uint8_t *expert_layers, const ppsched_description *description);

#endif
