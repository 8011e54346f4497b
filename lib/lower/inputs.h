/* SPDX-License-Identifier: Apache-2.0 */
/* State of a lowering that runs the ops without times: which inputs are ready, by transfer number (see ir/transfer.h), and
 * where the next flush is. */
#ifndef PPSCHED_LOWER_INPUTS_H
#define PPSCHED_LOWER_INPUTS_H

#include "ir/transfer.h"

/* The first microbatch that must wait for a flush in `iteration`. If the schedule flushes, ops wait until all of the iteration
 * before is done. */
static inline uint32_t ppi_iteration_end(const ppsched_schedule *schedule, uint32_t iteration)
{
    return schedule->flushes ? (iteration + 1) * schedule->shape.microbatches : ppi_total_microbatches(&schedule->shape);
}

static inline bool ppi_waits_for_flush(const ppsched_op *op, uint32_t iteration_end)
{
    return op->microbatch >= iteration_end && ppi_kind_has_microbatch(op->kind);
}

/* Notes that an op has run: its output is ready. */
static inline void ppi_note_output(const ppsched_schedule *schedule, bool *there, const ppsched_op *op)
{
    uint32_t output = ppi_output_of(schedule, op);
    if (output != PPSCHED_NONE)
        there[output] = true;
}

static inline bool ppi_input_is_there(const ppsched_schedule *schedule, const bool *there, const ppsched_op *op)
{
    uint32_t input = ppi_input_of(schedule, op);
    return input == PPSCHED_NONE || there[input];
}

/* Whether all inputs of the unit that starts at `op` are ready. */
static inline bool ppi_inputs_are_there(const ppsched_schedule *schedule, const bool *there, const ppsched_op *op)
{
    return ppi_input_is_there(schedule, there, op) && (ppi_unit_length(op) == 1 || ppi_input_is_there(schedule, there, op + 1));
}

#endif
