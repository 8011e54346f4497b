/* SPDX-License-Identifier: Apache-2.0 */
/* The problem's numbers with all defaults resolved, in the layout that the evaluator reads. */
#ifndef PPSCHED_IR_COSTS_H
#define PPSCHED_IR_COSTS_H

#include "ir/config.h"
#include "ir/op.h"
#include "ir/schedule.h"

/* Decimal input is rounded; sums and differences may be off by this share. */
#define PPI_ROUNDING 1e-9

/* The costs of a micro-slice, as a multiple of its stage instance's. */
struct ppi_factor {
    double time, memory;
};

/* A stage instance (a stage of one model copy): its device, and the costs of its ops by kind. */
struct ppi_instance {
    uint32_t device;
    double duration[PPI_COMPUTE_KINDS];
    double memory[PPI_COMPUTE_KINDS]; /* added at the start of F, at the end of the others */
    double forward_delay;             /* of a transfer from the device of the stage before */
    double backward_delay;            /* from the device of the next stage */
    double forward_latency;           /* the parts of both that do not grow with the size sent */
    double backward_latency;
    const struct ppi_factor *factors; /* of its micro-slices, as in ppi_costs */
};

/* By how much the memory of a stage pass rises: from the start of I until the end of W, and while B runs. */
struct ppi_rise {
    double input, whole;
};

/* Static memory of a stage by cause, in the order of enum ppsched_memory_cause; a device has one more cause, its other
 * memory. */
enum { PPI_FIXED_STAGE_CAUSES = 3, PPI_FIXED_CAUSES = 4 };

/* Transfers over a link of a stage graph: of the activation to the stage that it feeds, and of the gradient back. */
struct ppi_link_delay {
    double delay[2], latency[2]; /* forward, backward; latency: the part that does not grow with the size sent */
};

struct ppi_costs {
    struct ppi_host host;
    struct ppi_values overlapped;                /* borrowed from the config, */
    struct ppi_values speeds;                    /* like these; for overlapped pairs, as durations are divided by them */
    struct ppi_values device_scale, stage_scale; /* and multiplied by these */
    const double *pair_ends;                     /* borrowed, as in ppi_windows; NULL: both ops of a pair end with it */
    const double *input_pairs;                   /* the same of pairs of F and I; NULL: they take the time of other pairs */
    uint32_t pair_end_stages;                    /* 1: all stages are alike */
    uint32_t stages, devices;
    bool senders_wait;              /* as in the config */
    struct ppi_instance *instances; /* copies x stages, indexed as in ppi_placement */
    struct ppi_rise *rises;         /* by stage; NULL if no memory rises */
    struct ppi_factor *factors;     /* by micro-slice of one iteration, of stage 0; NULL if all are 1 */
    struct ppi_link_delay *links;   /* by link of the stage graph; NULL for a chain, whose delays the instances have */
    size_t factor_step;             /* from the factors of a stage to those of the next; 0: all stages have the same */
};

/* A transfer occupies its link for `occupancy`, and arrives `latency` later. */
struct ppi_transfer_cost {
    double latency, occupancy;
};

/* The multiple of a power of two that is nearest to `x`, where that is at most 2^51 times the power. */
static inline double ppi_multiple_of(double x, double power)
{
    const double large = power * 0x1.8p52;
    return (x + large) - large;
}

/* Bytes that F of a stage sends to the next stage (backward: B or I to the stage before). */
double ppi_bytes_of(const ppsched_config *config, uint32_t stage, bool backward);

/* Cost of sending `bytes` between two devices. */
struct ppi_transfer_cost ppi_link_cost_of(const ppsched_config *config, double bytes, uint32_t from, uint32_t to);

/* Cost of sending the output of F or B between two devices. */
struct ppi_transfer_cost ppi_transfer_cost_of(const ppsched_config *config, uint32_t stage, bool backward, uint32_t from,
                                              uint32_t to);

/* The same on a stage graph, from a stage to one that it feeds, or back. */
struct ppi_transfer_cost ppi_transfer_cost_between(const ppsched_config *config, uint32_t from, uint32_t to, bool backward,
                                                   uint32_t sender, uint32_t receiver);

/* Adds a stage's static memory: its own, all versions of its weights (`versions` if the config does not set their number), and
 * its optimizer states. */
void ppi_add_static_memory(double *sum, const ppsched_config *config, uint32_t stage, uint32_t versions);

/* Time of a stage's UNSHARD (else REDUCE_GRAD) on a device. */
double ppi_sharding_time(const ppsched_config *config, uint32_t stage, bool unshards, uint32_t device);

/* Factor on the times of a device's compute ops while UNSHARD or REDUCE_GRAD runs: 1 or more, infinite if they stop. */
double ppi_sharding_slowdown(const ppsched_config *config, uint32_t device);

/* Whether the config gives times of UNSHARD or REDUCE_GRAD. */
bool ppi_has_sharding_times(const ppsched_config *config);

/* Time of a stage's RECOMPUTE on a device; `forward`: that of its F there. */
double ppi_recompute_time(const ppsched_config *config, uint32_t stage, double forward, uint32_t device);

/* Time of the copy of a stage's OFFLOAD (else RELOAD) on a device. */
double ppi_copy_time(const ppsched_config *config, uint32_t stage, bool offloads, uint32_t device);

/* The part of it that does not grow with the size; 0 if the times are given. */
double ppi_copy_latency(const ppsched_config *config, uint32_t device);

/* Factor on the times of a device's compute ops while a copy runs: 1 or more, infinite if they stop. */
double ppi_copy_slowdown(const ppsched_config *config, uint32_t device);

/* Time that the call of a SEND or RECV takes of a device. */
double ppi_send_overhead(const ppsched_config *config, uint32_t device);

/* Adds a device's other memory, which belongs to none of its stages. */
void ppi_add_other_memory(double *sum, const ppsched_config *config, uint32_t device);

/* Static memory of a stage by cause. */
void ppi_fixed_memory(double out[PPI_FIXED_STAGE_CAUSES], const ppsched_config *config, uint32_t stage, uint32_t versions);

/* Whether devices are not all as fast as stated, and the same problem with devices that are. `*out` borrows the lists. */
bool ppi_has_speeds(const ppsched_config *config);
void ppi_as_stated(ppsched_config *out, const ppsched_config *config);

/* The speed of a device: its ops take their time divided by it. */
double ppi_speed_of(const ppsched_config *config, uint32_t device);

/* The factor on the times of ops of a kind on a device, of all stages; and of those of one stage. */
double ppi_device_scale(const ppsched_config *config, uint32_t kind, uint32_t device);
double ppi_scale_of(const ppsched_config *config, uint32_t kind, uint32_t stage, uint32_t device);

/* The time of each op on a device, in addition to op_overhead. */
double ppi_device_overhead(const ppsched_config *config, uint32_t device);

/* Makes durations at speed 1 those of a device, its overhead included. */
void ppi_put_on_device(double *duration, const ppsched_config *config, uint32_t stage, uint32_t device);

/* The same, RANGE if a time is too large; and for the slowest device of a stage on several. */
ppsched_status ppi_check_on_device(double *duration, const ppsched_config *config, uint32_t device, uint32_t stage,
                                   ppsched_error *error);
ppsched_status ppi_put_on_slowest(double *duration, const ppsched_config *config, const struct ppi_placement *placement,
                                  uint32_t stage, ppsched_error *error);

/* Durations at speed 1 and memory of a stage, without op_overhead; RANGE if the lists contradict each other. */
ppsched_status ppi_resolve_stage(const ppsched_config *config, uint32_t stage, struct ppi_instance *out, ppsched_error *error);

/* Whether some stage's memory rises when an I or a B starts, and by how much that of one stage does. */
bool ppi_memory_rises(const ppsched_config *config);
struct ppi_rise ppi_config_rise(const ppsched_config *config, uint32_t stage);

/* Adds op_overhead of F, B, I and W, indexed by kind; without that of a device. */
void ppi_add_op_overhead(double *duration, const ppsched_config *config);

/* Whether microbatches or slices differ; whether slices differ by stage; the factors of a micro-slice on a stage, whose memory
 * is the same on all stages. */
bool ppi_has_factors(const ppsched_config *config);
bool ppi_has_stage_factors(const ppsched_config *config);
struct ppi_factor ppi_config_factor(const ppsched_config *config, uint32_t stage, uint32_t microbatch, uint32_t slice);

/* Fills the factors of a config into costs, with or without factors from before. */
ppsched_status ppi_factors_fill(struct ppi_costs *costs, const ppsched_config *config, ppsched_error *error);

/* Makes all stage instances of a placement, and the factors. `config` must outlive `out`. */
ppsched_status ppi_costs_make(struct ppi_costs *out, const ppsched_config *config, const struct ppi_placement *placement,
                              ppsched_error *error);

/* The same into existing stage instances, zeroed or filled before. After an error they are invalid. */
ppsched_status ppi_costs_fill(struct ppi_costs *costs, const ppsched_config *config, const struct ppi_placement *placement,
                              ppsched_error *error);
void ppi_costs_clear(struct ppi_costs *costs);

/* Fills the delays of the links, if the placement has a stage graph; `links` may be NULL before. */
ppsched_status ppi_link_costs_fill(struct ppi_costs *costs, const ppsched_config *config, const struct ppi_placement *placement,
                                   ppsched_error *error);

/* The stage instance of an op. */
static inline const struct ppi_instance *ppi_instance_of(const struct ppi_costs *costs, const ppsched_schedule *schedule,
                                                         const ppsched_op *op)
{
    if (schedule->placement.copies == 1)
        return &costs->instances[op->stage];
    return &costs->instances[ppi_copy_of(&schedule->placement, &schedule->shape, op->microbatch) * costs->stages + op->stage];
}

/* The index of a micro-slice in one iteration. */
static inline size_t ppi_factor_index(const struct ppi_shape *shape, uint32_t microbatch, uint32_t slice)
{
    return ppi_micro_slice(shape, microbatch >= shape->microbatches ? microbatch % shape->microbatches : microbatch, slice);
}

/* The factor of a micro-slice on a stage. */
static inline struct ppi_factor ppi_factor_on(const struct ppi_instance *instance, const struct ppi_shape *shape,
                                              uint32_t microbatch, uint32_t slice)
{
    if (instance->factors == NULL)
        return (struct ppi_factor){1, 1};
    return instance->factors[ppi_factor_index(shape, microbatch, slice)];
}

/* The factor of an op's micro-slice on its stage. */
static inline struct ppi_factor ppi_factor_of(const struct ppi_costs *costs, const ppsched_schedule *schedule,
                                              const ppsched_op *op)
{
    return ppi_factor_on(ppi_instance_of(costs, schedule, op), &schedule->shape, op->microbatch, op->slice);
}

/* The factor on memory alone, which is the same on all stages. */
static inline double ppi_memory_factor_of(const struct ppi_costs *costs, const ppsched_schedule *schedule, const ppsched_op *op)
{
    return costs->factors == NULL ? 1 : costs->factors[ppi_factor_index(&schedule->shape, op->microbatch, op->slice)].memory;
}

/* Time of F, B, I or W, not overlapped. */
static inline double ppi_duration_of(const struct ppi_costs *costs, const ppsched_schedule *schedule, const ppsched_op *op)
{
    const struct ppi_instance *instance = ppi_instance_of(costs, schedule, op);
    return instance->duration[op->kind] * ppi_factor_on(instance, &schedule->shape, op->microbatch, op->slice).time;
}

/* Memory that F, B, I or W adds if nothing rises; `memory` of kind k is at k - 1. I and W release exactly what F added, with
 * its rounding. */
static inline double ppi_memory_at(const double *memory, uint8_t kind, double factor)
{
    if (kind != PPSCHED_KIND_W || factor == 1)
        return memory[kind - 1] * factor;
    return -(memory[PPSCHED_KIND_F - 1] * factor + memory[PPSCHED_KIND_I - 1] * factor);
}

static inline double ppi_memory_of(const struct ppi_costs *costs, const ppsched_schedule *schedule, const ppsched_op *op)
{
    const struct ppi_instance *instance = ppi_instance_of(costs, schedule, op);
    double factor = ppi_memory_factor_of(costs, schedule, op);
    if (op->kind == PPSCHED_KIND_W && costs->rises != NULL)
        return instance->memory[PPSCHED_KIND_W] * factor;
    return ppi_memory_at(instance->memory + PPSCHED_KIND_F, op->kind, factor);
}

/* Additional memory of an op while it runs; that of I is held until W ends. */
static inline double ppi_rise_of(const struct ppi_costs *costs, const ppsched_schedule *schedule, const ppsched_op *op)
{
    if (costs->rises == NULL || (op->kind != PPSCHED_KIND_I && op->kind != PPSCHED_KIND_B))
        return 0;
    const struct ppi_rise *rise = &costs->rises[op->stage];
    return (op->kind == PPSCHED_KIND_I ? rise->input : rise->whole) * ppi_memory_factor_of(costs, schedule, op);
}

/* Memory change at the end of B, I or W, including the rise while a B ran: at most 0. */
static inline double ppi_released_of(const struct ppi_costs *costs, const ppsched_schedule *schedule, const ppsched_op *op)
{
    double released = ppi_memory_of(costs, schedule, op);
    return op->kind == PPSCHED_KIND_B ? released - ppi_rise_of(costs, schedule, op) : released;
}

/* Transfer time of an op's input from the stage before (backward: from the next), on an idle link. */
static inline double ppi_scaled_delay(double delay, double latency, double factor)
{
    return factor == 1 ? delay : (delay - latency) * factor + latency;
}

static inline double ppi_delay_of(const struct ppi_costs *costs, const ppsched_schedule *schedule, const ppsched_op *op,
                                  bool backward)
{
    const struct ppi_instance *instance = ppi_instance_of(costs, schedule, op);
    if (costs->factors == NULL)
        return backward ? instance->backward_delay : instance->forward_delay;
    double factor = ppi_memory_factor_of(costs, schedule, op);
    return backward ? ppi_scaled_delay(instance->backward_delay, instance->backward_latency, factor)
                    : ppi_scaled_delay(instance->forward_delay, instance->forward_latency, factor);
}

/* The same over a link of a stage graph. */
static inline double ppi_link_delay_of(const struct ppi_costs *costs, const ppsched_schedule *schedule, const ppsched_op *op,
                                       uint32_t link, bool backward)
{
    const struct ppi_link_delay *own = &costs->links[link];
    if (costs->factors == NULL)
        return own->delay[backward];
    return ppi_scaled_delay(own->delay[backward], own->latency[backward], ppi_memory_factor_of(costs, schedule, op));
}

/* Whether given times of overlapped pairs are scaled on some device or stage. */
static inline bool ppi_scales_pairs(const struct ppi_costs *costs)
{
    return costs->overlapped.values != NULL &&
           (costs->speeds.values != NULL || costs->device_scale.values != NULL || costs->stage_scale.values != NULL);
}

/* The config's time of an overlapped pair at speed 1; the list is set. */
static inline double ppi_plain_overlap(const struct ppi_costs *costs, uint32_t forward_stage, uint32_t backward_stage)
{
    const struct ppi_values *given = &costs->overlapped;
    if (given->count == 1)
        return given->values[0];
    if (given->count == costs->stages)
        return given->values[forward_stage];
    return given->values[(size_t)forward_stage * costs->stages + backward_stage];
}

/* The same of a pair, whose backward may be an I. */
static inline double ppi_plain_pair(const struct ppi_costs *costs, const ppsched_op *pair)
{
    if (pair[1].kind != PPSCHED_KIND_I || costs->input_pairs == NULL)
        return ppi_plain_overlap(costs, pair[0].stage, pair[1].stage);
    return costs->input_pairs[costs->pair_end_stages == 1 ? 0 : (size_t)pair[0].stage * costs->stages + pair[1].stage];
}

/* A given time of a pair, on a device. */
double ppi_time_on_device(const struct ppi_costs *costs, double time, uint32_t forward_stage, uint32_t device);

/* The same of a pair of B. */
double ppi_given_overlap(const struct ppi_costs *costs, uint32_t forward_stage, uint32_t backward_stage, uint32_t device);

/* Time of an overlapped pair; the sum of its ops' if the config gives none. A given time is scaled as that sum is. */
static inline double ppi_overlapped_duration(const struct ppi_costs *costs, const ppsched_schedule *schedule,
                                             const ppsched_op *pair)
{
    double plain = ppi_instance_of(costs, schedule, &pair[0])->duration[pair[0].kind] +
                   ppi_instance_of(costs, schedule, &pair[1])->duration[pair[1].kind];
    double sum = costs->factors == NULL
                     ? plain
                     : ppi_duration_of(costs, schedule, &pair[0]) + ppi_duration_of(costs, schedule, &pair[1]);
    if (costs->overlapped.values == NULL)
        return sum;
    double given = ppi_time_on_device(costs, ppi_plain_pair(costs, pair), pair[0].stage,
                                      ppi_instance_of(costs, schedule, pair)->device);
    return costs->factors == NULL || plain == 0 ? given : given * (sum / plain);
}

/* Time from the start of an overlapped pair to the end of its forward, or of its backward: what waits for the output on another
 * device need not wait for the pair's end. `time`: what the pair takes here. */
double ppi_end_in_pair(const struct ppi_costs *costs, const ppsched_op *pair, bool backward, double time);

/* Time of an op or an overlapped pair. */
static inline double ppi_unit_duration(const struct ppi_costs *costs, const ppsched_schedule *schedule, const ppsched_op *unit)
{
    return ppi_unit_length(unit) == 1 ? ppi_duration_of(costs, schedule, unit) : ppi_overlapped_duration(costs, schedule, unit);
}

#endif
