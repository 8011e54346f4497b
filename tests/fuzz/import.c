/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/import.h"

#include "fuzz/round_trip.h"

ppsched_status fuzz_import(int32_t format, const char *data, size_t size)
{
    struct meter meter = {0};
    ppsched_environment environment = metered_environment(&meter);
    ppsched_schedule *schedule = NULL;
    ppsched_error error = fresh_error();
    ppsched_status status = ppsched_schedule_import(&schedule, format, data, size, &environment, &error);
    EXPECT(meter.peak <= 128 * size + 131072);
    EXPECT((schedule != NULL) == (status == PPSCHED_OK));
    if (!accepted(status, &error)) {
        EXPECT(meter.used == 0);
        return status;
    }
    ppsched_status checked = ppsched_schedule_check(NULL, 0, NULL, schedule, NULL);
    EXPECT(checked == PPSCHED_OK || checked == PPSCHED_ERROR_INVALID_SCHEDULE);
    expect_round_transfer(schedule, format);
    expect_round_transfer(schedule, PPSCHED_FORMAT_JSON);
    ppsched_schedule_release(schedule);
    EXPECT(meter.used == 0);
    return status;
}
