/* SPDX-License-Identifier: Apache-2.0 */
/* Zero bubble under a memory limit, with real costs: greedy plans with all combinations of their choices, the fixed schedules
 * that fit the limit; where all these stay far from what is possible, greedy plans with another warm-up, and list schedules
 * after repeating patterns. The first with the shortest longest-device span is kept. */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "search/bound.h"
#include "search/repeat.h"
#include "strategy/limits.h"
#include "strategy/price.h"
#include "strategy/table.h"
#include "strategy/zb_greedy.h"

#define FAR 1.1 /* a span so many times the lower bound is worth more work; most plans with ample memory are closer */

enum { PERIODS = 2 }; /* of the patterns then: more find little more */

struct search {
    const struct ppi_task *task;
    const ppsched_config *config;
    struct ppi_problem problem;
    struct ppi_watch *watch;
    struct ppi_orders *orders; /* the best so far */
    size_t per_device;
    ppsched_op *candidate;
    double span;  /* of the best so far */
    double bound; /* no schedule has a shorter one */
};

/* Whether a shorter schedule may exist, rounding aside. */
static bool goes_on(const struct search *search)
{
    return !(search->span <= search->bound * (1 + 1e-12));
}

static void keep_shorter(struct search *search, double span)
{
    if (!(span < search->span))
        return;
    search->span = search->watch->best = span;
    memcpy(search->orders->ops, search->candidate, search->task->shape.devices * search->per_device * sizeof(ppsched_op));
}

/* The choices of the paper's heuristic are tried with all of them taken first, the last changing fastest. */
static ppsched_status try_choices(struct search *search, bool even_warmup, ppsched_error *error)
{
    struct ppi_zb_planner planner;
    ppsched_status status = ppi_zb_planner_make(&planner, &search->problem, error);
    if (status != PPSCHED_OK)
        return status;
    for (unsigned code = 0; code < 8 && goes_on(search); code++) {
        struct ppi_zb_choice choice = {code < 4, code % 4 < 2, code % 2 < 1, even_warmup};
        keep_shorter(search, ppi_zb_plan(&planner, choice, search->span, search->candidate));
    }
    ppi_zb_planner_clear(&planner);
    return status;
}

/* --- fixed schedules: on uneven stages one may be shorter than the greedy plan --- */

static bool keeps_to_limit(const struct search *search, uint32_t device, const ppsched_op *ops)
{
    static const enum ppi_letter letters[] = {[PPSCHED_KIND_F] = PPI_F, [PPSCHED_KIND_I] = PPI_I, [PPSCHED_KIND_W] = PPI_W};
    const double *memory = search->problem.stage[device].memory;
    double held = 0;
    for (size_t i = 0; i < search->per_device; i++) {
        held += memory[letters[ops[i].kind]];
        if (held > search->problem.device[device].limit)
            return false;
    }
    return true;
}

static ppsched_status try_fixed(struct search *search, const struct ppi_strategy *fixed, struct ppi_pricer *pricer,
                                ppsched_op *scratch, ppsched_error *error)
{
    struct ppi_price price;
    for (uint32_t s = 0; s < search->task->shape.devices; s++) {
        ppsched_op *ops = search->candidate + s * search->per_device;
        ppi_put_split(fixed, search->task, s, scratch, ops);
        if (!keeps_to_limit(search, s, ops))
            return PPSCHED_OK;
    }
    ppsched_status status = ppi_price(pricer, search->candidate, &price, error);
    if (status == PPSCHED_OK)
        keep_shorter(search, price.span);
    return status;
}

static ppsched_status try_all_fixed(struct search *search, ppsched_error *error)
{
    static const struct ppi_strategy *const fixed[] = {&ppi_zb_h1, &ppi_zb_h2, &ppi_1f1b, &ppi_eager_1f1b, &ppi_gpipe};
    const struct ppi_host *host = &search->config->host;
    struct ppi_pricer pricer = {0};
    ppsched_op *scratch = ppi_allocate(host, search->per_device, sizeof *scratch);
    ppsched_status status = PPSCHED_OK;
    if (scratch == NULL)
        status = ppi_fail_memory(error, "the search");
    else
        status = ppi_pricer_make(&pricer, search->config, PPSCHED_PLACEMENT_LINEAR, search->orders->ops, search->per_device,
                                 error);
    for (size_t k = 0; k < sizeof fixed / sizeof fixed[0] && status == PPSCHED_OK && goes_on(search); k++)
        status = try_fixed(search, fixed[k], &pricer, scratch, error);
    ppi_pricer_clear(&pricer);
    ppi_release(host, scratch);
    return status;
}

/* --- the search --- */

static ppsched_status find_bound(struct search *search, ppsched_error *error)
{
    ppsched_bound bound;
    ppsched_status status = ppi_lower_bound(&bound, search->config, PPSCHED_PLACEMENT_LINEAR, 1, PPSCHED_OBJECTIVE_SPAN, error);
    if (status == PPSCHED_OK)
        search->bound = bound.value;
    return status;
}

/* Greedy plans with even warm-ups, and list schedules. */
static ppsched_status try_harder(struct search *search, ppsched_error *error)
{
    ppsched_status status = try_choices(search, true, error);
    if (status != PPSCHED_OK)
        return status;
    return ppi_repeat(&search->problem, PERIODS, search->bound * (1 + 1e-12), search->watch, search->orders, &search->span,
                      error);
}

static ppsched_status run(struct search *search, ppsched_error *error)
{
    search->per_device = 3 * (size_t)search->task->shape.microbatches;
    search->candidate = ppi_allocate(&search->config->host, search->task->shape.devices * search->per_device,
                                     sizeof *search->candidate);
    ppsched_status status = search->candidate != NULL ? find_bound(search, error) : ppi_fail_memory(error, "the search");
    if (status == PPSCHED_OK)
        status = try_choices(search, false, error);
    if (status == PPSCHED_OK && !ppi_is_finite(search->span))
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of times is too large for a double");
    if (status == PPSCHED_OK && goes_on(search))
        status = try_all_fixed(search, error);
    if (status == PPSCHED_OK && search->span > search->bound * FAR)
        status = try_harder(search, error);
    ppi_release(&search->config->host, search->candidate);
    return status;
}

static ppsched_status plan(const struct ppi_task *task, const ppsched_config *config, struct ppi_watch *watch,
                           struct ppi_orders *orders, ppsched_error *error)
{
    struct search search = {.task = task, .config = config, .watch = watch, .orders = orders, .span = PPI_INFINITE};
    ppsched_status status = ppi_fitting_problem(&search.problem, &ppi_zb_auto, config, PPSCHED_PLACEMENT_LINEAR, error);
    if (status != PPSCHED_OK)
        return status;
    status = run(&search, error);
    ppi_problem_clear(&search.problem);
    return status;
}

static const char *const aliases[] = {"zb", "zero_bubble"};

const struct ppi_strategy ppi_zb_auto = {
    .name = "zb_auto",
    .summary = "zero bubble under a memory limit, planned greedily with the real costs of each stage",
    .source = "Zero Bubble Pipeline Parallelism (Qi et al. 2023, arXiv 2401.10241), the heuristic of its code",
    .aliases = aliases,
    .alias_count = 2,
    .placement = PPSCHED_PLACEMENT_LINEAR,
    .chunks = 1,
    .weight_versions = 1,
    .splits_backward = true,
    .flushes = true,
    .plan = plan,
};
