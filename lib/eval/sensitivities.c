/* SPDX-License-Identifier: Apache-2.0 */
/* What slower and faster stages do: the evaluation, differentiated.
 *
 * A start is the maximum of what the unit waited for. Where ops take a little longer, it moves by the most of those that tie
 * for the maximum; where they take a little less, by the least of these. All else is sums. So only the ways matter that tie for
 * the objective, mostly few: they are gathered once, in an order in which a unit comes behind what it waited for, and then
 * walked along once for each stage. */
#include "base/checked.h"
#include "base/error.h"
#include "eval/explain.h"
#include "eval/waits.h"

static const double TIE = 1e-12; /* times that differ by less than this share of the makespan are equal */

#define NOT_GATHERED SIZE_MAX

/* A unit or a flush on some longest way. Its edges, to steps before it, end at `edges_end` and begin where those of the step
 * before end. */
struct step {
    size_t edges_end;
    uint32_t longer[2], shorter[2]; /* stages with which it takes longer, and less; PPSCHED_NONE: none */
};

/* What is still to be gathered: the waits of `node` from `next` on. */
struct open {
    size_t node, next;
};

/* A device that ties for the objective: its last end, less its first start where that counts, are those of these steps. */
struct tied {
    size_t last, first; /* first: NOT_GATHERED where it does not count */
};

struct ways {
    struct ppi_waits waits;
    double tolerance;
    int32_t kind;
    struct step *steps;
    size_t step_count;
    size_t *edges;
    size_t *step_of;   /* of a node */
    struct open *open; /* stack */
    struct tied *tied;
    size_t tied_count;
    ppsched_sensitivity *moved; /* by how much the end of each step moves */
};

/* --- gathering --- */

/* The next tied wait of a node from `*next` on; `*next` goes behind it. PPI_NO_NODE where there is none. Time 0 is left out:
 * what ties with it took no time, and so does not move when ops take less. */
static size_t next_tied(const struct ways *ways, size_t node, size_t *next)
{
    double start = ppi_start_of(&ways->waits, node);
    while (*next < ppi_wait_count(&ways->waits, node)) {
        struct ppi_wait wait = ppi_wait_at(&ways->waits, node, (*next)++);
        if (wait.node != PPI_NO_NODE && wait.ready >= start - ways->tolerance)
            return wait.node;
    }
    return PPI_NO_NODE;
}

/* Which stages a unit's duration belongs to. */
static void find_stages(const struct ways *ways, size_t unit, struct step *step)
{
    const ppsched_timeline *timeline = ways->waits.timeline;
    const ppsched_op *ops = &timeline->schedule->ops[unit];
    if (ppi_unit_length(ops) == 2 && timeline->pairs_are_timed)
        return;
    for (size_t i = 0; i < ppi_unit_length(ops); i++) {
        if (ways->kind != 0 && ops[i].kind != ways->kind)
            continue;
        step->longer[i] = ops[i].stage;
        if (ppi_lane_of(&timeline->costs, timeline->schedule, &ops[i])->duration[ops[i].kind] > 0)
            step->shorter[i] = ops[i].stage;
    }
}

/* Makes a node a step; all that it waited for are steps already. */
static void make_step(struct ways *ways, size_t node)
{
    struct step *step = &ways->steps[ways->step_count];
    size_t edge = ways->step_count > 0 ? step[-1].edges_end : 0, next = 0, before;
    while ((before = next_tied(ways, node, &next)) != PPI_NO_NODE)
        ways->edges[edge++] = ways->step_of[before];
    *step = (struct step){edge, {PPSCHED_NONE, PPSCHED_NONE}, {PPSCHED_NONE, PPSCHED_NONE}};
    if (!ppi_is_flush(&ways->waits, node))
        find_stages(ways, node, step);
    ways->step_of[node] = ways->step_count++;
}

/* Gathers all ways that lead to a unit; returns its step. */
static size_t gather(struct ways *ways, size_t unit)
{
    size_t depth = 0;
    if (ways->step_of[unit] == NOT_GATHERED)
        ways->open[depth++] = (struct open){unit, 0};
    while (depth > 0) {
        struct open *top = &ways->open[depth - 1];
        size_t before = next_tied(ways, top->node, &top->next);
        if (before == PPI_NO_NODE) {
            make_step(ways, top->node);
            depth--;
        } else if (ways->step_of[before] == NOT_GATHERED) {
            ways->open[depth++] = (struct open){before, 0};
        }
    }
    return ways->step_of[unit];
}

static void gather_objective(struct ways *ways, int32_t objective)
{
    const ppsched_timeline *timeline = ways->waits.timeline;
    bool is_span = objective == PPSCHED_OBJECTIVE_SPAN;
    double longest = is_span ? timeline->metrics.span : timeline->metrics.makespan;
    for (size_t w = 0; w < ways->waits.worker_count; w++) {
        const struct ppi_worker *worker = &ways->waits.workers[w];
        const ppsched_device_metrics *device = &timeline->devices[worker->device];
        if (device->last_end - (is_span ? device->first_start : 0) < longest - ways->tolerance)
            continue;
        struct tied *tied = &ways->tied[ways->tied_count++];
        tied->last = gather(ways, worker->last);
        tied->first = is_span ? gather(ways, worker->first) : NOT_GATHERED;
    }
}

/* --- one stage --- */

static double count_of(const uint32_t stages[2], uint32_t stage)
{
    return (stages[0] == stage) + (stages[1] == stage);
}

/* By how much a step's own duration changes. */
static ppsched_sensitivity own_change(const struct step *step, uint32_t stage)
{
    return (ppsched_sensitivity){count_of(step->longer, stage), count_of(step->shorter, stage)};
}

static void walk(struct ways *ways, uint32_t stage)
{
    size_t edge = 0;
    for (size_t i = 0; i < ways->step_count; i++) {
        const struct step *step = &ways->steps[i];
        ppsched_sensitivity change = own_change(step, stage), start = {0, 0};
        if (edge < step->edges_end)
            start = ways->moved[ways->edges[edge++]];
        for (; edge < step->edges_end; edge++) {
            start.more = ppi_larger(start.more, ways->moved[ways->edges[edge]].more);
            start.less = ppi_smaller(start.less, ways->moved[ways->edges[edge]].less);
        }
        ways->moved[i] = (ppsched_sensitivity){start.more + change.more, start.less + change.less};
    }
}

/* The objective moves with the devices that tie for it. */
static ppsched_sensitivity sensitivity_to(struct ways *ways, uint32_t stage)
{
    ppsched_sensitivity result = {-PPI_INFINITE, PPI_INFINITE};
    walk(ways, stage);
    for (size_t i = 0; i < ways->tied_count; i++) {
        const struct tied *tied = &ways->tied[i];
        ppsched_sensitivity moved = ways->moved[tied->last];
        if (tied->first != NOT_GATHERED) {
            ppsched_sensitivity change = own_change(&ways->steps[tied->first], stage);
            moved.more -= ways->moved[tied->first].more - change.more;
            moved.less -= ways->moved[tied->first].less - change.less;
        }
        result.more = ppi_larger(result.more, moved.more);
        result.less = ppi_smaller(result.less, moved.less);
    }
    return result;
}

/* --- all stages --- */

/* Most edges: each unit's turn, each op's input, and what each flush waits for. */
static bool count_edges(const struct ppi_waits *waits, size_t ops, size_t *edges)
{
    size_t of_ops, of_flushes;
    return ppi_mul_size(&of_ops, ops, 2) && ppi_mul_size(&of_flushes, waits->worker_count, waits->timeline->flush_count) &&
           ppi_add_size(edges, of_ops, of_flushes);
}

static ppsched_status make_room(struct ways *ways, ppsched_error *error)
{
    const struct ppi_host *host = &ways->waits.timeline->host;
    size_t ops = (size_t)ways->waits.timeline->schedule->op_count, nodes, edges;
    if (!ppi_add_size(&nodes, ops, ways->waits.timeline->flush_count) || !count_edges(&ways->waits, ops, &edges))
        return ppi_fail_memory(error, "the sensitivities");
    ways->steps = ppi_allocate(host, nodes, sizeof *ways->steps);
    ways->edges = ppi_allocate(host, edges, sizeof *ways->edges);
    ways->step_of = ppi_allocate(host, nodes, sizeof *ways->step_of);
    ways->open = ppi_allocate(host, nodes, sizeof *ways->open);
    ways->tied = ppi_allocate(host, ways->waits.worker_count, sizeof *ways->tied);
    ways->moved = ppi_allocate(host, nodes, sizeof *ways->moved);
    if (ways->steps == NULL || ways->edges == NULL || ways->step_of == NULL || ways->open == NULL || ways->tied == NULL ||
        ways->moved == NULL)
        return ppi_fail_memory(error, "the sensitivities");
    for (size_t i = 0; i < nodes; i++)
        ways->step_of[i] = NOT_GATHERED;
    return PPSCHED_OK;
}

static void clear(struct ways *ways)
{
    const struct ppi_host *host = &ways->waits.timeline->host;
    ppi_release(host, ways->steps);
    ppi_release(host, ways->edges);
    ppi_release(host, ways->step_of);
    ppi_release(host, ways->open);
    ppi_release(host, ways->tied);
    ppi_release(host, ways->moved);
    ppi_waits_clear(&ways->waits);
}

/* All that no longest way goes through have no influence: only the others are walked for. */
static void fill(struct ways *ways, ppsched_sensitivity *out)
{
    uint32_t stages = ways->waits.timeline->schedule->shape.stages;
    for (uint32_t s = 0; s < stages; s++)
        out[s] = (ppsched_sensitivity){0, 0};
    for (size_t i = 0; i < ways->step_count; i++)
        for (size_t k = 0; k < 2; k++)
            if (ways->steps[i].longer[k] != PPSCHED_NONE)
                out[ways->steps[i].longer[k]].more = 1;
    for (uint32_t s = 0; s < stages; s++)
        if (out[s].more != 0)
            out[s] = sensitivity_to(ways, s);
}

ppsched_status ppi_sensitivities(ppsched_sensitivity *out, const ppsched_timeline *timeline, int32_t objective, int32_t kind,
                                 ppsched_error *error)
{
    struct ways ways = {.tolerance = TIE * timeline->metrics.makespan, .kind = kind};
    ppsched_status status = ppi_waits_make(&ways.waits, timeline, error);
    if (status != PPSCHED_OK)
        return status;
    status = make_room(&ways, error);
    if (status == PPSCHED_OK) {
        gather_objective(&ways, objective);
        fill(&ways, out);
    }
    clear(&ways);
    return status;
}
