/* SPDX-License-Identifier: Apache-2.0 */
/* Microbatches that differ: searches for their best order, and balances them over data-parallel
 * replicas. */
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
    int32_t objective; /* enum ppsched_objective; default MAKESPAN */
    uint32_t effort;   /* search effort, 1 to 10; each value takes about twice as long as the one
                          before; default 4: some 4 million visits of ops, tenths of a second */
} ppsched_order_options;

/* Searches for the best order of microbatches, by the config's microbatch_scale and
 * microbatch_memory_scale. The schedule does not change: its microbatch j is a place, and the order
 * says which microbatch of the config takes it. `options` may be NULL.
 *   - `out` receives for each place the number of its microbatch in `config`, M values. All
 *     iterations have the same order. It fills a buffer: see ppsched.h. A call for `*needed` alone
 *     does not search.
 *   - `*ordered` receives a copy of the config with both lists in that order. Evaluate the schedule
 *     with it. The caller destroys it.
 *   - Up to 7 microbatches, all orders are tried. With more, the search starts from the best of
 *     these: as given, longest first, shortest first, and both ends short or long. Then it moves
 *     and swaps microbatches. So the result is never worse than any of these.
 *   - Less memory over the limits, summed over devices, comes first, then the objective.
 *   - The result is deterministic. The config's progress callback is called, and may cancel the
 *     call.
 * Errors: ARGUMENT, MISMATCH, STRUCT_SIZE; RANGE, also as for ppsched_schedule_evaluate; REFUSED
 *   where all microbatches are identical; INVALID_SCHEDULE, CANCELLED, BUFFER, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_order_microbatches(
    uint32_t *out, size_t capacity, size_t *needed, ppsched_config **ordered,
    const ppsched_schedule *schedule, const ppsched_config *config,
    const ppsched_order_options *options, ppsched_error *error);

/* Result of balancing microbatches over data-parallel replicas. Sized. */
typedef struct ppsched_balance {
    uint32_t size;
    uint32_t is_best; /* 1: no other is better, as `most` reaches `bound`, or all were tried */
    double most;      /* sum of the costs of the most loaded replica */
    double bound;     /* lower bound on `most` */
} ppsched_balance;

/* Distributes `count` microbatches over `replicas`, each with its own pipeline, so that the most
 * loaded replica has the least load that is found.
 *   - `costs`: the cost of each microbatch, >= 0, such as its microbatch_scale.
 *   - `out` receives for each microbatch the number of its replica, `count` values. It fills a
 *     buffer: see ppsched.h. A call for `*needed` alone does not search. `balance` describes the
 *     result.
 *   - `even_counts` 1: all replicas have equally many microbatches, or some have one more if
 *     `count` is no multiple of `replicas`. Frameworks need that where replicas reduce gradients
 *     together. 0: any numbers.
 *   - The search puts the longest microbatch first, each on the replica with the least load, then
 *     moves and swaps microbatches between replicas. For up to 24 microbatches it then tries all
 *     distributions, within 2 million steps.
 * Errors: ARGUMENT; RANGE where a cost is negative or NaN, the sum overflows, there are no
 *   replicas, or more replicas than microbatches; STRUCT_SIZE, BUFFER, NO_MEMORY. */
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
