/* SPDX-License-Identifier: Apache-2.0 */
/* Hybrid models of Megatron-LM: a symbol for each block. */
#ifndef PPSCHED_DESCRIPTION_HYBRID_H
#define PPSCHED_DESCRIPTION_HYBRID_H

#include <stdbool.h>

#include <ppsched/description.h>

enum { PPI_SYMBOLS_SIZE = PPSCHED_MAX_BLOCKS + 1 };

/* Whether Megatron-LM builds the model from a pattern of blocks, not of transformer layers: where it has Mamba, or where each
 * layer is one block. */
bool ppi_is_hybrid(const ppsched_description_info *info);

/* Writes the symbols of a kind's blocks in order; an empty text if there is a block or an arrangement without a symbol. */
void ppi_hybrid_symbols(char out[PPI_SYMBOLS_SIZE], const ppsched_layer_kind *kind);

#endif
