/* SPDX-License-Identifier: Apache-2.0 */
/* Groups a split's layers by stage and compares what is recomputed with what the runtime's rules would recompute; the first
 * layer that differs is the reason of a refusal. */
#include "launch/layers.h"

#include <string.h>

#include "base/error.h"
#include "base/format.h"

static void add_layer(struct ppi_parts *parts, ppsched_layout_stage *stage, const ppsched_layer *layer)
{
    if (layer->place == PPSCHED_LAYER_PLACE_FIRST)
        stage->embeddings = 1;
    else if (layer->place == PPSCHED_LAYER_PLACE_LAST)
        stage->heads = 1;
    else if (ppi_is_mtp(layer))
        stage->mtps++, parts->mtps++;
    else
        stage->decoders++, parts->decoders++;
}

static void fill_stages(struct ppi_parts *parts)
{
    for (uint32_t e = 0; e < parts->layers->entry_count; e++) {
        parts->is_hybrid |= parts->layers->entries[e].given.hybrid_symbols != NULL;
        parts->has_streams |= (parts->layers->entries[e].given.flags & PPSCHED_LAYER_FLAG_SEVERAL_STREAMS) != 0;
    }
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

/* --- what is recomputed --- */

static uint8_t number_of(const struct ppi_parts *parts, uint32_t layer)
{
    return parts->split->recomputes != NULL ? parts->split->recomputes[layer] : 0;
}

/* The number of decoders from `begin` to before `end` that have the kind. */
static uint32_t count_first(const struct ppi_parts *parts, uint32_t begin, uint32_t end)
{
    uint32_t count = 0;
    for (uint32_t i = begin; i < end; i++) {
        uint8_t number = ppi_reached_kind(parts->layers, parts->layers->entry_of[i], PPI_REACH_DECODERS, parts->kind);
        count += number > 0 && number == number_of(parts, i);
    }
    return count;
}

uint32_t ppi_parts_count_first(const struct ppi_parts *parts, uint32_t stage)
{
    uint32_t begin = 0;
    for (uint32_t s = 0; s < stage; s++)
        begin += parts->split->layers[s];
    return count_first(parts, begin, begin + parts->split->layers[stage]);
}

/* Finds the kind, and the most decoders of a stage that have it. */
static void find_recomputed(struct ppi_parts *parts)
{
    uint32_t begin = 0;
    for (uint32_t i = 0; i < parts->layers->count; i++) {
        const ppsched_layer *given = &ppi_layer_at(parts->layers, i)->given;
        parts->has_kinds |= given->recompute_count > 0;
        if (number_of(parts, i) > 0 && parts->kind == NULL)
            parts->kind = given->recomputes[number_of(parts, i) - 1].name;
    }
    for (uint32_t s = 0; s < parts->split->stages; begin += parts->split->layers[s++]) {
        uint32_t count = count_first(parts, begin, begin + parts->split->layers[s]);
        parts->first = count > parts->first ? count : parts->first;
    }
}

ppsched_status ppi_parts_make(struct ppi_parts *out, const struct ppi_host *host, const ppsched_layers *layers,
                              const ppsched_split *split, ppsched_error *error)
{
    *out = (struct ppi_parts){.arena = {.host = host}, .layers = layers, .split = split};
    out->stages = ppi_arena_take_zeroed(&out->arena, split->stages, sizeof *out->stages);
    ppsched_status status = ppi_arena_check(&out->arena, "the layers of stages", error);
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
    ppi_arena_clear(&parts->arena);
}

ppsched_status ppi_parts_lay_out(struct ppi_parts *parts, uint32_t devices, ppsched_error *error)
{
    return parts->layout != NULL
               ? PPSCHED_OK
               : ppi_layout_from_stages(&parts->layout, devices, parts->stages, parts->split->stages, parts->arena.host, error);
}

ppsched_status ppi_parts_are_untied(const struct ppi_parts *parts, const char *title, ppsched_error *error)
{
    for (uint32_t e = 0; parts != NULL && e < parts->layers->entry_count; e++) {
        const ppsched_layer *layer = &parts->layers->entries[e].given;
        if ((layer->flags & PPSCHED_LAYER_FLAG_TIED) != 0)
            return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                            "%s needs untied weights, and the last stage's are tied to layer entry %u (%q); use a model with "
                            "untied weights and --untie-embeddings-and-output-weights",
                            title, e, layer->name);
    }
    return PPSCHED_OK;
}

/* --- what a runtime can express --- */

static bool is_same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

bool ppi_rules_tell(const struct ppi_split_rules *rules, const char *kind, enum ppi_reach *reach)
{
    *reach = PPI_REACH_DECODERS;
    if (is_same(kind, rules->first))
        return true;
    *reach = rules->by_name ? PPI_REACH_NAMES : PPI_REACH_MIDDLE;
    for (int i = 0; i < PPI_ALL_KINDS; i++)
        if (is_same(kind, rules->all[i]))
            return true;
    return false;
}

/* The first layer that differs from what a runtime recomputes which recomputes the first `count` layers within its reach of
 * each stage (PPSCHED_NONE: as many as the stage has); PPSCHED_NONE: none differs. `*made`: the kind that the runtime would
 * use there. */
static uint32_t find_other(const struct ppi_parts *parts, enum ppi_reach reach, uint32_t count, uint8_t *made)
{
    uint32_t layer = 0, left;
    for (uint32_t s = 0; s < parts->split->stages; s++) {
        uint32_t end = layer + parts->split->layers[s];
        left = count != PPSCHED_NONE ? count : count_first(parts, layer, end);
        for (; layer < end; layer++) {
            *made = left > 0 ? ppi_reached_kind(parts->layers, parts->layers->entry_of[layer], reach, parts->kind) : 0;
            if (*made != number_of(parts, layer))
                return layer;
            left -= *made > 0;
        }
    }
    return PPSCHED_NONE;
}

uint32_t ppi_parts_first_named(const struct ppi_parts *parts, uint32_t entry)
{
    const char *name = parts->layers->entries[entry].given.name;
    uint32_t layer = 0;
    for (uint32_t e = 0; strcmp(parts->layers->entries[e].given.name, name) != 0; e++)
        layer += parts->layers->entries[e].given.count;
    return layer;
}

bool ppi_parts_is_recomputed(const struct ppi_parts *parts, uint32_t layer)
{
    return number_of(parts, layer) > 0;
}

/* The first layer that differs from the first one of its name; `*made` as before. */
static uint32_t find_odd(const struct ppi_parts *parts, uint8_t *made)
{
    uint32_t layer = 0;
    for (uint32_t e = 0; e < parts->layers->entry_count; e++) {
        const ppsched_layer *given = &parts->layers->entries[e].given;
        uint8_t kind = ppi_kind_named(given, parts->kind), able = kind > 0 ? kind : PPI_NO_SUCH_KIND;
        *made = ppi_parts_is_recomputed(parts, ppi_parts_first_named(parts, e)) ? able : 0;
        for (uint32_t end = layer + given->count; layer < end; layer++)
            if (number_of(parts, layer) != *made)
                return layer;
    }
    return PPSCHED_NONE;
}

/* What a runtime can recompute, in words. */
static void describe(char *out, size_t size, const struct ppi_split_rules *rules)
{
    const char *first = rules->first, *all = rules->all[0], *also = rules->all[1];
    const char *what = rules->by_name    ? "all layers of a name"
                       : rules->has_mtps ? "all decoders and MTP layers"
                                         : "all decoders";
    ppi_print(out, size, "%s%s%s%s%s%s%s%s%s%s", first != NULL ? "the first N decoders of each stage (kind \"" : "",
              first != NULL ? first : "", first != NULL ? "\")" : "", first != NULL && all != NULL ? " or " : "",
              all != NULL ? what : "", all != NULL ? " (kind \"" : "", all != NULL ? all : "", also != NULL ? "\" or \"" : "",
              also != NULL ? also : "", all != NULL ? "\")" : "");
}

/* Refuses a layer that differs from what the runtime would make. */
static ppsched_status refuse_layer(const struct ppi_parts *parts, uint32_t layer, uint8_t made,
                                   const struct ppi_split_rules *rules, const char *title, ppsched_error *error)
{
    char able[200];
    const char *is = "is recomputed";
    if (number_of(parts, layer) == 0)
        is = made == PPI_NO_SUCH_KIND ? "has no such kind" : "is not recomputed";
    else if (made > 0)
        is = "has another kind";
    describe(able, sizeof able, rules);
    return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                    "%s recomputes %s, not these: layer %u (%q) %s; give recompute kinds of these names, and plan for this "
                    "runtime",
                    title, able, layer, ppi_layer_at(parts->layers, layer)->given.name, is);
}

static ppsched_status check_recomputed_layers(struct ppi_parts *parts, const struct ppi_split_rules *rules, const char *title,
                                              ppsched_error *error)
{
    enum ppi_reach reach;
    uint8_t made = 0;
    parts->recomputed = parts->kind == NULL ? PPI_RECOMPUTED_NONE : PPI_RECOMPUTED_ANY;
    if (parts->kind == NULL || rules->may_recompute_any)
        return PPSCHED_OK;
    if (rules->first == NULL && rules->all[0] == NULL)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s has no arguments to recompute layers", title);
    bool tells = ppi_rules_tell(rules, parts->kind, &reach), counts = reach == PPI_REACH_DECODERS;
    uint32_t first = rules->by_stage ? PPSCHED_NONE : parts->first;
    uint32_t layer = rules->by_name ? find_odd(parts, &made)
                                    : find_other(parts, reach, counts ? first : PPSCHED_MAX_LAYERS, &made);
    parts->recomputed = counts ? PPI_RECOMPUTED_FIRST : PPI_RECOMPUTED_ALL;
    if (tells && layer == PPSCHED_NONE)
        return PPSCHED_OK;
    for (layer = tells ? layer : 0; !tells && number_of(parts, layer) == 0;)
        layer++;
    return refuse_layer(parts, layer, tells ? made : 1, rules, title, error);
}

ppsched_status ppi_parts_fit(struct ppi_parts *parts, const struct ppi_split_rules *rules, bool is_even, const char *title,
                             ppsched_error *error)
{
    if (!rules->takes_list && parts->decoders == 0)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s divides decoders, and the model has none", title);
    if (!rules->takes_list && !rules->has_mtps && parts->mtps > 0)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s has no arguments for MTP layers; leave them out", title);
    if (parts->is_hybrid && rules->refuses_hybrids)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "%s divides transformer layers, and the model is a hybrid (its layers have hybrid_symbols)", title);
    if (parts->has_streams && rules->sends_one_stream && parts->split->stages > 1)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "%s sends one residual stream from stage to stage, and the model has several (hyper-connections), so "
                        "it can run it in one stage only",
                        title);
    for (uint32_t s = 0; s < parts->split->stages && !rules->may_be_empty; s++)
        if (parts->split->layers[s] == 0)
            return ppi_fail_at(error, PPSCHED_ERROR_REFUSED, (struct ppi_place){PPSCHED_NONE, s, PPSCHED_NONE, PPSCHED_NONE},
                               "%s needs a layer on each stage; stage %u has none", title, s);
    if (!parts->is_even && is_even)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "%s divides decoders evenly%s; the split has %u of them in stage 0 and another number in other stages",
                        title, rules->may_be_uneven ? rules->even_on_v : "", parts->stages[0].decoders);
    return check_recomputed_layers(parts, rules, title, error);
}
