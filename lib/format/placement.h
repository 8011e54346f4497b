/* SPDX-License-Identifier: Apache-2.0 */
/* Which device holds which stage, as the rows of a schedule show. */
#ifndef PPSCHED_FORMAT_PLACEMENT_H
#define PPSCHED_FORMAT_PLACEMENT_H

#include "format/reading.h"

/* Fills placement, map and, where microbatches go both ways, iterations of `reading`. `shape` has one iteration.
 * INVALID_SCHEDULE where a stage is on no device, or on two in a way that is not the bidirectional one. */
ppsched_status ppi_find_placement(struct ppi_reading *reading, const struct ppi_shape *shape);

#endif
