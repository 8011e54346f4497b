/* SPDX-License-Identifier: Apache-2.0 */
#include "portability/results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "portability/fold.h"
#include "support/last.h"

void results_start(struct results *results)
{
    for (int part = 0; part < PART_COUNT; part++)
        results->part[part] = FOLD_START;
}

const char *part_name(enum part part)
{
    static const char *const names[] = {"schedule",  "times",   "memory", "explain", "lowering",
                                        "transfers", "formats", "launch", "network"};
    return names[part];
}

static void *room(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (memory == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    return memory;
}

int fold_outcome(uint64_t *digest, ppsched_status status, const ppsched_error *error)
{
    fold_integer(digest, (uint64_t)status);
    if (status == PPSCHED_OK)
        return 1;
    fold_integer(digest, error->device);
    fold_integer(digest, error->stage);
    fold_integer(digest, error->microbatch);
    fold_integer(digest, error->position);
    fold_text(digest, error->message, strlen(error->message));
    return 0;
}

static void fold_op(uint64_t *digest, const ppsched_op *op)
{
    fold_integer(digest, op->microbatch);
    fold_integer(digest, op->stage);
    fold_integer(digest, op->slice);
    fold_integer(digest, op->kind);
    fold_integer(digest, op->flags);
}

void fold_schedule(uint64_t *digest, const ppsched_schedule *schedule)
{
    const char *name = ppsched_schedule_name(schedule);
    fold_text(digest, name, strlen(name));
    fold_integer(digest, ppsched_schedule_devices(schedule));
    fold_integer(digest, ppsched_schedule_stages(schedule));
    fold_integer(digest, ppsched_schedule_microbatches(schedule));
    fold_integer(digest, ppsched_schedule_iterations(schedule));
    fold_integer(digest, (uint64_t)ppsched_schedule_placement(schedule));
    fold_integer(digest, ppsched_schedule_flushes(schedule));
    fold_integer(digest, ppsched_schedule_weight_versions(schedule));
    for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++) {
        size_t count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &count);
        fold_integer(digest, count);
        for (size_t i = 0; i < count; i++)
            fold_op(digest, &ops[i]);
    }
}

static void fold_figures(uint64_t *digest, const ppsched_timeline *timeline)
{
    ppsched_metrics m = {.size = sizeof m};
    fold_integer(digest, (uint64_t)ppsched_timeline_get_metrics(&m, timeline, NULL));
    fold_integer(digest, m.span_device);
    fold_integer(digest, m.peak_device);
    fold_integer(digest, m.limit_device);
    fold_numbers(digest, (double[]){m.makespan, m.span, m.bubble_of_total, m.bubble_of_ideal, m.bubble_of_span, m.peak_memory},
                 6);
}

static void fold_device(uint64_t *digest, const ppsched_timeline *timeline, uint32_t device)
{
    ppsched_device_metrics m = {.size = sizeof m};
    ppsched_idle idle = {.size = sizeof idle};
    fold_integer(digest, (uint64_t)ppsched_timeline_get_device_metrics(&m, timeline, device, NULL));
    fold_integer(digest, m.peak_position);
    fold_numbers(
        digest,
        (double[]){m.busy, m.idle, m.first_start, m.last_end, m.static_memory, m.peak_memory, m.peak_time, m.memory_limit}, 8);
    fold_integer(digest, (uint64_t)ppsched_timeline_get_idle(&idle, timeline, device, NULL));
    fold_numbers(digest,
                 (double[]){idle.fill, idle.drain, idle.neighbour, idle.imbalance, idle.transfer, idle.link, idle.head_of_line},
                 7);
    if (idle.calls > 0)
        fold_numbers(digest, &idle.calls, 1);
}

static void fold_memory(uint64_t *digest, const ppsched_timeline *timeline, uint32_t device)
{
    size_t count = 0;
    ppsched_timeline_get_memory(NULL, 0, &count, timeline, device, NULL);
    ppsched_memory_point *points = room(count, sizeof *points);
    fold_integer(digest, (uint64_t)ppsched_timeline_get_memory(points, count, &count, timeline, device, NULL));
    for (size_t i = 0; i < count; i++)
        fold_numbers(digest, (double[]){points[i].time, points[i].memory}, 2);
    free(points);
}

void fold_timeline(uint64_t *times, uint64_t *memory, const ppsched_timeline *timeline)
{
    fold_figures(times, timeline);
    for (uint32_t d = 0; d < ppsched_schedule_devices(ppsched_timeline_schedule(timeline)); d++) {
        size_t count = 0, latest_count = 0;
        const ppsched_span *spans = ppsched_timeline_spans(timeline, d, &count);
        const double *latest = ppsched_timeline_latest_starts(timeline, d, &latest_count);
        for (size_t i = 0; i < count; i++)
            fold_numbers(times, (double[]){spans[i].start, spans[i].end}, 2);
        fold_numbers(times, latest, latest != NULL ? latest_count : 0);
        fold_device(times, timeline, d);
        fold_memory(memory, timeline, d);
    }
}

static void fold_critical_path(uint64_t *digest, const ppsched_timeline *timeline)
{
    size_t count = 0;
    ppsched_error error;
    ppsched_timeline_get_critical_path(NULL, 0, &count, timeline, NULL);
    ppsched_critical_op *path = room(count, sizeof *path);
    fold_outcome(digest, ppsched_timeline_get_critical_path(path, count, &count, timeline, &error), &error);
    for (size_t i = 0; i < count; i++) {
        fold_integer(digest, path[i].device);
        fold_integer(digest, path[i].position);
        fold_op(digest, &path[i].op);
        fold_integer(digest, path[i].reason);
        fold_numbers(digest, (double[]){path[i].start, path[i].end}, 2);
    }
    free(path);
}

static void fold_explanation(uint64_t *digest, const ppsched_timeline *timeline)
{
    const ppsched_schedule *schedule = ppsched_timeline_schedule(timeline);
    uint32_t devices = ppsched_schedule_devices(schedule), stages = ppsched_schedule_stages(schedule);
    double *slack = room((size_t)devices + stages, sizeof *slack);
    ppsched_sensitivity *sensitivities = room(stages, sizeof *sensitivities);
    ppsched_error error;
    fold_critical_path(digest, timeline);
    ppsched_status slack_status = ppsched_timeline_get_device_slack(slack, devices, NULL, timeline, &error);
    if (slack_status == PPSCHED_OK)
        slack_status = ppsched_timeline_get_stage_slack(slack + devices, stages, NULL, timeline, &error);
    fold_outcome(digest, slack_status, &error);
    fold_numbers(digest, slack, (size_t)devices + stages);
    for (int32_t objective = PPSCHED_OBJECTIVE_SPAN; objective <= PPSCHED_OBJECTIVE_MAKESPAN; objective++)
        for (int32_t kind = 0; kind <= PPSCHED_KIND_W; kind++) {
            ppsched_status status = ppsched_timeline_get_sensitivities(sensitivities, stages, NULL, timeline, objective, kind,
                                                                       NULL, NULL, &error);
            fold_outcome(digest, status, &error);
            for (uint32_t s = 0; s < stages; s++)
                fold_numbers(digest, (double[]){sensitivities[s].more, sensitivities[s].less}, 2);
        }
    free(sensitivities);
    free(slack);
}

static void fold_buffers(uint64_t *digest, const ppsched_schedule *lowered)
{
    ppsched_error error;
    size_t count = 0;
    ppsched_schedule_get_links(NULL, 0, &count, lowered, NULL);
    ppsched_link *edges = room(count, sizeof *edges);
    fold_outcome(digest, ppsched_schedule_get_links(edges, count, &count, lowered, &error), &error);
    for (size_t i = 0; i < count; i++) {
        fold_integer(digest, edges[i].sender);
        fold_integer(digest, edges[i].receiver);
        fold_integer(digest, edges[i].transfers);
        fold_integer(digest, edges[i].most_in_flight);
    }
    free(edges);
    for (uint32_t d = 0; d < ppsched_schedule_devices(lowered); d++) {
        uint32_t slots = 0;
        ppsched_queue_ops(ppsched_schedule_queue(lowered, d), &count);
        ppsched_op_buffer *buffers = room(count, sizeof *buffers);
        fold_outcome(digest, ppsched_schedule_get_buffers(buffers, count, NULL, &slots, lowered, d, &error), &error);
        fold_integer(digest, slots);
        for (size_t i = 0; i < count; i++) {
            fold_integer(digest, buffers[i].slot);
            fold_integer(digest, buffers[i].until);
        }
        free(buffers);
    }
}

/* Where a model can hang, the circle. */
static void fold_proof(uint64_t *digest, const ppsched_schedule *lowered, const ppsched_channel_model *model)
{
    ppsched_wait cycle[16];
    ppsched_error error;
    size_t count = 0;
    fold_outcome(digest, ppsched_schedule_prove(cycle, 16, &count, lowered, model, &error), &error);
    fold_integer(digest, count);
    for (size_t i = 0; i < count && i < 16; i++) {
        fold_integer(digest, cycle[i].device);
        fold_integer(digest, cycle[i].position);
        fold_op(digest, &cycle[i].op);
    }
}

static int32_t fold_bytes(void *user, const char *data, size_t size)
{
    fold_text(user, data, size);
    return 0;
}

/* Traces, as a device sends one message at a time, or with links of their own. */
static void add_network(struct results *results, const ppsched_schedule *lowered, const ppsched_config *config, int turn)
{
    static const ppsched_channel_model model = {.size = sizeof model, .order = PPSCHED_CHANNEL_ORDER_SENDS};
    const ppsched_chakra_options options = {.size = sizeof options,
                                            .sizes = turn % 3 > 0,
                                            .links = turn % 3 > 1,
                                            .time_scale = 1e3 / 7,
                                            .memory_scale = turn % 2,
                                            .most_loss = 1};
    uint64_t *digest = &results->part[PART_NETWORK];
    ppsched_timeline *timeline = NULL;
    ppsched_chakra *chakra = NULL;
    ppsched_error error;
    fold_proof(digest, lowered, &model);
    if (fold_outcome(digest, ppsched_schedule_evaluate_transfers(&timeline, lowered, config, &model, 0, &error), &error))
        fold_timeline(digest, digest, timeline);
    if (fold_outcome(digest, ppsched_chakra_create(&chakra, lowered, config, &options, &error), &error))
        for (uint32_t rank = 0; rank < ppsched_chakra_ranks(chakra); rank++)
            fold_outcome(digest, ppsched_chakra_export(chakra, rank, fold_bytes, digest, &error), &error);
    ppsched_chakra_destroy(chakra);
    ppsched_timeline_destroy(timeline);
}

static void add_transfers(struct results *results, const ppsched_schedule *lowered, const ppsched_config *config)
{
    static const ppsched_channel_model models[] = {
        {.size = sizeof *models, .order = PPSCHED_CHANNEL_ORDER_NONE},
        {.size = sizeof *models, .order = PPSCHED_CHANNEL_ORDER_PAIR, .rendezvous = 1},
        {.size = sizeof *models, .order = PPSCHED_CHANNEL_ORDER_DIRECTION, .batched = 1},
        {.size = sizeof *models, .rendezvous = 1, .batched = 1, .blocking = 1},
    };
    uint64_t *digest = &results->part[PART_TRANSFERS];
    ppsched_error error;
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
        ppsched_timeline *timeline = NULL;
        fold_proof(&results->part[PART_LOWERING], lowered, &models[m]);
        if (fold_outcome(digest, ppsched_schedule_evaluate_transfers(&timeline, lowered, config, &models[m], 0, &error),
                         &error))
            fold_timeline(digest, digest, timeline);
        ppsched_timeline_destroy(timeline);
    }
}

static void fold_export(uint64_t *digest, const ppsched_schedule *schedule, const ppsched_timeline *timeline, int32_t format)
{
    static const ppsched_export_options options = {.size = sizeof options, .time_scale = 1e3 / 7};
    ppsched_schedule *again = NULL;
    ppsched_error error;
    size_t size = 0;
    ppsched_status status = ppsched_schedule_export_to_buffer(NULL, 0, &size, schedule, timeline, format, &options, &error);
    if (!fold_outcome(digest, status, &error))
        return;
    char *text = room(size, 1);
    fold_outcome(digest, ppsched_schedule_export_to_buffer(text, size, &size, schedule, timeline, format, &options, &error),
                 &error);
    size--; /* without the NUL */
    fold_text(digest, text, size);
    if ((format == PPSCHED_FORMAT_CSV || format == PPSCHED_FORMAT_JSON) &&
        fold_outcome(digest, ppsched_schedule_import(&again, format, text, size, NULL, &error), &error))
        fold_schedule(digest, again);
    ppsched_schedule_release(again);
    free(text);
}

static void fold_launch(uint64_t *digest, const ppsched_schedule *schedule)
{
    ppsched_error error;
    char line[4096];
    for (int32_t runtime = 1; ppsched_runtime_name(runtime) != NULL; runtime++) {
        size_t size = 0;
        ppsched_status status = ppsched_schedule_write_launch_arguments(line, sizeof line, &size, schedule, runtime, NULL,
                                                                        &error);
        if (fold_outcome(digest, status, &error))
            fold_text(digest, line, size - 1);
    }
}

/* Lowers it in one of the ways, by turn. */
static void add_lowered(struct results *results, const ppsched_schedule *schedule, const ppsched_config *config, int turn)
{
    static const ppsched_lower_options paths[] = {
        {.size = sizeof *paths, .lowering = PPSCHED_LOWERING_NONE, .split_backwards = 1, .unshard = 2, .reduce_grad = 1},
        {.size = sizeof *paths, .lowering = PPSCHED_LOWERING_PYTORCH, .merge_backwards = 1, .unshard = 3, .reduce_grad = 1},
        {.size = sizeof *paths, .lowering = PPSCHED_LOWERING_PYTORCH, .defer_receives = 1},
        {.size = sizeof *paths, .lowering = PPSCHED_LOWERING_BY_TIME},
        {.size = sizeof *paths, .lowering = PPSCHED_LOWERING_JUST_IN_TIME},
    };
    const ppsched_lower_options *path = &paths[(size_t)turn % (sizeof paths / sizeof paths[0])];
    uint64_t *digest = &results->part[PART_LOWERING];
    ppsched_schedule *lowered = NULL;
    ppsched_error error;
    if (fold_outcome(digest, ppsched_schedule_lower(&lowered, schedule, config, path, &error), &error)) {
        fold_schedule(digest, lowered);
        fold_buffers(digest, lowered);
        add_transfers(results, lowered, config);
        add_network(results, lowered, config, turn);
        fold_export(&results->part[PART_FORMATS], lowered, NULL, turn % 2 != 0 ? PPSCHED_FORMAT_CSV : PPSCHED_FORMAT_JSON);
    }
    ppsched_schedule_release(lowered);
}

void results_add(struct results *results, const ppsched_config *config, const char *strategy, int turn)
{
    ppsched_schedule *schedule = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    if (fold_outcome(&results->part[PART_SCHEDULE], ppsched_schedule_generate(&schedule, config, strategy, &error), &error)) {
        fold_schedule(&results->part[PART_SCHEDULE], schedule);
        fold_outcome(&results->part[PART_SCHEDULE], ppsched_schedule_check(NULL, 0, NULL, schedule, &error), &error);
        if (fold_outcome(&results->part[PART_TIMES], ppsched_schedule_evaluate(&timeline, schedule, config, 0, &error),
                         &error)) {
            fold_timeline(&results->part[PART_TIMES], &results->part[PART_MEMORY], timeline);
            fold_explanation(&results->part[PART_EXPLAIN], timeline);
            fold_export(&results->part[PART_FORMATS], schedule, timeline, PPSCHED_FORMAT_TEXT + turn % LAST_FORMAT);
        }
        fold_launch(&results->part[PART_LAUNCH], schedule);
        add_lowered(results, schedule, config, turn);
    }
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
}
