/* SPDX-License-Identifier: Apache-2.0 */
/* A problem in the layout for searches and bounds: one iteration on a placement with one model copy, its stages by device, the
 * memory limits of activations, and the least time after each op. */
#ifndef PPSCHED_BOUND_PROBLEM_H
#define PPSCHED_BOUND_PROBLEM_H

#include "base/arena.h"
#include "ir/costs.h"

/* The kinds of op of a stage pass, in the order in which searches consider them. */
static const uint8_t ppi_kinds[] = {PPSCHED_KIND_F, PPSCHED_KIND_I, PPSCHED_KIND_W, PPSCHED_KIND_B};

enum { PPI_KINDS = sizeof ppi_kinds / sizeof ppi_kinds[0], PPI_OPS_OF_PASS = 3 /* at most: F, I and W */ };

/* Times for the F of a stage, and for its backward: I or B. */
struct ppi_chain_times {
    double forward, backward;
};

struct ppi_stage {
    uint32_t device, place; /* place: its index among its device's stages */
    bool fuses;             /* it may run B, which is shorter than I and W, or holds less, or is the only one allowed */
    bool splits;            /* it may run I and W */
    double duration[PPI_COMPUTE_KINDS];
    double memory[PPI_COMPUTE_KINDS]; /* change at an op of each kind: by how much the level after it differs */
    double rise[PPI_COMPUTE_KINDS];   /* additional memory while an I or a B runs */
    double least_rise;                /* the smaller rise of the kinds of backward that it may run */
    double forward_delay;             /* from the stage before */
    double backward_delay;            /* from the next stage */
    double forward_latency;           /* the parts of both that do not grow with the size sent */
    double backward_latency;
    double input, weight;        /* the shortest times of a backward: until the stage before can start, and from there on */
    struct ppi_chain_times tail; /* the objective ends at least this long after an F, an I */
    double area;                 /* memory of a stage pass times the shortest time it is held */
    double rest;                 /* the least of it that is held between its I and the end of its W */
};

/* A device of the problem. */
struct ppi_device {
    uint32_t first, count; /* its stages, ascending: stage_list[first] and on */
    double work;           /* the least time of all its ops */
    double split_work;     /* the same with all backwards split */
    double fixed;          /* memory that it always holds */
    double peak_limit;     /* of its activations; infinite if none is set */
    double limit;          /* the same after each op, with space left for the rise while an op runs */
    double least;          /* least activations with which it can run one microbatch */
};

/* A microbatch's costs, as multiples of the stages'. */
struct ppi_ratio {
    double time, memory, sent;
};

/* If microbatches differ, the stages have the average time and bytes sent, and the memory of the largest: what fits with that
 * always fits. If they are sliced, the slices are called microbatches here; of those of one, a stage runs the backwards in
 * descending order. `span_share`: the rest of the objective is the makespan, as N iterations take N - 1 makespans and a
 * span. */
struct ppi_problem {
    struct ppi_host host;
    uint32_t devices, stages, microbatches;
    uint32_t slices;      /* slices per microbatch */
    double held;          /* memory that a stage holds of one, in units of its F's; 1 without slices */
    uint32_t most_stages; /* the largest number of stages of a device */
    bool by_span;         /* the objective includes the span: span_share > 0 */
    double span_share;    /* weight of the longest device span in the objective: 0, 1, or 1 / N */
    bool has_limits;      /* of memory, on any device */
    bool rises;           /* some stage's memory rises when an I or a B starts */
    double least_period;  /* the largest of the devices' `work` per microbatch */
    double split_work;    /* the largest of the devices' `split_work` per microbatch */
    double least_limit;   /* the least memory limit, the same for all devices, with which a schedule exists */
    struct ppi_stage *stage;
    struct ppi_device *device;
    uint32_t *stage_list;
    struct ppi_ratio *ratio; /* by microbatch, of stage 0; NULL if all are identical */
    size_t ratio_step;       /* from there to those of the next stage, whose times alone differ; 0: all stages have the same */
};

/* For a placement of one copy, as in ppi_config_place, in the caller's arena. RANGE if the config's lists contradict each
 * other. */
ppsched_status ppi_problem_make(struct ppi_problem *out, struct ppi_arena *arena, const ppsched_config *config,
                                int32_t placement, bool by_span, ppsched_error *error);

/* The same problem with unit costs: F, I and W take 1, B takes 2, transfers take no time, and a stage pass holds 1 from F to W,
 * of which each device may hold `most`. */
ppsched_status ppi_problem_make_units(struct ppi_problem *out, struct ppi_arena *arena, const ppsched_config *config,
                                      int32_t placement, double most, ppsched_error *error);

/* A device that cannot hold even one microbatch's activations, or PPSCHED_NONE: a schedule within the limits exists if and only
 * if there is none. */
uint32_t ppi_problem_unfit_device(const struct ppi_problem *problem);

/* What a device may hold after an op, with a tolerance for sums made in another order than the limits, which round
 * differently. */
static inline double ppi_device_allows(const struct ppi_device *device)
{
    return device->limit + (device->limit + device->fixed) * 1e-10;
}

/* The same while ops run. */
static inline double ppi_device_allows_at_peak(const struct ppi_device *device)
{
    return device->peak_limit + (device->peak_limit + device->fixed) * 1e-10;
}

/* The micro-slice at index `turn` of a stage's Fs, or of its backwards; also the index of a micro-slice, as the map is its own
 * inverse. */
static inline uint32_t ppi_micro_slice_in_turn(const struct ppi_problem *problem, bool is_backward, uint32_t turn)
{
    return is_backward ? ppi_backward_micro_slice(turn, problem->slices) : turn;
}

/* The time of an op, and its change of its device's activations. */
static inline double ppi_problem_duration(const struct ppi_problem *problem, uint32_t stage, uint8_t kind, uint32_t microbatch)
{
    double duration = problem->stage[stage].duration[kind];
    return problem->ratio == NULL ? duration : duration * problem->ratio[stage * problem->ratio_step + microbatch].time;
}

static inline double ppi_problem_memory(const struct ppi_problem *problem, uint32_t stage, uint8_t kind, uint32_t microbatch)
{
    const double *memory = problem->stage[stage].memory;
    if (problem->ratio == NULL)
        return memory[kind];
    return ppi_memory_at(memory + PPSCHED_KIND_F, kind, problem->ratio[microbatch].memory);
}

/* By how much its device's memory rises when an op starts; 0 for a W. */
static inline double ppi_problem_rise(const struct ppi_problem *problem, uint32_t stage, uint8_t kind, uint32_t microbatch)
{
    const struct ppi_stage *own = &problem->stage[stage];
    double rise = kind == PPSCHED_KIND_F ? own->memory[kind] : own->rise[kind];
    return problem->ratio == NULL ? rise : rise * problem->ratio[microbatch].memory;
}

/* The largest number of ops: with all backwards split. */
static inline size_t ppi_problem_ops(const struct ppi_problem *problem)
{
    return (size_t)PPI_OPS_OF_PASS * problem->stages * problem->microbatches;
}

/* The i-th stage of a device. */
static inline uint32_t ppi_stage_at(const struct ppi_problem *problem, uint32_t device, uint32_t i)
{
    return problem->stage_list[problem->device[device].first + i];
}

#endif
