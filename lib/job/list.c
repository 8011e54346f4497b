/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the layouts of a job, with their bounds. What a layer costs depends on tensor, context and expert parallelism and the
 * micro-batch alone, so these are the outer loops, and what they cost is made once. */
#include "base/error.h"
#include "base/sort.h"
#include "job/job.h"
#include "launch/launch.h"
#include "model/table.h"

enum { MOST_LAYOUTS = 1 << 22, MOST_TOLD = 8 };

enum { MOST_KEPT = 512 }; /* stages of splits that are kept */
enum known { UNKNOWN = 0, POSSIBLE, IMPOSSIBLE };

/* The listing: the costs of the present outer loops, and what was left out. */
struct listing {
    ppsched_job *job;
    ppsched_job_layout layout;
    struct ppi_job_costs costs;                  /* their data parallelism and sharding change */
    bool is_tried, is_made;                      /* costs of the present layers */
    uint32_t *counts;                            /* of a split */
    uint32_t *balanced;                          /* balanced splits of the present layers: of s stages from s (s - 1) / 2 on */
    uint8_t *known;                              /* what is known of these, by stages; enum known */
    uint32_t most_stages;                        /* of these */
    uint32_t replicas[MOST_TOLD], replica_count; /* data parallelism that does not divide the batch */
    uint32_t place;
    ppsched_error reason; /* why the last that was left out was */
    bool has_reason;
    bool is_refused;          /* the reason is the runtime's: the model allows the layout */
    bool types_do_not_divide; /* pipelines that divide all devices, but not those of each type, were left out */
};

/* A reason of the model does not replace one of the runtime, which is nearer to a layout that is possible. */
static void note_reason(struct listing *listing, const ppsched_error *reason)
{
    if (listing->is_refused)
        return;
    listing->reason = *reason;
    listing->has_reason = true;
}

static ppsched_status add(struct listing *listing, const struct ppi_job_bound *bound, ppsched_error *error)
{
    ppsched_job *job = listing->job;
    if (job->count == MOST_LAYOUTS)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "there are more than %d layout%p; give fewer values", (int)MOST_LAYOUTS);
    if (job->count == job->capacity) {
        uint32_t capacity = job->capacity > 0 ? 2 * job->capacity : 256;
        struct ppi_job_entry *entries = ppi_allocate(&job->host, capacity, sizeof *entries);
        if (entries == NULL)
            return ppi_fail_memory(error, "the layouts");
        for (uint32_t i = 0; i < job->count; i++)
            entries[i] = job->entries[i];
        ppi_release(&job->host, job->entries);
        job->entries = entries;
        job->capacity = capacity;
    }
    struct ppi_job_entry *entry = &job->entries[job->count++];
    *entry = (struct ppi_job_entry){.layout = listing->layout, .place = listing->place++};
    entry->layout.size = sizeof entry->layout;
    entry->layout.rank = PPSCHED_NONE;
    entry->layout.bound = bound->time;
    entry->layout.least_memory = bound->memory;
    entry->layout.memory_limit = bound->limit;
    entry->layout.state = bound->memory > bound->limit ? PPSCHED_JOB_STATE_OVER_LIMIT : PPSCHED_JOB_STATE_LISTED;
    return PPSCHED_OK;
}

/* --- the innermost: bounds of the splits --- */

/* The layers of each stage; NULL where there is no such split. A balanced split depends on layers and stages alone and takes
 * long to find, so it is kept. */
static const uint32_t *divide(struct listing *listing, const struct ppi_pipeline_types *types, uint32_t stages,
                              enum ppi_job_split split)
{
    const ppsched_job *job = listing->job;
    const ppsched_layers *layers = listing->costs.made[0].layers;
    uint32_t devices = listing->layout.pipeline;
    if (split != PPI_JOB_BALANCED || job->type_count > 1 || stages > listing->most_stages)
        return ppi_job_divide(listing->counts, layers, types, devices, stages, split) ? listing->counts : NULL;
    uint32_t *counts = &listing->balanced[(size_t)stages * (stages - 1) / 2];
    uint8_t *known = &listing->known[stages];
    if (*known == UNKNOWN)
        *known = ppi_job_divide(counts, layers, NULL, devices, stages, split) ? POSSIBLE : IMPOSSIBLE;
    return *known == POSSIBLE ? counts : NULL;
}

static ppsched_status bound_layout(struct listing *listing, ppsched_error *error)
{
    const ppsched_job *job = listing->job;
    ppsched_job_layout *layout = &listing->layout;
    struct ppi_job_bound best = {0, 0, 0};
    struct ppi_job_traits traits = {false, false};
    bool applies = false, is_bounded = false;
    for (uint32_t i = 0; i < job->strategy_count; i++) {
        struct ppi_job_traits own;
        if (ppi_job_strategy(job, i, layout, &own) != NULL) {
            traits.splits_backward |= own.splits_backward;
            traits.searches |= own.searches;
            applies = true;
        }
    }
    uint32_t stages = layout->pipeline * layout->chunks;
    const struct ppi_pipeline_types *types = ppi_job_put_types(&listing->costs, job, layout);
    for (int split = 0; split < PPI_JOB_SPLITS && applies; split++) {
        const uint32_t *counts = divide(listing, types, stages, (enum ppi_job_split)split);
        const ppsched_pipeline pipeline = {.size = sizeof pipeline,
                                           .devices = layout->pipeline,
                                           .chunks = layout->chunks,
                                           .microbatches = layout->microbatches,
                                           .split = counts,
                                           .rank_order = layout->rank_order};
        struct ppi_job_bound own;
        if (counts == NULL)
            continue;
        ppsched_status status = ppi_job_bound(&own, listing->costs.made, types, job->limit, &pipeline, traits, error);
        if (status != PPSCHED_OK)
            return status;
        double time = !is_bounded || own.time < best.time ? own.time : best.time;
        if (!is_bounded || own.memory - best.memory < own.limit - best.limit)
            best = own;
        best.time = time;
        is_bounded = true;
        if (stages == 1)
            break;
    }
    return is_bounded ? add(listing, &best, error) : PPSCHED_OK;
}

/* --- dimensions --- */

/* Values of a dimension: the given ones, or those up to `most` for which `is_tried`. */
static bool next_value(uint32_t *value, uint32_t *place, const struct listing *listing, int32_t dimension, uint32_t most,
                       bool (*is_tried)(const struct listing *, uint32_t))
{
    const struct ppi_job_values *given = &listing->job->values[dimension];
    if (given->count > 0) {
        if (*place == given->count)
            return false;
        *value = given->values[(*place)++];
        return true;
    }
    while (*place < most) {
        *value = ++*place;
        if (is_tried(listing, *value))
            return true;
    }
    return false;
}

static uint32_t decoders_of(const struct listing *listing)
{
    return listing->job->base->shape->layer_count;
}

static bool is_divisor(const struct listing *listing, uint32_t value)
{
    return listing->job->gpus % value == 0;
}

static bool is_context(const struct listing *listing, uint32_t value)
{
    enum { LEAST_TOKENS = 1024 };
    uint32_t tokens = listing->job->training.sequence_length;
    return value == 1 || (is_divisor(listing, value) && tokens % (2 * value) == 0 && tokens / value >= LEAST_TOKENS);
}

static bool is_expert_tensor(const struct listing *listing, uint32_t value)
{
    return value == 1 || value == listing->layout.tensor_parallel;
}

static bool is_power(const struct listing *listing, uint32_t value)
{
    (void)listing;
    return (value & (value - 1)) == 0;
}

static bool is_chunks(const struct listing *listing, uint32_t value)
{
    enum { FEW = 4 };
    uint32_t each = decoders_of(listing) / listing->layout.pipeline;
    return value <= FEW || (each > 0 && each % value == 0);
}

/* Whether an order of ranks is the default, or differs from it and experts allow it; else the reason is noted. */
static bool is_order(struct listing *listing, int32_t order)
{
    const ppsched_job_layout *layout = &listing->layout;
    const ppsched_pipeline pipeline = {.devices = layout->pipeline, .rank_order = order};
    ppsched_error reason = {.status = PPSCHED_OK};
    if (order == PPSCHED_RANK_ORDER_DATA_FIRST)
        return true;
    if (listing->job->type_count > 0)
        ppi_fail(
            &reason, PPSCHED_ERROR_RANGE,
            "devices of several types are numbered by stages (rank order tp-cp-ep-dp-pp), so that each stage is of one type");
    else if (layout->pipeline == 1 || layout->data_parallel == 1 ||
             listing->job->gpus <= listing->job->base->device.node_devices)
        ppi_fail(&reason, PPSCHED_ERROR_RANGE,
                 "both orders of ranks are the same with one replica, with one device in a pipeline, and in one node");
    else if (ppi_pricing_check_order(listing->costs.models[0], &pipeline, &reason) == PPSCHED_OK)
        return true;
    note_reason(listing, &reason);
    return false;
}

/* Whether the job's runtime supports the present layout; else the reason is noted. */
static bool may_run(struct listing *listing)
{
    const struct ppi_runtime *runtime = NULL;
    const ppsched_job *job = listing->job;
    const char *why = job->runtime == 0 ? NULL : ppi_job_unsupported(job, job->runtime, &listing->layout);
    if (why == NULL)
        return true;
    ppi_runtime_find(&runtime, listing->job->runtime, NULL);
    ppi_fail(&listing->reason, PPSCHED_ERROR_RANGE, "%s does not run it: %s", runtime->name, why);
    listing->has_reason = listing->is_refused = true;
    return false;
}

static ppsched_status list_orders(struct listing *listing, ppsched_error *error)
{
    const struct ppi_job_values *given = &listing->job->values[PPSCHED_JOB_DIMENSION_RANK_ORDER];
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < (given->count > 0 ? given->count : 1) && status == PPSCHED_OK; i++) {
        int32_t order = given->count > 0 ? (int32_t)given->values[i] : PPSCHED_RANK_ORDER_DATA_FIRST;
        listing->layout.rank_order = order;
        if (!may_run(listing) || !is_order(listing, order))
            continue;
        for (uint32_t k = 0; k < ppi_job_type_orders(listing->job) && status == PPSCHED_OK; k++) {
            listing->layout.type_order = k;
            status = bound_layout(listing, error);
        }
    }
    return status;
}

static ppsched_status list_chunks(struct listing *listing, ppsched_error *error)
{
    ppsched_job_layout *layout = &listing->layout;
    uint32_t most = layout->pipeline == 1 ? 1 : (decoders_of(listing) + 2) / layout->pipeline, place = 0;
    ppsched_status status = PPSCHED_OK;
    while (status == PPSCHED_OK &&
           next_value(&layout->chunks, &place, listing, PPSCHED_JOB_DIMENSION_CHUNKS, most > 0 ? most : 1, is_chunks))
        if (layout->chunks <= (most > 0 ? most : 1))
            status = list_orders(listing, error);
    return status;
}

/* Whether sharding changes anything: 0 and others are the same without replicas. */
static bool may_shard(const struct listing *listing, uint32_t sharding)
{
    const ppsched_job_layout *layout = &listing->layout;
    bool has_replicas = layout->data_parallel * layout->context_parallel > 1;
    if (listing->job->values[PPSCHED_JOB_DIMENSION_SHARDING].count > 0)
        return true;
    return has_replicas ? sharding == 1 || sharding == 3 : sharding == 0;
}

static ppsched_status list_shardings(struct listing *listing, ppsched_error *error)
{
    ppsched_job_layout *layout = &listing->layout;
    const struct ppi_job_values *given = &listing->job->values[PPSCHED_JOB_DIMENSION_SHARDING];
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < (given->count > 0 ? given->count : 4) && status == PPSCHED_OK; i++) {
        layout->sharding = given->count > 0 ? given->values[i] : i;
        if (!may_shard(listing, layout->sharding))
            continue;
        ppi_job_costs_shard(&listing->costs, layout->sharding);
        status = list_chunks(listing, error);
    }
    return status;
}

/* Makes the costs for the present layers, unless the model cannot be divided so. */
static ppsched_status make_costs(struct listing *listing, ppsched_error *error)
{
    ppsched_error reason = {.status = PPSCHED_OK};
    bool is_possible;
    ppsched_status status = ppi_job_costs_make(&listing->costs, listing->job, &listing->layout, &is_possible, &reason);
    listing->is_tried = is_possible; /* else another data parallelism may do */
    listing->is_made = status == PPSCHED_OK;
    if (!is_possible) {
        note_reason(listing, &reason);
        ppi_job_costs_clear(&listing->costs);
        return PPSCHED_OK;
    }
    for (uint32_t stages = 0; stages <= listing->most_stages; stages++)
        listing->known[stages] = UNKNOWN;
    if (status != PPSCHED_OK && error != NULL)
        *error = reason;
    return status;
}

static void note_replicas(struct listing *listing, uint32_t replicas)
{
    for (uint32_t i = 0; i < listing->replica_count; i++)
        if (listing->replicas[i] == replicas)
            return;
    if (listing->replica_count < MOST_TOLD)
        listing->replicas[listing->replica_count++] = replicas;
}

/* One batch: `microbatches` of the micro-batch for each replica. */
static ppsched_status list_batch(struct listing *listing, uint32_t batch, ppsched_error *error)
{
    ppsched_job_layout *layout = &listing->layout;
    uint64_t each = (uint64_t)layout->data_parallel * layout->micro_batch_size;
    ppsched_status status = PPSCHED_OK;
    if (batch % each != 0) {
        note_replicas(listing, (uint32_t)(each < UINT32_MAX ? each : UINT32_MAX));
        return PPSCHED_OK;
    }
    layout->global_batch = batch;
    layout->microbatches = (uint32_t)(batch / each);
    if (!listing->is_tried)
        status = make_costs(listing, error);
    if (status != PPSCHED_OK || !listing->is_made)
        return status;
    ppi_job_costs_share(&listing->costs, layout->data_parallel);
    ppsched_error reason = {.status = PPSCHED_OK};
    if (ppi_model_check_division(listing->costs.models[0], &reason) == PPSCHED_OK)
        return list_shardings(listing, error);
    note_reason(listing, &reason);
    return PPSCHED_OK;
}

static ppsched_status list_pipelines(struct listing *listing, ppsched_error *error)
{
    ppsched_job_layout *layout = &listing->layout;
    const ppsched_job *job = listing->job;
    const struct ppi_job_values *batches = &job->values[PPSCHED_JOB_DIMENSION_GLOBAL_BATCH];
    uint64_t shared = (uint64_t)layout->tensor_parallel * layout->context_parallel;
    uint32_t place = 0, most = decoders_of(listing) < job->gpus ? decoders_of(listing) : job->gpus;
    ppsched_status status = PPSCHED_OK;
    while (status == PPSCHED_OK &&
           next_value(&layout->pipeline, &place, listing, PPSCHED_JOB_DIMENSION_PIPELINE, most, is_divisor)) {
        if (job->gpus % (shared * layout->pipeline) != 0)
            continue;
        if (!ppi_job_types_divide(job, job->gpus / layout->pipeline)) {
            listing->types_do_not_divide = true;
            continue;
        }
        layout->data_parallel = (uint32_t)(job->gpus / (shared * layout->pipeline));
        for (uint32_t i = 0; i < (batches->count > 0 ? batches->count : 1) && status == PPSCHED_OK; i++)
            status = list_batch(listing, batches->count > 0 ? batches->values[i] : job->batch, error);
    }
    return status;
}

static ppsched_status list_micro_batches(struct listing *listing, ppsched_error *error)
{
    enum { MOST = 64 };
    uint32_t place = 0;
    ppsched_status status = PPSCHED_OK;
    while (status == PPSCHED_OK &&
           next_value(&listing->layout.micro_batch_size, &place, listing, PPSCHED_JOB_DIMENSION_MICRO_BATCH, MOST, is_power)) {
        listing->is_tried = listing->is_made = false;
        status = list_pipelines(listing, error);
        ppi_job_costs_clear(&listing->costs);
    }
    return status;
}

static ppsched_status list_experts(struct listing *listing, ppsched_error *error)
{
    ppsched_job_layout *layout = &listing->layout;
    const ppsched_job *job = listing->job;
    uint32_t experts = ppi_model_has_experts(job->base) ? job->gpus : 1, place = 0;
    ppsched_status status = PPSCHED_OK;
    while (status == PPSCHED_OK &&
           next_value(&layout->expert_parallel, &place, listing, PPSCHED_JOB_DIMENSION_EXPERT, experts, is_divisor)) {
        uint32_t tensor = experts > 1 ? 0 : layout->tensor_parallel - 1; /* without experts it divides nothing */
        while (status == PPSCHED_OK &&
               next_value(&layout->expert_tensor_parallel, &tensor, listing, PPSCHED_JOB_DIMENSION_EXPERT_TENSOR,
                          layout->tensor_parallel, is_expert_tensor))
            status = list_micro_batches(listing, error);
    }
    return status;
}

static ppsched_status list_tensors(struct listing *listing, ppsched_error *error)
{
    ppsched_job_layout *layout = &listing->layout;
    const ppsched_job *job = listing->job;
    uint32_t tensor = 0, context = 0, node = job->base->device.node_devices;
    for (uint32_t i = 0; i < job->type_count; i++)
        node = job->types[i].base->device.node_devices > node ? job->types[i].base->device.node_devices : node;
    uint32_t within = node < job->gpus ? node : job->gpus;
    ppsched_status status = PPSCHED_OK;
    while (status == PPSCHED_OK &&
           next_value(&layout->tensor_parallel, &tensor, listing, PPSCHED_JOB_DIMENSION_TENSOR, within, is_divisor))
        for (context = 0; status == PPSCHED_OK && next_value(&layout->context_parallel, &context, listing,
                                                             PPSCHED_JOB_DIMENSION_CONTEXT, job->gpus, is_context);)
            if (job->gpus % ((uint64_t)layout->tensor_parallel * layout->context_parallel) == 0)
                status = list_experts(listing, error);
    return status;
}

/* --- all --- */

static bool goes_before(const void *context, uint32_t a, uint32_t b)
{
    const ppsched_job *job = context;
    const struct ppi_job_entry *one = &job->entries[a], *other = &job->entries[b];
    bool is_over = one->layout.state == PPSCHED_JOB_STATE_OVER_LIMIT,
         other_is = other->layout.state == PPSCHED_JOB_STATE_OVER_LIMIT;
    if (is_over != other_is)
        return other_is;
    if (is_over)
        return one->layout.least_memory - other->layout.least_memory < one->layout.memory_limit - other->layout.memory_limit;
    return ppi_job_key(job, &one->layout, one->layout.bound) < ppi_job_key(job, &other->layout, other->layout.bound);
}

static ppsched_status sort(ppsched_job *job, ppsched_error *error)
{
    uint32_t *numbers = ppi_allocate(&job->host, job->count, 2 * sizeof *numbers);
    struct ppi_job_entry *entries = ppi_allocate(&job->host, job->count, sizeof *entries);
    if (numbers != NULL && entries != NULL) {
        for (uint32_t i = 0; i < job->count; i++)
            numbers[i] = i;
        const uint32_t *sorted = ppi_sort(numbers, numbers + job->count, job->count, goes_before, job);
        for (uint32_t i = 0; i < job->count; i++)
            entries[i] = job->entries[sorted[i]];
        ppi_release(&job->host, job->entries);
        job->entries = entries;
        job->capacity = job->count;
    } else {
        ppi_release(&job->host, entries);
    }
    ppi_release(&job->host, numbers);
    return numbers != NULL && entries != NULL ? PPSCHED_OK : ppi_fail_memory(error, "the layouts");
}

/* Why there is none: the batch, or what the model says of the last that was tried. */
static ppsched_status tell_none(const struct listing *listing, ppsched_error *error)
{
    const ppsched_job *job = listing->job;
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < listing->replica_count; i++)
        least = listing->replicas[i] < least ? listing->replicas[i] : least;
    if (listing->has_reason)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "no layout of %u device%p is possible; for the last one tried: %s",
                        job->gpus, listing->reason.message);
    if (listing->replica_count > 0)
        return ppi_fail(
            error, PPSCHED_ERROR_RANGE,
            "no data parallelism of the layouts divides the global batch; give a multiple of %u, the least number of "
            "sequences that all replicas take at once, or fewer replicas",
            least);
    if (listing->types_do_not_divide)
        return ppi_job_tell_types(job, error);
    return ppi_fail(error, PPSCHED_ERROR_RANGE,
                    "no layout of %u device%p is possible: tensor, context and pipeline parallelism must divide the devices, "
                    "and the stages must not be more than the layers",
                    job->gpus);
}

ppsched_status ppi_job_list(ppsched_job *job, ppsched_error *error)
{
    struct listing listing = {.job = job};
    uint32_t all = job->base->shape->layer_count + 2, most = listing.most_stages = all < MOST_KEPT ? all : MOST_KEPT;
    listing.counts = ppi_allocate(&job->host, all, sizeof *listing.counts);
    listing.balanced = ppi_allocate(&job->host, (size_t)most * (most + 1) / 2, sizeof *listing.balanced);
    listing.known = ppi_allocate_zeroed(&job->host, (size_t)most + 1, sizeof *listing.known);
    ppsched_status status = listing.counts != NULL && listing.balanced != NULL && listing.known != NULL
                                ? list_tensors(&listing, error)
                                : ppi_fail_memory(error, "the layouts");
    ppi_release(&job->host, listing.counts);
    ppi_release(&job->host, listing.balanced);
    ppi_release(&job->host, listing.known);
    if (status == PPSCHED_OK && job->count == 0)
        status = tell_none(&listing, error);
    return status == PPSCHED_OK ? sort(job, error) : status;
}
