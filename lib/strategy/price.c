/* SPDX-License-Identifier: Apache-2.0 */
#include "strategy/price.h"

#include <string.h>

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
        status = ppi_evaluate(&pricer.timeline, pricer.schedule, config, PPSCHED_EVALUATE_EARLIEST_ONLY, error);
    if (status != PPSCHED_OK) {
        ppi_pricer_clear(&pricer);
        return status;
    }
    for (uint32_t d = 0; d < config->shape.devices; d++)
        if (pricer.timeline->devices[d].busy > pricer.least_span)
            pricer.least_span = pricer.timeline->devices[d].busy;
    *out = pricer;
    return PPSCHED_OK;
}

void ppi_pricer_clear(struct ppi_pricer *pricer)
{
    ppi_timeline_destroy(pricer->timeline);
    ppi_schedule_release(pricer->schedule);
}

ppsched_status ppi_price(struct ppi_pricer *pricer, const ppsched_op *ops, struct ppi_price *out, ppsched_error *error)
{
    memcpy(pricer->schedule->ops, ops, (size_t)pricer->schedule->op_count * sizeof *ops);
    ppsched_status status = ppi_evaluate_again(pricer->timeline, pricer->config, error);
    if (status != PPSCHED_OK)
        return status;
    out->span = pricer->timeline->metrics.span;
    out->fits = pricer->timeline->metrics.limit_device == PPSCHED_NONE;
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
