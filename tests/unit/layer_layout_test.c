/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts in C: places of errors, arguments, records, and thousands of random ones that are read back from their text. What
 * Megatron-LM and torchtitan were seen to do is held in tests/python/test_layout.py. */
#include "support/problem.h"

#include <stdlib.h>
#include <string.h>

static ppsched_status read_text(ppsched_layout **out, const char *text, int64_t devices, ppsched_error *error)
{
    return ppsched_layout_create_from_text(out, text, strlen(text), devices, NULL, NULL, error);
}

static void expect_text(const ppsched_layout *layout, const char *wanted)
{
    char text[256];
    expect_ok(ppsched_layout_write_text(text, sizeof text, NULL, layout, NULL), NULL);
    assert_string_equal(text, wanted);
}

/* --- errors --- */

static void test_places(void **state)
{
    static const struct {
        const char *text;
        uint32_t devices;
        ppsched_status status;
        uint32_t stage, position;
        const char *part;
    } cases[] = {
        {"Et|Tt|L", 3, PPSCHED_ERROR_SYNTAX, PPSCHED_NONE, 3, "in exactly this case"},
        {"Et |L", 2, PPSCHED_ERROR_SYNTAX, PPSCHED_NONE, 2, "leave blanks out"},
        {"Et|(tt)|L", 2, PPSCHED_ERROR_SYNTAX, PPSCHED_NONE, 3, "a group is (...)*n"},
        {"E,,t*|L", 2, PPSCHED_ERROR_SYNTAX, PPSCHED_NONE, 4, "repeated by x*n"},
        {"E(t*)*2L", 1, PPSCHED_ERROR_SYNTAX, PPSCHED_NONE, 3, "repeated by x*n"},
        {"Et|\xEF\xBD\x94L", 1, PPSCHED_ERROR_SYNTAX, PPSCHED_NONE, 3, "\"\xEF\xBD\x94\""},
        {"Et|tm|mL", 3, PPSCHED_ERROR_REFUSED, 2, 6, "in stage 1 and another"},
        {"t|L", 2, PPSCHED_ERROR_REFUSED, 0, 0, "the first layer is a decoder (t)"},
        {"E(t|)*2t", 3, PPSCHED_ERROR_REFUSED, 2, 7, "the last layer is a decoder (t)"},
        {"EtL|tL", 2, PPSCHED_ERROR_REFUSED, 1, 5, "a head (L) too many"},
        {"E|tm|L|", 2, PPSCHED_ERROR_REFUSED, 1, 3, "last chunk of its device, which is stage 2"},
        {"Et|t|tL", 2, PPSCHED_ERROR_REFUSED, PPSCHED_NONE, PPSCHED_NONE, "3 stages for 2 devices"},
        {"|", 2, PPSCHED_ERROR_REFUSED, PPSCHED_NONE, PPSCHED_NONE, "no layer"},
        {"E|*70000L", 1, PPSCHED_ERROR_RANGE, PPSCHED_NONE, 1, "more than 65535 stages"},
        {"Et|t*1000000L", 1, PPSCHED_ERROR_RANGE, 1, 3, "more than 1000000 layers"},
        {"Et|(t)*2000000L", 1, PPSCHED_ERROR_RANGE, PPSCHED_NONE, 3, "more than 2000000 characters"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ppsched_layout *layout = NULL;
        ppsched_error error;
        assert_int_equal(read_text(&layout, cases[i].text, cases[i].devices, &error), cases[i].status);
        assert_null(layout);
        if (error.stage != cases[i].stage || error.position != cases[i].position ||
            strstr(error.message, cases[i].part) == NULL)
            fail_msg("%s: stage %u, position %u: %s", cases[i].text, error.stage, error.position, error.message);
    }
}

/* What stands behind a text is not of it, even where it is the rest of a character. */
static void test_text_that_ends_in_a_character(void **state)
{
    ppsched_layout *layout = NULL;
    ppsched_error error;
    (void)state;
    assert_int_equal(ppsched_layout_create_from_text(&layout, "Et|\xEF\xBD\x94", 4, 2, NULL, NULL, &error),
                     PPSCHED_ERROR_SYNTAX);
    assert_null(layout);
    assert_non_null(strstr(error.message, "the layout has \"?\" at position 3; "));
}

/* Also where a chunk would have one layer. */
static void test_flags_that_say_the_same(void **state)
{
    (void)state;
    for (int64_t layers = 1; layers <= 2; layers++) {
        const ppsched_megatron_split flags = {.size = sizeof flags, .layers_per_chunk = layers, .chunks = 2};
        ppsched_layout *layout = NULL;
        ppsched_error error;
        assert_int_equal(ppsched_layout_create_from_megatron(&layout, 4 * layers, 2, &flags, NULL, &error),
                         PPSCHED_ERROR_REFUSED);
        assert_non_null(strstr(error.message, "layers_per_chunk and chunks are both given"));
    }
}

static void expect_rules(const char *text, ppsched_layout_rules rules, ppsched_status wanted, const char *part)
{
    ppsched_layout *layout = NULL;
    ppsched_error error = {.message = ""};
    rules.size = sizeof rules;
    assert_int_equal(ppsched_layout_create_from_text(&layout, text, strlen(text), 2, &rules, NULL, &error), wanted);
    assert_true(wanted == PPSCHED_OK || strstr(error.message, part) != NULL);
    ppsched_layout_destroy(layout);
}

static void test_rules(void **state)
{
    (void)state;
    expect_rules("Et|t|t|tmL", (ppsched_layout_rules){.chunks = 2, .decoders = 4, .mtps = 1}, PPSCHED_OK, "");
    expect_rules("Et|t|t|tmL", (ppsched_layout_rules){.chunks = 1}, PPSCHED_ERROR_REFUSED, "4 stages, 2 per device, not 1");
    expect_rules("Et|t|t|tmL", (ppsched_layout_rules){.decoders = 5}, PPSCHED_ERROR_REFUSED,
                 "number of decoders (t) in the layout is 4, that of the model 5");
    expect_rules("Et|t|t|tmL", (ppsched_layout_rules){.no_decoders = 1}, PPSCHED_ERROR_REFUSED, "take out 4");
    expect_rules("Et|t|t|tmL", (ppsched_layout_rules){.no_mtps = 1}, PPSCHED_ERROR_REFUSED, "take out 1");
    expect_rules("Et|t|t|tmL", (ppsched_layout_rules){.mtps = 2}, PPSCHED_ERROR_REFUSED, "add 1");
    expect_rules("E|L", (ppsched_layout_rules){.no_mtps = 1, .no_decoders = 1}, PPSCHED_OK, "");
    expect_rules("Et|t|t|tL", (ppsched_layout_rules){.launcher = 1}, PPSCHED_OK, "");
    expect_rules("Et|t|t|tL", (ppsched_layout_rules){.launcher = 1, .no_overlap = 1}, PPSCHED_ERROR_REFUSED,
                 "more than 2 devices");
    expect_rules("Et|tL", (ppsched_layout_rules){.launcher = 1, .no_overlap = 1}, PPSCHED_OK, "");
    expect_rules("EL|", (ppsched_layout_rules){.launcher = 2}, PPSCHED_ERROR_RANGE, "launcher is 2");
    expect_rules("EL|", (ppsched_layout_rules){.no_overlap = 2}, PPSCHED_ERROR_RANGE, "no_overlap is 2");
    expect_rules("EL|", (ppsched_layout_rules){.no_mtps = 2}, PPSCHED_ERROR_RANGE, "mtps is 2");
    expect_rules("EL|", (ppsched_layout_rules){.no_mtps = 1, .mtps = 1}, PPSCHED_ERROR_ARGUMENT, "give one of them");
    expect_rules("EL|", (ppsched_layout_rules){.reserved = 1}, PPSCHED_ERROR_ARGUMENT, "reserved");
    expect_rules("EL|", (ppsched_layout_rules){.chunks = -1}, PPSCHED_ERROR_RANGE, "chunks is -1");
    expect_rules("EL|", (ppsched_layout_rules){.decoders = -1}, PPSCHED_ERROR_RANGE, "decoders is -1");
    expect_rules("EL|", (ppsched_layout_rules){.mtps = 1000001}, PPSCHED_ERROR_RANGE, "mtps is 1000001");
}

static void test_arguments(void **state)
{
    static const ppsched_layout_stage stage = {1, 1, 0, 1};
    static const ppsched_megatron_split flags = {.size = sizeof flags, .account_for_loss = 2};
    ppsched_layout *layout = NULL;
    uint32_t stages = 7;
    (void)state;
    assert_int_equal(read_text(NULL, "EL", 1, NULL), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_layout_create_from_text(&layout, NULL, 2, 1, NULL, NULL, NULL), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_layout_create_from_text(&layout, NULL, 0, 1, NULL, NULL, NULL), PPSCHED_ERROR_REFUSED);
    assert_int_equal(ppsched_layout_create(&layout, 1, NULL, 1, NULL, NULL), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_layout_create(&layout, 1, NULL, 0, NULL, NULL), PPSCHED_ERROR_LENGTH);
    assert_int_equal(ppsched_layout_create(&layout, 0, &stage, 1, NULL, NULL), PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_layout_create(&layout, 1, &stage, SIZE_MAX, NULL, NULL), PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_layout_create_from_megatron(&layout, 4, 1, &flags, NULL, NULL), PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_layout_create_from_megatron(&layout, INT64_MAX, 1, NULL, NULL, NULL), PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_layout_create_from_torchtitan(&layout, 4, 1, 1, INT64_MIN, 1, NULL, NULL), PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_layout_find_torchtitan_stages(&stages, 4, 1, 0, 1, 1, 2, NULL), PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_layout_find_torchtitan_stages(NULL, 4, 1, 0, 1, 1, 0, NULL), PPSCHED_ERROR_ARGUMENT);
    assert_true(layout == NULL && stages == 7);
    ppsched_layout_destroy(NULL);
    size_t count = 7;
    assert_null(ppsched_layout_stages(NULL, &count));
    assert_int_equal(count, 0);
    assert_null(ppsched_layout_offsets(NULL, NULL));
    assert_int_equal(ppsched_layout_devices(NULL) + ppsched_layout_chunks(NULL), 0);
}

static void test_modules(void **state)
{
    ppsched_layout *layout = NULL;
    ppsched_error error;
    char text[64];
    (void)state;
    expect_ok(read_text(&layout, "Et|t*2|mL", 3, &error), &error);
    expect_ok(ppsched_layout_write_modules(text, sizeof text, NULL, layout, 1, 1, &error), &error);
    assert_string_equal(text, "layers.1 layers.2 rotary_emb");
    assert_int_equal(ppsched_layout_write_modules(text, sizeof text, NULL, layout, 1, 2, &error), PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_layout_write_modules(text, sizeof text, NULL, layout, 3, 0, &error), PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_layout_write_modules(text, sizeof text, NULL, layout, 2, 0, &error), PPSCHED_ERROR_REFUSED);
    assert_int_equal(error.stage, 2);
    ppsched_layout_destroy(layout);
}

/* --- random ones --- */

enum { MOST = 48 };

static uint32_t draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 16) % below;
}

/* Stages of some pattern, ends where they may be; returns how many. */
static uint32_t draw_stages(ppsched_layout_stage *stages, uint32_t *devices, uint32_t *seed)
{
    *devices = 1 + draw(seed, 8);
    uint32_t count = *devices * (1 + draw(seed, 6)), period = 1 + draw(seed, 4), pattern[4];
    uint32_t first = draw(seed, 3) == 0 ? draw(seed, count) : 0, last = draw(seed, 3) == 0 ? draw(seed, count) : count - 1;
    for (uint32_t i = 0; i < period; i++)
        pattern[i] = draw(seed, 5) * draw(seed, 4);
    last = last < first ? first : last;
    for (uint32_t s = 0; s < count; s++)
        stages[s] = (ppsched_layout_stage){.embeddings = s == first,
                                           .decoders = s < first || s > last ? 0
                                                       : draw(seed, 12) == 0 ? draw(seed, 20)
                                                                             : pattern[s % period],
                                           .mtps = s == last && s >= count - *devices ? draw(seed, 5) : 0,
                                           .heads = s == last};
    return count;
}

static void test_random_layouts_are_read_back(void **state)
{
    ppsched_layout_stage stages[MOST];
    uint32_t seed = 1, devices;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        ppsched_layout *layout = NULL, *again = NULL;
        ppsched_error error;
        char text[1024];
        size_t found = 0;
        uint32_t count = draw_stages(stages, &devices, &seed), offset = 0;
        expect_ok(ppsched_layout_create(&layout, devices, stages, count, NULL, &error), &error);
        expect_ok(ppsched_layout_write_text(text, sizeof text, NULL, layout, &error), &error);
        expect_ok(read_text(&again, text, devices, &error), &error);
        assert_memory_equal(ppsched_layout_stages(again, &found), stages, count * sizeof *stages);
        assert_int_equal(found, count);
        for (uint32_t s = 0; s < count; offset += stages[s++].decoders)
            assert_int_equal(ppsched_layout_offsets(again, NULL)[s], offset);
        expect_text(again, text);
        ppsched_layout_destroy(layout);
        ppsched_layout_destroy(again);
    }
}

/* The largest, and texts that take long where anything is done twice. */
static void test_large_ones(void **state)
{
    enum { SIZE = 2000000 };
    ppsched_layout *layout = NULL;
    ppsched_error error;
    char *text = malloc(SIZE);
    (void)state;
    assert_non_null(text);
    expect_ok(read_text(&layout, "E(t*15|)*65534L", 1, &error), &error);
    expect_text(layout, "E(t*15|)*65534L");
    ppsched_layout_destroy(layout);
    static const char *const ends[] = {"(", ")", "(t", "*", "1", ",", "(*"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        for (size_t k = 0; k < SIZE; k++)
            text[k] = ends[i][k % strlen(ends[i])];
        assert_int_not_equal(ppsched_layout_create_from_text(&layout, text, SIZE, 1, NULL, NULL, NULL), PPSCHED_OK);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_text_that_ends_in_a_character),
        cmocka_unit_test(test_flags_that_say_the_same),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_modules),
        cmocka_unit_test(test_random_layouts_are_read_back),
        cmocka_unit_test(test_large_ones),
    };
    return cmocka_run_group_tests_name("layer_layout", tests, NULL, NULL);
}
