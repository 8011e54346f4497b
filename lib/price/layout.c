/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of a priced step: which layers are in which stage, what they compute again, and the states of each stage. */
#include "price/price.h"

#include <string.h>

#include "base/error.h"
#include "ir/recompute_scope.h"

/* --- the split --- */

/* How many layers there are before and after the decoders. */
struct ends {
    uint32_t before, decoders, after;
};

static struct ends ends_of(const ppsched_model *model)
{
    struct ends ends = {0};
    for (uint32_t row = 0; row < model->row_count; row++) {
        const struct ppi_model_row *own = &model->rows[row];
        if (own->role == PPSCHED_MODEL_ROLE_DECODER)
            ends.decoders += own->layers;
        else if (own->role == PPSCHED_MODEL_ROLE_MTP || own->role == PPSCHED_MODEL_ROLE_HEAD)
            ends.after += own->layers;
        else
            ends.before += own->layers;
    }
    return ends;
}

static ppsched_status divide(struct ppi_pricing *pricing, uint32_t *counts, ppsched_error *error)
{
    struct ends ends = ends_of(pricing->model);
    uint32_t stages = pricing->stage_count;
    if (ends.decoders % stages != 0)
        return ppi_fail(
            error, PPSCHED_ERROR_RANGE,
            "%u decoder%p cannot be divided among %u stage%p (%u device%p, %u chunk%p); give the layers of each stage",
            ends.decoders, stages, pricing->pipeline.devices, pricing->pipeline.chunks);
    for (uint32_t s = 0; s < stages; s++)
        counts[s] = ends.decoders / stages;
    counts[0] += ends.before;
    counts[stages - 1] += ends.after;
    return PPSCHED_OK;
}

static ppsched_status copy_split(struct ppi_pricing *pricing, uint32_t *counts, ppsched_error *error)
{
    uint64_t sum = 0;
    for (uint32_t s = 0; s < pricing->stage_count; s++)
        sum += counts[s] = pricing->pipeline.split[s];
    if (sum != pricing->layers->count)
        return ppi_fail(error, PPSCHED_ERROR_MISMATCH,
                        "the split has %llu layer%p, the model has %u, with towers, embedding, MTP layers and head",
                        (unsigned long long)sum, pricing->layers->count);
    return PPSCHED_OK;
}

/* --- recomputation --- */

static bool is_decoder(const ppsched_layer *layer)
{
    return layer->place == PPSCHED_LAYER_PLACE_ANY;
}

static ppsched_status set_recomputes(struct ppi_pricing *pricing, uint8_t *kinds, ppsched_error *error)
{
    const ppsched_pipeline *pipeline = &pricing->pipeline;
    bool is_known = false;
    uint32_t layer = 0;
    for (uint32_t s = 0; s < pricing->stage_count; s++) {
        uint32_t left = pipeline->recompute_layers > 0 ? pipeline->recompute_layers : UINT32_MAX;
        for (uint32_t end = layer + pricing->split.layers[s]; layer < end; layer++) {
            const ppsched_layer *own = &ppi_layer_at(pricing->layers, layer)->given;
            uint8_t kind = is_decoder(own) ? ppi_kind_named(own, pipeline->recompute) : 0;
            is_known |= kind > 0;
            kinds[layer] = left > 0 ? kind : 0;
            left -= left > 0 && is_decoder(own);
        }
    }
    if (!is_known)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "no layer has the recompute kind %q; kinds are selective, modules and full",
                        pipeline->recompute);
    return PPSCHED_OK;
}

/* --- states --- */

static void add_layer(struct ppi_priced_stage *stage, const struct ppi_pricing *pricing, uint32_t row)
{
    const ppsched_model *model = pricing->model;
    const ppsched_training *training = &model->training;
    const ppsched_layer_memory *memory = &pricing->made->rows[row].memory;
    double whole = memory->parameters * training->weight_bytes;
    bool is_frozen = model->rows[row].tower != NULL && model->rows[row].tower->is_frozen;
    stage->parameters += is_frozen ? 0 : memory->parameters; /* those that a step updates */
    stage->expert_parameters += memory->expert_parameters;
    stage->trained += memory->trained;
    stage->expert_trained += memory->expert_trained;
    stage->weights += memory->weights;
    stage->gradients += memory->gradients;
    stage->optimizer += memory->optimizer;
    stage->largest = whole > stage->largest ? whole : stage->largest;
    stage->layers++;
    if (model->rows[row].role == PPSCHED_MODEL_ROLE_HEAD) {
        double tokens = (double)training->sequence_length * training->micro_batch_size / training->context_parallel;
        stage->logits = 4 * tokens * model->shape->vocabulary_size / training->tensor_parallel;
        stage->logit_gradients = stage->logits * training->activation_bytes / 4;
    }
}

/* The last stage holds a tied embedding too, and each stage with MTP layers a copy of it. */
static void add_states(struct ppi_pricing *pricing)
{
    const ppsched_model *model = pricing->model;
    bool is_tied = ppi_model_has_flag(model, PPSCHED_DESCRIPTION_FLAG_TIED);
    uint32_t layer = 0;
    const ppsched_layer_memory copy = pricing->made->rows[ppi_row_named(model, "embedding")].memory;
    for (uint32_t s = 0; s < pricing->stage_count; s++) {
        struct ppi_priced_stage *stage = &pricing->stages[s];
        bool has_mtp = false;
        for (uint32_t end = layer + pricing->split.layers[s]; layer < end; layer++) {
            const ppsched_layer *own = &ppi_layer_at(pricing->layers, layer)->given;
            add_layer(stage, pricing, pricing->made->row_of[layer]);
            has_mtp |= ppi_is_mtp(own);
        }
        double copies = s == 0 ? 0 : has_mtp + (is_tied && s + 1 == pricing->stage_count);
        stage->has_embedding = s == 0 || copies > 0;
        stage->parameters += copies * copy.parameters;
        stage->trained += copies * copy.trained;
        stage->weights += copies * copy.weights;
        stage->gradients += copies * copy.gradients;
        stage->optimizer += copies * copy.optimizer;
    }
}

ppsched_status ppi_pricing_lay_out(struct ppi_pricing *pricing, ppsched_error *error)
{
    uint32_t *counts = ppi_arena_take(&pricing->arena, pricing->stage_count, sizeof *counts);
    uint8_t *kinds = ppi_arena_take_zeroed(&pricing->arena, pricing->layers->count, sizeof *kinds);
    pricing->stages = ppi_arena_take_zeroed(&pricing->arena, pricing->stage_count, sizeof *pricing->stages);
    ppsched_status status = ppi_arena_check(&pricing->arena, "the layout", error);
    if (status == PPSCHED_OK)
        status = pricing->pipeline.split != NULL ? copy_split(pricing, counts, error) : divide(pricing, counts, error);
    pricing->split = (ppsched_split){.size = sizeof pricing->split, .stages = pricing->stage_count, .layers = counts};
    if (status == PPSCHED_OK)
        status = ppi_split_check(pricing->layers, &pricing->split, error);
    if (status != PPSCHED_OK)
        return status;
    if (pricing->pipeline.recompute != NULL) {
        status = set_recomputes(pricing, kinds, error);
        pricing->split.recomputes = kinds;
    }
    if (status == PPSCHED_OK)
        add_states(pricing);
    return status;
}

/* --- work --- */

static int32_t pass_of(const ppsched_pipeline *pipeline, uint8_t kind)
{
    if (kind == 0)
        return -1;
    if (strcmp(pipeline->recompute, "selective") == 0)
        return PPSCHED_MODEL_PASS_SELECTIVE;
    return strcmp(pipeline->recompute, "modules") == 0 ? PPSCHED_MODEL_PASS_MODULES : PPSCHED_MODEL_PASS_FULL;
}

static void add_passes(struct ppi_priced_stage *stage, const struct ppi_row_price *own, int32_t recomputed)
{
    const int32_t passes[] = {PPSCHED_MODEL_PASS_FORWARD, PPSCHED_MODEL_PASS_INPUT, PPSCHED_MODEL_PASS_WEIGHT, recomputed};
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
        if (passes[i] < 0)
            continue;
        stage->work += own->time[passes[i]];
        stage->tensor += own->tensor[passes[i]];
        stage->context += own->context[passes[i]];
        stage->expert += own->expert[passes[i]];
    }
}

void ppi_pricing_set_work(struct ppi_pricing *pricing)
{
    uint32_t layer = 0;
    for (uint32_t s = 0; s < pricing->stage_count; s++) {
        const struct ppi_priced_model *made = ppi_pricing_made(pricing, pricing->schedule->placement.device_of[s]);
        for (uint32_t end = layer + pricing->split.layers[s]; layer < end; layer++) {
            uint8_t kind = pricing->split.recomputes != NULL ? pricing->split.recomputes[layer] : 0;
            add_passes(&pricing->stages[s], &made->rows[made->row_of[layer]], pass_of(&pricing->pipeline, kind));
        }
    }
}
