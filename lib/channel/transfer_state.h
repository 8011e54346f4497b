/* SPDX-License-Identifier: Apache-2.0 */
/* What a run with transfers keeps of devices, transfers and links. */
#ifndef PPSCHED_CHANNEL_TRANSFER_STATE_H
#define PPSCHED_CHANNEL_TRANSFER_STATE_H

#include "base/heap.h"
#include "channel/comm_run.h"
#include "channel/copy_run.h"
#include "channel/sharding.h"
#include "eval/sums.h"
#include "eval/timeline.h"

/* How far a transfer is. */
struct ppi_transfer_state {
    double asked, started, there;
    bool has_started, is_there;
};

struct ppi_machine {
    double clock;                        /* since when it has nothing to do, or until when it computes or calls */
    bool computes, is_ready, is_blocked; /* computes: or makes calls */
    bool has_computed;                   /* in this iteration */
    uint32_t unit, length;               /* the first op of what it computes or calls, and how many at once */
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
    uint32_t *ready, ready_count;      /* stack of devices that may go on */
    struct ppi_transfer_state *states; /* of the transfers, by number */
    double *link_free;                 /* when each link is */
    ppsched_span *calls;               /* of the sends, by transfer; NULL where calls take no time */
    struct ppi_sharding sharding;
    struct ppi_copy_run copies;
    size_t passes_done, flushed;
    uint32_t iteration_end; /* first microbatch that may not start yet */
};

/* Nothing has run yet. INVALID_SCHEDULE where comm ops do not fit each other. On an error nothing is left to clear. */
ppsched_status ppi_transfer_run_make(struct ppi_transfer_run *out, ppsched_timeline *timeline, const ppsched_config *config,
                                     const ppsched_channel_model *model, ppsched_error *error);
void ppi_transfer_run_clear(struct ppi_transfer_run *run);

#endif
