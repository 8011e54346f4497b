/* SPDX-License-Identifier: Apache-2.0 */
/* A depth-first search from the ends back along tied waits, with its own stack; a node becomes a step after all it waits
 * for. */
#include "eval/longest_paths.h"

#include "base/checked.h"
#include "base/error.h"

static const double TIE = 1e-12; /* times that differ by less than this share of the makespan are equal */

/* A node on the stack: its first `left` waits are not visited yet. */
struct open {
    size_t node, left;
};

struct gathering {
    struct ppi_longest_paths paths;
    struct ppi_waits waits;
    double tolerance;
    int32_t kind;
    uint32_t *step_of; /* by node; PPI_NO_STEP: not gathered */
    struct open *open; /* stack */
};

/* The last tied wait among a node's first `*left`, which becomes the number of those before it; PPI_NO_NODE: none. Time 0 is
 * left out: what ties with it took no time, so it does not move when ops take less. The device's previous op comes after the
 * inputs, so that ops of a stage are gathered one after the other if the paths allow. */
static size_t next_tied(const struct gathering *gathering, size_t node, size_t *left)
{
    double start = ppi_start_of(&gathering->waits, node);
    while (*left > 0) {
        struct ppi_wait wait = ppi_wait_at(&gathering->waits, node, --*left);
        if (wait.node != PPI_NO_NODE && wait.ready >= start - gathering->tolerance)
            return wait.node;
    }
    return PPI_NO_NODE;
}

/* Finds the stages that a unit's duration belongs to. */
static void find_stages(const struct gathering *gathering, size_t unit, struct ppi_path_step *step)
{
    const ppsched_timeline *timeline = gathering->waits.timeline;
    const ppsched_op *ops = &timeline->schedule->ops[unit];
    if (ppi_unit_length(ops) == 2 && timeline->pairs_are_timed)
        return;
    for (size_t i = 0; i < ppi_unit_length(ops); i++) {
        if (gathering->kind != 0 && ops[i].kind != gathering->kind)
            continue;
        step->longer[i] = ops[i].stage;
        if (ppi_instance_of(&timeline->costs, timeline->schedule, &ops[i])->duration[ops[i].kind] > 0)
            step->shorter[i] = ops[i].stage;
    }
}

/* Adds a step without edges. */
static struct ppi_path_step *add_step(struct ppi_longest_paths *paths)
{
    struct ppi_path_step *step = &paths->steps[paths->step_count];
    *step = (struct ppi_path_step){.edges_end = ppi_edges_begin(paths, paths->step_count),
                                   .longer = {PPSCHED_NONE, PPSCHED_NONE},
                                   .shorter = {PPSCHED_NONE, PPSCHED_NONE}};
    paths->step_count++;
    return step;
}

/* Makes the newest step wait for another. */
static void add_edge(struct ppi_longest_paths *paths, uint32_t before)
{
    uint32_t step = paths->step_count - 1;
    paths->edges[paths->steps[step].edges_end++] = before;
    paths->steps[before].last_use = step;
}

/* Makes a node a step; all that it waits for are steps already. A pair may wait for another pair twice. */
static void add_node(struct gathering *gathering, size_t node)
{
    struct ppi_longest_paths *paths = &gathering->paths;
    struct ppi_path_step *step = add_step(paths);
    size_t left = ppi_wait_count(&gathering->waits, node), before, begin = step->edges_end;
    while ((before = next_tied(gathering, node, &left)) != PPI_NO_NODE)
        if (step->edges_end == begin || paths->edges[step->edges_end - 1] != gathering->step_of[before])
            add_edge(paths, gathering->step_of[before]);
    if (step->edges_end == begin)
        add_edge(paths, 0);
    if (!ppi_is_flush(&gathering->waits, node))
        find_stages(gathering, node, step);
    gathering->step_of[node] = paths->step_count - 1;
}

static void open_node(struct gathering *gathering, size_t node, size_t *depth)
{
    gathering->open[(*depth)++] = (struct open){node, ppi_wait_count(&gathering->waits, node)};
}

/* Gathers all paths to a unit; returns its step. */
static uint32_t gather(struct gathering *gathering, size_t unit)
{
    size_t depth = 0;
    if (gathering->step_of[unit] == PPI_NO_STEP)
        open_node(gathering, unit, &depth);
    while (depth > 0) {
        struct open *top = &gathering->open[depth - 1];
        size_t before = next_tied(gathering, top->node, &top->left);
        if (before == PPI_NO_NODE) {
            add_node(gathering, top->node);
            depth--;
        } else if (gathering->step_of[before] == PPI_NO_STEP) {
            open_node(gathering, before, &depth);
        }
    }
    return gathering->step_of[unit];
}

/* The makespan has one goal: the end, to which all devices' goals lead. */
static void add_end(struct ppi_longest_paths *paths)
{
    add_step(paths);
    for (size_t i = 0; i < paths->goal_count; i++)
        add_edge(paths, paths->goals[i].last);
    paths->goals[0].last = paths->step_count - 1;
    paths->goal_count = 1;
}

static void gather_objective(struct gathering *gathering, bool is_span)
{
    const ppsched_timeline *timeline = gathering->waits.timeline;
    struct ppi_longest_paths *paths = &gathering->paths;
    double longest = is_span ? timeline->metrics.span : timeline->metrics.makespan;
    add_step(paths);
    for (size_t w = 0; w < gathering->waits.worker_count; w++) {
        const struct ppi_worker *worker = &gathering->waits.workers[w];
        const ppsched_device_metrics *device = &timeline->devices[worker->device];
        if (device->last_end - (is_span ? device->first_start : 0) < longest - gathering->tolerance)
            continue;
        struct ppi_path_end *goal = &paths->goals[paths->goal_count++];
        goal->last = gather(gathering, worker->last);
        goal->first = is_span ? gather(gathering, worker->first) : PPI_NO_STEP;
    }
    if (!is_span)
        add_end(paths);
}

/* Upper bound of edges: for each unit its device's previous op, or time 0, and each op's input; what each flush waits for; the
 * end. */
static bool count_edges(const struct ppi_waits *waits, size_t ops, size_t *edges)
{
    size_t of_ops, of_flushes, all = 0;
    *edges = 0;
    if (waits->timeline->schedule->placement.graph != NULL) {
        for (size_t i = 0; i < ops; i++)
            all += ppi_wait_count(waits, i) + 1;
        return ppi_mul_size(&of_flushes, waits->worker_count, waits->timeline->flush_count + 1) &&
               ppi_add_size(edges, all, of_flushes);
    }
    return ppi_mul_size(&of_ops, ops, 2) && ppi_mul_size(&of_flushes, waits->worker_count, waits->timeline->flush_count + 1) &&
           ppi_add_size(edges, of_ops, of_flushes);
}

static ppsched_status make_room(struct gathering *gathering, ppsched_error *error)
{
    struct ppi_longest_paths *paths = &gathering->paths;
    size_t ops = (size_t)gathering->waits.timeline->schedule->op_count, nodes, edges;
    if (!ppi_add_size(&nodes, ops, gathering->waits.timeline->flush_count) || nodes >= PPI_NO_STEP - 2 ||
        !count_edges(&gathering->waits, ops, &edges))
        return ppi_fail_memory(error, "the longest paths");
    paths->steps = ppi_allocate(paths->host, nodes + 2, sizeof *paths->steps);
    paths->edges = ppi_allocate(paths->host, edges, sizeof *paths->edges);
    paths->goals = ppi_allocate(paths->host, gathering->waits.worker_count, sizeof *paths->goals);
    gathering->step_of = ppi_allocate(paths->host, nodes, sizeof *gathering->step_of);
    gathering->open = ppi_allocate(paths->host, nodes, sizeof *gathering->open);
    if (paths->steps == NULL || paths->edges == NULL || paths->goals == NULL || gathering->step_of == NULL ||
        gathering->open == NULL)
        return ppi_fail_memory(error, "the longest paths");
    for (size_t i = 0; i < nodes; i++)
        gathering->step_of[i] = PPI_NO_STEP;
    return PPSCHED_OK;
}

ppsched_status ppi_longest_paths_gather(struct ppi_longest_paths *out, const ppsched_timeline *timeline, int32_t objective,
                                        int32_t kind, ppsched_error *error)
{
    const struct ppi_host *host = &timeline->host;
    struct gathering gathering = {.paths.host = host, .tolerance = TIE * timeline->metrics.makespan, .kind = kind};
    ppsched_status status = ppi_waits_make(&gathering.waits, timeline, error);
    if (status != PPSCHED_OK)
        return status;
    status = make_room(&gathering, error);
    if (status == PPSCHED_OK) {
        gather_objective(&gathering, objective == PPSCHED_OBJECTIVE_SPAN);
        *out = gathering.paths;
    } else {
        ppi_longest_paths_clear(&gathering.paths);
    }
    ppi_release(host, gathering.step_of);
    ppi_release(host, gathering.open);
    ppi_waits_clear(&gathering.waits);
    return status;
}

void ppi_longest_paths_clear(struct ppi_longest_paths *paths)
{
    ppi_release(paths->host, paths->steps);
    ppi_release(paths->host, paths->edges);
    ppi_release(paths->host, paths->goals);
}
