/* SPDX-License-Identifier: Apache-2.0 */
/* Earliest starts, by the forward sweep, which also finds whether the schedule is complete and free of deadlock. It overwrites
 * all times of forwards: see PPI_DONE. */
#include "eval/sender_waits.h"
#include "eval/timeline.h"

ppsched_status ppi_earliest_starts(struct ppi_event_loop *loop, ppsched_timeline *timeline, ppsched_error *error)
{
    if (timeline->schedule->placement.graph != NULL)
        return ppi_graph_earliest(loop, timeline, error);
    if (ppi_senders_of(timeline) == NULL)
        return timeline->has_ends ? ppi_forward_sweep_with_ends(loop, timeline, error)
                                  : ppi_forward_sweep(loop, timeline, error);
    ppi_senders_fill(timeline->senders, timeline->schedule, &timeline->costs);
    return ppi_forward_sweep_with_senders(loop, timeline, error);
}
