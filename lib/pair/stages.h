/* SPDX-License-Identifier: Apache-2.0 */
/* The windows of a config's stages: the times of ops and pairs that follow from them. */
#ifndef PPSCHED_PAIR_STAGES_H
#define PPSCHED_PAIR_STAGES_H

#include "ir/config.h"
#include "ir/windows.h"

/* Sets the times of ops and of overlapped pairs by the windows of one stage that stands for all, or of each stage. */
ppsched_status ppi_config_set_windows(ppsched_config *config, const ppsched_pair_windows *const *stages, size_t count,
                                      ppsched_error *error);

/* Gives `to` the windows of `from`, with times multiplied by `factor`. Where it has fewer stages, those of the old ones are
 * appended, and the times of its pairs are set. `from` has windows. */
ppsched_status ppi_windows_restage(ppsched_config *to, const ppsched_config *from, double factor, ppsched_error *error);

#endif
