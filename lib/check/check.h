/* SPDX-License-Identifier: Apache-2.0 */
/* The checker: indexes all ops, then finds whether the queues can run to their end. */
#ifndef PPSCHED_CHECK_CHECK_H
#define PPSCHED_CHECK_CHECK_H

#include <ppsched/check.h>

#include "ir/schedule.h"

enum { PPI_FINDINGS_IN_MESSAGE = 4 };

/* The findings: in the caller's array up to its capacity, the first ones for the message, and their number. */
struct ppi_findings {
    ppsched_finding *out;
    size_t capacity, count;
    ppsched_finding first[PPI_FINDINGS_IN_MESSAGE];
};

void ppi_findings_add(struct ppi_findings *findings, const ppsched_finding *finding);

/* In place of a position: there is no such op; it is only on a wrong device. */
#define PPI_ABSENT 0xFFFFFFFFu
#define PPI_ELSEWHERE 0xFFFFFFFEu

/* Positions in the right device's queue of the forward, the backward (B or I) and the W of each stage pass, stage by stage. */
struct ppi_op_index {
    uint32_t *forward, *backward, *weight;
    bool is_forward_only; /* there are no backwards, and none is missing */
    bool has_waits;       /* the schedule has WAIT_REDUCE_GRADs */
    uint32_t *saving[4];  /* of RECOMPUTE, OFFLOAD, RELOAD and OFFLOAD_WAIT; NULL if the schedule has none of these */
};

/* Whether the schedule has ops of activation memory saving. */
static inline bool ppi_index_keeps(const struct ppi_op_index *index)
{
    return index->saving[0] != NULL;
}

static inline bool ppi_is_indexed(uint8_t kind)
{
    return ppi_is_compute(kind) || ppi_keeps_less(kind);
}

/* The positions of an indexed kind; NULL for a kind of memory saving if the schedule has none. */
static inline uint32_t *ppi_positions_of(const struct ppi_op_index *index, uint8_t kind)
{
    if (kind > PPSCHED_KIND_W)
        return index->saving[kind == PPSCHED_KIND_OFFLOAD_WAIT ? 3 : kind - PPSCHED_KIND_RECOMPUTE];
    return kind == PPSCHED_KIND_F ? index->forward : kind == PPSCHED_KIND_W ? index->weight : index->backward;
}

/* A run of the queues without times. Between runs of devices, each device is at the end of its queue, waits, or is in
 * `ready`. */
struct ppi_progress {
    const ppsched_schedule *schedule;
    const struct ppi_op_index *index;
    uint32_t micro_slices;  /* over all iterations */
    uint32_t iteration_end; /* first microbatch that may not run yet */
    size_t ops_left;        /* compute ops left of the current iteration */
    size_t *position;       /* per device */
    uint8_t *awaited;       /* per stage pass, bits: a device waits for 1 its forward, 2 its backward */
    uint32_t *ready, ready_count;
    uint32_t *active, active_count; /* devices with ops */
    size_t *per_iteration;          /* compute ops of each */
    uint32_t *walk; /* per device: number of the last walk through it; 0: none; PPSCHED_NONE: its cycle is reported */
};

/* Adds to the findings; INVALID_SCHEDULE if there are any. */
ppsched_status ppi_check_anew(const ppsched_schedule *schedule, struct ppi_findings *findings, ppsched_error *error);

/* The same, but takes no work once nothing has been found. */
ppsched_status ppi_check(const ppsched_schedule *schedule, struct ppi_findings *findings, ppsched_error *error);

/* Both parts for a schedule with a stage graph: adds to the findings. REFUSED if it has ops that graphs cannot have. */
ppsched_status ppi_check_graph(const ppsched_schedule *schedule, struct ppi_findings *findings, ppsched_error *error);

/* Allocates each; to be zeroed before, and cleared afterwards even on failure. */
ppsched_status ppi_op_index_make(struct ppi_op_index *index, const ppsched_schedule *schedule, ppsched_error *error);
ppsched_status ppi_progress_make(struct ppi_progress *progress, const ppsched_schedule *schedule,
                                 const struct ppi_op_index *index, ppsched_error *error);
void ppi_op_index_clear(struct ppi_op_index *index, const ppsched_schedule *schedule);
void ppi_progress_clear(struct ppi_progress *progress, const ppsched_schedule *schedule);

/* Fills the index and reports missing, duplicate, misplaced and conflicting ops. */
ppsched_status ppi_index_ops(struct ppi_op_index *index, const ppsched_schedule *schedule, struct ppi_findings *findings,
                             ppsched_error *error);

/* Runs the indexed queues, and reports why devices do not reach their end. */
void ppi_check_progress(struct ppi_progress *progress, struct ppi_findings *findings);

/* Reports waits without their reductions, and more reductions than one in flight on a device that waits for them. */
void ppi_check_reductions(const ppsched_schedule *schedule, struct ppi_findings *findings);

/* Writes a finding as text, cut at `capacity`. */
void ppi_finding_text(const ppsched_finding *finding, char *text, size_t capacity);

#endif
