/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which Megatron-LM launches the windows of a pair, with --overlap-moe-expert-parallel-comm. */
#ifndef PPSCHED_PAIR_MEGATRON_ORDER_H
#define PPSCHED_PAIR_MEGATRON_ORDER_H

#include "ir/layers.h"

struct ppi_megatron_order {
    const ppsched_layers *layers;
    const ppsched_split *split;
    bool is_whole; /* weight gradients are in the windows of the backward: without --delay-wgrad-compute */
};

/* Whether two stages have the same layers. `user`: the order. */
bool ppi_megatron_order_is_same(const void *user, uint32_t a, uint32_t b);

/* Writes whose window is next, in turn, of a pair of stages; `kinds` has room for all. */
void ppi_megatron_order_write(const void *user, int32_t *kinds, uint32_t forward, uint32_t backward);

#endif
