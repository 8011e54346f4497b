/* SPDX-License-Identifier: Apache-2.0 */
/* Building blocks: patterns of six cells that every device repeats, from each of which a whole schedule is grown on a grid of
 * unit cells. After "Pipeline Parallelism with Controllable Memory" (Qi et al. 2024, arXiv 2405.15362), in the form of its
 * first public search. */
#ifndef PPSCHED_STRATEGY_V_BLOCK_H
#define PPSCHED_STRATEGY_V_BLOCK_H

#include <stdbool.h>

#include "search/attempt.h"

/* Ops, and so cells, of a microbatch on a device; ops on its path: the F of the device's first stage, the F of its second, the
 * I of the second, the I of the first. */
enum { PPI_V_PERIOD = 6, PPI_V_PATH = 4 };

/* The cells of the path's ops on the first device, and their shift from one device to the next: the first F and the first I by
 * `step[0]`, from the `turn`-th device on by `step[1]`; the others back by one. */
struct ppi_v_block {
    uint32_t slot[PPI_V_PATH];
    uint32_t step[2], turn;
};

/* Work space to grow schedules of one size. */
struct ppi_v_grid;

/* Its memory in bytes. */
int64_t ppi_v_grid_bytes(int64_t devices, int64_t microbatches);

/* NULL where allocation fails; else the caller releases it. */
struct ppi_v_grid *ppi_v_grid_make(const struct ppi_host *host, int64_t devices, int64_t microbatches);

/* The result of a block: nothing, as cells collide, ops are lost or memory exceeds two stage passes per device; a schedule
 * after repair, in which weight gradients before their own input gradients were laid again; a schedule without repair. */
enum ppi_v_growth { PPI_V_NOTHING, PPI_V_MENDED, PPI_V_WHOLE };

/* Grows the schedule of a block, which becomes the attempt's candidate. Unless `repairs` is set, the result is nothing for
 * blocks that need repair, and for those seen to exceed a limit before the cool-down. CANCELLED where the attempt's progress
 * callback stops it. */
ppsched_status ppi_v_grow(enum ppi_v_growth *out, struct ppi_v_grid *grid, const struct ppi_v_block *block, bool repairs,
                          struct ppi_attempt *attempt, ppsched_error *error);

#endif
