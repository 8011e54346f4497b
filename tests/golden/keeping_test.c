/* SPDX-License-Identifier: Apache-2.0 */
/* What sail-sg's PipeOffload recomputes and offloads (golden/cases), compared with ours: recomputed orders token by token and
 * their peaks; offloaded ones by makespan and peaks, as its offload pass places copies by a rule of its own. */
#include "support/captured.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Theirs has R where ours has RECOMPUTE. */
static void expect_order(const struct golden *g, const ppsched_schedule *schedule, uint32_t d)
{
    char *ours = queue_text(schedule, d), *theirs = malloc(10 * strlen(g->order[d]) + 1), *to = theirs;
    for (const char *from = g->order[d]; *from != '\0'; from++)
        to += sprintf(to, *from == 'R' ? "%cECOMPUTE" : "%c", *from);
    if (strcmp(ours, theirs) != 0)
        fail_msg("%s, device %u:\n  ours   %s\n  theirs %s", g->name, d, ours, theirs);
    free(ours);
    free(theirs);
}

/* Times are columns there. */
static void compare_recompute(const struct golden *g, void *user)
{
    ppsched_config *config = golden_config(g);
    ppsched_schedule *plain = make_schedule(config, "group_interleaved_1f1b"), *schedule = NULL;
    ppsched_recompute_options options = {.size = sizeof options, .chunks = (uint32_t)g->recompute_chunks};
    ppsched_error error;
    expect_ok(ppsched_schedule_recompute(&schedule, plain, &options, &error), &error);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    for (uint32_t d = 0; d < (uint32_t)g->devices; d++) {
        expect_order(g, schedule, d);
        expect_captured_near(g, "peak", device_metrics_of(timeline, d).peak_memory, g->peak[d]);
    }
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_schedule_release(plain);
    ppsched_config_destroy(config);
    ++*(int *)user;
}

static void test_recompute(void **state)
{
    int compared = 0;
    (void)state;
    read_golden("recompute", compare_recompute, &compared);
    assert_int_equal(compared, 4);
}

/* The largest end of an op that computes: of F, I and W, whose tokens have no other letter. */
static double last_end(const struct golden *g)
{
    double last = 0;
    for (int d = 0; d < g->devices; d++) {
        char *row = strdup(g->order[d]), *rest = NULL, *times = g->end[d];
        for (char *token = strtok_r(row, " ", &rest); token != NULL; token = strtok_r(NULL, " ", &rest)) {
            double end = strtod(times, &times);
            if (token[strspn(token, "0123456789FIW")] == '\0')
                last = fmax(last, end);
        }
        free(row);
    }
    return last;
}

/* The copies of a stage pass take a slot; pairs of devices share a link. */
static void set_copies(const struct golden *g, ppsched_config *config)
{
    double links[MOST_DEVICES], longest = 0;
    ppsched_error error;
    for (int s = 0; s < g->stages; s++)
        longest = fmax(longest, g->costs[PPSCHED_KIND_F][s] + g->costs[PPSCHED_KIND_I][s] + g->costs[PPSCHED_KIND_W][s]);
    for (int d = 0; d < g->devices; d++)
        links[d] = d / 2;
    set_number(config, PPSCHED_QUANTITY_OFFLOAD_TIMES, round(longest * g->offload_time * 100) / 100);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_HOST_LINK, links, (size_t)g->devices, &error), &error);
}

struct offloads {
    int compared, within; /* whose peaks are at most theirs on every device */
    double sum, least;    /* of the devices' peaks: ours, theirs */
};

/* With their peaks as limits: at most their peaks, on every device, and never longer than theirs. */
static void compare_held(const struct golden *g, void *user)
{
    ppsched_config *config = golden_config(g);
    ppsched_error error;
    ppsched_offload_options options = {.size = sizeof options, .chunks = (uint32_t)g->offload_chunks};
    set_copies(g, config);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, g->peak, (size_t)g->devices, &error), &error);
    ppsched_schedule *plain = make_schedule(config, "group_interleaved_1f1b"), *schedule = NULL;
    expect_ok(ppsched_schedule_offload(&schedule, plain, config, &options, &error), &error);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    for (uint32_t d = 0; d < (uint32_t)g->devices; d++)
        assert_true(device_metrics_of(timeline, d).peak_memory <= g->peak[d] + 1e-9);
    assert_true(metrics_of(timeline).makespan <= last_end(g) + 1e-9);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_schedule_release(plain);
    ppsched_config_destroy(config);
    ++*(int *)user;
}

static void test_held(void **state)
{
    int compared = 0;
    (void)state;
    read_golden("offload", compare_held, &compared);
    assert_int_equal(compared, 10);
}

/* Never longer than theirs, nor than without copies. */
static void compare_offload(const struct golden *g, void *user)
{
    struct offloads *all = user;
    ppsched_config *config = golden_config(g);
    ppsched_error error;
    ppsched_offload_options options = {.size = sizeof options, .chunks = (uint32_t)g->offload_chunks};
    set_copies(g, config);
    ppsched_schedule *plain = make_schedule(config, "group_interleaved_1f1b"), *schedule = NULL;
    expect_ok(ppsched_schedule_offload(&schedule, plain, config, &options, &error), &error);
    ppsched_timeline *without = make_timeline(plain, config), *timeline = make_timeline(schedule, config);
    int within = 1;
    assert_true(metrics_of(timeline).makespan <= last_end(g) + 1e-9);
    assert_true(metrics_of(timeline).makespan <= metrics_of(without).makespan + 1e-9);
    for (uint32_t d = 0; d < (uint32_t)g->devices; d++) {
        double peak = device_metrics_of(timeline, d).peak_memory;
        assert_true(peak <= device_metrics_of(without, d).peak_memory);
        within = within && peak <= g->peak[d] + 1e-9;
        all->sum += peak;
        all->least += g->peak[d];
    }
    all->compared++;
    all->within += within;
    ppsched_timeline_destroy(without);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_schedule_release(plain);
    ppsched_config_destroy(config);
}

static void test_offload(void **state)
{
    struct offloads all = {0};
    (void)state;
    read_golden("offload", compare_offload, &all);
    print_message("# peaks at most theirs on every device in %d of %d cases; sum of peaks %g, theirs %g\n", all.within,
                  all.compared, all.sum, all.least);
    assert_int_equal(all.compared, 10);
    assert_int_equal(all.within, 8);
}

/* --- many sizes --- */

enum { MOST_DEVICES_THERE = 8, WITHIN = 337 };

struct there {
    int devices, chunks, microbatches, group_size, offload_chunks;
    double offload_time, makespan, peak[MOST_DEVICES_THERE];
};

static void read_there(struct there *there, const char *line)
{
    int read = 0;
    assert_int_equal(sscanf(line, "%d %d %d %d %d %lf %lf%n", &there->devices, &there->chunks, &there->microbatches,
                            &there->group_size, &there->offload_chunks, &there->offload_time, &there->makespan, &read),
                     7);
    for (int d = 0; d < there->devices; d++) {
        char *end;
        there->peak[d] = strtod(line + read, &end);
        read = (int)(end - line);
    }
}

static ppsched_config *config_there(const struct there *there)
{
    double links[MOST_DEVICES_THERE];
    char group_size[16];
    ppsched_error error;
    ppsched_config *config = make_config(there->devices, there->devices * there->chunks, there->microbatches);
    for (int k = 0; k < 3; k++) {
        static const int32_t times[] = {PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES,
                                        PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES};
        set_number(config, times[k], 1);
    }
    for (int d = 0; d < there->devices; d++)
        links[d] = d / 2;
    snprintf(group_size, sizeof group_size, "%d", there->group_size);
    expect_ok(ppsched_config_set_option(config, "group_size", group_size, &error), &error);
    set_number(config, PPSCHED_QUANTITY_OFFLOAD_TIMES, 3 * there->offload_time);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_HOST_LINK, links, (size_t)there->devices, &error), &error);
    return config;
}

struct tally {
    int compared, within; /* at most their peaks on every device, in a step that is no longer */
};

static void compare_there(const char *line, int is_done, void *user)
{
    struct tally *tally = user;
    struct there there;
    ppsched_error error;
    (void)is_done;
    if (line[0] == '#')
        return;
    read_there(&there, line);
    ppsched_config *config = config_there(&there);
    ppsched_offload_options options = {.size = sizeof options, .chunks = (uint32_t)there.offload_chunks};
    ppsched_schedule *plain = make_schedule(config, "group_interleaved_1f1b"), *schedule = NULL;
    expect_ok(ppsched_schedule_offload(&schedule, plain, config, &options, &error), &error);
    ppsched_timeline *without = make_timeline(plain, config), *timeline = make_timeline(schedule, config);
    int within = 1;
    assert_true(metrics_of(timeline).makespan <= there.makespan + 1e-9);
    assert_true(metrics_of(timeline).makespan <= metrics_of(without).makespan + 1e-9);
    for (uint32_t d = 0; d < (uint32_t)there.devices; d++)
        within = within && device_metrics_of(timeline, d).peak_memory <= there.peak[d] + 1e-9;
    tally->compared++;
    tally->within += within;
    ppsched_timeline_destroy(without);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_schedule_release(plain);
    ppsched_config_destroy(config);
}

/* Never longer than theirs; their pairs copy in 0.7 of the time before the first reload, which ours do not. */
static void test_many_sizes(void **state)
{
    struct tally tally = {0};
    (void)state;
    read_golden_lines("offload_peaks", compare_there, &tally);
    print_message("# peaks at most theirs on every device in %d of %d sizes\n", tally.within, tally.compared);
    assert_int_equal(tally.compared, 400);
    assert_true(tally.within >= WITHIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_recompute), cmocka_unit_test(test_held),
                                       cmocka_unit_test(test_offload), cmocka_unit_test(test_many_sizes)};
    return cmocka_run_group_tests_name("keeping", tests, NULL, NULL);
}
