/* SPDX-License-Identifier: Apache-2.0 */
/* Times on a grid: sums of multiples of one power of two are exact as long as they are below 2^53 times that power. */
#include "steady/times.h"

#include "base/checked.h"
#include "base/error.h"

#define MOST_STEPS 0x1p53

/* The largest power of two of which a time is a multiple. */
static double last_bit_of(double time)
{
    union {
        double value;
        uint64_t bits;
    } whole = {time}, part;
    part.bits = whole.bits & (whole.bits - 1); /* without its last bit */
    if ((whole.bits & 0xfffffffffffffu) == 0)
        return time; /* itself a power of two */
    return whole.value - part.value;
}

/* The last bit and the sum of times so far. */
struct tally {
    double last_bit, sum;
};

static void count(struct tally *tally, double time)
{
    if (!(time > 0))
        return;
    tally->last_bit = ppi_smaller(tally->last_bit, last_bit_of(time));
    tally->sum += time;
}

static struct tally tally_of(const struct ppi_exactness *exactness)
{
    struct tally tally = {PPI_INFINITE, 0};
    const struct ppi_values *pairs = &exactness->costs.overlapped;
    for (uint32_t i = 0; i < exactness->instances; i++) {
        const struct ppi_instance *instance = &exactness->costs.instances[i];
        for (int kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++)
            count(&tally, instance->duration[kind]);
        count(&tally, instance->forward_delay);
        count(&tally, instance->backward_delay);
    }
    for (size_t i = 0; i < pairs->count && pairs->values != NULL; i++)
        count(&tally, pairs->values[i]);
    const size_t ends = 2 * (size_t)exactness->costs.pair_end_stages * exactness->costs.pair_end_stages;
    for (size_t i = 0; i < ends && exactness->costs.pair_ends != NULL; i++)
        count(&tally, exactness->costs.pair_ends[i]);
    return tally;
}

/* Work of the busiest device, and the path of a microbatch. */
static void sum_work(struct ppi_exactness *exactness, uint32_t stages, uint32_t devices)
{
    exactness->path = 0;
    for (uint32_t d = 0; d < devices; d++) {
        double work = 0;
        for (uint32_t i = 0; i < exactness->instances; i++) {
            const struct ppi_instance *own = &exactness->costs.instances[i];
            const double all = own->duration[PPSCHED_KIND_F] +
                               ppi_larger(own->duration[PPSCHED_KIND_B],
                                          own->duration[PPSCHED_KIND_I] + own->duration[PPSCHED_KIND_W]);
            work += own->device == d ? all : 0;
            if (d == 0 && i < stages)
                exactness->path += all + own->forward_delay + own->backward_delay;
        }
        exactness->work = ppi_larger(exactness->work, work);
    }
}

ppsched_status ppi_exactness_find(struct ppi_exactness *out, const ppsched_config *config, const struct ppi_task *task,
                                  ppsched_error *error)
{
    struct ppi_placement placement;
    *out = (struct ppi_exactness){.costs = {.host = config->host}};
    ppsched_status status = ppi_config_place(&placement, config, task->placement, error);
    if (status != PPSCHED_OK)
        return status;
    out->instances = placement.copies * config->shape.stages;
    status = ppi_costs_make(&out->costs, config, &placement, error);
    ppi_release(&config->host, placement.device_of);
    if (status != PPSCHED_OK)
        return status;
    const struct ppi_values *pairs = &out->costs.overlapped;
    const struct tally tally = tally_of(out);
    sum_work(out, config->shape.stages, config->shape.devices);
    out->is_exact = tally.sum * ppi_total_micro_slices(&config->shape) <= tally.last_bit * MOST_STEPS &&
                    !ppi_scales_pairs(&out->costs);
    if (out->is_exact || pairs->values == NULL)
        return PPSCHED_OK;
    out->pairs = ppi_allocate(&config->host, pairs->count, sizeof *out->pairs);
    return out->pairs != NULL ? PPSCHED_OK : ppi_fail_memory(error, "the steady state");
}

void ppi_exactness_clear(struct ppi_exactness *exactness)
{
    ppi_release(&exactness->costs.host, exactness->pairs);
    ppi_costs_clear(&exactness->costs);
}

/* How much rounding changes a time, and the delay before it, as a share of both. */
static double change_of(double time, double delay, double step)
{
    const double change = ppi_larger(ppi_multiple_of(time, step) - time, time - ppi_multiple_of(time, step)) +
                          ppi_larger(ppi_multiple_of(delay, step) - delay, delay - ppi_multiple_of(delay, step));
    return change > 0 ? change / (time + delay) : 0;
}

static double rounding_of(const struct ppi_exactness *exactness, double step)
{
    double most = 0;
    for (uint32_t i = 0; i < exactness->instances; i++) {
        const struct ppi_instance *own = &exactness->costs.instances[i];
        for (int kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++) {
            const double delay = kind == PPSCHED_KIND_F ? own->forward_delay : kind == PPSCHED_KIND_W ? 0 : own->backward_delay;
            most = ppi_larger(most, change_of(own->duration[kind], 0, step));
            most = ppi_larger(most, change_of(own->duration[kind], delay, step));
        }
    }
    for (size_t i = 0; i < exactness->costs.overlapped.count && exactness->pairs != NULL; i++)
        most = ppi_larger(most, change_of(exactness->costs.overlapped.values[i], 0, step));
    return most;
}

void ppi_exactness_round(struct ppi_exactness *exactness, ppsched_config *config, uint32_t count)
{
    const double most = exactness->work * count * config->shape.slices + 2 * exactness->path;
    double step = 0x1p-1000;
    config->time_step = exactness->rounding = 0;
    if (exactness->is_exact)
        return;
    while (step * MOST_STEPS < most && step < 0x1p900)
        step *= 2;
    config->time_step = step;
    exactness->rounding = rounding_of(exactness, step);
    struct ppi_values *pairs = &config->values[PPSCHED_QUANTITY_OVERLAPPED_TIMES];
    for (size_t i = 0; i < pairs->count && exactness->pairs != NULL; i++)
        exactness->pairs[i] = ppi_multiple_of(exactness->costs.overlapped.values[i], step);
    if (exactness->pairs != NULL)
        pairs->values = exactness->pairs;
    if ((ppi_scales_pairs(&exactness->costs) || exactness->costs.pair_ends != NULL) && exactness->pairs != NULL)
        exactness->rounding = 1; /* they are scaled afterwards, or their ends are not rounded */
}

bool ppi_exactness_holds(const struct ppi_exactness *exactness, const ppsched_config *config, const ppsched_timeline *timeline)
{
    return exactness->is_exact ||
           (exactness->rounding <= PPI_MOST_ROUNDING && timeline->metrics.makespan <= config->time_step * MOST_STEPS);
}
