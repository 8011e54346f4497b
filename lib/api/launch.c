/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/launch.h"

#include <string.h>

#include "api/null.h"
#include "base/sized.h"
#include "check/check.h"

const char *ppsched_runtime_name(int32_t runtime)
{
    const struct ppi_runtime *row = ppi_runtime_of(runtime);
    return row != NULL ? row->name : NULL;
}

static ppsched_status check_options(const ppsched_launch_options *options, ppsched_error *error)
{
    if (options->exact > 1)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "exact is %u; it must be 0 or 1", options->exact);
    if (options->csv == NULL)
        return PPSCHED_OK;
    if (options->csv[0] == '\0')
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "the name of the CSV is empty");
    for (const char *c = options->csv; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "the name of the CSV has the control character %d", *c);
    return PPSCHED_OK;
}

/* `needed` and `buffer` as in ppsched_schedule_launch. */
static ppsched_status give_line(const struct ppi_launch *launch, const struct ppi_runtime *runtime, char *buffer,
                                size_t capacity, size_t *needed, ppsched_error *error)
{
    struct ppi_line measured = {NULL, 0}, line = {buffer, 0};
    runtime->write(launch, &measured);
    *needed = measured.length;
    if (buffer == NULL)
        return PPSCHED_OK;
    if (measured.length >= capacity)
        return ppi_fail(error, PPSCHED_ERROR_BUFFER, "the line has %zu bytes and a NUL, the buffer %zu", measured.length,
                        capacity);
    runtime->write(launch, &line);
    return PPSCHED_OK;
}

ppsched_status ppsched_schedule_launch(const ppsched_schedule *schedule, int32_t runtime, const ppsched_launch_options *options,
                                       char *buffer, size_t capacity, size_t *needed, ppsched_error *error)
{
    ppsched_launch_options own;
    struct ppi_findings findings = {0};
    PPI_REQUIRE(schedule);
    PPI_REQUIRE(needed);
    if (capacity > 0)
        PPI_REQUIRE(buffer);
    ppsched_status status = ppi_check_choice("runtime", runtime, PPSCHED_RUNTIME_MEGATRON, PPSCHED_RUNTIME_SAIL, error);
    if (status != PPSCHED_OK)
        return status;
    const struct ppi_runtime *row = ppi_runtime_of(runtime);
    status = ppi_take_sized(&own, sizeof own, PPI_SIZE_UP_TO(ppsched_launch_options, csv), options, "ppsched_launch_options",
                            error);
    if (status == PPSCHED_OK)
        status = check_options(&own, error);
    if (status == PPSCHED_OK)
        status = ppi_check(schedule, &findings, error);
    if (status != PPSCHED_OK)
        return status;
    struct ppi_launch launch = {.schedule = schedule, .csv = own.csv, .exact = own.exact != 0};
    status = ppi_launch_fits(&launch, row, error);
    return status == PPSCHED_OK ? give_line(&launch, row, buffer, capacity, needed, error) : status;
}
