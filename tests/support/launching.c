/* SPDX-License-Identifier: Apache-2.0 */
#include "support/launching.h"

#include <stdlib.h>
#include <string.h>

char *line_with(const ppsched_schedule *schedule, int32_t runtime, const ppsched_launch_options *options, ppsched_status wanted)
{
    ppsched_error error;
    size_t needed = 0, again = 0;
    ppsched_status status = ppsched_schedule_write_launch_arguments(NULL, 0, &needed, schedule, runtime, options, &error);
    if (status != wanted)
        fail_msg("status %d instead of %d: %s", status, wanted, status == PPSCHED_OK ? "" : error.message);
    if (status != PPSCHED_OK)
        return strdup(error.message);
    char *line = malloc(needed);
    expect_ok(ppsched_schedule_write_launch_arguments(line, needed, &again, schedule, runtime, options, &error), &error);
    assert_int_equal(again, needed);
    assert_int_equal(strlen(line) + 1, needed);
    return line;
}

void expect_line(const ppsched_schedule *schedule, int32_t runtime, const ppsched_launch_options *options, const char *wanted)
{
    char *line = line_with(schedule, runtime, options, PPSCHED_OK);
    assert_string_equal(line, wanted);
    free(line);
}

void expect_refused(const ppsched_schedule *schedule, int32_t runtime, const ppsched_launch_options *options, const char *part)
{
    char *message = line_with(schedule, runtime, options, PPSCHED_ERROR_REFUSED);
    if (strstr(message, part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, message);
    assert_null(strchr(message, '\n'));
    free(message);
}

ppsched_schedule *sized_schedule(const char *strategy, int devices, int stages, int microbatches, const char *group_size)
{
    ppsched_config *config = make_config(devices, stages, microbatches);
    ppsched_error error;
    if (group_size != NULL)
        expect_ok(ppsched_config_set_option(config, "group_size", group_size, &error), &error);
    ppsched_schedule *schedule = make_schedule(config, strategy);
    ppsched_config_destroy(config);
    return schedule;
}
