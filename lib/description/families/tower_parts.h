/* SPDX-License-Identifier: Apache-2.0 */
/* What towers share: sizes under their usual names, patches, layers of attention and an MLP. */
#ifndef PPSCHED_DESCRIPTION_FAMILIES_TOWER_PARTS_H
#define PPSCHED_DESCRIPTION_FAMILIES_TOWER_PARTS_H

#include "description/description.h"
#include "description/fields.h"

/* A tower in the making. Attention and MLP have biases unless a family takes them away. */
struct ppi_tower_parts {
    ppsched_tower tower;
    ppsched_block blocks[2];
    ppsched_block *attention, *mlp; /* these two */
    uint32_t text;                  /* hidden size of the text model */
    double others;                  /* parameters that are in no layer */
    uint32_t chunk;                 /* patches of a window, which all layers see but those in `full`; 0: no windows */
    const struct ppi_json_value *full;
    uint32_t full_otherwise; /* how many these are if the list is missing */
};

/* Reads a tower's own fields, and those around it. */
typedef void (*ppi_tower_function)(struct ppi_fields *tower, struct ppi_fields *wrapper, struct ppi_tower_parts *parts);

void ppi_tower_start(struct ppi_tower_parts *parts, const struct ppi_draft *draft);

/* Sizes, which are the numbers given here if the file does not say: hidden size, layers, width of the MLP, heads. */
void ppi_tower_sizes(struct ppi_fields *vision, struct ppi_tower_parts *parts, uint32_t hidden, uint32_t layers, uint32_t width,
                     uint32_t heads);
void ppi_tower_qwen_sizes(struct ppi_fields *vision, struct ppi_tower_parts *parts, uint32_t hidden, uint32_t layers,
                          uint32_t width, uint32_t heads);
void ppi_tower_kimi_sizes(struct ppi_fields *vision, struct ppi_tower_parts *parts);

/* Height times width of a size that is one number for both, or a list of two. */
double ppi_tower_area(struct ppi_fields *vision, const char *name, const struct ppi_json_value *value, uint32_t otherwise);

/* Patches of the image that the file names. */
uint32_t ppi_tower_image(struct ppi_fields *vision, uint32_t image, uint32_t patch);

/* Parameters of the matrix from the pixels of a patch, of `frames` images if that is above 0, to the hidden size. `channels`:
 * name of their number; NULL: there are 3. */
double ppi_tower_patches(struct ppi_fields *vision, const char *channels, uint32_t patch, uint32_t frames, double hidden,
                         bool has_bias);

/* Adds the tower; with windows as two, of the layers with and without. */
void ppi_tower_add(struct ppi_draft *draft, struct ppi_tower_parts *parts);

#endif
