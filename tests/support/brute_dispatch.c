/* SPDX-License-Identifier: Apache-2.0 */
#include "support/brute_dispatch.h"

#include <math.h>

struct moment {
    struct brute *brute;
    const ppsched_schedule *schedule;
    const struct brute_costs *costs;
    double now;
    double held[BRUTE_DEVICES], free[BRUTE_DEVICES];
    int running[BRUTE_DEVICES]; /* or -1 */
};

static int is_first(const struct brute *brute, int i)
{
    return brute->ops[i].leader == i;
}

static int is_pair(const struct brute *brute, int i)
{
    return i + 1 < brute->count && brute->ops[i + 1].leader == i;
}

static double memory_of(const struct moment *m, int i)
{
    const ppsched_op *op = &m->brute->ops[i].op;
    return m->costs->memory[op->kind][op->stage] * brute_memory_factor(m->costs, m->schedule, op);
}

/* What a unit takes at its start, and gives back at its end. */
static double taken(const struct moment *m, int i)
{
    return m->brute->ops[i].op.kind == PPSCHED_KIND_F ? memory_of(m, i) : 0;
}

static double given(const struct moment *m, int i)
{
    double sum = m->brute->ops[i].op.kind == PPSCHED_KIND_F ? 0 : -memory_of(m, i);
    return is_pair(m->brute, i) ? sum - memory_of(m, i + 1) : sum;
}

static int is_ready(const struct moment *m, int i)
{
    double start = 0;
    return brute_ready(m->brute, m->schedule, m->costs, i, &start) && start <= m->now;
}

/* Whether what the device has left before a unit can still run behind it, one after another. */
static int may_overtake(const struct moment *m, int unit, double cap)
{
    uint32_t device = m->brute->ops[unit].device;
    double level = m->held[device] + taken(m, unit);
    if (level > cap)
        return 0;
    level -= given(m, unit);
    for (int i = 0; i < unit; i++) {
        if (m->brute->ops[i].device != device || m->brute->ops[i].done || !is_first(m->brute, i))
            continue;
        level += taken(m, i);
        if (level > cap)
            return 0;
        level -= given(m, i);
    }
    return 1;
}

/* The unit that a free device starts now, or -1. */
static int choice(const struct moment *m, uint32_t device, double cap)
{
    int first = -1, taker = -1;
    for (int i = 0; i < m->brute->count; i++) {
        if (m->brute->ops[i].device != device || m->brute->ops[i].done || !is_first(m->brute, i))
            continue;
        first = first < 0 ? i : first;
        if (!is_ready(m, i) || (taken(m, i) > 0 && taker >= 0))
            continue;
        if (taken(m, i) <= 0 || i == first || may_overtake(m, i, cap))
            return i;
        taker = i;
    }
    return -1;
}

/* When the next thing happens: a unit ends, or what one needs is there. */
static double next_moment(const struct moment *m)
{
    double next = INFINITY;
    for (uint32_t d = 0; d < ppsched_schedule_devices(m->schedule); d++)
        if (m->running[d] >= 0 && m->free[d] < next)
            next = m->free[d];
    for (int i = 0; i < m->brute->count; i++) {
        double start = 0;
        if (!m->brute->ops[i].done && is_first(m->brute, i) && brute_ready(m->brute, m->schedule, m->costs, i, &start) &&
            start > m->now && start < next)
            next = start;
    }
    return next;
}

static void start_unit(struct moment *m, int i, double *peaks)
{
    struct brute_op *op = &m->brute->ops[i];
    double duration = brute_duration(m->brute, m->schedule, m->costs, i);
    for (int k = 0; k <= is_pair(m->brute, i); k++) {
        op[k].done = 1;
        op[k].start = m->now;
        op[k].end = m->now + duration;
    }
    m->held[op->device] += taken(m, i);
    peaks[op->device] = fmax(peaks[op->device], m->held[op->device]);
    m->free[op->device] = op->end;
    m->running[op->device] = i;
    m->brute->makespan = fmax(m->brute->makespan, op->end);
}

/* What ends now is over. */
static void end_units(struct moment *m)
{
    for (uint32_t d = 0; d < ppsched_schedule_devices(m->schedule); d++)
        if (m->running[d] >= 0 && m->free[d] <= m->now) {
            m->held[d] -= given(m, m->running[d]);
            m->running[d] = -1;
        }
}

/* Devices choose at once; what that ends at this very moment is then seen. */
static int start_units(struct moment *m, const double *cap, double *peaks)
{
    int chosen[BRUTE_DEVICES], count = 0;
    uint32_t devices = ppsched_schedule_devices(m->schedule);
    for (uint32_t d = 0; d < devices; d++)
        chosen[d] = m->running[d] < 0 ? choice(m, d, cap[d]) : -1;
    for (uint32_t d = 0; d < devices; d++)
        if (chosen[d] >= 0) {
            start_unit(m, chosen[d], peaks);
            count++;
        }
    return count;
}

void brute_dispatch(struct brute *brute, const ppsched_schedule *schedule, const struct brute_costs *costs, const double *cap,
                    double *peaks)
{
    struct moment m = {.brute = brute, .schedule = schedule, .costs = costs};
    for (uint32_t d = 0; d < BRUTE_DEVICES; d++)
        m.running[d] = -1;
    brute->makespan = 0;
    for (; m.now < INFINITY; m.now = next_moment(&m))
        do
            end_units(&m);
        while (start_units(&m, cap, peaks) > 0);
}

void brute_planned_peaks(double *out, struct brute *brute, const ppsched_schedule *schedule, const struct brute_costs *costs)
{
    struct moment m = {.brute = brute, .schedule = schedule, .costs = costs};
    for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++)
        out[d] = 0;
    for (int i = 0; i < brute->count; i++) {
        uint32_t d = brute->ops[i].device;
        if (!is_first(brute, i))
            continue;
        m.held[d] += taken(&m, i);
        out[d] = fmax(out[d], m.held[d]);
        m.held[d] -= given(&m, i);
    }
}
