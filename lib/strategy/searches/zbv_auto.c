/* SPDX-License-Identifier: Apache-2.0 */
/* The shortest of many plans on the V placement under a memory limit, with real costs: ZB-V by greedy planning, with all four
 * combinations of two choices, each planned again with the idle times of the plan before; where memory is short, schedules
 * compacted from patterns; and the fixed schedules of the placement. The first with the shortest longest-device span is
 * kept. */
#include "base/checked.h"
#include "base/error.h"
#include "search/compact.h"
#include "search/explore.h"
#include "search/periodic.h"
#include "strategy/descriptors.h"
#include "strategy/searches/v_greedy.h"

/* --- greedy plans --- */

/* Writes a plan where it may be kept. */
static void keep(struct ppi_attempt *attempt, const struct ppi_greedy *greedy, double span)
{
    if (!ppi_is_finite(span) || (ppi_attempt_keeps_by_time(attempt) && !(span < attempt->objective)))
        return;
    ppi_greedy_write(greedy, &greedy->plan, &attempt->candidate);
    ppi_attempt_keep(attempt, span);
}

/* Plans with one choice, and again while the span gets shorter. */
static ppsched_status try_choice(struct ppi_attempt *attempt, struct ppi_greedy *greedy, struct ppi_v_choice choice,
                                 ppsched_error *error)
{
    double before = PPI_INFINITE, span = 0;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t r = 0; r < attempt->problem.devices; r++)
        greedy->device[r].spare = 0;
    for (; ppi_attempt_goes_on(attempt) && status == PPSCHED_OK; before = span) {
        span = ppi_v_plan(greedy, &choice);
        keep(attempt, greedy, span);
        status = ppi_attempt_spend(attempt, 1, error);
        if (!(span < before))
            break;
    }
    return status;
}

static ppsched_status try_choices(struct ppi_attempt *attempt, struct ppi_greedy *greedy, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (unsigned code = 0; code < 4 && ppi_attempt_goes_on(attempt) && status == PPSCHED_OK; code++)
        status = try_choice(attempt, greedy, (struct ppi_v_choice){code % 2 < 1, code < 2}, error);
    return status;
}

/* The memory of ZB-V on a device: D activations of both stages. */
static double usual_memory(const struct ppi_problem *problem, uint32_t r)
{
    return problem->devices * problem->device[r].least;
}

/* The same as a limit, rounded up. */
static double usual_limit(const struct ppi_problem *problem, uint32_t r)
{
    return usual_memory(problem, r) * (1 + 1e-12);
}

/* The least limit of any device, as a multiple of the usual memory. */
static double least_limit(const struct ppi_problem *problem)
{
    double least = PPI_INFINITE;
    for (uint32_t r = 0; r < problem->devices; r++)
        if (problem->device[r].limit < least * usual_memory(problem, r))
            least = problem->device[r].limit / usual_memory(problem, r);
    return least;
}

/* Plans within the usual memory and, where the limits allow more, within them. */
static ppsched_status try_greedy(struct ppi_attempt *attempt, ppsched_error *error)
{
    const struct ppi_problem *problem = &attempt->problem;
    struct ppi_greedy greedy;
    bool more = false;
    ppsched_status status = ppi_greedy_make(&greedy, &attempt->arena, problem, error);
    if (status != PPSCHED_OK)
        return status;
    for (uint32_t r = 0; r < problem->devices; r++)
        ppi_greedy_set_limit(&greedy.device[r], ppi_smaller(problem->device[r].limit, usual_limit(problem, r)));
    status = try_choices(attempt, &greedy, error);
    for (uint32_t r = 0; r < problem->devices; r++) {
        more = more || problem->device[r].limit > usual_limit(problem, r);
        ppi_greedy_set_limit(&greedy.device[r], problem->device[r].limit);
    }
    if (more && status == PPSCHED_OK)
        status = try_choices(attempt, &greedy, error);
    return status;
}

/* --- packed patterns --- */

/* Measured: docs/performance.md. */
enum {
    MOST_CELLS = 5,    /* most cells that an op waits; the busiest device has a cell for each op of a microbatch */
    VISITS_OF_BEAT = 6 /* work counted for a beat that is laid */
};

/* Waits between devices on the path down: `first` up to the device `turn`, `then` after it. */
struct waits {
    double first, then;
    uint32_t turn;
};

struct packing {
    const struct ppi_problem *problem;
    struct ppi_periodic pattern;
    struct ppi_compactor compactor;
    struct ppi_recipe recipe;
    bool inputs_wait; /* not only forwards */
    double laid;      /* visits not yet counted as work */
};

/* Lays the recipe with waits; false where that exceeds a limit, or takes absurdly long. */
static bool lay(struct packing *packing, struct waits waits)
{
    const struct ppi_problem *problem = packing->problem;
    uint32_t most_turns = 2 * problem->microbatches + 16 * problem->devices;
    struct ppi_beat *beat = packing->pattern.beat;
    for (uint32_t d = 1; d < problem->devices; d++) {
        double wait = d > waits.turn ? waits.then : waits.first;
        beat[ppi_link_of(problem, ppi_stage_at(problem, d, 0), PPSCHED_KIND_F)].wait = wait;
        beat[ppi_link_of(problem, ppi_stage_at(problem, d, 1), PPSCHED_KIND_I)].wait = packing->inputs_wait ? wait : 0;
    }
    ppi_periodic_lay(&packing->pattern, problem, &packing->recipe);
    packing->laid += VISITS_OF_BEAT * 3.0 * problem->stages;
    return beat[ppi_link_of(problem, 0, PPSCHED_KIND_I)].start <= most_turns * packing->recipe.period &&
           ppi_periodic_fits(&packing->pattern, problem, true);
}

/* The last turn with which waits keep the limits; false where none does. */
static bool find_turn(struct packing *packing, struct waits *waits)
{
    uint32_t fails = packing->problem->devices;
    struct waits tried = *waits;
    if (!lay(packing, tried))
        return false;
    while (waits->turn + 1 < fails) {
        tried.turn = waits->turn + (fails - waits->turn) / 2;
        *(lay(packing, tried) ? &waits->turn : &fails) = tried.turn;
    }
    return true;
}

/* The longest waits, in sum over devices, within the limits; false where the recipe exceeds them without any. */
static bool find_waits(struct packing *packing, double cell, struct waits *best)
{
    double most = -1;
    for (uint32_t first = 0; first <= MOST_CELLS; first++)
        for (uint32_t then = 0; then <= first; then++) {
            struct waits tried = {first * cell, then * cell, 0};
            bool fits = find_turn(packing, &tried);
            double sum = tried.turn * tried.first + (packing->problem->devices - 1 - tried.turn) * tried.then;
            if (!fits && first == 0)
                return false;
            if (!fits || sum <= most)
                continue;
            most = sum;
            *best = tried;
        }
    return true;
}

/* Compacts a pattern of each kind with one period. `*found`: whether one keeps the limits. */
static ppsched_status try_period(struct ppi_attempt *attempt, struct packing *packing, double cell, double period, bool *found,
                                 ppsched_error *error)
{
    static const double shares[] = {1, 0.85, 0.7};
    ppsched_status status = PPSCHED_OK;
    *found = false;
    for (unsigned code = 0; code < 6 && status == PPSCHED_OK; code++) {
        struct waits waits = {0};
        double span;
        packing->inputs_wait = code % 2 == 1;
        packing->recipe = (struct ppi_recipe){period, shares[code / 2], PPI_WEIGHTS_LATE, .crowds = true};
        bool fits = find_waits(packing, cell, &waits);
        status = ppi_poll_spend(&attempt->poll, packing->laid, error);
        packing->laid = 0;
        if (!fits || status != PPSCHED_OK)
            continue;
        *found = true;
        lay(packing, waits);
        ppi_periodic_repeat(&packing->pattern, packing->problem, &attempt->candidate);
        if (ppi_compact_and_fill(&packing->compactor, &attempt->candidate, &span))
            ppi_attempt_keep(attempt, span);
        status = ppi_poll_spend(&attempt->poll, 0, error);
    }
    return status;
}

/* Tries longer and longer periods until three have been found. */
static ppsched_status try_patterns(struct ppi_attempt *attempt, ppsched_error *error)
{
    struct packing packing = {.problem = &attempt->problem};
    double work = packing.problem->split_work, period = work;
    double cell = work / (packing.problem->device[0].count * PPI_OPS_OF_PASS);
    ppsched_status status = ppi_periodic_make(&packing.pattern, &attempt->arena, packing.problem, error);
    if (status == PPSCHED_OK)
        status = ppi_compactor_make(&packing.compactor, &attempt->arena, packing.problem, error);
    packing.compactor.poll = &attempt->poll;
    for (int tries = 0, found = 0; status == PPSCHED_OK && tries < 100 && found < 3 && ppi_attempt_goes_on(attempt); tries++) {
        bool serves = false;
        status = ppi_poll_report(&attempt->poll, found / 3.0, error);
        if (status == PPSCHED_OK)
            status = try_period(attempt, &packing, cell, period, &serves, error);
        found += serves;
        period *= 1.08;
    }
    return status;
}

/* --- the search --- */

static const struct ppi_strategy *const fixed[] = {&ppi_zbv, &ppi_dualpipe_v, &ppi_v_1f1b, NULL};

/* Without a limit, ZB-V's memory is the limit. */
static void limit_by_default(struct ppi_problem *problem)
{
    for (uint32_t r = 0; r < problem->devices && !problem->has_limits; r++) {
        problem->device[r].limit = usual_limit(problem, r);
        if (!problem->rises)
            problem->device[r].peak_limit = problem->device[r].limit;
    }
    problem->has_limits = true;
}

static ppsched_status plan(struct ppi_attempt *attempt, ppsched_error *error)
{
    ppsched_status status = ppi_attempt_require_fit(attempt, error);
    if (status != PPSCHED_OK)
        return status;
    limit_by_default(&attempt->problem);
    ppi_attempt_split_only(attempt);
    double least = least_limit(&attempt->problem);
    if (least < 1 - 1e-9)
        status = try_patterns(attempt, error);
    if (status == PPSCHED_OK && (least > 0.5 || !ppi_is_finite(attempt->objective))) /* below that, patterns are shorter */
        status = try_greedy(attempt, error);
    if (status == PPSCHED_OK && !ppi_is_finite(attempt->objective) && !attempt->problem.rises)
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of times is too large for a double");
    if (status == PPSCHED_OK)
        status = ppi_offer_split(attempt, fixed, error);
    if (status == PPSCHED_OK && !ppi_is_finite(attempt->objective)) /* memory rises inside backwards */
        status = ppi_go_straight(attempt, error);
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
