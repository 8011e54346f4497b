/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation with transfers over random lowered schedules: without bandwidths and queues it is the plain evaluation to the last
 * bit; with them it equals a run that looks at everything again at every moment; idle times add up. */
#include "support/channel_rules.h"
#include "support/lowering.h"
#include "support/rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- a plain run in time --- */

static int seen_copies;

struct plain_run {
    struct plain at;
    const ppsched_config *config;
    double now, free_at[MOST_DEVICES], link_free[MOST_DEVICES][MOST_DEVICES];
    double start[MOST_DEVICES][MOST_OPS], end[MOST_DEVICES][MOST_OPS];     /* ends lie in the future at first */
    double there[MOST_DEVICES][MOST_OPS];                                  /* by send */
    double asked[MOST_DEVICES][MOST_OPS];                                  /* its edge, by send */
    double called[MOST_DEVICES][MOST_OPS], issued[MOST_DEVICES][MOST_OPS]; /* where calls take time: from when until when */
    size_t calling[MOST_DEVICES];                                          /* how many comm ops, one behind another */
    uint32_t iteration;                                                    /* that is open, where they are apart */
    bool started[MOST_DEVICES][MOST_OPS], had_turn[MOST_DEVICES][MOST_OPS];
    double clock[MOST_DEVICES], busy[MOST_DEVICES]; /* until when a device's time is accounted for */
    double host_free[2][MOST_DEVICES];              /* links to the host, out and back */
    double left[MOST_DEVICES];                      /* of what a device that copies slow computes, in time of its own */
    size_t unit[MOST_DEVICES], length[MOST_DEVICES];
    bool was_blocked[MOST_DEVICES], has_computed[MOST_DEVICES];
    ppsched_idle idle[MOST_DEVICES];
};

static double value(const ppsched_config *config, int32_t quantity, size_t index, double fallback)
{
    size_t count = 0;
    const double *values = ppsched_config_values(config, quantity, &count);
    return count == 0 ? fallback : values[count == 1 ? 0 : index];
}

/* Whether all messages before a send in its channel to the same device have started. */
static bool overtakes_none(const struct plain_run *run, uint32_t d, size_t i, uint32_t to)
{
    for (size_t k = 0; k < i; k++) {
        if (!is_send(&run->at.ops[d][k]) || !same_channel(&run->at, &run->at.ops[d][k], &run->at.ops[d][i]))
            continue;
        ppsched_op other = partner_of(&run->at.ops[d][k]);
        if (device_of(&run->at, other.stage, other.microbatch) == to && !run->started[d][k])
            return false;
    }
    return true;
}

static bool step_send(struct plain_run *run, uint32_t d, size_t i)
{
    const ppsched_op *op = &run->at.ops[d][i];
    ppsched_op receive = partner_of(op);
    uint32_t to = device_of(&run->at, receive.stage, receive.microbatch), devices = ppsched_schedule_devices(run->at.schedule);
    if (run->started[d][i]) {
        bool leaves = !run->at.done[d][i] && run->end[d][i] <= run->now;
        run->at.done[d][i] |= leaves;
        return leaves;
    }
    if (!has_turn(&run->at, d, i) || !overtakes_none(run, d, i, to) ||
        (run->at.model->rendezvous && !has_turn(&run->at, to, find(&run->at, to, &receive))))
        return false;
    double own = value(run->config, PPSCHED_QUANTITY_ACTIVATION_BYTES,
                       op->kind == PPSCHED_KIND_SEND_F ? op->stage : op->stage - 1u, 0);
    double bytes = op->kind == PPSCHED_KIND_SEND_F ? own : value(run->config, PPSCHED_QUANTITY_GRADIENT_BYTES, op->stage, own);
    run->started[d][i] = true;
    run->asked[d][i] = run->now;
    run->start[d][i] = fmax(run->now, run->link_free[d][to]);
    run->end[d][i] = run->start[d][i] + bytes / value(run->config, PPSCHED_QUANTITY_P2P_BANDWIDTH, d * devices + to, HUGE_VAL);
    run->link_free[d][to] = run->end[d][i];
    run->there[d][i] = run->end[d][i] + value(run->config, PPSCHED_QUANTITY_P2P_TIME, d * devices + to, 0);
    if (run->at.model->order == PPSCHED_CHANNEL_ORDER_SENDS && !run->at.model->blocking)
        run->end[d][i] = run->there[d][i];
    return true;
}

static bool step_receive(struct plain_run *run, uint32_t d, size_t i)
{
    ppsched_op send = partner_of(&run->at.ops[d][i]);
    uint32_t from = device_of(&run->at, send.stage, send.microbatch);
    size_t k = find(&run->at, from, &send);
    if (run->at.done[d][i] || !has_turn(&run->at, d, i))
        return false;
    if (!run->had_turn[d][i]) {
        run->had_turn[d][i] = true;
        run->start[d][i] = run->now;
    }
    if (!run->started[from][k] || run->there[from][k] > run->now || !is_oldest(&run->at, from, k))
        return false;
    run->start[d][i] = fmax(run->start[d][i], run->start[from][k]);
    run->end[d][i] = run->now;
    return run->at.done[d][i] = true;
}

static bool is_blocked(const struct plain_run *run, uint32_t d)
{
    size_t position = run->at.position[d];
    if (!run->at.model->blocking || position == 0 || !is_comm(&run->at.ops[d][position - 1]))
        return false;
    if (run->at.model->batched && position < run->at.count[d] && is_comm(&run->at.ops[d][position]))
        return false;
    for (size_t i = 0; i < position; i++)
        if (is_comm(&run->at.ops[d][i]) && !run->at.done[d][i])
            return true;
    return false;
}

/* --- copies --- */

static bool is_copy(const ppsched_op *op)
{
    return op->kind == PPSCHED_KIND_OFFLOAD || op->kind == PPSCHED_KIND_RELOAD;
}

/* Whether the copy of a kind of an op's pass has been made, or the pass has none. */
static bool is_copied(const struct plain_run *run, uint32_t d, const ppsched_op *op, uint8_t kind)
{
    ppsched_op copy = *op;
    copy.kind = kind;
    copy.flags = 0;
    for (size_t i = 0; i < run->at.count[d]; i++)
        if (is_same(&run->at.ops[d][i], &copy))
            return run->started[d][i] && run->end[d][i] <= run->now;
    return true;
}

/* The next copy of a device to come, of one way, and since when it could; MOST_OPS where none can now. */
static size_t next_copy(const struct plain_run *run, uint32_t d, uint8_t kind, double *since)
{
    double last = 0;
    for (size_t i = 0; i < run->at.position[d]; i++) {
        ppsched_op offload = run->at.ops[d][i];
        if (offload.kind != kind)
            continue;
        if (run->started[d][i]) {
            last = run->end[d][i];
            continue;
        }
        *since = fmax(run->asked[d][i], last);
        offload.kind = PPSCHED_KIND_OFFLOAD;
        if (kind == PPSCHED_KIND_RELOAD) {
            size_t k = find(&run->at, d, &offload);
            *since = fmax(*since, run->started[d][k] ? run->end[d][k] : HUGE_VAL);
        }
        return *since <= run->now ? i : MOST_OPS;
    }
    return MOST_OPS;
}

/* A link that is free serves who has waited longest, the lower device first. */
static bool serve(struct plain_run *run, uint32_t link, uint8_t kind)
{
    double *free_at = &run->host_free[kind == PPSCHED_KIND_RELOAD][link], first = HUGE_VAL;
    size_t best = MOST_OPS;
    uint32_t device = 0;
    for (uint32_t d = 0; d < ppsched_schedule_devices(run->at.schedule) && *free_at <= run->now; d++) {
        double since = HUGE_VAL;
        size_t i = value(run->config, PPSCHED_QUANTITY_HOST_LINK, d, d) == link ? next_copy(run, d, kind, &since) : MOST_OPS;
        if (i == MOST_OPS || since >= first)
            continue;
        best = i;
        first = since;
        device = d;
    }
    if (best == MOST_OPS)
        return false;
    int32_t times = kind == PPSCHED_KIND_RELOAD ? PPSCHED_QUANTITY_RELOAD_TIMES : PPSCHED_QUANTITY_OFFLOAD_TIMES;
    run->started[device][best] = true;
    run->start[device][best] = run->now;
    run->end[device][best] = *free_at = run->now + value(run->config, times, run->at.ops[device][best].stage, 0);
    seen_copies++;
    return true;
}

static bool serve_all(struct plain_run *run)
{
    bool progress = false;
    for (uint32_t link = 0; link < ppsched_schedule_devices(run->at.schedule); link++) {
        progress |= serve(run, link, PPSCHED_KIND_OFFLOAD);
        progress |= serve(run, link, PPSCHED_KIND_RELOAD);
    }
    return progress;
}

/* --- compute that copies slow --- */

static double slowdown_of(const struct plain_run *run, uint32_t d)
{
    return value(run->config, PPSCHED_QUANTITY_COPY_SLOWDOWN, d, 1);
}

/* How long a device takes for a unit of time of its own work now. */
static double present_slowdown(const struct plain_run *run, uint32_t d)
{
    for (size_t i = 0; i < run->at.position[d]; i++)
        if (is_copy(&run->at.ops[d][i]) && run->started[d][i] && run->end[d][i] > run->now)
            return slowdown_of(run, d);
    return 1;
}

static int seen_slowed;

/* All devices that copies may slow work until a moment at which the first of them may be done. */
static void work_until(struct plain_run *run, double next)
{
    for (uint32_t d = 0; d < ppsched_schedule_devices(run->at.schedule); d++) {
        if (run->free_at[d] < HUGE_VAL)
            continue;
        double slowdown = present_slowdown(run, d);
        seen_slowed += slowdown > 1;
        run->left[d] -= (next - run->now) / slowdown;
        if (run->left[d] > 1e-12)
            continue;
        for (size_t k = run->unit[d]; k < run->unit[d] + run->length[d]; k++)
            run->end[d][k] = next;
        run->clock[d] = run->free_at[d] = next;
        run->busy[d] += next - run->start[d][run->unit[d]];
    }
}

static double duration_of(const struct plain_run *run, const ppsched_op *op)
{
    double i = value(run->config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, op->stage, 0);
    double w = value(run->config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, op->stage, 0);
    return op->kind == PPSCHED_KIND_F           ? value(run->config, PPSCHED_QUANTITY_FORWARD_TIMES, op->stage, 1)
           : op->kind == PPSCHED_KIND_RECOMPUTE ? value(run->config, PPSCHED_QUANTITY_RECOMPUTE_TIMES, op->stage, 0)
           : op->kind == PPSCHED_KIND_B         ? i + w
           : op->kind == PPSCHED_KIND_I         ? i
                                                : w;
}

/* --- what a device waited for --- */

/* Adds the wait up to a time, as far as there is one before now, to a cause. */
static void blame(struct plain_run *run, uint32_t d, double until, double *cause)
{
    double end = fmin(until, run->now);
    if (end > run->clock[d]) {
        *cause += end - run->clock[d];
        run->clock[d] = end;
    }
}

/* When the value that a send sends was made. */
static double made_at(const struct plain_run *run, uint32_t d, const ppsched_op *send)
{
    for (size_t i = 0; i < run->at.count[d]; i++) {
        const ppsched_op *op = &run->at.ops[d][i];
        bool makes = send->kind == PPSCHED_KIND_SEND_F ? op->kind == PPSCHED_KIND_F
                                                       : op->kind == PPSCHED_KIND_B || op->kind == PPSCHED_KIND_I;
        if (makes && op->stage == send->stage && op->microbatch == send->microbatch)
            return run->end[d][i];
    }
    fail_msg("a send has no producer");
    return 0;
}

/* Along the way of a value: made, called for, allowed to go, on its edge, there, and received. */
static void blame_receive(struct plain_run *run, uint32_t d, size_t i)
{
    ppsched_op send = partner_of(&run->at.ops[d][i]);
    uint32_t from = device_of(&run->at, send.stage, send.microbatch);
    size_t k = find(&run->at, from, &send);
    ppsched_idle *idle = &run->idle[d];
    blame(run, d, made_at(run, from, &send), run->has_computed[d] ? &idle->neighbour : &idle->fill);
    blame(run, d, run->called[from][k], &idle->head_of_line);
    blame(run, d, run->issued[from][k], &idle->calls);
    blame(run, d, run->asked[from][k], &idle->head_of_line);
    blame(run, d, fmin(run->start[from][k], run->end[d][i]), &idle->link);
    blame(run, d, fmin(run->there[from][k], run->end[d][i]), &idle->transfer);
    blame(run, d, run->end[d][i], &idle->head_of_line); /* from then on it may wait for a copy */
}

/* A device that blocks in its send waits for the receiver, for the edge, and while it sends. */
static void blame_send(struct plain_run *run, uint32_t d, size_t i)
{
    ppsched_idle *idle = &run->idle[d];
    blame(run, d, run->asked[d][i], run->has_computed[d] ? &idle->neighbour : &idle->fill);
    blame(run, d, run->start[d][i], &idle->link);
    blame(run, d, run->now, &idle->transfer);
}

/* Of the comm ops that a device was blocked by, one or a batch, that which was done last; of several the last in the queue. */
static void blame_block(struct plain_run *run, uint32_t d)
{
    size_t i = run->at.position[d];
    for (size_t k = i; k-- > 0 && is_comm(&run->at.ops[d][k]) && (k + 1 == i || run->at.model->batched);) {
        if (run->end[d][k] < run->now)
            continue;
        if (is_send(&run->at.ops[d][k]))
            blame_send(run, d, k);
        else
            blame_receive(run, d, k);
        return;
    }
}

/* Of the receives of a unit that which was done last; of two at once the first one's. */
static void blame_unit(struct plain_run *run, uint32_t d, size_t position, size_t length)
{
    size_t last = MOST_OPS;
    for (size_t k = position; k < position + length; k++) {
        ppsched_op receive;
        if (!receive_of(&run->at, d, &run->at.ops[d][k], &receive))
            continue;
        size_t i = find(&run->at, d, &receive);
        if (last == MOST_OPS || run->end[d][i] > run->end[d][last])
            last = i;
    }
    if (last < MOST_OPS)
        blame_receive(run, d, last);
}

/* What is left is waiting after the last op; waiting for neighbours is imbalance as far as the busiest device just has more. */
static void blame_ends(struct plain_run *run)
{
    double most = 0, makespan = 0;
    uint32_t devices = ppsched_schedule_devices(run->at.schedule);
    for (uint32_t d = 0; d < devices; d++) {
        most = fmax(most, run->busy[d]);
        makespan = fmax(makespan, run->free_at[d]);
    }
    for (uint32_t d = 0; d < devices; d++) {
        run->idle[d].drain += fmax(0, makespan - run->clock[d]);
        run->idle[d].imbalance = fmin(run->idle[d].neighbour, most - run->busy[d]);
        run->idle[d].neighbour -= run->idle[d].imbalance;
    }
}

/* --- calls, and iterations that are apart --- */

/* Whether an op's iteration is open: all of those before have been computed everywhere. */
static bool is_open(const struct plain_run *run, uint32_t iteration)
{
    uint32_t microbatches = ppsched_schedule_microbatches(run->at.schedule);
    if (iteration == 0 || !ppsched_schedule_flushes(run->at.schedule))
        return true;
    for (uint32_t d = 0; d < ppsched_schedule_devices(run->at.schedule); d++)
        for (size_t i = 0; i < run->at.count[d]; i++) {
            const ppsched_op *op = &run->at.ops[d][i];
            if (op->kind <= PPSCHED_KIND_W && op->microbatch / microbatches < iteration &&
                (i >= run->at.position[d] || run->end[d][i] > run->now))
                return false;
        }
    return true;
}

/* Waiting for an iteration's end is over on all devices at once. */
static void open_iterations(struct plain_run *run)
{
    const ppsched_schedule *schedule = run->at.schedule;
    while (ppsched_schedule_flushes(schedule) && run->iteration + 1 < ppsched_schedule_iterations(schedule) &&
           is_open(run, run->iteration + 1)) {
        run->iteration++;
        for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++) {
            blame(run, d, run->now, &run->idle[d].drain);
            run->has_computed[d] = false;
        }
    }
}

static bool is_for_later(const struct plain_run *run, const ppsched_op *op)
{
    return ppsched_schedule_flushes(run->at.schedule) &&
           op->microbatch / ppsched_schedule_microbatches(run->at.schedule) > run->iteration;
}

/* One call for each comm op; those that start together are issued together, when the last call has been made. */
static bool issue(struct plain_run *run, uint32_t d)
{
    struct plain *at = &run->at;
    size_t first = at->position[d];
    double each = value(run->config, PPSCHED_QUANTITY_SEND_OVERHEAD, d, 0), end = run->now;
    if (each == 0) {
        at->position[d]++;
        return true;
    }
    if (run->calling[d] > 0) {
        at->position[d] += run->calling[d];
        run->calling[d] = 0;
        return true;
    }
    for (size_t i = first; i < at->count[d] && is_comm(&at->ops[d][i]) && !is_for_later(run, &at->ops[d][i]); i++) {
        if (i > first && !at->model->batched)
            break;
        run->called[d][i] = end;
        run->issued[d][i] = end += each;
        run->calling[d]++;
    }
    run->free_at[d] = end;
    blame(run, d, run->now, &run->idle[d].drain); /* nothing is to be left */
    run->idle[d].calls += end - run->now;
    run->clock[d] = end;
    return true;
}

static bool step_device(struct plain_run *run, uint32_t d)
{
    struct plain *at = &run->at;
    size_t position = at->position[d];
    if (run->free_at[d] > run->now)
        return false;
    if (is_blocked(run, d)) {
        run->was_blocked[d] = true;
        return false;
    }
    if (run->was_blocked[d])
        blame_block(run, d);
    run->was_blocked[d] = false;
    if (position == at->count[d])
        return false;
    const ppsched_op *op = &at->ops[d][position];
    size_t length = (op->flags & PPSCHED_OP_FLAG_OVERLAPPED) != 0 ? 2 : 1;
    double duration = 0;
    if (is_for_later(run, op))
        return false;
    if (is_comm(op))
        return issue(run, d);
    if (is_copy(op)) {
        run->asked[d][at->position[d]++] = run->now;
        return true;
    }
    if (op->kind == PPSCHED_KIND_OFFLOAD_WAIT) {
        if (!is_copied(run, d, op, PPSCHED_KIND_OFFLOAD))
            return false;
        run->start[d][position] = run->clock[d];
        blame(run, d, run->now, &run->idle[d].reload);
        run->end[d][at->position[d]++] = run->now;
        return true;
    }
    for (size_t k = 0; k < length; k++) {
        ppsched_op receive;
        bool goes_back = op[k].kind == PPSCHED_KIND_B || op[k].kind == PPSCHED_KIND_I;
        if (receive_of(at, d, &op[k], &receive) && !at->done[d][find(at, d, &receive)])
            return false;
        if (goes_back && !is_copied(run, d, &op[k], PPSCHED_KIND_RELOAD))
            return false;
        duration += duration_of(run, &op[k]);
    }
    blame_unit(run, d, position, length);
    blame(run, d, run->now, &run->idle[d].reload);
    run->has_computed[d] = true;
    at->position[d] += length;
    run->unit[d] = position;
    run->length[d] = length;
    run->left[d] = duration;
    bool slows = slowdown_of(run, d) > 1;
    run->free_at[d] = slows ? HUGE_VAL : run->now + duration;
    for (size_t k = 0; k < length; k++) {
        run->start[d][position + k] = run->now;
        run->end[d][position + k] = run->free_at[d];
    }
    if (slows)
        return true;
    run->clock[d] = run->now + duration;
    run->busy[d] += duration;
    return true;
}

static bool step_all(struct plain_run *run)
{
    bool progress = false;
    for (uint32_t d = 0; d < ppsched_schedule_devices(run->at.schedule); d++) {
        progress |= step_device(run, d);
        for (size_t i = 0; i < run->at.position[d]; i++) {
            const ppsched_op *op = &run->at.ops[d][i];
            progress |= is_comm(op) && (is_send(op) ? step_send(run, d, i) : step_receive(run, d, i));
        }
    }
    return progress;
}

/* The next moment at which something ends; infinite where nothing does. */
static double next_moment(const struct plain_run *run)
{
    double next = HUGE_VAL;
    for (uint32_t d = 0; d < ppsched_schedule_devices(run->at.schedule); d++) {
        if (run->free_at[d] > run->now)
            next = fmin(next,
                        run->free_at[d] < HUGE_VAL ? run->free_at[d] : run->now + run->left[d] * present_slowdown(run, d));
        for (size_t i = 0; i < run->at.position[d]; i++) {
            if (!run->started[d][i])
                continue;
            if (run->end[d][i] > run->now)
                next = fmin(next, run->end[d][i]);
            if (run->there[d][i] > run->now)
                next = fmin(next, run->there[d][i]);
        }
    }
    return next;
}

/* False where it hangs. */
static bool run_plainly(struct plain_run *run, const ppsched_schedule *schedule, const ppsched_config *config,
                        const ppsched_channel_model *model)
{
    memset(run, 0, sizeof *run);
    run->config = config;
    plain_start(&run->at, schedule, model);
    for (double next = 0; next < HUGE_VAL;) {
        work_until(run, next);
        run->now = next;
        open_iterations(run);
        do
            while (step_all(run))
                ;
        while (serve_all(run));
        next = next_moment(run);
    }
    for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++)
        for (size_t i = 0; i < run->at.count[d]; i++)
            if (i >= run->at.position[d] || (is_comm(&run->at.ops[d][i]) && !run->at.done[d][i]))
                return false;
    blame_ends(run);
    return true;
}

/* --- problems --- */

/* Times without small common multiples, so that hardly two things happen at once. */
static void set_odd_times(ppsched_config *config, uint64_t *seed)
{
    static const int32_t per_stage[] = {PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES,
                                        PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, PPSCHED_QUANTITY_ACTIVATION_BYTES,
                                        PPSCHED_QUANTITY_GRADIENT_BYTES};
    static const int32_t per_pair[] = {PPSCHED_QUANTITY_P2P_TIME, PPSCHED_QUANTITY_P2P_BANDWIDTH};
    double values[MOST_DEVICES * MOST_DEVICES];
    size_t stages = ppsched_config_stages(config), devices = ppsched_config_devices(config);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_BACKWARD_TIMES, NULL, 0, NULL), NULL);
    for (size_t k = 0; k < sizeof per_stage / sizeof per_stage[0]; k++) {
        for (size_t s = 0; s < stages; s++)
            values[s] = 1 + random_below(seed, 1000000) / 999983.0;
        if (per_stage[k] != PPSCHED_QUANTITY_GRADIENT_BYTES || random_below(seed, 2) == 0)
            expect_ok(ppsched_config_set_values(config, per_stage[k], values, stages, NULL), NULL);
    }
    for (size_t k = 0; k < sizeof per_pair / sizeof per_pair[0]; k++) {
        for (size_t i = 0; i < devices * devices; i++)
            values[i] = 0.1 + random_below(seed, 1000000) / 999979.0;
        expect_ok(ppsched_config_set_values(config, per_pair[k], values, devices * devices, NULL), NULL);
    }
}

static void expect_idle_adds_up(const ppsched_timeline *timeline)
{
    for (uint32_t d = 0; d < ppsched_schedule_devices(ppsched_timeline_schedule(timeline)); d++) {
        ppsched_idle idle = {.size = sizeof idle};
        double whole = device_metrics_of(timeline, d).idle, makespan = metrics_of(timeline).makespan;
        assert_int_equal(ppsched_timeline_get_idle(&idle, timeline, d, NULL), PPSCHED_OK);
        const double parts[] = {idle.fill, idle.drain,        idle.neighbour, idle.imbalance, idle.transfer,
                                idle.link, idle.head_of_line, idle.reload,    idle.calls};
        double sum = 0;
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
            assert_true(parts[i] >= -1e-12 * makespan);
            sum += parts[i];
        }
        if (fabs(sum - whole) > 1e-12 * makespan)
            fail_msg("device %u is idle for %.17g, its causes for %.17g", d, whole, sum);
    }
}

static struct {
    int fill, drain, neighbour, imbalance, transfer, link, head_of_line, reload, calls;
} seen; /* devices that wait so */

static void expect_same_cause(double told, double reckoned, const char *cause, const struct plain_run *run, uint32_t d,
                              int *count)
{
    *count += reckoned > 1e-6;
    if (fabs(told - reckoned) > 1e-9)
        fail_msg("order %d, rendezvous %u, batched %u, blocking %u: device %u: %s is %.12g, reckoned %.12g",
                 run->at.model->order, run->at.model->rendezvous, run->at.model->batched, run->at.model->blocking, d, cause,
                 told, reckoned);
}

static void expect_same_idle(const ppsched_timeline *timeline, const struct plain_run *run)
{
    for (uint32_t d = 0; d < ppsched_schedule_devices(run->at.schedule); d++) {
        const ppsched_idle *own = &run->idle[d];
        ppsched_idle idle = {.size = sizeof idle};
        assert_int_equal(ppsched_timeline_get_idle(&idle, timeline, d, NULL), PPSCHED_OK);
        expect_same_cause(idle.fill, own->fill, "fill", run, d, &seen.fill);
        expect_same_cause(idle.drain, own->drain, "drain", run, d, &seen.drain);
        expect_same_cause(idle.neighbour, own->neighbour, "neighbour", run, d, &seen.neighbour);
        expect_same_cause(idle.imbalance, own->imbalance, "imbalance", run, d, &seen.imbalance);
        expect_same_cause(idle.transfer, own->transfer, "transfer", run, d, &seen.transfer);
        expect_same_cause(idle.link, own->link, "edge", run, d, &seen.link);
        expect_same_cause(idle.head_of_line, own->head_of_line, "head_of_line", run, d, &seen.head_of_line);
        expect_same_cause(idle.reload, own->reload, "reload", run, d, &seen.reload);
        expect_same_cause(idle.calls, own->calls, "calls", run, d, &seen.calls);
    }
}

static void expect_same_spans(const ppsched_timeline *timeline, const struct plain_run *run, const char *what)
{
    for (uint32_t d = 0; d < ppsched_schedule_devices(run->at.schedule); d++) {
        size_t count = 0;
        const ppsched_span *spans = ppsched_timeline_spans(timeline, d, &count);
        for (size_t i = 0; i < count; i++)
            if (fabs(spans[i].start - run->start[d][i]) > 1e-9 || fabs(spans[i].end - run->end[d][i]) > 1e-9)
                fail_msg("%s, order %d, rendezvous %u, batched %u, blocking %u: device %u, op %zu (kind %d): %g to %g, plainly "
                         "%g to %g",
                         what, run->at.model->order, run->at.model->rendezvous, run->at.model->batched, run->at.model->blocking,
                         d, i, run->at.ops[d][i].kind, spans[i].start, spans[i].end, run->start[d][i], run->end[d][i]);
    }
}

/* --- tests --- */

static void test_asynchronous_without_bandwidth_is_the_plain_evaluation(void **state)
{
    uint64_t seed = 77;
    (void)state;
    for (int trial = 0; trial < ROUNDS(1500); trial++) {
        const char *strategy = NULL;
        ppsched_config *config = random_problem(&seed, &strategy);
        ppsched_error error;
        ppsched_timeline *timed = NULL;
        if (trial % 3 == 0) {
            set_odd_times(config, &seed);
            expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, NULL, 0, NULL), NULL);
        }
        expect_ok(ppsched_config_set_iterations(config, 1 + trial % 2 + (trial % 8 == 7), NULL), NULL);
        ppsched_schedule *schedule = make_schedule(config, strategy);
        int32_t lowering = 1 + (int32_t)random_below(&seed, 3);
        ppsched_schedule *lowered = lower(schedule, config, lowering, lowering == PPSCHED_LOWERING_PYTORCH && trial % 4 == 0);
        ppsched_timeline *plain = make_timeline(lowered, config);
        expect_ok(ppsched_schedule_evaluate_transfers(&timed, lowered, config, NULL, 0, &error), &error);
        for (uint32_t d = 0; d < ppsched_schedule_devices(lowered); d++) {
            size_t count = 0;
            const ppsched_span *a = ppsched_timeline_spans(plain, d, &count), *b = ppsched_timeline_spans(timed, d, &count);
            const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(lowered, d), &count);
            ppsched_idle ours = {.size = sizeof ours}, theirs = {.size = sizeof theirs};
            for (size_t i = 0; i < count; i++)
                if (!is_comm(&ops[i]) && memcmp(&a[i], &b[i], sizeof *a) != 0)
                    fail_msg("%s, trial %d: device %u, op %zu: %.17g, but %.17g", strategy, trial, d, i, a[i].start,
                             b[i].start);
            assert_int_equal(ppsched_timeline_get_idle(&ours, plain, d, NULL), PPSCHED_OK);
            assert_int_equal(ppsched_timeline_get_idle(&theirs, timed, d, NULL), PPSCHED_OK);
            assert_memory_equal(&ours, &theirs, sizeof ours);
        }
        ppsched_metrics ours = metrics_of(plain), theirs = metrics_of(timed);
        assert_memory_equal(&ours, &theirs, sizeof ours);
        expect_idle_adds_up(plain);
        ppsched_timeline_destroy(timed);
        ppsched_timeline_destroy(plain);
        ppsched_schedule_release(lowered);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
}

static void check_model(const ppsched_schedule *lowered, const ppsched_config *config, const ppsched_channel_model *model,
                        const char *what, int *hung)
{
    static struct plain_run run;
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    bool ends = run_plainly(&run, lowered, config, model);
    ppsched_status status = ppsched_schedule_evaluate_transfers(&timeline, lowered, config, model, 0, &error);
    assert_int_equal(ppsched_schedule_prove(NULL, 0, NULL, lowered, model, NULL), status);
    assert_int_equal(status, ends ? PPSCHED_OK : PPSCHED_ERROR_INVALID_SCHEDULE);
    *hung += !ends;
    if (!ends) {
        assert_null(timeline);
        return;
    }
    expect_same_spans(timeline, &run, what);
    expect_same_idle(timeline, &run);
    expect_idle_adds_up(timeline);
    ppsched_timeline_destroy(timeline);
}

static void check_models(const ppsched_schedule *lowered, const ppsched_config *config, const char *what, int *runs, int *hung)
{
    for (int32_t order = PPSCHED_CHANNEL_ORDER_GROUP; order <= PPSCHED_CHANNEL_ORDER_SENDS; order++)
        for (uint32_t bits = 0; bits < 8; bits++, ++*runs) {
            ppsched_channel_model model = {
                .size = sizeof model, .order = order, .rendezvous = bits % 2, .batched = bits / 2 % 2, .blocking = bits / 4};
            check_model(lowered, config, &model, what, hung);
        }
}

static bool has_other_queues(const char *strategy)
{
    return strcmp(strategy, "dualpipe") == 0 || strcmp(strategy, "looped_bfs") == 0;
}

static void test_every_model_equals_a_plain_run(void **state)
{
    uint64_t seed = 4;
    int hung = 0, runs = 0;
    (void)state;
    for (int trial = 0; trial < ROUNDS(300); trial++) {
        const char *strategy = NULL;
        ppsched_config *config = random_problem(&seed, &strategy);
        if (ppsched_config_microbatches(config) > 8 || has_other_queues(strategy)) {
            ppsched_config_destroy(config);
            continue;
        }
        set_odd_times(config, &seed);
        ppsched_schedule *schedule = make_schedule(config, strategy);
        expect_ok(ppsched_config_set_placement(config, ppsched_schedule_placement(schedule), NULL, 0, NULL), NULL);
        ppsched_schedule *lowered = lower(schedule, config, 1 + (int32_t)random_below(&seed, 3), 0);
        const ppsched_schedule *other = trial % 2 == 0 ? shuffled(lowered, config, &seed) : ppsched_schedule_retain(lowered);
        check_models(other, config, strategy, &runs, &hung);
        ppsched_schedule_release(other);
        ppsched_schedule_release(lowered);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
    print_message("# %d runs, %d of them hang\n", runs, hung);
    assert_true(seen.transfer > ROUNDS(1000) && seen.link > ROUNDS(200) && seen.head_of_line > ROUNDS(1000));
    assert_true(runs > ROUNDS(3000) && hung > ROUNDS(300) && hung < runs / 2);
}

/* Calls of other lengths on each device, of none on some, in one iteration or two that are apart. */
static void test_calls_in_every_model(void **state)
{
    uint64_t seed = 91;
    int hung = 0, runs = 0, apart = 0, pairs = 0;
    (void)state;
    for (int trial = 0; trial < ROUNDS(300); trial++) {
        const char *strategy = NULL;
        ppsched_config *config = random_problem(&seed, &strategy);
        uint32_t devices = ppsched_config_devices(config), microbatches = ppsched_config_microbatches(config);
        bool has_pairs = strstr(strategy, "dualpipe") != NULL || strstr(strategy, "overlap") != NULL;
        double calls[MOST_DEVICES];
        if (devices == 1 || devices > 4 || microbatches > (has_pairs ? 8 : 3)) {
            ppsched_config_destroy(config);
            continue;
        }
        set_odd_times(config, &seed);
        for (size_t d = 0; d < devices; d++)
            calls[d] = random_below(&seed, 4) == 0 ? 0 : random_below(&seed, 1000000) / (trial % 3 == 0 ? 999983.0 : 9999971.0);
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_SEND_OVERHEAD, calls, devices, NULL), NULL);
        expect_ok(ppsched_config_set_iterations(config, 1 + trial % 2 + (trial % 8 == 7), NULL), NULL);
        ppsched_schedule *schedule = make_schedule(config, strategy);
        expect_ok(ppsched_config_set_placement(config, ppsched_schedule_placement(schedule), NULL, 0, NULL), NULL);
        apart += trial % 2 == 1 && ppsched_schedule_flushes(schedule);
        pairs += has_pairs;
        ppsched_schedule *lowered = trial % 5 == 0 ? lower_ahead(schedule, 1 + random_below(&seed, 3))
                                                   : lower(schedule, config, 1 + (int32_t)random_below(&seed, 3), 0);
        const ppsched_schedule *other = trial % 4 == 2 && !has_other_queues(strategy) ? shuffled(lowered, config, &seed)
                                                                                      : ppsched_schedule_retain(lowered);
        check_models(other, config, strategy, &runs, &hung);
        ppsched_schedule_release(other);
        ppsched_schedule_release(lowered);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
    print_message("# %d runs, %d of them hang; %d schedules of iterations that are apart, %d with pairs; %d devices called\n",
                  runs, hung, apart, pairs, seen.calls);
    assert_true(runs > ROUNDS(1000) && hung > ROUNDS(50) && apart > ROUNDS(5) && pairs > ROUNDS(5) &&
                seen.calls > ROUNDS(1000));
}

/* Copies of uneven times on links that devices share, passes that are recomputed. NULL where no copies hold the limit. */
static ppsched_schedule *saving_less(ppsched_config *config, const char *strategy, uint64_t *seed)
{
    static const int32_t times[] = {PPSCHED_QUANTITY_RECOMPUTE_TIMES, PPSCHED_QUANTITY_OFFLOAD_TIMES,
                                    PPSCHED_QUANTITY_RELOAD_TIMES};
    size_t stages = ppsched_config_stages(config), devices = ppsched_config_devices(config);
    double values[512], links[MOST_DEVICES];
    for (size_t k = 0; k < sizeof times / sizeof times[0]; k++) {
        for (size_t s = 0; s < stages; s++)
            values[s] = 0.1 + random_below(seed, 2000000) / 999961.0;
        expect_ok(ppsched_config_set_values(config, times[k], values, stages, NULL), NULL);
    }
    for (size_t d = 0; d < devices; d++)
        links[d] = random_below(seed, (uint32_t)devices);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_HOST_LINK, links, devices, NULL), NULL);
    ppsched_schedule *whole = make_schedule(config, strategy), *schedule = NULL;
    ppsched_timeline *timeline = make_timeline(whole, config);
    expect_ok(ppsched_config_set_placement(config, ppsched_schedule_placement(whole), NULL, 0, NULL), NULL);
    uint32_t draw = random_below(seed, 4);
    const ppsched_recompute_options recompute = {.size = sizeof recompute, .chunks = 1};
    const ppsched_offload_options offload = {.size = sizeof offload, .chunks = random_below(seed, 3), .until_limit = draw == 1};
    double limit = metrics_of(timeline).peak_memory * 0.7;
    if (draw == 1)
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, &limit, 1, NULL), NULL);
    ppsched_status status = draw == 0 ? ppsched_schedule_recompute(&schedule, whole, &recompute, NULL)
                                      : ppsched_schedule_offload(&schedule, whole, config, &offload, NULL);
    assert_true(status == PPSCHED_OK || status == PPSCHED_ERROR_REFUSED);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(whole);
    return schedule;
}

static void test_copies_beside_every_model(void **state)
{
    uint64_t seed = 23, slow_seed = 8;
    int hung = 0, runs = 0;
    (void)state;
    for (int trial = 0; trial < ROUNDS(300); trial++) {
        const char *strategy = NULL;
        ppsched_config *config = random_problem(&seed, &strategy);
        if (ppsched_config_microbatches(config) > 8) {
            ppsched_config_destroy(config);
            continue;
        }
        set_odd_times(config, &seed);
        ppsched_schedule *schedule = saving_less(config, strategy, &seed);
        if (schedule == NULL) {
            ppsched_config_destroy(config);
            continue;
        }
        double slowdowns[MOST_DEVICES];
        for (size_t d = 0; d < ppsched_config_devices(config); d++)
            slowdowns[d] = random_below(&slow_seed, 4) == 0 ? HUGE_VAL : 1 + random_below(&slow_seed, 3) / 1.9;
        if (trial % 2 == 0)
            expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_COPY_SLOWDOWN, slowdowns,
                                                ppsched_config_devices(config), NULL),
                      NULL);
        ppsched_schedule *lowered = lower(schedule, config, 1 + (int32_t)random_below(&seed, 3), 0);
        check_models(lowered, config, strategy, &runs, &hung);
        ppsched_schedule_release(lowered);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
    print_message("# %d runs, %d of them hang; %d copies, %d devices waited for one, %d times one was slowed\n", runs, hung,
                  seen_copies, seen.reload, seen_slowed);
    assert_true(runs > ROUNDS(2000) && seen_slowed > ROUNDS(10000) && seen_copies > ROUNDS(20000) &&
                seen.reload > ROUNDS(1000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asynchronous_without_bandwidth_is_the_plain_evaluation),
        cmocka_unit_test(test_every_model_equals_a_plain_run),
        cmocka_unit_test(test_calls_in_every_model),
        cmocka_unit_test(test_copies_beside_every_model),
    };
    return cmocka_run_group_tests_name("transfer sweep", tests, NULL, NULL);
}
