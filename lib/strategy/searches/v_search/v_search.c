/* SPDX-License-Identifier: Apache-2.0 */
/* The best building block on the V placement under a memory limit: tries every first-device pattern with every pair of steps
 * and every turn, prices the grown schedule with the real costs, and keeps the first with the shortest longest-device span. A
 * block that needs repair wins only where no other fits. */
#include "base/checked.h"
#include "base/error.h"
#include "strategy/descriptors.h"
#include "strategy/searches/v_search/block.h"

/* The most bytes of a grid; larger problems are refused. */
enum { MOST_MEMORY = 1000000000 };

/* On more than ALL_TURNS devices some TURNS turns are tried first, and then, with halved strides, those next to the last
 * LEADERS best blocks. Where that is too much work fewer turns are tried; in the end only equal steps, for which the turn does
 * not matter. Measured: docs/performance.md. */
enum { ALL_TURNS = 16, TURNS = 8, LEADERS = 4 };

/* The most work for the turns that are tried first, in bytes of the grid; LAST_TRIES times that where nothing fits. */
enum { MOST_WORK = 22000000, LAST_TRIES = 8 };

/* Choices of each slot other than the first op's, and of each step from device to device. */
enum { CHOICES = PPI_V_PERIOD - 1 };

struct search {
    struct ppi_attempt *attempt; /* keeps schedules grown without repair */
    struct ppi_v_grid *grid;
    bool repairs;              /* tries blocks that need repair: at first only with a limit, as others fit without one */
    struct ppi_v_block mended; /* while nothing fits without repair: the best block with it */
    double mended_time;        /* its time; infinite: there is none */
    uint32_t stride;           /* between turns; 0: only equal steps */
    struct ppi_v_block leader[LEADERS]; /* the last blocks that were the best when tried */
    uint32_t led;                       /* number of leaders so far */
    double least_limit;                 /* while nothing fits, the least memory that a candidate needs */
};

/* Remembers a repaired block instead of its ops, as few searches need it in the end. */
static ppsched_status hold(struct search *search, const struct ppi_v_block *block, ppsched_error *error)
{
    struct ppi_attempt *attempt = search->attempt;
    double time = PPI_INFINITE;
    ppsched_status status = ppi_attempt_price(attempt, &time, error);
    if (time < search->mended_time) {
        search->mended_time = time;
        search->mended = *block;
    }
    return status;
}

static ppsched_status try_block(struct search *search, const struct ppi_v_block *block, ppsched_error *error)
{
    struct ppi_attempt *attempt = search->attempt;
    bool fits = true, repairs = search->repairs && attempt->objective == PPI_INFINITE && search->mended_time > attempt->goal;
    enum ppi_v_growth growth;
    if (ppi_v_grow(&growth, search->grid, block, repairs, attempt, error) != PPSCHED_OK)
        return PPSCHED_ERROR_CANCELLED;
    if (growth != PPI_V_NOTHING && attempt->problem.has_limits)
        search->least_limit = ppi_smaller(search->least_limit, ppi_attempt_peak(attempt, &fits));
    if (growth == PPI_V_NOTHING || !fits)
        return PPSCHED_OK;
    return growth == PPI_V_WHOLE ? ppi_attempt_offer(attempt, error) : hold(search, block, error);
}

static ppsched_status try_turn(struct search *search, const struct ppi_v_block *block, ppsched_error *error)
{
    double whole = search->attempt->objective, mended = search->mended_time;
    ppsched_status status = try_block(search, block, error);
    if (search->attempt->objective < whole || search->mended_time < mended)
        search->leader[search->led++ % LEADERS] = *block;
    return status;
}

/* All patterns, steps and turns, or turns a stride apart. With equal steps the turn does not matter, with the last turn the
 * second step. */
static ppsched_status try_all(struct search *search, ppsched_error *error)
{
    const uint32_t patterns = CHOICES * CHOICES * CHOICES, last = search->attempt->problem.devices - 1;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t k = 0; k < patterns && status == PPSCHED_OK && ppi_attempt_goes_on(search->attempt); k++) {
        struct ppi_v_block block = {.slot = {0, 1 + k / (CHOICES * CHOICES), 1 + k / CHOICES % CHOICES, 1 + k % CHOICES}};
        uint32_t *step = block.step;
        status = ppi_poll_report(&search->attempt->poll, (double)k / patterns, error);
        for (step[0] = 1; step[0] <= CHOICES; step[0]++)
            for (step[1] = search->stride == 0 ? step[0] : 1; step[1] <= step[0]; step[1]++)
                for (block.turn = 1; block.turn <= last; block.turn += search->stride == 0 ? last : search->stride) {
                    bool repeats = step[0] == step[1] ? step[0] > 1 || block.turn > 1 : step[1] > 1 && block.turn == last;
                    if (!repeats && status == PPSCHED_OK && ppi_attempt_goes_on(search->attempt))
                        status = try_turn(search, &block, error);
                }
    }
    return status;
}

/* The turns between those that were tried, next to the leaders'. */
static ppsched_status refine(struct search *search, ppsched_error *error)
{
    const uint32_t last = search->attempt->problem.devices - 1;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t stride = search->stride / 2; stride > 0 && status == PPSCHED_OK; stride /= 2)
        for (uint32_t i = 0; i < 2 * LEADERS && i / 2 < search->led && status == PPSCHED_OK; i++) {
            struct ppi_v_block block = search->leader[i / 2];
            block.turn = i % 2 == 0 ? block.turn - stride : block.turn + stride;
            if (block.turn >= 1 && block.turn <= last && ppi_attempt_goes_on(search->attempt)) /* below 0 it wraps around */
                status = try_turn(search, &block, error);
        }
    return status;
}

static ppsched_status try_and_refine(struct search *search, ppsched_error *error)
{
    search->led = 0;
    ppsched_status status = try_all(search, error);
    return status == PPSCHED_OK ? refine(search, error) : status;
}

/* The stride between turns for which the work is at most `times` MOST_WORK. */
static uint32_t stride_of(const struct ppi_attempt *attempt, double times)
{
    const uint32_t devices = attempt->problem.devices;
    const double most = times * MOST_WORK / (double)ppi_v_grid_bytes(devices, attempt->problem.microbatches);
    uint32_t turns = devices <= ALL_TURNS || times > 1 ? devices : TURNS;
    if (most < turns)
        turns = (uint32_t)most;
    return turns > 0 ? devices / turns : 0;
}

static bool has_none(const struct search *search)
{
    return search->attempt->objective == PPI_INFINITE && search->mended_time == PPI_INFINITE;
}

static ppsched_status run(struct search *search, ppsched_error *error)
{
    static const struct ppi_v_block serial = {.slot = {0, 1, 2, 4}}; /* F F I W I W */
    struct ppi_attempt *attempt = search->attempt;
    ppsched_status status = attempt->problem.devices > 1 ? try_and_refine(search, error) : try_block(search, &serial, error);
    if (status == PPSCHED_OK && attempt->objective == PPI_INFINITE && !search->repairs) {
        search->repairs = true;
        status = try_and_refine(search, error);
    }
    if (status == PPSCHED_OK && has_none(search) && search->stride != 1) {
        search->stride = stride_of(attempt, LAST_TRIES);
        status = try_all(search, error);
    }
    if (status != PPSCHED_OK || attempt->objective < PPI_INFINITE)
        return status;
    enum ppi_v_growth growth;
    if (search->mended_time < PPI_INFINITE) {
        status = ppi_v_grow(&growth, search->grid, &search->mended, true, attempt, error);
        return status == PPSCHED_OK ? ppi_attempt_offer(attempt, error) : status;
    }
    return ppi_refuse(error, ppi_task_of(attempt), "no schedule fits the memory limit; the least limit that works is %g",
                      search->least_limit);
}

static void tell_turns(const struct search *search)
{
    const struct ppi_problem *problem = &search->attempt->problem;
    if (problem->devices > 1 && search->stride == 0)
        ppi_log(&problem->host, PPSCHED_LOG_LEVEL_INFO,
                "v_search: blocks with a turn would be too much work, and are left out");
    else if (problem->devices > 1 && search->stride > 1)
        ppi_log(&problem->host, PPSCHED_LOG_LEVEL_INFO, "v_search: of %u turns one in %u is tried, then those near the best",
                problem->devices - 1, search->stride);
}

static ppsched_status plan(struct ppi_attempt *attempt, ppsched_error *error)
{
    const struct ppi_problem *problem = &attempt->problem;
    struct search search = {
        .attempt = attempt, .repairs = problem->has_limits, .mended_time = PPI_INFINITE, .least_limit = PPI_INFINITE};
    search.stride = stride_of(attempt, 1);
    tell_turns(&search);
    search.grid = ppi_v_grid_make(&problem->host, problem->devices, problem->microbatches);
    if (search.grid == NULL)
        return ppi_fail_memory(error, "the search");
    ppi_attempt_split_only(attempt);
    ppsched_status status = run(&search, error);
    ppi_release(&problem->host, search.grid);
    return status;
}

static ppsched_status fits(const struct ppi_task *task, ppsched_error *error)
{
    const uint32_t devices = task->shape.devices, microbatches = task->shape.microbatches;
    uint32_t fewer = devices;
    if (ppi_v_grid_bytes(devices, microbatches) <= MOST_MEMORY)
        return PPSCHED_OK;
    while (error != NULL && ppi_v_grid_bytes(fewer, 0) > MOST_MEMORY)
        fewer--;
    const int64_t free = 2 * (int64_t)fewer, least = ppi_v_grid_bytes(fewer, 0);
    const int64_t rest = (MOST_MEMORY - least) / (ppi_v_grid_bytes(fewer, free + 1) - least);
    return ppi_refuse(error, task, "%u microbatch%p on %u device%p: more than %g GB to search; at most %u on %u", microbatches,
                      devices, (double)MOST_MEMORY / 1e9, (uint32_t)(free + rest), fewer);
}

const struct ppi_strategy ppi_v_search = {
    .name = "v_search",
    .summary = "the best building block on the V placement under the memory limit, for real costs",
    .source = "Pipeline Parallelism with Controllable Memory (Qi et al. 2024, arXiv 2405.15362)",
    .placement = PPSCHED_PLACEMENT_V,
    .chunks = 2,
    .weight_versions = 1,
    .splits_backward = true,
    .flushes = true,
    .searches_long = true,
    .most_memory = MOST_MEMORY,
    .fits = fits,
    .unrolls = true,
    .plan = plan,
};
