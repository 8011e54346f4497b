/* SPDX-License-Identifier: Apache-2.0 */
/* Megatron-LM splits a hybrid model by | in --hybrid-layer-pattern, and then refuses all other flags that divide layers
 * (validate_args, and core/models/hybrid/hybrid_layer_allocation.py, of megatron-core 0.19.2). */
#include "launch/hybrid.h"

#include <string.h>

#include "base/error.h"

static const ppsched_layer *layer_at(const struct ppi_parts *parts, uint32_t layer)
{
    return &ppi_layer_at(parts->layers, layer)->given;
}

static bool is_in_pattern(const ppsched_layer *layer)
{
    return layer->place == PPSCHED_LAYER_PLACE_ANY;
}

/* --- what is refused --- */

static ppsched_status check_symbols(const struct ppi_parts *parts, ppsched_error *error)
{
    bool has_attention = false, has_latent = false;
    for (uint32_t e = 0; e < parts->layers->entry_count; e++) {
        const ppsched_layer *layer = &parts->layers->entries[e].given;
        const char *symbols = layer->hybrid_symbols;
        if (is_in_pattern(layer) && (symbols == NULL || symbols[0] == '\0'))
            return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                            "Megatron-LM builds a hybrid model from symbols, and layer entry %u (%q) has none%s", e,
                            layer->name, symbols == NULL ? "; other layers have hybrid_symbols" : " for its blocks");
        has_attention |= symbols != NULL && strchr(symbols, '*') != NULL;
        has_latent |= symbols != NULL && strpbrk(symbols, "+D") != NULL;
    }
    if (has_attention && has_latent)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "Megatron-LM's hybrid models do not have both attention (*) and latent attention (+ or D)");
    return PPSCHED_OK;
}

/* MTP layers follow the pattern, so they are in the last stage, and all alike. */
static ppsched_status check_mtps(const struct ppi_parts *parts, ppsched_error *error)
{
    uint32_t last = parts->split->stages - 1;
    if (parts->stages[last].mtps != parts->mtps)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "Megatron-LM has all MTP layers of a hybrid model in the last stage; this split has %u of %u there",
                        parts->stages[last].mtps, parts->mtps);
    const char *first = NULL;
    for (uint32_t e = 0; e < parts->layers->entry_count; e++) {
        const ppsched_layer *layer = &parts->layers->entries[e].given;
        if (!ppi_is_mtp(layer))
            continue;
        if (first != NULL && strcmp(first, layer->hybrid_symbols) != 0)
            return ppi_fail(error, PPSCHED_ERROR_REFUSED, "Megatron-LM has equal MTP layers in a hybrid model, not %s and %s",
                            first, layer->hybrid_symbols);
        first = layer->hybrid_symbols;
    }
    return PPSCHED_OK;
}

/* A number of recomputed blocks is the same for each stage, so their layers must have equally many. */
static ppsched_status check_recomputed(const struct ppi_parts *parts, ppsched_error *error)
{
    uint32_t wanted = 0;
    for (uint32_t e = 0; e < parts->layers->entry_count && parts->recomputed == PPI_RECOMPUTED_FIRST; e++) {
        const ppsched_layer *layer = &parts->layers->entries[e].given;
        uint32_t blocks = is_in_pattern(layer) && !ppi_is_mtp(layer) ? (uint32_t)strlen(layer->hybrid_symbols) : wanted;
        if (wanted != 0 && blocks != wanted)
            return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                            "Megatron-LM counts recomputed blocks of a hybrid model, and its layers have %u and %u", wanted,
                            blocks);
        wanted = blocks;
    }
    return PPSCHED_OK;
}

/* --- the pattern --- */

static size_t length_of(const struct ppi_parts *parts)
{
    size_t length = parts->split->stages;
    for (uint32_t e = 0; e < parts->layers->entry_count; e++) {
        const ppsched_layer *layer = &parts->layers->entries[e].given;
        if (is_in_pattern(layer))
            length += (strlen(layer->hybrid_symbols) + ppi_is_mtp(layer)) * (size_t)layer->count;
    }
    return length;
}

static char *add(char *end, const char *text)
{
    size_t length = strlen(text);
    memcpy(end, text, length);
    return end + length;
}

static void write_pattern(char *end, const struct ppi_parts *parts)
{
    uint32_t layer = 0;
    for (uint32_t s = 0; s < parts->split->stages; s++) {
        if (s > 0)
            *end++ = '|';
        for (uint32_t last = layer + parts->split->layers[s]; layer < last; layer++)
            if (is_in_pattern(layer_at(parts, layer)) && !ppi_is_mtp(layer_at(parts, layer)))
                end = add(end, layer_at(parts, layer)->hybrid_symbols);
    }
    for (layer = 0; layer < parts->layers->count; layer++)
        if (ppi_is_mtp(layer_at(parts, layer))) {
            *end++ = '/';
            end = add(end, layer_at(parts, layer)->hybrid_symbols);
        }
    *end = '\0';
}

ppsched_status ppi_hybrid_lay_out(struct ppi_parts *parts, bool overlapped, ppsched_error *error)
{
    if (overlapped)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "Megatron-LM overlaps forwards and backwards of transformer models only, not of hybrid ones");
    ppsched_status status = check_symbols(parts, error);
    if (status == PPSCHED_OK)
        status = check_mtps(parts, error);
    if (status == PPSCHED_OK)
        status = check_recomputed(parts, error);
    if (status != PPSCHED_OK || parts->pattern != NULL)
        return status;
    char *text = ppi_arena_take(&parts->arena, length_of(parts), 1);
    status = ppi_arena_check(&parts->arena, "the pattern of a hybrid model", error);
    if (status == PPSCHED_OK)
        write_pattern(text, parts);
    parts->pattern = text;
    return status;
}

uint32_t ppi_hybrid_recomputed(const struct ppi_parts *parts)
{
    for (uint32_t layer = 0; layer < parts->layers->count; layer++)
        if (is_in_pattern(layer_at(parts, layer)) && !ppi_is_mtp(layer_at(parts, layer)))
            return parts->first * (uint32_t)strlen(layer_at(parts, layer)->hybrid_symbols);
    return parts->first;
}
