/* SPDX-License-Identifier: Apache-2.0 */
#include "search/repeat.h"

#include "base/checked.h"
#include "search/dispatch.h"

enum { RULES = 6 };

/* What the list schedules need. */
struct room {
    struct ppi_pattern pattern;
    struct ppi_dispatch_room dispatch;
    struct ppi_orders candidate;
};

static ppsched_status make_room(struct room *room, const struct ppi_problem *problem, const struct ppi_orders *orders,
                                ppsched_error *error)
{
    ppsched_status status = ppi_pattern_make(&room->pattern, problem, error);
    if (status == PPSCHED_OK)
        status = ppi_dispatch_room_make(&room->dispatch, problem, error);
    if (status == PPSCHED_OK)
        status = ppi_orders_like(&room->candidate, orders, error);
    return status;
}

static void clear_room(struct room *room, const struct ppi_problem *problem)
{
    if (room->candidate.first != NULL)
        ppi_orders_clear(&room->candidate);
    ppi_dispatch_room_clear(&room->dispatch, problem);
    ppi_pattern_clear(&room->pattern, problem);
}

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
static void dispatch_all(struct room *room, const struct ppi_problem *problem, double least, struct ppi_orders *orders,
                         double *objective)
{
    const double lags[] = {0, least, PPI_INFINITE};
    int step = may_hold_back(problem) ? 1 : 2;
    for (int rule = 0; rule < RULES; rule += step) {
        struct ppi_dispatch dispatch = {.weight_lag = lags[rule / 2], .holds_back = rule % 2 == 1};
        double reached = ppi_dispatch(&room->dispatch, problem, &room->pattern, &dispatch, &room->candidate);
        if (reached >= *objective)
            continue;
        *objective = reached;
        ppi_orders_copy(orders, &room->candidate);
    }
}

static ppsched_status repeat_all(struct room *room, const struct ppi_problem *problem, int periods, double goal,
                                 struct ppi_watch *watch, struct ppi_orders *orders, double *objective, ppsched_error *error)
{
    double least = ppi_pattern_least_period(problem), most = 1.1 * longest_period(&room->pattern, problem, least);
    for (int i = 0; i<periods && * objective> goal; i++) {
        ppsched_status status = ppi_watch_report(watch, (double)i / periods, error);
        if (status != PPSCHED_OK)
            return status;
        if (ppi_pattern_place(&room->pattern, problem, least + (most - least) * i / (periods - 1)))
            dispatch_all(room, problem, least, orders, objective);
        watch->best = *objective < watch->best ? *objective : watch->best;
    }
    return PPSCHED_OK;
}

ppsched_status ppi_repeat(const struct ppi_problem *problem, int periods, double goal, struct ppi_watch *watch,
                          struct ppi_orders *orders, double *objective, ppsched_error *error)
{
    struct room room = {0};
    if (!ppi_pattern_suits(problem))
        return PPSCHED_OK;
    ppsched_status status = make_room(&room, problem, orders, error);
    if (status == PPSCHED_OK)
        status = repeat_all(&room, problem, periods, goal, watch, orders, objective, error);
    clear_room(&room, problem);
    return status;
}
