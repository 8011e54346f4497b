/* SPDX-License-Identifier: Apache-2.0 */
/* What well-known schedulers really produce (golden/cases), compared with ours: orders token by token, times, makespan, span
 * and peak where they are given. One cmocka test a file.
 *
 * Only cases of strategies that the library has are compared; each test says how many it expects, so that none is lost. */
#include "support/captured.h"
#include "support/rounds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of an order that ours need not equal. */
static void compare_captured(const struct golden *g)
{
    ppsched_config *config = golden_config(g);
    ppsched_schedule *schedule = captured_schedule(g, config, 0);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    expect_captured_figures(g, timeline);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

static void compare(const struct golden *g)
{
    ppsched_config *config = golden_config(g);
    ppsched_schedule *schedule = make_schedule(config, g->strategy);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    for (uint32_t d = 0; d < (uint32_t)g->devices; d++) {
        char *ours = queue_text(schedule, d);
        if (strcmp(ours, g->order[d]) != 0)
            fail_msg("%s, device %u:\n  ours   %s\n  theirs %s", g->name, d, ours, g->order[d]);
        free(ours);
    }
    expect_captured_figures(g, timeline);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

static double largest_peak(const struct golden *g)
{
    double largest = -1;
    for (int d = 0; d < g->devices; d++)
        largest = fmax(largest, g->peak[d]);
    return largest >= 0 ? largest : HUGE_VAL;
}

/* A searched schedule: never a longer span than the peer's, within the limit, or where none is set within the peer's peak. */
static void compare_span(const struct golden *g)
{
    ppsched_config *config = golden_config(g);
    ppsched_schedule *schedule = make_schedule(config, g->strategy);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    compare_captured(g);
    if (metrics_of(timeline).span > g->span * (1 + 1e-12))
        fail_msg("%s: span is %.17g, the peer's %.17g", g->name, metrics_of(timeline).span, g->span);
    assert_int_equal(metrics_of(timeline).limit_device, PPSCHED_NONE);
    if (g->mem_limit_count == 0 && metrics_of(timeline).peak_memory > largest_peak(g) * (1 + 1e-12))
        fail_msg("%s: peak is %.17g, the peer's %.17g", g->name, metrics_of(timeline).peak_memory, largest_peak(g));
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* Proved optima of small uneven problems: what `auto` finds. */
struct optima {
    int cases, reached;
    double excess, worst; /* sum of the shares above the optimum, and the largest */
};

static void set_text_option(ppsched_config *config, const char *name, const char *value)
{
    ppsched_error error;
    expect_ok(ppsched_config_set_option(config, name, value, &error), &error);
}

static void expect_infeasible(const struct golden *g, const ppsched_config *config)
{
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    if (ppsched_schedule_generate(&schedule, config, "auto", &error) != PPSCHED_ERROR_REFUSED)
        fail_msg("%s: has a schedule", g->name);
    assert_non_null(strstr(error.message, "the least limit that works is"));
}

/* The lower bound is none above the optimum. */
static void compare_bound(const struct golden *g, const ppsched_config *config)
{
    ppsched_config *placed = NULL;
    ppsched_bound bound = {.size = sizeof bound};
    ppsched_error error;
    int32_t placement = strcmp(g->placement, "v") == 0 ? PPSCHED_PLACEMENT_V : PPSCHED_PLACEMENT_LOOP;
    expect_ok(ppsched_config_copy(&placed, config, &error), &error);
    expect_ok(ppsched_config_set_placement(placed, placement, NULL, 0, &error), &error);
    for (int32_t objective = PPSCHED_OBJECTIVE_SPAN; objective <= PPSCHED_OBJECTIVE_MAKESPAN; objective++) {
        expect_ok(ppsched_config_find_bound(&bound, placed, objective, &error), &error);
        int optimal = (objective == PPSCHED_OBJECTIVE_SPAN) == (strcmp(g->objective, "span") == 0);
        if (optimal && bound.value > atof(g->optimum) * (1 + 1e-12))
            fail_msg("%s: the bound is %.17g, above the optimum", g->name, bound.value);
    }
    ppsched_config_destroy(placed);
}

static void compare_optimum(const struct golden *g, struct optima *optima)
{
    ppsched_config *config = golden_config(g);
    set_text_option(config, "placement", g->placement);
    set_text_option(config, "objective", g->objective);
    if (strcmp(g->optimum, "infeasible") == 0) {
        expect_infeasible(g, config);
    } else {
        ppsched_schedule *schedule = make_schedule(config, g->strategy);
        ppsched_timeline *timeline = make_timeline(schedule, config);
        int span = strcmp(g->objective, "span") == 0;
        double excess = (span ? metrics_of(timeline).span : metrics_of(timeline).makespan) / atof(g->optimum) - 1;
        assert_int_equal(metrics_of(timeline).limit_device, PPSCHED_NONE);
        compare_captured(g);
        expect_captured_near(g, "the optimum", span ? g->span : g->makespan, atof(g->optimum));
        compare_bound(g, config);
        if (excess < -1e-12)
            fail_msg("%s: below the optimum", g->name);
        optima->cases++;
        optima->reached += excess < 1e-12;
        optima->excess += excess;
        optima->worst = fmax(optima->worst, excess);
        ppsched_timeline_destroy(timeline);
        ppsched_schedule_release(schedule);
    }
    ppsched_config_destroy(config);
}

static struct optima *optima_of(const struct golden *g)
{
    static struct optima all[3][2];
    int placement = strcmp(g->placement, "linear") == 0 ? 0 : strcmp(g->placement, "loop") == 0 ? 1 : 2;
    return &all[placement][strcmp(g->objective, "span") == 0];
}

/* Cases of strategies that the library does not have are left out. */
static void visit(const struct golden *g, void *user)
{
    uint32_t strategy = 0;
    if (ppsched_strategy_find(&strategy, g->strategy, NULL) != PPSCHED_OK)
        return;
    if (*(int *)user % ROUND_SHARE != 0)
        ; /* another one is tried */
    else if (strcmp(g->match, "order") == 0)
        compare(g);
    else if (strcmp(g->match, "optimum") == 0)
        compare_optimum(g, optima_of(g));
    else
        compare_span(g);
    ++*(int *)user;
}

static void run_file(const char *name, int expected)
{
    int compared = 0;
    read_golden(name, visit, &compared);
    assert_int_equal(compared, expected);
}

static void test_seed000(void **state)
{
    (void)state;
    run_file("seed000", 60);
}

static void test_pytorch(void **state)
{
    (void)state;
    run_file("pytorch", 62);
}

/* No case has a `match`. Lowered ones are compared elsewhere; the times of those with groups of one are columns. */
static void visit_groups(const struct golden *g, void *user)
{
    struct golden shown = *g;
    if (strstr(g->order[0], "SEND") != NULL)
        return;
    if (strcmp(g->group_size, "1") == 0) {
        memset(shown.start, 0, sizeof shown.start);
        memset(shown.end, 0, sizeof shown.end);
        shown.makespan = -1;
    }
    compare(&shown);
    ++*(int *)user;
}

static void test_gis(void **state)
{
    int compared = 0;
    (void)state;
    read_golden("gis", visit_groups, &compared);
    assert_int_equal(compared, 17);
}

/* No case has a `match` here either. */
static void visit_slices(const struct golden *g, void *user)
{
    if (strstr(g->order[0], "SEND") != NULL)
        return;
    compare(g);
    ++*(int *)user;
}

static void test_seq1f1b(void **state)
{
    int compared = 0;
    (void)state;
    read_golden("seq1f1b", visit_slices, &compared);
    assert_int_equal(compared, 15);
}

static void test_victarry(void **state)
{
    (void)state;
    run_file("victarry", 53);
}

/* Orders and times of its newest version, in which senders wait. */
static void test_victarry_senders(void **state)
{
    (void)state;
    run_file("victarry_senders", 36);
}

static void test_sail(void **state)
{
    (void)state;
    run_file("sail", 47);
}

static void test_zeropipe(void **state)
{
    (void)state;
    run_file("zeropipe", 20);
}

static void test_dualpipe(void **state)
{
    (void)state;
    run_file("dualpipe", 16);
}

static void test_seed003(void **state)
{
    (void)state;
    run_file("seed003", 27);
}

static void test_optimal(void **state)
{
    static const char *const placements[] = {"linear", "loop", "v"}, *const objectives[] = {"makespan", "span"};
    struct optima sum = {0};
    (void)state;
    run_file("optimal", 70);
    for (int p = 0; p < 3; p++)
        for (int o = 0; o < 2; o++) {
            static struct golden g;
            snprintf(g.placement, sizeof g.placement, "%s", placements[p]);
            snprintf(g.objective, sizeof g.objective, "%s", objectives[o]);
            const struct optima *own = optima_of(&g);
            print_message("# %-6s %-8s: %2d of %2d optima, mean excess %.3f %%, largest %.2f %%\n", placements[p],
                          objectives[o], own->reached, own->cases, 100 * own->excess / own->cases, 100 * own->worst);
            sum.cases += own->cases;
            sum.reached += own->reached;
            sum.worst = fmax(sum.worst, own->worst);
        }
    assert_int_equal(sum.cases, ROUNDS(60));
    assert_true(sum.reached >= ROUNDS(57));
    assert_true(sum.worst <= 0.03);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seed000), cmocka_unit_test(test_pytorch),          cmocka_unit_test(test_victarry),
        cmocka_unit_test(test_sail),    cmocka_unit_test(test_zeropipe),         cmocka_unit_test(test_dualpipe),
        cmocka_unit_test(test_seed003), cmocka_unit_test(test_optimal),          cmocka_unit_test(test_gis),
        cmocka_unit_test(test_seq1f1b), cmocka_unit_test(test_victarry_senders),
    };
    return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
