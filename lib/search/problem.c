/* SPDX-License-Identifier: Apache-2.0 */
#include "search/problem.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"

static struct ppi_stage read_stage(const struct ppi_lane *lane)
{
    struct ppi_stage stage = {
        .device = lane->device, .forward_delay = lane->forward_delay, .backward_delay = lane->backward_delay};
    double input = lane->duration[PPSCHED_KIND_I], full = lane->duration[PPSCHED_KIND_B];
    double split = input + lane->duration[PPSCHED_KIND_W];
    memcpy(stage.duration, lane->duration, sizeof stage.duration);
    memcpy(stage.memory, lane->memory, sizeof stage.memory);
    stage.fuses = full < split * (1 - 1e-9);
    stage.input = stage.fuses && full < input ? full : input;
    stage.weight = (stage.fuses ? full : split) - stage.input;
    return stage;
}

/* The stages of each device, in one list: a counting sort. */
static void list_stages(struct ppi_problem *problem)
{
    uint32_t first = 0;
    for (uint32_t s = 0; s < problem->stages; s++)
        problem->device[problem->stage[s].device].count++;
    for (uint32_t d = 0; d < problem->devices; d++) {
        problem->device[d].first = first;
        first += problem->device[d].count;
        problem->device[d].count = 0;
    }
    for (uint32_t s = 0; s < problem->stages; s++) {
        struct ppi_device *device = &problem->device[problem->stage[s].device];
        problem->stage[s].place = device->count;
        problem->stage_list[device->first + device->count++] = s;
    }
}

static void sum_devices(struct ppi_problem *problem, const ppsched_config *config)
{
    const struct ppi_values *limit = &config->values[PPSCHED_QUANTITY_MEM_LIMIT];
    for (uint32_t s = 0; s < problem->stages; s++) {
        const struct ppi_stage *stage = &problem->stage[s];
        struct ppi_device *device = &problem->device[stage->device];
        device->work += problem->microbatches * (stage->duration[PPSCHED_KIND_F] + stage->input + stage->weight);
        device->least += stage->memory[PPSCHED_KIND_F];
        ppi_add_static_memory(&device->fixed, config, s, 1);
    }
    for (uint32_t d = 0; d < problem->devices; d++) {
        struct ppi_device *device = &problem->device[d];
        device->limit = PPI_INFINITE;
        if (limit->values != NULL) /* decimal limits are rounded */
            device->limit = ppi_value_at(limit, d) * (1 + 1e-12) - device->fixed;
    }
}

/* What must follow I: the Is of all stages before it, down to stage 0, each of which may also end with its W. For the span a W
 * of another device than stage 0's tells nothing: nobody knows here when that device started. */
static void find_tails(struct ppi_problem *problem)
{
    for (uint32_t s = 0; s < problem->stages; s++) {
        struct ppi_stage *stage = &problem->stage[s];
        stage->tail.backward = s == 0 || !problem->by_span ? stage->weight : 0;
        if (s > 0)
            stage->tail.backward = ppi_larger(stage->tail.backward,
                                              stage[-1].backward_delay + stage[-1].input + stage[-1].tail.backward);
    }
    for (uint32_t s = problem->stages; s-- > 0;) {
        struct ppi_stage *stage = &problem->stage[s];
        stage->tail.forward = stage->input + stage->tail.backward;
        if (s + 1 < problem->stages)
            stage->tail.forward = ppi_larger(stage->tail.forward, stage[1].forward_delay + stage[1].duration[PPSCHED_KIND_F] +
                                                                      stage[1].tail.forward);
    }
}

/* A stage pass holds its activation from the start of its F to the end of its I at least, and the rest to the end of its W. */
static void find_areas(struct ppi_problem *problem)
{
    double time = 0;
    for (uint32_t s = problem->stages; s-- > 0;) {
        struct ppi_stage *stage = &problem->stage[s];
        time += stage->duration[PPSCHED_KIND_F] + stage->input;
        stage->area = stage->memory[PPSCHED_KIND_F] * time +
                      (stage->memory[PPSCHED_KIND_F] + stage->memory[PPSCHED_KIND_I]) * stage->weight;
        time += stage->forward_delay + (s > 0 ? stage[-1].backward_delay : 0);
    }
}

static ppsched_status allocate(struct ppi_problem *problem, ppsched_error *error)
{
    const struct ppi_host *host = &problem->host;
    problem->stage = ppi_allocate(host, problem->stages, sizeof *problem->stage);
    problem->device = ppi_allocate_zeroed(host, problem->devices, sizeof *problem->device);
    problem->stage_list = ppi_allocate(host, problem->stages, sizeof *problem->stage_list);
    if (problem->stage == NULL || problem->device == NULL || problem->stage_list == NULL)
        return ppi_fail_memory(error, "the problem");
    return PPSCHED_OK;
}

ppsched_status ppi_problem_make(struct ppi_problem *out, const ppsched_config *config, const struct ppi_placement *placement,
                                bool by_span, ppsched_error *error)
{
    struct ppi_problem problem = {
        .host = config->host,
        .devices = config->shape.devices,
        .stages = config->shape.stages,
        .microbatches = config->shape.microbatches,
        .by_span = by_span,
        .has_limits = config->values[PPSCHED_QUANTITY_MEM_LIMIT].values != NULL,
    };
    struct ppi_costs costs = {0};
    ppsched_status status = ppi_costs_make(&costs, config, placement, error);
    if (status != PPSCHED_OK)
        return status;
    status = allocate(&problem, error);
    if (status == PPSCHED_OK) {
        for (uint32_t s = 0; s < problem.stages; s++)
            problem.stage[s] = read_stage(&costs.lanes[s]);
        list_stages(&problem);
        sum_devices(&problem, config);
        find_tails(&problem);
        find_areas(&problem);
        *out = problem;
    } else {
        ppi_problem_clear(&problem);
    }
    ppi_costs_clear(&costs);
    return status;
}

ppsched_status ppi_problem_make_units(struct ppi_problem *out, const ppsched_config *config, int32_t placement, double most,
                                      ppsched_error *error)
{
    ppsched_config units = {.host = config->host, .shape = config->shape};
    struct ppi_placement place;
    ppsched_status status = ppi_config_place(&place, config, placement, error);
    if (status != PPSCHED_OK)
        return status;
    units.values[PPSCHED_QUANTITY_MEM_LIMIT] = (struct ppi_values){.values = &most, .count = 1};
    status = ppi_problem_make(out, &units, &place, true, error);
    ppi_release(&config->host, place.device_of);
    return status;
}

void ppi_problem_clear(struct ppi_problem *problem)
{
    const struct ppi_host *host = &problem->host;
    ppi_release(host, problem->stage_list);
    ppi_release(host, problem->device);
    ppi_release(host, problem->stage);
}

uint32_t ppi_problem_unfit_device(const struct ppi_problem *problem)
{
    for (uint32_t d = 0; d < problem->devices; d++)
        if (problem->device[d].least > problem->device[d].limit)
            return d;
    return PPSCHED_NONE;
}

double ppi_problem_least_limit(const struct ppi_problem *problem)
{
    double least = 0;
    for (uint32_t d = 0; d < problem->devices; d++)
        least = ppi_larger(least, problem->device[d].least + problem->device[d].fixed);
    return least;
}

double ppi_problem_least_period(const struct ppi_problem *problem)
{
    double most = 0;
    for (uint32_t d = 0; d < problem->devices; d++)
        most = ppi_larger(most, problem->device[d].work);
    return most / problem->microbatches;
}

double ppi_problem_split_work(const struct ppi_problem *problem)
{
    double most = 0;
    for (uint32_t d = 0; d < problem->devices; d++) {
        double work = 0;
        for (uint32_t i = 0; i < problem->device[d].count; i++) {
            const double *duration = problem->stage[ppi_stage_at(problem, d, i)].duration;
            work += (duration[PPSCHED_KIND_F] + duration[PPSCHED_KIND_I] + duration[PPSCHED_KIND_W]) * problem->microbatches;
        }
        most = ppi_larger(most, work);
    }
    return most / problem->microbatches;
}
