/* SPDX-License-Identifier: Apache-2.0 */
/* The state of devices, transfers and links in a run with transfers. */
#ifndef PPSCHED_CHANNEL_TRANSFER_STATE_H
#define PPSCHED_CHANNEL_TRANSFER_STATE_H

#include "base/heap.h"
#include "channel/comm_run.h"
#include "channel/copy_run.h"
#include "channel/sharding.h"
#include "eval/sums.h"
#include "eval/timeline.h"

/* State of a transfer; `started` is valid if `has_started`, and at least `asked`. */
struct ppi_transfer_state {
    double asked, started, there;
    bool has_started, is_there;
};

struct ppi_machine {
    double clock;                        /* start of its current wait, or end of its unit or calls */
    bool computes, is_ready, is_blocked; /* computes: or makes calls */
    bool has_computed;                   /* in the current iteration */
    uint32_t unit, length;               /* first op that it computes or calls, and their number */
    struct ppi_sums sums;
};

struct ppi_transfer_run {
    struct ppi_comm_run comms;
    const ppsched_schedule *schedule;
    const ppsched_config *config;
    ppsched_timeline *timeline;
    struct ppi_heap heap;
    double now;
    struct ppi_machine *machines;
    uint32_t *ready, ready_count;      /* stack of devices that may continue */
    struct ppi_transfer_state *states; /* by transfer number */
    double *link_free;                 /* by link: when it is free */
    ppsched_span *calls;               /* calls of sends, by transfer; NULL if calls take no time */
    struct ppi_sharding sharding;
    struct ppi_copy_run copies;
    size_t passes_done, flushed;
    size_t passes;          /* of an iteration; on a stage graph: ops */
    uint32_t iteration_end; /* first microbatch that may not start yet */
};

/* Makes a run before its start. INVALID_SCHEDULE if comm ops do not match. On an error nothing is left to clear. */
ppsched_status ppi_transfer_run_make(struct ppi_transfer_run *out, ppsched_timeline *timeline, const ppsched_config *config,
                                     const ppsched_channel_model *model, ppsched_error *error);
void ppi_transfer_run_clear(struct ppi_transfer_run *run);

#endif
