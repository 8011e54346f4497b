/* SPDX-License-Identifier: Apache-2.0 */
/* V-Half and V-Min: half and a third of 1F1B's activation memory on the V placement, planned with the real costs. A handful of
 * building blocks is laid into the shortest period in which no device holds too much, repeated, and justified; the shortest
 * longest-device span is kept.
 *
 * The bound counts activations, in stage passes from F to W, so that it is a share of 1F1B's whatever a stage's memory is; a
 * `mem_limit` holds as well. */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "strategy/descriptors.h"
#include "strategy/searches/v_cycle.h"
#include "strategy/searches/v_justify.h"

/* A block to try. */
struct recipe {
    struct ppi_v_shape shape;
    bool flat; /* laid as if all passes took as long, without delays: the published blocks */
};

/* Found by trial on some hundred problems, even and uneven: others would shorten their schedules by less than a hundredth. The
 * last is for so few microbatches that memory does not matter. */
static const struct recipe recipes[] = {
    {.shape = {.step = {0.5, 1, 0, 0}, .room = PPI_WEIGHTS_EARLY}},
    {.shape = {.step = {0, 1, 0, 1}, .room = PPI_CHAIN_FIRST}},
    {.shape = {.step = {0.5, 1.5, 0, 0}, .room = PPI_WEIGHTS_EARLY}},
    {.shape = {.step = {2, 0, 2, 0}, .room = PPI_CHAIN_FIRST}},
    {.shape = {.step = {1.5, 0.5, 0, 0}, .turn = {0, 1, 0}, .room = PPI_WEIGHTS_EARLY}},
    {.shape = {.room = PPI_CHAIN_FIRST}, .flat = true},
    {.shape = {.room = PPI_NO_ROOM}},
};

enum { RECIPES = sizeof recipes / sizeof recipes[0], ROUNDS = 3, PERIODS = 150 };

/* Kind and stage of a device's passes. */
static const uint8_t kinds[PPI_PASSES] = {PPSCHED_KIND_F, PPSCHED_KIND_F, PPSCHED_KIND_I,
                                          PPSCHED_KIND_I, PPSCHED_KIND_W, PPSCHED_KIND_W};

static uint32_t stage_of(const struct ppi_v_problem *problem, uint32_t device, uint8_t pass)
{
    bool first = pass == PPI_FA || pass == PPI_IA || pass == PPI_WA;
    return first ? device : 2 * problem->devices - 1 - device;
}

struct search {
    struct ppi_v_problem problem, flat; /* flat: the same memory, but all passes take 1, and delays nothing */
    struct ppi_attempt *attempt;
    struct ppi_costs costs;
    double work, chain; /* of the busiest device for a microbatch; from end to end of one that is alone */
    struct ppi_v_cycle cycle;
    struct ppi_v_justifier justifier;
    size_t per_device;
    struct ppi_v_step *order, *next;
};

/* --- the problem --- */

static void set_device(struct search *search, uint32_t d)
{
    struct ppi_v_device *device = &search->problem.device[d];
    double work = 0;
    for (uint8_t pass = 0; pass < PPI_PASSES; pass++) {
        const struct ppi_lane *lane = &search->costs.lanes[stage_of(&search->problem, d, pass)];
        device->duration[pass] = lane->duration[kinds[pass]];
        device->memory[pass] = lane->memory[kinds[pass]];
        work += device->duration[pass];
        if (pass < PPI_LEGS) {
            device->delay[pass] = kinds[pass] == PPSCHED_KIND_F ? lane->forward_delay : lane->backward_delay;
            search->chain += device->delay[pass];
        }
    }
    search->flat.device[d] = *device;
    for (uint8_t pass = 0; pass < PPI_PASSES; pass++)
        search->flat.device[d].duration[pass] = 1;
    memset(search->flat.device[d].delay, 0, sizeof device->delay);
    search->chain += work;
    search->work = work > search->work ? work : search->work;
}

/* Sums of memory are made forwards and backwards in time here, and round differently. */
static void set_limits(struct search *search)
{
    for (uint32_t d = 0; d < search->problem.devices; d++) {
        const struct ppi_device *own = &search->attempt->problem.device[d];
        double limit = own->limit + (own->limit + own->fixed) * 1e-10;
        search->problem.device[d].limit = search->flat.device[d].limit = limit;
    }
}

static ppsched_status prepare(struct search *search, ppsched_error *error)
{
    struct ppi_v_problem *problem = &search->problem;
    const struct ppi_host *host = &problem->host;
    struct ppi_placement place = {0};
    size_t ops = problem->devices * search->per_device;
    ppsched_status status = ppi_placement_make(&place, host, PPSCHED_PLACEMENT_V, &search->attempt->config->shape, NULL, error);
    if (status == PPSCHED_OK)
        status = ppi_costs_make(&search->costs, search->attempt->config, &place, error);
    ppi_release(host, place.device_of);
    if (status != PPSCHED_OK)
        return status;
    problem->device = ppi_allocate_zeroed(host, 2 * (size_t)problem->devices, sizeof *problem->device);
    search->order = ppi_allocate(host, ops, sizeof *search->order);
    search->next = ppi_allocate(host, ops, sizeof *search->next);
    if (problem->device == NULL || search->order == NULL || search->next == NULL)
        return ppi_fail_memory(error, "the search");
    search->flat = *problem;
    search->flat.device += problem->devices;
    for (uint32_t d = 0; d < problem->devices; d++)
        set_device(search, d);
    if (!ppi_is_finite(search->chain * 2 * problem->microbatches))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of times is too large for a double");
    set_limits(search);
    status = ppi_v_cycle_make(&search->cycle, problem, error);
    return status == PPSCHED_OK ? ppi_v_justifier_make(&search->justifier, problem, error) : status;
}

static void clear(struct search *search)
{
    const struct ppi_host *host = &search->problem.host;
    if (search->justifier.problem != NULL)
        ppi_v_justifier_clear(&search->justifier);
    ppi_v_cycle_clear(&search->cycle, &search->problem);
    ppi_release(host, search->next);
    ppi_release(host, search->order);
    ppi_release(host, search->problem.device);
    ppi_costs_clear(&search->costs);
}

/* --- candidates --- */

static void write_ops(const struct search *search, const struct ppi_v_step *steps, struct ppi_orders *out)
{
    ppsched_op *ops = out->ops;
    for (uint32_t d = 0; d < search->problem.devices; d++) {
        out->count[d] = search->per_device;
        for (size_t k = 0; k < search->per_device; k++, steps++)
            *ops++ = (ppsched_op){.microbatch = steps->microbatch,
                                  .kind = kinds[steps->pass],
                                  .stage = (uint16_t)stage_of(&search->problem, d, steps->pass)};
    }
}

/* Justifies `order` forwards, backwards and forwards, or only once where it is hopeless. False where no outcome of a forward
 * pass is shorter than the best schedule so far; else the shortest is the candidate. */
static bool justify(struct search *search)
{
    const double hopeless = 1.1 * search->attempt->objective;
    double shortest = search->attempt->objective;
    bool improved = false;
    for (int round = 0; round < ROUNDS; round++) {
        struct ppi_v_step *order = search->order;
        if (!ppi_v_justify(&search->justifier, round % 2 == 1, order, search->next))
            break;
        search->order = search->next;
        search->next = order;
        double span = ppi_v_longest_span(&search->problem, search->order);
        if (span > hopeless)
            break;
        if (round % 2 == 0 && span < shortest) {
            shortest = span;
            improved = true;
            write_ops(search, search->order, &search->attempt->candidate);
        }
    }
    return improved;
}

/* The period to begin with: no shorter than the busiest device's `work`, except where there is no room anyway; and not so short
 * that a microbatch alone, which takes as long as `chain`, spans very many. */
static double first_period(const struct search *search, const struct ppi_v_shape *shape, double work, double chain)
{
    double least = chain / (16.0 * ((double)search->problem.devices + search->problem.microbatches));
    double period = shape->room == PPI_NO_ROOM ? work / 3 : work;
    period = period > least ? period : least;
    return period > 0 ? period : chain > 0 ? chain : 1;
}

/* Lays a block into the shortest period that it fits, and justifies what it gives. */
static ppsched_status try_recipe(struct search *search, const struct recipe *recipe, ppsched_error *error)
{
    const struct ppi_v_problem *problem = recipe->flat ? &search->flat : &search->problem;
    double work = recipe->flat ? PPI_PASSES : search->work, chain = recipe->flat ? work * problem->devices : search->chain;
    double first = first_period(search, &recipe->shape, work, chain), period = first;
    int tries = recipe->shape.room == PPI_NO_ROOM ? 1 : PERIODS;
    while (!ppi_v_cycle_lay(&search->cycle, problem, &recipe->shape, period, work / PPI_PASSES)) {
        if (--tries == 0 || period > chain)
            return PPSCHED_OK;
        period *= period < 2 * first ? 1.02 : 1.1;
    }
    ppi_v_cycle_repeat(&search->cycle, problem, search->order);
    return justify(search) ? ppi_attempt_offer(search->attempt, error) : PPSCHED_OK;
}

/* One microbatch after another: what always fits. */
static ppsched_status try_serial(struct search *search, ppsched_error *error)
{
    static const uint8_t passes[PPI_PASSES] = {PPI_FA, PPI_FZ, PPI_IZ, PPI_WZ, PPI_IA, PPI_WA};
    struct ppi_v_step *step = search->order;
    for (uint32_t d = 0; d < search->problem.devices; d++)
        for (size_t k = 0; k < search->per_device; k++)
            *step++ = (struct ppi_v_step){.microbatch = (uint32_t)(k / PPI_PASSES), .pass = passes[k % PPI_PASSES]};
    write_ops(search, search->order, &search->attempt->candidate);
    ppsched_status status = ppi_attempt_offer(search->attempt, error);
    return status == PPSCHED_OK && justify(search) ? ppi_attempt_offer(search->attempt, error) : status;
}

static ppsched_status try_all(struct search *search, ppsched_error *error)
{
    struct ppi_attempt *attempt = search->attempt;
    ppsched_status status = PPSCHED_OK;
    if (2 * (int64_t)search->problem.devices <= search->problem.most) /* ZB-V holds 2D: on two devices no more than half */
        status = ppi_offer_strategy(attempt, &ppi_zbv, error);
    for (int k = 0; k < RECIPES && status == PPSCHED_OK; k++) {
        status = ppi_watch_report(&attempt->watch, (double)k / RECIPES, error);
        if (status == PPSCHED_OK && ppi_attempt_goes_on(attempt))
            status = try_recipe(search, &recipes[k], error);
    }
    if (status == PPSCHED_OK && attempt->objective == PPI_INFINITE)
        status = try_serial(search, error);
    if (status == PPSCHED_OK && attempt->objective == PPI_INFINITE)
        status = ppi_refuse(error, attempt->task, "not even one microbatch after another keeps the memory limit");
    return status;
}

static ppsched_status plan(struct ppi_attempt *attempt, uint32_t most, ppsched_error *error)
{
    const struct ppi_shape *shape = &attempt->config->shape;
    struct search search = {.attempt = attempt, .costs.host = attempt->config->host};
    search.problem = (struct ppi_v_problem){
        .host = attempt->config->host, .devices = shape->devices, .microbatches = shape->microbatches, .most = (int32_t)most};
    search.per_device = PPI_PASSES * (size_t)shape->microbatches;
    ppsched_status status = ppi_attempt_require_fit(attempt, error);
    if (status == PPSCHED_OK)
        status = prepare(&search, error);
    ppi_attempt_split_only(attempt);
    if (status == PPSCHED_OK)
        status = try_all(&search, error);
    clear(&search);
    return status;
}

static ppsched_status plan_half(struct ppi_attempt *attempt, ppsched_error *error)
{
    return plan(attempt, 2 * ((attempt->problem.devices + 2) / 2), error);
}

static ppsched_status plan_third(struct ppi_attempt *attempt, ppsched_error *error)
{
    return plan(attempt, 2 * ((attempt->problem.devices + 4) / 3), error);
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
