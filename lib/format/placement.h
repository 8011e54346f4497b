/* SPDX-License-Identifier: Apache-2.0 */
/* Finds which device holds which stage from the rows of a schedule. */
#ifndef PPSCHED_FORMAT_PLACEMENT_H
#define PPSCHED_FORMAT_PLACEMENT_H

#include "format/reading.h"

/* Fills placement, map and, where microbatches run in both directions, iterations of `reading`. `shape` has one iteration.
 * INVALID_SCHEDULE where a stage is on no device, or on two other than in the bidirectional placement. */
ppsched_status ppi_find_placement(struct ppi_reading *reading, const struct ppi_shape *shape);

#endif
