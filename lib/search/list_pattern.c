/* SPDX-License-Identifier: Apache-2.0 */
/* List scheduling after a pattern: of the ops that a device could run next, it runs the one that the pattern runs first. The
 * partial schedule accounts for real costs, memory limits, warm-up and drain. */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "search/explore.h"
#include "search/partial_schedule.h"
#include "search/periodic.h"

/* Measured: docs/performance.md. */
enum {
    MOST_STAGES = 16,     /* of a device, above which no patterns are tried: the work grows with their square */
    VISITS_OF_STEP = 4,   /* work counted for a step, in addition to its device's stages */
    DEVICES_OF_VISIT = 16 /* and to one visit for so many devices searched for the first to finish */
};

struct dispatcher {
    struct ppi_attempt *attempt;
    struct ppi_arena arena;
    struct ppi_periodic pattern;
    struct ppi_partial partial;
    double weight_lag; /* how long after its I a W is due; infinite: only where nothing else can be run */
    bool holds_back;   /* Fs by which a stage holds more than in the pattern come last */
};

/* --- one list schedule --- */

/* When the pattern runs a step. */
static double wanted(const struct dispatcher *dispatcher, const struct ppi_step *step)
{
    const struct ppi_problem *problem = &dispatcher->attempt->problem;
    const struct ppi_periodic *pattern = &dispatcher->pattern;
    bool is_weight = step->kind == PPSCHED_KIND_W;
    double time = ppi_partial_next(&dispatcher->partial, step->stage, step->kind) * pattern->period;
    time += pattern->beat[ppi_link_of(problem, step->stage, is_weight ? PPSCHED_KIND_I : step->kind)].start;
    return is_weight ? time + problem->stage[step->stage].input + dispatcher->weight_lag : time;
}

/* Whether a step is an F with which its stage would hold more than in the pattern. */
static bool is_ahead(const struct dispatcher *dispatcher, const struct ppi_step *step)
{
    const struct ppi_problem *problem = &dispatcher->attempt->problem;
    const struct ppi_done *done = &dispatcher->partial.stage[step->stage].done;
    return step->kind == PPSCHED_KIND_F && dispatcher->holds_back &&
           problem->device[problem->stage[step->stage].device].count > 1 &&
           done->forwards - done->weights + 1 > ppi_periodic_in_flight(&dispatcher->pattern, problem, step->stage);
}

/* Chooses a device's next step. Fs that are ahead come last: where nothing else is left `*ahead` has their places. */
static struct ppi_step choose(const struct dispatcher *dispatcher, uint32_t device, uint32_t *ahead)
{
    const struct ppi_problem *problem = &dispatcher->attempt->problem;
    double first = PPI_INFINITE;
    struct ppi_step best = {.start = PPI_INFINITE}, last = best;
    *ahead = 0;
    for (uint32_t i = 0; i < problem->device[device].count; i++)
        for (int k = 0; k < PPI_KINDS; k++) {
            struct ppi_step step = {.stage = ppi_stage_at(problem, device, i), .kind = ppi_kinds[k]};
            if (!ppi_partial_may_be_next(&dispatcher->partial, &step))
                continue;
            if (is_ahead(dispatcher, &step)) {
                last = step;
                if (ppi_partial_may_hold(&dispatcher->partial, step.stage))
                    *ahead |= 1u << i;
                continue;
            }
            double time = wanted(dispatcher, &step);
            if (best.start == PPI_INFINITE || time < first) {
                first = time;
                best = step;
            }
        }
    if (best.start < PPI_INFINITE)
        *ahead = 0;
    return best.start < PPI_INFINITE ? best : last;
}

/* Makes a schedule, and keeps it unless it is longer than the best so far or times overflow. */
static ppsched_status dispatch(struct dispatcher *dispatcher, double weight_lag, bool holds_back, ppsched_error *error)
{
    struct ppi_partial *partial = &dispatcher->partial;
    struct ppi_orders *out = &dispatcher->attempt->candidate;
    struct ppi_poll *poll = &dispatcher->attempt->poll;
    const uint32_t visits = VISITS_OF_STEP + partial->problem->devices / DEVICES_OF_VISIT;
    uint32_t ahead, device;
    ppsched_status status = PPSCHED_OK;
    dispatcher->weight_lag = weight_lag;
    dispatcher->holds_back = holds_back;
    ppi_partial_start(partial);
    memset(out->count, 0, out->devices * sizeof *out->count);
    while ((device = ppi_partial_first_to_finish(partial)) != PPSCHED_NONE && status == PPSCHED_OK) {
        struct ppi_step step = choose(dispatcher, device, &ahead);
        if (ahead != 0)
            ppi_partial_hold(partial, device, ahead);
        else
            ppi_partial_put(partial, &step, out);
        status = ppi_poll_spend(poll, visits + dispatcher->attempt->problem.device[device].count, error);
    }
    if (ppi_partial_is_complete(partial))
        ppi_attempt_keep(dispatcher->attempt, ppi_partial_objective(partial));
    return status;
}

/* --- straight on --- */

static ppsched_status prepare(struct dispatcher *out, struct ppi_attempt *attempt, ppsched_error *error)
{
    struct dispatcher dispatcher = {.attempt = attempt, .arena.host = &attempt->config->host};
    double *memory = ppi_arena_take(&dispatcher.arena, ppi_partial_workspace(&attempt->problem), sizeof *memory);
    ppsched_status status = ppi_arena_check(&dispatcher.arena, "the search", error);
    if (status == PPSCHED_OK) {
        dispatcher.partial = ppi_partial_at(&attempt->problem, memory);
        status = ppi_periodic_make(&dispatcher.pattern, &dispatcher.arena, &attempt->problem, error);
    }
    *out = dispatcher;
    return status;
}

ppsched_status ppi_go_straight(struct ppi_attempt *attempt, ppsched_error *error)
{
    const struct ppi_recipe alone = {.period = attempt->problem.least_period, .crowds = true}; /* a single microbatch */
    struct dispatcher dispatcher;
    ppsched_status status = prepare(&dispatcher, attempt, error);
    if (status ==
        PPSCHED_OK) { /* one schedule with each W where nothing else can be run, one with each W as soon as it is due */
        ppi_periodic_lay(&dispatcher.pattern, &attempt->problem, &alone);
        status = dispatch(&dispatcher, PPI_INFINITE, false, error);
        if (status == PPSCHED_OK)
            status = dispatch(&dispatcher, 0, false, error);
        if (status == PPSCHED_OK && !ppi_is_finite(attempt->objective))
            status = ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of times is too large for a double");
    }
    ppi_arena_clear(&dispatcher.arena);
    return status;
}

/* --- patterns --- */

/* Whether the activations in flight stay within all limits. */
static bool fits(const struct ppi_periodic *pattern, const struct ppi_problem *problem)
{
    for (uint32_t d = 0; d < problem->devices; d++) {
        double level = 0;
        for (uint32_t i = 0; i < problem->device[d].count; i++) {
            uint32_t s = ppi_stage_at(problem, d, i);
            double most = problem->stage[s].memory[PPSCHED_KIND_F] + ppi_larger(problem->stage[s].memory[PPSCHED_KIND_I], 0);
            level += most * ppi_periodic_in_flight(pattern, problem, s);
        }
        if (level > problem->device[d].limit)
            return false;
    }
    return true;
}

/* The shortest period, in steps of 5 %, at which a pattern fits the limits; after 60 steps the last. */
static double longest_period(struct ppi_periodic *pattern, const struct ppi_problem *problem, double least)
{
    struct ppi_recipe recipe = {.period = least, .share = 1};
    for (int i = 0; i < 60; i++, recipe.period *= 1.05)
        if (ppi_periodic_lay(pattern, problem, &recipe) && fits(pattern, problem))
            break;
    return recipe.period;
}

/* List schedules by all rules for the pattern. With one stage per device holding back has no effect. */
static ppsched_status dispatch_all(struct dispatcher *dispatcher, double least, ppsched_error *error)
{
    const double lags[] = {0, least, PPI_INFINITE};
    const int variants = dispatcher->attempt->problem.most_stages > 1 ? 2 : 1;
    ppsched_status status = PPSCHED_OK;
    for (int lag = 0; lag < 3; lag++)
        for (int variant = 0; variant < variants && status == PPSCHED_OK; variant++)
            status = dispatch(dispatcher, lags[lag], variant == 1, error);
    return status;
}

static ppsched_status follow_all(struct dispatcher *dispatcher, int periods, ppsched_error *error)
{
    struct ppi_attempt *attempt = dispatcher->attempt;
    double least = attempt->problem.least_period;
    double most = 1.1 * longest_period(&dispatcher->pattern, &attempt->problem, least);
    ppsched_status status = PPSCHED_OK;
    for (int i = 0; i < periods && status == PPSCHED_OK && ppi_attempt_goes_on(attempt); i++) {
        status = ppi_poll_report(&attempt->poll, (double)i / periods, error);
        struct ppi_recipe recipe = {.period = least + (most - least) * i / (periods - 1), .share = 1};
        if (status == PPSCHED_OK && ppi_periodic_lay(&dispatcher->pattern, &attempt->problem, &recipe))
            status = dispatch_all(dispatcher, least, error);
    }
    return status;
}

ppsched_status ppi_follow_patterns(struct ppi_attempt *attempt, int periods, ppsched_error *error)
{
    struct dispatcher dispatcher;
    if (attempt->problem.most_stages > MOST_STAGES)
        return PPSCHED_OK;
    ppsched_status status = prepare(&dispatcher, attempt, error);
    if (status == PPSCHED_OK)
        status = follow_all(&dispatcher, periods, error);
    ppi_arena_clear(&dispatcher.arena);
    return status;
}
