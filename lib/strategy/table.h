/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptors that the table lists; each is defined in its family's file. */
#ifndef PPSCHED_STRATEGY_TABLE_H
#define PPSCHED_STRATEGY_TABLE_H

#include "strategy/strategy.h"

extern const struct ppi_strategy ppi_gpipe;
extern const struct ppi_strategy ppi_1f1b;
extern const struct ppi_strategy ppi_eager_1f1b;
extern const struct ppi_strategy ppi_1f1b_no_flush;
extern const struct ppi_strategy ppi_eager_1f1b_no_flush;
extern const struct ppi_strategy ppi_1f1b_overlap;
extern const struct ppi_strategy ppi_interleaved_1f1b;
extern const struct ppi_strategy ppi_interleaved_1f1b_overlap;
extern const struct ppi_strategy ppi_interleaved_zb;
extern const struct ppi_strategy ppi_looped_bfs;
extern const struct ppi_strategy ppi_zb_h1;
extern const struct ppi_strategy ppi_zb_h2;
extern const struct ppi_strategy ppi_zbv;
extern const struct ppi_strategy ppi_dualpipe;
extern const struct ppi_strategy ppi_dualpipe_v;
extern const struct ppi_strategy ppi_zb_auto;
extern const struct ppi_strategy ppi_v_1f1b;
extern const struct ppi_strategy ppi_zbv_auto;
extern const struct ppi_strategy ppi_v_half;
extern const struct ppi_strategy ppi_v_min;
extern const struct ppi_strategy ppi_v_search;
extern const struct ppi_strategy ppi_auto;

#endif
