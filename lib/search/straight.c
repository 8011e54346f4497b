/* SPDX-License-Identifier: Apache-2.0 */
#include "search/straight.h"

#include "base/checked.h"
#include "base/error.h"
#include "search/dispatch.h"

/* When the ops of a microbatch start that has all devices for itself. */
static void follow(struct ppi_pattern *pattern, const struct ppi_problem *problem)
{
    double time = 0;
    for (uint32_t s = 0; s < problem->stages; s++) {
        pattern->start[s].forward = time += problem->stage[s].forward_delay;
        time += problem->stage[s].duration[PPSCHED_KIND_F];
    }
    for (uint32_t s = problem->stages; s-- > 0;) {
        pattern->start[s].backward = time += problem->stage[s].backward_delay;
        time += problem->stage[s].input;
    }
    pattern->period = ppi_pattern_least_period(problem);
}

ppsched_status ppi_straight(struct ppi_attempt *attempt, ppsched_error *error)
{
    const struct ppi_problem *problem = &attempt->problem;
    const struct ppi_dispatch late = {.weight_lag = PPI_INFINITE}, soon = {.weight_lag = 0};
    struct ppi_pattern pattern = {0};
    struct ppi_dispatch_room room = {0};
    ppsched_status status = ppi_pattern_make(&pattern, problem, error);
    if (status == PPSCHED_OK)
        status = ppi_dispatch_room_make(&room, problem, error);
    if (status == PPSCHED_OK) { /* each W either where nothing else can be run, or as soon as its turn comes */
        follow(&pattern, problem);
        ppi_attempt_keep(attempt, ppi_dispatch(&room, problem, &pattern, &late, &attempt->candidate));
        ppi_attempt_keep(attempt, ppi_dispatch(&room, problem, &pattern, &soon, &attempt->candidate));
        if (!ppi_is_finite(attempt->objective))
            status = ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of times is too large for a double");
    }
    ppi_dispatch_room_clear(&room, problem);
    ppi_pattern_clear(&pattern, problem);
    return status;
}
