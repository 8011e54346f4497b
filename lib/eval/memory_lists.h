/* SPDX-License-Identifier: Apache-2.0 */
/* What a device holds at its memory peak, and what is free while it is idle: see <ppsched/evaluate.h>. The caller releases both
 * lists to the timeline's host. */
#ifndef PPSCHED_EVAL_MEMORY_LISTS_H
#define PPSCHED_EVAL_MEMORY_LISTS_H

#include "eval/memory.h"

ppsched_status ppi_peak_items_make(ppsched_memory_item **out, size_t *count, const ppsched_timeline *timeline, uint32_t device,
                                   ppsched_error *error);
ppsched_status ppi_idle_windows_make(ppsched_idle_window **out, size_t *count, const ppsched_timeline *timeline,
                                     uint32_t device, ppsched_error *error);

#endif
