/* SPDX-License-Identifier: Apache-2.0 */
/* The readers: what they take, what they refuse and where, and what they know of sizes and placement. */
#include "support/problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ppsched_schedule *import_text(int32_t format, const char *text)
{
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    expect_ok(ppsched_schedule_import(&schedule, format, text, strlen(text), NULL, &error), &error);
    return schedule;
}

static void expect_queue(const ppsched_schedule *schedule, uint32_t device, const char *wanted)
{
    char *text = queue_text(schedule, device);
    assert_string_equal(text, wanted);
    free(text);
}

/* A text that is refused: with a status, at a place, and with a part of the message. */
static void expect_refusal(int32_t format, const char *text, size_t size, ppsched_status status, uint32_t device,
                           uint32_t position, const char *part)
{
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    ppsched_status got = ppsched_schedule_import(&schedule, format, text, size, NULL, &error);
    if (got != status || error.device != device || error.position != position || strstr(error.message, part) == NULL)
        fail_msg("%.60s: %s at %u, %u: %s", text, ppsched_status_name(got), error.device, error.position, error.message);
    assert_null(schedule);
}

static void test_csv(void **state)
{
    static const char *const texts[] = {
        "0F0,0F1,0B0,0B1\n1F0,,(1F1;1B0)OVERLAP_F_B,1B1\n", "0F0,0F1,0B0,0B1\r\n1F0,,(1F1;1B0)OVERLAP_F_B,1B1\r\n",
        "0F0,0F1,0B0,0B1\n1F0,,(1F1;1B0)OVERLAP_F_B,1B1", ",, 0F0 ,0F1,\t0B0,0B1,,\n1F0,( 1F1 ;\t1B0 )OVERLAP_F_B,1B1,\r\n"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ppsched_schedule *schedule = import_text(PPSCHED_FORMAT_CSV, texts[i]);
        assert_int_equal(ppsched_schedule_devices(schedule), 2);
        assert_int_equal(ppsched_schedule_stages(schedule), 2);
        assert_int_equal(ppsched_schedule_microbatches(schedule), 2);
        assert_int_equal(ppsched_schedule_iterations(schedule), 1);
        assert_int_equal(ppsched_schedule_placement(schedule), PPSCHED_PLACEMENT_LINEAR);
        assert_string_equal(ppsched_schedule_name(schedule), "custom");
        expect_queue(schedule, 0, "0F0 0F1 0B0 0B1");
        expect_queue(schedule, 1, "1F0 (1F1;1B0)OVERLAP_F_B 1B1");
        ppsched_schedule_release(schedule);
    }
}

static void test_csv_with_communication(void **state)
{
    static const char row0[] = "0UNSHARD,0F0,0SEND_F0,0RECV_B0,0I0,0W0,0REDUCE_GRAD,0RESHARD";
    static const char row1[] = "1RECV_F0,1F0,1B0,1SEND_B0";
    char text[200] = "";
    (void)state;
    strcat(strcat(strcat(strcat(text, row0), "\n"), row1), "\n");
    ppsched_schedule *schedule = import_text(PPSCHED_FORMAT_CSV, text);
    size_t needed = 0;
    char written[200];
    assert_int_equal(ppsched_schedule_check(NULL, 0, NULL, schedule, NULL), PPSCHED_OK);
    assert_int_equal(
        ppsched_schedule_export_to_buffer(written, sizeof written, &needed, schedule, NULL, PPSCHED_FORMAT_CSV, NULL, NULL),
        PPSCHED_OK);
    assert_int_equal(needed, strlen(text) + 1);
    assert_string_equal(written, text);
    ppsched_schedule_release(schedule);
}

/* PyTorch 2.15 writes where sends and reductions are waited for; a schedule has no ops for sends. */
static void test_csv_with_waits(void **state)
{
    static const char text[] = "0F0,0SEND_F0,0RECV_B0,0B0, 0WAIT_SEND_F0 ,0REDUCE_GRAD,0WAIT_REDUCE_GRAD\r\n"
                               "1RECV_F0,1F0,1B0,1SEND_B0,12WAIT_SEND_B34\n";
    static const char *const refused[] = {
        "0WAIT_SEND_F",   "0WAIT_REDUCE_GRAD0", "99999WAIT_REDUCE_GRAD", "0OFFLOAD_WAIT0", "WAIT_SEND_F0",
        "0WAIT_SEND_B0x", "0WAIT_SEND_",        "0wait_send_f0",         "0WAIT_SEND_F 0", "(0WAIT_SEND_F0;0F0)OVERLAP_F_B"};
    (void)state;
    ppsched_schedule *schedule = import_text(PPSCHED_FORMAT_CSV, text);
    expect_queue(schedule, 0, "0F0 0SEND_F0 0RECV_B0 0B0 0REDUCE_GRAD 0WAIT_REDUCE_GRAD");
    expect_queue(schedule, 1, "1RECV_F0 1F0 1B0 1SEND_B0");
    assert_int_equal(ppsched_schedule_microbatches(schedule), 1);
    ppsched_schedule_release(schedule);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        char wrong[64];
        snprintf(wrong, sizeof wrong, "0F0,%s,0B0\n", refused[i]);
        expect_refusal(PPSCHED_FORMAT_CSV, wrong, strlen(wrong), PPSCHED_ERROR_SYNTAX, 0, 1, "column 1: cannot read");
    }
    static const char idle[] = "0F0,,0WAIT_SEND_F0,0B0\n", alone[] = "0F0,0B0\n0WAIT_SEND_F0\n";
    expect_refusal(PPSCHED_FORMAT_CSV, idle, strlen(idle), PPSCHED_ERROR_SYNTAX, 0, 1, "column 1 is empty");
    expect_refusal(PPSCHED_FORMAT_CSV, alone, strlen(alone), PPSCHED_ERROR_SYNTAX, 1, PPSCHED_NONE, "the row has no op");
}

static void test_placements_of_rows(void **state)
{
    static const struct {
        int32_t placement;
        const char *text;
        uint32_t device_of_last;
    } cases[] = {
        {PPSCHED_PLACEMENT_LINEAR, "0F0\n1F0\n2F0\n", 2}, {PPSCHED_PLACEMENT_LOOP, "0F0,2F0\n1F0,3F0\n", 1},
        {PPSCHED_PLACEMENT_V, "0F0,3F0\n1F0,2F0\n", 0},   {PPSCHED_PLACEMENT_MAP, "0F0,2F0\n1F0\n", 0},
        {PPSCHED_PLACEMENT_MAP, "1F0\n0F0\n", 0},         {PPSCHED_PLACEMENT_MAP, "0F0,1F0\n2F0,3F0\n", 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ppsched_schedule *schedule = import_text(PPSCHED_FORMAT_CSV, cases[i].text);
        uint32_t last = ppsched_schedule_stages(schedule) - 1;
        assert_int_equal(ppsched_schedule_placement(schedule), cases[i].placement);
        assert_int_equal(ppsched_schedule_device_of(schedule, last, 0), cases[i].device_of_last);
        ppsched_schedule_release(schedule);
    }
}

static void test_both_paths(void **state)
{
    static const char twice[] = "0F0,1F1,0F2,1F3\n1F0,0F1,1F2,0F3\n", uneven[] = "0F0,0F1,1F2\n1F0,1F1,0F2\n";
    (void)state;
    ppsched_schedule *schedule = import_text(PPSCHED_FORMAT_CSV, twice);
    assert_int_equal(ppsched_schedule_placement(schedule), PPSCHED_PLACEMENT_BIDIRECTIONAL);
    assert_int_equal(ppsched_schedule_microbatches(schedule), 2);
    assert_int_equal(ppsched_schedule_iterations(schedule), 2);
    assert_int_equal(ppsched_schedule_device_of(schedule, 0, 3), 1);
    ppsched_schedule_release(schedule);
    schedule = import_text(PPSCHED_FORMAT_CSV, uneven);
    assert_int_equal(ppsched_schedule_microbatches(schedule), 3);
    ppsched_schedule_release(schedule);
}

#define EXPECT_CSV(text, status, device, position, part)                                                                       \
    expect_refusal(PPSCHED_FORMAT_CSV, text, sizeof text - 1, PPSCHED_ERROR_##status, device, position, part)

static void test_csv_tokens_that_are_refused(void **state)
{
    (void)state;
    EXPECT_CSV("0F0\n1F0,0BW0", SYNTAX, 1, 1, "rank 1, column 1: cannot read \"0BW0\": BW is the full backward");
    EXPECT_CSV("0f0", SYNTAX, 0, 0, "\"0f0\": a kind in capital letters");
    EXPECT_CSV("0F", SYNTAX, 0, 0, "\"0F\": its microbatch is missing");
    EXPECT_CSV("(0F;0B0)OVERLAP_F_B", SYNTAX, 0, 0, "its microbatch is missing");
    EXPECT_CSV("0UNSHARD5", SYNTAX, 0, 0, "its kind has no microbatch");
    EXPECT_CSV("00F1", SYNTAX, 0, 0, "leading zeros");
    EXPECT_CSV("0F01", SYNTAX, 0, 0, "leading zeros");
    EXPECT_CSV("0F0,,0F0xyz\n", SYNTAX, 0, 2, "rank 0, column 2: cannot read \"0F0xyz\": there is text after the op");
    EXPECT_CSV("0F0 0B0", SYNTAX, 0, 0, "there is text after");
    EXPECT_CSV("F0", SYNTAX, 0, 0, "begins with the number of its stage");
    EXPECT_CSV("-1F0", SYNTAX, 0, 0, "begins with the number of its stage");
    EXPECT_CSV("0X0", SYNTAX, 0, 0, "its kind is not one of this format, such as F, B, I and W");
    EXPECT_CSV("0RECOMPUTE0", SYNTAX, 0, 0, "its kind is not one of this format, such as F, B, I and W");
    EXPECT_CSV("65535F0", SYNTAX, 0, 0, "stage must be at most 65534");
    EXPECT_CSV("0F99999999999999999999999999", SYNTAX, 0, 0, "microbatch must be at most 1073741823");
    EXPECT_CSV("0", SYNTAX, 0, 0, "capital letters");
    EXPECT_CSV("\"0F0\"", SYNTAX, 0, 0, "cannot read");
    EXPECT_CSV("0F0,\0,0B0", SYNTAX, 0, 1, "cannot read \"?\"");
    EXPECT_CSV("0F0,\xE2\x80\xAE"
               "0B0",
               SYNTAX, 0, 1, "cannot read \"???0B0\"");
    EXPECT_CSV("0F0\r,0B0", SYNTAX, 0, 0, "\"0F0?\"");
    EXPECT_CSV("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", SYNTAX, 0, 0, "xxxxxxxx...\": ");
}

static void test_csv_pairs_that_are_refused(void **state)
{
    static const char *const texts[] = {"()OVERLAP_F_B",
                                        "(0F0)F",
                                        "(0F0)OVERLAP_F_B",
                                        "(0F0;0B0",
                                        "(0F0;0B0)",
                                        "(0F0;0B0)OVERLAP",
                                        "(0F0;0B0;0W0)OVERLAP_F_B",
                                        "((0F0;0B0)OVERLAP_F_B",
                                        "0F0;0B0",
                                        "(",
                                        "(0F0;0B0)OVERLAP_F_B)"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        expect_refusal(PPSCHED_FORMAT_CSV, texts[i], strlen(texts[i]), PPSCHED_ERROR_SYNTAX, 0, 0, "rank 0, column 0: cannot");
    EXPECT_CSV("(0B0;0F0)OVERLAP_F_B", SYNTAX, 0, 0, "an F and then a B or an I");
    EXPECT_CSV("(0F0;0W0)OVERLAP_F_B", SYNTAX, 0, 0, "an F and then a B or an I");
    EXPECT_CSV("(0B0;0B1)OVERLAP_F_B", SYNTAX, 0, 0, "an F and then a B or an I");
}

static void test_csv_rows_that_are_refused(void **state)
{
    (void)state;
    EXPECT_CSV("", SYNTAX, PPSCHED_NONE, PPSCHED_NONE, "the text is empty");
    EXPECT_CSV("\n", SYNTAX, 0, PPSCHED_NONE, "rank 0: the row has no op");
    EXPECT_CSV("0F0\n,,\n2F0\n", SYNTAX, 1, PPSCHED_NONE, "rank 1: the row has no op");
    EXPECT_CSV("0F0\n\n", SYNTAX, 1, PPSCHED_NONE, "rank 1: the row has no op");
    EXPECT_CSV("0F0,0SEND_F0\n1F0,,1B0", SYNTAX, 1, 1,
               "rank 1, column 1 is empty, but the text has communication ops (rank 0, column 1)");
    EXPECT_CSV("0F0,0B0\n0F1,0B1\n", INVALID_SCHEDULE, 1, 0, "device 1, op 0 (0F1): stage 0 is on another device too");
    EXPECT_CSV("0F0,0F1\n1F0,1F1,0B0,0B1\n", INVALID_SCHEDULE, 1, 2, "device 1, op 2 (0B0)");
    EXPECT_CSV("0F0,1F1,0F2\n1F0,0F1,0F2\n", INVALID_SCHEDULE, 1, 2, "(0F2): stage 0 is on another device too");
    EXPECT_CSV("0F0,1B1,0F1\n1F0,1F1,1B0\n", INVALID_SCHEDULE, 0, 2, "device 0, op 2 (0F1)");
    EXPECT_CSV("0F0,2F0\n1F0,2F1\n", INVALID_SCHEDULE, 1, 1, "device 1, op 1 (2F1): stage 2 is on another device too");
    EXPECT_CSV("0F0,2F0\n", INVALID_SCHEDULE, PPSCHED_NONE, PPSCHED_NONE, "stage 1 has no F, B, I or W on any device");
    EXPECT_CSV("0UNSHARD", RANGE, PPSCHED_NONE, PPSCHED_NONE, "no op of the text has a microbatch");
    EXPECT_CSV("65534F1073741823", RANGE, PPSCHED_NONE, PPSCHED_NONE, "above the largest supported");
    EXPECT_CSV("0F0,0F1073741823", RANGE, PPSCHED_NONE, PPSCHED_NONE, "need 2147483648 ops or more, but the text has 2");
    EXPECT_CSV("65534F0", RANGE, PPSCHED_NONE, PPSCHED_NONE, "need 131070 ops or more");
}

static void test_incomplete_schedules_are_read(void **state)
{
    ppsched_error error;
    size_t count = 0;
    (void)state;
    ppsched_schedule *schedule = import_text(PPSCHED_FORMAT_CSV, "0F0,0B0,0F3\n1F0\n");
    assert_int_equal(ppsched_schedule_microbatches(schedule), 4);
    assert_int_equal(ppsched_schedule_check(NULL, 0, &count, schedule, &error), PPSCHED_ERROR_INVALID_SCHEDULE);
    assert_in_range(count, 4, 20);
    ppsched_schedule_release(schedule);
}

#define HEAD "{\"strategy\": \"a\", \"devices\": 2, \"stages\": 2, \"microbatches\": 1, \"iterations\": 1"
#define QUEUES                                                                                                                 \
    ", \"queues\": [{\"device\": 0, \"ops\": [\"0F0\", \"0B0\"]}, {\"device\": 1, \"ops\": [\"(1F0;1B0)OVERLAP_F_B\"]}]"

static void test_json(void **state)
{
    static const char *const texts[] = {
        HEAD QUEUES "}",
        " " HEAD QUEUES ", \"metrics\": {\"a\": [1, {}, [], {\"b\": [[-0.5e+3, \"\\u00e4\\ud83d\\ude00\"]]}]}}\r\n",
        HEAD ", \"weight_versions\": 1, \"flushes\": true, \"placement\": \"linear\", \"x\": [null, false, 1e308]" QUEUES "}"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ppsched_schedule *schedule = import_text(PPSCHED_FORMAT_JSON, texts[i]);
        assert_string_equal(ppsched_schedule_name(schedule), "a");
        assert_int_equal(ppsched_schedule_placement(schedule), PPSCHED_PLACEMENT_LINEAR);
        expect_queue(schedule, 0, "0F0 0B0");
        expect_queue(schedule, 1, "(1F0;1B0)OVERLAP_F_B");
        ppsched_schedule_release(schedule);
    }
}

/* Without a placement the rows show it; where they are those of DualPipe, the text's sizes say where iterations end. */
static void test_cut_short_bidirectional(void **state)
{
#define ROWS(first, second) "\"queues\": [{\"device\": 0, \"ops\": [" first "]}, {\"device\": 1, \"ops\": [" second "]}]}"
    static const char head[] = "{\"strategy\": \"a\", \"devices\": 2, \"stages\": 2, ";
    static const char rows[] = ROWS("\"0F0\", \"0B0\", \"0F2\", \"1F3\", \"1B3\", \"0B2\"",
                                    "\"1F0\", \"1B0\", \"1F2\", \"0F3\", \"1B2\", \"0B3\"");
    char text[600];
    ppsched_error error;
    size_t count = 0;
    (void)state;
    sprintf(text, "%s\"microbatches\": 2, \"iterations\": 2, %s", head, rows);
    ppsched_schedule *schedule = import_text(PPSCHED_FORMAT_JSON, text);
    assert_int_equal(ppsched_schedule_placement(schedule), PPSCHED_PLACEMENT_BIDIRECTIONAL);
    assert_int_equal(ppsched_schedule_check(NULL, 0, &count, schedule, &error), PPSCHED_ERROR_INVALID_SCHEDULE);
    assert_int_equal(count, 4); /* F and B of microbatch 1 on both devices */
    ppsched_schedule_release(schedule);
    sprintf(text, "%s\"microbatches\": 4, \"iterations\": 1, %s", head, rows);
    expect_refusal(PPSCHED_FORMAT_JSON, text, strlen(text), PPSCHED_ERROR_INVALID_SCHEDULE, 1, 0,
                   "(1F0): stage 1 is on another device too");
}

/* The first op too is of a stage that its device has in one of the two directions. */
static void test_first_op_of_two_directions(void **state)
{
#define BEHIND_FIRST "0F0,3F1,3B1,0B0\n1F0,2F1,2B1,1B0\n2F0,1F1,1B1,2B0\n3F0,0F1,0B1,3B0\n"
    ppsched_schedule *schedule = import_text(PPSCHED_FORMAT_CSV, BEHIND_FIRST);
    (void)state;
    assert_int_equal(ppsched_schedule_placement(schedule), PPSCHED_PLACEMENT_BIDIRECTIONAL);
    ppsched_schedule_release(schedule);
    expect_refusal(PPSCHED_FORMAT_CSV, "1F0," BEHIND_FIRST, sizeof "1F0," BEHIND_FIRST - 1, PPSCHED_ERROR_INVALID_SCHEDULE, 0,
                   0, "(1F0): stage 1 is on another device too");
}

/* Of an odd number of devices the one in the middle has the same stage in both directions, which tells of neither. */
static void test_middle_of_two_directions(void **state)
{
    static const char text[] =
        "{\"strategy\": \"a\", \"devices\": 3, \"stages\": 3, \"microbatches\": 2, \"iterations\": 1, \"queues\": ["
        "{\"device\": 0, \"ops\": [\"0F0\", \"2F1\", \"2B1\", \"0B0\"]}, {\"device\": 1, \"ops\": [\"1F0\", \"1F1\", \"1B1\", "
        "\"1B0\"]}, {\"device\": 2, \"ops\": [\"0F1\", \"2F0\", \"2B0\", \"0B1\"]}]}";
    ppsched_error error;
    (void)state;
    ppsched_schedule *schedule = import_text(PPSCHED_FORMAT_JSON, text);
    assert_int_equal(ppsched_schedule_placement(schedule), PPSCHED_PLACEMENT_BIDIRECTIONAL);
    expect_ok(ppsched_schedule_check(NULL, 0, NULL, schedule, &error), &error);
    ppsched_schedule_release(schedule);
}

/* Excel and some editors put a byte order mark before the text. */
static void test_byte_order_marks(void **state)
{
    static const char *const wide[] = {"\xFF\xFE\x30\0\x46\0\x30\0", "\xFE\xFF\0\x30\0\x46\0\x30"};
    ppsched_schedule *schedule = import_text(PPSCHED_FORMAT_CSV, "\xEF\xBB\xBF\x30"
                                                                 "F0,0B0\r\n");
    (void)state;
    expect_queue(schedule, 0, "0F0 0B0");
    ppsched_schedule_release(schedule);
    schedule = import_text(PPSCHED_FORMAT_JSON, "\xEF\xBB\xBF" HEAD QUEUES "}");
    assert_int_equal(ppsched_schedule_stages(schedule), 2);
    ppsched_schedule_release(schedule);
    for (size_t i = 0; i < 2; i++) {
        expect_refusal(PPSCHED_FORMAT_CSV, wide[i], 8, PPSCHED_ERROR_SYNTAX, PPSCHED_NONE, PPSCHED_NONE, "save it as UTF-8");
        expect_refusal(PPSCHED_FORMAT_JSON, wide[i], 8, PPSCHED_ERROR_SYNTAX, PPSCHED_NONE, PPSCHED_NONE, "save it as UTF-8");
    }
}

static void test_json_escapes(void **state)
{
    static const char token[] = "(65534F1073741823;65534I1073741823)OVERLAP_F_B";
    char text[600] = "{\"strategy\": \"a\", \"devices\": 1, \"queues\": [{\"device\": 0, \"ops\": [\"";
    ppsched_schedule *none = NULL;
    ppsched_error error;
    for (size_t i = 0, at = strlen(text); i < sizeof token - 1; i++)
        at += (size_t)sprintf(text + at, "\\u%04x", (unsigned)token[i]);
    strcat(text, "\"]}]}");
    (void)state;
    assert_int_equal(ppsched_schedule_import(&none, PPSCHED_FORMAT_JSON, text, strlen(text), NULL, &error),
                     PPSCHED_ERROR_SYNTAX);
    assert_non_null(strstr(error.message, "has no key \"stages\"")); /* the token was read */
    ppsched_schedule *schedule = import_text(PPSCHED_FORMAT_JSON,
                                             "{\"\\u0073trategy\": \"\\\"\\\\\\/\\b\\n\\u00e4\\u20ac\\ud83d\\ude00\", "
                                             "\"devices\": 1, \"stages\": 1, \"microbatches\": 1, \"iterations\": 1, "
                                             "\"queues\": [{\"device\": 0, \"ops\": [\"(\\u0030F0\\u003b0B0)OVERLAP_F_B\"]}]}");
    assert_string_equal(ppsched_schedule_name(schedule), "\"\\/\b\n\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
    expect_queue(schedule, 0, "(0F0;0B0)OVERLAP_F_B");
    ppsched_schedule_release(schedule);
}

#define EXPECT_JSON_AT(text, status, device, position, part)                                                                   \
    expect_refusal(PPSCHED_FORMAT_JSON, text, sizeof text - 1, PPSCHED_ERROR_##status, device, position, part)
#define EXPECT_JSON(text, status, part) EXPECT_JSON_AT(text, status, PPSCHED_NONE, PPSCHED_NONE, part)

static void test_json_that_is_refused(void **state)
{
    (void)state;
    EXPECT_JSON("", SYNTAX, "line 1, column 1: the text ends; expected an object");
    EXPECT_JSON("[]", SYNTAX, "line 1, column 1: expected an object");
    EXPECT_JSON(HEAD, SYNTAX, "the text ends; expected ',' or '}'");
    EXPECT_JSON(HEAD "}", SYNTAX, "has no key \"queues\"");
    EXPECT_JSON(HEAD QUEUES "} x", SYNTAX, "there is text after the object");
    EXPECT_JSON(HEAD QUEUES ",\n}", SYNTAX, "line 2, column 1: expected a key in quotes");
    EXPECT_JSON(HEAD ", \"stages\": 2" QUEUES "}", SYNTAX, "the key is repeated");
    EXPECT_JSON(HEAD QUEUES ", \"flushes\": 1}", SYNTAX, "expected true or false");
    EXPECT_JSON(HEAD QUEUES ", \"weight_versions\": 0}", RANGE, "it must be 1 to 1024");
    EXPECT_JSON(HEAD QUEUES ", \"metrics\": []}", SYNTAX, "expected an object");
    EXPECT_JSON(HEAD QUEUES ", \"placement\": \"w\"}", SYNTAX, "a placement is linear");
    EXPECT_JSON(HEAD QUEUES ", \"placement\": \"map\"}", SYNTAX, "need each other");
    EXPECT_JSON(HEAD QUEUES ", \"placement\": \"map\", \"stage_devices\": [0]}", SYNTAX, "has 1 value for 2 stages");
    EXPECT_JSON(HEAD QUEUES ", \"x\": 1e999}", SYNTAX, "too large for a double");
    EXPECT_JSON(HEAD QUEUES ", \"x\": 0.0000001e999}", SYNTAX, "too large for a double");
    EXPECT_JSON(HEAD QUEUES ", \"x\": 01}", SYNTAX, "expected a JSON value");
    EXPECT_JSON(HEAD QUEUES ", \"x\": NaN}", SYNTAX, "expected a JSON value");
    EXPECT_JSON(HEAD QUEUES ", \"x\": \"\\ud83d\"}", SYNTAX, "half of a surrogate pair");
    EXPECT_JSON(HEAD QUEUES ", \"x\": \"\\udc00\\udc00\"}", SYNTAX, "half of a surrogate pair");
    EXPECT_JSON(HEAD QUEUES ", \"x\": \"\\x\"}", SYNTAX, "the escape is not valid in JSON");
    EXPECT_JSON(HEAD QUEUES ", \"x\": \"\n\"}", SYNTAX, "control characters");
    EXPECT_JSON(HEAD QUEUES ", \"x\": \"\xFF\"}", SYNTAX, "the byte is not UTF-8");
    EXPECT_JSON("{\"strategy\": \"a\\u0000b\"}", SYNTAX, "must not hold a NUL");
    EXPECT_JSON("{\"devices\": 1.0}", SYNTAX, "expected an integer");
    EXPECT_JSON("{\"devices\": 1e999}", SYNTAX, "expected an integer");
    EXPECT_JSON("{\"devices\": \"1\"}", SYNTAX, "expected an integer");
    EXPECT_JSON("{\"strategy\": \"a\\n", SYNTAX, "a string must end with a quote");
    EXPECT_JSON("{\"devices\": 99999999999999999999}", SYNTAX, "the integer is too large");
    EXPECT_JSON("{\"devices\": 9223372036854775800}", SYNTAX, "the integer is too large");
    EXPECT_JSON("{\"devices\": 9223372036854775799}", RANGE, "9223372036854775799");
    EXPECT_JSON("{\"devices\": -1}", RANGE, "the number is -1; it must be 1 to 65535");
    EXPECT_JSON("{\"queues\": [{\"device\": 1, \"ops\": []}]}", SYNTAX, "queue 0 is of device 1");
    EXPECT_JSON("{\"queues\": [{\"device\": 0}]}", SYNTAX, "has no key \"ops\"");
    EXPECT_JSON("{\"queues\": [{\"device\": 0, \"ops\": [0]}]}", SYNTAX, "expected a string");
    EXPECT_JSON_AT("{\"queues\": [{\"device\": 0, \"ops\": [\"0F0\", \"0BW0\"]}]}", SYNTAX, 0, 1,
                   "device 0, entry 1 of ops: cannot read \"0BW0\": BW is");
    EXPECT_JSON_AT("{\"queues\": [{\"device\": 0, \"ops\": [\"0F0\"], \"end\": []}]}", SYNTAX, 0, PPSCHED_NONE,
                   "device 0 has 1 entries in ops, but 0 times");
}

/* Where the text does not say that there are slices no op names one, neither of a pair. */
static void test_json_whose_slices_are_not_told(void **state)
{
    (void)state;
    EXPECT_JSON_AT(HEAD ", \"queues\": [{\"device\": 0, \"ops\": [\"0F0\", \"0B0\"]}, "
                        "{\"device\": 1, \"ops\": [\"(1F0.0;1B0)OVERLAP_F_B\"]}]}",
                   RANGE, 1, 0, "device 1, op 0: 1F0.0 has a slice, but the text has no \"slices\"");
    EXPECT_JSON_AT(HEAD ", \"queues\": [{\"device\": 0, \"ops\": [\"0F0\", \"0B0\"]}, "
                        "{\"device\": 1, \"ops\": [\"(1F0;1B0.0)OVERLAP_F_B\"]}]}",
                   RANGE, 1, 1, "device 1, op 1: 1B0.0 has a slice, but the text has no \"slices\"");
    EXPECT_JSON_AT(
        "{\"strategy\": \"a\", \"devices\": 2, \"stages\": 2, \"microbatches\": 1, \"iterations\": 1, \"slices\": 2, "
        "\"queues\": [{\"device\": 0, \"ops\": [\"0F0.0\", \"0F0.1\", \"0B0.1\", \"0B0.0\"]}, "
        "{\"device\": 1, \"ops\": [\"1F0.0\", \"1F0.1\", \"1B0.1\", \"1B0.2\"]}]}",
        RANGE, 1, 3, "device 1, op 3: 1B0.2 needs the number of one of the text's 2 slices, 0 to 1");
}

/* What stands behind a text is not of it, even where it is the rest of an escape. */
static void test_json_that_ends_in_an_escape(void **state)
{
    static const char head[] = "{\"strategy\": \"", *const escapes[] = {"\\n", "\\u00e4", "\\ud83d\\ude00"};
    char text[40];
    (void)state;
    for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++) {
        sprintf(text, "%s%s\"}", head, escapes[i]);
        for (size_t left = 1; left < strlen(escapes[i]); left++)
            expect_refusal(PPSCHED_FORMAT_JSON, text, strlen(head) + left, PPSCHED_ERROR_SYNTAX, PPSCHED_NONE, PPSCHED_NONE,
                           "the escape is not valid in JSON");
    }
}

static void test_deep_nesting(void **state)
{
    enum { DEPTH = 1000000 };
    char *text = malloc(DEPTH + 10);
    (void)state;
    assert_non_null(text);
    memcpy(text, "{\"x\": ", 6);
    memset(text + 6, '[', DEPTH);
    expect_refusal(PPSCHED_FORMAT_JSON, text, DEPTH, PPSCHED_ERROR_SYNTAX, PPSCHED_NONE, PPSCHED_NONE, "nested too deeply");
    free(text);
}

/* What is passed over may be nested 64 deep, as docs/formats.md has it. */
static void test_deepest_nesting(void **state)
{
    char text[400];
    (void)state;
    for (int depth = 64; depth <= 65; depth++) {
        ppsched_schedule *schedule = NULL;
        ppsched_error error;
        size_t length = strlen(strcpy(text, "{\"x\": "));
        memset(text + length, '[', (size_t)depth);
        memset(text + length + depth, ']', (size_t)depth);
        strcpy(text + length + 2 * depth, ", \"strategy\": \"a\", \"devices\": 1, \"stages\": 1, \"microbatches\": 1, "
                                          "\"iterations\": 1, \"queues\": [{\"device\": 0, \"ops\": [\"0F0\", \"0B0\"]}]}");
        assert_int_equal(ppsched_schedule_import(&schedule, PPSCHED_FORMAT_JSON, text, strlen(text), NULL, &error),
                         depth == 64 ? PPSCHED_OK : PPSCHED_ERROR_SYNTAX);
        ppsched_schedule_release(schedule);
    }
}

/* Of ops that are less than a sixteenth of the stage passes 4096 passes are let through, and then one for each sixteen. */
static void test_fewest_ops(void **state)
{
    static const struct {
        int microbatches, ops;
        ppsched_status status;
    } cases[] = {{4096, 1, PPSCHED_OK},
                 {4096 + 31, 1, PPSCHED_OK},
                 {4096 + 32, 1, PPSCHED_ERROR_RANGE},
                 {4096 + 47, 2, PPSCHED_OK},
                 {4096 + 48, 2, PPSCHED_ERROR_RANGE}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ppsched_schedule *schedule = NULL;
        char text[300];
        snprintf(text, sizeof text,
                 "{\"strategy\": \"a\", \"devices\": 1, \"stages\": 1, \"microbatches\": %d, \"iterations\": 1, "
                 "\"queues\": [{\"device\": 0, \"ops\": [\"0F0\"%s]}]}",
                 cases[i].microbatches, cases[i].ops > 1 ? ", \"0B0\"" : "");
        assert_int_equal(ppsched_schedule_import(&schedule, PPSCHED_FORMAT_JSON, text, strlen(text), NULL, NULL),
                         cases[i].status);
        ppsched_schedule_release(schedule);
    }
}

static void test_sizes_of_json(void **state)
{
    static const char large[] = "{\"strategy\": \"a\", \"devices\": 1, \"stages\": 1, \"microbatches\": 1000000000, "
                                "\"iterations\": 1, \"queues\": [{\"device\": 0, \"ops\": [\"0F0\"]}]}";
    static const char beyond[] = "{\"strategy\": \"a\", \"devices\": 1, \"stages\": 1, \"microbatches\": 2, \"iterations\": 2, "
                                 "\"queues\": [{\"device\": 0, \"ops\": [\"0F3\", \"0F4\"]}]}";
    static const char second[] =
        "{\"strategy\": \"a\", \"devices\": 2, \"stages\": 2, \"microbatches\": 2, \"iterations\": 1, "
        "\"queues\": [{\"device\": 0, \"ops\": [\"0F0\", \"0F1\"]}, {\"device\": 1, \"ops\": [\"1F7\"]}]}";
    (void)state;
    expect_refusal(PPSCHED_FORMAT_JSON, second, sizeof second - 1, PPSCHED_ERROR_RANGE, 1, 0,
                   "device 1, op 0: 1F7 is out of range; the text has 2 stages and 2 microbatches");
    EXPECT_JSON(large, RANGE, "need 2000000000 ops or more, but the text has 1");
    expect_refusal(PPSCHED_FORMAT_JSON, beyond, sizeof beyond - 1, PPSCHED_ERROR_RANGE, 0, 1,
                   "device 0, op 1: 0F4 is out of range; the text has 1 stage and 4 microbatches");
    EXPECT_JSON("{\"strategy\": \"a\", \"placement\": \"v\", \"devices\": 2, \"stages\": 3, \"microbatches\": 1, "
                "\"iterations\": 1, \"queues\": [{\"device\": 0, \"ops\": []}, {\"device\": 1, \"ops\": []}]}",
                REFUSED, "v placement cannot divide 3 stages among 2 devices");
}

/* As many rows, or as long a list, as there may be, and one more. */
static void test_largest_sizes(void **state)
{
    enum { LARGEST = PPSCHED_MAX_STAGES };
    char *text = malloc((LARGEST + 1) * 10 + 100);
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    size_t size = 0;
    (void)state;
    assert_non_null(text);
    for (int d = 0; d < LARGEST; d++)
        size += (size_t)sprintf(text + size, "%dF0\n", d);
    expect_ok(ppsched_schedule_import(&schedule, PPSCHED_FORMAT_CSV, text, size, NULL, &error), &error);
    assert_int_equal(ppsched_schedule_placement(schedule), PPSCHED_PLACEMENT_LINEAR);
    ppsched_schedule_release(schedule);
    size += (size_t)sprintf(text + size, "0F0\n");
    expect_refusal(PPSCHED_FORMAT_CSV, text, size, PPSCHED_ERROR_RANGE, PPSCHED_NONE, PPSCHED_NONE, "more than 65535 devices");
    size = (size_t)sprintf(text, "{\"stage_devices\": [0");
    for (int i = 0; i < LARGEST; i++)
        size += (size_t)sprintf(text + size, ",0");
    size += (size_t)sprintf(text + size, "%200s", "]}");
    expect_refusal(PPSCHED_FORMAT_JSON, text, size, PPSCHED_ERROR_SYNTAX, PPSCHED_NONE, PPSCHED_NONE,
                   "than there can be stages");
    size = (size_t)sprintf(text, "{\"queues\": [{\"device\": 0, \"ops\": [\"\\u0030%600s\"]}]}", "");
    expect_refusal(PPSCHED_FORMAT_JSON, text, size, PPSCHED_ERROR_SYNTAX, 0, 0, "it is too long");
    free(text);
}

static void test_bad_arguments(void **state)
{
    ppsched_schedule *schedule = NULL;
    ppsched_environment unsized = {0};
    ppsched_error error;
    (void)state;
    assert_int_equal(ppsched_schedule_import(NULL, PPSCHED_FORMAT_CSV, "0F0", 3, NULL, &error), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_schedule_import(&schedule, PPSCHED_FORMAT_CSV, NULL, 1, NULL, &error), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_schedule_import(&schedule, PPSCHED_FORMAT_CSV, NULL, 0, NULL, &error), PPSCHED_ERROR_SYNTAX);
    assert_int_equal(ppsched_schedule_import(&schedule, PPSCHED_FORMAT_JSON, NULL, 0, NULL, &error), PPSCHED_ERROR_SYNTAX);
    assert_int_equal(ppsched_schedule_import(&schedule, 99, "0F0", 3, NULL, &error), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_schedule_import(&schedule, PPSCHED_FORMAT_TEXT, "0F0", 3, NULL, &error), PPSCHED_ERROR_ARGUMENT);
    assert_string_equal(error.message, "format text can only be written; csv and json can be read");
    assert_int_equal(ppsched_schedule_import(&schedule, PPSCHED_FORMAT_CSV, "0F0", 3, &unsized, &error),
                     PPSCHED_ERROR_STRUCT_SIZE);
    assert_int_equal(ppsched_schedule_import(&schedule, PPSCHED_FORMAT_CSV, "x", 1, NULL, NULL), PPSCHED_ERROR_SYNTAX);
    assert_null(schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_byte_order_marks),
        cmocka_unit_test(test_csv_with_communication),
        cmocka_unit_test(test_csv_with_waits),
        cmocka_unit_test(test_placements_of_rows),
        cmocka_unit_test(test_both_paths),
        cmocka_unit_test(test_csv_tokens_that_are_refused),
        cmocka_unit_test(test_csv_pairs_that_are_refused),
        cmocka_unit_test(test_csv_rows_that_are_refused),
        cmocka_unit_test(test_incomplete_schedules_are_read),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_cut_short_bidirectional),
        cmocka_unit_test(test_first_op_of_two_directions),
        cmocka_unit_test(test_middle_of_two_directions),
        cmocka_unit_test(test_json_escapes),
        cmocka_unit_test(test_json_that_is_refused),
        cmocka_unit_test(test_json_whose_slices_are_not_told),
        cmocka_unit_test(test_json_that_ends_in_an_escape),
        cmocka_unit_test(test_deep_nesting),
        cmocka_unit_test(test_deepest_nesting),
        cmocka_unit_test(test_fewest_ops),
        cmocka_unit_test(test_sizes_of_json),
        cmocka_unit_test(test_largest_sizes),
        cmocka_unit_test(test_bad_arguments),
    };
    return cmocka_run_group_tests_name("import", tests, NULL, NULL);
}
