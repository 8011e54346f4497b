/* SPDX-License-Identifier: Apache-2.0 */
/* Prices a layout: lays it out, runs its schedule, and adds what a step does once. */
#include "price/price.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/logarithm.h"
#include "strategy/strategy.h"

/* --- the step --- */

/* Frozen weights are only gathered, where they are sharded; adapters are updated. */
void ppi_pricing_update(ppsched_update_cost *out, const struct ppi_pricing *pricing, uint32_t device,
                        const struct ppi_priced_stage *sizes)
{
    const ppsched_model *model = ppi_pricing_made(pricing, device)->model;
    uint32_t between = pricing->pipeline.rank_order == PPSCHED_RANK_ORDER_PIPELINE_FIRST ? pricing->pipeline.devices : 1;
    if (model->training.adapter_rank == 0) {
        ppi_model_update_between(out, model, sizes->parameters, sizes->expert_parameters, between);
        return;
    }
    ppsched_model learning = *model;
    ppsched_update_cost frozen;
    learning.training.flags &= ~(uint32_t)PPSCHED_TRAINING_FLAG_FROZEN_WEIGHTS;
    ppi_model_update_between(out, &learning, sizes->trained, sizes->expert_trained, between);
    ppi_model_update_between(&frozen, model, sizes->parameters - sizes->trained,
                             sizes->expert_parameters - sizes->expert_trained, between);
    out->reduce_time += frozen.reduce_time;
    out->parameter_time += frozen.parameter_time;
}

static double optimizer_time(const struct ppi_pricing *pricing)
{
    double longest = 0;
    for (uint32_t d = 0; d < pricing->pipeline.devices; d++) {
        struct ppi_priced_stage sizes = {0};
        uint32_t count;
        const uint32_t *own = ppi_priced_stages(pricing, d, &count);
        for (uint32_t i = 0; i < count; i++) {
            sizes.parameters += pricing->stages[own[i]].parameters;
            sizes.expert_parameters += pricing->stages[own[i]].expert_parameters;
            sizes.trained += pricing->stages[own[i]].trained;
            sizes.expert_trained += pricing->stages[own[i]].expert_trained;
        }
        ppsched_update_cost cost;
        ppi_pricing_update(&cost, pricing, d, &sizes);
        longest = cost.optimizer_time > longest ? cost.optimizer_time : longest;
    }
    return longest;
}

static double devices_of(const struct ppi_pricing *pricing)
{
    const ppsched_training *training = &pricing->model->training;
    return (double)training->tensor_parallel * training->context_parallel * training->data_parallel * pricing->pipeline.devices;
}

double ppi_slowdown_of(const ppsched_accelerator *device, double devices)
{
    double share = device->scale_slowdown;
    return share > 0 ? 1 + share * (ppi_logarithm(devices) / ppi_logarithm(2)) : 1;
}

double ppi_pricing_scale(const struct ppi_pricing *pricing)
{
    return ppi_slowdown_of(&pricing->model->device, devices_of(pricing));
}

/* Operations per second of a device, on average. */
static double matrix_rate(const struct ppi_pricing *pricing)
{
    double sum = 0;
    if (pricing->types == NULL)
        return pricing->model->device.matrix_rate;
    for (uint32_t d = 0; d < pricing->pipeline.devices; d++)
        sum += ppi_pricing_made(pricing, d)->model->device.matrix_rate;
    return sum / pricing->pipeline.devices;
}

/* Takes off what is hidden, as far as it goes. */
static void take_off(double *exposed, double *hidden)
{
    double part = *exposed < *hidden ? *exposed : *hidden;
    *exposed -= part;
    *hidden -= part;
}

static void set_exposed(ppsched_step_price *step, const struct ppi_pricing *pricing)
{
    const ppsched_device_metrics *devices = pricing->timeline->devices;
    uint32_t busiest = 0, count;
    for (uint32_t d = 1; d < pricing->pipeline.devices; d++)
        busiest = devices[d].busy > devices[busiest].busy ? d : busiest;
    const uint32_t *own = ppi_priced_stages(pricing, busiest, &count);
    double busy = devices[busiest].busy * pricing->pipeline.reduce_every, hidden = -busy; /* by overlapped pairs */
    for (uint32_t i = 0; i < count; i++) {
        hidden += pricing->pipeline.microbatches * pricing->stages[own[i]].work;
        step->exposed_tensor_parallel += pricing->pipeline.microbatches * pricing->stages[own[i]].tensor;
        step->exposed_context_parallel += pricing->pipeline.microbatches * pricing->stages[own[i]].context;
        step->exposed_expert_parallel += pricing->pipeline.microbatches * pricing->stages[own[i]].expert;
    }
    if (pricing->layers->has_windows && hidden > 0) {
        take_off(&step->exposed_expert_parallel, &hidden);
        take_off(&step->exposed_tensor_parallel, &hidden);
        take_off(&step->exposed_context_parallel, &hidden);
    }
    step->exposed_pipeline = step->pipeline_time - busy;
}

static void set_step(ppsched_step_price *step, const struct ppi_pricing *pricing)
{
    const ppsched_training *training = &pricing->model->training;
    double microbatches = pricing->pipeline.microbatches,
           shared = (double)training->tensor_parallel * training->context_parallel,
           run = pricing->timeline->metrics.makespan * pricing->pipeline.reduce_every;
    *step = (ppsched_step_price){.size = sizeof *step,
                                 .devices = (uint32_t)devices_of(pricing),
                                 .pipeline_time = run * ppi_pricing_scale(pricing),
                                 .optimizer_time = optimizer_time(pricing),
                                 .exposed_data_parallel = ppi_pricing_exposed(pricing)};
    step->step_time = step->pipeline_time + step->exposed_data_parallel + step->optimizer_time;
    set_exposed(step, pricing);
    double tokens = microbatches * training->micro_batch_size * training->sequence_length / shared / pricing->pipeline.devices;
    step->tokens_per_second_per_device = tokens / step->step_time;
    step->operations_per_second_per_device = pricing->made->matrix_operations * microbatches / pricing->pipeline.devices /
                                             step->step_time;
    step->mfu = step->operations_per_second_per_device / matrix_rate(pricing);
}

/* --- memory --- */

static void set_device(ppsched_device_price *out, const struct ppi_pricing *pricing, uint32_t device)
{
    const ppsched_device_metrics *metrics = &pricing->timeline->devices[device];
    double largest = 0, logits = 0, copied = 0;
    uint32_t count;
    const uint32_t *own = ppi_priced_stages(pricing, device, &count);
    *out = (ppsched_device_price){.size = sizeof *out};
    for (uint32_t i = 0; i < count; i++) {
        const struct ppi_priced_stage *stage = &pricing->stages[own[i]];
        out->weights += stage->weights;
        out->gradients += stage->gradients;
        out->optimizer += stage->optimizer;
        logits += stage->logits;
        out->other += stage->logit_gradients;
        largest = stage->largest > largest ? stage->largest : largest;
        copied = stage->copied > copied ? stage->copied : copied;
    }
    double activations = metrics->peak_memory - metrics->static_memory;
    out->logits = logits < activations ? logits : activations;
    out->activations = activations - out->logits + copied;
    out->gathered = pricing->model->training.sharding == 3 ? 2 * largest : 0;
    out->total = out->weights + out->gradients + out->optimizer + out->activations + out->logits + out->gathered + out->other;
}

/* --- all --- */

static const char *kind_name(const char *kind)
{
    for (int32_t pass = PPSCHED_MODEL_PASS_SELECTIVE; kind != NULL && pass < PPI_MODEL_PASSES; pass++)
        if (strcmp(kind, ppi_model_passes[pass]) == 0)
            return ppi_model_passes[pass];
    return NULL;
}

/* The price keeps the pipeline, with a split of its own. */
static ppsched_status keep(ppsched_price *price, const struct ppi_pricing *pricing, ppsched_error *error)
{
    uint32_t *split = ppi_allocate(&price->host, pricing->stage_count, sizeof *split);
    if (split == NULL)
        return ppi_fail_memory(error, "the price");
    memcpy(split, pricing->split.layers, pricing->stage_count * sizeof *split);
    price->pipeline = pricing->pipeline;
    price->pipeline.split = split;
    price->pipeline.recompute = kind_name(pricing->pipeline.recompute);
    return PPSCHED_OK;
}

static ppsched_status price_it(ppsched_price *price, struct ppi_pricing *pricing, const struct ppi_price_question *question,
                               ppsched_error *error)
{
    ppsched_status status = ppi_pricing_lay_out(pricing, error);
    if (status == PPSCHED_OK)
        status = ppi_pricing_run(pricing, error);
    if (status == PPSCHED_OK)
        status = keep(price, pricing, error);
    if (status != PPSCHED_OK)
        return status;
    ppi_pricing_set_work(pricing);
    set_step(&price->step, pricing);
    price->devices = ppi_allocate(&price->host, price->device_count, sizeof *price->devices);
    if (price->devices == NULL)
        return ppi_fail_memory(error, "the price");
    for (uint32_t d = 0; d < price->device_count; d++)
        set_device(&price->devices[d], pricing, d);
    return question != NULL ? question->ask(question->user, pricing, error) : PPSCHED_OK;
}

ppsched_status ppi_pipeline_complete(ppsched_pipeline *pipeline, ppsched_error *error)
{
    uint32_t strategy;
    pipeline->devices = pipeline->devices > 0 ? pipeline->devices : 1;
    pipeline->chunks = pipeline->chunks > 0 ? pipeline->chunks : 1;
    pipeline->microbatches = pipeline->microbatches > 0 ? pipeline->microbatches : 1;
    pipeline->reduce_every = pipeline->reduce_every > 0 ? pipeline->reduce_every : 1;
    if (pipeline->strategy == NULL)
        pipeline->strategy = pipeline->chunks > 1 ? "interleaved_1f1b" : "1f1b";
    if (pipeline->offload_layers > 0 && pipeline->recompute != NULL)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT,
                        "activations are either recomputed or moved to the host; leave recompute or offload_layers out");
    if (pipeline->hides_copies > 1)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "hides_copies is %u; it must be 0 or 1", pipeline->hides_copies);
    if (pipeline->microbatches % pipeline->reduce_every != 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "reduce_every is %u; it must divide the %u microbatch%p of a step",
                        pipeline->reduce_every, pipeline->microbatches);
    if (pipeline->pair_rule < 0 || pipeline->pair_rule > PPSCHED_PAIR_RULE_MEGATRON_DELAYED)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "pair_rule is %d; it must be 0 to %d", pipeline->pair_rule,
                        PPSCHED_PAIR_RULE_MEGATRON_DELAYED);
    if (!(pipeline->memory_limit >= 0 && ppi_is_finite(pipeline->memory_limit)))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "memory_limit is %g; it must be finite and at least 0",
                        pipeline->memory_limit);
    if ((uint64_t)pipeline->devices * pipeline->chunks > PPSCHED_MAX_LAYERS)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "%u device%p of %u chunk%p: too many stages; at most %d", pipeline->devices,
                        pipeline->chunks, PPSCHED_MAX_LAYERS);
    ppsched_status status = ppi_strategy_find(pipeline->strategy, &strategy, error);
    if (status == PPSCHED_OK)
        pipeline->strategy = ppi_strategy_at(strategy)->name;
    return status;
}

ppsched_status ppi_price_pipeline(ppsched_price **out, const struct ppi_priced_model *made,
                                  const struct ppi_pipeline_types *types, const ppsched_pipeline *pipeline,
                                  const struct ppi_host *host, const struct ppi_price_question *question, ppsched_error *error)
{
    struct ppi_pricing pricing = {.arena = {.host = host},
                                  .made = made,
                                  .types = types,
                                  .model = made->model,
                                  .layers = made->layers,
                                  .pipeline = *pipeline};
    ppsched_price *price = ppi_allocate(host, 1, sizeof *price);
    if (price == NULL)
        return ppi_fail_memory(error, "the price");
    *price = (ppsched_price){.host = *host, .device_count = pipeline->devices};
    pricing.stage_count = pipeline->devices * pipeline->chunks;
    ppsched_status status = price_it(price, &pricing, question, error);
    ppi_timeline_destroy(pricing.timeline);
    ppi_schedule_release(pricing.schedule);
    ppi_arena_clear(&pricing.arena);
    if (status == PPSCHED_OK)
        *out = price;
    else
        ppi_price_destroy(price);
    return status;
}

ppsched_status ppi_price_create(ppsched_price **out, const ppsched_model *model, const ppsched_pipeline *pipeline,
                                const struct ppi_host *host, ppsched_error *error)
{
    struct ppi_priced_model made = {.model = NULL};
    ppsched_pipeline complete = *pipeline;
    ppsched_status status = ppi_pipeline_complete(&complete, error);
    if (status != PPSCHED_OK)
        return status;
    status = ppi_pricing_check_order(model, &complete, error);
    if (status == PPSCHED_OK)
        status = ppi_priced_model_make(&made, model, error);
    if (status == PPSCHED_OK)
        status = ppi_price_pipeline(out, &made, NULL, &complete, host, NULL, error);
    ppi_priced_model_clear(&made);
    return status;
}

void ppi_price_destroy(ppsched_price *price)
{
    if (price == NULL)
        return;
    struct ppi_host host = price->host;
    ppi_release(&host, (void *)(uintptr_t)price->pipeline.split);
    ppi_release(&host, price->devices);
    ppi_release(&host, price);
}
