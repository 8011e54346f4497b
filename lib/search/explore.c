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

/* The parts of the search, one after another, each with a share of what the watch has left. */
static ppsched_status run(struct search *search, ppsched_error *error)
{
    static const struct ppi_beam diverse = {.mean_weight = 0.1, .crowd = 4}, deep = {.mean_weight = 1};
    static const double ends[] = {0.2, 0.5, 0.7, 0.9, 1};
    double first = search->watch->from, all = search->watch->to - first, before = PPI_INFINITE;
    ppsched_status status = PPSCHED_OK;
    search->watch->to = first;
    for (int part = 0; part < 5 && status == PPSCHED_OK; part++) {
        ppi_watch_go_on(search->watch, first + ends[part] * all);
        if (part == 0)
            status = try_patterns(search, error);
        else if (part == 2 || part == 3)
            status = try_beam(search, part == 2 ? diverse : deep, 0.5, error);
        else if (part == 1 || *search->objective < before)
            status = improve(search, error);
        if (part == 1)
            before = *search->objective;
        search->watch->best = *search->objective;
    }
    return status;
}

ppsched_status ppi_explore(const struct ppi_problem *problem, const ppsched_config *config, int32_t placement, int64_t effort,
                           double goal, struct ppi_watch *watch, struct ppi_orders *orders, double *objective,
                           ppsched_error *error)
{
    struct search search = {problem, config, placement, scale_of(effort), goal, watch, orders, objective};
    return effort > 0 ? run(&search, error) : PPSCHED_OK;
}
