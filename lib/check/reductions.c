/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the reductions of devices that wait for them: on each device, REDUCE_GRADs and WAIT_REDUCE_GRADs of the same stages
 * take turns. So at most one reduction is in flight, as in PyTorch's runtime. */
#include "check/check.h"

/* What a device has done of its queue. */
struct reductions {
    const ppsched_queue *queue;
    uint32_t reduce, wait; /* positions of the last ones; PPSCHED_NONE: none */
};

static ppsched_finding reduction_finding(const struct reductions *seen, int32_t kind, uint32_t position, uint32_t other)
{
    return (ppsched_finding){.kind = kind,
                             .device = seen->queue->device,
                             .position = position,
                             .other_device = seen->queue->device,
                             .other_position = other,
                             .op = seen->queue->ops[position],
                             .other = seen->queue->ops[other]};
}

/* Why a wait has no reduction in flight: it is the second one, its reduction comes later, or there is none. */
static ppsched_finding finding_of_wait(const struct reductions *seen, uint32_t position)
{
    const ppsched_op *op = &seen->queue->ops[position];
    if (seen->wait != PPSCHED_NONE && seen->queue->ops[seen->wait].stage == op->stage)
        return reduction_finding(seen, PPSCHED_FINDING_KIND_DUPLICATE, position, seen->wait);
    for (uint32_t i = position + 1; i < seen->queue->count; i++)
        if (seen->queue->ops[i].kind == PPSCHED_KIND_REDUCE_GRAD && seen->queue->ops[i].stage == op->stage)
            return reduction_finding(seen, PPSCHED_FINDING_KIND_CYCLE, position, i);
    ppsched_finding finding = reduction_finding(seen, PPSCHED_FINDING_KIND_BLOCKED, position, position);
    finding.other_position = PPSCHED_NONE;
    finding.other.kind = PPSCHED_KIND_REDUCE_GRAD;
    return finding;
}

static bool has_waits(const ppsched_queue *queue)
{
    for (size_t i = 0; i < queue->count; i++)
        if (queue->ops[i].kind == PPSCHED_KIND_WAIT_REDUCE_GRAD)
            return true;
    return false;
}

/* Adds the first finding of a device, as the others often follow from it. */
static void check_device(const ppsched_queue *queue, struct ppi_findings *findings)
{
    struct reductions seen = {.queue = queue, .reduce = PPSCHED_NONE, .wait = PPSCHED_NONE};
    ppsched_finding finding;
    for (uint32_t i = 0; i < queue->count; i++) {
        const ppsched_op *op = &queue->ops[i];
        bool is_wait = op->kind == PPSCHED_KIND_WAIT_REDUCE_GRAD, is_in_flight = seen.reduce != PPSCHED_NONE;
        if (!is_wait && op->kind != PPSCHED_KIND_REDUCE_GRAD)
            continue;
        bool is_own = is_in_flight && queue->ops[seen.reduce].stage == op->stage;
        if (is_wait ? !is_own : is_in_flight) {
            finding = is_wait ? finding_of_wait(&seen, i)
                              : reduction_finding(&seen, PPSCHED_FINDING_KIND_CONFLICT, i, seen.reduce);
            ppi_findings_add(findings, &finding);
            return;
        }
        seen.wait = is_wait ? i : seen.wait;
        seen.reduce = is_wait ? PPSCHED_NONE : i;
    }
    if (seen.reduce == PPSCHED_NONE)
        return;
    finding = (ppsched_finding){.kind = PPSCHED_FINDING_KIND_MISSING,
                                .device = queue->device,
                                .position = PPSCHED_NONE,
                                .other_device = PPSCHED_NONE,
                                .other_position = PPSCHED_NONE,
                                .op = queue->ops[seen.reduce]};
    finding.op.kind = PPSCHED_KIND_WAIT_REDUCE_GRAD;
    ppi_findings_add(findings, &finding);
}

void ppi_check_reductions(const ppsched_schedule *schedule, struct ppi_findings *findings)
{
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        if (has_waits(&schedule->queues[d]))
            check_device(&schedule->queues[d], findings);
}
