/* SPDX-License-Identifier: Apache-2.0 */
/* When times vary: how long a schedule takes in each of many scenarios, in which ops and messages
 * take longer or shorter than the config says. */
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
 * Lifetime: the caller destroys it; it holds on to nothing.
 * Thread-safety: may be read by any number of threads; destroyed once. */
typedef struct ppsched_scenarios ppsched_scenarios;

/* In which order a device runs its ops. READY is a runtime that runs what is ready: whenever a
 * device is free it runs the first op of the schedule's order that has all it needs, and never
 * idles while it could run one.
 *   - F (a pair likewise) overtakes others only if all of these can still run behind it, in their
 *     order, within the device's memory limit, or where there is none, or the plan is over it,
 *     within its planned peak. So there is no deadlock. Of ready Fs the first alone is looked at.
 *   - All that happens at a moment is seen before a device chooses. A flush stays. */
enum ppsched_dispatch {
    PPSCHED_DISPATCH_PLANNED = 0, /* as the schedule says */
    PPSCHED_DISPATCH_READY = 1
};

/* Scenarios of a call at most. */
#define PPSCHED_MAX_SCENARIOS 16777216

/* What candidates of plans are ranked by, and what searches make short. */
enum ppsched_rank_by {
    PPSCHED_RANK_BY_STEP = 0,     /* the time as planned */
    PPSCHED_RANK_BY_MEAN = 1,     /* its mean over scenarios */
    PPSCHED_RANK_BY_QUANTILE = 2, /* what a share of the scenarios does not exceed */
    PPSCHED_RANK_BY_WORST = 3     /* the longest of them */
};

/* How times vary. Sized. In a scenario an op takes its time times its device's factor, its stage's
 * factor and its jitter, a message its delay times its link's factor and its jitter; an overlapped
 * pair is one op, that of its F. Factors are finite and not negative. Lists are the caller's and
 * read during the call alone; NULL with count 0: all 1.
 *   - Jitter is lognormal with mean 1: `jitter` is the standard deviation of the logarithm, 0 to 2;
 *     0 is none. A factor is one of 4096 equally likely values: exp(jitter * z) for z the normal
 *     quantiles at (i + 1/2) / 4096 (so |z| < 3.7), over their mean.
 *   - A jitter depends on the seed, the scenario, and the op's kind, stage, microbatch and slice
 *     alone: all schedules of a problem meet the same scenarios, and more begin with the same ones.
 *     Drawn with splitmix64 (Steele, Lea and Flood, 2014) by counter, and with +, -, *, / alone:
 *     equal to the last bit on every platform. */
typedef struct ppsched_scenario_options {
    uint32_t size;
    int32_t dispatch;             /* enum ppsched_dispatch */
    uint64_t seed;                /* any */
    double jitter;                /* of ops */
    double message_jitter;        /* of messages between devices, likewise */
    const double *device_factors; /* one a device, or by scenario and then device */
    size_t device_factor_count;   /* D, or scenarios * D */
    const double *stage_factors;  /* one a stage, or by scenario and then stage */
    size_t stage_factor_count;    /* S, or scenarios * S */
    const double *link_factors;   /* by sender and then receiver */
    size_t link_factor_count;     /* D * D */
} ppsched_scenario_options;

/* Figures over all scenarios. Sized. Times in the caller's unit. */
typedef struct ppsched_scenario_metrics {
    uint32_t size;
    uint32_t count;          /* of scenarios */
    uint32_t best_scenario;  /* with the shortest makespan, the first of them */
    uint32_t worst_scenario; /* with the longest, the first of them */
    uint32_t cause_device;   /* of the largest cause, the lowest of them */
    uint32_t reserved;
    double mean;
    double best;
    double worst;
} ppsched_scenario_metrics;

/* Has searches that take an effort (auto) look for what is short in `count` scenarios: their mean,
 * a quantile, 0 to 1, or the worst of them (`rank_by`). They search with the times of an average
 * scenario first, where devices, stages or links have factors, then take the order that is best by
 * that figure in the first 256 scenarios, and improve it move by move; the more effort, the longer.
 * The scenarios are those that an evaluation with these options meets; orders are planned ones
 * (dispatch PLANNED). Lists are copied. What is found depends on the goal alone: the same on every
 * platform. PPSCHED_RANK_BY_STEP takes the goal away; count, options and quantile are not read
 * then. Other strategies do not look at it. ppsched_config_with_stages and the like leave it out.
 * Errors: ARGUMENT, also for dispatch READY; RANGE, MISMATCH, STRUCT_SIZE as of
 *   ppsched_schedule_evaluate_scenarios; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_robust_objective(
    ppsched_config *config, int32_t rank_by, double quantile, int64_t count,
    const ppsched_scenario_options *options, ppsched_error *error);

/* Evaluates `count` scenarios of a schedule by the rules of ppsched_schedule_evaluate: where all
 * factors are 1 the makespan is that one's, to the last bit. Allocates nothing
 * by scenario; time is linear in ops times scenarios, memory in ops plus scenarios.
 * `options` NULL: no factors. The config's progress callback is told the share of the scenarios.
 * Errors: as ppsched_schedule_evaluate; ARGUMENT, also for ops that keep less (RECOMPUTE, OFFLOAD,
 *   RELOAD); RANGE of a number of scenarios other than 1 to PPSCHED_MAX_SCENARIOS, of a
 *   jitter, a factor, or where times sum to more than a double; MISMATCH of a list's count;
 *   STRUCT_SIZE; CANCELLED; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_evaluate_scenarios(
    ppsched_scenarios **out, const ppsched_schedule *schedule, const ppsched_config *config,
    int64_t count, const ppsched_scenario_options *options, ppsched_error *error);

/* Frees it. NULL is accepted. */
PPSCHED_API void ppsched_scenarios_destroy(ppsched_scenarios *scenarios);

/* The makespan of each scenario, borrowed. */
PPSCHED_API const double *ppsched_scenarios_makespans(const ppsched_scenarios *scenarios,
                                                      size_t *count);

/* Which device causes the makespan: the mean over scenarios of the share of the makespan, 0 to 1,
 * in which the device's ops are on the scenario's critical path (the rest of it: messages). One a
 * device, borrowed. The path is walked from the op that ends last, on the lowest device; from an op
 * to the one before it on its device where that, or the flush, is what it waited for, else to the
 * sender of what it waited for. */
PPSCHED_API const double *ppsched_scenarios_causes(const ppsched_scenarios *scenarios,
                                                   size_t *count);

/* The most memory that each device holds in any scenario: as planned, unless it runs what is ready.
 * Borrowed. */
PPSCHED_API const double *ppsched_scenarios_peaks(const ppsched_scenarios *scenarios,
                                                  size_t *count);

/* Figures over all scenarios.
 * Errors: ARGUMENT, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_scenarios_get_metrics(ppsched_scenario_metrics *out,
                                                         const ppsched_scenarios *scenarios,
                                                         ppsched_error *error);

/* The least makespan that at least a share `q` of the scenarios does not exceed: of n the
 * ceil(q * n)-th shortest, and for q = 0 the shortest.
 * Errors: ARGUMENT; RANGE where q is not from 0 to 1. */
PPSCHED_API ppsched_status ppsched_scenarios_get_quantile(double *out,
                                                          const ppsched_scenarios *scenarios,
                                                          double q, ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
