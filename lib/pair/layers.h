/* SPDX-License-Identifier: Apache-2.0 */
/* The windows of stages that are made of layers. */
#ifndef PPSCHED_PAIR_LAYERS_H
#define PPSCHED_PAIR_LAYERS_H

#include "ir/layers.h"
#include "pair/stages.h"

/* Gives the config of a split the windows of its layers, and the times of pairs, unless it has these already. `rule`: enum
 * ppsched_pair_rule. The layers have windows. */
ppsched_status ppi_config_put_layer_windows(ppsched_config *config, const ppsched_layers *layers, const ppsched_split *split,
                                            int32_t rule, ppsched_error *error);

/* Layers from `begin` to before `end`. */
struct ppi_layer_range {
    uint32_t begin, end;
};

/* The pair of a forward of the first range of layers with a backward (B or I: `kind`) of the second, as such a config has it.
 * `recomputes`: how each layer recomputes; NULL: none does. NO_MEMORY. */
ppsched_status ppi_layer_pair_find(struct ppi_pair_ends *out, const ppsched_layers *layers, const uint8_t *recomputes,
                                   const struct ppi_layer_range *ranges, uint8_t kind, const struct ppi_host *host,
                                   ppsched_error *error);

#endif
