/* SPDX-License-Identifier: Apache-2.0 */
/* Configs: any calls in any order with any values, and with allocations that fail. A refused call leaves the config as it was,
 * and nothing behind; a copy is equal; what is made of a config that validates does so too. */
#include "fuzz/problem.h"
#include "support/last.h"

#include <string.h>

enum { LARGEST_LIST = 300, LARGEST_TEXT = 100, SMALL = 24, MOST_CALLS = 50 };

/* --- what a config is, seen from outside --- */

/* Mixes bytes into a number (FNV-1a). */
static void note(uint64_t *hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        *hash = (*hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
}

static void note_u32(uint64_t *hash, uint32_t value)
{
    note(hash, &value, sizeof value);
}

static ppsched_status note_answer(uint64_t *hash, ppsched_status status, const ppsched_error *error)
{
    if (!accepted(status, error))
        note(hash, error->message, strlen(error->message));
    return status;
}

/* The schedule whose queues are empty, which knows the placement; NULL where the stages do not suit that. */
static ppsched_schedule *make_empty(const ppsched_config *config)
{
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    if (ppsched_builder_create(&builder, config, NULL) == PPSCHED_OK)
        EXPECT(ppsched_builder_finish(&schedule, builder, NULL) == PPSCHED_OK);
    ppsched_builder_destroy(builder);
    return schedule;
}

/* One microbatch after another runs through; `user` knows the placement. */
static ppsched_status one_by_one(void *user, const ppsched_config *config, ppsched_builder *builder)
{
    uint32_t stages = ppsched_config_stages(config);
    uint32_t total = ppsched_config_microbatches(config) * ppsched_config_iterations(config);
    for (uint32_t m = 0; m < total; m++)
        for (uint32_t i = 0; i < 2 * stages; i++) {
            uint32_t stage = i < stages ? i : 2 * stages - 1 - i;
            ppsched_op op = {.kind = i < stages ? PPSCHED_KIND_F : PPSCHED_KIND_B, .stage = (uint16_t)stage, .microbatch = m};
            ppsched_status status = ppsched_builder_append(builder, ppsched_schedule_device_of(user, stage, m), &op, 1, NULL);
            if (status != PPSCHED_OK)
                return status;
        }
    return PPSCHED_OK;
}

/* What it takes to run a plain schedule: placement, costs, limits and versions. */
static void note_run(uint64_t *hash, const ppsched_config *config)
{
    ppsched_schedule *places = make_empty(config), *schedule = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_error error = fresh_error();
    if (places == NULL)
        return;
    EXPECT(accepted(ppsched_schedule_generate_with(&schedule, config, NULL, one_by_one, places, &error), &error));
    note_u32(hash, ppsched_schedule_weight_versions(schedule));
    for (uint32_t s = 0; s < ppsched_config_stages(config); s++)
        for (uint32_t m = 0; m < ppsched_config_microbatches(config); m++)
            note_u32(hash, ppsched_schedule_device_of(schedule, s, m));
    if (note_answer(hash, ppsched_schedule_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, &error),
                    &error) == PPSCHED_OK) {
        ppsched_metrics metrics = {.size = sizeof metrics};
        EXPECT(ppsched_timeline_get_metrics(&metrics, timeline, NULL) == PPSCHED_OK);
        note(hash, &metrics, sizeof metrics);
    }
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_schedule_release(places);
}

static bool is_small(const ppsched_config *config)
{
    uint64_t cells = (uint64_t)ppsched_config_stages(config) * ppsched_config_microbatches(config);
    return ppsched_config_devices(config) <= SMALL && cells * ppsched_config_iterations(config) <= 10 * SMALL;
}

/* All that can be told of a config, as a number. */
static uint64_t fingerprint(const ppsched_config *config)
{
    static const char *const strategies[] = {"gpipe", "interleaved_1f1b", "auto"};
    uint64_t hash = 14695981039346656037u;
    note_u32(&hash, ppsched_config_devices(config));
    note_u32(&hash, ppsched_config_stages(config));
    note_u32(&hash, ppsched_config_microbatches(config));
    note_u32(&hash, ppsched_config_iterations(config));
    note_u32(&hash, (uint32_t)ppsched_config_placement(config));
    for (int32_t q = 1; q <= LAST_QUANTITY; q++) {
        size_t count = 0;
        const double *values = ppsched_config_values(config, q, &count);
        EXPECT((values == NULL) == (count == 0));
        note(&hash, &count, sizeof count);
        note(&hash, values, count * sizeof *values);
    }
    for (size_t i = 0; i < sizeof strategies / sizeof strategies[0] && is_small(config); i++) {
        ppsched_error error = fresh_error();
        note_answer(&hash, ppsched_strategy_fits(strategies[i], config, &error), &error);
    }
    ppsched_error error = fresh_error();
    note_answer(&hash, ppsched_config_validate(config, &error), &error);
    if (is_small(config))
        note_run(&hash, config);
    return hash;
}

/* --- calls --- */

struct state {
    struct bytes bytes;
    struct meter meter;
    ppsched_config *config; /* never NULL */
};

/* A call has returned: whether it succeeded. Else nothing may have changed since `before` and `used` were noted. */
static bool settle(struct state *state, ppsched_status status, const ppsched_error *error, uint64_t before, size_t used)
{
    bool failed = state->meter.has_failed;
    state->meter.until_failure = 0;
    state->meter.has_failed = false;
    if (accepted(status, error)) {
        EXPECT(!failed);
        return true;
    }
    EXPECT((status == PPSCHED_ERROR_NO_MEMORY) == failed);
    EXPECT(state->meter.used == used && fingerprint(state->config) == before);
    return false;
}

static ppsched_status set_values(struct state *state, ppsched_error *error)
{
    struct bytes *bytes = &state->bytes;
    size_t s = ppsched_config_stages(state->config), d = ppsched_config_devices(state->config);
    const size_t usual[] = {1, s, d, s * s, d * d, s + 1, 0};
    double values[LARGEST_LIST];
    int32_t quantity = quantity_at((int32_t)take_below(bytes, QUANTITIES + 3) - 1);
    uint32_t form = take_u8(bytes);
    size_t count = form % 8 < 7 ? usual[form % 8] : take_u8(bytes);
    bool is_negative = quantity == PPSCHED_QUANTITY_MEM_BACKWARD_INPUT || quantity == PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT;
    count = count < LARGEST_LIST ? count : 1;
    for (size_t i = 0; i < count; i++) {
        values[i] = form < 128 ? take_number(bytes) : take_any_number(bytes);
        values[i] = is_negative ? -values[i] : values[i];
    }
    return ppsched_config_set_values(state->config, quantity, form == 255 ? NULL : values, count, error);
}

static ppsched_status set_placement(struct state *state, ppsched_error *error)
{
    struct bytes *bytes = &state->bytes;
    uint32_t map[LARGEST_LIST], form = take_u8(bytes);
    size_t count = form < 192 ? ppsched_config_stages(state->config) : take_u8(bytes);
    int32_t placement = (int32_t)take_below(bytes, 8) - 1;
    count = count < LARGEST_LIST ? count : 1;
    for (size_t i = 0; i < count; i++)
        map[i] = take_below(bytes, 1 + (ppsched_config_devices(state->config) - (form % 8 != 7)) % 256);
    return ppsched_config_set_placement(state->config, placement, form == 255 ? NULL : map, count, error);
}

static ppsched_status set_option(struct state *state, ppsched_error *error)
{
    static const char *const known[] = {"group_size", "placement", "objective", "effort"};
    char name[LARGEST_TEXT], value[LARGEST_TEXT];
    uint32_t form = take_u8(&state->bytes);
    const char *taken = form % 8 < 4 ? known[form % 8] : take_text(&state->bytes, name, sizeof name);
    take_text(&state->bytes, value, sizeof value);
    return ppsched_config_set_option(state->config, form == 255 ? NULL : taken, form % 32 >= 28 ? NULL : value, error);
}

static ppsched_status set_something(struct state *state, uint32_t call, ppsched_error *error)
{
    switch (call) {
    case 0:
        return set_placement(state, error);
    case 1:
        return set_option(state, error);
    case 2:
        return ppsched_config_set_iterations(state->config, take_integer(&state->bytes), error);
    case 3:
        return ppsched_config_set_weight_versions(state->config, take_integer(&state->bytes), error);
    default:
        return set_values(state, error);
    }
}

/* --- configs from configs --- */

static ppsched_status create(struct state *state, ppsched_config **out, ppsched_error *error)
{
    struct bytes *bytes = &state->bytes;
    ppsched_environment environment = metered_environment(&state->meter);
    struct handed handed;
    int64_t devices = take_integer(bytes), stages = take_integer(bytes), microbatches = take_integer(bytes);
    if (take_u8(bytes) == 255)
        environment.release = NULL;
    return ppsched_config_create(out, devices, stages, microbatches,
                                 hand_over(bytes, &handed, &environment, sizeof environment), error);
}

static ppsched_status restage(struct state *state, ppsched_config **out, ppsched_error *error)
{
    struct bytes *bytes = &state->bytes;
    int64_t stages = take_integer(bytes);
    uint32_t ends = take_below(bytes, 4);
    ppsched_model_end embedding = {0}, head = {0};
    if ((ends & 1) != 0)
        embedding = take_end(bytes);
    if ((ends & 2) != 0)
        head = take_end(bytes);
    return ppsched_config_with_stages(out, state->config, stages, (ends & 1) != 0 ? &embedding : NULL,
                                      (ends & 2) != 0 ? &head : NULL, error);
}

/* A config made of the one that there is, or of nothing; on success it takes that one's place. */
static void replace(struct state *state, uint32_t call, uint64_t before, size_t used)
{
    ppsched_config *made = NULL;
    ppsched_error error = fresh_error();
    bool was_valid = ppsched_config_validate(state->config, NULL) == PPSCHED_OK;
    ppsched_status status = call == 0   ? create(state, &made, &error)
                            : call == 1 ? ppsched_config_copy(&made, state->config, &error)
                            : call == 2
                                ? restage(state, &made, &error)
                                : ppsched_config_with_microbatches(&made, state->config, take_integer(&state->bytes), &error);
    EXPECT((made != NULL) == (status == PPSCHED_OK));
    if (!settle(state, status, &error, before, used))
        return;
    EXPECT(fingerprint(state->config) == before);
    EXPECT(call != 1 || fingerprint(made) == before);
    EXPECT((!was_valid && call != 0) || ppsched_config_validate(made, NULL) == PPSCHED_OK);
    ppsched_config_destroy(state->config);
    state->config = made;
}

/* --- questions --- */

static void ask(struct state *state, uint64_t before)
{
    struct bytes *bytes = &state->bytes;
    ppsched_error error = fresh_error();
    ppsched_bound bound = {.size = take_u8(bytes) < 250 ? sizeof bound : take_below(bytes, 8)};
    char name[LARGEST_TEXT];
    uint32_t found = 0;
    int32_t quantity = (int32_t)take_integer(bytes);
    size_t count = 1;
    if (is_small(state->config))
        (void)accepted(ppsched_config_find_bound(&bound, state->config, (int32_t)take_below(bytes, 4), &error), &error);
    error = fresh_error();
    if (accepted(ppsched_strategy_find(&found, take_text(bytes, name, sizeof name), &error), &error))
        EXPECT(found < ppsched_strategy_count());
    bool is_known = is_quantity(quantity);
    EXPECT((ppsched_quantity_name(quantity) != NULL) == is_known);
    EXPECT(is_known || (ppsched_config_values(state->config, quantity, &count) == NULL && count == 0));
    EXPECT(fingerprint(state->config) == before);
}

static void call_something(struct state *state)
{
    uint64_t before = fingerprint(state->config);
    size_t used = state->meter.used;
    uint32_t code = take_u8(&state->bytes), call = code % 16;
    if (code >= 224)
        state->meter.until_failure = 1 + take_below(&state->bytes, 8);
    if (call < 11) {
        ppsched_error error = fresh_error();
        ppsched_status status = set_something(state, call, &error);
        settle(state, status, &error, before, used);
    } else if (call < 15) {
        replace(state, call - 11, before, used);
    } else {
        state->meter.until_failure = 0;
        ask(state, before);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct largest largest = {4, 4, 8, 2};
    struct state state = {.bytes = {data, size}};
    state.config = take_problem(&state.bytes, &largest, &state.meter);
    for (int calls = 0; calls < MOST_CALLS && state.bytes.left > 0; calls++)
        call_something(&state);
    ppsched_config_destroy(state.config);
    EXPECT(state.meter.used == 0);
    return 0;
}
