/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios: times a schedule many times, where ops and messages take longer or shorter than the
 * config says. */
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

/* Results of a schedule by scenario. Immutable.
 * Lifetime: the caller destroys it. It copies what it needs.
 * Thread-safety: any number of threads may read it. */
typedef struct ppsched_scenarios ppsched_scenarios;

/* In which order a device runs its ops. */
enum ppsched_dispatch {
    /* In the order of the schedule. */
    PPSCHED_DISPATCH_PLANNED = 0,

    /* When ready: a device that is free runs the first op of the schedule's order whose inputs are
     * there. It is never idle while it could run one.
     *   - An F or an overlapped pair overtakes other ops only if all of these can still run after
     *     it, in their order, within the device's memory limit. If there is no limit, or the
     *     schedule exceeds it, the planned peak takes its place. So nothing deadlocks. Of the Fs
     *     that are ready, only the first is considered.
     *   - A device chooses after everything that happens at the same time. Flushes stay. */
    PPSCHED_DISPATCH_READY = 1
};

/* Most scenarios of a call. */
#define PPSCHED_MAX_SCENARIOS 16777216

/* By what plans rank candidates, and what searches minimise. */
enum ppsched_rank_by {
    PPSCHED_RANK_BY_STEP = 0,     /* the planned time */
    PPSCHED_RANK_BY_MEAN = 1,     /* its mean over scenarios */
    PPSCHED_RANK_BY_QUANTILE = 2, /* a quantile over scenarios */
    PPSCHED_RANK_BY_WORST = 3     /* the longest time over scenarios */
};

/* How times vary. Sized: set `size`; zero means no variation. In a scenario, the time of an op is
 * multiplied by the factor of its device, the factor of its stage and its jitter; the delay of a
 * message by the factor of its link and its jitter. An overlapped pair is one op, with the factors
 * of its F. Factors are finite and >= 0. Lists are read during the call only; NULL with count 0:
 * all 1.
 *   - Jitter is lognormal with mean 1. `jitter` is the standard deviation of the logarithm, 0 to 2;
 *     0 means none. A jitter is one of 4096 equally likely values: exp(jitter * z), where z is the
 *     normal quantile at (i + 1/2) / 4096 (so |z| < 3.7), divided by the mean of these values.
 *   - A jitter depends only on the seed, the scenario, and the op's kind, stage, microbatch and
 *     slice. So all schedules of a problem meet the same scenarios, and with more scenarios the
 *     first ones stay the same.
 *   - Random numbers are splitmix64 (Steele, Lea and Flood, 2014) by counter. Only +, -, * and /
 *     are used, so results are equal to the last bit on every platform. */
typedef struct ppsched_scenario_options {
    uint32_t size;
    int32_t dispatch;             /* enum ppsched_dispatch */
    uint64_t seed;                /* any value */
    double jitter;                /* jitter of ops */
    double message_jitter;        /* jitter of messages between devices */
    const double *device_factors; /* one per device, or by scenario and then device */
    size_t device_factor_count;   /* D, or scenarios * D */
    const double *stage_factors;  /* one per stage, or by scenario and then stage */
    size_t stage_factor_count;    /* S, or scenarios * S */
    const double *link_factors;   /* by sender and then receiver */
    size_t link_factor_count;     /* D * D */
} ppsched_scenario_options;

/* Figures over all scenarios. Sized. Times in the caller's unit. */
typedef struct ppsched_scenario_metrics {
    uint32_t size;
    uint32_t count;          /* number of scenarios */
    uint32_t best_scenario;  /* the first one with the shortest makespan */
    uint32_t worst_scenario; /* the first one with the longest makespan */
    uint32_t cause_device;   /* the device with the largest cause (ppsched_scenarios_causes); the
                                lowest if there are several */
    uint32_t reserved;
    double mean; /* of the makespans */
    double best;
    double worst;
} ppsched_scenario_metrics;

/* Sets a robust objective: searches with an effort (auto) then minimise the mean, a quantile (0 to
 * 1) or the worst of the makespans over `count` scenarios, by `rank_by`. Other strategies ignore
 * it.
 *   - If devices, stages or links have factors, the search first uses the times of an average
 *     scenario. Then it takes the order that is best over the first 256 scenarios, and improves it
 *     move by move, for longer with more effort.
 *   - The scenarios are those of ppsched_schedule_evaluate_scenarios with the same options. Orders
 *     are run as planned (dispatch PLANNED).
 *   - The result is the same on every platform.
 *   - Lists are copied. PPSCHED_RANK_BY_STEP removes the robust objective; quantile, count and
 *     options are not read then. ppsched_config_with_stages and similar calls do not copy it.
 * Errors: ARGUMENT, also for dispatch READY; RANGE, MISMATCH, STRUCT_SIZE as for
 *   ppsched_schedule_evaluate_scenarios; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_robust_objective(
    ppsched_config *config, int32_t rank_by, double quantile, int64_t count,
    const ppsched_scenario_options *options, ppsched_error *error);

/* Evaluates a schedule in `count` scenarios, by the rules of ppsched_schedule_evaluate. If all
 * factors are 1, the makespan is the same, to the last bit. `options` NULL: no factors.
 *   - A scenario allocates nothing. Time is linear in ops times scenarios, memory in ops plus
 *     scenarios.
 *   - The config's progress callback receives the share of the scenarios that are done.
 * Errors: as ppsched_schedule_evaluate; ARGUMENT, also for RECOMPUTE, OFFLOAD and RELOAD; RANGE for
 *   a number of scenarios other than 1 to PPSCHED_MAX_SCENARIOS, for a jitter or factor, or where
 *   the sum of times is too large for a double; MISMATCH for the length of a list; REFUSED for
 *   dispatch READY with sender_waits LIKE_KIND; STRUCT_SIZE; CANCELLED; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_evaluate_scenarios(
    ppsched_scenarios **out, const ppsched_schedule *schedule, const ppsched_config *config,
    int64_t count, const ppsched_scenario_options *options, ppsched_error *error);

/* Frees it. NULL is accepted. */
PPSCHED_API void ppsched_scenarios_destroy(ppsched_scenarios *scenarios);

/* The makespan of each scenario, borrowed. */
PPSCHED_API const double *ppsched_scenarios_makespans(const ppsched_scenarios *scenarios,
                                                      size_t *count);

/* Which device causes the makespan: for each device, the share of the makespan, 0 to 1, in which
 * its ops are on the critical path of a scenario, as a mean over the scenarios. The rest of the
 * path is messages. One value per device, borrowed. The path is followed from its end: from the op
 * that ends last (of several, that on the lowest device) to the op before it on the device, if the
 * op waited for that one or for the flush, else to the sender of the input that it waited for. */
PPSCHED_API const double *ppsched_scenarios_causes(const ppsched_scenarios *scenarios,
                                                   size_t *count);

/* The peak memory of each device over all scenarios, borrowed. With dispatch PLANNED it is the same
 * in all of them. */
PPSCHED_API const double *ppsched_scenarios_peaks(const ppsched_scenarios *scenarios,
                                                  size_t *count);

/* Reads the figures over all scenarios.
 * Errors: ARGUMENT, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_scenarios_get_metrics(ppsched_scenario_metrics *out,
                                                         const ppsched_scenarios *scenarios,
                                                         ppsched_error *error);

/* The quantile `q` of the makespans: the least one that at least a share `q` of the scenarios does
 * not exceed. Of n scenarios that is the ceil(q * n)-th shortest, and for q = 0 the shortest.
 * Errors: ARGUMENT; RANGE where q is not in 0..1. */
PPSCHED_API ppsched_status ppsched_scenarios_get_quantile(double *out,
                                                          const ppsched_scenarios *scenarios,
                                                          double q, ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
