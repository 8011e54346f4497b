/* SPDX-License-Identifier: Apache-2.0 */
#include "search/problem.h"

#include "base/checked.h"
#include "base/error.h"

static double static_memory(const ppsched_config *config, uint32_t stage)
{
    const struct ppi_values *fixed = &config->values[PPSCHED_QUANTITY_MEM_STATIC],
                            *weights = &config->values[PPSCHED_QUANTITY_MEM_WEIGHTS];
    double versions = config->weight_versions != 0 ? config->weight_versions : 1;
    return (fixed->values != NULL ? ppi_value_at(fixed, stage) : 0) +
           (weights->values != NULL ? versions * ppi_value_at(weights, stage) : 0);
}

static struct ppi_stage read_stage(const struct ppi_lane *lane)
{
    const double *duration = lane->duration, *memory = lane->memory;
    struct ppi_stage stage = {
        .device = lane->device,
        .duration = {duration[PPSCHED_KIND_F], duration[PPSCHED_KIND_I], duration[PPSCHED_KIND_W], duration[PPSCHED_KIND_B]},
        .memory = {memory[PPSCHED_KIND_F], memory[PPSCHED_KIND_I], memory[PPSCHED_KIND_W]},
        .forward_delay = lane->forward_delay,
        .backward_delay = lane->backward_delay,
    };
    double split = stage.duration[PPI_STEP_I] + stage.duration[PPI_STEP_W], full = stage.duration[PPI_STEP_B];
    stage.fuses = full < split * (1 - 1e-9);
    stage.input = stage.fuses && full < stage.duration[PPI_STEP_I] ? full : stage.duration[PPI_STEP_I];
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
        device->work += problem->microbatches * (stage->duration[PPI_STEP_F] + stage->input + stage->weight);
        device->least += stage->memory[PPI_F];
        device->fixed += static_memory(config, s);
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
        stage->tail[PPI_I] = s == 0 || !problem->by_span ? stage->weight : 0;
        if (s > 0)
            stage->tail[PPI_I] = ppi_larger(stage->tail[PPI_I],
                                            stage[-1].backward_delay + stage[-1].input + stage[-1].tail[PPI_I]);
    }
    for (uint32_t s = problem->stages; s-- > 0;) {
        struct ppi_stage *stage = &problem->stage[s];
        stage->tail[PPI_F] = stage->input + stage->tail[PPI_I];
        if (s + 1 < problem->stages)
            stage->tail[PPI_F] = ppi_larger(stage->tail[PPI_F],
                                            stage[1].forward_delay + stage[1].duration[PPI_STEP_F] + stage[1].tail[PPI_F]);
    }
}

/* A stage pass holds its activation from the start of its F to the end of its I at least, and the rest to the end of its W. */
static void find_areas(struct ppi_problem *problem)
{
    double time = 0;
    for (uint32_t s = problem->stages; s-- > 0;) {
        struct ppi_stage *stage = &problem->stage[s];
        time += stage->duration[PPI_STEP_F] + stage->input;
        stage->area = stage->memory[PPI_F] * time + (stage->memory[PPI_F] + stage->memory[PPI_I]) * stage->weight;
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
