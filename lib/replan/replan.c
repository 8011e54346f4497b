/* SPDX-License-Identifier: Apache-2.0 */
/* Finds with what a running job goes on when its devices change: the running split, or the best split in the running order, or
 * with the order free. */
#include "replan/replan.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "eval/timeline.h"
#include "ir/device_order.h"
#include "replan/one_strategy.h"

/* Rounds in which each stage may give layers back, and the share by which a step may seem longer from rounding.
 * Measured: docs/performance.md. */
enum { GIVING_ROUNDS = 8 };
#define ROUNDING 1e-12

struct replanning {
    const ppsched_config *config;
    const ppsched_replan_options *options;
    struct ppi_holdings holdings;
    uint32_t chunks, kept; /* kept: devices to go on with */
    uint32_t *base;        /* these in the running order: see find_base */
    uint32_t *type;        /* by device of the config */
    uint32_t *identity;    /* 0, 1, 2 and so on */
    bool *wanted;          /* work space: a row of layers for each device */
    double *room;
    ppsched_replan *best;
    bool has_best;
};

/* --- plans of some devices --- */

/* The group size for so many devices: the wanted one, or the nearest that the strategy supports. 0: it has no groups. If it
 * supports none, the wanted one, so that the refusal names it. */
static uint32_t group_for(const struct replanning *r, uint32_t devices)
{
    const uint32_t wanted = r->options->group_size > 0 ? r->options->group_size : devices;
    uint32_t index;
    if (ppi_strategy_find(r->options->strategy, &index, NULL) != PPSCHED_OK)
        return wanted;
    struct ppi_task task = {
        .strategy = ppi_strategy_at(index), .shape = r->config->shape, .is_forward_only = r->config->is_forward_only};
    const struct ppi_option_row *row = ppi_option_for(task.strategy, PPI_ROLE_GROUP_SIZE);
    if (row == NULL)
        return 0;
    task.shape.devices = devices;
    task.shape.stages = devices * r->chunks;
    ppi_set_defaults(&task);
    const uint32_t most = task.shape.microbatches, from = wanted < most ? wanted : most; /* larger ones are like `most` */
    for (uint32_t away = 0; away <= most; away++)
        for (int up = 0; up < 2; up++) {
            const uint32_t group = away == 0 ? wanted : up != 0 ? from + away : from > away ? from - away : 1;
            task.option[row - task.strategy->options] = group;
            if (ppi_serves(&task))
                return group;
        }
    return wanted;
}

/* `group`: 0 for strategies without. */
static ppsched_status make_plan(ppsched_plan **out, const struct replanning *r, const uint32_t *devices, uint32_t count,
                                uint32_t group, bool frees_order, ppsched_error *error)
{
    const ppsched_replan_options *given = r->options;
    const struct ppi_one_strategy asked = {given->strategy, r->chunks, group, given->split_effort, given->layers, frees_order};
    return ppi_one_strategy_plan(out, r->config, devices, count, &asked, error);
}

/* Where the stages of a candidate are. The caller clears it. */
static ppsched_status place(struct ppi_placement *out, const ppsched_plan *plan, const struct ppi_candidate *candidate,
                            ppsched_error *error)
{
    const int32_t own = candidate->placement, wanted = own != PPSCHED_PLACEMENT_DEFAULT ? own : candidate->strategy->placement;
    return ppi_config_place(out, plan->config, wanted, error);
}

/* Times a candidate as it is. `step` is NULL: only checks that its split is one of the layers. */
static ppsched_status time_candidate(double *step, const ppsched_plan *plan, struct ppi_candidate *candidate,
                                     ppsched_error *error)
{
    ppsched_config *config = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_status status = ppi_candidate_config(&config, plan, candidate, error);
    if (status == PPSCHED_OK && step != NULL) {
        ppi_candidate_take_one(plan, candidate, config);
        config->progress = NULL;
        status = ppi_candidate_timeline(&timeline, NULL, plan, candidate, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error);
    }
    if (status == PPSCHED_OK && step != NULL) {
        candidate->metrics = ppi_candidate_metrics(timeline, config);
        *step = ppi_candidate_step(plan, candidate);
    }
    ppi_timeline_destroy(timeline);
    ppi_config_destroy(config);
    return status;
}

/* --- the running job --- */

/* What each device of the running job holds, and the time of a step with the devices as they are now, if none is lost. */
static ppsched_status look_at_running(struct replanning *r, const uint32_t *order, ppsched_error *error)
{
    const ppsched_replan_options *given = r->options;
    const uint32_t running = given->running_devices;
    ppsched_plan *plan = NULL;
    struct ppi_placement placement = {.device_of = NULL};
    double step = PPI_INFINITE;
    const uint32_t group = given->group_size > 0 ? given->group_size : running;
    ppsched_status status = make_plan(&plan, r, order, running, group, false, error);
    if (status != PPSCHED_OK)
        return status;
    struct ppi_candidate candidate = plan->candidates[0];
    candidate.layers = r->best->split;
    candidate.recomputes = r->best->recomputes;
    r->best->figures.group_size = candidate.group_size;
    status = place(&placement, plan, &candidate, error);
    if (status == PPSCHED_OK)
        ppi_fill_held(r->holdings.held, given->layers, &placement, given->running_stages, candidate.layers, order);
    if (status == PPSCHED_OK)
        status = time_candidate(given->lost_count == 0 ? &step : NULL, plan, &candidate, error);
    if (status == PPSCHED_OK && given->lost_count == 0) {
        ppsched_replan_figures *figures = &r->best->figures;
        figures->fits = figures->can_stay = figures->stays = candidate.metrics.limit_device == PPSCHED_NONE;
        figures->running_step_time = figures->step_time = step;
        r->has_best = figures->can_stay != 0;
    }
    ppi_placement_clear(&placement, &plan->host);
    ppi_plan_destroy(plan);
    return status;
}

/* --- a new split and order --- */

/* A candidate with its devices, as the config numbers them. */
struct trial {
    const ppsched_plan *plan;
    struct ppi_candidate candidate; /* its lists are the trial's */
    struct ppi_placement placement;
    uint32_t *order;
    ppsched_replan_figures figures;
};

static void fill_wanted(const struct replanning *r, const struct trial *trial, const uint32_t *order)
{
    memset(r->wanted, 0, (size_t)r->holdings.devices * r->holdings.layers->count);
    ppi_fill_held(r->wanted, r->holdings.layers, &trial->placement, trial->candidate.stages, trial->candidate.layers, order);
}

static void count_moves(const struct replanning *r, struct trial *trial)
{
    fill_wanted(r, trial, trial->order);
    ppi_find_moves(NULL, &trial->figures, &r->holdings, r->wanted, r->room);
    trial->figures.move_time += r->options->restart_time;
}

/* Whether a result is better: what fits first, then the shorter time of all steps and the move. */
static bool is_better(const struct replanning *r, const ppsched_replan_figures *a, const ppsched_replan_figures *b)
{
    const double steps = r->options->steps;
    const double own = steps > 0 ? steps * a->step_time + a->move_time : a->step_time;
    const double other = steps > 0 ? steps * b->step_time + b->move_time : b->step_time;
    if (a->fits != b->fits)
        return a->fits > b->fits;
    if (own < other * (1 - ROUNDING) || other < own * (1 - ROUNDING))
        return own < other;
    if (a->move_time < b->move_time || b->move_time < a->move_time)
        return a->move_time < b->move_time;
    return a->moved_bytes + a->loaded_bytes < b->moved_bytes + b->loaded_bytes;
}

/* Tries the split with one layer more or less before the first layer of a stage; keeps it where it is better. */
static ppsched_status shift(bool *shifted, const struct replanning *r, struct trial *trial, uint32_t stage, bool down,
                            ppsched_error *error)
{
    uint32_t *split = trial->candidate.layers, *from = &split[down ? stage - 1 : stage], *to = &split[down ? stage : stage - 1];
    const ppsched_replan_figures old = trial->figures;
    const ppsched_metrics metrics = trial->candidate.metrics;
    ppsched_status status = PPSCHED_OK;
    *shifted = false;
    if (*from <= 1)
        return PPSCHED_OK;
    --*from;
    ++*to;
    count_moves(r, trial);
    if (trial->figures.move_time <= old.move_time &&
        trial->figures.moved_bytes + trial->figures.loaded_bytes < old.moved_bytes + old.loaded_bytes) {
        trial->figures.step_time = PPI_INFINITE;
        status = time_candidate(&trial->figures.step_time, trial->plan, &trial->candidate, error);
        if (status == PPSCHED_ERROR_RANGE || status == PPSCHED_ERROR_REFUSED)
            status = PPSCHED_OK;
        trial->figures.fits = trial->candidate.metrics.limit_device == PPSCHED_NONE;
        *shifted = is_better(r, &trial->figures, &old);
    }
    if (!*shifted) {
        ++*from;
        --*to;
        trial->figures = old;
        trial->candidate.metrics = metrics;
    }
    return status;
}

/* Stages give layers back to those that hold them, where that does not make the step longer. */
static ppsched_status give_back(const struct replanning *r, struct trial *trial, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    bool any = trial->candidate.strategy->plan == NULL;
    for (int round = 0; round < GIVING_ROUNDS && any; round++) {
        any = false;
        for (uint32_t s = 1; s < trial->candidate.stages && status == PPSCHED_OK; s++)
            for (int down = 0; down < 2 && status == PPSCHED_OK; down++) {
                bool shifted;
                status = shift(&shifted, r, trial, s, down == 1, error);
                any = any || shifted;
            }
        if (status != PPSCHED_OK)
            return status;
    }
    return status;
}

/* The result, with its moves. Takes over nothing. */
static ppsched_status keep(struct replanning *r, const struct trial *trial, ppsched_error *error)
{
    ppsched_replan *best = r->best;
    const uint32_t stages = trial->candidate.stages;
    fill_wanted(r, trial, trial->order);
    const size_t count = ppi_find_moves(NULL, &best->figures, &r->holdings, r->wanted, r->room);
    uint32_t *split = ppi_allocate(&best->host, stages, sizeof *split);
    ppsched_layer_move *moves = ppi_allocate(&best->host, count, sizeof *moves);
    if (split == NULL || moves == NULL) {
        ppi_release(&best->host, split);
        ppi_release(&best->host, moves);
        return ppi_fail_memory(error, "the new split");
    }
    ppi_find_moves(moves, &best->figures, &r->holdings, r->wanted, r->room);
    memcpy(split, trial->candidate.layers, stages * sizeof *split);
    memcpy(best->recomputes, trial->candidate.recomputes, best->layers);
    memcpy(best->order, trial->order, r->kept * sizeof *best->order);
    ppi_release(&best->host, best->split);
    ppi_release(&best->host, best->moves);
    best->split = split;
    best->moves = moves;
    best->move_count = count;
    best->stages = stages;
    best->devices = r->kept;
    best->figures = trial->figures;
    r->has_best = true;
    return PPSCHED_OK;
}

/* Steps after which the time of the move has come back. */
static double find_pays_after(const ppsched_replan_figures *figures)
{
    const double gain = figures->running_step_time - figures->step_time;
    const double steps = figures->can_stay && gain > 0 ? figures->move_time / gain : 0;
    const double whole = steps < 1e15 ? (double)(uint64_t)steps : steps;
    return whole < steps ? whole + 1 : whole;
}

/* Of devices that are alike, each gets the place for which the least moves. */
static ppsched_status give_places(struct replanning *r, struct trial *trial, ppsched_error *error)
{
    fill_wanted(r, trial, r->identity);
    ppsched_status status = ppi_give_places(trial->order, r->kept, r->type, &r->holdings, r->wanted, &r->best->host, error);
    if (status == PPSCHED_OK)
        count_moves(r, trial);
    return status;
}

/* Finds the places of a trial, and what its stages give back; keeps it where it is the best. */
static ppsched_status settle(struct replanning *r, struct trial *trial, ppsched_error *error)
{
    trial->figures = r->best->figures;
    trial->figures.stays = 0;
    trial->figures.group_size = trial->candidate.group_size;
    trial->figures.step_time = ppi_candidate_step(trial->plan, &trial->candidate);
    trial->figures.fits = trial->candidate.metrics.limit_device == PPSCHED_NONE;
    ppsched_status status = give_places(r, trial, error);
    if (status == PPSCHED_OK)
        status = give_back(r, trial, error);
    if (status == PPSCHED_OK)
        status = give_places(r, trial, error);
    trial->figures.pays_after = find_pays_after(&trial->figures);
    if (status == PPSCHED_OK && (!r->has_best || is_better(r, &trial->figures, &r->best->figures)))
        status = keep(r, trial, error);
    return status;
}

/* The best split in the running order, or with the order free. */
static ppsched_status try_order(struct replanning *r, bool frees_order, ppsched_error *error)
{
    struct trial trial = {.plan = NULL};
    ppsched_plan *plan = NULL;
    ppsched_status status = make_plan(&plan, r, r->base, r->kept, group_for(r, r->kept), frees_order, error);
    if (status == PPSCHED_OK)
        status = ppi_plan_run(plan, error);
    if (status == PPSCHED_OK) {
        trial.plan = plan;
        trial.candidate = plan->candidates[plan->order[0]];
        trial.order = ppi_allocate(&plan->host, r->kept, sizeof *trial.order);
        status = trial.candidate.reason != NULL ? ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s", trial.candidate.reason)
                 : trial.order == NULL          ? ppi_fail_memory(error, "the device order")
                                                : place(&trial.placement, plan, &trial.candidate, error);
    }
    for (uint32_t p = 0; p < r->kept && status == PPSCHED_OK; p++)
        trial.order[p] = r->base[trial.candidate.device_order != NULL ? trial.candidate.device_order[p] : p];
    if (status == PPSCHED_OK)
        status = settle(r, &trial, error);
    if (plan != NULL) {
        ppi_placement_clear(&trial.placement, &plan->host);
        ppi_release(&plan->host, trial.order);
    }
    ppi_plan_destroy(plan);
    return status;
}

/* --- the call --- */

/* The devices to go on with, in the running order: devices that are added take the places of those lost, and then come last. */
static void find_base(struct replanning *r, const uint32_t *running_order)
{
    const uint32_t devices = r->config->shape.devices, running = r->options->running_devices;
    uint32_t added = running;
    for (uint32_t p = 0; p < running; p++)
        if (!r->holdings.is_lost[running_order[p]])
            r->base[r->kept++] = running_order[p];
        else if (added < devices)
            r->base[r->kept++] = added++;
    while (added < devices)
        r->base[r->kept++] = added++;
}

static ppsched_status run(struct replanning *r, ppsched_error *error)
{
    ppsched_replan *best = r->best;
    ppi_find_device_types(r->type, r->config);
    find_base(r, best->order);
    ppsched_status status = look_at_running(r, best->order, error);
    if (status == PPSCHED_OK && r->kept == 0)
        status = ppi_fail(error, PPSCHED_ERROR_REFUSED, "all devices are lost; leave at least one, or add some");
    if (status == PPSCHED_OK && (r->options->free_device_order == 0 || r->options->steps > 0))
        status = try_order(r, false, error);
    return status == PPSCHED_OK && r->options->free_device_order == 1 ? try_order(r, true, error) : status;
}

/* The result starts as the running job. */
static ppsched_status make_result(ppsched_replan **out, const ppsched_config *config, const ppsched_replan_options *options,
                                  ppsched_error *error)
{
    const uint32_t layers = options->layers->count, devices = config->shape.devices;
    ppsched_replan *made = ppi_allocate_zeroed(&config->host, 1, sizeof *made);
    if (made == NULL)
        return ppi_fail_memory(error, "the result");
    made->host = config->host;
    made->stages = options->running_stages;
    made->devices = options->running_devices;
    made->layers = layers;
    made->split = ppi_allocate(&made->host, made->stages, sizeof *made->split);
    made->order = ppi_allocate(&made->host, devices, sizeof *made->order);
    made->recomputes = ppi_allocate_zeroed(&made->host, layers, 1);
    if (made->split == NULL || made->order == NULL || made->recomputes == NULL) {
        ppi_replan_destroy(made);
        return ppi_fail_memory(error, "the result");
    }
    memcpy(made->split, options->running_split, made->stages * sizeof *made->split);
    if (options->running_recomputes != NULL)
        memcpy(made->recomputes, options->running_recomputes, layers);
    for (uint32_t p = 0; p < made->devices; p++)
        made->order[p] = options->running_order != NULL ? options->running_order[p] : p;
    *out = made;
    return PPSCHED_OK;
}

static void fill_bytes(double *bytes, const ppsched_replan_options *options)
{
    const ppsched_layers *layers = options->layers;
    for (uint32_t l = 0; l < layers->count; l++) {
        const ppsched_layer *layer = &layers->entries[layers->entry_of[l]].given;
        bytes[l] = options->layer_bytes != NULL ? options->layer_bytes[l] : layer->mem_static + layer->mem_weights;
    }
}

ppsched_status ppi_replan_make(ppsched_replan **out, const ppsched_config *config, const ppsched_replan_options *options,
                               ppsched_error *error)
{
    const size_t devices = config->shape.devices, layers = options->layers->count;
    struct replanning r = {.config = config, .options = options, .chunks = options->running_stages / options->running_devices};
    ppsched_status status = make_result(&r.best, config, options, error);
    if (status != PPSCHED_OK)
        return status;
    double *numbers = ppi_allocate_zeroed(&config->host, 3 * devices + layers, sizeof *numbers);
    uint32_t *lists = ppi_allocate_zeroed(&config->host, 3 * devices, sizeof *lists);
    bool *marks = ppi_allocate_zeroed(&config->host, 2 * devices, layers + 1);
    if (numbers == NULL || lists == NULL || marks == NULL) {
        status = ppi_fail_memory(error, "devices and layers");
    } else {
        r.room = numbers + layers;
        r.base = lists;
        r.type = lists + devices;
        r.identity = lists + 2 * devices;
        r.wanted = marks + devices + devices * layers;
        fill_bytes(numbers, options);
        for (uint32_t i = 0; i < options->lost_count; i++)
            marks[options->lost[i]] = true;
        for (uint32_t d = 0; d < devices; d++)
            r.identity[d] = d;
        r.holdings = (struct ppi_holdings){.layers = options->layers,
                                           .bytes = numbers,
                                           .devices = config->shape.devices,
                                           .is_lost = marks,
                                           .held = marks + devices,
                                           .config = config,
                                           .load_bandwidth = options->load_bandwidth};
        status = run(&r, error);
    }
    ppi_release(&config->host, numbers);
    ppi_release(&config->host, lists);
    ppi_release(&config->host, marks);
    if (status == PPSCHED_OK)
        *out = r.best;
    else
        ppi_replan_destroy(r.best);
    return status;
}

void ppi_replan_destroy(ppsched_replan *replan)
{
    if (replan == NULL)
        return;
    const struct ppi_host host = replan->host;
    ppi_release(&host, replan->split);
    ppi_release(&host, replan->order);
    ppi_release(&host, replan->recomputes);
    ppi_release(&host, replan->moves);
    ppi_release(&host, replan);
}
