/* SPDX-License-Identifier: Apache-2.0 */
/* Options of lowering in the arguments of public calls. */
#ifndef PPSCHED_API_LOWER_H
#define PPSCHED_API_LOWER_H

#include <ppsched/lower.h>

/* For so many devices; `config` may be NULL. ARGUMENT, RANGE, LENGTH. */
ppsched_status ppi_check_lower_options(const ppsched_lower_options *options, const ppsched_config *config, uint32_t devices,
                                       ppsched_error *error);

#endif
