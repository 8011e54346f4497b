/* SPDX-License-Identifier: Apache-2.0 */
/* The order of devices, of which each candidate gets the best that is found: all orders that differ where these are few, else
 * orders by speed and swaps of two devices. Each order is tried with the split that suits it, found by a short search; the best
 * order gets a longer one. An order whose lower bound is above the best time is left out. A strategy that searches for long
 * takes the order that suits a rule. */
#include "ir/device_order.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "plan/plan.h"

/* Orders are few up to FEW, or while their ops together are at most FEW_OPS, where an op of a search counts as many. Otherwise
 * so many orders are tried at most, fewer with more than LARGE ops. A short search visits 1 / SHORT of the nodes.
 * Measured: docs/performance.md. */
enum {
    FEW = 6,
    FEW_OPS = 200000,
    OF_SEARCH = 8,
    OF_LONG_SEARCH = 64,
    MOST_BY_RULE = 16,
    MOST_BY_SEARCH = 3,
    SHORT = 16,
    LARGE = 16384,
    MOST_OF_LARGE = 6
};

struct ordering {
    const ppsched_plan *plan;      /* with the visits of a short search, for one order */
    struct ppi_candidate pristine, /* without a split and an order */
        best;
    bool has_best;
    uint32_t devices;
    uint32_t *type;     /* by device: the first that is like it */
    uint32_t *types;    /* by place: the type of the device of the order to be tried */
    uint32_t *order;    /* the order to be tried */
    uint32_t *taken;    /* work space by device */
    double unproved;    /* least bound of an order whose time is not proved */
    double least_bound; /* of all orders so far that have not been left out */
    bool has_tried_all; /* all splits of each order */
    double tried, most; /* orders */
    ppsched_progress_function progress;
    void *user;
};

/* --- one order --- */

static int32_t tell_tried(void *user, const ppsched_progress *progress)
{
    const struct ordering *o = user;
    const double share = ppi_smaller(1, (o->tried + progress->share) / (o->most + 1));
    const ppsched_progress told = {.size = sizeof told, .share = PPI_SPLIT_SHARE * share, .best = progress->best};
    return o->progress(o->user, &told);
}

static void drop(const struct ordering *o, struct ppi_candidate *candidate)
{
    ppi_release(&o->plan->host, candidate->reason);
    ppi_candidate_drop_split(o->plan, candidate);
    ppi_candidate_drop_order(o->plan, candidate);
    ppi_release(&o->plan->host, candidate->device_order);
    candidate->device_order = NULL;
}

/* Turns types by place into an order: devices of a type stand in the order of their numbers. */
static void fill_order(struct ordering *o)
{
    memset(o->taken, 0, o->devices * sizeof *o->taken);
    for (uint32_t p = 0; p < o->devices; p++) {
        uint32_t *next = &o->taken[o->types[p]];
        while (o->type[*next] != o->types[p])
            ++*next;
        o->order[p] = (*next)++;
    }
}

/* Whether the bound of the order says that it is not shorter than the best so far. */
static ppsched_status is_hopeless(bool *hopeless, struct ordering *o, ppsched_error *error)
{
    struct ppi_candidate asked = o->best;
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    double bound = 0;
    *hopeless = false;
    if (!o->has_best || !ppi_candidate_fits(&o->best) || asked.strategy->plan != NULL || o->plan->scenario_count > 0)
        return PPSCHED_OK;
    asked.device_order = o->order;
    ppsched_status status = ppi_candidate_config(&config, o->plan, &asked, error);
    if (status == PPSCHED_OK) {
        ppi_candidate_take_one(o->plan, &asked, config);
        status = ppi_generate(&schedule, asked.strategy, config, error);
    }
    if (status == PPSCHED_OK)
        status = ppi_candidate_bound(&bound, NULL, o->plan, &asked, schedule, config, error);
    *hopeless = status == PPSCHED_OK && bound >= ppi_candidate_step(o->plan, &o->best);
    ppi_schedule_release(schedule);
    ppi_config_destroy(config);
    return status == PPSCHED_ERROR_REFUSED ? PPSCHED_OK : status;
}

/* Evaluates the order by a plan's search for the split, which may start from one; keeps it where it is better. */
static ppsched_status evaluate_order(bool *better, struct ordering *o, const ppsched_plan *plan, const uint32_t *order,
                                     const struct ppi_candidate *like, ppsched_error *error)
{
    struct ppi_candidate trial = o->pristine;
    trial.like = like;
    trial.device_order = ppi_allocate(&plan->host, o->devices, sizeof *trial.device_order);
    if (trial.device_order == NULL)
        return ppi_fail_memory(error, "the device order");
    memcpy(trial.device_order, order, o->devices * sizeof *order);
    ppsched_status status = ppi_candidate_evaluate(plan, &trial, NULL, o->progress != NULL ? tell_tried : NULL, o, error);
    *better = status == PPSCHED_OK && (!o->has_best || ppi_candidate_ranks_before(plan, &trial, &o->best));
    if (status == PPSCHED_OK && like == NULL)
        o->least_bound = ppi_smaller(o->least_bound, ppi_candidate_runs(&trial) ? trial.bound : 0);
    if (status == PPSCHED_OK && like == NULL && !trial.proved)
        o->unproved = ppi_smaller(o->unproved, ppi_candidate_runs(&trial) ? trial.bound : 0);
    o->has_tried_all = o->has_tried_all && trial.tried_all;
    if (*better) {
        struct ppi_candidate old = o->best;
        o->best = trial;
        trial = old;
    }
    if (!*better || o->has_best)
        drop(o, &trial);
    o->has_best = o->has_best || *better;
    return status;
}

static ppsched_status try_types(bool *better, struct ordering *o, ppsched_error *error)
{
    bool hopeless = false;
    fill_order(o);
    *better = false;
    ppsched_status status = is_hopeless(&hopeless, o, error);
    if (status == PPSCHED_OK && !hopeless)
        status = evaluate_order(better, o, o->plan, o->order, NULL, error);
    o->tried++;
    return status;
}

/* --- few orders: all --- */

/* The next arrangement of types, in the order of a dictionary; false after the last. */
static bool next_types(uint32_t *types, uint32_t count)
{
    uint32_t i = count - 1, j = count - 1;
    while (i > 0 && types[i - 1] >= types[i])
        i--;
    if (i == 0)
        return false;
    while (types[j] <= types[i - 1])
        j--;
    const uint32_t moved = types[i - 1];
    types[i - 1] = types[j];
    types[j] = moved;
    for (uint32_t end = count - 1; i < end; i++, end--) {
        const uint32_t last = types[end];
        types[end] = types[i];
        types[i] = last;
    }
    return true;
}

static ppsched_status try_all(struct ordering *o, ppsched_error *error)
{
    bool better;
    uint32_t place = 0;
    for (uint32_t t = 0; t < o->devices; t++)
        for (uint32_t d = 0; d < o->devices; d++)
            if (o->type[d] == t)
                o->types[place++] = t;
    ppsched_status status = try_types(&better, o, error);
    while (status == PPSCHED_OK && next_types(o->types, o->devices))
        if (memcmp(o->types, o->type, o->devices * sizeof *o->type) != 0) /* which was tried first */
            status = try_types(&better, o, error);
    return status;
}

/* --- many orders: some --- */

static double speed_of_type(const struct ordering *o, uint32_t type)
{
    return ppi_layers_speed(o->plan->config, o->plan->layers, type);
}

/* Types by speed, the fastest first or last. */
static void sort_types(struct ordering *o, bool fastest_first)
{
    for (uint32_t p = 0; p < o->devices; p++) {
        const uint32_t type = o->type[p];
        uint32_t q = p;
        for (; q > 0; q--) {
            const double own = speed_of_type(o, type), before = speed_of_type(o, o->types[q - 1]);
            if (fastest_first ? own <= before : own >= before)
                break;
            o->types[q] = o->types[q - 1];
        }
        o->types[q] = type;
    }
}

/* Swaps two devices of the best order where that helps, neighbours first, while tries are left. */
static ppsched_status swap_devices(struct ordering *o, ppsched_error *error)
{
    for (uint32_t apart = 1; apart < o->devices; apart++)
        for (uint32_t p = 0; p + apart < o->devices; p++) {
            bool better;
            for (uint32_t i = 0; i < o->devices; i++)
                o->types[i] = o->type[o->best.device_order[i]];
            if (o->types[p] == o->types[p + apart])
                continue;
            if (o->tried >= o->most)
                return PPSCHED_OK;
            const uint32_t moved = o->types[p];
            o->types[p] = o->types[p + apart];
            o->types[p + apart] = moved;
            ppsched_status status = try_types(&better, o, error);
            if (status != PPSCHED_OK)
                return status;
        }
    return PPSCHED_OK;
}

static ppsched_status try_some(struct ordering *o, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (int i = 0; i < 2 && status == PPSCHED_OK; i++) {
        bool better;
        sort_types(o, i == 0);
        if (memcmp(o->types, o->type, o->devices * sizeof *o->type) != 0)
            status = try_types(&better, o, error);
    }
    return status == PPSCHED_OK ? swap_devices(o, error) : status;
}

/* --- the search --- */

/* Devices are of one type only where scenarios do not tell them apart, either. */
static void find_types(struct ordering *o)
{
    const ppsched_scenario_options *options = &o->plan->scenarios;
    ppi_find_device_types(o->type, o->plan->config);
    for (uint32_t d = 0; d < o->devices; d++)
        for (size_t i = 0; i < options->device_factor_count && o->type[d] != d; i += o->devices)
            if (options->device_factors[i + d] != options->device_factors[i + o->type[d]])
                o->type[d] = d;
    for (uint32_t d = 0; d < o->devices && options->link_factor_count > 0; d++)
        o->type[d] = d;
    for (uint32_t d = 0; d < o->devices; d++)
        if (o->type[o->type[d]] != o->type[d])
            o->type[d] = d;
}

/* How many orders differ; infinite where they are many. */
static double count_orders(const struct ordering *o)
{
    double count = 1;
    for (uint32_t d = 0; d < o->devices && count < 1e15; d++) {
        uint32_t like = 0;
        for (uint32_t other = 0; other <= d; other++)
            like += o->type[other] == o->type[d];
        count = count * (d + 1) / like;
    }
    return count;
}

/* The best so far is searched for longer. */
static ppsched_status search_best(struct ordering *o, const ppsched_plan *plan, ppsched_error *error)
{
    const struct ppi_candidate like = o->best;
    ppsched_plan longer = *plan;
    bool better;
    longer.orders_devices = false;
    memcpy(o->order, like.device_order, o->devices * sizeof *o->order);
    return evaluate_order(&better, o, &longer, o->order, &like, error);
}

/* Finds the order that suits a rule with the same placement; `*found` is false where the rule does not run. */
static ppsched_status order_for_rule(bool *found, struct ordering *o, ppsched_error *error)
{
    ppsched_plan view = *o->plan;
    struct ppi_candidate rule = o->pristine;
    ppsched_error reason;
    view.orders_devices = true;
    view.runtime = NULL; /* as it may not run the rule */
    ppsched_status status = ppi_candidate_follow_rule(&rule, &view, &reason);
    if (status == PPSCHED_OK && rule.strategy->chunks > 0)
        rule.stages = rule.strategy->chunks * o->devices;
    if (status == PPSCHED_OK)
        status = ppi_candidate_arrange(&view, &rule, o->progress != NULL ? tell_tried : NULL, o, &reason);
    *found = status == PPSCHED_OK;
    if (*found)
        memcpy(o->order, rule.device_order, o->devices * sizeof *o->order);
    else if (status != PPSCHED_ERROR_REFUSED && error != NULL)
        *error = reason;
    drop(o, &rule);
    return status == PPSCHED_ERROR_REFUSED ? PPSCHED_OK : status;
}

/* For a long search, which would take too long with many orders: only the order that suits a rule. */
static ppsched_status search_by_rule(struct ordering *o, const ppsched_plan *plan, ppsched_error *error)
{
    ppsched_plan longer = *plan;
    bool better, found;
    longer.orders_devices = false;
    o->most = 1;
    ppsched_status status = order_for_rule(&found, o, error);
    o->tried = o->most;
    return status == PPSCHED_OK && found ? evaluate_order(&better, o, &longer, o->order, NULL, error) : status;
}

/* The order of the config first; then the others. */
static ppsched_status search(struct ordering *o, const ppsched_plan *plan, ppsched_error *error)
{
    const struct ppi_strategy *strategy = o->pristine.strategy;
    const double ops = 4.0 * o->pristine.stages * o->pristine.microbatches * o->pristine.slices, count = count_orders(o);
    const double cost = strategy->plan == NULL ? 1 : strategy->searches_long ? OF_LONG_SEARCH : OF_SEARCH;
    const bool are_few = count <= FEW || count * ops * cost <= FEW_OPS;
    bool better;
    if (!are_few && strategy->searches_long) {
        ppsched_status status = search_by_rule(o, plan, error);
        o->best.proved = o->best.tried_all = false;
        if (status != PPSCHED_OK || ppi_candidate_runs(&o->best))
            return status;
        o->tried = 0;
    }
    o->most = are_few ? count : strategy->plan != NULL ? MOST_BY_SEARCH : ops <= LARGE ? MOST_BY_RULE : MOST_OF_LARGE;
    memcpy(o->types, o->type, o->devices * sizeof *o->type);
    ppsched_status status = try_types(&better, o, error);
    if (status == PPSCHED_OK && count > 1)
        status = are_few ? try_all(o, error) : try_some(o, error);
    if (status != PPSCHED_OK)
        return status;
    const bool proved = are_few && o->unproved >= ppi_candidate_step(plan, &o->best) * (1 - 1e-12);
    const bool tried_all = are_few && o->has_tried_all;
    if (!tried_all && ppi_candidate_runs(&o->best))
        status = search_best(o, plan, error);
    o->best.proved = proved && ppi_candidate_fits(&o->best);
    o->best.tried_all = tried_all;
    o->best.order_bound = are_few ? ppi_smaller(o->least_bound, ppi_candidate_step(plan, &o->best)) : 0;
    return status;
}

/* The candidate takes the best order with its split; nothing proves these if the candidate is later searched again. */
static void take_best(struct ppi_candidate *candidate, struct ordering *o)
{
    candidate->device_order = o->best.device_order;
    candidate->layers = o->best.layers;
    candidate->recomputes = o->best.recomputes;
    candidate->proved = o->best.proved;
    candidate->tried_all = o->best.tried_all;
    candidate->order_bound = o->best.order_bound;
    candidate->same = o->best.same;
    candidate->min_group_size = o->best.min_group_size;
    o->best.device_order = o->best.layers = NULL;
    o->best.recomputes = NULL;
}

/* The reason of the best order, where no order runs. */
static ppsched_status refuse(const struct ordering *o, ppsched_error *error)
{
    return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s", o->best.reason);
}

static ppsched_status order_devices(const ppsched_plan *plan, struct ppi_candidate *candidate, uint32_t *room,
                                    ppsched_progress_function progress, void *user, ppsched_error *error)
{
    const uint32_t devices = plan->config->shape.devices;
    ppsched_plan view = *plan;
    struct ordering o = {.plan = &view,
                         .pristine = *candidate,
                         .devices = devices,
                         .type = room,
                         .types = room + devices,
                         .order = room + 2 * (size_t)devices,
                         .taken = room + 3 * (size_t)devices,
                         .unproved = PPI_INFINITE,
                         .least_bound = PPI_INFINITE,
                         .has_tried_all = true,
                         .progress = progress,
                         .user = user};
    view.orders_devices = false;
    view.most_visited = plan->most_visited / SHORT < PPI_LEAST_VISITS ? PPI_LEAST_VISITS : plan->most_visited / SHORT;
    view.most_visited = plan->most_visited < view.most_visited ? plan->most_visited : view.most_visited;
    find_types(&o);
    ppsched_status status = search(&o, plan, error);
    if (status == PPSCHED_OK && !ppi_candidate_runs(&o.best))
        status = refuse(&o, error);
    if (status == PPSCHED_OK)
        take_best(candidate, &o);
    if (o.has_best)
        drop(&o, &o.best);
    return status;
}

/* The split for an order that the candidate has, or shares with one that differs only in group size. */
static ppsched_status split_in_order(const ppsched_plan *plan, struct ppi_candidate *candidate,
                                     ppsched_progress_function progress, void *user, ppsched_error *error)
{
    const uint32_t devices = plan->config->shape.devices;
    if (candidate->device_order == NULL) {
        candidate->device_order = ppi_allocate(&plan->host, devices, sizeof *candidate->device_order);
        if (candidate->device_order == NULL)
            return ppi_fail_memory(error, "the device order");
        memcpy(candidate->device_order, candidate->like->device_order, devices * sizeof *candidate->device_order);
    }
    ppsched_status status = ppi_candidate_split(plan, candidate, progress, user, error);
    candidate->proved = candidate->proved && !plan->orders_devices;
    return status;
}

ppsched_status ppi_candidate_arrange(const ppsched_plan *plan, struct ppi_candidate *candidate,
                                     ppsched_progress_function progress, void *user, ppsched_error *error)
{
    const struct ppi_candidate *like = candidate->like;
    if (!plan->orders_devices || candidate->layers != NULL)
        return ppi_candidate_split(plan, candidate, progress, user, error);
    if (candidate->device_order != NULL || (like != NULL && like->device_order != NULL))
        return split_in_order(plan, candidate, progress, user, error);
    uint32_t *room = ppi_allocate(&plan->host, plan->config->shape.devices, 4 * sizeof *room);
    if (room == NULL)
        return ppi_fail_memory(error, "the device order");
    ppsched_status status = order_devices(plan, candidate, room, progress, user, error);
    ppi_release(&plan->host, room);
    return status;
}
