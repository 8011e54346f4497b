/* SPDX-License-Identifier: Apache-2.0 */
#include "search/bound.h"

#include "base/checked.h"
#include "base/error.h"
#include "model/costs.h"

/* The least times of a stage of one model copy. A pair may be shorter than its two ops. */
struct least {
    double forward, input; /* until the next stage (the stage before) can go on */
    double pass;           /* of the device, for F and all of the backward */
    double head;           /* before the first F can start */
    double tail;           /* after an I, before the chain ends with stage 0 */
    double area;           /* activations times the time for which they are held */
};

/* One device's sums, over the passes of an iteration. */
struct sums {
    double work, chain, head, tail, area, hold, fixed;
    uint32_t lowest; /* its first stage */
};

struct bounds {
    const ppsched_config *config;
    struct ppi_placement place;
    struct ppi_costs costs;
    struct least *least; /* copies x stages */
    struct sums *sums;   /* by device */
    double longest_backward;
};

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* Passes of an iteration that a copy runs. */
static double share(const struct bounds *bounds, uint32_t copy)
{
    uint32_t all = bounds->config->shape.microbatches;
    if (bounds->place.copies == 1)
        return all;
    return copy == 1 ? all / 2 : all - all / 2;
}

/* How long a pair with an F of the stage lasts at least, and how much it saves at most. */
static void best_pair(const struct bounds *bounds, const struct ppi_lane *lane, uint32_t stage, double *pair, double *saved)
{
    const struct ppi_values *given = &bounds->costs.overlapped;
    size_t choices = given->count > bounds->costs.stages ? bounds->costs.stages : 1;
    *pair = PPI_INFINITE;
    *saved = 0;
    for (uint32_t b = 0; b < choices; b++) {
        const struct ppi_lane *other = &bounds->costs.lanes[b];
        double both = ppi_overlapped_duration(&bounds->costs, lane, stage, other, b, PPSCHED_KIND_B);
        double backward = choices > 1 ? other->duration[PPSCHED_KIND_B] : bounds->longest_backward;
        *pair = smaller(*pair, both);
        *saved = larger(*saved, lane->duration[PPSCHED_KIND_F] + backward - both);
    }
}

/* Shortens F, I and the pass by what an overlapped pair could save at best. */
static void overlap(const struct bounds *bounds, const struct ppi_lane *lane, uint32_t stage, struct least *least)
{
    double pair, saved;
    if (bounds->costs.overlapped.values == NULL)
        return;
    best_pair(bounds, lane, stage, &pair, &saved);
    least->forward = smaller(least->forward, pair);
    least->input = smaller(least->input, pair);
    least->pass = larger(0, least->pass - saved);
}

static void find_least(struct bounds *bounds)
{
    uint32_t stages = bounds->costs.stages;
    for (uint32_t s = 0; s < stages; s++)
        bounds->longest_backward = larger(bounds->longest_backward, bounds->costs.lanes[s].duration[PPSCHED_KIND_B]);
    for (size_t i = 0; i < (size_t)bounds->place.copies * stages; i++) {
        const struct ppi_lane *lane = &bounds->costs.lanes[i];
        const double *duration = lane->duration;
        struct least *least = &bounds->least[i];
        double split = duration[PPSCHED_KIND_I] + duration[PPSCHED_KIND_W];
        *least = (struct least){.forward = duration[PPSCHED_KIND_F],
                                .input = smaller(duration[PPSCHED_KIND_I], duration[PPSCHED_KIND_B]),
                                .pass = duration[PPSCHED_KIND_F] + smaller(split, duration[PPSCHED_KIND_B])};
        overlap(bounds, lane, (uint32_t)(i % stages), least);
    }
}

/* Along the chain of each copy: heads up, tails up, and the time from the start of an F to the end of its I down. */
static void follow_chain(struct bounds *bounds, uint32_t copy)
{
    uint32_t stages = bounds->costs.stages;
    struct least *least = &bounds->least[(size_t)copy * stages];
    const struct ppi_lane *lane = &bounds->costs.lanes[(size_t)copy * stages];
    double round_trip = 0;
    for (uint32_t s = 0; s < stages; s++) {
        double weight = larger(0, least[s].pass - least[s].forward - least[s].input);
        least[s].head = s > 0 ? least[s - 1].head + least[s - 1].forward + lane[s].forward_delay : 0;
        least[s].tail = s > 0 ? least[s - 1].tail + least[s - 1].input + lane[s - 1].backward_delay : weight;
    }
    for (uint32_t s = stages; s-- > 0;) {
        double weight = larger(0, least[s].pass - least[s].forward - least[s].input);
        round_trip += least[s].forward + least[s].input;
        least[s].area = lane[s].memory[PPSCHED_KIND_F] * round_trip +
                        (lane[s].memory[PPSCHED_KIND_F] + lane[s].memory[PPSCHED_KIND_I]) * weight;
        round_trip += lane[s].forward_delay + (s > 0 ? lane[s - 1].backward_delay : 0);
    }
}

static void sum_devices(struct bounds *bounds)
{
    const struct ppi_values *fixed = &bounds->config->values[PPSCHED_MEM_STATIC];
    const struct ppi_values *weights = &bounds->config->values[PPSCHED_MEM_WEIGHTS];
    uint32_t stages = bounds->costs.stages, versions = bounds->config->weight_versions;
    for (uint32_t d = 0; d < bounds->config->shape.devices; d++)
        bounds->sums[d] = (struct sums){.head = PPI_INFINITE, .tail = PPI_INFINITE, .lowest = PPSCHED_NONE};
    for (size_t i = 0; i < (size_t)bounds->place.copies * stages; i++) {
        const struct least *least = &bounds->least[i];
        const struct ppi_lane *lane = &bounds->costs.lanes[i];
        struct sums *sums = &bounds->sums[lane->device];
        double passes = share(bounds, (uint32_t)(i / stages)), held = passes > 0 ? lane->memory[PPSCHED_KIND_F] : 0;
        sums->work += passes * least->pass;
        sums->chain += passes * (least->forward + least->input);
        sums->area += passes * least->area;
        sums->head = smaller(sums->head, least->head);
        sums->tail = smaller(sums->tail, least->tail);
        sums->hold = i < stages ? sums->hold + held : larger(sums->hold, held); /* a copy's microbatches alone */
        if (i % stages < sums->lowest)
            sums->lowest = (uint32_t)(i % stages);
        if (fixed->values != NULL)
            sums->fixed += ppi_value_at(fixed, i % stages);
        if (weights->values != NULL)
            sums->fixed += (versions != 0 ? versions : 1) * ppi_value_at(weights, i % stages);
    }
}

static void raise(ppsched_bound *out, double *part, double value, uint32_t device)
{
    *part = larger(*part, value);
    if (value > out->value) {
        out->value = value;
        out->device = device;
    }
}

static void add_device(const struct bounds *bounds, uint32_t device, bool by_span, ppsched_bound *out)
{
    const struct ppi_values *limit = &bounds->config->values[PPSCHED_MEM_LIMIT];
    const struct sums *sums = &bounds->sums[device];
    double head = by_span ? 0 : sums->head;
    if (sums->lowest == PPSCHED_NONE)
        return;
    raise(out, &out->work, head + sums->work, device);
    raise(out, &out->fill_drain, sums->head + sums->chain + sums->tail, device);
    if (limit->values != NULL && ppi_value_at(limit, device) > sums->fixed)
        raise(out, &out->memory, head + sums->area / (ppi_value_at(limit, device) - sums->fixed), device);
    out->least_limit = larger(out->least_limit, sums->hold + sums->fixed);
}

ppsched_status ppi_lower_bound(ppsched_bound *out, const ppsched_config *config, int32_t placement, int32_t objective,
                               ppsched_error *error)
{
    const struct ppi_host *host = &config->host;
    struct bounds bounds = {.config = config, .costs.host = *host};
    ppsched_status status = ppi_config_place(&bounds.place, config, placement, error);
    if (status != PPSCHED_OK)
        return status;
    status = ppi_costs_make(&bounds.costs, config, &bounds.place, error);
    if (status == PPSCHED_OK) {
        bounds.least = ppi_allocate(host, (size_t)bounds.place.copies * config->shape.stages, sizeof *bounds.least);
        bounds.sums = ppi_allocate(host, config->shape.devices, sizeof *bounds.sums);
        if (bounds.least == NULL || bounds.sums == NULL)
            status = ppi_fail_memory(error, "the lower bound");
    }
    if (status == PPSCHED_OK) {
        ppsched_bound bound = {.size = sizeof bound};
        find_least(&bounds);
        for (uint32_t copy = 0; copy < bounds.place.copies; copy++)
            follow_chain(&bounds, copy);
        sum_devices(&bounds);
        for (uint32_t d = 0; d < config->shape.devices; d++)
            add_device(&bounds, d, objective == PPSCHED_OBJECTIVE_SPAN, &bound);
        *out = bound;
    }
    ppi_release(host, bounds.sums);
    ppi_release(host, bounds.least);
    ppi_costs_clear(&bounds.costs);
    ppi_release(host, bounds.place.device_of);
    return status;
}
