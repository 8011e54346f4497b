/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the list of layers of a model: an entry per run of equal layers, with calibrated times. */
#include "base/checked.h"
#include "base/error.h"
#include "description/hybrid.h"
#include "ir/layers.h"
#include "model/windows.h"

enum { PASSES = 3 }; /* of a calibration: forward, input and weight gradients */

/* What a layer of a row costs. */
struct row_costs {
    double times[PPI_MODEL_PASSES]; /* calibrated, by pass */
    ppsched_layer_memory memory;
    bool is_known;
};

struct listing {
    struct ppi_arena arena;
    const ppsched_model *model;
    const ppsched_calibration *calibration;
    struct row_costs *costs; /* of each row */
    ppsched_layer *entries;
    ppsched_recompute (*recomputes)[3];
    char (*symbols)[PPI_SYMBOLS_SIZE]; /* of each row, for a hybrid model; else NULL */
    const ppsched_layer **list;
    uint32_t *last_reader; /* of each layer the last that reads its keys and values; 0: none */
    double *shared;        /* of each layer the elements of a token that cross the boundary after it for later layers */
    uint32_t count;
    ppsched_pair_windows *windows; /* of each entry; NULL: layers have none */
    bool all_kinds;
};

/* Recomputation is scaled like forwards. */
static double factor_of(const struct listing *listing, uint32_t row, int32_t pass)
{
    int32_t measured = pass <= PPSCHED_MODEL_PASS_WEIGHT ? pass : PPSCHED_MODEL_PASS_FORWARD;
    double factor = row < listing->calibration->rows ? listing->calibration->factors[PASSES * row + (uint32_t)measured] : 0;
    return factor > 0 ? factor : 1;
}

/* Rows of a pattern have many entries, and are priced once. */
static const struct row_costs *costs_of(const struct listing *listing, uint32_t row)
{
    struct row_costs *costs = &listing->costs[row];
    ppsched_pass_cost passes[PPI_MODEL_PASSES];
    if (costs->is_known)
        return costs;
    ppi_model_price_all(passes, listing->model, row);
    for (int32_t pass = 0; pass < PPI_MODEL_PASSES; pass++)
        costs->times[pass] = passes[pass].time * factor_of(listing, row, pass);
    ppi_model_hold(&costs->memory, listing->model, row);
    costs->is_known = true;
    return costs;
}

static ppsched_recompute recompute_of(const struct row_costs *costs, int32_t pass, double memory)
{
    return (ppsched_recompute){ppi_model_passes[pass], costs->times[pass], memory};
}

static void put_recomputes(struct listing *listing, ppsched_layer *entry, const struct row_costs *costs)
{
    ppsched_recompute *list = listing->recomputes[listing->count];
    const ppsched_layer_memory *memory = &costs->memory;
    if (memory->selective < memory->activations || listing->all_kinds)
        list[entry->recompute_count++] = recompute_of(costs, PPSCHED_MODEL_PASS_SELECTIVE, memory->selective);
    if (listing->model->training.recompute_modules != 0 && (memory->modules < memory->activations || listing->all_kinds))
        list[entry->recompute_count++] = recompute_of(costs, PPSCHED_MODEL_PASS_MODULES, memory->modules);
    if (memory->full < memory->activations || listing->all_kinds)
        list[entry->recompute_count++] = recompute_of(costs, PPSCHED_MODEL_PASS_FULL, memory->full);
    entry->recomputes = list;
}

/* Sets where the row may stand, and what goes with it. */
static void set_place(ppsched_layer *entry, const ppsched_model *model, int32_t role)
{
    if (role == PPSCHED_MODEL_ROLE_EMBEDDING) {
        entry->place = PPSCHED_LAYER_PLACE_FIRST;
        entry->flags = ppi_model_has_flag(model, PPSCHED_DESCRIPTION_FLAG_TIED) ? PPSCHED_LAYER_FLAG_TIED : 0;
    } else if (role == PPSCHED_MODEL_ROLE_TOWER) {
        entry->place = PPSCHED_LAYER_PLACE_FIRST;
        entry->flags = PPSCHED_LAYER_FLAG_NOT_COPIED;
        entry->output_bytes = 0;
    } else if (role == PPSCHED_MODEL_ROLE_HEAD) {
        entry->place = PPSCHED_LAYER_PLACE_LAST;
        entry->output_bytes = 0;
    } else if (role == PPSCHED_MODEL_ROLE_MTP) {
        entry->flags = PPSCHED_LAYER_FLAG_COPIES_EMBEDDING;
    }
}

static void scale(const ppsched_window *windows, size_t count, double time)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += windows[i].time;
    for (size_t i = 0; i < count && sum > 0; i++)
        ((ppsched_window *)(uintptr_t)windows)[i].time *= time / sum; /* they are the listing's own */
}

/* Windows as long as the calibrated times. */
static void put_windows(struct listing *listing, ppsched_layer *entry, uint32_t row)
{
    ppsched_pair_windows *windows = &listing->windows[listing->count];
    ppi_model_windows(windows, listing->model, row, &listing->arena);
    scale(windows->forward, windows->forward_count, entry->forward_time);
    scale(windows->backward, windows->backward_count, entry->backward_input_time);
    scale(windows->weight, windows->weight_count, entry->backward_weight_time);
    entry->windows = windows;
}

/* `added`: bytes that cross the boundary after each of these layers in addition to their output. */
static void put_entry(struct listing *listing, uint32_t row, uint32_t count, bool has_next, double added)
{
    const struct ppi_model_row *own = &listing->model->rows[row];
    ppsched_layer *entry = &listing->entries[listing->count];
    const struct row_costs *costs = costs_of(listing, row);
    const ppsched_layer_memory *memory = &costs->memory;
    *entry = (ppsched_layer){.size = sizeof *entry,
                             .count = count,
                             .name = own->name,
                             .forward_time = costs->times[PPSCHED_MODEL_PASS_FORWARD],
                             .backward_input_time = costs->times[PPSCHED_MODEL_PASS_INPUT],
                             .backward_weight_time = costs->times[PPSCHED_MODEL_PASS_WEIGHT],
                             .mem_forward = memory->activations,
                             .mem_backward_input = memory->activations_until_weight - memory->activations,
                             .mem_backward_weight = -memory->activations_until_weight,
                             .mem_static = memory->gradients + memory->optimizer,
                             .mem_weights = memory->weights,
                             .output_bytes = memory->output_bytes + added,
                             .mem_slice_state = memory->slice_state,
                             .mem_slice_gradients = memory->slice_gradients};
    entry->backward_time = entry->backward_input_time + entry->backward_weight_time;
    set_place(entry, listing->model, own->role);
    if (listing->symbols != NULL && (own->role == PPSCHED_MODEL_ROLE_DECODER || own->role == PPSCHED_MODEL_ROLE_MTP))
        entry->hybrid_symbols = listing->symbols[row];
    if (has_next)
        entry->flags |= PPSCHED_LAYER_FLAG_WITH_NEXT;
    if (listing->model->shape->streams > 1 && (own->role == PPSCHED_MODEL_ROLE_DECODER || own->role == PPSCHED_MODEL_ROLE_MTP))
        entry->flags |= PPSCHED_LAYER_FLAG_SEVERAL_STREAMS;
    if (own->role != PPSCHED_MODEL_ROLE_EMBEDDING && own->role != PPSCHED_MODEL_ROLE_HEAD)
        put_recomputes(listing, entry, costs);
    if (listing->windows != NULL)
        put_windows(listing, entry, row);
    listing->list[listing->count++] = entry;
}

/* --- what crosses boundaries --- */

static bool has_block_flag(const ppsched_layer_kind *kind, uint32_t flag)
{
    for (uint32_t i = 0; i < kind->block_count; i++)
        if ((kind->blocks[i]->flags & flag) != 0)
            return true;
    return false;
}

static const ppsched_layer_kind *kind_of(const struct listing *listing, uint32_t layer)
{
    const ppsched_description_info *shape = listing->model->shape;
    return shape->kinds[shape->layers[layer]];
}

static const ppsched_block *attention_of(const ppsched_layer_kind *kind)
{
    for (uint32_t i = 0; i < kind->block_count; i++)
        if (kind->blocks[i]->kind == PPSCHED_BLOCK_KIND_ATTENTION)
            return kind->blocks[i];
    return NULL;
}

/* Whether `layer` has keys and values of its own, for layers with this block. */
static bool serves(const struct listing *listing, uint32_t layer, const ppsched_block *reader)
{
    const ppsched_block *block = attention_of(kind_of(listing, layer));
    return block != NULL && block->window == reader->window && (block->flags & PPSCHED_BLOCK_FLAG_SHARED_KEYS) == 0;
}

/* The layer whose keys and values `reader` reads: the nearest before it that serves it; the first if none does. */
static uint32_t maker_of(const struct listing *listing, uint32_t reader)
{
    const ppsched_block *block = attention_of(kind_of(listing, reader));
    uint32_t maker = reader;
    while (maker > 0 && !serves(listing, maker, block))
        maker--;
    return maker;
}

/* Keys and values that later layers read cross all boundaries from the layer that makes them to its last reader. Of the
 * layers of a kind only the last that reads is looked at. */
static void find_shared(struct listing *listing)
{
    const ppsched_description_info *shape = listing->model->shape;
    bool is_seen[PPSCHED_MAX_LAYER_KINDS] = {false};
    for (uint32_t i = shape->layer_count; i-- > 0;) {
        uint32_t kind = shape->layers[i];
        const ppsched_block *reader = attention_of(shape->kinds[kind]);
        if (is_seen[kind] || reader == NULL || (reader->flags & PPSCHED_BLOCK_FLAG_SHARED_KEYS) == 0)
            continue;
        is_seen[kind] = true;
        uint32_t maker = maker_of(listing, i);
        if (listing->last_reader[maker] < i)
            listing->last_reader[maker] = i;
    }
    for (uint32_t maker = 0; maker < shape->layer_count; maker++) {
        const ppsched_block *block = attention_of(kind_of(listing, maker));
        double elements = block == NULL ? 0 : (double)block->key_value_heads * (block->head_size + block->value_size);
        for (uint32_t layer = maker; layer < listing->last_reader[maker]; layer++)
            listing->shared[layer] += elements;
    }
}

/* The tokens of a sample that a tower makes. */
static double tokens_of(const ppsched_tower *tower, uint32_t sequence)
{
    double patches = tower->tokens > 0 ? tower->tokens : sequence;
    double tokens = patches / (tower->patches_per_token > 0 ? tower->patches_per_token : 1);
    return tokens < sequence ? tokens : sequence;
}

/* Elements of a sample that towers add to layers from `layer` on. */
static double features_from(const struct listing *listing, uint32_t layer)
{
    const ppsched_description_info *shape = listing->model->shape;
    double elements = 0;
    for (uint32_t i = 0; i < shape->tower_count; i++) {
        const ppsched_tower *tower = shape->towers[i];
        uint32_t last = tower->deepstack_layers < shape->layer_count ? tower->deepstack_layers : shape->layer_count;
        double features = layer < last ? last - layer : 0;
        elements += features * tokens_of(tower, listing->model->training.sequence_length) * shape->hidden_size;
    }
    return elements;
}

/* How many devices of tensor parallelism divide the rows of the residual stream. */
static uint32_t row_parallel(const ppsched_training *training)
{
    return (training->flags & PPSCHED_TRAINING_FLAG_SEQUENCE_PARALLEL) != 0 ? training->tensor_parallel : 1;
}

/* Bytes of towers' features for layers from `layer` on. */
static double feature_bytes(const struct listing *listing, uint32_t layer)
{
    const ppsched_training *training = &listing->model->training;
    if (listing->model->shape->tower_count == 0)
        return 0;
    double features = features_from(listing, layer) * training->micro_batch_size / training->context_parallel;
    return features / row_parallel(training) * training->activation_bytes;
}

/* What the layers from `layer` on get from the embedding, besides their input. */
static double input_bytes(const struct listing *listing, uint32_t layer)
{
    const ppsched_model *model = listing->model;
    const ppsched_training *training = &model->training;
    if (model->shape->layer_input == 0)
        return 0;
    double tokens = (double)training->sequence_length * training->micro_batch_size / training->context_parallel;
    double elements = (double)model->shape->layer_input * (model->shape->layer_count - layer);
    return tokens / row_parallel(training) * elements * training->activation_bytes;
}

/* Bytes after a layer: keys and values for later ones, streams that were added so far, inputs of each later layer, features of
 * towers. */
static double added_after(const struct listing *listing, uint32_t layer)
{
    const ppsched_model *model = listing->model;
    const ppsched_training *training = &model->training;
    double tokens = (double)training->sequence_length * training->micro_batch_size / training->context_parallel;
    double rows = tokens / row_parallel(training);
    uint32_t interval = model->shape->stream_interval;
    double streams = interval > 0 ? (layer + interval) / interval : 0;
    double shared = listing->shared[layer] / training->tensor_parallel;
    return (rows * streams * model->shape->hidden_size + tokens * shared) * training->activation_bytes +
           feature_bytes(listing, layer + 1) + input_bytes(listing, layer + 1);
}

/* --- all --- */

static void find_symbols(struct listing *listing)
{
    const ppsched_model *model = listing->model;
    if (!ppi_is_hybrid(model->shape))
        return;
    listing->symbols = ppi_arena_take_zeroed(&listing->arena, model->row_count, sizeof *listing->symbols);
    for (uint32_t row = 0; row < model->row_count && listing->symbols != NULL; row++)
        if (model->rows[row].kind != NULL)
            ppi_hybrid_symbols(listing->symbols[row], model->rows[row].kind);
}

static uint32_t row_of_kind(const ppsched_model *model, uint32_t kind)
{
    for (uint32_t row = 0; row < model->row_count; row++)
        if (model->rows[row].role == PPSCHED_MODEL_ROLE_DECODER && model->rows[row].index == kind)
            return row;
    return 0;
}

/* A layer that reads the index of an earlier one, or to which a tower adds features, stays with the layer before it. */
static bool keeps_next(const struct listing *listing, uint32_t layer)
{
    return layer + 1 < listing->model->shape->layer_count &&
           (has_block_flag(kind_of(listing, layer + 1), PPSCHED_BLOCK_FLAG_SHARED_INDEX) ||
            features_from(listing, layer + 1) > 0);
}

/* A run of equal decoders is one entry. */
static void put_decoders(struct listing *listing)
{
    const ppsched_description_info *shape = listing->model->shape;
    for (uint32_t layer = 0, end; layer < shape->layer_count; layer = end) {
        bool keeps = keeps_next(listing, layer);
        double added = added_after(listing, layer);
        for (end = layer + 1; end < shape->layer_count && shape->layers[end] == shape->layers[layer] &&
                              keeps_next(listing, end) == keeps && added_after(listing, end) == added;
             end++)
            continue;
        put_entry(listing, row_of_kind(listing->model, shape->layers[layer]), end - layer, keeps, added);
    }
}

static void put_all(struct listing *listing)
{
    const ppsched_model *model = listing->model;
    bool has_decoders = false;
    for (uint32_t row = 0; row < model->row_count; row++) {
        if (model->rows[row].role != PPSCHED_MODEL_ROLE_DECODER) {
            bool is_embedding = model->rows[row].role == PPSCHED_MODEL_ROLE_EMBEDDING;
            double features = is_embedding ? feature_bytes(listing, 0) : 0, inputs = is_embedding ? input_bytes(listing, 0) : 0;
            put_entry(listing, row, model->rows[row].layers, features > 0, features + inputs);
        } else if (!has_decoders) {
            put_decoders(listing);
            has_decoders = true;
        }
    }
}

static ppsched_status check_calibration(const ppsched_model *model, const ppsched_calibration *calibration,
                                        ppsched_error *error)
{
    if (calibration->rows > 0 && calibration->factors == NULL)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "calibration: factors is NULL, and the calibration has %u row%p",
                        calibration->rows);
    if (calibration->rows > model->row_count)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "calibration: rows is %u; the model has %u", calibration->rows,
                        model->row_count);
    for (uint32_t row = 0; row < calibration->rows; row++)
        for (uint32_t pass = 0; pass <= PPSCHED_MODEL_PASS_WEIGHT; pass++) {
            double factor = calibration->factors[PASSES * row + pass];
            if (!(factor >= 0) || !ppi_is_finite(factor))
                return ppi_fail(error, PPSCHED_ERROR_RANGE,
                                "calibration: the factor of %s, pass %d, is %g; it must be at least 0", model->rows[row].name,
                                pass, factor);
        }
    return PPSCHED_OK;
}

ppsched_status ppi_model_layers(const ppsched_layers **out, const ppsched_model *model, const ppsched_calibration *calibration,
                                bool all_kinds, ppsched_error *error)
{
    struct listing listing = {
        .arena = {.host = &model->host}, .model = model, .calibration = calibration, .all_kinds = all_kinds};
    size_t most = model->shape->layer_count + (size_t)model->row_count;
    ppsched_status status = check_calibration(model, calibration, error);
    if (status == PPSCHED_OK && !model->has_device)
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "layers need times; create the model with an accelerator");
    if (status != PPSCHED_OK)
        return status;
    listing.entries = ppi_arena_take(&listing.arena, most, sizeof *listing.entries);
    listing.recomputes = ppi_arena_take(&listing.arena, most, sizeof *listing.recomputes);
    listing.last_reader = ppi_arena_take_zeroed(&listing.arena, model->shape->layer_count, sizeof *listing.last_reader);
    listing.shared = ppi_arena_take_zeroed(&listing.arena, model->shape->layer_count, sizeof *listing.shared);
    listing.list = ppi_arena_take(&listing.arena, most, sizeof *listing.list);
    if (ppi_model_has_windows(model))
        listing.windows = ppi_arena_take_zeroed(&listing.arena, most, sizeof *listing.windows);
    listing.costs = ppi_arena_take_zeroed(&listing.arena, model->row_count, sizeof *listing.costs);
    find_symbols(&listing);
    status = ppi_arena_check(&listing.arena, "the layers", error);
    if (status == PPSCHED_OK) {
        find_shared(&listing);
        put_all(&listing);
        status = ppi_arena_check(&listing.arena, "the layers", error);
    }
    if (status == PPSCHED_OK)
        status = ppi_layers_make(out, &model->host, listing.list, listing.count, error);
    ppi_arena_clear(&listing.arena);
    return status;
}
