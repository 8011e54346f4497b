/* SPDX-License-Identifier: Apache-2.0 */
/* JSON texts as trees: values of each type, members by name, what is refused and where, large texts, memory that runs out. */
#include "support/failing_allocator.h"
#include "support/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "json/tree.h"

static struct ppi_host host;
static struct ppi_arena arena;

static int setup(void **state)
{
    (void)state;
    expect_ok(ppi_host_take(&host, NULL, NULL), NULL);
    arena = (struct ppi_arena){.host = &host};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ppi_arena_clear(&arena);
    return 0;
}

static struct ppi_json_value tree_of(const char *text)
{
    struct ppi_json_value value;
    ppsched_error error;
    expect_ok(ppi_json_tree(&value, &arena, text, strlen(text), &error), &error);
    return value;
}

static void test_numbers(void **state)
{
    const struct {
        const char *text;
        double number;
        bool is_integer;
    } cases[] = {{"0", 0, true},
                 {"-0", 0, true},
                 {"42", 42, true},
                 {"-7", -7, true},
                 {"1.5", 1.5, false},
                 {"1e3", 1000, false},
                 {"25e-2", 0.25, false},
                 {"0.1", 0.1, false},
                 {"1.0", 1, false},
                 {"-2.5E+1", -25, false},
                 {"123456.789", 123456.789, false},
                 {"9223372036854775807", 9223372036854775807.0, true},
                 {"9223372036854775808", 9223372036854775808.0, false},
                 {"1e-320", 0, false},
                 {"1e-9999", 0, false},
                 {"0.000001", 0.000001, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ppi_json_value value = tree_of(cases[i].text);
        assert_int_equal(value.type, PPI_JSON_NUMBER);
        assert_int_equal(value.is_integer, cases[i].is_integer);
        if (fabs(value.number - cases[i].number) > 1e-15 * fabs(cases[i].number))
            fail_msg("%s is %g", cases[i].text, value.number);
    }
    assert_true(tree_of("9223372036854775807").integer == INT64_MAX && tree_of("-7").integer == -7);
    assert_true(isinf(tree_of("Infinity").number) && isinf(tree_of("-Infinity").number) && isnan(tree_of("NaN").number));
}

static void test_values(void **state)
{
    (void)state;
    const struct ppi_json_value value = tree_of(
        " {\"a\": [1, [], {\"b\": null}], \"text\": \"x\\n\\u00e9\", \"no\": false, \"yes\": true, \"\": 3 } ");
    assert_int_equal(value.type, PPI_JSON_OBJECT);
    assert_int_equal(value.count, 5);
    const struct ppi_json_value *list = ppi_json_member_of(&value, "a");
    assert_int_equal(list->count, 3);
    assert_int_equal(list->items[0].integer, 1);
    assert_int_equal(list->items[1].count, 0);
    assert_int_equal(ppi_json_member_of(&list->items[2], "b")->type, PPI_JSON_NULL);
    assert_string_equal(ppi_json_member_of(&value, "text")->text, "x\n\xc3\xa9");
    assert_false(ppi_json_member_of(&value, "no")->truth);
    assert_true(ppi_json_member_of(&value, "yes")->truth);
    assert_int_equal(ppi_json_member_of(&value, "")->integer, 3);
    assert_null(ppi_json_member_of(&value, "c"));
    assert_null(ppi_json_member_of(list, "a"));
    assert_null(ppi_json_member_of(NULL, "a"));
}

static void test_escapes(void **state)
{
    const struct {
        const char *text, *value;
    } cases[] = {{"\"\"", ""},
                 {"\"\\\"\\\\\\/\"", "\"\\/"},
                 {"\"\\b\\f\\n\\r\\t\"", "\b\f\n\r\t"},
                 {"\"\\u0041\\u00e9\\u20ac\"", "A\xc3\xa9\xe2\x82\xac"},
                 {"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80"},
                 {"\"\xc3\xa9\"", "\xc3\xa9"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(tree_of(cases[i].text).text, cases[i].value);
    const struct ppi_json_value object = tree_of("{\"\\u0061\\n\": 1}");
    assert_string_equal(object.keys[0], "a\n");
}

static void test_in_use(void **state)
{
    static const char *const off[] = {"null", "false", "0", "0.0", "\"\"", "[]", "{}"};
    static const char *const on[] = {"true", "1", "-0.5", "\"x\"", "[0]", "{\"a\": null}"};
    (void)state;
    assert_false(ppi_json_in_use(NULL));
    for (size_t i = 0; i < sizeof off / sizeof off[0]; i++) {
        const struct ppi_json_value value = tree_of(off[i]);
        assert_false(ppi_json_in_use(&value));
    }
    for (size_t i = 0; i < sizeof on / sizeof on[0]; i++) {
        const struct ppi_json_value value = tree_of(on[i]);
        assert_true(ppi_json_in_use(&value));
    }
}

static void test_shown(void **state)
{
    char text[32];
    const struct {
        const char *value, *shown;
    } cases[] = {{"null", "null"},
                 {"true", "true"},
                 {"3", "3"},
                 {"0.5", "0.5"},
                 {"32.0", "32.0"},
                 {"3.2e1", "32.0"},
                 {"-1.0", "-1.0"},
                 {"262144.0", "262144.0"},
                 {"1e9", "1000000000.0"},
                 {"\"ab\"", "\"ab\""},
                 {"[]", "[]"},
                 {"{}", "{}"},
                 {"[1,2]", "a list of 2"},
                 {"{\"a\":1}", "an object of 1"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ppi_json_value value = tree_of(cases[i].value);
        assert_string_equal(ppi_json_show(text, sizeof text, &value), cases[i].shown);
    }
}

static void test_refused(void **state)
{
    const struct {
        const char *text, *part;
    } cases[] = {{"", "line 1, column 1: the text ends"},
                 {"{\"a\": 1,\n \"a\": 2}", "line 2, column 3: the key occurs twice in its object"},
                 {"{\"a\": 1,\n \"b\": 2, \"\\u0061\": 3}", "line 2, column 11: the key occurs twice in its object"},
                 {"[{\"a\": 1}, {\"b\": {\"c\": 1, \"c\": 1}}]", "column 28: the key occurs twice in its object"},
                 {"{\"\\u0000\": 1}", "a string must not hold the character NUL"},
                 {"\"\\ud83d\"", "line 1, column"},
                 {"\"\\x\"", "line 1, column"},
                 {"\"\xff\"", "line 1, column 2"},
                 {"[1,\n\n 2,, 3]", "line 3, column 4"},
                 {"[1, 2", "the text ends; expected ',' or ']'"},
                 {"{\"a\" 1}", "expected ':'"},
                 {"{a: 1}", "expected a key in quotes"},
                 {"[1] x", "there is text after the object"},
                 {"nul", "expected"},
                 {"01", "expected a JSON value"},
                 {"1e999", "too large for a double"},
                 {"\"\\u0000\"", "a string must not hold the character NUL"},
                 {"\"a\nb\"", "control characters"},
                 {"+1", "expected a JSON value"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ppi_json_value value;
        ppsched_error error = {.message = ""};
        assert_int_equal(ppi_json_tree(&value, &arena, cases[i].text, strlen(cases[i].text), &error), PPSCHED_ERROR_SYNTAX);
        if (strstr(error.message, cases[i].part) == NULL)
            fail_msg("%s: %s", cases[i].text, error.message);
    }
}

/* 64 deep is read, 65 is not; a hundred thousand members, the last of which is there twice. */
static void test_large_texts(void **state)
{
    enum { MEMBERS = 100000, ROOM = 32 };
    struct ppi_json_value value;
    ppsched_error error;
    char deep[131];
    (void)state;
    memset(deep, '[', 65);
    memset(deep + 65, ']', 65);
    assert_int_equal(ppi_json_tree(&value, &arena, deep + 1, 128, &error), PPSCHED_OK);
    assert_int_equal(ppi_json_tree(&value, &arena, deep, 130, &error), PPSCHED_ERROR_SYNTAX);
    char *text = malloc((size_t)MEMBERS * ROOM);
    size_t size = 1;
    assert_non_null(text);
    text[0] = '{';
    for (int i = 0; i < MEMBERS; i++)
        size += (size_t)snprintf(text + size, ROOM, "%s\"k%d\":%d", i > 0 ? "," : "", i, i);
    text[size++] = '}';
    expect_ok(ppi_json_tree(&value, &arena, text, size, &error), &error);
    assert_int_equal(value.count, MEMBERS);
    assert_int_equal(ppi_json_member_of(&value, "k99999")->integer, 99999);
    size += (size_t)snprintf(text + size - 1, ROOM, ",\"k7\":1}") - 1;
    assert_int_equal(ppi_json_tree(&value, &arena, text, size, &error), PPSCHED_ERROR_SYNTAX);
    free(text);
}

/* Each allocation fails once, alone and with all after it: that is told, and nothing is left. The text has more items than
 * the first stack, so that this grows. */
static void run_short(const char *text, size_t size, int keeps_failing)
{
    struct failing_allocator allocator = {.until_failure = 0, .keeps_failing = keeps_failing};
    ppsched_status status = PPSCHED_ERROR_NO_MEMORY;
    int rounds = 0;
    for (; status != PPSCHED_OK; rounds++) {
        const ppsched_environment environment = failing_environment(&allocator);
        struct ppi_host failing;
        struct ppi_json_value value;
        ppsched_error error = {.message = ""};
        allocator.until_failure = rounds;
        allocator.failed = 0;
        expect_ok(ppi_host_take(&failing, &environment, NULL), NULL);
        struct ppi_arena own = {.host = &failing};
        status = ppi_json_tree(&value, &own, text, size, &error);
        assert_int_equal(status, allocator.failed > 0 ? PPSCHED_ERROR_NO_MEMORY : PPSCHED_OK);
        if (status != PPSCHED_OK)
            assert_non_null(strstr(error.message, "out of memory"));
        ppi_arena_clear(&own);
        assert_int_equal(allocator.live, 0);
    }
    assert_true(rounds > 10);
}

static void test_memory_runs_out(void **state)
{
    enum { ITEMS = 300 };
    char text[2 * ITEMS + 64] = "{\"a\": {\"b\": \"c\", \"d\": [true, null]}, \"list\": [0";
    size_t size = strlen(text);
    (void)state;
    for (int i = 0; i < ITEMS; i++, size += 2)
        memcpy(text + size, ",0", 2);
    memcpy(text + size, "]}", 2);
    run_short(text, size + 2, 0);
    run_short(text, size + 2, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_numbers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_values, setup, teardown),
        cmocka_unit_test_setup_teardown(test_escapes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_in_use, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shown, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_large_texts, setup, teardown),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests_name("json_tree", tests, NULL, NULL);
}
