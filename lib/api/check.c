/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: checking a schedule, with a list of findings. */
#include "check/check.h"

#include "api/buffer.h"

ppsched_status ppsched_schedule_check(ppsched_finding *out, size_t capacity, size_t *count, const ppsched_schedule *schedule,
                                      ppsched_error *error)
{
    struct ppi_findings found = {.out = out, .capacity = capacity};
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(schedule);
    ppsched_status status = ppi_check_anew(schedule, &found, error);
    return ppi_tell_count(count, found.count, status);
}

ppsched_status ppsched_finding_write_text(char *out, size_t capacity, size_t *needed, const ppsched_finding *finding,
                                          ppsched_error *error)
{
    char text[400];
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(finding);
    ppsched_status status = ppi_check_choice("kind of finding", finding->kind, PPSCHED_FINDING_KIND_MISSING,
                                             PPSCHED_FINDING_KIND_CONFLICT, error);
    if (status == PPSCHED_OK)
        status = ppi_check_choice("kind", finding->op.kind, 1, PPI_LAST_KIND, error);
    if (status == PPSCHED_OK)
        status = ppi_check_choice("kind", finding->other.kind, 0, PPI_LAST_KIND, error);
    if (status != PPSCHED_OK)
        return status;
    ppi_finding_text(finding, text, sizeof text);
    return ppi_give_text(out, capacity, needed, text, strlen(text), error);
}
