/* SPDX-License-Identifier: Apache-2.0 */
/* The shortest of many plans on the V placement under a memory limit, with real costs: ZB-V by greedy planning, with all four
 * combinations of two choices, each planned again with the idle times that the plan before has shown; where memory is short,
 * schedules packed from patterns; and the fixed schedules of the placement. The first with the shortest longest-device span is
 * kept. */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "strategy/descriptors.h"
#include "strategy/searches/v_greedy.h"
#include "strategy/searches/v_pack.h"

struct search {
    struct ppi_attempt *attempt;
    struct ppi_v_greedy greedy;
    struct ppi_v_planner planner;
};

/* --- greedy plans --- */

/* Plans with one choice, and again as long as that gets shorter. */
static void try_choice(struct search *search, struct ppi_v_choice choice)
{
    double before = PPI_INFINITE, span = 0;
    ppi_v_greedy_forget(&search->greedy);
    for (; ppi_attempt_goes_on(search->attempt); before = span) {
        span = ppi_v_greedy_plan(&search->greedy, choice, &search->attempt->candidate);
        ppi_attempt_keep(search->attempt, span);
        if (!(span < before))
            return;
    }
}

static void try_choices(struct search *search)
{
    for (unsigned code = 0; code < 4 && ppi_attempt_goes_on(search->attempt); code++)
        try_choice(search, (struct ppi_v_choice){code % 2 < 1, code < 2});
}

/* What ZB-V needs on a device: D activations of both stages. */
static double usual_memory(const struct ppi_problem *problem, uint32_t r)
{
    return problem->devices * problem->device[r].least;
}

/* The same as a limit, which is rounded up. */
static double usual_limit(const struct ppi_problem *problem, uint32_t r)
{
    return usual_memory(problem, r) * (1 + 1e-12);
}

/* The least of all devices' limits, in times the usual memory. */
static double least_limit(const struct ppi_problem *problem)
{
    double least = PPI_INFINITE;
    for (uint32_t r = 0; r < problem->devices; r++)
        if (problem->device[r].limit < least * usual_memory(problem, r))
            least = problem->device[r].limit / usual_memory(problem, r);
    return least;
}

/* Within the usual memory, and where the limits allow more, within them. */
static ppsched_status try_greedy(struct search *search, ppsched_error *error)
{
    struct ppi_problem *problem = &search->attempt->problem;
    double *limit = ppi_allocate(&problem->host, problem->devices, sizeof *limit);
    bool more = false;
    if (limit == NULL)
        return ppi_fail_memory(error, "the search");
    for (uint32_t r = 0; r < problem->devices; r++) {
        limit[r] = problem->device[r].limit;
        more = more || limit[r] > usual_limit(problem, r);
        problem->device[r].limit = ppi_smaller(limit[r], usual_limit(problem, r));
    }
    try_choices(search);
    for (uint32_t r = 0; r < problem->devices; r++)
        problem->device[r].limit = limit[r];
    if (more)
        try_choices(search);
    ppi_release(&problem->host, limit);
    return PPSCHED_OK;
}

/* --- packed patterns --- */

enum { MOST_CELLS = 5 }; /* delay of a pattern, in sixths of the busiest device's work on a microbatch */

/* The last turn with which a recipe keeps to the limits; false where none does. */
static bool find_turn(struct ppi_v_pattern *pattern, const struct ppi_v_planner *p, struct ppi_v_recipe *recipe)
{
    uint32_t fits = 0, fails = p->devices;
    if (!ppi_v_pattern_lay(pattern, p, recipe))
        return false;
    while (fits + 1 < fails) {
        recipe->turn = fits + (fails - fits) / 2;
        *(ppi_v_pattern_lay(pattern, p, recipe) ? &fits : &fails) = recipe->turn;
    }
    recipe->turn = fits;
    return true;
}

/* Gives a recipe the delays with which most is in flight within the limits; false where it goes over them without any. */
static bool find_delays(struct ppi_v_pattern *pattern, const struct ppi_v_planner *p, double cell, struct ppi_v_recipe *recipe)
{
    struct ppi_v_recipe best = *recipe;
    double most = -1;
    for (uint32_t first = 0; first <= MOST_CELLS; first++)
        for (uint32_t second = 0; second <= first; second++) {
            struct ppi_v_recipe tried = *recipe;
            tried.delay[0] = first * cell;
            tried.delay[1] = second * cell;
            bool fits = find_turn(pattern, p, &tried);
            double sum = tried.turn * tried.delay[0] + (p->devices - 1 - tried.turn) * tried.delay[1];
            if (!fits && first == 0)
                return false;
            if (!fits || sum <= most)
                continue;
            most = sum;
            best = tried;
        }
    *recipe = best;
    return true;
}

/* Packs a pattern of each kind with one period; false where none keeps to the limits. */
static bool try_period(struct search *search, struct ppi_v_pattern *pattern, struct ppi_v_pack *pack, double cell,
                       double period)
{
    static const double shares[] = {1, 0.85, 0.7};
    bool found = false;
    for (unsigned code = 0; code < 6; code++) {
        struct ppi_v_recipe recipe = {.period = period, .share = shares[code / 2], .delays_inputs = code % 2 == 1};
        if (!find_delays(pattern, &search->planner, cell, &recipe))
            continue;
        found = true;
        ppi_v_pattern_lay(pattern, &search->planner, &recipe);
        ppi_attempt_keep(search->attempt, ppi_v_pack(pack, &search->planner, pattern, search->attempt->candidate.ops));
    }
    return found;
}

/* Of the busiest device. */
static double most_work(const struct ppi_v_planner *p)
{
    double most = 0;
    for (uint32_t r = 0; r < p->devices; r++)
        most = ppi_larger(most, p->device[r].work);
    return most;
}

/* Tries longer and longer periods until three have served. */
static ppsched_status try_patterns(struct search *search, ppsched_error *error)
{
    struct ppi_v_pattern pattern = {0};
    struct ppi_v_pack pack = {0};
    double work = most_work(&search->planner) / search->planner.microbatches, period = work;
    ppsched_status status = ppi_v_pattern_make(&pattern, &search->planner, error);
    if (status == PPSCHED_OK)
        status = ppi_v_pack_make(&pack, &search->planner, error);
    for (int tries = 0, found = 0; status == PPSCHED_OK && tries < 100 && found < 3 && ppi_attempt_goes_on(search->attempt);
         tries++) {
        status = ppi_watch_report(&search->attempt->watch, found / 3.0, error);
        found += try_period(search, &pattern, &pack, work / 6, period);
        period *= 1.08;
    }
    ppi_v_pattern_clear(&pattern, &search->planner);
    ppi_v_pack_clear(&pack, &search->planner);
    return status;
}

/* --- the search --- */

static ppsched_status try_fixed(struct search *search, ppsched_error *error)
{
    static const struct ppi_strategy *const fixed[] = {&ppi_zbv, &ppi_dualpipe_v, &ppi_v_1f1b};
    ppsched_status status = PPSCHED_OK;
    for (size_t k = 0; k < sizeof fixed / sizeof fixed[0] && status == PPSCHED_OK && ppi_attempt_goes_on(search->attempt); k++)
        status = ppi_offer_strategy(search->attempt, fixed[k], error);
    return status;
}

/* Where no limit is given, what ZB-V needs is it. */
static void limit_by_default(struct ppi_problem *problem)
{
    for (uint32_t r = 0; r < problem->devices && !problem->has_limits; r++)
        problem->device[r].limit = usual_limit(problem, r);
    problem->has_limits = true;
}

static ppsched_status run(struct search *search, ppsched_error *error)
{
    struct ppi_attempt *attempt = search->attempt;
    double least = least_limit(&attempt->problem);
    ppsched_status status = PPSCHED_OK;
    if (least < 1 - 1e-9)
        status = try_patterns(search, error);
    if (status == PPSCHED_OK && (least > 0.5 || !ppi_is_finite(attempt->objective))) /* with less, patterns are shorter */
        status = try_greedy(search, error);
    if (status == PPSCHED_OK && !ppi_is_finite(attempt->objective))
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of times is too large for a double");
    return status == PPSCHED_OK ? try_fixed(search, error) : status;
}

static ppsched_status plan(struct ppi_attempt *attempt, ppsched_error *error)
{
    struct search search = {.attempt = attempt, .planner.costs.host = attempt->config->host};
    ppsched_status status = ppi_attempt_require_fit(attempt, error);
    limit_by_default(&attempt->problem);
    ppi_attempt_split_only(attempt);
    if (status == PPSCHED_OK)
        status = ppi_v_planner_make(&search.planner, attempt->config, error);
    for (uint32_t r = 0; r < attempt->problem.devices && status == PPSCHED_OK; r++)
        ppi_v_set_limit(&search.planner, r, attempt->problem.device[r].limit);
    if (status == PPSCHED_OK)
        status = ppi_v_greedy_make(&search.greedy, &attempt->problem, error);
    if (status == PPSCHED_OK)
        status = run(&search, error);
    ppi_v_greedy_clear(&search.greedy);
    ppi_v_planner_clear(&search.planner);
    return status;
}

static const char *const aliases[] = {"zbv_greedy"};

const struct ppi_strategy ppi_zbv_auto = {
    .name = "zbv_auto",
    .summary = "zero bubble on the V placement under any memory limit, planned with the real costs of each stage",
    .source = "Zero Bubble Pipeline Parallelism (Qi et al. 2023, arXiv 2401.10241), the ZB-V planner of its code; patterns in "
              "the manner of Controllable Memory (arXiv 2405.15362)",
    .aliases = aliases,
    .alias_count = 1,
    .placement = PPSCHED_PLACEMENT_V,
    .chunks = 2,
    .weight_versions = 1,
    .splits_backward = true,
    .flushes = true,
    .plan = plan,
};
