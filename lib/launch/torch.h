/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's requirements on a schedule, also for runtimes that use its pipelining. */
#ifndef PPSCHED_LAUNCH_TORCH_H
#define PPSCHED_LAUNCH_TORCH_H

#include "launch/launch.h"

/* OK with `maker` and `lowered` set, or REFUSED with the reason. Errors: NO_MEMORY. */
ppsched_status ppi_torch_fits(struct ppi_launch *launch, ppsched_error *error);

#endif
