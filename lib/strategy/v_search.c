/* SPDX-License-Identifier: Apache-2.0 */
/* The best building block on the V placement under a memory limit: tries every first-device pattern with every pair of steps
 * and every turn, prices what grows from it with the real costs, and keeps the first of the shortest longest-device spans. Only
 * where none fits does a block win whose growth must be mended first; such are priced along with the others until one fits.
 * (Without a limit all others fit, so that they wait.) */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "strategy/price.h"
#include "strategy/table.h"
#include "strategy/v_block.h"

/* What the best candidate is: one that grew as it is goes before any that was mended. */
enum rank { NONE, MENDED, GROWN };

struct search {
    const struct ppi_task *task;
    const ppsched_config *config;
    struct ppi_watch *watch;
    struct ppi_v_grid grid;
    struct ppi_pricer pricer;
    bool can_price, done;
    bool mends;     /* whether growths with early weight gradients are mended; else they are passed over */
    enum rank rank; /* of the best */
    size_t per_device;
    ppsched_op *candidate, *best; /* best: the caller's */
    double best_span;
    double least_limit; /* of the candidates that do not fit, the least memory that one needs */
};

static void keep(struct search *search, enum rank rank, double span)
{
    search->rank = rank;
    search->best_span = span;
    memcpy(search->best, search->candidate, search->task->shape.devices * search->per_device * sizeof *search->best);
    if (rank == GROWN) {
        search->watch->best = span;
        search->done = span <= search->pricer.least_span; /* nothing can be shorter */
    }
}

/* The pricer is made with the first candidate that can be run. */
static ppsched_status make_pricer(struct search *search, ppsched_error *error)
{
    if (search->can_price)
        return PPSCHED_OK;
    ppsched_status status = ppi_pricer_make(&search->pricer, search->config, PPSCHED_PLACEMENT_V, search->candidate,
                                            search->per_device, error);
    search->can_price = status == PPSCHED_OK;
    return status;
}

static ppsched_status price_candidate(struct search *search, enum rank rank, ppsched_error *error)
{
    struct ppi_price price;
    ppsched_status status = make_pricer(search, error);
    if (status != PPSCHED_OK)
        return status;
    ppi_price_memory(&search->pricer, search->candidate, &price);
    if (!price.fits && (search->rank >= rank || price.peak >= search->least_limit)) /* of no account, runnable or not */
        return PPSCHED_OK;
    status = ppi_price(&search->pricer, search->candidate, &price, error);
    if (status != PPSCHED_OK)
        return status;
    if (!price.fits)
        search->least_limit = price.peak < search->least_limit ? price.peak : search->least_limit;
    else if (rank > search->rank || price.span < search->best_span)
        keep(search, rank, price.span);
    return PPSCHED_OK;
}

/* Whether candidates of a rank are still of use. */
static bool is_wanted(const struct search *search, enum rank rank)
{
    return rank == GROWN || search->rank == NONE || (search->rank == MENDED && search->best_span > search->pricer.least_span);
}

/* A block that cannot be run, or grows none, is passed over. */
static ppsched_status try_block(struct search *search, const struct ppi_v_block *block, ppsched_error *error)
{
    int32_t most = 2 * (int32_t)search->task->shape.devices;
    bool may_mend = search->mends && is_wanted(search, MENDED);
    ppsched_status status = PPSCHED_OK;
    if (!ppi_v_grow(&search->grid, block, most, may_mend))
        return PPSCHED_OK;
    if (ppi_v_ops(&search->grid, search->candidate))
        status = price_candidate(search, GROWN, error);
    else if (may_mend && ppi_v_mend(&search->grid, most) && ppi_v_ops(&search->grid, search->candidate))
        status = price_candidate(search, MENDED, error);
    return status == PPSCHED_ERROR_INVALID_SCHEDULE ? PPSCHED_OK : status;
}

/* All steps and turns of a pattern. With equal steps the turn is of no account; with the turn at the end the second step is. */
static ppsched_status try_pattern(struct search *search, struct ppi_v_block block, ppsched_error *error)
{
    uint32_t devices = search->task->shape.devices;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < 5; i++)
        for (uint32_t j = 0; j <= i; j++)
            for (block.turn = 1; block.turn < devices && !search->done && status == PPSCHED_OK; block.turn++) {
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
    for (uint32_t code = 0; code < 5 * 5 * 5 && !search->done && status == PPSCHED_OK; code++) {
        struct ppi_v_block block = {.slot = {0, 1 + code / 25, 1 + code / 5 % 5, 1 + code % 5}};
        status = ppi_watch_report(search->watch, code / 125.0, error);
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
    for (uint32_t k = 0; k < search->per_device; k++)
        search->candidate[k] = (ppsched_op){.microbatch = k / 6, .stage = stages[k % 6], .kind = kinds[k % 6]};
    return price_candidate(search, GROWN, error);
}

static ppsched_status nothing_fits(const struct search *search, ppsched_error *error)
{
    return ppi_refuse(error, &ppi_v_search, "no schedule fits the memory limit; the least limit that works is %g",
                      search->least_limit);
}

static ppsched_status plan(const struct ppi_task *task, const ppsched_config *config, struct ppi_watch *watch,
                           struct ppi_orders *orders, ppsched_error *error)
{
    uint32_t devices = task->shape.devices;
    struct search search = {.task = task, .config = config, .watch = watch, .best = orders->ops, .least_limit = PPI_INFINITE};
    search.best_span = PPI_INFINITE;
    search.mends = config->values[PPSCHED_QUANTITY_MEM_LIMIT].values != NULL;
    search.per_device = 6 * (size_t)task->shape.microbatches;
    search.candidate = ppi_allocate(&config->host, devices * search.per_device, sizeof *search.candidate);
    if (search.candidate == NULL)
        return ppi_fail_memory(error, "the search");
    ppsched_status status = ppi_v_grid_make(&search.grid, &config->host, devices, task->shape.microbatches, error);
    if (status == PPSCHED_OK)
        status = devices == 1 ? try_single_device(&search, error) : try_all(&search, error);
    if (status == PPSCHED_OK && search.rank == NONE && !search.mends && devices > 1) {
        search.mends = true;
        status = try_all(&search, error);
    }
    if (status == PPSCHED_OK && search.rank == NONE)
        status = nothing_fits(&search, error);
    watch->best = search.best_span;
    if (search.can_price)
        ppi_pricer_clear(&search.pricer);
    if (search.grid.cells != NULL)
        ppi_v_grid_clear(&search.grid);
    ppi_release(&config->host, search.candidate);
    return status;
}

/* A grid has 6 (6D + max(M, 2D) + 1) columns of D cells. */
static ppsched_status fits(const struct ppi_task *task, ppsched_error *error)
{
    const uint64_t most = (uint64_t)1 << 28;
    uint64_t devices = task->shape.devices, columns = 6 * (6 * devices + task->shape.microbatches + 1);
    if (columns * devices <= most)
        return PPSCHED_OK;
    return ppi_refuse(error, &ppi_v_search, "%u microbatches on %u devices are too many to search", task->shape.microbatches,
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
    .fits = fits,
    .plan = plan,
};
