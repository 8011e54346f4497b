/* SPDX-License-Identifier: Apache-2.0 */
/* What towers share: sizes under their usual names, patches, layers of attention and an MLP. */
#include <string.h>

#include "description/families/common_mixers.h"
#include "description/families/tower_parts.h"

void ppi_tower_start(struct ppi_tower_parts *parts, const struct ppi_draft *draft)
{
    const uint32_t biases = PPSCHED_BLOCK_FLAG_BIAS | PPSCHED_BLOCK_FLAG_OUTPUT_BIAS;
    *parts = (struct ppi_tower_parts){.tower = {.size = sizeof parts->tower, .name = "vision"},
                                      .text = draft->info.hidden_size};
    parts->attention = &parts->blocks[0];
    parts->mlp = &parts->blocks[1];
    *parts->attention = (ppsched_block){.kind = PPSCHED_BLOCK_KIND_ATTENTION, .flags = biases};
    *parts->mlp = (ppsched_block){.kind = PPSCHED_BLOCK_KIND_MLP, .flags = PPSCHED_BLOCK_FLAG_BIAS};
}

/* --- sizes --- */

/* What the sizes are called. */
struct size_names {
    const char *hidden, *layers, *width, *heads;
};

static void read_sizes(struct ppi_fields *vision, struct ppi_tower_parts *parts, const struct size_names *names,
                       const uint32_t otherwise[4])
{
    parts->tower.hidden_size = ppi_count_or(vision, names->hidden, 1, otherwise[0]);
    parts->tower.layers = ppi_count_or(vision, names->layers, 1, otherwise[1]);
    parts->mlp->width = ppi_count_or(vision, names->width, 1, otherwise[2]);
    parts->attention->heads = ppi_count_or(vision, names->heads, 1, otherwise[3]);
    ppi_ignore(vision, "hidden_act|hidden_activation|layer_norm_eps|norm_eps|rms_norm_eps|attention_dropout");
}

void ppi_tower_sizes(struct ppi_fields *vision, struct ppi_tower_parts *parts, uint32_t hidden, uint32_t layers, uint32_t width,
                     uint32_t heads)
{
    static const struct size_names names = {"hidden_size", "num_hidden_layers", "intermediate_size", "num_attention_heads"};
    read_sizes(vision, parts, &names, (const uint32_t[]){hidden, layers, width, heads});
}

void ppi_tower_qwen_sizes(struct ppi_fields *vision, struct ppi_tower_parts *parts, uint32_t hidden, uint32_t layers,
                          uint32_t width, uint32_t heads)
{
    static const struct size_names names = {"hidden_size", "depth|num_hidden_layers", "intermediate_size",
                                            "num_heads|num_attention_heads"};
    read_sizes(vision, parts, &names, (const uint32_t[]){hidden, layers, width, heads});
}

void ppi_tower_kimi_sizes(struct ppi_fields *vision, struct ppi_tower_parts *parts)
{
    static const struct size_names names = {"hidden_size|vt_hidden_size", "num_hidden_layers|vt_num_hidden_layers",
                                            "intermediate_size|vt_intermediate_size",
                                            "num_attention_heads|vt_num_attention_heads"};
    read_sizes(vision, parts, &names, (const uint32_t[]){1152, 27, 4304, 16});
}

/* --- patches --- */

/* A size of a list of two; 0 with an error. */
static double size_at(struct ppi_fields *vision, const char *name, const struct ppi_json_value *list, uint32_t index)
{
    const struct ppi_json_value *item = list->count == 2 ? &list->items[index] : NULL;
    if (item != NULL && item->type == PPI_JSON_NUMBER && item->is_integer && item->integer > 0 && item->integer <= INT32_MAX)
        return (double)item->integer;
    ppi_fields_fail(vision, "%s must be a number, or a list of two from 1", name);
    return 0;
}

double ppi_tower_area(struct ppi_fields *vision, const char *name, const struct ppi_json_value *value, uint32_t otherwise)
{
    if (value != NULL && value->type == PPI_JSON_LIST)
        return size_at(vision, name, value, 0) * size_at(vision, name, value, 1);
    double side = ppi_count_or(vision, name, 1, otherwise);
    return side * side;
}

/* A side of a square, or one of both. */
static uint32_t side_of(struct ppi_fields *vision, const char *name, uint32_t index, uint32_t otherwise)
{
    const struct ppi_json_value *value = ppi_field(vision, name);
    if (value != NULL && value->type == PPI_JSON_LIST)
        return (uint32_t)size_at(vision, name, value, index);
    return ppi_count_or(vision, name, 1, otherwise);
}

uint32_t ppi_tower_image(struct ppi_fields *vision, uint32_t image, uint32_t patch)
{
    uint32_t count[2] = {0};
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t whole = side_of(vision, "image_size", i, image), part = side_of(vision, "patch_size", i, patch);
        count[i] = part > 0 ? whole / part : 0;
        if (count[i] == 0)
            ppi_fields_fail(vision, "image_size is %u, less than patch_size, which is %u", whole, part);
    }
    return ppi_size_product(vision, "the number of patches", count[0], count[1]);
}

double ppi_tower_patches(struct ppi_fields *vision, const char *channels, uint32_t patch, uint32_t frames, double hidden,
                         bool has_bias)
{
    double pixels = ppi_tower_area(vision, "patch_size", ppi_field(vision, "patch_size"), patch);
    double values = pixels * (channels != NULL ? ppi_count_or(vision, channels, 1, 3) : 3);
    if (frames > 0)
        values *= ppi_count_or(vision, "temporal_patch_size", 1, frames);
    return values * hidden + (has_bias ? hidden : 0);
}

/* --- the tower --- */

static uint32_t full_layers(const struct ppi_tower_parts *parts)
{
    uint32_t count = 0;
    if (parts->chunk == 0)
        return parts->tower.layers;
    if (parts->full == NULL)
        return parts->full_otherwise < parts->tower.layers ? parts->full_otherwise : parts->tower.layers;
    for (uint32_t i = 0; i < parts->tower.layers && count < parts->full->count; i++)
        count += ppi_list_has(parts->full, i);
    return count;
}

void ppi_tower_add(struct ppi_draft *draft, struct ppi_tower_parts *parts)
{
    uint32_t full = full_layers(parts), windowed = parts->tower.layers - full;
    bool is_audio = strcmp(parts->tower.name, "audio") == 0;
    parts->tower.extra_parameters = ppi_parameters(parts->others);
    if (windowed > 0) {
        parts->tower.layers = windowed;
        parts->attention->chunk = parts->chunk;
        ppi_draft_add_tower(draft, &parts->tower, parts->blocks, 2);
        parts->attention->chunk = 0;
        parts->tower.extra_parameters = 0;
        parts->tower.name = "vision_full";
    }
    parts->tower.layers = full;
    if (full > 0)
        ppi_draft_add_tower(draft, &parts->tower, parts->blocks, 2);
    if (parts->tower.tokens == 0)
        ppi_draft_warn(draft,
                       "the number of %s of a sample is unknown; the %s tower counts with as many as the sequence has tokens",
                       is_audio ? "frames" : "patches", is_audio ? "audio" : "vision");
}
