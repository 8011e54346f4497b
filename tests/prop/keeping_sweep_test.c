/* SPDX-License-Identifier: Apache-2.0 */
/* RECOMPUTE, OFFLOAD, OFFLOAD_WAIT and RELOAD at random places of random uneven schedules, against a machine that goes from
 * tick to tick and looks at every device, every copy and every link at each: all times, all peaks, busy time, and that idle
 * causes sum up. The critical path. The same lowered. And what ppsched_schedule_offload promises of them. */
#include "support/problem.h"
#include "support/rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 6, STAGES = 18, PASSES = 1200, OPS = 5 * PASSES, CASES = ROUNDS(5000), TICKS = 4 /* of a unit of time */ };

/* --- problems --- */

struct problem {
    uint32_t devices, stages, total;
    int32_t times[7][STAGES], p2p, link[DEVICES]; /* in ticks, by kind; 5 OFFLOAD, 6 RELOAD, 0 RECOMPUTE */
    int stands[DEVICES];                          /* while a copy of it runs */
    double whole[STAGES], freed[STAGES], moved[STAGES], kept[STAGES];
    ppsched_config *config;
    ppsched_schedule *schedule;
};

static void set_list(ppsched_config *config, int32_t quantity, const double *values, size_t count)
{
    ppsched_error error;
    expect_ok(ppsched_config_set_values(config, quantity, values, count, &error), &error);
}

static void set_times(struct problem *p, uint64_t *seed, int32_t quantity, int kind, uint32_t most)
{
    double values[STAGES];
    for (uint32_t s = 0; s < p->stages; s++) {
        p->times[kind][s] = 1 + (int32_t)random_below(seed, most);
        values[s] = p->times[kind][s] / (double)TICKS;
    }
    set_list(p->config, quantity, values, p->stages);
}

static void draw_memory(struct problem *p, uint64_t *seed)
{
    double minus[STAGES];
    for (uint32_t s = 0; s < p->stages; s++) {
        p->whole[s] = 1 + random_below(seed, 4) / 2.0;
        p->freed[s] = random_below(seed, 3) / 4.0;
        p->moved[s] = random_below(seed, 2) ? p->whole[s] : p->whole[s] / 2;
        p->kept[s] = random_below(seed, 3) / 4.0;
        minus[s] = -p->freed[s];
    }
    set_list(p->config, PPSCHED_QUANTITY_MEM_FORWARD, p->whole, p->stages);
    set_list(p->config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, minus, p->stages);
    set_list(p->config, PPSCHED_QUANTITY_MEM_OFFLOAD, p->moved, p->stages);
    set_list(p->config, PPSCHED_QUANTITY_MEM_RECOMPUTE, p->kept, p->stages);
}

static void draw_costs(struct problem *p, uint64_t *seed)
{
    double links[DEVICES];
    set_times(p, seed, PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_KIND_F, 8);
    set_times(p, seed, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, PPSCHED_KIND_I, 8);
    set_times(p, seed, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, PPSCHED_KIND_W, 8);
    set_times(p, seed, PPSCHED_QUANTITY_RECOMPUTE_TIMES, 0, 8);
    set_times(p, seed, PPSCHED_QUANTITY_OFFLOAD_TIMES, 5, 12);
    set_times(p, seed, PPSCHED_QUANTITY_RELOAD_TIMES, 6, 12);
    for (uint32_t s = 0; s < p->stages; s++)
        p->times[PPSCHED_KIND_B][s] = p->times[PPSCHED_KIND_I][s] + p->times[PPSCHED_KIND_W][s];
    p->p2p = (int32_t)random_below(seed, 4);
    set_number(p->config, PPSCHED_QUANTITY_P2P_TIME, p->p2p / (double)TICKS);
    for (uint32_t d = 0; d < p->devices; d++) {
        p->link[d] = (int32_t)random_below(seed, p->devices);
        links[d] = p->link[d];
    }
    set_list(p->config, PPSCHED_QUANTITY_HOST_LINK, links, p->devices);
    draw_memory(p, seed);
}

/* Some devices stand still while copies run, or are slowed by `slowdown`. */
static void draw_slowdown(struct problem *p, uint64_t *seed, double slowdown)
{
    double values[DEVICES];
    for (uint32_t d = 0; d < p->devices; d++) {
        p->stands[d] = random_below(seed, 3) > 0;
        values[d] = p->stands[d] ? slowdown : 1;
    }
    set_list(p->config, PPSCHED_QUANTITY_COPY_SLOWDOWN, values, p->devices);
}

/* Ops to be put before a unit. */
struct insertion {
    size_t before;
    ppsched_op op;
};

static int is_backward(const ppsched_op *op)
{
    return op->kind == PPSCHED_KIND_B || op->kind == PPSCHED_KIND_I;
}

static size_t unit_of(const ppsched_op *ops, size_t i)
{
    return i > 0 && ops[i - 1].flags != 0 ? i - 1 : i;
}

/* A place between two units, behind the first and no later than before the last. */
static size_t draw_place(uint64_t *seed, const ppsched_op *ops, size_t after, size_t last)
{
    size_t i = after + random_below(seed, (uint32_t)(last - after) + 1);
    return unit_of(ops, i) < after ? after : unit_of(ops, i);
}

static size_t draw_insertions(struct insertion *out, uint64_t *seed, const ppsched_op *ops, size_t count)
{
    size_t filled = 0;
    for (size_t f = 0; f < count; f++) {
        uint32_t draw = random_below(seed, 4);
        size_t b = f;
        if (ops[f].kind != PPSCHED_KIND_F || draw == 0)
            continue;
        while (!(is_backward(&ops[b]) && ops[b].stage == ops[f].stage && ops[b].microbatch == ops[f].microbatch))
            b++;
        size_t first = unit_of(ops, f) + (ops[unit_of(ops, f)].flags != 0 ? 2 : 1), last = unit_of(ops, b);
        size_t place = draw_place(seed, ops, first, last);
        ppsched_op op = {.microbatch = ops[f].microbatch, .stage = ops[f].stage, .kind = PPSCHED_KIND_RECOMPUTE};
        if (draw > 1)
            op.kind = PPSCHED_KIND_OFFLOAD;
        out[filled++] = (struct insertion){place, op};
        op.kind = PPSCHED_KIND_OFFLOAD_WAIT;
        if (draw > 1 && random_below(seed, 2))
            out[filled++] = (struct insertion){draw_place(seed, ops, place, last), op};
        op.kind = PPSCHED_KIND_RELOAD;
        if (draw > 1)
            out[filled++] = (struct insertion){draw_place(seed, ops, place, last), op};
    }
    return filled;
}

static ppsched_schedule *keep_less(const ppsched_schedule *plain, const ppsched_config *config, uint64_t *seed)
{
    static struct insertion insertions[OPS];
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    ppsched_builder_set_flushes(builder, ppsched_schedule_flushes(plain), NULL);
    for (uint32_t d = 0; d < ppsched_schedule_devices(plain); d++) {
        size_t count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(plain, d), &count);
        size_t filled = draw_insertions(insertions, seed, ops, count);
        for (size_t i = 0; i < count; i++) {
            for (size_t k = 0; k < filled; k++)
                if (insertions[k].before == i)
                    expect_ok(ppsched_builder_append(builder, d, &insertions[k].op, 1, &error), &error);
            size_t length = ops[i].flags != 0 ? 2 : 1;
            expect_ok(ppsched_builder_append(builder, d, &ops[i], length, &error), &error);
            i += length - 1;
        }
    }
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    ppsched_builder_destroy(builder);
    return schedule;
}

static const struct {
    const char *name;
    uint32_t chunks, even;
    int32_t placement;
} strategies[] = {{"1f1b", 1, 0, PPSCHED_PLACEMENT_LINEAR},
                  {"zb_h1", 1, 0, PPSCHED_PLACEMENT_LINEAR},
                  {"gis", 2, 0, PPSCHED_PLACEMENT_LOOP},
                  {"gis", 3, 0, PPSCHED_PLACEMENT_LOOP},
                  {"interleaved_zb", 3, 1, PPSCHED_PLACEMENT_LOOP},
                  {"zbv", 2, 0, PPSCHED_PLACEMENT_V},
                  {"dualpipe_v", 2, 2, PPSCHED_PLACEMENT_V}};

static void draw(struct problem *p, uint64_t *seed)
{
    uint32_t k = random_below(seed, sizeof strategies / sizeof strategies[0]);
    uint32_t devices = 1 + random_below(seed, DEVICES), microbatches = 1 + random_below(seed, 9);
    ppsched_error error;
    if (strategies[k].even == 1)
        microbatches = devices * (1 + random_below(seed, 2));
    if (strategies[k].even == 2)
        microbatches += 2 * devices;
    *p = (struct problem){.devices = devices, .stages = devices * strategies[k].chunks};
    p->config = make_config(devices, p->stages, microbatches);
    uint32_t iterations = 1 + random_below(seed, 2);
    expect_ok(ppsched_config_set_iterations(p->config, iterations, &error), &error);
    p->total = iterations * microbatches;
    draw_costs(p, seed);
    ppsched_schedule *plain = make_schedule(p->config, strategies[k].name);
    expect_ok(ppsched_config_set_placement(p->config, strategies[k].placement, NULL, 0, &error), &error);
    p->schedule = keep_less(plain, p->config, seed);
    ppsched_schedule_release(plain);
}

/* --- the machine --- */

/* Everything that a stage pass does, in ticks; -1: not yet. */
struct pass {
    int32_t forward, backward;            /* ends */
    int32_t asked[2], starts[2], ends[2]; /* of OFFLOAD and of RELOAD */
    int has[2], recomputes, is_recomputed;
};

struct machine {
    const struct problem *p;
    struct pass passes[STAGES][PASSES];
    const ppsched_op *ops[DEVICES];
    size_t count[DEVICES], at[DEVICES];
    int32_t start[DEVICES][OPS], end[DEVICES][OPS], free[DEVICES], busy[DEVICES];
    int32_t link_free[2][DEVICES], copies_until[DEVICES];
    double level[DEVICES], peak[DEVICES];
    struct height {
        int32_t tick;
        double level;
    } curve[DEVICES][2 * OPS]; /* from each tick on that changed it */
    size_t curve_count[DEVICES];
    uint32_t flushed, left; /* iterations that may run; compute ops left of the last of them */
};

static struct pass *pass_of(struct machine *m, const ppsched_op *op)
{
    return &m->passes[op->stage][op->microbatch];
}

static int32_t op_ticks(const struct machine *m, const ppsched_op *op)
{
    return m->p->times[op->kind == PPSCHED_KIND_RECOMPUTE ? 0 : op->kind][op->stage];
}

static int is_there(const struct machine *m, uint32_t d, const ppsched_op *op, uint32_t from_stage, int32_t end, int32_t now)
{
    int32_t delay = ppsched_schedule_device_of(m->p->schedule, from_stage, op->microbatch) == d ? 0 : m->p->p2p;
    return end >= 0 && end + delay <= now;
}

static int may_start(struct machine *m, uint32_t d, const ppsched_op *op, int32_t now)
{
    struct pass *pass = pass_of(m, op);
    if (op->microbatch / ppsched_schedule_microbatches(m->p->schedule) >= m->flushed)
        return 0;
    if (op->kind == PPSCHED_KIND_F)
        return op->stage == 0 || is_there(m, d, op, op->stage - 1u, m->passes[op->stage - 1][op->microbatch].forward, now);
    if (!is_backward(op))
        return 1;
    if (pass->recomputes && !pass->is_recomputed)
        return 0;
    if (pass->has[1] && !(pass->ends[1] >= 0 && pass->ends[1] <= now))
        return 0;
    return op->stage + 1u == m->p->stages ||
           is_there(m, d, op, op->stage + 1u, m->passes[op->stage + 1][op->microbatch].backward, now);
}

/* Starts what a device can start now; whether it did. */
static int start_unit(struct machine *m, uint32_t d, int32_t now)
{
    if (m->free[d] > now || m->at[d] == m->count[d])
        return 0;
    const ppsched_op *op = &m->ops[d][m->at[d]];
    size_t length = op->flags != 0 ? 2 : 1;
    int32_t ticks = 0;
    for (size_t k = 0; k < length; k++)
        if (!may_start(m, d, &op[k], now))
            return 0;
    if (op->kind == PPSCHED_KIND_OFFLOAD || op->kind == PPSCHED_KIND_RELOAD) {
        pass_of(m, op)->asked[op->kind == PPSCHED_KIND_RELOAD] = now;
        m->at[d]++;
        return 1;
    }
    if (op->kind == PPSCHED_KIND_OFFLOAD_WAIT) {
        const struct pass *pass = pass_of(m, op);
        if (pass->ends[0] < 0 || pass->ends[0] > now)
            return 0;
        m->start[d][m->at[d]] = m->free[d];
        m->end[d][m->at[d]++] = m->free[d] = now;
        return 1;
    }
    for (size_t k = 0; k < length; k++)
        ticks += op_ticks(m, &op[k]);
    for (size_t k = 0; k < length; k++) {
        struct pass *pass = pass_of(m, &op[k]);
        m->start[d][m->at[d] + k] = now;
        m->end[d][m->at[d] + k] = now + ticks;
        if (op[k].kind == PPSCHED_KIND_F)
            m->level[d] += pass->recomputes ? m->p->kept[op[k].stage] : m->p->whole[op[k].stage];
        if (op[k].kind == PPSCHED_KIND_RECOMPUTE) {
            m->level[d] += m->p->whole[op[k].stage] - m->p->kept[op[k].stage];
            pass->is_recomputed = 1;
        } else {
            m->left--;
        }
    }
    m->at[d] += length;
    m->free[d] = now + ticks;
    m->busy[d] += ticks;
    return 1;
}

static void end_ops(struct machine *m, uint32_t d, int32_t now)
{
    for (size_t i = 0; i < m->at[d]; i++) {
        const ppsched_op *op = &m->ops[d][i];
        struct pass *pass = pass_of(m, op);
        if (m->end[d][i] != now || op->kind > PPSCHED_KIND_W)
            continue;
        if (op->kind == PPSCHED_KIND_F)
            pass->forward = now;
        if (is_backward(op))
            pass->backward = now;
        if (op->kind == PPSCHED_KIND_B)
            m->level[d] -= m->p->whole[op->stage];
        if (op->kind == PPSCHED_KIND_I)
            m->level[d] -= m->p->freed[op->stage];
        if (op->kind == PPSCHED_KIND_W)
            m->level[d] -= m->p->whole[op->stage] - m->p->freed[op->stage];
    }
}

static void end_copies(struct machine *m, uint32_t d, int32_t now)
{
    for (size_t i = 0; i < m->at[d]; i++)
        if (m->ops[d][i].kind == PPSCHED_KIND_OFFLOAD && pass_of(m, &m->ops[d][i])->ends[0] == now)
            m->level[d] -= m->p->moved[m->ops[d][i].stage];
}

/* The copy of one way that a device's stream would run next, if it may now; and since when it might have. */
static const ppsched_op *next_copy(struct machine *m, uint32_t d, int path, int32_t now, int32_t *since)
{
    int32_t last = 0;
    for (size_t i = 0; i < m->at[d]; i++) {
        const ppsched_op *op = &m->ops[d][i];
        struct pass *pass = pass_of(m, op);
        if (op->kind != (path ? PPSCHED_KIND_RELOAD : PPSCHED_KIND_OFFLOAD))
            continue;
        if (pass->starts[path] >= 0) {
            last = pass->ends[path];
            continue;
        }
        *since = pass->asked[path] > last ? pass->asked[path] : last;
        if (path && pass->ends[0] < 0)
            return NULL;
        if (path && pass->ends[0] > *since)
            *since = pass->ends[0];
        return *since <= now ? op : NULL;
    }
    return NULL;
}

/* A link that is free serves who has waited longest, the lower device first. */
static void serve(struct machine *m, int path, int32_t link, int32_t now)
{
    const ppsched_op *best = NULL;
    int32_t best_since = 0;
    uint32_t device = 0;
    if (m->link_free[path][link] > now)
        return;
    for (uint32_t d = 0; d < m->p->devices; d++) {
        int32_t since = 0;
        const ppsched_op *op = m->p->link[d] == link ? next_copy(m, d, path, now, &since) : NULL;
        if (op != NULL && (best == NULL || since < best_since)) {
            best = op;
            best_since = since;
            device = d;
        }
    }
    if (best == NULL)
        return;
    struct pass *pass = pass_of(m, best);
    size_t i = (size_t)(best - m->ops[device]);
    pass->starts[path] = m->start[device][i] = now;
    pass->ends[path] = m->end[device][i] = m->link_free[path][link] = now + m->p->times[5 + path][best->stage];
    m->copies_until[device] = pass->ends[path] > m->copies_until[device] ? pass->ends[path] : m->copies_until[device];
    if (path)
        m->level[device] += m->p->moved[best->stage];
}

static uint32_t stood; /* ticks in which a device stood still */

/* A device that computes, and stands still while a copy of its runs, ends a tick later. */
static void stand_still(struct machine *m, uint32_t d, int32_t now)
{
    if (!m->p->stands[d] || m->free[d] <= now || m->copies_until[d] <= now)
        return;
    for (size_t i = m->at[d];
         i-- > 0 &&
         (m->ops[d][i].kind > PPSCHED_KIND_W && m->ops[d][i].kind != PPSCHED_KIND_RECOMPUTE ? 1 : m->end[d][i] == m->free[d]);)
        if (m->ops[d][i].kind <= PPSCHED_KIND_W || m->ops[d][i].kind == PPSCHED_KIND_RECOMPUTE)
            m->end[d][i]++;
    m->free[d]++;
    m->busy[d]++;
    stood++;
}

static void note_level(struct machine *m, uint32_t d, int32_t now)
{
    size_t count = m->curve_count[d];
    m->peak[d] = fmax(m->peak[d], m->level[d]);
    if (m->level[d] == (count > 0 ? m->curve[d][count - 1].level : 0))
        return;
    assert_true(count < 2 * OPS);
    m->curve[d][m->curve_count[d]++] = (struct height){now, m->level[d]};
}

static int is_over(const struct machine *m, int32_t now)
{
    for (uint32_t d = 0; d < m->p->devices; d++)
        if (m->at[d] < m->count[d] || m->free[d] > now)
            return 0;
    return 1;
}

static uint32_t ops_of_iteration(const struct machine *m)
{
    uint32_t count = 0, microbatches = ppsched_schedule_microbatches(m->p->schedule);
    for (uint32_t d = 0; d < m->p->devices; d++)
        for (size_t i = 0; i < m->count[d]; i++)
            count += m->ops[d][i].kind <= PPSCHED_KIND_W && m->ops[d][i].microbatch / microbatches == m->flushed;
    return count;
}

static void begin(struct machine *m, const struct problem *p)
{
    memset(m, 0, sizeof *m);
    memset(m->end, -1, sizeof m->end);
    m->p = p;
    for (uint32_t s = 0; s < p->stages; s++)
        for (uint32_t k = 0; k < p->total; k++)
            m->passes[s][k] = (struct pass){-1, -1, {-1, -1}, {-1, -1}, {-1, -1}, {0, 0}, 0, 0};
    for (uint32_t d = 0; d < p->devices; d++) {
        m->ops[d] = ppsched_queue_ops(ppsched_schedule_queue(p->schedule, d), &m->count[d]);
        for (size_t i = 0; i < m->count[d]; i++) {
            struct pass *pass = pass_of(m, &m->ops[d][i]);
            pass->recomputes |= m->ops[d][i].kind == PPSCHED_KIND_RECOMPUTE;
            pass->has[0] |= m->ops[d][i].kind == PPSCHED_KIND_OFFLOAD;
            pass->has[1] |= m->ops[d][i].kind == PPSCHED_KIND_RELOAD;
        }
    }
    m->left = ops_of_iteration(m);
    m->flushed = 1;
}

/* The next iteration begins where all of the one before is over. */
static void flush(struct machine *m, int32_t now)
{
    int32_t last = 0;
    for (uint32_t d = 0; d < m->p->devices; d++)
        last = m->free[d] > last ? m->free[d] : last;
    if (m->left > 0 || last > now || m->flushed == ppsched_schedule_iterations(m->p->schedule))
        return;
    m->left = ops_of_iteration(m);
    m->flushed++;
}

static int32_t run_machine(struct machine *m)
{
    int32_t now = 0;
    for (;; now++) {
        int moved = 1;
        assert_true(now < 1000000);
        for (uint32_t d = 0; d < m->p->devices; d++) {
            end_ops(m, d, now);
            end_copies(m, d, now);
        }
        flush(m, now);
        while (moved) {
            moved = 0;
            for (uint32_t d = 0; d < m->p->devices; d++)
                moved |= start_unit(m, d, now);
        }
        for (int path = 0; path < 2; path++)
            for (int32_t link = 0; link < (int32_t)m->p->devices; link++)
                serve(m, path, link, now);
        for (uint32_t d = 0; d < m->p->devices; d++) {
            note_level(m, d, now);
            stand_still(m, d, now);
        }
        if (is_over(m, now))
            return now;
    }
}

/* --- comparison --- */

static int is_compute(const ppsched_op *op)
{
    return op->kind >= PPSCHED_KIND_F && op->kind <= PPSCHED_KIND_W;
}

/* When all ops of the iterations before one are over, in ticks. */
static int32_t end_before(const struct machine *m, uint32_t iteration)
{
    uint32_t first = iteration * ppsched_schedule_microbatches(m->p->schedule);
    int32_t last = 0;
    for (uint32_t d = 0; d < m->p->devices; d++)
        for (size_t i = 0; i < m->count[d]; i++)
            if (m->ops[d][i].microbatch < first && (is_compute(&m->ops[d][i]) || m->ops[d][i].kind == PPSCHED_KIND_RECOMPUTE))
                last = m->end[d][i] > last ? m->end[d][i] : last;
    return last;
}

/* When what an op takes from another device or its own was made, and when it is there; -1: it takes nothing. */
static void take_input(const struct machine *m, uint32_t d, const ppsched_op *op, int32_t *made, int32_t *there)
{
    int32_t end = -1;
    uint32_t from = op->kind == PPSCHED_KIND_F ? op->stage - 1u : op->stage + 1u;
    if (op->kind == PPSCHED_KIND_F && op->stage > 0)
        end = m->passes[from][op->microbatch].forward;
    else if (is_backward(op) && from < m->p->stages)
        end = m->passes[from][op->microbatch].backward;
    if (end < 0)
        return;
    int32_t comes = end + (ppsched_schedule_device_of(m->p->schedule, from, op->microbatch) == d ? 0 : m->p->p2p);
    if (comes > *there) {
        *made = end;
        *there = comes;
    }
}

static int32_t within(int32_t time, int32_t low, int32_t high)
{
    return time < low ? low : time > high ? high : time;
}

/* A device's waits by cause, in ticks: until the last of a unit's inputs is made, until it is there, and from then on for
 * copies; and for the others at the end of an iteration. */
struct causes {
    int32_t neighbour, transfer, reload, drain;
};

static struct causes reckon_causes(const struct machine *m, uint32_t d, int32_t over)
{
    struct causes causes = {0, 0, 0, 0};
    uint32_t iteration = 0;
    int32_t clock = 0;
    for (size_t i = 0, length; i < m->count[d]; i += length) {
        const ppsched_op *op = &m->ops[d][i];
        int32_t made = 0, there = 0, start = m->start[d][i];
        length = op->flags != 0 ? 2 : 1;
        if (!is_compute(op) && op->kind != PPSCHED_KIND_RECOMPUTE)
            continue;
        for (; op->microbatch / ppsched_schedule_microbatches(m->p->schedule) > iteration; iteration++) {
            int32_t end = end_before(m, iteration + 1);
            causes.drain += end - clock;
            clock = end;
        }
        for (size_t k = 0; k < length; k++)
            take_input(m, d, &op[k], &made, &there);
        made = within(made, clock, start);
        there = within(there, clock, start);
        causes.neighbour += made - clock;
        causes.transfer += there - made;
        causes.reload += start - there;
        clock = m->end[d][i];
    }
    causes.drain += over - clock;
    return causes;
}

static void compare_causes(const struct machine *m, const ppsched_timeline *timeline, uint32_t d, int number)
{
    ppsched_idle idle = {.size = sizeof idle};
    int32_t over = (int32_t)(metrics_of(timeline).makespan * TICKS);
    struct causes own = reckon_causes(m, d, over);
    expect_ok(ppsched_timeline_get_idle(&idle, timeline, d, NULL), NULL);
    double neighbour = (idle.fill + idle.neighbour + idle.imbalance) * TICKS;
    if (fabs(neighbour - own.neighbour) > 1e-6 || fabs(idle.transfer * TICKS - own.transfer) > 1e-6 ||
        fabs(idle.reload * TICKS - own.reload) > 1e-6 || fabs(idle.drain * TICKS - own.drain) > 1e-6)
        fail_msg("case %d, device %u: waits for others %g, transfers %g, copies %g, drain %g; expected %d, %d, %d, %d", number,
                 d, neighbour, idle.transfer * TICKS, idle.reload * TICKS, idle.drain * TICKS, own.neighbour, own.transfer,
                 own.reload, own.drain);
}

/* Between any two ticks the device holds what the machine does; at one tick much may come and go. */
static void compare_curve(const struct machine *m, const ppsched_timeline *timeline, uint32_t d, int number)
{
    static ppsched_memory_point points[2 * OPS];
    size_t count = 0, k = 0;
    double level = 0;
    ppsched_error error;
    expect_ok(ppsched_timeline_get_memory(points, 2 * OPS, &count, timeline, d, &error), &error);
    for (size_t i = 0; i < count; i++) {
        if ((i + 1 < count && points[i + 1].time == points[i].time) || points[i].memory == level)
            continue;
        level = points[i].memory;
        if (k == m->curve_count[d] || points[i].time * TICKS != m->curve[d][k].tick || level != m->curve[d][k].level)
            fail_msg("case %d, device %u: holds %g from %g on, change %zu of %zu", number, d, level, points[i].time, k,
                     m->curve_count[d]);
        k++;
    }
    assert_int_equal(k, m->curve_count[d]);
}

static void compare_device(const struct machine *m, const ppsched_timeline *timeline, uint32_t d, int number)
{
    const ppsched_span *spans = ppsched_timeline_spans(timeline, d, NULL);
    ppsched_device_metrics figures = device_metrics_of(timeline, d);
    ppsched_idle idle = {.size = sizeof idle};
    ppsched_error error;
    for (size_t i = 0; i < m->count[d]; i++) {
        char token[64] = "";
        ppsched_op_write_token(token, sizeof token, NULL, &m->ops[d][i], NULL);
        if (spans[i].start != m->start[d][i] / (double)TICKS || spans[i].end != m->end[d][i] / (double)TICKS)
            fail_msg("case %d, device %u, %s: %g to %g, expected %g to %g", number, d, token, spans[i].start, spans[i].end,
                     m->start[d][i] / (double)TICKS, m->end[d][i] / (double)TICKS);
    }
    if (figures.peak_memory != m->peak[d] || figures.busy != m->busy[d] / (double)TICKS)
        fail_msg("case %d, device %u: peak %g, busy %g, expected %g, %g", number, d, figures.peak_memory, figures.busy,
                 m->peak[d], m->busy[d] / (double)TICKS);
    expect_ok(ppsched_timeline_get_idle(&idle, timeline, d, &error), &error);
    double sum = idle.fill + idle.drain + idle.neighbour + idle.imbalance + idle.transfer + idle.reload;
    assert_float_equal(sum, figures.idle, 1e-9);
    compare_causes(m, timeline, d, number);
    compare_curve(m, timeline, d, number);
}

/* Latest starts: none before the earliest, and what is on the way to the end has none later. */
static void check_latest(const struct machine *m, const ppsched_timeline *timeline)
{
    for (uint32_t d = 0; d < m->p->devices; d++) {
        const ppsched_span *spans = ppsched_timeline_spans(timeline, d, NULL);
        const double *latest = ppsched_timeline_latest_starts(timeline, d, NULL);
        for (size_t i = 0; i < m->count[d]; i++)
            assert_true(latest[i] >= spans[i].start - 1e-9);
    }
}

/* Each op of the critical path starts when the one before it says. */
static void check_step(const struct machine *m, const ppsched_critical_op *before, const ppsched_critical_op *op)
{
    double ready = before->end +
                   (op->reason == PPSCHED_REASON_INPUT && before->device != op->device ? m->p->p2p / (double)TICKS : 0);
    int is_copy = op->op.kind == PPSCHED_KIND_OFFLOAD || op->op.kind == PPSCHED_KIND_RELOAD;
    int was_copy = before->op.kind == PPSCHED_KIND_OFFLOAD || before->op.kind == PPSCHED_KIND_RELOAD;
    assert_true(op->start == ready);
    assert_true((op->reason == PPSCHED_REASON_COPY) == was_copy);
    assert_true(op->reason != PPSCHED_REASON_DEVICE || before->device == op->device);
    assert_true(op->reason != PPSCHED_REASON_INPUT || !is_copy);
    assert_true(op->reason != PPSCHED_REASON_BEGIN);
}

static uint32_t on_path[2]; /* copies, others */

static void check_critical_path(const struct machine *m, const ppsched_timeline *timeline, double makespan)
{
    static ppsched_critical_op path[OPS];
    size_t count = 0;
    ppsched_error error;
    expect_ok(ppsched_timeline_get_critical_path(path, OPS, &count, timeline, &error), &error);
    assert_true(count > 0 && path[0].reason == PPSCHED_REASON_BEGIN && path[0].start == 0);
    assert_true(path[count - 1].end == makespan);
    for (size_t i = 0; i < count; i++) {
        uint32_t d = path[i].device;
        assert_true(path[i].start == m->start[d][path[i].position] / (double)TICKS);
        assert_true(path[i].end == m->end[d][path[i].position] / (double)TICKS);
        assert_int_equal(path[i].op.kind, m->ops[d][path[i].position].kind);
        on_path[path[i].op.kind < PPSCHED_KIND_OFFLOAD]++;
        if (i > 0)
            check_step(m, &path[i - 1], &path[i]);
    }
}

static void compare(const struct problem *p, int number)
{
    static struct machine m;
    begin(&m, p);
    int32_t end = run_machine(&m);
    ppsched_timeline *timeline = make_timeline(p->schedule, p->config);
    assert_true(metrics_of(timeline).makespan == end / (double)TICKS);
    for (uint32_t d = 0; d < p->devices; d++)
        compare_device(&m, timeline, d, number);
    check_latest(&m, timeline);
    check_critical_path(&m, timeline, end / (double)TICKS);
    ppsched_timeline_destroy(timeline);
}

static int is_comm(const ppsched_op *op)
{
    return op->kind >= PPSCHED_KIND_SEND_F && op->kind <= PPSCHED_KIND_RECV_B;
}

/* Copies that stood right behind a compute op still do; no comm op is between the others and the next compute op. */
static void expect_places(const ppsched_op *ops, size_t count)
{
    int is_behind = 0; /* nothing but copies since a compute op, comm ops left out */
    for (size_t i = 0; i < count; i++) {
        int is_copy = ops[i].kind == PPSCHED_KIND_OFFLOAD || ops[i].kind == PPSCHED_KIND_RELOAD;
        if (is_comm(&ops[i]))
            continue;
        is_behind = is_compute(&ops[i]) || (is_behind && is_copy);
        if (is_compute(&ops[i]))
            continue;
        if (is_behind ? is_comm(&ops[i - 1]) : i + 1 < count && is_comm(&ops[i + 1]))
            fail_msg("op %zu, kind %d, has a comm op %s it", i, ops[i].kind, is_behind ? "before" : "behind");
    }
}

/* Lowered, and evaluated with transfers on links without end, all compute ops and copies are when they are without, in every
 * lowering. */
static void compare_lowered(const struct problem *p, int32_t lowering)
{
    const ppsched_lower_options options = {.size = sizeof options, .lowering = lowering};
    ppsched_schedule *lowered = NULL;
    ppsched_timeline *timeline = make_timeline(p->schedule, p->config), *timed = NULL;
    ppsched_error error;
    expect_ok(ppsched_schedule_lower(&lowered, p->schedule, p->config, &options, &error), &error);
    expect_ok(ppsched_schedule_check(NULL, 0, NULL, lowered, &error), &error);
    expect_ok(ppsched_schedule_evaluate_transfers(&timed, lowered, p->config, NULL, 0, &error), &error);
    for (uint32_t d = 0; d < p->devices; d++) {
        size_t count = 0, lowered_count = 0, k = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(p->schedule, d), &count),
                         *others = ppsched_queue_ops(ppsched_schedule_queue(lowered, d), &lowered_count);
        const ppsched_span *spans = ppsched_timeline_spans(timeline, d, NULL), *after = ppsched_timeline_spans(timed, d, NULL);
        for (size_t i = 0; i < lowered_count; i++) {
            if (is_comm(&others[i]))
                continue;
            assert_memory_equal(&others[i], &ops[k], sizeof *ops);
            if (memcmp(&spans[k], &after[i], sizeof *spans) != 0)
                fail_msg("lowering %d, device %u, op %zu, kind %d: %.17g to %.17g, but %.17g to %.17g with transfers", lowering,
                         d, k, ops[k].kind, spans[k].start, spans[k].end, after[i].start, after[i].end);
            k++;
        }
        assert_int_equal(k, count);
        expect_places(others, lowered_count);
        ppsched_device_metrics a = device_metrics_of(timeline, d), b = device_metrics_of(timed, d);
        a.peak_position = b.peak_position; /* one of two that begin at once */
        assert_memory_equal(&a, &b, sizeof a);
    }
    ppsched_timeline_destroy(timed);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(lowered);
}

static void clear(struct problem *p)
{
    ppsched_schedule_release(p->schedule);
    ppsched_config_destroy(p->config);
}

static void test_machine(void **state)
{
    uint64_t seed = 20230, slow_seed = 5;
    (void)state;
    for (int i = 0; i < CASES; i++) {
        struct problem p;
        draw(&p, &seed);
        if (i % 4 == 3)
            draw_slowdown(&p, &slow_seed, HUGE_VAL);
        compare(&p, i);
        clear(&p);
    }
    print_message("# %u copies and %u other ops on critical paths; devices stood still for %u ticks\n", on_path[0], on_path[1],
                  stood);
    assert_true(on_path[0] > CASES / 2 && stood > CASES);
}

static void test_lowered(void **state)
{
    static const double slowdowns[] = {1.25, 2, 1.7, HUGE_VAL};
    uint64_t seed = 99, slow_seed = 6;
    (void)state;
    for (int i = 0; i < CASES / 4; i++) {
        struct problem p;
        draw(&p, &seed);
        if (i % 2 == 1)
            draw_slowdown(&p, &slow_seed, slowdowns[i / 2 % 4]);
        compare_lowered(&p, 1 + i % 3);
        clear(&p);
    }
}

static uint32_t count_kind(const ppsched_schedule *schedule, uint32_t device, uint8_t kind)
{
    size_t count = 0;
    uint32_t found = 0;
    const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, device), &count);
    for (size_t i = 0; i < count; i++)
        found += ops[i].kind == kind;
    return found;
}

static uint32_t count_offloads(const ppsched_schedule *schedule, uint32_t device)
{
    return count_kind(schedule, device, PPSCHED_KIND_OFFLOAD);
}

static int has_waits(const ppsched_schedule *schedule)
{
    for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++)
        if (count_kind(schedule, d, PPSCHED_KIND_OFFLOAD_WAIT) > 0)
            return 1;
    return 0;
}

/* Devices whose limit is held anyway, those of them without an OFFLOAD; OFFLOADs less; backwards right behind their F. */
static struct {
    uint32_t held_anyway, without, fewer, waiting, tight;
} seen_few;

/* Of all that could go, as few as hold each device's own limit: none where it is held anyway, but where offloads of others,
 * which change when its own are done, leave no such choice. Where devices wait, those that need it offload all that they can,
 * which may be more than with all devices' copies. */
static void expect_few(const ppsched_schedule *few, const struct problem *p, const ppsched_schedule *plain,
                       const ppsched_timeline *before, const double *limits, uint32_t chunks)
{
    const ppsched_offload_options all = {.size = sizeof all, .chunks = chunks};
    ppsched_schedule *most = NULL;
    ppsched_error error;
    int waits = has_waits(few);
    seen_few.waiting += (uint32_t)waits;
    expect_ok(ppsched_schedule_offload(&most, plain, p->config, &all, &error), &error);
    for (uint32_t d = 0; d < p->devices; d++) {
        uint32_t own = count_offloads(few, d), others = count_offloads(most, d);
        assert_true(waits || own <= others);
        seen_few.fewer += waits ? 0 : others - own;
        seen_few.held_anyway += device_metrics_of(before, d).peak_memory <= limits[d];
        seen_few.without += device_metrics_of(before, d).peak_memory <= limits[d] && own == 0;
    }
    ppsched_schedule_release(most);
}

/* How long a pass is kept without copies, from the end of its F to the start of its backward. */
static double life_of(const ppsched_schedule *plain, const ppsched_timeline *before, uint32_t d, const ppsched_op *pass)
{
    size_t count = 0;
    const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(plain, d), &count);
    const ppsched_span *spans = ppsched_timeline_spans(before, d, NULL);
    double life = 0;
    for (size_t i = 0; i < count; i++) {
        int is_same = ops[i].stage == pass->stage && ops[i].microbatch == pass->microbatch;
        if (is_same && ops[i].kind == PPSCHED_KIND_F)
            life -= spans[i].end;
        if (is_same && is_backward(&ops[i]))
            life += spans[i].start;
    }
    return life;
}

/* What all F of the first stages of a device would move, or those alone that live longer than one. */
static double moved_by(const ppsched_schedule *plain, const ppsched_timeline *before, const struct problem *p, uint32_t d,
                       uint32_t chunks, double longer)
{
    size_t count = 0;
    const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(plain, d), &count);
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        if (ops[i].kind == PPSCHED_KIND_F && ops[i].stage / p->devices < chunks && life_of(plain, before, d, &ops[i]) > longer)
            sum += p->moved[ops[i].stage];
    return sum;
}

/* Those that go are the longest lived, and at most the share. */
static void expect_share(const ppsched_schedule *schedule, const ppsched_schedule *plain, const ppsched_timeline *before,
                         const struct problem *p, const ppsched_offload_options *options)
{
    for (uint32_t d = 0; d < p->devices; d++) {
        size_t count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &count);
        double most = options->share * moved_by(plain, before, p, d, options->chunks, -1), sum = 0;
        for (size_t i = 0; i < count; i++) {
            if (ops[i].kind != PPSCHED_KIND_OFFLOAD)
                continue;
            double longer = moved_by(plain, before, p, d, options->chunks, life_of(plain, before, d, &ops[i]));
            sum += p->moved[ops[i].stage];
            assert_true(longer + p->moved[ops[i].stage] <= most + 1e-9);
        }
        assert_true(sum <= most + 1e-9);
    }
}

static uint32_t seen_leads;

/* So many ops that the device computes are between each RELOAD and its backward. */
static void expect_lead(const ppsched_schedule *schedule, const struct problem *p, uint32_t lead)
{
    for (uint32_t d = 0; d < p->devices; d++) {
        size_t count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &count);
        for (size_t i = 0; i < count; i++) {
            uint32_t between = 0;
            size_t k = i;
            if (ops[i].kind != PPSCHED_KIND_RELOAD)
                continue;
            for (; !(is_backward(&ops[k]) && ops[k].stage == ops[i].stage && ops[k].microbatch == ops[i].microbatch); k++)
                between += ops[k].kind <= PPSCHED_KIND_W || ops[k].kind == PPSCHED_KIND_RECOMPUTE;
            assert_int_equal(between, lead);
            seen_leads++;
        }
    }
}

static uint32_t seen_both; /* schedules that recompute and offload */

/* No pass both. */
static void expect_one_path(const ppsched_schedule *schedule, const struct problem *p)
{
    uint32_t recomputed = 0, copied = 0;
    for (uint32_t d = 0; d < p->devices; d++) {
        recomputed += count_kind(schedule, d, PPSCHED_KIND_RECOMPUTE);
        copied += count_kind(schedule, d, PPSCHED_KIND_OFFLOAD);
    }
    seen_both += recomputed > 0 && copied > 0;
}

/* The order of a problem, of which now and then the first stage of each device is recomputed. */
static ppsched_schedule *make_plain(const struct problem *p, uint32_t draw)
{
    const ppsched_recompute_options options = {.size = sizeof options, .chunks = 1};
    ppsched_schedule *plain = make_schedule(p->config, p->devices == p->stages ? "1f1b" : "gis"), *recomputed = NULL;
    ppsched_error error;
    if (draw % 4 != 3)
        return plain;
    expect_ok(ppsched_schedule_recompute(&recomputed, plain, &options, &error), &error);
    ppsched_schedule_release(plain);
    return recomputed;
}

/* Where devices wait for copies, no pass goes to the host and comes back between its F and a backward right behind that. */
static uint32_t expect_room(const ppsched_schedule *schedule, const ppsched_schedule *plain)
{
    uint32_t tight = 0;
    for (uint32_t d = 0; d < ppsched_schedule_devices(plain); d++) {
        size_t count = 0, all = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(plain, d), &count),
                         *others = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &all);
        for (size_t i = 0; i + 1 < count; i++) {
            const ppsched_op *f = &ops[i], *b = &ops[i + 1];
            if (f->kind != PPSCHED_KIND_F || !is_backward(b) || f->stage != b->stage || f->microbatch != b->microbatch)
                continue;
            for (size_t k = 0; k < all; k++)
                assert_false(others[k].kind == PPSCHED_KIND_OFFLOAD && others[k].stage == f->stage &&
                             others[k].microbatch == f->microbatch);
            tight++;
        }
    }
    return tight;
}

/* All passes, or as few as hold limits: what comes out can be run, and peaks are never higher than without. */
static void offload(struct problem *p, uint64_t *seed, uint32_t draw, uint32_t *free_of_cost)
{
    double limits[DEVICES];
    ppsched_offload_options options = {.size = sizeof options, .chunks = 1 + random_below(seed, 3)};
    ppsched_schedule *plain = make_plain(p, draw), *schedule = NULL;
    ppsched_timeline *before = make_timeline(plain, p->config);
    ppsched_error error;
    for (uint32_t d = 0; d < p->devices; d++)
        limits[d] = device_metrics_of(before, d).peak_memory * (1 - random_below(seed, 4) / 8.0);
    options.until_limit = random_below(seed, 2);
    if (draw % 5 == 1)
        options.share = 0.25 + draw % 4 * 0.2;
    else if (draw % 5 == 2 && !options.until_limit)
        options.prefetch_distance = 1 + draw % 3;
    expect_ok(ppsched_config_set_values(p->config, PPSCHED_QUANTITY_MEM_LIMIT, limits, p->devices, &error), &error);
    ppsched_status status = ppsched_schedule_offload(&schedule, plain, p->config, &options, &error);
    if (status != PPSCHED_ERROR_REFUSED) {
        expect_ok(status, &error);
        struct problem own = *p;
        own.schedule = schedule;
        compare(&own, -1);
        seen_few.tight += has_waits(schedule) ? expect_room(schedule, plain) : 0;
        if (options.share > 0 && draw % 4 != 3)
            expect_share(schedule, plain, before, p, &options);
        if (options.prefetch_distance > 0)
            expect_lead(schedule, p, options.prefetch_distance);
        expect_one_path(schedule, p);
        ppsched_timeline *after = make_timeline(schedule, p->config);
        *free_of_cost += metrics_of(after).makespan <= metrics_of(before).makespan * (1 + 1e-12);
        for (uint32_t d = 0; d < p->devices; d++) {
            assert_true(device_metrics_of(after, d).peak_memory <= device_metrics_of(before, d).peak_memory);
            assert_true(!options.until_limit || device_metrics_of(after, d).peak_memory <= limits[d] * (1 + 1e-9));
        }
        if (options.until_limit && options.share == 0)
            expect_few(schedule, p, plain, before, limits, options.chunks);
        ppsched_timeline_destroy(after);
        ppsched_schedule_release(schedule);
    } else {
        assert_true(options.until_limit);
    }
    ppsched_timeline_destroy(before);
    ppsched_schedule_release(plain);
}

static void test_offload(void **state)
{
    uint64_t seed = 4711;
    uint32_t free_of_cost = 0, count = 0;
    (void)state;
    for (int i = 0; i < CASES / 5; i++) {
        struct problem p;
        draw(&p, &seed);
        if (ppsched_config_placement(p.config) != PPSCHED_PLACEMENT_V) {
            offload(&p, &seed, (uint32_t)i, &free_of_cost);
            count++;
        }
        clear(&p);
    }
    print_message("# %u problems offloaded, the step as long as before in at least %u\n", count, free_of_cost);
    print_message("# of %u devices whose limit is held anyway %u have no OFFLOAD; %u fewer in all; %u schedules wait\n",
                  seen_few.held_anyway, seen_few.without, seen_few.fewer, seen_few.waiting);
    print_message("# %u reloads by a lead, %u schedules recompute and offload\n", seen_leads, seen_both);
    assert_true(seen_leads > ROUNDS(100) && seen_both > ROUNDS(30));
    assert_true(seen_few.without >= seen_few.held_anyway * 0.95);
    assert_true(free_of_cost + seen_few.waiting > count / 2 && seen_few.fewer > count && seen_few.waiting > ROUNDS(20) &&
                seen_few.tight > ROUNDS(20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_machine), cmocka_unit_test(test_lowered),
                                       cmocka_unit_test(test_offload)};
    return cmocka_run_group_tests_name("keeping_sweep", tests, NULL, NULL);
}
