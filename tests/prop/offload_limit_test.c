/* SPDX-License-Identifier: Apache-2.0 */
/* What ppsched_schedule_offload finds until a limit, over random problems: it holds the limit, its step is seldom longer than
 * that of so many chunks that hold it, and never longer than under a tighter limit; and a limit that it names works, where no
 * lower one does. */
#include "support/no_worse.h"
#include "support/rounds.h"
#include "support/uneven.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROBLEMS = ROUNDS(160), DEVICES = 4, CHUNKS = 2 };

/* The step with OFFLOADs, infinite where that is refused or over the limit; `copies`, which may be NULL: how many go. */
static double step_of(const ppsched_schedule *plain, ppsched_config *config, uint32_t chunks, bool until_limit,
                      uint32_t *copies, ppsched_error *error)
{
    const ppsched_offload_options options = {.size = sizeof options, .chunks = chunks, .until_limit = until_limit};
    ppsched_schedule *schedule = NULL;
    ppsched_status status = ppsched_schedule_offload(&schedule, plain, config, &options, error);
    if (status == PPSCHED_ERROR_REFUSED)
        return INFINITY;
    expect_ok(status, error);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    bool is_over = metrics_of(timeline).limit_device != PPSCHED_NONE;
    double step = is_over ? INFINITY : metrics_of(timeline).makespan;
    assert_true(!until_limit || !is_over);
    for (uint32_t d = 0; d < (uint32_t)ppsched_config_devices(config) && copies != NULL; d++) {
        size_t count;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &count);
        for (size_t i = 0; i < count; i++)
            *copies += ops[i].kind == PPSCHED_KIND_OFFLOAD;
    }
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    return step;
}

static ppsched_config *draw(uint64_t *seed, uint32_t devices, uint32_t chunks, uint32_t microbatches)
{
    static const double times[] = {0.5, 1, 1.5, 2, 3};
    double links[DEVICES], forwards[DEVICES * CHUNKS];
    ppsched_error error;
    ppsched_config *config = make_config(devices, devices * chunks, microbatches);
    uint32_t shared = random_below(seed, 3);
    for (uint32_t d = 0; d < devices; d++)
        links[d] = shared == 0 ? d : shared == 1 ? d / 2 : 0;
    for (uint32_t s = 0; s < devices * chunks; s++)
        forwards[s] = random_below(seed, 4) == 0 ? 1 + random_below(seed, 3) / 2.0 : 1;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, forwards, devices * chunks, &error), &error);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_HOST_LINK, links, devices, &error), &error);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, 1);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, 1);
    set_number(config, PPSCHED_QUANTITY_OFFLOAD_TIMES, times[random_below(seed, 5)]);
    return config;
}

static struct {
    uint32_t limits, longer, refused, evaluations;
    double worst, sum; /* of steps that are held */
} seen;

static int32_t count_call(void *user, const ppsched_progress *progress)
{
    ++*(uint32_t *)user;
    assert_true(progress->share == 1);
    return 0;
}

/* All limits from the peak down to the first that is refused. */
static void look(const ppsched_schedule *plain, ppsched_config *config, uint32_t chunks)
{
    ppsched_error error;
    ppsched_timeline *timeline = make_timeline(plain, config);
    double peak = metrics_of(timeline).peak_memory, before = metrics_of(timeline).makespan;
    ppsched_timeline_destroy(timeline);
    for (double limit = peak; limit >= 0.5; limit--) {
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, limit);
        expect_ok(ppsched_config_set_progress(config, count_call, &seen.evaluations, &error), &error);
        double step = step_of(plain, config, 0, true, NULL, &error);
        expect_ok(ppsched_config_set_progress(config, NULL, NULL, &error), &error);
        seen.sum += step < INFINITY ? step : 0;
        for (uint32_t k = 1; k <= chunks; k++) {
            double other = step_of(plain, config, k, false, NULL, &(ppsched_error){0});
            assert_true(other == INFINITY || step < INFINITY);
            seen.longer += k == 1 && step > other * (1 + 1e-9);
            seen.worst = step < INFINITY ? fmax(seen.worst, step / other) : seen.worst;
        }
        if (step == INFINITY) { /* the limit that is named is that of the try before */
            const char *named = strstr(error.message, "work is ");
            assert_non_null(named);
            seen.refused++;
            assert_true(strtod(named + 8, NULL) == limit + 1);
            return;
        }
        seen.limits++;
        assert_true(step >= before * (1 - 1e-9));
        before = step;
    }
}

static void test_random(void **state)
{
    static const char *const strategies[] = {"1f1b", "zb_h1", "gpipe", "gis", "interleaved_zb", "interleaved_1f1b"};
    uint64_t seed = 2303;
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        uint32_t which = random_below(&seed, 6), devices = 2 + random_below(&seed, DEVICES - 1);
        uint32_t chunks = which < 3 ? 1 : CHUNKS, microbatches = devices * (1 + random_below(&seed, 2));
        ppsched_config *config = draw(&seed, devices, chunks, microbatches);
        ppsched_schedule *plain = make_schedule(config, strategies[which]);
        look(plain, config, chunks);
        ppsched_schedule_release(plain);
        ppsched_config_destroy(config);
    }
    print_message("# %u limits held, %u refused; %u steps longer than with chunks=1, at most %.1f %%\n", seen.limits,
                  seen.refused, seen.longer, 100 * (seen.worst - 1));
    assert_true(seen.limits > ROUNDS(500) && seen.refused > ROUNDS(20) && seen.longer < seen.limits / 50 && seen.worst < 1.15);
    if (PROBLEMS == 160)
        expect_no_worse(&(struct found){seen.limits, seen.evaluations, seen.sum}, &(struct found){686, 48252, 28358});
}

/* --- auto, which chooses its order with its copies --- */

/* The step of auto, which offloads by itself. */
static double auto_step(ppsched_config *config)
{
    ppsched_config *own = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    expect_ok(ppsched_config_copy(&own, config, &error), &error);
    expect_ok(ppsched_config_set_option(own, "offload", "limit", &error), &error);
    expect_ok(ppsched_config_set_option(own, "effort", "2", &error), &error);
    ppsched_status status = ppsched_schedule_generate(&schedule, own, "auto", &error);
    ppsched_config_destroy(own);
    if (status == PPSCHED_ERROR_REFUSED) {
        assert_non_null(strstr(error.message, "auto: offload: no choice fits the memory limit of "));
        return INFINITY;
    }
    expect_ok(status, &error);
    assert_string_equal(ppsched_schedule_name(schedule), "auto");
    ppsched_timeline *timeline = make_timeline(schedule, config);
    double step = metrics_of(timeline).makespan;
    assert_int_equal(metrics_of(timeline).limit_device, PPSCHED_NONE);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    return step;
}

/* Never longer than others with as few copies as hold the limit. */
static void test_auto(void **state)
{
    static const char *const straight[] = {"1f1b", "zb_h1", "zb_h2", "gpipe", "zb_auto"};
    static const char *const interleaved[] = {"gis", "interleaved_zb", "interleaved_1f1b", "looped_bfs"};
    uint64_t seed = 1906;
    uint32_t shorter = 0, held = 0;
    (void)state;
    for (int i = 0; i < ROUNDS(80); i++) {
        uint32_t chunks = 1 + random_below(&seed, CHUNKS), devices = 2 + random_below(&seed, DEVICES - 1);
        ppsched_config *config = draw(&seed, devices, chunks, devices * (1 + random_below(&seed, 2)));
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 1 + random_below(&seed, 2 * devices));
        double own = auto_step(config), best = INFINITY;
        for (uint32_t k = 0; k < (chunks == 1 ? 5u : 4u); k++) {
            ppsched_schedule *plain = NULL;
            ppsched_error error;
            if (ppsched_schedule_generate(&plain, config, (chunks == 1 ? straight : interleaved)[k], &error) != PPSCHED_OK)
                continue;
            best = fmin(best, step_of(plain, config, 0, true, NULL, &error));
            ppsched_schedule_release(plain);
        }
        assert_true(own <= best * (1 + 1e-9));
        held += own < INFINITY;
        shorter += own < best * (1 - 1e-9);
        ppsched_config_destroy(config);
    }
    print_message("# auto offloads within %u limits, in a shorter step than others in %u\n", held, shorter);
    assert_true(held > ROUNDS(60) && shorter > ROUNDS(10));
}

/* Copies that are far slower than compute, on one link: one a device is enough. */
static void test_slow_copies(void **state)
{
    static const double links[] = {0, 0, 0};
    uint32_t copies = 0;
    ppsched_error error;
    (void)state;
    ppsched_config *config = make_config(3, 6, 4);
    set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, 1);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, 1);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, 1);
    set_number(config, PPSCHED_QUANTITY_OFFLOAD_TIMES, 3);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 5);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_HOST_LINK, links, 3, &error), &error);
    ppsched_schedule *plain = make_schedule(config, "interleaved_zb");
    assert_true(step_of(plain, config, 0, true, &copies, &error) == 37);
    assert_int_equal(copies, 3);
    ppsched_schedule_release(plain);
    ppsched_config_destroy(config);
}

/* A refusal names the first device over its limit, and a factor of the limits that works; returns that. */
static double look_at_refusal(const ppsched_schedule *plain, const ppsched_config *config, const ppsched_timeline *timeline,
                              double *limits, const char *message)
{
    uint32_t devices = ppsched_config_devices(config), first = 0, named = 0;
    double limit, factor;
    ppsched_error error;
    const char *at = strstr(message, "such as device ");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "such as device %u's, %lf; %lf times these limits work", &named, &limit, &factor), 3);
    while (first < devices && device_metrics_of(timeline, first).peak_memory <= limits[first])
        first++;
    assert_int_equal(named, first);
    assert_true(fabs(limit - limits[named]) < 1e-5 * limit);
    ppsched_config *wider = NULL;
    expect_ok(ppsched_config_copy(&wider, config, NULL), NULL);
    for (uint32_t d = 0; d < devices; d++)
        limits[d] *= factor * (1 + 1e-5); /* it is told in six digits */
    expect_ok(ppsched_config_set_values(wider, PPSCHED_QUANTITY_MEM_LIMIT, limits, devices, NULL), NULL);
    assert_true(isfinite(step_of(plain, wider, 0, true, NULL, &error)));
    ppsched_config_destroy(wider);
    return factor;
}

/* Of each stage another part goes, over links of other speeds, and each device has a limit of its own: it is held, or
 * refused. */
static void test_parts_of_uneven_stages(void **state)
{
    uint64_t seed = 61;
    int held = 0;
    uint32_t evaluations = 0;
    double sum = 0, factors = 0; /* of steps, in units of the plain ones; of limits that would do */
    (void)state;
    for (int i = 0; i < ROUNDS(50); i++) {
        const struct uneven problem = {2 + random_below(&seed, 3), 1 + random_below(&seed, 3), 7, 1, random_next(&seed)};
        ppsched_config *config = make_uneven(&problem);
        double limits[DEVICES];
        ppsched_error error;
        add_uneven(config, UNEVEN_COPIES, &seed);
        ppsched_schedule *plain = make_schedule(config, problem.chunks == 1 ? "1f1b" : "interleaved_1f1b");
        ppsched_timeline *timeline = make_timeline(plain, config);
        for (uint32_t d = 0; d < problem.devices; d++) {
            ppsched_device_metrics figures = device_metrics_of(timeline, d);
            limits[d] = figures.static_memory +
                        (figures.peak_memory - figures.static_memory) * (0.7 + random_below(&seed, 5) / 16.0);
        }
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, limits, problem.devices, &error), &error);
        expect_ok(ppsched_config_set_progress(config, count_call, &evaluations, &error), &error);
        double step = step_of(plain, config, 0, true, NULL, &error); /* which looks at the limit */
        held += isfinite(step);
        sum += isfinite(step) ? step / metrics_of(timeline).makespan : 0;
        expect_ok(ppsched_config_set_progress(config, NULL, NULL, &error), &error);
        factors += isfinite(step) ? 0 : look_at_refusal(plain, config, timeline, limits, error.message);
        ppsched_timeline_destroy(timeline);
        ppsched_schedule_release(plain);
        ppsched_config_destroy(config);
    }
    if (held < ROUNDS(50) / 3)
        fail_msg("only %d of %d are held", held, ROUNDS(50));
    if (ROUNDS(50) == 50)
        expect_no_worse(&(struct found){(uint32_t)held, evaluations, sum + factors},
                        &(struct found){30, 1627, 54.239450388963959});
}

/* Ops that take no time leave no place between them: the limit is held another way, or refused. */
static void test_no_time(void **state)
{
    uint64_t seed = 12;
    uint32_t held = 0, refused = 0, evaluations = 0;
    double sum = 0;
    ppsched_error error;
    (void)state;
    for (int i = 0; i < 60; i++) {
        uint32_t devices = 2 + random_below(&seed, 3);
        double times[3][DEVICES * CHUNKS];
        ppsched_config *config = draw(&seed, devices, CHUNKS, 2 + random_below(&seed, 7));
        for (int32_t q = 0; q < 3; q++) {
            static const int32_t quantities[] = {PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES,
                                                 PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES};
            for (uint32_t s = 0; s < devices * CHUNKS; s++)
                times[q][s] = random_below(&seed, 3) == 0 ? 0 : 1;
            expect_ok(ppsched_config_set_values(config, quantities[q], times[q], devices * CHUNKS, &error), &error);
        }
        ppsched_schedule *plain = make_schedule(config, "gis");
        for (double limit = 1; limit <= 4; limit++) {
            set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, limit);
            expect_ok(ppsched_config_set_progress(config, count_call, &evaluations, &error), &error);
            double step = step_of(plain, config, 0, true, NULL, &error);
            held += step < INFINITY;
            sum += step < INFINITY ? step : 0;
            refused += step == INFINITY;
        }
        ppsched_schedule_release(plain);
        ppsched_config_destroy(config);
    }
    assert_true(held > 60 && refused > 10);
    expect_no_worse(&(struct found){held, evaluations, sum}, &(struct found){224, 32698, 9006.5});
}

/* A refusal names less than what its own search came to where less is found to work, on the first device, too. */
static void test_named_limit(void **state)
{
    static const double forwards[] = {1, 1, 1, 0, 1.5, 0.5}, links[] = {0, 0};
    ppsched_config *config = make_config(2, 6, 6);
    ppsched_error error = {0};
    (void)state;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, forwards, 6, &error), &error);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_HOST_LINK, links, 2, &error), &error);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, 1);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, 1);
    set_number(config, PPSCHED_QUANTITY_OFFLOAD_TIMES, 0.5);
    ppsched_schedule *plain = make_schedule(config, "interleaved_zb");
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 1);
    assert_true(step_of(plain, config, 0, true, NULL, &error) == INFINITY);
    assert_non_null(strstr(error.message, "the least limit found to work is 2"));
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 2);
    assert_true(isfinite(step_of(plain, config, 0, true, NULL, &error)));
    ppsched_schedule_release(plain);
    ppsched_config_destroy(config);
}

/* How many evaluations offload takes until a share of the peak, and what the step is longer by; `unlike`: the limits of devices
 * differ by so much. */
static uint32_t evaluations_of(double *longer, uint32_t microbatches, double share, double unlike)
{
    double limits[4];
    uint32_t calls = 0;
    ppsched_config *config = make_config(4, 8, microbatches);
    ppsched_schedule *plain = make_schedule(config, "gis");
    ppsched_timeline *timeline = make_timeline(plain, config);
    ppsched_error error;
    set_number(config, PPSCHED_QUANTITY_OFFLOAD_TIMES, 2.5);
    for (uint32_t d = 0; d < 4; d++)
        limits[d] = floor(metrics_of(timeline).peak_memory * share) + d * unlike;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, limits, 4, &error), &error);
    expect_ok(ppsched_config_set_progress(config, count_call, &calls, &error), &error);
    *longer = step_of(plain, config, 0, true, NULL, &error) - metrics_of(timeline).makespan;
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(plain);
    ppsched_config_destroy(config);
    return calls;
}

/* What keep.h says: few evaluations where a choice costs no time. Else 256 where they have some 10^6 ops in all, and 48 at
 * least; as often for tighter limits of few ops; some more where nothing holds. That many are taken where copies are too slow,
 * and what they cost does not grow with the microbatches. */
static void test_work_is_bounded(void **state)
{
    static const uint32_t microbatches[] = {12, 36, 324, 972};
    (void)state;
    for (size_t i = 0; i < sizeof microbatches / sizeof microbatches[0]; i++) {
        uint32_t ops = 3 * 8 * microbatches[i], most = 1000000 / ops > 256 ? 256 : 1000000 / ops < 48 ? 48 : 1000000 / ops;
        double longer = 0;
        assert_in_range(evaluations_of(&longer, microbatches[i], 0.625, 0), 1, 8);
        assert_true(longer == 0);
        assert_in_range(evaluations_of(&longer, microbatches[i], 0.375, 0), most / 2, (ops <= 1 << 13 ? 2 : 1) * most + 24);
        assert_true(longer > 0 && longer <= 5);
    }
}

/* Where limits differ the least of them is tried for all devices, in schedules of fewer than 2^13 ops. */
static void test_work_for_the_least_limit(void **state)
{
    double longer = 0;
    (void)state;
    uint32_t calls = evaluations_of(&longer, 341, 0.375, 1), more = evaluations_of(&longer, 342, 0.375, 1);
    assert_in_range(more, 48, 95 + 24);
    assert_in_range(calls, 96 + 24 + 1, 2 * (96 + 24));
}

struct stop {
    uint32_t calls, at;
};

static int32_t stop_at(void *user, const ppsched_progress *progress)
{
    struct stop *stop = user;
    (void)progress;
    return ++stop->calls == stop->at;
}

/* Wherever it is stopped it goes no further. */
static void test_stopped(void **state)
{
    static const double limits[] = {1, 3, 9}; /* the first is refused, and a least one looked for */
    ppsched_config *config = make_config(4, 8, 6);
    ppsched_schedule *plain = make_schedule(config, "gis"), *schedule = NULL;
    const ppsched_offload_options options = {.size = sizeof options, .until_limit = 1};
    ppsched_error error;
    (void)state;
    set_number(config, PPSCHED_QUANTITY_OFFLOAD_TIMES, 2.5);
    for (size_t i = 0; i < 3; i++) {
        ppsched_status status = PPSCHED_ERROR_CANCELLED;
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, limits[i]);
        for (uint32_t at = 1; status == PPSCHED_ERROR_CANCELLED; at += 1 + at / 8) {
            struct stop stop = {0, at};
            expect_ok(ppsched_config_set_progress(config, stop_at, &stop, &error), &error);
            status = ppsched_schedule_offload(&schedule, plain, config, &options, &error);
            assert_int_equal(status == PPSCHED_ERROR_CANCELLED, stop.calls >= at);
            assert_int_equal(stop.calls, stop.calls >= at ? at : stop.calls);
        }
        if (status == PPSCHED_OK)
            ppsched_schedule_release(schedule);
        else
            assert_true(status == PPSCHED_ERROR_REFUSED && i == 0);
    }
    ppsched_schedule_release(plain);
    ppsched_config_destroy(config);
}

/* --- limits that are wider --- */

struct tight {
    const char *strategy;
    uint32_t microbatches;
    double forwards[12], links[4], copy;
};

static ppsched_config *make_tight(const struct tight *problem)
{
    ppsched_error error;
    ppsched_config *config = make_config(4, 12, problem->microbatches);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, problem->forwards, 12, &error), &error);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_HOST_LINK, problem->links, 4, &error), &error);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, 1);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, 1);
    set_number(config, PPSCHED_QUANTITY_OFFLOAD_TIMES, problem->copy);
    return config;
}

static double step_within(const ppsched_schedule *plain, ppsched_config *config, const double *limits)
{
    ppsched_error error;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, limits, 4, &error), &error);
    return step_of(plain, config, 0, true, NULL, &error);
}

/* What holds tighter limits is tried for wider ones, too, here where less is found under these: those of each device by an
 * activation, and the least of theirs on all. */
static void test_wider_is_not_longer(void **state)
{
    static const struct tight one = {"interleaved_1f1b_overlap", 8, {1, 1, 1, 1, 1, 1.5, 1, 1, 1, 1, 1, 1}, {0, 0, 0, 0}, 1},
                              own = {"interleaved_1f1b", 12, {1, 1.5, 1, 1, 1, 0, 1, 1, 0.5, 1, 1, 1}, {0, 0, 1, 1}, 1.5};
    ppsched_config *config = make_tight(&one);
    ppsched_schedule *plain = make_schedule(config, one.strategy);
    (void)state;
    double five = step_within(plain, config, (double[]){5, 5, 5, 5}), six = step_within(plain, config, (double[]){6, 6, 6, 6});
    assert_true(six <= five && isfinite(five));
    ppsched_schedule_release(plain);
    ppsched_config_destroy(config);
    config = make_tight(&own);
    plain = make_schedule(config, own.strategy);
    double step = step_within(plain, config, (double[]){8, 7, 5, 4}), less = step_within(plain, config, (double[]){7, 6, 4, 3});
    double least = step_within(plain, config, (double[]){4, 4, 4, 4});
    assert_true(step <= less && step <= least && isfinite(less) && isfinite(least));
    ppsched_schedule_release(plain);
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random),
                                       cmocka_unit_test(test_parts_of_uneven_stages),
                                       cmocka_unit_test(test_auto),
                                       cmocka_unit_test(test_slow_copies),
                                       cmocka_unit_test(test_no_time),
                                       cmocka_unit_test(test_stopped),
                                       cmocka_unit_test(test_named_limit),
                                       cmocka_unit_test(test_work_is_bounded),
                                       cmocka_unit_test(test_work_for_the_least_limit),
                                       cmocka_unit_test(test_wider_is_not_longer)};
    return cmocka_run_group_tests_name("offload_limit", tests, NULL, NULL);
}
