/* SPDX-License-Identifier: Apache-2.0 */
/* A problem as searches and bounds read it: one iteration on a placement with one model copy, its stages by device, what each
 * device may hold in activations, and what must follow an op at least. */
#ifndef PPSCHED_BOUND_PROBLEM_H
#define PPSCHED_BOUND_PROBLEM_H

#include "base/arena.h"
#include "ir/costs.h"

/* The kinds of a stage pass, in the order in which searches look at them. The only alphabet is that of ops. */
static const uint8_t ppi_kinds[] = {PPSCHED_KIND_F, PPSCHED_KIND_I, PPSCHED_KIND_W, PPSCHED_KIND_B};

enum { PPI_KINDS = sizeof ppi_kinds / sizeof ppi_kinds[0], PPI_OPS_OF_PASS = 3 /* at most: F, I and W */ };

/* A number for the F of a stage, and one for its backward: I or B. */
struct ppi_chain_times {
    double forward, backward;
};

struct ppi_stage {
    uint32_t device, place; /* place: its number among its device's stages */
    bool fuses;             /* its B is shorter than I and W, or holds less, or alone allowed */
    bool splits;            /* it may run I and W */
    double duration[PPI_COMPUTE_KINDS];
    double memory[PPI_COMPUTE_KINDS]; /* that an op of each kind adds: more is there behind it, or less */
    double rise[PPI_COMPUTE_KINDS];   /* by how much more is there while an I or a B runs */
    double least_rise;                /* for a backward */
    double forward_delay;             /* from the stage before */
    double backward_delay;            /* from the next stage */
    double forward_latency;           /* of these, what does not grow with what is sent */
    double backward_latency;
    double input, weight;        /* the least times of a backward: until the stage before can go on, and from there on */
    struct ppi_chain_times tail; /* the objective ends at least this long after an F, an I */
    double area;                 /* memory of a stage pass times the least time for which it is held */
    double rest;                 /* what of it is held between its I and the end of its W, at least */
};

/* What one device is to the problem. */
struct ppi_device {
    uint32_t first, count; /* its stages, ascending: stage_list[first] and on */
    double work;           /* the least time of all its ops */
    double split_work;     /* the same where all backwards are split */
    double fixed;          /* memory that it always needs */
    double peak_limit;     /* of its activations; infinite where none is set */
    double limit;          /* the same behind each op: what rises while one runs is left free */
    double least;          /* activations that it must hold to get one microbatch through */
};

/* What a microbatch takes, as a multiple of what the stages say. */
struct ppi_ratio {
    double time, memory, sent;
};

/* Where microbatches differ, stages say what they take in time and what they send on an average, and what the largest of them
 * holds: what fits with that always fits. Where they are cut into slices, it is these that are called microbatches here; of
 * those of one, a stage runs the backwards in descending order. */
struct ppi_problem {
    struct ppi_host host;
    uint32_t devices, stages, microbatches;
    uint32_t slices;      /* so many of them are one */
    double held;          /* what a stage holds of one, by what its F adds; 1 where there are no slices */
    uint32_t most_stages; /* of one device */
    bool by_span;         /* the objective has a span in it: span_share > 0 */
    double span_share;    /* of the objective that is the longest device span; the rest is the makespan. 1, 0, or 1 / N: N
                             iterations take N - 1 makespans and a span */
    bool has_limits;      /* of memory, on any device */
    bool rises;           /* some stage's memory does, when an I or a B starts */
    double least_period;  /* the shortest time in which each device can run all its ops of one microbatch */
    double split_work;    /* the same where all backwards are split */
    double least_limit;   /* of memory, one for all devices, under which a schedule exists */
    struct ppi_stage *stage;
    struct ppi_device *device;
    uint32_t *stage_list;
    struct ppi_ratio *ratio; /* by microbatch; NULL where all are alike */
};

/* For a placement of one copy, as in ppi_config_place, in a room of the caller's. RANGE where the config's lists contradict
 * each other. */
ppsched_status ppi_problem_make(struct ppi_problem *out, struct ppi_arena *arena, const ppsched_config *config,
                                int32_t placement, bool by_span, ppsched_error *error);

/* Its like with unit costs: each F, I and W takes 1, and a B 2, there are no delays, and a stage pass holds 1 from F to W, of
 * which each device may hold so many. */
ppsched_status ppi_problem_make_units(struct ppi_problem *out, struct ppi_arena *arena, const ppsched_config *config,
                                      int32_t placement, double most, ppsched_error *error);

/* The device that cannot hold even one microbatch's activations, or PPSCHED_NONE: there is a schedule that fits the limits if
 * and only if there is none such. */
uint32_t ppi_problem_unfit_device(const struct ppi_problem *problem);

/* What a device may hold by a sum that was made in another order than the limits were held against: they round differently. */
static inline double ppi_device_allows(const struct ppi_device *device)
{
    return device->limit + (device->limit + device->fixed) * 1e-10;
}

/* The same while ops run. */
static inline double ppi_device_allows_at_peak(const struct ppi_device *device)
{
    return device->peak_limit + (device->peak_limit + device->fixed) * 1e-10;
}

/* The piece that comes behind so many others in a stage's Fs, or in its backwards; and behind how many a piece comes. */
static inline uint32_t ppi_micro_slice_in_turn(const struct ppi_problem *problem, bool is_backward, uint32_t turn)
{
    return is_backward ? ppi_backward_micro_slice(turn, problem->slices) : turn;
}

/* How long an op takes, and what it adds to its device's activations. */
static inline double ppi_problem_duration(const struct ppi_problem *problem, uint32_t stage, uint8_t kind, uint32_t microbatch)
{
    double duration = problem->stage[stage].duration[kind];
    return problem->ratio == NULL ? duration : duration * problem->ratio[microbatch].time;
}

static inline double ppi_problem_memory(const struct ppi_problem *problem, uint32_t stage, uint8_t kind, uint32_t microbatch)
{
    const double *memory = problem->stage[stage].memory;
    if (problem->ratio == NULL)
        return memory[kind];
    return ppi_memory_at(memory + PPSCHED_KIND_F, kind, problem->ratio[microbatch].memory);
}

/* By how much what its device holds rises when an op starts; 0 for a W. */
static inline double ppi_problem_rise(const struct ppi_problem *problem, uint32_t stage, uint8_t kind, uint32_t microbatch)
{
    const struct ppi_stage *own = &problem->stage[stage];
    double rise = kind == PPSCHED_KIND_F ? own->memory[kind] : own->rise[kind];
    return problem->ratio == NULL ? rise : rise * problem->ratio[microbatch].memory;
}

/* Its ops, at most: where all backwards are split. */
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
