/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of orders: a rule's order without some microbatches is the rule's order for fewer; what a repeated part makes has each
 * op once, can be run, and takes no longer than its period tells. */
#include "support/problem.h"
#include "support/rounds.h"

#include "search/part.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_STAGES = 12, ROWS = 3 };

/* A problem with so many microbatches, and an order. */
struct side {
    ppsched_config *config;
    struct ppi_arena arena;
    struct ppi_problem problem;
    struct ppi_orders orders;
    struct ppi_pricer pricer;
};

/* Of the rule's order; NULL: without an order. */
static void open_side(struct side *out, const ppsched_config *config, uint32_t microbatches, int32_t placement,
                      const char *strategy)
{
    *out = (struct side){.config = NULL};
    expect_ok(ppsched_config_copy(&out->config, config, NULL), NULL);
    out->config->shape.microbatches = microbatches;
    out->arena.host = &out->config->host;
    expect_ok(ppi_problem_make(&out->problem, &out->arena, out->config, placement, false, NULL), NULL);
    expect_ok(ppi_orders_make(&out->orders, &out->arena, &out->problem, NULL), NULL);
    if (strategy == NULL)
        return;
    ppsched_schedule *schedule = make_schedule(out->config, strategy);
    ppi_orders_read(&out->orders, schedule);
    ppsched_schedule_release(schedule);
}

static void close_side(struct side *side)
{
    ppi_pricer_clear(&side->pricer);
    ppi_arena_clear(&side->arena);
    ppsched_config_destroy(side->config);
}

static double time_of(struct side *side, int32_t placement)
{
    double time = 0;
    expect_ok(ppi_pricer_put(&side->pricer, side->config, placement, &side->orders, NULL), NULL);
    expect_ok(ppi_pricer_time(&side->pricer, 0, &time, NULL), NULL);
    return time;
}

static ppsched_config *draw_config(uint64_t *seed, uint32_t devices, uint32_t stages, uint32_t microbatches)
{
    static const int32_t kinds[] = {PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES,
                                    PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES};
    double times[MOST_STAGES];
    ppsched_config *config = make_config(devices, stages, microbatches);
    for (int k = 0; k < 3; k++) {
        for (uint32_t s = 0; s < stages; s++)
            times[s] = 1 + random_below(seed, 16) / 16.0;
        expect_ok(ppsched_config_set_values(config, kinds[k], times, stages, NULL), NULL);
    }
    set_number(config, PPSCHED_QUANTITY_P2P_TIME, random_below(seed, 8) / 16.0);
    return config;
}

static const struct rule {
    const char *name;
    uint32_t chunks, group; /* group: microbatches of a block, in devices; 0: one microbatch */
    int32_t placement;
} rules[] = {{"1f1b", 1, 0, PPSCHED_PLACEMENT_LINEAR},
             {"zb_h1", 1, 0, PPSCHED_PLACEMENT_LINEAR},
             {"zb_h2", 1, 0, PPSCHED_PLACEMENT_LINEAR},
             {"interleaved_1f1b", 2, 1, PPSCHED_PLACEMENT_LOOP},
             {"interleaved_zb", 2, 1, PPSCHED_PLACEMENT_LOOP}};
enum { RULES = sizeof rules / sizeof rules[0] };

static void expect_same_orders(const struct ppi_orders *one, const struct ppi_orders *other, const char *name)
{
    for (uint32_t d = 0; d < one->devices; d++) {
        assert_int_equal(one->count[d], other->count[d]);
        for (size_t i = 0; i < one->count[d]; i++) {
            const ppsched_op *a = &one->ops[one->first[d] + i], *b = &other->ops[other->first[d] + i];
            if (a->stage != b->stage || a->kind != b->kind || a->microbatch != b->microbatch)
                fail_msg("%s, device %u: op %zu differs", name, d, i);
        }
    }
}

/* --- fewer microbatches --- */

static void test_rules_without_some(void **state)
{
    uint64_t seed = 3;
    (void)state;
    for (int trial = 0; trial < ROUNDS(60); trial++) {
        const struct rule *rule = &rules[trial % RULES];
        const uint32_t devices = 2 + random_below(&seed, 5), block = rule->group > 0 ? devices : 1;
        const uint32_t fewer = 5 * devices, more = block * (1 + random_below(&seed, 40));
        uint32_t counts[ROWS * MOST_STAGES];
        struct side few, all, made;
        ppsched_config *config = draw_config(&seed, devices, rule->chunks * devices, fewer);
        open_side(&few, config, fewer, rule->placement, rule->name);
        open_side(&all, config, fewer + more, rule->placement, rule->name);
        open_side(&made, config, fewer, rule->placement, NULL);
        struct ppi_window window = {.problem = &all.problem, .counts = counts, .block = more};
        assert_true(ppi_part_take_out(&window, &all.orders, &made.orders));
        expect_same_orders(&made.orders, &few.orders, rule->name);
        assert_int_equal(more % ppi_part_least(&window, &all.orders, 0, 4 * devices), 0);
        ppsched_config_destroy(config);
        close_side(&made);
        close_side(&all);
        close_side(&few);
    }
}

/* The first two forwards of a device in the opposite order: whole by their numbers, not by their names. */
static void test_order_out_of_turn(void **state)
{
    uint64_t seed = 1;
    uint32_t counts[ROWS * 2];
    struct side all, made;
    ppsched_config *config = draw_config(&seed, 2, 2, 20);
    (void)state;
    open_side(&all, config, 20, PPSCHED_PLACEMENT_LINEAR, "1f1b");
    open_side(&made, config, 12, PPSCHED_PLACEMENT_LINEAR, NULL);
    struct ppi_window window = {.problem = &all.problem, .counts = counts, .block = 8};
    assert_true(ppi_part_take_out(&window, &all.orders, &made.orders));
    ppsched_op *ops = all.orders.ops + all.orders.first[0];
    assert_int_equal(ops[0].kind, PPSCHED_KIND_F);
    assert_int_equal(ops[1].kind, PPSCHED_KIND_F);
    ops[0].microbatch = 1;
    ops[1].microbatch = 0;
    assert_false(ppi_part_take_out(&window, &all.orders, &made.orders));
    ppsched_config_destroy(config);
    close_side(&made);
    close_side(&all);
}

/* --- more microbatches --- */

/* Each op of each stage once. */
static void expect_complete(const struct side *side)
{
    const uint32_t microbatches = side->problem.microbatches;
    const size_t cells = (size_t)side->problem.stages * ROWS * microbatches;
    uint8_t *seen = calloc(cells, 1);
    size_t sum = 0;
    assert_non_null(seen);
    for (uint32_t d = 0; d < side->orders.devices; d++)
        for (size_t i = 0; i < side->orders.count[d]; i++) {
            const ppsched_op *op = &side->orders.ops[side->orders.first[d] + i];
            const bool uses[ROWS] = {op->kind == PPSCHED_KIND_F, op->kind == PPSCHED_KIND_I || op->kind == PPSCHED_KIND_B,
                                     op->kind == PPSCHED_KIND_W || op->kind == PPSCHED_KIND_B};
            assert_true(op->microbatch < microbatches);
            for (int r = 0; r < ROWS; r++)
                if (uses[r]) {
                    assert_int_equal(seen[((size_t)op->stage * ROWS + (size_t)r) * microbatches + op->microbatch]++, 0);
                    sum++;
                }
        }
    free(seen);
    assert_int_equal(sum, cells);
}

/* Repeats all parts of an order; the number that can be run. */
static uint32_t repeat_parts(struct side *few, struct side *all, int32_t placement)
{
    const uint32_t more = all->problem.microbatches - few->problem.microbatches;
    const double before = time_of(few, placement);
    struct ppi_part_list parts;
    uint32_t run = 0;
    expect_ok(ppi_parts_find(&parts, &few->arena, &few->problem, &few->orders, &few->pricer, more, NULL), NULL);
    for (uint32_t i = 0; i < parts.count; i++) {
        const struct ppi_part *part = &parts.part[i];
        double time;
        assert_int_equal(more % part->block, 0);
        assert_true(i == 0 || part->period >= part[-1].period);
        ppi_part_repeat(part, &few->orders, &all->orders, more);
        expect_complete(all);
        expect_ok(ppi_pricer_put(&all->pricer, all->config, placement, &all->orders, NULL), NULL);
        if (ppi_pricer_time(&all->pricer, 0, &time, NULL) != PPSCHED_OK)
            continue;
        run++;
        if (time > (before + more * part->period) * (1 + 1e-12))
            fail_msg("%g, more than %g and %u times %g", time, before, more, part->period);
    }
    return run;
}

/* Rules, and what a search finds for random costs. */
static void test_repeated_parts(void **state)
{
    uint64_t seed = 11;
    uint32_t run = 0, found = 0;
    (void)state;
    for (int trial = 0; trial < ROUNDS(150); trial++) {
        const struct rule *rule = &rules[trial % RULES];
        const uint32_t devices = 2 + random_below(&seed, 5), fewer = 4 * devices, more = 12 * (1 + random_below(&seed, 6));
        struct side few, all;
        ppsched_config *config = draw_config(&seed, devices, rule->chunks * devices, fewer);
        expect_ok(ppsched_config_set_placement(config, rule->placement, NULL, 0, NULL), NULL);
        if (trial % 2 == 0)
            set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, rule->chunks * devices);
        expect_ok(ppsched_config_set_option(config, "effort", "1", NULL), NULL);
        open_side(&few, config, fewer, rule->placement, "auto");
        open_side(&all, config, fewer + more, rule->placement, NULL);
        const uint32_t some = ppi_orders_have_pairs(&few.orders) ? 0 : repeat_parts(&few, &all, rule->placement);
        run += some;
        found += some > 0;
        ppsched_config_destroy(config);
        close_side(&all);
        close_side(&few);
    }
    print_message("# %u parts of %u orders can be run\n", run, found);
    assert_true(found >= ROUNDS(100));
}

/* Of a rule, with times that do not differ: its period is what it takes per microbatch in the long run. */
static void test_period_of_rules(void **state)
{
    (void)state;
    for (int r = 0; r < RULES; r++)
        for (uint32_t devices = 2; devices <= 6; devices++) {
            const struct rule *rule = &rules[r];
            ppsched_config *config = make_config(devices, rule->chunks * devices, 6 * devices);
            ppsched_steady *steady = NULL;
            ppsched_steady_period period = {.size = sizeof period};
            struct ppi_part_list parts;
            struct side few;
            set_number(config, PPSCHED_QUANTITY_P2P_TIME, 0.25);
            expect_ok(ppsched_steady_create(&steady, config, rule->name, NULL), NULL);
            expect_ok(ppsched_steady_get_period(&period, steady, NULL), NULL);
            open_side(&few, config, 6 * devices, rule->placement, rule->name);
            time_of(&few, rule->placement);
            expect_ok(ppi_parts_find(&parts, &few.arena, &few.problem, &few.orders, &few.pricer, 4 * devices, NULL), NULL);
            assert_true(parts.count > 0);
            if (period.blocks > 0)
                assert_float_equal(parts.part[0].period, period.cycle_time, 1e-9);
            ppsched_steady_destroy(steady);
            ppsched_config_destroy(config);
            close_side(&few);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_without_some),
        cmocka_unit_test(test_order_out_of_turn),
        cmocka_unit_test(test_repeated_parts),
        cmocka_unit_test(test_period_of_rules),
    };
    return cmocka_run_group_tests_name("part", tests, NULL, NULL);
}
