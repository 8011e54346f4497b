/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals from both sides, at every size of a sweep: what docs/strategies.md allows is served, all else is refused. For the
 * interleaved rules the constraint is itself held against orders that are written and run here: those that are refused wait in
 * a circle, those that are served do not. And what a refusal names is the nearest that works. */
#include "support/problem.h"

#include <stdio.h>
#include <string.h>

enum { MOST_DEVICES = 8, MOST_CHUNKS = 5, MOST_RUN = 24, MOST_OPS = 2 * MOST_CHUNKS * MOST_RUN };

struct size {
    uint32_t devices, stages, microbatches, group, iterations;
};

static ppsched_status generate(const char *strategy, const struct size *size, ppsched_schedule **out, ppsched_error *error)
{
    ppsched_config *config = make_config(size->devices, size->stages, size->microbatches);
    char text[24];
    expect_ok(ppsched_config_set_iterations(config, size->iterations, error), error);
    snprintf(text, sizeof text, "%u", size->group);
    if (size->group != 0)
        expect_ok(ppsched_config_set_option(config, "group_size", text, error), error);
    ppsched_status status = ppsched_schedule_generate(out, config, strategy, error);
    ppsched_config_destroy(config);
    return status;
}

static int serves(const char *strategy, const struct size *size)
{
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    ppsched_status status = generate(strategy, size, &schedule, &error);
    if (status == PPSCHED_OK)
        expect_ok(ppsched_schedule_check(NULL, 0, NULL, schedule, &error), &error);
    else
        assert_int_equal(status, PPSCHED_ERROR_REFUSED);
    ppsched_schedule_release(schedule);
    return status == PPSCHED_OK;
}

/* --- what the documentation allows --- */

/* "With V >= 2 and more than one group, each group and the next together hold at least so many microbatches"; with two chunks a
 * last group of one is fine, and so are groups of one of which three reach it. */
static int groups_reach(const struct size *size, uint32_t reach)
{
    uint32_t chunks = size->stages / size->devices, m = size->microbatches, g = size->group != 0 ? size->group : size->devices;
    if (chunks == 1 || m <= g)
        return 1;
    if (chunks == 2 && g == 1 && (m == 2 || 3 >= reach))
        return 1;
    for (uint32_t first = 0; first + g < m; first += g) {
        uint32_t next = m - first - g < g ? m - first - g : g;
        if (g + next < reach && !(chunks == 2 && next == 1 && first + g + next == m))
            return 0;
    }
    return 1;
}

static int any(const struct size *size)
{
    (void)size;
    return 1;
}

static int at_least_devices(const struct size *size)
{
    return size->microbatches >= size->devices;
}

static int more_than_devices(const struct size *size)
{
    return size->microbatches > size->devices;
}

static int at_least_two_devices_less_one(const struct size *size)
{
    return size->microbatches + 1 >= 2 * size->devices;
}

static int at_least_two_devices(const struct size *size)
{
    return size->microbatches >= 2 * size->devices;
}

static int even_and_two_devices(const struct size *size)
{
    return size->devices % 2 == 0 && size->microbatches % 2 == 0 && size->microbatches >= 2 * size->devices;
}

static int full_slope(const struct size *size)
{
    return groups_reach(size, 2 * (size->devices - 1));
}

static int full_slope_and_one(const struct size *size)
{
    return groups_reach(size, 2 * size->devices - 1);
}

static int half_slope(const struct size *size)
{
    return groups_reach(size, size->devices - 1);
}

/* Of whole microbatches, which are one slice each. */
static int full_slope_of_one(const struct size *size)
{
    const struct size one = {size->devices, size->stages, size->microbatches, 1, size->iterations};
    return groups_reach(&one, 2 * (size->devices - 1));
}

/* Chunks of 0: any. The order of the interleaved rules: the slope of their warm-up. */
static const struct rule {
    const char *name;
    uint32_t chunks;
    int (*allows)(const struct size *size);
    uint32_t slope, overlapped;
} rules[] = {
    {"gpipe", 1, any, 0, 0},
    {"1f1b", 1, any, 0, 0},
    {"seq_1f1b", 1, any, 0, 0},
    {"eager_1f1b", 1, any, 0, 0},
    {"vocab_1f1b", 1, any, 0, 0},
    {"interlaced", 1, any, 0, 0},
    {"1f1b_no_flush", 1, at_least_devices, 0, 0},
    {"eager_1f1b_no_flush", 1, more_than_devices, 0, 0},
    {"1f1b_overlap", 1, at_least_two_devices_less_one, 0, 0},
    {"looped_bfs", 0, any, 0, 0},
    {"interleaved_1f1b", 0, full_slope, 2, 0},
    {"slimpipe", 0, full_slope_of_one, 0, 0},
    {"interleaved_1f1b_overlap", 0, full_slope_and_one, 2, 1},
    {"interleaved_1f1b_less_memory", 0, half_slope, 1, 0},
    {"interleaved_zb", 0, half_slope, 1, 0},
    {"group_interleaved_1f1b", 0, any, 0, 0},
    {"pipeoffload", 0, any, 0, 0},
    {"zb_h1", 1, any, 0, 0},
    {"zb_h2", 1, any, 0, 0},
    {"zbv", 2, any, 0, 0},
    {"dualpipe_v", 2, at_least_two_devices, 0, 0},
    {"dualpipe", 1, even_and_two_devices, 0, 0},
};

static void expect_rule(const struct rule *rule, const struct size *size, long counts[2])
{
    uint32_t chunks = size->stages / size->devices;
    int suits = size->stages % size->devices == 0 && (rule->chunks == 0 || rule->chunks == chunks);
    int allowed = suits && rule->allows(size);
    if (serves(rule->name, size) != allowed)
        fail_msg("%s: D = %u, S = %u, M = %u, g = %u, %u iterations is %s, against the documentation", rule->name,
                 size->devices, size->stages, size->microbatches, size->group, size->iterations,
                 allowed ? "refused" : "served");
    counts[allowed]++;
}

static int takes_groups(const struct rule *rule)
{
    return rule->chunks == 0 && strcmp(rule->name, "looped_bfs") != 0 && strcmp(rule->name, "slimpipe") != 0;
}

/* Every size, numbers of stages that are no multiple among them, and two iterations for every third one. */
static void test_as_documented(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
        long counts[2] = {0};
        for (uint32_t d = 1; d <= 7; d++)
            for (uint32_t s = 1; s <= 4 * d; s++)
                for (uint32_t m = 1; m <= (s % d == 0 ? 16 : 2); m++)
                    for (uint32_t g = 0; g <= (takes_groups(&rules[r]) ? 2 * d + 1 : 0); g++) {
                        const struct size size = {d, s, m, g, 1 + (d + s + m + g) % 3 / 2};
                        expect_rule(&rules[r], &size, counts);
                    }
        assert_true(counts[1] >= 15 && counts[0] > 50);
    }
}

static ppsched_status generate_apart(ppsched_schedule **out, const char *name, const struct size *size, uint32_t apart,
                                     ppsched_error *error)
{
    char group[12], least[12];
    ppsched_config *config = make_config(size->devices, size->stages, size->microbatches);
    snprintf(group, sizeof group, "%u", size->group);
    snprintf(least, sizeof least, "%u", apart);
    expect_ok(ppsched_config_set_option(config, "group_size", group, error), error);
    expect_ok(ppsched_config_set_option(config, "min_group_size", least, error), error);
    ppsched_status status = ppsched_schedule_generate(out, config, name, error);
    ppsched_config_destroy(config);
    return status;
}

/* A least distance of the caller's: what is served runs, and what is refused is below half the devices. */
static void test_groups_that_are_apart(void **state)
{
    static const char *const names[] = {"group_interleaved_1f1b", "pipeoffload"};
    long counts[2] = {0};
    (void)state;
    for (uint32_t d = 1; d <= 9; d++)
        for (uint32_t v = 1; v <= 4; v++)
            for (uint32_t m = 1; m <= 13; m += 1 + m / 4)
                for (uint32_t g = 1; g <= d; g++)
                    for (uint32_t apart = 1; apart <= d; apart++) {
                        const struct size size = {d, v * d, m, g, 1};
                        ppsched_schedule *schedule = NULL;
                        ppsched_error error;
                        uint32_t distance = (apart + g - 1) / g * g;
                        int allowed = v == 1 || m == 1 || distance >= d / 2;
                        ppsched_status status = generate_apart(&schedule, names[(m + apart) % 2], &size, apart, &error);
                        if ((status == PPSCHED_OK) != allowed)
                            fail_msg("D = %u, V = %u, M = %u, g = %u, %u apart: %s", d, v, m, g, apart, error.message);
                        if (allowed)
                            expect_ok(ppsched_schedule_check(NULL, 0, NULL, schedule, &error), &error);
                        else
                            assert_int_equal(status, PPSCHED_ERROR_REFUSED);
                        counts[allowed]++;
                        ppsched_schedule_release(schedule);
                    }
    assert_true(counts[0] > 200 && counts[1] > 2000);
}

/* Every rule of the library is in the table: what is not is a search. */
static void test_all_rules_are_there(void **state)
{
    uint32_t found = 0;
    (void)state;
    for (uint32_t i = 0; i < ppsched_strategy_count(); i++) {
        ppsched_strategy_info info = {.size = sizeof info};
        assert_int_equal(ppsched_strategy_get_info(&info, i, NULL), PPSCHED_OK);
        uint32_t before = found;
        for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++)
            found += strcmp(rules[r].name, info.name) == 0;
        if (found == before && strstr("v_1f1b v_half v_min v_search zb_auto zbv_auto auto", info.name) == NULL)
            fail_msg("%s is no search and has no rule here", info.name);
    }
    assert_int_equal(found, sizeof rules / sizeof rules[0]);
}

/* --- orders that are written and run here --- */

struct unit {
    uint32_t chunk, microbatch;           /* of the forward */
    uint32_t back_chunk, back_microbatch; /* of the backward */
    char what;                            /* F, B, or P: a pair */
};

struct order {
    uint32_t devices, chunks, run;
    struct unit units[MOST_DEVICES][MOST_OPS];
    uint32_t count[MOST_DEVICES];
    char done[2][MOST_DEVICES * MOST_CHUNKS][MOST_RUN]; /* F, B */
};

/* The k-th forward of a device: groups of microbatches, in each chunk by chunk. */
static void forward_of(const struct order *order, uint32_t group, uint32_t k, uint32_t *chunk, uint32_t *microbatch)
{
    for (uint32_t first = 0; first < order->run; first += group) {
        uint32_t size = order->run - first < group ? order->run - first : group;
        if (k < size * order->chunks) {
            *chunk = k / size;
            *microbatch = first + k % size;
            return;
        }
        k -= size * order->chunks;
    }
}

static struct unit unit_of(const struct order *order, uint32_t group, int64_t forward, int64_t backward)
{
    struct unit unit = {.what = backward < 0 ? 'F' : forward < 0 ? 'B' : 'P'};
    if (forward >= 0)
        forward_of(order, group, (uint32_t)forward, &unit.chunk, &unit.microbatch);
    if (backward >= 0) {
        forward_of(order, group, (uint32_t)backward, &unit.back_chunk, &unit.back_microbatch);
        unit.back_chunk = order->chunks - 1 - unit.back_chunk;
    }
    return unit;
}

/* Warm-up; then F and B in turn, or pairs; then the other B. */
static void write_order(struct order *order, const struct size *size, const struct rule *rule)
{
    uint32_t group = size->group != 0 ? size->group : size->devices;
    memset(order, 0, sizeof *order);
    order->devices = size->devices;
    order->chunks = size->stages / size->devices;
    order->run = size->microbatches;
    int64_t all = (int64_t)order->chunks * order->run;
    for (uint32_t r = 0; r < order->devices; r++) {
        struct unit *next = order->units[r];
        int64_t warmup = (int64_t)(order->chunks - 1) * group + rule->slope * (order->devices - 1 - r) + rule->overlapped;
        warmup = warmup < all ? warmup : all;
        for (int64_t k = 0; k < warmup; k++)
            *next++ = unit_of(order, group, k, -1);
        for (int64_t k = warmup; k < all; k++) {
            *next++ = unit_of(order, group, k, rule->overlapped ? k - warmup : -1);
            if (!rule->overlapped)
                *next++ = unit_of(order, group, -1, k - warmup);
        }
        for (int64_t k = all - warmup; k < all; k++)
            *next++ = unit_of(order, group, -1, k);
        order->count[r] = (uint32_t)(next - order->units[r]);
    }
}

static int forward_can_run(const struct order *order, uint32_t stage, uint32_t microbatch)
{
    return stage == 0 || order->done[0][stage - 1][microbatch];
}

static int backward_can_run(const struct order *order, uint32_t stage, uint32_t microbatch)
{
    return order->done[0][stage][microbatch] &&
           (stage + 1 == order->devices * order->chunks || order->done[1][stage + 1][microbatch]);
}

/* Runs a unit if it can; both of a pair need their inputs before. */
static int try_unit(struct order *order, uint32_t device, const struct unit *unit)
{
    uint32_t forward = unit->chunk * order->devices + device, backward = unit->back_chunk * order->devices + device;
    if (unit->what != 'B' && !forward_can_run(order, forward, unit->microbatch))
        return 0;
    if (unit->what != 'F' && !backward_can_run(order, backward, unit->back_microbatch))
        return 0;
    if (unit->what != 'B')
        order->done[0][forward][unit->microbatch] = 1;
    if (unit->what != 'F')
        order->done[1][backward][unit->back_microbatch] = 1;
    return 1;
}

/* Whether all units of all devices run, none of which waits in a circle. */
static int can_run(struct order *order)
{
    uint32_t place[MOST_DEVICES] = {0}, left = 0;
    for (int progress = 1; progress;) {
        progress = 0;
        for (uint32_t r = 0; r < order->devices; r++)
            for (; place[r] < order->count[r] && try_unit(order, r, &order->units[r][place[r]]); place[r]++)
                progress = 1;
    }
    for (uint32_t r = 0; r < order->devices; r++)
        left += order->count[r] - place[r];
    return left == 0;
}

/* That the order is the library's, W aside, so that what is found here is so there. */
static void expect_order(const struct order *order, const ppsched_schedule *schedule)
{
    for (uint32_t r = 0; r < order->devices; r++) {
        size_t count = 0, i = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, r), &count);
        for (uint32_t k = 0; k < order->count[r]; k++) {
            const struct unit *unit = &order->units[r][k];
            while (ops[i].kind == PPSCHED_KIND_W)
                i++;
            if (unit->what != 'B') {
                assert_true(ops[i].kind == PPSCHED_KIND_F && ops[i].stage == unit->chunk * order->devices + r);
                assert_int_equal(ops[i].microbatch, unit->microbatch);
                assert_int_equal((ops[i++].flags & PPSCHED_OP_FLAG_OVERLAPPED) != 0, unit->what == 'P');
            }
            if (unit->what != 'F') {
                assert_true(ops[i].kind != PPSCHED_KIND_F && ops[i].stage == unit->back_chunk * order->devices + r);
                assert_int_equal(ops[i++].microbatch, unit->back_microbatch);
            }
        }
    }
}

/* Refused where the order would deadlock, and nowhere else. */
static void test_interleaved_orders_that_run_are_served(void **state)
{
    static struct order order;
    (void)state;
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
        long counts[2] = {0};
        for (uint32_t d = 1; d <= 6 && rules[r].slope != 0; d++)
            for (uint32_t v = 1; v <= 4; v++)
                for (uint32_t m = 1; m <= 19; m++)
                    for (uint32_t g = 1; g <= 2 * d + 2; g++) {
                        const struct size size = {d, v * d, m, g, 1};
                        ppsched_schedule *schedule = NULL;
                        ppsched_error error;
                        write_order(&order, &size, &rules[r]);
                        int runs = can_run(&order), served = generate(rules[r].name, &size, &schedule, &error) == PPSCHED_OK;
                        if (runs != served)
                            fail_msg("%s: D = %u, V = %u, M = %u, g = %u is %s, but its order %s", rules[r].name, d, v, m, g,
                                     served ? "served" : "refused", runs ? "runs" : "deadlocks");
                        if (served)
                            expect_order(&order, schedule);
                        counts[runs]++;
                        ppsched_schedule_release(schedule);
                    }
        assert_true(rules[r].slope == 0 || (counts[0] > 100 && counts[1] > 1000));
    }
}

/* --- the nearest --- */

/* Of "; nearest: 5 or 8 microbatches, or group_size 4": none between these and what was asked for works. */
static void expect_nearest(const struct rule *rule, struct size size, const char *message, long counts[2])
{
    const char *found = strstr(message, "; nearest: ");
    uint32_t asked = size.microbatches, group = size.group != 0 ? size.group : size.devices;
    unsigned first = 0, second = 0, value = 0;
    assert_non_null(found);
    found += strlen("; nearest: ");
    if (sscanf(found, "%u or %u microbatch", &first, &second) == 2 || strstr(found, " microbatch") != NULL) {
        unsigned low = first < asked ? first : 0, high = second != 0 ? second : first > asked ? first : 0;
        if (strchr(found, ',') < strstr(found, " microbatch") && strchr(found, ',') != NULL)
            return; /* several changed at once */
        for (size.microbatches = low + 1; size.microbatches < (high != 0 ? high : asked); size.microbatches++)
            assert_false(serves(rule->name, &size));
        counts[0]++;
        size.microbatches = asked;
    }
    found = strstr(found, "group_size ");
    if (found != NULL && sscanf(found, "group_size %u", &value) == 1 && size.stages % size.devices == 0) {
        unsigned apart = value > group ? value - group : group - value;
        for (unsigned step = 1; step < apart; step++)
            for (int sign = -1; sign <= 1; sign += 2) {
                size.group = (uint32_t)((int64_t)group + sign * (int64_t)step);
                assert_false((int64_t)group + sign * (int64_t)step >= 1 && serves(rule->name, &size));
            }
        counts[1]++;
    }
}

static void test_what_is_named_is_the_nearest(void **state)
{
    long counts[2] = {0};
    (void)state;
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++)
        for (uint32_t d = 1; d <= 6; d++)
            for (uint32_t v = rules[r].chunks != 0 ? rules[r].chunks : 1; v <= (rules[r].chunks != 0 ? rules[r].chunks : 3);
                 v++)
                for (uint32_t m = 1; m <= 14; m++)
                    for (uint32_t g = 0; g <= (takes_groups(&rules[r]) ? d + 1 : 0); g++) {
                        const struct size size = {d, v * d, m, g, 1};
                        ppsched_schedule *schedule = NULL;
                        ppsched_error error;
                        if (generate(rules[r].name, &size, &schedule, &error) == PPSCHED_ERROR_REFUSED)
                            expect_nearest(&rules[r], size, error.message, counts);
                        ppsched_schedule_release(schedule);
                    }
    assert_true(counts[0] > 200 && counts[1] > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_documented),
        cmocka_unit_test(test_groups_that_are_apart),
        cmocka_unit_test(test_all_rules_are_there),
        cmocka_unit_test(test_interleaved_orders_that_run_are_served),
        cmocka_unit_test(test_what_is_named_is_the_nearest),
    };
    return cmocka_run_group_tests_name("served sweep", tests, NULL, NULL);
}
