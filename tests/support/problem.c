/* SPDX-License-Identifier: Apache-2.0 */
#include "support/problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void expect_ok(ppsched_status status, const ppsched_error *error)
{
    if (status != PPSCHED_OK)
        fail_msg("%s: %s", ppsched_status_name(status), error != NULL ? error->message : "");
}

ppsched_config *make_config(int64_t devices, int64_t stages, int64_t microbatches)
{
    ppsched_config *config = NULL;
    ppsched_error error;
    expect_ok(ppsched_config_create(&config, devices, stages, microbatches, NULL, &error), &error);
    return config;
}

void set_number(ppsched_config *config, int32_t quantity, double value)
{
    ppsched_error error;
    expect_ok(ppsched_config_set_values(config, quantity, &value, 1, &error), &error);
}

ppsched_schedule *make_schedule(const ppsched_config *config, const char *strategy)
{
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    expect_ok(ppsched_schedule_generate(&schedule, config, strategy, &error), &error);
    return schedule;
}

ppsched_timeline *make_timeline(const ppsched_schedule *schedule, const ppsched_config *config)
{
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    expect_ok(ppsched_schedule_check(NULL, 0, NULL, schedule, &error), &error);
    expect_ok(ppsched_schedule_evaluate(&timeline, schedule, config, 0, &error), &error);
    return timeline;
}

char *queue_text(const ppsched_schedule *schedule, uint32_t device)
{
    size_t count = 0, length = 0;
    const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, device), &count);
    char *text = malloc(count * 40 + 1);
    assert_non_null(text);
    for (size_t i = 0; i < count; i++) {
        int leads = (ops[i].flags & PPSCHED_OP_FLAG_OVERLAPPED) != 0;
        int follows = i > 0 && (ops[i - 1].flags & PPSCHED_OP_FLAG_OVERLAPPED) != 0;
        size_t size = 0;
        if (i > 0)
            text[length++] = follows ? ';' : ' ';
        if (leads)
            text[length++] = '(';
        assert_int_equal(ppsched_op_write_token(text + length, 40, &size, &ops[i], NULL), PPSCHED_OK);
        length += size - 1;
        if (follows)
            length += (size_t)sprintf(text + length, ")OVERLAP_F_B");
    }
    text[length] = '\0';
    return text;
}

char *export_text(const ppsched_schedule *schedule, const ppsched_timeline *timeline, int32_t format,
                  const ppsched_export_options *options)
{
    size_t needed = 0, again = 0;
    ppsched_error error;
    expect_ok(ppsched_schedule_export_to_buffer(NULL, 0, &needed, schedule, timeline, format, options, &error), &error);
    char *text = malloc(needed);
    assert_non_null(text);
    expect_ok(ppsched_schedule_export_to_buffer(text, needed, &again, schedule, timeline, format, options, &error), &error);
    assert_int_equal(needed, again);
    assert_int_equal(strlen(text) + 1, needed);
    return text;
}

ppsched_metrics metrics_of(const ppsched_timeline *timeline)
{
    ppsched_metrics metrics = {.size = sizeof metrics};
    assert_int_equal(ppsched_timeline_get_metrics(&metrics, timeline, NULL), PPSCHED_OK);
    return metrics;
}

ppsched_device_metrics device_metrics_of(const ppsched_timeline *timeline, uint32_t device)
{
    ppsched_device_metrics metrics = {.size = sizeof metrics};
    assert_int_equal(ppsched_timeline_get_device_metrics(&metrics, timeline, device, NULL), PPSCHED_OK);
    return metrics;
}

ppsched_op op_from_token(const char *token)
{
    ppsched_op op = {0};
    char kind[24];
    unsigned stage = 0, microbatch = PPSCHED_NONE, slice = 0;
    int used = 0, end = 0;
    if (sscanf(token, "%u%23[A-Z_]%n%u%n.%u%n", &stage, kind, &used, &microbatch, &end, &slice, &end) < 2 ||
        token[end > used ? end : used] != '\0')
        fail_msg("\"%s\" is no token", token);
    op.slice = (uint16_t)slice;
    op.stage = (uint16_t)stage;
    op.microbatch = microbatch;
    for (int32_t k = 1; ppsched_kind_token(k) != NULL; k++)
        if (strcmp(ppsched_kind_token(k), kind) == 0)
            op.kind = (uint8_t)k;
    assert_int_not_equal(op.kind, 0);
    return op;
}

void append_tokens(ppsched_builder *builder, uint32_t device, const char *const *tokens, size_t count)
{
    ppsched_error error;
    for (size_t i = 0; i < count; i++) {
        ppsched_op op = op_from_token(tokens[i]);
        expect_ok(ppsched_builder_append(builder, device, &op, 1, &error), &error);
    }
}

uint64_t random_next(uint64_t *state)
{
    uint64_t x = *state += 0x9E3779B97F4A7C15u; /* splitmix64 */
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

uint32_t random_below(uint64_t *state, uint32_t bound)
{
    return (uint32_t)(random_next(state) % bound);
}
