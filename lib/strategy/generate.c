/* SPDX-License-Identifier: Apache-2.0 */
/* From a strategy and a problem to a schedule: what all strategies share. */
#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "base/format.h"
#include "base/nearest.h"
#include "base/number.h"
#include "strategy/strategy.h"

ppsched_status ppi_refuse(ppsched_error *error, const struct ppi_strategy *strategy, const char *format, ...)
{
    char reason[sizeof error->message];
    va_list arguments;
    if (error == NULL)
        return PPSCHED_ERROR_REFUSED;
    va_start(arguments, format);
    ppi_format(reason, sizeof reason, format, arguments);
    va_end(arguments);
    return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s: %s", strategy->name, reason);
}

static ppsched_status unknown_option(const struct ppi_strategy *strategy, const char *name, ppsched_error *error)
{
    struct ppi_nearest best = ppi_nearest_start(name);
    for (uint32_t i = 0; i < strategy->option_count; i++)
        ppi_nearest_offer(&best, strategy->options[i].name, strategy->options[i].name);
    if (best.answer == NULL)
        return ppi_fail(error, PPSCHED_ERROR_UNKNOWN_OPTION, "%s has no option \"%q\"; it has none at all", strategy->name,
                        name);
    return ppi_fail(error, PPSCHED_ERROR_UNKNOWN_OPTION, "%s has no option \"%q\"; did you mean %s?", strategy->name, name,
                    best.answer);
}

static ppsched_status read_option(int64_t *out, const struct ppi_strategy *strategy, const struct ppi_option_row *row,
                                  const char *value, ppsched_error *error)
{
    if (ppi_text_to_integer(value, out) && *out >= row->minimum && *out <= row->maximum)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s: option %s is \"%q\"; it must be an integer from %lld to %lld",
                    strategy->name, row->name, value, (long long)row->minimum, (long long)row->maximum);
}

static ppsched_status read_options(struct ppi_task *task, const struct ppi_strategy *strategy, const ppsched_config *config,
                                   ppsched_error *error)
{
    for (uint32_t i = 0; i < strategy->option_count; i++)
        task->option[i] = strategy->options[i].fallback(&config->shape);
    for (size_t o = 0; o < config->option_count; o++) {
        uint32_t i = 0;
        while (i < strategy->option_count && !ppi_same_name(strategy->options[i].name, config->options[o].name))
            i++;
        if (i == strategy->option_count)
            return unknown_option(strategy, config->options[o].name, error);
        ppsched_status status =
            read_option(&task->option[i], strategy, &strategy->options[i], config->options[o].value, error);
        if (status != PPSCHED_OK)
            return status;
    }
    return PPSCHED_OK;
}

/* The caller's choice of a placement, if he made one, must be the strategy's. */
static ppsched_status check_placement(const struct ppi_strategy *strategy, const ppsched_config *config, ppsched_error *error)
{
    if (ppi_config_allows(config, strategy->placement))
        return PPSCHED_OK;
    return ppi_refuse(error, strategy, "needs %s placement, not %s", ppi_placement_name(strategy->placement),
                      ppi_placement_name(config->placement));
}

ppsched_status ppi_serve(const struct ppi_strategy *strategy, struct ppi_task *task, ppsched_error *error)
{
    const struct ppi_shape *shape = &task->shape;
    if (strategy->chunks != 0 && shape->stages != strategy->chunks * shape->devices)
        return ppi_refuse(error, strategy, "needs %u stage%s per device, not %u stages on %u devices", strategy->chunks,
                          strategy->chunks == 1 ? "" : "s", shape->stages, shape->devices);
    if (shape->stages % shape->devices != 0)
        return ppi_refuse(error, strategy, "needs a multiple of %u stages on %u devices, not %u", shape->devices,
                          shape->devices, shape->stages);
    task->chunks = shape->stages / shape->devices;
    task->run = strategy->flushes ? shape->microbatches : ppi_total_microbatches(shape);
    return strategy->fits != NULL ? strategy->fits(task, error) : PPSCHED_OK;
}

ppsched_status ppi_task_make(struct ppi_task *out, const struct ppi_strategy *strategy, const ppsched_config *config,
                             ppsched_error *error)
{
    struct ppi_task task = {.shape = config->shape};
    char nearest[200];
    ppsched_error reason;
    ppsched_status status = check_placement(strategy, config, error);
    if (status == PPSCHED_OK)
        status = read_options(&task, strategy, config, error);
    if (status != PPSCHED_OK)
        return status;
    status = ppi_serve(strategy, &task, &reason);
    if (status == PPSCHED_OK) {
        *out = task;
        return PPSCHED_OK;
    }
    if (error == NULL)
        return status;
    ppi_suggest(nearest, sizeof nearest, strategy, &task);
    return ppi_fail(error, status, "%s%s", reason.message, nearest);
}

static void put_ops(ppsched_builder *builder, const struct ppi_strategy *strategy, const struct ppi_task *task)
{
    for (uint32_t d = 0; d < task->shape.devices; d++) {
        struct ppi_pen pen = ppi_pen_open(builder, d);
        for (; pen.first_microbatch < ppi_total_microbatches(&task->shape); pen.first_microbatch += task->run)
            strategy->order(task, d, &pen);
        ppi_pen_close(builder, d, &pen);
    }
}

/* Repeats one iteration's ops for all. */
static void put_planned(ppsched_builder *builder, const struct ppi_task *task, const ppsched_op *ops, size_t per_device)
{
    for (uint32_t d = 0; d < task->shape.devices; d++) {
        struct ppi_pen pen = ppi_pen_open(builder, d);
        for (; pen.first_microbatch < ppi_total_microbatches(&task->shape); pen.first_microbatch += task->run)
            for (const ppsched_op *op = ops + d * per_device; op < ops + (d + 1) * per_device; op++)
                ppi_put(&pen, op->kind, op->stage, op->microbatch);
        ppi_pen_close(builder, d, &pen);
    }
}

static ppsched_status plan_ops(ppsched_builder *builder, const struct ppi_strategy *strategy, const struct ppi_task *task,
                               const ppsched_config *config, ppsched_error *error)
{
    ppsched_config *single = NULL;
    size_t per_device = 3 * (size_t)task->chunks * task->run;
    ppsched_op *ops = ppi_allocate(&config->host, task->shape.devices * per_device, sizeof *ops);
    ppsched_status status = ops != NULL ? ppi_config_copy(&single, config, error) : ppi_fail_memory(error, "the search");
    if (status == PPSCHED_OK) {
        single->shape.iterations = 1;
        status = strategy->plan(task, single, ops, error);
    }
    if (status == PPSCHED_OK)
        put_planned(builder, task, ops, per_device);
    ppi_config_destroy(single);
    ppi_release(&config->host, ops);
    return status;
}

static ppsched_status fill(ppsched_builder *builder, const struct ppi_strategy *strategy, const struct ppi_task *task,
                           const ppsched_config *config, ppsched_error *error)
{
    size_t kinds = strategy->splits_backward ? 3 : 2;
    ppsched_status status =
        ppi_builder_reserve(builder, kinds * task->chunks * ppi_total_microbatches(&task->shape), error);
    if (status == PPSCHED_OK && strategy->plan != NULL)
        return plan_ops(builder, strategy, task, config, error);
    if (status == PPSCHED_OK)
        put_ops(builder, strategy, task);
    return status;
}

ppsched_status ppi_generate(ppsched_schedule **out, const struct ppi_strategy *strategy, const ppsched_config *config,
                            ppsched_error *error)
{
    struct ppi_task task;
    ppsched_builder *builder = NULL;
    ppsched_status status = ppi_task_make(&task, strategy, config, error);
    if (status == PPSCHED_OK)
        status = ppi_builder_create(&builder, config, strategy->placement, strategy->name, error);
    if (status != PPSCHED_OK)
        return status;
    builder->flushes = strategy->flushes;
    builder->weight_versions = config->weight_versions != 0 ? config->weight_versions : strategy->weight_versions;
    status = fill(builder, strategy, &task, config, error);
    if (status == PPSCHED_OK)
        status = ppi_builder_finish(out, builder, error);
    ppi_builder_destroy(builder);
    if (status == PPSCHED_OK)
        ppi_log(&config->host, PPSCHED_LOG_INFO, "generated %s: %u devices, %u stages, %u microbatches, %u iterations",
                strategy->name, task.shape.devices, task.shape.stages, task.shape.microbatches, task.shape.iterations);
    return status;
}
