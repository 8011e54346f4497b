/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: numbering microbatches in the order of the last stage's forwards. */
#include <ppsched/lower.h>

#include "lower/renumber.h"

#include "api/log.h"
#include "api/null.h"
#include "base/error.h"
#include "check/check.h"

ppsched_status ppsched_schedule_renumber(ppsched_schedule **out, const ppsched_schedule *schedule, ppsched_error *error)
{
    struct ppi_findings findings = {0};
    PPI_REQUIRE(out);
    PPI_REQUIRE(schedule);
    PPI_REQUIRE_CHAIN(&schedule->placement, "renumbering");
    ppsched_status status = ppi_check(schedule, &findings, error);
    if (status == PPSCHED_OK && schedule->placement.copies != 1)
        status = ppi_fail(
            error, PPSCHED_ERROR_REFUSED,
            "the last stage is on two devices, so its forwards have no single order by which to number microbatches");
    if (status == PPSCHED_OK)
        status = ppi_renumber(out, schedule, error);
    if (status == PPSCHED_OK)
        ppi_log_schedule(*out, "renumbered");
    return status;
}
