/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule that fits where any does: a device runs all Fs of a microbatch, then all its backwards. */
#include "search/explore.h"

/* Of one microbatch the Fs of a stage, or its backwards; returns where the next op goes. */
static ppsched_op *put_stage(ppsched_op *next, const struct ppi_problem *problem, uint32_t stage, uint32_t first, bool backward,
                             bool splits)
{
    const struct ppi_shape shape = {.slices = problem->slices};
    for (uint32_t k = 0; k < problem->slices; k++) {
        uint32_t piece = ppi_piece_in_turn(problem, backward, first + k);
        *next++ = ppi_op_of_piece(&shape, piece, stage, !backward ? PPSCHED_KIND_F : splits ? PPSCHED_KIND_I : PPSCHED_KIND_B);
        if (backward && splits)
            *next++ = ppi_op_of_piece(&shape, piece, stage, PPSCHED_KIND_W);
    }
    return next;
}

static void put_device(struct ppi_orders *orders, const struct ppi_problem *problem, uint32_t device, bool splits)
{
    uint32_t count = problem->device[device].count;
    ppsched_op *ops = orders->ops + orders->first[device], *next = ops;
    for (uint32_t m = 0; m < problem->microbatches; m += problem->slices) {
        for (uint32_t i = 0; i < count; i++)
            next = put_stage(next, problem, ppi_stage_at(problem, device, i), m, false, splits);
        for (uint32_t i = count; i-- > 0;)
            next = put_stage(next, problem, ppi_stage_at(problem, device, i), m, true,
                             splits || !problem->stage[ppi_stage_at(problem, device, i)].fuses);
    }
    orders->count[device] = (size_t)(next - ops);
}

ppsched_status ppi_go_one_by_one(struct ppi_attempt *attempt, bool splits, ppsched_error *error)
{
    for (uint32_t d = 0; d < attempt->problem.devices; d++)
        put_device(&attempt->candidate, &attempt->problem, d, splits);
    ppi_pricer_clear(&attempt->pricer); /* which pairs ops as the order did that it was made with */
    return ppi_attempt_offer(attempt, error);
}
