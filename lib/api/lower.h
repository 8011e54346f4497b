/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the caller's options of lowering. */
#ifndef PPSCHED_API_LOWER_H
#define PPSCHED_API_LOWER_H

#include <ppsched/lower.h>

/* Checks the options for `devices` devices; `config` may be NULL. Fails with ARGUMENT, RANGE or LENGTH. */
ppsched_status ppi_check_lower_options(const ppsched_lower_options *options, const ppsched_config *config, uint32_t devices,
                                       uint32_t iterations, ppsched_error *error);

#endif
