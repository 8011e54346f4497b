/* SPDX-License-Identifier: Apache-2.0 */
/* Strategies: each with any sizes, costs, limits and options. What is refused says why, and says the same when only asked
 * whether it fits; what is built is valid, keeps to the memory limits where it was planned within them, and comes out the same
 * again. A search that is stopped, and one that runs out of memory, leaves nothing behind. */
#include "fuzz/problem.h"
#include "fuzz/round_trip.h"
#include "fuzz/schedule.h"
#include "fuzz/timeline.h"

#include <math.h>
#include <string.h>

enum { LARGEST_TEXT = 24, MOST_REPORTS = 64, MOST_ALLOCATIONS = 200 };

/* Listens to a search, and stops it at its call number `stop` (0: never). */
struct listener {
    uint32_t calls, stop;
    double share, best;
};

static int32_t listen(void *user, const ppsched_progress *progress)
{
    struct listener *listener = user;
    double share = progress->share, best = progress->best;
    EXPECT(share >= listener->share && share <= 1 && best <= listener->best);
    listener->share = share;
    listener->best = best;
    return ++listener->calls == listener->stop;
}

/* A strategy and a problem for it. */
struct attempt {
    struct meter meter;
    ppsched_config *config;
    uint32_t strategy;
    ppsched_strategy_info info;
};

/* --- options --- */

static void set_option(ppsched_config *config, const char *name, const char *value)
{
    ppsched_error error = fresh_error();
    EXPECT(accepted(ppsched_config_set_option(config, name, value, &error), &error));
}

/* A value that an option of the strategy takes, or one beside. */
static void set_known_option(const struct attempt *attempt, struct bytes *bytes)
{
    ppsched_option_info option = {.size = sizeof option};
    char text[LARGEST_TEXT];
    uint8_t code = take_u8(bytes);
    if (ppsched_strategy_get_option(&option, attempt->strategy, code % 4, NULL) != PPSCHED_OK)
        return;
    if (option.choice_count > 0) {
        set_option(attempt->config, option.name, option.choices[code / 4 % option.choice_count]);
        return;
    }
    snprintf(text, sizeof text, "%lld", (long long)option.minimum + code / 4 - 1);
    set_option(attempt->config, option.name, text);
}

/* Any names and values. The effort is low in the end, so that an input takes milliseconds. */
static void set_options(const struct attempt *attempt, struct bytes *bytes)
{
    static const char *const efforts[] = {"0", "1", "2"};
    uint8_t form = take_u8(bytes);
    char name[LARGEST_TEXT], value[LARGEST_TEXT];
    if ((form & 1) != 0)
        set_known_option(attempt, bytes);
    if ((form & 2) != 0)
        set_known_option(attempt, bytes);
    if (form >= 240) {
        take_text(bytes, name, sizeof name);
        set_option(attempt->config, name, take_text(bytes, value, sizeof value));
    }
    if (strcmp(attempt->info.name, "auto") == 0)
        set_option(attempt->config, "effort", efforts[form / 4 % 3]);
}

/* --- attempts --- */

static void expect_documented(ppsched_status status)
{
    EXPECT(status == PPSCHED_OK || status == PPSCHED_ERROR_UNKNOWN_OPTION || status == PPSCHED_ERROR_RANGE ||
           status == PPSCHED_ERROR_REFUSED);
}

/* The schedule, or NULL where the strategy refuses. */
static ppsched_schedule *generate(const struct attempt *attempt)
{
    ppsched_schedule *schedule = NULL;
    ppsched_error error = fresh_error(), reason = fresh_error();
    size_t used = attempt->meter.used;
    ppsched_status fits = ppsched_strategy_fits(attempt->info.name, attempt->config, &reason);
    bool may_fit = accepted(fits, &reason);
    EXPECT(attempt->meter.used == used);
    ppsched_status status = ppsched_schedule_generate(&schedule, attempt->config, attempt->info.name, &error);
    expect_documented(status);
    EXPECT((schedule != NULL) == accepted(status, &error));
    EXPECT(may_fit ? status == PPSCHED_OK || attempt->info.searches : memcmp(&error, &reason, sizeof error) == 0);
    EXPECT(schedule != NULL || attempt->meter.used == used);
    return schedule;
}

/* One allocation fails; it is told, and nothing is left. */
static void generate_without_memory(struct attempt *attempt, uint32_t allocation)
{
    ppsched_schedule *schedule = NULL;
    ppsched_error error = fresh_error();
    size_t used = attempt->meter.used;
    attempt->meter.until_failure = allocation;
    ppsched_status status = ppsched_schedule_generate(&schedule, attempt->config, attempt->info.name, &error);
    attempt->meter.until_failure = 0;
    EXPECT(accepted(status, &error) == (schedule != NULL));
    EXPECT((status == PPSCHED_ERROR_NO_MEMORY) == attempt->meter.has_failed);
    ppsched_schedule_release(schedule);
    EXPECT(attempt->meter.used == used);
}

/* The search is stopped; what it built where it came to its end before is as `wanted`, which is NULL where it is refused. */
static void generate_and_stop(struct attempt *attempt, const ppsched_schedule *wanted, uint32_t stop)
{
    struct listener listener = {.stop = stop, .best = INFINITY};
    ppsched_schedule *schedule = NULL;
    ppsched_error error = fresh_error();
    size_t used = attempt->meter.used;
    EXPECT(ppsched_config_set_progress(attempt->config, listen, &listener, NULL) == PPSCHED_OK);
    ppsched_status status = ppsched_schedule_generate(&schedule, attempt->config, attempt->info.name, &error);
    EXPECT(ppsched_config_set_progress(attempt->config, NULL, NULL, NULL) == PPSCHED_OK);
    EXPECT(accepted(status, &error) == (schedule != NULL));
    EXPECT((status == PPSCHED_ERROR_CANCELLED) == (stop > 0 && listener.calls >= stop));
    if (status != PPSCHED_ERROR_CANCELLED)
        EXPECT(schedule == NULL ? wanted == NULL : wanted != NULL && fuzz_same(schedule, wanted));
    ppsched_schedule_release(schedule);
    EXPECT(attempt->meter.used == used);
}

/* --- what comes out --- */

/* The order of v_1f1b does not depend on the problem's costs and limits. */
static void expect_within_limits(const struct attempt *attempt, const ppsched_schedule *schedule)
{
    bool plans_within = attempt->info.searches && strcmp(attempt->info.name, "v_1f1b") != 0;
    ppsched_timeline *timeline = NULL;
    ppsched_error error = fresh_error();
    if (accepted(ppsched_schedule_evaluate(&timeline, schedule, attempt->config, 0, &error), &error) && plans_within)
        EXPECT(fuzz_metrics(timeline).limit_device == PPSCHED_NONE);
    ppsched_timeline_destroy(timeline);
}

static void try_out(struct attempt *attempt, struct bytes *bytes)
{
    ppsched_schedule *schedule = generate(attempt), *again = generate(attempt);
    uint8_t memory = take_u8(bytes), stop = take_u8(bytes);
    EXPECT((schedule != NULL) == (again != NULL));
    if (schedule != NULL) {
        EXPECT(fuzz_same(schedule, again));
        EXPECT(ppsched_schedule_check(NULL, 0, NULL, schedule, NULL) == PPSCHED_OK);
        expect_within_limits(attempt, schedule);
    }
    if (memory % 4 == 0)
        generate_without_memory(attempt, 1 + (uint32_t)memory * MOST_ALLOCATIONS / 256);
    if (attempt->info.searches)
        generate_and_stop(attempt, schedule, stop % MOST_REPORTS);
    if (schedule != NULL && take_u8(bytes) % 2 == 0)
        EXPECT(expect_sound(schedule, attempt->config, bytes));
    ppsched_schedule_release(again);
    ppsched_schedule_release(schedule);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct largest largest = {4, 3, 8, 2}, small = {3, 3, 5, 2};
    struct bytes bytes = {data, size};
    struct attempt attempt = {.info = {.size = sizeof attempt.info}};
    attempt.strategy = take_below(&bytes, ppsched_strategy_count());
    EXPECT(ppsched_strategy_get_info(&attempt.info, attempt.strategy, NULL) == PPSCHED_OK);
    attempt.config = take_problem(&bytes, attempt.info.searches ? &small : &largest, &attempt.meter);
    set_options(&attempt, &bytes);
    try_out(&attempt, &bytes);
    ppsched_config_destroy(attempt.config);
    EXPECT(attempt.meter.used == 0);
    return 0;
}
