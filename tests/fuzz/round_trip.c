/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/round_trip.h"

#include <string.h>

char *fuzz_export(const ppsched_schedule *schedule, int32_t format, size_t *size)
{
    size_t needed = 0;
    EXPECT(ppsched_schedule_export_to_buffer(NULL, 0, &needed, schedule, NULL, format, NULL, NULL) == PPSCHED_OK);
    char *text = malloc(needed);
    EXPECT(text != NULL);
    EXPECT(ppsched_schedule_export_to_buffer(text, needed, &needed, schedule, NULL, format, NULL, NULL) == PPSCHED_OK);
    *size = needed - 1;
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

void expect_round_transfer(const ppsched_schedule *schedule, int32_t format)
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
