/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/schedule.h"

#include <string.h>

#include "fuzz/problem.h"
#include "fuzz/round_trip.h"
#include "fuzz/timeline.h"
#include "support/last.h"

enum { LARGEST_TEXT = 60, MOST_LINKS = 8, MOST_LINE = 4000 };

/* --- checking --- */

static bool is_valid(const ppsched_schedule *schedule)
{
    size_t count = 0, again = 0;
    char text[MOST_LINE];
    ppsched_error error = fresh_error(), same = fresh_error();
    ppsched_status status = ppsched_schedule_check(NULL, 0, &count, schedule, &error);
    bool is_valid = accepted(status, &error);
    ppsched_finding *findings = calloc(count + 1, sizeof *findings);
    EXPECT(findings != NULL && is_valid == (count == 0) && (is_valid || status == PPSCHED_ERROR_INVALID_SCHEDULE));
    EXPECT(ppsched_schedule_check(findings, count + 1, &again, schedule, &same) == status && again == count);
    EXPECT(memcmp(&error, &same, sizeof error) == 0);
    for (size_t i = 0; i < count; i++) {
        size_t needed = 0;
        EXPECT(findings[i].kind >= PPSCHED_FINDING_KIND_MISSING && findings[i].kind <= PPSCHED_FINDING_KIND_CONFLICT);
        EXPECT(ppsched_finding_write_text(text, sizeof text, &needed, &findings[i], NULL) == PPSCHED_OK &&
               strlen(text) + 1 == needed);
    }
    free(findings);
    return is_valid;
}

/* --- writing --- */

/* A writer that stops when so many bytes have come; 0: never. */
struct sink {
    size_t taken, stop;
};

static int32_t take_text_of(void *user, const char *data, size_t size)
{
    struct sink *sink = user;
    EXPECT(data != NULL || size == 0);
    sink->taken += size;
    return sink->stop > 0 && sink->taken >= sink->stop;
}

static void write_format(const ppsched_schedule *schedule, const ppsched_timeline *timeline, int32_t format,
                         struct bytes *bytes)
{
    ppsched_export_options options = {.text_columns = take_u8(bytes), .time_scale = take_any_number(bytes)};
    struct sink sink = {.stop = take_u8(bytes) > 240 ? take_u8(bytes) : 0};
    struct handed handed;
    size_t needed = 0;
    ppsched_error error = fresh_error();
    const void *given = hand_over(bytes, &handed, &options, sizeof options);
    ppsched_status status = ppsched_schedule_export(schedule, timeline, format, given, take_text_of, &sink, &error);
    if (!accepted(status, &error)) {
        EXPECT(status == PPSCHED_ERROR_WRITER || sink.taken == 0);
        return;
    }
    EXPECT(ppsched_schedule_export_to_buffer(NULL, 0, &needed, schedule, timeline, format, given, NULL) == PPSCHED_OK);
    EXPECT(needed == sink.taken + 1);
}

static void write_all(const ppsched_schedule *schedule, const ppsched_timeline *timeline, struct bytes *bytes)
{
    for (int32_t format = 0; format <= LAST_FORMAT + 1; format++)
        write_format(schedule, timeline, format, bytes);
    expect_round_transfer(schedule, PPSCHED_FORMAT_JSON);
}

static void launch(const ppsched_schedule *schedule, struct bytes *bytes)
{
    char name[LARGEST_TEXT], line[MOST_LINE];
    uint8_t form = take_u8(bytes);
    int32_t runtime = form % (LAST_RUNTIME + 2);
    ppsched_launch_options options = {.exact = form >> 6 & 1, .csv = form >= 128 ? take_text(bytes, name, sizeof name) : NULL};
    options.layers = form >> 5 & 1 ? form : 0;
    struct handed handed;
    size_t needed = 0, again = 0;
    ppsched_error error = fresh_error();
    const void *given = hand_over(bytes, &handed, &options, sizeof options);
    if (!accepted(ppsched_schedule_write_launch_arguments(NULL, 0, &needed, schedule, runtime, given, &error), &error))
        return;
    EXPECT(needed <= sizeof line);
    EXPECT(ppsched_schedule_write_launch_arguments(line, needed - 1, &again, schedule, runtime, given, NULL) ==
           PPSCHED_ERROR_BUFFER);
    EXPECT(ppsched_schedule_write_launch_arguments(line, needed, &again, schedule, runtime, given, NULL) == PPSCHED_OK);
    EXPECT(again == needed && strlen(line) + 1 == needed && strchr(line, '\n') == NULL);
}

/* It can be run as before, and renumbering it again changes nothing. */
static void renumber(const ppsched_schedule *schedule)
{
    ppsched_schedule *made = NULL, *again = NULL;
    ppsched_error error = fresh_error();
    if (!accepted(ppsched_schedule_renumber(&made, schedule, &error), &error))
        return;
    EXPECT(ppsched_schedule_op_count(made) == ppsched_schedule_op_count(schedule));
    EXPECT(ppsched_schedule_check(NULL, 0, NULL, made, NULL) == PPSCHED_OK);
    EXPECT(ppsched_schedule_renumber(&again, made, NULL) == PPSCHED_OK);
    for (uint32_t d = 0; d < ppsched_schedule_devices(made); d++) {
        size_t counts[2];
        const ppsched_op *first = ppsched_queue_ops(ppsched_schedule_queue(made, d), &counts[0]);
        const ppsched_op *second = ppsched_queue_ops(ppsched_schedule_queue(again, d), &counts[1]);
        EXPECT(counts[0] == counts[1] && (counts[0] == 0 || memcmp(first, second, counts[0] * sizeof *first) == 0));
    }
    ppsched_schedule_release(again);
    ppsched_schedule_release(made);
}

/* --- sends and receives --- */

static void expect_edges(const ppsched_schedule *schedule)
{
    uint32_t devices = ppsched_schedule_devices(schedule);
    uint64_t messages = 0, sends = 0;
    size_t count = 0;
    ppsched_link edges[64] = {{0}};
    ppsched_error error = fresh_error();
    bool is_matched = accepted(ppsched_schedule_get_links(edges, 64, &count, schedule, &error), &error);
    for (uint32_t d = 0; d < devices; d++) {
        size_t ops = 0;
        uint32_t slots = 0;
        const ppsched_op *op = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &ops);
        ppsched_op_buffer *buffers = calloc(ops + 1, sizeof *buffers);
        EXPECT(buffers != NULL);
        error = fresh_error();
        EXPECT(accepted(ppsched_schedule_get_buffers(buffers, ops, NULL, &slots, schedule, d, &error), &error) == is_matched);
        for (size_t i = 0; i < ops; i++) {
            sends += op[i].kind == PPSCHED_KIND_SEND_F || op[i].kind == PPSCHED_KIND_SEND_B;
            EXPECT(!is_matched || buffers[i].slot == PPSCHED_NONE || buffers[i].slot < slots);
        }
        free(buffers);
        for (int32_t use = PPSCHED_SLOT_USE_STAGE_MICROBATCH; use <= PPSCHED_SLOT_USE_RECEIVE; use++) {
            ppsched_lifetime *lifetimes = calloc(ops + 1, sizeof *lifetimes);
            EXPECT(lifetimes != NULL);
            error = fresh_error();
            size_t held = 0;
            (void)accepted(ppsched_schedule_get_lifetimes(lifetimes, ops, &held, schedule, d, use, &error), &error);
            for (size_t i = 0; i < held; i++)
                EXPECT(lifetimes[i].first <= lifetimes[i].last && lifetimes[i].last < ops);
            free(lifetimes);
        }
    }
    for (size_t i = 0; i < count && i < 64; i++)
        messages += edges[i].transfers;
    EXPECT(!is_matched || count > 64 || messages == sends);
}

/* Whether it always comes to its end. */
static bool is_safe(const ppsched_schedule *schedule, const ppsched_channel_model *model)
{
    ppsched_wait cycle[MOST_LINKS];
    size_t count = 0;
    ppsched_error error = fresh_error();
    bool is_safe = accepted(ppsched_schedule_prove(cycle, MOST_LINKS, &count, schedule, model, &error), &error);
    EXPECT(!is_safe || count == 0);
    for (size_t i = 0; i < count && i < MOST_LINKS; i++)
        EXPECT(cycle[i].device < ppsched_schedule_devices(schedule));
    return is_safe;
}

/* The proof and the evaluation with transfers agree on whether it ends. */
static bool expect_transfers(const ppsched_schedule *schedule, const ppsched_config *config, struct bytes *bytes)
{
    ppsched_channel_model model = take_channel(bytes);
    ppsched_timeline *timeline = NULL;
    ppsched_error error = fresh_error();
    bool ends = is_safe(schedule, &model);
    ppsched_status status = ppsched_schedule_evaluate_transfers(&timeline, schedule, config, &model, 0, &error);
    if (accepted(status, &error)) {
        EXPECT(ends);
        expect_parts_to_sum(timeline);
        write_format(schedule, timeline, (int32_t)take_below(bytes, LAST_FORMAT + 1), bytes);
    } else {
        EXPECT(timeline == NULL && (!ends || status == PPSCHED_ERROR_RANGE || status == PPSCHED_ERROR_INVALID_SCHEDULE));
    }
    ppsched_timeline_destroy(timeline);
    return ends || model.order < 0;
}

/* Whether the config has values of some of the quantities from `first` to `last`. */
static bool has_values(const ppsched_config *config, int32_t first, int32_t last)
{
    size_t all = 0, count = 0;
    for (int32_t q = first; q <= last; q++) {
        ppsched_config_values(config, q, &count);
        all += count;
    }
    return all > 0;
}

/* Whether memory comes and goes with ops that lowering adds. */
static bool holds_for_others(const ppsched_config *config)
{
    return has_values(config, PPSCHED_QUANTITY_MEM_GRADIENTS, PPSCHED_QUANTITY_MEM_RECEIVE_BACKWARD);
}

/* Comm ops take no time of their own; and with buffered sends, no queues and infinite bandwidth neither do their transfers.
 * UNSHARD and REDUCE_GRAD may take time beside transfers, and calls of comm ops may. */
static void expect_equal_times(const ppsched_schedule *lowered, const ppsched_config *config, const ppsched_metrics *metrics)
{
    ppsched_timeline *timeline = NULL, *transfers = NULL;
    ppsched_error error = fresh_error();
    bool takes_longer = has_values(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, PPSCHED_QUANTITY_P2P_BANDWIDTH) ||
                        has_values(config, PPSCHED_QUANTITY_UNSHARD_TIMES, PPSCHED_QUANTITY_REDUCE_GRAD_BYTES) ||
                        has_values(config, PPSCHED_QUANTITY_SEND_OVERHEAD, PPSCHED_QUANTITY_SEND_OVERHEAD);
    EXPECT(accepted(ppsched_schedule_evaluate(&timeline, lowered, config, 0, &error), &error));
    ppsched_metrics own = fuzz_metrics(timeline);
    EXPECT(metrics == NULL || (own.makespan == metrics->makespan && own.span == metrics->span));
    EXPECT(metrics == NULL || holds_for_others(config) || memcmp(&own, metrics, sizeof own) == 0);
    expect_parts_to_sum(timeline);
    if (!takes_longer) {
        EXPECT(accepted(ppsched_schedule_evaluate_transfers(&transfers, lowered, config, NULL, 0, &error), &error));
        ppsched_metrics with_transfers = fuzz_metrics(transfers);
        EXPECT(memcmp(&own, &with_transfers, sizeof own) == 0);
    }
    ppsched_timeline_destroy(transfers);
    ppsched_timeline_destroy(timeline);
}

/* --- lowering --- */

static ppsched_lower_options take_passes(struct bytes *bytes)
{
    uint8_t flags = take_u8(bytes);
    return (ppsched_lower_options){.size = sizeof(ppsched_lower_options),
                                   .merge_backwards = flags & 1,
                                   .split_backwards = flags >> 1 & 1,
                                   .reduce_grad = (flags >> 2 & 1) << (flags >> 7 & 1),
                                   .defer_receives = flags >> 3 & 1,
                                   .unshard = flags >> 4 & 7};
}

/* `metrics` are those of the schedule before. */
static void expect_lowered(const ppsched_schedule *lowered, const ppsched_config *config, const ppsched_lower_options *passes,
                           const ppsched_metrics *metrics, struct bytes *bytes)
{
    bool is_same = passes->merge_backwards == 0 && passes->split_backwards == 0;
    bool never_hangs = passes->lowering == PPSCHED_LOWERING_JUST_IN_TIME ||
                       (passes->lowering == PPSCHED_LOWERING_PYTORCH && passes->defer_receives == 0);
    EXPECT(is_valid(lowered));
    expect_edges(lowered);
    expect_round_transfer(lowered, PPSCHED_FORMAT_JSON);
    if (passes->lowering != PPSCHED_LOWERING_NONE && is_same)
        expect_equal_times(lowered, config, metrics);
    EXPECT(expect_transfers(lowered, config, bytes) || !never_hangs);
    launch(lowered, bytes);
}

static void lower_in_all_paths(const ppsched_schedule *schedule, const ppsched_config *config, const ppsched_metrics *metrics,
                               struct bytes *bytes)
{
    ppsched_lower_options passes = take_passes(bytes);
    struct handed handed;
    const bool defers = passes.defer_receives != 0;
    for (passes.lowering = PPSCHED_LOWERING_NONE; passes.lowering <= PPSCHED_LOWERING_JUST_IN_TIME; passes.lowering++) {
        ppsched_schedule *lowered = NULL;
        ppsched_error error = fresh_error();
        passes.defer_receives = defers && passes.lowering == PPSCHED_LOWERING_PYTORCH;
        passes.receive_prefetch = defers && passes.lowering == PPSCHED_LOWERING_JUST_IN_TIME ? 1 + passes.unshard : 0;
        ppsched_status status = ppsched_schedule_lower(&lowered, schedule, config,
                                                       hand_over(bytes, &handed, &passes, sizeof passes), &error);
        if (accepted(status, &error))
            expect_lowered(lowered, config, &passes, metrics, bytes);
        else
            EXPECT(lowered == NULL && (status == PPSCHED_ERROR_STRUCT_SIZE || passes.lowering == PPSCHED_LOWERING_BY_TIME));
        ppsched_schedule_release(lowered);
    }
}

/* --- all of it --- */

static void expect_timed(const ppsched_schedule *schedule, const ppsched_config *config, const ppsched_timeline *timeline,
                         struct bytes *bytes)
{
    ppsched_timeline *brief = NULL;
    ppsched_error error = fresh_error();
    EXPECT(accepted(ppsched_schedule_evaluate(&brief, schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, &error), &error));
    EXPECT(fuzz_same_times(timeline, brief) && ppsched_timeline_latest_starts(brief, 0, NULL) == NULL);
    EXPECT(ppsched_timeline_get_device_slack(NULL, 0, NULL, brief, NULL) == PPSCHED_ERROR_ARGUMENT);
    EXPECT(ppsched_timeline_get_stage_slack(NULL, 0, NULL, brief, NULL) == PPSCHED_ERROR_ARGUMENT);
    ppsched_timeline_destroy(brief);
    expect_parts_to_sum(timeline);
    expect_explained(timeline, (int32_t)take_below(bytes, PPSCHED_KIND_W + 1));
    if (ppsched_schedule_iterations(schedule) == 1)
        expect_bounded(timeline, config);
    write_all(schedule, timeline, bytes);
}

/* Whether all ops are F, B, I and W. */
static bool computes_only(const ppsched_schedule *schedule)
{
    for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++) {
        size_t count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &count);
        for (size_t i = 0; i < count; i++)
            if (ops[i].kind > PPSCHED_KIND_W)
                return false;
    }
    return true;
}

/* Whether each device has an op, without which CSV has no row for it. */
static bool has_all_rows(const ppsched_schedule *schedule)
{
    size_t count = 1;
    for (uint32_t d = 0; d < ppsched_schedule_devices(schedule) && count > 0; d++)
        ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &count);
    return count > 0;
}

bool expect_sound(const ppsched_schedule *schedule, const ppsched_config *config, struct bytes *bytes)
{
    bool valid = is_valid(schedule);
    ppsched_timeline *timeline = NULL;
    ppsched_error error = fresh_error();
    ppsched_status status = ppsched_schedule_evaluate(&timeline, schedule, config, 0, &error);
    if (accepted(status, &error)) {
        ppsched_metrics metrics = fuzz_metrics(timeline);
        EXPECT(valid);
        expect_timed(schedule, config, timeline, bytes);
        if (computes_only(schedule))
            lower_in_all_paths(schedule, config, &metrics, bytes);
        ppsched_timeline_destroy(timeline);
    } else {
        EXPECT(timeline == NULL);
        EXPECT(status == PPSCHED_ERROR_RANGE || (status == PPSCHED_ERROR_INVALID_SCHEDULE && !valid));
    }
    if (valid && computes_only(schedule) && has_all_rows(schedule))
        expect_round_transfer(schedule, PPSCHED_FORMAT_CSV);
    expect_edges(schedule);
    (void)expect_transfers(schedule, config, bytes);
    launch(schedule, bytes);
    renumber(schedule);
    write_all(schedule, NULL, bytes);
    return valid;
}
