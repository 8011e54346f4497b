/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to look for schedules of any problem that are shorter than the best so far: each keeps what it finds, and returns
 * CANCELLED where the watch says so. */
#ifndef PPSCHED_SEARCH_EXPLORE_H
#define PPSCHED_SEARCH_EXPLORE_H

#include "search/attempt.h"

/* A list schedule in which each microbatch goes on as soon as it can; linear in the number of ops. The problem must have a
 * schedule that fits. RANGE where times overflow. */
ppsched_status ppi_go_straight(struct ppi_attempt *attempt, ppsched_error *error);

/* List schedules of slices by a few rules, within the memory limits: the first always, others while fewer than so many ops are
 * listed. `splits`: with all backwards split alone. One fits wherever a microbatch does. */
ppsched_status ppi_list_micro_slices(struct ppi_attempt *attempt, bool splits, double most, ppsched_error *error);

/* List schedules after repeating patterns of so many periods, two at least: from the shortest that leaves each device time for
 * its ops to one that keeps within the memory limits. */
ppsched_status ppi_follow_patterns(struct ppi_attempt *attempt, int periods, ppsched_error *error);

/* Improves the orders of a pool, and what lies between them (relink.c). `visits`: of ops, at most. Orders with overlapped
 * pairs are left out; the pool is used up. */
ppsched_status ppi_relink(struct ppi_attempt *attempt, struct ppi_pool *pool, double visits, ppsched_error *error);

/* The most bytes that a beam holds. Where more would be needed it is narrower, or passes over the last candidates of a step. */
#define PPI_BEAM_MEMORY ((size_t)256 << 20)

/* How promising a schedule is: its bound, and with some weight what the bound does not see. */
struct ppi_beam {
    uint32_t width;     /* schedules that are kept */
    uint32_t crowd;     /* most of them that agree in the Fs and Is that are done; 0: any number */
    double mean_weight; /* of the devices' mean bound: idle time anywhere */
};

/* Beam search over list schedules: of all schedules in the making with as many ops, the most promising ones are kept and
 * continued. With room for one it is a greedy list schedule. */
ppsched_status ppi_search_beam(struct ppi_attempt *attempt, const struct ppi_beam *beam, ppsched_error *error);

/* Makes the order that is best for the goal of a config, of those in the pool (NULL: there is none) and the best so far, better
 * by moves of single ops, and the attempt's best; with so many visits of ops. The attempt's config is its average scenario. */
ppsched_status ppi_make_robust(struct ppi_attempt *attempt, const struct ppi_pool *pool, const ppsched_config *stated,
                               double visits, ppsched_error *error);

enum { PPI_MOST_EFFORT = 12, PPI_DEFAULT_EFFORT = 4 };

/* Patterns, beams, and a search from the best orders that all have found, the attempt's pool, which it may have; with slices
 * the last alone. One more of
 * `effort` is about twice the work, from 3 to 4 ten times; 0 does nothing. The problem must have a schedule that fits. */
ppsched_status ppi_explore(struct ppi_attempt *attempt, int64_t effort, ppsched_error *error);

#endif
