/* SPDX-License-Identifier: Apache-2.0 */
#include "support/layer_objects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PHASES = 5 };

/* At equal times the order of the queue holds, of the start of an op before its end. */
struct moment {
    double time;
    size_t order; /* 2 i of the start of the op, or the pair, at i; 2 i + 1 of its end */
};

struct object {
    size_t phases;
    struct {
        struct moment from; /* in this order */
        double holds;
    } phase[MOST_PHASES];
    struct moment death;
};

/* One device. */
struct world {
    const struct layer_objects *given;
    uint32_t device;
    const ppsched_op *ops;
    const ppsched_span *spans;
    size_t count;
    struct object *objects;
    size_t object_count, room;
};

static const struct moment NEVER = {HUGE_VAL, 0};

static int comes_before(struct moment a, struct moment b)
{
    return a.time < b.time || (a.time == b.time && a.order < b.order);
}

/* --- ops --- */

static size_t leader_of(const struct world *world, size_t i)
{
    return i > 0 && (world->ops[i - 1].flags & PPSCHED_OP_FLAG_OVERLAPPED) != 0 ? i - 1 : i;
}

static struct moment start_of(const struct world *world, size_t i)
{
    return (struct moment){world->spans[i].start, 2 * leader_of(world, i)};
}

static struct moment end_of(const struct world *world, size_t i)
{
    return (struct moment){world->spans[i].end, 2 * leader_of(world, i) + 1};
}

/* The op of a stage pass behind its F with that kind; the count where there is none. */
static size_t op_behind(const struct world *world, size_t forward, uint8_t kind)
{
    const ppsched_op *pass = &world->ops[forward];
    size_t i = forward + 1;
    while (i < world->count && !(world->ops[i].kind == kind && world->ops[i].stage == pass->stage &&
                                 world->ops[i].microbatch == pass->microbatch && world->ops[i].slice == pass->slice))
        i++;
    return i;
}

/* --- layers --- */

static const ppsched_layer *layer_at(const struct layer_objects *given, uint32_t layer)
{
    size_t e = 0;
    for (uint32_t before = 0; before + (given->entries[e].count > 0 ? given->entries[e].count : 1) <= layer; e++)
        before += given->entries[e].count > 0 ? given->entries[e].count : 1;
    return &given->entries[e];
}

/* What the end of I releases, where it is negative, or the start of the backward adds: where it is not given what is left of
 * the sum, 0, unless W releases all. */
static double input_of(const ppsched_layer *layer)
{
    double weight = layer->mem_backward_weight;
    return layer->mem_backward_input != 0 || weight == 0 ? layer->mem_backward_input : -layer->mem_forward - weight;
}

/* --- objects --- */

static struct object *give_birth(struct world *world, struct moment birth, double holds)
{
    if (world->object_count == world->room) {
        world->room = world->room > 0 ? 2 * world->room : 64;
        world->objects = realloc(world->objects, world->room * sizeof *world->objects);
        assert_non_null(world->objects);
    }
    struct object *object = &world->objects[world->object_count++];
    *object = (struct object){.phases = 1, .death = NEVER};
    object->phase[0].from = birth;
    object->phase[0].holds = holds;
    return object;
}

static void change(struct object *object, struct moment from, double holds)
{
    object->phase[object->phases].from = from;
    object->phase[object->phases++].holds = holds;
}

/* What a layer holds from its birth until it comes back for the backward, where that is not all the time the same. */
static void change_between(struct world *world, struct object *object, size_t forward, double whole)
{
    size_t again = op_behind(world, forward, PPSCHED_KIND_RECOMPUTE), gone = op_behind(world, forward, PPSCHED_KIND_OFFLOAD);
    double own = object->phase[0].holds;
    if (again < world->count) {
        assert_true(own == whole); /* no kind of its own */
        object->phase[0].holds = 0;
        change(object, start_of(world, again), whole);
    } else if (gone < world->count) {
        size_t back = op_behind(world, forward, PPSCHED_KIND_RELOAD);
        change(object, (struct moment){world->spans[gone].end, 0}, 0);
        change(object, (struct moment){world->spans[back].start, SIZE_MAX}, own);
    }
}

/* One layer of the stage pass whose F is at `forward`. Returns what comes back of it. */
static double take_layer(struct world *world, size_t forward, uint32_t number, double scale)
{
    const ppsched_layer *layer = layer_at(world->given, number);
    const uint8_t *recomputes = world->given->split->recomputes;
    uint32_t kind = recomputes != NULL ? recomputes[number] : 0;
    double whole = layer->mem_forward * scale, input = input_of(layer) * scale;
    double own = kind > 0 ? layer->recomputes[kind - 1].mem_forward * scale : whole;
    struct object *object = give_birth(world, start_of(world, forward), own);
    size_t full = op_behind(world, forward, PPSCHED_KIND_B), half = op_behind(world, forward, PPSCHED_KIND_I);
    change_between(world, object, forward, whole);
    if (full < world->count) {
        change(object, start_of(world, full), own + fmax(input, 0));
        object->death = end_of(world, full);
    } else if (half < world->count) {
        change(object, start_of(world, half), whole + fmax(input, 0));
        change(object, end_of(world, half), whole + input);
        object->death = end_of(world, op_behind(world, forward, PPSCHED_KIND_W));
    }
    return whole - own;
}

static void take_pass(struct world *world, size_t forward)
{
    const struct layer_objects *given = world->given;
    const ppsched_op *op = &world->ops[forward];
    double scale = given->scale != NULL ? given->scale[op->microbatch % ppsched_schedule_microbatches(given->schedule)] : 1;
    double largest = 0;
    uint32_t first = 0;
    for (uint32_t s = 0; s < op->stage; s++)
        first += given->split->layers[s];
    for (uint32_t i = 0; i < given->split->layers[op->stage]; i++)
        largest = fmax(largest, take_layer(world, forward, first + i, scale));
    size_t full = op_behind(world, forward, PPSCHED_KIND_B);
    if (full < world->count)
        give_birth(world, start_of(world, full), largest)->death = end_of(world, full);
}

static void take_fixed_layer(struct world *world, uint32_t number)
{
    const ppsched_layer *layer = layer_at(world->given, number);
    uint32_t versions = ppsched_schedule_weight_versions(world->given->schedule);
    give_birth(world, (struct moment){-1, 0}, layer->mem_static + versions * layer->mem_weights);
}

/* A stage has all of its layers; the last one those of the first that are tied, too. */
static void take_fixed_stage(struct world *world, uint32_t stage)
{
    const ppsched_split *split = world->given->split;
    uint32_t first = 0;
    for (uint32_t s = 0; s < stage; s++)
        first += split->layers[s];
    for (uint32_t i = 0; i < split->layers[stage]; i++)
        take_fixed_layer(world, first + i);
    for (uint32_t i = 0; stage > 0 && stage + 1 == split->stages && i < split->layers[0]; i++)
        if ((layer_at(world->given, i)->flags & PPSCHED_LAYER_FLAG_TIED) != 0)
            take_fixed_layer(world, i);
}

/* Of a placement of two copies a device has both of its stages, also where a copy has no microbatch. */
static void take_fixed(struct world *world)
{
    const ppsched_schedule *schedule = world->given->schedule;
    uint32_t devices = ppsched_schedule_devices(schedule);
    int has_copies = ppsched_schedule_placement(schedule) == PPSCHED_PLACEMENT_BIDIRECTIONAL;
    for (uint32_t s = 0; s < world->given->split->stages; s++) {
        uint32_t home = ppsched_schedule_device_of(schedule, s, 0);
        if (home == world->device)
            take_fixed_stage(world, s);
        if (has_copies && devices - 1 - home == world->device)
            take_fixed_stage(world, s);
    }
}

static void create(struct world *world, const struct layer_objects *given, uint32_t device)
{
    *world = (struct world){.given = given, .device = device};
    world->ops = ppsched_queue_ops(ppsched_schedule_queue(given->schedule, device), &world->count);
    world->spans = ppsched_timeline_spans(given->timeline, device, NULL);
    take_fixed(world);
    for (size_t i = 0; i < world->count; i++) {
        if (world->ops[i].kind == PPSCHED_KIND_F)
            take_pass(world, i);
    }
}

/* --- levels --- */

static double held(const struct object *object, struct moment now)
{
    double holds = 0;
    for (size_t i = 0; i < object->phases && !comes_before(now, object->phase[i].from); i++)
        holds = object->phase[i].holds;
    return comes_before(now, object->death) ? holds : 0;
}

static double level_at(const struct world *world, struct moment now)
{
    double level = 0;
    for (size_t i = 0; i < world->object_count; i++)
        level += held(&world->objects[i], now);
    return level;
}

static int by_moment(const void *a, const void *b)
{
    return comes_before(*(const struct moment *)b, *(const struct moment *)a) -
           comes_before(*(const struct moment *)a, *(const struct moment *)b);
}

/* All at which something is born, changes or dies. */
static size_t moments_of(struct moment *out, const struct world *world)
{
    size_t count = 0;
    for (size_t i = 0; i < world->object_count; i++) {
        const struct object *object = &world->objects[i];
        for (size_t k = 0; k < object->phases; k++)
            if (object->phase[k].from.time >= 0)
                out[count++] = object->phase[k].from;
        if (object->death.time < HUGE_VAL)
            out[count++] = object->death;
    }
    qsort(out, count, sizeof *out, by_moment);
    return count;
}

size_t object_levels(ppsched_memory_point out[OBJECT_POINTS], const struct layer_objects *objects, uint32_t device)
{
    struct world world;
    size_t count = 0;
    create(&world, objects, device);
    struct moment *moments = malloc((MOST_PHASES + 1) * (world.object_count + 1) * sizeof *moments);
    assert_non_null(moments);
    size_t moment_count = moments_of(moments, &world);
    out[count++] = (ppsched_memory_point){0, level_at(&world, (struct moment){-1, 0})};
    for (size_t i = 0; i < moment_count; i++) {
        if (i > 0 && !comes_before(moments[i - 1], moments[i]))
            continue;
        double level = level_at(&world, moments[i]);
        assert_true(count < OBJECT_POINTS);
        if (level != out[count - 1].memory)
            out[count++] = (ppsched_memory_point){moments[i].time, level};
    }
    free(moments);
    free(world.objects);
    return count;
}

double object_peak(const struct layer_objects *objects, uint32_t device)
{
    static ppsched_memory_point points[OBJECT_POINTS];
    size_t count = object_levels(points, objects, device);
    double peak = 0;
    for (size_t i = 0; i < count; i++)
        peak = fmax(peak, points[i].memory);
    return peak;
}
