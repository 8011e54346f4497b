/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the entries of the layers; a kind is found by its name. */
#include "ir/recompute_scope.h"

#include <string.h>

bool ppi_is_mtp(const ppsched_layer *layer)
{
    const char *name = layer->name; /* asked of every layer of every layout: most names differ at once */
    return layer->place == PPSCHED_LAYER_PLACE_ANY && name[0] == 'm' && strcmp(name, "mtp") == 0;
}

uint8_t ppi_kind_named(const ppsched_layer *layer, const char *name)
{
    for (uint32_t k = 0; k < layer->recompute_count && name != NULL; k++)
        if (strcmp(layer->recomputes[k].name, name) == 0)
            return (uint8_t)(k + 1);
    return 0;
}

/* Whether some layer called `name` does not have the kind. */
static bool has_odd_one(const ppsched_layers *layers, const char *name, const char *kind)
{
    for (uint32_t e = 0; e < layers->entry_count; e++) {
        const ppsched_layer *layer = &layers->entries[e].given;
        if (ppi_kind_named(layer, kind) == 0 && strcmp(layer->name, name) == 0)
            return true;
    }
    return false;
}

uint8_t ppi_reached_kind(const ppsched_layers *layers, uint32_t entry, enum ppi_reach reach, const char *kind)
{
    const ppsched_layer *layer = &layers->entries[entry].given;
    uint8_t number = ppi_kind_named(layer, kind);
    if (kind == NULL)
        return 0;
    if (reach == PPI_REACH_NAMES)
        return number > 0 && !has_odd_one(layers, layer->name, kind) ? number : 0;
    if (layer->place != PPSCHED_LAYER_PLACE_ANY || (reach == PPI_REACH_DECODERS && ppi_is_mtp(layer)))
        return 0;
    return number > 0 ? number : PPI_NO_SUCH_KIND;
}

bool ppi_reach_is_whole(const ppsched_layers *layers, enum ppi_reach reach, const char *kind)
{
    bool reaches = false;
    for (uint32_t e = 0; e < layers->entry_count; e++) {
        uint8_t number = ppi_reached_kind(layers, e, reach, kind);
        if (number == PPI_NO_SUCH_KIND)
            return false;
        reaches |= number > 0;
    }
    return reaches;
}
