/* SPDX-License-Identifier: Apache-2.0 */
/* A search for few microbatches instead of many: a part of its order in which each device runs some whole microbatches is
 * repeated. All devices start that part at the same time, and end it after as long as the busiest device works for these
 * microbatches. So it repeats without more idle time if it repeats at all, which the evaluator tells. */
#include "strategy/unroll.h"

#include "base/checked.h"
#include "search/part.h"
#include "search/shorten.h"

/* Measured: docs/performance.md. */
enum {
    FEW = 4,        /* microbatches per device */
    LEAST_FEW = 16, /* microbatches */
    TIMES = 4,      /* so many times more are many */
    EASIER = 1,     /* efforts less for few */
    PARTS = 96,     /* times tried at which the part may end, for each number of microbatches */
    PRICED = 4      /* orders of all microbatches that are priced */
};

#define SHARE 0.1  /* of the progress, for few microbatches */
#define CLOSE 1e-9 /* times that differ by less, as a share of the whole, are equal */

struct unroll {
    struct ppi_attempt *attempt; /* of all microbatches */
    struct ppi_attempt few;
    double period;    /* of the busiest device, per microbatch */
    uint32_t busiest; /* device */
    struct ppi_part part;
    uint32_t *count; /* by stage and kind: its ops in the part */
    int priced;
};

/* --- few microbatches --- */

static uint32_t few_of(const struct ppi_shape *shape)
{
    const uint64_t least = (uint64_t)FEW * shape->devices;
    const uint64_t few = (least > LEAST_FEW ? least : LEAST_FEW) + shape->microbatches % shape->devices;
    return few * TIMES <= shape->microbatches ? (uint32_t)few : 0;
}

static void ease(struct ppi_task *task)
{
    const struct ppi_option_row *row = ppi_option_for(task->strategy, PPI_ROLE_EFFORT);
    int64_t *effort = row != NULL ? &task->option[row - task->strategy->options] : NULL;
    if (effort != NULL && *effort > 1)
        *effort = *effort > EASIER ? *effort - EASIER : 1;
}

/* --- the part that repeats --- */

static const ppsched_op *ops_of(const struct ppi_orders *orders, uint32_t device)
{
    return orders->ops + orders->first[device];
}

static const ppsched_span *spans_of(const struct unroll *unroll, uint32_t device)
{
    const struct ppi_pricer *pricer = &unroll->few.pricer;
    return pricer->timeline->spans + pricer->schedule->queues[device].first;
}

static void find_busiest(struct unroll *unroll)
{
    const struct ppi_orders *orders = &unroll->few.best;
    unroll->period = 0;
    for (uint32_t d = 0; d < orders->devices; d++) {
        const ppsched_span *spans = spans_of(unroll, d);
        double work = 0;
        for (size_t i = 0; i < orders->count[d]; i++)
            work += spans[i].end - spans[i].start;
        if (work > unroll->period) {
            unroll->period = work;
            unroll->busiest = d;
        }
    }
    unroll->period /= unroll->few.problem.microbatches;
}

/* The first op of a device that starts at a time or later. */
static size_t first_from(const struct unroll *unroll, uint32_t device, double time)
{
    return ppi_started_before(spans_of(unroll, device), unroll->few.best.count[device], time);
}

/* Whether a device runs whole microbatches from `from` to `to`, so many of each of its stages. */
static bool is_whole(const struct unroll *unroll, uint32_t device)
{
    const struct ppi_problem *problem = &unroll->few.problem;
    const ppsched_op *ops = ops_of(&unroll->few.best, device);
    for (uint32_t i = 0; i < problem->device[device].count; i++)
        for (uint32_t k = 0; k < PPI_COMPUTE_KINDS; k++)
            unroll->count[problem->stage_list[problem->device[device].first + i] * PPI_COMPUTE_KINDS + k] = 0;
    for (size_t i = unroll->part.from[device]; i < unroll->part.to[device]; i++)
        unroll->count[ops[i].stage * PPI_COMPUTE_KINDS + ops[i].kind]++;
    for (uint32_t i = 0; i < problem->device[device].count; i++) {
        const uint32_t stage = problem->stage_list[problem->device[device].first + i];
        const uint32_t *count = unroll->count + stage * PPI_COMPUTE_KINDS;
        if (count[PPSCHED_KIND_F] != unroll->part.block || count[PPSCHED_KIND_W] != count[PPSCHED_KIND_I] ||
            count[PPSCHED_KIND_I] + count[PPSCHED_KIND_B] != unroll->part.block)
            return false;
    }
    return true;
}

/* Whether the part may end at a time. */
static bool may_end(struct unroll *unroll, double time)
{
    const double length = unroll->part.block * unroll->period, close = time * CLOSE;
    for (uint32_t d = 0; d < unroll->few.problem.devices; d++) {
        unroll->part.from[d] = first_from(unroll, d, time - length - close);
        unroll->part.to[d] = first_from(unroll, d, time - close);
        if (!is_whole(unroll, d))
            return false;
    }
    return true;
}

/* --- all microbatches --- */

static bool is_close(double a, double b)
{
    return a - b <= b * CLOSE && b - a <= b * CLOSE;
}

/* Whether all microbatches, in that time, have as much time above the lower bound as few, or take as much longer as the busiest
 * device works more. Less than that shows that few are too few. */
static bool is_enough(const struct unroll *unroll, double time)
{
    const struct ppi_attempt *all = unroll->attempt, *few = &unroll->few;
    const double each = ppi_task_of(all)->strategy->may_join ? all->problem.least_period : all->problem.split_work;
    const double work = each * (all->problem.microbatches - few->problem.microbatches);
    if (!ppi_is_finite(time) || !ppi_is_finite(few->objective))
        return false;
    return time <= all->goal || is_close(time, few->objective + (all->goal - few->goal)) ||
           is_close(time, few->objective + work);
}

/* Prices the order of all microbatches, and keeps it if it is short enough; else the attempt is as if there were none. */
static ppsched_status offer(struct unroll *unroll, ppsched_error *error)
{
    struct ppi_attempt *attempt = unroll->attempt;
    double time = PPI_INFINITE;
    bool fits = true;
    ppsched_status status = PPSCHED_OK;
    ppi_part_repeat(&unroll->part, &unroll->few.best, &attempt->candidate,
                    attempt->problem.microbatches - unroll->few.problem.microbatches);
    unroll->priced++;
    if (attempt->problem.has_limits)
        ppi_attempt_peak(attempt, &fits);
    if (fits)
        status = ppi_attempt_price(attempt, &time, error);
    if (status == PPSCHED_OK && is_enough(unroll, time))
        ppi_attempt_keep(attempt, time);
    return status == PPSCHED_ERROR_INVALID_SCHEDULE || status == PPSCHED_OK ? ppi_attempt_spend(attempt, 2, error) : status;
}

/* Tries parts of so many microbatches. */
static ppsched_status try_block(struct unroll *unroll, ppsched_error *error)
{
    const size_t count = unroll->few.best.count[unroll->busiest], first = count / 3;
    const ppsched_span *spans = spans_of(unroll, unroll->busiest);
    ppsched_status status = PPSCHED_OK;
    for (size_t i = first; i < count && i < first + PARTS && status == PPSCHED_OK && unroll->priced < PRICED; i++)
        if (spans[i].start >= unroll->part.block * unroll->period && may_end(unroll, spans[i].start)) {
            status = offer(unroll, error);
            if (is_enough(unroll, unroll->attempt->objective))
                break;
        }
    return status;
}

/* Parts of as many microbatches as divide the number of devices. */
static ppsched_status try_blocks(struct unroll *unroll, ppsched_error *error)
{
    const struct ppi_problem *problem = &unroll->few.problem;
    ppsched_status status = ppi_pricer_put(&unroll->few.pricer, unroll->few.config, unroll->few.placement, &unroll->few.best,
                                           error);
    double objective;
    if (status == PPSCHED_OK)
        status = ppi_pricer_time(&unroll->few.pricer, problem->span_share, &objective, error);
    if (status != PPSCHED_OK)
        return status;
    find_busiest(unroll);
    for (unroll->part.block = 1; unroll->part.block <= problem->devices && status == PPSCHED_OK; unroll->part.block++)
        if (problem->devices % unroll->part.block == 0 && !is_enough(unroll, unroll->attempt->objective))
            status = try_block(unroll, error);
    return status;
}

bool ppi_shortens(const struct ppi_attempt *attempt)
{
    const struct ppi_task *task = ppi_task_of(attempt);
    const struct ppi_option_row *row = ppi_option_for(task->strategy, PPI_ROLE_EFFORT);
    return attempt->pool != NULL && row != NULL && task->option[row - task->strategy->options] <= row->usual &&
           ppi_may_shorten(attempt);
}

/* And, where orders are shortened too, parts that take longer. */
static ppsched_status try_all(struct unroll *unroll, ppsched_error *error)
{
    struct ppi_attempt *attempt = unroll->attempt;
    bool is_lengthened;
    ppsched_status status = try_blocks(unroll, error);
    if (status != PPSCHED_OK || is_enough(unroll, attempt->objective) || !ppi_shortens(attempt))
        return status;
    return ppi_lengthen(attempt, &unroll->few, &is_lengthened, error);
}

static ppsched_status make(struct unroll *out, ppsched_error *error)
{
    struct ppi_arena *arena = &out->attempt->arena;
    const struct ppi_problem *problem = &out->attempt->problem;
    out->part.from = ppi_arena_take(arena, problem->devices, sizeof *out->part.from);
    out->part.to = ppi_arena_take(arena, problem->devices, sizeof *out->part.to);
    out->count = ppi_arena_take(arena, problem->stages, PPI_COMPUTE_KINDS * sizeof *out->count);
    return ppi_arena_check(arena, "the search", error);
}

ppsched_status ppi_unroll(struct ppi_attempt *attempt, const struct ppi_task *task, bool *found, ppsched_error *error)
{
    struct unroll unroll = {.attempt = attempt};
    struct ppi_task fewer = *task;
    ppsched_config config = *attempt->config;
    ppsched_error reason;
    const double end = attempt->poll.to;
    *found = false;
    fewer.shape.microbatches = config.shape.microbatches = few_of(&task->shape);
    if (fewer.shape.microbatches == 0 || task->shape.slices > 1 || attempt->stated != NULL || config.graph != NULL ||
        attempt->problem.ratio != NULL || !ppi_has_equal_microbatches(&config) || !ppi_serves(&fewer))
        return PPSCHED_OK;
    ease(&fewer);
    if (config.progress != NULL) {
        config.progress = ppi_poll_pass_on;
        config.progress_user = &attempt->poll;
    }
    ppsched_status status = make(&unroll, error);
    if (status != PPSCHED_OK)
        return status;
    attempt->poll.to = attempt->poll.from + SHARE * (end - attempt->poll.from);
    if (!task->strategy->may_join)
        ppi_attempt_split_only(attempt);
    status = ppi_plan(&unroll.few, &fewer, &config, &reason);
    if (status != PPSCHED_OK && status != PPSCHED_ERROR_REFUSED && error != NULL)
        *error = reason;
    if (status == PPSCHED_OK && !ppi_orders_have_pairs(&unroll.few.best))
        status = try_all(&unroll, error);
    *found = status == PPSCHED_OK &&
             (is_enough(&unroll, attempt->objective) || (ppi_shortens(attempt) && ppi_is_near_goal(attempt)));
    ppi_pricer_clear(&attempt->pricer);
    ppi_attempt_clear(&unroll.few);
    ppi_poll_go_on(&attempt->poll, end);
    return status == PPSCHED_ERROR_REFUSED ? PPSCHED_OK : status;
}
