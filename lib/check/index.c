/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes the ops by stage pass and kind; finds missing, duplicate, misplaced and conflicting ones. */
#include <string.h>

#include "base/error.h"
#include "base/inline.h"
#include "check/check.h"

static uint32_t *allocate_positions(const ppsched_schedule *schedule)
{
    size_t cells = ppi_cell_count(schedule);
    uint32_t *positions = ppi_allocate(&schedule->host, cells, sizeof *positions);
    if (positions != NULL)
        memset(positions, 0xFF, cells * sizeof *positions); /* all PPI_ABSENT */
    return positions;
}

ppsched_status ppi_op_index_make(struct ppi_op_index *index, const ppsched_schedule *schedule, ppsched_error *error)
{
    index->is_forward_only = ppi_is_forward_only(schedule);
    index->forward = allocate_positions(schedule);
    index->backward = allocate_positions(schedule);
    index->weight = allocate_positions(schedule);
    if (index->forward == NULL || index->backward == NULL || index->weight == NULL)
        return ppi_fail_memory(error, "the check");
    return PPSCHED_OK;
}

/* For the first op of memory saving. */
static ppsched_status make_saving(struct ppi_op_index *index, const ppsched_schedule *schedule, ppsched_error *error)
{
    for (int i = 0; i < 4; i++)
        if ((index->saving[i] = allocate_positions(schedule)) == NULL)
            return ppi_fail_memory(error, "the check");
    return PPSCHED_OK;
}

void ppi_op_index_clear(struct ppi_op_index *index, const ppsched_schedule *schedule)
{
    for (int i = 0; i < 4; i++)
        ppi_release(&schedule->host, index->saving[i]);
    ppi_release(&schedule->host, index->forward);
    ppi_release(&schedule->host, index->backward);
    ppi_release(&schedule->host, index->weight);
}

static bool is_present(uint32_t position)
{
    return position < PPI_ELSEWHERE;
}

static ppsched_finding finding_at(int32_t kind, const ppsched_queue *queue, uint32_t position)
{
    return (ppsched_finding){.kind = kind,
                             .device = queue->device,
                             .position = position,
                             .other_device = PPSCHED_NONE,
                             .other_position = PPSCHED_NONE,
                             .op = queue->ops[position]};
}

static void add_duplicate(struct ppi_findings *findings, const ppsched_queue *queue, uint32_t position, uint32_t earlier)
{
    ppsched_finding finding = finding_at(PPSCHED_FINDING_KIND_DUPLICATE, queue, position);
    finding.other_device = queue->device;
    finding.other_position = earlier;
    finding.other = queue->ops[earlier];
    ppi_findings_add(findings, &finding);
}

PPI_INLINE void index_op(struct ppi_op_index *index, const ppsched_schedule *schedule, const ppsched_queue *queue,
                         uint32_t position, uint32_t slices, struct ppi_findings *findings)
{
    const ppsched_op *op = &queue->ops[position];
    size_t cell = ppi_cell_with(schedule, op, slices);
    uint32_t *slots = ppi_positions_of(index, op->kind), home = ppi_schedule_device_of(schedule, op);
    if (home != queue->device) {
        ppsched_finding finding = finding_at(PPSCHED_FINDING_KIND_MISPLACED, queue, position);
        finding.other_device = home;
        ppi_findings_add(findings, &finding);
        if (slots[cell] == PPI_ABSENT)
            slots[cell] = PPI_ELSEWHERE;
    } else if (is_present(slots[cell])) {
        add_duplicate(findings, queue, position, slots[cell]);
    } else {
        slots[cell] = position;
    }
}

static void add_missing(struct ppi_findings *findings, const ppsched_schedule *schedule, uint8_t kind, uint32_t stage,
                        uint32_t micro_slice)
{
    ppsched_finding finding = {.kind = PPSCHED_FINDING_KIND_MISSING,
                               .position = PPSCHED_NONE,
                               .other_device = PPSCHED_NONE,
                               .other_position = PPSCHED_NONE};
    finding.op = ppi_op_of_micro_slice(&schedule->shape, micro_slice, stage, kind);
    finding.device = ppi_schedule_device_of(schedule, &finding.op);
    ppi_findings_add(findings, &finding);
}

static const ppsched_queue *queue_of(const ppsched_schedule *schedule, uint32_t stage, uint32_t micro_slice)
{
    const struct ppi_shape *shape = &schedule->shape;
    return &schedule->queues[ppi_device_of(&schedule->placement, shape, stage, micro_slice / shape->slices)];
}

/* Checks a stage pass: one F, and one B, or one I with one W, if there are backwards. */
static void check_pass(const struct ppi_op_index *index, const ppsched_schedule *schedule, uint32_t stage, uint32_t micro_slice,
                       struct ppi_findings *findings)
{
    size_t cell = (size_t)stage * ppi_total_micro_slices(&schedule->shape) + micro_slice;
    uint32_t backward = index->backward[cell], weight = index->weight[cell];
    if (index->forward[cell] == PPI_ABSENT)
        add_missing(findings, schedule, PPSCHED_KIND_F, stage, micro_slice);
    if (backward == PPI_ABSENT && !index->is_forward_only)
        add_missing(findings, schedule, weight == PPI_ABSENT ? PPSCHED_KIND_B : PPSCHED_KIND_I, stage, micro_slice);
    if (!is_present(backward))
        return;
    const ppsched_queue *queue = queue_of(schedule, stage, micro_slice);
    bool full = queue->ops[backward].kind == PPSCHED_KIND_B;
    if (!full && weight == PPI_ABSENT)
        add_missing(findings, schedule, PPSCHED_KIND_W, stage, micro_slice);
    if (full && is_present(weight))
        add_duplicate(findings, queue, weight, backward);
}

static void add_conflict(struct ppi_findings *findings, const ppsched_queue *queue, uint32_t position, uint32_t other)
{
    ppsched_finding finding = finding_at(PPSCHED_FINDING_KIND_CONFLICT, queue, position);
    finding.other_device = queue->device;
    finding.other_position = other;
    finding.other = queue->ops[other];
    ppi_findings_add(findings, &finding);
}

/* Checks a stage pass: OFFLOAD and RELOAD, or RECOMPUTE, or none. */
static void check_saving(const struct ppi_op_index *index, const ppsched_schedule *schedule, uint32_t stage,
                         uint32_t micro_slice, struct ppi_findings *findings)
{
    size_t cell = (size_t)stage * ppi_total_micro_slices(&schedule->shape) + micro_slice;
    uint32_t recompute = index->saving[0][cell], offload = index->saving[1][cell], reload = index->saving[2][cell];
    const ppsched_queue *queue = queue_of(schedule, stage, micro_slice);
    if (offload != PPI_ABSENT && reload == PPI_ABSENT)
        add_missing(findings, schedule, PPSCHED_KIND_RELOAD, stage, micro_slice);
    if (offload == PPI_ABSENT && (reload != PPI_ABSENT || index->saving[3][cell] != PPI_ABSENT))
        add_missing(findings, schedule, PPSCHED_KIND_OFFLOAD, stage, micro_slice);
    if (is_present(recompute) && is_present(offload))
        add_conflict(findings, queue, recompute, offload);
}

PPI_INLINE ppsched_status index_all(struct ppi_op_index *index, const ppsched_schedule *schedule, uint32_t slices,
                                    struct ppi_findings *findings, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        for (size_t i = 0; i < schedule->queues[d].count; i++) {
            uint8_t kind = schedule->queues[d].ops[i].kind;
            if (!ppi_is_compute(kind)) {
                index->has_waits |= kind == PPSCHED_KIND_WAIT_REDUCE_GRAD;
                if (!ppi_keeps_less(kind))
                    continue;
                if (!ppi_index_keeps(index))
                    status = make_saving(index, schedule, error);
                if (status != PPSCHED_OK)
                    return status;
            }
            index_op(index, schedule, &schedule->queues[d], (uint32_t)i, slices, findings);
        }
    return PPSCHED_OK;
}

ppsched_status ppi_index_ops(struct ppi_op_index *index, const ppsched_schedule *schedule, struct ppi_findings *findings,
                             ppsched_error *error)
{
    uint32_t slices = schedule->shape.slices;
    ppsched_status status = slices == 1 ? index_all(index, schedule, 1, findings, error)
                                        : index_all(index, schedule, slices, findings, error);
    if (status != PPSCHED_OK)
        return status;
    for (uint32_t s = 0; s < schedule->shape.stages; s++)
        for (uint32_t p = 0; p < ppi_total_micro_slices(&schedule->shape); p++)
            check_pass(index, schedule, s, p, findings);
    for (uint32_t s = 0; ppi_index_keeps(index) && s < schedule->shape.stages; s++)
        for (uint32_t p = 0; p < ppi_total_micro_slices(&schedule->shape); p++)
            check_saving(index, schedule, s, p, findings);
    return PPSCHED_OK;
}
