/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/launch.h"

#include "api/buffer.h"
#include "base/sized.h"
#include "check/check.h"

const char *ppsched_runtime_name(int32_t runtime)
{
    const struct ppi_runtime *row;
    return ppi_runtime_find(&row, runtime, NULL) == PPSCHED_OK ? row->name : NULL;
}

static ppsched_status check_options(const ppsched_launch_options *options, ppsched_error *error)
{
    if (options->exact > 1)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "exact is %u; it must be 0 or 1", options->exact);
    if (options->reserved != 0)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "reserved is not 0");
    if (options->csv == NULL)
        return PPSCHED_OK;
    if (options->csv[0] == '\0')
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "the name of the CSV is empty");
    for (const char *c = options->csv; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "the name of the CSV has the control character %d", *c);
    return PPSCHED_OK;
}

ppsched_status ppsched_schedule_write_launch_arguments(char *out, size_t capacity, size_t *needed,
                                                       const ppsched_schedule *schedule, int32_t runtime,
                                                       const ppsched_launch_options *options, ppsched_error *error)
{
    ppsched_launch_options own;
    struct ppi_findings findings = {0};
    struct ppi_line measured = {NULL, 0}, line = {out, 0};
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(schedule);
    const struct ppi_runtime *row;
    ppsched_status status = ppi_runtime_find(&row, runtime, error);
    if (status != PPSCHED_OK)
        return status;
    status = ppi_take_sized(&own, sizeof own, PPI_SIZE_UP_TO(ppsched_launch_options, csv), options, "ppsched_launch_options",
                            error);
    if (status == PPSCHED_OK)
        status = check_options(&own, error);
    if (status == PPSCHED_OK)
        status = ppi_check(schedule, &findings, error);
    struct ppi_launch launch = {.schedule = schedule, .csv = own.csv, .exact = own.exact != 0, .layers = own.layers};
    if (status == PPSCHED_OK)
        status = ppi_launch_fits(&launch, row, error);
    if (status != PPSCHED_OK)
        return status;
    row->write(&launch, &measured);
    status = ppi_check_text_room(out, capacity, measured.length, error);
    if (status == PPSCHED_OK && out != NULL)
        row->write(&launch, &line);
    return ppi_tell_needed(needed, measured.length + 1, status);
}
