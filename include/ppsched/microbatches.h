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

/* Options of the search for an order. Sized: set `size`; zero means the default. */
typedef struct ppsched_order_options {
    uint32_t size;
    int32_t objective; /* enum ppsched_objective. Default: MAKESPAN */
    uint32_t effort;   /* search effort, 1 to 10; one more is about twice the work. Default: 4, some
                          4 million visits of ops, or tenths of a second */
} ppsched_order_options;

/* Searches the best order of a schedule's microbatches, by the config's microbatch_scale and
 * microbatch_memory_scale. The schedule does not change: its microbatch j is a place in the order,
 * and the result says which of the config's microbatches takes that place.
 *   - `out` receives for each place the number of its microbatch in `config`, M values. All
 *     iterations have the same order. It fills a buffer: see ppsched.h. A call for `*needed` alone
 *     does not search.
 *   - `*ordered` is a copy of the config with both lists in that order. Evaluate the schedule with
 *     it. The caller destroys it.
 *   - Up to 7 microbatches all orders are tried. With more, the search starts from the best of
 *     these: as they are, longest first, shortest first, and both ends short or long. Then it moves
 *     and swaps microbatches. So the result is never worse than any of these.
 *   - Memory above a device's limit counts first, then the objective.
 *   - The call is deterministic. The config's progress callback may cancel it.
 * `options` may be NULL.
 * Errors: ARGUMENT, MISMATCH, STRUCT_SIZE; RANGE, also as for ppsched_schedule_evaluate; REFUSED if
 *   all microbatches have equal costs; INVALID_SCHEDULE, CANCELLED, BUFFER, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_order_microbatches(
    uint32_t *out, size_t capacity, size_t *needed, ppsched_config **ordered,
    const ppsched_schedule *schedule, const ppsched_config *config,
    const ppsched_order_options *options, ppsched_error *error);

/* How well microbatches are balanced over data-parallel replicas. Sized. */
typedef struct ppsched_balance {
    uint32_t size;
    uint32_t is_best; /* 1 if no other distribution is better: `most` reaches `bound`, or all were
                         tried */
    double most;      /* sum of the costs of the replica with the largest sum */
    double bound;     /* lower bound on `most` */
} ppsched_balance;

/* Distributes `count` microbatches over `replicas`, each with a pipeline of its own. The largest
 * sum of costs of a replica is made as small as can be found.
 *   - `costs`: the cost of each microbatch, >= 0, such as its microbatch_scale.
 *   - `out` receives the replica of each microbatch, `count` values. It fills a buffer: see
 *     ppsched.h. A call for `*needed` alone does not search. `balance` receives the figures.
 *   - `even_counts` 1: all replicas have the same number of microbatches, or if `count` is no
 *     multiple, some have one more. Frameworks need that if replicas reduce gradients together. 0:
 *     any numbers.
 *   - The search first gives each microbatch, the longest first, to the replica with the least sum.
 *     Then it moves and swaps microbatches between replicas. For up to 24 microbatches it then
 *     tries all distributions, in up to 2 million steps.
 * Errors: ARGUMENT; RANGE if a cost is negative or no number, a sum overflows, or there are no
 *   replicas or more replicas than microbatches; STRUCT_SIZE, BUFFER, NO_MEMORY. */
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
