/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline of a priced step: the schedule of the strategy, evaluated with the times of the layers. */
#include "base/error.h"
#include "ir/config.h"
#include "model/table.h"
#include "pair/layers.h"
#include "price/price.h"
#include "strategy/strategy.h"

/* The limit of a schedule is that of a device without what its timeline does not hold. */
static ppsched_status set_limit(ppsched_config *config, const struct ppi_pricing *pricing, ppsched_error *error)
{
    double largest = 0, beside = 0;
    for (uint32_t s = 0; s < pricing->stage_count; s++) {
        largest = pricing->stages[s].largest > largest ? pricing->stages[s].largest : largest;
        beside += pricing->stages[s].logit_gradients; /* of one stage */
    }
    double gathered = pricing->model->training.sharding == 3 ? 2 * largest : 0;
    if (pricing->types != NULL)
        return ppi_types_set_limits(config, pricing, beside + gathered, error);
    double limit = pricing->pipeline.memory_limit - beside - gathered;
    return ppi_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, &limit, 1, error);
}

/* `overlaps`: the schedule may have overlapped pairs. */
static ppsched_status make_config(ppsched_config **out, struct ppi_pricing *pricing, bool overlaps, ppsched_error *error)
{
    const ppsched_pipeline *pipeline = &pricing->pipeline;
    struct ppi_shape shape;
    ppsched_config *plain = NULL;
    uint32_t microbatches = pipeline->microbatches / pipeline->reduce_every;
    ppsched_status status = ppi_shape_make(&shape, pipeline->devices, pricing->stage_count, microbatches, 1, error);
    if (status == PPSCHED_OK)
        status = ppi_config_create(&plain, &shape, &pricing->model->host, error);
    if (status == PPSCHED_OK)
        status = pricing->types != NULL ? ppi_types_set_links(plain, pricing, error)
                                        : ppi_pricing_set_links(plain, pricing, error);
    if (status == PPSCHED_OK && pricing->types != NULL)
        status = ppi_types_set(plain, pricing, error);
    if (status == PPSCHED_OK) {
        plain->progress = pipeline->progress;
        plain->progress_user = pipeline->progress_user;
        status = ppi_layers_config(out, plain, pricing->layers, &pricing->split, error);
    }
    if (status == PPSCHED_OK && pipeline->offload_layers > 0)
        status = ppi_pricing_offload(*out, pricing, error);
    if (status == PPSCHED_OK && pipeline->offload_layers > 0 && pricing->layers->has_windows && overlaps)
        status = ppi_fail(error, PPSCHED_ERROR_REFUSED,
                          "windows of pairs are not priced with activations on the host; leave offload_layers or windows out");
    else if (status == PPSCHED_OK && pricing->layers->has_windows && overlaps)
        status = ppi_config_put_layer_windows(*out, pricing->layers, &pricing->split, pipeline->pair_rule, error);
    ppi_config_destroy(plain);
    return status;
}

/* --- who has which stage --- */

static ppsched_status sort_stages(struct ppi_pricing *pricing, ppsched_error *error)
{
    const struct ppi_placement *placement = &pricing->schedule->placement;
    uint32_t devices = pricing->pipeline.devices;
    if (placement->copies > 1)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "%s has each stage on two devices, which sum their gradients; only strategies with one device per "
                        "stage can be priced",
                        pricing->pipeline.strategy);
    pricing->stages_by_device = ppi_arena_take(&pricing->arena, pricing->stage_count, sizeof(uint32_t));
    pricing->first_stages = ppi_arena_take_zeroed(&pricing->arena, (size_t)devices + 2, sizeof(uint32_t));
    ppsched_status status = ppi_arena_check(&pricing->arena, "the layout", error);
    if (status != PPSCHED_OK)
        return status;
    for (uint32_t s = 0; s < pricing->stage_count; s++)
        pricing->first_stages[placement->device_of[s] + 2]++;
    for (uint32_t d = 0; d < devices; d++)
        pricing->first_stages[d + 2] += pricing->first_stages[d + 1];
    for (uint32_t s = 0; s < pricing->stage_count; s++)
        pricing->stages_by_device[pricing->first_stages[placement->device_of[s] + 1]++] = s;
    return PPSCHED_OK;
}

/* --- when stages run --- */

static void note(struct ppi_priced_stage *stage, const ppsched_op *op, const ppsched_span *span)
{
    if (op->kind == PPSCHED_KIND_F && (stage->first_end == 0 || span->start < stage->first_start)) {
        stage->first_start = span->start;
        stage->first_end = span->end;
    }
    bool is_last = op->kind == PPSCHED_KIND_B || op->kind == PPSCHED_KIND_I || op->kind == PPSCHED_KIND_W;
    if (is_last && span->end >= stage->last_end) {
        stage->last_start = span->start;
        stage->last_end = span->end;
    }
}

static void note_all(struct ppi_pricing *pricing)
{
    const ppsched_schedule *schedule = pricing->schedule;
    for (uint64_t i = 0; i < schedule->op_count; i++)
        note(&pricing->stages[schedule->ops[i].stage], &schedule->ops[i], &pricing->timeline->spans[i]);
}

ppsched_status ppi_pricing_run(struct ppi_pricing *pricing, ppsched_error *error)
{
    ppsched_config *config = NULL;
    uint32_t strategy;
    ppsched_status status = ppi_strategy_find(pricing->pipeline.strategy, &strategy, error);
    if (status == PPSCHED_OK)
        status = make_config(&config, pricing, ppi_strategy_at(strategy)->overlaps, error);
    if (status == PPSCHED_OK && pricing->pipeline.memory_limit > 0 && ppi_strategy_at(strategy)->plan != NULL)
        status = set_limit(config, pricing, error);
    if (status == PPSCHED_OK)
        status = ppi_generate(&pricing->schedule, ppi_strategy_at(strategy), config, error);
    if (status == PPSCHED_OK)
        status = sort_stages(pricing, error);
    if (status == PPSCHED_OK)
        status = ppi_evaluate(&pricing->timeline, pricing->schedule, config, 0, error);
    if (status == PPSCHED_OK)
        note_all(pricing);
    ppi_config_destroy(config);
    return status;
}
