/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/traces.h"

#include <string.h>

#include "fuzz/round_trip.h"

struct text {
    char *bytes;
    size_t length;
};

static int32_t append(void *user, const char *data, size_t size)
{
    struct text *text = user;
    char *grown = realloc(text->bytes, text->length + size + 1);
    EXPECT(grown != NULL);
    memcpy(grown + text->length, data, size);
    text->bytes = grown;
    text->length += size;
    return 0;
}

char *fuzz_export_trace(const ppsched_chakra *chakra, uint32_t rank, size_t *size)
{
    struct text text = {NULL, 0};
    EXPECT(ppsched_chakra_export(chakra, rank, append, &text, NULL) == PPSCHED_OK);
    *size = text.length;
    return text.bytes;
}

/* What was read can be written, in the same numbers, and is read as it was, unless the writer has a reason to refuse. */
static void expect_written_again(const ppsched_schedule *schedule, const ppsched_config *config)
{
    const ppsched_chakra_options options = {.size = sizeof options, .sizes = PPSCHED_CHAKRA_SIZES_TIMES, .most_loss = 1};
    ppsched_chakra *chakra = NULL;
    ppsched_error error = fresh_error();
    if (!accepted(ppsched_chakra_create(&chakra, schedule, config, &options, &error), &error))
        return;
    uint32_t ranks = ppsched_chakra_ranks(chakra);
    ppsched_chakra_trace *traces = calloc(ranks, sizeof *traces);
    ppsched_schedule *again = NULL;
    ppsched_config *costs = NULL;
    EXPECT(traces != NULL);
    for (uint32_t rank = 0; rank < ranks; rank++)
        traces[rank].data = fuzz_export_trace(chakra, rank, &traces[rank].length);
    error = fresh_error();
    if (accepted(ppsched_chakra_import(&again, &costs, traces, ranks, NULL, &error), &error)) {
        ppsched_schedule_release(again);
        ppsched_config_destroy(costs);
    }
    for (uint32_t rank = 0; rank < ranks; rank++)
        free((void *)(uintptr_t)traces[rank].data);
    free(traces);
    ppsched_chakra_destroy(chakra);
}

ppsched_status fuzz_import_traces(const ppsched_chakra_trace *traces, size_t count)
{
    size_t size = 0;
    for (size_t k = 0; k < count; k++)
        size += traces[k].length;
    struct meter meter = {0};
    ppsched_environment environment = metered_environment(&meter);
    ppsched_schedule *schedule = NULL;
    ppsched_config *config = NULL;
    ppsched_error error = fresh_error();
    ppsched_status status = ppsched_chakra_import(&schedule, &config, traces, count, &environment, &error);
    EXPECT(meter.peak <= 256 * size + 131072);
    EXPECT((schedule != NULL) == (status == PPSCHED_OK) && (config != NULL) == (status == PPSCHED_OK));
    if (!accepted(status, &error)) {
        EXPECT(meter.used == 0);
        return status;
    }
    ppsched_status checked = ppsched_schedule_check(NULL, 0, NULL, schedule, NULL);
    EXPECT(checked == PPSCHED_OK || checked == PPSCHED_ERROR_INVALID_SCHEDULE);
    EXPECT(ppsched_config_devices(config) == ppsched_schedule_devices(schedule));
    expect_round_transfer(schedule, PPSCHED_FORMAT_JSON);
    expect_written_again(schedule, config);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    EXPECT(meter.used == 0);
    return status;
}
