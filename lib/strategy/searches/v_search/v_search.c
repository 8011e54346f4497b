/* SPDX-License-Identifier: Apache-2.0 */
/* The best building block on the V placement under a memory limit: tries every first-device pattern with every pair of steps
 * and every turn, prices what grows from it with the real costs, and keeps the first of the shortest longest-device spans. Only
 * where none fits does a block win whose growth must be mended first; such are priced along with the others until one fits.
 * (Without a limit all others fit, so that they wait.) */
#include "base/checked.h"
#include "strategy/descriptors.h"
#include "strategy/searches/v_search/block.h"

/* What the best candidate is: one that grew as it is goes before any that was mended. */
enum rank { NONE, MENDED, GROWN };

struct search {
    struct ppi_attempt *attempt;
    struct ppi_v_grid grid;
    bool mends;         /* whether growths with early weight gradients are mended; else they are passed over */
    enum rank rank;     /* of the best */
    double least_limit; /* of the candidates that do not fit, the least memory that one needs */
};

/* What does not fit only tells how much memory would do. */
static ppsched_status note_limit(struct search *search, double peak, ppsched_error *error)
{
    struct ppi_attempt *attempt = search->attempt;
    double objective;
    ppsched_status status = ppi_attempt_price(attempt, &objective, error);
    if (status == PPSCHED_OK)
        search->least_limit = peak;
    return status == PPSCHED_ERROR_INVALID_SCHEDULE ? PPSCHED_OK : status;
}

static ppsched_status offer(struct search *search, enum rank rank, ppsched_error *error)
{
    struct ppi_attempt *attempt = search->attempt;
    double before = attempt->objective;
    bool fits;
    double peak = ppi_attempt_peak(attempt, &fits);
    if (!fits)
        return search->rank < rank && peak < search->least_limit ? note_limit(search, peak, error) : PPSCHED_OK;
    if (rank > search->rank)
        attempt->objective = PPI_INFINITE;
    ppsched_status status = ppi_attempt_offer(attempt, error);
    if (attempt->objective == PPI_INFINITE)
        attempt->objective = before;
    else if (rank > search->rank)
        search->rank = rank;
    return status;
}

/* Whether candidates of a rank are still of use. */
static bool is_wanted(const struct search *search, enum rank rank)
{
    return rank == GROWN || search->rank == NONE || (search->rank == MENDED && ppi_attempt_goes_on(search->attempt));
}

/* A block that grows no schedule is passed over. */
static ppsched_status try_block(struct search *search, const struct ppi_v_block *block, ppsched_error *error)
{
    int32_t most = 2 * (int32_t)search->attempt->problem.devices;
    ppsched_op *ops = search->attempt->candidate.ops;
    bool may_mend = search->mends && is_wanted(search, MENDED);
    if (!ppi_v_grow(&search->grid, block, most, may_mend))
        return PPSCHED_OK;
    if (ppi_v_ops(&search->grid, ops))
        return offer(search, GROWN, error);
    if (may_mend && ppi_v_mend(&search->grid, most) && ppi_v_ops(&search->grid, ops))
        return offer(search, MENDED, error);
    return PPSCHED_OK;
}

/* Whether nothing can be shorter. */
static bool is_done(const struct search *search)
{
    return search->rank == GROWN && !ppi_attempt_goes_on(search->attempt);
}

/* All steps and turns of a pattern. With equal steps the turn is of no account; with the turn at the end the second step is. */
static ppsched_status try_pattern(struct search *search, struct ppi_v_block block, ppsched_error *error)
{
    uint32_t devices = search->attempt->problem.devices;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < 5; i++)
        for (uint32_t j = 0; j <= i; j++)
            for (block.turn = 1; block.turn < devices && !is_done(search) && status == PPSCHED_OK; block.turn++) {
                bool repeats = (j == i && (i > 0 || block.turn > 1)) || (block.turn == devices - 1 && j > 0);
                block.step[0] = i + 1;
                block.step[1] = j + 1;
                if (!repeats)
                    status = try_block(search, &block, error);
            }
    return status;
}

static ppsched_status try_all(struct search *search, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t code = 0; code < 5 * 5 * 5 && !is_done(search) && status == PPSCHED_OK; code++) {
        struct ppi_v_block block = {.slot = {0, 1 + code / 25, 1 + code / 5 % 5, 1 + code % 5}};
        status = ppi_watch_report(&search->attempt->watch, code / 125.0, error);
        if (status == PPSCHED_OK && block.slot[1] != block.slot[2] && block.slot[1] != block.slot[3] &&
            block.slot[2] != block.slot[3])
            status = try_pattern(search, block, error);
    }
    return status;
}

/* One device: there is nothing to search. */
static ppsched_status try_single_device(struct search *search, ppsched_error *error)
{
    static const uint8_t kinds[] = {PPSCHED_KIND_F, PPSCHED_KIND_F, PPSCHED_KIND_I,
                                    PPSCHED_KIND_W, PPSCHED_KIND_I, PPSCHED_KIND_W};
    static const uint16_t stages[] = {0, 1, 1, 1, 0, 0};
    struct ppi_orders *orders = &search->attempt->candidate;
    for (uint32_t k = 0; k < orders->count[0]; k++)
        orders->ops[k] = (ppsched_op){.microbatch = k / 6, .stage = stages[k % 6], .kind = kinds[k % 6]};
    return offer(search, GROWN, error);
}

static ppsched_status run(struct search *search, ppsched_error *error)
{
    ppsched_status status = try_all(search, error);
    if (status != PPSCHED_OK || search->rank != NONE || search->mends)
        return status;
    search->mends = true;
    return try_all(search, error);
}

static ppsched_status plan(struct ppi_attempt *attempt, ppsched_error *error)
{
    const struct ppi_problem *problem = &attempt->problem;
    struct search search = {.attempt = attempt, .mends = problem->has_limits, .least_limit = PPI_INFINITE};
    ppsched_status status = ppi_v_grid_make(&search.grid, &problem->host, problem->devices, problem->microbatches, error);
    if (status != PPSCHED_OK)
        return status;
    ppi_attempt_split_only(attempt);
    status = problem->devices == 1 ? try_single_device(&search, error) : run(&search, error);
    if (status == PPSCHED_OK && search.rank == NONE)
        status = ppi_refuse(error, attempt->task, "no schedule fits the memory limit; the least limit that works is %g",
                            search.least_limit);
    ppi_v_grid_clear(&search.grid);
    return status;
}

/* A grid has 6 (6D + max(M, 2D) + 1) columns of D cells. */
static ppsched_status fits(const struct ppi_task *task, ppsched_error *error)
{
    const uint64_t most = (uint64_t)1 << 28;
    uint64_t devices = task->shape.devices, columns = 6 * (6 * devices + task->shape.microbatches + 1);
    if (columns * devices <= most)
        return PPSCHED_OK;
    return ppi_refuse(error, task, "%u microbatches on %u devices are too many to search", task->shape.microbatches,
                      task->shape.devices);
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
    .fits = fits,
    .plan = plan,
};
