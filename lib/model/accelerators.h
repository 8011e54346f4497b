/* SPDX-License-Identifier: Apache-2.0 */
/* The devices that the library knows. */
#ifndef PPSCHED_MODEL_ACCELERATORS_H
#define PPSCHED_MODEL_ACCELERATORS_H

#include <ppsched/model.h>

uint32_t ppi_accelerator_count(void);

/* NULL past the last. */
const ppsched_accelerator *ppi_accelerator_at(uint32_t index);

#endif
