/* SPDX-License-Identifier: Apache-2.0 */
#include "support/captured.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void set_placement(const struct golden *g, ppsched_config *config)
{
    static const char *const names[] = {"", "linear", "loop", "v", "bidirectional"};
    ppsched_error error;
    int32_t placement = 1;
    while (placement < 4 && strcmp(g->placement, names[placement]) != 0)
        placement++;
    assert_string_equal(g->placement, names[placement]);
    expect_ok(ppsched_config_set_placement(config, placement, NULL, 0, &error), &error);
}

/* Not SEND_F, RECV_B, REDUCE_GRAD, UNSHARD and so on. */
static int computes(const char *token)
{
    return token[0] == '(' || (strpbrk(token, "_U") == NULL && strstr(token, "RESHARD") == NULL);
}

static void append(ppsched_builder *builder, uint32_t device, char *token)
{
    ppsched_error error;
    ppsched_op ops[2];
    size_t count = 1;
    if (token[0] == '(') { /* (3F0;4B1)OVERLAP_F_B */
        char *second = strchr(token, ';');
        *second++ = '\0';
        *strchr(second, ')') = '\0';
        ops[0] = op_from_token(token + 1);
        ops[0].flags = PPSCHED_OP_FLAG_OVERLAPPED;
        ops[1] = op_from_token(second);
        count = 2;
    } else {
        ops[0] = op_from_token(token);
    }
    expect_ok(ppsched_builder_append(builder, device, ops, count, &error), &error);
}

ppsched_schedule *captured_schedule(const struct golden *g, ppsched_config *config, int computes_only)
{
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    set_placement(g, config);
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    for (uint32_t d = 0; d < (uint32_t)g->devices; d++) {
        char *row = strdup(g->order[d]), *rest = NULL;
        for (char *token = strtok_r(row, " ", &rest); token != NULL; token = strtok_r(NULL, " ", &rest))
            if (!computes_only || computes(token))
                append(builder, d, token);
        free(row);
    }
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    ppsched_builder_destroy(builder);
    return schedule;
}

void expect_captured_near(const struct golden *g, const char *what, double ours, double theirs)
{
    if (fabs(ours - theirs) > 1e-9 * fmax(1, fabs(theirs)))
        fail_msg("%s: %s is %.17g, expected %.17g", g->name, what, ours, theirs);
}

/* The golden files give one time an op or pair. Ops that do not compute take no time with us. */
static void expect_times(const struct golden *g, const ppsched_timeline *timeline, uint32_t d, const char *text, int ends)
{
    size_t count = 0;
    const ppsched_queue *queue = ppsched_schedule_queue(ppsched_timeline_schedule(timeline), d);
    const ppsched_op *ops = ppsched_queue_ops(queue, &count);
    const ppsched_span *spans = ppsched_timeline_spans(timeline, d, NULL);
    for (size_t i = 0; i < count; i += (ops[i].flags & PPSCHED_OP_FLAG_OVERLAPPED) != 0 ? 2 : 1) {
        char *end = NULL;
        double theirs = strtod(text, &end);
        assert_true(end != text);
        if (ops[i].kind <= PPSCHED_KIND_W)
            expect_captured_near(g, ends ? "an end" : "a start", ends ? spans[i].end : spans[i].start, theirs);
        text = end;
    }
    assert_int_equal(text[strspn(text, " ")], '\0');
}

void expect_captured_figures(const struct golden *g, const ppsched_timeline *timeline)
{
    for (uint32_t d = 0; d < (uint32_t)g->devices; d++) {
        if (g->start[d] != NULL)
            expect_times(g, timeline, d, g->start[d], 0);
        if (g->end[d] != NULL)
            expect_times(g, timeline, d, g->end[d], 1);
        if (g->peak[d] >= 0)
            expect_captured_near(g, "peak", device_metrics_of(timeline, d).peak_memory, g->peak[d]);
    }
    if (g->makespan >= 0)
        expect_captured_near(g, "makespan", metrics_of(timeline).makespan, g->makespan);
    if (g->span >= 0)
        expect_captured_near(g, "span", metrics_of(timeline).span, g->span);
}
