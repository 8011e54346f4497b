/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition)                                                                                                      \
    do {                                                                                                                       \
        if (!(condition)) {                                                                                                    \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                            \
            abort();                                                                                                           \
        }                                                                                                                      \
    } while (0)

/* An allocator that knows how much is in use. */
struct meter {
    size_t used, peak;
};

enum { HEADER = 16 };

static void *metered_allocate(void *user, size_t size)
{
    struct meter *meter = user;
    char *block = malloc(size + HEADER);
    if (block == NULL)
        return NULL;
    memcpy(block, &size, sizeof size);
    meter->used += size;
    meter->peak = meter->used > meter->peak ? meter->used : meter->peak;
    return block + HEADER;
}

static void metered_release(void *user, void *memory)
{
    struct meter *meter = user;
    size_t size;
    memcpy(&size, (char *)memory - HEADER, sizeof size);
    meter->used -= size;
    free((char *)memory - HEADER);
}

char *fuzz_export(const ppsched_schedule *schedule, int32_t format, size_t *size)
{
    EXPECT(ppsched_export_to_buffer(schedule, NULL, format, NULL, NULL, 0, size, NULL) == PPSCHED_OK);
    char *text = malloc(*size + 1);
    EXPECT(text != NULL);
    EXPECT(ppsched_export_to_buffer(schedule, NULL, format, NULL, text, *size, size, NULL) == PPSCHED_OK);
    return text;
}

int fuzz_same(const ppsched_schedule *a, const ppsched_schedule *b)
{
    uint32_t stages = ppsched_schedule_stages(a);
    uint32_t total = ppsched_schedule_microbatches(a) * ppsched_schedule_iterations(a);
    if (ppsched_schedule_devices(a) != ppsched_schedule_devices(b) || ppsched_schedule_stages(b) != stages ||
        ppsched_schedule_microbatches(b) * ppsched_schedule_iterations(b) != total)
        return 0;
    for (uint32_t d = 0; d < ppsched_schedule_devices(a); d++) {
        size_t count = 0, other_count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(a, d), &count);
        const ppsched_op *others = ppsched_queue_ops(ppsched_schedule_queue(b, d), &other_count);
        if (count != other_count || (count > 0 && memcmp(ops, others, count * sizeof *ops) != 0))
            return 0;
    }
    for (uint32_t s = 0; s < stages; s++)
        for (uint32_t m = 0; m < total; m++)
            if (ppsched_schedule_device_of(a, s, m) != ppsched_schedule_device_of(b, s, m))
                return 0;
    return 1;
}

static void expect_good_error(ppsched_status status, const ppsched_error *error)
{
    EXPECT(error->status == status);
    size_t length = strnlen(error->message, sizeof error->message);
    EXPECT(length > 0 && length < sizeof error->message);
    for (size_t i = 0; i < length; i++)
        EXPECT((unsigned char)error->message[i] >= 0x20 && (unsigned char)error->message[i] < 0x7F);
}

static void expect_round_trip(const ppsched_schedule *schedule, int32_t format)
{
    ppsched_schedule *again = NULL;
    size_t size = 0;
    char *text = fuzz_export(schedule, format, &size);
    EXPECT(ppsched_schedule_import(&again, format, text, size, NULL, NULL) == PPSCHED_OK);
    EXPECT(fuzz_same(schedule, again));
    if (format == PPSCHED_FORMAT_JSON) {
        EXPECT(strcmp(ppsched_schedule_name(schedule), ppsched_schedule_name(again)) == 0);
        EXPECT(ppsched_schedule_placement(schedule) == ppsched_schedule_placement(again));
        EXPECT(ppsched_schedule_flushes(schedule) == ppsched_schedule_flushes(again));
        EXPECT(ppsched_schedule_iterations(schedule) == ppsched_schedule_iterations(again));
        EXPECT(ppsched_schedule_weight_versions(schedule) == ppsched_schedule_weight_versions(again));
    }
    ppsched_schedule_release(again);
    free(text);
}

ppsched_status fuzz_import(int32_t format, const char *data, size_t size)
{
    struct meter meter = {0, 0};
    ppsched_environment environment = {.size = sizeof environment, .user = &meter, .allocate = metered_allocate,
                                       .release = metered_release};
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    memset(&error, 0, sizeof error);
    ppsched_status status = ppsched_schedule_import(&schedule, format, data, size, &environment, &error);
    EXPECT(meter.peak <= 128 * size + 131072);
    EXPECT((schedule != NULL) == (status == PPSCHED_OK));
    if (status != PPSCHED_OK) {
        EXPECT(meter.used == 0);
        expect_good_error(status, &error);
        return status;
    }
    ppsched_status checked = ppsched_check(schedule, NULL, 0, NULL, NULL);
    EXPECT(checked == PPSCHED_OK || checked == PPSCHED_ERROR_INVALID_SCHEDULE);
    expect_round_trip(schedule, format);
    expect_round_trip(schedule, PPSCHED_FORMAT_JSON);
    ppsched_schedule_release(schedule);
    EXPECT(meter.used == 0);
    return status;
}
