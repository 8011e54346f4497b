/* SPDX-License-Identifier: Apache-2.0 */
#include "search/repeat.h"

#include "base/checked.h"
#include "search/dispatch.h"

enum { RULES = 6 };

/* The shortest period, of some that grow, of a pattern that fits the limits; or of one where a microbatch has the devices for
 * itself. */
static double longest_period(struct ppi_pattern *pattern, const struct ppi_problem *problem, double least)
{
    double period = least;
    for (int i = 0; i < 60; i++, period *= 1.05)
        if (ppi_pattern_place(pattern, problem, period) && ppi_pattern_fits(pattern, problem))
            break;
    return period;
}

/* Whether holding back means anything: with one stage a device it does not. */
static bool may_hold_back(const struct ppi_problem *problem)
{
    for (uint32_t d = 0; d < problem->devices; d++)
        if (problem->device[d].count > 1)
            return true;
    return false;
}

/* All rules for one pattern. */
static void dispatch_all(struct ppi_attempt *attempt, struct ppi_dispatch_room *room, const struct ppi_pattern *pattern,
                         double least)
{
    const double lags[] = {0, least, PPI_INFINITE};
    int step = may_hold_back(&attempt->problem) ? 1 : 2;
    for (int rule = 0; rule < RULES; rule += step) {
        struct ppi_dispatch dispatch = {.weight_lag = lags[rule / 2], .holds_back = rule % 2 == 1};
        ppi_attempt_keep(attempt, ppi_dispatch(room, &attempt->problem, pattern, &dispatch, &attempt->candidate));
    }
}

static ppsched_status repeat_all(struct ppi_attempt *attempt, struct ppi_dispatch_room *room, struct ppi_pattern *pattern,
                                 int periods, ppsched_error *error)
{
    const struct ppi_problem *problem = &attempt->problem;
    double least = ppi_pattern_least_period(problem), most = 1.1 * longest_period(pattern, problem, least);
    ppsched_status status = PPSCHED_OK;
    for (int i = 0; i < periods && status == PPSCHED_OK && ppi_attempt_goes_on(attempt); i++) {
        status = ppi_watch_report(&attempt->watch, (double)i / periods, error);
        if (status == PPSCHED_OK && ppi_pattern_place(pattern, problem, least + (most - least) * i / (periods - 1)))
            dispatch_all(attempt, room, pattern, least);
    }
    return status;
}

ppsched_status ppi_repeat(struct ppi_attempt *attempt, int periods, ppsched_error *error)
{
    const struct ppi_problem *problem = &attempt->problem;
    struct ppi_dispatch_room room = {0};
    struct ppi_pattern pattern = {0};
    if (!ppi_pattern_suits(problem))
        return PPSCHED_OK;
    ppsched_status status = ppi_pattern_make(&pattern, problem, error);
    if (status == PPSCHED_OK)
        status = ppi_dispatch_room_make(&room, problem, error);
    if (status == PPSCHED_OK)
        status = repeat_all(attempt, &room, &pattern, periods, error);
    ppi_dispatch_room_clear(&room, problem);
    ppi_pattern_clear(&pattern, problem);
    return status;
}
