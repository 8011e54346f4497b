/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions own a copy of all that they say, in one arena. */
#include "description/description.h"

#include <string.h>

#include "base/error.h"

/* --- copies --- */

static void *copy_bytes(struct ppi_arena *arena, const void *from, size_t count, size_t size)
{
    void *copy = ppi_arena_take(arena, count, size);
    if (copy != NULL && count > 0)
        memcpy(copy, from, count * size);
    return copy;
}

static const char *copy_text(struct ppi_arena *arena, const char *text)
{
    return text == NULL ? NULL : copy_bytes(arena, text, strlen(text) + 1, 1);
}

static const ppsched_layer_kind *copy_kind(struct ppi_arena *arena, const ppsched_layer_kind *from)
{
    ppsched_layer_kind *kind = copy_bytes(arena, from, 1, sizeof *from);
    const ppsched_block **blocks = ppi_arena_take(arena, from->block_count, sizeof *blocks);
    for (uint32_t i = 0; i < from->block_count && blocks != NULL; i++)
        blocks[i] = copy_bytes(arena, from->blocks[i], 1, sizeof *from->blocks[i]);
    if (kind == NULL)
        return NULL;
    kind->name = copy_text(arena, from->name);
    kind->blocks = blocks;
    return kind;
}

static const ppsched_layer_kind *const *copy_kinds(struct ppi_arena *arena, const ppsched_description_info *info)
{
    const ppsched_layer_kind **kinds = ppi_arena_take(arena, info->kind_count, sizeof *kinds);
    for (uint32_t i = 0; i < info->kind_count && kinds != NULL; i++)
        kinds[i] = copy_kind(arena, info->kinds[i]);
    return kinds;
}

static const ppsched_tower *const *copy_towers(struct ppi_arena *arena, const ppsched_description_info *info)
{
    const ppsched_tower **towers = ppi_arena_take(arena, info->tower_count, sizeof *towers);
    for (uint32_t i = 0; i < info->tower_count && towers != NULL; i++) {
        ppsched_tower *tower = copy_bytes(arena, info->towers[i], 1, sizeof *tower);
        if (tower != NULL) {
            tower->name = copy_text(arena, tower->name);
            tower->kind = copy_kind(arena, tower->kind);
        }
        towers[i] = tower;
    }
    return towers;
}

static const char *const *copy_lines(struct ppi_arena *arena, const char *const *lines, uint32_t count)
{
    const char **copies = ppi_arena_take(arena, count, sizeof *copies);
    for (uint32_t i = 0; i < count && copies != NULL; i++)
        copies[i] = copy_text(arena, lines[i]);
    return copies;
}

/* --- the object --- */

/* Takes over copies of `info`, which is known to have all lists that its counts say. */
static void fill_description(ppsched_description *made, const ppsched_description_info *info, const char *const *warnings,
                             uint32_t warning_count)
{
    made->info = *info;
    made->info.size = sizeof made->info;
    made->info.layers = copy_bytes(&made->arena, info->layers, info->layer_count, sizeof *info->layers);
    made->info.kinds = copy_kinds(&made->arena, info);
    made->info.towers = copy_towers(&made->arena, info);
    made->info.family = copy_text(&made->arena, info->family);
    made->warnings = copy_lines(&made->arena, warnings, warning_count);
    made->warning_count = warning_count;
}

ppsched_status ppi_description_create(const ppsched_description **out, const ppsched_description_info *info,
                                      const char *const *warnings, uint32_t warning_count, const struct ppi_host *host,
                                      ppsched_error *error)
{
    ppsched_description *made = ppi_allocate_zeroed(host, 1, sizeof *made);
    if (made == NULL)
        return ppi_fail_memory(error, "the description");
    made->self = made;
    made->host = *host;
    made->arena.host = &made->host;
    atomic_init(&made->references, 1);
    fill_description(made, info, warnings, warning_count);
    ppsched_status status = ppi_arena_check(&made->arena, "the description", error);
    if (status == PPSCHED_OK)
        status = ppi_description_complete(&made->info, error);
    if (status != PPSCHED_OK) {
        ppi_description_release(made);
        return status;
    }
    *out = made;
    return PPSCHED_OK;
}

void ppi_description_retain(const ppsched_description *description)
{
    atomic_fetch_add_explicit(&description->self->references, 1, memory_order_relaxed);
}

void ppi_description_release(const ppsched_description *description)
{
    if (description == NULL || atomic_fetch_sub_explicit(&description->self->references, 1, memory_order_acq_rel) != 1)
        return;
    struct ppi_host host = description->host;
    ppi_arena_clear(&description->self->arena);
    ppi_release(&host, description->self);
}
