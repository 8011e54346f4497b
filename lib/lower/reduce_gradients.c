/* SPDX-License-Identifier: Apache-2.0 */
/* Adds REDUCE_GRADs: a stage's follows the op that makes its last weight gradient of an iteration, or of several. With waits,
 * each is waited for at once, or as late as one reduction at a time allows. */
#include "base/error.h"
#include "lower/passes.h"

/* The op of a unit that makes a weight gradient, or NULL; the second op of a pair is its backward. */
static const ppsched_op *weight_of(const ppsched_op *unit)
{
    const ppsched_op *op = &unit[ppi_unit_length(unit) - 1];
    return op->kind == PPSCHED_KIND_B || op->kind == PPSCHED_KIND_W ? op : NULL;
}

/* Number of micro-slices of an iteration that a model copy runs. */
static uint32_t share(const ppsched_schedule *schedule, uint32_t copy)
{
    uint32_t all = schedule->shape.microbatches, own = all;
    if (schedule->placement.copies > 1)
        own = copy == 1 ? all / 2 : all - all / 2;
    return own * schedule->shape.slices;
}

/* A device whose reductions are added. */
struct reducing {
    ppsched_builder *out;
    const ppsched_schedule *schedule;
    uint32_t device;
    uint32_t waits;     /* of reduce_grad */
    uint32_t every;     /* iterations whose gradients are reduced together */
    uint32_t *made;     /* weight gradients, by such iterations, copy and stage */
    uint32_t in_flight; /* stage that is to be waited for, or PPSCHED_NONE */
    uint32_t *stages;   /* stage instances, by device */
    uint32_t left;      /* of them, those that are not reduced yet in these iterations */
};

static void count_stages(uint32_t *count, const ppsched_schedule *schedule)
{
    for (size_t i = 0; i < (size_t)schedule->placement.copies * schedule->shape.stages; i++)
        count[schedule->placement.device_of[i]]++;
}

/* Whether a unit makes the last weight gradient of its stage before a reduction. */
static bool ends_stage(const struct reducing *reducing, const ppsched_op *weight)
{
    const ppsched_schedule *schedule = reducing->schedule;
    if (weight == NULL)
        return false;
    uint32_t copy = ppi_copy_of(&schedule->placement, &schedule->shape, weight->microbatch);
    uint32_t iteration = weight->microbatch / schedule->shape.microbatches;
    size_t instance = (size_t)(iteration / reducing->every) * schedule->placement.copies + copy;
    return ++reducing->made[instance * schedule->shape.stages + weight->stage] == reducing->every * share(schedule, copy);
}

static ppsched_status put_reducing(struct reducing *reducing, uint8_t kind, uint32_t stage, ppsched_error *error)
{
    ppsched_op op = {.microbatch = PPSCHED_NONE, .stage = (uint16_t)stage, .kind = kind};
    return ppi_builder_append(reducing->out, reducing->device, &op, 1, error);
}

/* Waits for the reduction in flight, if there is one. */
static ppsched_status wait(struct reducing *reducing, ppsched_error *error)
{
    uint32_t stage = reducing->in_flight;
    reducing->in_flight = PPSCHED_NONE;
    return stage == PPSCHED_NONE ? PPSCHED_OK : put_reducing(reducing, PPSCHED_KIND_WAIT_REDUCE_GRAD, stage, error);
}

static ppsched_status reduce(struct reducing *reducing, uint32_t stage, ppsched_error *error)
{
    ppsched_status status = wait(reducing, error);
    if (status == PPSCHED_OK)
        status = put_reducing(reducing, PPSCHED_KIND_REDUCE_GRAD, stage, error);
    if (reducing->waits >= PPI_WAITS_AT_ONCE)
        reducing->in_flight = stage;
    if (status == PPSCHED_OK && reducing->waits == PPI_WAITS_AT_ONCE)
        status = wait(reducing, error);
    reducing->left = (reducing->left == 0 ? reducing->stages[reducing->device] : reducing->left) - 1;
    return status;
}

/* Whether a flush comes before an op: the first after all reductions of an iteration that is not the RESHARD of its stages. */
static bool is_after_flush(const struct reducing *reducing, const ppsched_op *op)
{
    return reducing->left == 0 && reducing->schedule->flushes && op->kind != PPSCHED_KIND_RESHARD;
}

static ppsched_status reduce_device(struct reducing *reducing, ppsched_error *error)
{
    const ppsched_queue *queue = &reducing->schedule->queues[reducing->device];
    ppsched_status status = PPSCHED_OK;
    reducing->in_flight = PPSCHED_NONE;
    reducing->left = reducing->stages[reducing->device];
    for (size_t i = 0; i < queue->count && status == PPSCHED_OK; i += ppi_unit_length(&queue->ops[i])) {
        const ppsched_op *unit = &queue->ops[i], *weight = weight_of(unit);
        if (is_after_flush(reducing, unit))
            status = wait(reducing, error);
        if (status == PPSCHED_OK)
            status = ppi_builder_append(reducing->out, reducing->device, unit, ppi_unit_length(unit), error);
        if (status == PPSCHED_OK && ends_stage(reducing, weight))
            status = reduce(reducing, weight->stage, error);
    }
    return status == PPSCHED_OK ? wait(reducing, error) : status;
}

ppsched_status ppi_reduce_gradients(ppsched_builder *out, const ppsched_schedule *schedule, uint32_t waits, uint32_t every,
                                    ppsched_error *error)
{
    struct reducing reducing = {.out = out, .schedule = schedule, .waits = waits, .every = every};
    ppsched_status status = PPSCHED_OK;
    size_t instances = (size_t)schedule->shape.iterations * schedule->placement.copies;
    reducing.made = ppi_allocate_zeroed(&schedule->host, instances * schedule->shape.stages, sizeof *reducing.made);
    reducing.stages = ppi_allocate_zeroed(&schedule->host, schedule->shape.devices, sizeof *reducing.stages);
    if (reducing.made == NULL || reducing.stages == NULL)
        status = ppi_fail_memory(error, "the lowering");
    else
        count_stages(reducing.stages, schedule);
    for (; reducing.device < schedule->shape.devices && status == PPSCHED_OK; reducing.device++)
        status = reduce_device(&reducing, error);
    ppi_release(&schedule->host, reducing.made);
    ppi_release(&schedule->host, reducing.stages);
    return status;
}
