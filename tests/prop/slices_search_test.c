/* SPDX-License-Identifier: Apache-2.0 */
/* Searches of problems whose microbatches are cut into slices: against all rules, bounds and limits, and on small ones against
 * all orders. */
#include "support/rounds.h"
#include "support/uneven.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PROBLEMS = ROUNDS(60), SMALL = ROUNDS(32), MOST_MICRO_SLICES = 6, MOST_OPS = 3 * MOST_MICRO_SLICES, MOST_ORDERS = 4000 };

static const double ROUNDING = 1e-9;

/* --- problems --- */

static ppsched_config *draw(const struct uneven *problem, uint32_t slices, uint64_t *seed)
{
    ppsched_config *config = make_uneven(problem);
    ppsched_error error;
    expect_ok(ppsched_config_set_slices(config, slices, &error), &error);
    if (random_below(seed, 2))
        set_uneven(config, PPSCHED_QUANTITY_SLICE_SCALE,
                   random_below(seed, 2) ? slices * ppsched_config_stages(config) : slices, 0.5, seed);
    if (random_below(seed, 2)) {
        set_uneven(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, problem->microbatches, 0.25, seed);
        set_uneven(config, PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE, problem->microbatches, 0.5, seed);
    }
    return config;
}

static ppsched_bound bound_of(const ppsched_config *config)
{
    ppsched_bound bound = {.size = sizeof bound};
    ppsched_error error;
    expect_ok(ppsched_config_find_bound(&bound, config, PPSCHED_OBJECTIVE_MAKESPAN, &error), &error);
    return bound;
}

/* What a strategy gets; infinite where it serves no such problem, or is above the limit. */
static double makespan_of(const ppsched_config *config, const char *strategy, int32_t placement)
{
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    ppsched_status status = ppsched_schedule_generate(&schedule, config, strategy, &error);
    if (status != PPSCHED_OK) {
        assert_int_equal(status, PPSCHED_ERROR_REFUSED);
        return INFINITY;
    }
    ppsched_timeline *timeline = make_timeline(schedule, config);
    ppsched_metrics metrics = metrics_of(timeline);
    int counts = metrics.limit_device == PPSCHED_NONE && ppsched_schedule_placement(schedule) == placement;
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    return counts ? metrics.makespan : INFINITY;
}

static double best_rule(const ppsched_config *config, int32_t placement)
{
    double best = INFINITY;
    for (uint32_t i = 0; i < ppsched_strategy_count(); i++) {
        ppsched_strategy_info info = {.size = sizeof info};
        expect_ok(ppsched_strategy_get_info(&info, i, NULL), NULL);
        if (info.slices > 0 && !info.searches)
            best = fmin(best, makespan_of(config, info.name, placement));
    }
    return best;
}

static ppsched_config *with_limit(const ppsched_config *config, double limit)
{
    ppsched_config *copy = NULL;
    expect_ok(ppsched_config_copy(&copy, config, NULL), NULL);
    set_number(copy, PPSCHED_QUANTITY_MEM_LIMIT, limit);
    return copy;
}

static ppsched_config *with_effort(const ppsched_config *config, const char *effort)
{
    ppsched_config *copy = NULL;
    expect_ok(ppsched_config_copy(&copy, config, NULL), NULL);
    expect_ok(ppsched_config_set_option(copy, "effort", effort, NULL), NULL);
    return copy;
}

/* --- against rules --- */

static double auto_of(const ppsched_config *config, const char *effort, int32_t placement)
{
    ppsched_config *own = with_effort(config, effort);
    double found = makespan_of(own, "auto", placement);
    ppsched_config_destroy(own);
    return found;
}

/* Whether auto was shorter than all rules. */
static int check_problem(const ppsched_config *config, int32_t placement)
{
    double rule = best_rule(config, placement), found = auto_of(config, "2", placement), bound = bound_of(config).value;
    assert_true(isfinite(found) && found <= rule * (1 + ROUNDING) && found >= bound * (1 - ROUNDING));
    assert_true(auto_of(config, "0", placement) <= rule * (1 + ROUNDING));
    if (placement == PPSCHED_PLACEMENT_LINEAR)
        assert_true(makespan_of(config, "zb_auto", placement) >= bound * (1 - ROUNDING));
    return found < rule * (1 - ROUNDING);
}

/* The least limit works; below it nothing does, and the message says so. */
static void check_limits(const ppsched_config *config, int32_t placement)
{
    static const char words[] = "the least limit that works is ";
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    double least = bound_of(config).least_limit;
    ppsched_config *tight = with_limit(config, least), *ample = with_limit(config, 1.3 * least);
    ppsched_config *low = with_limit(config, least * (1 - 1e-6));
    assert_true(isfinite(auto_of(tight, "1", placement)));
    check_problem(ample, placement);
    assert_int_equal(ppsched_schedule_generate(&schedule, low, "auto", &error), PPSCHED_ERROR_REFUSED);
    const char *said = strstr(error.message, words);
    if (said == NULL || !(fabs(strtod(said + strlen(words), NULL) - least) <= ROUNDING * least))
        fail_msg("\"%s\" does not say %.17g", error.message, least);
    ppsched_config_destroy(tight);
    ppsched_config_destroy(ample);
    ppsched_config_destroy(low);
}

static void test_never_longer_than_rules(void **state)
{
    uint64_t seed = 71;
    int shorter = 0;
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        const struct uneven problem = {.devices = 1 + random_below(&seed, 4),
                                       .chunks = 1 + random_below(&seed, 2),
                                       .microbatches = 1 + random_below(&seed, 5),
                                       .iterations = 1 + random_below(&seed, 2),
                                       .seed = random_next(&seed)};
        int32_t placement = problem.chunks == 1 ? PPSCHED_PLACEMENT_LINEAR : PPSCHED_PLACEMENT_LOOP;
        ppsched_config *config = draw(&problem, 2 + random_below(&seed, 3), &seed);
        expect_ok(ppsched_config_set_placement(config, placement, NULL, 0, NULL), NULL);
        if (random_below(&seed, 3) == 0)
            expect_ok(ppsched_config_set_split_backward(config, 0, NULL), NULL);
        shorter += check_problem(config, placement);
        check_limits(config, placement);
        ppsched_config_destroy(config);
    }
    assert_true(shorter > PROBLEMS / 4);
}

/* --- just below what rules need, and where there are none --- */

static ppsched_config *equal_of(uint32_t devices, uint32_t chunks, uint32_t microbatches, uint32_t slices)
{
    ppsched_config *config = make_config(devices, devices * chunks, microbatches);
    expect_ok(ppsched_config_set_slices(config, slices, NULL), NULL);
    return config;
}

/* zb_h1's own limit holds it; a little below it, where no rule fits, times go up by a little, too. */
static void test_below_the_rules(void **state)
{
    (void)state;
    for (uint32_t slices = 2; slices <= 8; slices *= 2) {
        ppsched_config *config = equal_of(8, 1, 32, slices), *ample = with_limit(config, 8 + slices - 1);
        ppsched_config *below = with_limit(config, 8 + slices - 2);
        double rule = makespan_of(ample, "zb_h1", PPSCHED_PLACEMENT_LINEAR);
        assert_true(isfinite(rule) && !isfinite(best_rule(below, PPSCHED_PLACEMENT_LINEAR)));
        assert_true(makespan_of(below, "zb_auto", PPSCHED_PLACEMENT_LINEAR) <= 1.2 * rule);
        assert_true(auto_of(below, "1", PPSCHED_PLACEMENT_LINEAR) <= 1.1 * rule);
        ppsched_config_destroy(config);
        ppsched_config_destroy(ample);
        ppsched_config_destroy(below);
    }
}

/* On a V placement, for which no rule knows slices, the bound is reached where memory is ample. */
static void test_on_a_v(void **state)
{
    (void)state;
    for (uint32_t slices = 2; slices <= 8; slices *= 2) {
        ppsched_config *config = equal_of(6, 2, 12, slices);
        expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_V, NULL, 0, NULL), NULL);
        assert_false(isfinite(best_rule(config, PPSCHED_PLACEMENT_V)));
        assert_true(auto_of(config, "0", PPSCHED_PLACEMENT_V) <= 1.1 * bound_of(config).value);
        assert_true(auto_of(config, "4", PPSCHED_PLACEMENT_V) <= 1.02 * bound_of(config).value);
        ppsched_config_destroy(config);
    }
}

/* --- against all orders --- */

/* The orders of one device: how many ops of each row stand before each place. */
struct orders {
    uint32_t count, length;
    char rows[MOST_ORDERS][MOST_OPS];
};

/* All ways to go on: Fs, the first row, and the others, none of which is ahead of the one before it. `micro_slices`: of each
 * row. */
static void list_orders(struct orders *out, uint32_t rows, uint32_t micro_slices, uint32_t done[3], char *order)
{
    uint32_t length = done[0] + done[1] + done[2];
    if (length == rows * micro_slices) {
        assert_true(out->count < MOST_ORDERS);
        out->length = length;
        memcpy(out->rows[out->count++], order, length);
        return;
    }
    for (uint32_t row = 0; row < rows; row++) {
        if (done[row] == micro_slices || (row == 2 && done[2] == done[1]))
            continue;
        order[length] = (char)row;
        done[row]++;
        list_orders(out, rows, micro_slices, done, order);
        done[row]--;
    }
}

static void put_order(ppsched_builder *builder, uint32_t device, const char *order, uint32_t length, uint32_t rows,
                      uint32_t slices)
{
    static const uint8_t kinds[2][3] = {{PPSCHED_KIND_F, PPSCHED_KIND_B, 0}, {PPSCHED_KIND_F, PPSCHED_KIND_I, PPSCHED_KIND_W}};
    ppsched_op ops[MOST_OPS];
    uint32_t done[3] = {0};
    for (uint32_t i = 0; i < length; i++) {
        uint32_t row = (uint32_t)order[i], turn = done[row]++, slice = turn % slices;
        ops[i] = (ppsched_op){.microbatch = turn / slices,
                              .stage = (uint16_t)device,
                              .slice = (uint16_t)(row == 0 ? slice : slices - 1 - slice),
                              .kind = kinds[rows - 2][row],
                              .flags = PPSCHED_OP_FLAG_SLICED};
    }
    expect_ok(ppsched_builder_append(builder, device, ops, length, NULL), NULL);
}

/* The makespan of one choice of orders; infinite where it hangs or is above a limit. */
static double price(const ppsched_config *config, const struct orders *orders, const uint32_t *chosen, uint32_t rows,
                    uint32_t slices)
{
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_timeline *timeline = NULL;
    double found = INFINITY;
    expect_ok(ppsched_builder_create(&builder, config, NULL), NULL);
    for (uint32_t d = 0; d < ppsched_config_devices(config); d++)
        put_order(builder, d, orders->rows[chosen[d]], orders->length, rows, slices);
    expect_ok(ppsched_builder_finish(&schedule, builder, NULL), NULL);
    if (ppsched_schedule_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, NULL) == PPSCHED_OK) {
        ppsched_metrics metrics = metrics_of(timeline);
        found = metrics.limit_device == PPSCHED_NONE ? metrics.makespan : INFINITY;
    }
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_builder_destroy(builder);
    return found;
}

static double best_order(const ppsched_config *config, const struct orders *orders, uint32_t rows, uint32_t slices)
{
    uint32_t devices = ppsched_config_devices(config), chosen[3] = {0}, d = 0;
    double best = INFINITY;
    while (d < devices) {
        best = fmin(best, price(config, orders, chosen, rows, slices));
        for (d = 0; d < devices && ++chosen[d] == orders->count; d++)
            chosen[d] = 0;
    }
    return best;
}

static void test_small_problems(void **state)
{
    static const struct {
        uint32_t devices, microbatches, slices, rows; /* 3: split backwards */
    } sizes[] = {{2, 2, 2, 2}, {2, 1, 2, 3}, {3, 1, 2, 2}, {2, 1, 4, 2}, {3, 1, 3, 2}};
    static struct orders orders;
    uint64_t seed = 72;
    int tight = 0;
    (void)state;
    for (int i = 0; i < SMALL; i++) {
        size_t size = (size_t)i % (sizeof sizes / sizeof sizes[0]);
        uint32_t done[3] = {0}, slices = sizes[size].slices;
        char order[MOST_OPS];
        const struct uneven problem = {sizes[size].devices, 1, sizes[size].microbatches, 1, random_next(&seed)};
        ppsched_config *config = draw(&problem, slices, &seed), *limited;
        if (sizes[size].rows == 2)
            expect_ok(ppsched_config_set_split_backward(config, 0, NULL), NULL);
        expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_LINEAR, NULL, 0, NULL), NULL);
        limited = with_limit(config, bound_of(config).least_limit * (i % 3 == 0 ? 1 : i % 3 == 1 ? 1.2 : 10));
        orders.count = 0;
        list_orders(&orders, sizes[size].rows, problem.microbatches * slices, done, order);
        double best = best_order(limited, &orders, sizes[size].rows, slices);
        double found = auto_of(limited, "4", PPSCHED_PLACEMENT_LINEAR);
        if (!(found <= best * (1 + ROUNDING)))
            fail_msg("problem %d: auto has %.17g, the best order %.17g", i, found, best);
        tight += i % 3 != 2;
        ppsched_config_destroy(limited);
        ppsched_config_destroy(config);
    }
    assert_true(tight > SMALL / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_never_longer_than_rules), cmocka_unit_test(test_below_the_rules),
                                       cmocka_unit_test(test_on_a_v), cmocka_unit_test(test_small_problems)};
    return cmocka_run_group_tests_name("slices_search", tests, NULL, NULL);
}
