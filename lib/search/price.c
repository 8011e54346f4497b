/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule and its event loop are built once; then an order only overwrites the ops, while no device's number of ops
 * changes. Which ops are pairs, and what senders wait for, each timing finds anew. */
#include "search/price.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "ir/builder.h"

static ppsched_status build(ppsched_schedule **out, const ppsched_config *config, int32_t placement,
                            const struct ppi_orders *orders, ppsched_error *error)
{
    ppsched_builder *builder = NULL;
    ppsched_status status = ppi_builder_create(&builder, config, placement, "candidate", error);
    for (uint32_t d = 0; d < orders->devices && status == PPSCHED_OK; d++)
        status = ppi_builder_append(builder, d, orders->ops + orders->first[d], orders->count[d], error);
    if (status == PPSCHED_OK)
        status = ppi_builder_finish(out, builder, error);
    ppi_builder_destroy(builder);
    return status;
}

static ppsched_status make(struct ppi_pricer *pricer, const ppsched_config *config, int32_t placement,
                           const struct ppi_orders *orders, ppsched_error *error)
{
    ppsched_status status = build(&pricer->schedule, config, placement, orders, error);
    if (status == PPSCHED_OK)
        status = ppi_timeline_make(&pricer->timeline, pricer->schedule, config, false, false, error);
    if (status == PPSCHED_OK)
        status = ppi_costs_fill(&pricer->timeline->costs, config, &pricer->schedule->placement, error);
    if (status == PPSCHED_OK)
        status = ppi_event_loop_make(&pricer->loop, pricer->schedule, error);
    if (status != PPSCHED_OK) {
        ppi_pricer_clear(pricer);
        return status;
    }
    ppi_timeline_start_ends(pricer->timeline);
    ppi_static_memory(pricer->timeline, config);
    ppi_event_loop_set_costs(&pricer->loop, &pricer->timeline->costs);
    return PPSCHED_OK;
}

void ppi_pricer_clear(struct ppi_pricer *pricer)
{
    if (pricer->loop.schedule != NULL)
        ppi_event_loop_clear(&pricer->loop);
    ppi_timeline_destroy(pricer->timeline);
    ppi_schedule_release(pricer->schedule);
    *pricer = (struct ppi_pricer){0};
}

/* Whether each device has the same number of ops in both. */
static bool has_counts(const ppsched_schedule *schedule, const struct ppi_orders *orders)
{
    for (uint32_t d = 0; d < orders->devices; d++)
        if (schedule->queues[d].count != orders->count[d])
            return false;
    return true;
}

ppsched_status ppi_pricer_put(struct ppi_pricer *pricer, const ppsched_config *config, int32_t placement,
                              const struct ppi_orders *orders, ppsched_error *error)
{
    if (pricer->schedule == NULL || !has_counts(pricer->schedule, orders)) {
        ppi_pricer_clear(pricer);
        return make(pricer, config, placement, orders, error);
    }
    for (uint32_t d = 0; d < orders->devices; d++)
        if (orders->count[d] > 0)
            memcpy(pricer->schedule->ops + pricer->schedule->queues[d].first, orders->ops + orders->first[d],
                   orders->count[d] * sizeof *orders->ops);
    return PPSCHED_OK;
}

/* The longest device span, or the makespan. */
static double longest(const struct ppi_pricer *pricer, bool is_span)
{
    const ppsched_span *spans = pricer->timeline->spans;
    double most = 0;
    for (uint32_t d = 0; d < pricer->schedule->shape.devices; d++) {
        const ppsched_queue *queue = &pricer->schedule->queues[d];
        if (queue->count > 0)
            most = ppi_larger(most, spans[queue->first + queue->count - 1].end - (is_span ? spans[queue->first].start : 0));
    }
    return most;
}

/* The overflow checks that the evaluator makes of its figures. */
static ppsched_status check_sums(const struct ppi_pricer *pricer, ppsched_error *error)
{
    uint32_t devices = pricer->schedule->shape.devices;
    for (uint32_t d = 0; d < devices; d++)
        if (!ppi_is_finite(pricer->timeline->devices[d].peak_memory))
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of memory is too large for a double");
    if (!ppi_is_finite(devices * longest(pricer, false)))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of times is too large for a double");
    return PPSCHED_OK;
}

ppsched_status ppi_pricer_time(struct ppi_pricer *pricer, double span_share, double *objective, ppsched_error *error)
{
    ppsched_status status = ppi_earliest_starts(&pricer->loop, pricer->timeline, error);
    if (status == PPSCHED_OK)
        status = check_sums(pricer, error);
    if (status == PPSCHED_OK)
        *objective = ppi_objective(span_share, longest(pricer, true), longest(pricer, false));
    return status;
}
