/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator times 2, 4, 8 and more iterations without flushes, until the ends of devices advance alike or suffice for a
 * proof. */
#include "eval/period.h"

#include "base/checked.h"
#include "base/cycle_mean.h"
#include "base/error.h"
#include "ir/builder.h"

static ppsched_status append_iteration(ppsched_builder *builder, const ppsched_schedule *schedule, uint32_t iteration,
                                       ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        for (size_t k = 0; k < schedule->queues[d].count && status == PPSCHED_OK; k++) {
            ppsched_op op = schedule->queues[d].ops[k];
            if (!ppi_is_compute(op.kind))
                return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                                "a period counts only F, B, I and W; this schedule has sends, copies or other "
                                "ops; find the period before lowering");
            if (op.microbatch >= schedule->shape.microbatches)
                continue;
            op.microbatch += iteration * schedule->shape.microbatches;
            status = ppi_builder_append(builder, d, &op, 1, error);
        }
    return status;
}

static ppsched_status repeat(ppsched_schedule **out, const ppsched_schedule *schedule, uint32_t count, ppsched_error *error)
{
    ppsched_builder *builder = NULL;
    ppsched_status status = ppi_builder_like(&builder, schedule, error);
    if (status != PPSCHED_OK)
        return status;
    builder->shape.iterations = count;
    builder->flushes = false;
    for (uint32_t i = 0; i < count && status == PPSCHED_OK; i++)
        status = append_iteration(builder, schedule, i, error);
    if (status == PPSCHED_OK)
        status = ppi_builder_finish(out, builder, error);
    ppi_builder_destroy(builder);
    return status;
}

/* Fills the ends of devices after each iteration; returns the longest work of a device in one. */
static double fill_ends(double *ends, const ppsched_timeline *timeline)
{
    const ppsched_schedule *schedule = timeline->schedule;
    const uint32_t devices = schedule->shape.devices;
    double most = 0;
    for (uint32_t d = 0; d < devices; d++) {
        const ppsched_queue *queue = &schedule->queues[d];
        for (uint32_t i = 0; i <= schedule->shape.iterations; i++)
            ends[(size_t)i * devices + d] = 0;
        for (size_t k = 0; k < queue->count; k++) {
            const size_t row = queue->ops[k].microbatch / schedule->shape.microbatches + 1;
            ends[row * devices + d] = ppi_larger(ends[row * devices + d], timeline->spans[queue->first + k].end);
        }
        most = ppi_larger(most, timeline->devices[d].busy / schedule->shape.iterations);
    }
    return most;
}

/* With so many iterations; `*is_proven`: more would not change the period. */
static ppsched_status time_iterations(double *out, bool *is_proven, const ppsched_schedule *schedule,
                                      const ppsched_config *config, uint32_t count, ppsched_error *error)
{
    const uint32_t devices = schedule->shape.devices;
    ppsched_schedule *repeated = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_config many = *config; /* with the caller's lists */
    many.shape.iterations = count;
    double *ends = ppi_allocate(&config->host, (size_t)count + 1, devices * sizeof *ends);
    ppsched_status status = ends != NULL ? repeat(&repeated, schedule, count, error) : ppi_fail_memory(error, "the period");
    if (status == PPSCHED_OK)
        status = ppi_evaluate_plain(&timeline, repeated, &many, false, error);
    if (status == PPSCHED_OK) {
        const double least = fill_ends(ends, timeline);
        *is_proven = ppi_repeats(out, ends, devices, count, least);
        if (!*is_proven)
            *out = ppi_cycle_mean(ends, devices, count);
        *is_proven = *is_proven || count >= ppi_smaller(devices, PPI_MOST_REPETITIONS);
    }
    ppi_timeline_destroy(timeline);
    ppi_schedule_release(repeated);
    ppi_release(&config->host, ends);
    return status;
}

ppsched_status ppi_find_period(double *out, const ppsched_schedule *schedule, const ppsched_config *config,
                               ppsched_error *error)
{
    const uint32_t most = schedule->shape.devices < PPI_MOST_REPETITIONS ? schedule->shape.devices : PPI_MOST_REPETITIONS;
    ppsched_status status = ppi_check_shapes(schedule, config, error);
    bool is_proven = false;
    if (status == PPSCHED_OK && (uint64_t)ppi_cell_count(schedule) / schedule->shape.iterations * most > PPSCHED_MAX_CELLS)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "the period of so many stage passes is not computed");
    for (uint32_t count = 2; status == PPSCHED_OK && !is_proven; count *= 2)
        status = time_iterations(out, &is_proven, schedule, config, count < most || most < 2 ? count : most, error);
    return status;
}
