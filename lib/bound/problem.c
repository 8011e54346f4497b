/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the stages from the costs, scaled to average or largest microbatches, then sums by device and along the chain of
 * stages. */
#include "bound/problem.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "ir/stage_graph.h"
#include "ir/other_memory.h"

static struct ppi_stage read_stage(const struct ppi_instance *instance, const struct ppi_ratio *scale, bool splits)
{
    struct ppi_stage stage = {
        .device = instance->device,
        .splits = splits,
        .forward_delay = ppi_scaled_delay(instance->forward_delay, instance->forward_latency, scale->sent),
        .backward_delay = ppi_scaled_delay(instance->backward_delay, instance->backward_latency, scale->sent),
        .forward_latency = instance->forward_latency,
        .backward_latency = instance->backward_latency};
    for (uint8_t kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++) {
        stage.duration[kind] = instance->duration[kind] * scale->time;
        stage.memory[kind] = ppi_memory_at(instance->memory + PPSCHED_KIND_F, kind, scale->memory);
    }
    double input = stage.duration[PPSCHED_KIND_I], full = stage.duration[PPSCHED_KIND_B];
    double split = input + stage.duration[PPSCHED_KIND_W];
    stage.fuses = !splits || full < split * (1 - 1e-9); /* shorter by more than rounding */
    stage.input = !splits || (stage.fuses && full < input) ? full : input;
    stage.weight = (stage.fuses ? full : split) - stage.input;
    return stage;
}

/* Adds the rises of a stage. What rises at the start of an I is held until the end of W, so a B that holds less is worth
 * running. */
static void raise_stage(struct ppi_stage *stage, const struct ppi_rise *rise, double scale)
{
    double *memory = stage->memory;
    stage->rise[PPSCHED_KIND_I] = rise->input * scale;
    stage->rise[PPSCHED_KIND_B] = rise->whole * scale;
    memory[PPSCHED_KIND_I] += stage->rise[PPSCHED_KIND_I];
    memory[PPSCHED_KIND_W] = -(memory[PPSCHED_KIND_F] + memory[PPSCHED_KIND_I]);
    stage->fuses |= stage->rise[PPSCHED_KIND_B] < stage->rise[PPSCHED_KIND_I];
    stage->least_rise = stage->splits ? stage->rise[PPSCHED_KIND_I] : stage->rise[PPSCHED_KIND_B];
    if (stage->fuses)
        stage->least_rise = ppi_smaller(stage->least_rise, stage->rise[PPSCHED_KIND_B]);
}

/* Memory needed while a backward runs and not after it. A B of a stage that may split is left out, as few orders have any:
 * candidates are checked against `peak_limit`. */
static double passing_rise(const struct ppi_stage *stage)
{
    return stage->splits ? stage->rise[PPSCHED_KIND_I] - ppi_larger(stage->memory[PPSCHED_KIND_I], 0)
                         : stage->rise[PPSCHED_KIND_B];
}

/* Adds memory other than activations, as an upper bound: an output counts from the start of its F, gradients from the start,
 * and the largest work space all the time. `work`: by device, the largest so far. */
static void add_holding(struct ppi_problem *problem, uint32_t s, const struct ppi_other_memory *holding, double scale,
                        double *work)
{
    struct ppi_stage *stage = &problem->stage[s];
    double largest = holding->work[PPSCHED_KIND_F], output = holding->output * scale;
    stage->memory[PPSCHED_KIND_F] += output;
    stage->memory[PPSCHED_KIND_B] -= output;
    stage->memory[PPSCHED_KIND_I] -= output;
    problem->device[stage->device].fixed += holding->gradients;
    if (!stage->splits || stage->fuses)
        largest = ppi_larger(largest, holding->work[PPSCHED_KIND_B]);
    if (stage->splits)
        largest = ppi_larger(largest, ppi_larger(holding->work[PPSCHED_KIND_I], holding->work[PPSCHED_KIND_W]));
    largest *= scale;
    if (largest > work[stage->device]) {
        problem->device[stage->device].fixed += largest - work[stage->device];
        work[stage->device] = largest;
    }
}

/* Adds that of all stages; `scale`: of the largest microbatch. */
static ppsched_status add_holdings(struct ppi_problem *problem, const ppsched_config *config, const struct ppi_placement *place,
                                   double scale, ppsched_error *error)
{
    struct ppi_other_memory *holdings = ppi_allocate(&config->host, problem->stages, sizeof *holdings);
    double *work = ppi_allocate_zeroed(&config->host, problem->devices, sizeof *work);
    bool has_room = holdings != NULL && work != NULL;
    if (has_room) {
        ppi_holdings_fill(holdings, config, place);
        for (uint32_t s = 0; s < problem->stages; s++)
            add_holding(problem, s, &holdings[s], scale, work);
    }
    ppi_release(&config->host, work);
    ppi_release(&config->host, holdings);
    return has_room ? PPSCHED_OK : ppi_fail_memory(error, "the problem");
}

/* Lists the stages by device, with a counting sort. */
static void list_stages(struct ppi_problem *problem)
{
    uint32_t first = 0;
    for (uint32_t s = 0; s < problem->stages; s++)
        problem->stage[s].place = problem->device[problem->stage[s].device].count++;
    for (uint32_t d = 0; d < problem->devices; d++) {
        struct ppi_device *device = &problem->device[d];
        device->first = first;
        first += device->count;
        problem->most_stages = device->count > problem->most_stages ? device->count : problem->most_stages;
    }
    for (uint32_t s = 0; s < problem->stages; s++)
        problem->stage_list[problem->device[problem->stage[s].device].first + problem->stage[s].place] = s;
}

/* Raises the least memory of a device: that of one microbatch in flight, whose backward starts at the last stage. `held`: what
 * the stages so far hold of it. */
static void raise_least(struct ppi_device *device, const struct ppi_problem *problem, const struct ppi_stage *stage,
                        double *held)
{
    *held += stage->memory[PPSCHED_KIND_F] * problem->held;
    device->least = ppi_larger(device->least, *held + stage->least_rise);
}

/* Lowers the limits if memory rises inside backwards. */
static void find_rises(struct ppi_problem *problem)
{
    for (uint32_t s = 0; s < problem->stages && problem->rises; s++) {
        struct ppi_device *device = &problem->device[problem->stage[s].device];
        device->limit = ppi_smaller(device->limit, device->peak_limit - passing_rise(&problem->stage[s]));
    }
}

static void sum_device_work(struct ppi_problem *problem, const ppsched_config *config, double *held)
{
    const struct ppi_values *limit = &config->values[PPSCHED_QUANTITY_MEM_LIMIT];
    for (uint32_t s = 0; s < problem->stages; s++) {
        const struct ppi_stage *stage = &problem->stage[s];
        struct ppi_device *device = &problem->device[stage->device];
        const double *duration = stage->duration;
        device->work += problem->microbatches * (duration[PPSCHED_KIND_F] + stage->input + stage->weight);
        device->split_work += problem->microbatches *
                              (duration[PPSCHED_KIND_F] + duration[PPSCHED_KIND_I] + duration[PPSCHED_KIND_W]);
        raise_least(device, problem, stage, &held[stage->device]);
        ppi_add_static_memory(&device->fixed, config, s, 1);
    }
    for (uint32_t d = 0; d < problem->devices; d++) {
        struct ppi_device *device = &problem->device[d];
        ppi_add_other_memory(&device->fixed, config, d);
        device->peak_limit = PPI_INFINITE;
        if (limit->values != NULL) /* decimal limits are rounded */
            device->peak_limit = ppi_value_at(limit, d) * (1 + 1e-12) - device->fixed;
        device->limit = device->peak_limit;
        problem->least_limit = ppi_larger(problem->least_limit, device->least + device->fixed);
        problem->least_period = ppi_larger(problem->least_period, device->work / problem->microbatches);
        problem->split_work = ppi_larger(problem->split_work, device->split_work / problem->microbatches);
    }
}

/* Finds what must follow I: the Is of all stages before it, down to stage 0, each possibly followed by its W. For the span,
 * only stage 0's W counts: when another device started is unknown here. */
static void find_stage_tails(struct ppi_problem *problem)
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

/* Finds the areas: a stage pass holds its activations at least from the start of its F to the end of its I, and the rest to the
 * end of its W. */
static void find_areas(struct ppi_problem *problem)
{
    double time = 0;
    for (uint32_t s = problem->stages; s-- > 0;) {
        struct ppi_stage *stage = &problem->stage[s];
        time += stage->duration[PPSCHED_KIND_F] + stage->input;
        stage->rest = stage->memory[PPSCHED_KIND_F] + ppi_smaller(stage->memory[PPSCHED_KIND_I], 0);
        stage->area = stage->memory[PPSCHED_KIND_F] * time + stage->rest * stage->weight;
        time += stage->forward_delay + (s > 0 ? stage[-1].backward_delay : 0);
    }
}

/* The largest sum of memory factors over the slices of a microbatch. */
static double most_held(const struct ppi_problem *problem)
{
    double most = 0;
    for (uint32_t first = 0; first < problem->microbatches; first += problem->slices) {
        double sum = 0;
        for (uint32_t k = 0; k < problem->slices; k++)
            sum += problem->ratio[first + k].memory;
        most = ppi_larger(most, sum);
    }
    return most;
}

/* The scale of a stage: the mean of times and of bytes sent, the maximum of memory. Fills the ratios. */
static struct ppi_ratio scale_of(struct ppi_problem *problem, const struct ppi_costs *costs, uint32_t stage)
{
    const uint32_t microbatches = problem->microbatches;
    struct ppi_ratio scale = {0, 0, 0};
    if (problem->ratio == NULL)
        return (struct ppi_ratio){1, 1, 1};
    const struct ppi_factor *factors = costs->factors + stage * costs->factor_step;
    struct ppi_ratio *ratio = problem->ratio + stage * problem->ratio_step;
    for (uint32_t m = 0; m < microbatches; m++) {
        scale.time += factors[m].time / microbatches;
        scale.sent += factors[m].memory / microbatches;
        scale.memory = ppi_larger(scale.memory, factors[m].memory);
    }
    for (uint32_t m = 0; m < microbatches; m++)
        ratio[m] = (struct ppi_ratio){.time = factors[m].time / scale.time,
                                      .memory = factors[m].memory / scale.memory,
                                      .sent = factors[m].memory / scale.sent};
    return scale;
}

static ppsched_status fill_problem(struct ppi_problem *problem, const ppsched_config *config, const struct ppi_costs *costs,
                                   const struct ppi_placement *place, ppsched_error *error)
{
    struct ppi_ratio scale = scale_of(problem, costs, 0);
    double *held = ppi_allocate_zeroed(&config->host, problem->devices, sizeof *held);
    ppsched_status status = held != NULL ? PPSCHED_OK : ppi_fail_memory(error, "the problem");
    for (uint32_t s = 0; s < problem->stages; s++) {
        if (s > 0 && problem->ratio_step > 0)
            scale.time = scale_of(problem, costs, s).time;
        problem->stage[s] = read_stage(&costs->instances[s], &scale, !config->has_whole_backwards);
    }
    problem->held = problem->ratio != NULL ? most_held(problem) : problem->slices;
    for (uint32_t s = 0; s < problem->stages && costs->rises != NULL; s++)
        raise_stage(&problem->stage[s], &costs->rises[s], scale.memory);
    if (status == PPSCHED_OK && ppi_holds_more(config))
        status = add_holdings(problem, config, place, scale.memory, error);
    list_stages(problem);
    if (status == PPSCHED_OK)
        sum_device_work(problem, config, held);
    find_rises(problem);
    find_stage_tails(problem);
    find_areas(problem);
    ppi_release(&config->host, held);
    return status;
}

ppsched_status ppi_problem_make(struct ppi_problem *out, struct ppi_arena *arena, const ppsched_config *config,
                                int32_t placement, bool by_span, ppsched_error *error)
{
    struct ppi_problem problem = {
        .host = config->host,
        .devices = config->shape.devices,
        .stages = config->shape.stages,
        .microbatches = config->shape.microbatches * config->shape.slices,
        .slices = config->shape.slices,
        .by_span = by_span,
        .span_share = by_span ? 1 : 0,
        .has_limits = config->values[PPSCHED_QUANTITY_MEM_LIMIT].values != NULL,
        .rises = ppi_memory_rises(config),
        .stage = ppi_arena_take(arena, config->shape.stages, sizeof *problem.stage),
        .device = ppi_arena_take_zeroed(arena, config->shape.devices, sizeof *problem.device),
        .stage_list = ppi_arena_take(arena, config->shape.stages, sizeof *problem.stage_list),
    };
    problem.ratio_step = ppi_has_stage_factors(config) ? problem.microbatches : 0;
    if (ppi_has_factors(config))
        problem.ratio = ppi_arena_take(arena, (size_t)problem.microbatches * (problem.ratio_step > 0 ? problem.stages : 1),
                                       sizeof *problem.ratio);
    struct ppi_placement place;
    struct ppi_costs costs;
    ppsched_status status = ppi_arena_check(arena, "the problem", error);
    if (status == PPSCHED_OK)
        status = ppi_refuse_graph(config->graph, "this search", error);
    if (status == PPSCHED_OK)
        status = ppi_config_place(&place, config, placement, error);
    if (status != PPSCHED_OK)
        return status;
    status = ppi_costs_make(&costs, config, &place, error);
    if (status == PPSCHED_OK) {
        status = fill_problem(&problem, config, &costs, &place, error);
        ppi_costs_clear(&costs);
    }
    ppi_placement_clear(&place, &config->host);
    if (status == PPSCHED_OK)
        *out = problem;
    return status;
}

ppsched_status ppi_problem_make_units(struct ppi_problem *out, struct ppi_arena *arena, const ppsched_config *config,
                                      int32_t placement, double most, ppsched_error *error)
{
    ppsched_config units = {.host = config->host, .shape = config->shape, .placement = config->placement, .map = config->map};
    units.values[PPSCHED_QUANTITY_MEM_LIMIT] = (struct ppi_values){.values = &most, .count = 1};
    return ppi_problem_make(out, arena, &units, placement, true, error);
}

uint32_t ppi_problem_unfit_device(const struct ppi_problem *problem)
{
    for (uint32_t d = 0; d < problem->devices; d++)
        if (problem->device[d].least > problem->device[d].peak_limit)
            return d;
    return PPSCHED_NONE;
}
