/* SPDX-License-Identifier: Apache-2.0 */
/* Finds whether the queues can run to their end, and if not, which device waits for which. Devices run as in the evaluator, but
 * without times: an input is ready once its device is past its position. A device that waits marks the op it waits for; the
 * device that runs a marked op wakes the only device that can wait for it. Linear time. */
#include <string.h>

#include "base/error.h"
#include "check/check.h"

/* Why a device waits. */
struct wait {
    uint32_t position;       /* of the waiting op */
    uint32_t other_device;   /* of the other op, or where it belongs */
    uint32_t other_position; /* PPI_ABSENT or PPI_ELSEWHERE if it is not there */
    ppsched_op other;
};

/* A wait for an op of a stage pass that has not run; a backward that does not exist counts as I. */
static struct wait wait_for(const struct ppi_progress *p, uint32_t position, uint8_t kind, size_t cell, uint32_t home,
                            uint32_t at)
{
    struct wait wait = {.position = position, .other_device = home, .other_position = at};
    if (at < PPI_ELSEWHERE)
        wait.other = p->schedule->queues[home].ops[at];
    else
        wait.other = ppi_op_of_micro_slice(&p->schedule->shape, (uint32_t)(cell % p->micro_slices),
                                           (uint32_t)(cell / p->micro_slices), kind);
    return wait;
}

/* Whether an op of a stage pass, whose device is `home`, has run; if not, `*wait` is set. */
static inline bool has_run(const struct ppi_progress *p, uint32_t home, uint8_t kind, size_t cell, uint32_t position,
                           struct wait *wait)
{
    uint32_t at = ppi_positions_of(p->index, kind)[cell];
    if (at < p->position[home])
        return true;
    *wait = wait_for(p, position, kind, cell, home, at);
    return false;
}

/* Inputs from memory saving: RECOMPUTE and OFFLOAD need the F of their stage pass, RELOAD and OFFLOAD_WAIT the OFFLOAD, and a
 * backward its RELOAD and RECOMPUTE, if there are any. */
static bool kept_ready(const struct ppi_progress *p, uint32_t device, const ppsched_op *op, uint32_t position,
                       struct wait *wait)
{
    static const uint8_t kinds[] = {PPSCHED_KIND_RELOAD, PPSCHED_KIND_RECOMPUTE};
    const size_t own = ppi_cell_of(p->schedule, op);
    if (op->kind == PPSCHED_KIND_RELOAD || op->kind == PPSCHED_KIND_OFFLOAD_WAIT)
        return has_run(p, device, PPSCHED_KIND_OFFLOAD, own, position, wait);
    if (ppi_keeps_less(op->kind))
        return has_run(p, device, PPSCHED_KIND_F, own, position, wait);
    for (size_t i = 0; i < 2 && ppi_is_backward(op->kind); i++)
        if (ppi_positions_of(p->index, kinds[i])[own] != PPI_ABSENT && !has_run(p, device, kinds[i], own, position, wait))
            return false;
    return true;
}

/* Whether the inputs of F, B, I or W are ready, without those of memory saving. */
static inline bool values_ready(const struct ppi_progress *p, uint32_t device, const ppsched_op *op, uint32_t position,
                                struct wait *wait)
{
    const struct ppi_shape *shape = &p->schedule->shape;
    const struct ppi_placement *placement = &p->schedule->placement;
    const uint32_t stage = op->stage, m = op->microbatch;
    const size_t own = ppi_cell_of(p->schedule, op);
    if (op->kind == PPSCHED_KIND_F)
        return (stage == 0 || has_run(p, ppi_device_of(placement, shape, stage - 1, m), PPSCHED_KIND_F, own - p->micro_slices,
                                      position, wait)) &&
               (op->slice == 0 || has_run(p, device, PPSCHED_KIND_F, own - 1, position, wait));
    if (op->kind == PPSCHED_KIND_W)
        return has_run(p, device, PPSCHED_KIND_I, own, position, wait);
    return has_run(p, device, PPSCHED_KIND_F, own, position, wait) &&
           (stage + 1 == shape->stages ||
            has_run(p, ppi_device_of(placement, shape, stage + 1, m), PPSCHED_KIND_I, own + p->micro_slices, position, wait)) &&
           (op->slice + 1u == shape->slices || has_run(p, device, PPSCHED_KIND_I, own + 1, position, wait));
}

/* Whether an op's inputs are ready; if not, `*wait` is set. */
static bool inputs_ready(const struct ppi_progress *p, uint32_t device, uint32_t position, struct wait *wait)
{
    const ppsched_op *op = &p->schedule->queues[device].ops[position];
    if (!ppi_index_keeps(p->index))
        return values_ready(p, device, op, position, wait);
    if (ppi_keeps_less(op->kind))
        return kept_ready(p, device, op, position, wait);
    return values_ready(p, device, op, position, wait) && kept_ready(p, device, op, position, wait);
}

/* Whether the unit at a position can run now; if not, `*wait` is set. For a flush `wait->other.kind` is 0. Misplaced ops are
 * skipped: no op depends on them. */
static bool unit_ready(const struct ppi_progress *p, uint32_t device, size_t position, struct wait *wait)
{
    const ppsched_op *unit = &p->schedule->queues[device].ops[position];
    for (size_t i = 0; i < ppi_unit_length(unit); i++) {
        bool has_needs = ppi_is_indexed(unit[i].kind);
        if (has_needs && ppi_schedule_device_of(p->schedule, &unit[i]) != device)
            continue;
        if (unit[i].microbatch >= p->iteration_end && ppi_kind_has_microbatch(unit[i].kind)) {
            *wait = (struct wait){.position = (uint32_t)(position + i)};
            return false;
        }
        if (has_needs && !inputs_ready(p, device, (uint32_t)(position + i), wait))
            return false;
    }
    return true;
}

/* Marks the op that a device waits for, so that the device is woken; a flush wakes all devices. */
static void await(struct ppi_progress *p, const struct wait *wait)
{
    if (wait->other.kind != 0)
        p->awaited[ppi_cell_of(p->schedule, &wait->other)] |= wait->other.kind == PPSCHED_KIND_F ? 1 : 2;
}

/* After an op has run, wakes the device that waits for it. Its only reader on another device is the next stage's F, or the
 * backward of the stage before; no device waits for a W's stage pass then, as its I has run. */
static void wake_reader(struct ppi_progress *p, const ppsched_op *op)
{
    uint8_t *awaited = &p->awaited[ppi_cell_of(p->schedule, op)];
    uint8_t mark = op->kind == PPSCHED_KIND_F ? 1 : 2;
    if ((*awaited & mark) == 0)
        return;
    *awaited &= (uint8_t)~mark;
    uint32_t reader = op->kind == PPSCHED_KIND_F ? op->stage + 1u : op->stage - 1u;
    p->ready[p->ready_count++] = ppi_device_of(&p->schedule->placement, &p->schedule->shape, reader, op->microbatch);
}

static void run_device(struct ppi_progress *p, uint32_t device)
{
    const ppsched_queue *queue = &p->schedule->queues[device];
    struct wait wait = {0};
    while (p->position[device] < queue->count) {
        const ppsched_op *unit = &queue->ops[p->position[device]];
        if (!unit_ready(p, device, p->position[device], &wait)) {
            if (wait.other_device != device)
                await(p, &wait);
            return;
        }
        p->position[device] += ppi_unit_length(unit);
        for (size_t i = 0; i < ppi_unit_length(unit); i++)
            if (ppi_is_compute(unit[i].kind) && ppi_schedule_device_of(p->schedule, &unit[i]) == device) {
                p->ops_left--;
                wake_reader(p, &unit[i]);
            }
    }
}

static void run_all(struct ppi_progress *p)
{
    for (uint32_t i = p->active_count; i-- > 0;)
        p->ready[p->ready_count++] = p->active[i];
    while (p->ready_count > 0)
        run_device(p, p->ready[--p->ready_count]);
}

/* Counts each iteration's compute ops that are on the right device. */
static void count_ops(const struct ppi_progress *p)
{
    const ppsched_schedule *schedule = p->schedule;
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        for (size_t i = 0; i < schedule->queues[d].count; i++) {
            const ppsched_op *op = &schedule->queues[d].ops[i];
            if (ppi_is_compute(op->kind) && ppi_schedule_device_of(schedule, op) == d)
                p->per_iteration[schedule->flushes ? op->microbatch / schedule->shape.microbatches : 0]++;
        }
}

/* Finds the first op of the current iteration that has not run: a flush waits for it. */
static void find_unflushed(const struct ppi_progress *p, struct wait *wait)
{
    for (uint32_t d = 0; d < p->schedule->shape.devices; d++) {
        const ppsched_queue *queue = &p->schedule->queues[d];
        for (size_t i = p->position[d]; i < queue->count; i++)
            if (ppi_is_compute(queue->ops[i].kind) && queue->ops[i].microbatch < p->iteration_end) {
                wait->other_device = d;
                wait->other_position = (uint32_t)i;
                wait->other = queue->ops[i];
                return;
            }
    }
}

static ppsched_finding finding_of(const struct ppi_progress *p, uint32_t device, const struct wait *wait, int32_t kind)
{
    return (ppsched_finding){.kind = kind,
                             .device = device,
                             .position = wait->position,
                             .other_device = wait->other_device,
                             .other_position = wait->other_position < PPI_ELSEWHERE ? wait->other_position : PPSCHED_NONE,
                             .op = p->schedule->queues[device].ops[wait->position],
                             .other = wait->other};
}

/* Follows the waits from each device that has stopped. Each device waits for one other, so a walk ends in a missing op or in a
 * cycle; each cycle is reported once. */
static void report_waits(const struct ppi_progress *p, struct ppi_findings *findings)
{
    const ppsched_schedule *schedule = p->schedule;
    uint32_t *walk = p->walk;
    struct wait wait, flush = {0};
    find_unflushed(p, &flush);
    for (uint32_t start = 0; start < schedule->shape.devices; start++) {
        uint32_t d = start;
        bool cycle = false;
        while (p->position[d] < schedule->queues[d].count && (walk[d] == 0 || cycle)) {
            if (walk[d] == PPSCHED_NONE)
                break; /* once around the cycle */
            walk[d] = cycle ? PPSCHED_NONE : start + 1;
            if (unit_ready(p, d, p->position[d], &wait))
                break;
            if (wait.other.kind == 0) {
                flush.position = wait.position;
                wait = flush;
            }
            bool absent = wait.other_position >= PPI_ELSEWHERE;
            if (absent || cycle) {
                ppsched_finding finding = finding_of(p, d, &wait,
                                                     absent ? PPSCHED_FINDING_KIND_BLOCKED : PPSCHED_FINDING_KIND_CYCLE);
                ppi_findings_add(findings, &finding);
            }
            if (absent)
                break;
            d = wait.other_device;
            cycle = cycle || walk[d] == start + 1;
        }
    }
}

ppsched_status ppi_progress_make(struct ppi_progress *progress, const ppsched_schedule *schedule,
                                 const struct ppi_op_index *index, ppsched_error *error)
{
    const struct ppi_host *host = &schedule->host;
    uint32_t devices = schedule->shape.devices;
    *progress = (struct ppi_progress){
        .schedule = schedule, .index = index, .micro_slices = ppi_total_micro_slices(&schedule->shape)};
    progress->position = ppi_allocate_zeroed(host, devices, sizeof *progress->position);
    progress->awaited = ppi_allocate_zeroed(host, ppi_cell_count(schedule), sizeof *progress->awaited);
    progress->ready = ppi_allocate(host, devices, sizeof *progress->ready);
    progress->active = ppi_allocate(host, devices, sizeof *progress->active);
    progress->per_iteration = ppi_allocate_zeroed(host, schedule->shape.iterations, sizeof *progress->per_iteration);
    progress->walk = ppi_allocate_zeroed(host, devices, sizeof *progress->walk);
    if (progress->position == NULL || progress->awaited == NULL || progress->ready == NULL || progress->active == NULL ||
        progress->per_iteration == NULL || progress->walk == NULL)
        return ppi_fail_memory(error, "the check");
    for (uint32_t d = 0; d < devices; d++)
        if (schedule->queues[d].count > 0)
            progress->active[progress->active_count++] = d;
    return PPSCHED_OK;
}

void ppi_progress_clear(struct ppi_progress *progress, const ppsched_schedule *schedule)
{
    ppi_release(&schedule->host, progress->position);
    ppi_release(&schedule->host, progress->awaited);
    ppi_release(&schedule->host, progress->ready);
    ppi_release(&schedule->host, progress->active);
    ppi_release(&schedule->host, progress->per_iteration);
    ppi_release(&schedule->host, progress->walk);
}

void ppi_check_progress(struct ppi_progress *progress, struct ppi_findings *findings)
{
    const ppsched_schedule *schedule = progress->schedule;
    uint32_t runs = schedule->flushes ? schedule->shape.iterations : 1;
    count_ops(progress);
    for (uint32_t i = 0; i < runs && progress->ops_left == 0; i++) {
        progress->iteration_end = (i + 1) * (ppi_total_microbatches(&schedule->shape) / runs);
        progress->ops_left = progress->per_iteration[i];
        run_all(progress);
    }
    report_waits(progress, findings);
}
