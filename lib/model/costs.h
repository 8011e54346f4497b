/* SPDX-License-Identifier: Apache-2.0 */
/* The problem's numbers with all defaults resolved, laid out as the evaluator reads them. */
#ifndef PPSCHED_MODEL_COSTS_H
#define PPSCHED_MODEL_COSTS_H

#include "model/config.h"
#include "model/op.h"
#include "model/schedule.h"

/* Decimal input is rounded; sums and differences may be off by this share. */
#define PPI_ROUNDING 1e-9

/* A stage of one model copy: where it runs, and what its ops cost, by kind. */
struct ppi_lane {
    uint32_t device;
    double duration[PPI_COMPUTE_KINDS];
    double memory[PPI_COMPUTE_KINDS]; /* added at the start of F, at the end of the others */
    double forward_delay;             /* of a transfer from the device of the stage before */
    double backward_delay;            /* from the device of the next stage */
};

/* What a stage always holds, in the order of enum ppsched_memory_cause; a device has one more, what it holds beside. */
enum { PPI_FIXED_STAGE_CAUSES = 3, PPI_FIXED_CAUSES = 4 };

struct ppi_costs {
    struct ppi_host host;
    struct ppi_values overlapped; /* borrowed from the config */
    uint32_t stages;
    struct ppi_lane *lanes; /* copies x stages, as ppi_placement */
};

/* A transfer takes its edge for `occupancy`, and is there `latency` later. */
struct ppi_transfer_cost {
    double latency, occupancy;
};

/* Size of what F (backward: B or I) of a stage hands to the next stage (to the one before). */
double ppi_bytes_of(const ppsched_config *config, uint32_t stage, bool backward);

/* Of so many bytes, between two devices. */
struct ppi_transfer_cost ppi_link_cost_of(const ppsched_config *config, double bytes, uint32_t from, uint32_t to);

/* Of what F or B hands on, between two devices. */
struct ppi_transfer_cost ppi_transfer_cost_of(const ppsched_config *config, uint32_t stage, bool backward, uint32_t from,
                                              uint32_t to);

/* Adds a stage's static memory: its own, all versions of its weights, `versions` where the config does not say how many, and
 * its optimizer states. */
void ppi_add_static_memory(double *sum, const ppsched_config *config, uint32_t stage, uint32_t versions);

/* How long UNSHARD (else REDUCE_GRAD) of a stage takes on a device. */
double ppi_sharding_time(const ppsched_config *config, uint32_t stage, bool gathers, uint32_t device);

/* How much longer a device's compute ops take meanwhile: 1 or more, infinite where they stand still. */
double ppi_sharding_slowdown(const ppsched_config *config, uint32_t device);

/* Whether the config gives any time of these. */
bool ppi_has_sharding_times(const ppsched_config *config);

/* How long RECOMPUTE of a stage takes, whose F takes `forward`. */
double ppi_recompute_time(const ppsched_config *config, uint32_t stage, double forward);

/* How long the copy of OFFLOAD (else RELOAD) of a stage takes on a device. */
double ppi_copy_time(const ppsched_config *config, uint32_t stage, bool offloads, uint32_t device);

/* Adds what a device holds beside its stages. */
void ppi_add_other_memory(double *sum, const ppsched_config *config, uint32_t device);

/* The same of a stage by cause. */
void ppi_fixed_memory(double out[PPI_FIXED_STAGE_CAUSES], const ppsched_config *config, uint32_t stage, uint32_t versions);

/* Durations and memory of a stage; RANGE where the lists contradict each other. */
ppsched_status ppi_resolve_stage(const ppsched_config *config, uint32_t stage, struct ppi_lane *out, ppsched_error *error);

/* All lanes for a placement. `config` must outlive `out`. */
ppsched_status ppi_costs_make(struct ppi_costs *out, const ppsched_config *config, const struct ppi_placement *placement,
                              ppsched_error *error);

/* The same into lanes that are there, zeroed or filled before. On an error they are of no use. */
ppsched_status ppi_costs_fill(struct ppi_costs *costs, const ppsched_config *config, const struct ppi_placement *placement,
                              ppsched_error *error);
void ppi_costs_clear(struct ppi_costs *costs);

/* The lane of an op. */
static inline const struct ppi_lane *ppi_lane_of(const struct ppi_costs *costs, const ppsched_schedule *schedule,
                                                 const ppsched_op *op)
{
    if (schedule->placement.copies == 1)
        return &costs->lanes[op->stage];
    return &costs->lanes[ppi_copy_of(&schedule->placement, &schedule->shape, op->microbatch) * costs->stages + op->stage];
}

/* Duration of an overlapped pair; that of its ops one after the other where the config gives no duration. */
static inline double ppi_overlapped_duration(const struct ppi_costs *costs, const struct ppi_lane *forward,
                                             uint32_t forward_stage, const struct ppi_lane *backward, uint32_t backward_stage,
                                             uint8_t backward_kind)
{
    const struct ppi_values *given = &costs->overlapped;
    if (given->values == NULL)
        return forward->duration[PPSCHED_KIND_F] + backward->duration[backward_kind];
    if (given->count == 1)
        return given->values[0];
    if (given->count == costs->stages)
        return given->values[forward_stage];
    return given->values[(size_t)forward_stage * costs->stages + backward_stage];
}

#endif
