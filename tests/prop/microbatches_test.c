/* SPDX-License-Identifier: Apache-2.0 */
/* Microbatches that differ: their order against all orders, their shares against all shares, and what searches and bounds make
 * of them against the evaluator. */
#include "support/problem.h"
#include "support/rounds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 32 };

static void set_list(ppsched_config *config, int32_t quantity, const double *values, size_t count)
{
    ppsched_error error;
    expect_ok(ppsched_config_set_values(config, quantity, values, count, &error), &error);
}

static double random_number(uint64_t *state)
{
    return (1 + random_below(state, 64)) / 16.0;
}

static void random_list(uint64_t *state, ppsched_config *config, int32_t quantity, uint32_t count)
{
    double list[MOST];
    for (uint32_t i = 0; i < count; i++)
        list[i] = random_number(state);
    set_list(config, quantity, list, count);
}

/* Stages and microbatches that all differ; some of the latter alike. */
static ppsched_config *random_problem(uint64_t *state, uint32_t devices, uint32_t chunks, uint32_t microbatches)
{
    ppsched_config *config = make_config(devices, devices * chunks, microbatches);
    double scale[MOST], latency = random_number(state) / 8, bandwidth = 8;
    random_list(state, config, PPSCHED_QUANTITY_FORWARD_TIMES, devices * chunks);
    random_list(state, config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, devices * chunks);
    random_list(state, config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, devices * chunks);
    random_list(state, config, PPSCHED_QUANTITY_MEM_FORWARD, devices * chunks);
    random_list(state, config, PPSCHED_QUANTITY_ACTIVATION_BYTES, devices * chunks);
    set_list(config, PPSCHED_QUANTITY_P2P_TIME, &latency, 1);
    set_list(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, &bandwidth, 1);
    for (uint32_t m = 0; m < microbatches; m++)
        scale[m] = m > 0 && random_below(state, 4) == 0 ? scale[m - 1] : random_number(state);
    set_list(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, scale, microbatches);
    if (random_below(state, 2))
        random_list(state, config, PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE, microbatches);
    return config;
}

/* --- the order --- */

/* The config with its microbatches in an order. */
static ppsched_config *ordered(const ppsched_config *config, const uint32_t *order)
{
    static const int32_t lists[] = {PPSCHED_QUANTITY_MICROBATCH_SCALE, PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE};
    ppsched_config *copy = NULL;
    ppsched_error error;
    expect_ok(ppsched_config_copy(&copy, config, &error), &error);
    for (int l = 0; l < 2; l++) {
        size_t count;
        double list[MOST];
        const double *values = ppsched_config_values(config, lists[l], &count);
        for (size_t i = 0; i < count; i++)
            list[i] = values[order[i]];
        if (count > 0)
            set_list(copy, lists[l], list, count);
    }
    return copy;
}

struct price {
    double excess, time;
};

static struct price price_of(const ppsched_schedule *schedule, const ppsched_config *config, int32_t objective)
{
    ppsched_timeline *timeline = make_timeline(schedule, config);
    struct price price = {0, objective == PPSCHED_OBJECTIVE_SPAN ? metrics_of(timeline).span : metrics_of(timeline).makespan};
    for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++) {
        const ppsched_device_metrics device = device_metrics_of(timeline, d);
        if (device.peak_memory > device.memory_limit * (1 + 1e-9))
            price.excess += device.peak_memory - device.memory_limit;
    }
    ppsched_timeline_destroy(timeline);
    return price;
}

static int is_below(struct price a, struct price b)
{
    return a.excess != b.excess ? a.excess < b.excess : a.time < b.time;
}

static struct price price_of_order(const ppsched_schedule *schedule, const ppsched_config *config, const uint32_t *order,
                                   int32_t objective)
{
    ppsched_config *own = ordered(config, order);
    struct price price = price_of(schedule, own, objective);
    ppsched_config_destroy(own);
    return price;
}

/* Of all orders of `order[from]` and on. */
static void find_least(const ppsched_schedule *schedule, const ppsched_config *config, uint32_t *order, uint32_t from,
                       uint32_t count, int32_t objective, struct price *least)
{
    if (from == count) {
        struct price price = price_of_order(schedule, config, order, objective);
        *least = is_below(price, *least) ? price : *least;
    }
    for (uint32_t i = from; i < count; i++) {
        uint32_t taken = order[i];
        order[i] = order[from];
        order[from] = taken;
        find_least(schedule, config, order, from + 1, count, objective, least);
        order[from] = order[i];
        order[i] = taken;
    }
}

static ppsched_schedule *random_schedule(uint64_t *state, const ppsched_config *config, uint32_t chunks)
{
    static const char *const one[] = {"gpipe", "1f1b", "eager_1f1b", "zb_h1", "zb_h2"}, *const two[] = {
                                                                                            "interleaved_1f1b", "looped_bfs",
                                                                                            "zbv", "interleaved_zb", "v_1f1b"};
    return make_schedule(config, chunks == 1 ? one[random_below(state, 5)] : two[random_below(state, 5)]);
}

static struct price find_order(const ppsched_schedule *schedule, const ppsched_config *config, int32_t objective)
{
    const ppsched_order_options options = {.size = sizeof options, .objective = objective, .effort = 1};
    uint32_t count = ppsched_config_microbatches(config), order[MOST], seen[MOST] = {0};
    ppsched_config *found = NULL;
    ppsched_error error;
    expect_ok(ppsched_schedule_order_microbatches(order, ppsched_config_microbatches(config), NULL, &found, schedule, config,
                                                  &options, &error),
              &error);
    for (uint32_t i = 0; i < count; i++) {
        assert_in_range(order[i], 0, count - 1);
        assert_int_equal(seen[order[i]]++, 0);
    }
    struct price price = price_of(schedule, found, objective), told = price_of_order(schedule, config, order, objective);
    assert_true(price.time == told.time && price.excess == told.excess);
    ppsched_config_destroy(found);
    return price;
}

static int32_t objective_of(uint64_t *state)
{
    return random_below(state, 2) ? PPSCHED_OBJECTIVE_SPAN : PPSCHED_OBJECTIVE_MAKESPAN;
}

static void test_order_of_few_is_the_best(void **state)
{
    uint64_t seed = 7;
    int gained = 0;
    (void)state;
    for (int trial = 0; trial < ROUNDS(300); trial++) {
        uint32_t chunks = 1 + random_below(&seed, 2), count = 2 + random_below(&seed, 4), order[MOST];
        ppsched_config *config = random_problem(&seed, 2 + random_below(&seed, 3), chunks, count);
        double limit = 2 + 4 * random_number(&seed);
        int32_t objective = objective_of(&seed);
        if (random_below(&seed, 2))
            set_list(config, PPSCHED_QUANTITY_MEM_LIMIT, &limit, 1);
        ppsched_schedule *schedule = random_schedule(&seed, config, chunks);
        struct price least = {HUGE_VAL, HUGE_VAL};
        for (uint32_t i = 0; i < count; i++)
            order[i] = i;
        struct price before = price_of_order(schedule, config, order, objective);
        find_least(schedule, config, order, 0, count, objective, &least);
        struct price found = find_order(schedule, config, objective);
        gained += is_below(found, before);
        if (is_below(least, found))
            fail_msg("trial %d: found %g over, time %.17g; the best is %g over, time %.17g", trial, found.excess, found.time,
                     least.excess, least.time);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
    assert_true(gained > ROUNDS(200));
}

static const double *sorted_by;

static int longest_first(const void *a, const void *b)
{
    double x = sorted_by[*(const uint32_t *)a], y = sorted_by[*(const uint32_t *)b];
    return x > y ? -1 : x < y;
}

static void test_order_of_many_is_no_worse(void **state)
{
    uint64_t seed = 8;
    (void)state;
    for (int trial = 0; trial < ROUNDS(60); trial++) {
        uint32_t chunks = 1 + random_below(&seed, 2), count = 8 + random_below(&seed, 20), order[MOST], reverse[MOST];
        ppsched_config *config = random_problem(&seed, 2 + random_below(&seed, 4), chunks, count);
        int32_t objective = objective_of(&seed);
        ppsched_schedule *schedule = random_schedule(&seed, config, chunks);
        for (uint32_t i = 0; i < count; i++)
            order[i] = i;
        struct price found = find_order(schedule, config, objective);
        assert_false(is_below(price_of_order(schedule, config, order, objective), found));
        sorted_by = ppsched_config_values(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, NULL);
        qsort(order, count, sizeof *order, longest_first);
        for (uint32_t i = 0; i < count; i++)
            reverse[i] = order[count - 1 - i];
        double slack = found.time * 1e-9; /* of equal ones that memory tells apart another may stand first */
        found.time -= ppsched_config_values(config, PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE, NULL) == NULL ? 0 : slack;
        if (ppsched_config_values(config, PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE, NULL) == NULL) {
            assert_false(is_below(price_of_order(schedule, config, order, objective), found));
            assert_false(is_below(price_of_order(schedule, config, reverse, objective), found));
        }
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
}

/* --- bounds and searches --- */

static void expect_bound(const ppsched_schedule *schedule, const ppsched_config *config)
{
    ppsched_config *placed = NULL;
    ppsched_error error;
    expect_ok(ppsched_config_copy(&placed, config, &error), &error);
    expect_ok(ppsched_config_set_placement(placed, ppsched_schedule_placement(schedule), NULL, 0, &error), &error);
    for (int32_t objective = PPSCHED_OBJECTIVE_SPAN; objective <= PPSCHED_OBJECTIVE_MAKESPAN; objective++) {
        ppsched_bound bound = {.size = sizeof bound};
        expect_ok(ppsched_config_find_bound(&bound, placed, objective, &error), &error);
        const double time = price_of(schedule, config, objective).time;
        if (bound.value > time * (1 + 1e-12))
            fail_msg("%s: the bound is %.17g, the schedule takes %.17g", ppsched_schedule_name(schedule), bound.value, time);
    }
    ppsched_config_destroy(placed);
}

/* Under limits that the largest microbatch leaves room for, a search holds them; below, it names the least that works. */
static void expect_search(uint64_t *state, const ppsched_config *given, const char *strategy)
{
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_bound bound = {.size = sizeof bound};
    ppsched_error error;
    expect_ok(ppsched_config_copy(&config, given, &error), &error);
    if (strcmp(strategy, "zbv_auto") == 0 || strcmp(strategy, "v_half") == 0)
        expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_V, NULL, 0, &error), &error);
    expect_ok(ppsched_config_find_bound(&bound, config, PPSCHED_OBJECTIVE_MAKESPAN, &error), &error);
    double limit = bound.least_limit * (1 + random_below(state, 3) / 2.0);
    set_list(config, PPSCHED_QUANTITY_MEM_LIMIT, &limit, 1);
    if (strcmp(strategy, "auto") == 0)
        expect_ok(ppsched_config_set_option(config, "effort", "1", &error), &error);
    expect_ok(ppsched_schedule_generate(&schedule, config, strategy, &error), &error);
    assert_true(price_of(schedule, config, PPSCHED_OBJECTIVE_MAKESPAN).excess == 0);
    expect_bound(schedule, config);
    ppsched_schedule_release(schedule);
    schedule = NULL;
    limit = bound.least_limit * 0.99;
    set_list(config, PPSCHED_QUANTITY_MEM_LIMIT, &limit, 1);
    assert_int_equal(ppsched_schedule_generate(&schedule, config, strategy, &error), PPSCHED_ERROR_REFUSED);
    assert_non_null(strstr(error.message, "the least limit that works is"));
    ppsched_config_destroy(config);
}

static void test_bounds_and_searches(void **state)
{
    uint64_t seed = 9;
    (void)state;
    for (int trial = 0; trial < ROUNDS(300); trial++) {
        uint32_t chunks = 1 + random_below(&seed, 2), count = 2 + random_below(&seed, 9);
        ppsched_config *config = random_problem(&seed, 2 + random_below(&seed, 3), chunks, count);
        ppsched_schedule *schedule = random_schedule(&seed, config, chunks);
        expect_bound(schedule, config);
        ppsched_schedule_release(schedule);
        if (trial % 4 == 0)
            expect_search(&seed, config, trial % 8 == 0 ? "auto" : chunks == 1 ? "zb_auto" : "zbv_auto");
        ppsched_config_destroy(config);
    }
}

/* A search that knows of the lengths is not worse than the rules that do not, and mostly better. */
static void test_search_uses_lengths(void **state)
{
    uint64_t seed = 10;
    int better = 0;
    (void)state;
    for (int trial = 0; trial < ROUNDS(32); trial++) {
        ppsched_config *config = random_problem(&seed, 2 + random_below(&seed, 3), 1, 4 + random_below(&seed, 6));
        ppsched_schedule *rule = make_schedule(config, "zb_h1"), *found = make_schedule(config, "auto");
        double before = price_of(rule, config, PPSCHED_OBJECTIVE_MAKESPAN).time;
        double after = price_of(found, config, PPSCHED_OBJECTIVE_MAKESPAN).time;
        assert_true(after <= before * (1 + 1e-12));
        better += after < before * (1 - 1e-9);
        ppsched_schedule_release(rule);
        ppsched_schedule_release(found);
        ppsched_config_destroy(config);
    }
    assert_true(better > ROUNDS(20));
}

/* --- replicas --- */

struct shares {
    const double *costs;
    uint32_t count, replicas;
    int even;
    double sum[8], least;
    uint32_t held[8];
};

static void try_shares(struct shares *shares, uint32_t item)
{
    double most = 0;
    if (item == shares->count) {
        uint32_t fewest = shares->count, longest = 0;
        for (uint32_t r = 0; r < shares->replicas; r++) {
            most = fmax(most, shares->sum[r]);
            fewest = shares->held[r] < fewest ? shares->held[r] : fewest;
            longest = shares->held[r] > longest ? shares->held[r] : longest;
        }
        if (!shares->even || longest - fewest <= 1)
            shares->least = fmin(shares->least, most);
        return;
    }
    for (uint32_t r = 0; r < shares->replicas; r++) {
        shares->sum[r] += shares->costs[item];
        shares->held[r]++;
        try_shares(shares, item + 1);
        shares->sum[r] -= shares->costs[item];
        shares->held[r]--;
    }
}

static ppsched_balance balance_of(const double *costs, uint32_t count, uint32_t replicas, int even)
{
    ppsched_balance balance = {.size = sizeof balance};
    uint32_t *replica = malloc(count * sizeof *replica), *held = calloc(replicas, sizeof *held);
    double *sum = calloc(replicas, sizeof *sum), most = 0;
    ppsched_error error;
    expect_ok(ppsched_microbatches_balance(replica, count, NULL, &balance, costs, count, replicas, even, NULL, &error), &error);
    for (uint32_t i = 0; i < count; i++) {
        assert_in_range(replica[i], 0, replicas - 1);
        sum[replica[i]] += costs[i];
        held[replica[i]]++;
    }
    for (uint32_t r = 0; r < replicas; r++) {
        most = fmax(most, sum[r]);
        if (even)
            assert_in_range(held[r], count / replicas, (count + replicas - 1) / replicas);
    }
    assert_true(fabs(most - balance.most) <= 1e-9 * most);
    assert_true(balance.bound <= balance.most * (1 + 1e-12));
    free(replica);
    free(held);
    free(sum);
    return balance;
}

static void test_shares_of_few_are_the_best(void **state)
{
    uint64_t seed = 11;
    (void)state;
    for (int trial = 0; trial < ROUNDS(400); trial++) {
        double costs[8];
        struct shares shares = {
            .costs = costs, .count = 2 + random_below(&seed, 7), .even = (int)random_below(&seed, 2), .least = HUGE_VAL};
        shares.replicas = 1 + random_below(&seed, shares.count < 4 ? shares.count : 4);
        for (uint32_t i = 0; i < shares.count; i++)
            costs[i] = random_number(&seed); /* sums are exact */
        try_shares(&shares, 0);
        ppsched_balance balance = balance_of(costs, shares.count, shares.replicas, shares.even);
        assert_true(balance.most == shares.least && balance.is_best == 1 && balance.bound == balance.most);
    }
}

/* Longest first alone is within 4/3 of the best (Graham 1969), and the bound is none above it. */
static void test_shares_of_many(void **state)
{
    uint64_t seed = 12;
    (void)state;
    for (int trial = 0; trial < ROUNDS(60); trial++) {
        uint32_t count = 25 + random_below(&seed, 2000), replicas = 2 + random_below(&seed, 16);
        double *costs = malloc(count * sizeof *costs);
        for (uint32_t i = 0; i < count; i++)
            costs[i] = exp(1.2 * (random_below(&seed, 6000) / 1000.0 - 3));
        ppsched_balance free_counts = balance_of(costs, count, replicas, 0), even = balance_of(costs, count, replicas, 1);
        assert_true(free_counts.most <= free_counts.bound * (4.0 / 3) && even.bound >= free_counts.bound * (1 - 1e-12));
        free(costs);
    }
}

static void expect_message(ppsched_status status, ppsched_status wanted, const ppsched_error *error, const char *part)
{
    assert_int_equal(status, wanted);
    if (strstr(error->message, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error->message, part);
}

static void test_bad_input(void **state)
{
    const double scale[] = {1, 2}, negative[] = {1, -1};
    ppsched_config *config = make_config(2, 2, 2), *other = make_config(2, 2, 3), *found = NULL;
    ppsched_schedule *schedule = make_schedule(config, "1f1b");
    ppsched_order_options options = {.size = sizeof options, .effort = 11};
    ppsched_balance balance = {.size = sizeof balance};
    uint32_t order[3] = {9, 9, 9};
    ppsched_error error;
    (void)state;
    expect_message(ppsched_schedule_order_microbatches(order, ppsched_config_microbatches(config), NULL, &found, schedule,
                                                       config, NULL, &error),
                   PPSCHED_ERROR_REFUSED, &error, "all microbatches have equal costs");
    set_list(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, scale, 2);
    expect_message(ppsched_schedule_order_microbatches(order, ppsched_config_microbatches(other), NULL, &found, schedule, other,
                                                       NULL, &error),
                   PPSCHED_ERROR_MISMATCH, &error, "2 microbatches of 1 slice, the config 3 of 1");
    expect_message(ppsched_schedule_order_microbatches(order, ppsched_config_microbatches(config), NULL, &found, schedule,
                                                       config, &options, &error),
                   PPSCHED_ERROR_RANGE, &error, "effort is 11; it must be 1 to 10");
    options = (ppsched_order_options){.size = sizeof options, .objective = 3};
    expect_message(ppsched_schedule_order_microbatches(order, ppsched_config_microbatches(config), NULL, &found, schedule,
                                                       config, &options, &error),
                   PPSCHED_ERROR_ARGUMENT, &error, "objective");
    expect_message(ppsched_microbatches_balance(order, 2, NULL, &balance, negative, 2, 2, 0, NULL, &error), PPSCHED_ERROR_RANGE,
                   &error, "the cost of microbatch 1 is -1");
    expect_message(ppsched_microbatches_balance(order, 2, NULL, &balance, scale, 2, 3, 0, NULL, &error), PPSCHED_ERROR_RANGE,
                   &error, "2 microbatches cannot be divided among 3 replicas");
    expect_message(ppsched_microbatches_balance(order, 2, NULL, &balance, scale, 2, 0, 0, NULL, &error), PPSCHED_ERROR_RANGE,
                   &error, "2 microbatches cannot be divided among 0 replicas");
    expect_message(ppsched_microbatches_balance(order, 2, NULL, &balance, scale, 2, 1, 2, NULL, &error), PPSCHED_ERROR_RANGE,
                   &error, "even_counts is 2; it must be 0 or 1");
    size_t needed = 0;
    expect_message(ppsched_schedule_order_microbatches(order, 1, &needed, &found, schedule, config, NULL, &error),
                   PPSCHED_ERROR_BUFFER, &error, "room for 1 of 2 microbatches");
    assert_int_equal(needed, 2);
    expect_message(ppsched_microbatches_balance(order, 1, &needed, &balance, scale, 2, 1, 0, NULL, &error),
                   PPSCHED_ERROR_BUFFER, &error, "room for 1 of 2 microbatches");
    needed = 0;
    expect_ok(ppsched_schedule_order_microbatches(NULL, 0, &needed, NULL, schedule, config, NULL, &error), &error);
    assert_int_equal(needed, 2);
    needed = 0;
    expect_ok(ppsched_microbatches_balance(NULL, 0, &needed, NULL, scale, 2, 1, 0, NULL, &error), &error);
    assert_int_equal(needed, 2);
    assert_true(found == NULL && order[0] == 9 && order[1] == 9 && order[2] == 9);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(other);
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_of_few_is_the_best),
        cmocka_unit_test(test_order_of_many_is_no_worse),
        cmocka_unit_test(test_bounds_and_searches),
        cmocka_unit_test(test_search_uses_lengths),
        cmocka_unit_test(test_shares_of_few_are_the_best),
        cmocka_unit_test(test_shares_of_many),
        cmocka_unit_test(test_bad_input),
    };
    return cmocka_run_group_tests_name("microbatches", tests, NULL, NULL);
}
