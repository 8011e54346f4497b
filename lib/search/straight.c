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
        pattern->start[s * 2] = time += problem->stage[s].forward_delay;
        time += problem->stage[s].duration[PPI_STEP_F];
    }
    for (uint32_t s = problem->stages; s-- > 0;) {
        pattern->start[s * 2 + 1] = time += problem->stage[s].backward_delay;
        time += problem->stage[s].input;
    }
    pattern->period = ppi_pattern_least_period(problem);
}

/* Each W either as soon as its turn comes, or where nothing else can be run: the better. */
static double dispatch_both(struct ppi_dispatch_room *room, const struct ppi_problem *problem,
                            const struct ppi_pattern *pattern, struct ppi_orders *out)
{
    const struct ppi_dispatch soon = {.weight_lag = 0}, late = {.weight_lag = PPI_INFINITE};
    double first = ppi_dispatch(room, problem, pattern, &soon, out), second = ppi_dispatch(room, problem, pattern, &late, out);
    return first < second ? ppi_dispatch(room, problem, pattern, &soon, out) : second;
}

ppsched_status ppi_straight(const struct ppi_problem *problem, struct ppi_orders *out, double *objective, ppsched_error *error)
{
    struct ppi_pattern pattern = {0};
    struct ppi_dispatch_room room = {0};
    ppsched_status status = ppi_pattern_make(&pattern, problem, error);
    if (status == PPSCHED_OK)
        status = ppi_dispatch_room_make(&room, problem, error);
    if (status == PPSCHED_OK) {
        follow(&pattern, problem);
        *objective = dispatch_both(&room, problem, &pattern, out);
        if (!ppi_is_finite(*objective))
            status = ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of times is too large for a double");
    }
    ppi_dispatch_room_clear(&room, problem);
    ppi_pattern_clear(&pattern, problem);
    return status;
}
