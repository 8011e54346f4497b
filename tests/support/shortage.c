/* SPDX-License-Identifier: Apache-2.0 */
#include "support/rounds.h"
#include "support/shortage.h"
#include "support/text_file.h"

#include <stdlib.h>
#include <string.h>

enum { UNTOUCHED_BYTE = 0xA5 };

char untouched;

/* --- what a call has made --- */

/* Whether there is something to print; memory does not run out any more. */
static int is_made(struct attempt *attempt, ppsched_status status, const void *made)
{
    attempt->own.host.until_failure = -1;
    if (status != PPSCHED_OK)
        assert_ptr_equal(made, UNTOUCHED);
    return status == PPSCHED_OK;
}

ppsched_status take_config(struct attempt *attempt, ppsched_status status, ppsched_config *made)
{
    if (is_made(attempt, status, made)) {
        print_config(attempt->result, made);
        ppsched_config_destroy(made);
    }
    return status;
}

ppsched_status take_builder(struct attempt *attempt, ppsched_status status, ppsched_builder *made)
{
    if (is_made(attempt, status, made)) {
        print_builder(attempt->result, made);
        ppsched_builder_destroy(made);
    }
    return status;
}

ppsched_status take_schedule(struct attempt *attempt, ppsched_status status, ppsched_schedule *made)
{
    if (is_made(attempt, status, made)) {
        print_schedule(attempt->result, made);
        ppsched_schedule_release(made);
    }
    return status;
}

ppsched_status take_timeline(struct attempt *attempt, ppsched_status status, ppsched_timeline *made)
{
    if (is_made(attempt, status, made)) {
        print_timeline(attempt->result, made);
        ppsched_timeline_destroy(made);
    }
    return status;
}

ppsched_status take_layers(struct attempt *attempt, ppsched_status status, const ppsched_layers *made)
{
    if (is_made(attempt, status, made)) {
        print_layers(attempt->result, made);
        ppsched_layers_release(made);
    }
    return status;
}

ppsched_status take_layout(struct attempt *attempt, ppsched_status status, ppsched_layout *made)
{
    if (is_made(attempt, status, made)) {
        print_layout(attempt->result, made);
        ppsched_layout_destroy(made);
    }
    return status;
}

ppsched_status take_plan(struct attempt *attempt, ppsched_status status, ppsched_plan *made)
{
    if (is_made(attempt, status, made)) {
        print_plan(attempt->result, made, 1);
        ppsched_plan_destroy(made);
    }
    return status;
}

void prepare_bytes(void *bytes, size_t size)
{
    memset(bytes, UNTOUCHED_BYTE, size);
}

ppsched_status take_bytes(struct attempt *attempt, ppsched_status status, const void *bytes, size_t size)
{
    attempt->own.host.until_failure = -1;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = ((const unsigned char *)bytes)[i];
        if (status == PPSCHED_ERROR_NO_MEMORY)
            assert_int_equal(byte, UNTOUCHED_BYTE);
        fprintf(attempt->result, "%02x", byte);
    }
    return status;
}

/* --- a call --- */

/* What one call did. */
struct outcome {
    ppsched_status status;
    char *result; /* what it made */
    char *after;  /* all handles */
};

static void clear_outcome(struct outcome *outcome)
{
    free(outcome->result);
    free(outcome->after);
}

/* A call that succeeds leaves the record alone. */
static void check_error(const ppsched_error *error, ppsched_status status)
{
    ppsched_error alone;
    prepare_bytes(&alone, sizeof alone);
    if (status == PPSCHED_OK)
        assert_memory_equal(error, &alone, sizeof alone);
    else
        assert_int_equal(error->status, status);
    assert_true(status != PPSCHED_ERROR_NO_MEMORY || strncmp(error->message, "out of memory for ", 18) == 0);
}

static struct outcome call(const struct shortage *row, struct attempt *attempt)
{
    struct outcome outcome = {0};
    struct text_file result;
    attempt->result = open_text(&result);
    prepare_bytes(&attempt->error, sizeof attempt->error);
    outcome.status = row->call(attempt);
    attempt->own.host.until_failure = -1;
    outcome.result = close_text(&result);
    check_error(&attempt->error, outcome.status);
    outcome.after = handles_text(&attempt->own);
    return outcome;
}

static void expect_same(const struct outcome *outcome, const struct outcome *wanted)
{
    assert_int_equal(outcome->status, wanted->status);
    assert_string_equal(outcome->result, wanted->result);
    assert_string_equal(outcome->after, wanted->after);
}

/* --- a call that fails --- */

/* What a failure must leave as it is: all handles, or what a plan keeps while some of its candidates are evaluated. */
static char *state_text(const struct shortage *row, const struct handles *own)
{
    struct text_file text;
    if (!row->keeps_work)
        return handles_text(own);
    print_plan(open_text(&text), own->plan, 0);
    return close_text(&text);
}

static void check_failure(const struct shortage *row, const struct attempt *attempt, int number, const char *before,
                          const struct outcome *outcome)
{
    if (outcome->status != PPSCHED_ERROR_NO_MEMORY && (row->or_status == 0 || outcome->status != row->or_status))
        fail_msg("variant %d: allocation %d failed, but the status is %s", attempt->variant, number,
                 ppsched_status_name(outcome->status));
    char *after = row->keeps_work ? state_text(row, &attempt->own) : NULL;
    assert_string_equal(after != NULL ? after : outcome->after, before);
    free(after);
}

static void start(const struct shortage *row, struct attempt *attempt)
{
    make_handles(&attempt->own, row->with_plan);
    if (row->prepare != NULL)
        row->prepare(attempt);
}

/* The call on fresh handles, where allocation `number` fails, and then with memory. False where it has no such allocation. */
static int fails_at(const struct shortage *row, struct attempt *attempt, int number, int keeps_failing, const char *before,
                    const struct outcome *wanted)
{
    struct failing_allocator *host = &attempt->own.host;
    start(row, attempt);
    int live = host->live;
    host->keeps_failing = keeps_failing;
    host->until_failure = number;
    struct outcome outcome = call(row, attempt);
    int failed = host->failed > 0;
    if (failed) {
        check_failure(row, attempt, number, before, &outcome);
        assert_true(host->live == live || row->keeps_work);
        clear_outcome(&outcome);
        outcome = call(row, attempt);
    }
    expect_same(&outcome, wanted);
    clear_outcome(&outcome);
    destroy_handles(&attempt->own);
    return failed;
}

/* What lies behind its blocks the call neither reads nor writes, and what was in them before makes no difference. */
static void run_guarded(const struct shortage *row, struct attempt *attempt, const struct outcome *wanted)
{
    make_guarded_handles(&attempt->own, row->with_plan);
    if (row->prepare != NULL)
        row->prepare(attempt);
    struct outcome outcome = call(row, attempt);
    expect_same(&outcome, wanted);
    clear_outcome(&outcome);
    destroy_handles(&attempt->own);
}

/* Of many allocations most are those of a loop that comes again and again: the later, the fewer are tried. A call that makes
 * MANY takes long itself. */
enum { EACH = ROUNDS(300), FEWER = ROUNDS(60), MANY = 1000, STEP = 37 * ROUND_SHARE, SHARE = 20, FEWER_SHARE = 6 };

static void run_variant(const struct shortage *row, int variant, int keeps_failing)
{
    struct attempt attempt = {.variant = variant};
    start(row, &attempt);
    char *before = state_text(row, &attempt.own);
    const int asked = attempt.own.host.asked;
    struct outcome wanted = call(row, &attempt);
    const int is_long = attempt.own.host.asked - asked > MANY;
    const int each = is_long ? FEWER : EACH, share = is_long ? FEWER_SHARE : SHARE;
    destroy_handles(&attempt.own);
    if (!keeps_failing)
        run_guarded(row, &attempt, &wanted);
    int number = 0;
    while (fails_at(row, &attempt, number, keeps_failing, before, &wanted))
        number += number < each ? 1 : STEP + number / share;
    if (number == 0)
        fail_msg("variant %d allocates nothing", variant);
    clear_outcome(&wanted);
    free(before);
}

void run_out_of_memory(void **state)
{
    const struct shortage *row = *state;
    for (int variant = 0; variant < row->variants; variant++)
        for (int keeps_failing = 0; keeps_failing < 2; keeps_failing++)
            run_variant(row, variant, keeps_failing);
}
