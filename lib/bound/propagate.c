/* SPDX-License-Identifier: Apache-2.0 */
/* Along chains, over all that comes before an op, over sets of ops that must end by a time (edge finding, after Carlier and
 * Pinson), and by memory. */
#include "bound/propagate.h"

#include "base/checked.h"

/* --- what is known --- */

static void start_at_least(struct ppi_refutation *r, uint32_t op, double time)
{
    if (!(time > r->now.earliest[op] + r->tolerance))
        return;
    r->now.earliest[op] = time;
    r->has_changed = true;
    r->is_dead |= time + r->row[op / r->microbatches].length > r->now.latest[op] + r->tolerance;
}

static void end_at_most(struct ppi_refutation *r, uint32_t op, double time)
{
    if (!(time < r->now.latest[op] - r->tolerance))
        return;
    r->now.latest[op] = time;
    r->has_changed = true;
    r->is_dead |= r->now.earliest[op] + r->row[op / r->microbatches].length > time + r->tolerance;
}

void ppi_put_before(struct ppi_refutation *r, uint32_t row, uint32_t m, uint32_t other, uint32_t n)
{
    for (uint32_t k = n; k < r->microbatches && *ppi_least_before(r, ppi_op_at(r, other, k), row) <= m; k++) {
        *ppi_least_before(r, ppi_op_at(r, other, k), row) = (uint16_t)(m + 1);
        r->is_dead |= m + 1 > *ppi_most_before(r, ppi_op_at(r, other, k), row);
        r->has_changed = true;
    }
    for (uint32_t k = m + 1; k-- > 0 && *ppi_most_before(r, ppi_op_at(r, row, k), other) > n;) {
        *ppi_most_before(r, ppi_op_at(r, row, k), other) = (uint16_t)n;
        r->is_dead |= *ppi_least_before(r, ppi_op_at(r, row, k), other) > n;
        r->has_changed = true;
    }
}

/* At least so many ops of `other` come before op m of `row`. */
static void need_before(struct ppi_refutation *r, uint32_t row, uint32_t m, uint32_t other, uint32_t count)
{
    if (count > *ppi_least_before(r, ppi_op_at(r, row, m), other))
        ppi_put_before(r, other, count - 1, row, m);
}

/* At most so many. */
static void allow_before(struct ppi_refutation *r, uint32_t row, uint32_t m, uint32_t other, uint32_t count)
{
    if (count < *ppi_most_before(r, ppi_op_at(r, row, m), other))
        ppi_put_before(r, row, m, other, count);
}

/* --- chains --- */

static void follow_chains(struct ppi_refutation *r)
{
    for (uint32_t i = 0; i < r->rows && !r->is_dead; i++) {
        const struct ppi_op_row *row = &r->row[i];
        for (uint32_t m = 0; m < r->microbatches; m++) {
            const uint32_t op = ppi_op_at(r, i, m);
            if (m > 0)
                start_at_least(r, op, r->now.earliest[op - 1] + row->length);
            if (row->before != PPSCHED_NONE)
                start_at_least(r, op, r->now.earliest[ppi_op_at(r, row->before, m)] + r->row[row->before].length + row->delay);
        }
    }
    for (uint32_t i = r->rows; i-- > 0 && !r->is_dead;) {
        const struct ppi_op_row *row = &r->row[i];
        for (uint32_t m = r->microbatches; m-- > 0;) {
            const uint32_t op = ppi_op_at(r, i, m);
            if (m + 1 < r->microbatches)
                end_at_most(r, op, r->now.latest[op + 1] - row->length);
            if (row->before != PPSCHED_NONE)
                end_at_most(r, ppi_op_at(r, row->before, m), r->now.latest[op] - row->length - row->delay);
        }
    }
}

/* --- a device --- */

/* Settles what the windows of time leave no choice about. */
static void compare_windows(struct ppi_refutation *r, uint32_t row, uint32_t other)
{
    const double *earliest = r->now.earliest, *latest = r->now.latest;
    const double both = r->row[row].length + r->row[other].length;
    for (uint32_t m = 0; m < r->microbatches && !r->is_dead; m++) {
        const uint32_t op = ppi_op_at(r, row, m);
        const uint16_t *least = ppi_least_before(r, op, other), *most = ppi_most_before(r, op, other);
        while (!r->is_dead && *least < *most && earliest[op] + both > latest[ppi_op_at(r, other, *least)] + r->tolerance)
            need_before(r, row, m, other, *least + 1u);
        while (!r->is_dead && *least < *most && earliest[ppi_op_at(r, other, *most - 1u)] + both > latest[op] + r->tolerance)
            allow_before(r, row, m, other, *most - 1u);
    }
}

/* What comes before an op that comes before another comes before that, too. */
static void follow_orders(struct ppi_refutation *r, const struct ppi_op_device *machine, uint32_t row, uint32_t m)
{
    const uint32_t op = ppi_op_at(r, row, m);
    for (uint32_t k = 0; k < machine->rows; k++) {
        const uint32_t other = machine->row[k];
        const uint32_t before = *ppi_least_before(r, op, other), after = *ppi_most_before(r, op, other);
        for (uint32_t c = 0; c < machine->rows && other != row && !r->is_dead; c++) {
            const uint32_t third = machine->row[c];
            if (third == other)
                continue;
            const uint32_t least = before > 0 ? *ppi_least_before(r, ppi_op_at(r, other, before - 1), third) : 0;
            const uint32_t most = after < r->microbatches ? *ppi_most_before(r, ppi_op_at(r, other, after), third)
                                                          : r->microbatches;
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
static void keep_limit(struct ppi_refutation *r, const struct ppi_op_device *machine, uint32_t row, uint32_t m)
{
    const uint32_t op = ppi_op_at(r, row, m);
    double level = r->row[row].memory * (m + 1);
    if (!(r->row[row].memory > 0) || machine->most == PPI_INFINITE)
        return;
    for (uint32_t k = 0; k < machine->rows; k++) {
        const uint32_t other = machine->row[k];
        const double memory = r->row[other].memory;
        if (other != row)
            level += memory * (memory > 0 ? *ppi_least_before(r, op, other) : *ppi_most_before(r, op, other));
    }
    const double left = machine->most - level;
    r->is_dead |= left < 0;
    for (uint32_t k = 0; k < machine->rows && !r->is_dead; k++) {
        const uint32_t other = machine->row[k];
        const double memory = r->row[other].memory, steps = memory != 0 ? left / (memory < 0 ? -memory : memory) + 1e-9 : 0;
        if (other == row || memory == 0 || steps >= r->microbatches)
            continue;
        const uint32_t whole = (uint32_t)steps, least = *ppi_least_before(r, op, other), most = *ppi_most_before(r, op, other);
        if (memory < 0 && most > whole)
            need_before(r, row, m, other, most - whole);
        if (memory > 0)
            allow_before(r, row, m, other, least + whole);
    }
}

static bool is_before(struct ppi_refutation *r, uint32_t first, uint32_t op)
{
    const uint32_t row = first / r->microbatches, m = first % r->microbatches;
    return row == op / r->microbatches ? first < op : m < *ppi_least_before(r, op, row);
}

static bool is_after(struct ppi_refutation *r, uint32_t later, uint32_t op)
{
    const uint32_t row = later / r->microbatches, m = later % r->microbatches;
    return row == op / r->microbatches ? later > op : m >= *ppi_most_before(r, op, row);
}

static void sort_by(const struct ppi_op_device *machine, const double *key, double sign)
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
static void apply(struct ppi_refutation *r, const struct ppi_op_device *machine, int mirror)
{
    for (uint32_t i = 0; i < machine->ops && !r->is_dead; i++)
        if (mirror > 0)
            start_at_least(r, machine->order[i], r->start[i]);
        else
            end_at_most(r, machine->order[i], -r->start[i]);
}

/* All that comes before an op takes its time, from when it can start. `mirror`: -1 for what comes after, backwards in time. */
static void sum_orders(struct ppi_refutation *r, const struct ppi_op_device *machine, int mirror)
{
    const double *from = mirror > 0 ? r->now.earliest : r->now.latest;
    const uint32_t *order = machine->order;
    sort_by(machine, from, -mirror); /* the latest start first */
    for (uint32_t i = 0; i < machine->ops; i++) {
        double work = 0;
        r->start[i] = -PPI_INFINITE;
        for (uint32_t k = 0; k < machine->ops; k++)
            if (mirror > 0 ? is_before(r, order[k], order[i]) : is_after(r, order[k], order[i])) {
                work += ppi_length_of(r, order[k]);
                r->start[i] = ppi_larger(r->start[i], mirror * from[order[k]] + work);
            }
    }
    apply(r, machine, mirror);
}

/* Edge finding: ops that must end by a time, with one more, need longer: it comes after them all. `mirror`: -1 for the same
 * backwards in time. */
static void find_edges(struct ppi_refutation *r, const struct ppi_op_device *machine, int mirror)
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
                work += ppi_length_of(r, order[i]);
                end = ppi_larger(end, mirror * from[order[i]] + work);
                r->is_dead |= end > deadline + r->tolerance;
            }
            r->end[i] = end;
        }
        if (r->is_dead)
            return;
        for (uint32_t i = 0; i < count; i++) {
            const double start = mirror * from[order[i]], length = ppi_length_of(r, order[i]);
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
static void keep_span(struct ppi_refutation *r, const struct ppi_op_device *machine)
{
    const uint32_t first = ppi_op_at(r, machine->row[0], 0);
    for (uint32_t i = 0; i < machine->rows && machine->span < PPI_INFINITE; i++) {
        const uint32_t last = ppi_op_at(r, machine->row[i], r->microbatches - 1);
        end_at_most(r, last, r->now.latest[first] - ppi_length_of(r, first) + machine->span);
        start_at_least(r, first, r->now.earliest[last] + ppi_length_of(r, last) - machine->span);
    }
}

static void settle(struct ppi_refutation *r, const struct ppi_op_device *machine)
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

bool ppi_propagate(struct ppi_refutation *r)
{
    do {
        r->has_changed = false;
        follow_chains(r);
        for (uint32_t d = 0; d < r->problem->devices && !r->is_dead; d++)
            settle(r, &r->machine[d]);
    } while (r->has_changed && !r->is_dead && r->visits > 0);
    return !r->is_dead;
}
