/* SPDX-License-Identifier: Apache-2.0 */
/* Which runtimes run a layout: its order and split by what they are asked, its parallelism by what each supports. */
#include <string.h>

#include "base/error.h"
#include "job/job.h"
#include "launch/launch.h"

/* What a runtime supports beside a pipeline: bits 1 << sharding, also without a pipeline; context and expert parallelism, and
 * experts that are divided otherwise than the other layers. */
struct support {
    uint32_t shardings, alone;
    bool context, experts, divides_experts, orders_ranks; /* the last: pipelines may be numbered before replicas */
};

enum { NONE = 1, STATES = 2, GRADIENTS = 4, WEIGHTS = 8, ANY = 15 };

static const struct support supports[PPI_LAST_RUNTIME + 1] = {
    [PPSCHED_RUNTIME_MEGATRON] = {NONE | STATES, ANY, true, true, true, true},
    [PPSCHED_RUNTIME_TORCHTITAN] = {NONE | WEIGHTS, NONE | WEIGHTS, true, true, true},
    [PPSCHED_RUNTIME_PYTORCH] = {ANY, ANY, true, true, true, true}, /* the caller's script does the rest */
    [PPSCHED_RUNTIME_DEEPSPEED] = {NONE | STATES, ANY, false, true, false},
    [PPSCHED_RUNTIME_SAIL] = {NONE | STATES, NONE | STATES, false, true, false},
    [PPSCHED_RUNTIME_PRIMUS] = {NONE | STATES, ANY, true, true, true, true},
    [PPSCHED_RUNTIME_COLOSSALAI] = {NONE | STATES, NONE | STATES | GRADIENTS, false, false, false},
    [PPSCHED_RUNTIME_JAXPP] = {ANY, ANY, false, false, false},
    [PPSCHED_RUNTIME_MINDSPEED] = {NONE | STATES, NONE | STATES, true, true, true, true}};

static const struct ppi_split_rules *rules_of(int32_t runtime)
{
    const struct ppi_runtime *row = NULL;
    ppi_runtime_find(&row, runtime, NULL);
    return &row->rules;
}

const char *ppi_job_unsupported(const ppsched_job *job, int32_t runtime, const ppsched_job_layout *layout)
{
    const struct support *own = &supports[runtime];
    uint32_t shardings = layout->pipeline > 1 ? own->shardings : own->alone;
    const ppsched_description_info *shape = job->base->shape;
    bool may_not_send = shape->streams > 1 && rules_of(runtime)->sends_one_stream;
    if (may_not_send && layout->pipeline > 1)
        return "it sends one residual stream from stage to stage, and the model has several (hyper-connections)";
    if (may_not_send && shape->mtp_layers > 0)
        return "it has several residual streams (hyper-connections) only in models without MTP layers";
    if (layout->context_parallel > 1 && !own->context)
        return "it has no context parallelism";
    if (layout->expert_parallel > 1 && !own->experts)
        return "it has no expert parallelism";
    if (layout->rank_order != PPSCHED_RANK_ORDER_DATA_FIRST && !own->orders_ranks)
        return "it numbers the replicas of a stage before the stages (rank order tp-cp-ep-dp-pp)";
    if (!own->divides_experts && layout->expert_tensor_parallel != layout->tensor_parallel)
        return "it divides experts like the other layers (etp must be tp)";
    if ((shardings >> layout->sharding & 1) == 0)
        return layout->sharding == 0   ? "it always shards the optimizer states"
               : layout->sharding == 3 ? "it does not shard weights (zero 3)"
               : layout->pipeline == 1 ? "it does not shard states without weights (zero 1 and 2)"
               : layout->sharding == 1 ? "it does not shard optimizer states alone with a pipeline (zero 1)"
                                       : "it does not shard gradients with a pipeline (zero 2)";
    return NULL;
}

/* One device without a pipeline, which runtimes' pipelines refuse, is run by their trainers: with the recomputation of all
 * decoders or none. */
static bool needs_no_pipeline(const struct ppi_pricing *pricing)
{
    const ppsched_pipeline *pipeline = &pricing->pipeline;
    if (pipeline->devices > 1 || pipeline->chunks > 1)
        return false;
    return pipeline->recompute == NULL || (pipeline->recompute_layers == 0 && strcmp(pipeline->recompute, "full") == 0);
}

static ppsched_status ask_runtime(uint32_t *runs_on, int32_t number, const struct ppi_pricing *pricing, struct ppi_parts *parts,
                                  ppsched_error *error)
{
    struct ppi_launch launch = {
        .schedule = pricing->schedule, .exact = true, .parts = parts, .layers = parts->decoders, .data_parallel = 1};
    const struct ppi_runtime *runtime = NULL;
    ppi_runtime_find(&runtime, number, NULL);
    ppsched_status status = ppi_launch_ask(&launch, runtime, NULL);
    bool trains_alone = needs_no_pipeline(pricing) && !(parts->has_streams && runtime->rules.sends_one_stream);
    *runs_on |= status == PPSCHED_OK || trains_alone ? 1u << number : 0;
    return status == PPSCHED_ERROR_NO_MEMORY ? ppi_fail_memory(error, "the check of runtimes") : PPSCHED_OK;
}

ppsched_status ppi_job_ask_runtimes(uint32_t *runs_on, const ppsched_job *job, const ppsched_job_layout *layout,
                                    const struct ppi_pricing *pricing, ppsched_error *error)
{
    struct ppi_parts parts = {.layers = NULL};
    *runs_on = 0;
    ppsched_status status = ppi_parts_make(&parts, pricing->arena.host, pricing->layers, &pricing->split, error);
    for (int32_t i = 1; i <= PPI_LAST_RUNTIME && status == PPSCHED_OK; i++)
        if ((job->runtime == 0 || job->runtime == i) && ppi_job_unsupported(job, i, layout) == NULL)
            status = ask_runtime(runs_on, i, pricing, &parts, error);
    ppi_parts_clear(&parts);
    return status;
}
