/* SPDX-License-Identifier: Apache-2.0 */
/* How slower and faster stages move the objective: the derivative of the evaluation.
 *
 * A start is the maximum of what the unit waits for. If ops take a little longer, it moves by the largest move of those that
 * tie for the maximum; if they take a little less, by the smallest. All else is sums. So the result is how many ops of a stage
 * are on a longest path, at most and at least. This is counted step by step, for LANES stages at once, and only where they have
 * ops:
 *
 * - A cut is a step on all paths that continue past it. Counts before and after it add up. Between two cuts is a stretch.
 * - Within a stretch nothing is counted before the first op of these stages. After their last op a count stays as at the
 *   last step on its path up to there. */
#include "base/checked.h"
#include "base/error.h"
#include "eval/explain.h"
#include "eval/longest_paths.h"

enum { LANES = 16, BLOCK = 1 << 16 /* steps between two progress callbacks */ };

/* Number of ops of LANES stages on a path to a step, itself included: at most and at least. PPSCHED_MAX_CELLS keeps them below
 * 2^32. */
struct row {
    uint32_t more[LANES], less[LANES];
};

static const struct row ZERO;

/* A step's position among the others. */
struct site {
    uint32_t reach;   /* the last step that waits for one before this one */
    uint32_t stretch; /* number of cuts before it */
    uint32_t row;     /* index of its counts, reused once no step needs them */
    uint32_t mark;    /* index among the marks; PPI_NO_STEP: not a mark */
};

struct counting {
    struct ppi_longest_paths paths;
    struct site *sites; /* one per step */
    struct row *rows;
    uint32_t row_count;
    uint32_t *marks; /* the first and last steps of goals, in order */
    uint32_t mark_count;
    struct row *at_mark; /* the counts at each */
    uint32_t batches;    /* of LANES stages */
    uint32_t *uses;      /* steps of the ops of a batch's stages, in order, batch by batch */
    size_t *uses_end;    /* by batch: the end of its uses, where the next one's begin */
    const struct ppi_listener *listener;
    double told; /* share of the work last reported; never decreases */
};

/* --- uses of a batch's stages --- */

static void sort_uses(struct counting *counting)
{
    const struct ppi_longest_paths *paths = &counting->paths;
    size_t begin = 0;
    for (uint32_t i = 0; i < paths->step_count; i++)
        for (size_t op = 0; op < 2; op++)
            if (paths->steps[i].longer[op] != PPSCHED_NONE)
                counting->uses_end[paths->steps[i].longer[op] / LANES]++;
    for (uint32_t b = 0; b < counting->batches; b++) {
        size_t count = counting->uses_end[b];
        counting->uses_end[b] = begin;
        begin += count;
    }
    for (uint32_t i = 0; i < paths->step_count; i++)
        for (size_t op = 0; op < 2; op++)
            if (paths->steps[i].longer[op] != PPSCHED_NONE)
                counting->uses[counting->uses_end[paths->steps[i].longer[op] / LANES]++] = i;
}

/* --- cuts, marks and rows --- */

static bool is_cut(const struct counting *counting, uint32_t step)
{
    return counting->sites[step].reach <= step;
}

static void find_sites(struct counting *counting)
{
    const struct ppi_longest_paths *paths = &counting->paths;
    struct site site = {.mark = PPI_NO_STEP};
    for (uint32_t i = 0; i < paths->step_count; i++) {
        counting->sites[i] = site;
        site.stretch += is_cut(counting, i);
        if (paths->steps[i].last_use > site.reach)
            site.reach = paths->steps[i].last_use;
    }
}

static void find_marks(struct counting *counting)
{
    const struct ppi_longest_paths *paths = &counting->paths;
    for (size_t i = 0; i < paths->goal_count; i++) {
        counting->sites[paths->goals[i].last].mark = 0;
        if (paths->goals[i].first != PPI_NO_STEP)
            counting->sites[paths->goals[i].first].mark = 0;
    }
    for (uint32_t i = 0; i < paths->step_count; i++)
        if (counting->sites[i].mark == 0) {
            counting->sites[i].mark = counting->mark_count;
            counting->marks[counting->mark_count++] = i;
        }
}

/* Gives each step a row: that of a step which only this one still waits for, which then becomes its first edge; else a free
 * one, or a new one. Rows of marks are kept. `unused`: capacity for all rows. */
static void share_rows(struct counting *counting, uint32_t *unused)
{
    struct ppi_longest_paths *paths = &counting->paths;
    size_t unused_count = 0;
    for (uint32_t i = 0; i < paths->step_count; i++) {
        size_t begin = ppi_edges_begin(paths, i);
        uint32_t row = PPI_NO_STEP;
        for (size_t k = begin; k < paths->steps[i].edges_end; k++) {
            uint32_t before = paths->edges[k];
            if (paths->steps[before].last_use != i || counting->sites[before].mark != PPI_NO_STEP)
                continue;
            if (row != PPI_NO_STEP) {
                unused[unused_count++] = counting->sites[before].row;
                continue;
            }
            row = counting->sites[before].row;
            paths->edges[k] = paths->edges[begin];
            paths->edges[begin] = before;
        }
        if (row == PPI_NO_STEP)
            row = unused_count > 0 ? unused[--unused_count] : counting->row_count++;
        counting->sites[i].row = row;
    }
}

/* --- counting --- */

static void add(struct row *sum, const struct row *row)
{
    for (size_t i = 0; i < LANES; i++) {
        sum->more[i] += row->more[i];
        sum->less[i] += row->less[i];
    }
}

/* Combines the counts of another path to a step. */
static void widen(struct row *row, const struct row *other)
{
    for (size_t i = 0; i < LANES; i++) {
        row->more[i] = other->more[i] > row->more[i] ? other->more[i] : row->more[i];
        row->less[i] = other->less[i] < row->less[i] ? other->less[i] : row->less[i];
    }
}

/* Adds the step's own ops. */
static void add_ops(struct row *row, const struct ppi_path_step *step, uint32_t first_stage)
{
    for (size_t op = 0; op < 2; op++) {
        if (step->longer[op] - first_stage < LANES)
            row->more[step->longer[op] - first_stage]++;
        if (step->shorter[op] - first_stage < LANES)
            row->less[step->shorter[op] - first_stage]++;
    }
}

/* Counts the steps from `begin` to `to`. Counts before step `from` are 0. */
static void walk_block(struct counting *counting, uint32_t from, uint32_t begin, uint32_t to, uint32_t first_stage)
{
    const struct ppi_longest_paths *paths = &counting->paths;
    size_t edge = ppi_edges_begin(paths, begin);
    for (uint32_t i = begin; i <= to; i++) {
        struct row *row = &counting->rows[counting->sites[i].row];
        const uint32_t first = paths->edges[edge++];
        const struct row *before = first < from ? &ZERO : &counting->rows[counting->sites[first].row];
        if (before != row)
            *row = *before;
        for (; edge < paths->steps[i].edges_end; edge++)
            widen(row, paths->edges[edge] < from ? &ZERO : &counting->rows[counting->sites[paths->edges[edge]].row]);
        add_ops(row, &paths->steps[i], first_stage);
    }
}

/* Calls the progress callback at a step of a batch; CANCELLED if the caller cancels. */
static ppsched_status ask(struct counting *counting, uint32_t batch, uint32_t step, ppsched_error *error)
{
    double share = (batch + (double)step / counting->paths.step_count) / counting->batches;
    counting->told = ppi_larger(counting->told, share);
    const ppsched_progress progress = {.size = sizeof progress, .share = counting->told, .best = PPI_INFINITE};
    if (counting->listener->tell == NULL || counting->listener->tell(counting->listener->user, &progress) == 0)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_CANCELLED, "the sensitivities were cancelled");
}

/* Counts from step `from` to `to`. */
static ppsched_status walk(struct counting *counting, uint32_t from, uint32_t to, uint32_t batch, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t begin = from; begin <= to && status == PPSCHED_OK; begin += BLOCK) {
        uint32_t end = to - begin < BLOCK ? to : begin + BLOCK - 1;
        walk_block(counting, from, begin, end, batch * LANES);
        if (end - from >= BLOCK - 1)
            status = ask(counting, batch, end, error);
    }
    return status;
}

/* The counts since step `from` on the paths that continue past step `to`. */
static struct row past(const struct counting *counting, uint32_t from, uint32_t to)
{
    struct row result = ZERO;
    bool has_path = counting->sites[from].reach > to;
    for (uint32_t i = from; i <= to; i++) {
        if (counting->paths.steps[i].last_use <= to)
            continue;
        const struct row *row = &counting->rows[counting->sites[i].row];
        if (has_path)
            widen(&result, row);
        else
            result = *row;
        has_path = true;
    }
    return result;
}

/* The last mark after step `to` in its stretch, unless that is the stretch's own end; else `to`. */
static uint32_t extend(const struct counting *counting, uint32_t to, uint32_t next_mark)
{
    uint32_t stretch = counting->sites[to].stretch;
    for (uint32_t e = next_mark; e < counting->mark_count; e++) {
        uint32_t step = counting->marks[e];
        if (counting->sites[step].stretch > stretch || is_cut(counting, step))
            break;
        if (step > to)
            to = step;
    }
    return to;
}

/* Counts the ops of a batch's stages up to each mark, in the stretches that have some. */
static ppsched_status count_batch(struct counting *counting, uint32_t batch, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    size_t use = batch > 0 ? counting->uses_end[batch - 1] : 0;
    uint32_t mark = 0;
    struct row sum = ZERO;
    while (use < counting->uses_end[batch] && status == PPSCHED_OK) {
        uint32_t from = counting->uses[use], to = from;
        for (; use < counting->uses_end[batch]; use++) {
            if (counting->sites[counting->uses[use]].stretch != counting->sites[from].stretch)
                break;
            to = counting->uses[use];
        }
        for (; mark < counting->mark_count && counting->marks[mark] < from; mark++)
            counting->at_mark[mark] = sum;
        to = extend(counting, to, mark);
        status = walk(counting, from, to, batch, error);
        for (; mark < counting->mark_count && counting->marks[mark] <= to; mark++) {
            counting->at_mark[mark] = sum;
            add(&counting->at_mark[mark], &counting->rows[counting->sites[counting->marks[mark]].row]);
        }
        const struct row counted = past(counting, from, to);
        add(&sum, &counted);
    }
    for (; mark < counting->mark_count; mark++)
        counting->at_mark[mark] = sum;
    return status;
}

/* --- the objective --- */

/* The counts on the paths to the start of a goal's first unit. */
static struct row at_start(const struct counting *counting, const struct ppi_path_end *goal, uint32_t batch)
{
    struct row own = ZERO, start = ZERO;
    if (goal->first == PPI_NO_STEP)
        return start;
    add_ops(&own, &counting->paths.steps[goal->first], batch * LANES);
    start = counting->at_mark[counting->sites[goal->first].mark];
    for (size_t i = 0; i < LANES; i++) {
        start.more[i] -= own.more[i];
        start.less[i] -= own.less[i];
    }
    return start;
}

/* The objective moves with the goals, which tie for it. */
static void answer(const struct counting *counting, uint32_t batch, ppsched_sensitivity *out, uint32_t stages)
{
    const uint32_t first_stage = batch * LANES;
    for (uint32_t s = first_stage; s < stages && s - first_stage < LANES; s++)
        out[s] = (ppsched_sensitivity){-PPI_INFINITE, PPI_INFINITE};
    for (size_t g = 0; g < counting->paths.goal_count; g++) {
        const struct ppi_path_end *goal = &counting->paths.goals[g];
        const struct row *last = &counting->at_mark[counting->sites[goal->last].mark], start = at_start(counting, goal, batch);
        for (uint32_t s = first_stage, i = 0; s < stages && i < LANES; s++, i++) {
            out[s].more = ppi_larger(out[s].more, (double)last->more[i] - (double)start.more[i]);
            out[s].less = ppi_smaller(out[s].less, (double)last->less[i] - (double)start.less[i]);
        }
    }
}

/* --- all of it --- */

static ppsched_status lay_out(struct counting *counting, size_t ops, ppsched_error *error)
{
    const struct ppi_host *host = counting->paths.host;
    size_t steps = counting->paths.step_count;
    counting->sites = ppi_allocate(host, steps, sizeof *counting->sites);
    counting->marks = ppi_allocate(host, 2 * counting->paths.goal_count, sizeof *counting->marks);
    counting->uses = ppi_allocate(host, ops, sizeof *counting->uses);
    counting->uses_end = ppi_allocate_zeroed(host, counting->batches, sizeof *counting->uses_end);
    uint32_t *unused = ppi_allocate(host, steps, sizeof *unused);
    if (counting->sites != NULL && counting->marks != NULL && unused != NULL) {
        find_sites(counting);
        find_marks(counting);
        share_rows(counting, unused);
        counting->rows = ppi_allocate(host, counting->row_count, sizeof *counting->rows);
        counting->at_mark = ppi_allocate(host, counting->mark_count, sizeof *counting->at_mark);
    }
    ppi_release(host, unused);
    if (counting->uses == NULL || counting->uses_end == NULL || counting->rows == NULL || counting->at_mark == NULL)
        return ppi_fail_memory(error, "the sensitivities");
    sort_uses(counting);
    return PPSCHED_OK;
}

ppsched_status ppi_sensitivities(ppsched_sensitivity *out, const ppsched_timeline *timeline, int32_t objective, int32_t kind,
                                 const struct ppi_listener *listener, ppsched_error *error)
{
    const ppsched_schedule *schedule = timeline->schedule;
    const struct ppi_host *host = &timeline->host;
    struct counting counting = {.batches = (schedule->shape.stages + LANES - 1) / LANES, .listener = listener};
    ppsched_status status = ppi_longest_paths_gather(&counting.paths, timeline, objective, kind, error);
    if (status != PPSCHED_OK)
        return status;
    status = lay_out(&counting, (size_t)schedule->op_count, error);
    for (uint32_t b = 0; b < counting.batches && status == PPSCHED_OK; b++) {
        status = count_batch(&counting, b, error);
        if (status == PPSCHED_OK)
            answer(&counting, b, out, schedule->shape.stages);
        if (status == PPSCHED_OK)
            status = ask(&counting, b, counting.paths.step_count, error);
    }
    ppi_release(host, counting.sites);
    ppi_release(host, counting.rows);
    ppi_release(host, counting.marks);
    ppi_release(host, counting.at_mark);
    ppi_release(host, counting.uses);
    ppi_release(host, counting.uses_end);
    ppi_longest_paths_clear(&counting.paths);
    return status;
}
