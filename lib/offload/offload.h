/* SPDX-License-Identifier: Apache-2.0 */
/* Activation memory saving by recomputation and offload: see <ppsched/memory_saving.h>. */
#ifndef PPSCHED_OFFLOAD_OFFLOAD_H
#define PPSCHED_OFFLOAD_OFFLOAD_H

#include <ppsched/memory_saving.h>

#include "eval/memory_saving.h"
#include "ir/schedule.h"

ppsched_status ppi_recompute(ppsched_schedule **out, const ppsched_schedule *schedule, uint32_t chunks, ppsched_error *error);
/* `searches`: see reduce_peaks.h. */
ppsched_status ppi_offload(ppsched_schedule **out, const ppsched_schedule *schedule, const ppsched_config *config,
                           const ppsched_offload_options *options, bool searches, ppsched_error *error);

/* The same, without a search for less memory, from the timeline of a schedule with its earliest starts alone. `*timeline`: that
 * of the new schedule, whose figures alone are filled in, without times of peaks. */
ppsched_status ppi_offload_timed(ppsched_schedule **out, ppsched_timeline **timeline, const ppsched_timeline *plain,
                                 const ppsched_config *config, const ppsched_offload_options *options, ppsched_error *error);

/* As few copies as keep the config's memory limits. Where none do, REFUSED with a message and, in `*least`, the least limit
 * that was found to work, or factor of the limits; NULL: without both, which take time. */
ppsched_status ppi_offload_to_fit(ppsched_schedule **out, double *least, const ppsched_schedule *schedule,
                                  const ppsched_config *config, ppsched_error *error);

/* The stage instance of an op: its index in lists by copy and stage. */
static inline size_t ppi_keep_instance(const ppsched_schedule *schedule, const ppsched_op *op)
{
    return (size_t)ppi_copy_of(&schedule->placement, &schedule->shape, op->microbatch) * schedule->shape.stages + op->stage;
}

/* REFUSED where the schedule already has a RECOMPUTE (but for `recomputes`), OFFLOAD, RELOAD or OFFLOAD_WAIT. */
ppsched_status ppi_require_whole(const ppsched_schedule *schedule, bool recomputes, ppsched_error *error);

/* Whether an op's stage pass is recomputed, in a schedule that has been evaluated. */
static inline bool ppi_recomputes(const ppsched_timeline *plain, const ppsched_op *op)
{
    return plain->saving != NULL && (ppi_kept_pass_of(plain->saving, op)->flags & PPI_HAS_RECOMPUTE) != 0;
}

/* Memory that F, I, B or RECOMPUTE takes when it starts, in a schedule that has been evaluated; 0 for other ops. */
static inline double ppi_taken_by(const ppsched_timeline *plain, const ppsched_op *op)
{
    bool recomputes = op->kind == PPSCHED_KIND_RECOMPUTE;
    if (op->kind == PPSCHED_KIND_I || op->kind == PPSCHED_KIND_B)
        return ppi_rise_of(&plain->costs, plain->schedule, op);
    if (op->kind != PPSCHED_KIND_F && !recomputes)
        return 0;
    if (!recomputes && !ppi_recomputes(plain, op))
        return ppi_memory_of(&plain->costs, plain->schedule, op);
    double whole = ppi_instance_of(&plain->costs, plain->schedule, op)->memory[PPSCHED_KIND_F],
           kept = ppi_saving_cost_of(plain->saving, op)->kept;
    return (recomputes ? whole - kept : kept) * ppi_memory_factor_of(&plain->costs, plain->schedule, op);
}

/* Memory that B, I or W frees when it ends, as a number of at most 0; 0 for other ops. */
static inline double ppi_released_by(const ppsched_timeline *plain, const ppsched_op *op)
{
    if (!ppi_is_compute(op->kind) || op->kind == PPSCHED_KIND_F)
        return 0;
    return ppi_released_of(&plain->costs, plain->schedule, op);
}

#endif
