/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that make traces and read them, while memory runs out; and calls that need none. */
#include "support/shortage.h"

#include <string.h>

enum { RANKS = 8, ROOM = 40000 };

/* Whole numbers, by loss; with links and tensors in the second variant. */
static ppsched_chakra_options options_of(int variant)
{
    return (ppsched_chakra_options){.size = sizeof(ppsched_chakra_options),
                                    .links = variant,
                                    .time_scale = 1000,
                                    .memory_scale = 100 * variant,
                                    .most_loss = 1};
}

static int32_t take_bytes_of_trace(void *user, const char *data, size_t size)
{
    fwrite(data, 1, size, user);
    return 0;
}

static ppsched_status chakra_create(struct attempt *attempt)
{
    const ppsched_chakra_options options = options_of(attempt->variant);
    ppsched_chakra *made = UNTOUCHED;
    ppsched_status status = ppsched_chakra_create(&made, attempt->own.lowered, attempt->own.config, &options, &attempt->error);
    attempt->own.host.until_failure = -1;
    if (status != PPSCHED_OK) {
        assert_ptr_equal(made, UNTOUCHED);
        return status;
    }
    for (uint32_t rank = 0; rank < ppsched_chakra_ranks(made); rank++)
        expect_ok(ppsched_chakra_export(made, rank, take_bytes_of_trace, attempt->result, NULL), NULL);
    ppsched_chakra_destroy(made);
    return status;
}

/* A device's trace, and that of a link. What cannot be written whole is not begun. */
static ppsched_status chakra_export(struct attempt *attempt)
{
    const ppsched_chakra_options options = options_of(1);
    ppsched_chakra *traces = NULL;
    ppsched_status status = ppsched_chakra_create(&traces, attempt->own.lowered, attempt->own.config, &options,
                                                  &attempt->error);
    if (status == PPSCHED_OK)
        status = ppsched_chakra_export(traces, attempt->variant == 0 ? 1 : 2, take_bytes_of_trace, attempt->result,
                                       &attempt->error);
    if (status == PPSCHED_ERROR_NO_MEMORY)
        assert_int_equal(ftell(attempt->result), 0);
    ppsched_chakra_destroy(traces);
    return status;
}

/* --- imports --- */

struct text {
    char bytes[ROOM];
    size_t length;
};

static struct text texts[RANKS];

static int32_t append(void *user, const char *data, size_t size)
{
    struct text *text = user;
    assert_true(size <= sizeof text->bytes - text->length);
    memcpy(text->bytes + text->length, data, size);
    text->length += size;
    return 0;
}

/* Of a schedule in memory that does not run out; returns how many. With pairs, and bytes by device in the second variant. */
static size_t write_texts(ppsched_chakra_trace *records, int variant)
{
    static const double times[] = {0, 1, 2, 3, 4, 5, 6, 7, 8},
                        pairs[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18,
                                   19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36};
    const ppsched_chakra_options options = {.size = sizeof options, .sizes = PPSCHED_CHAKRA_SIZES_TIMES};
    ppsched_lower_options lower = {.size = sizeof lower, .lowering = PPSCHED_LOWERING_JUST_IN_TIME};
    ppsched_config *config = variant == 0 ? make_config(3, 6, 6) : make_config(3, 3, 6);
    ppsched_schedule *lowered = NULL, *schedule;
    ppsched_chakra *chakra = NULL;
    if (variant == 0)
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, pairs, 36, NULL), NULL);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_P2P_TIME, times, 9, NULL), NULL);
    schedule = make_schedule(config, variant == 0 ? "dualpipe_v" : "1f1b");
    expect_ok(ppsched_schedule_lower(&lowered, schedule, NULL, &lower, NULL), NULL);
    expect_ok(ppsched_chakra_create(&chakra, lowered, config, &options, NULL), NULL);
    size_t count = ppsched_chakra_ranks(chakra);
    for (uint32_t rank = 0; rank < count; rank++) {
        texts[rank].length = 0;
        expect_ok(ppsched_chakra_export(chakra, rank, append, &texts[rank], NULL), NULL);
        records[rank] = (ppsched_chakra_trace){texts[rank].bytes, texts[rank].length};
    }
    ppsched_chakra_destroy(chakra);
    ppsched_schedule_release(lowered);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    return count;
}

static ppsched_status chakra_import(struct attempt *attempt)
{
    ppsched_chakra_trace records[RANKS];
    size_t count = write_texts(records, attempt->variant);
    ppsched_schedule *schedule = UNTOUCHED;
    ppsched_config *config = UNTOUCHED;
    ppsched_status status = ppsched_chakra_import(&schedule, &config, records, count, &attempt->own.environment,
                                                  &attempt->error);
    take_schedule(attempt, status, schedule);
    return take_config(attempt, status, config);
}

/* --- calls that need none --- */

static void test_traces(void **state)
{
    const ppsched_chakra_options options = options_of(1);
    struct handles handles, *own = &handles;
    ppsched_chakra *traces = NULL;
    (void)state;
    make_handles(own, 0);
    expect_ok(ppsched_chakra_create(&traces, own->lowered, own->config, &options, NULL), NULL);
    int asked = own->host.asked;
#define NO_MEMORY_FOR(call)                                                                                                    \
    do {                                                                                                                       \
        (void)(call);                                                                                                          \
        assert_int_equal(own->host.asked, asked);                                                                              \
    } while (0)
    NO_MEMORY_FOR(ppsched_chakra_ranks(traces));
    NO_MEMORY_FOR((ppsched_chakra_destroy(traces), 0));
    destroy_handles(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHORTAGE(chakra_create, .variants = 2),
        SHORTAGE(chakra_export, .variants = 2),
        SHORTAGE(chakra_import, .variants = 2),
        cmocka_unit_test(test_traces),
    };
    return cmocka_run_group_tests_name("allocation of traces", tests, NULL, NULL);
}
