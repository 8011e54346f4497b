/* SPDX-License-Identifier: Apache-2.0 */
/* The best schedule that can be found for a placement: first all other strategies of that placement that fit the memory
 * limits, then a search that starts from the best of them, until a lower bound is reached or the effort is spent. */
#include "base/checked.h"
#include "ir/stage_graph.h"
#include "search/explore.h"
#include "search/shorten.h"
#include "strategy/descriptors.h"
#include "strategy/searches/auto_graph.h"
#include "strategy/searches/auto_jobs.h"
#include "strategy/searches/auto_offload.h"
#include "strategy/unroll.h"

enum { PLACEMENT, OBJECTIVE, EFFORT, OFFLOAD, QUANTILE };

/* Measured: docs/performance.md. */
enum {
    OPS_PRICED = 4000000, /* limits the group sizes tried per strategy: ops at one effort below the default */
    HARDENED = 20000000   /* visits of ops for a robust objective, at the default effort */
};

/* --- the descriptor's names --- */

/* For forwards alone. */
enum { BY_MEAN_END = PPI_BY_MAKESPAN + 1, BY_QUANTILE_END, BY_THROUGHPUT };

static const char *const placements[] = {"default", "linear", "loop", "v", "map", "bidirectional"};
static const char *const objectives[] = {
    [PPI_BY_SPAN] = "span",         [PPI_BY_MAKESPAN] = "makespan",
    [BY_MEAN_END] = "mean_end",     [BY_QUANTILE_END] = "quantile_end",
    [BY_THROUGHPUT] = "throughput",
};

/* --- the other strategies --- */

bool ppi_auto_has_placement(const struct ppi_task *task, const ppsched_config *config, const struct ppi_strategy *strategy)
{
    const struct ppi_shape *shape = &config->shape;
    if (strategy->placement == PPSCHED_PLACEMENT_DEFAULT || strategy->placement == PPSCHED_PLACEMENT_BIDIRECTIONAL ||
        ppi_placement_fits(strategy->placement, shape, NULL) != PPSCHED_OK)
        return false;
    for (uint32_t s = 0; s < shape->stages; s++)
        if (ppi_placed_device(strategy->placement, shape, s, NULL) != ppi_placed_device(task->placement, shape, s, config->map))
            return false;
    return true;
}

/* How many sizes of groups are tried: as many as can be priced in the effort's share of work. */
static uint32_t groups_of(const struct ppi_attempt *attempt)
{
    int64_t effort = ppi_task_of(attempt)->option[EFFORT];
    double ops = (double)ppi_problem_ops(&attempt->problem), priced = OPS_PRICED / 8 * (double)(1 << (effort < 4 ? effort : 4));
    return priced < ops ? 1 : priced / ops < PPSCHED_NONE ? (uint32_t)(priced / ops) : PPSCHED_NONE;
}

static ppsched_status try_strategy(struct ppi_attempt *attempt, const struct ppi_strategy *strategy, ppsched_error *error)
{
    return ppi_option_for(strategy, PPI_ROLE_GROUP_SIZE) != NULL && ppi_task_of(attempt)->chunks > 1
               ? ppi_offer_groups(attempt, strategy, groups_of(attempt), error)
               : ppi_offer_strategy(attempt, strategy, false, error);
}

/* Whether a strategy competes. Without a flush between iterations it is another optimizer, not a faster schedule. */
static bool is_rival(const struct ppi_attempt *attempt, const struct ppi_strategy *strategy)
{
    return strategy->flushes && !strategy->offloads && !(attempt->config->has_whole_backwards && strategy->splits_backward) &&
           ppi_auto_has_placement(ppi_task_of(attempt), attempt->config, strategy);
}

/* The other strategies that are fixed rules, or those that search. */
static ppsched_status try_strategies(struct ppi_attempt *attempt, bool search, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    uint32_t count = ppi_strategy_count();
    for (uint32_t i = 0; i < count && status == PPSCHED_OK; i++) {
        const struct ppi_strategy *strategy = ppi_strategy_at(i);
        if ((strategy->plan != NULL) != search || strategy->comes_last || !ppi_attempt_goes_on(attempt) ||
            !is_rival(attempt, strategy))
            continue;
        if (search)
            ppi_poll_go_on(&attempt->poll, 0.5 * (i + 1) / count);
        status = try_strategy(attempt, strategy, error);
        if (search && status == PPSCHED_OK)
            status = ppi_poll_report(&attempt->poll, 1, error);
    }
    return status;
}

/* The strategies with `comes_last`, from which the search does not start. */
static ppsched_status try_last(struct ppi_attempt *attempt, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; ppi_strategy_at(i) != NULL && status == PPSCHED_OK && ppi_attempt_goes_on(attempt); i++)
        if (ppi_strategy_at(i)->comes_last && is_rival(attempt, ppi_strategy_at(i)))
            status = try_strategy(attempt, ppi_strategy_at(i), error);
    return status;
}

/* --- the search --- */

static ppsched_status nothing_fits(const struct ppi_attempt *attempt, uint32_t device, ppsched_error *error)
{
    const struct ppi_device *own = &attempt->problem.device[device];
    return ppi_refuse(error, ppi_task_of(attempt),
                      "no schedule fits the memory limit: device %u must hold %g for one microbatch; the least limit that "
                      "works is %g",
                      device, own->least + own->fixed, attempt->problem.least_limit);
}

/* The part of the work for a robust objective. */
static ppsched_status make_robust(struct ppi_attempt *attempt, const struct ppi_pool *pool, ppsched_error *error)
{
    int64_t effort = ppi_task_of(attempt)->option[EFFORT];
    double visits = effort > 0 ? HARDENED * (double)(1 << effort) / (1 << PPI_DEFAULT_EFFORT) : 0;
    ppi_poll_go_on(&attempt->poll, 1);
    return ppi_make_robust(attempt, pool, attempt->stated, visits, error);
}

/* Of tabu search for shorter orders: visits of ops at the default effort, and at least so many passes over the ops. */
struct work {
    double visits, passes;
    bool repeats;
};

/* Shortens the orders that have been found. */
static ppsched_status shorten(enum ppi_shortened *out, struct ppi_attempt *attempt, const struct work *work,
                              ppsched_error *error)
{
    const struct ppi_task *task = ppi_task_of(attempt);
    const double scale = (double)(1 << task->option[EFFORT]) / (1 << PPI_DEFAULT_EFFORT);
    const struct ppi_shortening shortening = {.iterations = attempt->config->repeats > 0 ? attempt->config->repeats
                                                                                         : task->shape.iterations,
                                              .visits = scale * work->visits,
                                              .passes = work->passes,
                                              .repeats = work->repeats};
    return ppi_shorten(out, attempt, &shortening, error);
}

/* All other strategies, fixed rules first: they cost almost nothing. Between them, the rules' orders are shortened: with many
 * microbatches, that often finds what no strategy is shorter than. */
static ppsched_status try_all(struct ppi_attempt *attempt, ppsched_error *error)
{
    static const struct work little = {.visits = 2e6, .passes = 500};
    enum ppi_shortened result;
    attempt->poll.to = 0;
    ppsched_status status = try_strategies(attempt, false, error);
    if (status == PPSCHED_OK && ppi_shortens(attempt) && ppi_attempt_goes_on(attempt))
        status = shorten(&result, attempt, &little, error);
    return status == PPSCHED_OK ? try_strategies(attempt, true, error) : status;
}

static const struct work more = {.visits = 8e6, .passes = 800, .repeats = true};

/* Shortens what has been found; where the best has a longer period than the bound, again after list schedules for all
 * microbatches. `*found`: no other search is needed. */
static ppsched_status shorten_all(struct ppi_attempt *attempt, bool *found, ppsched_error *error)
{
    enum ppi_shortened result;
    ppsched_status status = shorten(&result, attempt, &more, error);
    const double best = attempt->objective;
    *found = result != PPI_NOT_LENGTHENED || ppi_is_near_goal(attempt);
    if (status != PPSCHED_OK || result != PPI_LONGER || ppi_is_near_goal(attempt))
        return status;
    status = ppi_explore_lists(attempt, ppi_task_of(attempt)->option[EFFORT], error);
    return status == PPSCHED_OK && attempt->objective < best ? shorten(&result, attempt, &more, error) : status;
}

/* A search for few microbatches, for shorter orders and for all microbatches, until one is enough; with more effort than usual,
 * for shorter orders at the end. */
static ppsched_status search(struct ppi_attempt *attempt, ppsched_error *error)
{
    struct ppi_pool *pool = attempt->pool;
    const bool shortens = ppi_shortens(attempt);
    bool is_found = shortens && ppi_is_near_goal(attempt);
    enum ppi_shortened result;
    ppsched_status status = PPSCHED_OK;
    if (!is_found && pool != NULL && ppi_attempt_goes_on(attempt))
        status = ppi_unroll(attempt, ppi_task_of(attempt), &is_found, error);
    if (status == PPSCHED_OK && !is_found && shortens && ppi_attempt_goes_on(attempt))
        status = shorten_all(attempt, &is_found, error);
    if (status == PPSCHED_OK && !is_found)
        status = ppi_explore(attempt, ppi_task_of(attempt)->option[EFFORT], error);
    attempt->pool = pool; /* which relinking improves */
    if (status == PPSCHED_OK && pool != NULL && !shortens && ppi_may_shorten(attempt) && !ppi_is_near_goal(attempt))
        status = shorten(&result, attempt, &more, error);
    return status;
}

static ppsched_status plan(struct ppi_attempt *attempt, ppsched_error *error)
{
    uint32_t unfit = ppi_problem_unfit_device(&attempt->problem);
    struct ppi_pool pool;
    ppsched_status status = PPSCHED_OK;
    if (unfit != PPSCHED_NONE)
        return nothing_fits(attempt, unfit, error);
    if (ppi_task_of(attempt)->option[EFFORT] > 0) {
        status = ppi_pool_make(&pool, &attempt->arena, &attempt->problem, error);
        attempt->pool = &pool;
    }
    if (status == PPSCHED_OK)
        status = try_all(attempt, error);
    if (status == PPSCHED_OK && attempt->problem.slices > 1)
        status = ppi_list_micro_slices(attempt, false, ppi_task_of(attempt)->option[EFFORT] > 0 ? OPS_PRICED : 0, error);
    else if (status == PPSCHED_OK && attempt->objective == PPI_INFINITE)
        status = ppi_go_straight(attempt, error);
    ppi_poll_go_on(&attempt->poll, attempt->stated != NULL ? 0.5 : 1);
    if (status == PPSCHED_OK)
        status = search(attempt, error);
    attempt->pool = NULL;
    if (status == PPSCHED_OK)
        status = try_last(attempt, error);
    if (status == PPSCHED_OK && attempt->stated != NULL && attempt->objective < PPI_INFINITE)
        status = make_robust(attempt, ppi_task_of(attempt)->option[EFFORT] > 0 ? &pool : NULL, error);
    return status;
}

/* Forwards alone, and both directions, have a search of their own. */
static ppsched_status make_of_jobs(ppsched_schedule **out, const struct ppi_task *task, const ppsched_config *config,
                                   ppsched_error *error)
{
    const double runs = config->repeats > 0 ? config->repeats : task->shape.iterations;
    const int64_t objective = task->option[OBJECTIVE];
    const struct ppi_jobs_goal goal = {.by = objective == BY_MEAN_END       ? PPI_JOBS_BY_MEAN
                                             : objective == BY_QUANTILE_END ? PPI_JOBS_BY_QUANTILE
                                             : objective == BY_THROUGHPUT   ? PPI_JOBS_BY_PERIOD
                                                                            : PPI_JOBS_BY_TIME,
                                       .span_share = objective == PPI_BY_SPAN ? 1 / runs : 0,
                                       .quantile = (double)task->option[QUANTILE] / 100};
    if (config->goal != NULL)
        return ppi_refuse(error, task, "%s does not support objectives over scenarios; choose the planned time",
                          config->is_forward_only ? "a forward-only search" : "bidirectional placement");
    if (task->option[OFFLOAD] != PPI_NO_OFFLOAD)
        return ppi_refuse(error, task, "%s does not support offload; it must be none",
                          config->is_forward_only ? "a forward-only search" : "bidirectional placement");
    return ppi_auto_jobs(out, task, config, &goal, task->option[EFFORT], error);
}

/* Whether there are no backwards: by the config, or as no stage of its graph has one. */
static bool is_forward_only(const ppsched_config *config)
{
    if (config->is_forward_only || config->graph == NULL)
        return config->is_forward_only;
    for (uint32_t s = 0; s < config->shape.stages; s++)
        if (ppi_stage_has_backward(config->graph, s))
            return false;
    return true;
}

static ppsched_status make(ppsched_schedule **out, const struct ppi_task *task, const ppsched_config *config,
                           ppsched_error *error)
{
    if (config->graph != NULL && task->option[OFFLOAD] != PPI_NO_OFFLOAD)
        return ppi_refuse_graph(config->graph, "auto with offload", error);
    if (config->graph != NULL && task->option[OBJECTIVE] != PPI_BY_MAKESPAN && task->option[OBJECTIVE] != BY_THROUGHPUT)
        return ppi_refuse_graph(config->graph, "auto with an objective other than makespan and throughput", error);
    if (task->option[OBJECTIVE] > PPI_BY_MAKESPAN && !is_forward_only(config))
        return ppi_refuse(error, task,
                          "objective %s is for forwards alone (forward_only); with backwards take makespan or span",
                          objectives[task->option[OBJECTIVE]]);
    if (config->graph != NULL)
        return ppi_auto_graph(out, task, config, task->option[EFFORT], task->option[OBJECTIVE] == BY_THROUGHPUT, error);
    if (config->is_forward_only || task->placement == PPSCHED_PLACEMENT_BIDIRECTIONAL)
        return make_of_jobs(out, task, config, error);
    if (task->option[OFFLOAD] == PPI_NO_OFFLOAD || config->values[PPSCHED_QUANTITY_MEM_LIMIT].values == NULL)
        return PPSCHED_OK;
    double runs = config->repeats > 0 ? config->repeats : 1;
    return ppi_auto_offload(out, task, config, task->option[OBJECTIVE] == PPI_BY_SPAN ? 1 / runs : 0, task->option[EFFORT],
                            error);
}

/* --- the descriptor --- */

static const char *const offloads[] = {[PPI_NO_OFFLOAD] = "none", [PPI_OFFLOAD_TO_LIMIT] = "limit"};

static int32_t place(const struct ppi_task *task, const ppsched_config *config)
{
    static const int32_t kinds[] = {PPSCHED_PLACEMENT_DEFAULT, PPSCHED_PLACEMENT_LINEAR, PPSCHED_PLACEMENT_LOOP,
                                    PPSCHED_PLACEMENT_V,       PPSCHED_PLACEMENT_MAP,    PPSCHED_PLACEMENT_BIDIRECTIONAL};
    if (task->option[PLACEMENT] != 0)
        return kinds[task->option[PLACEMENT]];
    if (config->placement != PPSCHED_PLACEMENT_DEFAULT)
        return config->placement;
    return task->shape.stages == task->shape.devices ? PPSCHED_PLACEMENT_LINEAR : PPSCHED_PLACEMENT_LOOP;
}

/* With the caller's map devices may have different numbers of stages. */
static ppsched_status fits(const struct ppi_task *task, ppsched_error *error)
{
    if (ppi_placement_fits(task->placement, &task->shape, NULL) == PPSCHED_OK)
        return PPSCHED_OK;
    return ppi_refuse(error, task, "%s placement needs %s, not %u stage%p on %u device%p", ppi_placement_name(task->placement),
                      task->placement == PPSCHED_PLACEMENT_LINEAR || task->placement == PPSCHED_PLACEMENT_BIDIRECTIONAL
                          ? "one stage per device"
                          : "the same number of stages on each device",
                      task->shape.stages, task->shape.devices);
}

static const struct ppi_option_row options[] = {
    {.name = "placement",
     .role = PPI_ROLE_PLACEMENT,
     .default_text = "the config's, else linear for one stage per device and loop for more",
     .summary = "which device runs which stage; map: the config's map",
     .maximum = 5,
     .choices = placements},
    {.name = "objective",
     .role = PPI_ROLE_OBJECTIVE,
     .default_text = "makespan",
     .summary = "what the search minimises; for forwards alone also mean_end and quantile_end, of the ends of requests, and "
                "throughput, which it maximises",
     .maximum = BY_THROUGHPUT,
     .usual = PPI_BY_MAKESPAN,
     .choices = objectives},
    {.name = "effort",
     .role = PPI_ROLE_EFFORT,
     .default_text = "4",
     .summary = "one more is about twice the work; 0: the best of the other strategies, else a plain list schedule",
     .maximum = PPI_MOST_EFFORT,
     .usual = PPI_DEFAULT_EFFORT},
    {.name = "offload",
     .role = PPI_ROLE_OFFLOAD,
     .default_text = "none",
     .summary = "what is offloaded: none, or as little as needed to fit the memory limit, with an order chosen for that",
     .maximum = 1,
     .choices = offloads},
    {.name = "quantile",
     .default_text = "90",
     .summary = "for quantile_end: the share of requests in percent that end by the time that is minimised",
     .minimum = 1,
     .maximum = 100,
     .usual = 90},
};

const struct ppi_strategy ppi_auto = {
    .name = "auto",
    .overlaps = true,
    .summary = "the best schedule that can be found, for any placement, uneven costs, delays and memory limits",
    .source = "this library: all other strategies, modulo scheduling, beam search and tabu search",
    .placement = PPSCHED_PLACEMENT_DEFAULT,
    .weight_versions = 1,
    .splits_backward = true,
    .may_join = true,
    .flushes = true,
    .serves_forwards = true,
    .cuts = true,
    .serves_graphs = true,
    .searches_long = true,
    .most_memory = PPI_BEAM_MEMORY + PPI_POOL_MEMORY,
    .options = options,
    .option_count = 5,
    .fits = fits,
    .make = make,
    .plan = plan,
    .place = place,
};
