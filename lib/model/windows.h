/* SPDX-License-Identifier: Apache-2.0 */
/* What is in the ops of a model's layers: see <ppsched/pair.h>. */
#ifndef PPSCHED_MODEL_WINDOWS_H
#define PPSCHED_MODEL_WINDOWS_H

#include "base/arena.h"
#include "model/model.h"

/* Whether the training asks for windows. */
bool ppi_model_has_windows(const ppsched_model *model);

/* The windows of a layer of a row, in the arena: forward, gradients of the input, and of the weights, each as long as its
 * pass. An arena that is short leaves them incomplete. */
void ppi_model_windows(ppsched_pair_windows *out, const ppsched_model *model, uint32_t row, struct ppi_arena *arena);

#endif
