/* SPDX-License-Identifier: Apache-2.0 */
/* What goes from stage to stage: for each stage and microbatch the activation that its forward takes, and the gradient that its
 * backward takes. Memory and time are linear in the stage passes. */
#ifndef PPSCHED_FORMAT_CROSSINGS_H
#define PPSCHED_FORMAT_CROSSINGS_H

#include <stdbool.h>

#include "eval/timeline.h"

enum { PPI_CROSSING_SENT = 1, PPI_CROSSING_RECEIVED = 2, PPI_CROSSING_REPEATED = 4 };

struct ppi_crossing {
    double made;          /* end of the op that makes it; 0 without a timeline */
    ppsched_span sending; /* of its SEND */
    uint8_t maker, taker; /* kinds of the ops that make and take it; 0: there is none */
    uint8_t state;        /* PPI_CROSSING_*: which comm ops there are; REPEATED: one of them twice */
};

struct ppi_crossings {
    const struct ppi_host *host;
    uint32_t stages, microbatches;
    struct ppi_crossing *all; /* by number */
};

/* Whether some op sends or receives. */
bool ppi_has_comm_ops(const ppsched_schedule *schedule);

/* Collects them from all queues; `timeline` may be NULL. */
ppsched_status ppi_crossings_make(struct ppi_crossings *out, const ppsched_schedule *schedule, const ppsched_timeline *timeline,
                                  ppsched_error *error);
void ppi_crossings_clear(struct ppi_crossings *transfers);

/* Number of what a SEND, F, B or I hands on, and of what a RECV, F, B or I takes: 2 (s M + m), and 1 more for a gradient, where
 * stage s takes it. SIZE_MAX where there is no such stage. */
size_t ppi_crossing_out(const struct ppi_crossings *transfers, const ppsched_op *op);
size_t ppi_crossing_in(const struct ppi_crossings *transfers, const ppsched_op *op);

/* Of a SEND or a RECV. */
static inline size_t ppi_crossing_of(const struct ppi_crossings *transfers, const ppsched_op *op)
{
    return ppi_is_send(op->kind) ? ppi_crossing_out(transfers, op) : ppi_crossing_in(transfers, op);
}

#endif
