/* SPDX-License-Identifier: Apache-2.0 */
#include "check/check.h"

#include "api/buffer.h"
#include "api/null.h"

ppsched_status ppsched_check(const ppsched_schedule *schedule, ppsched_finding *findings, size_t capacity, size_t *count,
                             ppsched_error *error)
{
    struct ppi_findings found = {.out = findings, .capacity = findings != NULL ? capacity : 0};
    PPI_REQUIRE(schedule);
    ppsched_status status = ppi_check(schedule, &found, error);
    if (count != NULL && status != PPSCHED_ERROR_NO_MEMORY)
        *count = found.count;
    return status;
}

ppsched_status ppsched_finding_text(const ppsched_finding *finding, char *buffer, size_t capacity, size_t *needed)
{
    char text[400];
    if (finding == NULL || !ppi_kind_known(finding->op.kind) ||
        (finding->other.kind != 0 && !ppi_kind_known(finding->other.kind)))
        return PPSCHED_ERROR_ARGUMENT;
    ppi_finding_text(finding, text, sizeof text);
    return ppi_give_text(text, strlen(text), buffer, capacity, needed);
}
