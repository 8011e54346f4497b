/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the lowered queue and the original one in parallel, with the compute ops as the common points. */
#include "lower/set_aside.h"

#include "ir/builder.h"

/* Makes a schedule of the same shape from what `put` appends for each device. */
static ppsched_status make_like(ppsched_schedule **out, const ppsched_schedule *like, const ppsched_schedule *with,
                                ppsched_status (*put)(ppsched_builder *, const ppsched_queue *, const ppsched_queue *,
                                                      ppsched_error *),
                                ppsched_error *error)
{
    ppsched_builder *builder = NULL;
    ppsched_status status = ppi_builder_like(&builder, like, error);
    for (uint32_t d = 0; d < like->shape.devices && status == PPSCHED_OK; d++)
        status = put(builder, &like->queues[d], &with->queues[d], error);
    if (status == PPSCHED_OK)
        status = ppi_builder_finish(out, builder, error);
    ppi_builder_destroy(builder);
    return status;
}

static ppsched_status put_others(ppsched_builder *builder, const ppsched_queue *queue, const ppsched_queue *same,
                                 ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    (void)same;
    for (size_t i = 0; i < queue->count && status == PPSCHED_OK; i++)
        if (!ppi_keeps_less(queue->ops[i].kind))
            status = ppi_builder_append(builder, queue->device, &queue->ops[i], 1, error);
    return status;
}

ppsched_status ppi_take_saving_out(ppsched_schedule **out, const ppsched_schedule *schedule, ppsched_error *error)
{
    return make_like(out, schedule, schedule, put_others, error);
}

/* Appends ops from `*position` on while they are copies, or any of memory saving. */
static ppsched_status put_saving(ppsched_builder *builder, const ppsched_queue *kept, size_t *position, bool copies_alone,
                                 ppsched_error *error)
{
    size_t first = *position;
    while (*position < kept->count && ppi_keeps_less(kept->ops[*position].kind) &&
           !(copies_alone && !ppi_is_copy(kept->ops[*position].kind)))
        ++*position;
    return ppi_builder_append(builder, kept->device, kept->ops + first, *position - first, error);
}

static ppsched_status put_both(ppsched_builder *builder, const ppsched_queue *lowered, const ppsched_queue *kept,
                               ppsched_error *error)
{
    size_t position = 0;
    ppsched_status status = PPSCHED_OK;
    for (size_t i = 0; i < lowered->count && status == PPSCHED_OK; i++) {
        bool computes = ppi_is_compute(lowered->ops[i].kind);
        if (computes)
            status = put_saving(builder, kept, &position, false, error);
        if (status == PPSCHED_OK)
            status = ppi_builder_append(builder, lowered->device, &lowered->ops[i], 1, error);
        if (!computes || status != PPSCHED_OK)
            continue;
        position++;
        status = put_saving(builder, kept, &position, true, error);
    }
    return status == PPSCHED_OK ? put_saving(builder, kept, &position, false, error) : status;
}

ppsched_status ppi_put_saving_back(ppsched_schedule **out, const ppsched_schedule *lowered, const ppsched_schedule *schedule,
                                   ppsched_error *error)
{
    return make_like(out, lowered, schedule, put_both, error);
}
