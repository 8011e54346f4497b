/* SPDX-License-Identifier: Apache-2.0 */
/* Searches with whole backwards, with split ones or with both, and builds the schedule of the better. */
#include "strategy/searches/auto_graph.h"

#include "base/checked.h"
#include "search/explore.h"
#include "search/web_search.h"

/* Visits of tasks at the default effort: some half a second. Measured: docs/performance.md. */
#define VISITS 2.4e7

struct planning {
    const struct ppi_task *task;
    const ppsched_config *config;
    struct ppi_arena arena;
    struct ppi_poll poll;
    struct ppi_web web[2];
    struct ppi_web_search search[2];
    double bound, visits;
    bool by_period;
};

static double visits_of(int64_t effort, uint32_t tasks)
{
    double visits = VISITS / (1 << PPI_DEFAULT_EFFORT) * (double)(1 << effort);
    return effort == 0 ? 0 : ppi_smaller(visits, visits / VISITS * (2e6 + 4e5 * tasks));
}

/* Whether some device is over its limit before any microbatch. */
static bool is_over(const struct ppi_web *web)
{
    for (uint32_t d = 0; d < web->devices; d++)
        if (web->limit[d] < 0)
            return true;
    return false;
}

static ppsched_status search_form(struct planning *planning, enum ppi_web_form form, int64_t effort, ppsched_error *error)
{
    struct ppi_web *web = &planning->web[form];
    struct ppi_web_search *search = &planning->search[form];
    ppsched_status status = ppi_web_make(web, &planning->arena, planning->config, planning->task->placement, form, error);
    if (status == PPSCHED_OK)
        status = ppi_web_search_make(search, web, planning->bound, visits_of(effort, web->count), &planning->arena,
                                     &planning->poll, error);
    if (status == PPSCHED_OK && is_over(web))
        return PPSCHED_OK;
    if (status == PPSCHED_OK)
        status = ppi_web_list(search, error);
    if (planning->by_period)
        return status == PPSCHED_OK ? ppi_web_repeat(search, error) : status;
    if (status == PPSCHED_OK && effort > 0 && ppi_web_goes_on(search))
        status = ppi_web_climb(search, web->count <= 40 ? 0.3 : 0.8, error);
    if (status == PPSCHED_OK && effort > 0 && ppi_web_goes_on(search))
        status = ppi_web_prove(search, error);
    if (status == PPSCHED_OK && effort > 0 && ppi_web_goes_on(search))
        status = ppi_web_climb(search, 1, error);
    return status;
}

/* Whether a whole backward of a stage takes less time on a device than a split one. */
static bool is_shorter_whole(const ppsched_config *config, struct ppi_instance instance, uint32_t stage, uint32_t device)
{
    double *duration = instance.duration;
    ppi_put_on_device(duration, config, stage, device);
    ppi_add_op_overhead(duration, config);
    return duration[PPSCHED_KIND_I] + duration[PPSCHED_KIND_W] > duration[PPSCHED_KIND_B] * (1 + 1e-12);
}

/* Whether whole backwards may be better than split ones somewhere. */
static bool wants_whole(const ppsched_config *config)
{
    const uint32_t devices = ppi_has_speeds(config) ? config->shape.devices : 1;
    bool wants = config->has_whole_backwards || ppi_memory_rises(config);
    for (uint32_t s = 0; s < config->shape.stages && !wants; s++) {
        struct ppi_instance instance;
        if (ppi_resolve_stage(config, s, &instance, NULL) != PPSCHED_OK)
            return true;
        for (uint32_t d = 0; d < devices && !wants; d++)
            wants = is_shorter_whole(config, instance, s, d);
    }
    return wants;
}

/* Puts the ops of the best order into the queues, for all iterations. */
static ppsched_status put_ops(ppsched_builder *builder, const struct ppi_web_search *search, const struct ppi_shape *shape,
                              ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < shape->iterations; i++)
        for (uint32_t p = 0; p < search->web->count && status == PPSCHED_OK; p++) {
            const struct ppi_task_node *task = &search->web->tasks[search->best.task[p]];
            ppsched_op op = task->op;
            op.microbatch += i * shape->microbatches;
            for (uint32_t k = 0; k < task->device_count && status == PPSCHED_OK; k++)
                status = ppi_builder_append(builder, task->devices[k], &op, 1, error);
        }
    return status;
}

static ppsched_status build(ppsched_schedule **out, const struct planning *planning, const struct ppi_web_search *search,
                            const ppsched_config *stated, ppsched_error *error)
{
    ppsched_builder *builder = NULL;
    ppsched_status status = ppi_builder_create(&builder, stated, planning->task->placement, planning->task->strategy->name,
                                               error);
    if (status != PPSCHED_OK)
        return status;
    builder->weight_versions = stated->weight_versions != 0 ? stated->weight_versions : 1;
    status = put_ops(builder, search, &stated->shape, error);
    if (status == PPSCHED_OK)
        status = ppi_builder_finish(out, builder, error);
    ppi_builder_destroy(builder);
    return status;
}

static ppsched_status nothing_fits(const struct planning *planning, double least, ppsched_error *error)
{
    return ppi_refuse(
        error, planning->task,
        "found no schedule within the memory limit; no limit below %g works, and the static memory of each device "
        "counts",
        least);
}

static ppsched_status plan(ppsched_schedule **out, struct planning *planning, const ppsched_config *stated, int64_t effort,
                           ppsched_error *error)
{
    const struct ppi_bound_question question = {planning->task->placement, PPSCHED_OBJECTIVE_MAKESPAN, 1, PPI_BOUND_OPS};
    const struct ppi_web_search *best = NULL;
    ppsched_bound bound;
    ppsched_status status = ppi_lower_bound(&bound, planning->config, &question, error);
    for (int form = 0; form < 2 && status == PPSCHED_OK; form++) {
        if (form == PPI_WEB_WHOLE ? !wants_whole(planning->config) : planning->config->has_whole_backwards)
            continue;
        planning->bound = bound.value;
        status = search_form(planning, (enum ppi_web_form)form, effort, error);
        if (planning->search[form].best.makespan < PPI_INFINITE &&
            (best == NULL || planning->search[form].best.makespan < best->best.makespan))
            best = &planning->search[form];
    }
    if (status == PPSCHED_OK)
        status = ppi_poll_report(&planning->poll, 1, error);
    if (status != PPSCHED_OK)
        return status;
    return best != NULL ? build(out, planning, best, stated, error) : nothing_fits(planning, bound.least_limit, error);
}

ppsched_status ppi_auto_graph(ppsched_schedule **out, const struct ppi_task *task, const ppsched_config *config, int64_t effort,
                              bool by_period, ppsched_error *error)
{
    ppsched_config once = *config; /* with the caller's lists */
    once.shape.iterations = 1;
    struct planning planning = {
        .task = task, .config = &once, .arena = {.host = &config->host}, .poll = ppi_poll_start(&once), .by_period = by_period};
    if (config->goal != NULL)
        return ppi_refuse_graph(config->graph, "a robust objective", error);
    ppsched_status status = plan(out, &planning, config, effort, error);
    for (int form = 0; form < 2; form++)
        ppi_placement_clear(&planning.web[form].place, &config->host);
    ppi_arena_clear(&planning.arena);
    return status;
}
