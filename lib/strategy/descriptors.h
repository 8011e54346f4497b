/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptors of list.h by name, ppi_<strategy>: for the files that define them, and for searches that try others. */
#ifndef PPSCHED_STRATEGY_DESCRIPTORS_H
#define PPSCHED_STRATEGY_DESCRIPTORS_H

#include "strategy/strategy.h"

#define PPI_STRATEGY(name, file) extern const struct ppi_strategy ppi_##name;
#include "strategy/list.h"
#undef PPI_STRATEGY

#endif
