/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of random models by their layers, with recomputation and split backwards, for all strategies: each level of each
 * device against a simulation in which every layer of every stage pass is an object. */
#include "support/drawn_layers.h"
#include "support/layer_objects.h"
#include "support/lowering.h"
#include "support/rounds.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CAUSES = PPSCHED_MEMORY_CAUSE_ACTIVATIONS + 1, MOST_SIZES = 20 };

/* A problem, and a split of its layers. */
struct problem {
    ppsched_strategy_info strategy;
    uint32_t devices, chunks, stages, microbatches;
    struct drawn_layers *model;
    uint32_t counts[DRAWN_STAGES];
    uint8_t recomputes[DRAWN_LAYERS];
    ppsched_split split;
    double scale[MOST_SIZES]; /* memory of each microbatch */
    int has_scale;
    ppsched_config *base;   /* of any stages */
    ppsched_config *config; /* of the split's */
    ppsched_schedule *schedule;
};

static struct layer_objects objects_of(const struct problem *p, const ppsched_schedule *schedule,
                                       const ppsched_timeline *timeline)
{
    return (struct layer_objects){.schedule = schedule,
                                  .timeline = timeline,
                                  .entries = p->model->entries,
                                  .entry_count = p->model->entry_count,
                                  .split = &p->split,
                                  .scale = p->has_scale ? p->scale : NULL};
}

/* --- comparison --- */

static double level_by(const ppsched_memory_point *points, size_t count, double time)
{
    double level = 0;
    for (size_t i = 0; i < count && points[i].time <= time; i++)
        level = points[i].memory;
    return level;
}

/* At each step the causes add up to the level, and what is not always there to what is held of stage passes. */
static void compare_causes(const ppsched_memory_point *levels, size_t count, const ppsched_timeline *timeline, uint32_t device)
{
    static ppsched_memory_point points[CAUSES][OBJECT_POINTS];
    size_t counts[CAUSES];
    ppsched_error error;
    for (int32_t cause = 0; cause < CAUSES; cause++)
        expect_ok(
            ppsched_timeline_get_memory_of_cause(points[cause], OBJECT_POINTS, &counts[cause], timeline, device, cause, &error),
            &error);
    for (size_t i = 0; i < count; i++) {
        double sum = 0, fixed = 0;
        if (i + 1 < count && levels[i + 1].time == levels[i].time)
            continue;
        for (int32_t cause = 0; cause < CAUSES; cause++)
            sum += level_by(points[cause], counts[cause], levels[i].time);
        for (int32_t cause = 0; cause <= PPSCHED_MEMORY_CAUSE_OTHER; cause++)
            fixed += level_by(points[cause], counts[cause], levels[i].time);
        assert_true(sum == levels[i].memory && fixed == levels[0].memory);
    }
}

static void compare_peak(double peak, const ppsched_timeline *timeline, uint32_t device)
{
    static ppsched_memory_item items[OBJECT_POINTS];
    double causes[CAUSES], by_cause = 0, by_item = 0;
    size_t count = 0;
    ppsched_error error;
    expect_ok(ppsched_timeline_get_peak_causes(causes, CAUSES, NULL, timeline, device, &error), &error);
    expect_ok(ppsched_timeline_get_peak_items(items, OBJECT_POINTS, &count, timeline, device, &error), &error);
    for (int32_t cause = 0; cause < CAUSES; cause++)
        by_cause += causes[cause];
    for (size_t i = 0; i < count; i++)
        by_item += items[i].memory;
    assert_true(by_cause == peak && by_item == peak);
}

/* What a curve comes to at each time at which it changes: the last level, and the highest. */
struct step {
    double time, last, most;
};

static size_t steps_of(struct step *out, const ppsched_memory_point *points, size_t count)
{
    size_t steps = 0;
    for (size_t i = 0; i < count; i++) {
        if (steps == 0 || out[steps - 1].time != points[i].time) {
            if (steps > 0 && points[i].memory == out[steps - 1].last)
                continue;
            out[steps++] = (struct step){points[i].time, points[i].memory, points[i].memory};
        }
        out[steps - 1].last = points[i].memory;
        out[steps - 1].most = fmax(out[steps - 1].most, points[i].memory);
    }
    return steps;
}

static void compare_levels(const ppsched_memory_point *levels, size_t count, const ppsched_timeline *timeline, uint32_t device)
{
    static ppsched_memory_point points[OBJECT_POINTS];
    static struct step own[OBJECT_POINTS], theirs[OBJECT_POINTS];
    size_t found = 0, steps = steps_of(own, levels, count);
    ppsched_error error;
    expect_ok(ppsched_timeline_get_memory(points, OBJECT_POINTS, &found, timeline, device, &error), &error);
    assert_int_equal(steps_of(theirs, points, found), steps);
    for (size_t i = 0; i < steps; i++)
        assert_true(own[i].time == theirs[i].time && own[i].last == theirs[i].last && own[i].most == theirs[i].most);
}

/* When the highest level first stands. */
static double time_of_peak(const ppsched_memory_point *levels, size_t count)
{
    size_t peak = 0;
    for (size_t i = 1; i < count; i++)
        if (levels[i].memory > levels[peak].memory)
            peak = i;
    return levels[peak].time;
}

static void compare(const struct problem *p, const ppsched_schedule *schedule, const ppsched_timeline *timeline,
                    const char *what)
{
    static ppsched_memory_point own[OBJECT_POINTS];
    const struct layer_objects objects = objects_of(p, schedule, timeline);
    for (uint32_t d = 0; d < p->devices; d++) {
        size_t count = object_levels(own, &objects, d);
        ppsched_device_metrics figures = device_metrics_of(timeline, d);
        double peak = object_peak(&objects, d);
        if (figures.peak_memory != peak)
            fail_msg("%s of %u stages, %s: device %u holds %.17g, right is %.17g", p->strategy.name, p->stages, what, d,
                     figures.peak_memory, peak);
        assert_true(figures.static_memory == own[0].memory && figures.peak_time == time_of_peak(own, count));
        compare_levels(own, count, timeline, d);
        compare_peak(peak, timeline, d);
        if (d == 0)
            compare_causes(own, count, timeline, d);
    }
}

/* --- random problems --- */

static void draw_strategy(struct problem *p, uint64_t *seed)
{
    p->strategy = (ppsched_strategy_info){.size = sizeof p->strategy};
    do
        expect_ok(ppsched_strategy_get_info(&p->strategy, random_below(seed, ppsched_strategy_count()), NULL), NULL);
    while (p->strategy.offloads || (p->strategy.searches_long && random_below(seed, 8) > 0));
    p->chunks = p->strategy.chunks > 0 ? p->strategy.chunks : 1 + random_below(seed, 3);
}

static void draw_options(ppsched_config *config, const struct problem *p, uint64_t *seed)
{
    ppsched_error error;
    char text[16];
    if (p->strategy.takes_group_size && random_below(seed, 2)) {
        snprintf(text, sizeof text, "%u", 1 + random_below(seed, p->microbatches));
        expect_ok(ppsched_config_set_option(config, "group_size", text, &error), &error);
    }
    if (strcmp(p->strategy.name, "auto") == 0)
        expect_ok(ppsched_config_set_option(config, "effort", "1", &error), &error);
}

static void draw_base(struct problem *p, uint64_t *seed)
{
    ppsched_error error;
    p->base = make_config(p->devices, p->devices, p->microbatches);
    if (p->strategy.slices && random_below(seed, 3) == 0)
        expect_ok(ppsched_config_set_slices(p->base, 2 + random_below(seed, 2), &error), &error);
    if (!p->strategy.searches && random_below(seed, 3) == 0)
        expect_ok(ppsched_config_set_iterations(p->base, 2 + random_below(seed, 2), &error), &error);
    set_eighths(p->base, PPSCHED_QUANTITY_P2P_TIME, (size_t)p->devices * p->devices, 1 + random_below(seed, 2) * 9, seed);
    draw_options(p->base, p, seed);
}

static void draw_scale(struct problem *p, uint64_t *seed)
{
    p->has_scale = random_below(seed, 4) == 0;
    for (uint32_t m = 0; m < p->microbatches; m++)
        p->scale[m] = (1 + random_below(seed, 8)) / 4.0;
}

static void take_split(struct problem *p, uint64_t *seed)
{
    ppsched_error error;
    draw_split(p->counts, p->recomputes, p->model, p->stages, 1, seed);
    p->split = split_of(p->counts, p->stages, p->recomputes);
    ppsched_config_destroy(p->config);
    expect_ok(ppsched_config_from_layers(&p->config, p->base, p->model->layers, &p->split, &error), &error);
    if (p->has_scale)
        expect_ok(
            ppsched_config_set_values(p->config, PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE, p->scale, p->microbatches, &error),
            &error);
}

static void clear(struct problem *p)
{
    ppsched_schedule_release(p->schedule);
    ppsched_config_destroy(p->config);
    ppsched_config_destroy(p->base);
    clear_layers(p->model);
}

/* Sizes that a strategy does not serve are drawn again. */
static void draw(struct problem *p, uint32_t kinds, enum drawn_input input, uint64_t *seed)
{
    for (;;) {
        *p = (struct problem){.devices = 1 + random_below(seed, 4), .microbatches = 1 + random_below(seed, 9)};
        draw_strategy(p, seed);
        p->stages = p->devices * p->chunks;
        draw_base(p, seed);
        draw_scale(p, seed);
        p->model = draw_layers(3 + random_below(seed, 2 * p->stages), MOST_ENTRIES, kinds, input, seed);
        take_split(p, seed);
        if (ppsched_schedule_generate(&p->schedule, p->config, p->strategy.name, NULL) == PPSCHED_OK)
            return;
        clear(p);
    }
}

/* --- what is evaluated --- */

static void look_at_schedule(struct problem *p, uint64_t *seed)
{
    ppsched_timeline *timeline = make_timeline(p->schedule, p->config);
    (void)seed;
    compare(p, p->schedule, timeline, "as it is");
    ppsched_timeline_destroy(timeline);
}

/* With sends and receives, which hold nothing. */
static void look_at_lowered(struct problem *p, uint64_t *seed)
{
    static const int32_t lowerings[] = {PPSCHED_LOWERING_PYTORCH, PPSCHED_LOWERING_JUST_IN_TIME};
    ppsched_schedule *lowered = lower(p->schedule, p->config, lowerings[random_below(seed, 2)], 0);
    ppsched_timeline *timeline = make_timeline(lowered, p->config), *timed = NULL;
    ppsched_error error;
    compare(p, lowered, timeline, "lowered");
    expect_ok(ppsched_schedule_evaluate_transfers(&timed, lowered, p->config, NULL, 0, &error), &error);
    compare(p, lowered, timed, "timed with transfers");
    ppsched_timeline_destroy(timed);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(lowered);
}

/* A timeline that gets the costs of other splits. */
static void look_at_updates(struct problem *p, uint64_t *seed)
{
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    expect_ok(ppsched_schedule_evaluate(&timeline, p->schedule, p->config, PPSCHED_EVALUATE_FLAG_REUSABLE, &error), &error);
    for (int i = 0; i < 2; i++) {
        take_split(p, seed);
        expect_ok(ppsched_timeline_update(timeline, p->config, &error), &error);
        compare(p, p->schedule, timeline, "updated");
    }
    ppsched_timeline_destroy(timeline);
}

static void look_at_copy(struct problem *p, uint64_t *seed)
{
    ppsched_config *copy = NULL;
    ppsched_error error;
    (void)seed;
    expect_ok(ppsched_config_copy(&copy, p->config, &error), &error);
    ppsched_timeline *timeline = make_timeline(p->schedule, copy);
    compare(p, p->schedule, timeline, "copied");
    ppsched_timeline_destroy(timeline);
    ppsched_config_destroy(copy);
}

static void (*const looks[])(struct problem *p, uint64_t *seed) = {look_at_schedule, look_at_lowered, look_at_updates,
                                                                   look_at_copy};
enum { LOOKS = sizeof looks / sizeof looks[0] };

static void sweep(int rounds, uint32_t kinds, enum drawn_input input, uint64_t seed)
{
    uint32_t split = 0, whole = 0;
    for (int n = 0; n < rounds; n++) {
        struct problem p;
        draw(&p, kinds, input, &seed);
        look_at_schedule(&p, &seed);
        looks[n % LOOKS](&p, &seed);
        split += p.strategy.splits_backward;
        whole += !p.strategy.splits_backward;
        clear(&p);
    }
    assert_true(split > (uint32_t)rounds / 4 && whole > (uint32_t)rounds / 4);
}

static void test_nothing_is_recomputed(void **state)
{
    (void)state;
    sweep(ROUNDS(500), 0, INPUT_RELEASES, 4);
}

static void test_released_with_the_input_gradient(void **state)
{
    (void)state;
    sweep(ROUNDS(2200), DRAWN_KINDS, INPUT_RELEASES, 1);
}

static void test_added_with_the_input_gradient(void **state)
{
    (void)state;
    sweep(ROUNDS(1400), DRAWN_KINDS, INPUT_ADDS, 2);
}

/* Some layers of a stage release, others add. */
static void test_either_with_the_input_gradient(void **state)
{
    (void)state;
    sweep(ROUNDS(900), DRAWN_KINDS, INPUT_EITHER, 3);
}

/* --- the same model in other sizes --- */

/* Evaluates `config`, which is in place of the problem's own; nothing where its strategy does not serve it. */
static int look_at_config(struct problem *p, const ppsched_config *config, const char *what)
{
    ppsched_schedule *schedule = NULL;
    if (ppsched_schedule_generate(&schedule, config, p->strategy.name, NULL) != PPSCHED_OK)
        return 0;
    ppsched_timeline *timeline = make_timeline(schedule, config);
    compare(p, schedule, timeline, what);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    return 1;
}

/* Twice or half as many microbatches of half or twice the size. */
static void test_microbatches_of_another_size(void **state)
{
    uint64_t seed = 5;
    int looked = 0;
    (void)state;
    for (int n = 0; n < ROUNDS(400); n++) {
        struct problem p;
        ppsched_config *config = NULL;
        ppsched_error error;
        draw(&p, DRAWN_KINDS, 1 + n % 2, &seed);
        uint32_t microbatches = p.microbatches % 2 == 0 && n % 3 == 0 ? p.microbatches / 2 : 2 * p.microbatches;
        if (!p.has_scale) {
            expect_ok(ppsched_config_with_microbatches(&config, p.config, microbatches, &error), &error);
            p.has_scale = 1;
            for (uint32_t m = 0; m < microbatches; m++)
                p.scale[m] = (double)p.microbatches / microbatches;
            looked += look_at_config(&p, config, "in other microbatches");
        }
        ppsched_config_destroy(config);
        clear(&p);
    }
    assert_true(looked > ROUNDS(200));
}

/* Stages that are put together hold what one stage of their layers does. */
static void test_stages_put_together(void **state)
{
    static const char *const strategies[] = {"zb_h1", "1f1b", "zb_h2", "1f1b_overlap", "gpipe"};
    uint64_t seed = 6;
    int looked = 0;
    (void)state;
    for (int n = 0; n < ROUNDS(900); n++) {
        struct problem p;
        ppsched_config *config = NULL;
        ppsched_error error;
        draw(&p, DRAWN_KINDS, 1 + n % 2, &seed);
        if (p.devices > 1 && p.chunks > 1 && ppsched_schedule_placement(p.schedule) == PPSCHED_PLACEMENT_LOOP) {
            expect_ok(ppsched_config_with_stages(&config, p.config, p.devices, NULL, NULL, &error), &error);
            for (uint32_t s = 0; s < p.stages; s++)
                p.counts[s / p.chunks] = s % p.chunks == 0 ? p.counts[s] : p.counts[s / p.chunks] + p.counts[s];
            p.split = split_of(p.counts, p.devices, p.recomputes);
            expect_ok(ppsched_config_set_slices(config, 1, &error), &error);
            expect_ok(ppsched_config_set_option(config, "group_size", NULL, &error), &error);
            expect_ok(ppsched_config_set_option(config, "effort", NULL, &error), &error);
            p.strategy.name = strategies[n % 5];
            looked += look_at_config(&p, config, "put together");
        }
        ppsched_config_destroy(config);
        clear(&p);
    }
    assert_true(looked > ROUNDS(60));
}

/* --- ops that keep less of a pass --- */

/* A pass with a RECOMPUTE comes back whole with that, as ever. */
static void test_recompute_ops(void **state)
{
    uint64_t seed = 8;
    int looked = 0;
    (void)state;
    for (int n = 0; n < ROUNDS(400); n++) {
        struct problem p;
        ppsched_schedule *schedule = NULL;
        ppsched_recompute_options options = {.size = sizeof options};
        ppsched_error error;
        draw(&p, 0, 1 + n % 2, &seed);
        options.chunks = random_below(&seed, p.chunks + 1);
        expect_ok(ppsched_schedule_recompute(&schedule, p.schedule, &options, &error), &error);
        ppsched_timeline *timeline = make_timeline(schedule, p.config);
        compare(&p, schedule, timeline, "with ops that recompute");
        looked++;
        ppsched_timeline_destroy(timeline);
        ppsched_schedule_release(schedule);
        clear(&p);
    }
    assert_int_equal(looked, ROUNDS(400));
}

/* What goes to the host is what F holds; what is computed again comes back behind that. */
static void test_copies(void **state)
{
    uint64_t seed = 9;
    int copied = 0;
    (void)state;
    for (int n = 0; n < ROUNDS(240); n++) {
        struct problem p;
        ppsched_schedule *schedule = NULL;
        ppsched_offload_options options = {.size = sizeof options};
        ppsched_error error;
        draw(&p, DRAWN_KINDS, 1 + n % 2, &seed);
        set_number(p.config, PPSCHED_QUANTITY_OFFLOAD_TIMES, (1 + random_below(&seed, 12)) / 8.0);
        set_number(p.config, PPSCHED_QUANTITY_RELOAD_TIMES, (1 + random_below(&seed, 12)) / 8.0);
        options.chunks = random_below(&seed, p.chunks + 1);
        expect_ok(ppsched_schedule_offload(&schedule, p.schedule, p.config, &options, &error), &error);
        ppsched_timeline *timeline = make_timeline(schedule, p.config);
        compare(&p, schedule, timeline, "with copies");
        copied += ppsched_schedule_op_count(schedule) > ppsched_schedule_op_count(p.schedule);
        ppsched_timeline_destroy(timeline);
        ppsched_schedule_release(schedule);
        clear(&p);
    }
    assert_true(copied > ROUNDS(100));
}

/* --- memory by stage --- */

static void set_by_layer(ppsched_config *config, const struct drawn_layers *model, int32_t quantity, size_t field)
{
    double list[DRAWN_STAGES];
    uint32_t count = 0;
    ppsched_error error;
    for (size_t e = 0; e < model->entry_count; e++)
        for (uint32_t i = 0; i < model->entries[e].count; i++)
            list[count++] = *(const double *)((const char *)&model->entries[e] + field);
    expect_ok(ppsched_config_set_values(config, quantity, list, count, &error), &error);
}

/* What stages hold as given, one layer each; those that add stand beside those that release. */
static void test_given_by_stage(void **state)
{
    uint64_t seed = 7;
    int looked = 0;
    (void)state;
    for (int n = 0; n < ROUNDS(600); n++) {
        struct problem p;
        draw(&p, 0, INPUT_RELEASES, &seed);
        clear_layers(p.model);
        p.model = draw_layers(p.stages, MOST_ENTRIES, 0, 1 + n % 3, &seed);
        p.has_scale = 0;
        for (uint32_t s = 0; s < p.stages; s++)
            p.counts[s] = 1;
        for (size_t e = 0; e < p.model->entry_count; e++)
            p.model->entries[e].flags = 0;
        p.split = split_of(p.counts, p.stages, NULL);
        ppsched_config *config = make_config(p.devices, p.stages, p.microbatches);
        set_by_layer(config, p.model, PPSCHED_QUANTITY_MEM_FORWARD, offsetof(ppsched_layer, mem_forward));
        set_by_layer(config, p.model, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, offsetof(ppsched_layer, mem_backward_input));
        set_by_layer(config, p.model, PPSCHED_QUANTITY_MEM_STATIC, offsetof(ppsched_layer, mem_static));
        set_by_layer(config, p.model, PPSCHED_QUANTITY_MEM_WEIGHTS, offsetof(ppsched_layer, mem_weights));
        draw_options(config, &p, &seed);
        looked += look_at_config(&p, config, "given by stage");
        ppsched_config_destroy(config);
        clear(&p);
    }
    assert_true(looked > ROUNDS(400));
}

/* --- by hand --- */

/* Sixteen equal decoders that keep 0.05 of 1, on four devices with eight microbatches. Levels are sums of twentieths. */
static void expect_peaks(const char *strategy, uint32_t stages, uint32_t recomputed, const double *peaks)
{
    static const ppsched_recompute full = {"full", 1, 0.05};
    static const ppsched_layer decoders = LAYER("decoder", .count = 16, .forward_time = 1, .backward_input_time = 1,
                                                .backward_weight_time = 1, .mem_forward = 1, .recomputes = &full,
                                                .recompute_count = 1);
    const ppsched_layers *layers = make_layers(&decoders, 1);
    uint32_t counts[DRAWN_STAGES];
    uint8_t recomputes[DRAWN_LAYERS];
    ppsched_config *base = make_config(4, 4, 8), *config = NULL;
    ppsched_error error;
    for (uint32_t s = 0; s < stages; s++)
        counts[s] = 16 / stages;
    for (uint32_t i = 0; i < 16; i++)
        recomputes[i] = i % 4 < recomputed;
    const ppsched_split split = split_of(counts, stages, recomputes);
    expect_ok(ppsched_config_from_layers(&config, base, layers, &split, &error), &error);
    ppsched_schedule *schedule = make_schedule(config, strategy);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    const struct layer_objects objects = {schedule, timeline, &decoders, 1, &split, NULL};
    for (uint32_t d = 0; d < 4; d++) {
        assert_true(fabs(object_peak(&objects, d) - peaks[d]) < 1e-9);
        if (fabs(device_metrics_of(timeline, d).peak_memory - peaks[d]) > 1e-9)
            fail_msg("%s: device %u holds %g, right is %g", strategy, d, device_metrics_of(timeline, d).peak_memory, peaks[d]);
    }
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    ppsched_config_destroy(base);
    ppsched_layers_release(layers);
}

static void test_decoders(void **state)
{
    (void)state;
    expect_peaks("zb_h1", 4, 3, (const double[]){7.45, 10.3, 13.15, 16});
    expect_peaks("zb_h1", 4, 4, (const double[]){4.6, 8.4, 12.2, 16});
    expect_peaks("zbv", 8, 4, (const double[]){2.7, 6.2, 10.1, 14});
    expect_peaks("dualpipe_v", 8, 4, (const double[]){2.7, 4.2, 6.1, 8});
    expect_peaks("interleaved_zb", 8, 4, (const double[]){2.7, 4.6, 6.5, 8.4});
    expect_peaks("1f1b", 4, 4, (const double[]){1.75, 1.55, 1.35, 1.15});
}

/* 4 from F on, and 1 more from I on. */
static void expect_by_stage(const char *strategy, const double *peaks)
{
    ppsched_config *config = make_config(4, 4, 8);
    set_number(config, PPSCHED_QUANTITY_MEM_FORWARD, 4);
    set_number(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, 1);
    set_number(config, PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT, -5);
    ppsched_schedule *schedule = make_schedule(config, strategy);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    for (uint32_t d = 0; d < 4; d++)
        assert_true(device_metrics_of(timeline, d).peak_memory == peaks[d]);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

static void test_more_from_the_input_gradient_on(void **state)
{
    (void)state;
    expect_by_stage("zb_h1", (const double[]){17, 18, 19, 20});
    expect_by_stage("1f1b", (const double[]){17, 13, 9, 5});
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_decoders),
                                       cmocka_unit_test(test_more_from_the_input_gradient_on),
                                       cmocka_unit_test(test_given_by_stage),
                                       cmocka_unit_test(test_microbatches_of_another_size),
                                       cmocka_unit_test(test_stages_put_together),
                                       cmocka_unit_test(test_recompute_ops),
                                       cmocka_unit_test(test_copies),
                                       cmocka_unit_test(test_nothing_is_recomputed),
                                       cmocka_unit_test(test_released_with_the_input_gradient),
                                       cmocka_unit_test(test_added_with_the_input_gradient),
                                       cmocka_unit_test(test_either_with_the_input_gradient)};
    return cmocka_run_group_tests_name("layer_memory", tests, NULL, NULL);
}
