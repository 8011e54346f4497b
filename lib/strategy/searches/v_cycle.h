/* SPDX-License-Identifier: Apache-2.0 */
/* A building block on the V placement with real costs: when each pass of one microbatch starts, such that all others can follow
 * at equal distances. After the building blocks of "Pipeline Parallelism with Controllable Memory" (Qi et al. 2024, arXiv
 * 2405.15362), which are made of unit cells. */
#ifndef PPSCHED_STRATEGY_V_CYCLE_H
#define PPSCHED_STRATEGY_V_CYCLE_H

#include "strategy/searches/v_chain.h"

/* What finds its place when: the chain and then the weight gradients; each of them right behind its input gradient; or the
 * chain alone, whether there is room or not, and all weight gradients behind it. */
enum ppi_v_room { PPI_CHAIN_FIRST, PPI_WEIGHTS_EARLY, PPI_NO_ROOM };

/* How a block is laid. Waits are in sixths of the busiest device's work for a microbatch: in cells where all costs are one. */
struct ppi_v_shape {
    double step[PPI_LEGS];     /* the wait from device to device, by leg */
    double turn[PPI_LEGS - 1]; /* and from leg to leg */
    enum ppi_v_room room;
};

/* What a device does in a period. */
struct ppi_v_shelf {
    uint32_t count;
    double phase[PPI_PASSES], length[PPI_PASSES];
};

struct ppi_v_cycle {
    double period;
    double *start;               /* PPI_PASSES a device, of microbatch 0 */
    struct ppi_v_shelf *shelves; /* one a device */
};

ppsched_status ppi_v_cycle_make(struct ppi_v_cycle *out, const struct ppi_v_problem *problem, ppsched_error *error);
void ppi_v_cycle_clear(struct ppi_v_cycle *cycle, const struct ppi_v_problem *problem);

/* Lays a block into a period: each link at the earliest time at which no microbatch keeps its device busy. False where there is
 * no room, or a device would hold too much. `unit` is that of the shape's waits. */
bool ppi_v_cycle_lay(struct ppi_v_cycle *cycle, const struct ppi_v_problem *problem, const struct ppi_v_shape *shape,
                     double period, double unit);

/* Writes the order in which the devices run all microbatches, device by device; no times. */
void ppi_v_cycle_repeat(const struct ppi_v_cycle *cycle, const struct ppi_v_problem *problem, struct ppi_v_step *steps);

#endif
