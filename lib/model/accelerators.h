/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in devices. */
#ifndef PPSCHED_MODEL_ACCELERATORS_H
#define PPSCHED_MODEL_ACCELERATORS_H

#include <ppsched/model.h>

uint32_t ppi_accelerator_count(void);

/* NULL if `index` is not below the count. */
const ppsched_accelerator *ppi_accelerator_at(uint32_t index);

#endif
