/* SPDX-License-Identifier: Apache-2.0 */
#include "support/plan_choice.h"
#include "support/handles.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ir/builder.h"
#include "ir/layers.h"
#include "support/last.h"
#include "support/text_file.h"

/* --- making --- */

static ppsched_schedule *import(const struct handles *handles, const char *csv)
{
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    expect_ok(ppsched_schedule_import(&schedule, PPSCHED_FORMAT_CSV, csv, strlen(csv), &handles->environment, &error), &error);
    return schedule;
}

static void make_configs(struct handles *handles)
{
    const double times[] = {1, 2, 3, 4};
    ppsched_error error;
    expect_ok(ppsched_config_create(&handles->config, 2, 4, 4, &handles->environment, &error), &error);
    expect_ok(ppsched_config_create(&handles->plain, 2, 2, 4, &handles->environment, &error), &error);
    expect_ok(ppsched_config_set_values(handles->config, PPSCHED_QUANTITY_FORWARD_TIMES, times, 4, &error), &error);
    set_number(handles->config, PPSCHED_QUANTITY_MEM_WORK_FORWARD, 0.5);
    expect_ok(ppsched_config_set_option(handles->config, "group_size", "2", &error), &error);
}

static void make_schedules(struct handles *handles)
{
    const ppsched_lower_options options = {.size = sizeof options, .lowering = PPSCHED_LOWERING_PYTORCH};
    ppsched_error error;
    handles->schedule = make_schedule(handles->config, "interleaved_1f1b");
    handles->pipeline = make_schedule(handles->plain, "1f1b");
    expect_ok(ppsched_schedule_lower(&handles->lowered, handles->schedule, handles->config, &options, &error), &error);
    handles->broken = import(handles, "0F0,0B0,0F1\n1B0,1F0,1F3\n");
    handles->hanging = import(handles, "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                                       "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n");
}

static void make_timelines(struct handles *handles)
{
    ppsched_error error;
    handles->timeline = make_timeline(handles->schedule, handles->config);
    handles->piped = make_timeline(handles->pipeline, handles->plain);
    expect_ok(ppsched_schedule_evaluate_transfers(&handles->crossing, handles->lowered, handles->config, NULL, 0, &error),
              &error);
}

static void make_steady(struct handles *handles)
{
    ppsched_config *config = NULL;
    ppsched_error error;
    expect_ok(ppsched_config_with_microbatches(&config, handles->plain, 64, &error), &error);
    expect_ok(ppsched_steady_create(&handles->steady, config, "1f1b", &error), &error);
    ppsched_config_destroy(config);
}

static void make_builder(struct handles *handles)
{
    ppsched_error error;
    expect_ok(ppsched_builder_create(&handles->builder, handles->config, &error), &error);
    expect_ok(ppsched_builder_set_name(handles->builder, "mine", &error), &error);
    for (uint32_t m = 0; m < 4; m++) {
        const ppsched_op op = {.kind = PPSCHED_KIND_F, .microbatch = m};
        expect_ok(ppsched_builder_append(handles->builder, 0, &op, 1, &error), &error);
    }
}

/* Candidates within their limit, over it, and refused. */
static void make_plan(struct handles *handles)
{
    static const char *const strategies[] = {"1f1b", "zbv", "interleaved_1f1b_overlap", "zb_auto"};
    static const uint32_t chunks[] = {1, 2};
    static const double limits[] = {0.5, 3};
    const struct plan_choice options = {.size = sizeof options,
                                        .strategies = strategies,
                                        .strategy_count = 4,
                                        .chunks = chunks,
                                        .chunk_count = 2,
                                        .memory_limits = limits,
                                        .memory_limit_count = 2,
                                        .lowering = PPSCHED_LOWERING_PYTORCH};
    ppsched_error error;
    expect_ok(create_plan(&handles->plan, handles->plain, &options, &error), &error);
    expect_ok(ppsched_plan_evaluate(handles->plan, 0, &error), &error);
}

/* Likewise with layers; the first limit is too small for those that recompute nothing. */
static void make_layered_plan(struct handles *handles)
{
    static const char *const strategies[] = {"1f1b", "interleaved_1f1b", "zb_auto"};
    static const uint32_t chunks[] = {1, 2};
    static const double limits[] = {5, 9};
    const struct plan_choice options = {.size = sizeof options,
                                        .strategies = strategies,
                                        .strategy_count = 3,
                                        .chunks = chunks,
                                        .chunk_count = 2,
                                        .memory_limits = limits,
                                        .memory_limit_count = 2,
                                        .layers = handles->layers,
                                        .runtimes = 2 << PPSCHED_RUNTIME_TORCHTITAN};
    ppsched_error error;
    expect_ok(create_plan(&handles->plan, handles->plain, &options, &error), &error);
    expect_ok(ppsched_plan_evaluate(handles->plan, 0, &error), &error);
}

/* Microbatches that differ, in orders of their own, whole and cut, and scenarios. */
static void make_varied_plan(struct handles *handles)
{
    static const double scale[] = {1, 3, 2, 0.5}, slow[] = {1, 1.5};
    static const char *const strategies[] = {"1f1b", "zb_auto"};
    static const uint32_t chunks[] = {1}, slices[] = {1, 2};
    const ppsched_scenario_options scenarios = {.size = sizeof scenarios, .device_factors = slow, .device_factor_count = 2};
    const struct plan_choice options = {.size = sizeof options,
                                        .strategies = strategies,
                                        .strategy_count = 2,
                                        .chunks = chunks,
                                        .chunk_count = 1,
                                        .slices = slices,
                                        .slice_count = 2,
                                        .order_effort = 1,
                                        .slice_time = 0.125,
                                        .attention_share = 0.25,
                                        .scenario_options = &scenarios,
                                        .scenario_count = 5,
                                        .rank_by = PPSCHED_RANK_BY_WORST};
    ppsched_error error;
    expect_ok(ppsched_config_set_values(handles->plain, PPSCHED_QUANTITY_MICROBATCH_SCALE, scale, 4, &error), &error);
    expect_ok(create_plan(&handles->plan, handles->plain, &options, &error), &error);
    expect_ok(ppsched_plan_evaluate(handles->plan, 0, &error), &error);
}

/* Devices that differ, in orders of their own. */
static void make_ordered_plan(struct handles *handles)
{
    static const double speeds[] = {0.5, 1}, slow[] = {1, 1.5};
    static const char *const strategies[] = {"1f1b", "zb_auto"};
    static const uint32_t chunks[] = {1};
    const ppsched_scenario_options scenarios = {.size = sizeof scenarios, .device_factors = slow, .device_factor_count = 2};
    const struct plan_choice options = {.size = sizeof options,
                                        .strategies = strategies,
                                        .strategy_count = 2,
                                        .chunks = chunks,
                                        .chunk_count = 1,
                                        .layers = handles->layers,
                                        .free_device_order = 1,
                                        .scenario_options = &scenarios,
                                        .scenario_count = 5,
                                        .rank_by = PPSCHED_RANK_BY_WORST};
    ppsched_error error;
    expect_ok(ppsched_config_set_values(handles->plain, PPSCHED_QUANTITY_DEVICE_SPEEDS, speeds, 2, &error), &error);
    expect_ok(create_plan(&handles->plan, handles->plain, &options, &error), &error);
    expect_ok(ppsched_plan_evaluate(handles->plan, 0, &error), &error);
}

static void make_layer_list(struct handles *handles)
{
    static const ppsched_recompute kinds[] = {{"selective", 0.25, 0.5}, {"full", 1, 0}};
    const ppsched_layer first = {.size = sizeof first, .name = "embedding", .place = PPSCHED_LAYER_PLACE_FIRST},
                        layer = {.size = sizeof layer,
                                 .name = "decoder",
                                 .count = 4,
                                 .forward_time = 1,
                                 .backward_time = 2,
                                 .mem_forward = 1,
                                 .mem_static = 1,
                                 .recomputes = kinds,
                                 .recompute_count = 2},
                        last = {.size = sizeof last, .name = "head", .place = PPSCHED_LAYER_PLACE_LAST, .mem_static = 1};
    const ppsched_layer *const list[] = {&first, &layer, &last};
    ppsched_error error;
    expect_ok(ppsched_layers_create(&handles->layers, list, 3, &handles->environment, &error), &error);
}

static void make_replan(struct handles *handles)
{
    static const uint32_t split[] = {3, 1, 1, 1};
    static const double speeds[] = {1, 0.5}, bytes[] = {1, 2, 3, 4, 5, 6};
    const ppsched_replan_options options = {.size = sizeof options,
                                            .strategy = "zbv",
                                            .layers = handles->layers,
                                            .running_split = split,
                                            .running_stages = 4,
                                            .layer_bytes = bytes,
                                            .layer_count = 6};
    ppsched_config *config = NULL;
    ppsched_error error;
    expect_ok(ppsched_config_copy(&config, handles->plain, &error), &error);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_DEVICE_SPEEDS, speeds, 2, &error), &error);
    expect_ok(ppsched_replan_create(&handles->replan, config, &options, &error), &error);
    ppsched_config_destroy(config);
}

static void make_replicas(struct handles *handles)
{
    const ppsched_replicas_options options = {
        .size = sizeof options, .microbatches = 5, .strategy = "1f1b", .layers = handles->layers};
    const ppsched_config *const configs[] = {handles->plain, handles->plain};
    ppsched_error error;
    expect_ok(ppsched_replicas_create(&handles->replicas, configs, 2, &options, &error), &error);
}

static void make_layout(struct handles *handles)
{
    static const ppsched_layout_stage stages[] = {{1, 3, 0, 0}, {0, 5, 0, 0}, {0, 0, 0, 0}, {0, 4, 0, 1}};
    ppsched_error error;
    expect_ok(ppsched_layout_create(&handles->layout, 2, stages, 4, &handles->environment, &error), &error);
}

static void fill_handles(struct handles *handles, int with_plan)
{
    handles->environment = failing_environment(&handles->host);
    make_configs(handles);
    make_schedules(handles);
    make_timelines(handles);
    make_steady(handles);
    make_builder(handles);
    make_layout(handles);
    make_layer_list(handles);
    make_replan(handles);
    make_replicas(handles);
    if (with_plan == 1)
        make_plan(handles);
    else if (with_plan == 2)
        make_layered_plan(handles);
    else if (with_plan == 3)
        make_varied_plan(handles);
    else if (with_plan == 4)
        make_ordered_plan(handles);
}

void make_handles(struct handles *handles, int with_plan)
{
    *handles = (struct handles){.host = {.until_failure = -1}};
    fill_handles(handles, with_plan);
}

void make_guarded_handles(struct handles *handles, int with_plan)
{
    *handles = (struct handles){.host = {.until_failure = -1, .is_guarded = 1}};
    fill_handles(handles, with_plan);
}

void destroy_handles(struct handles *handles)
{
    ppsched_plan_destroy(handles->plan);
    ppsched_replan_destroy(handles->replan);
    ppsched_replicas_destroy(handles->replicas);
    ppsched_layers_release(handles->layers);
    ppsched_layout_destroy(handles->layout);
    ppsched_builder_destroy(handles->builder);
    ppsched_steady_destroy(handles->steady);
    ppsched_timeline_destroy(handles->crossing);
    ppsched_timeline_destroy(handles->piped);
    ppsched_timeline_destroy(handles->timeline);
    ppsched_schedule_release(handles->hanging);
    ppsched_schedule_release(handles->broken);
    ppsched_schedule_release(handles->pipeline);
    ppsched_schedule_release(handles->lowered);
    ppsched_schedule_release(handles->schedule);
    ppsched_config_destroy(handles->plain);
    ppsched_config_destroy(handles->config);
    assert_int_equal(handles->host.live, 0);
}

/* --- printing: numbers to the last bit --- */

static void print_map(FILE *file, const uint32_t *map, size_t count)
{
    for (size_t i = 0; map != NULL && i < count; i++)
        fprintf(file, " %" PRIu32, map[i]);
    fprintf(file, "\n");
}

void print_config(FILE *file, const ppsched_config *config)
{
    fprintf(file, "config %u %u %u %u placement %d versions %u", ppsched_config_devices(config), ppsched_config_stages(config),
            ppsched_config_microbatches(config), ppsched_config_iterations(config), ppsched_config_placement(config),
            config->weight_versions);
    print_map(file, config->map, ppsched_config_stages(config));
    for (int32_t q = 1; q <= LAST_QUANTITY; q++) {
        size_t count = 0;
        const double *values = ppsched_config_values(config, q, &count);
        for (size_t i = 0; i < count; i++)
            fprintf(file, "%s %a\n", ppsched_quantity_name(q), values[i]);
    }
    for (size_t i = 0; i < config->option_count; i++)
        fprintf(file, "option %s %s\n", config->options[i].name, config->options[i].value);
}

static void print_ops(FILE *file, const ppsched_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fprintf(file, " %u%s%" PRIu32 ":%u", ops[i].stage, ppsched_kind_token(ops[i].kind), ops[i].microbatch, ops[i].flags);
    fprintf(file, "\n");
}

void print_builder(FILE *file, const ppsched_builder *builder)
{
    fprintf(file, "builder %s flushes %d versions %u placement %d", builder->name, builder->flushes, builder->weight_versions,
            builder->placement.kind);
    print_map(file, builder->placement.device_of, (size_t)builder->placement.copies * builder->shape.stages);
    for (uint32_t d = 0; d < builder->shape.devices; d++)
        print_ops(file, builder->segments[d].ops, builder->segments[d].count);
}

void print_schedule(FILE *file, const ppsched_schedule *schedule)
{
    fprintf(file, "schedule %s %u %u %u %u flushes %u versions %u placement %d references %u\n",
            ppsched_schedule_name(schedule), ppsched_schedule_devices(schedule), ppsched_schedule_stages(schedule),
            ppsched_schedule_microbatches(schedule), ppsched_schedule_iterations(schedule), ppsched_schedule_flushes(schedule),
            ppsched_schedule_weight_versions(schedule), ppsched_schedule_placement(schedule),
            atomic_load(&schedule->references));
    for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++) {
        size_t count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &count);
        print_ops(file, ops, count);
    }
}

void print_timeline(FILE *file, const ppsched_timeline *timeline)
{
    ppsched_metrics metrics = metrics_of(timeline);
    fprintf(file, "timeline %a %a %a %u\n", metrics.makespan, metrics.span, metrics.peak_memory, metrics.limit_device);
    print_schedule(file, ppsched_timeline_schedule(timeline));
    for (uint32_t d = 0; d < ppsched_schedule_devices(ppsched_timeline_schedule(timeline)); d++) {
        ppsched_device_metrics device = device_metrics_of(timeline, d);
        ppsched_idle idle = {.size = sizeof idle};
        size_t count = 0;
        const ppsched_span *spans = ppsched_timeline_spans(timeline, d, &count);
        const double *latest = ppsched_timeline_latest_starts(timeline, d, NULL);
        for (size_t i = 0; i < count; i++)
            fprintf(file, "%a %a %a\n", spans[i].start, spans[i].end, latest != NULL ? latest[i] : -1);
        if (ppsched_timeline_get_idle(&idle, timeline, d, NULL) == PPSCHED_OK)
            fprintf(file, "idle %a %a %a %a %a\n", idle.fill, idle.drain, idle.neighbour, idle.imbalance, idle.transfer);
        fprintf(file, "busy %a peak %a at %a\n", device.busy, device.peak_memory, device.peak_time);
    }
}

void print_layout(FILE *file, const ppsched_layout *layout)
{
    char text[256];
    size_t count = 0;
    const ppsched_layout_stage *stages = ppsched_layout_stages(layout, &count);
    const uint32_t *offsets = ppsched_layout_offsets(layout, NULL);
    assert_int_equal(ppsched_layout_write_text(text, sizeof text, NULL, layout, NULL), PPSCHED_OK);
    fprintf(file, "layout %u %u %s\n", ppsched_layout_devices(layout), ppsched_layout_chunks(layout), text);
    for (size_t s = 0; s < count; s++)
        fprintf(file, "%u: %u %u %u %u\n", offsets[s], stages[s].embeddings, stages[s].decoders, stages[s].mtps,
                stages[s].heads);
}

void print_layers(FILE *file, const ppsched_layers *layers)
{
    fprintf(file, "layers %u references %u\n", ppsched_layers_count(layers), atomic_load(&layers->references));
    for (uint32_t e = 0; e < ppsched_layers_entries(layers); e++) {
        ppsched_layer own = {.size = sizeof own};
        assert_int_equal(ppsched_layers_get_entry(&own, layers, e, NULL), PPSCHED_OK);
        fprintf(file, "%s %u %d %u %a %a %a\n", own.name, own.count, own.place, own.flags, own.forward_time,
                own.backward_weight_time, own.mem_backward_weight);
        for (uint32_t k = 0; k < own.recompute_count; k++)
            fprintf(file, "%s %a\n", own.recomputes[k].name, own.recomputes[k].time);
    }
}

void print_plan(FILE *file, const ppsched_plan *plan, int with_figures)
{
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++) {
        ppsched_candidate own = {.size = sizeof own};
        assert_int_equal(ppsched_plan_get_candidate(&own, plan, i, NULL), PPSCHED_OK);
        fprintf(file, "candidate %u %s %u %u %u %d %a\n", own.rank, own.strategy, own.stages, own.microbatches, own.group_size,
                own.placement, own.memory_limit);
        if (with_figures)
            fprintf(file, "%d %s %u %a %a %a %a %a\n", own.status, own.reason != NULL ? own.reason : "", own.evaluated,
                    own.step_time, own.makespan, own.peak_memory, own.bound, own.bytes);
    }
}

char *handles_text(const struct handles *handles)
{
    const ppsched_schedule *schedules[] = {handles->schedule, handles->lowered, handles->pipeline, handles->broken,
                                           handles->hanging};
    struct text_file text;
    FILE *file = open_text(&text);
    print_config(file, handles->config);
    print_config(file, handles->plain);
    for (size_t i = 0; i < sizeof schedules / sizeof schedules[0]; i++)
        print_schedule(file, schedules[i]);
    print_timeline(file, handles->timeline);
    print_timeline(file, handles->piped);
    print_timeline(file, handles->crossing);
    print_builder(file, handles->builder);
    print_layout(file, handles->layout);
    print_layers(file, handles->layers);
    if (handles->plan != NULL)
        print_plan(file, handles->plan, 1);
    return close_text(&text);
}
