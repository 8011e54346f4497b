/* SPDX-License-Identifier: Apache-2.0 */
#include "prop/split_brute.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_UNITS = 3 * SPLIT_STAGES * SPLIT_MICROBATCHES, MOST_INPUTS = 5, RANGES = (SPLIT_LAYERS + 1) * (SPLIT_LAYERS + 1) };

/* --- the order as a graph --- */

/* What starts and ends at once: an op, or an overlapped pair. */
struct unit {
    uint32_t ops, device, inputs;
    ppsched_op op[2];
    uint32_t input[MOST_INPUTS]; /* units */
};

struct graph {
    uint32_t devices, stages, count;
    struct unit unit[MOST_UNITS]; /* those of device 0 in order, then those of device 1, ... */
    uint32_t first[SPLIT_DEVICES + 1];
    uint32_t sorted[MOST_UNITS]; /* each after its inputs */
};

/* Where F, the backward (B or I) or W of a stage pass is; `count` where it is not. */
static uint32_t unit_of(const struct graph *graph, uint8_t kind, uint32_t stage, uint32_t microbatch)
{
    for (uint32_t u = 0; u < graph->count; u++)
        for (uint32_t i = 0; i < graph->unit[u].ops; i++) {
            const ppsched_op *op = &graph->unit[u].op[i];
            int same = op->kind == kind || (kind == PPSCHED_KIND_I && op->kind == PPSCHED_KIND_B);
            if (same && op->stage == stage && op->microbatch == microbatch)
                return u;
        }
    return graph->count;
}

static int load_units(struct graph *graph, const ppsched_schedule *schedule)
{
    graph->devices = ppsched_schedule_devices(schedule);
    graph->stages = ppsched_schedule_stages(schedule);
    if (graph->devices > SPLIT_DEVICES || graph->stages > SPLIT_STAGES ||
        ppsched_schedule_microbatches(schedule) > SPLIT_MICROBATCHES || ppsched_schedule_iterations(schedule) != 1)
        return 0;
    for (uint32_t d = 0; d < graph->devices; d++) {
        size_t count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &count);
        graph->first[d] = graph->count;
        for (size_t i = 0; i < count; i++) {
            struct unit *unit = &graph->unit[graph->count];
            if (ops[i].kind < PPSCHED_KIND_F || ops[i].kind > PPSCHED_KIND_W || graph->count++ == MOST_UNITS)
                return 0;
            unit->device = d;
            unit->op[unit->ops++] = ops[i];
            if (ops[i].flags & PPSCHED_OP_FLAG_OVERLAPPED)
                unit->op[unit->ops++] = ops[++i];
        }
    }
    graph->first[graph->devices] = graph->count;
    return 1;
}

/* F needs F of the stage before; B and I their F and the backward of the stage after; W its I. 0 where that is missing. */
static int add_inputs(struct graph *graph, struct unit *unit, const ppsched_op *op)
{
    uint32_t before = unit->inputs, needed = 0;
    if (op->kind == PPSCHED_KIND_F) {
        needed = op->stage > 0;
        if (op->stage > 0)
            unit->input[unit->inputs++] = unit_of(graph, PPSCHED_KIND_F, op->stage - 1u, op->microbatch);
    } else if (op->kind == PPSCHED_KIND_W) {
        needed = 1;
        unit->input[unit->inputs++] = unit_of(graph, PPSCHED_KIND_I, op->stage, op->microbatch);
    } else {
        needed = 1 + (op->stage + 1u < graph->stages);
        unit->input[unit->inputs++] = unit_of(graph, PPSCHED_KIND_F, op->stage, op->microbatch);
        if (op->stage + 1u < graph->stages)
            unit->input[unit->inputs++] = unit_of(graph, PPSCHED_KIND_I, op->stage + 1u, op->microbatch);
    }
    for (uint32_t i = before; i < before + needed; i++)
        if (unit->input[i] == graph->count)
            return 0;
    return 1;
}

/* 0 where the units wait for each other in a circle. */
static int sort_units(struct graph *graph)
{
    int done[MOST_UNITS] = {0}, moved = 1;
    uint32_t sorted = 0;
    while (moved) {
        moved = 0;
        for (uint32_t u = 0; u < graph->count; u++) {
            int ready = !done[u];
            for (uint32_t i = 0; i < graph->unit[u].inputs; i++)
                ready = ready && done[graph->unit[u].input[i]];
            if (!ready)
                continue;
            graph->sorted[sorted++] = u;
            moved = done[u] = 1;
        }
    }
    return sorted == graph->count;
}

static int load_graph(struct graph *graph, const ppsched_schedule *schedule)
{
    memset(graph, 0, sizeof *graph);
    if (!load_units(graph, schedule))
        return 0;
    for (uint32_t u = 0; u < graph->count; u++) {
        struct unit *unit = &graph->unit[u];
        if (u > graph->first[unit->device])
            unit->input[unit->inputs++] = u - 1;
        for (uint32_t i = 0; i < unit->ops; i++)
            if (!add_inputs(graph, unit, &unit->op[i]))
                return 0;
    }
    return sort_units(graph);
}

/* --- what stages cost --- */

/* Where senders wait, how long what a unit made is on its way to the unit that reads it; 0 where nobody waits for that. */
static double sent_by(const struct graph *graph, const struct split_problem *problem, const struct unit *unit)
{
    const ppsched_op *op = &unit->op[0];
    uint32_t reader = graph->count;
    if (op->kind == PPSCHED_KIND_F && op->stage + 1u < graph->stages)
        reader = unit_of(graph, PPSCHED_KIND_F, op->stage + 1u, op->microbatch);
    else if ((op->kind == PPSCHED_KIND_B || op->kind == PPSCHED_KIND_I) && op->stage > 0)
        reader = unit_of(graph, PPSCHED_KIND_I, op->stage - 1u, op->microbatch);
    if (reader == graph->count || graph->unit[reader].ops == 2 || graph->unit[reader].device == unit->device)
        return 0;
    return problem->delay[unit->device][graph->unit[reader].device];
}

/* When a unit may start as far as its device has sent something. */
static double after_sending(const struct graph *graph, const struct split_problem *problem, uint32_t u, const double *end)
{
    const struct unit *unit = &graph->unit[u], *before = unit - 1;
    const ppsched_op *op = &unit->op[0], *other;
    double start = 0;
    if (!problem->senders_wait || unit->ops == 2)
        return 0;
    if (u > graph->first[unit->device] && before->ops == 1) {
        other = &before->op[0];
        if (other->stage == op->stage && (other->kind == PPSCHED_KIND_F) == (op->kind == PPSCHED_KIND_F))
            start = end[u - 1] + sent_by(graph, problem, before);
    }
    if (op->kind == PPSCHED_KIND_W && op->stage + 1u < graph->stages) {
        uint32_t own = unit_of(graph, PPSCHED_KIND_I, op->stage, op->microbatch);
        uint32_t from = graph->unit[unit_of(graph, PPSCHED_KIND_I, op->stage + 1u, op->microbatch)].device;
        double there = end[own] + problem->delay[from][unit->device];
        if (graph->unit[own].ops == 1 && from != unit->device && there > start)
            start = there;
    }
    return start;
}

static double speed_of(const struct split_problem *problem, uint32_t device)
{
    return problem->speed[device] > 0 ? problem->speed[device] : 1;
}

/* The longest path: each unit starts when the last of its inputs is there. */
static double makespan_of(const struct graph *graph, const struct split_problem *problem, const struct split_cost *stage)
{
    double end[MOST_UNITS], makespan = 0;
    for (uint32_t k = 0; k < graph->count; k++) {
        const struct unit *unit = &graph->unit[graph->sorted[k]];
        double start = after_sending(graph, problem, graph->sorted[k], end);
        for (uint32_t i = 0; i < unit->inputs; i++) {
            uint32_t from = graph->unit[unit->input[i]].device;
            double there = end[unit->input[i]] + (from == unit->device ? 0 : problem->delay[from][unit->device]);
            start = there > start ? there : start;
        }
        for (uint32_t i = 0; i < unit->ops; i++)
            start += stage[unit->op[i].stage].time[unit->op[i].kind] / speed_of(problem, unit->device) +
                     problem->own_overhead[unit->device] + problem->overhead[unit->op[i].kind];
        end[graph->sorted[k]] = start;
        makespan = start > makespan ? start : makespan;
    }
    return makespan;
}

/* Whether a device has a stage, for whichever microbatches. */
static int has_stage(const ppsched_schedule *schedule, uint32_t device, uint32_t stage)
{
    for (uint32_t m = 0; m < ppsched_schedule_microbatches(schedule); m++)
        if (ppsched_schedule_device_of(schedule, stage, m) == device)
            return 1;
    return 0;
}

/* A device does one thing after the other, so what it holds follows from the order of its queue alone. */
static double peak_of(const struct graph *graph, uint32_t device, const ppsched_schedule *schedule,
                      const struct split_cost *stage)
{
    double held = 0, most;
    for (uint32_t s = 0; s < graph->stages; s++)
        if (has_stage(schedule, device, s))
            held += stage[s].fixed;
    most = held;
    for (uint32_t u = graph->first[device]; u < graph->first[device + 1]; u++) {
        const struct unit *unit = &graph->unit[u];
        double beside = 0;
        for (uint32_t i = 0; i < unit->ops; i++) {
            const struct split_cost *cost = &stage[unit->op[i].stage];
            held += unit->op[i].kind == PPSCHED_KIND_F   ? cost->memory[PPSCHED_KIND_F]
                    : unit->op[i].kind == PPSCHED_KIND_I ? cost->back + cost->more
                    : unit->op[i].kind == PPSCHED_KIND_B ? cost->more
                                                         : 0;
            beside += unit->op[i].kind == PPSCHED_KIND_B ? cost->largest : 0;
        }
        most = held + beside > most ? held + beside : most;
        for (uint32_t i = 0; i < unit->ops; i++)
            held += unit->op[i].kind == PPSCHED_KIND_F ? 0 : stage[unit->op[i].stage].memory[unit->op[i].kind];
    }
    return most;
}

int brute_price_stages(double *makespan, double peak[SPLIT_DEVICES], const struct split_problem *problem,
                       const struct split_cost stage[SPLIT_STAGES])
{
    struct graph *graph = malloc(sizeof *graph);
    int works = graph != NULL && load_graph(graph, problem->schedule);
    if (works) {
        *makespan = makespan_of(graph, problem, stage);
        for (uint32_t d = 0; d < graph->devices; d++)
            peak[d] = peak_of(graph, d, problem->schedule, stage);
    }
    free(graph);
    return works;
}

/* --- the ways to choose kinds for some layers in a row --- */

struct path {
    struct split_cost cost;
    uint32_t chosen[SPLIT_ENTRIES][SPLIT_CHOICES];
};

/* Of the layers from one to another, without those that another way is no worse than in anything. */
struct paths {
    struct path *path;
    uint32_t count, room;
    struct split_cost floor; /* the least of each: no way is below it in anything */
};

static void add_cost(struct split_cost *sum, const struct split_cost *cost, double times)
{
    for (int kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++) {
        sum->time[kind] += times * cost->time[kind];
        sum->memory[kind] += times * cost->memory[kind];
    }
    sum->back += times * cost->back;
    sum->largest = times > 0 && cost->largest > sum->largest ? cost->largest : sum->largest;
    sum->more += times * cost->more;
    sum->fixed += times * cost->fixed;
}

/* What a stage pass holds from the start of F on; while I runs; from its end on; while B runs. All that peaks grow with. */
enum { FROM_F, IN_I, FROM_I, IN_B, STATES };

static double state_of(const struct split_cost *cost, int state)
{
    double forward = cost->memory[PPSCHED_KIND_F], whole = forward + cost->back + cost->more;
    return state == FROM_F   ? forward
           : state == IN_I   ? whole
           : state == FROM_I ? whole + cost->memory[PPSCHED_KIND_I]
                             : forward + cost->more + cost->largest;
}

/* Peaks and the longest path only grow with these, so that what is no less in all of them cannot be better. */
static int no_worse(const struct split_cost *a, const struct split_cost *b)
{
    for (int kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++)
        if (a->time[kind] > b->time[kind])
            return 0;
    for (int state = 0; state < STATES; state++)
        if (state_of(a, state) > state_of(b, state))
            return 0;
    return a->fixed <= b->fixed;
}

/* 0 where there are too many. */
static int make_room(struct paths *paths)
{
    if (paths->count < paths->room)
        return 1;
    uint32_t room = paths->room == 0 ? 16 : 2 * paths->room;
    struct path *more = room > SPLIT_MOST_PATHS ? NULL : realloc(paths->path, room * sizeof *more);
    if (more == NULL)
        return 0;
    paths->path = more;
    paths->room = room;
    return 1;
}

static int add_path(struct paths *paths, const struct path *path, int naive)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < paths->count && !naive; i++)
        if (no_worse(&paths->path[i].cost, &path->cost))
            return 1;
    if (!make_room(paths))
        return 0;
    for (uint32_t i = 0; i < paths->count; i++)
        if (naive || !no_worse(&path->cost, &paths->path[i].cost))
            paths->path[left++] = paths->path[i];
    paths->path[left++] = *path;
    paths->count = left;
    return 1;
}

/* All numbers of each choice for the layers of `entry` and those after it; `left` layers of this entry have none yet. */
static int choose(const struct split_problem *problem, const uint32_t *layers, uint32_t entry, uint32_t choice, uint32_t left,
                  struct path *path, struct paths *paths)
{
    if (entry == problem->entries)
        return add_path(paths, path, problem->naive);
    const struct split_entry *e = &problem->entry[entry];
    uint32_t least = choice + 1 == e->choices ? left : 0;
    for (uint32_t number = least; number <= left; number++) {
        struct path next = *path;
        int last = choice + 1 == e->choices;
        next.chosen[entry][choice] = number;
        add_cost(&next.cost, &e->cost[choice], number);
        if (!choose(problem, layers, entry + (uint32_t)last, last ? 0 : choice + 1,
                    last ? (entry + 1 < problem->entries ? layers[entry + 1] : 0) : left - number, &next, paths))
            return 0;
    }
    return 1;
}

static double sum_of_times(const struct split_cost *cost)
{
    return cost->time[PPSCHED_KIND_F] + cost->time[PPSCHED_KIND_B] + cost->time[PPSCHED_KIND_I] + cost->time[PPSCHED_KIND_W];
}

static int by_time(const void *a, const void *b)
{
    double x = sum_of_times(&((const struct path *)a)->cost), y = sum_of_times(&((const struct path *)b)->cost);
    return x < y ? -1 : x > y;
}

static void find_floor(struct paths *paths)
{
    struct split_cost *floor = &paths->floor;
    double least[STATES] = {HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL};
    *floor = paths->path[0].cost;
    for (uint32_t i = 0; i < paths->count; i++) {
        const struct split_cost *cost = &paths->path[i].cost;
        for (int kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++)
            floor->time[kind] = fmin(floor->time[kind], cost->time[kind]);
        for (int state = 0; state < STATES; state++)
            least[state] = fmin(least[state], state_of(cost, state));
        floor->fixed = fmin(floor->fixed, cost->fixed);
    }
    floor->memory[PPSCHED_KIND_F] = least[FROM_F];
    floor->memory[PPSCHED_KIND_B] = -least[FROM_F];
    floor->memory[PPSCHED_KIND_I] = least[FROM_I] - least[IN_I];
    floor->memory[PPSCHED_KIND_W] = -least[FROM_I];
    floor->back = least[IN_I] - least[FROM_F];
    floor->largest = least[IN_B] - least[FROM_F];
    floor->more = 0;
}

/* --- all splits --- */

struct search {
    const struct split_problem *problem;
    struct graph graph;
    uint32_t layers, cut[SPLIT_STAGES + 1]; /* stage s has layers cut[s] to cut[s+1] - 1 */
    uint32_t first, last;                   /* layers that must be in the first stage, and in the last one */
    struct paths paths[RANGES];
    const struct paths *of[SPLIT_STAGES];   /* of the split in hand */
    const struct path *taken[SPLIT_STAGES]; /* of the ways in hand */
    struct split_cost stage[SPLIT_STAGES];  /* their costs; of stages that have none yet the floor */
    struct split_answer *answer;
};

/* NULL where there are too many. */
static const struct paths *paths_of(struct search *search, uint32_t from, uint32_t to)
{
    struct paths *paths = &search->paths[from * (SPLIT_LAYERS + 1) + to];
    uint32_t layers[SPLIT_ENTRIES] = {0}, begin = 0;
    struct path none = {0};
    if (paths->path != NULL)
        return paths;
    for (uint32_t e = 0; e < search->problem->entries; e++) {
        uint32_t end = begin + search->problem->entry[e].count;
        uint32_t low = from > begin ? from : begin, high = to < end ? to : end;
        layers[e] = high > low ? high - low : 0;
        begin = end;
    }
    if (!choose(search->problem, layers, 0, 0, layers[0], &none, paths))
        return NULL;
    qsort(paths->path, paths->count, sizeof *paths->path, by_time);
    find_floor(paths);
    return paths;
}

static int fits(const struct search *search, uint32_t device)
{
    double peak = peak_of(&search->graph, device, search->problem->schedule, search->stage);
    return peak <= search->problem->limit[device] * (1 + 1e-9);
}

static double price(struct search *search)
{
    search->answer->priced++;
    return makespan_of(&search->graph, search->problem, search->stage);
}

static void keep(struct search *search, double makespan)
{
    struct split_answer *answer = search->answer;
    answer->makespan = makespan;
    for (uint32_t s = 0; s < search->graph.stages; s++) {
        memcpy(answer->chosen[s], search->taken[s]->chosen, sizeof answer->chosen[s]);
        answer->stage[s] = search->stage[s];
    }
    for (uint32_t d = 0; d < search->graph.devices; d++)
        answer->peak[d] = peak_of(&search->graph, d, search->problem->schedule, search->stage);
}

/* Stages from `s` on still have the floor of their ways. What does not fit so never will, and what is as long as the best one
 * so far gets no shorter. */
static void take_paths(struct search *search, uint32_t s)
{
    int naive = search->problem->naive, all = s == search->graph.stages;
    double makespan = HUGE_VAL;
    for (uint32_t d = 0; d < search->graph.devices; d++)
        if ((all || !naive) && !fits(search, d))
            return;
    if (all || !naive)
        makespan = price(search);
    if (makespan >= search->answer->makespan && (all || !naive))
        return;
    if (all) {
        keep(search, makespan);
        return;
    }
    for (uint32_t i = 0; i < search->of[s]->count; i++) {
        search->taken[s] = &search->of[s]->path[i];
        search->stage[s] = search->taken[s]->cost;
        take_paths(search, s + 1);
    }
    search->stage[s] = search->of[s]->floor;
}

static int try_split(struct search *search)
{
    for (uint32_t s = 0; s < search->graph.stages; s++) {
        search->of[s] = paths_of(search, search->cut[s], search->cut[s + 1]);
        if (search->of[s] == NULL)
            return 0;
        search->stage[s] = search->of[s]->floor;
    }
    search->answer->splits++;
    take_paths(search, 0);
    return 1;
}

static int try_cuts(struct search *search, uint32_t s)
{
    uint32_t stages = search->graph.stages, from = search->cut[s], least = search->problem->least[s];
    if (s + 1 == stages) {
        search->cut[stages] = search->layers;
        return search->layers - from < least || try_split(search);
    }
    for (uint32_t to = from + least; to + search->last <= search->layers; to++) {
        search->cut[s + 1] = to;
        if ((s > 0 || to >= search->first) && !try_cuts(search, s + 1))
            return 0;
    }
    return 1;
}

/* Counts the layers; 0 where they are too many, or where a place contradicts the order. */
static int count_layers(struct search *search)
{
    const struct split_problem *problem = search->problem;
    if (problem->entries < 1 || problem->entries > SPLIT_ENTRIES)
        return 0;
    for (uint32_t e = 0; e < problem->entries; e++) {
        const struct split_entry *entry = &problem->entry[e];
        if (entry->choices < 1 || entry->choices > SPLIT_CHOICES || entry->count > SPLIT_LAYERS - search->layers)
            return 0;
        if (entry->place == SPLIT_FIRST && search->layers != search->first)
            return 0;
        if (entry->place != SPLIT_LAST && search->last > 0)
            return 0;
        search->layers += entry->count;
        search->first += entry->place == SPLIT_FIRST ? entry->count : 0;
        search->last += entry->place == SPLIT_LAST ? entry->count : 0;
    }
    return 1;
}

int brute_best_split(struct split_answer *out, const struct split_problem *problem)
{
    struct search *search = calloc(1, sizeof *search);
    memset(out, 0, sizeof *out);
    out->makespan = HUGE_VAL;
    if (search == NULL)
        return 0;
    search->problem = problem;
    search->answer = out;
    int works = count_layers(search) && load_graph(&search->graph, problem->schedule) && try_cuts(search, 0);
    for (int i = 0; i < RANGES; i++)
        free(search->paths[i].path);
    free(search);
    return works;
}
