/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: the layers of a model, and the config that follows from a split of them. */
#include "ir/layers.h"

#include <stddef.h>

#include "api/null.h"
#include "base/error.h"
#include "base/sized.h"
#include "ir/costs.h"
#include "pair/layers.h"
#include "pair/problem.h"

/* The size of the first version's entries. */
enum { FIRST_LAYER = offsetof(ppsched_layer, device_scale) };

/* Copies of the caller's entries in this version's size, and pointers to them. */
struct taken {
    struct ppi_arena arena;
    ppsched_layer *entries;
    const ppsched_layer **list;
};

/* How far the sum of windows may be from the time of the layer, as a share of it. */
static const double rounding = 1e-6;

static ppsched_status check_sum(const ppsched_layer *layer, size_t entry, const char *list, const ppsched_window *windows,
                                size_t count, double time, ppsched_error *error)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += windows[i].time;
    if (sum >= time * (1 - rounding) && sum <= time * (1 + rounding))
        return PPSCHED_OK;
    struct ppi_place place = PPI_NOWHERE;
    place.position = (uint32_t)entry;
    return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place,
                       "layer entry %zu (%q): its windows of %s take %g; they must take as long as the layer, %g", entry,
                       layer->name, list, sum, time);
}

/* Windows of each entry that has some: taken in this version's size, checked, and as long as its completed times. */
static ppsched_status check_windows(const ppsched_layers *layers, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < layers->entry_count && layers->has_windows && status == PPSCHED_OK; i++) {
        const ppsched_layer *layer = &layers->entries[i].given;
        const ppsched_pair_windows *own = layer->windows;
        status = check_sum(layer, i, "forward", own->forward, own->forward_count, layer->forward_time, error);
        if (status == PPSCHED_OK)
            status = check_sum(layer, i, "backward", own->backward, own->backward_count, layer->backward_input_time, error);
        if (status == PPSCHED_OK)
            status = check_sum(layer, i, "weight", own->weight, own->weight_count, layer->backward_weight_time, error);
        for (uint32_t c = 0; c < PPSCHED_MAX_WINDOW_CHANNELS && status == PPSCHED_OK; c++)
            if (own->slowdown[c] != layers->entries[0].given.windows->slowdown[c])
                status = ppi_fail(
                    error, PPSCHED_ERROR_RANGE,
                    "layer entry %u (%q): slowdown of channel %u is %g, in entry 0 %g; it must be the same in all", i,
                    layer->name, c, own->slowdown[c], layers->entries[0].given.windows->slowdown[c]);
    }
    return status;
}

static ppsched_status take_windows(struct taken *taken, size_t entry, ppsched_error *error)
{
    ppsched_pair_windows *own = ppi_arena_take(&taken->arena, 1, sizeof *own);
    size_t count;
    if (own == NULL)
        return ppi_fail_memory(error, "the layers");
    ppsched_status status = ppi_take_sized(own, sizeof *own, sizeof *own, taken->entries[entry].windows, "ppsched_pair_windows",
                                           error);
    if (status == PPSCHED_OK)
        status = ppi_pair_count(&count, own, error);
    if (status != PPSCHED_OK && error != NULL && error->position == PPSCHED_NONE)
        error->position = (uint32_t)entry;
    taken->entries[entry].windows = own;
    return status;
}

static ppsched_status take_entries(struct taken *taken, const ppsched_layer *const *layers, size_t count, ppsched_error *error)
{
    taken->entries = ppi_arena_take(&taken->arena, count, sizeof *taken->entries);
    taken->list = ppi_arena_take(&taken->arena, count, sizeof *taken->list);
    ppsched_status status = ppi_arena_check(&taken->arena, "the layers", error);
    for (size_t i = 0; i < count && status == PPSCHED_OK; i++) {
        if (layers[i] == NULL)
            return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "layer entry %zu is NULL", i);
        taken->list[i] = &taken->entries[i];
        status = ppi_take_sized(&taken->entries[i], sizeof taken->entries[i], FIRST_LAYER, layers[i], "ppsched_layer", error);
        if (status == PPSCHED_OK && taken->entries[i].windows != NULL)
            status = take_windows(taken, i, error);
    }
    return status;
}

ppsched_status ppsched_layers_create(const ppsched_layers **out, const ppsched_layer *const *layers, size_t count,
                                     const ppsched_environment *environment, ppsched_error *error)
{
    struct ppi_host host;
    const ppsched_layers *made = NULL;
    PPI_REQUIRE(out);
    PPI_REQUIRE(layers);
    ppsched_status status = ppi_host_take(&host, environment, error);
    if (status != PPSCHED_OK)
        return status;
    struct taken taken = {.arena = {.host = &host}};
    if (count > PPSCHED_MAX_LAYERS)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "there are %zu layer entries; there must be 1 to %d", count,
                        PPSCHED_MAX_LAYERS);
    status = take_entries(&taken, layers, count, error);
    if (status == PPSCHED_OK)
        status = ppi_layers_make(&made, &host, taken.list, count, error);
    if (status == PPSCHED_OK)
        status = check_windows(made, error);
    ppi_arena_clear(&taken.arena);
    if (status == PPSCHED_OK)
        *out = made;
    else
        ppi_layers_release(made);
    return status;
}

const ppsched_layers *ppsched_layers_retain(const ppsched_layers *layers)
{
    if (layers != NULL)
        ppi_layers_retain(layers);
    return layers;
}

void ppsched_layers_release(const ppsched_layers *layers)
{
    ppi_layers_release(layers);
}

uint32_t ppsched_layers_count(const ppsched_layers *layers)
{
    return layers != NULL ? layers->count : 0;
}

uint32_t ppsched_layers_entries(const ppsched_layers *layers)
{
    return layers != NULL ? layers->entry_count : 0;
}

ppsched_status ppsched_layers_get_entry(ppsched_layer *out, const ppsched_layers *layers, uint32_t entry, ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(layers);
    if (entry >= layers->entry_count)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "there is no layer entry %u; give less than %u", entry,
                        layers->entry_count);
    return ppi_give_sized(out, &layers->entries[entry].given, sizeof *out, FIRST_LAYER, "ppsched_layer", error);
}

ppsched_status ppsched_config_from_layers(ppsched_config **out, const ppsched_config *config, const ppsched_layers *layers,
                                          const ppsched_split *split, ppsched_error *error)
{
    ppsched_split own;
    ppsched_config *made = NULL;
    PPI_REQUIRE(out);
    PPI_REQUIRE(config);
    PPI_REQUIRE(layers);
    PPI_REQUIRE(split);
    ppsched_status status = ppi_take_sized(&own, sizeof own, sizeof(ppsched_split), split, "ppsched_split", error);
    if (status != PPSCHED_OK)
        return status;
    PPI_REQUIRE(own.layers);
    status = ppi_split_check(layers, &own, error);
    if (status == PPSCHED_OK)
        status = ppi_layers_config(&made, config, layers, &own, error);
    if (status == PPSCHED_OK && layers->has_windows)
        status = ppi_config_put_layer_windows(made, layers, &own, PPSCHED_PAIR_RULE_BEST, error);
    if (status == PPSCHED_OK)
        *out = made;
    else
        ppi_config_destroy(made);
    return status;
}
