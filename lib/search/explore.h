/* SPDX-License-Identifier: Apache-2.0 */
/* Searches for schedules of any problem that are shorter than the best so far: each keeps what it finds, and returns CANCELLED
 * where the progress callback stops it. */
#ifndef PPSCHED_SEARCH_EXPLORE_H
#define PPSCHED_SEARCH_EXPLORE_H

#include "search/attempt.h"

/* A list schedule in which each microbatch continues as soon as it can; linear in the number of ops. The problem must have a
 * schedule that fits. RANGE where times overflow. */
ppsched_status ppi_go_straight(struct ppi_attempt *attempt, ppsched_error *error);

/* List schedules of slices by a few rules, within the memory limits: the first rule always, others while fewer than `most` ops
 * are listed. `splits`: only with all backwards split. One fits wherever a microbatch does. */
ppsched_status ppi_list_micro_slices(struct ppi_attempt *attempt, bool splits, double most, ppsched_error *error);

/* List schedules after repeating patterns of so many different periods, two at least: from the shortest that leaves each
 * device time for its ops to one that keeps the memory limits. */
ppsched_status ppi_follow_patterns(struct ppi_attempt *attempt, int periods, ppsched_error *error);

/* Improves the orders of a pool, and orders between them (relink.c). `visits`: of ops, at most. Orders with overlapped pairs
 * are left out; the pool is used up. */
ppsched_status ppi_relink(struct ppi_attempt *attempt, struct ppi_pool *pool, double visits, ppsched_error *error);

/* The most bytes that a beam holds. Where more would be needed it is narrower, or ignores the last candidates of a step. */
#define PPI_BEAM_MEMORY ((size_t)256 << 20)

/* How promising a schedule is: its bound plus, weighted, what the bound does not see. The smaller the better. */
struct ppi_beam {
    uint32_t width;     /* schedules that are kept */
    uint32_t crowd;     /* most of them that have done the same Fs and Is; 0: any number */
    double mean_weight; /* of the mean of the devices' bounds, which counts idle time on any device */
};

/* Beam search over list schedules: of all partial schedules with equally many steps, the most promising ones are kept and
 * continued. With a width of 1 it is a greedy list schedule. */
ppsched_status ppi_search_beam(struct ppi_attempt *attempt, const struct ppi_beam *beam, ppsched_error *error);

/* Of the best so far and the pool's orders (NULL: no pool), takes the best for the robust objective of `stated`, improves it
 * by moves of single ops with so many visits of ops, and makes it the attempt's best. The attempt's config is the average
 * scenario of `stated`. */
ppsched_status ppi_make_robust(struct ppi_attempt *attempt, const struct ppi_pool *pool, const ppsched_config *stated,
                               double visits, ppsched_error *error);

enum { PPI_MOST_EFFORT = 12, PPI_DEFAULT_EFFORT = 4 };

/* Patterns, beams, then tabu search and path relinking from the attempt's pool where it has one; with slices only the last.
 * One more of `effort` is about twice the work, from 3 to 4 ten times; 0 does nothing. The problem must have a schedule that
 * fits. */
ppsched_status ppi_explore(struct ppi_attempt *attempt, int64_t effort, ppsched_error *error);

/* Only patterns and beams, which leave the attempt its pool; whole microbatches. */
ppsched_status ppi_explore_lists(struct ppi_attempt *attempt, int64_t effort, ppsched_error *error);

#endif
