/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch 2.15's lowering, activation slots, receive buffers and communicators: the compute ops of a captured order are lowered
 * again with all settings that were captured. */
#include "support/captured.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_LENGTH = 1024 };

/* The case in hand. Its own order comes with `golden`, further lines one by one. */
struct captured {
    ppsched_config *config;
    ppsched_schedule *schedule, *lowered; /* NULL where a line of the case lowers nothing */
    uint32_t devices, stages;
    char placement[24];
    int most, defer; /* of the settings in hand */
    char lookahead[LIST_LENGTH];
    ppsched_connection edges[64], stage_pairs[256];
    size_t edge_count, stage_pair_count;
};

struct schedules {
    struct captured cases[128];
    char names[128][128];
    size_t count, present;
    size_t orders, variants, lives, receives, rounds, refusals;
};

static void keep_case(const struct golden *g, void *user)
{
    struct schedules *all = user;
    struct captured *captured = &all->cases[all->count];
    if (g->order[0] == NULL)
        return;
    snprintf(all->names[all->count++], sizeof all->names[0], "%s", g->name);
    captured->config = golden_config(g);
    captured->schedule = captured_schedule(g, captured->config, 1);
}

/* --- lowering --- */

static size_t read_list(const char *text, uint32_t *out)
{
    size_t count = 0;
    for (char *end = NULL; *text != '\0'; text = *end == ',' ? end + 1 : end)
        out[count++] = (uint32_t)strtoul(text, &end, 10);
    return count;
}

static ppsched_status lower(const struct captured *captured, ppsched_schedule **out, int most, const char *lookahead, int defer,
                            ppsched_error *error)
{
    static uint32_t list[LIST_LENGTH];
    ppsched_lower_options options = {.size = sizeof options, .lowering = PPSCHED_LOWERING_PYTORCH, .reduce_grad = 1};
    options.unshard = (uint32_t)most;
    options.defer_receives = (uint32_t)defer;
    if (strcmp(lookahead, "auto") == 0) {
        options.unshard_lookahead = PPSCHED_UNSHARD_LOOKAHEAD_AUTO;
    } else if (strcmp(lookahead, "full") != 0) {
        options.unshard_lookahead = PPSCHED_UNSHARD_LOOKAHEAD_LIST;
        options.unshard_lookahead_count = (uint32_t)read_list(lookahead, list);
        options.unshard_lookaheads = list;
    }
    return ppsched_schedule_lower(out, captured->schedule, captured->config, &options, error);
}

static void lower_present(struct captured *captured)
{
    ppsched_error error;
    ppsched_schedule_release(captured->lowered);
    captured->lowered = NULL;
    expect_ok(lower(captured, &captured->lowered, captured->most, captured->lookahead, captured->defer, &error), &error);
}

static void expect_same(struct schedules *all, const char *rest)
{
    struct captured *captured = &all->cases[all->present];
    char lookahead[LIST_LENGTH];
    int most = 0, defer = 0;
    ppsched_schedule *other = NULL;
    ppsched_error error;
    assert_int_equal(sscanf(rest, "%d %1023s %d", &most, lookahead, &defer), 3);
    if (captured->lowered == NULL)
        lower_present(captured);
    expect_ok(lower(captured, &other, most, lookahead, defer, &error), &error);
    for (uint32_t d = 0; d < ppsched_schedule_devices(other); d++) {
        char *ours = queue_text(other, d), *same = queue_text(captured->lowered, d);
        assert_string_equal(ours, same);
        free(ours);
        free(same);
    }
    ppsched_schedule_release(other);
    all->variants++;
}

static unsigned long long hash_of(const char *text)
{
    unsigned long long hash = 0xcbf29ce484222325ull;
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
    return hash;
}

static uint32_t slots_of(const struct captured *captured, uint32_t device, unsigned stage, int32_t kind)
{
    ppsched_arena arenas[64];
    size_t count = 0;
    ppsched_error error;
    expect_ok(ppsched_schedule_get_arenas(arenas, 64, &count, captured->lowered, device, PPSCHED_SLOT_USE_RECEIVE, &error),
              &error);
    for (size_t i = 0; i < count; i++)
        if (arenas[i].stage == stage && arenas[i].kind == kind)
            return arenas[i].slots;
    return 0;
}

static void expect_sum(struct schedules *all, const char *rest)
{
    struct captured *captured = &all->cases[all->present];
    unsigned device, tokens, used, stage, forward, backward;
    unsigned long long hash;
    int length = 0;
    assert_int_equal(sscanf(rest, "%u %u %llx recv%n", &device, &tokens, &hash, &length), 3);
    char *ours = queue_text(captured->lowered, device);
    if (hash_of(ours) != hash)
        fail_msg("%s, unshard %d, lookahead %s, device %u: %s", all->names[all->present], captured->most, captured->lookahead,
                 device, ours);
    free(ours);
    for (rest += length; sscanf(rest, " %u:%u/%u%n", &stage, &forward, &backward, &length) == 3; rest += length) {
        used = slots_of(captured, device, stage, PPSCHED_KIND_RECV_F);
        assert_int_equal(used, forward);
        assert_int_equal(slots_of(captured, device, stage, PPSCHED_KIND_RECV_B), backward);
    }
}

static void expect_order(struct schedules *all, const char *rest)
{
    struct captured *captured = &all->cases[all->present];
    char *theirs = NULL;
    unsigned long device = strtoul(rest, &theirs, 10);
    if (captured->lowered == NULL)
        lower_present(captured);
    char *ours = queue_text(captured->lowered, (uint32_t)device);
    assert_string_equal(ours, theirs + 1);
    free(ours);
    all->orders++;
}

/* --- slots --- */

/* Tokens before an op of the queue: an overlapped pair is one. */
static uint32_t token_of(const ppsched_schedule *schedule, uint32_t device, uint32_t position)
{
    const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, device), NULL);
    uint32_t token = 0;
    for (uint32_t i = 0; i < position; i++)
        token += ops[i].flags == 0;
    return token;
}

/* As the captured lines have it, with " stage:microbatch=slot@first-last" for each. */
static char *lifetimes_text(const ppsched_schedule *schedule, uint32_t device, const ppsched_lifetime *lifetimes,
                            const ppsched_arena *arena, int with_stage)
{
    static char text[1 << 18];
    char *out = text;
    out += sprintf(out, "%u", arena->slots);
    for (size_t i = arena->first; i < (size_t)arena->first + arena->count; i++) {
        const ppsched_lifetime *life = &lifetimes[i];
        out += with_stage ? sprintf(out, " %u:", life->stage) : sprintf(out, " ");
        out += sprintf(out, "%u=%u@%u-%u", life->microbatch, life->slot, token_of(schedule, device, life->first),
                       token_of(schedule, device, life->last));
    }
    return text;
}

/* Finds the arena of a stage, or the only one, and compares it with the text. */
static void expect_arena(const ppsched_schedule *schedule, uint32_t device, int32_t use, uint32_t stage, int32_t kind,
                         const char *theirs)
{
    static ppsched_lifetime lifetimes[4096];
    ppsched_arena arenas[64];
    size_t count = 0, arena_count = 0;
    ppsched_error error;
    expect_ok(ppsched_schedule_get_lifetimes(lifetimes, 4096, &count, schedule, device, use, &error), &error);
    expect_ok(ppsched_schedule_get_arenas(arenas, 64, &arena_count, schedule, device, use, &error), &error);
    for (size_t i = 0; i < arena_count; i++)
        if (arenas[i].stage == stage && arenas[i].kind == kind) {
            assert_string_equal(
                lifetimes_text(schedule, device, lifetimes, &arenas[i], use == PPSCHED_SLOT_USE_STAGE_MICROBATCH), theirs);
            return;
        }
    fail_msg("device %u has no arena for stage %u, %s", device, stage, theirs);
}

static void expect_live(struct schedules *all, const char *rest)
{
    char granularity[32];
    unsigned device;
    int length = 0;
    assert_int_equal(sscanf(rest, "%u %31s %n", &device, granularity, &length), 2);
    expect_arena(all->cases[all->present].lowered, device,
                 strcmp(granularity, "microbatch") == 0 ? PPSCHED_SLOT_USE_MICROBATCH : PPSCHED_SLOT_USE_STAGE_MICROBATCH,
                 PPSCHED_NONE, PPSCHED_KIND_F, rest + length);
    all->lives++;
}

static void expect_receives(struct schedules *all, const char *rest)
{
    unsigned device, stage;
    char direction;
    int length = 0;
    assert_int_equal(sscanf(rest, "%u %u %c %n", &device, &stage, &direction, &length), 3);
    expect_arena(all->cases[all->present].lowered, device, PPSCHED_SLOT_USE_RECEIVE, stage,
                 direction == 'F' ? PPSCHED_KIND_RECV_F : PPSCHED_KIND_RECV_B, rest + length);
    all->receives++;
}

/* --- the file --- */

static void expect_refused_pair(struct schedules *all, const char *rest)
{
    ppsched_schedule *lowered = NULL;
    ppsched_error error;
    int most = atoi(rest);
    assert_int_equal(lower(&all->cases[all->present], &lowered, most, "full", 0, &error), PPSCHED_ERROR_REFUSED);
    const char *theirs = strchr(rest, '('); /* "Atomic action (...)OVERLAP_F_B requires" */
    char token[64];
    assert_int_equal(sscanf(theirs, "%63s", token), 1);
    assert_non_null(strstr(error.message, token));
    all->refusals++;
}

static void read_setting(struct captured *captured, const char *rest)
{
    int ignored = sscanf(rest, "max_active_stages %d", &captured->most) + sscanf(rest, "defer_pp_recv %d", &captured->defer) +
                  sscanf(rest, "unshard_lookahead %1023s", captured->lookahead);
    (void)ignored;
}

static void take_line(const char *line, int is_done, void *user)
{
    struct schedules *all = user;
    struct captured *captured = &all->cases[all->present];
    (void)is_done;
    if (strncmp(line, "case ", 5) == 0) {
        for (all->present = 0; all->present < all->count && strcmp(all->names[all->present], line + 5) != 0;)
            all->present++;
        return;
    }
    if (all->present == all->count)
        return; /* not of a schedule */
    if (strncmp(line, "set ", 4) == 0)
        read_setting(captured, line + 4);
    else if (strncmp(line, "order ", 6) == 0)
        expect_order(all, line + 6);
    else if (strncmp(line, "live ", 5) == 0)
        expect_live(all, line + 5);
    else if (strncmp(line, "recv ", 5) == 0)
        expect_receives(all, line + 5);
    else if (strncmp(line, "same ", 5) == 0)
        expect_same(all, line + 5);
    else if (strncmp(line, "sum ", 4) == 0)
        expect_sum(all, line + 4);
    else if (strncmp(line, "refused ", 8) == 0)
        expect_refused_pair(all, line + 8);
    else if (strncmp(line, "variant ", 8) == 0) {
        assert_int_equal(sscanf(line, "variant %d %1023s %d", &captured->most, captured->lookahead, &captured->defer), 3);
        lower_present(captured);
        all->variants++;
    }
}

static void test_schedules(void **state)
{
    static struct schedules all;
    (void)state;
    read_golden("pytorch215", keep_case, &all);
    all.present = all.count;
    read_golden_lines("pytorch215", take_line, &all);
    assert_int_equal(all.count, 30);
    assert_int_equal(all.orders, 113);
    assert_int_equal(all.variants, 189 + 318);
    assert_int_equal(all.lives, 226);
    assert_int_equal(all.receives, 408);
    assert_int_equal(all.refusals, 3);
    for (size_t i = 0; i < all.count; i++) {
        ppsched_schedule_release(all.cases[i].lowered);
        ppsched_schedule_release(all.cases[i].schedule);
        ppsched_config_destroy(all.cases[i].config);
    }
}

/* --- communicators --- */

static void add_round(ppsched_connection *out, size_t *count, const char *rest, int of_stages)
{
    unsigned round, from, to;
    int length = 0;
    assert_int_equal(sscanf(rest, "%u%n", &round, &length), 1);
    for (rest += length; sscanf(rest, " %u>%u%n", &from, &to, &length) == 2; rest += length)
        out[(*count)++] = of_stages ? (ppsched_connection){round, 0, 0, from, to}
                                    : (ppsched_connection){round, from, to, PPSCHED_NONE, PPSCHED_NONE};
}

static void compare_link(const ppsched_schedule *schedule, int32_t what, const ppsched_connection *theirs, size_t expected)
{
    ppsched_connection ours[256];
    size_t count = 0;
    ppsched_error error;
    expect_ok(ppsched_schedule_get_connections(ours, 256, &count, schedule, what, &error), &error);
    assert_int_equal(count, expected);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(ours[i].round, theirs[i].round);
        assert_int_equal(ours[i].sending_stage, theirs[i].sending_stage);
        assert_int_equal(ours[i].receiving_stage, theirs[i].receiving_stage);
        if (what == PPSCHED_CONNECTING_LINKS) {
            assert_int_equal(ours[i].sender, theirs[i].sender);
            assert_int_equal(ours[i].receiver, theirs[i].receiver);
        } else {
            assert_int_equal(ours[i].sender, ppsched_schedule_device_of(schedule, ours[i].sending_stage, 0));
            assert_int_equal(ours[i].receiver, ppsched_schedule_device_of(schedule, ours[i].receiving_stage, 0));
        }
    }
}

static void compare_rounds(const struct captured *captured)
{
    ppsched_config *config = make_config((int)captured->devices, (int)captured->stages, 1);
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    int32_t placement = strcmp(captured->placement, "v") == 0      ? PPSCHED_PLACEMENT_V
                        : strcmp(captured->placement, "loop") == 0 ? PPSCHED_PLACEMENT_LOOP
                                                                   : PPSCHED_PLACEMENT_LINEAR;
    expect_ok(ppsched_config_set_placement(config, placement, NULL, 0, &error), &error);
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    compare_link(schedule, PPSCHED_CONNECTING_LINKS, captured->edges, captured->edge_count);
    compare_link(schedule, PPSCHED_CONNECTING_STAGES, captured->stage_pairs, captured->stage_pair_count);
    ppsched_schedule_release(schedule);
    ppsched_builder_destroy(builder);
    ppsched_config_destroy(config);
}

static void take_edge_line(const char *line, int is_done, void *user)
{
    struct schedules *all = user;
    struct captured *captured = &all->cases[0];
    if (strncmp(line, "case ", 5) == 0)
        memset(captured, 0, sizeof *captured);
    else if (strncmp(line, "edge_round ", 11) == 0)
        add_round(captured->edges, &captured->edge_count, line + 11, 0);
    else if (strncmp(line, "preconnect_round ", 17) == 0)
        add_round(captured->stage_pairs, &captured->stage_pair_count, line + 17, 1);
    else if (is_done && captured->edge_count > 0) {
        compare_rounds(captured);
        all->rounds++;
    } else if (sscanf(line, "devices %u", &captured->devices) + sscanf(line, "stages %u", &captured->stages) +
                   sscanf(line, "placement %23s", captured->placement) >
               0)
        return;
}

static void test_communicators(void **state)
{
    static struct schedules all;
    (void)state;
    read_golden_lines("pytorch215", take_edge_line, &all);
    assert_int_equal(all.rounds, 25);
}

/* --- facts of PyTorch's own tests and documentation --- */

static ppsched_schedule *one_device(const char *tokens, int stages, int microbatches)
{
    char placement[] = "loop", row[256];
    struct golden golden = {.devices = 1, .stages = stages, .microbatches = microbatches, .iterations = 1, .order = {row}};
    snprintf(golden.placement, sizeof golden.placement, "%s", placement);
    snprintf(row, sizeof row, "%s", tokens);
    ppsched_config *config = make_config(1, stages, microbatches);
    ppsched_schedule *schedule = captured_schedule(&golden, config, 1);
    ppsched_config_destroy(config);
    return schedule;
}

static void expect_lives(const char *tokens, int stages, int microbatches, const char *passes, const char *all)
{
    ppsched_schedule *schedule = one_device(tokens, stages, microbatches);
    expect_arena(schedule, 0, PPSCHED_SLOT_USE_STAGE_MICROBATCH, PPSCHED_NONE, PPSCHED_KIND_F, passes);
    expect_arena(schedule, 0, PPSCHED_SLOT_USE_MICROBATCH, PPSCHED_NONE, PPSCHED_KIND_F, all);
    ppsched_schedule_release(schedule);
}

static void test_liveness(void **state)
{
    (void)state;
    expect_lives("0F0 0F1 0I0 0F2 0W0 0F3 0I1 0W1 0I2 0W2 0I3 0W3", 1, 4, "3 0:0=0@0-4 0:1=1@1-7 0:2=2@3-9 0:3=0@5-11",
                 "3 0=0@0-4 1=1@1-7 2=2@3-9 3=0@5-11");
    expect_lives("0F0 1F0 0F1 1B0 0B0 1F1 1B1 0B1", 2, 2, "3 0:0=0@0-4 0:1=2@2-7 1:0=1@1-3 1:1=0@5-6", "2 0=0@0-4 1=1@2-7");
}

static void test_refused_orders(void **state)
{
    static const char *const orders[][2] = {{"0F0 0I0 0I0", "device 0 has 0I0 at position 2, after a backward"},
                                            {"0B0", "device 0 has 0B0 at position 0, before its forward"},
                                            {"0F0 0W0", "device 0 has 0W0 at position 1, before its I"},
                                            {"0F0 0F0", "device 0 has 0F0 at position 1, a second time"},
                                            {"0F0 0I0", "device 0 is missing the backward of stage 0, microbatch 0"},
                                            {"", "device 0 is missing the forward of stage 0, microbatch 0"}};
    (void)state;
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        ppsched_schedule *schedule = one_device(orders[i][0], 1, 1);
        ppsched_error error;
        size_t needed = 0;
        assert_int_equal(
            ppsched_schedule_get_lifetimes(NULL, 0, &needed, schedule, 0, PPSCHED_SLOT_USE_STAGE_MICROBATCH, &error),
            PPSCHED_ERROR_INVALID_SCHEDULE);
        assert_non_null(strstr(error.message, orders[i][1]));
        ppsched_schedule_release(schedule);
    }
}

/* Stage 15 of interleaved 1F1B with 16 stages on 4 devices and 16 microbatches. */
static void test_gathers_again(void **state)
{
    (void)state;
    for (uint32_t most = 3; most <= 4; most++) {
        ppsched_lower_options options = {.size = sizeof options, .unshard = most};
        ppsched_config *config = make_config(4, 16, 16);
        ppsched_schedule *schedule = make_schedule(config, "interleaved_1f1b"), *lowered = NULL;
        ppsched_error error;
        size_t count = 0, unshards = 0;
        expect_ok(ppsched_schedule_lower(&lowered, schedule, NULL, &options, &error), &error);
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(lowered, 3), &count);
        for (size_t i = 0; i < count; i++)
            unshards += ops[i].kind == PPSCHED_KIND_UNSHARD && ops[i].stage == 15;
        assert_int_equal(unshards, most == 3 ? 4 : 1);
        ppsched_schedule_release(lowered);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedules),      cmocka_unit_test(test_communicators), cmocka_unit_test(test_liveness),
        cmocka_unit_test(test_refused_orders), cmocka_unit_test(test_gathers_again),
    };
    return cmocka_run_group_tests_name("pytorch215", tests, NULL, NULL);
}
