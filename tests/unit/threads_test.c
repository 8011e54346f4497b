/* SPDX-License-Identifier: Apache-2.0 */
/* What the headers promise to threads: eight at once do what one does, and get what one gets. Built with a thread sanitizer it
 * also tells of races. Threads count on no more than that; the tests compare what they found when they are done. */
#include "support/plan_choice.h"
#include "support/problem.h"

#include <pthread.h>
#include <string.h>

enum { THREADS = 8, ROUNDS = 6 };

/* --- what a thread found --- */

/* A hash (FNV-1a) of all that calls gave, in their order. */
struct found {
    uint64_t hash;
    int failures;
};

static int32_t add_bytes(void *user, const char *data, size_t size)
{
    struct found *found = user;
    for (size_t i = 0; i < size; i++)
        found->hash = (found->hash ^ (unsigned char)data[i]) * 0x100000001B3u;
    return 0;
}

static void add_status(struct found *found, ppsched_status status, ppsched_status wanted)
{
    add_bytes(found, (const char *)&status, sizeof status);
    found->failures += status != wanted;
}

static void add_export(struct found *found, const ppsched_schedule *schedule, const ppsched_timeline *timeline, int32_t format)
{
    add_status(found, ppsched_schedule_export(schedule, timeline, format, NULL, add_bytes, found, NULL), PPSCHED_OK);
}

/* --- eight at once --- */

struct work {
    void (*run)(struct found *found, void *shared, size_t number);
    void *shared;
    size_t number; /* of the thread */
    pthread_barrier_t *start;
    struct found found;
};

static void *run_thread(void *user)
{
    struct work *work = user;
    pthread_barrier_wait(work->start);
    work->run(&work->found, work->shared, work->number);
    return NULL;
}

/* Each thread gets its number; `found` has room for one record a thread. */
static void run_threads(void (*run)(struct found *found, void *shared, size_t number), void *shared, struct found *found)
{
    pthread_barrier_t start;
    pthread_t threads[THREADS];
    struct work work[THREADS];
    assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
    for (size_t i = 0; i < THREADS; i++) {
        work[i] = (struct work){run, shared, i, &start, {0, 0}};
        assert_int_equal(pthread_create(&threads[i], NULL, run_thread, &work[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        found[i] = work[i].found;
        assert_int_equal(found[i].failures, 0);
    }
    pthread_barrier_destroy(&start);
}

/* --- one schedule for all --- */

struct shared {
    ppsched_config *config;
    ppsched_schedule *schedule, *lowered;
    ppsched_timeline *timeline, *crossing;
};

static void time_it(struct found *found, const struct shared *shared)
{
    ppsched_timeline *timeline = NULL, *crossing = NULL;
    add_status(found, ppsched_schedule_check(NULL, 0, NULL, shared->schedule, NULL), PPSCHED_OK);
    add_status(found, ppsched_schedule_evaluate(&timeline, shared->schedule, shared->config, 0, NULL), PPSCHED_OK);
    add_export(found, shared->schedule, timeline, PPSCHED_FORMAT_JSON);
    add_status(found, ppsched_schedule_evaluate_transfers(&crossing, shared->lowered, shared->config, NULL, 0, NULL),
               PPSCHED_OK);
    add_export(found, shared->lowered, crossing, PPSCHED_FORMAT_JSON);
    ppsched_timeline_destroy(crossing);
    ppsched_timeline_destroy(timeline);
}

static void write_it(struct found *found, const struct shared *shared)
{
    char line[1000];
    size_t length = 0;
    for (int32_t format = PPSCHED_FORMAT_TEXT; format <= PPSCHED_FORMAT_CHROME_TRACE; format++) {
        add_export(found, shared->schedule, shared->timeline, format);
        add_export(found, shared->lowered, shared->crossing, format);
    }
    add_export(found, shared->lowered, shared->crossing, PPSCHED_FORMAT_SAIL);
    ppsched_status status = ppsched_schedule_write_launch_arguments(line, sizeof line, &length, shared->schedule,
                                                                    PPSCHED_RUNTIME_PYTORCH, NULL, NULL);
    add_status(found, status, PPSCHED_OK);
    add_bytes(found, line, length - 1);
}

static void lower_it(struct found *found, const struct shared *shared)
{
    const ppsched_channel_model model = {.size = sizeof model, .order = PPSCHED_CHANNEL_ORDER_PAIR};
    ppsched_link edges[16];
    size_t count = 0;
    for (int32_t lowering = PPSCHED_LOWERING_PYTORCH; lowering <= PPSCHED_LOWERING_JUST_IN_TIME; lowering++) {
        const ppsched_lower_options options = {.size = sizeof options, .lowering = lowering};
        ppsched_schedule *own = NULL;
        add_status(found, ppsched_schedule_lower(&own, shared->schedule, shared->config, &options, NULL), PPSCHED_OK);
        add_export(found, own, NULL, PPSCHED_FORMAT_CSV);
        ppsched_schedule_release(own);
    }
    add_status(found, ppsched_schedule_prove(NULL, 0, NULL, shared->lowered, &model, NULL), PPSCHED_OK);
    add_status(found, ppsched_schedule_get_links(edges, 16, &count, shared->lowered, NULL), PPSCHED_OK);
    add_bytes(found, (const char *)edges, count * sizeof edges[0]);
}

static void explain_it(struct found *found, const struct shared *shared)
{
    ppsched_critical_op path[200];
    ppsched_sensitivity sensitivities[8];
    ppsched_bound bound = {.size = sizeof bound};
    double slack[8];
    size_t count = 0;
    add_status(found, ppsched_timeline_get_critical_path(path, 200, &count, shared->timeline, NULL), PPSCHED_OK);
    add_bytes(found, (const char *)path, count * sizeof path[0]);
    add_status(found,
               ppsched_timeline_get_sensitivities(sensitivities, 8, NULL, shared->timeline, PPSCHED_OBJECTIVE_SPAN, 0, NULL,
                                                  NULL, NULL),
               PPSCHED_OK);
    add_bytes(found, (const char *)sensitivities, sizeof sensitivities);
    add_status(found, ppsched_timeline_get_stage_slack(slack, 8, NULL, shared->timeline, NULL), PPSCHED_OK);
    add_bytes(found, (const char *)slack, sizeof slack);
    add_status(found, ppsched_config_find_bound(&bound, shared->config, PPSCHED_OBJECTIVE_SPAN, NULL), PPSCHED_OK);
    add_bytes(found, (const char *)&bound, sizeof bound);
}

/* Threads begin with different calls, so that all of them meet. */
static void use_shared(struct found *found, void *user, size_t number)
{
    static void (*const parts[])(struct found * found, const struct shared *shared) = {time_it, write_it, lower_it, explain_it};
    const struct shared *shared = user;
    struct found results[4] = {{0, 0}};
    for (size_t i = 0; i < 4 * ROUNDS; i++) {
        size_t part = (i + number) % 4;
        const ppsched_schedule *own = ppsched_schedule_retain(shared->schedule);
        parts[part](&results[part], shared);
        ppsched_schedule_release(own);
    }
    for (size_t part = 0; part < 4; part++) {
        found->failures += results[part].failures;
        add_bytes(found, (const char *)&results[part].hash, sizeof results[part].hash);
    }
}

static void make_shared(struct shared *shared)
{
    const double times[] = {1, 1.5, 1, 2, 1, 1, 3, 1};
    const ppsched_lower_options options = {.size = sizeof options, .lowering = PPSCHED_LOWERING_PYTORCH};
    ppsched_error error;
    shared->config = make_config(4, 8, 8);
    set_number(shared->config, PPSCHED_QUANTITY_P2P_TIME, 0.25);
    expect_ok(ppsched_config_set_values(shared->config, PPSCHED_QUANTITY_FORWARD_TIMES, times, 8, &error), &error);
    shared->schedule = make_schedule(shared->config, "interleaved_1f1b");
    shared->timeline = make_timeline(shared->schedule, shared->config);
    expect_ok(ppsched_schedule_lower(&shared->lowered, shared->schedule, shared->config, &options, &error), &error);
    expect_ok(ppsched_schedule_evaluate_transfers(&shared->crossing, shared->lowered, shared->config, NULL, 0, &error), &error);
}

static void test_shared_schedules(void **state)
{
    struct shared shared;
    struct found found[THREADS], alone = {0, 0};
    (void)state;
    make_shared(&shared);
    use_shared(&alone, &shared, 0);
    assert_int_equal(alone.failures, 0);
    run_threads(use_shared, &shared, found);
    for (size_t i = 0; i < THREADS; i++)
        assert_true(found[i].hash == alone.hash);
    ppsched_timeline_destroy(shared.crossing);
    ppsched_timeline_destroy(shared.timeline);
    ppsched_schedule_release(shared.lowered);
    ppsched_schedule_release(shared.schedule);
    ppsched_config_destroy(shared.config);
}

/* --- the last reference --- */

/* Each thread gives back the reference that is its own, and one of them the last. */
static void give_back(struct found *found, void *user, size_t number)
{
    ppsched_schedule *schedule = user;
    (void)number;
    for (int i = 0; i < 1000; i++)
        ppsched_schedule_release(ppsched_schedule_retain(schedule));
    add_export(found, schedule, NULL, PPSCHED_FORMAT_CSV);
    ppsched_schedule_release(schedule);
}

static void test_last_references(void **state)
{
    struct found found[THREADS];
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        ppsched_config *config = make_config(2, 2, 4);
        ppsched_schedule *schedule = make_schedule(config, "1f1b");
        ppsched_config_destroy(config);
        for (size_t i = 1; i < THREADS; i++)
            ppsched_schedule_retain(schedule);
        run_threads(give_back, schedule, found);
        for (size_t i = 1; i < THREADS; i++)
            assert_true(found[i].hash == found[0].hash);
    }
}

/* --- problems --- */

/* Every strategy, for a problem with one stage a device or one with two. */
static void generate_all(struct found *found, const ppsched_config *one, const ppsched_config *two)
{
    for (uint32_t i = 0; i < ppsched_strategy_count(); i++) {
        ppsched_strategy_info info = {.size = sizeof info};
        ppsched_schedule *schedule = NULL;
        add_status(found, ppsched_strategy_get_info(&info, i, NULL), PPSCHED_OK);
        const ppsched_config *config = ppsched_strategy_fits(info.name, two, NULL) == PPSCHED_OK ? two : one;
        add_status(found, ppsched_schedule_generate(&schedule, config, info.name, NULL), PPSCHED_OK);
        add_export(found, schedule, NULL, PPSCHED_FORMAT_JSON);
        ppsched_schedule_release(schedule);
    }
}

/* With configs of its own. */
static void generate_own(struct found *found, void *user, size_t number)
{
    ppsched_config *one = NULL, *two = NULL;
    (void)user, (void)number;
    add_status(found, ppsched_config_create(&one, 2, 2, 6, NULL, NULL), PPSCHED_OK);
    add_status(found, ppsched_config_create(&two, 2, 4, 6, NULL, NULL), PPSCHED_OK);
    generate_all(found, one, two);
    ppsched_config_destroy(two);
    ppsched_config_destroy(one);
}

/* Configs that nobody changes are read by all. */
static void generate_shared(struct found *found, void *user, size_t number)
{
    ppsched_config *const *configs = user;
    ppsched_config *copy = NULL;
    (void)number;
    add_status(found, ppsched_config_copy(&copy, configs[1], NULL), PPSCHED_OK);
    add_status(found, ppsched_config_validate(configs[1], NULL), PPSCHED_OK);
    generate_all(found, configs[0], configs[1]);
    ppsched_config_destroy(copy);
}

static void test_strategies(void **state)
{
    struct found own[THREADS], shared[THREADS], alone = {0, 0};
    ppsched_config *configs[] = {make_config(2, 2, 6), make_config(2, 4, 6)};
    (void)state;
    generate_own(&alone, NULL, 0);
    run_threads(generate_own, NULL, own);
    run_threads(generate_shared, configs, shared);
    for (size_t i = 0; i < THREADS; i++)
        assert_true(own[i].hash == alone.hash && shared[i].hash == alone.hash);
    ppsched_config_destroy(configs[1]);
    ppsched_config_destroy(configs[0]);
}

/* --- one plan --- */

/* A thread evaluates every eighth candidate. */
static void evaluate_part(struct found *found, void *user, size_t number)
{
    ppsched_plan *plan = user;
    for (uint32_t i = number; i < ppsched_plan_count(plan); i += THREADS)
        add_status(found, ppsched_plan_evaluate(plan, i, NULL), PPSCHED_OK);
}

/* A plan that no thread changes any more is read by all. */
static void read_plan(struct found *found, void *user, size_t number)
{
    const ppsched_plan *plan = user;
    (void)number;
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++) {
        ppsched_candidate candidate = {.size = sizeof candidate};
        ppsched_timeline *timeline = NULL;
        add_status(found, ppsched_plan_get_candidate(&candidate, plan, i, NULL), PPSCHED_OK);
        add_bytes(found, (const char *)&candidate.step_time, sizeof candidate.step_time);
        add_bytes(found, (const char *)&candidate.rank, sizeof candidate.rank);
        add_status(found, ppsched_plan_create_timeline(&timeline, plan, i, NULL), candidate.status);
        if (timeline != NULL)
            add_export(found, ppsched_timeline_schedule(timeline), timeline, PPSCHED_FORMAT_JSON);
        ppsched_timeline_destroy(timeline);
    }
}

static void test_plan(void **state)
{
    ppsched_config *config = make_config(2, 2, 6);
    ppsched_plan *alone = NULL, *plan = NULL;
    struct found found[THREADS], wanted = {0, 0};
    ppsched_error error;
    (void)state;
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 2);
    expect_ok(create_plan(&alone, config, NULL, &error), &error);
    expect_ok(ppsched_plan_run(alone, &error), &error);
    expect_ok(create_plan(&plan, config, NULL, &error), &error);
    run_threads(evaluate_part, plan, found);
    expect_ok(ppsched_plan_run(plan, &error), &error);
    assert_int_equal(ppsched_plan_count(plan), ppsched_plan_count(alone));
    read_plan(&wanted, alone, 0);
    run_threads(read_plan, plan, found);
    for (size_t i = 0; i < THREADS; i++)
        assert_true(found[i].hash == wanted.hash);
    ppsched_plan_destroy(plan);
    ppsched_plan_destroy(alone);
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared_schedules),
        cmocka_unit_test(test_last_references),
        cmocka_unit_test(test_strategies),
        cmocka_unit_test(test_plan),
    };
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
