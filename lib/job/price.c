/* SPDX-License-Identifier: Apache-2.0 */
/* Prices a layout: tries the strategies that apply to its sizes, splits, and as little recomputation as fits. */
#include "base/checked.h"
#include "base/error.h"
#include "job/job.h"
#include "strategy/strategy.h"

/* Stage passes of a pipeline for which a strategy that searches is tried unasked: some milliseconds. */
enum { MOST_SEARCHED = 1024 };

/* The best so far: one that fits and runs, then one that fits, then that which lacks least. */
struct best {
    ppsched_price *price;
    uint32_t runs_on;
    double memory, limit; /* bytes of the device that lacks most, and its limit */
};

struct search {
    const ppsched_job *job;
    const ppsched_job_layout *layout;
    struct ppi_job_costs costs;
    const struct ppi_pipeline_types *types; /* of `costs`; NULL: devices are alike */
    ppsched_pipeline pipeline;              /* of the present trial */
    uint32_t most_decoders;                 /* of a stage */
    uint32_t runs_on;                       /* of the last trial */
    double above, buffers, limit;           /* limit: of the device of the last trial that lacks most */
    bool searches;                          /* the present strategy */
    bool is_slower;                         /* a bound ruled something out */
    uint32_t tried;
    struct best best;
};

const char *ppi_job_strategy(const ppsched_job *job, uint32_t place, const ppsched_job_layout *layout,
                             struct ppi_job_traits *traits)
{
    uint32_t number;
    const char *name = job->strategies[place];
    if (ppi_strategy_find(name, &number, NULL) != PPSCHED_OK)
        return NULL;
    const struct ppi_strategy *strategy = ppi_strategy_at(number);
    bool is_loop = strategy->chunks == 0;
    *traits = (struct ppi_job_traits){strategy->splits_backward, strategy->plan != NULL};
    if (layout->pipeline == 1 && job->strategy_count > 1 && (strategy->splits_backward || is_loop || strategy->chunks > 1))
        return NULL; /* one device waits for no other */
    if (job->has_usual_strategies && strategy->plan != NULL &&
        (uint64_t)layout->pipeline * layout->microbatches > MOST_SEARCHED)
        return NULL;
    if (is_loop)
        return layout->chunks > 1 || job->strategy_count == 1 ? name : NULL;
    return strategy->chunks == layout->chunks ? name : NULL;
}

static bool fits(double memory, double limit)
{
    return memory <= limit;
}

static bool is_better(const struct search *search, const ppsched_price *price, double memory)
{
    const struct best *best = &search->best;
    if (best->price == NULL)
        return true;
    if (!fits(memory, search->limit) || !fits(best->memory, best->limit))
        return memory - best->memory < search->limit - best->limit;
    if ((search->runs_on != 0) != (best->runs_on != 0))
        return search->runs_on != 0;
    return price->step.step_time < best->price->step.step_time;
}

static ppsched_status ask(void *user, const struct ppi_pricing *pricing, ppsched_error *error)
{
    struct search *search = user;
    return ppi_job_ask_runtimes(&search->runs_on, search->job, search->layout, pricing, error);
}

/* The memory of the device that lacks most, and its limit. */
static double find_fullest(struct search *search, const ppsched_price *price)
{
    double most = 0;
    for (uint32_t d = 0; d < price->device_count; d++) {
        double limit = search->types != NULL ? search->types->limits[ppi_pricing_type(search->types, d)] : search->job->limit;
        if (d > 0 && price->devices[d].total - most <= limit - search->limit) /* exact where all limits are equal */
            continue;
        most = price->devices[d].total;
        search->limit = limit;
    }
    return most + search->buffers;
}

/* Prices the present trial; `*memory` is infinite where its strategy refuses the sizes. */
static ppsched_status try_it(double *memory, struct search *search, ppsched_error *error)
{
    const struct ppi_price_question question = {ask, search};
    ppsched_price *price = NULL;
    ppsched_error reason;
    double room = (search->types != NULL ? search->types->limits[0] : search->job->limit) - search->buffers;
    *memory = PPI_INFINITE;
    search->pipeline.memory_limit = search->searches && room > 0 ? room : 0;
    ppsched_status status = ppi_price_pipeline(&price, search->costs.made, search->types, &search->pipeline, &search->job->host,
                                               &question, &reason);
    if (status == PPSCHED_ERROR_REFUSED && search->pipeline.memory_limit > 0) { /* nothing fits: by how much */
        search->pipeline.memory_limit = 0;
        status = ppi_price_pipeline(&price, search->costs.made, search->types, &search->pipeline, &search->job->host, &question,
                                    &reason);
    }
    if (status == PPSCHED_ERROR_REFUSED || status == PPSCHED_ERROR_RANGE)
        return PPSCHED_OK;
    if (status != PPSCHED_OK) {
        if (error != NULL)
            *error = reason;
        return status;
    }
    search->tried++;
    *memory = find_fullest(search, price);
    if ((search->job->runtime == 0 || search->runs_on != 0) && is_better(search, price, *memory)) {
        ppi_price_destroy(search->best.price);
        search->best = (struct best){price, search->runs_on, *memory, search->limit};
        return PPSCHED_OK;
    }
    ppi_price_destroy(price);
    return PPSCHED_OK;
}

/* The fewest decoders of each stage that must be recomputed for it to fit, by halving. */
static ppsched_status find_fewest(struct search *search, ppsched_error *error)
{
    uint32_t fewest = 1, enough = search->most_decoders;
    ppsched_status status = PPSCHED_OK;
    while (fewest < enough && status == PPSCHED_OK) {
        double memory;
        search->pipeline.recompute_layers = (fewest + enough) / 2;
        status = try_it(&memory, search, error);
        if (fits(memory, search->limit))
            enough = search->pipeline.recompute_layers;
        else
            fewest = search->pipeline.recompute_layers + 1;
    }
    return status;
}

/* None, else the scores alone, else whole decoders. */
static ppsched_status try_recomputations(struct search *search, ppsched_error *error)
{
    double memory;
    search->pipeline.recompute = NULL;
    search->pipeline.recompute_layers = 0;
    ppsched_status status = try_it(&memory, search, error);
    if (status != PPSCHED_OK || fits(memory, search->limit) || memory == PPI_INFINITE)
        return status;
    search->pipeline.recompute = "selective";
    status = try_it(&memory, search, error);
    search->pipeline.recompute = "full";
    if (status == PPSCHED_OK)
        status = try_it(&memory, search, error);
    return status == PPSCHED_OK && fits(memory, search->limit) ? find_fewest(search, error) : status;
}

/* What a faster one must beat. */
static double to_beat(const struct search *search)
{
    const struct best *best = &search->best;
    bool is_final = best->price != NULL && fits(best->memory, best->limit) && best->runs_on != 0;
    double found = is_final ? best->price->step.step_time : PPI_INFINITE;
    return found < search->above ? found : search->above;
}

static void count_decoders(struct search *search)
{
    uint32_t layer = 0;
    search->most_decoders = 1;
    for (uint32_t s = 0; s < search->pipeline.devices * search->pipeline.chunks; s++) {
        uint32_t decoders = 0;
        for (uint32_t end = layer + search->pipeline.split[s]; layer < end; layer++)
            decoders += ppi_layer_at(search->costs.made[0].layers, layer)->given.place == PPSCHED_LAYER_PLACE_ANY;
        search->most_decoders = decoders > search->most_decoders ? decoders : search->most_decoders;
    }
}

static ppsched_status try_split(struct search *search, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    count_decoders(search);
    for (uint32_t i = 0; i < search->job->strategy_count && status == PPSCHED_OK; i++) {
        struct ppi_job_bound bound;
        struct ppi_job_traits traits;
        search->pipeline.strategy = ppi_job_strategy(search->job, i, search->layout, &traits);
        if (search->pipeline.strategy == NULL)
            continue;
        search->pipeline.recompute = NULL;
        search->pipeline.recompute_layers = 0;
        search->searches = traits.searches;
        status = ppi_job_bound(&bound, search->costs.made, search->types, search->job->limit, &search->pipeline, traits, error);
        if (status != PPSCHED_OK)
            break;
        if (bound.time > to_beat(search)) {
            search->is_slower = true;
            continue;
        }
        status = try_recomputations(search, error);
    }
    return status;
}

static ppsched_status try_splits(struct search *search, ppsched_error *error)
{
    uint32_t stages = search->layout->pipeline * search->layout->chunks;
    uint32_t *counts = ppi_allocate(&search->job->host, stages, 2 * sizeof *counts), *even = counts + stages;
    ppsched_status status = PPSCHED_OK;
    bool is_even = false;
    if (counts == NULL)
        return ppi_fail_memory(error, "the split");
    for (int split = 0; split < PPI_JOB_SPLITS && status == PPSCHED_OK; split++) {
        bool is_same = true;
        if (!ppi_job_divide(counts, search->costs.made[0].layers, search->types, search->layout->pipeline, stages,
                            (enum ppi_job_split)split))
            continue;
        for (uint32_t s = 0; s < stages; s++) {
            is_same &= is_even && counts[s] == even[s];
            even[s] = split == PPI_JOB_EVEN ? counts[s] : even[s];
        }
        search->pipeline.split = counts;
        if (!is_same || !is_even)
            status = try_split(search, error);
        is_even |= split == PPI_JOB_EVEN;
    }
    ppi_release(&search->job->host, counts);
    return status;
}

static ppsched_status find_best(struct search *search, ppsched_error *error)
{
    const ppsched_job *job = search->job;
    bool is_possible;
    ppsched_status status = ppi_job_costs_make(&search->costs, job, search->layout, &is_possible, error);
    if (status != PPSCHED_OK)
        return status;
    search->types = ppi_job_put_types(&search->costs, job, search->layout);
    search->costs.types.beside = search->buffers = ppi_job_buffers(search->costs.made, search->layout->pipeline);
    search->pipeline = (ppsched_pipeline){.size = sizeof search->pipeline,
                                          .devices = search->layout->pipeline,
                                          .chunks = search->layout->chunks,
                                          .microbatches = search->layout->microbatches,
                                          .rank_order = search->layout->rank_order,
                                          .reduce_every = 1};
    return try_splits(search, error);
}

ppsched_status ppi_job_price(ppsched_price **out, ppsched_job_found *found, const ppsched_job *job, uint32_t layout,
                             double above, ppsched_error *error)
{
    struct search search = {.job = job, .layout = &job->entries[layout].layout, .above = above};
    *found = (ppsched_job_found){.size = sizeof *found, .state = PPSCHED_JOB_STATE_SLOWER};
    *out = NULL;
    if (search.layout->bound > above)
        return PPSCHED_OK;
    ppsched_status status = find_best(&search, error);
    ppi_job_costs_clear(&search.costs);
    if (status != PPSCHED_OK) {
        ppi_price_destroy(search.best.price);
        return status;
    }
    struct best *best = &search.best;
    bool is_slower = best->price != NULL && fits(best->memory, best->limit) ? best->price->step.step_time > above
                                                                            : search.is_slower;
    found->state = best->price == NULL               ? PPSCHED_JOB_STATE_REFUSED
                   : fits(best->memory, best->limit) ? PPSCHED_JOB_STATE_PRICED
                                                     : PPSCHED_JOB_STATE_DOES_NOT_FIT;
    found->tried = search.tried;
    if (is_slower) {
        found->state = PPSCHED_JOB_STATE_SLOWER;
        ppi_price_destroy(best->price);
        return PPSCHED_OK;
    }
    found->runs_on = best->runs_on;
    found->memory = best->memory;
    found->memory_limit = best->limit;
    *out = best->price;
    return PPSCHED_OK;
}
