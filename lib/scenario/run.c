/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps the graph in numbered order for LANES scenarios at once, so that the inner loops are vector operations; or plays one
 * scenario after another if ready tasks are dispatched. Then sorts the makespans. */
#include "base/checked.h"
#include "base/error.h"
#include "base/inline.h"
#include "base/sort.h"
#include "ir/progress.h"
#include "scenario/dispatch.h"
#include "scenario/draw.h"
#include "scenario/scenario.h"

enum { LANES = PPI_SCENARIO_LANES };

/* A time in each of LANES scenarios. */
struct times {
    double at[LANES];
};

struct run {
    struct ppi_scenario_graph graph;
    const ppsched_scenario_options *options;
    const ppsched_config *config;
    const ppsched_timeline *timeline;
    const struct ppi_costs *costs;
    ppsched_scenarios *result;
    uint64_t visits;       /* of ops, since the last progress callback */
    uint32_t count, first; /* of scenarios; the first of the current LANES */
    uint32_t stages, devices;
    bool by_device, by_stage;              /* factors by scenario */
    const double *jitter, *message_jitter; /* tables; NULL: none */
    struct times *starts, *ends;           /* by node */
    struct times *outputs;                 /* by node and op of a pair; NULL: both end with it */
};

/* Multiplies by factors given per scenario; lanes past the last scenario repeat it. */
static void scale(struct times *times, const struct run *run, const double *factors, uint32_t row, uint32_t column)
{
    for (uint32_t i = 0; i < LANES; i++) {
        uint32_t scenario = run->first + i < run->count ? run->first + i : run->count - 1;
        times->at[i] *= factors[(size_t)scenario * row + column];
    }
}

/* When an input of a node is made. */
PPI_INLINE const struct times *made_of(const struct run *run, const struct ppi_scenario_node *node, int i, bool has_outputs)
{
    if (has_outputs)
        return &run->outputs[2 * (size_t)node->input[i] + ppi_reads_gradient(run->timeline->schedule, node, i)];
    return &run->ends[node->input[i]];
}

/* When an input of a node arrives. */
PPI_INLINE struct times arrival_of(const struct run *run, const struct ppi_scenario_node *node, int i, bool has_outputs)
{
    const struct times *end = made_of(run, node, i, has_outputs);
    struct times there;
    for (int k = 0; k < LANES; k++)
        there.at[k] = node->delay[i];
    if (run->message_jitter != NULL)
        ppi_draw(there.at, run->message_jitter, node->message_stream[i], run->first);
    for (int k = 0; k < LANES; k++)
        there.at[k] = end->at[k] + there.at[k];
    return there;
}

static inline void raise(struct times *times, const struct times *to)
{
    for (int k = 0; k < LANES; k++)
        times->at[k] = to->at[k] > times->at[k] ? to->at[k] : times->at[k];
}

static void sweep_flush(const struct run *run, const struct ppi_scenario_node *node, uint32_t number)
{
    struct times end = {{0}};
    for (uint32_t w = 0; w < run->graph.workers; w++)
        raise(&end, &run->ends[run->graph.before[node->turn + w]]);
    run->starts[number] = run->ends[number] = end;
}

/* When both ops of a unit have made their outputs. */
PPI_APART void note_outputs(const struct run *run, uint32_t number, const struct times *start, const struct times *duration)
{
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < LANES; k++)
            run->outputs[2 * (size_t)number + i].at[k] = start->at[k] +
                                                         ppi_node_output(&run->graph.ends[number], i == 1, duration->at[k]);
}

/* When a wait in a stage graph is over. */
PPI_APART struct times wait_until(const struct run *run, const struct ppi_scenario_wait *wait)
{
    struct times there;
    for (int k = 0; k < LANES; k++)
        there.at[k] = wait->delay;
    if (run->message_jitter != NULL && wait->is_message)
        ppi_draw(there.at, run->message_jitter, wait->stream, run->first);
    for (int k = 0; k < LANES; k++)
        there.at[k] = run->ends[wait->node].at[k] + there.at[k];
    return there;
}

PPI_APART void wait_for_more(const struct run *run, uint32_t number, struct times *start)
{
    for (size_t i = run->graph.more_end[number - 1]; i < run->graph.more_end[number]; i++) {
        struct times there = wait_until(run, &run->graph.more[i]);
        raise(start, &there);
    }
}

/* Multiplies by the largest factor of the devices of an op of several devices. */
PPI_APART void scale_by_set(struct times *duration, const struct run *run, const struct ppi_scenario_node *node)
{
    for (uint32_t k = 0; k < LANES; k++) {
        const uint32_t scenario = run->first + k < run->count ? run->first + k : run->count - 1;
        duration->at[k] *= ppi_largest_factor(&run->timeline->schedule->placement, node,
                                              run->options->device_factors + (size_t)scenario * run->devices);
    }
}

PPI_INLINE void sweep_unit(const struct run *run, const struct ppi_scenario_node *node, uint32_t number, bool has_outputs,
                           bool is_graph)
{
    struct times start = run->ends[node->turn], duration;
    if (is_graph)
        wait_for_more(run, number, &start);
    for (int i = 0; i < 2 && !is_graph; i++)
        if (node->input[i] != PPI_BEGINNING) {
            struct times there = arrival_of(run, node, i, has_outputs);
            raise(&start, &there);
        }
    for (int k = 0; k < LANES; k++)
        duration.at[k] = node->duration;
    if (run->by_device && is_graph)
        scale_by_set(&duration, run, node);
    else if (run->by_device)
        scale(&duration, run, run->options->device_factors, run->devices, node->device);
    if (run->by_stage)
        scale(&duration, run, run->options->stage_factors, run->stages, node->stage);
    if (run->jitter != NULL)
        ppi_draw(duration.at, run->jitter, node->stream, run->first);
    run->starts[number] = start;
    for (int k = 0; k < LANES; k++)
        run->ends[number].at[k] = start.at[k] + duration.at[k];
    if (has_outputs)
        note_outputs(run, number, &start, &duration);
}

PPI_INLINE void sweep_nodes(const struct run *run, bool has_outputs, bool is_graph)
{
    run->ends[PPI_BEGINNING] = (struct times){{0}};
    for (uint32_t n = 1; n < run->graph.count; n++) {
        const struct ppi_scenario_node *node = &run->graph.nodes[n];
        if (node->device == PPSCHED_NONE)
            sweep_flush(run, node, n);
        else
            sweep_unit(run, node, n, has_outputs, is_graph);
    }
}

static void sweep(const struct run *run)
{
    if (run->graph.more != NULL)
        sweep_nodes(run, false, true);
    else if (run->outputs != NULL)
        sweep_nodes(run, true, false);
    else
        sweep_nodes(run, false, false);
}

/* When an input of a node arrives in one scenario. */
static double arrival_in(const struct run *run, const struct ppi_scenario_node *node, int i, uint32_t lane)
{
    const bool has_outputs = run->outputs != NULL;
    if (run->message_jitter == NULL)
        return made_of(run, node, i, has_outputs)->at[lane] + node->delay[i];
    return arrival_of(run, node, i, has_outputs).at[lane];
}

/* The node that a unit in a stage graph waited for last, other than its turn. */
PPI_APART uint32_t reason_in_graph(const struct run *run, uint32_t number, uint32_t lane, double start)
{
    for (size_t i = run->graph.more_end[number - 1]; i < run->graph.more_end[number]; i++)
        if (wait_until(run, &run->graph.more[i]).at[lane] == start)
            return run->graph.more[i].node;
    return PPI_BEGINNING;
}

/* The node that a node waited for last in a scenario; at equal times its device before its inputs. */
static uint32_t reason_of(const struct run *run, uint32_t number, uint32_t lane)
{
    const struct ppi_scenario_node *node = &run->graph.nodes[number];
    double start = run->starts[number].at[lane];
    if (node->device == PPSCHED_NONE) {
        for (uint32_t w = 0; w < run->graph.workers; w++)
            if (run->ends[run->graph.before[node->turn + w]].at[lane] == start)
                return run->graph.before[node->turn + w];
        return PPI_BEGINNING;
    }
    if (run->ends[node->turn].at[lane] == start)
        return node->turn;
    if (run->graph.more != NULL)
        return reason_in_graph(run, number, lane, start);
    return node->input[node->input[0] != PPI_BEGINNING && arrival_in(run, node, 0, lane) == start ? 0 : 1];
}

/* Notes a scenario's makespan, and adds to the devices' shares of it. */
static void note_scenario(const struct run *run, uint32_t lane)
{
    uint32_t last = PPI_BEGINNING;
    for (uint32_t w = 0; w < run->graph.workers; w++)
        if (last == PPI_BEGINNING || run->ends[run->graph.last[w]].at[lane] > run->ends[last].at[lane])
            last = run->graph.last[w];
    double makespan = run->ends[last].at[lane];
    run->result->makespans[run->first + lane] = makespan;
    for (; makespan > 0 && last != PPI_BEGINNING; last = reason_of(run, last, lane))
        if (run->graph.nodes[last].device != PPSCHED_NONE)
            run->result->causes[run->graph.nodes[last].device] += (run->ends[last].at[lane] - run->starts[last].at[lane]) /
                                                                  makespan;
}

/* Calls the progress callback before the scenarios from `first` on, as often as searches do; `visits`: of ops, in these
 * scenarios. In planned order so many visits take about 1 ms, where what is ready runs 8 to 15 ms: measured with 192 to 16,384
 * ops and 4,000 scenarios on a core of 2.6 GHz. */
static ppsched_status ask(struct run *run, uint64_t visits, ppsched_error *error)
{
    run->visits += visits;
    if (run->config->progress == NULL || run->visits <= (uint64_t)PPI_VISITS_UNASKED)
        return PPSCHED_OK;
    run->visits = 0;
    if (ppi_config_tell(run->config, (double)run->first / run->count, PPI_INFINITE) != 0)
        return ppi_fail(error, PPSCHED_ERROR_CANCELLED, "the scenarios were cancelled");
    return PPSCHED_OK;
}

static ppsched_status check_finite(const struct run *run, uint32_t scenario, ppsched_error *error)
{
    if (ppi_is_finite(run->result->makespans[scenario]))
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of times of scenario %u is too large for a double", scenario);
}

/* All scenarios in planned order. */
static ppsched_status sweep_all(struct run *run, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (run->first = 0; run->first < run->count && status == PPSCHED_OK; run->first += LANES) {
        status = ask(run, (uint64_t)run->graph.count * LANES, error);
        if (status != PPSCHED_OK)
            return status;
        sweep(run);
        for (uint32_t lane = 0; lane < LANES && run->first + lane < run->count && status == PPSCHED_OK; lane++) {
            note_scenario(run, lane);
            status = check_finite(run, run->first + lane, error);
        }
    }
    return status;
}

/* --- ready tasks first --- */

static double task_time(const void *user, const struct ppi_dispatch_task *task, uint32_t scenario)
{
    const struct run *run = user;
    double time = task->duration;
    if (run->by_device)
        time *= run->options->device_factors[(size_t)scenario * run->devices + task->device];
    if (run->by_stage)
        time *= run->options->stage_factors[(size_t)scenario * run->stages + task->stage];
    return run->jitter != NULL ? time * ppi_draw_one(run->jitter, task->stream, scenario) : time;
}

static double message_time(const void *user, const struct ppi_release_edge *edge, uint32_t scenario)
{
    const struct run *run = user;
    return run->message_jitter != NULL ? edge->delay * ppi_draw_one(run->message_jitter, edge->stream, scenario) : edge->delay;
}

static ppsched_status play_all(struct run *run, const struct ppi_dispatch *dispatch, ppsched_error *error)
{
    const struct ppi_dispatch_times times = {run, task_time, message_time};
    struct ppi_dispatch_run *play = NULL;
    ppsched_status status = ppi_dispatch_run_make(&play, dispatch, error);
    for (uint32_t d = 0; d < run->devices; d++)
        run->result->peaks[d] = dispatch->base[d];
    for (run->first = 0; run->first < run->count && status == PPSCHED_OK; run->first++) {
        status = ask(run, 4 * (uint64_t)run->graph.count, error);
        if (status != PPSCHED_OK)
            break;
        run->result->makespans[run->first] = ppi_dispatch_play(play, &times, run->first, run->result->causes,
                                                               run->result->peaks);
        status = check_finite(run, run->first, error);
    }
    ppi_dispatch_run_destroy(play);
    return status;
}

static ppsched_status run_all(struct run *run, ppsched_error *error)
{
    struct ppi_dispatch dispatch;
    if (run->options->dispatch == PPSCHED_DISPATCH_PLANNED) {
        for (uint32_t d = 0; d < run->devices; d++)
            run->result->peaks[d] = run->timeline->devices[d].peak_memory;
        return sweep_all(run, error);
    }
    ppsched_status status = ppi_dispatch_make(&dispatch, run->timeline, run->costs, &run->graph, error);
    if (status != PPSCHED_OK)
        return status;
    status = play_all(run, &dispatch, error);
    ppi_dispatch_clear(&dispatch);
    return status;
}

static bool is_shorter(const void *context, uint32_t a, uint32_t b)
{
    const double *makespans = context;
    return makespans[a] < makespans[b];
}

/* Sorts the scenarios by makespan and computes the metrics. `order` has capacity for all of them twice. */
static void sum_up_run(struct run *run, uint32_t *order)
{
    ppsched_scenarios *result = run->result;
    ppsched_scenario_metrics *metrics = &result->metrics;
    double least = result->makespans[0], sum = 0;
    *metrics = (ppsched_scenario_metrics){.size = sizeof *metrics, .count = run->count};
    for (uint32_t i = 0; i < run->count; i++) {
        sum += result->makespans[i] - least;
        order[i] = i;
        if (result->makespans[i] > result->makespans[metrics->worst_scenario])
            metrics->worst_scenario = i;
    }
    const uint32_t *sorted = ppi_sort(order, order + run->count, run->count, is_shorter, result->makespans);
    for (uint32_t i = 0; i < run->count; i++)
        result->sorted[i] = result->makespans[sorted[i]];
    metrics->best_scenario = sorted[0];
    metrics->best = result->sorted[0];
    metrics->worst = result->sorted[run->count - 1];
    metrics->mean = ppi_smaller(ppi_larger(least + sum / run->count, metrics->best), metrics->worst);
    for (uint32_t d = 0; d < run->devices; d++) {
        result->causes[d] /= run->count;
        if (result->causes[d] > result->causes[metrics->cause_device])
            metrics->cause_device = d;
    }
}

static double *make_table(const struct ppi_host *host, double sigma)
{
    double *table = sigma > 0 ? ppi_allocate(host, PPI_DRAWS, sizeof *table) : NULL;
    if (table != NULL)
        ppi_lognormal_table(table, sigma);
    return table;
}

ppsched_status ppi_scenario_tables_make(struct ppi_scenario_tables *out, const struct ppi_host *host,
                                        const ppsched_scenario_options *options, ppsched_error *error)
{
    *out = (struct ppi_scenario_tables){make_table(host, options->jitter), make_table(host, options->message_jitter)};
    if ((options->jitter > 0) == (out->jitter != NULL) && (options->message_jitter > 0) == (out->message_jitter != NULL))
        return PPSCHED_OK;
    ppi_scenario_tables_clear(out, host);
    return ppi_fail_memory(error, "the scenarios");
}

void ppi_scenario_tables_clear(struct ppi_scenario_tables *tables, const struct ppi_host *host)
{
    ppi_release(host, tables->jitter);
    ppi_release(host, tables->message_jitter);
    *tables = (struct ppi_scenario_tables){NULL, NULL};
}

static ppsched_status run_in(struct run *run, ppsched_error *error)
{
    const struct ppi_host *host = &run->graph.host;
    uint32_t *order = ppi_allocate(host, run->count, 2 * sizeof *order);
    run->starts = ppi_allocate(host, run->graph.count, sizeof *run->starts);
    run->ends = ppi_allocate(host, run->graph.count, sizeof *run->ends);
    if (run->graph.ends != NULL)
        run->outputs = ppi_allocate(host, run->graph.count, 2 * sizeof *run->outputs);
    ppsched_status status = PPSCHED_OK;
    if (order == NULL || run->starts == NULL || run->ends == NULL || (run->graph.ends != NULL && run->outputs == NULL))
        status = ppi_fail_memory(error, "the scenarios");
    if (status == PPSCHED_OK)
        status = run_all(run, error);
    if (status == PPSCHED_OK)
        sum_up_run(run, order);
    ppi_release(host, order);
    ppi_release(host, run->starts);
    ppi_release(host, run->ends);
    ppi_release(host, run->outputs);
    return status;
}

static ppsched_scenarios *make_result(const struct ppi_host *host, uint32_t count, uint32_t devices)
{
    ppsched_scenarios *result = ppi_allocate_zeroed(host, 1, sizeof *result);
    if (result == NULL)
        return NULL;
    result->host = *host;
    result->devices = devices;
    result->makespans = ppi_allocate(host, count, sizeof *result->makespans);
    result->sorted = ppi_allocate(host, count, sizeof *result->sorted);
    result->causes = ppi_allocate_zeroed(host, devices, sizeof *result->causes);
    result->peaks = ppi_allocate_zeroed(host, devices, sizeof *result->peaks);
    if (result->makespans != NULL && result->sorted != NULL && result->causes != NULL && result->peaks != NULL)
        return result;
    ppi_scenarios_destroy(result);
    return NULL;
}

ppsched_status ppi_scenarios_run_timed(ppsched_scenarios **out, const ppsched_timeline *timeline, const struct ppi_costs *costs,
                                       const ppsched_config *config, uint32_t count, const ppsched_scenario_options *options,
                                       const struct ppi_scenario_tables *tables, ppsched_error *error)
{
    const struct ppi_shape *shape = &timeline->schedule->shape;
    struct run run = {.options = options,
                      .config = config,
                      .timeline = timeline,
                      .costs = costs,
                      .count = count,
                      .jitter = tables->jitter,
                      .message_jitter = tables->message_jitter,
                      .stages = shape->stages,
                      .devices = shape->devices};
    run.by_device = options->device_factor_count > shape->devices;
    run.by_stage = options->stage_factor_count > shape->stages;
    ppsched_status status = ppi_scenario_graph_make(&run.graph, timeline, costs, options, error);
    if (status != PPSCHED_OK)
        return status;
    run.result = make_result(&timeline->host, count, shape->devices);
    status = run.result != NULL ? run_in(&run, error) : ppi_fail_memory(error, "the scenarios");
    ppi_scenario_graph_clear(&run.graph);
    if (status == PPSCHED_OK)
        *out = run.result;
    else
        ppi_scenarios_destroy(run.result);
    return status;
}

/* What scenarios cannot do with a stage graph. */
static ppsched_status allow_graph(const ppsched_schedule *schedule, const ppsched_config *config,
                                  const ppsched_scenario_options *options, ppsched_error *error)
{
    const struct ppi_stage_graph *graph = schedule->placement.graph;
    if (options->dispatch == PPSCHED_DISPATCH_READY)
        return ppi_refuse_graph(graph, "dispatch ready", error);
    if (graph->has_sets && options->link_factors != NULL)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "link_factors: only if each stage is on one device; leave them out, or use message_jitter");
    if (graph->has_sets && options->device_factor_count > 0 && ppi_has_speeds(config))
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "device_factors with device_speeds, device_scale, stage_scale or device_overhead: only if each stage "
                        "is on one device; put the factors into these lists");
    return PPSCHED_OK;
}

ppsched_status ppi_scenarios_run(ppsched_scenarios **out, const ppsched_schedule *schedule, const ppsched_config *config,
                                 uint32_t count, const ppsched_scenario_options *options, ppsched_error *error)
{
    ppsched_timeline *timeline = NULL;
    struct ppi_scenario_tables tables = {NULL, NULL};
    struct ppi_costs costs;
    ppsched_status status = ppi_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error);
    if (status != PPSCHED_OK)
        return status;
    if (timeline->meets_saving)
        status = ppi_fail(error, PPSCHED_ERROR_ARGUMENT,
                          "the schedule has RECOMPUTE, OFFLOAD or RELOAD, which scenarios cannot time; use one without them");
    if (status == PPSCHED_OK && schedule->placement.graph != NULL)
        status = allow_graph(schedule, config, options, error);
    if (status == PPSCHED_OK && config->senders_wait && options->dispatch == PPSCHED_DISPATCH_READY)
        status = ppi_fail(error, PPSCHED_ERROR_REFUSED,
                          "sender_waits like_kind needs dispatch planned; with dispatch ready use never");
    if (status == PPSCHED_OK)
        status = ppi_scenario_tables_make(&tables, &schedule->host, options, error);
    if (status == PPSCHED_OK)
        status = ppi_costs_make(&costs, config, &schedule->placement, error);
    if (status == PPSCHED_OK) {
        status = ppi_scenarios_run_timed(out, timeline, &costs, config, count, options, &tables, error);
        ppi_costs_clear(&costs);
    }
    ppi_scenario_tables_clear(&tables, &schedule->host);
    ppi_timeline_destroy(timeline);
    return status;
}
