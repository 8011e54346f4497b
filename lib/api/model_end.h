/* SPDX-License-Identifier: Apache-2.0 */
/* Copies in the caller's embedding and head. */
#ifndef PPSCHED_API_MODEL_END_H
#define PPSCHED_API_MODEL_END_H

#include <ppsched/config.h>

/* Copies `*end` to `own` and points `*end` there; NULL stays NULL. Fails with ARGUMENT or STRUCT_SIZE. */
ppsched_status ppi_take_model_end(ppsched_model_end *own, const ppsched_model_end **end, ppsched_error *error);

#endif
