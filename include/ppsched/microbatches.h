/* SPDX-License-Identifier: Apache-2.0 */
/* Microbatches that differ: which runs first, and on which replica. */
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

/* How the order is looked for. Sized: set `size`; zero means the default. */
typedef struct ppsched_order_options {
    uint32_t size;
    int32_t objective; /* enum ppsched_objective; default MAKESPAN */
    uint32_t effort;   /* one more is about twice the search, 1 to 10; default 4: some 4 million
                          visits of ops, tenths of a second */
} ppsched_order_options;

/* Looks for the order in which a schedule's microbatches are best run, by the config's
 * microbatch_scale and microbatch_memory_scale. The schedule stays as it is: its microbatch j is a
 * slot, and the order says which of the config's microbatches goes through it.
 *   - `out` gets the number in `config` of each slot's microbatch, M values. All iterations have
 *     the same order. It fills a buffer: see ppsched.h; asked for `*needed` alone it looks for
 *     nothing.
 *   - `*ordered` is a copy of the config with both lists in that order, with which the schedule is
 *     to be evaluated; the caller destroys it.
 *   - Up to 7 microbatches all orders are tried. With more it begins with the best of these: as
 *     they are, longest first, shortest first, and both ends short or long; then it moves and swaps
 *     microbatches. So it is never worse than any of these.
 *   - What a device holds above its memory limit counts first, then the objective.
 *   - Deterministic; the config's progress function hears of it, and may stop it.
 * `options` may be NULL.
 * Errors: ARGUMENT, MISMATCH, STRUCT_SIZE; RANGE, also as of ppsched_schedule_evaluate; REFUSED
 *   where all microbatches are alike; INVALID_SCHEDULE, CANCELLED, BUFFER, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_order_microbatches(
    uint32_t *out, size_t capacity, size_t *needed, ppsched_config **ordered,
    const ppsched_schedule *schedule, const ppsched_config *config,
    const ppsched_order_options *options, ppsched_error *error);

/* Which microbatches go to which data-parallel replica. Sized. */
typedef struct ppsched_balance {
    uint32_t size;
    uint32_t is_best; /* 1 where no other is better: `most` reaches `bound`, or all were tried */
    double most;      /* sum of the costs of the replica that has most */
    double bound;     /* none can have a lower `most` */
} ppsched_balance;

/* Shares `count` microbatches out over `replicas`, each of which runs its own in a pipeline of its
 * own, so that the one that has most has as little as can be found.
 *   - `costs`: what each takes, >= 0, such as its microbatch_scale.
 *   - `out` gets the number of each one's replica, `count` values. It fills a buffer: see
 *     ppsched.h; asked for `*needed` alone it looks for nothing. `balance` gets what that comes to.
 *   - `even_counts` 1: all replicas have as many, or where `count` is no multiple some one more, as
 *     frameworks want where replicas reduce gradients together; 0: as it comes.
 *   - Longest first to where there is least, then moves and swaps between replicas; up to 24
 *     microbatches then all ways are tried, as far as 2 million steps reach.
 * Errors: ARGUMENT; RANGE where a cost is negative or no number, a sum overflows, there are no
 *   replicas, or more than microbatches; STRUCT_SIZE, BUFFER, NO_MEMORY. */
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
