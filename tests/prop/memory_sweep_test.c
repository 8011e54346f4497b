/* SPDX-License-Identifier: Apache-2.0 */
/* Memory by cause over random uneven problems, lowered and not: against a simulation in which every allocation is an object
 * with a size, a beginning and an end, and a level is the sum of all that stand. Sizes are eighths, so that sums are exact. */
#include "support/channel_rules.h"
#include "support/lowering.h"
#include "support/rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CAUSES = PPSCHED_MEMORY_CAUSE_ACTIVATIONS + 1, MOST_OBJECTS = 30000 };

/* A moment: at equal times the order of the queue holds, of the start of the op at i before its end. */
struct moment {
    double time;
    size_t order; /* 2 i, or 2 i + 1 */
};

struct object {
    int cause;
    uint32_t stage, microbatch;
    double size;
    struct moment from, to;
};

static const struct moment ALWAYS = {-1, 0}, NEVER = {HUGE_VAL, 0};

struct simulation {
    const ppsched_schedule *schedule;
    const ppsched_config *config;
    const ppsched_timeline *timeline;
    const ppsched_channel_model *model; /* NULL: the plain evaluation */
    uint32_t device;
    const ppsched_op *ops;
    const ppsched_span *spans;
    size_t count;
    struct object objects[MOST_OBJECTS];
    size_t object_count;
};

static int comes_before(struct moment a, struct moment b)
{
    return a.time < b.time || (a.time == b.time && a.order < b.order);
}

static double value(const struct simulation *sim, int32_t quantity, size_t index, double fallback)
{
    size_t count = 0;
    const double *values = ppsched_config_values(sim->config, quantity, &count);
    return count == 0 ? fallback : values[count == 1 ? 0 : index];
}

static void stand(struct simulation *sim, int cause, const ppsched_op *op, double size, struct moment from, struct moment to)
{
    if (size == 0)
        return;
    assert_true(sim->object_count < MOST_OBJECTS);
    uint32_t stage = op != NULL ? op->stage : PPSCHED_NONE, microbatch = op != NULL ? op->microbatch : PPSCHED_NONE;
    sim->objects[sim->object_count++] = (struct object){cause, stage, microbatch, size, from, to};
}

/* --- where and when ops are --- */

static size_t unit_of(const struct simulation *sim, size_t i)
{
    return i > 0 && sim->ops[i - 1].flags != 0 ? i - 1 : i;
}

static struct moment start_of(const struct simulation *sim, size_t i)
{
    return (struct moment){sim->spans[i].start, 2 * unit_of(sim, i)};
}

static struct moment end_of(const struct simulation *sim, size_t i)
{
    return (struct moment){sim->spans[i].end, 2 * unit_of(sim, i) + 1};
}

/* The op of a stage pass with that kind; the count where there is none. */
static size_t op_of(const struct simulation *sim, const ppsched_op *pass, uint8_t kind)
{
    size_t i = 0;
    while (i < sim->count &&
           !(sim->ops[i].kind == kind && sim->ops[i].stage == pass->stage && sim->ops[i].microbatch == pass->microbatch))
        i++;
    return i;
}

static size_t backward_of(const struct simulation *sim, const ppsched_op *pass)
{
    size_t i = op_of(sim, pass, PPSCHED_KIND_B);
    return i < sim->count ? i : op_of(sim, pass, PPSCHED_KIND_I);
}

static size_t end_of_pass(const struct simulation *sim, const ppsched_op *pass)
{
    size_t i = op_of(sim, pass, PPSCHED_KIND_B);
    return i < sim->count ? i : op_of(sim, pass, PPSCHED_KIND_W);
}

static int computes(const ppsched_op *op)
{
    return op->kind <= PPSCHED_KIND_W;
}

/* When a compute op has ended, and what is reduced and gathered behind it. */
static double last_of_iteration(const ppsched_op *ops, const ppsched_span *spans, size_t i, size_t count)
{
    double last = spans[i].end;
    while (++i < count && !computes(&ops[i]))
        if (!is_comm(&ops[i]))
            last = fmax(last, spans[i].end);
    return last;
}

/* When all of the iterations before that of an op have ended everywhere, where they must have. */
static double flush_before(const struct simulation *sim, const ppsched_op *op)
{
    uint32_t first = op->microbatch - op->microbatch % ppsched_schedule_microbatches(sim->schedule);
    double last = 0;
    if (!ppsched_schedule_flushes(sim->schedule) || first == 0)
        return 0;
    for (uint32_t d = 0; d < ppsched_schedule_devices(sim->schedule); d++) {
        size_t count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(sim->schedule, d), &count);
        const ppsched_span *spans = ppsched_timeline_spans(sim->timeline, d, NULL);
        for (size_t i = 0; i < count; i++)
            if (computes(&ops[i]) && ops[i].microbatch < first)
                last = fmax(last, last_of_iteration(ops, spans, i, count));
    }
    return last;
}

/* When the device comes to a comm op: behind what it has computed, the calls that it has made, and what has blocked it, which a
 * batch does behind its last call. */
static double came_to(const struct simulation *sim, size_t i)
{
    double call = sim->model != NULL ? value(sim, PPSCHED_QUANTITY_SEND_OVERHEAD, sim->device, 0) : 0, came = 0, done = 0;
    for (size_t k = 0; k < i; k++) {
        bool goes_on = sim->model != NULL && sim->model->batched && is_comm(&sim->ops[k + 1]);
        if (computes(&sim->ops[k])) {
            came = fmax(came, sim->spans[k].end);
        } else if (is_comm(&sim->ops[k]) && sim->model != NULL) {
            came = call > 0 ? fmax(came, flush_before(sim, &sim->ops[k])) + call : came;
            done = fmax(done, sim->spans[k].end);
            came = sim->model->blocking && !goes_on ? fmax(came, done) : came;
        }
    }
    return fmax(came, flush_before(sim, &sim->ops[i]));
}

/* --- allocations --- */

static void take_pass(struct simulation *sim, size_t i)
{
    const ppsched_op *op = &sim->ops[i];
    size_t backward = backward_of(sim, op), last = end_of_pass(sim, op);
    double input = -value(sim, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, op->stage, 0);
    double whole = value(sim, PPSCHED_QUANTITY_MEM_FORWARD, op->stage, 1);
    stand(sim, PPSCHED_MEMORY_CAUSE_ACTIVATIONS, op, input, start_of(sim, i), end_of(sim, backward));
    stand(sim, PPSCHED_MEMORY_CAUSE_ACTIVATIONS, op, whole - input, start_of(sim, i), end_of(sim, last));
    stand(sim, PPSCHED_MEMORY_CAUSE_OUTPUTS, op, value(sim, PPSCHED_QUANTITY_MEM_OUTPUT, op->stage, 0), end_of(sim, i),
          end_of(sim, backward));
}

static void take_work(struct simulation *sim, size_t i)
{
    static const int32_t quantities[] = {0, PPSCHED_QUANTITY_MEM_WORK_FORWARD, PPSCHED_QUANTITY_MEM_WORK_BACKWARD,
                                         PPSCHED_QUANTITY_MEM_WORK_BACKWARD_INPUT, PPSCHED_QUANTITY_MEM_WORK_BACKWARD_WEIGHT};
    const ppsched_op *op = &sim->ops[i];
    double whole = op->kind == PPSCHED_KIND_F ? 0 : value(sim, PPSCHED_QUANTITY_MEM_WORK_BACKWARD, op->stage, 0);
    stand(sim, PPSCHED_MEMORY_CAUSE_WORK, op, value(sim, quantities[op->kind], op->stage, whole), start_of(sim, i),
          end_of(sim, i));
}

/* Gradients come with the first B or W behind the last REDUCE_GRAD. */
static void take_gradients(struct simulation *sim, size_t i)
{
    const ppsched_op *op = &sim->ops[i];
    size_t next = i + 1;
    for (size_t k = i; k-- > 0;) {
        if (sim->ops[k].stage == op->stage && (sim->ops[k].kind == PPSCHED_KIND_B || sim->ops[k].kind == PPSCHED_KIND_W))
            return;
        if (sim->ops[k].stage == op->stage && sim->ops[k].kind == PPSCHED_KIND_REDUCE_GRAD)
            break;
    }
    while (next < sim->count && !(sim->ops[next].stage == op->stage && sim->ops[next].kind == PPSCHED_KIND_REDUCE_GRAD))
        next++;
    stand(sim, PPSCHED_MEMORY_CAUSE_GRADIENTS, op, value(sim, PPSCHED_QUANTITY_MEM_GRADIENTS, op->stage, 0), start_of(sim, i),
          next < sim->count ? (struct moment){sim->spans[next].end, 2 * next} : NEVER);
}

static void take_gathered(struct simulation *sim, size_t i)
{
    const ppsched_op *op = &sim->ops[i];
    size_t next = i + 1;
    while (next < sim->count && !(sim->ops[next].stage == op->stage && sim->ops[next].kind == PPSCHED_KIND_RESHARD))
        next++;
    stand(sim, PPSCHED_MEMORY_CAUSE_GATHERED, op, value(sim, PPSCHED_QUANTITY_MEM_GATHERED, op->stage, 0),
          (struct moment){sim->spans[i].start, 2 * i},
          next < sim->count ? (struct moment){fmax(sim->spans[next].start, sim->spans[i].end), 2 * next} : NEVER);
}

/* Bytes over the bandwidth, for what a comm op sends. */
static double leaving(const struct simulation *sim, const ppsched_op *op)
{
    ppsched_op other = partner_of(op);
    uint32_t to = ppsched_schedule_device_of(sim->schedule, other.stage, other.microbatch);
    double own = value(sim, PPSCHED_QUANTITY_ACTIVATION_BYTES, op->kind == PPSCHED_KIND_SEND_F ? op->stage : op->stage - 1u, 0);
    double bytes = op->kind == PPSCHED_KIND_SEND_F ? own : value(sim, PPSCHED_QUANTITY_GRADIENT_BYTES, op->stage, own);
    size_t edge = (size_t)sim->device * ppsched_schedule_devices(sim->schedule) + to;
    return bytes / value(sim, PPSCHED_QUANTITY_P2P_BANDWIDTH, edge, HUGE_VAL);
}

static void take_send(struct simulation *sim, size_t i)
{
    const ppsched_op *op = &sim->ops[i];
    int backward = op->kind == PPSCHED_KIND_SEND_B;
    size_t producer = backward ? backward_of(sim, op) : op_of(sim, op, PPSCHED_KIND_F);
    double done = sim->model != NULL ? sim->spans[i].end : came_to(sim, i) + leaving(sim, op);
    stand(sim, PPSCHED_MEMORY_CAUSE_SENDS, op,
          value(sim, backward ? PPSCHED_QUANTITY_MEM_SEND_BACKWARD : PPSCHED_QUANTITY_MEM_SEND_FORWARD, op->stage, 0),
          end_of(sim, producer), (struct moment){done, 2 * i});
}

static void take_receive(struct simulation *sim, size_t i)
{
    const ppsched_op *op = &sim->ops[i];
    int backward = op->kind == PPSCHED_KIND_RECV_B;
    size_t consumer = backward ? backward_of(sim, op) : op_of(sim, op, PPSCHED_KIND_F);
    stand(sim, PPSCHED_MEMORY_CAUSE_RECEIVES, op,
          value(sim, backward ? PPSCHED_QUANTITY_MEM_RECEIVE_BACKWARD : PPSCHED_QUANTITY_MEM_RECEIVE_FORWARD, op->stage, 0),
          (struct moment){came_to(sim, i), 2 * i}, backward ? end_of(sim, consumer) : start_of(sim, consumer));
}

static void take_fixed(struct simulation *sim)
{
    uint32_t m = ppsched_schedule_microbatches(sim->schedule);
    int copies = ppsched_schedule_placement(sim->schedule) == PPSCHED_PLACEMENT_BIDIRECTIONAL ? 2 : 1;
    uint32_t versions = ppsched_schedule_weight_versions(sim->schedule);
    stand(sim, PPSCHED_MEMORY_CAUSE_OTHER, NULL, value(sim, PPSCHED_QUANTITY_MEM_OTHER, sim->device, 0), ALWAYS, NEVER);
    for (int copy = 0; copy < copies; copy++)
        for (uint32_t s = 0; s < ppsched_schedule_stages(sim->schedule); s++) {
            ppsched_op op = {.stage = (uint16_t)s, .microbatch = PPSCHED_NONE};
            uint32_t home = ppsched_schedule_device_of(sim->schedule, s, 0);
            if (copy == 1) /* of a bidirectional placement, also where it has no microbatch */
                home = ppsched_schedule_devices(sim->schedule) - 1 - home;
            (void)m;
            if (home != sim->device)
                continue;
            stand(sim, PPSCHED_MEMORY_CAUSE_STATIC, &op, value(sim, PPSCHED_QUANTITY_MEM_STATIC, s, 0), ALWAYS, NEVER);
            stand(sim, PPSCHED_MEMORY_CAUSE_WEIGHTS, &op, versions * value(sim, PPSCHED_QUANTITY_MEM_WEIGHTS, s, 0), ALWAYS,
                  NEVER);
            stand(sim, PPSCHED_MEMORY_CAUSE_OPTIMIZER, &op, value(sim, PPSCHED_QUANTITY_MEM_OPTIMIZER, s, 0), ALWAYS, NEVER);
        }
}

static void take_all(struct simulation *sim)
{
    sim->object_count = 0;
    take_fixed(sim);
    for (size_t i = 0; i < sim->count; i++) {
        const ppsched_op *op = &sim->ops[i];
        if (op->kind == PPSCHED_KIND_F)
            take_pass(sim, i);
        if (computes(op))
            take_work(sim, i);
        if (op->kind == PPSCHED_KIND_B || op->kind == PPSCHED_KIND_W)
            take_gradients(sim, i);
        if (op->kind == PPSCHED_KIND_UNSHARD)
            take_gathered(sim, i);
        if (is_send(op))
            take_send(sim, i);
        if (is_receive(op))
            take_receive(sim, i);
    }
}

/* --- levels --- */

static double level_at(const struct simulation *sim, struct moment moment, double *by_cause)
{
    double level = 0;
    memset(by_cause, 0, CAUSES * sizeof *by_cause);
    for (size_t i = 0; i < sim->object_count; i++)
        if (!comes_before(moment, sim->objects[i].from) && comes_before(moment, sim->objects[i].to)) {
            by_cause[sim->objects[i].cause] += sim->objects[i].size;
            level += sim->objects[i].size;
        }
    return level;
}

static int by_moment(const void *a, const void *b)
{
    return comes_before(*(const struct moment *)b, *(const struct moment *)a) -
           comes_before(*(const struct moment *)a, *(const struct moment *)b);
}

/* The moments at which something comes or goes, each once. */
static size_t moments_of(const struct simulation *sim, struct moment *out)
{
    size_t count = 0, left = 0;
    for (size_t i = 0; i < sim->object_count; i++) {
        if (sim->objects[i].from.time >= 0)
            out[count++] = sim->objects[i].from;
        if (sim->objects[i].to.time < HUGE_VAL)
            out[count++] = sim->objects[i].to;
    }
    qsort(out, count, sizeof *out, by_moment);
    for (size_t i = 0; i < count; i++)
        if (left == 0 || comes_before(out[left - 1], out[i]))
            out[left++] = out[i];
    return left;
}

/* --- comparison --- */

static struct moment moments[2 * MOST_OBJECTS];
static ppsched_memory_point points[2 * MOST_OBJECTS];
static double levels[2 * MOST_OBJECTS];

static void compare_items(const struct simulation *sim, struct moment peak)
{
    static ppsched_memory_item items[MOST_OBJECTS];
    size_t count = 0;
    ppsched_error error;
    double by_cause[CAUSES] = {0}, theirs[CAUSES];
    expect_ok(ppsched_timeline_get_peak_items(items, MOST_OBJECTS, &count, sim->timeline, sim->device, &error), &error);
    level_at(sim, peak, theirs);
    for (size_t i = 0; i < count; i++) {
        double size = 0;
        by_cause[items[i].cause] += items[i].memory;
        for (size_t k = 0; k < sim->object_count; k++) {
            const struct object *object = &sim->objects[k];
            if (object->cause == items[i].cause && object->stage == items[i].stage &&
                (object->microbatch == items[i].microbatch || object->cause == PPSCHED_MEMORY_CAUSE_GRADIENTS) &&
                !comes_before(peak, object->from) && comes_before(peak, object->to))
                size += object->size;
        }
        if (items[i].cause > PPSCHED_MEMORY_CAUSE_OPTIMIZER) /* of which two copies share what is always there */
            assert_true(size == items[i].memory);
        assert_true(i == 0 || items[i].cause > items[i - 1].cause ||
                    (items[i].cause == items[i - 1].cause && items[i].since >= items[i - 1].since));
    }
    assert_memory_equal(by_cause, theirs, sizeof theirs);
}

static void compare_windows(const struct simulation *sim, size_t count)
{
    static ppsched_idle_window windows[MOST_OPS];
    size_t found = 0;
    ppsched_error error;
    double idle = 0, by_cause[CAUSES], limit = device_metrics_of(sim->timeline, sim->device).memory_limit;
    expect_ok(ppsched_timeline_get_idle_windows(windows, MOST_OPS, &found, sim->timeline, sim->device, &error), &error);
    for (size_t w = 0; w < found; w++) {
        struct moment start = {windows[w].start, SIZE_MAX};
        double most = level_at(sim, start, by_cause);
        for (size_t i = 0; i < count; i++)
            if (moments[i].time > windows[w].start && moments[i].time < windows[w].end)
                most = fmax(most, levels[i]);
        assert_true(windows[w].end > windows[w].start && most == windows[w].memory);
        assert_true(windows[w].free == limit - most);
        idle += windows[w].end - windows[w].start;
        for (size_t i = 0; i < sim->count; i++)
            assert_true(!computes(&sim->ops[i]) || sim->spans[i].end <= windows[w].start ||
                        sim->spans[i].start >= windows[w].end);
    }
    assert_true(fabs(idle - device_metrics_of(sim->timeline, sim->device).idle) < 1e-9 * (1 + idle));
}

static void compare_causes(const struct simulation *sim, size_t count)
{
    ppsched_error error;
    for (int32_t cause = 0; cause < CAUSES; cause++) {
        size_t found = 0;
        double by_cause[CAUSES];
        expect_ok(
            ppsched_timeline_get_memory_of_cause(points, 2 * MOST_OBJECTS, &found, sim->timeline, sim->device, cause, &error),
            &error);
        for (size_t i = 0, k = 0; i < count; i++) {
            level_at(sim, moments[i], by_cause);
            k += k + 1 < found && by_cause[cause] != points[k].memory;
            assert_true(points[k].memory == by_cause[cause] && points[k].time <= moments[i].time);
        }
    }
}

static void compare_device(struct simulation *sim)
{
    size_t found = 0, count;
    double by_cause[CAUSES], peak_causes[CAUSES], sum = 0, peak = level_at(sim, (struct moment){-1, 1}, by_cause);
    struct moment at = {-1, 1};
    ppsched_error error;
    ppsched_device_metrics figures = device_metrics_of(sim->timeline, sim->device);
    count = moments_of(sim, moments);
    expect_ok(ppsched_timeline_get_memory(points, 2 * MOST_OBJECTS, &found, sim->timeline, sim->device, &error), &error);
    assert_int_equal(found, count + 1);
    assert_true(points[0].time == 0 && points[0].memory == peak && figures.static_memory == peak);
    for (size_t i = 0; i < count; i++) {
        levels[i] = level_at(sim, moments[i], by_cause);
        assert_true(points[i + 1].time == moments[i].time && points[i + 1].memory == levels[i]);
        if (levels[i] > peak) {
            peak = levels[i];
            at = moments[i];
        }
    }
    assert_true(figures.peak_memory == peak && figures.peak_time == fmax(at.time, 0));
    assert_int_equal(figures.peak_position, at.time < 0 ? PPSCHED_NONE : at.order / 2);
    expect_ok(ppsched_timeline_get_peak_causes(peak_causes, CAUSES, NULL, sim->timeline, sim->device, &error), &error);
    level_at(sim, at, by_cause);
    for (int i = 0; i < CAUSES; i++)
        sum += peak_causes[i];
    assert_memory_equal(peak_causes, by_cause, sizeof by_cause);
    assert_true(sum == figures.peak_memory);
    compare_items(sim, at);
    compare_windows(sim, count);
    if (sim->device == 0)
        compare_causes(sim, count);
}

static void compare(const ppsched_schedule *schedule, const ppsched_config *config, const ppsched_timeline *timeline,
                    const ppsched_channel_model *model)
{
    static struct simulation sim;
    sim.schedule = schedule;
    sim.config = config;
    sim.timeline = timeline;
    sim.model = model;
    for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++) {
        sim.device = d;
        sim.ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &sim.count);
        sim.spans = ppsched_timeline_spans(timeline, d, NULL);
        take_all(&sim);
        compare_device(&sim);
    }
}

/* --- random problems --- */

static void set_eighths(ppsched_config *config, int32_t quantity, uint32_t count, uint32_t most, uint64_t *seed)
{
    double list[MOST_DEVICES * MOST_DEVICES];
    ppsched_error error;
    for (uint32_t i = 0; i < count; i++)
        list[i] = random_below(seed, most) / 8.0;
    expect_ok(ppsched_config_set_values(config, quantity, list, count, &error), &error);
}

static void draw_memory(ppsched_config *config, uint64_t *seed)
{
    uint32_t stages = ppsched_config_stages(config), devices = ppsched_config_devices(config);
    double forward[64], input[64];
    ppsched_error error;
    for (uint32_t s = 0; s < stages; s++) {
        forward[s] = (1 + random_below(seed, 30)) / 8.0;
        input[s] = -(double)random_below(seed, (uint32_t)(forward[s] * 8) + 1) / 8;
    }
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_FORWARD, forward, stages, &error), &error);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, input, stages, &error), &error);
    set_eighths(config, PPSCHED_QUANTITY_MEM_STATIC, stages, 50, seed);
    set_eighths(config, PPSCHED_QUANTITY_MEM_WEIGHTS, stages, 50, seed);
    for (int32_t q = PPSCHED_QUANTITY_MEM_OPTIMIZER; q <= PPSCHED_QUANTITY_MEM_WORK_BACKWARD_WEIGHT; q++)
        if (random_below(seed, 4) > 0)
            set_eighths(config, q, q == PPSCHED_QUANTITY_MEM_OTHER ? devices : stages, 40, seed);
}

static void draw_times(ppsched_config *config, uint64_t *seed)
{
    uint32_t stages = ppsched_config_stages(config), devices = ppsched_config_devices(config);
    set_eighths(config, PPSCHED_QUANTITY_FORWARD_TIMES, stages, 20, seed);
    set_eighths(config, PPSCHED_QUANTITY_BACKWARD_TIMES, stages, 40, seed);
    set_eighths(config, PPSCHED_QUANTITY_P2P_TIME, devices * devices, 8, seed);
    set_eighths(config, PPSCHED_QUANTITY_ACTIVATION_BYTES, stages, 16, seed);
    if (random_below(seed, 2) == 0)
        set_eighths(config, PPSCHED_QUANTITY_GRADIENT_BYTES, stages, 16, seed);
    if (random_below(seed, 2) == 0) { /* of each edge, without rest */
        double list[MOST_DEVICES * MOST_DEVICES];
        for (uint32_t edge = 0; edge < devices * devices; edge++)
            list[edge] = 1 << random_below(seed, 3);
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, list, devices * devices, NULL), NULL);
    }
    if (random_below(seed, 3) == 0) {
        set_eighths(config, PPSCHED_QUANTITY_UNSHARD_TIMES, stages, 30, seed);
        set_eighths(config, PPSCHED_QUANTITY_REDUCE_GRAD_TIMES, stages, 30, seed);
        set_number(config, PPSCHED_QUANTITY_SHARDING_SLOWDOWN, 1 + random_below(seed, 2));
    }
}

static ppsched_schedule *draw_lowering(const ppsched_schedule *schedule, const ppsched_config *config, uint64_t *seed)
{
    ppsched_schedule *lowered = NULL;
    ppsched_error error;
    ppsched_lower_options options = {.size = sizeof options};
    options.lowering = random_below(seed, 5) == 0 ? PPSCHED_LOWERING_NONE
                       : random_below(seed, 2)    ? PPSCHED_LOWERING_PYTORCH
                                                  : PPSCHED_LOWERING_JUST_IN_TIME;
    options.reduce_grad = random_below(seed, 2);
    options.unshard = random_below(seed, 4) * 2;
    if (options.unshard > 0)
        options.unshard_lookahead = (int32_t)random_below(seed, 2);
    expect_ok(ppsched_schedule_lower(&lowered, schedule, config, &options, &error), &error);
    return lowered;
}

static int has_comms(const ppsched_schedule *schedule)
{
    for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++) {
        size_t count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &count);
        for (size_t i = 0; i < count; i++)
            if (is_comm(&ops[i]))
                return 1;
    }
    return 0;
}

/* With its transfers, in the model's channels; orders that hang there are left out. */
static int compare_with_transfers(const ppsched_schedule *lowered, const ppsched_config *config, uint64_t *seed)
{
    ppsched_channel_model model = {.size = sizeof model, .order = (int32_t)random_below(seed, 4)};
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    model.rendezvous = random_below(seed, 2);
    model.batched = random_below(seed, 2);
    model.blocking = random_below(seed, 3) == 0;
    ppsched_status status = ppsched_schedule_evaluate_transfers(&timeline, lowered, config, &model, 0, &error);
    if (status == PPSCHED_ERROR_INVALID_SCHEDULE)
        return 0;
    expect_ok(status, &error);
    compare(lowered, config, timeline, &model);
    ppsched_timeline_destroy(timeline);
    return 1;
}

static void test_objects(void **state)
{
    uint64_t seed = 19, call_seed = 5;
    int timed = 0;
    (void)state;
    for (int n = 0; n < ROUNDS(5000); n++) {
        const char *strategy = NULL;
        ppsched_error error;
        ppsched_config *config = random_problem(&seed, &strategy);
        if (random_below(&seed, 3) == 0 && ppsched_config_microbatches(config) < 7)
            expect_ok(ppsched_config_set_iterations(config, 2, &error), &error);
        draw_times(config, &seed);
        draw_memory(config, &seed);
        if (n % 4 == 1)
            set_eighths(config, PPSCHED_QUANTITY_SEND_OVERHEAD, ppsched_config_devices(config), 5, &call_seed);
        ppsched_schedule *schedule = make_schedule(config, strategy), *lowered = draw_lowering(schedule, config, &seed);
        ppsched_schedule *mixed = NULL;
        expect_ok(ppsched_config_set_placement(config, ppsched_schedule_placement(schedule), NULL, 0, &error), &error);
        if (random_below(&seed, 2) == 0) /* searches would heed it */
            set_eighths(config, PPSCHED_QUANTITY_MEM_LIMIT, ppsched_config_devices(config), 900, &seed);
        if (has_comms(lowered) && ppsched_schedule_iterations(lowered) == 1 && random_below(&seed, 2) == 0)
            mixed = shuffled(lowered, config, &seed);
        const ppsched_schedule *last = mixed != NULL ? mixed : lowered;
        ppsched_timeline *timeline = make_timeline(schedule, config), *second = make_timeline(last, config);
        compare(schedule, config, timeline, NULL);
        compare(last, config, second, NULL);
        if (has_comms(last))
            timed += compare_with_transfers(last, config, &seed);
        ppsched_timeline_destroy(second);
        ppsched_timeline_destroy(timeline);
        ppsched_schedule_release(mixed);
        ppsched_schedule_release(lowered);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
    assert_true(timed > ROUNDS(1000));
}

/* What a search finds within limits fits, with all that takes memory. */
static void test_searches(void **state)
{
    uint64_t seed = 91;
    int found = 0, refused = 0;
    (void)state;
    for (int n = 0; n < ROUNDS(300); n++) {
        static const char *const names[] = {"zb_auto", "auto", "zbv_auto"};
        const char *name = names[n % 3];
        uint32_t devices = 1 + random_below(&seed, 4);
        ppsched_config *config = make_config(devices, n % 3 == 2 ? 2 * devices : devices, 1 + random_below(&seed, 6));
        ppsched_schedule *schedule = NULL;
        ppsched_error error;
        draw_times(config, &seed);
        draw_memory(config, &seed);
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 10 + random_below(&seed, 50));
        if (n % 3 == 1)
            expect_ok(ppsched_config_set_option(config, "effort", "1", &error), &error);
        ppsched_status status = ppsched_schedule_generate(&schedule, config, name, &error);
        if (status == PPSCHED_OK) {
            ppsched_timeline *timeline = make_timeline(schedule, config);
            assert_int_equal(metrics_of(timeline).limit_device, PPSCHED_NONE);
            ppsched_timeline_destroy(timeline);
            ppsched_schedule_release(schedule);
        }
        found += status == PPSCHED_OK;
        refused += status == PPSCHED_ERROR_REFUSED;
        ppsched_config_destroy(config);
    }
    assert_int_equal(found + refused, ROUNDS(300));
    assert_true(found > ROUNDS(50) && refused > ROUNDS(50));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_objects), cmocka_unit_test(test_searches)};
    return cmocka_run_group_tests_name("memory_sweep", tests, NULL, NULL);
}
