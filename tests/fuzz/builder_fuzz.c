/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules of the caller's own: a script of calls on a builder, with ops that fit and ops that do not; then all that can be
 * done with what comes out, as schedule.h says. */
#include "fuzz/problem.h"
#include "fuzz/schedule.h"
#include "support/last.h"

#include <string.h>

enum { LARGEST_TEXT = 40, MOST_MICROBATCHES = 12, MOST_READY = 4 * LARGEST_STAGES * MOST_MICROBATCHES };
enum { MOST_CALLS = 600, MOST_SCHEDULES = 3 }; /* of an input, which so takes milliseconds */

/* A builder, and what has been put there in an order that can be run. */
struct script {
    struct bytes bytes;
    struct meter meter;
    ppsched_config *config;
    ppsched_builder *builder;
    const ppsched_schedule *places; /* an empty schedule, which knows where stages are */
    uint32_t stages, total;         /* microbatches of all iterations */
    uint32_t appended, calls, schedules;
    bool done[PPSCHED_KIND_W + 1][LARGEST_STAGES][MOST_MICROBATCHES];
};

/* Appends ops; where they are refused the builder must have stayed as it was, which what is finished shows. */
static bool append(struct script *script, uint32_t device, const ppsched_op *ops, size_t count)
{
    ppsched_error error = fresh_error();
    ppsched_status status = ppsched_builder_append(script->builder, device, ops, count, &error);
    EXPECT(status == PPSCHED_OK || status == PPSCHED_ERROR_ARGUMENT || status == PPSCHED_ERROR_RANGE);
    if (!accepted(status, &error))
        return false;
    script->appended += (uint32_t)count;
    return true;
}

/* --- ops whose inputs are there --- */

static bool is_ready(const struct script *script, uint32_t kind, uint32_t s, uint32_t m)
{
    bool has_backward = script->done[PPSCHED_KIND_B][s][m] || script->done[PPSCHED_KIND_I][s][m];
    bool is_last = s + 1 == script->stages;
    switch (kind) {
    case PPSCHED_KIND_F:
        return !script->done[kind][s][m] && (s == 0 || script->done[kind][s - 1][m]);
    case PPSCHED_KIND_W:
        return !script->done[kind][s][m] && script->done[PPSCHED_KIND_I][s][m];
    default:
        return !has_backward && script->done[PPSCHED_KIND_F][s][m] &&
               (is_last || script->done[PPSCHED_KIND_B][s + 1][m] || script->done[PPSCHED_KIND_I][s + 1][m]);
    }
}

/* Lists the ready ops of the first iteration that is not complete; of one device, or of all where that is PPSCHED_NONE. */
static size_t list_ready(const struct script *script, uint32_t first_kind, uint32_t last_kind, uint32_t device,
                         ppsched_op *ready)
{
    uint32_t m = ppsched_config_microbatches(script->config);
    size_t count = 0;
    for (uint32_t from = 0; from < script->total && count == 0; from += m)
        for (uint32_t kind = first_kind; kind <= last_kind; kind++)
            for (uint32_t s = 0; s < script->stages; s++)
                for (uint32_t i = from; i < from + m; i++)
                    if (is_ready(script, kind, s, i) &&
                        (device == PPSCHED_NONE || ppsched_schedule_device_of(script->places, s, i) == device))
                        ready[count++] = (ppsched_op){.kind = (uint8_t)kind, .stage = (uint16_t)s, .microbatch = i};
    return count;
}

/* Puts an op that is ready, or a pair; false where all are there. */
static bool put_ready(struct script *script)
{
    ppsched_op ready[MOST_READY], ops[2];
    uint32_t choice = take_u8(&script->bytes);
    size_t count = list_ready(script, PPSCHED_KIND_F, PPSCHED_KIND_W, PPSCHED_NONE, ready), length = 1;
    if (count == 0)
        return false;
    ops[0] = ready[choice % count];
    uint32_t device = ppsched_schedule_device_of(script->places, ops[0].stage, ops[0].microbatch);
    if (ops[0].kind == PPSCHED_KIND_F && choice >= 128) {
        count = list_ready(script, PPSCHED_KIND_B, PPSCHED_KIND_I, device, ready);
        uint32_t iteration = ppsched_config_microbatches(script->config);
        if (count > 0 && ready[choice % count].microbatch / iteration == ops[0].microbatch / iteration) {
            ops[0].flags = PPSCHED_OP_FLAG_OVERLAPPED;
            ops[length++] = ready[choice % count];
        }
    }
    for (size_t i = 0; i < length; i++)
        script->done[ops[i].kind][ops[i].stage][ops[i].microbatch] = true;
    return append(script, device, ops, length);
}

/* --- the script --- */

static void put_any(struct script *script)
{
    struct bytes *bytes = &script->bytes;
    ppsched_op ops[4];
    uint32_t device = take_below(bytes, ppsched_config_devices(script->config) + 1);
    uint32_t form = take_u8(bytes), count = 1 + form % 4;
    memset(ops, 0, sizeof ops);
    for (uint32_t i = 0; i < count; i++) {
        ops[i].kind = (uint8_t)take_below(bytes, LAST_KIND + 2);
        ops[i].stage = (uint16_t)take_below(bytes, script->stages + 1);
        ops[i].microbatch = take_below(bytes, script->total + 2);
        if (ops[i].microbatch == script->total)
            ops[i].microbatch = PPSCHED_NONE;
        ops[i].flags = form >= 192 ? (uint8_t)take_below(bytes, 3) : 0;
        ops[i].slice = form >= 240 ? take_u8(bytes) : 0;
        ops[i].reserved = form >= 248 ? take_u8(bytes) : 0;
    }
    (void)append(script, device, form == 255 ? NULL : ops, count);
}

/* Makes the schedule, which empties the builder, and does everything with it. */
static void finish(struct script *script)
{
    ppsched_schedule *schedule = NULL;
    ppsched_error error = fresh_error();
    ppsched_status status = ppsched_builder_finish(&schedule, script->builder, &error);
    EXPECT(status == PPSCHED_OK || status == PPSCHED_ERROR_INVALID_SCHEDULE);
    if (!accepted(status, &error)) {
        EXPECT(schedule == NULL);
        return;
    }
    EXPECT(ppsched_schedule_op_count(schedule) == script->appended);
    expect_sound(schedule, script->config, &script->bytes);
    ppsched_schedule_release(schedule);
    script->schedules++;
    script->appended = 0;
    memset(script->done, 0, sizeof script->done);
}

static void call_something(struct script *script)
{
    char name[LARGEST_TEXT];
    ppsched_error error = fresh_error();
    uint8_t code = take_u8(&script->bytes);
    switch (code % 32) {
    case 0:
        accepted(ppsched_builder_set_name(script->builder, take_text(&script->bytes, name, sizeof name), &error), &error);
        return;
    case 1:
        accepted(ppsched_builder_set_flushes(script->builder, take_u8(&script->bytes), &error), &error);
        return;
    case 2:
        accepted(ppsched_builder_set_weight_versions(script->builder, (uint32_t)take_integer(&script->bytes), &error), &error);
        return;
    case 3:
        finish(script);
        return;
    case 4:
    case 5:
        put_any(script);
        return;
    case 6:
        while (put_ready(script)) {
        }
        return;
    default:
        put_ready(script);
        return;
    }
}

static void run_script(struct script *script)
{
    ppsched_error error = fresh_error();
    ppsched_schedule *places = NULL;
    EXPECT(accepted(ppsched_builder_finish(&places, script->builder, &error), &error));
    script->places = places;
    script->stages = ppsched_config_stages(script->config);
    script->total = ppsched_config_microbatches(script->config) * ppsched_config_iterations(script->config);
    while (script->bytes.left > 0 && script->calls++ < MOST_CALLS && script->schedules < MOST_SCHEDULES)
        call_something(script);
    if (script->schedules < MOST_SCHEDULES)
        finish(script);
    ppsched_schedule_release(places);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct largest largest = {4, 3, MOST_MICROBATCHES / 2, 2};
    static struct script script;
    ppsched_error error = fresh_error();
    memset(&script, 0, sizeof script);
    script.bytes = (struct bytes){data, size};
    script.config = take_problem(&script.bytes, &largest, &script.meter);
    if (accepted(ppsched_builder_create(&script.builder, script.config, &error), &error))
        run_script(&script);
    ppsched_builder_destroy(script.builder);
    ppsched_config_destroy(script.config);
    EXPECT(script.meter.used == 0);
    return 0;
}
