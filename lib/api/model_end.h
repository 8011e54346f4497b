/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's ends of a model. */
#ifndef PPSCHED_API_MODEL_END_H
#define PPSCHED_API_MODEL_END_H

#include <ppsched/config.h>

/* Copies one to `own`, and makes `*end` point there; NULL stays. ARGUMENT, STRUCT_SIZE. */
ppsched_status ppi_take_model_end(ppsched_model_end *own, const ppsched_model_end **end, ppsched_error *error);

#endif
