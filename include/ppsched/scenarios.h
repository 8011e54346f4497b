/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios show how long a schedule takes if times vary. In each scenario, ops and messages take
 * more or less time than in the config. */
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

/* The makespans of a schedule, one for each scenario. Immutable.
 * Lifetime: the caller destroys it. It refers to no other object.
 * Thread-safety: any number of threads may read it. */
typedef struct ppsched_scenarios ppsched_scenarios;

/* The order in which a device runs its ops. READY describes a runtime with dispatch when ready: a
 * free device runs an op whose inputs are there. Of several such ops, it runs the first in the
 * order of the schedule. A free device is idle only in two cases: no op is ready; or all ready ops
 * are Fs and overlapped pairs, and the first of these may not run yet because of the memory rule.
 *   - The memory rule: an F or an overlapped pair may overtake ops, that is, run before ops that
 *     come earlier in the order, only if all ops that it overtakes can still run after it, in their
 *     order, within the device's memory limit. So there is no deadlock. If there is no limit, or if
 *     the schedule exceeds the limit, the planned peak counts as the limit.
 *   - Of the Fs and overlapped pairs that are ready, only the first may run.
 *   - If several events happen at the same time, a device chooses its next op after all of them.
 *   - Flushes are kept: no op runs before a flush that comes before it in the order. */
enum ppsched_dispatch {
    PPSCHED_DISPATCH_PLANNED = 0, /* a device runs its ops in the order of the schedule */
    PPSCHED_DISPATCH_READY = 1    /* a device runs the first op that is ready, as described above */
};

/* The largest number of scenarios of a call. */
#define PPSCHED_MAX_SCENARIOS 16777216

/* The time by which plans rank candidates. Searches minimise the same time. */
enum ppsched_rank_by {
    PPSCHED_RANK_BY_STEP = 0,     /* rank by the planned time */
    PPSCHED_RANK_BY_MEAN = 1,     /* rank by the mean time over all scenarios */
    PPSCHED_RANK_BY_QUANTILE = 2, /* rank by a quantile: the least time that a given share of the
                                     scenarios does not exceed */
    PPSCHED_RANK_BY_WORST = 3     /* rank by the longest time of all scenarios */
};

/* How times vary. Set `size` to sizeof of this struct. In a scenario:
 *   - the time of an op is multiplied by the factors of its device and its stage, and by its own
 *     jitter. An overlapped pair is one op, with the jitter of its F;
 *   - the delay of a message is multiplied by the factor of its link, and by its own
 *     jitter.
 * Factors are finite and not negative. Lists belong to the caller, and are read only during the
 * call. A NULL list with count 0 means that all factors are 1.
 *   - Jitter is lognormal with mean 1. `jitter` is the standard deviation of its logarithm, 0 to 2;
 *     0 means no jitter. There are 4096 equally likely values: exp(jitter * z), where z is the
 *     normal quantile at (i + 1/2) / 4096 for i = 0 to 4095 (so |z| < 3.7). All values are divided
 *     by their mean.
 *   - The jitter of an op depends only on the seed, the number of the scenario, and the op's kind,
 *     stage, microbatch and slice. So all schedules of a problem have the same scenarios. If a
 *     second call asks for more scenarios, the scenarios of the first call come first.
 *   - Jitter is drawn by applying splitmix64 (Steele, Lea and Flood, 2014) to a counter. The values
 *     are computed only with +, -, * and /. So the jitter is bit for bit the same on all
 *     platforms. */
typedef struct ppsched_scenario_options {
    uint32_t size;
    int32_t dispatch;             /* enum ppsched_dispatch */
    uint64_t seed;                /* seed of the random numbers; any number */
    double jitter;                /* jitter of ops */
    double message_jitter;        /* jitter of messages between devices */
    const double *device_factors; /* either one factor per device, the same in all scenarios; or the
                                     factors of the devices in scenario 0, then those in scenario 1,
                                     and so on */
    size_t device_factor_count;   /* length of `device_factors`: D, or number of scenarios * D */
    const double *stage_factors;  /* either one factor per stage, the same in all scenarios; or the
                                     factors of the stages in scenario 0, then those in scenario 1,
                                     and so on */
    size_t stage_factor_count;    /* length of `stage_factors`: S, or number of scenarios * S */
    const double *link_factors;   /* one factor per link: the link from device i to device j has
                                     the index i * D + j */
    size_t link_factor_count;     /* length of `link_factors`: D * D */
} ppsched_scenario_options;

/* Figures over all scenarios. Set `size` to sizeof of this struct. Times are in the caller's
 * unit. */
typedef struct ppsched_scenario_metrics {
    uint32_t size;
    uint32_t count;          /* number of scenarios */
    uint32_t best_scenario;  /* the first scenario with the shortest makespan */
    uint32_t worst_scenario; /* the first scenario with the longest makespan */
    uint32_t cause_device;   /* the device with the largest cause (ppsched_scenarios_causes); the
                                lowest such device if there are several */
    uint32_t reserved;
    double mean;  /* mean of the makespans */
    double best;  /* the shortest makespan */
    double worst; /* the longest makespan */
} ppsched_scenario_metrics;

/* Sets the robust objective. Strategies with the option effort (auto) then search for an order that
 * minimises a figure over `count` scenarios. `rank_by` selects this figure: the mean time, a
 * quantile of the times (`quantile`, 0 to 1), or the longest time.
 *   - The search first finds orders with the config's times or, if devices, stages or links have
 *     factors, with the times of an average scenario. Of these orders, it takes the order with the
 *     best figure in the first 256 scenarios, and improves this order move by move. More effort
 *     means more moves.
 *   - The scenarios are the same as in ppsched_schedule_evaluate_scenarios with these options. The
 *     dispatch must be PLANNED.
 *   - The result depends only on the problem and the objective, and is the same on all platforms.
 *   - PPSCHED_RANK_BY_STEP removes the robust objective. `count`, `options` and `quantile` are then
 *     ignored.
 *   - Strategies without the option effort ignore the robust objective. Configs made by
 *     ppsched_config_with_stages and similar calls do not have the robust objective.
 * The lists of `options` are copied.
 * Errors: ARGUMENT, also for dispatch READY; RANGE, MISMATCH, STRUCT_SIZE as for
 *   ppsched_schedule_evaluate_scenarios; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_robust_objective(
    ppsched_config *config, int32_t rank_by, double quantile, int64_t count,
    const ppsched_scenario_options *options, ppsched_error *error);

/* Evaluates `count` scenarios of a schedule by the rules of ppsched_schedule_evaluate. If all
 * factors are 1, the makespan is exactly the makespan of ppsched_schedule_evaluate. If `options` is
 * NULL, there are no factors.
 *   - The config's progress callback receives the share of the scenarios that are done.
 *   - The time of the call is linear in ops * scenarios, and its memory is linear in ops +
 *     scenarios. A scenario allocates nothing.
 * Errors: as ppsched_schedule_evaluate; ARGUMENT, also for schedules with RECOMPUTE, OFFLOAD or
 *   RELOAD; MISMATCH for a list of the wrong length; STRUCT_SIZE; CANCELLED; NO_MEMORY; RANGE where
 *   the number of scenarios is not from 1 to PPSCHED_MAX_SCENARIOS, where a jitter or a factor is
 *   out of range, or where a sum of times is too large for a double; REFUSED in these cases:
 *   - the dispatch is READY, and the config's senders wait;
 *   - the dispatch is READY, and the stages are a graph;
 *   - a stage is on several devices, and links have factors;
 *   - a stage is on several devices, and devices have both factors and speeds. */
PPSCHED_API ppsched_status ppsched_schedule_evaluate_scenarios(
    ppsched_scenarios **out, const ppsched_schedule *schedule, const ppsched_config *config,
    int64_t count, const ppsched_scenario_options *options, ppsched_error *error);

/* Frees the scenarios. NULL is accepted. */
PPSCHED_API void ppsched_scenarios_destroy(ppsched_scenarios *scenarios);

/* The makespan of each scenario, borrowed. */
PPSCHED_API const double *ppsched_scenarios_makespans(const ppsched_scenarios *scenarios,
                                                      size_t *count);

/* Causes: which devices cause the makespan. In a scenario, the cause of a device is the share of
 * the makespan, 0 to 1, in which ops of the device are on the critical path. What remains after the
 * causes of all devices is the share of the messages on the path. The list has for each device the
 * mean of its cause over the scenarios. Borrowed.
 *   - The path is followed back from the op that ends last; of several such ops, from the op on the
 *     device with the lowest number.
 *   - If an op waited for the op before it on its device, the path goes to the op before it.
 *   - If an op waited for a flush, the path goes to the op that ended last before the flush.
 *   - Otherwise the path goes to the op that sent the value for which the op waited. */
PPSCHED_API const double *ppsched_scenarios_causes(const ppsched_scenarios *scenarios,
                                                   size_t *count);

/* For each device, the most memory that it holds in any scenario. With dispatch PLANNED this is the
 * planned peak. Borrowed. */
PPSCHED_API const double *ppsched_scenarios_peaks(const ppsched_scenarios *scenarios,
                                                  size_t *count);

/* Figures over all scenarios.
 * Errors: ARGUMENT, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_scenarios_get_metrics(ppsched_scenario_metrics *out,
                                                         const ppsched_scenarios *scenarios,
                                                         ppsched_error *error);

/* Finds a quantile of the makespans. At least a share `q` of the scenarios take this time or less.
 * Of the makespans of n scenarios, it is the ceil(q * n)-th shortest; for q = 0 it is the
 * shortest.
 * Errors: ARGUMENT; RANGE if q is not between 0 and 1. */
PPSCHED_API ppsched_status ppsched_scenarios_get_quantile(double *out,
                                                          const ppsched_scenarios *scenarios,
                                                          double q, ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
