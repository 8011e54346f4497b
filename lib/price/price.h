/* SPDX-License-Identifier: Apache-2.0 */
/* A told layout, and what it costs. */
#ifndef PPSCHED_PRICE_PRICE_H
#define PPSCHED_PRICE_PRICE_H

#include <ppsched/price.h>

#include "base/arena.h"
#include "eval/timeline.h"
#include "ir/schedule.h"
#include "ir/layers.h"
#include "model/model.h"

struct ppsched_price {
    struct ppi_host host;
    ppsched_step_price step;
    ppsched_device_price *devices; /* of one replica */
    uint32_t device_count;
};

/* A stage of the layout. */
struct ppi_priced_stage {
    double parameters, expert_parameters; /* without those of frozen towers */
    double trained, expert_trained;       /* the part of these that learns */
    double weights, gradients, optimizer;
    double largest;                 /* bytes of the weights of its largest layer, not sharded */
    double logits, logit_gradients; /* bytes; 0 without a head */
    double tensor, context, expert; /* seconds of exposed collectives, for one microbatch */
    double first_start, first_end;  /* of its first forward */
    double last_start, last_end;    /* of its last backward or weight gradient */
    uint32_t layers;
};

/* A layout while it is priced. */
struct ppi_pricing {
    struct ppi_arena arena;
    const ppsched_model *model;
    ppsched_pipeline pipeline; /* complete */
    const ppsched_layers *layers;
    ppsched_split split;
    struct ppi_priced_stage *stages;
    uint32_t stage_count;
    uint32_t *stages_by_device; /* with `first_stages`, once the schedule is made */
    uint32_t *first_stages;     /* where the stages of each device begin; one entry more than devices */
    ppsched_schedule *schedule;
    ppsched_timeline *timeline;
};

/* Fills in the split, the kinds of recomputation, and the states of each stage. */
ppsched_status ppi_pricing_lay_out(struct ppi_pricing *pricing, ppsched_error *error);

/* Makes and evaluates the schedule, and sets the times of each stage. */
ppsched_status ppi_pricing_run(struct ppi_pricing *pricing, ppsched_error *error);

/* The stages of a device, in their order. */
static inline const uint32_t *ppi_priced_stages(const struct ppi_pricing *pricing, uint32_t device, uint32_t *count)
{
    *count = pricing->first_stages[device + 1] - pricing->first_stages[device];
    return pricing->stages_by_device + pricing->first_stages[device];
}

/* What a step does once for the parameters of a stage, or of several. */
void ppi_pricing_update(ppsched_update_cost *out, const struct ppi_pricing *pricing, const struct ppi_priced_stage *sizes);

/* Seconds of data parallelism that are exposed. */
double ppi_pricing_exposed(const struct ppi_pricing *pricing);

ppsched_status ppi_price_create(ppsched_price **out, const ppsched_model *model, const ppsched_pipeline *pipeline,
                                const struct ppi_host *host, ppsched_error *error);
void ppi_price_destroy(ppsched_price *price);

#endif
