/* SPDX-License-Identifier: Apache-2.0 */
/* Traces through the C API: arguments, writers that stop, bytes that are known. What traces mean is tested in Python. */
#include "support/problem.h"

#include <string.h>

struct bytes {
    char data[4000];
    size_t length;
    int calls, stops;
};

static int32_t take(void *user, const char *data, size_t size)
{
    struct bytes *bytes = user;
    bytes->calls++;
    assert_true(size <= sizeof bytes->data - bytes->length);
    memcpy(bytes->data + bytes->length, data, size);
    bytes->length += size;
    return bytes->stops;
}

static ppsched_schedule *make_lowered(const ppsched_config *config, const char *strategy)
{
    const ppsched_lower_options options = {.size = sizeof options, .lowering = PPSCHED_LOWERING_JUST_IN_TIME};
    ppsched_schedule *schedule = make_schedule(config, strategy), *lowered = NULL;
    expect_ok(ppsched_schedule_lower(&lowered, schedule, NULL, &options, NULL), NULL);
    ppsched_schedule_release(schedule);
    return lowered;
}

static void test_bytes(void **state)
{
    static const char nodes[] = "\x0b\x08\x00\x12\x03"
                                "0F0\x18\x04"
                                "8\x01"
                                "\x3c\x08\x01\x12\x08"
                                "0SEND_F0\x18\x05*\x01\x00"
                                "R\x0d\x0a\x09"
                                "comm_sizeh\x07"
                                "R\x0c\x0a\x08"
                                "comm_dsth\x01"
                                "R\x0c\x0a\x08"
                                "comm_tagh\x01";
    static const double seven = 7;
    struct bytes bytes = {.length = 0};
    ppsched_config *config = make_config(2, 2, 1);
    ppsched_chakra *chakra = NULL;
    (void)state;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_ACTIVATION_BYTES, &seven, 1, NULL), NULL);
    ppsched_schedule *lowered = make_lowered(config, "gpipe");
    expect_ok(ppsched_chakra_create(&chakra, lowered, config, NULL, NULL), NULL);
    ppsched_schedule_release(lowered);
    ppsched_config_destroy(config); /* it needs neither any more */
    assert_int_equal(ppsched_chakra_ranks(chakra), 2);
    expect_ok(ppsched_chakra_export(chakra, 0, take, &bytes, NULL), NULL);
    size_t begin = 2 + ((unsigned char)bytes.data[0] & 127) + 128 * (size_t)bytes.data[1]; /* behind the metadata */
    assert_memory_equal(bytes.data + 2,
                        "\x0a\x05"
                        "0.0.4",
                        7);
    assert_memory_equal(bytes.data + begin, nodes, sizeof nodes - 1);
    ppsched_chakra_destroy(chakra);
}

static void expect(ppsched_status status, ppsched_status wanted, const ppsched_error *error, const char *words)
{
    assert_int_equal(status, wanted);
    if (strstr(error->message, words) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", words, error->message);
}

/* The traces of two ranks, and what reading says of them. */
struct traces {
    struct bytes ranks[2];
};

static struct traces make_traces(void)
{
    static const double seven = 7;
    struct traces traces = {.ranks = {{.length = 0}, {.length = 0}}};
    ppsched_config *config = make_config(2, 2, 1);
    ppsched_chakra *chakra = NULL;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_ACTIVATION_BYTES, &seven, 1, NULL), NULL);
    ppsched_schedule *lowered = make_lowered(config, "gpipe");
    expect_ok(ppsched_chakra_create(&chakra, lowered, config, NULL, NULL), NULL);
    for (uint32_t rank = 0; rank < 2; rank++)
        expect_ok(ppsched_chakra_export(chakra, rank, take, &traces.ranks[rank], NULL), NULL);
    ppsched_chakra_destroy(chakra);
    ppsched_schedule_release(lowered);
    ppsched_config_destroy(config);
    return traces;
}

static ppsched_status read_traces(const struct traces *traces, ppsched_error *error)
{
    const ppsched_chakra_trace given[] = {{traces->ranks[0].data, traces->ranks[0].length},
                                          {traces->ranks[1].data, traces->ranks[1].length}};
    ppsched_schedule *schedule = NULL;
    ppsched_config *config = NULL;
    ppsched_status status = ppsched_chakra_import(&schedule, &config, given, 2, NULL, error);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    return status;
}

static char *find(struct bytes *bytes, const char *text, size_t size)
{
    for (size_t i = 0; i + size <= bytes->length; i++)
        if (memcmp(bytes->data + i, text, size) == 0)
            return bytes->data + i;
    fail_msg("\"%s\" is not there", text);
    return NULL;
}

/* The name of device 0's first op, 0F0, and what is behind it; its record's length is five bytes before that. */
static char *find_first(struct bytes *bytes)
{
    return find(bytes,
                "0F0\x18\x04"
                "8\x01",
                7);
}

/* The size of each message as a field of another number: those of integers are read, others are none. */
static void test_fields_of_integers(void **state)
{
    (void)state;
    for (int number = 2; number < 16; number++) {
        struct traces traces = make_traces();
        ppsched_error error;
        for (int rank = 0; rank < 2; rank++)
            for (size_t i = 0; i < traces.ranks[rank].length; i++)
                if (i >= 9 && memcmp(traces.ranks[rank].data + i - 9, "comm_size", 9) == 0)
                    traces.ranks[rank].data[i] = (char)(number << 3);
        if (number == 7 || number == 9 || number == 11 || number == 13)
            expect_ok(read_traces(&traces, &error), &error);
        else
            expect(read_traces(&traces, &error), PPSCHED_ERROR_SYNTAX, &error, "its comm_size is missing, or too large");
    }
}

/* A name that the library does not write, with where it stands: behind a receive and an F. */
static void test_name_that_is_none(void **state)
{
    struct traces traces = make_traces();
    ppsched_error error;
    (void)state;
    find(&traces.ranks[1],
         "\x03"
         "1B0",
         4)[2] = 'X';
    expect(read_traces(&traces, &error), PPSCHED_ERROR_SYNTAX, &error,
           "rank 1, node 2: its name \"1X0\" is not an op as this library writes it");
    assert_true(error.device == 1 && error.position == 2);
}

static void test_schedule_names_that_are_no_text(void **state)
{
    static const char bad[] = {'\0', '\xFF'};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct traces traces = make_traces();
        ppsched_error error;
        find(&traces.ranks[0], "gpipe", 5)[2] = bad[i];
        expect(read_traces(&traces, &error), PPSCHED_ERROR_SYNTAX, &error, "rank 0: the schedule's name is not UTF-8");
    }
}

/* A duration that a double holds, and one more. */
static void test_largest_duration(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        static const char largest[] = "\x80\x80\x80\x80\x80\x80\x80\x10"; /* 2^53 by sevens */
        struct traces traces = make_traces();
        struct bytes *bytes = &traces.ranks[0];
        ppsched_error error;
        char *name = find_first(bytes), *value = name + 6;
        name[-5] += 7; /* of the whole record */
        memmove(value + 8, value + 1, (size_t)(bytes->data + bytes->length - value - 1));
        memcpy(value, largest, 8);
        value[0] = (char)(value[0] + more);
        bytes->length += 7;
        if (more == 0)
            expect_ok(read_traces(&traces, &error), &error);
        else
            expect(read_traces(&traces, &error), PPSCHED_ERROR_SYNTAX, &error, "its duration_micros is missing, or too large");
    }
}

/* A field that no one knows behind the others: of the largest number, of one more, and of none. */
static void test_largest_field(void **state)
{
    static const char fields[][7] = {"\xf8\xff\xff\xff\x0f", "\x80\x80\x80\x80\x10", ""}; /* and 0 */
    (void)state;
    for (int more = 0; more < 3; more++) {
        struct traces traces = make_traces();
        struct bytes *bytes = &traces.ranks[0];
        ppsched_error error;
        char *name = find_first(bytes), *behind = name + 7;
        name[-5] += 6;
        memmove(behind + 6, behind, (size_t)(bytes->data + bytes->length - behind));
        memcpy(behind, fields[more], 6);
        bytes->length += 6;
        if (more == 0)
            expect_ok(read_traces(&traces, &error), &error);
        else
            expect(read_traces(&traces, &error), PPSCHED_ERROR_SYNTAX, &error, "it is cut off, or cannot be read");
    }
}

/* Of a device's messages, in the order of their nodes. */
static size_t find_tags(int *tags, const struct bytes *bytes)
{
    static const char name[] = "comm_tagh";
    const size_t length = sizeof name - 1;
    size_t count = 0;
    for (size_t i = 0; i + length < bytes->length; i++)
        if (memcmp(bytes->data + i, name, length) == 0)
            tags[count++] = (unsigned char)bytes->data[i + length];
    return count;
}

/* (is it a gradient * 3 stages + receiving stage) * 4 microbatches + microbatch. */
static void test_tags(void **state)
{
    static const int wanted[] = {4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 12, 13, 14, 15};
    ppsched_config *config = make_config(3, 3, 4);
    ppsched_schedule *lowered = make_lowered(config, "gpipe");
    ppsched_chakra *chakra = NULL;
    struct bytes bytes = {.length = 0};
    int tags[32], times[24] = {0};
    (void)state;
    expect_ok(ppsched_chakra_create(&chakra, lowered, config, NULL, NULL), NULL);
    expect_ok(ppsched_chakra_export(chakra, 1, take, &bytes, NULL), NULL);
    assert_int_equal(find_tags(tags, &bytes), 16);
    for (int i = 0; i < 16; i++)
        times[tags[i]]++;
    for (int i = 0; i < 16; i++)
        assert_int_equal(times[wanted[i]], 1);
    ppsched_chakra_destroy(chakra);
    ppsched_schedule_release(lowered);
    ppsched_config_destroy(config);
}

static int holds(const struct bytes *bytes, const char *text)
{
    for (size_t i = 0; i + strlen(text) <= bytes->length; i++)
        if (memcmp(bytes->data + i, text, strlen(text)) == 0)
            return 1;
    return 0;
}

/* F writes a tensor of what its stage keeps; one that keeps nothing writes none. */
static void test_tensors(void **state)
{
    static const double kept[] = {0, 40};
    const ppsched_chakra_options options = {.size = sizeof options, .memory_scale = 3};
    ppsched_config *config = make_config(2, 2, 1);
    ppsched_chakra *chakra = NULL;
    (void)state;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_FORWARD, kept, 2, NULL), NULL);
    ppsched_schedule *lowered = make_lowered(config, "gpipe");
    expect_ok(ppsched_chakra_create(&chakra, lowered, config, &options, NULL), NULL);
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct bytes bytes = {.length = 0};
        expect_ok(ppsched_chakra_export(chakra, rank, take, &bytes, NULL), NULL);
        assert_int_equal(holds(&bytes, "T1.0"), rank == 1);
        assert_int_equal(holds(&bytes, "\x03"
                                       "120"),
                         rank == 1);
        assert_false(holds(&bytes, "T0.0"));
    }
    ppsched_chakra_destroy(chakra);
    ppsched_schedule_release(lowered);
    ppsched_config_destroy(config);
}

/* What rounding would change is refused; what a trace has no room for is out of its range. */
static void test_amounts_that_do_not_fit(void **state)
{
    static const double half = 2.5;
    ppsched_config *config = make_config(2, 2, 2);
    ppsched_chakra_options options = {.size = sizeof options};
    ppsched_chakra *chakra = NULL;
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, &half, 1, NULL), NULL);
    ppsched_schedule *lowered = make_lowered(config, "gpipe");
    expect(ppsched_chakra_create(&chakra, lowered, config, &options, &error), PPSCHED_ERROR_REFUSED, &error,
           "takes 2.5 microseconds; a trace holds integers");
    options.time_scale = 1e300;
    expect(ppsched_chakra_create(&chakra, lowered, config, &options, &error), PPSCHED_ERROR_RANGE, &error,
           "microseconds; a trace holds at most");
    assert_null(chakra);
    ppsched_schedule_release(lowered);
    ppsched_config_destroy(config);
}

static void test_arguments(void **state)
{
    ppsched_config *config = make_config(2, 2, 2), *made_config = NULL;
    ppsched_schedule *lowered = make_lowered(config, "1f1b"), *made = NULL;
    ppsched_chakra_options options = {.size = sizeof options, .reserved = 1};
    const ppsched_chakra_trace none = {NULL, 0};
    ppsched_chakra *chakra = NULL;
    struct bytes bytes = {.stops = 1};
    ppsched_error error;
    (void)state;
    expect(ppsched_chakra_create(NULL, lowered, config, NULL, &error), PPSCHED_ERROR_ARGUMENT, &error, "out is NULL");
    expect(ppsched_chakra_create(&chakra, NULL, config, NULL, &error), PPSCHED_ERROR_ARGUMENT, &error, "schedule is NULL");
    expect(ppsched_chakra_create(&chakra, lowered, NULL, NULL, &error), PPSCHED_ERROR_ARGUMENT, &error, "config is NULL");
    expect(ppsched_chakra_create(&chakra, lowered, config, &options, &error), PPSCHED_ERROR_ARGUMENT, &error, "reserved is 1");
    options = (ppsched_chakra_options){.size = sizeof options, .sizes = 2};
    expect(ppsched_chakra_create(&chakra, lowered, config, &options, &error), PPSCHED_ERROR_ARGUMENT, &error, "no sizes 2");
    assert_null(chakra);
    expect_ok(ppsched_chakra_create(&chakra, lowered, config, NULL, &error), &error);
    expect(ppsched_chakra_export(NULL, 0, take, &bytes, &error), PPSCHED_ERROR_ARGUMENT, &error, "chakra is NULL");
    expect(ppsched_chakra_export(chakra, 0, NULL, &bytes, &error), PPSCHED_ERROR_ARGUMENT, &error, "write is NULL");
    expect(ppsched_chakra_export(chakra, 2, take, &bytes, &error), PPSCHED_ERROR_RANGE, &error, "no rank 2; ranks are 0 to 1");
    assert_int_equal(bytes.calls, 0);
    expect(ppsched_chakra_export(chakra, 0, take, &bytes, &error), PPSCHED_ERROR_WRITER, &error, "stopped");
    assert_int_equal(bytes.calls, 1);
    assert_int_equal(ppsched_chakra_ranks(NULL), 0);
    ppsched_chakra_destroy(NULL);
    expect(ppsched_chakra_import(&made, NULL, &none, 1, NULL, &error), PPSCHED_ERROR_ARGUMENT, &error, "config is NULL");
    expect(ppsched_chakra_import(&made, &made_config, NULL, 1, NULL, &error), PPSCHED_ERROR_ARGUMENT, &error, "traces is NULL");
    expect(ppsched_chakra_import(&made, &made_config, &none, 0, NULL, &error), PPSCHED_ERROR_RANGE, &error, "0 traces");
    expect(ppsched_chakra_import(&made, &made_config, &none, 1, NULL, &error), PPSCHED_ERROR_ARGUMENT, &error,
           "trace 0 is NULL");
    assert_true(made == NULL && made_config == NULL);
    ppsched_chakra_destroy(chakra);
    ppsched_schedule_release(lowered);
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_fields_of_integers),
        cmocka_unit_test(test_name_that_is_none),
        cmocka_unit_test(test_schedule_names_that_are_no_text),
        cmocka_unit_test(test_largest_duration),
        cmocka_unit_test(test_largest_field),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_amounts_that_do_not_fit),
        cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests_name("chakra", tests, NULL, NULL);
}
