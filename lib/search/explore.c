/* SPDX-License-Identifier: Apache-2.0 */
#include "search/explore.h"

#include "base/checked.h"
#include "search/beam.h"
#include "search/improve.h"
#include "search/repeat.h"

struct search {
    const struct ppi_problem *problem;
    const ppsched_config *config;
    int32_t placement;
    double scale; /* of the work: 1 at the default effort */
    double goal;
    struct ppi_watch *watch;
    struct ppi_orders *orders;
    double *objective;
};

static double op_count(const struct ppi_problem *problem)
{
    return 3.0 * problem->stages * problem->microbatches;
}

enum { MOST_PERIODS = 24 };

static ppsched_status try_patterns(struct search *search, ppsched_error *error)
{
    double affordable = search->scale * 2e6 / op_count(search->problem) / 6;
    int periods = affordable < 2 ? 2 : affordable > MOST_PERIODS ? MOST_PERIODS : (int)affordable;
    return ppi_repeat(search->problem, periods, search->goal, search->watch, search->orders, search->objective, error);
}

static ppsched_status improve(struct search *search, ppsched_error *error)
{
    double tries = search->scale * 1500, affordable = search->scale * 2e6 / op_count(search->problem);
    tries = tries < affordable ? tries : affordable;
    if (!ppi_is_finite(*search->objective))
        return PPSCHED_OK;
    return ppi_improve(search->problem, search->config, search->placement, (uint32_t)tries, search->goal, search->watch,
                       search->orders, search->objective, error);
}

/* A beam as wide as the effort allows; the narrowest would only be one more list schedule. */
static ppsched_status try_beam(struct search *search, struct ppi_beam beam, double share, ppsched_error *error)
{
    double work = op_count(search->problem) * (search->problem->stages + 2.0 * search->problem->devices);
    double width = search->scale * share * 1e6 / work;
    if (width < 2 || *search->objective <= search->goal)
        return PPSCHED_OK;
    beam.width = width > 10000 ? 10000 : (uint32_t)width;
    beam.below = *search->objective;
    return ppi_beam_search(search->problem, &beam, search->watch, search->orders, search->objective, error);
}

static double scale_of(int64_t effort)
{
    return (double)(1 << effort) / (1 << PPI_DEFAULT_EFFORT);
}

ppsched_status ppi_explore(const struct ppi_problem *problem, const ppsched_config *config, int32_t placement, int64_t effort,
                           double goal, struct ppi_watch *watch, struct ppi_orders *orders, double *objective,
                           ppsched_error *error)
{
    static const struct ppi_beam diverse = {.mean_weight = 0.1, .crowd = 4}, deep = {.mean_weight = 1};
    struct search search = {problem, config, placement, scale_of(effort), goal, watch, orders,
                            objective};
    if (effort == 0)
        return PPSCHED_OK;
    ppsched_status status = try_patterns(&search, error);
    if (status == PPSCHED_OK)
        status = improve(&search, error);
    double before = *objective;
    if (status == PPSCHED_OK)
        status = try_beam(&search, diverse, 0.5, error);
    if (status == PPSCHED_OK)
        status = try_beam(&search, deep, 0.5, error);
    if (status == PPSCHED_OK && *objective < before)
        status = improve(&search, error);
    return status;
}
