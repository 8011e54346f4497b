/* SPDX-License-Identifier: Apache-2.0 */
/* Every call that fills a buffer of the caller's, by the one rule that <ppsched/ppsched.h> has for them. tests/abi/faults.py
 * holds the table against the headers. */
#include "support/handles.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { DIRT = 0xA5, UNTOLD = 7777 };

/* --- the calls --- */

/* The arguments that all of them have. `own` NULL: what the call reads is NULL. */
struct filling {
    const struct handles *own;
    void *out;
    size_t capacity, *needed;
    ppsched_error *error;
};

#define OUT(f) (f)->out, (f)->capacity, (f)->needed
#define OWN(f, handle) ((f)->own != NULL ? (f)->own->handle : NULL)

static ppsched_status write_token(const struct filling *f)
{
    static const ppsched_op op = {.kind = PPSCHED_KIND_SEND_B, .stage = 17, .microbatch = 123456};
    return ppsched_op_write_token(OUT(f), f->own != NULL ? &op : NULL, f->error);
}

static ppsched_status write_finding(const struct filling *f)
{
    static const ppsched_finding finding = {
        .kind = PPSCHED_FINDING_KIND_MISSING, .device = 3, .op = {.kind = PPSCHED_KIND_F, .stage = 3, .microbatch = 2}};
    return ppsched_finding_write_text(OUT(f), f->own != NULL ? &finding : NULL, f->error);
}

static ppsched_status get_memory(const struct filling *f)
{
    return ppsched_timeline_get_memory(OUT(f), OWN(f, timeline), 1, f->error);
}

static ppsched_status get_critical_path(const struct filling *f)
{
    return ppsched_timeline_get_critical_path(OUT(f), OWN(f, timeline), f->error);
}

static ppsched_status get_device_slack(const struct filling *f)
{
    return ppsched_timeline_get_device_slack(OUT(f), OWN(f, timeline), f->error);
}

static ppsched_status get_stage_slack(const struct filling *f)
{
    return ppsched_timeline_get_stage_slack(OUT(f), OWN(f, timeline), f->error);
}

static int32_t go_on(void *user, const ppsched_progress *progress)
{
    (void)user;
    (void)progress;
    return 0;
}

static ppsched_status get_sensitivities(const struct filling *f)
{
    return ppsched_timeline_get_sensitivities(OUT(f), OWN(f, timeline), PPSCHED_OBJECTIVE_SPAN, 0, go_on, NULL, f->error);
}

static ppsched_status export_to_buffer(const struct filling *f)
{
    return ppsched_schedule_export_to_buffer(OUT(f), OWN(f, schedule), OWN(f, timeline), PPSCHED_FORMAT_TEXT, NULL, f->error);
}

static ppsched_status write_launch_arguments(const struct filling *f)
{
    return ppsched_schedule_write_launch_arguments(OUT(f), OWN(f, pipeline), PPSCHED_RUNTIME_MEGATRON, NULL, f->error);
}

static ppsched_status get_split(const struct filling *f)
{
    return ppsched_plan_get_split(OUT(f), OWN(f, plan), 0, f->error);
}

static ppsched_status get_recomputes(const struct filling *f)
{
    return ppsched_plan_get_recomputes(OUT(f), OWN(f, plan), 0, f->error);
}

static ppsched_status get_microbatch_order(const struct filling *f)
{
    return ppsched_plan_get_microbatch_order(OUT(f), OWN(f, plan), 0, f->error);
}

static ppsched_status get_device_order(const struct filling *f)
{
    return ppsched_plan_get_device_order(OUT(f), OWN(f, plan), 0, f->error);
}

static ppsched_status write_layout(const struct filling *f)
{
    return ppsched_layout_write_text(OUT(f), OWN(f, layout), f->error);
}

static ppsched_status write_modules(const struct filling *f)
{
    return ppsched_layout_write_modules(OUT(f), OWN(f, layout), 0, 0, f->error);
}

static ppsched_status get_links(const struct filling *f)
{
    return ppsched_schedule_get_links(OUT(f), OWN(f, lowered), f->error);
}

/* Of a copy of the config whose microbatches differ. */
static ppsched_status order_microbatches(const struct filling *f)
{
    static const double scale[] = {1, 3, 2, 0.5};
    ppsched_config *config = NULL, *ordered = NULL;
    if (f->own == NULL)
        return ppsched_schedule_order_microbatches(OUT(f), &ordered, NULL, NULL, NULL, f->error);
    expect_ok(ppsched_config_copy(&config, f->own->config, NULL), NULL);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, scale, 4, NULL), NULL);
    ppsched_status status = ppsched_schedule_order_microbatches(OUT(f), &ordered, f->own->schedule, config, NULL, f->error);
    ppsched_config_destroy(ordered);
    ppsched_config_destroy(config);
    return status;
}

static ppsched_status balance(const struct filling *f)
{
    static const double costs[] = {5, 4, 3, 3, 3};
    ppsched_balance told = {.size = sizeof told};
    return ppsched_microbatches_balance(OUT(f), &told, f->own != NULL ? costs : NULL, 5, 2, 0, NULL, f->error);
}

/* Of a copy of the config for forwards only. */
static ppsched_status find_chunks(const struct filling *f)
{
    const ppsched_prefill prefill = {.size = sizeof prefill, .tokens = 40, .block = 4, .constant = 1, .linear = 1};
    ppsched_config *config = NULL;
    if (f->own == NULL)
        return ppsched_prefill_find_chunks(OUT(f), NULL, NULL, NULL, NULL, f->error);
    expect_ok(ppsched_config_create(&config, 3, 3, 1, NULL, NULL), NULL);
    expect_ok(ppsched_config_set_forward_only(config, 1, NULL), NULL);
    ppsched_status status = ppsched_prefill_find_chunks(OUT(f), NULL, &prefill, config, "looped_bfs", f->error);
    ppsched_config_destroy(config);
    return status;
}

static ppsched_status get_buffers(const struct filling *f)
{
    uint32_t slots = UNTOLD;
    ppsched_status status = ppsched_schedule_get_buffers(OUT(f), &slots, OWN(f, lowered), 1, f->error);
    assert_true(status == PPSCHED_OK ? slots > 0 && slots < 100 : slots == UNTOLD);
    return status;
}

static ppsched_status get_memory_of_cause(const struct filling *f)
{
    return ppsched_timeline_get_memory_of_cause(OUT(f), OWN(f, timeline), 1, PPSCHED_MEMORY_CAUSE_ACTIVATIONS, f->error);
}

static ppsched_status get_peak_causes(const struct filling *f)
{
    return ppsched_timeline_get_peak_causes(OUT(f), OWN(f, timeline), 1, f->error);
}

static ppsched_status get_steady_peak_causes(const struct filling *f)
{
    return ppsched_steady_get_peak_causes(OUT(f), OWN(f, steady), 1, f->error);
}

static ppsched_status get_replan_split(const struct filling *f)
{
    return ppsched_replan_get_split(OUT(f), OWN(f, replan), f->error);
}

static ppsched_status get_replan_recomputes(const struct filling *f)
{
    return ppsched_replan_get_recomputes(OUT(f), OWN(f, replan), f->error);
}

static ppsched_status get_replan_device_order(const struct filling *f)
{
    return ppsched_replan_get_device_order(OUT(f), OWN(f, replan), f->error);
}

static ppsched_status get_moves(const struct filling *f)
{
    return ppsched_replan_get_moves(OUT(f), OWN(f, replan), f->error);
}

static ppsched_status get_peak_items(const struct filling *f)
{
    return ppsched_timeline_get_peak_items(OUT(f), OWN(f, timeline), 1, f->error);
}

static ppsched_status get_idle_windows(const struct filling *f)
{
    return ppsched_timeline_get_idle_windows(OUT(f), OWN(f, timeline), 1, f->error);
}

static ppsched_status get_connections(const struct filling *f)
{
    return ppsched_schedule_get_connections(OUT(f), OWN(f, lowered), PPSCHED_CONNECTING_LINKS, f->error);
}

static ppsched_status get_lifetimes(const struct filling *f)
{
    return ppsched_schedule_get_lifetimes(OUT(f), OWN(f, lowered), 1, PPSCHED_SLOT_USE_RECEIVE, f->error);
}

static ppsched_status get_arenas(const struct filling *f)
{
    return ppsched_schedule_get_arenas(OUT(f), OWN(f, lowered), 1, PPSCHED_SLOT_USE_RECEIVE, f->error);
}

/* --- the table --- */

struct row {
    const char *function;
    size_t size; /* of an item */
    bool is_text;
    ppsched_status (*call)(const struct filling *filling);
};

/* A function, the type of its items, and a call. */
static const ppsched_window windows[] = {{3, 0, 0}, {2, 1, 0}};
static const ppsched_pair_windows pair = {
    .size = sizeof pair, .forward = windows, .forward_count = 2, .backward = windows, .backward_count = 2};

static ppsched_status find_order(const struct filling *f)
{
    ppsched_pair_times times = {.size = sizeof times};
    return ppsched_pair_find_order(OUT(f), &times, f->own != NULL ? &pair : NULL, NULL, f->error);
}

static ppsched_status run_order(const struct filling *f)
{
    static const int32_t kinds[] = {PPSCHED_KIND_F, PPSCHED_KIND_B, PPSCHED_KIND_F, PPSCHED_KIND_B};
    ppsched_pair_times times = {.size = sizeof times};
    return ppsched_pair_run_order(OUT(f), &times, f->own != NULL ? &pair : NULL, kinds, 4, NULL, f->error);
}

#define ROW(function, type, call)                                                                                              \
    {                                                                                                                          \
#function, sizeof(type), _Generic((type){0}, char : true, default : false), call                                       \
    }

static const struct row rows[] = {
    ROW(ppsched_op_write_token, char, write_token),
    ROW(ppsched_finding_write_text, char, write_finding),
    ROW(ppsched_timeline_get_memory, ppsched_memory_point, get_memory),
    ROW(ppsched_timeline_get_memory_of_cause, ppsched_memory_point, get_memory_of_cause),
    ROW(ppsched_timeline_get_peak_causes, double, get_peak_causes),
    ROW(ppsched_steady_get_peak_causes, double, get_steady_peak_causes),
    ROW(ppsched_replan_get_split, uint32_t, get_replan_split),
    ROW(ppsched_replan_get_recomputes, uint8_t, get_replan_recomputes),
    ROW(ppsched_replan_get_device_order, uint32_t, get_replan_device_order),
    ROW(ppsched_replan_get_moves, ppsched_layer_move, get_moves),
    ROW(ppsched_timeline_get_peak_items, ppsched_memory_item, get_peak_items),
    ROW(ppsched_timeline_get_idle_windows, ppsched_idle_window, get_idle_windows),
    ROW(ppsched_timeline_get_critical_path, ppsched_critical_op, get_critical_path),
    ROW(ppsched_timeline_get_device_slack, double, get_device_slack),
    ROW(ppsched_timeline_get_stage_slack, double, get_stage_slack),
    ROW(ppsched_timeline_get_sensitivities, ppsched_sensitivity, get_sensitivities),
    ROW(ppsched_schedule_export_to_buffer, char, export_to_buffer),
    ROW(ppsched_schedule_write_launch_arguments, char, write_launch_arguments),
    ROW(ppsched_plan_get_split, uint32_t, get_split),
    ROW(ppsched_plan_get_recomputes, uint8_t, get_recomputes),
    ROW(ppsched_plan_get_microbatch_order, uint32_t, get_microbatch_order),
    ROW(ppsched_plan_get_device_order, uint32_t, get_device_order),
    ROW(ppsched_layout_write_text, char, write_layout),
    ROW(ppsched_layout_write_modules, char, write_modules),
    ROW(ppsched_schedule_order_microbatches, uint32_t, order_microbatches),
    ROW(ppsched_microbatches_balance, uint32_t, balance),
    ROW(ppsched_pair_find_order, ppsched_window_span, find_order),
    ROW(ppsched_prefill_find_chunks, uint64_t, find_chunks),
    ROW(ppsched_pair_run_order, ppsched_window_span, run_order),
    ROW(ppsched_schedule_get_links, ppsched_link, get_links),
    ROW(ppsched_schedule_get_buffers, ppsched_op_buffer, get_buffers),
    ROW(ppsched_schedule_get_connections, ppsched_connection, get_connections),
    ROW(ppsched_schedule_get_lifetimes, ppsched_lifetime, get_lifetimes),
    ROW(ppsched_schedule_get_arenas, ppsched_arena, get_arenas),
};

/* --- the rule --- */

/* A call into a buffer of dirt, with more of it behind. The caller frees it. */
static unsigned char *fill(const struct row *row, const struct handles *own, size_t capacity, size_t room, size_t *needed,
                           ppsched_status wanted)
{
    ppsched_error error = {.message = "none"};
    size_t told = UNTOLD;
    unsigned char *out = malloc(room);
    assert_non_null(out);
    memset(out, DIRT, room);
    ppsched_status status = row->call(&(struct filling){own, out, capacity, &told, &error});
    if (status != wanted)
        fail_msg("%s, room for %zu: %s", row->function, capacity, ppsched_status_name(status));
    if (status == PPSCHED_ERROR_BUFFER)
        assert_non_null(strstr(error.message, "the buffer has room for "));
    *needed = told;
    return out;
}

static void expect_dirt(const unsigned char *from, const unsigned char *end)
{
    for (; from < end; from++)
        assert_int_equal(*from, DIRT);
}

/* How many are needed, by a call that asks for that alone. */
static size_t ask(const struct row *row, const struct handles *own)
{
    ppsched_error error;
    size_t needed = UNTOLD;
    expect_ok(row->call(&(struct filling){own, NULL, 0, &needed, &error}), &error);
    expect_ok(row->call(&(struct filling){own, NULL, 0, NULL, &error}), &error);
    assert_true(needed > 1 && needed < UNTOLD);
    return needed;
}

static void fill_with_enough(const struct row *row, const struct handles *own, size_t needed)
{
    size_t room = (needed + 2) * row->size, told = 0;
    unsigned char *exact = fill(row, own, needed, room, &told, PPSCHED_OK);
    assert_int_equal(told, needed);
    expect_dirt(exact + needed * row->size, exact + room);
    if (row->is_text)
        assert_int_equal(strlen((char *)exact) + 1, needed);
    unsigned char *more = fill(row, own, needed + 1, room, &told, PPSCHED_OK);
    assert_int_equal(told, needed);
    assert_memory_equal(exact, more, room);
    expect_ok(row->call(&(struct filling){own, more, needed, NULL, NULL}), NULL);
    free(exact);
    free(more);
}

/* A list stays as it was; a text becomes empty, and behind its room nothing is touched. */
static void fill_with_less(const struct row *row, const struct handles *own, size_t needed, size_t capacity)
{
    size_t room = needed * row->size, told = 0;
    unsigned char *less = fill(row, own, capacity, room, &told, PPSCHED_ERROR_BUFFER);
    assert_int_equal(told, needed);
    if (row->is_text && capacity > 0) {
        assert_string_equal((char *)less, "");
        expect_dirt(less + capacity, less + room);
    } else {
        expect_dirt(less, less + room);
    }
    free(less);
    unsigned char one[64];
    assert_true(row->size <= sizeof one);
    assert_int_equal(row->call(&(struct filling){own, one, 0, NULL, NULL}), PPSCHED_ERROR_BUFFER);
}

/* Other errors leave all as it was. */
static void fail_to_fill(const struct row *row, const struct handles *own, size_t needed)
{
    size_t room = needed * row->size, told = 0;
    ppsched_error error;
    unsigned char *out = fill(row, NULL, needed, room, &told, PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(told, UNTOLD);
    expect_dirt(out, out + room);
    free(out);
    assert_int_equal(row->call(&(struct filling){own, NULL, 1, &told, &error}), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(told, UNTOLD);
    assert_non_null(strstr(error.message, ": out is NULL"));
    assert_int_equal(row->call(&(struct filling){NULL, NULL, 0, &told, &error}), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(told, UNTOLD);
}

static void test_buffers(void **state)
{
    struct handles own;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        make_handles(&own, rows[i].call == get_device_order ? 4 : rows[i].call == get_microbatch_order ? 3 : 2);
        size_t needed = ask(&rows[i], &own);
        fill_with_enough(&rows[i], &own, needed);
        for (size_t capacity = 0; capacity < needed; capacity++)
            fill_with_less(&rows[i], &own, needed, capacity);
        fail_to_fill(&rows[i], &own, needed);
        destroy_handles(&own);
    }
}

/* --- reports --- */

static void test_reports_give_what_there_is_room_for(void **state)
{
    const ppsched_channel_model model = {.size = sizeof model, .rendezvous = 1, .blocking = 1};
    ppsched_finding findings[64], found[64];
    ppsched_wait cycle[8], waits[8];
    struct handles own;
    size_t count = 0, links = 0;
    (void)state;
    make_handles(&own, 0);
    assert_int_equal(ppsched_schedule_check(findings, 64, &count, own.broken, NULL), PPSCHED_ERROR_INVALID_SCHEDULE);
    assert_int_equal(ppsched_schedule_prove(cycle, 8, &links, own.hanging, &model, NULL), PPSCHED_ERROR_INVALID_SCHEDULE);
    assert_true(count > 1 && count < 64 && links > 1 && links < 8);
    for (size_t capacity = 0; capacity <= count; capacity++) {
        size_t told = 0;
        memset(found, DIRT, sizeof found);
        assert_int_equal(ppsched_schedule_check(found, capacity, &told, own.broken, NULL), PPSCHED_ERROR_INVALID_SCHEDULE);
        assert_int_equal(told, count);
        assert_memory_equal(found, findings, capacity * sizeof *found);
        expect_dirt((unsigned char *)&found[capacity], (unsigned char *)&found[64]);
    }
    for (size_t capacity = 0; capacity <= links; capacity++) {
        size_t told = 0;
        memset(waits, DIRT, sizeof waits);
        assert_int_equal(ppsched_schedule_prove(waits, capacity, &told, own.hanging, &model, NULL),
                         PPSCHED_ERROR_INVALID_SCHEDULE);
        assert_int_equal(told, links);
        assert_memory_equal(waits, cycle, capacity * sizeof *waits);
        expect_dirt((unsigned char *)&waits[capacity], (unsigned char *)&waits[8]);
    }
    assert_int_equal(ppsched_schedule_check(NULL, 1, &count, own.broken, NULL), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_schedule_prove(NULL, 1, &links, own.hanging, &model, NULL), PPSCHED_ERROR_ARGUMENT);
    destroy_handles(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_reports_give_what_there_is_room_for),
    };
    return cmocka_run_group_tests_name("buffer", tests, NULL, NULL);
}
