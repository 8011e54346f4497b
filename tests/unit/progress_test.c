/* SPDX-License-Identifier: Apache-2.0 */
/* What a search tells while it runs, and how it is stopped. */
#include "support/problem.h"
#include "support/rounds.h"

#include <math.h>
#include <string.h>

/* What a callback has seen; it stops the search at its call number `stop` (0: never). */
struct witness {
    int calls, stop;
    double share, best;
    int falls; /* how often a share was smaller or a best larger than before, or a share was none */
};

static int32_t see(void *user, const ppsched_progress *progress)
{
    struct witness *witness = user;
    double share = progress->share, best = progress->best;
    assert_true(progress->size == sizeof *progress && progress->reserved == 0);
    witness->calls++;
    witness->falls += !(share >= witness->share && share <= 1) || !(best <= witness->best);
    witness->share = share;
    witness->best = best;
    return witness->calls == witness->stop;
}

static struct witness fresh(int stop)
{
    return (struct witness){.stop = stop, .best = HUGE_VAL};
}

/* A problem for each strategy that searches: uneven, with delay. */
static ppsched_config *make_uneven(const ppsched_strategy_info *info, struct witness *witness)
{
    uint32_t stages = info->chunks == 2 || info->chunks == 0 ? 8 : 4;
    ppsched_config *config = make_config(4, stages, 9);
    ppsched_error error;
    double times[8];
    for (uint32_t s = 0; s < stages; s++)
        times[s] = 1 + s % 3 * 0.375;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, times, stages, &error), &error);
    set_number(config, PPSCHED_QUANTITY_P2P_TIME, 0.25);
    if (strcmp(info->name, "auto") == 0)
        expect_ok(ppsched_config_set_option(config, "placement", "v", &error), &error);
    assert_int_equal(ppsched_config_set_progress(config, see, witness, NULL), PPSCHED_OK);
    return config;
}

static uint32_t for_each_search(void (*test)(const ppsched_strategy_info *info))
{
    uint32_t searches = 0;
    for (uint32_t i = 0; i < ppsched_strategy_count(); i++) {
        ppsched_strategy_info info = {.size = sizeof info};
        assert_int_equal(ppsched_strategy_get_info(&info, i, NULL), PPSCHED_OK);
        if (info.searches) {
            test(&info);
            searches++;
        }
    }
    return searches;
}

static void expect_honest_progress(const ppsched_strategy_info *info)
{
    struct witness witness = fresh(0);
    ppsched_config *config = make_uneven(info, &witness), *silent = NULL;
    ppsched_error error;
    ppsched_schedule *schedule = make_schedule(config, info->name);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    if (witness.falls != 0 || witness.calls == 0 || witness.share != 1)
        fail_msg("%s: %d calls, %d of them fell back, last share %g", info->name, witness.calls, witness.falls, witness.share);
    ppsched_metrics metrics = metrics_of(timeline);
    double has = strcmp(info->name, "auto") == 0 ? metrics.makespan : metrics.span;
    if (witness.best < HUGE_VAL && fabs(witness.best - has) > 1e-9)
        fail_msg("%s: says %g, has %g", info->name, witness.best, has);
    expect_ok(ppsched_config_copy(&silent, config, &error), &error);
    assert_int_equal(ppsched_config_set_progress(silent, NULL, NULL, NULL), PPSCHED_OK);
    int calls = witness.calls;
    ppsched_schedule *other = make_schedule(silent, info->name);
    assert_int_equal(witness.calls, calls);
    for (uint32_t d = 0; d < 4; d++) {
        size_t count = 0, other_count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &count);
        const ppsched_op *other_ops = ppsched_queue_ops(ppsched_schedule_queue(other, d), &other_count);
        assert_int_equal(count, other_count);
        assert_memory_equal(ops, other_ops, count * sizeof *ops);
    }
    ppsched_schedule_release(other);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(silent);
    ppsched_config_destroy(config);
}

/* What a search ends with is what it told last. */
static void test_the_last_is_the_best(void **state)
{
    static const struct {
        int devices, microbatches;
        double limit;
    } problems[] = {{6, 9, 2}, {8, 16, 3}, {4, 8, 4}};
    (void)state;
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
        struct witness witness = fresh(0);
        ppsched_config *config = make_config(problems[i].devices, problems[i].devices, problems[i].microbatches);
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, problems[i].limit);
        assert_int_equal(ppsched_config_set_progress(config, see, &witness, NULL), PPSCHED_OK);
        ppsched_schedule *schedule = make_schedule(config, "zb_auto");
        ppsched_timeline *timeline = make_timeline(schedule, config);
        assert_true(witness.share == 1 && witness.best == metrics_of(timeline).span);
        ppsched_timeline_destroy(timeline);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
}

static void test_shares_and_best(void **state)
{
    (void)state;
    assert_true(for_each_search(expect_honest_progress) >= 7);
}

/* Stopped at its first calls, and at every so many later on up to the last. */
static void expect_stops(const ppsched_strategy_info *info)
{
    struct witness all = fresh(0), witness;
    ppsched_config *config = make_uneven(info, &all);
    ppsched_schedule_release(make_schedule(config, info->name));
    for (int stop = 1; stop <= all.calls; stop += stop < 4 || stop + 20 > all.calls ? 1 : all.calls / ROUNDS(12) + 1) {
        ppsched_schedule *untouched = (ppsched_schedule *)&witness, *out = untouched;
        ppsched_error error;
        witness = fresh(stop);
        assert_int_equal(ppsched_config_set_progress(config, see, &witness, NULL), PPSCHED_OK);
        assert_int_equal(ppsched_schedule_generate(&out, config, info->name, &error), PPSCHED_ERROR_CANCELLED);
        assert_ptr_equal(out, untouched);
        if (witness.calls != stop)
            fail_msg("%s: called again after it was stopped at call %d of %d", info->name, stop, all.calls);
        assert_string_equal(error.message, "the search was cancelled");
        assert_int_equal(ppsched_schedule_generate(&out, config, info->name, NULL), PPSCHED_OK); /* it asks only once */
        ppsched_schedule_release(out);
    }
    ppsched_config_destroy(config);
}

static void test_stop(void **state)
{
    (void)state;
    for_each_search(expect_stops);
}

/* An offload is asked in each evaluation whether it is to go on, and stops at whichever says no. */
static void test_stop_an_offload(void **state)
{
    const ppsched_offload_options options = {.size = sizeof options};
    ppsched_config *config = make_config(2, 2, 4);
    ppsched_schedule *schedule = make_schedule(config, "1f1b"), *copied = NULL;
    struct witness all = fresh(0), witness;
    ppsched_error error;
    (void)state;
    set_number(config, PPSCHED_QUANTITY_OFFLOAD_TIMES, 1.5);
    assert_int_equal(ppsched_config_set_progress(config, see, &all, NULL), PPSCHED_OK);
    expect_ok(ppsched_schedule_offload(&copied, schedule, config, &options, &error), &error);
    ppsched_schedule_release(copied);
    assert_true(all.calls > 4);
    for (int stop = 1; stop <= all.calls; stop++) {
        copied = NULL;
        witness = fresh(stop);
        assert_int_equal(ppsched_config_set_progress(config, see, &witness, NULL), PPSCHED_OK);
        assert_int_equal(ppsched_schedule_offload(&copied, schedule, config, &options, &error), PPSCHED_ERROR_CANCELLED);
        assert_string_equal(error.message, "the offload was cancelled");
        assert_null(copied);
        assert_int_equal(witness.calls, stop);
    }
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* A fixed rule has nothing to tell; a copy of a config tells the same listener. */
static void test_who_is_told(void **state)
{
    struct witness witness = fresh(0);
    ppsched_config *config = make_config(4, 4, 8), *copy = NULL;
    ppsched_error error;
    (void)state;
    assert_int_equal(ppsched_config_set_progress(config, see, &witness, NULL), PPSCHED_OK);
    ppsched_schedule_release(make_schedule(config, "1f1b"));
    assert_int_equal(witness.calls, 0);
    expect_ok(ppsched_config_copy(&copy, config, &error), &error);
    ppsched_config_destroy(config);
    ppsched_schedule_release(make_schedule(copy, "auto"));
    assert_true(witness.calls > 0 && witness.share == 1);
    ppsched_config_destroy(copy);
    assert_int_equal(ppsched_config_set_progress(NULL, see, &witness, NULL), PPSCHED_ERROR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares_and_best), cmocka_unit_test(test_the_last_is_the_best), cmocka_unit_test(test_stop),
        cmocka_unit_test(test_stop_an_offload), cmocka_unit_test(test_who_is_told),
    };
    return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
