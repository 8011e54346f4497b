/* SPDX-License-Identifier: Apache-2.0 */
/* As many microbatches are taken out as leave a few for each device, or more until the best order has as little time above the
 * lower bound as before: the start of an order with uneven times may be long. */
#include "search/shorten.h"

#include "base/checked.h"
#include "base/error.h"
#include "search/explore.h"
#include "search/part.h"

/* Measured: docs/performance.md. */
enum {
    FEW = 8,              /* microbatches for each device */
    LEAST_FEW = 32,       /* microbatches */
    TIMES = 4,            /* so many times more are many */
    MOST_OPS = 50000,     /* of few: above that, tabu search takes much longer for each */
    MOST_REPEATED = 20000 /* of few that are searched after fewer */
};

#define LONGER 3e-5 /* of the time: by more than that, orders of few are too short to tell what is gained */
#define CLOSE 1e-9  /* times that differ by less, as a share of the whole, are equal */

static uint32_t few_of(const struct ppi_problem *problem)
{
    const uint64_t few = (uint64_t)FEW * problem->devices;
    return few > PPSCHED_NONE / TIMES ? PPSCHED_NONE / TIMES : few > LEAST_FEW ? (uint32_t)few : LEAST_FEW;
}

bool ppi_has_equal_microbatches(const ppsched_config *config)
{
    for (int32_t q = PPSCHED_QUANTITY_MICROBATCH_SCALE; q <= PPSCHED_QUANTITY_MICROBATCH_REQUEST; q++)
        if (config->values[q].count > 1)
            return false;
    return true;
}

bool ppi_may_shorten(const struct ppi_attempt *attempt)
{
    const struct ppi_problem *problem = &attempt->problem;
    const uint32_t few = few_of(problem);
    return (uint64_t)few * TIMES <= problem->microbatches && (uint64_t)few * PPI_OPS_OF_PASS * problem->stages <= MOST_OPS &&
           problem->slices == 1 && problem->ratio == NULL && attempt->stated == NULL && attempt->config->graph == NULL &&
           ppi_has_equal_microbatches(attempt->config);
}

/* --- longer again --- */

/* Prices the order of all microbatches, and keeps it if it is the shortest. `*time` is infinite if it exceeds a limit or cannot
 * be run. */
static ppsched_status offer(struct ppi_attempt *attempt, double *time, ppsched_error *error)
{
    bool fits = true;
    ppsched_status status = PPSCHED_OK;
    *time = PPI_INFINITE;
    if (attempt->problem.has_limits)
        ppi_attempt_peak(attempt, &fits);
    if (fits)
        status = ppi_attempt_price(attempt, time, error);
    if (status == PPSCHED_ERROR_INVALID_SCHEDULE)
        *time = PPI_INFINITE;
    else if (status == PPSCHED_OK && fits)
        ppi_attempt_keep(attempt, *time);
    return status == PPSCHED_ERROR_INVALID_SCHEDULE || status == PPSCHED_OK ? ppi_attempt_spend(attempt, 2, error) : status;
}

ppsched_status ppi_lengthen(struct ppi_attempt *attempt, struct ppi_attempt *few, bool *found, ppsched_error *error)
{
    const uint32_t more = attempt->problem.microbatches - few->problem.microbatches;
    struct ppi_part_list parts = {.count = 0};
    double time;
    *found = false;
    ppsched_status status = ppi_pricer_put(&few->pricer, few->config, few->placement, &few->best, error);
    if (status == PPSCHED_OK)
        status = ppi_pricer_time(&few->pricer, few->problem.span_share, &time, error);
    if (status == PPSCHED_OK)
        status = ppi_parts_find(&parts, &few->arena, &few->problem, &few->best, &few->pricer, more, error);
    for (uint32_t i = 0; i < parts.count && status == PPSCHED_OK; i++) {
        ppi_part_repeat(&parts.part[i], &few->best, &attempt->candidate, more);
        status = offer(attempt, &time, error);
        *found = *found || ppi_is_finite(time);
        if (time - attempt->goal <= few->objective - few->goal + CLOSE * attempt->goal)
            break; /* no other part can be expected to make it shorter */
    }
    ppi_pricer_clear(&few->pricer);
    ppi_pricer_clear(&attempt->pricer);
    return status;
}

/* --- shorter --- */

struct shortening {
    const struct ppi_shortening *wanted;
    struct ppi_attempt *attempt, few;
    ppsched_config config; /* of few, with the caller's lists */
    struct ppi_pool pool;  /* of few */
    struct ppi_window window;
    bool is_too_short; /* the best order has more time above the lower bound than before */
};

static ppsched_status make_few(struct shortening *out, struct ppi_attempt *attempt, uint32_t microbatches, ppsched_error *error)
{
    out->attempt = attempt;
    out->config = *attempt->config;
    out->config.shape.microbatches = microbatches;
    if (out->config.progress != NULL) {
        out->config.progress = ppi_poll_pass_on;
        out->config.progress_user = &attempt->poll;
    }
    ppsched_status status = ppi_attempt_make(&out->few, attempt->asked, attempt->name, &out->config, attempt->placement,
                                             attempt->problem.by_span, error);
    if (status != PPSCHED_OK)
        return status;
    status = ppi_attempt_repeat(&out->few, out->wanted->iterations, error);
    if (status == PPSCHED_OK)
        status = ppi_pool_make(&out->pool, &out->few.arena, &out->few.problem, error);
    out->few.pool = &out->pool;
    out->window.problem = &attempt->problem;
    out->window.counts = ppi_arena_take(&out->few.arena, (size_t)3 * attempt->problem.stages, sizeof *out->window.counts);
    return status == PPSCHED_OK ? ppi_arena_check(&out->few.arena, "the search", error) : status;
}

/* Whether an order of all microbatches has more time above the lower bound than one of few. */
static bool is_longer(const struct shortening *shortening, double all, double few)
{
    const struct ppi_attempt *attempt = shortening->attempt;
    return all - attempt->goal > few - shortening->few.goal + LONGER * attempt->goal;
}

/* Shortens an order, and offers it. */
static ppsched_status shorten(struct shortening *shortening, uint32_t i, ppsched_error *error)
{
    struct ppi_attempt *few = &shortening->few;
    const struct ppi_attempt *attempt = shortening->attempt;
    const bool is_first = !ppi_is_finite(few->objective);
    double time;
    ppsched_status status = PPSCHED_OK;
    shortening->window.block = attempt->problem.microbatches - few->problem.microbatches;
    if (ppi_orders_have_pairs(&attempt->pool->order[i]) ||
        !ppi_part_take_out(&shortening->window, &attempt->pool->order[i], &few->candidate))
        return PPSCHED_OK;
    status = offer(few, &time, error);
    if (is_first && ppi_is_finite(time) &&
        time - few->goal > attempt->pool->objective[i] - attempt->goal + LONGER * attempt->goal)
        shortening->is_too_short = true;
    return status;
}

static ppsched_status improve(enum ppi_shortened *out, struct shortening *shortening, ppsched_error *error)
{
    bool is_found = false;
    struct ppi_attempt *few = &shortening->few;
    const struct ppi_shortening *wanted = shortening->wanted;
    const double visits = ppi_larger(wanted->visits, wanted->passes * (double)ppi_problem_ops(&few->problem));
    if (!ppi_is_finite(few->objective))
        return PPSCHED_OK;
    few->pool = NULL; /* tabu search keeps what it finds itself */
    ppsched_status status = ppi_relink(few, &shortening->pool, visits, error);
    if (status == PPSCHED_OK && few->is_out_of_memory)
        status = ppi_fail_memory(error, "a candidate");
    if (status == PPSCHED_OK)
        status = ppi_lengthen(shortening->attempt, few, &is_found, error);
    *out = !is_found                                                               ? PPI_NOT_LENGTHENED
           : is_longer(shortening, shortening->attempt->objective, few->objective) ? PPI_LONGER
                                                                                   : PPI_AS_SHORT;
    return status;
}

/* `*again`: with more microbatches, as these are too few. */
static ppsched_status shorten_to(enum ppi_shortened *out, struct shortening *shortening, bool may_again, bool *again,
                                 ppsched_error *error)
{
    const struct ppi_pool *pool = shortening->attempt->pool;
    ppsched_status status = PPSCHED_OK;
    *again = false;
    for (uint32_t i = 0; i < pool->count && status == PPSCHED_OK && !*again; i++) {
        status = shorten(shortening, i, error);
        *again = may_again && shortening->is_too_short;
    }
    if (status == PPSCHED_OK && !*again) {
        status = improve(out, shortening, error);
        *again = *out == PPI_LONGER && shortening->wanted->repeats && !ppi_is_near_goal(shortening->attempt) &&
                 2 * ppi_problem_ops(&shortening->few.problem) <= MOST_REPEATED;
    }
    return status;
}

/* As many microbatches as `few`, or some more: so many that blocks of the best order without pairs can be taken out. 0: there
 * is no such order. */
static uint32_t align(struct shortening *shortening, struct ppi_attempt *attempt, uint32_t few)
{
    const struct ppi_pool *pool = attempt->pool;
    uint32_t i = 0;
    while (i < pool->count && ppi_orders_have_pairs(&pool->order[i]))
        i++;
    return i == pool->count ? 0
                            : few + (attempt->problem.microbatches - few) %
                                        ppi_part_least(&shortening->window, &pool->order[i], 0, 4 * attempt->problem.devices);
}

ppsched_status ppi_shorten(enum ppi_shortened *out, struct ppi_attempt *attempt, const struct ppi_shortening *shortening,
                           ppsched_error *error)
{
    const uint32_t all = attempt->problem.microbatches;
    struct ppi_arena arena = {.host = &attempt->config->host};
    const struct ppi_window window = {
        .problem = &attempt->problem,
        .counts = ppi_arena_take(&arena, (size_t)3 * attempt->problem.stages, sizeof *window.counts)};
    ppsched_status status = ppi_arena_check(&arena, "the search", error);
    bool again = status == PPSCHED_OK;
    *out = PPI_NOT_LENGTHENED;
    ppi_pool_sort(attempt->pool);
    for (uint32_t few = few_of(&attempt->problem); again && status == PPSCHED_OK; few *= 2) {
        struct shortening own = {.wanted = shortening, .window = window};
        const uint32_t aligned = align(&own, attempt, few);
        if (aligned == 0 || aligned > all / 2)
            break;
        status = make_few(&own, attempt, aligned, error);
        if (status == PPSCHED_OK)
            status = shorten_to(out, &own, aligned <= all / TIMES, &again, error);
        ppi_attempt_clear(&own.few);
    }
    ppi_arena_clear(&arena);
    return status;
}
