/* SPDX-License-Identifier: Apache-2.0 */
/* The best schedule that we can find for a placement: first all other strategies of that placement that fit the memory limits,
 * then a search of its own from the best of them on, until a lower bound is reached or the effort is spent. */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "eval/timeline.h"
#include "search/bound.h"
#include "search/explore.h"
#include "search/straight.h"
#include "strategy/table.h"

enum { PLACEMENT, OBJECTIVE, EFFORT };

struct search {
    const struct ppi_task *task;
    const ppsched_config *config; /* the caller's problem */
    ppsched_config *plain;        /* without this strategy's options */
    struct ppi_problem problem;
    struct ppi_watch *watch;
    struct ppi_orders *orders;
    double objective, goal;
};

static bool by_span(const struct ppi_task *task)
{
    return task->option[OBJECTIVE] == 0;
}

/* --- the other strategies --- */

/* Passes on what a strategy tells as a part of the whole. */
static int32_t pass_on(void *user, double share, double best)
{
    struct ppi_watch *watch = user;
    (void)best;
    return ppi_watch_report(watch, share, NULL) != PPSCHED_OK;
}

static double objective_of(const struct search *search, const ppsched_timeline *timeline)
{
    return by_span(search->task) ? timeline->metrics.span : timeline->metrics.makespan;
}

static void take(struct search *search, const ppsched_schedule *schedule, double objective)
{
    struct ppi_orders *orders = search->orders;
    for (uint32_t d = 0; d < orders->devices; d++) {
        orders->count[d] = schedule->queues[d].count;
        if (orders->count[d] > 0)
            memcpy(orders->ops + orders->first[d], schedule->queues[d].ops, orders->count[d] * sizeof *orders->ops);
    }
    search->objective = search->watch->best = objective;
}

/* What refuses is passed over, and leaves no trace in the caller's record. */
static ppsched_status try_strategy(struct search *search, const struct ppi_strategy *strategy, ppsched_error *error)
{
    ppsched_schedule *schedule = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_error reason;
    ppsched_status status = ppi_generate(&schedule, strategy, search->plain, &reason);
    if (status == PPSCHED_ERROR_REFUSED)
        return PPSCHED_OK;
    if (status == PPSCHED_OK)
        status = ppi_evaluate(&timeline, schedule, search->plain, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, &reason);
    if (status != PPSCHED_OK && error != NULL)
        *error = reason;
    if (status == PPSCHED_OK && timeline->metrics.limit_device == PPSCHED_NONE &&
        objective_of(search, timeline) < search->objective)
        take(search, schedule, objective_of(search, timeline));
    ppi_timeline_destroy(timeline);
    ppi_schedule_release(schedule);
    return status;
}

/* Whether a strategy's own placement puts every stage on the same device as the task's. */
static bool has_our_placement(const struct search *search, const struct ppi_strategy *strategy)
{
    const struct ppi_shape *shape = &search->task->shape;
    if (strategy->placement == PPSCHED_PLACEMENT_DEFAULT || strategy->placement == PPSCHED_PLACEMENT_BIDIRECTIONAL ||
        ppi_placement_fits(strategy->placement, shape, NULL) != PPSCHED_OK)
        return false;
    for (uint32_t s = 0; s < shape->stages; s++)
        if (ppi_placed_device(strategy->placement, shape, s, NULL) != search->problem.stage[s].device)
            return false;
    return true;
}

/* Fixed rules first: they cost nothing. One whose iterations do not flush is another optimizer, not a faster schedule. */
static ppsched_status try_strategies(struct search *search, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    uint32_t count = ppi_strategy_count();
    search->watch->to = 0;
    for (int searched = 0; searched < 2; searched++)
        for (uint32_t i = 0; i < count && status == PPSCHED_OK; i++) {
            const struct ppi_strategy *strategy = ppi_strategy_at(i);
            if ((strategy->plan != NULL) != (searched == 1) || !strategy->flushes || search->objective <= search->goal ||
                !has_our_placement(search, strategy))
                continue;
            if (searched == 1)
                ppi_watch_go_on(search->watch, 0.5 * (i + 1) / count);
            status = try_strategy(search, strategy, error);
        }
    return status;
}

/* --- the search --- */

static ppsched_status make_plain(struct search *search, ppsched_error *error)
{
    ppsched_status status = ppi_config_copy(&search->plain, search->config, error);
    if (status != PPSCHED_OK)
        return status;
    while (search->plain->option_count > 0)
        ppi_config_set_option(search->plain, search->plain->options[0].name, NULL, NULL);
    if (search->config->progress != NULL) {
        search->plain->progress = pass_on;
        search->plain->progress_user = search->watch;
    }
    return ppi_config_set_placement(search->plain, PPSCHED_PLACEMENT_DEFAULT, NULL, 0, error);
}

static ppsched_status nothing_fits(const struct search *search, uint32_t device, ppsched_error *error)
{
    const struct ppi_device *own = &search->problem.device[device];
    return ppi_refuse(error, &ppi_auto,
                      "no schedule fits the memory limit: device %u must hold %g for one microbatch; the least limit that "
                      "works is %g",
                      device, own->least + own->fixed, ppi_problem_least_limit(&search->problem));
}

static ppsched_status find_goal(struct search *search, ppsched_error *error)
{
    ppsched_bound bound;
    int32_t objective = by_span(search->task) ? PPSCHED_OBJECTIVE_SPAN : PPSCHED_OBJECTIVE_MAKESPAN;
    ppsched_status status = ppi_lower_bound(&bound, search->config, search->task->placement, 1, objective, error);
    if (status == PPSCHED_OK)
        search->goal = bound.value * (1 + 1e-12);
    return status;
}

static ppsched_status run(struct search *search, ppsched_error *error)
{
    uint32_t unfit = ppi_problem_unfit_device(&search->problem);
    if (unfit != PPSCHED_NONE)
        return nothing_fits(search, unfit, error);
    ppsched_status status = find_goal(search, error);
    if (status == PPSCHED_OK)
        status = make_plain(search, error);
    if (status == PPSCHED_OK)
        status = try_strategies(search, error);
    if (status == PPSCHED_OK && search->objective == PPI_INFINITE)
        status = ppi_straight(&search->problem, search->orders, &search->objective, error);
    search->watch->best = search->objective;
    ppi_watch_go_on(search->watch, 1);
    if (status == PPSCHED_OK)
        status = ppi_explore(&search->problem, search->config, search->task->placement, search->task->option[EFFORT],
                             search->goal, search->watch, search->orders, &search->objective, error);
    return status;
}

static ppsched_status plan(const struct ppi_task *task, const ppsched_config *config, struct ppi_watch *watch,
                           struct ppi_orders *orders, ppsched_error *error)
{
    struct ppi_placement place;
    struct search search = {.task = task, .config = config, .watch = watch, .orders = orders, .objective = PPI_INFINITE};
    ppsched_status status = ppi_config_place(&place, config, task->placement, error);
    if (status != PPSCHED_OK)
        return status;
    status = ppi_problem_make(&search.problem, config, &place, by_span(task), error);
    ppi_release(&config->host, place.device_of);
    if (status != PPSCHED_OK)
        return status;
    status = run(&search, error);
    ppi_config_destroy(search.plain);
    ppi_problem_clear(&search.problem);
    return status;
}

/* --- the descriptor --- */

static const char *const placements[] = {"default", "linear", "loop", "v", "map"};
static const char *const objectives[] = {"span", "makespan"};

static int64_t first_choice(const struct ppi_shape *shape)
{
    (void)shape;
    return 0;
}

static int64_t default_effort(const struct ppi_shape *shape)
{
    (void)shape;
    return PPI_DEFAULT_EFFORT;
}

static int32_t place(const struct ppi_task *task, const ppsched_config *config)
{
    static const int32_t kinds[] = {PPSCHED_PLACEMENT_DEFAULT, PPSCHED_PLACEMENT_LINEAR, PPSCHED_PLACEMENT_LOOP,
                                    PPSCHED_PLACEMENT_V, PPSCHED_PLACEMENT_MAP};
    if (task->option[PLACEMENT] != 0)
        return kinds[task->option[PLACEMENT]];
    if (config->placement != PPSCHED_PLACEMENT_DEFAULT)
        return config->placement;
    return task->shape.stages == task->shape.devices ? PPSCHED_PLACEMENT_LINEAR : PPSCHED_PLACEMENT_LOOP;
}

/* A caller's map need not give each device as many stages. */
static ppsched_status fits(const struct ppi_task *task, ppsched_error *error)
{
    if (task->placement == PPSCHED_PLACEMENT_BIDIRECTIONAL)
        return ppi_refuse(error, &ppi_auto, "needs linear, loop or v placement, or a map, not bidirectional");
    if (ppi_placement_fits(task->placement, &task->shape, NULL) == PPSCHED_OK)
        return PPSCHED_OK;
    return ppi_refuse(error, &ppi_auto, "%s placement needs %s, not %u stages on %u devices",
                      ppi_placement_name(task->placement),
                      task->placement == PPSCHED_PLACEMENT_LINEAR ? "one stage a device" : "as many stages on each device",
                      task->shape.stages, task->shape.devices);
}

static const struct ppi_option_row options[] = {
    {.name = "placement",
     .default_text = "the config's, else linear for one stage per device and loop for more",
     .text = "which device runs which stage; map: the config's own",
     .maximum = 4,
     .choices = placements,
     .fallback = first_choice},
    {.name = "objective",
     .default_text = "span",
     .text = "what is made as short as possible",
     .maximum = 1,
     .choices = objectives,
     .fallback = first_choice},
    {.name = "effort",
     .default_text = "4",
     .text = "one more is about twice the search; 0: the best of the other strategies, or else a plain list schedule",
     .maximum = PPI_MOST_EFFORT,
     .fallback = default_effort},
};

const struct ppi_strategy ppi_auto = {
    .name = "auto",
    .summary = "the best schedule that can be found, for any placement, uneven costs, delays and memory limits",
    .source = "this library: all other strategies, modulo scheduling, beam search and local search",
    .placement = PPSCHED_PLACEMENT_DEFAULT,
    .weight_versions = 1,
    .splits_backward = true,
    .flushes = true,
    .options = options,
    .option_count = 3,
    .fits = fits,
    .plan = plan,
    .place = place,
};
