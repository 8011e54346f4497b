/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios: how long a schedule takes if times vary. In each scenario ops and messages take longer
 * or shorter than the config says. */
#ifndef PPSCHED_SCENARIOS_H
#define PPSCHED_SCENARIOS_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/config.h>
#include <ppsched/evaluate.h>
#include <ppsched/export_macro.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A schedule's makespans by scenario. Immutable.
 * Lifetime: the caller destroys it. It refers to no other object.
 * Thread-safety: any number of threads may read it. */
typedef struct ppsched_scenarios ppsched_scenarios;

/* In which order a device runs its ops. READY describes a runtime with dispatch when ready: a free
 * device runs the first op of the schedule's order whose inputs are there, and is never idle while
 * there is such an op.
 *   - An F, or an overlapped pair, overtakes others only if all of these can still run after it, in
 *     their order, within the device's memory limit. If there is no limit, or the schedule exceeds
 *     it, its planned peak counts instead. So there is no deadlock. Of the Fs that are ready only
 *     the first is considered.
 *   - A device chooses after everything that happens at the same moment. A flush is kept. */
enum ppsched_dispatch {
    PPSCHED_DISPATCH_PLANNED = 0, /* in the order of the schedule */
    PPSCHED_DISPATCH_READY = 1    /* what is ready */
};

/* The largest number of scenarios of a call. */
#define PPSCHED_MAX_SCENARIOS 16777216

/* The time by which plans rank candidates, and which searches minimise. */
enum ppsched_rank_by {
    PPSCHED_RANK_BY_STEP = 0,     /* the planned time */
    PPSCHED_RANK_BY_MEAN = 1,     /* the mean over scenarios */
    PPSCHED_RANK_BY_QUANTILE = 2, /* the time that a given share of the scenarios does not exceed */
    PPSCHED_RANK_BY_WORST = 3     /* the longest of all scenarios */
};

/* How times vary. Sized. In a scenario
 *   - the time of an op is multiplied by the factors of its device and its stage, and by
 *     its own jitter; an overlapped pair is one op, with the jitter of its F;
 *   - the delay of a message is multiplied by the factor of its link, and by its own
 *     jitter.
 * Factors are finite and not negative. Lists belong to the caller, and are read only during the
 * call. NULL with count 0 means that all factors are 1.
 *   - Jitter is lognormal with mean 1: `jitter` is the standard deviation of its logarithm, 0 to 2;
 *     0 means none. Its value is one of 4096 equally likely ones: exp(jitter * z), where z are the
 *     normal quantiles at (i + 1/2) / 4096 (so |z| < 3.7), divided by their mean.
 *   - The jitter of an op depends only on the seed, the scenario, and the op's kind, stage,
 *     microbatch and slice. So all schedules of a problem meet the same scenarios, and with a
 *     larger count the first scenarios stay the same. It is drawn with splitmix64 (Steele, Lea and
 *     Flood, 2014) by counter, and with +, -, * and / only, so it is equal to the last bit on every
 *     platform. */
typedef struct ppsched_scenario_options {
    uint32_t size;
    int32_t dispatch;             /* enum ppsched_dispatch */
    uint64_t seed;                /* any */
    double jitter;                /* of ops */
    double message_jitter;        /* of messages between devices, as `jitter` */
    const double *device_factors; /* one per device; or for each scenario one per device */
    size_t device_factor_count;   /* D, or scenarios * D */
    const double *stage_factors;  /* one per stage; or for each scenario one per stage */
    size_t stage_factor_count;    /* S, or scenarios * S */
    const double *link_factors;   /* for each sender one per receiver */
    size_t link_factor_count;     /* D * D */
} ppsched_scenario_options;

/* Figures over all scenarios. Sized. Times in the caller's unit. */
typedef struct ppsched_scenario_metrics {
    uint32_t size;
    uint32_t count;          /* number of scenarios */
    uint32_t best_scenario;  /* the first with the shortest makespan */
    uint32_t worst_scenario; /* the first with the longest makespan */
    uint32_t cause_device;   /* the lowest device with the largest cause */
    uint32_t reserved;
    double mean; /* of the makespans */
    double best;
    double worst;
} ppsched_scenario_metrics;

/* Sets the robust objective: searches with an effort (auto) minimise a figure over `count`
 * scenarios, which `rank_by` selects: the mean, the `quantile` (0 to 1), or the worst.
 *   - If devices, stages or links have factors, the search first uses the times of an average
 *     scenario. Then it takes the order with the best figure in the first 256 scenarios, and
 *     improves it move by move. More effort means more moves.
 *   - The scenarios are those of an evaluation with the same options. Orders run as planned: the
 *     dispatch must be PLANNED.
 *   - The result depends only on the problem and the objective, and is the same on every platform.
 *   - PPSCHED_RANK_BY_STEP removes the robust objective; `count`, `options` and `quantile` are then
 *     not read.
 *   - Other strategies ignore it. Configs made by ppsched_config_with_stages and similar calls do
 *     not have it.
 * Lists are copied.
 * Errors: ARGUMENT, also for dispatch READY; RANGE, MISMATCH, STRUCT_SIZE as for
 *   ppsched_schedule_evaluate_scenarios; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_robust_objective(
    ppsched_config *config, int32_t rank_by, double quantile, int64_t count,
    const ppsched_scenario_options *options, ppsched_error *error);

/* Evaluates `count` scenarios of a schedule by the rules of ppsched_schedule_evaluate. If all
 * factors are 1, the makespan is the same as there, to the last bit. `options` NULL means no
 * factors.
 *   - The config's progress callback receives the share of the scenarios that are done.
 *   - Time is linear in ops times scenarios, memory in ops plus scenarios. A scenario allocates
 *     nothing.
 * Errors: as ppsched_schedule_evaluate; ARGUMENT, also for schedules with RECOMPUTE, OFFLOAD or
 *   RELOAD; RANGE for a number of scenarios other than 1 to PPSCHED_MAX_SCENARIOS, for a jitter or
 *   a factor, and if the sum of times exceeds a double; MISMATCH for the count of a list;
 *   REFUSED for dispatch READY if the config's senders wait; STRUCT_SIZE; CANCELLED; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_evaluate_scenarios(
    ppsched_scenarios **out, const ppsched_schedule *schedule, const ppsched_config *config,
    int64_t count, const ppsched_scenario_options *options, ppsched_error *error);

/* Frees it. NULL is accepted. */
PPSCHED_API void ppsched_scenarios_destroy(ppsched_scenarios *scenarios);

/* The makespan of each scenario, borrowed. */
PPSCHED_API const double *ppsched_scenarios_makespans(const ppsched_scenarios *scenarios,
                                                      size_t *count);

/* Which devices cause the makespan. For each device: the mean over scenarios of the share of the
 * makespan, 0 to 1, in which its ops are on the scenario's critical path. Messages are the rest of
 * the path. Borrowed. The path is followed back from the op that ends last; of several, the one on
 * the lowest device. It goes to the op before it on the same device if the op waited for that, or
 * for the flush. Otherwise it goes to the sender of the value that the op waited for. */
PPSCHED_API const double *ppsched_scenarios_causes(const ppsched_scenarios *scenarios,
                                                   size_t *count);

/* The largest memory that each device holds in any scenario. With dispatch PLANNED this is the
 * planned peak. Borrowed. */
PPSCHED_API const double *ppsched_scenarios_peaks(const ppsched_scenarios *scenarios,
                                                  size_t *count);

/* Figures over all scenarios.
 * Errors: ARGUMENT, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_scenarios_get_metrics(ppsched_scenario_metrics *out,
                                                         const ppsched_scenarios *scenarios,
                                                         ppsched_error *error);

/* Finds the least makespan that at least a share `q` of the scenarios does not exceed. Of n
 * scenarios it is the ceil(q * n)-th shortest; for q = 0 the shortest.
 * Errors: ARGUMENT; RANGE if q is not between 0 and 1. */
PPSCHED_API ppsched_status ppsched_scenarios_get_quantile(double *out,
                                                          const ppsched_scenarios *scenarios,
                                                          double q, ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
