/* SPDX-License-Identifier: Apache-2.0 */
#include "strategy/searches/v_planner.h"

#include "base/checked.h"
#include "base/error.h"

/* --- ops --- */

void ppi_v_restart(struct ppi_v_planner *p, ppsched_op *ops)
{
    p->longest = 0;
    for (uint32_t s = 0; s < 2 * p->devices; s++)
        p->stage[s].forwards = p->stage[s].inputs = p->stage[s].weights = 0;
    for (uint32_t r = 0; r < p->devices; r++) {
        struct ppi_v_device *device = &p->device[r];
        device->clock = device->memory = device->idle = device->first_start = 0;
        device->next = ops + (size_t)r * 6 * p->microbatches;
        device->due = device->next;
    }
}

double ppi_v_forward_arrival(const struct ppi_v_planner *p, const struct ppi_v_stage *stage)
{
    uint32_t m = stage->forwards;
    if (m == p->microbatches)
        return PPI_INFINITE;
    if (stage == p->stage)
        return 0;
    return m < stage[-1].forwards ? stage[-1].forward_end[m] + stage->lane->forward_delay : PPI_INFINITE;
}

double ppi_v_input_arrival(const struct ppi_v_planner *p, const struct ppi_v_stage *stage)
{
    uint32_t m = stage->inputs;
    if (m == stage->forwards)
        return PPI_INFINITE;
    if (stage + 1 == p->stage + 2 * p->devices)
        return stage->forward_end[m];
    return m < stage[1].inputs ? stage[1].input_end[m] + stage->lane->backward_delay : PPI_INFINITE;
}

/* Puts an op that starts at a time; returns when it ends. */
static double put(struct ppi_v_planner *p, const struct ppi_v_stage *stage, uint8_t kind, uint32_t microbatch, double start)
{
    struct ppi_v_device *device = ppi_v_device_of(p, stage);
    if (device->a->forwards == 0)
        device->first_start = start;
    else
        device->idle += start - device->clock;
    p->longest = ppi_larger(p->longest, device->work + device->idle);
    device->clock = start + stage->lane->duration[kind];
    device->memory += stage->lane->memory[kind];
    *device->next++ = (ppsched_op){.microbatch = microbatch, .stage = (uint16_t)(stage - p->stage), .kind = kind};
    return device->clock;
}

void ppi_v_put_forward(struct ppi_v_planner *p, struct ppi_v_stage *stage)
{
    double start = ppi_larger(ppi_v_device_of(p, stage)->clock, ppi_v_forward_arrival(p, stage));
    stage->forward_end[stage->forwards] = put(p, stage, PPSCHED_KIND_F, stage->forwards, start);
    stage->forwards++;
}

void ppi_v_put_input(struct ppi_v_planner *p, struct ppi_v_stage *stage)
{
    double start = ppi_larger(ppi_v_device_of(p, stage)->clock, ppi_v_input_arrival(p, stage));
    stage->input_end[stage->inputs] = put(p, stage, PPSCHED_KIND_I, stage->inputs, start);
    stage->inputs++;
}

struct ppi_v_stage *ppi_v_weight_due(struct ppi_v_planner *p, struct ppi_v_device *device)
{
    while (device->due < device->next && device->due->kind != PPSCHED_KIND_I)
        device->due++;
    return device->due < device->next ? &p->stage[device->due->stage] : NULL;
}

bool ppi_v_put_weight(struct ppi_v_planner *p, struct ppi_v_device *device)
{
    struct ppi_v_stage *stage = ppi_v_weight_due(p, device);
    if (stage == NULL)
        return false;
    put(p, stage, PPSCHED_KIND_W, stage->weights++, device->clock);
    device->due++;
    return true;
}

double ppi_v_span(const struct ppi_v_planner *p)
{
    double span = 0;
    for (uint32_t r = 0; r < p->devices; r++) {
        const struct ppi_v_device *device = &p->device[r];
        if (device->a->weights != p->microbatches || device->z->weights != p->microbatches)
            return PPI_INFINITE;
        span = ppi_larger(span, device->clock - device->first_start);
    }
    return span;
}

/* --- making and limits --- */

void ppi_v_set_limit(struct ppi_v_planner *p, uint32_t r, double limit)
{
    struct ppi_v_device *device = &p->device[r];
    double each = device->a->lane->memory[PPSCHED_KIND_F], rest = limit - device->z->lane->memory[PPSCHED_KIND_F];
    device->limit = limit;
    device->most_ahead = rest < each ? 1 : rest < each * p->microbatches ? (uint32_t)(rest / each) : p->microbatches;
}

static void connect(struct ppi_v_planner *p)
{
    for (uint32_t s = 0; s < 2 * p->devices; s++) {
        struct ppi_v_stage *stage = &p->stage[s];
        const double *duration = p->costs.lanes[s].duration;
        stage->lane = &p->costs.lanes[s];
        stage->forward_end = p->ends + (size_t)s * 2 * p->microbatches;
        stage->input_end = stage->forward_end + p->microbatches;
        struct ppi_v_device *device = &p->device[stage->lane->device];
        *(s < p->devices ? &device->a : &device->z) = stage;
        device->work += (duration[PPSCHED_KIND_F] + duration[PPSCHED_KIND_I] + duration[PPSCHED_KIND_W]) * p->microbatches;
    }
}

static ppsched_status allocate(struct ppi_v_planner *p, const ppsched_config *config, ppsched_error *error)
{
    struct ppi_placement place = {0};
    ppsched_status status = ppi_placement_make(&place, &config->host, PPSCHED_PLACEMENT_V, &config->shape, NULL, error);
    if (status == PPSCHED_OK)
        status = ppi_costs_make(&p->costs, config, &place, error);
    ppi_release(&config->host, place.device_of);
    if (status != PPSCHED_OK)
        return status;
    p->stage = ppi_allocate_zeroed(&config->host, 2 * (size_t)p->devices, sizeof *p->stage);
    p->device = ppi_allocate_zeroed(&config->host, p->devices, sizeof *p->device);
    p->ends = ppi_allocate(&config->host, 4 * (size_t)p->devices * p->microbatches, sizeof *p->ends);
    if (p->stage == NULL || p->device == NULL || p->ends == NULL)
        return ppi_fail_memory(error, "the search");
    return PPSCHED_OK;
}

ppsched_status ppi_v_planner_make(struct ppi_v_planner *out, const ppsched_config *config, ppsched_error *error)
{
    struct ppi_v_planner p = {.devices = config->shape.devices, .microbatches = config->shape.microbatches};
    p.costs.host = config->host;
    ppsched_status status = allocate(&p, config, error);
    if (status != PPSCHED_OK) {
        ppi_v_planner_clear(&p);
        return status;
    }
    connect(&p);
    for (uint32_t r = 0; r < p.devices; r++)
        ppi_v_set_limit(&p, r, PPI_INFINITE);
    *out = p;
    return PPSCHED_OK;
}

void ppi_v_planner_clear(struct ppi_v_planner *p)
{
    ppi_release(&p->costs.host, p->ends);
    ppi_release(&p->costs.host, p->device);
    ppi_release(&p->costs.host, p->stage);
    ppi_costs_clear(&p->costs);
}
