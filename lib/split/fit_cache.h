/* SPDX-License-Identifier: Apache-2.0 */
/* What was found out about devices' memory, as searches come back to what they had. */
#ifndef PPSCHED_SPLIT_FIT_CACHE_H
#define PPSCHED_SPLIT_FIT_CACHE_H

#include "base/arena.h"
#include "split/held_passes.h"

/* A slot has the question (first and last layer, or of those that are like them, and pin of each stage), then the answer, the
 * sets; beside it stand when it was asked, and what is lacking. `like` has two numbers a stage. */
struct ppi_fitted {
    struct ppi_arena *arena;
    uint32_t **asked; /* of each device, made when it is asked first */
    uint32_t **slots;
    double **overshoots;
    uint32_t slot_count;
    uint32_t time; /* of the questions that are not forgotten; what was never asked is of time 0 */
};

ppsched_status ppi_fitted_open(struct ppi_fitted *out, struct ppi_arena *arena, uint32_t devices, uint32_t stages,
                               ppsched_error *error);

/* The slot for a device's question, and whether its answer is there; where it is not, the caller fills in `*dishes` and
 * `*lack`. False too, and `*dishes` NULL, where memory is short. */
bool ppi_fitted_find(struct ppi_fitted *fitted, uint32_t device, const struct ppi_held_passes *holding, const uint32_t *like,
                     const uint32_t *pin, uint32_t **options, double **overshoot);

/* Forgets all answers. */
void ppi_fitted_forget(struct ppi_fitted *fitted);

#endif
