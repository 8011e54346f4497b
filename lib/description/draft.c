/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a description layer by layer. Equal layers become one kind, which is named after its blocks. */
#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "base/format.h"
#include "base/nearest.h"
#include "description/block_table.h"
#include "description/description.h"

enum { NAME_SIZE = 96, LINE_SIZE = 512 };

void ppi_draft_start(struct ppi_draft *draft, const struct ppi_host *host)
{
    *draft = (struct ppi_draft){.host = *host};
    draft->arena.host = &draft->host;
    draft->info.size = sizeof draft->info;
    draft->kinds = ppi_arena_take(&draft->arena, PPSCHED_MAX_LAYER_KINDS, sizeof *draft->kinds);
    draft->towers = ppi_arena_take(&draft->arena, PPI_MOST_TOWERS, sizeof *draft->towers);
    draft->warnings = ppi_arena_take(&draft->arena, PPI_MOST_WARNINGS, sizeof *draft->warnings);
}

void ppi_draft_clear(struct ppi_draft *draft)
{
    ppi_arena_clear(&draft->arena);
}

static bool is_short(const struct ppi_draft *draft)
{
    return draft->arena.is_short;
}

/* --- names --- */

/* The mixer that a layer is named after, or its first block. */
static const ppsched_block *mixer_of(const ppsched_block *blocks, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (blocks[i].kind != PPSCHED_BLOCK_KIND_MLP && blocks[i].kind != PPSCHED_BLOCK_KIND_EXPERTS)
            return &blocks[i];
    return NULL;
}

static bool has_kind(const ppsched_block *blocks, uint32_t count, int32_t kind)
{
    for (uint32_t i = 0; i < count; i++)
        if (blocks[i].kind == kind)
            return true;
    return false;
}

/* What stands before "decoder": nothing for attention to the whole sequence. */
static const char *prefix_of(const ppsched_block *mixer)
{
    if (mixer == NULL || mixer->kind == PPSCHED_BLOCK_KIND_ATTENTION || mixer->kind == PPSCHED_BLOCK_KIND_LATENT_ATTENTION)
        return mixer == NULL ? "feed_forward_" : mixer->window > 0 ? "window_" : mixer->chunk > 0 ? "chunk_" : "";
    switch (mixer->kind) {
    case PPSCHED_BLOCK_KIND_DELTA:
        return "delta_";
    case PPSCHED_BLOCK_KIND_MAMBA:
        return "mamba_";
    case PPSCHED_BLOCK_KIND_CONVOLUTION:
        return "convolution_";
    case PPSCHED_BLOCK_KIND_COMPRESSED_ATTENTION:
        return mixer->ratio > 0 ? "compressed_" : "window_";
    default:
        return "linear_";
    }
}

/* Layers that compress by different ratios are told apart by these. */
static void name_layer(char name[NAME_SIZE], const ppsched_block *mixer, const char *experts)
{
    if (mixer != NULL && mixer->ratio > 0)
        ppi_print(name, NAME_SIZE, "%s%u_%sdecoder", prefix_of(mixer), mixer->ratio, experts);
    else
        ppi_print(name, NAME_SIZE, "%s%sdecoder", prefix_of(mixer), experts);
}

static void name_blocks(char name[NAME_SIZE], const ppsched_block *blocks, uint32_t count)
{
    if (count == 0)
        ppi_print(name, NAME_SIZE, "empty");
    else if (count == 1)
        ppi_print(name, NAME_SIZE, "%s", ppi_block_kinds[blocks[0].kind]);
    else
        name_layer(name, mixer_of(blocks, count), has_kind(blocks, count, PPSCHED_BLOCK_KIND_EXPERTS) ? "moe_" : "");
}

static bool is_taken(const struct ppi_draft *draft, const char *name)
{
    for (uint32_t i = 0; i < draft->info.kind_count; i++)
        if (strcmp(draft->kinds[i]->name, name) == 0)
            return true;
    return false;
}

static const char *copy_name(struct ppi_draft *draft, const char *name)
{
    size_t size = strlen(name) + 1;
    char *copy = ppi_arena_take(&draft->arena, size, 1);
    if (copy != NULL)
        memcpy(copy, name, size);
    return copy;
}

/* The name of these blocks, with a number if another kind has it. */
static const char *new_name(struct ppi_draft *draft, const ppsched_block *blocks, uint32_t count)
{
    char name[NAME_SIZE], numbered[NAME_SIZE];
    name_blocks(name, blocks, count);
    ppi_print(numbered, sizeof numbered, "%s", name);
    for (unsigned number = 2; is_taken(draft, numbered); number++)
        ppi_print(numbered, sizeof numbered, "%s_%u", name, number);
    return copy_name(draft, numbered);
}

/* --- kinds and layers --- */

static bool is_equal(const ppsched_layer_kind *kind, const ppsched_block *blocks, uint32_t count)
{
    if (kind->block_count != count)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        ppsched_block block = blocks[i];
        block.size = sizeof block;
        if (memcmp(kind->blocks[i], &block, sizeof block) != 0)
            return false;
    }
    return true;
}

/* A kind of copies of these blocks; NULL if memory is short. */
static ppsched_layer_kind *make_kind(struct ppi_draft *draft, const char *name, const ppsched_block *blocks, uint32_t count)
{
    ppsched_layer_kind *kind = ppi_arena_take(&draft->arena, 1, sizeof *kind);
    ppsched_block *own = ppi_arena_take(&draft->arena, count, sizeof *own);
    const ppsched_block **list = ppi_arena_take(&draft->arena, count, sizeof *list);
    if (is_short(draft))
        return NULL;
    for (uint32_t i = 0; i < count; i++) {
        own[i] = blocks[i];
        own[i].size = sizeof own[i];
        list[i] = &own[i];
    }
    *kind = (ppsched_layer_kind){.size = sizeof *kind, .block_count = count, .name = name, .blocks = list};
    return kind;
}

uint32_t ppi_draft_add_named_kind(struct ppi_draft *draft, const char *name, const ppsched_block *blocks, uint32_t count)
{
    if (draft->info.kind_count == PPSCHED_MAX_LAYER_KINDS) {
        draft->has_too_many_kinds = true;
        return 0;
    }
    ppsched_layer_kind *kind = is_short(draft) ? NULL : make_kind(draft, copy_name(draft, name), blocks, count);
    if (kind == NULL)
        return 0;
    draft->kinds[draft->info.kind_count] = kind;
    return draft->info.kind_count++;
}

uint32_t ppi_draft_add_kind(struct ppi_draft *draft, const ppsched_block *blocks, uint32_t count)
{
    if (is_short(draft))
        return 0;
    for (uint32_t i = 0; i < draft->info.kind_count; i++)
        if (is_equal(draft->kinds[i], blocks, count))
            return i;
    const char *name = new_name(draft, blocks, count);
    return name == NULL ? 0 : ppi_draft_add_named_kind(draft, name, blocks, count);
}

void ppi_draft_add_layer_of(struct ppi_draft *draft, uint32_t kind)
{
    uint32_t count = draft->info.layer_count;
    if (count == draft->layer_capacity) {
        uint32_t capacity = count > 0 ? 2 * count : 128;
        uint32_t *wider = ppi_arena_take(&draft->arena, capacity, sizeof *wider);
        if (wider == NULL)
            return;
        if (count > 0)
            memcpy(wider, draft->layers, count * sizeof *wider);
        draft->layers = wider;
        draft->layer_capacity = capacity;
    }
    draft->layers[draft->info.layer_count++] = kind;
}

uint32_t ppi_draft_add_layer(struct ppi_draft *draft, const ppsched_block *blocks, uint32_t count)
{
    uint32_t kind = ppi_draft_add_kind(draft, blocks, count);
    ppi_draft_add_layer_of(draft, kind);
    return kind;
}

const char *ppi_draft_nearest_kind(const struct ppi_draft *draft, const char *name)
{
    struct ppi_nearest search = ppi_nearest_start(name);
    for (uint32_t i = 0; i < draft->info.kind_count; i++)
        ppi_nearest_offer(&search, draft->kinds[i]->name, draft->kinds[i]->name);
    return search.answer != NULL ? search.answer : "";
}

void ppi_draft_add_tower(struct ppi_draft *draft, const ppsched_tower *tower, const ppsched_block *blocks, uint32_t count)
{
    if (draft->info.tower_count == PPI_MOST_TOWERS) {
        draft->has_too_many_towers = true;
        return;
    }
    ppsched_tower *own = ppi_arena_take(&draft->arena, 1, sizeof *own);
    ppsched_layer_kind *kind = own == NULL ? NULL : make_kind(draft, copy_name(draft, tower->name), blocks, count);
    if (kind == NULL)
        return;
    *own = *tower;
    own->size = sizeof *own;
    own->name = kind->name;
    own->kind = kind;
    draft->towers[draft->info.tower_count++] = own;
}

void ppi_draft_warn(struct ppi_draft *draft, const char *format, ...)
{
    char line[LINE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    ppi_format(line, sizeof line, format, arguments);
    va_end(arguments);
    const char *copy = is_short(draft) || draft->warning_count == PPI_MOST_WARNINGS ? NULL : copy_name(draft, line);
    if (copy != NULL)
        draft->warnings[draft->warning_count++] = copy;
}

ppsched_status ppi_draft_finish(struct ppi_draft *draft, const ppsched_description **out, ppsched_error *error)
{
    ppsched_status status = ppi_arena_check(&draft->arena, "the description", error);
    if (status != PPSCHED_OK)
        return status;
    if (draft->has_too_many_kinds)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the model has more than %d kind%p of layers", PPSCHED_MAX_LAYER_KINDS);
    if (draft->has_too_many_towers)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the model has more than %d towers", PPI_MOST_TOWERS);
    draft->info.layers = draft->layers;
    draft->info.kinds = (const ppsched_layer_kind *const *)draft->kinds;
    draft->info.towers = (const ppsched_tower *const *)draft->towers;
    return ppi_description_create(out, &draft->info, draft->warnings, draft->warning_count, &draft->host, error);
}
