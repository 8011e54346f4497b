/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the ops of a problem and what feeds each. An op's number is its kind's place times the stage passes, plus the stage
 * times the micro-slices, plus the micro-slice. */
#include "search/jobs.h"

#include "base/checked.h"
#include "base/error.h"

/* The F, the B or I, and the W of a stage pass have these places. */
static uint32_t place_of(uint8_t kind)
{
    return kind == PPSCHED_KIND_F ? 0 : kind == PPSCHED_KIND_W ? 2 : 1;
}

static uint32_t number_of(const struct ppi_jobs *jobs, uint32_t place, uint32_t stage, uint32_t micro_slice)
{
    return (place * jobs->shape.stages + stage) * jobs->shape.microbatches * jobs->shape.slices + micro_slice;
}

uint32_t ppi_jobs_find(const struct ppi_jobs *jobs, const ppsched_op *op)
{
    uint32_t micro_slice = ppi_micro_slice(&jobs->shape, op->microbatch, op->slice);
    uint32_t number = number_of(jobs, place_of(op->kind), op->stage, micro_slice);
    return number < jobs->count && jobs->job[number].kind == op->kind ? number : PPSCHED_NONE;
}

static void feed(struct ppi_jobs *jobs, uint32_t from, uint32_t to, double delay)
{
    struct ppi_job *job = &jobs->job[to], *feeder = &jobs->job[from];
    int i = 0, k = 0;
    while (job->input[i] != PPSCHED_NONE)
        i++;
    while (feeder->next[k] != PPSCHED_NONE)
        k++;
    job->input[i] = from;
    job->delay[i] = delay;
    feeder->next[k] = to;
}

static void put(struct ppi_jobs *jobs, const struct ppi_costs *costs, const struct ppi_instance *instance, uint8_t kind,
                uint32_t stage, uint32_t micro_slice)
{
    const struct ppi_factor factor = costs->factors == NULL ? (struct ppi_factor){1, 1}
                                                            : costs->factors[stage * costs->factor_step + micro_slice];
    struct ppi_job *job = &jobs->job[number_of(jobs, place_of(kind), stage, micro_slice)];
    *job = (struct ppi_job){.length = instance->duration[kind] * factor.time,
                            .memory = ppi_memory_at(instance->memory + PPSCHED_KIND_F, kind, factor.memory),
                            .device = instance->device,
                            .micro_slice = micro_slice,
                            .stage = (uint16_t)stage,
                            .kind = kind};
    if (costs->rises != NULL && (kind == PPSCHED_KIND_I || kind == PPSCHED_KIND_B))
        job->rise = (kind == PPSCHED_KIND_I ? costs->rises[stage].input : costs->rises[stage].whole) * factor.memory;
    if (costs->rises != NULL && kind == PPSCHED_KIND_W)
        job->memory = instance->memory[kind] * factor.memory;
    for (int i = 0; i < PPI_JOB_INPUTS; i++)
        job->input[i] = job->next[i] = PPSCHED_NONE;
}

/* The instance of a stage for a micro-slice. */
static const struct ppi_instance *instance_at(const struct ppi_jobs *jobs, const struct ppi_costs *costs,
                                              const struct ppi_placement *place, uint32_t stage, uint32_t micro_slice)
{
    uint32_t copy = ppi_copy_of(place, &jobs->shape, micro_slice / jobs->shape.slices);
    return &costs->instances[copy * jobs->shape.stages + stage];
}

static void put_all(struct ppi_jobs *jobs, const struct ppi_costs *costs, const struct ppi_placement *place,
                    bool is_forward_only, bool splits)
{
    const uint32_t all = jobs->shape.microbatches * jobs->shape.slices;
    for (uint32_t s = 0; s < jobs->shape.stages; s++)
        for (uint32_t m = 0; m < all; m++) {
            const struct ppi_instance *instance = instance_at(jobs, costs, place, s, m);
            put(jobs, costs, instance, PPSCHED_KIND_F, s, m);
            if (!is_forward_only)
                put(jobs, costs, instance, splits ? PPSCHED_KIND_I : PPSCHED_KIND_B, s, m);
            if (!is_forward_only && splits)
                put(jobs, costs, instance, PPSCHED_KIND_W, s, m);
        }
}

/* Whether a micro-slice runs after the one before it on each stage. */
static bool continues(const struct ppi_jobs *jobs, const ppsched_config *config, uint32_t micro_slice)
{
    return micro_slice % jobs->shape.slices != 0 ||
           (micro_slice > 0 && jobs->shape.slices == 1 && ppi_continues_request(config, micro_slice));
}

static void feed_all(struct ppi_jobs *jobs, const ppsched_config *config, const struct ppi_costs *costs,
                     const struct ppi_placement *place, bool splits)
{
    const uint32_t all = jobs->shape.microbatches * jobs->shape.slices, stages = jobs->shape.stages;
    for (uint32_t s = 0; s < stages; s++)
        for (uint32_t m = 0; m < all; m++) {
            const struct ppi_instance *own = instance_at(jobs, costs, place, s, m);
            const double sent = costs->factors == NULL ? 1 : costs->factors[m].memory;
            const uint32_t forward = number_of(jobs, 0, s, m), backward = number_of(jobs, 1, s, m);
            if (s > 0)
                feed(jobs, number_of(jobs, 0, s - 1, m), forward,
                     ppi_scaled_delay(own->forward_delay, own->forward_latency, sent));
            if (continues(jobs, config, m))
                feed(jobs, number_of(jobs, 0, s, m - 1), forward, 0);
            if (config->is_forward_only)
                continue;
            feed(jobs, forward, backward, 0);
            if (s + 1 < stages)
                feed(jobs, number_of(jobs, 1, s + 1, m), backward,
                     ppi_scaled_delay(own->backward_delay, own->backward_latency, sent));
            if (continues(jobs, config, m))
                feed(jobs, backward, number_of(jobs, 1, s, m - 1), 0);
            if (splits)
                feed(jobs, backward, number_of(jobs, 2, s, m), 0);
        }
}

/* Tails, from the last ops on: those of Ws, then of Is or Bs from stage 0 and the last micro-slice's followers, then of Fs. */
static void find_tails(struct ppi_jobs *jobs)
{
    const uint32_t passes = number_of(jobs, 1, 0, 0), all = jobs->shape.microbatches * jobs->shape.slices;
    for (uint32_t i = 0; i < 3 * passes; i++) {
        const uint32_t place = 2 - i / passes, cell = i % passes, stage = cell / all, m = cell % all;
        const bool is_backward = place == 1;
        const uint32_t id = place * passes + (is_backward ? cell : (jobs->shape.stages - 1 - stage) * all + all - 1 - m);
        if (id >= jobs->count)
            continue;
        struct ppi_job *job = &jobs->job[id];
        double after = 0;
        for (int k = 0; k < PPI_JOB_INPUTS && job->next[k] != PPSCHED_NONE; k++) {
            const struct ppi_job *next = &jobs->job[job->next[k]];
            int input = 0;
            while (next->input[input] != id)
                input++;
            after = ppi_larger(after, next->delay[input] + next->tail);
        }
        job->tail = job->length + after;
    }
}

static void find_limits(struct ppi_jobs *jobs, const ppsched_config *config, const struct ppi_placement *place)
{
    const struct ppi_values *limit = &config->values[PPSCHED_QUANTITY_MEM_LIMIT];
    for (uint32_t d = 0; d < jobs->devices; d++) {
        double fixed = 0;
        for (uint32_t i = 0; i < place->copies * jobs->shape.stages; i++)
            if (place->device_of[i] == d)
                ppi_add_static_memory(&fixed, config, i % jobs->shape.stages, 1);
        ppi_add_other_memory(&fixed, config, d);
        jobs->limit[d] = limit->values == NULL ? PPI_INFINITE : ppi_value_at(limit, d) * (1 + 1e-12) - fixed;
    }
}

static void find_requests(struct ppi_jobs *jobs, const ppsched_config *config)
{
    const uint32_t all = jobs->shape.microbatches;
    for (uint32_t i = 0; i < all * jobs->shape.slices; i++)
        jobs->request_at[i] = PPSCHED_NONE;
    for (uint32_t m = 0; m < all; m++) {
        const uint32_t last = m * jobs->shape.slices + jobs->shape.slices - 1;
        if (m + 1 < all && ppi_continues_request(config, m + 1))
            continue;
        jobs->request_at[last] = jobs->request_count;
        jobs->request_end[jobs->request_count++] = number_of(jobs, 0, jobs->shape.stages - 1, last);
    }
}

static void fill(struct ppi_jobs *jobs, const ppsched_config *config, const struct ppi_costs *costs,
                 const struct ppi_placement *place, bool splits)
{
    double sum = 0;
    put_all(jobs, costs, place, config->is_forward_only, splits);
    feed_all(jobs, config, costs, place, splits);
    find_tails(jobs);
    find_limits(jobs, config, place);
    find_requests(jobs, config);
    for (uint32_t i = 0; i < jobs->count; i++)
        sum += jobs->job[i].length;
    jobs->mean = sum / jobs->count;
}

ppsched_status ppi_jobs_make(struct ppi_jobs *out, struct ppi_arena *arena, const ppsched_config *config,
                             const struct ppi_placement *place, bool splits, ppsched_error *error)
{
    struct ppi_costs costs = {.host = config->host};
    const uint64_t passes = (uint64_t)config->shape.stages * config->shape.microbatches * config->shape.slices;
    const uint32_t kinds = config->is_forward_only ? 1 : splits ? 3 : 2;
    if (passes * 3 >= PPSCHED_NONE)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "auto: the problem has too many ops for this search");
    *out = (struct ppi_jobs){.shape = config->shape, .devices = config->shape.devices, .count = (uint32_t)passes * kinds};
    out->shape.iterations = 1;
    out->job = ppi_arena_take(arena, out->count, sizeof *out->job);
    out->limit = ppi_arena_take(arena, out->devices, sizeof *out->limit);
    out->request_end = ppi_arena_take(arena, config->shape.microbatches, sizeof *out->request_end);
    out->request_time = ppi_arena_take(arena, config->shape.microbatches, sizeof *out->request_time);
    out->request_at = ppi_arena_take(arena, (size_t)config->shape.microbatches * config->shape.slices, sizeof *out->request_at);
    ppsched_status status = ppi_arena_check(arena, "the search", error);
    if (status == PPSCHED_OK)
        status = ppi_costs_make(&costs, config, place, error);
    if (status == PPSCHED_OK) {
        fill(out, config, &costs, place, splits);
        ppi_costs_clear(&costs);
    }
    return status;
}

double ppi_jobs_most_work(const struct ppi_jobs *jobs, double *work)
{
    double most = 0;
    for (uint32_t d = 0; d < jobs->devices; d++)
        work[d] = 0;
    for (uint32_t i = 0; i < jobs->count; i++)
        work[jobs->job[i].device] += jobs->job[i].length;
    for (uint32_t d = 0; d < jobs->devices; d++)
        most = ppi_larger(most, work[d]);
    return most;
}

/* --- the ends of requests --- */

static void sort(double *ends, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        double end = ends[i];
        uint32_t k = i;
        for (; k > 0 && ends[k - 1] > end; k--)
            ends[k] = ends[k - 1];
        ends[k] = end;
    }
}

double ppi_jobs_of_requests(const struct ppi_jobs *jobs)
{
    double sum = 0, share = jobs->goal.quantile * jobs->request_count;
    uint32_t rank = share > 0 ? (uint32_t)share : 0;
    if ((double)rank < share - 1e-9)
        rank++;
    if (jobs->goal.by == PPI_JOBS_BY_QUANTILE) {
        sort(jobs->request_time, jobs->request_count);
        return jobs->request_time[rank > 0 ? rank - 1 : 0];
    }
    for (uint32_t r = 0; r < jobs->request_count; r++)
        sum += jobs->request_time[r];
    return sum / jobs->request_count;
}
