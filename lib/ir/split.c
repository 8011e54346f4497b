/* SPDX-License-Identifier: Apache-2.0 */
/* Checks splits of a list of layers, and sums the layers' costs into the lists of a config by stage. */
#include "base/checked.h"
#include "base/error.h"
#include "ir/costs.h"
#include "ir/layers.h"

/* --- checking --- */

static ppsched_status fail_split(ppsched_error *error, uint32_t stage, const ppsched_layers *layers, uint32_t layer,
                                 const char *what)
{
    return ppi_fail_at(error, PPSCHED_ERROR_RANGE, (struct ppi_place){PPSCHED_NONE, stage, PPSCHED_NONE, layer},
                       "split: layer %u (%q) in stage %u %s", layer, ppi_layer_at(layers, layer)->given.name, stage, what);
}

/* A stage's layers from `begin` to before `end`. */
static ppsched_status check_stage(const ppsched_layers *layers, uint32_t stage, uint32_t stages, uint32_t begin, uint32_t end,
                                  ppsched_error *error)
{
    if (stage > 0 && begin < layers->first)
        return fail_split(error, stage, layers, begin, "must be in the first stage");
    if (stage + 1 < stages && end > layers->count - layers->last)
        return fail_split(error, stage, layers, end - 1, "must be in the last stage");
    if (begin > 0 && begin < end && !layers->is_cut[begin])
        return fail_split(error, stage, layers, begin, "must be in the same stage as the layer before it");
    return PPSCHED_OK;
}

static ppsched_status check_split_recomputes(const ppsched_layers *layers, const uint8_t *recomputes, ppsched_error *error)
{
    for (uint32_t i = 0; i < layers->count && recomputes != NULL; i++) {
        const ppsched_layer *layer = &ppi_layer_at(layers, i)->given;
        if (recomputes[i] > layer->recompute_count)
            return ppi_fail_at(error, PPSCHED_ERROR_RANGE, (struct ppi_place){PPSCHED_NONE, PPSCHED_NONE, PPSCHED_NONE, i},
                               "split: layer %u (%q) has kinds of recomputation 0 to %u, not %u", i, layer->name,
                               layer->recompute_count, recomputes[i]);
    }
    return PPSCHED_OK;
}

static ppsched_status check_split_count(const ppsched_layers *layers, const ppsched_split *split, ppsched_error *error)
{
    uint64_t end = 0;
    for (uint32_t s = 0; s < split->stages; s++) {
        end += split->layers[s];
        if (end > layers->count)
            return ppi_fail_at(error, PPSCHED_ERROR_RANGE, (struct ppi_place){PPSCHED_NONE, s, PPSCHED_NONE, PPSCHED_NONE},
                               "split: stages 0 to %u have %lld layer%p; the model has %u", s, (long long)end, layers->count);
    }
    if (end < layers->count)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "split: its stages have %lld layer%p; the model has %u", (long long)end,
                        layers->count);
    return PPSCHED_OK;
}

ppsched_status ppi_split_check(const ppsched_layers *layers, const ppsched_split *split, ppsched_error *error)
{
    uint32_t begin = 0;
    if (split->stages == 0 || split->stages > PPSCHED_MAX_STAGES)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "split: there are %u stage%p; there must be 1 to %d", split->stages,
                        PPSCHED_MAX_STAGES);
    ppsched_status status = check_split_count(layers, split, error);
    for (uint32_t s = 0; s < split->stages && status == PPSCHED_OK; s++) {
        status = check_stage(layers, s, split->stages, begin, begin + split->layers[s], error);
        begin += split->layers[s];
    }
    return status == PPSCHED_OK ? check_split_recomputes(layers, split->recomputes, error) : status;
}

/* --- what stages cost --- */

/* The list for each cost; recomputed and added memory has none: see put_rising. */
static const int32_t quantities[PPI_LAYER_COSTS] = {
    [PPI_LAYER_FORWARD] = PPSCHED_QUANTITY_FORWARD_TIMES,
    [PPI_LAYER_BACKWARD] = PPSCHED_QUANTITY_BACKWARD_TIMES,
    [PPI_LAYER_INPUT] = PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES,
    [PPI_LAYER_WEIGHT] = PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES,
    [PPI_LAYER_MEM_FORWARD] = PPSCHED_QUANTITY_MEM_FORWARD,
    [PPI_LAYER_MEM_RELEASED] = PPSCHED_QUANTITY_MEM_BACKWARD_INPUT,
    [PPI_LAYER_MEM_WEIGHT] = PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT,
    [PPI_LAYER_STATIC] = PPSCHED_QUANTITY_MEM_STATIC,
    [PPI_LAYER_WEIGHTS] = PPSCHED_QUANTITY_MEM_WEIGHTS,
};

static double cost_of(const ppsched_layers *layers, const ppsched_split *split, uint32_t layer, int cost)
{
    return ppi_layer_at(layers, layer)->kinds[split->recomputes != NULL ? split->recomputes[layer] : 0].cost[cost];
}

static double sum_of(const ppsched_layers *layers, const ppsched_split *split, uint32_t begin, uint32_t count, int cost)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += cost_of(layers, split, begin + i, cost);
    return sum;
}

/* What a stage after the first holds of the layers that belong to the first: copies of them, and in the last stage the tied
 * ones. */
static double copied(const ppsched_layers *layers, const ppsched_split *split, uint32_t stage, bool copies, int cost)
{
    double sum = 0;
    bool is_last = stage + 1 == split->stages;
    if (stage == 0 || (cost != PPI_LAYER_STATIC && cost != PPI_LAYER_WEIGHTS))
        return 0;
    for (uint32_t i = 0; i < layers->first; i++) {
        uint32_t flags = ppi_layer_at(layers, i)->given.flags;
        sum += is_last && (flags & PPSCHED_LAYER_FLAG_TIED) != 0 ? cost_of(layers, split, i, cost) : 0;
        sum += copies && (flags & PPSCHED_LAYER_FLAG_NOT_COPIED) == 0 ? cost_of(layers, split, i, cost) : 0;
    }
    return sum;
}

static ppsched_status put_cost(ppsched_config *config, const ppsched_layers *layers, const ppsched_split *split, double *list,
                               int cost, ppsched_error *error)
{
    uint32_t layer = 0;
    for (uint32_t s = 0; s < split->stages; layer += split->layers[s++]) {
        bool copies = false;
        for (uint32_t i = 0; i < split->layers[s]; i++)
            copies |= (ppi_layer_at(layers, layer + i)->given.flags & PPSCHED_LAYER_FLAG_COPIES_EMBEDDING) != 0;
        list[s] = sum_of(layers, split, layer, split->layers[s], cost) + copied(layers, split, s, copies, cost);
    }
    return ppi_config_set_values(config, quantities[cost], list, split->stages, error);
}

/* --- attention --- */

double ppi_layers_most_attention(const ppsched_layers *layers)
{
    double most = 0;
    for (uint32_t e = 0; e < layers->entry_count; e++)
        most = ppi_larger(most, layers->entries[e].given.attention_share);
    return most;
}

void ppi_split_attention(double *shares, const ppsched_layers *layers, const ppsched_split *split)
{
    uint32_t layer = 0;
    for (uint32_t s = 0; s < split->stages; s++) {
        double whole = 0, attention = 0;
        for (uint32_t i = 0; i < split->layers[s]; i++, layer++) {
            const struct ppi_layer_entry *entry = ppi_layer_at(layers, layer);
            const double time = entry->kinds[0].cost[PPI_LAYER_FORWARD] + entry->kinds[0].cost[PPI_LAYER_BACKWARD];
            whole += time;
            attention += time * entry->given.attention_share;
        }
        shares[s] = whole > 0 ? ppi_smaller(attention / whole, 1) : 0;
    }
}

/* --- what rises inside backwards --- */

/* Sums over a stage's layers: what their Is release and add, what all recompute, and the largest recomputed of one layer. */
struct rising {
    double released, added, again, largest;
};

static struct rising rising_of(const ppsched_layers *layers, const ppsched_split *split, uint32_t begin, uint32_t count)
{
    struct rising sum = {.released = sum_of(layers, split, begin, count, PPI_LAYER_MEM_RELEASED),
                         .added = sum_of(layers, split, begin, count, PPI_LAYER_MEM_ADDED),
                         .again = sum_of(layers, split, begin, count, PPI_LAYER_MEM_AGAIN)};
    for (uint32_t i = 0; i < count; i++)
        sum.largest = ppi_larger(sum.largest, cost_of(layers, split, begin + i, PPI_LAYER_MEM_AGAIN));
    return sum;
}

/* The I of a stage either releases or adds. If its layers do both, what is added counts as recomputed. A whole backward
 * recomputes layer after layer, so it holds only the largest. */
static ppsched_status put_rising(ppsched_config *config, const ppsched_layers *layers, const ppsched_split *split, double *list,
                                 ppsched_error *error)
{
    double *again = list + split->stages, *in_turn = again + split->stages;
    bool rises = false;
    uint32_t layer = 0;
    if (!ppi_layers_rise(layers))
        return put_cost(config, layers, split, list, PPI_LAYER_MEM_RELEASED, error);
    for (uint32_t s = 0; s < split->stages; layer += split->layers[s++]) {
        struct rising sum = rising_of(layers, split, layer, split->layers[s]);
        double apart = sum.released < 0 ? sum.added : 0;
        list[s] = sum.released < 0 ? sum.released : sum.added;
        again[s] = sum.again + apart;
        in_turn[s] = sum.largest + apart;
        rises = rises || again[s] > 0;
    }
    ppsched_status status = ppi_config_set_values(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, list, split->stages, error);
    if (status == PPSCHED_OK && rises)
        status = ppi_config_set_values(config, PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD_INPUT, again, split->stages, error);
    if (status == PPSCHED_OK && rises)
        status = ppi_config_set_values(config, PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD, in_turn, split->stages, error);
    return status;
}

/* A stage without layers passes on its input. */
static ppsched_status put_bytes(ppsched_config *config, const ppsched_layers *layers, const ppsched_split *split, double *list,
                                ppsched_error *error)
{
    uint32_t layer = 0;
    for (uint32_t s = 0; s < split->stages; s++) {
        layer += split->layers[s];
        list[s] = layer > 0 ? ppi_layer_at(layers, layer - 1)->given.output_bytes : 0;
    }
    return ppi_config_set_values(config, PPSCHED_QUANTITY_ACTIVATION_BYTES, list, split->stages, error);
}

/* --- devices that differ --- */

static ppsched_status check_types(const ppsched_config *config, const ppsched_layers *layers, ppsched_error *error)
{
    for (uint32_t d = 0; d < config->shape.devices; d++)
        if (ppi_type_of(config, layers, d) > layers->types)
            return ppi_fail_at(error, PPSCHED_ERROR_RANGE, (struct ppi_place){d, PPSCHED_NONE, PPSCHED_NONE, d},
                               "layer_types of device %u is %u; layers have times for types 0 to %u", d,
                               ppi_type_of(config, layers, d), layers->types);
    return PPSCHED_OK;
}

static const uint8_t cost_of_kind[] = {[PPSCHED_KIND_F] = PPI_LAYER_FORWARD,
                                       [PPSCHED_KIND_B] = PPI_LAYER_BACKWARD,
                                       [PPSCHED_KIND_I] = PPI_LAYER_INPUT,
                                       [PPSCHED_KIND_W] = PPI_LAYER_WEIGHT};

/* The factor of a stage's time of a kind on devices of a type. */
static double scale_of_stage(const ppsched_layers *layers, const ppsched_split *split, uint32_t begin, uint32_t count,
                             uint32_t type, uint32_t kind)
{
    const double again = ppi_type_scale_again(layers, type);
    double plain = 0, scaled = 0;
    for (uint32_t i = begin; i < begin + count; i++) {
        const double whole = cost_of(layers, split, i, cost_of_kind[kind]);
        const double own = ppi_layer_at(layers, i)->kinds[0].cost[cost_of_kind[kind]];
        plain += whole;
        scaled += own * ppi_type_scale(layers, layers->entry_of[i], type, kind) + (whole - own) * again;
    }
    return plain > 0 ? scaled / plain : 1;
}

/* What the layers of each stage say of the types of devices. */
static ppsched_status put_scale(ppsched_config *config, const ppsched_layers *layers, const ppsched_split *split,
                                ppsched_error *error)
{
    const uint32_t devices = config->shape.devices, stages = split->stages;
    const size_t count = (size_t)PPSCHED_KIND_W * stages * devices;
    if (layers->types == 0 || config->values[PPSCHED_QUANTITY_LAYER_TYPES].values == NULL)
        return PPSCHED_OK;
    double *list = ppi_allocate(&config->host, count, sizeof *list), *to = list;
    if (list == NULL)
        return ppi_fail_memory(error, "the stages' costs");
    for (uint32_t kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++) {
        uint32_t begin = 0;
        for (uint32_t s = 0; s < stages; begin += split->layers[s++]) {
            double by_type[PPI_MOST_TYPES + 1];
            for (uint32_t type = 0; type <= layers->types; type++)
                by_type[type] = scale_of_stage(layers, split, begin, split->layers[s], type, kind);
            for (uint32_t d = 0; d < devices; d++)
                *to++ = by_type[ppi_type_of(config, layers, d)];
        }
    }
    ppsched_status status = ppi_config_set_values(config, PPSCHED_QUANTITY_STAGE_SCALE, list, count, error);
    ppi_release(&config->host, list);
    return status;
}

/* --- the config --- */

ppsched_status ppi_layers_config(ppsched_config **out, const ppsched_config *config, const ppsched_layers *layers,
                                 const ppsched_split *split, ppsched_error *error)
{
    const struct ppi_shape *old = &config->shape;
    struct ppi_shape shape;
    ppsched_config *made = NULL;
    if (config->placement == PPSCHED_PLACEMENT_MAP)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "a placement map has a fixed number of stages; it cannot be used with layers");
    if (config->values[PPSCHED_QUANTITY_SLICE_SCALE].count > old->slices)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "slice_scale has values for each stage; with layers give one per slice, as stages have other layers");
    ppsched_status status = check_types(config, layers, error);
    if (status == PPSCHED_OK)
        status = ppi_shape_make(&shape, old->devices, split->stages, old->microbatches, old->iterations, error);
    if (status == PPSCHED_OK)
        status = ppi_shape_cut(&shape, old->slices, error);
    if (status == PPSCHED_OK)
        status = ppi_config_create(&made, &shape, &config->host, error);
    if (status != PPSCHED_OK)
        return status;
    double *list = ppi_allocate(&config->host, split->stages, 3 * sizeof *list);
    status = list != NULL ? ppi_config_take_run(made, config, error) : ppi_fail_memory(error, "the stages' costs");
    for (int cost = 0; cost < PPI_LAYER_COSTS && status == PPSCHED_OK; cost++)
        if (quantities[cost] != 0 && cost != PPI_LAYER_MEM_RELEASED)
            status = put_cost(made, layers, split, list, cost, error);
    if (status == PPSCHED_OK)
        status = put_rising(made, layers, split, list, error);
    if (status == PPSCHED_OK)
        status = put_bytes(made, layers, split, list, error);
    if (status == PPSCHED_OK)
        status = put_scale(made, layers, split, error);
    ppi_release(&config->host, list);
    if (status != PPSCHED_OK) {
        ppi_config_destroy(made);
        return status;
    }
    *out = made;
    return PPSCHED_OK;
}
