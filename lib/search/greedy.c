/* SPDX-License-Identifier: Apache-2.0 */
#include "search/greedy.h"

#include "base/error.h"

static void connect(struct ppi_greedy *greedy, double *ends)
{
    const struct ppi_problem *problem = greedy->problem;
    for (uint32_t s = 0; s < problem->stages; s++) {
        const struct ppi_stage *costs = &problem->stage[s];
        struct ppi_greedy_stage *stage = &greedy->stage[s];
        *stage = (struct ppi_greedy_stage){.costs = costs,
                                           .at = &greedy->partial.device[costs->device],
                                           .done = &greedy->partial.stage[s].done,
                                           .device = &greedy->device[costs->device],
                                           .forward_end = ends,
                                           .input_end = ends + problem->microbatches};
        ends = stage->input_end + problem->microbatches;
        stage->device->work += (costs->duration[PPSCHED_KIND_F] + costs->duration[PPSCHED_KIND_I] +
                                costs->duration[PPSCHED_KIND_W]) *
                               problem->microbatches;
    }
}

ppsched_status ppi_greedy_make(struct ppi_greedy *out, const struct ppi_problem *problem, ppsched_error *error)
{
    struct ppi_greedy greedy = {.problem = problem};
    double *memory = ppi_allocate(&problem->host, ppi_partial_room(problem), sizeof *memory);
    greedy.partial.block = memory;
    greedy.device = ppi_allocate_zeroed(&problem->host, problem->devices, sizeof *greedy.device);
    greedy.stage = ppi_allocate(&problem->host, problem->stages, sizeof *greedy.stage);
    if (memory == NULL || greedy.device == NULL || greedy.stage == NULL) {
        ppi_greedy_clear(&greedy);
        return ppi_fail_memory(error, "the search");
    }
    greedy.partial = ppi_partial_at(problem, memory);
    connect(&greedy, memory + ppi_partial_block(problem));
    *out = greedy;
    return PPSCHED_OK;
}

void ppi_greedy_clear(struct ppi_greedy *greedy)
{
    if (greedy->problem == NULL)
        return;
    ppi_release(&greedy->problem->host, greedy->stage);
    ppi_release(&greedy->problem->host, greedy->device);
    ppi_release(&greedy->problem->host, greedy->partial.block);
}

void ppi_greedy_start(struct ppi_greedy *greedy, struct ppi_orders *out)
{
    greedy->longest = greedy->worst_idle = 0;
    ppi_partial_start(&greedy->partial);
    for (uint32_t d = 0; d < greedy->problem->devices; d++) {
        struct ppi_greedy_device *device = &greedy->device[d];
        device->idle = 0;
        device->due = device->next = out->ops + out->first[d];
        out->count[d] = out->first[d + 1] - out->first[d];
        greedy->longest = ppi_larger(greedy->longest, device->work);
    }
}

double ppi_greedy_span(const struct ppi_greedy *greedy)
{
    const struct ppi_partial *partial = &greedy->partial;
    double span = 0;
    if (!ppi_partial_is_complete(partial))
        return PPI_INFINITE;
    for (uint32_t d = 0; d < greedy->problem->devices; d++)
        span = ppi_larger(span, partial->device[d].clock - partial->device[d].start);
    return span;
}
