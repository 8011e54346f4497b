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

#endif
