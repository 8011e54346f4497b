/* SPDX-License-Identifier: Apache-2.0 */
/* The readers over thousands of texts: what each strategy's schedule is written as reads back as it was; cut off anywhere, and
 * with bytes changed, it is read or refused as fuzz/import.h says. The draws are the same in each run. */
#include "fuzz/import.h"
#include "fuzz/round_trip.h"
#include "fuzz/traces.h"
#include "support/problem.h"

#include <stdlib.h>
#include <string.h>

/* A strategy's schedule, or NULL where it refuses the sizes. */
static ppsched_schedule *try_strategy(uint32_t strategy, uint32_t devices, uint32_t microbatches, uint32_t iterations)
{
    ppsched_strategy_info info = {.size = sizeof info};
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    assert_int_equal(ppsched_strategy_get_info(&info, strategy, NULL), PPSCHED_OK);
    ppsched_config *config = make_config(devices, devices * (info.chunks != 0 ? info.chunks : 2), microbatches);
    expect_ok(ppsched_config_set_iterations(config, iterations, &error), &error);
    if (info.offloads) { /* CSV and traces know no copies */
        ppsched_config_destroy(config);
        return NULL;
    }
    ppsched_status status = ppsched_schedule_generate(&schedule, config, info.name, &error);
    if (status != PPSCHED_OK)
        assert_int_equal(status, PPSCHED_ERROR_REFUSED);
    ppsched_config_destroy(config);
    return schedule;
}

/* Reads what was written; the caller releases it. */
static ppsched_schedule *read_again(const ppsched_schedule *schedule, int32_t format)
{
    ppsched_schedule *again = NULL;
    ppsched_error error;
    size_t size = 0;
    char *text = fuzz_export(schedule, format, &size);
    expect_ok(ppsched_schedule_import(&again, format, text, size, NULL, &error), &error);
    assert_true(fuzz_same(schedule, again));
    free(text);
    return again;
}

static void expect_both_round_transfers(const ppsched_schedule *schedule)
{
    ppsched_schedule *csv = read_again(schedule, PPSCHED_FORMAT_CSV), *json = read_again(schedule, PPSCHED_FORMAT_JSON);
    assert_string_equal(ppsched_schedule_name(json), ppsched_schedule_name(schedule));
    assert_int_equal(ppsched_schedule_placement(json), ppsched_schedule_placement(schedule));
    assert_int_equal(ppsched_schedule_iterations(json), ppsched_schedule_iterations(schedule));
    assert_int_equal(ppsched_schedule_flushes(json), ppsched_schedule_flushes(schedule));
    assert_int_equal(ppsched_schedule_weight_versions(json), ppsched_schedule_weight_versions(schedule));
    assert_int_equal(ppsched_schedule_check(NULL, 0, NULL, csv, NULL), PPSCHED_OK);
    assert_int_equal(ppsched_schedule_check(NULL, 0, NULL, json, NULL), PPSCHED_OK);
    if (ppsched_schedule_devices(schedule) > 1 && ppsched_schedule_stages(schedule) > ppsched_schedule_devices(schedule))
        assert_int_equal(ppsched_schedule_placement(csv), ppsched_schedule_placement(schedule));
    ppsched_schedule_release(csv);
    ppsched_schedule_release(json);
}

static void test_round_transfers(void **state)
{
    int compared = 0;
    (void)state;
    for (uint32_t strategy = 0; strategy < ppsched_strategy_count(); strategy++)
        for (uint32_t devices = 1; devices <= 6; devices++)
            for (uint32_t microbatches = 1; microbatches <= 16; microbatches += microbatches < 6 ? 1 : 5)
                for (uint32_t iterations = 1; iterations <= 3; iterations += 2) {
                    ppsched_schedule *schedule = try_strategy(strategy, devices, microbatches, iterations);
                    if (schedule == NULL)
                        continue;
                    expect_both_round_transfers(schedule);
                    ppsched_schedule_release(schedule);
                    compared++;
                }
    assert_in_range(compared, 1000, 100000);
}

static void test_own_placements(void **state)
{
    static const uint32_t map[] = {2, 0, 1, 1, 0};
    ppsched_error error;
    (void)state;
    ppsched_config *config = make_config(3, 5, 2);
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_MAP, map, 5, &error), &error);
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    expect_ok(ppsched_builder_set_flushes(builder, 0, &error), &error);
    expect_ok(ppsched_builder_set_weight_versions(builder, 3, &error), &error);
    expect_ok(ppsched_builder_set_name(builder, "\xC3\xA4 \"\\\n\x7F", &error), &error);
    for (uint32_t s = 0; s < 5; s++)
        for (uint32_t m = 0; m < 2; m++) {
            ppsched_op ops[] = {
                {.kind = PPSCHED_KIND_F, .stage = (uint16_t)s, .microbatch = m, .flags = PPSCHED_OP_FLAG_OVERLAPPED},
                {.kind = PPSCHED_KIND_B, .stage = (uint16_t)s, .microbatch = m}};
            expect_ok(ppsched_builder_append(builder, map[s], ops, 2, &error), &error);
        }
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    ppsched_schedule *json = read_again(schedule, PPSCHED_FORMAT_JSON), *csv = read_again(schedule, PPSCHED_FORMAT_CSV);
    assert_string_equal(ppsched_schedule_name(json), "\xC3\xA4 \"\\\n\x7F");
    assert_int_equal(ppsched_schedule_flushes(json), 0);
    assert_int_equal(ppsched_schedule_weight_versions(json), 3);
    assert_int_equal(ppsched_schedule_placement(json), PPSCHED_PLACEMENT_MAP);
    assert_int_equal(ppsched_schedule_placement(csv), PPSCHED_PLACEMENT_MAP);
    ppsched_schedule_release(json);
    ppsched_schedule_release(csv);
    ppsched_schedule_release(schedule);
    ppsched_builder_destroy(builder);
    ppsched_config_destroy(config);
}

/* A copy that is exactly as large as the text, so that a sanitizer sees the first byte too far. */
static ppsched_status try_text(int32_t format, const char *text, size_t size)
{
    char *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, text, size);
    ppsched_status status = fuzz_import(format, copy, size);
    free(copy);
    return status;
}

/* Changes, takes out or repeats a few bytes; returns the new size. `text` has room for `capacity`. */
static size_t tamper(uint64_t *state, char *text, size_t size, size_t capacity)
{
    static const char likely[] = "0123456789FBIW,,\n\r;()\"{}[]:\\ue-. _SEND\0\xFF";
    for (uint32_t changes = 1 + random_below(state, 3); changes > 0 && size > 1; changes--) {
        size_t at = random_below(state, (uint32_t)size), length = 1 + random_below(state, 12);
        length = length < size - at ? length : size - at;
        switch (random_below(state, 3)) {
        case 0:
            text[at] = likely[random_below(state, sizeof likely - 1)];
            break;
        case 1:
            memmove(text + at, text + at + length, size - at - length);
            size -= length;
            break;
        default:
            if (size + length > capacity)
                break;
            memmove(text + at + length, text + at, size - at);
            size += length;
        }
    }
    return size;
}

static ppsched_schedule *draw_schedule(uint64_t *state)
{
    ppsched_schedule *schedule = NULL;
    while (schedule == NULL) {
        uint32_t strategy = random_below(state, ppsched_strategy_count());
        ppsched_strategy_info info = {.size = sizeof info};
        ppsched_strategy_get_info(&info, strategy, NULL);
        if (!info.searches)
            schedule = try_strategy(strategy, 1 + random_below(state, 4), 1 + random_below(state, 8),
                                    1 + random_below(state, 2));
    }
    return schedule;
}

static void test_changed_bytes(void **state)
{
    enum { TRIALS = 20000, ROOM = 64 };
    uint64_t random = 1;
    int outcomes[2][2] = {{0, 0}, {0, 0}};
    (void)state;
    for (int trial = 0; trial < TRIALS; trial++) {
        int is_json = trial % 2;
        ppsched_schedule *schedule = draw_schedule(&random);
        size_t size = 0;
        char *text = fuzz_export(schedule, is_json ? PPSCHED_FORMAT_JSON : PPSCHED_FORMAT_CSV, &size);
        char *larger = malloc(size + ROOM);
        assert_non_null(larger);
        memcpy(larger, text, size);
        ppsched_status status = try_text(is_json ? PPSCHED_FORMAT_JSON : PPSCHED_FORMAT_CSV, larger,
                                         tamper(&random, larger, size, size + ROOM));
        outcomes[is_json][status == PPSCHED_OK]++;
        free(larger);
        free(text);
        ppsched_schedule_release(schedule);
    }
    for (int i = 0; i < 4; i++) /* both readers read some and refuse some */
        assert_in_range(outcomes[i / 2][i % 2], TRIALS / 100, TRIALS);
}

static void test_cut_off_anywhere(void **state)
{
    (void)state;
    for (uint32_t strategy = 0; strategy < ppsched_strategy_count(); strategy++) {
        ppsched_schedule *schedule = try_strategy(strategy, 2, 4, 1);
        if (schedule == NULL)
            continue;
        for (int32_t format = PPSCHED_FORMAT_CSV; format <= PPSCHED_FORMAT_JSON; format++) {
            size_t size = 0;
            char *text = fuzz_export(schedule, format, &size);
            for (size_t cut = 0; cut <= size; cut++) {
                ppsched_status status = try_text(format, text, cut);
                if (format == PPSCHED_FORMAT_JSON && cut + 1 < size) /* the last byte is a newline */
                    assert_int_equal(status, PPSCHED_ERROR_SYNTAX);
            }
            free(text);
        }
        ppsched_schedule_release(schedule);
    }
}

/* --- traces --- */

enum { MOST_RANKS = 24 };

/* The traces of a schedule that is lowered, in memory that the caller frees; 0 where there can be none. */
static size_t make_traces(const ppsched_schedule *schedule, ppsched_chakra_trace *traces, uint64_t *random)
{
    const ppsched_lower_options lowering = {.size = sizeof lowering, .lowering = PPSCHED_LOWERING_JUST_IN_TIME};
    const ppsched_chakra_options options = {.size = sizeof options,
                                            .sizes = (int32_t)random_below(random, 2),
                                            .links = (int32_t)random_below(random, 2),
                                            .memory_scale = random_below(random, 2),
                                            .most_loss = 1};
    const double latency = 1 + random_below(random, 9);
    ppsched_schedule *lowered = NULL;
    ppsched_chakra *chakra = NULL;
    ppsched_error error;
    uint32_t ranks = 0, devices = ppsched_schedule_devices(schedule);
    ppsched_config *config = make_config(devices, ppsched_schedule_stages(schedule), 1);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_P2P_TIME, &latency, 1, &error), &error);
    expect_ok(ppsched_schedule_lower(&lowered, schedule, NULL, &lowering, &error), &error);
    if (devices > 1) {
        expect_ok(ppsched_chakra_create(&chakra, lowered, config, &options, &error), &error);
        ranks = ppsched_chakra_ranks(chakra);
    }
    assert_true(ranks <= MOST_RANKS);
    for (uint32_t rank = 0; rank < ranks; rank++)
        traces[rank].data = fuzz_export_trace(chakra, rank, &traces[rank].length);
    ppsched_chakra_destroy(chakra);
    ppsched_schedule_release(lowered);
    ppsched_config_destroy(config);
    return ranks;
}

static void free_traces(const ppsched_chakra_trace *traces, size_t count)
{
    for (size_t rank = 0; rank < count; rank++)
        free((void *)(uintptr_t)traces[rank].data);
}

/* With one trace replaced by a copy that is exactly as large. */
static ppsched_status try_trace(const ppsched_chakra_trace *traces, size_t count, size_t rank, const char *bytes, size_t size)
{
    ppsched_chakra_trace tried[MOST_RANKS];
    char *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    memcpy(tried, traces, count * sizeof *traces);
    tried[rank] = (ppsched_chakra_trace){copy, size};
    ppsched_status status = fuzz_import_traces(tried, count);
    free(copy);
    return status;
}

static void test_changed_traces(void **state)
{
    enum { TRIALS = 8000, ROOM = 64 };
    uint64_t random = 2;
    int outcomes[2] = {0, 0};
    (void)state;
    for (int trial = 0; trial < TRIALS; trial++) {
        ppsched_chakra_trace traces[MOST_RANKS];
        ppsched_schedule *schedule = draw_schedule(&random);
        size_t count = make_traces(schedule, traces, &random);
        ppsched_schedule_release(schedule);
        if (count == 0)
            continue;
        assert_int_equal(fuzz_import_traces(traces, count), PPSCHED_OK);
        size_t rank = random_below(&random, (uint32_t)count), size = traces[rank].length;
        char *larger = malloc(size + ROOM);
        assert_non_null(larger);
        memcpy(larger, traces[rank].data, size);
        size = tamper(&random, larger, size, size + ROOM);
        outcomes[try_trace(traces, count, rank, larger, size) == PPSCHED_OK]++;
        free(larger);
        free_traces(traces, count);
    }
    assert_in_range(outcomes[0], TRIALS / 100, TRIALS);
    assert_in_range(outcomes[1], TRIALS / 100, TRIALS);
}

static void test_traces_cut_off_anywhere(void **state)
{
    uint64_t random = 3;
    (void)state;
    for (uint32_t strategy = 0; strategy < ppsched_strategy_count(); strategy++) {
        ppsched_chakra_trace traces[MOST_RANKS];
        ppsched_schedule *schedule = try_strategy(strategy, 2, 4, 1);
        if (schedule == NULL)
            continue;
        size_t count = make_traces(schedule, traces, &random), whole = 0;
        for (size_t cut = 0; cut < traces[1].length; cut++)
            whole += try_trace(traces, count, 1, traces[1].data, cut) == PPSCHED_OK;
        assert_true(whole < traces[1].length / 20); /* behind a node: the rest of the schedule */
        free_traces(traces, count);
        ppsched_schedule_release(schedule);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_transfers), cmocka_unit_test(test_own_placements),
        cmocka_unit_test(test_changed_bytes),   cmocka_unit_test(test_cut_off_anywhere),
        cmocka_unit_test(test_changed_traces),  cmocka_unit_test(test_traces_cut_off_anywhere),
    };
    return cmocka_run_group_tests_name("tampered", tests, NULL, NULL);
}
