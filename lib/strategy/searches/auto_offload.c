/* SPDX-License-Identifier: Apache-2.0 */
/* auto with offload until the memory limit is kept: tries orders found without the limit, under wider ones and under it, and
 * those of all other strategies of its placement, each with its copies; the shortest wins. */
#include "strategy/searches/auto_offload.h"

#include "base/checked.h"
#include "base/error.h"
#include "eval/timeline.h"
#include "offload/offload.h"
#include "search/explore.h"
#include "strategy/descriptors.h"

/* Measured: docs/performance.md. */
enum { MOST_GROUPS = 12 }; /* sizes of groups per strategy that are offloaded */

/* Limits under which orders are searched, as multiples of the real one, 0: none; and by how much the effort is less. */
static const struct {
    double limits;
    int64_t less;
} looks[] = {{0, 1}, {1, 1}, {1.5, 2}};
enum { LOOKS = sizeof looks / sizeof looks[0] };

struct tries {
    const struct ppi_task *task;
    ppsched_config *config; /* the caller's, with its progress callback */
    struct ppi_poll poll;
    double span_share; /* of the objective */
    ppsched_schedule *best;
    double objective;
    bool wants_least;      /* only the least limit is searched */
    double least;          /* the least limit found to work so far */
    ppsched_error refusal; /* names `least` */
};

static double objective_of(const struct tries *tries, const ppsched_timeline *timeline)
{
    return ppi_objective(tries->span_share, timeline->metrics.span, timeline->metrics.makespan);
}

/* The objective of a schedule without copies. */
static ppsched_status price(double *out, const struct tries *tries, const ppsched_schedule *schedule, ppsched_error *error)
{
    ppsched_timeline *timeline = NULL;
    ppsched_status status = ppi_evaluate(&timeline, schedule, tries->config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error);
    if (status == PPSCHED_OK)
        *out = objective_of(tries, timeline);
    ppi_timeline_destroy(timeline);
    return status;
}

static void keep_shorter(struct tries *tries, ppsched_schedule *offloaded, double objective)
{
    if (objective < tries->objective) {
        ppsched_schedule *before = tries->best;
        tries->best = offloaded;
        tries->objective = tries->poll.best = objective;
        offloaded = before;
    }
    if (offloaded != NULL)
        ppi_schedule_release(offloaded);
}

/* Keeps a schedule with its copies where that is the shortest. With copies a schedule is never shorter than without. */
static ppsched_status offer(struct tries *tries, const ppsched_schedule *schedule, ppsched_error *error)
{
    ppsched_schedule *offloaded = NULL;
    ppsched_error reason = {0};
    double objective, least = PPI_INFINITE;
    ppsched_status status = price(&objective, tries, schedule, error);
    if (status != PPSCHED_OK || objective >= tries->objective)
        return status;
    status = ppi_offload_to_fit(&offloaded, tries->wants_least ? &least : NULL, schedule, tries->config, &reason);
    if (status == PPSCHED_ERROR_REFUSED) {
        if (least < tries->least || tries->refusal.status == PPSCHED_OK)
            tries->refusal = reason;
        tries->least = ppi_smaller(tries->least, least);
        return PPSCHED_OK;
    }
    if (status == PPSCHED_OK)
        status = price(&objective, tries, offloaded, &reason);
    if (status != PPSCHED_OK && error != NULL)
        *error = reason;
    if (status == PPSCHED_OK)
        keep_shorter(tries, offloaded, objective);
    else if (offloaded != NULL)
        ppi_schedule_release(offloaded);
    return status;
}

/* Offers the schedule of a strategy for a config; skipped where the strategy refuses. */
static ppsched_status offer_strategy(struct tries *tries, const struct ppi_strategy *strategy, const ppsched_config *config,
                                     ppsched_error *error)
{
    ppsched_schedule *schedule = NULL;
    ppsched_error reason = {0};
    ppsched_status status = ppi_generate(&schedule, strategy, config, &reason);
    if (status == PPSCHED_ERROR_REFUSED)
        return PPSCHED_OK;
    if (status != PPSCHED_OK && error != NULL)
        *error = reason;
    if (status == PPSCHED_OK)
        status = offer(tries, schedule, error);
    if (schedule != NULL)
        ppi_schedule_release(schedule);
    return status;
}

/* --- auto's own orders --- */

static ppsched_status scale_limits(ppsched_config *config, double factor, ppsched_error *error)
{
    struct ppi_values *limits = &config->values[PPSCHED_QUANTITY_MEM_LIMIT];
    if (factor == 0)
        return ppi_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, NULL, 0, error);
    for (size_t i = 0; i < limits->count; i++)
        limits->values[i] *= factor;
    return PPSCHED_OK;
}

static ppsched_status look(struct tries *tries, double limits, int64_t effort, ppsched_error *error)
{
    ppsched_config *config = NULL;
    ppsched_status status = ppi_config_copy(&config, tries->config, error);
    if (status == PPSCHED_OK) {
        ppi_config_set_role(config, PPI_ROLE_EFFORT, effort > 0 ? effort : 0);
        ppi_config_set_role(config, PPI_ROLE_OFFLOAD, PPI_NO_OFFLOAD);
        status = scale_limits(config, limits, error);
    }
    if (status == PPSCHED_OK)
        status = offer_strategy(tries, tries->task->strategy, config, error);
    ppi_config_destroy(config);
    return status;
}

/* --- other strategies' orders --- */

static ppsched_status offer_groups(struct tries *tries, const struct ppi_strategy *strategy, ppsched_config *config,
                                   ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    if (ppi_option_for(strategy, PPI_ROLE_GROUP_SIZE) == NULL || tries->task->chunks < 2 || tries->wants_least)
        return PPSCHED_OK;
    uint32_t group = ppi_next_group(&tries->task->shape, 0);
    for (int i = 0; i < MOST_GROUPS && group != 0 && status == PPSCHED_OK; i++) {
        ppi_config_set_role(config, PPI_ROLE_GROUP_SIZE, group);
        status = offer_strategy(tries, strategy, config, error);
        group = ppi_next_group(&tries->task->shape, group);
    }
    ppi_config_clear_role(config, PPI_ROLE_GROUP_SIZE);
    return status;
}

/* Offers each strategy's schedule under the limit, and of those that search also the one without it. */
static ppsched_status offer_others(struct tries *tries, ppsched_config *config, ppsched_config *unlimited, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    uint32_t count = ppi_strategy_count();
    for (uint32_t i = 0; i < count && status == PPSCHED_OK; i++) {
        const struct ppi_strategy *strategy = ppi_strategy_at(i);
        ppi_poll_go_on(&tries->poll, 0.75 + 0.25 * (i + 1) / count);
        if (strategy == tries->task->strategy || !strategy->flushes || strategy->offloads ||
            !ppi_auto_has_placement(tries->task, tries->config, strategy) || (tries->wants_least && strategy->plan != NULL))
            continue;
        status = offer_strategy(tries, strategy, config, error);
        if (status == PPSCHED_OK && strategy->plan != NULL)
            status = offer_strategy(tries, strategy, unlimited, error);
        if (status == PPSCHED_OK)
            status = offer_groups(tries, strategy, config, error);
    }
    return status;
}

static ppsched_status try_others(struct tries *tries, ppsched_error *error)
{
    ppsched_config *config = NULL, *unlimited = NULL;
    ppsched_status status = ppi_config_copy(&config, tries->config, error);
    static const char *const own[] = {"placement", "objective", "effort", "offload"};
    if (status == PPSCHED_OK)
        config->roles.given = 0;
    for (size_t i = 0; i < sizeof own / sizeof own[0] && status == PPSCHED_OK; i++)
        status = ppi_config_set_option(config, own[i], NULL, error);
    if (status == PPSCHED_OK)
        status = ppi_config_copy(&unlimited, config, error);
    if (status == PPSCHED_OK)
        status = scale_limits(unlimited, 0, error);
    if (status == PPSCHED_OK)
        status = offer_others(tries, config, unlimited, error);
    ppi_config_destroy(unlimited);
    ppi_config_destroy(config);
    return status;
}

/* --- the search --- */

/* Outputs the best under the name of auto. */
static ppsched_status finish(ppsched_schedule **out, const struct tries *tries, ppsched_error *error)
{
    ppsched_builder *builder = NULL;
    const ppsched_schedule *best = tries->best;
    ppsched_status status = ppi_builder_create(&builder, tries->config, tries->task->placement, tries->task->strategy->name,
                                               error);
    if (status != PPSCHED_OK)
        return status;
    builder->flushes = true;
    builder->weight_versions = best->weight_versions;
    for (uint32_t d = 0; d < best->shape.devices && status == PPSCHED_OK; d++)
        status = ppi_builder_append(builder, d, best->queues[d].ops, best->queues[d].count, error);
    if (status == PPSCHED_OK)
        status = ppi_builder_finish(out, builder, error);
    ppi_builder_destroy(builder);
    return status;
}

static ppsched_status try_all(struct tries *tries, int64_t effort, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (int i = 0; i < LOOKS && status == PPSCHED_OK; i++) {
        ppi_poll_go_on(&tries->poll, 0.25 * (i + 1));
        status = look(tries, looks[i].limits, effort - looks[i].less, error);
    }
    return status == PPSCHED_OK ? try_others(tries, error) : status;
}

ppsched_status ppi_auto_offload(ppsched_schedule **out, const struct ppi_task *task, const ppsched_config *config,
                                double span_share, int64_t effort, ppsched_error *error)
{
    struct tries tries = {.task = task,
                          .poll = ppi_poll_start(config),
                          .span_share = span_share,
                          .objective = PPI_INFINITE,
                          .least = PPI_INFINITE};
    tries.poll.to = 0;
    ppsched_status status = ppi_config_copy(&tries.config, config, error);
    if (status == PPSCHED_OK && config->progress != NULL) {
        tries.config->progress = ppi_poll_pass_on;
        tries.config->progress_user = &tries.poll;
    }
    if (status == PPSCHED_OK)
        status = try_all(&tries, effort, error);
    if (status == PPSCHED_OK && tries.best == NULL) {
        tries.wants_least = true;
        status = try_others(&tries, error);
    }
    if (status == PPSCHED_OK && tries.best == NULL)
        status = ppi_refuse(error, task, "%s", tries.refusal.message);
    else if (status == PPSCHED_OK)
        status = finish(out, &tries, error);
    if (tries.best != NULL)
        ppi_schedule_release(tries.best);
    ppi_config_destroy(tries.config);
    return status;
}
