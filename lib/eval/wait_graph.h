/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline as a graph, backwards: what each unit waited for.
 *
 * A node is a unit (an op or an overlapped pair), numbered as its first op among all ops of the schedule; or a flush,
 * numbered after those. A unit waits for the previous unit of its device, or the flush before it, and for inputs from other
 * devices; a flush waits for the last unit of each device before it. Inputs from the unit's own device are left out: the
 * previous unit never ends before them. If senders wait (see sender_waits.h), the wait for the previous unit includes its
 * send, and Ws wait for their Is too. */
#ifndef PPSCHED_EVAL_WAIT_GRAPH_H
#define PPSCHED_EVAL_WAIT_GRAPH_H

#include "eval/timeline.h"

/* In place of a node: time 0. */
#define PPI_NO_NODE SIZE_MAX

/* A device with compute ops: its first and its last unit. */
struct ppi_worker {
    uint32_t device;
    size_t first, last;
};

struct ppi_waits {
    const ppsched_timeline *timeline;
    const struct ppi_senders *senders; /* NULL if they do not wait */
    size_t *forward, *backward;        /* units with F, and with B or I, of each stage pass, stage by stage */
    struct ppi_worker *workers;        /* by device */
    size_t worker_count;
    size_t *copies;       /* of ops on several devices: the same op on the next of them, by op; NULL if there are none */
    size_t *before_flush; /* the last unit of each worker before each flush, flush by flush */
};

/* A node that another waited for, and when it was ready: minus infinity if there is no such wait. */
struct ppi_wait {
    size_t node;
    double ready;
};

/* The timeline must be one of ppi_evaluate and outlive `out`. */
ppsched_status ppi_waits_make(struct ppi_waits *out, const ppsched_timeline *timeline, ppsched_error *error);
void ppi_waits_clear(struct ppi_waits *waits);

/* Number of waits of a node, some of which may be empty: those of a unit are its device or flush, then the input of each op,
 * then, if senders wait, its I. */
size_t ppi_wait_count(const struct ppi_waits *waits, size_t node);
struct ppi_wait ppi_wait_at(const struct ppi_waits *waits, size_t node, size_t i);

/* The previous unit of the unit's device, even across a flush; PPI_NO_NODE for the first. */
size_t ppi_previous_unit(const struct ppi_waits *waits, size_t unit);

static inline bool ppi_is_flush(const struct ppi_waits *waits, size_t node)
{
    return node >= waits->timeline->schedule->op_count;
}

/* Start of a unit, or time of a flush. */
static inline double ppi_start_of(const struct ppi_waits *waits, size_t node)
{
    const ppsched_timeline *timeline = waits->timeline;
    return ppi_is_flush(waits, node) ? timeline->flush_times[node - (size_t)timeline->schedule->op_count]
                                     : timeline->spans[node].start;
}

/* The device in whose queue a unit is. */
uint32_t ppi_device_of_unit(const struct ppi_waits *waits, size_t unit);

/* Whether a wait of a unit is for an input. */
bool ppi_waits_for_input(const struct ppi_waits *waits, size_t unit, size_t i);

#endif
