/* SPDX-License-Identifier: Apache-2.0 */
/* Which runtimes run a candidate: its order, and with layers also its split. */
#include "base/error.h"
#include "candidate/candidate.h"
#include "ir/builder.h"
#include "ir/stage_graph.h"

/* The first iteration of an order that flushes, since runtimes repeat one iteration. The caller releases `*out`. */
static ppsched_status first_iteration(ppsched_schedule **out, const ppsched_schedule *order, ppsched_error *error)
{
    ppsched_builder *builder = NULL;
    ppsched_status status = ppi_builder_like(&builder, order, error);
    if (status == PPSCHED_OK)
        builder->shape.iterations = 1;
    for (uint32_t d = 0; d < order->shape.devices && status == PPSCHED_OK; d++) {
        const ppsched_queue *queue = &order->queues[d];
        size_t count = 0;
        while (count < queue->count && queue->ops[count].microbatch < order->shape.microbatches)
            count++;
        status = ppi_builder_append(builder, d, queue->ops, count, error);
    }
    if (status == PPSCHED_OK)
        status = ppi_builder_finish(out, builder, error);
    ppi_builder_destroy(builder);
    return status;
}

static ppsched_status ask(const ppsched_schedule *order, struct ppi_parts *parts, const struct ppi_runtime *runtime, bool exact,
                          ppsched_error *error)
{
    struct ppi_launch launch = {
        .schedule = order, .exact = exact, .parts = parts, .layers = parts != NULL ? parts->decoders : 0, .data_parallel = 1};
    ppsched_schedule *first = NULL;
    ppsched_status status = ppi_refuse_graph(order->placement.graph, "launch arguments", error);
    if (status == PPSCHED_OK && order->flushes && order->shape.iterations > 1) {
        status = first_iteration(&first, order, error);
        launch.schedule = first;
    }
    if (status == PPSCHED_OK)
        status = ppi_launch_ask(&launch, runtime, error);
    ppi_schedule_release(first);
    return status;
}

static ppsched_status ask_all(const ppsched_plan *plan, struct ppi_candidate *candidate, const ppsched_schedule *order,
                              struct ppi_parts *parts, ppsched_error *error)
{
    const struct ppi_runtime *runtime = NULL;
    ppsched_status status = plan->runtime != NULL ? ask(order, parts, plan->runtime, false, error) : PPSCHED_OK;
    for (int32_t i = 1; i <= PPI_LAST_RUNTIME && status == PPSCHED_OK; i++) {
        if ((plan->runtimes >> i & 1) == 0)
            continue;
        ppi_runtime_find(&runtime, i, NULL);
        ppsched_status can = ask(order, parts, runtime, true, NULL);
        candidate->runs_on |= can == PPSCHED_OK ? 1u << i : 0;
        status = can == PPSCHED_ERROR_NO_MEMORY ? ppi_fail_memory(error, "the check of runtimes") : PPSCHED_OK;
    }
    return status;
}

ppsched_status ppi_candidate_ask_runtimes(const ppsched_plan *plan, struct ppi_candidate *candidate,
                                          const ppsched_schedule *order, ppsched_error *error)
{
    const ppsched_split split = {sizeof split, candidate->stages, candidate->layers, candidate->recomputes};
    struct ppi_parts parts = {.layers = NULL};
    candidate->runs_on = 0;
    if (plan->runtime == NULL && plan->runtimes == 0)
        return PPSCHED_OK;
    ppsched_status status = PPSCHED_OK;
    if (plan->layers != NULL)
        status = ppi_parts_make(&parts, &order->host, plan->layers, &split, error);
    if (status == PPSCHED_OK)
        status = ask_all(plan, candidate, order, plan->layers != NULL ? &parts : NULL, error);
    ppi_parts_clear(&parts);
    return status;
}

ppsched_status ppi_candidate_ask_order(const ppsched_plan *plan, const struct ppi_candidate *candidate,
                                       const ppsched_schedule *order, ppsched_error *error)
{
    const ppsched_split split = {sizeof split, candidate->stages, candidate->layers, candidate->recomputes};
    struct ppi_parts parts = {.layers = NULL};
    ppsched_status status = plan->runtime != NULL ? ask(order, NULL, plan->runtime, false, error) : PPSCHED_OK;
    if (status == PPSCHED_OK || status == PPSCHED_ERROR_NO_MEMORY)
        return status;
    status = ppi_parts_make(&parts, &order->host, plan->layers, &split, error);
    if (status == PPSCHED_OK)
        status = ask(order, &parts, plan->runtime, false, error);
    ppi_parts_clear(&parts);
    return status;
}
