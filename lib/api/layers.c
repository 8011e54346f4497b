/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: the layers of a model, and the config that follows from a split of them. */
#include "ir/layers.h"

#include <stddef.h>

#include "api/null.h"
#include "base/sized.h"

/* The size of the first version's entries. */
enum { FIRST_LAYER = offsetof(ppsched_layer, device_scale) };

/* Copies of the caller's entries in this version's size, and pointers to them. */
struct taken {
    struct ppi_arena arena;
    ppsched_layer *entries;
    const ppsched_layer **list;
};

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
    }
    return status;
}

ppsched_status ppsched_layers_create(const ppsched_layers **out, const ppsched_layer *const *layers, size_t count,
                                     const ppsched_environment *environment, ppsched_error *error)
{
    struct ppi_host host;
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
        status = ppi_layers_make(out, &host, taken.list, count, error);
    ppi_arena_clear(&taken.arena);
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
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "there is no layer entry %u; there are %u, numbered from 0", entry,
                        layers->entry_count);
    return ppi_give_sized(out, &layers->entries[entry].given, sizeof *out, FIRST_LAYER, "ppsched_layer", error);
}

ppsched_status ppsched_config_from_layers(ppsched_config **out, const ppsched_config *config, const ppsched_layers *layers,
                                          const ppsched_split *split, ppsched_error *error)
{
    ppsched_split own;
    PPI_REQUIRE(out);
    PPI_REQUIRE(config);
    PPI_REQUIRE(layers);
    PPI_REQUIRE(split);
    ppsched_status status = ppi_take_sized(&own, sizeof own, sizeof(ppsched_split), split, "ppsched_split", error);
    if (status != PPSCHED_OK)
        return status;
    PPI_REQUIRE(own.layers);
    status = ppi_split_check(layers, &own, error);
    return status == PPSCHED_OK ? ppi_layers_config(out, config, layers, &own, error) : status;
}
