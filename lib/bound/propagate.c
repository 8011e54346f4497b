/* SPDX-License-Identifier: Apache-2.0 */
/* Along chains, over all that comes before an op, over sets of ops that must end by a time (edge finding, after Carlier and
 * Pinson), and by memory. */
#include "bound/propagate.h"

#include "base/checked.h"
#include "ir/progress.h"

/* --- what is known --- */

static void start_at_least(struct ppi_refutation *refuting, uint32_t op, double time)
{
    if (!(time > refuting->now.earliest[op] + refuting->tolerance))
        return;
    refuting->now.earliest[op] = time;
    refuting->has_changed = true;
    refuting->is_dead |= time + refuting->row[op / refuting->microbatches].length >
                         refuting->now.latest[op] + refuting->tolerance;
}

static void end_at_most(struct ppi_refutation *refuting, uint32_t op, double time)
{
    if (!(time < refuting->now.latest[op] - refuting->tolerance))
        return;
    refuting->now.latest[op] = time;
    refuting->has_changed = true;
    refuting->is_dead |= refuting->now.earliest[op] + refuting->row[op / refuting->microbatches].length >
                         time + refuting->tolerance;
}

void ppi_put_before(struct ppi_refutation *refuting, uint32_t row, uint32_t m, uint32_t other, uint32_t n)
{
    for (uint32_t k = n; k < refuting->microbatches && *ppi_least_before(refuting, ppi_op_at(refuting, other, k), row) <= m;
         k++) {
        *ppi_least_before(refuting, ppi_op_at(refuting, other, k), row) = (uint16_t)(m + 1);
        refuting->is_dead |= m + 1 > *ppi_most_before(refuting, ppi_op_at(refuting, other, k), row);
        refuting->has_changed = true;
    }
    for (uint32_t k = m + 1; k-- > 0 && *ppi_most_before(refuting, ppi_op_at(refuting, row, k), other) > n;) {
        *ppi_most_before(refuting, ppi_op_at(refuting, row, k), other) = (uint16_t)n;
        refuting->is_dead |= *ppi_least_before(refuting, ppi_op_at(refuting, row, k), other) > n;
        refuting->has_changed = true;
    }
}

/* At least so many ops of `other` come before op m of `row`. */
static void need_before(struct ppi_refutation *refuting, uint32_t row, uint32_t m, uint32_t other, uint32_t count)
{
    if (count > *ppi_least_before(refuting, ppi_op_at(refuting, row, m), other))
        ppi_put_before(refuting, other, count - 1, row, m);
}

/* At most so many. */
static void allow_before(struct ppi_refutation *refuting, uint32_t row, uint32_t m, uint32_t other, uint32_t count)
{
    if (count < *ppi_most_before(refuting, ppi_op_at(refuting, row, m), other))
        ppi_put_before(refuting, row, m, other, count);
}

/* --- chains --- */

static void follow_chains(struct ppi_refutation *refuting)
{
    for (uint32_t i = 0; i < refuting->rows && !refuting->is_dead; i++) {
        const struct ppi_op_row *row = &refuting->row[i];
        for (uint32_t m = 0; m < refuting->microbatches; m++) {
            const uint32_t op = ppi_op_at(refuting, i, m);
            if (m > 0)
                start_at_least(refuting, op, refuting->now.earliest[op - 1] + row->length);
            if (row->before != PPSCHED_NONE)
                start_at_least(refuting, op,
                               refuting->now.earliest[ppi_op_at(refuting, row->before, m)] + refuting->row[row->before].length +
                                   row->delay);
        }
    }
    for (uint32_t i = refuting->rows; i-- > 0 && !refuting->is_dead;) {
        const struct ppi_op_row *row = &refuting->row[i];
        for (uint32_t m = refuting->microbatches; m-- > 0;) {
            const uint32_t op = ppi_op_at(refuting, i, m);
            if (m + 1 < refuting->microbatches)
                end_at_most(refuting, op, refuting->now.latest[op + 1] - row->length);
            if (row->before != PPSCHED_NONE)
                end_at_most(refuting, ppi_op_at(refuting, row->before, m), refuting->now.latest[op] - row->length - row->delay);
        }
    }
}

/* --- a device --- */

/* Settles what the windows of time leave no choice about. */
static void compare_windows(struct ppi_refutation *refuting, uint32_t row, uint32_t other)
{
    const double *earliest = refuting->now.earliest, *latest = refuting->now.latest;
    const double both = refuting->row[row].length + refuting->row[other].length;
    for (uint32_t m = 0; m < refuting->microbatches && !refuting->is_dead; m++) {
        const uint32_t op = ppi_op_at(refuting, row, m);
        const uint16_t *least = ppi_least_before(refuting, op, other), *most = ppi_most_before(refuting, op, other);
        while (!refuting->is_dead && *least < *most &&
               earliest[op] + both > latest[ppi_op_at(refuting, other, *least)] + refuting->tolerance)
            need_before(refuting, row, m, other, *least + 1u);
        while (!refuting->is_dead && *least < *most &&
               earliest[ppi_op_at(refuting, other, *most - 1u)] + both > latest[op] + refuting->tolerance)
            allow_before(refuting, row, m, other, *most - 1u);
    }
}

/* What comes before an op that comes before another comes before that, too. */
static void follow_orders(struct ppi_refutation *refuting, const struct ppi_op_device *machine, uint32_t row, uint32_t m)
{
    const uint32_t op = ppi_op_at(refuting, row, m);
    for (uint32_t k = 0; k < machine->rows; k++) {
        const uint32_t other = machine->row[k];
        const uint32_t before = *ppi_least_before(refuting, op, other), after = *ppi_most_before(refuting, op, other);
        for (uint32_t c = 0; c < machine->rows && other != row && !refuting->is_dead; c++) {
            const uint32_t third = machine->row[c];
            if (third == other)
                continue;
            const uint32_t least = before > 0 ? *ppi_least_before(refuting, ppi_op_at(refuting, other, before - 1), third) : 0;
            const uint32_t most = after < refuting->microbatches
                                      ? *ppi_most_before(refuting, ppi_op_at(refuting, other, after), third)
                                      : refuting->microbatches;
            if (third == row) {
                refuting->is_dead |= least > m || most <= m;
                continue;
            }
            need_before(refuting, row, m, third, least);
            allow_before(refuting, row, m, third, most);
        }
    }
}

/* Memory after an op that holds more is within the limit: what gives back must come before, what takes must not. */
static void keep_limit(struct ppi_refutation *refuting, const struct ppi_op_device *machine, uint32_t row, uint32_t m)
{
    const uint32_t op = ppi_op_at(refuting, row, m);
    double level = refuting->row[row].memory * (m + 1);
    if (!(refuting->row[row].memory > 0) || machine->most == PPI_INFINITE)
        return;
    for (uint32_t k = 0; k < machine->rows; k++) {
        const uint32_t other = machine->row[k];
        const double memory = refuting->row[other].memory;
        if (other != row)
            level += memory * (memory > 0 ? *ppi_least_before(refuting, op, other) : *ppi_most_before(refuting, op, other));
    }
    const double left = machine->most - level;
    refuting->is_dead |= left < 0;
    for (uint32_t k = 0; k < machine->rows && !refuting->is_dead; k++) {
        const uint32_t other = machine->row[k];
        const double memory = refuting->row[other].memory,
                     steps = memory != 0 ? left / (memory < 0 ? -memory : memory) + 1e-9 : 0;
        if (other == row || memory == 0 || steps >= refuting->microbatches)
            continue;
        const uint32_t whole = (uint32_t)steps, least = *ppi_least_before(refuting, op, other),
                       most = *ppi_most_before(refuting, op, other);
        if (memory < 0 && most > whole)
            need_before(refuting, row, m, other, most - whole);
        if (memory > 0)
            allow_before(refuting, row, m, other, least + whole);
    }
}

static bool is_before(struct ppi_refutation *refuting, uint32_t first, uint32_t op)
{
    const uint32_t row = first / refuting->microbatches, m = first % refuting->microbatches;
    return row == op / refuting->microbatches ? first < op : m < *ppi_least_before(refuting, op, row);
}

static bool is_after(struct ppi_refutation *refuting, uint32_t later, uint32_t op)
{
    const uint32_t row = later / refuting->microbatches, m = later % refuting->microbatches;
    return row == op / refuting->microbatches ? later > op : m >= *ppi_most_before(refuting, op, row);
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
static void apply(struct ppi_refutation *refuting, const struct ppi_op_device *machine, int mirror)
{
    for (uint32_t i = 0; i < machine->ops && !refuting->is_dead; i++)
        if (mirror > 0)
            start_at_least(refuting, machine->order[i], refuting->start[i]);
        else
            end_at_most(refuting, machine->order[i], -refuting->start[i]);
}

/* All that comes before an op takes its time, from when it can start. `mirror`: -1 for what comes after, backwards in time. */
static void sum_orders(struct ppi_refutation *refuting, const struct ppi_op_device *machine, int mirror)
{
    const double *from = mirror > 0 ? refuting->now.earliest : refuting->now.latest;
    const uint32_t *order = machine->order;
    sort_by(machine, from, -mirror); /* the latest start first */
    for (uint32_t i = 0; i < machine->ops; i++) {
        double work = 0;
        refuting->start[i] = -PPI_INFINITE;
        for (uint32_t k = 0; k < machine->ops; k++)
            if (mirror > 0 ? is_before(refuting, order[k], order[i]) : is_after(refuting, order[k], order[i])) {
                work += ppi_length_of(refuting, order[k]);
                refuting->start[i] = ppi_larger(refuting->start[i], mirror * from[order[k]] + work);
            }
    }
    apply(refuting, machine, mirror);
}

/* Edge finding: ops that must end by a time, with one more, need longer: it comes after them all. `mirror`: -1 for the same
 * backwards in time. */
static void find_edges(struct ppi_refutation *refuting, const struct ppi_op_device *machine, int mirror)
{
    const double *from = mirror > 0 ? refuting->now.earliest : refuting->now.latest,
                 *to = mirror > 0 ? refuting->now.latest : refuting->now.earliest;
    const uint32_t *order = machine->order, count = machine->ops;
    sort_by(machine, from, mirror); /* the earliest start first */
    for (uint32_t i = 0; i < count; i++)
        refuting->start[i] = -PPI_INFINITE;
    for (uint32_t k = 0; k < count; k++) {
        const double deadline = mirror * to[order[k]];
        double work = 0, end = -PPI_INFINITE, most = -PPI_INFINITE;
        for (uint32_t i = count; i-- > 0;) {
            if (mirror * to[order[i]] <= deadline) {
                work += ppi_length_of(refuting, order[i]);
                end = ppi_larger(end, mirror * from[order[i]] + work);
                refuting->is_dead |= end > deadline + refuting->tolerance;
            }
            refuting->end[i] = end;
        }
        if (refuting->is_dead)
            return;
        for (uint32_t i = 0; i < count; i++) {
            const double start = mirror * from[order[i]], length = ppi_length_of(refuting, order[i]);
            if (mirror * to[order[i]] <= deadline) {
                most = ppi_larger(most, start + work);
                work -= length;
                continue;
            }
            if (start + work + length > deadline + refuting->tolerance)
                refuting->start[i] = ppi_larger(refuting->start[i], refuting->end[i]);
            if (most + length > deadline + refuting->tolerance)
                refuting->start[i] = ppi_larger(refuting->start[i], end);
        }
    }
    apply(refuting, machine, mirror);
}

/* The last ops end within the span after the start of the first, which is not known. */
static void keep_span(struct ppi_refutation *refuting, const struct ppi_op_device *machine)
{
    const uint32_t first = ppi_op_at(refuting, machine->row[0], 0);
    for (uint32_t i = 0; i < machine->rows && machine->span < PPI_INFINITE; i++) {
        const uint32_t last = ppi_op_at(refuting, machine->row[i], refuting->microbatches - 1);
        end_at_most(refuting, last, refuting->now.latest[first] - ppi_length_of(refuting, first) + machine->span);
        start_at_least(refuting, first, refuting->now.earliest[last] + ppi_length_of(refuting, last) - machine->span);
    }
}

static void settle(struct ppi_refutation *refuting, const struct ppi_op_device *machine)
{
    keep_span(refuting, machine);
    for (uint32_t i = 0; i < machine->rows; i++)
        for (uint32_t k = 0; k < machine->rows && !refuting->is_dead; k++)
            if (i != k)
                compare_windows(refuting, machine->row[i], machine->row[k]);
    for (uint32_t i = 0; i < machine->rows; i++)
        for (uint32_t m = 0; m < refuting->microbatches && !refuting->is_dead; m++) {
            follow_orders(refuting, machine, machine->row[i], m);
            if (!refuting->is_dead)
                keep_limit(refuting, machine, machine->row[i], m);
        }
    for (int mirror = 1; mirror >= -1 && !refuting->is_dead; mirror -= 2) {
        sum_orders(refuting, machine, mirror);
        if (!refuting->is_dead)
            find_edges(refuting, machine, mirror);
    }
    refuting->visits -= 4.0 * machine->ops * machine->ops;
}

bool ppi_propagate(struct ppi_refutation *refuting)
{
    do {
        const double visits = refuting->visits;
        refuting->has_changed = false;
        follow_chains(refuting);
        for (uint32_t d = 0; d < refuting->problem->devices && !refuting->is_dead; d++)
            settle(refuting, &refuting->machine[d]);
        if (refuting->poll != NULL && ppi_poll_spend(refuting->poll, visits - refuting->visits, NULL) != PPSCHED_OK)
            break;
    } while (refuting->has_changed && !refuting->is_dead && refuting->visits > 0);
    return !refuting->is_dead;
}
