/* SPDX-License-Identifier: Apache-2.0 */
/* Models for tests: of a transformer, or of a description's text, and their costs by the name of a row. */
#ifndef PPSCHED_SUPPORT_MODEL_H
#define PPSCHED_SUPPORT_MODEL_H

#include "support/problem.h"

/* As ppsched_model_create, of a transformer; what is wrong with its shape is told too. */
ppsched_status model_of_shape(ppsched_model **out, const ppsched_transformer *shape, const ppsched_training *training,
                              const ppsched_accelerator *device, ppsched_error *error);

/* As ppsched_model_create, of a description's text. */
ppsched_status model_of_text(ppsched_model **out, const char *text, const ppsched_training *training,
                             const ppsched_accelerator *device, ppsched_error *error);

/* The row of this name; fails the test if there is none. */
ppsched_model_row row_called(const ppsched_model *model, const char *name, uint32_t *number);

ppsched_pass_cost cost_of_row(const ppsched_model *model, const char *name, int32_t pass);
ppsched_layer_memory memory_of_row(const ppsched_model *model, const char *name);

#endif
