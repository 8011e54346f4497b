/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path, from the makespan back to 0: an op starts when the last of what it waits for is ready. The sums are the
 * evaluator's, so both times are equal to the last bit. Also the slack of whole devices and stages. */
#include "base/checked.h"
#include "base/error.h"
#include "eval/explain.h"
#include "eval/wait_graph.h"

/* The wait of a node that ended last; the first of equal ones. */
static size_t last_wait(const struct ppi_waits *waits, size_t node)
{
    size_t last = 0;
    for (size_t i = 1; i < ppi_wait_count(waits, node); i++)
        if (ppi_wait_at(waits, node, i).ready > ppi_wait_at(waits, node, last).ready)
            last = i;
    return last;
}

/* The node that a unit waited for, and why; PPI_NO_NODE if it started at 0. */
static size_t came_from(const struct ppi_waits *waits, size_t unit, uint32_t *reason)
{
    const ppsched_span *spans = waits->timeline->spans;
    size_t previous = ppi_previous_unit(waits, unit);
    *reason = PPSCHED_REASON_DEVICE;
    if (previous != PPI_NO_NODE && spans[previous].end == spans[unit].start)
        return previous;
    size_t last = last_wait(waits, unit), node = ppi_wait_at(waits, unit, last).node;
    *reason = ppi_waits_for_input(waits, unit, last) ? PPSCHED_REASON_INPUT
              : node == PPI_NO_NODE                  ? PPSCHED_REASON_BEGIN
                                                     : PPSCHED_REASON_FLUSH;
    if (node != PPI_NO_NODE && !ppi_is_flush(waits, node) && !ppi_waits_for_input(waits, unit, last))
        *reason = waits->copies == NULL ? PPSCHED_REASON_TRANSFER : PPSCHED_REASON_DEVICE;
    return *reason == PPSCHED_REASON_FLUSH ? ppi_wait_at(waits, node, last_wait(waits, node)).node : node;
}

/* Goes back from a unit to 0 and counts the units on the path; writes them before `end` unless that is NULL. */
static size_t go_back(const struct ppi_waits *waits, size_t unit, ppsched_critical_op *end)
{
    const ppsched_schedule *schedule = waits->timeline->schedule;
    size_t count = 0;
    while (unit != PPI_NO_NODE) {
        uint32_t device = ppi_device_of_unit(waits, unit), reason;
        const ppsched_span *span = &waits->timeline->spans[unit];
        size_t next = came_from(waits, unit, &reason);
        if (end != NULL)
            *--end = (ppsched_critical_op){.device = device,
                                           .position = (uint32_t)(unit - schedule->queues[device].first),
                                           .op = schedule->ops[unit],
                                           .reason = reason,
                                           .start = span->start,
                                           .end = span->end};
        count++;
        unit = next;
    }
    return count;
}

/* The unit that ends at the makespan, of the lowest device. */
static size_t last_of_all(const struct ppi_waits *waits)
{
    const ppsched_span *spans = waits->timeline->spans;
    size_t last = waits->workers[0].last;
    for (size_t w = 1; w < waits->worker_count; w++)
        if (spans[waits->workers[w].last].end > spans[last].end)
            last = waits->workers[w].last;
    return last;
}

ppsched_status ppi_critical_path(ppsched_critical_op *out, size_t capacity, size_t *count, const ppsched_timeline *timeline,
                                 ppsched_error *error)
{
    struct ppi_waits waits;
    ppsched_status status = ppi_waits_make(&waits, timeline, error);
    if (status != PPSCHED_OK)
        return status;
    size_t last = last_of_all(&waits);
    *count = go_back(&waits, last, NULL);
    if (out != NULL && *count <= capacity)
        go_back(&waits, last, out + *count);
    ppi_waits_clear(&waits);
    return PPSCHED_OK;
}

/* Slack of op `i` of the schedule; infinite if it is none of F, B, I and W. */
static double slack_of(const ppsched_timeline *timeline, size_t i)
{
    if (!ppi_is_compute(timeline->schedule->ops[i].kind))
        return PPI_INFINITE;
    return timeline->latest[i] - timeline->spans[i].start;
}

void ppi_device_slack(double *out, const ppsched_timeline *timeline)
{
    const ppsched_schedule *schedule = timeline->schedule;
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        const ppsched_queue *queue = &schedule->queues[d];
        out[d] = PPI_INFINITE;
        for (size_t i = queue->first; i < queue->first + queue->count; i++)
            out[d] = ppi_smaller(out[d], slack_of(timeline, i));
    }
}

void ppi_stage_slack(double *out, const ppsched_timeline *timeline)
{
    const ppsched_schedule *schedule = timeline->schedule;
    for (uint32_t s = 0; s < schedule->shape.stages; s++)
        out[s] = PPI_INFINITE;
    for (size_t i = 0; i < schedule->op_count; i++) {
        double *least = &out[schedule->ops[i].stage];
        *least = ppi_smaller(*least, slack_of(timeline, i));
    }
}
