/* SPDX-License-Identifier: Apache-2.0 */
#include "search/repeat.h"

#include "base/checked.h"
#include "base/error.h"
#include "search/dispatch.h"

enum { RULES = 6, MOST_STAGES = 16 /* of a device */ };

/* Whether the devices have few enough stages: the work grows with their square. */
static bool suits(const struct ppi_problem *problem)
{
    for (uint32_t d = 0; d < problem->devices; d++)
        if (problem->device[d].count > MOST_STAGES)
            return false;
    return true;
}

/* Whether what is in flight stays within all limits. */
static bool fits(const struct ppi_periodic *pattern, const struct ppi_problem *problem)
{
    for (uint32_t d = 0; d < problem->devices; d++) {
        double level = 0;
        for (uint32_t i = 0; i < problem->device[d].count; i++) {
            uint32_t s = ppi_stage_at(problem, d, i);
            level += problem->stage[s].memory[PPSCHED_KIND_F] * ppi_periodic_in_flight(pattern, problem, s);
        }
        if (level > problem->device[d].limit)
            return false;
    }
    return true;
}

/* The shortest period, of some that grow, of a pattern that fits the limits; or of one where a microbatch has the devices for
 * itself. */
static double longest_period(struct ppi_periodic *pattern, const struct ppi_problem *problem, double least)
{
    struct ppi_recipe recipe = {.period = least, .share = 1};
    for (int i = 0; i < 60; i++, recipe.period *= 1.05)
        if (ppi_periodic_lay(pattern, problem, &recipe) && fits(pattern, problem))
            break;
    return recipe.period;
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
static void dispatch_all(struct ppi_attempt *attempt, struct ppi_dispatch_room *room, double least)
{
    const double lags[] = {0, least, PPI_INFINITE};
    int step = may_hold_back(&attempt->problem) ? 1 : 2;
    for (int rule = 0; rule < RULES; rule += step) {
        struct ppi_dispatch dispatch = {.weight_lag = lags[rule / 2], .holds_back = rule % 2 == 1};
        ppi_attempt_keep(attempt, ppi_dispatch(room, &attempt->problem, &dispatch, &attempt->candidate));
    }
}

ppsched_status ppi_repeat(struct ppi_attempt *attempt, int periods, ppsched_error *error)
{
    const struct ppi_problem *problem = &attempt->problem;
    struct ppi_dispatch_room room = {0};
    if (!suits(problem))
        return PPSCHED_OK;
    ppsched_status status = ppi_dispatch_room_make(&room, problem, error);
    double least = ppi_problem_least_period(problem);
    double most = status == PPSCHED_OK ? 1.1 * longest_period(&room.pattern, problem, least) : 0;
    for (int i = 0; i < periods && status == PPSCHED_OK && ppi_attempt_goes_on(attempt); i++) {
        struct ppi_recipe recipe = {.period = least + (most - least) * i / (periods - 1), .share = 1};
        status = ppi_watch_report(&attempt->watch, (double)i / periods, error);
        if (status == PPSCHED_OK && ppi_periodic_lay(&room.pattern, problem, &recipe))
            dispatch_all(attempt, &room, least);
    }
    ppi_dispatch_room_clear(&room, problem);
    return status;
}

ppsched_status ppi_straight(struct ppi_attempt *attempt, ppsched_error *error)
{
    const struct ppi_problem *problem = &attempt->problem;
    const struct ppi_recipe alone = {.period = ppi_problem_least_period(problem), .share = 0, .crowds = true};
    const double lags[] = {PPI_INFINITE, 0}; /* each W where nothing else can be run, or as soon as its turn comes */
    struct ppi_dispatch_room room = {0};
    ppsched_status status = ppi_dispatch_room_make(&room, problem, error);
    for (int k = 0; k < 2 && status == PPSCHED_OK; k++) {
        struct ppi_dispatch dispatch = {.weight_lag = lags[k]};
        ppi_periodic_lay(&room.pattern, problem, &alone);
        ppi_attempt_keep(attempt, ppi_dispatch(&room, problem, &dispatch, &attempt->candidate));
    }
    if (status == PPSCHED_OK && !ppi_is_finite(attempt->objective))
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of times is too large for a double");
    ppi_dispatch_room_clear(&room, problem);
    return status;
}
