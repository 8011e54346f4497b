/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules on the V placement with real costs, as a microbatch sees them: a chain of four legs, the forwards down and up the
 * devices, then the input gradients down and up, and a weight gradient behind each input gradient. */
#ifndef PPSCHED_STRATEGY_V_CHAIN_H
#define PPSCHED_STRATEGY_V_CHAIN_H

#include "model/costs.h"

/* A device's passes, with stages a = d and z = 2D-1-d of device d: the four legs of the chain in their order, then the weight
 * gradients. */
enum { PPI_FA, PPI_FZ, PPI_IZ, PPI_IA, PPI_WZ, PPI_WA, PPI_PASSES };

enum { PPI_LEGS = 4 };

/* What the passes of a device cost, and how much it may hold. */
struct ppi_v_device {
    double duration[PPI_PASSES];
    double delay[PPI_LEGS];    /* before a link of the chain, from the device of the link before */
    double memory[PPI_PASSES]; /* added by a pass */
    double limit;              /* of memory; infinite where there is none */
};

struct ppi_v_problem {
    struct ppi_host host;
    uint32_t devices, microbatches;
    int32_t most; /* activations that a device may hold, counted in stage passes from F to W */
    struct ppi_v_device *device;
};

/* One op of a device. */
struct ppi_v_step {
    double start, end;
    uint32_t microbatch;
    uint8_t pass;
};

static inline bool ppi_goes_down(uint32_t leg)
{
    return leg == PPI_FA || leg == PPI_IZ;
}

/* What a pass adds to the number of held activations. */
static inline int32_t ppi_held_by(uint8_t pass)
{
    return (pass <= PPI_FZ) - (pass >= PPI_WZ);
}

#endif
