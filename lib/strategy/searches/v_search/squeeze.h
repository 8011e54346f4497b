/* SPDX-License-Identifier: Apache-2.0 */
/* Squeezes a grid of unit cells: all ops move as far left as the order of their device and the same op on the neighbour before
 * allow. */
#ifndef PPSCHED_STRATEGY_V_SQUEEZE_H
#define PPSCHED_STRATEGY_V_SQUEEZE_H

#include "strategy/searches/v_search/block.h"

/* From column `squeezed` on. False where an op comes before the one that it needs. */
bool ppi_v_squeeze(struct ppi_v_grid *grid);

#endif
