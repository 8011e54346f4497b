/* SPDX-License-Identifier: Apache-2.0 */
#include "search/straight.h"

#include "base/checked.h"
#include "base/error.h"
#include "search/dispatch.h"

ppsched_status ppi_straight(struct ppi_attempt *attempt, ppsched_error *error)
{
    const struct ppi_problem *problem = &attempt->problem;
    const struct ppi_dispatch late = {.weight_lag = PPI_INFINITE}, soon = {.weight_lag = 0};
    const struct ppi_recipe alone = {
        .period = ppi_problem_least_period(problem)}; /* a microbatch that has all devices for itself */
    struct ppi_periodic pattern = {0};
    struct ppi_dispatch_room room = {0};
    ppsched_status status = ppi_periodic_make(&pattern, problem, error);
    if (status == PPSCHED_OK)
        status = ppi_dispatch_room_make(&room, problem, error);
    if (status == PPSCHED_OK) { /* each W either where nothing else can be run, or as soon as its turn comes */
        ppi_periodic_lay(&pattern, problem, &alone);
        ppi_attempt_keep(attempt, ppi_dispatch(&room, problem, &pattern, &late, &attempt->candidate));
        ppi_attempt_keep(attempt, ppi_dispatch(&room, problem, &pattern, &soon, &attempt->candidate));
        if (!ppi_is_finite(attempt->objective))
            status = ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of times is too large for a double");
    }
    ppi_dispatch_room_clear(&room, problem);
    ppi_periodic_clear(&pattern, problem);
    return status;
}
