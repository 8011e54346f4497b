/* SPDX-License-Identifier: Apache-2.0 */
#include "search/greedy.h"

#include <string.h>

#include "base/error.h"

ppsched_status ppi_greedy_make(struct ppi_greedy *out, const struct ppi_problem *problem, ppsched_error *error)
{
    size_t block = ppi_partial_doubles(problem), cells = (size_t)problem->stages * problem->microbatches;
    struct ppi_greedy greedy = {.problem = problem};
    double *memory = ppi_allocate(&problem->host, block + 2 * cells + 2 * (size_t)problem->devices, sizeof *memory);
    greedy.due = ppi_allocate(&problem->host, problem->devices, sizeof *greedy.due);
    if (memory == NULL || greedy.due == NULL) {
        ppi_release(&problem->host, memory);
        ppi_release(&problem->host, greedy.due);
        return ppi_fail_memory(error, "the search");
    }
    ppi_partial_place(&greedy.partial, problem, memory);
    greedy.ends = (struct ppi_ends){memory + block, memory + block + cells};
    greedy.idle = memory + block + 2 * cells;
    greedy.work = greedy.idle + problem->devices;
    memset(greedy.work, 0, problem->devices * sizeof *greedy.work);
    for (uint32_t s = 0; s < problem->stages; s++) {
        const double *duration = problem->stage[s].duration;
        greedy.work[problem->stage[s].device] += (duration[PPSCHED_KIND_F] + duration[PPSCHED_KIND_I] +
                                                  duration[PPSCHED_KIND_W]) *
                                                 problem->microbatches;
    }
    *out = greedy;
    return PPSCHED_OK;
}

void ppi_greedy_clear(struct ppi_greedy *greedy)
{
    if (greedy->problem == NULL)
        return;
    ppi_release(&greedy->problem->host, greedy->due);
    ppi_release(&greedy->problem->host, greedy->partial.block);
}

void ppi_greedy_start(struct ppi_greedy *greedy, struct ppi_orders *out)
{
    greedy->out = out;
    greedy->longest = 0;
    ppi_partial_start(&greedy->partial, greedy->problem);
    for (uint32_t d = 0; d < greedy->problem->devices; d++) {
        greedy->longest = ppi_larger(greedy->longest, greedy->work[d]);
        greedy->idle[d] = 0;
        greedy->due[d] = out->count[d] = 0;
    }
}

double ppi_greedy_span(const struct ppi_greedy *greedy)
{
    const struct ppi_partial *partial = &greedy->partial;
    double span = 0;
    if (!ppi_partial_is_complete(partial, greedy->problem))
        return PPI_INFINITE;
    for (uint32_t d = 0; d < greedy->problem->devices; d++)
        span = ppi_larger(span, partial->clock[d] - partial->start[d]);
    return span;
}
