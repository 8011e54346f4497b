/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the list of layers of a model: an entry per run of equal layers, with calibrated times. */
#include "base/checked.h"
#include "base/error.h"
#include "ir/layers.h"
#include "model/model.h"

enum { PASSES = 3 }; /* of a calibration: forward, input and weight gradients */

struct listing {
    struct ppi_arena arena;
    const ppsched_model *model;
    const ppsched_calibration *calibration;
    ppsched_layer *entries;
    ppsched_recompute (*recomputes)[2];
    const ppsched_layer **list;
    uint32_t count;
};

static const char *const names[PPI_MODEL_LAYERS] = {
    [PPSCHED_MODEL_LAYER_EMBEDDING] = "embedding", [PPSCHED_MODEL_LAYER_DENSE] = "decoder",
    [PPSCHED_MODEL_LAYER_EXPERT] = "moe_decoder",  [PPSCHED_MODEL_LAYER_MTP] = "mtp",
    [PPSCHED_MODEL_LAYER_HEAD] = "head",
};

static double time_of(const struct listing *listing, int32_t layer, int32_t pass)
{
    ppsched_pass_cost cost;
    ppi_model_price(&cost, listing->model, layer, pass);
    int32_t measured = pass <= PPSCHED_MODEL_PASS_WEIGHT ? pass : PPSCHED_MODEL_PASS_FORWARD;
    double factor = listing->calibration->factors[PASSES * layer + measured];
    return cost.time * (factor > 0 ? factor : 1);
}

static void put_recomputes(struct listing *listing, ppsched_layer *entry, int32_t layer, const ppsched_layer_memory *memory)
{
    ppsched_recompute *list = listing->recomputes[listing->count];
    if (memory->selective < memory->activations)
        list[entry->recompute_count++] = (ppsched_recompute){"selective", time_of(listing, layer, PPSCHED_MODEL_PASS_SELECTIVE),
                                                             memory->selective};
    if (memory->full < memory->activations)
        list[entry->recompute_count++] = (ppsched_recompute){"full", time_of(listing, layer, PPSCHED_MODEL_PASS_FULL),
                                                             memory->full};
    entry->recomputes = list;
}

static void put_entry(struct listing *listing, int32_t layer, uint32_t count)
{
    ppsched_layer *entry = &listing->entries[listing->count];
    ppsched_layer_memory memory;
    ppi_model_hold(&memory, listing->model, layer);
    *entry = (ppsched_layer){.size = sizeof *entry,
                             .count = count,
                             .name = names[layer],
                             .forward_time = time_of(listing, layer, PPSCHED_MODEL_PASS_FORWARD),
                             .backward_input_time = time_of(listing, layer, PPSCHED_MODEL_PASS_INPUT),
                             .backward_weight_time = time_of(listing, layer, PPSCHED_MODEL_PASS_WEIGHT),
                             .mem_forward = memory.activations,
                             .mem_backward_input = memory.activations_until_weight - memory.activations,
                             .mem_backward_weight = -memory.activations_until_weight,
                             .mem_static = memory.gradients + memory.optimizer,
                             .mem_weights = memory.weights,
                             .output_bytes = memory.output_bytes};
    entry->backward_time = entry->backward_input_time + entry->backward_weight_time;
    if (layer == PPSCHED_MODEL_LAYER_EMBEDDING) {
        entry->place = PPSCHED_LAYER_PLACE_FIRST;
        if ((listing->model->shape.flags & PPSCHED_TRANSFORMER_FLAG_TIED) != 0)
            entry->flags = PPSCHED_LAYER_FLAG_TIED;
    } else if (layer == PPSCHED_MODEL_LAYER_HEAD) {
        entry->place = PPSCHED_LAYER_PLACE_LAST;
        entry->output_bytes = 0;
    } else {
        entry->flags = layer == PPSCHED_MODEL_LAYER_MTP ? PPSCHED_LAYER_FLAG_COPIES_EMBEDDING : 0;
        put_recomputes(listing, entry, layer, &memory);
    }
    listing->list[listing->count++] = entry;
}

/* A run of equal decoders is one entry. */
static void put_all(struct listing *listing)
{
    const ppsched_transformer *shape = &listing->model->shape;
    put_entry(listing, PPSCHED_MODEL_LAYER_EMBEDDING, 1);
    for (uint32_t layer = 0, end; layer < shape->layers; layer = end) {
        bool has_experts = ppi_model_has_experts(shape, layer);
        for (end = layer + 1; end < shape->layers && ppi_model_has_experts(shape, end) == has_experts; end++)
            continue;
        put_entry(listing, has_experts ? PPSCHED_MODEL_LAYER_EXPERT : PPSCHED_MODEL_LAYER_DENSE, end - layer);
    }
    if (shape->mtp_layers > 0)
        put_entry(listing, PPSCHED_MODEL_LAYER_MTP, shape->mtp_layers);
    put_entry(listing, PPSCHED_MODEL_LAYER_HEAD, 1);
}

static ppsched_status check_calibration(const ppsched_calibration *calibration, ppsched_error *error)
{
    for (int layer = 0; layer < PPI_MODEL_LAYERS; layer++)
        for (int pass = 0; pass <= PPSCHED_MODEL_PASS_WEIGHT; pass++) {
            double factor = calibration->factors[PASSES * layer + pass];
            if (!(factor >= 0) || !ppi_is_finite(factor))
                return ppi_fail(error, PPSCHED_ERROR_RANGE,
                                "calibration: the factor of %s, pass %d, is %g; it must be at least 0", names[layer], pass,
                                factor);
        }
    return PPSCHED_OK;
}

ppsched_status ppi_model_layers(const ppsched_layers **out, const ppsched_model *model, const ppsched_calibration *calibration,
                                ppsched_error *error)
{
    struct listing listing = {.arena = {.host = &model->host}, .model = model, .calibration = calibration};
    size_t most = model->shape.layers + 3;
    ppsched_status status = check_calibration(calibration, error);
    if (status == PPSCHED_OK && !model->has_device)
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "layers need times; create the model with an accelerator");
    if (status != PPSCHED_OK)
        return status;
    listing.entries = ppi_arena_take_zeroed(&listing.arena, most, sizeof *listing.entries);
    listing.recomputes = ppi_arena_take_zeroed(&listing.arena, most, sizeof *listing.recomputes);
    listing.list = ppi_arena_take_zeroed(&listing.arena, most, sizeof *listing.list);
    status = ppi_arena_check(&listing.arena, "the layers", error);
    if (status == PPSCHED_OK) {
        put_all(&listing);
        status = ppi_layers_make(out, &model->host, listing.list, listing.count, error);
    }
    ppi_arena_clear(&listing.arena);
    return status;
}
