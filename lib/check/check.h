/* SPDX-License-Identifier: Apache-2.0 */
/* The checker: first where each op is, then whether the queues can be run to their end. */
#ifndef PPSCHED_CHECK_CHECK_H
#define PPSCHED_CHECK_CHECK_H

#include <ppsched/check.h>

#include "model/schedule.h"

enum { PPI_FINDINGS_IN_MESSAGE = 4 };

/* Where the findings go: the caller's array as far as it reaches, the first ones for the message, and their number. */
struct ppi_findings {
    ppsched_finding *out;
    size_t capacity, count;
    ppsched_finding first[PPI_FINDINGS_IN_MESSAGE];
};

void ppi_findings_add(struct ppi_findings *findings, const ppsched_finding *finding);

/* Instead of a position. */
#define PPI_ABSENT 0xFFFFFFFFu
#define PPI_ELSEWHERE 0xFFFFFFFEu

/* Position in its home's queue of the forward, the backward (B or I) and the W of each stage pass, stage by stage. */
struct ppi_op_index {
    uint32_t *forward, *backward, *weight;
};

ppsched_status ppi_check(const ppsched_schedule *schedule, struct ppi_findings *findings, ppsched_error *error);

/* Fills the index (zeroed by the caller, cleared with ppi_op_index_clear) and reports what is missing, double or misplaced. */
ppsched_status ppi_index_ops(struct ppi_op_index *index, const ppsched_schedule *schedule, struct ppi_findings *findings,
                             ppsched_error *error);
void ppi_op_index_clear(struct ppi_op_index *index, const ppsched_schedule *schedule);

/* Runs the queues without times and reports why devices do not come to their end. */
ppsched_status ppi_check_progress(const ppsched_schedule *schedule, const struct ppi_op_index *index,
                                  struct ppi_findings *findings, ppsched_error *error);

/* A finding in words, cut off at `capacity`. */
void ppi_finding_text(const ppsched_finding *finding, char *text, size_t capacity);

#endif
