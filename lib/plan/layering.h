/* SPDX-License-Identifier: Apache-2.0 */
/* A search for the split of a candidate's layers. */
#ifndef PPSCHED_PLAN_LAYERING_H
#define PPSCHED_PLAN_LAYERING_H

#include "plan/plan.h"

struct ppi_layering {
    const ppsched_plan *plan;
    struct ppi_candidate *candidate; /* its split is that at hand */
    uint32_t *layers;                /* the best so far */
    uint8_t *recomputes;
    double lack, time; /* of the best */
    ppsched_progress_function progress;
    void *user;
    double from, to; /* the present part of the work */
};

/* The order for the split at hand, and the config of both. */
ppsched_status ppi_layering_order(ppsched_schedule **out, ppsched_config **config, struct ppi_layering *layering,
                                  ppsched_error *error);

/* Puts the split that suits an order at hand. */
ppsched_status ppi_layering_suit(struct ppi_layering *layering, const ppsched_config *config, const ppsched_schedule *schedule,
                                 ppsched_error *error);

/* Keeps the split at hand where its timeline is better than those before; tells whether it is. */
bool ppi_layering_note(struct ppi_layering *layering, const ppsched_timeline *timeline, const ppsched_config *config);

/* Puts the kept split at hand. */
void ppi_layering_go_back(struct ppi_layering *layering);

/* Keeps the best of some splits whose activations go to the host. REFUSED where there is none. */
ppsched_status ppi_layering_offload(struct ppi_layering *layering, ppsched_error *error);

#endif
