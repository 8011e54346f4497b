/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/parts.h"

#include <string.h>

#include "base/error.h"

static bool is_mtp(const ppsched_layer *layer)
{
    return layer->place == PPSCHED_LAYER_PLACE_ANY && strcmp(layer->name, "mtp") == 0;
}

static void add_layer(struct ppi_parts *parts, ppsched_layout_stage *stage, const ppsched_layer *layer)
{
    if (layer->place == PPSCHED_LAYER_PLACE_FIRST)
        stage->embeddings = 1;
    else if (layer->place == PPSCHED_LAYER_PLACE_LAST)
        stage->heads = 1;
    else if (is_mtp(layer))
        stage->mtps++, parts->mtps++;
    else
        stage->decoders++, parts->decoders++;
}

static void fill_stages(struct ppi_parts *parts)
{
    const ppsched_split *split = parts->split;
    uint32_t layer = 0;
    for (uint32_t s = 0; s < split->stages; s++)
        for (uint32_t i = 0; i < split->layers[s]; i++)
            add_layer(parts, &parts->stages[s], &ppi_layer_at(parts->layers, layer++)->given);
    parts->stages[0].embeddings = 1;
    parts->stages[split->stages - 1].heads = 1;
    parts->is_even = true;
    for (uint32_t s = 1; s < split->stages; s++)
        parts->is_even &= parts->stages[s].decoders == parts->stages[0].decoders;
}

/* --- what is computed again --- */

static const char *kind_of(const struct ppi_parts *parts, uint32_t layer)
{
    const uint8_t *recomputes = parts->split->recomputes;
    uint8_t kind = recomputes != NULL ? recomputes[layer] : 0;
    return kind > 0 ? ppi_layer_at(parts->layers, layer)->given.recomputes[kind - 1].name : NULL;
}

static bool has_kind(const ppsched_layer *layer, const char *kind)
{
    for (uint32_t k = 0; k < layer->recompute_count; k++)
        if (strcmp(layer->recomputes[k].name, kind) == 0)
            return true;
    return false;
}

/* Of a stage's layers that can have the kind the first `*first` have it; false where one behind them has it too, or another
 * kind. */
static bool count_first(const struct ppi_parts *parts, uint32_t begin, uint32_t end, uint32_t *first, uint32_t *able)
{
    bool ended = false;
    *first = *able = 0;
    for (uint32_t i = begin; i < end; i++) {
        const char *kind = kind_of(parts, i);
        if (kind != NULL && (ended || strcmp(kind, parts->kind) != 0))
            return false;
        if (!has_kind(&ppi_layer_at(parts->layers, i)->given, parts->kind))
            continue;
        ended |= kind == NULL;
        *first += kind != NULL;
        ++*able;
    }
    return true;
}

/* The first `first` of each stage, or all that a stage has where that is fewer. */
static bool is_of_first(struct ppi_parts *parts)
{
    uint32_t begin = 0, first, able;
    parts->first = 0;
    for (int again = 0; again < 2; again++, begin = 0)
        for (uint32_t s = 0; s < parts->split->stages; s++) {
            uint32_t end = begin + parts->split->layers[s];
            if (!count_first(parts, begin, end, &first, &able))
                return false;
            if (again == 1 && first != (able < parts->first ? able : parts->first))
                return false;
            parts->first = first > parts->first ? first : parts->first;
            begin = end;
        }
    return true;
}

static bool is_of_all(const struct ppi_parts *parts)
{
    for (uint32_t i = 0; i < parts->layers->count; i++)
        if (kind_of(parts, i) == NULL && has_kind(&ppi_layer_at(parts->layers, i)->given, parts->kind))
            return false;
    return true;
}

static void find_recomputed(struct ppi_parts *parts)
{
    for (uint32_t i = 0; i < parts->layers->count && parts->kind == NULL; i++)
        parts->kind = kind_of(parts, i);
    for (uint32_t i = 0; i < parts->layers->count; i++)
        parts->recomputes_mtps |= is_mtp(&ppi_layer_at(parts->layers, i)->given) && kind_of(parts, i) != NULL;
    if (parts->kind == NULL)
        parts->recomputed = PPI_RECOMPUTED_NONE;
    else if (!is_of_first(parts))
        parts->recomputed = PPI_RECOMPUTED_OTHER;
    else
        parts->recomputed = is_of_all(parts) ? PPI_RECOMPUTED_ALL : PPI_RECOMPUTED_FIRST;
}

ppsched_status ppi_parts_make(struct ppi_parts *out, const struct ppi_host *host, const ppsched_layers *layers,
                              const ppsched_split *split, ppsched_error *error)
{
    *out = (struct ppi_parts){.room = {.host = host}, .layers = layers, .split = split};
    out->stages = ppi_room_take_zeroed(&out->room, split->stages, sizeof *out->stages);
    ppsched_status status = ppi_room_check(&out->room, "the layers of stages", error);
    if (status != PPSCHED_OK)
        return status;
    fill_stages(out);
    find_recomputed(out);
    return PPSCHED_OK;
}

void ppi_parts_clear(struct ppi_parts *parts)
{
    if (parts->layers == NULL)
        return;
    ppi_layout_destroy(parts->layout);
    ppi_room_clear(&parts->room);
}

ppsched_status ppi_parts_lay_out(struct ppi_parts *parts, uint32_t devices, ppsched_error *error)
{
    return parts->layout != NULL
               ? PPSCHED_OK
               : ppi_layout_from_stages(&parts->layout, devices, parts->stages, parts->split->stages, parts->room.host, error);
}

/* --- what a runtime can be told --- */

static bool is_same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static ppsched_status check_recomputed(const struct ppi_parts *parts, const struct ppi_split_rules *rules, const char *title,
                                       ppsched_error *error)
{
    bool can = rules->may_recompute_any || parts->recomputed == PPI_RECOMPUTED_NONE;
    if (parts->recomputed == PPI_RECOMPUTED_ALL)
        can |= is_same(parts->kind, rules->all) || is_same(parts->kind, rules->first);
    if (parts->recomputed == PPI_RECOMPUTED_FIRST)
        can |= is_same(parts->kind, rules->first);
    if (can)
        return PPSCHED_OK;
    if (rules->all == NULL)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s cannot be told to recompute layers", title);
    return ppi_fail(
        error, PPSCHED_ERROR_REFUSED,
        "%s recomputes %s%s%sall layers (kind \"%s\"), not these: give recompute kinds of these names, and plan for "
        "this runtime",
        title, rules->first != NULL ? "the first N layers of each stage (kind \"" : "",
        rules->first != NULL ? rules->first : "", rules->first != NULL ? "\") or " : "", rules->all);
}

ppsched_status ppi_parts_fit(const struct ppi_parts *parts, const struct ppi_split_rules *rules, const char *title,
                             ppsched_error *error)
{
    if (!rules->takes_list && parts->decoders == 0)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s divides decoders, and the model has none", title);
    if (!rules->takes_list && !rules->has_mtps && parts->mtps > 0)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s cannot be told of MTP layers", title);
    for (uint32_t s = 0; s < parts->split->stages && !rules->may_be_empty; s++)
        if (parts->split->layers[s] == 0)
            return ppi_fail_at(error, PPSCHED_ERROR_REFUSED, (struct ppi_place){PPSCHED_NONE, s, PPSCHED_NONE, PPSCHED_NONE},
                               "%s wants a layer on each stage; stage %u has none", title, s);
    if (!parts->is_even && !rules->may_be_uneven)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "%s divides decoders evenly; the split has %u of them in stage 0, and others in other stages", title,
                        parts->stages[0].decoders);
    return check_recomputed(parts, rules, title, error);
}
