/* SPDX-License-Identifier: Apache-2.0 */
/* auto for forwards alone, and for the bidirectional placement: the orders of other strategies and list schedules, improved by
 * the search for jobs. With backwards it searches twice, with whole ones and with split ones. */
#include "strategy/searches/auto_jobs.h"

#include "base/checked.h"
#include "base/error.h"
#include "bound/bound.h"
#include "eval/period.h"
#include "eval/timeline.h"
#include "search/explore.h"

/* Measured: docs/performance.md. */
enum {
    VISITS_PER_OP = 400000, /* at the default effort, so that small problems end sooner */
    LEAST_VISITS = 1000000,
    MOST_VISITS = 50000000,
    TIGHTER_TRIES = 4 /* where memory other than activations exceeds a limit, the limits are lowered so often */
};

struct chase {
    const struct ppi_task *task;
    const ppsched_config *config; /* with one iteration */
    struct ppi_placement place;
    struct ppi_jobs_goal goal;
    struct ppi_poll poll;
    double visits, least;
    ppsched_schedule *best, *rivals[4]; /* of one iteration */
    uint32_t rival_count;
    double objective;
};

/* --- schedules --- */

/* The objective of a timeline, except for a repeated order. */
static double objective_of(const struct chase *chase, const struct ppi_jobs *jobs, const ppsched_timeline *timeline)
{
    const ppsched_schedule *schedule = timeline->schedule;
    if (chase->goal.by == PPI_JOBS_BY_TIME)
        return ppi_objective(chase->goal.span_share, timeline->metrics.span, timeline->metrics.makespan);
    for (uint64_t i = 0; i < schedule->op_count; i++) {
        const ppsched_op *op = &schedule->ops[i];
        uint32_t request = jobs->request_at[ppi_micro_slice_of(&schedule->shape, op)];
        if (op->kind == PPSCHED_KIND_F && op->stage + 1u == schedule->shape.stages && request != PPSCHED_NONE)
            jobs->request_time[request] = timeline->spans[i].end;
    }
    return ppi_jobs_of_requests(jobs);
}

/* The objective of a schedule by the evaluator; infinite where it exceeds a limit. */
static ppsched_status price(double *out, const struct chase *chase, const ppsched_schedule *schedule,
                            const struct ppi_jobs *jobs, double *over, ppsched_error *error)
{
    const struct ppi_values *limit = &chase->config->values[PPSCHED_QUANTITY_MEM_LIMIT];
    ppsched_timeline *timeline = NULL;
    ppsched_status status = ppi_evaluate(&timeline, schedule, chase->config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error);
    if (status != PPSCHED_OK)
        return status;
    if (chase->goal.by == PPI_JOBS_BY_PERIOD)
        status = ppi_find_period(out, schedule, chase->config, error);
    else
        *out = objective_of(chase, jobs, timeline);
    for (uint32_t d = 0; d < chase->config->shape.devices; d++) {
        over[d] = limit->values == NULL ? 0 : timeline->devices[d].peak_memory - ppi_value_at(limit, d);
        if (limit->values != NULL && ppi_is_over_limit(timeline->devices[d].peak_memory, ppi_value_at(limit, d)))
            *out = PPI_INFINITE;
    }
    ppi_timeline_destroy(timeline);
    return status;
}

/* Keeps a schedule where it is the best so far; else releases it. */
static void keep(struct chase *chase, ppsched_schedule *schedule, double objective)
{
    if (objective < chase->objective) {
        ppsched_schedule *before = chase->best;
        chase->best = schedule;
        chase->objective = chase->poll.best = objective;
        schedule = before;
    }
    if (schedule != NULL)
        ppi_schedule_release(schedule);
}

static ppsched_status build(ppsched_schedule **out, const struct chase *chase, const struct ppi_jobs *jobs,
                            const uint32_t *sequence, ppsched_error *error)
{
    ppsched_builder *builder = NULL;
    ppsched_status status = ppi_builder_create(&builder, chase->config, chase->task->placement, chase->task->strategy->name,
                                               error);
    for (uint32_t t = 0; t < jobs->count && status == PPSCHED_OK; t++) {
        const struct ppi_job *job = &jobs->job[sequence[t]];
        const ppsched_op op = ppi_op_of_micro_slice(&jobs->shape, job->micro_slice, job->stage, job->kind);
        status = ppi_builder_append(builder, job->device, &op, 1, error);
    }
    if (status == PPSCHED_OK) {
        builder->flushes = true;
        builder->weight_versions = chase->config->weight_versions != 0 ? chase->config->weight_versions : 1;
        status = ppi_builder_finish(out, builder, error);
    }
    ppi_builder_destroy(builder);
    return status;
}

/* --- other strategies --- */

static bool is_same_placement(const struct chase *chase, const ppsched_schedule *schedule)
{
    for (uint32_t i = 0; i < chase->place.copies * chase->config->shape.stages; i++)
        if (schedule->placement.copies != chase->place.copies || schedule->placement.device_of[i] != chase->place.device_of[i])
            return false;
    return true;
}

/* Generates the schedules of fixed rules on this placement. */
static ppsched_status find_rivals(struct chase *chase, ppsched_error *error)
{
    ppsched_config config = *chase->config; /* with the caller's lists, but no options */
    ppsched_status status = PPSCHED_OK;
    config.roles.given = 0;
    config.option_count = 0;
    config.progress = NULL;
    for (uint32_t i = 0; ppi_strategy_at(i) != NULL && status == PPSCHED_OK; i++) {
        const struct ppi_strategy *strategy = ppi_strategy_at(i);
        ppsched_schedule *schedule = NULL;
        ppsched_error reason = {0};
        if (strategy->plan != NULL || strategy->make != NULL || strategy->finish != NULL || !strategy->flushes ||
            chase->rival_count == 4 || (strategy->placement == PPSCHED_PLACEMENT_BIDIRECTIONAL) != (chase->place.copies == 2))
            continue;
        status = ppi_generate(&schedule, strategy, &config, &reason);
        if (status == PPSCHED_OK && is_same_placement(chase, schedule))
            chase->rivals[chase->rival_count++] = schedule;
        else if (status == PPSCHED_OK)
            ppi_schedule_release(schedule);
        if (status == PPSCHED_ERROR_REFUSED)
            status = PPSCHED_OK;
        else if (status != PPSCHED_OK && error != NULL)
            *error = reason;
    }
    return status;
}

/* Puts a device's ops into the sequence until one waits; returns the place where it stops. */
static size_t take_ops(const struct ppi_jobs *jobs, const struct ppsched_queue *queue, size_t at, uint32_t *sequence,
                       uint32_t *count, bool *done)
{
    for (; at < queue->count; at++) {
        ppsched_op op = queue->ops[at];
        const bool whole = op.kind == PPSCHED_KIND_B;
        op.flags &= PPSCHED_OP_FLAG_SLICED;
        uint32_t id = ppi_jobs_find(jobs, &op), then = PPSCHED_NONE;
        if (id == PPSCHED_NONE && whole) {
            op.kind = PPSCHED_KIND_I;
            id = ppi_jobs_find(jobs, &op);
            op.kind = PPSCHED_KIND_W;
            then = ppi_jobs_find(jobs, &op);
        }
        if (id == PPSCHED_NONE)
            return at;
        for (int i = 0; i < PPI_JOB_INPUTS && jobs->job[id].input[i] != PPSCHED_NONE; i++)
            if (!done[jobs->job[id].input[i]])
                return at;
        done[id] = true;
        sequence[(*count)++] = id;
        if (then != PPSCHED_NONE) {
            done[then] = true;
            sequence[(*count)++] = then;
        }
    }
    return at;
}

/* Offers a rival's order to the search: with its pairs as two ops, and its Bs as I and W where backwards are split. */
static ppsched_status offer_rival(struct ppi_jobs_search *search, struct ppi_arena *arena, const ppsched_schedule *rival,
                                  ppsched_error *error)
{
    const struct ppi_jobs *jobs = search->jobs;
    uint32_t *sequence = ppi_arena_take(arena, jobs->count, sizeof *sequence), count = 0;
    size_t *at = ppi_arena_take_zeroed(arena, jobs->devices, sizeof *at);
    bool *done = ppi_arena_take_zeroed(arena, jobs->count, sizeof *done);
    ppsched_status status = ppi_arena_check(arena, "the search", error);
    if (status != PPSCHED_OK)
        return status;
    for (uint32_t before = PPSCHED_NONE; before != count;) {
        before = count;
        for (uint32_t d = 0; d < jobs->devices; d++)
            at[d] = take_ops(jobs, &rival->queues[d], at[d], sequence, &count, done);
    }
    if (count == jobs->count)
        ppi_jobs_offer(search, sequence);
    return PPSCHED_OK;
}

/* --- the search --- */

static ppsched_status find_least(struct chase *chase, ppsched_error *error)
{
    double value[2] = {0, 0};
    ppsched_status status = PPSCHED_OK;
    for (int i = 0; i < 2 && status == PPSCHED_OK && chase->goal.by == PPI_JOBS_BY_TIME; i++) {
        const struct ppi_bound_question question = {.placement = chase->task->placement,
                                                    .objective = i == 0 ? PPSCHED_OBJECTIVE_SPAN : PPSCHED_OBJECTIVE_MAKESPAN,
                                                    .unflushed = 1,
                                                    .depth = PPI_BOUND_SUMS};
        ppsched_bound bound;
        status = ppi_lower_bound(&bound, chase->config, &question, error);
        value[i] = status == PPSCHED_OK ? bound.value : 0;
    }
    chase->least = ppi_objective(chase->goal.span_share, value[0], value[1]) * (1 + 1e-12);
    return status;
}

/* Searches with whole or split backwards; where other memory exceeds a limit, again with lower limits for activations. */
static ppsched_status search_with(struct chase *chase, struct ppi_arena *arena, bool splits, double visits,
                                  ppsched_error *error)
{
    struct ppi_jobs jobs;
    ppsched_status status = ppi_jobs_make(&jobs, arena, chase->config, &chase->place, splits, error);
    double *over = ppi_arena_take(arena, chase->config->shape.devices, sizeof *over);
    if (status == PPSCHED_OK)
        status = ppi_arena_check(arena, "the search", error);
    if (status == PPSCHED_OK && chase->goal.by == PPI_JOBS_BY_PERIOD)
        chase->least = ppi_jobs_most_work(&jobs, over) * (1 + 1e-12);
    for (int i = 0; i < TIGHTER_TRIES && status == PPSCHED_OK; i++) {
        struct ppi_jobs_search search;
        ppsched_schedule *schedule = NULL;
        double objective = PPI_INFINITE;
        jobs.goal = chase->goal;
        jobs.least = chase->least;
        status = ppi_jobs_search_make(&search, arena, &jobs, &chase->poll, error);
        for (uint32_t r = 0; r < chase->rival_count && status == PPSCHED_OK; r++)
            status = offer_rival(&search, arena, chase->rivals[r], error);
        if (status == PPSCHED_OK)
            status = ppi_jobs_list(&search, error);
        if (status == PPSCHED_OK && visits > 0)
            status = ppi_jobs_improve(&search, visits, error);
        if (status != PPSCHED_OK || search.best_time == PPI_INFINITE)
            return status;
        status = build(&schedule, chase, &jobs, search.best, error);
        if (status == PPSCHED_OK)
            status = price(&objective, chase, schedule, &jobs, over, error);
        if (status != PPSCHED_OK)
            return status;
        keep(chase, schedule, objective);
        if (objective < PPI_INFINITE)
            break;
        for (uint32_t d = 0; d < jobs.devices; d++)
            jobs.limit[d] -= ppi_larger(over[d], 0);
    }
    return status;
}

/* Rivals as they are: with overlapped pairs, and whole and split backwards side by side. */
static ppsched_status keep_rivals(struct chase *chase, struct ppi_arena *arena, ppsched_error *error)
{
    struct ppi_jobs jobs;
    double *over = ppi_arena_take(arena, chase->config->shape.devices, sizeof *over);
    ppsched_status status = ppi_jobs_make(&jobs, arena, chase->config, &chase->place, false, error);
    if (status == PPSCHED_OK)
        status = ppi_arena_check(arena, "the search", error);
    jobs.goal = chase->goal;
    for (uint32_t r = 0; r < chase->rival_count && status == PPSCHED_OK; r++) {
        double objective = PPI_INFINITE;
        status = price(&objective, chase, chase->rivals[r], &jobs, over, error);
        if (status == PPSCHED_OK && objective < chase->objective) {
            keep(chase, chase->rivals[r], objective);
            chase->rivals[r] = NULL;
        }
    }
    return status;
}

static ppsched_status search_all(struct chase *chase, ppsched_error *error)
{
    struct ppi_arena arena = {.host = &chase->config->host};
    const bool both = !chase->config->is_forward_only && !chase->config->has_whole_backwards;
    ppsched_status status = find_least(chase, error);
    if (status == PPSCHED_OK)
        status = find_rivals(chase, error);
    ppi_poll_go_on(&chase->poll, both ? 0.5 : 1);
    if (status == PPSCHED_OK)
        status = search_with(chase, &arena, false, both ? chase->visits / 2 : chase->visits, error);
    ppi_poll_go_on(&chase->poll, 1);
    if (status == PPSCHED_OK && both && chase->objective > chase->least)
        status = search_with(chase, &arena, true, chase->visits / 2, error);
    if (status == PPSCHED_OK)
        status = keep_rivals(chase, &arena, error);
    ppi_arena_clear(&arena);
    return status;
}

/* Repeats a schedule of one iteration for all. */
static ppsched_status repeat(ppsched_schedule **out, const struct chase *chase, const ppsched_config *config,
                             ppsched_error *error)
{
    ppsched_builder *builder = NULL;
    const ppsched_schedule *once = chase->best;
    ppsched_status status = ppi_builder_create(&builder, config, chase->task->placement, chase->task->strategy->name, error);
    for (uint32_t i = 0; i < config->shape.iterations; i++)
        for (uint32_t d = 0; d < once->shape.devices; d++)
            for (size_t k = 0; k < once->queues[d].count && status == PPSCHED_OK; k++) {
                ppsched_op op = once->queues[d].ops[k];
                op.microbatch += i * config->shape.microbatches;
                status = ppi_builder_append(builder, d, &op, 1, error);
            }
    if (status == PPSCHED_OK) {
        builder->flushes = true;
        builder->weight_versions = config->weight_versions != 0 ? config->weight_versions : 1;
        status = ppi_builder_finish(out, builder, error);
    }
    ppi_builder_destroy(builder);
    return status;
}

static ppsched_status refuse_limit(const struct chase *chase, ppsched_error *error)
{
    const struct ppi_bound_question question = {
        .placement = chase->task->placement, .objective = PPSCHED_OBJECTIVE_MAKESPAN, .unflushed = 1, .depth = PPI_BOUND_SUMS};
    ppsched_bound bound;
    ppsched_status status = ppi_lower_bound(&bound, chase->config, &question, error);
    if (status != PPSCHED_OK)
        return status;
    return ppi_refuse(error, chase->task, "no schedule fits the memory limit; the least limit that may work is %g",
                      bound.least_limit);
}

ppsched_status ppi_auto_jobs(ppsched_schedule **out, const struct ppi_task *task, const ppsched_config *config,
                             const struct ppi_jobs_goal *goal, int64_t effort, ppsched_error *error)
{
    const uint64_t ops = (uint64_t)config->shape.stages * config->shape.microbatches * config->shape.slices * 2;
    ppsched_config once = *config; /* with the caller's lists */
    struct chase chase = {.task = task, .config = &once, .goal = *goal, .objective = PPI_INFINITE};
    once.shape.iterations = 1;
    chase.poll = ppi_poll_start(config);
    chase.poll.to = 0;
    chase.visits = effort == 0 ? 0
                               : ppi_smaller(LEAST_VISITS + (double)VISITS_PER_OP * (double)ops, MOST_VISITS) *
                                     (double)(1 << effort) / (1 << PPI_DEFAULT_EFFORT);
    ppsched_status status = ppi_config_place(&chase.place, config, task->placement, error);
    if (status != PPSCHED_OK)
        return status;
    status = search_all(&chase, error);
    if (status == PPSCHED_OK)
        status = chase.best == NULL ? refuse_limit(&chase, error) : ppi_poll_report(&chase.poll, 1, error);
    if (status == PPSCHED_OK)
        status = repeat(out, &chase, config, error);
    if (chase.best != NULL)
        ppi_schedule_release(chase.best);
    for (uint32_t r = 0; r < chase.rival_count; r++)
        if (chase.rivals[r] != NULL)
            ppi_schedule_release(chase.rivals[r]);
    ppi_release(&config->host, chase.place.device_of);
    return status;
}
