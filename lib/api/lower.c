/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: lowering a schedule. Also checks the options of lowering. */
#include "lower/lower.h"

#include "api/log.h"
#include "api/lower.h"
#include "api/null.h"
#include "base/sized.h"
#include "check/check.h"

enum { MOST_LEAD = 64, MOST_REDUCE_GRAD = 4 };

static ppsched_status check_lookaheads(const ppsched_lower_options *options, const ppsched_config *config, uint32_t devices,
                                       ppsched_error *error)
{
    bool is_list = options->unshard_lookahead == PPSCHED_UNSHARD_LOOKAHEAD_LIST;
    ppsched_status status = ppi_check_choice("unshard_lookahead", options->unshard_lookahead, PPSCHED_UNSHARD_LOOKAHEAD_FULL,
                                             PPSCHED_UNSHARD_LOOKAHEAD_NEEDED, error);
    if (status != PPSCHED_OK)
        return status;
    if (options->unshard == 0 && options->unshard_lookahead != PPSCHED_UNSHARD_LOOKAHEAD_FULL)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "unshard_lookahead needs unshard; set unshard to 1 or more stages");
    if (options->unshard_lookahead == PPSCHED_UNSHARD_LOOKAHEAD_NEEDED && config == NULL)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "unshard_lookahead needed requires a config with the times");
    if (options->unshard_lookahead_count != (is_list ? devices : 0))
        return ppi_fail(error, PPSCHED_ERROR_LENGTH, "unshard_lookaheads has %u value%p; it must have %u%s",
                        options->unshard_lookahead_count, is_list ? devices : 0,
                        is_list ? ", one per device" : ", as unshard_lookahead does not use a list");
    if (is_list && options->unshard_lookaheads == NULL)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "unshard_lookaheads is NULL");
    for (uint32_t d = 0; is_list && d < devices; d++)
        if (options->unshard_lookaheads[d] < 1 || options->unshard_lookaheads[d] > options->unshard)
            return ppi_fail_at(error, PPSCHED_ERROR_RANGE, (struct ppi_place){d, PPSCHED_NONE, PPSCHED_NONE, d},
                               "unshard_lookaheads: device %u has %u; it must be 1 to %u, the value of unshard", d,
                               options->unshard_lookaheads[d], options->unshard);
    return PPSCHED_OK;
}

static ppsched_status check_config(const ppsched_lower_options *options, const ppsched_config *config, ppsched_error *error)
{
    if (options->lowering == PPSCHED_LOWERING_BY_TIME && config == NULL)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "the by_time lowering needs a config with the times");
    if (options->lowering != PPSCHED_LOWERING_NONE && config != NULL && config->senders_wait)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "sender_waits like_kind cannot be used with a lowering, where sends and receives are ops; use never");
    return PPSCHED_OK;
}

static ppsched_status check_lower_options(const ppsched_lower_options *options, const ppsched_config *config,
                                          ppsched_error *error)
{
    ppsched_status status = ppi_check_choice("lowering", options->lowering, PPSCHED_LOWERING_NONE,
                                             PPSCHED_LOWERING_JUST_IN_TIME, error);
    if (status == PPSCHED_OK)
        status = check_config(options, config, error);
    if (status != PPSCHED_OK)
        return status;
    if (options->merge_backwards > 1 || options->split_backwards > 1 || options->defer_receives > 1)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "merge_backwards, split_backwards and defer_receives must be 0 or 1");
    if (options->reduce_grad > MOST_REDUCE_GRAD)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "reduce_grad is %u; it must be 0 to 4", options->reduce_grad);
    if (options->unshard > PPSCHED_MAX_STAGES)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "unshard is %u; it must be 0 to %u stage%p", options->unshard,
                        PPSCHED_MAX_STAGES);
    if (options->receive_prefetch > MOST_LEAD)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "receive_prefetch is %u; it must be 0 to %u op%p",
                        options->receive_prefetch, MOST_LEAD);
    if (options->receive_prefetch != 0 && options->lowering != PPSCHED_LOWERING_JUST_IN_TIME)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "receive_prefetch is only for the just_in_time lowering");
    if (options->defer_receives != 0 && options->lowering != PPSCHED_LOWERING_PYTORCH)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "defer_receives is only for the pytorch lowering");
    return PPSCHED_OK;
}

/* Checks how many iterations are reduced together. */
static ppsched_status check_reduce_every(const ppsched_lower_options *options, uint32_t iterations, ppsched_error *error)
{
    if (options->reserved != 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "reserved is %u; it must be 0", options->reserved);
    if (options->reduce_every > 0 && options->reduce_grad == 0)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "reduce_every is only with reduce_grad");
    if (options->reduce_every > 0 && iterations % options->reduce_every != 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "reduce_every is %u; it must divide the %u iteration%s of the schedule",
                        options->reduce_every, iterations, iterations == 1 ? "" : "s");
    return PPSCHED_OK;
}

ppsched_status ppi_check_lower_options(const ppsched_lower_options *options, const ppsched_config *config, uint32_t devices,
                                       uint32_t iterations, ppsched_error *error)
{
    ppsched_status status = check_lower_options(options, config, error);
    if (status == PPSCHED_OK)
        status = check_reduce_every(options, iterations, error);
    return status == PPSCHED_OK ? check_lookaheads(options, config, devices, error) : status;
}

/* Checks that a schedule can run, and that it has compute ops only. */
static ppsched_status check_schedule(const ppsched_schedule *schedule, ppsched_error *error)
{
    struct ppi_findings findings = {0};
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        for (size_t i = 0; i < schedule->queues[d].count; i++) {
            const ppsched_op *op = &schedule->queues[d].ops[i];
            if (!ppi_is_compute(op->kind) && !ppi_keeps_less(op->kind))
                return ppi_fail_at(error, PPSCHED_ERROR_REFUSED, (struct ppi_place){d, op->stage, op->microbatch, (uint32_t)i},
                                   "device %u has %s at position %zu: the schedule has been lowered already", d,
                                   ppi_kind_token(op->kind), i);
        }
    return ppi_check(schedule, &findings, error);
}

ppsched_status ppsched_schedule_lower(ppsched_schedule **out, const ppsched_schedule *schedule, const ppsched_config *config,
                                      const ppsched_lower_options *options, ppsched_error *error)
{
    ppsched_lower_options own;
    PPI_REQUIRE(out);
    PPI_REQUIRE(schedule);
    PPI_REQUIRE(options);
    ppsched_status status = ppi_take_sized(&own, sizeof own, PPI_SIZE_UP_TO(ppsched_lower_options, receive_prefetch), options,
                                           "ppsched_lower_options", error);
    if (status == PPSCHED_OK)
        status = ppi_check_lower_options(&own, config, schedule->shape.devices, schedule->shape.iterations, error);
    if (status == PPSCHED_OK && schedule->placement.graph != NULL)
        status = ppi_lower_takes_graph(schedule->placement.graph, &own, error);
    if (status == PPSCHED_OK)
        status = check_schedule(schedule, error);
    if (status == PPSCHED_OK)
        status = ppi_lower(out, schedule, config, &own, error);
    if (status == PPSCHED_OK)
        ppi_log_schedule(*out, "lowered");
    return status;
}
