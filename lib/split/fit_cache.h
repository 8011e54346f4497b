/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of fitted devices, as searches return to splits that they had before. */
#ifndef PPSCHED_SPLIT_FIT_CACHE_H
#define PPSCHED_SPLIT_FIT_CACHE_H

#include "base/arena.h"
#include "split/held_passes.h"

/* A slot has the key (for each stage its first and last layer, or those of identical layers, and its pin), then the answer,
 * the options; apart from it are the time of the query and the overshoot. `like` has two numbers per stage. */
struct ppi_fitted {
    struct ppi_arena *arena;
    uint32_t **asked; /* of each device, made at its first query */
    uint32_t **slots;
    double **overshoots;
    uint32_t slot_count;
    uint32_t time; /* of valid queries; slots never used have time 0 */
};

ppsched_status ppi_fitted_open(struct ppi_fitted *out, struct ppi_arena *arena, uint32_t devices, uint32_t stages,
                               ppsched_error *error);

/* The slot for a device's query. Returns whether its answer is there; otherwise the caller fills in `*options` and
 * `*overshoot`. False, and `*options` NULL, where memory is short. */
bool ppi_fitted_find(struct ppi_fitted *fitted, uint32_t device, const struct ppi_held_passes *holding, const uint32_t *like,
                     const uint32_t *pin, uint32_t **options, double **overshoot);

/* Forgets all answers. */
void ppi_fitted_forget(struct ppi_fitted *fitted);

#endif
