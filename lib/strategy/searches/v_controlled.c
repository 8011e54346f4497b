/* SPDX-License-Identifier: Apache-2.0 */
/* V-Half and V-Min: half and a third of 1F1B's activation memory on the V placement, planned with the real costs. A few
 * building blocks are each laid into the shortest period in which no device exceeds its memory, repeated, and compacted; the
 * shortest longest-device span is kept.
 *
 * The limit counts activations, in stage passes from F to W, so that it is a share of 1F1B's whatever a stage's memory is; a
 * `mem_limit` is kept too. */
#include "base/checked.h"
#include "base/error.h"
#include "order/max_in_flight.h"
#include "search/compact.h"
#include "search/periodic.h"
#include "strategy/descriptors.h"

/* A microbatch passes the devices in legs: its forwards down and up, its backwards down and up. ROUNDS: compactions of one
 * order; PERIODS: tried for a recipe; VISITS_OF_STAGE: work of laying a pattern, per stage. Measured: docs/performance.md. */
enum { LEGS = 4, ROUNDS = 3, PERIODS = 150, VISITS_OF_STAGE = 20 /* when a pattern is laid */ };

/* A pattern to try. Waits are in cells: the busiest device has one for each op of a microbatch. */
struct recipe {
    struct ppi_recipe laid; /* without its period */
    double step[LEGS];      /* the wait from device to device */
    double turn;            /* the wait between the forwards and the backwards */
    bool flat;              /* laid with unit costs: the published blocks */
    bool alone;             /* each microbatch has its own period: it always fits */
};

/* Found by trial on some hundred problems, even and uneven: other recipes would shorten their schedules by less than 1 %. The
 * last but one is for so few microbatches that memory does not matter; the last, one microbatch after another, always fits. */
static const struct recipe recipes[] = {
    {{.share = 1, .weights = PPI_WEIGHTS_EARLY}, .step = {0.5, 1, 0, 0}},
    {{.share = 1, .weights = PPI_WEIGHTS_LATE}, .step = {0, 1, 0, 1}},
    {{.share = 1, .weights = PPI_WEIGHTS_EARLY}, .step = {0.5, 1.5, 0, 0}},
    {{.share = 1, .weights = PPI_WEIGHTS_LATE}, .step = {2, 0, 2, 0}},
    {{.share = 1, .weights = PPI_WEIGHTS_EARLY}, .step = {1.5, 0.5, 0, 0}, .turn = 1},
    {{.share = 1, .weights = PPI_WEIGHTS_LATE}, .flat = true},
    {{.share = 0, .weights = PPI_WEIGHTS_LAST}},
    {{.share = 1, .weights = PPI_WEIGHTS_EARLY}, .flat = true, .alone = true},
};

enum { RECIPES = sizeof recipes / sizeof recipes[0] };

struct search {
    struct ppi_attempt *attempt;
    struct ppi_problem units; /* with unit costs, and the limit in stage passes */
    struct ppi_periodic pattern;
    struct ppi_compactor compactor;
    struct ppi_orders order;
};

/* --- candidates --- */

/* The time of a single microbatch with its Ws. */
static double chain_of(const struct ppi_problem *problem)
{
    double chain = 0;
    for (uint32_t s = 0; s < problem->stages; s++) {
        const struct ppi_stage *stage = &problem->stage[s];
        chain += stage->forward_delay + stage->backward_delay;
        for (int k = 0; k < PPI_OPS_OF_PASS; k++)
            chain += stage->duration[ppi_kinds[k]];
    }
    return chain;
}

/* The first period to try: no shorter than the busiest device's `work`, unless ops may overlap; and not so short that a single
 * microbatch, which takes `chain`, spans very many periods. */
static double first_period(const struct ppi_problem *problem, const struct recipe *recipe, double work, double chain)
{
    double least = chain / (16.0 * ((double)problem->devices + problem->microbatches));
    double period = ppi_larger(least, recipe->laid.share == 0 ? work / 3 : work);
    return period > 0 ? period : chain > 0 ? chain : 1;
}

static void set_waits(struct search *search, const struct recipe *recipe, double cell)
{
    const struct ppi_problem *problem = &search->units;
    uint32_t links = problem->stages + problem->stages;
    for (uint32_t link = 0; link < links; link++) {
        double wait = link % problem->devices > 0 ? recipe->step[link / problem->devices] : 0;
        search->pattern.beat[link].wait = cell * (link == problem->stages ? recipe->turn : wait);
    }
}

static bool lay(struct search *search, const struct ppi_problem *problem, const struct ppi_recipe *laid)
{
    return ppi_periodic_lay(&search->pattern, problem, laid) && ppi_periodic_fits(&search->pattern, &search->units, false) &&
           ppi_periodic_fits(&search->pattern, &search->attempt->problem, false);
}

/* Compacts the order forwards, backwards and forwards; stops early where it is 1.1 times the best schedule so far.
 * `*improved`: whether the result of a forward pass is shorter than that; then the shortest is the candidate. */
static ppsched_status compact(struct search *search, bool *improved, ppsched_error *error)
{
    const double hopeless = 1.1 * search->attempt->objective;
    double shortest = search->attempt->objective, span = 0;
    ppsched_status status = PPSCHED_OK;
    *improved = false;
    for (int round = 0; round < ROUNDS && span <= hopeless && status == PPSCHED_OK; round++) {
        bool fits = ppi_compact(&search->compactor, &search->order, round % 2 == 1, &span);
        status = ppi_poll_spend(&search->attempt->poll, 0, error);
        if (!fits)
            break;
        if (round % 2 == 0 && span < shortest) {
            shortest = span;
            *improved = true;
            ppi_orders_copy(&search->attempt->candidate, &search->order);
        }
    }
    return status;
}

/* Lays a pattern into the shortest period that it fits, repeats it and compacts the order. */
static ppsched_status try_recipe(struct search *search, const struct recipe *recipe, ppsched_error *error)
{
    const struct ppi_problem *problem = recipe->flat ? &search->units : &search->attempt->problem;
    double work = problem->split_work, chain = chain_of(problem);
    double first = recipe->alone ? chain : first_period(problem, recipe, work, chain);
    struct ppi_recipe laid = recipe->laid;
    int tries = laid.share == 0 ? 1 : PERIODS;
    set_waits(search, recipe, work / (problem->device[0].count * PPI_OPS_OF_PASS));
    bool improved = false;
    for (laid.period = first; !lay(search, problem, &laid); laid.period *= laid.period < 2 * first ? 1.02 : 1.1) {
        if (--tries == 0 || laid.period > chain)
            return PPSCHED_OK;
        if (ppi_poll_spend(&search->attempt->poll, VISITS_OF_STAGE * problem->stages, error) != PPSCHED_OK)
            return PPSCHED_ERROR_CANCELLED;
    }
    ppi_periodic_repeat(&search->pattern, problem, &search->order);
    ppsched_status status = compact(search, &improved, error);
    return status == PPSCHED_OK && improved ? ppi_attempt_offer(search->attempt, error) : status;
}

static ppsched_status try_all(struct search *search, ppsched_error *error)
{
    struct ppi_attempt *attempt = search->attempt;
    ppsched_status status = PPSCHED_OK;
    if (search->units.stages <= (uint32_t)search->compactor.most) /* ZB-V holds 2D: with two devices no more */
        status = ppi_offer_strategy(attempt, &ppi_zbv, true, error);
    for (int k = 0; k < RECIPES && status == PPSCHED_OK; k++) {
        status = ppi_poll_report(&attempt->poll, (double)k / RECIPES, error);
        bool serves = recipes[k].alone ? attempt->objective == PPI_INFINITE : ppi_attempt_goes_on(attempt);
        if (status == PPSCHED_OK && serves)
            status = try_recipe(search, &recipes[k], error);
    }
    return status;
}

/* --- the search --- */

static ppsched_status prepare(struct search *search, uint32_t most, ppsched_error *error)
{
    struct ppi_attempt *attempt = search->attempt;
    const struct ppi_problem *problem = &attempt->problem;
    double longest = 0;
    if (!ppi_is_finite(chain_of(problem) * 2 * problem->microbatches))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of times is too large for a double");
    ppsched_status status = ppi_problem_make_units(&search->units, &attempt->arena, attempt->config, attempt->placement, most,
                                                   error);
    if (status == PPSCHED_OK)
        status = ppi_periodic_make(&search->pattern, &attempt->arena, problem, error);
    if (status == PPSCHED_OK)
        status = ppi_compactor_make(&search->compactor, &attempt->arena, problem, error);
    if (status == PPSCHED_OK)
        status = ppi_orders_make(&search->order, &attempt->arena, problem, error);
    if (status != PPSCHED_OK)
        return status;
    search->compactor.most = (int32_t)most;
    search->compactor.poll = &search->attempt->poll;
    search->compactor.look_back = 32; /* more brought no gain in trials */
    for (uint32_t s = 0; s < problem->stages; s++)
        for (int k = 0; k < PPI_OPS_OF_PASS; k++)
            longest = ppi_larger(longest, problem->stage[s].duration[ppi_kinds[k]]);
    search->compactor.rounding = longest * 1e-9;
    return PPSCHED_OK;
}

/* Plans with 1/`part` of 1F1B's memory. */
static ppsched_status plan(struct ppi_attempt *attempt, uint32_t part, ppsched_error *error)
{
    struct search search = {.attempt = attempt};
    ppsched_status status = ppi_attempt_require_fit(attempt, error);
    if (status == PPSCHED_OK)
        status = prepare(&search, ppi_v_held(attempt->problem.devices, part), error);
    ppi_attempt_split_only(attempt);
    return status == PPSCHED_OK ? try_all(&search, error) : status;
}

static ppsched_status plan_half(struct ppi_attempt *attempt, ppsched_error *error)
{
    return plan(attempt, 2, error);
}

static ppsched_status plan_third(struct ppi_attempt *attempt, ppsched_error *error)
{
    return plan(attempt, 3, error);
}

const struct ppi_strategy ppi_v_half = {
    .name = "v_half",
    .summary = "half of 1F1B's activation memory on the V placement, planned with the real costs of each stage",
    .source = "Pipeline Parallelism with Controllable Memory (Qi et al. 2024, arXiv 2405.15362)",
    .placement = PPSCHED_PLACEMENT_V,
    .chunks = 2,
    .weight_versions = 1,
    .splits_backward = true,
    .flushes = true,
    .unrolls = true,
    .plan = plan_half,
};

const struct ppi_strategy ppi_v_min = {
    .name = "v_min",
    .summary = "a third of 1F1B's activation memory on the V placement, planned with the real costs of each stage",
    .source = "Pipeline Parallelism with Controllable Memory (Qi et al. 2024, arXiv 2405.15362)",
    .placement = PPSCHED_PLACEMENT_V,
    .chunks = 2,
    .weight_versions = 1,
    .splits_backward = true,
    .flushes = true,
    .plan = plan_third,
};
