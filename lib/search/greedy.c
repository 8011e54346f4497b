/* SPDX-License-Identifier: Apache-2.0 */
/* The times at which Fs and Is end are in one table, from which each stage reads the ends that it awaits and writes its
 * own. */
#include "search/greedy.h"

#include <string.h>

#include "search/periodic.h"

/* A row of ends per link: the first is what the first F waits for, then come the ends of each link, for which the next link
 * waits. After the last microbatch each row has an entry that stays infinite. */
static size_t row_length(const struct ppi_problem *problem)
{
    return (size_t)problem->microbatches + 1;
}

static size_t rows(const struct ppi_problem *problem)
{
    return 2 * (size_t)problem->stages + 1;
}

static void connect(struct ppi_greedy *greedy)
{
    const struct ppi_problem *problem = greedy->problem;
    for (uint32_t s = 0; s < problem->stages; s++) {
        const struct ppi_stage *costs = &problem->stage[s];
        struct ppi_greedy_stage *stage = &greedy->stage[s];
        stage->costs = costs;
        stage->device = &greedy->device[costs->device];
        stage->device->rise = ppi_larger(stage->device->rise, costs->memory[PPSCHED_KIND_I]);
        stage->device->work += (costs->duration[PPSCHED_KIND_F] + costs->duration[PPSCHED_KIND_I] +
                                costs->duration[PPSCHED_KIND_W]) *
                               problem->microbatches;
        for (int k = 0; k < 2; k++) {
            double *row = greedy->ends + ppi_link_of(problem, s, ppi_kinds[k]) * row_length(problem);
            stage->awaited[ppi_kinds[k]] = row;
            stage->end[ppi_kinds[k]] = row + row_length(problem);
        }
    }
    for (uint32_t d = 0; d < problem->devices; d++)
        ppi_greedy_set_limit(&greedy->device[d], problem->device[d].limit);
}

ppsched_status ppi_greedy_make(struct ppi_greedy *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                               ppsched_error *error)
{
    *out = (struct ppi_greedy){
        .problem = problem,
        .stage = ppi_arena_take_zeroed(arena, problem->stages, sizeof *out->stage),
        .device = ppi_arena_take_zeroed(arena, problem->devices, sizeof *out->device),
        .ends = ppi_arena_take(arena, rows(problem) * row_length(problem), sizeof *out->ends),
        .due = ppi_arena_take(arena, (size_t)problem->stages * problem->microbatches, sizeof *out->due),
    };
    ppsched_status status = ppi_arena_check(arena, "the search", error);
    if (status == PPSCHED_OK)
        connect(out);
    return status;
}

void ppi_greedy_start(struct ppi_greedy *greedy, struct ppi_orders *out)
{
    const struct ppi_problem *problem = greedy->problem;
    greedy->longest = greedy->worst_idle = 0;
    greedy->count = 0;
    for (size_t i = 0; i < rows(problem) * row_length(problem); i++)
        greedy->ends[i] = PPI_INFINITE;
    memset(greedy->ends, 0, problem->microbatches * sizeof *greedy->ends);
    for (uint32_t s = 0; s < problem->stages; s++)
        memset(greedy->stage[s].done, 0, sizeof greedy->stage[s].done);
    for (uint32_t d = 0; d < problem->devices; d++) {
        struct ppi_greedy_device *device = &greedy->device[d];
        device->clock = device->level = device->idle = 0;
        device->start = -1;
        device->next = out->ops + out->first[d];
        device->due = device->due_end = greedy->due + (size_t)problem->device[d].first * problem->microbatches;
        out->count[d] = out->first[d + 1] - out->first[d];
        greedy->longest = ppi_larger(greedy->longest, device->work);
    }
}

/* The stage of the oldest W that is due on a device; NULL where none is. */
static struct ppi_greedy_stage *stage_due(const struct ppi_greedy_device *device)
{
    return device->due < device->due_end ? *device->due : NULL;
}

bool ppi_greedy_put_weight(struct ppi_greedy *greedy, struct ppi_greedy_device *device)
{
    struct ppi_greedy_stage *due = stage_due(device);
    if (due != NULL)
        ppi_greedy_put(greedy, due, PPSCHED_KIND_W, due->device->clock);
    return due != NULL;
}

void ppi_greedy_make_rise(struct ppi_greedy *greedy, struct ppi_greedy_stage *stage)
{
    double adds = stage->costs->memory[PPSCHED_KIND_I];
    while (adds > 0 && stage->device->level + adds > stage->device->limit + stage->device->rise &&
           ppi_greedy_put_weight(greedy, stage->device)) {
    }
}

void ppi_greedy_fill_gap(struct ppi_greedy *greedy, struct ppi_greedy_device *device, double ready, double least)
{
    struct ppi_greedy_stage *due = stage_due(device);
    for (; due != NULL && device->clock + due->costs->duration[PPSCHED_KIND_W] <= ready; due = stage_due(device))
        ppi_greedy_put(greedy, due, PPSCHED_KIND_W, due->device->clock);
    if (due != NULL && ready - device->clock > least)
        ppi_greedy_put(greedy, due, PPSCHED_KIND_W, due->device->clock);
}

double ppi_greedy_gap(const struct ppi_greedy_device *device, double ready)
{
    return stage_due(device) != NULL ? ready - device->clock : 0;
}

double ppi_greedy_finish(struct ppi_greedy *greedy)
{
    const struct ppi_problem *problem = greedy->problem;
    double span = 0;
    for (uint32_t d = 0; d < problem->devices; d++) {
        struct ppi_greedy_device *device = &greedy->device[d];
        while (ppi_greedy_put_weight(greedy, device)) {
        }
        span = ppi_larger(span, device->clock - device->start);
    }
    bool complete = greedy->count == (size_t)PPI_OPS_OF_PASS * problem->stages * problem->microbatches;
    return complete ? span : PPI_INFINITE;
}
