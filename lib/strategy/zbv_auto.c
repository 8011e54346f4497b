/* SPDX-License-Identifier: Apache-2.0 */
/* The shortest of many plans on the V placement under a memory limit, with real costs: ZB-V by greedy planning, with all four
 * combinations of two choices, each planned again with the idle times that the plan before has shown; where memory is short,
 * schedules packed from patterns; and the fixed schedules of the placement. The first with the shortest longest-device span is
 * kept. */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "strategy/price.h"
#include "strategy/table.h"
#include "strategy/v_1f1b.h"
#include "strategy/v_greedy.h"
#include "strategy/v_pack.h"

struct search {
    struct ppi_watch *watch;
    struct ppi_v_planner planner;
    size_t count;                 /* ops of all devices */
    ppsched_op *candidate, *best; /* best: the caller's */
    double best_span;
    double least_span; /* no plan has a shorter one: the work of the busiest device */
    double *limit;     /* of each device */
    double *spare;     /* as for the greedy planner */
    bool *of_a;        /* its scratch */
};

/* Whether a shorter plan is possible, rounding aside. */
static bool goes_on(const struct search *search)
{
    return !(search->best_span <= search->least_span * (1 + 1e-12));
}

static void keep_shorter(struct search *search, double span)
{
    if (!(span < search->best_span))
        return;
    search->best_span = search->watch->best = span;
    memcpy(search->best, search->candidate, search->count * sizeof *search->best);
}

/* --- greedy plans --- */

/* Plans with one choice, and again as long as that gets shorter. */
static void try_choice(struct search *search, struct ppi_v_choice choice)
{
    struct ppi_v_planner *p = &search->planner;
    double before = PPI_INFINITE, span = 0;
    memset(search->spare, 0, p->devices * sizeof *search->spare);
    for (; goes_on(search); before = span) {
        span = ppi_v_greedy(p, choice, search->spare, search->of_a, search->candidate);
        keep_shorter(search, span);
        if (!(span < before))
            return;
        for (uint32_t r = 0; r < p->devices; r++)
            search->spare[r] = p->longest - p->device[r].work;
    }
}

static void try_choices(struct search *search)
{
    for (unsigned code = 0; code < 4 && goes_on(search); code++)
        try_choice(search, (struct ppi_v_choice){code % 2 < 1, code < 2});
}

/* What ZB-V needs on a device: D activations of both stages. */
static double usual_memory(const struct ppi_v_planner *p, uint32_t r)
{
    const struct ppi_v_device *device = &p->device[r];
    return p->devices * (device->a->lane->memory[PPSCHED_KIND_F] + device->z->lane->memory[PPSCHED_KIND_F]);
}

/* The least of all devices' limits, in times the usual memory. */
static double least_limit(const struct ppi_v_planner *p)
{
    double least = PPI_INFINITE;
    for (uint32_t r = 0; r < p->devices; r++)
        if (p->device[r].limit < least * usual_memory(p, r))
            least = p->device[r].limit / usual_memory(p, r);
    return least;
}

/* Within the usual memory, and where the limits allow more, within them. */
static void try_greedy(struct search *search)
{
    struct ppi_v_planner *p = &search->planner;
    bool more = false;
    for (uint32_t r = 0; r < p->devices; r++) {
        double usual = usual_memory(p, r) * (1 + 1e-12);
        search->limit[r] = p->device[r].limit;
        more = more || search->limit[r] > usual;
        if (search->limit[r] > usual)
            ppi_v_set_limit(p, r, usual);
    }
    try_choices(search);
    for (uint32_t r = 0; r < p->devices; r++)
        ppi_v_set_limit(p, r, search->limit[r]);
    if (more)
        try_choices(search);
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
        keep_shorter(search, ppi_v_pack(pack, &search->planner, pattern, search->candidate));
    }
    return found;
}

/* Tries longer and longer periods until three have served. */
static ppsched_status try_patterns(struct search *search, ppsched_error *error)
{
    struct ppi_v_pattern pattern = {0};
    struct ppi_v_pack pack = {0};
    double work = search->least_span / search->planner.microbatches, period = work;
    ppsched_status status = ppi_v_pattern_make(&pattern, &search->planner, error);
    if (status == PPSCHED_OK)
        status = ppi_v_pack_make(&pack, &search->planner, error);
    for (int tries = 0, found = 0; status == PPSCHED_OK && tries < 100 && found < 3 && goes_on(search); tries++) {
        status = ppi_watch_report(search->watch, found / 3.0, error);
        found += try_period(search, &pattern, &pack, work / 6, period);
        period *= 1.08;
    }
    ppi_v_pattern_clear(&pattern, &search->planner);
    ppi_v_pack_clear(&pack, &search->planner);
    return status;
}

/* --- fixed schedules --- */

static bool keeps_to_limits(const struct search *search, const ppsched_op *ops)
{
    const struct ppi_v_planner *p = &search->planner;
    size_t per_device = search->count / p->devices;
    for (uint32_t r = 0; r < p->devices; r++, ops += per_device) {
        double memory = 0;
        for (size_t i = 0; i < per_device; i++) {
            memory += p->costs.lanes[ops[i].stage].memory[ops[i].kind];
            if (memory > p->device[r].limit)
                return false;
        }
    }
    return true;
}

static ppsched_status try_fixed(struct search *search, const struct ppi_strategy *fixed, struct ppi_task task,
                                struct ppi_pricer *pricer, ppsched_op *scratch, ppsched_error *error)
{
    struct ppi_price price;
    size_t per_device = search->count / task.shape.devices;
    ppsched_status status = PPSCHED_OK;
    if (!ppi_serves(fixed, &task, NULL))
        return PPSCHED_OK;
    if (fixed == &ppi_v_1f1b)
        status = ppi_v_1f1b_split(&task, pricer->config, search->candidate, error);
    for (uint32_t r = 0; r < task.shape.devices && fixed->plan == NULL; r++)
        ppi_put_split(fixed, &task, r, scratch, search->candidate + r * per_device);
    if (status != PPSCHED_OK || !keeps_to_limits(search, search->candidate))
        return status;
    status = ppi_price(pricer, search->candidate, &price, error);
    if (status == PPSCHED_OK)
        keep_shorter(search, price.span);
    return status;
}

static ppsched_status try_all_fixed(struct search *search, const struct ppi_task *task, const ppsched_config *config,
                                    ppsched_error *error)
{
    static const struct ppi_strategy *const fixed[] = {&ppi_zbv, &ppi_dualpipe_v, &ppi_v_1f1b};
    struct ppi_pricer pricer = {0};
    size_t per_device = search->count / task->shape.devices;
    ppsched_op *scratch = ppi_allocate(&config->host, per_device, sizeof *scratch);
    ppsched_status status = PPSCHED_OK;
    if (scratch == NULL)
        status = ppi_fail_memory(error, "the search");
    else
        status = ppi_pricer_make(&pricer, config, PPSCHED_PLACEMENT_V, search->best, per_device, error);
    for (size_t k = 0; k < sizeof fixed / sizeof fixed[0] && status == PPSCHED_OK && goes_on(search); k++)
        status = try_fixed(search, fixed[k], *task, &pricer, scratch, error);
    ppi_pricer_clear(&pricer);
    ppi_release(&config->host, scratch);
    return status;
}

/* --- the search --- */

/* Where none is given, what ZB-V needs is the limit. */
static void limit_by_default(struct ppi_v_planner *p)
{
    for (uint32_t r = 0; r < p->devices; r++)
        if (p->device[r].limit == PPI_INFINITE)
            ppi_v_set_limit(p, r, usual_memory(p, r) * (1 + 1e-12));
}

static ppsched_status prepare(struct search *search, const ppsched_config *config, ppsched_error *error)
{
    ppsched_status status = ppi_v_planner_make(&search->planner, config, error);
    if (status == PPSCHED_OK)
        status = ppi_v_set_limits(&search->planner, &ppi_zbv_auto, config, error);
    if (status != PPSCHED_OK)
        return status;
    uint32_t devices = config->shape.devices;
    limit_by_default(&search->planner);
    for (uint32_t r = 0; r < devices; r++)
        if (search->planner.device[r].work > search->least_span)
            search->least_span = search->planner.device[r].work;
    search->candidate = ppi_allocate(&config->host, search->count, sizeof *search->candidate);
    search->limit = ppi_allocate(&config->host, devices, sizeof *search->limit);
    search->spare = ppi_allocate(&config->host, devices, sizeof *search->spare);
    search->of_a = ppi_allocate(&config->host, devices, sizeof *search->of_a);
    if (search->candidate == NULL || search->limit == NULL || search->spare == NULL || search->of_a == NULL)
        return ppi_fail_memory(error, "the search");
    return PPSCHED_OK;
}

static ppsched_status plan(const struct ppi_task *task, const ppsched_config *config, struct ppi_watch *watch,
                           struct ppi_orders *orders, ppsched_error *error)
{
    struct search search = {.watch = watch, .best = orders->ops, .best_span = PPI_INFINITE, .planner.costs.host = config->host};
    search.count = 6 * (size_t)task->shape.devices * task->shape.microbatches;
    ppsched_status status = prepare(&search, config, error);
    double least = status == PPSCHED_OK ? least_limit(&search.planner) : 0;
    if (status == PPSCHED_OK && least < 1 - 1e-9)
        status = try_patterns(&search, error);
    if (status == PPSCHED_OK && (least > 0.5 || !ppi_is_finite(search.best_span))) /* with less, patterns are shorter */
        try_greedy(&search);
    if (status == PPSCHED_OK && !ppi_is_finite(search.best_span))
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of times is too large for a double");
    if (status == PPSCHED_OK && goes_on(&search))
        status = try_all_fixed(&search, task, config, error);
    ppi_release(&config->host, search.candidate);
    ppi_release(&config->host, search.limit);
    ppi_release(&config->host, search.spare);
    ppi_release(&config->host, search.of_a);
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
