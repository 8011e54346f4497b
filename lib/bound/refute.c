/* SPDX-License-Identifier: Apache-2.0 */
/* Branch and bound over the orders of pairs of ops of a device, with a deadline below the known value.
 *
 * Microbatches are alike, so the ops of a stage and a kind run in the order of microbatches: they are a row. For an op and
 * another row of its device it is then enough to know how many ops of the row come before it, at least and at most. From these
 * numbers, the earliest starts and the latest ends follow each other: along chains, over all that comes before an op, over sets
 * of ops that must end by a time (edge finding, after Carlier and Pinson), and by memory. Where all that is settled within the
 * deadline, a better schedule exists; where nothing can be, there is none. */
#include "bound/refute.h"

#include <string.h>

#include "base/arena.h"
#include "base/checked.h"
#include "base/error.h"

enum {
    MOST_OPS = 512,
    MOST_DEPTH = 400,
    MOST_ROWS = 24, /* of a device */
};

/* Times are compared with this share of the value as tolerance; the deadline is four times as far below the value. */
static const double TOLERANCE = 1e-12;

/* The ops of a stage and a kind. */
struct row {
    uint32_t device, place, before; /* place: among the rows of the device; before: the row it waits for, or PPSCHED_NONE */
    double length, delay;           /* delay: after the row before */
    double memory;                  /* change at an op */
};

struct machine {
    uint32_t row[MOST_ROWS], rows, ops; /* the first row has the device's first op */
    double most;                        /* memory */
    double span;                        /* the most from the start of the first op to the end of the last; infinite: no limit */
    uint32_t *order;
};

/* A node of the search: windows of time, and how many ops of each row of the device come before an op. */
struct node {
    double *earliest, *latest; /* start, end; by op */
    uint16_t *least, *most;    /* by op and row of its device */
};

struct refutation {
    const struct ppi_problem *problem;
    uint32_t microbatches, rows, ops, width; /* width: the most rows of a device */
    struct row *row;
    struct machine *machine;
    struct node now;
    struct node saved; /* by depth, one after another */
    bool has_changed, is_dead;
    double tolerance, visits;
    double *failures;                      /* by two rows, the lower first */
    double start[MOST_OPS], end[MOST_OPS]; /* of a device's ops in order: work space */
};

static uint32_t op_at(const struct refutation *r, uint32_t row, uint32_t m)
{
    return row * r->microbatches + m;
}

/* --- what is known --- */

static void start_at_least(struct refutation *r, uint32_t op, double time)
{
    if (!(time > r->now.earliest[op] + r->tolerance))
        return;
    r->now.earliest[op] = time;
    r->has_changed = true;
    r->is_dead |= time + r->row[op / r->microbatches].length > r->now.latest[op] + r->tolerance;
}

static void end_at_most(struct refutation *r, uint32_t op, double time)
{
    if (!(time < r->now.latest[op] - r->tolerance))
        return;
    r->now.latest[op] = time;
    r->has_changed = true;
    r->is_dead |= r->now.earliest[op] + r->row[op / r->microbatches].length > time + r->tolerance;
}

static uint16_t *least_before(struct refutation *r, uint32_t op, uint32_t row)
{
    return &r->now.least[(size_t)op * r->width + r->row[row].place];
}

static uint16_t *most_before(struct refutation *r, uint32_t op, uint32_t row)
{
    return &r->now.most[(size_t)op * r->width + r->row[row].place];
}

/* Op m of `row` comes before op n of `other`, and so do all that come earlier in `row` before all that come later in `other`. */
static void put_before(struct refutation *r, uint32_t row, uint32_t m, uint32_t other, uint32_t n)
{
    for (uint32_t k = n; k < r->microbatches && *least_before(r, op_at(r, other, k), row) <= m; k++) {
        *least_before(r, op_at(r, other, k), row) = (uint16_t)(m + 1);
        r->is_dead |= m + 1 > *most_before(r, op_at(r, other, k), row);
        r->has_changed = true;
    }
    for (uint32_t k = m + 1; k-- > 0 && *most_before(r, op_at(r, row, k), other) > n;) {
        *most_before(r, op_at(r, row, k), other) = (uint16_t)n;
        r->is_dead |= *least_before(r, op_at(r, row, k), other) > n;
        r->has_changed = true;
    }
}

/* At least so many ops of `other` come before op m of `row`. */
static void need_before(struct refutation *r, uint32_t row, uint32_t m, uint32_t other, uint32_t count)
{
    if (count > *least_before(r, op_at(r, row, m), other))
        put_before(r, other, count - 1, row, m);
}

/* At most so many. */
static void allow_before(struct refutation *r, uint32_t row, uint32_t m, uint32_t other, uint32_t count)
{
    if (count < *most_before(r, op_at(r, row, m), other))
        put_before(r, row, m, other, count);
}

/* --- chains --- */

static void follow_chains(struct refutation *r)
{
    for (uint32_t i = 0; i < r->rows && !r->is_dead; i++) {
        const struct row *row = &r->row[i];
        for (uint32_t m = 0; m < r->microbatches; m++) {
            const uint32_t op = op_at(r, i, m);
            if (m > 0)
                start_at_least(r, op, r->now.earliest[op - 1] + row->length);
            if (row->before != PPSCHED_NONE)
                start_at_least(r, op, r->now.earliest[op_at(r, row->before, m)] + r->row[row->before].length + row->delay);
        }
    }
    for (uint32_t i = r->rows; i-- > 0 && !r->is_dead;) {
        const struct row *row = &r->row[i];
        for (uint32_t m = r->microbatches; m-- > 0;) {
            const uint32_t op = op_at(r, i, m);
            if (m + 1 < r->microbatches)
                end_at_most(r, op, r->now.latest[op + 1] - row->length);
            if (row->before != PPSCHED_NONE)
                end_at_most(r, op_at(r, row->before, m), r->now.latest[op] - row->length - row->delay);
        }
    }
}

/* --- a device --- */

static double length_of(const struct refutation *r, uint32_t op)
{
    return r->row[op / r->microbatches].length;
}

/* Settles what the windows of time leave no choice about. */
static void compare_windows(struct refutation *r, uint32_t row, uint32_t other)
{
    const double *earliest = r->now.earliest, *latest = r->now.latest;
    const double both = r->row[row].length + r->row[other].length;
    for (uint32_t m = 0; m < r->microbatches && !r->is_dead; m++) {
        const uint32_t op = op_at(r, row, m);
        const uint16_t *least = least_before(r, op, other), *most = most_before(r, op, other);
        while (!r->is_dead && *least < *most && earliest[op] + both > latest[op_at(r, other, *least)] + r->tolerance)
            need_before(r, row, m, other, *least + 1u);
        while (!r->is_dead && *least < *most && earliest[op_at(r, other, *most - 1u)] + both > latest[op] + r->tolerance)
            allow_before(r, row, m, other, *most - 1u);
    }
}

/* What comes before an op that comes before another comes before that, too. */
static void follow_orders(struct refutation *r, const struct machine *machine, uint32_t row, uint32_t m)
{
    const uint32_t op = op_at(r, row, m);
    for (uint32_t k = 0; k < machine->rows; k++) {
        const uint32_t other = machine->row[k];
        const uint32_t before = *least_before(r, op, other), after = *most_before(r, op, other);
        for (uint32_t c = 0; c < machine->rows && other != row && !r->is_dead; c++) {
            const uint32_t third = machine->row[c];
            if (third == other)
                continue;
            const uint32_t least = before > 0 ? *least_before(r, op_at(r, other, before - 1), third) : 0;
            const uint32_t most = after < r->microbatches ? *most_before(r, op_at(r, other, after), third) : r->microbatches;
            if (third == row) {
                r->is_dead |= least > m || most <= m;
                continue;
            }
            need_before(r, row, m, third, least);
            allow_before(r, row, m, third, most);
        }
    }
}

/* Memory after an op that holds more is within the limit: what gives back must come before, what takes must not. */
static void keep_limit(struct refutation *r, const struct machine *machine, uint32_t row, uint32_t m)
{
    const uint32_t op = op_at(r, row, m);
    double level = r->row[row].memory * (m + 1);
    if (!(r->row[row].memory > 0) || machine->most == PPI_INFINITE)
        return;
    for (uint32_t k = 0; k < machine->rows; k++) {
        const uint32_t other = machine->row[k];
        const double memory = r->row[other].memory;
        if (other != row)
            level += memory * (memory > 0 ? *least_before(r, op, other) : *most_before(r, op, other));
    }
    const double left = machine->most - level;
    r->is_dead |= left < 0;
    for (uint32_t k = 0; k < machine->rows && !r->is_dead; k++) {
        const uint32_t other = machine->row[k];
        const double memory = r->row[other].memory, steps = memory != 0 ? left / (memory < 0 ? -memory : memory) + 1e-9 : 0;
        if (other == row || memory == 0 || steps >= r->microbatches)
            continue;
        const uint32_t whole = (uint32_t)steps, least = *least_before(r, op, other), most = *most_before(r, op, other);
        if (memory < 0 && most > whole)
            need_before(r, row, m, other, most - whole);
        if (memory > 0)
            allow_before(r, row, m, other, least + whole);
    }
}

static bool is_before(struct refutation *r, uint32_t first, uint32_t op)
{
    const uint32_t row = first / r->microbatches, m = first % r->microbatches;
    return row == op / r->microbatches ? first < op : m < *least_before(r, op, row);
}

static bool is_after(struct refutation *r, uint32_t later, uint32_t op)
{
    const uint32_t row = later / r->microbatches, m = later % r->microbatches;
    return row == op / r->microbatches ? later > op : m >= *most_before(r, op, row);
}

static void sort_by(const struct machine *machine, const double *key, double sign)
{
    for (uint32_t i = 1; i < machine->ops; i++) {
        const uint32_t op = machine->order[i];
        uint32_t at = i;
        for (; at > 0 && sign * key[machine->order[at - 1]] > sign * key[op]; at--)
            machine->order[at] = machine->order[at - 1];
        machine->order[at] = op;
    }
}

/* Applies new earliest starts, or with `mirror` -1 the new latest ends, mirrored, in the machine's order. */
static void apply(struct refutation *r, const struct machine *machine, int mirror)
{
    for (uint32_t i = 0; i < machine->ops && !r->is_dead; i++)
        if (mirror > 0)
            start_at_least(r, machine->order[i], r->start[i]);
        else
            end_at_most(r, machine->order[i], -r->start[i]);
}

/* All that comes before an op takes its time, from when it can start. `mirror`: -1 for what comes after it, backwards in time. */
static void sum_orders(struct refutation *r, const struct machine *machine, int mirror)
{
    const double *from = mirror > 0 ? r->now.earliest : r->now.latest;
    const uint32_t *order = machine->order;
    sort_by(machine, from, -mirror); /* the latest start first */
    for (uint32_t i = 0; i < machine->ops; i++) {
        double work = 0;
        r->start[i] = -PPI_INFINITE;
        for (uint32_t k = 0; k < machine->ops; k++)
            if (mirror > 0 ? is_before(r, order[k], order[i]) : is_after(r, order[k], order[i])) {
                work += length_of(r, order[k]);
                r->start[i] = ppi_larger(r->start[i], mirror * from[order[k]] + work);
            }
    }
    apply(r, machine, mirror);
}

/* Edge finding: ops that must end by a time, with one more, need longer: it comes after them all. `mirror`: -1 for the same
 * backwards in time. */
static void find_edges(struct refutation *r, const struct machine *machine, int mirror)
{
    const double *from = mirror > 0 ? r->now.earliest : r->now.latest, *to = mirror > 0 ? r->now.latest : r->now.earliest;
    const uint32_t *order = machine->order, count = machine->ops;
    sort_by(machine, from, mirror); /* the earliest start first */
    for (uint32_t i = 0; i < count; i++)
        r->start[i] = -PPI_INFINITE;
    for (uint32_t k = 0; k < count; k++) {
        const double deadline = mirror * to[order[k]];
        double work = 0, end = -PPI_INFINITE, most = -PPI_INFINITE;
        for (uint32_t i = count; i-- > 0;) {
            if (mirror * to[order[i]] <= deadline) {
                work += length_of(r, order[i]);
                end = ppi_larger(end, mirror * from[order[i]] + work);
                r->is_dead |= end > deadline + r->tolerance;
            }
            r->end[i] = end;
        }
        if (r->is_dead)
            return;
        for (uint32_t i = 0; i < count; i++) {
            const double start = mirror * from[order[i]], length = length_of(r, order[i]);
            if (mirror * to[order[i]] <= deadline) {
                most = ppi_larger(most, start + work);
                work -= length;
                continue;
            }
            if (start + work + length > deadline + r->tolerance)
                r->start[i] = ppi_larger(r->start[i], r->end[i]);
            if (most + length > deadline + r->tolerance)
                r->start[i] = ppi_larger(r->start[i], end);
        }
    }
    apply(r, machine, mirror);
}

/* The last ops end within the span after the start of the first, which is not known. */
static void keep_span(struct refutation *r, const struct machine *machine)
{
    const uint32_t first = op_at(r, machine->row[0], 0);
    for (uint32_t i = 0; i < machine->rows && machine->span < PPI_INFINITE; i++) {
        const uint32_t last = op_at(r, machine->row[i], r->microbatches - 1);
        end_at_most(r, last, r->now.latest[first] - length_of(r, first) + machine->span);
        start_at_least(r, first, r->now.earliest[last] + length_of(r, last) - machine->span);
    }
}

static void settle(struct refutation *r, const struct machine *machine)
{
    keep_span(r, machine);
    for (uint32_t i = 0; i < machine->rows; i++)
        for (uint32_t k = 0; k < machine->rows && !r->is_dead; k++)
            if (i != k)
                compare_windows(r, machine->row[i], machine->row[k]);
    for (uint32_t i = 0; i < machine->rows; i++)
        for (uint32_t m = 0; m < r->microbatches && !r->is_dead; m++) {
            follow_orders(r, machine, machine->row[i], m);
            if (!r->is_dead)
                keep_limit(r, machine, machine->row[i], m);
        }
    for (int mirror = 1; mirror >= -1 && !r->is_dead; mirror -= 2) {
        sum_orders(r, machine, mirror);
        if (!r->is_dead)
            find_edges(r, machine, mirror);
    }
    r->visits -= 4.0 * machine->ops * machine->ops;
}

/* Until nothing follows any more; false if the deadline cannot be kept. */
static bool propagate(struct refutation *r)
{
    do {
        r->has_changed = false;
        follow_chains(r);
        for (uint32_t d = 0; d < r->problem->devices && !r->is_dead; d++)
            settle(r, &r->machine[d]);
    } while (r->has_changed && !r->is_dead && r->visits > 0);
    return !r->is_dead;
}

/* --- the search --- */

static void save(struct refutation *r, uint32_t depth, bool back)
{
    const size_t times = (size_t)depth * r->ops, counts = times * r->width;
    double *earliest = r->saved.earliest + times, *latest = r->saved.latest + times;
    uint16_t *least = r->saved.least + counts, *most = r->saved.most + counts;
    memcpy(back ? r->now.earliest : earliest, back ? earliest : r->now.earliest, r->ops * sizeof *earliest);
    memcpy(back ? r->now.latest : latest, back ? latest : r->now.latest, r->ops * sizeof *latest);
    memcpy(back ? r->now.least : least, back ? least : r->now.least, (size_t)r->ops * r->width * sizeof *least);
    memcpy(back ? r->now.most : most, back ? most : r->now.most, (size_t)r->ops * r->width * sizeof *most);
}

/* Two ops of a device: does `op` come before `other`, or after? The least rank is decided first. */
struct pair {
    uint32_t op, other;
    double rank;
};

/* How often a decision between two rows was in vain. */
static double *failures_of(struct refutation *r, uint32_t op, uint32_t other)
{
    const uint32_t row = op / r->microbatches, column = other / r->microbatches;
    return &r->failures[(size_t)(row < column ? row : column) * r->rows + (row < column ? column : row)];
}

/* The time to spare in both orders, most of all in the tighter one, by the length of the ops. Pairs of rows that were decided in
 * vain often come first (after Boussemart et al., "Boosting systematic search by weighting constraints", 2004). */
static void consider(struct refutation *r, struct pair *best, uint32_t op, uint32_t other)
{
    const double both = length_of(r, op) + length_of(r, other);
    const double before = r->now.latest[other] - r->now.earliest[op] - both,
                 after = r->now.latest[op] - r->now.earliest[other] - both;
    const double slack = before + after + 2 * ppi_smaller(before, after);
    const double rank = (slack / ppi_larger(both, r->tolerance) + 1) / (1 + *failures_of(r, op, other));
    if (rank < best->rank)
        *best = before < after ? (struct pair){op, other, rank} : (struct pair){other, op, rank};
}

/* The pair to decide; false if all are settled. */
static bool choose(struct refutation *r, struct pair *best)
{

    for (uint32_t d = 0; d < r->problem->devices; d++) {
        const struct machine *machine = &r->machine[d];
        for (uint32_t i = 0; i < machine->rows; i++)
            for (uint32_t k = 0; k < machine->rows; k++)
                for (uint32_t m = 0; m < r->microbatches && i != k; m++) {
                    const uint32_t op = op_at(r, machine->row[i], m), other = machine->row[k];
                    const uint32_t least = *least_before(r, op, other), most = *most_before(r, op, other);
                    if (least < most)
                        consider(r, best, op, op_at(r, other, least));
                }
    }
    return best->rank < PPI_INFINITE;
}

static void decide(struct refutation *r, const struct pair *pair, bool swap)
{
    const uint32_t first = swap ? pair->other : pair->op, second = swap ? pair->op : pair->other;
    r->is_dead = false;
    put_before(r, first / r->microbatches, first % r->microbatches, second / r->microbatches, second % r->microbatches);
}

/* Whether no schedule keeps the deadline with what is settled so far. */
static ppsched_status branch(bool *is_refuted, struct refutation *r, uint32_t depth, struct ppi_poll *poll,
                             ppsched_error *error)
{
    struct pair pair = {0, 0, PPI_INFINITE};
    const double visits = r->visits;
    const bool goes_on = propagate(r);
    ppsched_status status = poll != NULL ? ppi_poll_spend(poll, visits - r->visits, error) : PPSCHED_OK;
    *is_refuted = !goes_on;
    if (status != PPSCHED_OK || *is_refuted || r->visits <= 0 || depth == MOST_DEPTH || !choose(r, &pair))
        return status;
    save(r, depth, false);
    for (int side = 0; side < 2; side++) {
        if (side > 0)
            save(r, depth, true);
        decide(r, &pair, side > 0);
        *is_refuted = r->is_dead;
        if (!r->is_dead)
            status = branch(is_refuted, r, depth + 1, poll, error);
        *failures_of(r, pair.op, pair.other) += *is_refuted;
        if (status != PPSCHED_OK || !*is_refuted)
            return status;
    }
    return status;
}

/* --- the problem --- */

static uint32_t row_of(const struct ppi_problem *problem, uint8_t kind, uint32_t stage)
{
    return kind == PPSCHED_KIND_F   ? stage
           : kind == PPSCHED_KIND_W ? 3 * problem->stages - 1 - stage
                                    : 2 * problem->stages - 1 - stage;
}

static void add_row(struct refutation *r, uint32_t number, uint32_t stage, const struct row *row)
{
    struct machine *machine = &r->machine[r->problem->stage[stage].device];
    r->row[number] = *row;
    r->row[number].device = r->problem->stage[stage].device;
    r->row[number].place = machine->rows;
    machine->row[machine->rows++] = number;
    machine->ops += r->microbatches;
}

static void add_rows(struct refutation *r)
{
    const struct ppi_problem *problem = r->problem;
    for (uint32_t s = 0; s < problem->stages; s++) {
        const struct ppi_stage *stage = &problem->stage[s];
        const uint8_t kind = stage->splits ? PPSCHED_KIND_I : PPSCHED_KIND_B;
        const bool is_last = s + 1 == problem->stages;
        add_row(r, s, s,
                &(struct row){.before = s > 0 ? s - 1 : PPSCHED_NONE,
                              .delay = s > 0 ? stage->forward_delay : 0,
                              .length = stage->duration[PPSCHED_KIND_F],
                              .memory = stage->memory[PPSCHED_KIND_F]});
        add_row(r, row_of(problem, kind, s), s,
                &(struct row){.before = is_last ? s : row_of(problem, kind, s + 1),
                              .delay = is_last ? 0 : stage->backward_delay,
                              .length = stage->duration[kind],
                              .memory = stage->memory[kind]});
        if (stage->splits)
            add_row(r, row_of(problem, PPSCHED_KIND_W, s), s,
                    &(struct row){.before = row_of(problem, kind, s),
                                  .length = stage->duration[PPSCHED_KIND_W],
                                  .memory = stage->memory[PPSCHED_KIND_W]});
    }
}

/* Op m of a row comes after op m of a row that it waits for, at once or over other devices. */
static void order_chains(struct refutation *r)
{
    for (uint32_t i = 0; i < r->rows; i++)
        for (uint32_t before = r->row[i].before; before != PPSCHED_NONE; before = r->row[before].before)
            for (uint32_t m = 0; m < r->microbatches && r->row[before].device == r->row[i].device; m++)
                put_before(r, before, m, i, m);
}

/* When the first op of a device starts, if no order changes it: all stages before are the first of their devices. Else infinite. */
static double known_start(const struct ppi_problem *problem, uint32_t device)
{
    const uint32_t first = ppi_stage_at(problem, device, 0);
    double start = 0;
    for (uint32_t s = 0; s < first; s++) {
        if (problem->stage[s].place != 0)
            return PPI_INFINITE;
        start += problem->stage[s].duration[PPSCHED_KIND_F] + problem->stage[s + 1].forward_delay;
    }
    return start;
}

static void open_windows(struct refutation *r, double most)
{
    const struct ppi_problem *problem = r->problem;
    for (uint32_t d = 0; d < problem->devices; d++) {
        struct machine *machine = &r->machine[d];
        const double start = problem->by_span ? known_start(problem, d) : 0;
        uint32_t count = 0;
        machine->most = ppi_device_allows_at_peak(&problem->device[d]);
        machine->span = start < PPI_INFINITE ? PPI_INFINITE : most;
        for (uint32_t i = 0; i < machine->rows; i++)
            for (uint32_t m = 0; m < r->microbatches; m++) {
                const uint32_t op = op_at(r, machine->row[i], m);
                machine->order[count++] = op;
                r->now.earliest[op] = 0;
                r->now.latest[op] = most + start;
                for (uint32_t k = 0; k < machine->rows; k++) {
                    r->now.least[(size_t)op * r->width + k] = k == i ? (uint16_t)m : 0;
                    r->now.most[(size_t)op * r->width + k] = (uint16_t)(k == i ? m : r->microbatches);
                }
            }
    }
}

/* Whether the rows are the problem: a B is its I and W at once, and nothing but forwards takes memory. */
static bool has_rows(const struct ppi_problem *problem)
{
    const size_t rows = problem->stage[0].splits ? 3 : 2;
    if (problem->ratio != NULL || problem->slices != 1 || problem->rises ||
        (problem->span_share != 0 && problem->span_share != 1))
        return false;
    for (uint32_t s = 0; s < problem->stages; s++) {
        const struct ppi_stage *stage = &problem->stage[s];
        if ((stage->splits && (stage->fuses || stage->memory[PPSCHED_KIND_I] > 0 || stage->memory[PPSCHED_KIND_W] > 0)) ||
            stage->splits != problem->stage[0].splits || stage->memory[PPSCHED_KIND_B] > 0 || stage->memory[PPSCHED_KIND_F] < 0)
            return false;
    }
    for (uint32_t d = 0; d < problem->devices; d++)
        if (problem->device[d].count == 0 || rows * problem->device[d].count > MOST_ROWS)
            return false;
    return rows * problem->stages * problem->microbatches <= MOST_OPS && problem->microbatches < UINT16_MAX;
}

static void take_node(struct node *node, struct ppi_arena *arena, size_t ops, uint32_t width)
{
    node->earliest = ppi_arena_take(arena, ops, sizeof *node->earliest);
    node->latest = ppi_arena_take(arena, ops, sizeof *node->latest);
    node->least = ppi_arena_take(arena, ops * width, sizeof *node->least);
    node->most = ppi_arena_take(arena, ops * width, sizeof *node->most);
}

static ppsched_status prepare(struct refutation *r, struct ppi_arena *arena, ppsched_error *error)
{
    const struct ppi_problem *problem = r->problem;
    const uint32_t kinds = problem->stage[0].splits ? 3 : 2;
    r->rows = kinds * problem->stages;
    r->ops = r->rows * r->microbatches;
    r->width = kinds * problem->most_stages;
    r->row = ppi_arena_take(arena, r->rows, sizeof *r->row);
    r->machine = ppi_arena_take_zeroed(arena, problem->devices, sizeof *r->machine);
    uint32_t *order = ppi_arena_take(arena, r->ops, sizeof *order);
    r->failures = ppi_arena_take_zeroed(arena, (size_t)r->rows * r->rows, sizeof *r->failures);
    take_node(&r->now, arena, r->ops, r->width);
    take_node(&r->saved, arena, (size_t)MOST_DEPTH * r->ops, r->width);
    ppsched_status status = ppi_arena_check(arena, "the proof", error);
    for (uint32_t d = 0; d < problem->devices && status == PPSCHED_OK; d++) {
        r->machine[d].order = order;
        order += (size_t)kinds * problem->device[d].count * r->microbatches;
    }
    return status;
}

ppsched_status ppi_refute_better(bool *is_best, const struct ppi_problem *problem, double value, double visits,
                                 struct ppi_poll *poll, ppsched_error *error)
{
    struct ppi_arena arena = {.host = &problem->host};
    struct refutation r = {
        .problem = problem, .microbatches = problem->microbatches, .visits = visits, .tolerance = value * TOLERANCE};
    *is_best = false;
    if (!has_rows(problem))
        return PPSCHED_OK;
    ppsched_status status = prepare(&r, &arena, error);
    if (status == PPSCHED_OK) {
        add_rows(&r);
        open_windows(&r, value - 4 * r.tolerance);
        order_chains(&r);
        status = branch(is_best, &r, 0, poll, error);
    }
    ppi_arena_clear(&arena);
    return status;
}
