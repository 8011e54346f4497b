/* SPDX-License-Identifier: Apache-2.0 */
/* All that the library says of a problem, folded into a digest a part. */
#ifndef PPSCHED_TESTS_RESULTS_H
#define PPSCHED_TESTS_RESULTS_H

#include <stdint.h>

#include <ppsched/ppsched.h>

enum part {
    PART_SCHEDULE,  /* the ops, or why it is refused */
    PART_TIMES,     /* earliest and latest starts, figures, why devices are idle */
    PART_MEMORY,    /* over time */
    PART_EXPLAIN,   /* critical path, slack, sensitivities */
    PART_LOWERING,  /* lowered orders, buffers, proofs */
    PART_TRANSFERS, /* their times */
    PART_FORMATS,   /* every text, and what is read back */
    PART_LAUNCH,    /* arguments for runtimes */
    PART_NETWORK,   /* times with a send at a time, and traces */
    PART_COUNT
};

struct results {
    uint64_t part[PART_COUNT];
};

void results_start(struct results *results);

/* Static storage. */
const char *part_name(enum part part);

/* Folds what a strategy makes of the config's problem; `turn` picks one of the ways to lower
 * it and one of the formats. */
void results_add(struct results *results, const ppsched_config *config, const char *strategy, int turn);

/* Folds a status and, where it is not OK, the details; returns whether it is. */
int fold_outcome(uint64_t *digest, ppsched_status status, const ppsched_error *error);

/* Folds all ops and sizes; spans, figures and memory of a timeline. */
void fold_schedule(uint64_t *digest, const ppsched_schedule *schedule);
void fold_timeline(uint64_t *times, uint64_t *memory, const ppsched_timeline *timeline);

#endif
