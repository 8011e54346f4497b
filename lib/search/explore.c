/* SPDX-License-Identifier: Apache-2.0 */
/* The effort of a search as work: how many pattern periods are tried, how wide beams are, and how many visits tabu search may
 * make. */
#include "search/explore.h"

#include "base/checked.h"

/* Measured: docs/performance.md. */
enum {
    MOST_PERIODS = 12,      /* of patterns */
    MOST_WIDTH = 10000,     /* of a beam */
    OPS_PRICED = 2000000,   /* at the default effort, by list schedules after patterns */
    VISITS_PER_OP = 500000, /* at the default effort, by tabu search, so that small problems end sooner than visits_of allows */
    LEAST_VISITS = 1000000, /* by tabu search, in addition to those per op */
};

/* Visits of ops by tabu search. Up to effort 3 a search takes up to a tenth of a second; from 4 on half a second, doubled with
 * each effort. */
static double visits_of(int64_t effort)
{
    static const double first[] = {0, 0.5e6, 2e6, 8e6};
    return effort < PPI_DEFAULT_EFFORT ? first[effort] : 7e7 * (double)(1 << (effort - PPI_DEFAULT_EFFORT));
}

/* Patterns for as many periods as the work allows. `scale`: of the work; 1 at the default effort. */
static ppsched_status try_patterns(struct ppi_attempt *attempt, double scale, ppsched_error *error)
{
    double affordable = scale * OPS_PRICED / (double)ppi_problem_ops(&attempt->problem) / 6;
    return ppi_follow_patterns(attempt, affordable < 2 ? 2 : affordable > MOST_PERIODS ? MOST_PERIODS : (int)affordable, error);
}

/* A beam as wide as the effort allows; none where that is less than 2, which would only be one more list schedule. */
static ppsched_status try_beam(struct ppi_attempt *attempt, struct ppi_beam beam, double scale, ppsched_error *error)
{
    const struct ppi_problem *problem = &attempt->problem;
    double width = scale * 0.4 * 1e6 / ((double)ppi_problem_ops(problem) * (problem->stages + 2.0 * problem->devices));
    if (width < 2 || !ppi_attempt_goes_on(attempt))
        return PPSCHED_OK;
    beam.width = width > MOST_WIDTH ? MOST_WIDTH : (uint32_t)width;
    return ppi_search_beam(attempt, &beam, error);
}

static ppsched_status relink(struct ppi_attempt *attempt, int64_t effort, double scale, ppsched_error *error)
{
    struct ppi_pool *pool = attempt->pool;
    double enough = LEAST_VISITS + scale * VISITS_PER_OP * (double)ppi_problem_ops(&attempt->problem);
    if (pool == NULL)
        return PPSCHED_OK;
    attempt->pool = NULL; /* it keeps what it finds itself */
    return ppi_relink(attempt, pool, ppi_smaller(enough, visits_of(effort)), error);
}

/* Parts of the search, one after another, each with a share of the progress that is left. */
static ppsched_status explore(struct ppi_attempt *attempt, int64_t effort, int parts, ppsched_error *error)
{
    static const struct ppi_beam diverse = {.mean_weight = 0.1, .crowd = 4}, deep = {.mean_weight = 1};
    static const double ends[] = {0.1, 0.15, 0.2, 1};
    const double scale = (double)(1 << effort) / (1 << PPI_DEFAULT_EFFORT);
    double first = attempt->poll.from, all = attempt->poll.to - first;
    ppsched_status status = PPSCHED_OK;
    attempt->poll.to = first;
    for (int part = 0; part < parts && effort > 0 && status == PPSCHED_OK; part++) {
        ppi_poll_go_on(&attempt->poll, first + ends[part] * all);
        if (part < 3 && attempt->problem.slices > 1) /* these parts run backwards in the order of the forwards */
            continue;
        if (part == 0)
            status = try_patterns(attempt, scale, error);
        else if (part < 3)
            status = try_beam(attempt, part == 1 ? diverse : deep, scale * (effort < PPI_DEFAULT_EFFORT ? 1 : 4), error);
        else
            status = relink(attempt, effort, scale, error);
    }
    return status;
}

ppsched_status ppi_explore(struct ppi_attempt *attempt, int64_t effort, ppsched_error *error)
{
    return explore(attempt, effort, 4, error);
}

ppsched_status ppi_explore_lists(struct ppi_attempt *attempt, int64_t effort, ppsched_error *error)
{
    return explore(attempt, effort, 3, error);
}
