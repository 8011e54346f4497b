/* SPDX-License-Identifier: Apache-2.0 */
/* Microbatches that differ in cost: the order in which they run, and the replica on which they
 * run. */
#ifndef PPSCHED_MICROBATCHES_H
#define PPSCHED_MICROBATCHES_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/bound.h>
#include <ppsched/config.h>
#include <ppsched/export_macro.h>
#include <ppsched/schedule.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Options of the search for an order. Set `size` to sizeof of this struct. A field that is 0 has
 * its default. */
typedef struct ppsched_order_options {
    uint32_t size;
    int32_t objective; /* enum ppsched_objective. Default: MAKESPAN */
    uint32_t effort;   /* search effort, 1 to 10. Each value takes about twice the work of the next
                          lower value. Default: 4, about 4 million visits of ops, which take tenths
                          of a second */
} ppsched_order_options;

/* Searches for the best order of a schedule's microbatches. The config's microbatch_scale and
 * microbatch_memory_scale say how the costs of microbatches differ. The schedule does not change:
 * each microbatch of the schedule is a place in the order. The result says which microbatch of the
 * config takes which place.
 *   - `out` receives for each place the number of its microbatch in `config`, M values. All
 *     iterations have the same order. The call fills a buffer: see ppsched.h. If `out` is NULL, the
 *     call does not search, and makes no `*ordered`.
 *   - `*ordered` is a copy of the config with microbatch_scale and microbatch_memory_scale in the
 *     new order. Evaluate the schedule with this copy. The caller destroys it.
 *   - For up to 7 microbatches all orders are tried. With more, the search starts from the best of
 *     five orders: the config's order, longest first, shortest first, short microbatches at both
 *     ends, and long microbatches at both ends. Then the search moves and swaps microbatches. So
 *     the result is at least as good as each of these five orders.
 *   - The search first minimises the memory above the limits of devices, and then the objective.
 *   - The call is deterministic. The config's progress callback may cancel it.
 * `options` may be NULL.
 * Errors: ARGUMENT, MISMATCH, STRUCT_SIZE; RANGE, also as for ppsched_schedule_evaluate; REFUSED if
 *   all microbatches have equal costs; REFUSED with a stage graph; INVALID_SCHEDULE, CANCELLED,
 *   BUFFER, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_order_microbatches(
    uint32_t *out, size_t capacity, size_t *needed, ppsched_config **ordered,
    const ppsched_schedule *schedule, const ppsched_config *config,
    const ppsched_order_options *options, ppsched_error *error);

/* How well microbatches are balanced over data-parallel replicas. Set `size` to sizeof of this
 * struct. */
typedef struct ppsched_balance {
    uint32_t size;
    uint32_t is_best; /* 1 if it is proved that no other distribution is better, because `most`
                         equals `bound`, or because all distributions were tried */
    double most;      /* the largest sum of costs that a replica has */
    double bound;     /* lower bound on `most` */
} ppsched_balance;

/* Distributes `count` microbatches over `replicas` replicas of the pipeline. For each replica, the
 * costs of its microbatches are added up. The call looks for a distribution in which the largest of
 * these sums is as small as possible.
 *   - `costs`: the cost of each microbatch, 0 or more, such as its microbatch_scale.
 *   - `out` receives the replica of each microbatch, `count` values. The call fills a buffer: see
 *     ppsched.h. `balance` receives the figures. If the call only writes `*needed`, it does not
 *     search.
 *   - `even_counts` 1: all replicas have the same number of microbatches. If `count` is not a
 *     multiple of `replicas`, some replicas have one microbatch more. Frameworks need even counts
 *     if replicas reduce gradients together. 0: the counts may differ.
 *   - The search first takes the microbatches from the longest to the shortest, and gives each to
 *     the replica with the least sum. Then it moves and swaps microbatches between replicas. For up
 *     to 24 microbatches it then tries all distributions, but stops after 2 million steps.
 * `environment` may be NULL.
 * Errors: ARGUMENT; RANGE if a cost is negative or NaN, if a sum overflows, if there are no
 *   replicas or more replicas than microbatches, or if `even_counts` is not 0 or 1; STRUCT_SIZE,
 *   BUFFER, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_microbatches_balance(uint32_t *out, size_t capacity,
                                                        size_t *needed, ppsched_balance *balance,
                                                        const double *costs, size_t count,
                                                        int64_t replicas, uint32_t even_counts,
                                                        const ppsched_environment *environment,
                                                        ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
