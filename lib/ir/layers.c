/* SPDX-License-Identifier: Apache-2.0 */
/* Entries are checked, completed and given their costs by kind of recomputation, then laid out as one array of layers. */
#include "ir/layers.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "ir/costs.h"

/* --- one entry --- */

static ppsched_status fail_entry(ppsched_error *error, uint32_t entry, const ppsched_layer *layer, const char *what,
                                 double value, const char *rule)
{
    struct ppi_place place = PPI_NOWHERE;
    place.position = entry;
    return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place, "layer entry %u (%q): %s is %g; it must be %s", entry,
                       layer->name != NULL ? layer->name : "", what, value, rule);
}

static ppsched_status fail_order(ppsched_error *error, uint32_t entry, const ppsched_layer *layer, const char *what)
{
    struct ppi_place place = PPI_NOWHERE;
    place.position = entry;
    return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place, "layer entry %u (%q): %s", entry, layer->name, what);
}

static ppsched_status check_costs(const ppsched_layer *layer, uint32_t entry, ppsched_error *error)
{
    enum sign { POSITIVE, NEGATIVE, ANY };
    static const char *const wanted[] = {"finite and at least 0", "finite and at most 0", "finite"};
    const struct {
        const char *name;
        double value;
        enum sign sign;
    } costs[] = {{"forward_time", layer->forward_time, POSITIVE},
                 {"backward_time", layer->backward_time, POSITIVE},
                 {"backward_input_time", layer->backward_input_time, POSITIVE},
                 {"backward_weight_time", layer->backward_weight_time, POSITIVE},
                 {"mem_forward", layer->mem_forward, POSITIVE},
                 {"mem_backward_input", layer->mem_backward_input, ANY},
                 {"mem_backward_weight", layer->mem_backward_weight, NEGATIVE},
                 {"mem_static", layer->mem_static, POSITIVE},
                 {"mem_weights", layer->mem_weights, POSITIVE},
                 {"output_bytes", layer->output_bytes, POSITIVE},
                 {"mem_slice_state", layer->mem_slice_state, POSITIVE},
                 {"mem_slice_gradients", layer->mem_slice_gradients, POSITIVE},
                 {"attention_share", layer->attention_share, POSITIVE}};
    for (size_t i = 0; i < sizeof costs / sizeof costs[0]; i++) {
        double value = costs[i].value;
        if (!ppi_is_finite(value) || (costs[i].sign == POSITIVE && value < 0) || (costs[i].sign == NEGATIVE && value > 0))
            return fail_entry(error, entry, layer, costs[i].name, value, wanted[costs[i].sign]);
    }
    if (layer->attention_share > 1)
        return fail_entry(error, entry, layer, "attention_share", layer->attention_share, "0 to 1");
    return PPSCHED_OK;
}

static ppsched_status fail_same(ppsched_error *error, uint32_t entry, const ppsched_layer *layer, uint32_t first,
                                uint32_t second)
{
    struct ppi_place place = PPI_NOWHERE;
    place.position = entry;
    return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place,
                       "layer entry %u (%q): recomputes %u and %u are both called %q; each needs a different name", entry,
                       layer->name != NULL ? layer->name : "", first, second, layer->recomputes[first].name);
}

static ppsched_status check_recomputes(const ppsched_layer *layer, uint32_t entry, ppsched_error *error)
{
    for (uint32_t k = 0; k < layer->recompute_count; k++) {
        const ppsched_recompute *kind = &layer->recomputes[k];
        if (kind->name == NULL || kind->name[0] == '\0')
            return fail_entry(error, entry, layer, "a recompute's name, its number", k + 1, "given");
        for (uint32_t other = 0; other < k; other++)
            if (strcmp(layer->recomputes[other].name, kind->name) == 0)
                return fail_same(error, entry, layer, other, k);
        if (!ppi_is_finite(kind->time) || kind->time < 0)
            return fail_entry(error, entry, layer, "a recompute's time", kind->time, "finite and at least 0");
        if (!(kind->mem_forward >= 0 && kind->mem_forward <= layer->mem_forward))
            return fail_entry(error, entry, layer, "a recompute's mem_forward", kind->mem_forward,
                              "at least 0 and at most the layer's");
    }
    return PPSCHED_OK;
}

static ppsched_status check_symbols(const ppsched_layer *layer, uint32_t entry, ppsched_error *error)
{
    static const char known[] = "MG*D+-E";
    if (layer->hybrid_symbols != NULL && strspn(layer->hybrid_symbols, known) != strlen(layer->hybrid_symbols))
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "layer entry %u (%q): hybrid_symbols is %q; it must have symbols of %s only", entry, layer->name,
                        layer->hybrid_symbols, known);
    return PPSCHED_OK;
}

static ppsched_status check_scale(const ppsched_layer *layer, uint32_t entry, ppsched_error *error)
{
    if (layer->type_count > PPI_MOST_TYPES || (layer->type_count > 0) != (layer->device_scale != NULL))
        return fail_entry(error, entry, layer, "type_count", layer->type_count, "0 to 255, with device_scale unless it is 0");
    for (size_t i = 0; i < (size_t)layer->type_count * PPSCHED_KIND_W; i++)
        if (!(layer->device_scale[i] >= 0) || !ppi_is_finite(layer->device_scale[i]))
            return fail_entry(error, entry, layer, "a value of device_scale", layer->device_scale[i], "finite and at least 0");
    return PPSCHED_OK;
}

static ppsched_status check_entry(const ppsched_layer *layer, uint32_t entry, ppsched_error *error)
{
    if (layer->name == NULL || layer->name[0] == '\0')
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "layer entry %u has no name", entry);
    ppsched_status status = ppi_check_choice("place", layer->place, 0, PPSCHED_LAYER_PLACE_LAST, error);
    if (status != PPSCHED_OK)
        return status;
    status = check_symbols(layer, entry, error);
    if (status != PPSCHED_OK)
        return status;
    if (layer->flags >= 2 * PPSCHED_LAYER_FLAG_SEVERAL_STREAMS)
        return fail_entry(error, entry, layer, "flags", layer->flags, "0 to 31");
    if ((layer->flags & PPSCHED_LAYER_FLAG_NOT_COPIED) != 0 && layer->place != PPSCHED_LAYER_PLACE_FIRST)
        return fail_entry(error, entry, layer, "the flag of a layer that is not copied", 1,
                          "0, except in a layer of the first stage");
    if ((layer->flags & PPSCHED_LAYER_FLAG_TIED) != 0 && layer->place != PPSCHED_LAYER_PLACE_FIRST)
        return fail_entry(error, entry, layer, "the flag of tied weights", 1, "0, except in a layer of the first stage");
    if ((layer->flags & PPSCHED_LAYER_FLAG_COPIES_EMBEDDING) != 0 && layer->place == PPSCHED_LAYER_PLACE_FIRST)
        return fail_entry(error, entry, layer, "the flag of a copied embedding", 1, "0 in a layer of the first stage");
    if (layer->recompute_count > PPSCHED_MAX_RECOMPUTES || (layer->recompute_count > 0 && layer->recomputes == NULL))
        return fail_entry(error, entry, layer, "recompute_count", layer->recompute_count, "0 to 8, with that many records");
    status = check_costs(layer, entry, error);
    if (status == PPSCHED_OK)
        status = check_scale(layer, entry, error);
    return status == PPSCHED_OK ? check_recomputes(layer, entry, error) : status;
}

/* Completes the times of B, I and W that are left out. */
static ppsched_status complete_times(ppsched_layer *layer, uint32_t entry, ppsched_error *error)
{
    double whole = layer->backward_time, parts = layer->backward_input_time + layer->backward_weight_time, left = whole - parts;
    if (!ppi_is_finite(parts))
        return fail_entry(error, entry, layer, "the sum of both backwards", parts, "finite");
    if (whole == 0) {
        layer->backward_time = parts;
    } else if (parts == 0) {
        layer->backward_input_time = whole * 0.5;
        layer->backward_weight_time = whole - layer->backward_input_time;
    } else if (layer->backward_input_time == 0 || layer->backward_weight_time == 0) {
        if (left < -PPI_ROUNDING * parts)
            return fail_entry(error, entry, layer, "a part of backward_time", parts, "at most the whole");
        *(layer->backward_input_time == 0 ? &layer->backward_input_time : &layer->backward_weight_time) = ppi_larger(left, 0);
    }
    return PPSCHED_OK;
}

static ppsched_status complete_memory(ppsched_layer *layer, uint32_t entry, ppsched_error *error)
{
    double *input = &layer->mem_backward_input, *weight = &layer->mem_backward_weight;
    double left = layer->mem_forward + *input + *weight, rounding = PPI_ROUNDING * (layer->mem_forward + ppi_larger(*input, 0));
    if (left < -rounding || (*input != 0 && *weight < 0 && left > rounding))
        return fail_entry(error, entry, layer, "mem_forward + mem_backward_input + mem_backward_weight", left, "0");
    if (*weight < 0 && *input == 0)
        *input = -ppi_larger(left, 0);
    *weight = -ppi_larger(layer->mem_forward + *input, 0);
    return PPSCHED_OK;
}

/* The costs without recomputation, and with each kind of it. */
static void fill_kinds(struct ppi_layer_entry *entry)
{
    const ppsched_layer *layer = &entry->given;
    for (uint32_t k = 0; k <= layer->recompute_count; k++) {
        double added = k > 0 ? layer->recomputes[k - 1].time : 0;
        double held = k > 0 ? layer->recomputes[k - 1].mem_forward : layer->mem_forward;
        entry->kinds[k] = (struct ppi_layer_kind){
            .cost = {[PPI_LAYER_FORWARD] = layer->forward_time,
                     [PPI_LAYER_BACKWARD] = layer->backward_time + added,
                     [PPI_LAYER_INPUT] = layer->backward_input_time + added,
                     [PPI_LAYER_WEIGHT] = layer->backward_weight_time,
                     [PPI_LAYER_MEM_FORWARD] = held,
                     [PPI_LAYER_MEM_RELEASED] = ppi_smaller(layer->mem_backward_input, 0),
                     [PPI_LAYER_MEM_AGAIN] = layer->mem_forward - held,
                     [PPI_LAYER_MEM_ADDED] = ppi_larger(layer->mem_backward_input, 0),
                     [PPI_LAYER_MEM_WEIGHT] = -ppi_larger(layer->mem_forward + layer->mem_backward_input, 0),
                     [PPI_LAYER_STATIC] = layer->mem_static,
                     [PPI_LAYER_WEIGHTS] = layer->mem_weights},
            .added = added};
    }
}

static const char *copy_name(struct ppi_arena *arena, const char *name)
{
    size_t size = strlen(name) + 1;
    char *copy = ppi_arena_take(arena, size, 1);
    if (copy != NULL)
        memcpy(copy, name, size);
    return copy;
}

/* A name in the list: that of one of the two entries before, as patterns repeat, or a copy. */
static const char *take_name(ppsched_layers *layers, const char *name)
{
    for (uint32_t back = 1; back <= 2 && back <= layers->entry_count; back++) {
        const char *before = layers->entries[layers->entry_count - back].given.name;
        if (strcmp(before, name) == 0)
            return before;
    }
    return copy_name(&layers->arena, name);
}

static const double *copy_scale(struct ppi_arena *arena, const ppsched_layer *given)
{
    const size_t count = (size_t)given->type_count * PPSCHED_KIND_W;
    double *copy = count > 0 ? ppi_arena_take(arena, count, sizeof *copy) : NULL;
    if (copy != NULL)
        memcpy(copy, given->device_scale, count * sizeof *copy);
    return copy;
}

static ppsched_status take_entry(ppsched_layers *layers, const ppsched_layer *given, ppsched_error *error)
{
    uint32_t number = layers->entry_count;
    struct ppi_layer_entry *entry = &layers->entries[number];
    ppsched_status status = check_entry(given, number, error);
    if (status != PPSCHED_OK)
        return status;
    entry->given = *given;
    entry->given.count = given->count > 0 ? given->count : 1;
    entry->given.name = take_name(layers, given->name);
    if (given->hybrid_symbols != NULL)
        entry->given.hybrid_symbols = copy_name(&layers->arena, given->hybrid_symbols);
    ppsched_recompute *kinds = given->recompute_count == 0
                                   ? NULL
                                   : ppi_arena_take(&layers->arena, given->recompute_count, sizeof *kinds);
    for (uint32_t k = 0; k < given->recompute_count && kinds != NULL; k++) {
        kinds[k] = given->recomputes[k];
        kinds[k].name = copy_name(&layers->arena, given->recomputes[k].name);
    }
    entry->given.recomputes = kinds;
    entry->given.device_scale = copy_scale(&layers->arena, given);
    entry->given.windows = ppi_layer_windows_copy(&layers->arena, given->windows);
    if (given->type_count > 0 && layers->types > 0 && given->type_count != layers->types)
        return fail_entry(error, number, given, "type_count", given->type_count, "that of the entries before it");
    layers->types = given->type_count > 0 ? given->type_count : layers->types;
    if (number > 0 && (given->windows != NULL) != layers->has_windows)
        return fail_order(error, number, given, "all entries have windows, or none has");
    layers->has_windows = given->windows != NULL;
    entry->kinds = ppi_arena_take(&layers->arena, given->recompute_count + (size_t)1, sizeof *entry->kinds);
    status = ppi_arena_check(&layers->arena, "the layers", error);
    if (status == PPSCHED_OK)
        status = complete_times(&entry->given, number, error);
    if (status == PPSCHED_OK)
        status = complete_memory(&entry->given, number, error);
    if (status == PPSCHED_OK)
        fill_kinds(entry);
    layers->entry_count++;
    return status;
}

/* --- the list --- */

/* Checks that layers for the first stage come first and those for the last come last, and counts both. */
static ppsched_status order_places(ppsched_layers *layers, ppsched_error *error)
{
    uint64_t all = 0;
    for (uint32_t e = 0; e < layers->entry_count; e++) {
        const ppsched_layer *layer = &layers->entries[e].given;
        if (layer->place == PPSCHED_LAYER_PLACE_FIRST && all > layers->first)
            return fail_order(error, e, layer, "it is for the first stage; put it before all layers that are not");
        if (layer->place != PPSCHED_LAYER_PLACE_LAST && layers->last > 0)
            return fail_order(error, e, layer, "it comes after a layer for the last stage; put it before that layer");
        all += layer->count;
        if (all > PPSCHED_MAX_LAYERS)
            return fail_entry(error, e, layer, "the number of layers up to it", (double)all, "at most 65535");
        layers->first += layer->place == PPSCHED_LAYER_PLACE_FIRST ? layer->count : 0;
        layers->last += layer->place == PPSCHED_LAYER_PLACE_LAST ? layer->count : 0;
    }
    layers->count = (uint32_t)all;
    return PPSCHED_OK;
}

static ppsched_status lay_out(ppsched_layers *layers, ppsched_error *error)
{
    uint32_t layer = 0;
    ppsched_status status = order_places(layers, error);
    if (status != PPSCHED_OK)
        return status;
    layers->entry_of = ppi_arena_take(&layers->arena, layers->count, sizeof *layers->entry_of);
    layers->is_cut = ppi_arena_take(&layers->arena, layers->count, sizeof *layers->is_cut);
    status = ppi_arena_check(&layers->arena, "the layers", error);
    for (uint32_t e = 0; e < layers->entry_count && status == PPSCHED_OK; e++)
        for (uint32_t i = 0; i < layers->entries[e].given.count; i++, layer++)
            layers->entry_of[layer] = (uint16_t)e;
    for (layer = 0; layer < layers->count && status == PPSCHED_OK; layer++) {
        bool held = layer > 0 && (ppi_layer_at(layers, layer - 1)->given.flags & PPSCHED_LAYER_FLAG_WITH_NEXT) != 0;
        layers->is_cut[layer] = !held && layer >= layers->first && layer <= layers->count - layers->last;
    }
    return status;
}

ppsched_status ppi_layers_make(const ppsched_layers **out, const struct ppi_host *host, const ppsched_layer *const *layers,
                               size_t count, ppsched_error *error)
{
    if (count == 0 || count > PPSCHED_MAX_LAYERS)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "there are %zu layer entries; there must be 1 to %d", count,
                        PPSCHED_MAX_LAYERS);
    ppsched_layers *made = ppi_allocate_zeroed(host, 1, sizeof *made);
    if (made == NULL)
        return ppi_fail_memory(error, "the layers");
    made->self = made;
    made->host = *host;
    made->arena.host = &made->host;
    atomic_init(&made->references, 1);
    made->entries = ppi_arena_take(&made->arena, count, sizeof *made->entries);
    ppsched_status status = ppi_arena_check(&made->arena, "the layers", error);
    for (size_t i = 0; i < count && status == PPSCHED_OK; i++)
        status = take_entry(made, layers[i], error);
    if (status == PPSCHED_OK)
        status = lay_out(made, error);
    if (status != PPSCHED_OK) {
        ppi_layers_release(made);
        return status;
    }
    *out = made;
    return PPSCHED_OK;
}

bool ppi_layers_rise(const ppsched_layers *layers)
{
    for (uint32_t e = 0; e < layers->entry_count; e++)
        if (layers->entries[e].given.recompute_count > 0 || layers->entries[e].given.mem_backward_input > 0)
            return true;
    return false;
}

void ppi_layers_retain(const ppsched_layers *layers)
{
    atomic_fetch_add_explicit(&layers->self->references, 1, memory_order_relaxed);
}

void ppi_layers_release(const ppsched_layers *layers)
{
    if (layers == NULL || atomic_fetch_sub_explicit(&layers->self->references, 1, memory_order_acq_rel) != 1)
        return;
    struct ppi_host host = layers->host;
    ppi_arena_clear(&layers->self->arena);
    ppi_release(&host, layers->self);
}

/* --- with another size of microbatch --- */

/* Adds what slices hold: each a state, until its backward; and once gradients of the keys and values of the others. */
static void add_slices(ppsched_layer *layer, ppsched_recompute *kinds, const struct ppi_microbatch_size *size)
{
    const double slices = size->slices, state = layer->mem_slice_state * slices;
    layer->mem_forward += state;
    if (layer->mem_backward_input <= 0)
        layer->mem_backward_input -= state;
    else
        layer->mem_backward_weight -= state;
    for (uint32_t k = 0; k < layer->recompute_count; k++)
        kinds[k].mem_forward += state;
    layer->mem_static += layer->mem_slice_gradients * (slices - 1) / slices * size->whole;
    layer->mem_slice_state = layer->mem_slice_gradients = 0;
}

static void resize_entry(ppsched_layer *layer, ppsched_recompute *kinds, const struct ppi_microbatch_size *size)
{
    double *times[] = {&layer->backward_time, &layer->backward_input_time, &layer->backward_weight_time};
    double *memory[] = {&layer->mem_forward, &layer->mem_backward_input, &layer->mem_backward_weight};
    for (uint32_t k = 0; k < layer->recompute_count; k++)
        kinds[k] = layer->recomputes[k];
    if (size->backward == 0)
        layer->mem_slice_gradients = 0;
    if (size->slices > 1)
        add_slices(layer, kinds, size);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        *times[i] *= size->backward;
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        *memory[i] *= size->memory;
    layer->forward_time *= size->time;
    layer->output_bytes *= size->bytes;
    for (uint32_t k = 0; k < layer->recompute_count; k++) {
        kinds[k].time *= size->backward;
        kinds[k].mem_forward *= size->memory;
    }
    layer->recomputes = kinds;
}

ppsched_status ppi_layers_resize(const ppsched_layers **out, const ppsched_layers *layers,
                                 const struct ppi_microbatch_size *size, ppsched_error *error)
{
    struct ppi_arena arena = {.host = &layers->host};
    ppsched_layer *entries = ppi_arena_take(&arena, layers->entry_count, sizeof *entries);
    const ppsched_layer **list = ppi_arena_take(&arena, layers->entry_count, sizeof *list);
    ppsched_recompute *kinds = ppi_arena_take(&arena, (size_t)layers->entry_count * PPSCHED_MAX_RECOMPUTES, sizeof *kinds);
    ppsched_status status = ppi_arena_check(&arena, "the layers", error);
    for (uint32_t i = 0; i < layers->entry_count && status == PPSCHED_OK; i++) {
        entries[i] = layers->entries[i].given;
        resize_entry(&entries[i], kinds + (size_t)i * PPSCHED_MAX_RECOMPUTES, size);
        list[i] = &entries[i];
    }
    if (status == PPSCHED_OK)
        status = ppi_layers_make(out, &layers->host, list, layers->entry_count, error);
    if (status == PPSCHED_OK)
        memcpy((*out)->self->is_cut, layers->is_cut, layers->count * sizeof *layers->is_cut);
    ppi_arena_clear(&arena);
    return status;
}

ppsched_status ppi_layers_join(const ppsched_layers **out, const ppsched_layers *layers, const char *name, ppsched_error *error)
{
    ppsched_status status = ppi_layers_resize(out, layers, &(struct ppi_microbatch_size){1, 1, 1, 1, 1, 1}, error);
    for (uint32_t i = 1; i < layers->count && status == PPSCHED_OK; i++)
        if (strcmp(ppi_layer_at(layers, i - 1)->given.name, name) == 0 &&
            strcmp(ppi_layer_at(layers, i)->given.name, name) == 0)
            (*out)->self->is_cut[i] = false;
    return status;
}

/* --- on devices that differ --- */

uint32_t ppi_type_of(const ppsched_config *config, const ppsched_layers *layers, uint32_t device)
{
    const struct ppi_values *types = &config->values[PPSCHED_QUANTITY_LAYER_TYPES];
    return layers->types > 0 && types->values != NULL ? (uint32_t)ppi_value_at(types, device) : 0;
}

bool ppi_layers_are_scaled(const ppsched_config *config, const ppsched_layers *layers)
{
    const bool by_type = layers->types > 0 && config->values[PPSCHED_QUANTITY_LAYER_TYPES].values != NULL;
    return by_type || config->values[PPSCHED_QUANTITY_DEVICE_SCALE].values != NULL;
}

double ppi_type_scale_again(const ppsched_layers *layers, uint32_t type)
{
    double plain = 0, scaled = 0;
    for (uint32_t e = 0; e < layers->entry_count; e++) {
        const double time = layers->entries[e].given.count * layers->entries[e].given.forward_time;
        plain += time;
        scaled += time * ppi_type_scale(layers, e, type, PPSCHED_KIND_F);
    }
    return plain > 0 ? scaled / plain : 1;
}

double ppi_layers_pair_scale(const ppsched_config *config, const ppsched_layers *layers, uint32_t device)
{
    const uint32_t type = ppi_type_of(config, layers, device);
    double least = PPI_INFINITE;
    for (uint32_t e = 0; e < layers->entry_count; e++)
        least = ppi_smaller(least, ppi_type_scale(layers, e, type, PPSCHED_KIND_F));
    return least * ppi_device_scale(config, PPSCHED_KIND_F, device) / ppi_speed_of(config, device);
}

double ppi_layers_speed(const ppsched_config *config, const ppsched_layers *layers, uint32_t device)
{
    const uint32_t type = ppi_type_of(config, layers, device);
    const double forward = ppi_device_scale(config, PPSCHED_KIND_F, device),
                 backward = ppi_device_scale(config, PPSCHED_KIND_B, device);
    double plain = 0, scaled = 0;
    for (uint32_t e = 0; e < layers->entry_count; e++) {
        const ppsched_layer *layer = &layers->entries[e].given;
        plain += layer->count * (layer->forward_time + layer->backward_time);
        scaled += layer->count * (layer->forward_time * forward * ppi_type_scale(layers, e, type, PPSCHED_KIND_F) +
                                  layer->backward_time * backward * ppi_type_scale(layers, e, type, PPSCHED_KIND_B));
    }
    return ppi_speed_of(config, device) * (plain > 0 && scaled > 0 ? plain / scaled : 1);
}

struct ppi_layer_times ppi_layer_times_on(const ppsched_config *config, const ppsched_layers *layers, uint32_t entry,
                                          uint32_t device)
{
    const uint32_t type = ppi_type_of(config, layers, device);
    const double *cost = layers->entries[entry].kinds[0].cost, speed = ppi_speed_of(config, device);
    static const uint8_t costs[] = {PPI_LAYER_FORWARD, PPI_LAYER_BACKWARD, PPI_LAYER_INPUT, PPI_LAYER_WEIGHT};
    double time[PPSCHED_KIND_W];
    for (uint32_t kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++)
        time[kind - PPSCHED_KIND_F] = cost[costs[kind - PPSCHED_KIND_F]] / speed * ppi_device_scale(config, kind, device) *
                                      ppi_type_scale(layers, entry, type, kind);
    return (struct ppi_layer_times){time[0], time[1], time[2], time[3]};
}
