/* SPDX-License-Identifier: Apache-2.0 */
/* Every strategy at every size: it gives a complete schedule that can be run, or refuses and proposes sizes that work. And the
 * closed forms that papers give for bubbles and memory. */
#include "support/problem.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct size {
    long devices, stages, microbatches, group; /* group 0: the strategy's default */
    long slices;                               /* 0: whole microbatches */
};

static ppsched_config *config_of(const struct size *size)
{
    char text[24];
    ppsched_error error;
    ppsched_config *config = make_config(size->devices, size->stages, size->microbatches);
    if (size->slices != 0)
        expect_ok(ppsched_config_set_slices(config, size->slices, &error), &error);
    snprintf(text, sizeof text, "%ld", size->group);
    if (size->group != 0)
        expect_ok(ppsched_config_set_option(config, "group_size", text, &error), &error);
    return config;
}

/* 1 where the strategy serves the size; then its schedule is complete and can be run. */
static int serves(const char *strategy, const struct size *size, ppsched_error *error)
{
    ppsched_config *config = config_of(size);
    ppsched_schedule *schedule = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_status status = ppsched_schedule_generate(&schedule, config, strategy, error);
    if (status == PPSCHED_OK) {
        expect_ok(ppsched_schedule_check(NULL, 0, NULL, schedule, error), error);
        expect_ok(ppsched_schedule_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error), error);
    } else {
        assert_int_equal(status, PPSCHED_ERROR_REFUSED);
        assert_null(schedule);
    }
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    return status == PPSCHED_OK;
}

static void expect_serves(const char *strategy, const struct size *size, const char *proposal)
{
    ppsched_error error;
    if (!serves(strategy, size, &error))
        fail_msg("%s proposes \"%s\", which it refuses: %s", strategy, proposal, error.message);
}

/* One alternative of a proposal, such as "4 or 6 microbatches". */
static void try_alternative(const char *strategy, const struct size *asked, const char *text)
{
    struct size size = *asked, other = *asked;
    char word[24];
    int used = 0;
    sscanf(text, "%ld %*[devics], %ld %*[stages] and %ld %*[microbathes]%n", &size.devices, &size.stages, &size.microbatches,
           &used);
    if (used > 0) {
        expect_serves(strategy, &size, text);
        return;
    }
    size = *asked;
    sscanf(text, "%ld %*[devics], %ld %*[stages] and group_size %ld%n", &size.devices, &size.stages, &size.group, &used);
    if (used > 0) {
        expect_serves(strategy, &size, text);
        return;
    }
    size = *asked;
    if (sscanf(text, "group_size %ld", &size.group) == 1) {
        expect_serves(strategy, &size, text);
        return;
    }
    long first = 0, second = 0;
    int count = sscanf(text, "%ld or %ld %23[a-z]", &first, &second, word) == 3;
    if (!count)
        assert_int_equal(sscanf(text, "%ld %23[a-z]", &first, word), 2);
    if (strncmp(word, "microbatch", 10) == 0) {
        size.microbatches = first;
        other.microbatches = second;
    } else if (strncmp(word, "device", 6) == 0) {
        size.devices = first;
    } else if (strncmp(word, "slice", 5) == 0) {
        size.slices = first;
        if (size.stages * size.microbatches * first > 100000)
            return; /* as large as it is slow */
    } else {
        assert_int_equal(strncmp(word, "stage", 5), 0);
        size.stages = first;
        other.stages = second;
    }
    expect_serves(strategy, &size, text);
    if (count)
        expect_serves(strategy, &other, text);
}

static void try_proposals(const char *strategy, const struct size *asked, const char *message)
{
    char copy[sizeof((ppsched_error *)0)->message];
    const char *found = strstr(message, "; nearest: ");
    if (found == NULL)
        fail_msg("\"%s\" proposes nothing", message);
    strcpy(copy, found + strlen("; nearest: "));
    for (char *part = copy, *next; part != NULL; part = next) {
        next = strstr(part, ", or ");
        if (next != NULL) {
            *next = '\0';
            next += strlen(", or ");
        }
        try_alternative(strategy, asked, part);
    }
}

struct tally {
    long served, refused;
};

static void visit(struct tally *tally, const char *strategy, const struct size *size)
{
    ppsched_error error;
    if (serves(strategy, size, &error)) {
        tally->served++;
        return;
    }
    tally->refused++;
    try_proposals(strategy, size, error.message);
}

/* Whether the strategy has the option group_size. */
static bool has_groups(const ppsched_strategy_info *info)
{
    uint32_t number = 0;
    ppsched_option_info option = {.size = sizeof option};
    assert_int_equal(ppsched_strategy_find(&number, info->name, NULL), PPSCHED_OK);
    for (uint32_t i = 0; i < info->option_count; i++) {
        assert_int_equal(ppsched_strategy_get_option(&option, number, i, NULL), PPSCHED_OK);
        if (strcmp(option.name, "group_size") == 0)
            return true;
    }
    return false;
}

/* With groups, of which there are many, to 9 devices and for 12. */
static struct tally sweep(const ppsched_strategy_info *info)
{
    const bool grouped = has_groups(info);
    struct tally tally = {0, 0};
    for (long d = 1; d <= 12; d += d == 9 && grouped ? 3 : 1)
        for (long v = 1; v <= 4; v++)
            for (long m = 1; m <= 40; m++)
                for (long g = grouped ? 1 : 0; g <= (grouped ? 2 * d : 0); g++)
                    visit(&tally, info->name, &(struct size){d, d * v, m, g});
    return tally;
}

/* The same for a search, which is slower, at fewer sizes. */
static struct tally sweep_search(const ppsched_strategy_info *info)
{
    static const long microbatches[] = {1, 2, 3, 5, 8, 13};
    struct tally tally = {0, 0};
    for (long d = 1; d <= 6; d++)
        for (long v = 1; v <= 3; v++)
            for (size_t i = 0; i < sizeof microbatches / sizeof microbatches[0]; i++)
                visit(&tally, info->name, &(struct size){d, d * v, microbatches[i], 0});
    return tally;
}

static struct tally sample(const ppsched_strategy_info *info, uint64_t *seed)
{
    const bool grouped = has_groups(info);
    struct tally tally = {0, 0};
    for (int i = 0; i < 60; i++) {
        struct size size = {.devices = 1 + random_below(seed, 256)};
        long chunks = info->chunks != 0 ? info->chunks : 1 + random_below(seed, 4);
        size.stages = size.devices * chunks + (random_below(seed, 8) == 0 ? 1 : 0);
        size.microbatches = 1 + random_below(seed, (uint32_t)(3 * size.devices));
        if (random_below(seed, 2) == 0)
            size.microbatches = size.devices * (1 + random_below(seed, 4));
        size.group = grouped ? 1 + random_below(seed, (uint32_t)(2 * size.devices)) : 0;
        visit(&tally, info->name, &size);
    }
    return tally;
}

static void test_every_size(void **state)
{
    uint64_t seed = 4;
    (void)state;
    for (uint32_t i = 0; i < ppsched_strategy_count(); i++) {
        ppsched_strategy_info info = {.size = sizeof info};
        assert_int_equal(ppsched_strategy_get_info(&info, i, NULL), PPSCHED_OK);
        struct tally swept = info.searches ? sweep_search(&info) : sweep(&info);
        struct tally sampled = info.searches ? swept : sample(&info, &seed);
        printf("# %-26s swept: %6ld served, %6ld refused; sampled to D = 256: %2ld served, %2ld refused\n", info.name,
               swept.served, swept.refused, sampled.served, sampled.refused);
        assert_true(swept.served > 0 && sampled.served > 0);
    }
}

/* --- closed forms; c = 0, all stages alike --- */

struct unit {
    double f, i, w; /* of a stage; B is I + W */
};

struct result {
    ppsched_metrics whole;
    ppsched_device_metrics device[16];
};

/* Memory as the zero-bubble papers count it: 3 for a stage pass, of which 1 stays until W. */
static struct result run(const char *strategy, long devices, long chunks, long microbatches, struct unit unit)
{
    struct result result;
    struct size size = {devices, devices * chunks, microbatches, 0};
    ppsched_config *config = config_of(&size);
    set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, unit.f);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, unit.i);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, unit.w);
    set_number(config, PPSCHED_QUANTITY_MEM_FORWARD, 3);
    set_number(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, -2);
    ppsched_schedule *schedule = make_schedule(config, strategy);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    result.whole = metrics_of(timeline);
    for (uint32_t d = 0; d < (uint32_t)devices; d++)
        result.device[d] = device_metrics_of(timeline, d);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    return result;
}

static long least(long a, long b)
{
    return a < b ? a : b;
}

static void expect_equal(double ours, double theirs, const char *what, long devices, long microbatches)
{
    if (ours != theirs)
        fail_msg("%s at D = %ld, M = %ld: %g, not %g", what, devices, microbatches, ours, theirs);
}

static const struct unit units[] = {{1, 1, 1}, {4, 5, 3}, {3, 6, 2}, {10, 11, 9}};

enum { UNITS = sizeof units / sizeof units[0] };

static void test_gpipe_and_1f1b(void **state)
{
    (void)state;
    for (int u = 0; u < UNITS; u++)
        for (long d = 1; d <= 12; d++)
            for (long m = 1; m <= 40; m += 3) {
                double step = units[u].f + units[u].i + units[u].w;
                struct result gpipe = run("gpipe", d, 1, m, units[u]), one = run("1f1b", d, 1, m, units[u]);
                struct result eager = run("eager_1f1b", d, 1, m, units[u]);
                expect_equal(gpipe.whole.makespan, (double)(m + d - 1) * step, "gpipe makespan", d, m);
                expect_equal(one.whole.makespan, (double)(m + d - 1) * step, "1f1b makespan", d, m);
                expect_equal(eager.whole.makespan, (double)(m + d - 1) * step, "eager_1f1b makespan", d, m);
                for (long r = 0; r < d; r++) {
                    expect_equal(gpipe.device[r].peak_memory, 3.0 * (double)m, "gpipe peak", d, m);
                    expect_equal(one.device[r].peak_memory, 3.0 * (double)least(m, d - r), "1f1b peak", d, m);
                    expect_equal(eager.device[r].peak_memory, 3.0 * (double)least(m, 2 * (d - 1 - r) + 1), "eager peak", d, m);
                }
            }
}

/* "Zero Bubble Pipeline Parallelism", table 2; for W <= I and enough microbatches. */
static void test_zero_bubble(void **state)
{
    (void)state;
    for (int u = 0; u < UNITS; u++)
        for (long d = 1; d <= 12; d++)
            for (long m = 2 * d; m <= 40; m += 3) {
                double f = units[u].f, i = units[u].i, w = units[u].w, work = (double)m * (f + i + w);
                struct result h1 = run("zb_h1", d, 1, m, units[u]), h2 = run("zb_h2", d, 1, m, units[u]);
                expect_equal(h1.whole.makespan - work, (double)(d - 1) * (f + i - w), "zb_h1 bubble", d, m);
                double h2_bubble = (double)(d - 1) * (f + i - 2 * w);
                expect_equal(h2.device[0].last_end - h2.device[0].first_start - work, h2_bubble > 0 ? h2_bubble : 0,
                             "zb_h2 bubble", d, m);
                for (long r = 0; r < d; r++) {
                    expect_equal(h1.device[r].peak_memory, 3.0 * (double)(d - r) + (double)r, "zb_h1 peak", d, m);
                    expect_equal(h2.device[r].peak_memory, 3.0 * (double)(2 * d - 2 * r - 1) + 2.0 * (double)r, "zb_h2 peak", d,
                                 m);
                }
            }
}

static void test_interleaved(void **state)
{
    (void)state;
    for (int u = 0; u < UNITS; u++)
        for (long d = 1; d <= 8; d++)
            for (long v = 1; v <= 4; v++)
                for (long m = d; m <= 40; m += d) {
                    double step = units[u].f + units[u].i + units[u].w, work = (double)(m * v) * step;
                    struct result ours = run("interleaved_1f1b", d, v, m, units[u]), bfs = run("looped_bfs", d, v, m, units[u]);
                    struct result less = run("interleaved_1f1b_less_memory", d, v, m, units[u]);
                    struct result groups = run("group_interleaved_1f1b", d, v, m, units[u]);
                    expect_equal(ours.whole.makespan - work, (double)(d - 1) * step, "interleaved_1f1b bubble", d, m);
                    expect_equal(bfs.whole.makespan - work, (double)(d - 1) * step, "looped_bfs bubble", d, m);
                    expect_equal(less.whole.makespan - work, (double)(d - 1) * step, "less_memory bubble", d, m);
                    for (long r = 0; r < d; r++)
                        expect_equal(ours.device[r].peak_memory, 3.0 * (double)least(m * v, 2 * (d - 1 - r) + (v - 1) * d + 1),
                                     "interleaved_1f1b peak", d, m);
                    expect_equal(groups.whole.makespan - work, (double)(d - 1) * (units[u].f + units[u].i), "groups bubble", d,
                                 m);
                    for (long r = 0; r < d; r++)
                        expect_equal(groups.device[r].peak_memory, 3.0 * (double)least(m * v, (v - 1) * d + d - r),
                                     "groups peak", d, m);
                    for (long r = 0; r < d; r++)
                        expect_equal(less.device[r].peak_memory, 3.0 * (double)least(m * v, (d - 1 - r) + (v - 1) * d + 1),
                                     "less_memory peak", d, m);
                }
}

/* No idle time in any device's span, and 2D chunk activations on every device, where F, I and W cost the same. */
static void test_zbv(void **state)
{
    (void)state;
    for (long d = 1; d <= 12; d++)
        for (long m = 2 * d; m <= 40; m++) {
            struct result ours = run("zbv", d, 2, m, units[0]);
            expect_equal(ours.whole.span, 6.0 * (double)m, "zbv span", d, m);
            expect_equal(ours.whole.makespan, 6.0 * (double)m + (double)(d - 1), "zbv makespan", d, m);
            for (long r = 0; r < d; r++)
                expect_equal(ours.device[r].peak_memory, 6.0 * (double)d, "zbv peak", d, m);
        }
}

/* deepseek-ai/DualPipe: bubble (P/2 - 1)(F&B + B - 3W) of a pipeline of P stages, where a pair takes as long as its ops and
 * F, I and W cost the same. */
static void test_dualpipe(void **state)
{
    (void)state;
    for (long d = 2; d <= 12; d += 2)
        for (long m = 2 * d; m <= 40; m += 2) {
            double f = units[0].f, i = units[0].i, w = units[0].w, pair = f + i + w;
            double work = (double)m * pair, bubble = pair + i + w - 3 * w;
            struct result both = run("dualpipe", d, 1, m, units[0]), v = run("dualpipe_v", d, 2, m, units[0]);
            expect_equal(both.whole.makespan - work, (double)(d / 2 - 1) * bubble, "dualpipe bubble", d, m);
            expect_equal(v.whole.makespan - 2 * work, (double)(d - 1) * bubble, "dualpipe_v bubble", d, m);
        }
}

/* Peaks of docs/strategies.md that no paper gives, in stage passes. `lead` is what device 0 holds, `slope` what each next one
 * holds less; 0 for all alike. */
static void expect_peaks(const char *strategy, long devices, long chunks, long microbatches, long lead, long slope)
{
    struct size size = {devices, devices * chunks, microbatches, 0};
    ppsched_config *config = config_of(&size);
    ppsched_schedule *schedule = make_schedule(config, strategy);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    for (long r = 0; r < devices; r++)
        expect_equal(device_metrics_of(timeline, (uint32_t)r).peak_memory,
                     (double)least(microbatches * chunks, lead - slope * r), strategy, devices, microbatches);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

static void test_peaks(void **state)
{
    (void)state;
    for (long d = 1; d <= 12; d++)
        for (long m = 2 * d; m <= 40; m++) {
            expect_peaks("1f1b_overlap", d, 1, m, 2 * (d - 1) + 2, 2);
            expect_peaks("1f1b_no_flush", d, 1, m, d, 1);
            expect_peaks("eager_1f1b_no_flush", d, 1, m, 2 * (d - 1) + 1, 2);
            expect_peaks("dualpipe_v", d, 2, m, 2 * d + 1, 0);
            if (d % 2 == 0 && m % 2 == 0)
                expect_peaks("dualpipe", d, 1, m, d + 1, 0);
            for (long v = 1; v <= 4 && m % d == 0 && m >= 3 * d; v++) {
                expect_peaks("interleaved_1f1b_overlap", d, v, m, 2 * (d - 1) + (v - 1) * d + 2, 2);
                expect_peaks("interleaved_zb", d, v, m, v * d, 0);
            }
        }
}

/* (D-1)(F+I-W) where g = D divides M, for W <= I. */
static void test_interleaved_zb(void **state)
{
    (void)state;
    for (int u = 0; u < UNITS; u++)
        for (long d = 1; d <= 8; d++)
            for (long v = 1; v <= 4; v++)
                for (long m = 2 * d; m <= 40; m += d) {
                    double f = units[u].f, i = units[u].i, w = units[u].w;
                    struct result ours = run("interleaved_zb", d, v, m, units[u]);
                    expect_equal(ours.whole.makespan - (double)(m * v) * (f + i + w), (double)(d - 1) * (f + i - w),
                                 "interleaved_zb bubble", d, m);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_size),  cmocka_unit_test(test_gpipe_and_1f1b),
        cmocka_unit_test(test_zero_bubble), cmocka_unit_test(test_interleaved),
        cmocka_unit_test(test_zbv),         cmocka_unit_test(test_dualpipe),
        cmocka_unit_test(test_peaks),       cmocka_unit_test(test_interleaved_zb),
    };
    return cmocka_run_group_tests_name("sweep", tests, NULL, NULL);
}
