/* SPDX-License-Identifier: Apache-2.0 */
#include "strategy/price.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"

static ppsched_status build(struct ppi_pricer *pricer, int32_t placement, const ppsched_op *ops, size_t per_device,
                            ppsched_error *error)
{
    ppsched_builder *builder = NULL;
    ppsched_status status = ppi_builder_create(&builder, pricer->config, placement, "candidate", error);
    for (uint32_t d = 0; d < pricer->config->shape.devices && status == PPSCHED_OK; d++)
        status = ppi_builder_append(builder, d, ops + d * per_device, per_device, error);
    if (status == PPSCHED_OK)
        status = ppi_builder_finish(&pricer->schedule, builder, error);
    ppi_builder_destroy(builder);
    return status;
}

ppsched_status ppi_pricer_make(struct ppi_pricer *out, const ppsched_config *config, int32_t placement, const ppsched_op *any,
                               size_t per_device, ppsched_error *error)
{
    struct ppi_pricer pricer = {.config = config};
    ppsched_status status = build(&pricer, placement, any, per_device, error);
    if (status == PPSCHED_OK)
        status = ppi_evaluate(&pricer.timeline, pricer.schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error);
    if (status == PPSCHED_OK)
        status = ppi_event_loop_make(&pricer.loop, pricer.schedule, error);
    if (status != PPSCHED_OK) {
        ppi_pricer_clear(&pricer);
        return status;
    }
    ppi_event_loop_set_costs(&pricer.loop, &pricer.timeline->costs);
    for (uint32_t d = 0; d < config->shape.devices; d++)
        if (pricer.timeline->devices[d].busy > pricer.least_span)
            pricer.least_span = pricer.timeline->devices[d].busy;
    *out = pricer;
    return PPSCHED_OK;
}

void ppi_pricer_clear(struct ppi_pricer *pricer)
{
    if (pricer->loop.schedule != NULL)
        ppi_event_loop_clear(&pricer->loop);
    ppi_timeline_destroy(pricer->timeline);
    ppi_schedule_release(pricer->schedule);
}

static void add_peak(const struct ppi_pricer *pricer, uint32_t device, double peak, struct ppi_price *out)
{
    out->peak = peak > out->peak ? peak : out->peak;
    out->fits = out->fits && !ppi_is_over_limit(peak, pricer->timeline->devices[device].memory_limit);
}

void ppi_price_memory(const struct ppi_pricer *pricer, const ppsched_op *ops, struct ppi_price *out)
{
    const ppsched_timeline *timeline = pricer->timeline;
    *out = (struct ppi_price){.fits = true};
    for (uint32_t d = 0; d < pricer->config->shape.devices; d++) {
        const ppsched_queue *queue = &pricer->schedule->queues[d];
        double memory = timeline->devices[d].static_memory, peak = memory;
        for (size_t i = 0; i < queue->count; i++) {
            const ppsched_op *op = &ops[queue->first + i];
            memory += timeline->costs.lanes[op->stage].memory[op->kind];
            peak = memory > peak ? memory : peak;
        }
        add_peak(pricer, d, peak, out);
    }
}

/* The longest span. */
static double find_span(const struct ppi_pricer *pricer, double *makespan)
{
    const ppsched_span *spans = pricer->timeline->spans;
    double longest = 0;
    *makespan = 0;
    for (uint32_t d = 0; d < pricer->config->shape.devices; d++) {
        const ppsched_queue *queue = &pricer->schedule->queues[d];
        double end = spans[queue->first + queue->count - 1].end, span = end - spans[queue->first].start;
        longest = span > longest ? span : longest;
        *makespan = end > *makespan ? end : *makespan;
    }
    return longest;
}

ppsched_status ppi_price(struct ppi_pricer *pricer, const ppsched_op *ops, struct ppi_price *out, ppsched_error *error)
{
    double makespan;
    memcpy(pricer->schedule->ops, ops, (size_t)pricer->schedule->op_count * sizeof *ops);
    ppsched_status status = ppi_earliest_starts(&pricer->loop, pricer->timeline, error);
    if (status != PPSCHED_OK)
        return status;
    *out = (struct ppi_price){.fits = true};
    for (uint32_t d = 0; d < pricer->config->shape.devices; d++)
        add_peak(pricer, d, pricer->timeline->devices[d].peak_memory, out);
    out->span = find_span(pricer, &makespan);
    if (!ppi_is_finite(out->peak))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of memory is too large for a double");
    if (!ppi_is_finite(pricer->config->shape.devices * makespan))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of times is too large for a double");
    return PPSCHED_OK;
}

void ppi_put_split(const struct ppi_strategy *fixed, const struct ppi_task *task, uint32_t device, ppsched_op *scratch,
                   ppsched_op *out)
{
    struct ppi_pen pen = {scratch, scratch + 3 * (size_t)task->chunks * task->run, 0};
    fixed->order(task, device, &pen);
    for (const ppsched_op *op = scratch; op < pen.next; op++) {
        *out = *op;
        out->flags = 0;
        if (op->kind == PPSCHED_KIND_B) {
            out->kind = PPSCHED_KIND_I;
            *++out = *op;
            out->kind = PPSCHED_KIND_W;
        }
        out++;
    }
}
