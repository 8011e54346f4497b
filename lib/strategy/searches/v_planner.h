/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule on the V placement while it is planned, op by op, with real costs: when what the next ops need arrives, when every
 * device is free, what it holds. Device r has stage r, here called a, and stage 2D-1-r, here called z. */
#ifndef PPSCHED_STRATEGY_V_PLANNER_H
#define PPSCHED_STRATEGY_V_PLANNER_H

#include "model/costs.h"
#include "strategy/strategy.h"

struct ppi_v_stage {
    const struct ppi_lane *lane;
    double *forward_end, *input_end;    /* by microbatch */
    uint32_t forwards, inputs, weights; /* put so far */
};

struct ppi_v_device {
    struct ppi_v_stage *a, *z;
    double limit; /* of its activations */
    double work;  /* time of all its ops */
    double clock, memory;
    double first_start;
    double idle;         /* since its first op */
    uint32_t most_ahead; /* forwards that a may be ahead of z: then the oldest microbatch always fits */
    ppsched_op *next;
    const ppsched_op *due; /* of ops before it no W is due */
};

struct ppi_v_planner {
    uint32_t devices, microbatches;
    struct ppi_costs costs;
    struct ppi_v_stage *stage;
    struct ppi_v_device *device;
    double *ends;   /* all forward_end and input_end */
    double longest; /* work and idle time of the device that has most so far */
};

/* Without limits. */
ppsched_status ppi_v_planner_make(struct ppi_v_planner *out, const ppsched_config *config, ppsched_error *error);
void ppi_v_planner_clear(struct ppi_v_planner *planner);

/* What a device may hold; one microbatch must fit. */
void ppi_v_set_limit(struct ppi_v_planner *planner, uint32_t device, double limit);

/* Forgets all ops; the next go to `ops`, 6M a device. */
void ppi_v_restart(struct ppi_v_planner *planner, ppsched_op *ops);

/* When what a stage's next F or I needs arrives; infinite where that is not planned, or none is left. */
double ppi_v_forward_arrival(const struct ppi_v_planner *planner, const struct ppi_v_stage *stage);
double ppi_v_input_arrival(const struct ppi_v_planner *planner, const struct ppi_v_stage *stage);

/* Put a stage's next op, as early as possible; what it needs must be planned. */
void ppi_v_put_forward(struct ppi_v_planner *planner, struct ppi_v_stage *stage);
void ppi_v_put_input(struct ppi_v_planner *planner, struct ppi_v_stage *stage);

/* The stage of the oldest W that is due on a device; NULL where none is. */
struct ppi_v_stage *ppi_v_weight_due(struct ppi_v_planner *planner, struct ppi_v_device *device);

/* Puts the oldest W that is due on a device; false where none is. */
bool ppi_v_put_weight(struct ppi_v_planner *planner, struct ppi_v_device *device);

static inline struct ppi_v_device *ppi_v_device_of(const struct ppi_v_planner *planner, const struct ppi_v_stage *stage)
{
    return &planner->device[stage->lane->device];
}

/* Whether a stage's next F fits into memory now. */
static inline bool ppi_v_fits(const struct ppi_v_device *device, const struct ppi_v_stage *stage)
{
    return device->memory + stage->lane->memory[PPSCHED_KIND_F] <= device->limit;
}

/* Whether it leaves room for the oldest microbatch to go on. */
static inline bool ppi_v_safe(const struct ppi_v_device *device, const struct ppi_v_stage *stage)
{
    return stage == device->z || device->a->forwards - device->z->forwards < device->most_ahead;
}

/* The longest span of a device; infinite where ops are missing. */
double ppi_v_span(const struct ppi_v_planner *planner);

#endif
