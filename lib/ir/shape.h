/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes of a problem, and which device holds which stage. */
#ifndef PPSCHED_IR_SHAPE_H
#define PPSCHED_IR_SHAPE_H

#include <stdint.h>

#include <ppsched/config.h>

#include "base/host.h"

struct ppi_stage_graph;

struct ppi_shape {
    uint32_t devices, stages, microbatches, iterations;
    uint32_t slices; /* of each microbatch, 1 or more */
};

/* Microbatches over all iterations. Cannot overflow, by PPSCHED_MAX_CELLS. */
static inline uint32_t ppi_total_microbatches(const struct ppi_shape *shape)
{
    return shape->microbatches * shape->iterations;
}

/* Micro-slices over all iterations: a micro-slice is a slice of a microbatch, or all of a microbatch that is not sliced. Cannot
 * overflow, by PPSCHED_MAX_CELLS. */
static inline uint32_t ppi_total_micro_slices(const struct ppi_shape *shape)
{
    return ppi_total_microbatches(shape) * shape->slices;
}

/* Index of a microbatch's slice among the micro-slices. */
static inline uint32_t ppi_micro_slice(const struct ppi_shape *shape, uint32_t microbatch, uint32_t slice)
{
    return microbatch * shape->slices + slice;
}

/* The micro-slice whose backward is at `place` of the order, where forwards are in ascending order: the slices of a microbatch
 * are reversed. */
static inline uint32_t ppi_backward_micro_slice(uint32_t place, uint32_t slices)
{
    return slices == 1 ? place : place + slices - 1 - 2 * (place % slices);
}

/* The device of each stage. `device_of` has `copies` rows of S devices; with two copies (bidirectional) the second half of an
 * iteration's microbatches uses the second row. */
struct ppi_placement {
    int32_t kind;
    uint32_t copies;
    uint32_t *device_of;
    const struct ppi_stage_graph *graph; /* a reference; NULL: a chain with one device for each stage */
};

/* Checks the sizes, which are wider than a shape's so that values out of range are seen. Microbatches are not sliced. */
ppsched_status ppi_shape_make(struct ppi_shape *out, int64_t devices, int64_t stages, int64_t microbatches, int64_t iterations,
                              ppsched_error *error);

/* Slices the microbatches of a shape; RANGE if that makes too many micro-slices. */
ppsched_status ppi_shape_cut(struct ppi_shape *shape, int64_t slices, ppsched_error *error);

/* Frees the table, and the reference to the graph. */
void ppi_placement_clear(struct ppi_placement *placement, const struct ppi_host *host);

/* Checks that a placement supports the sizes: REFUSED with the nearest sizes that it does. */
ppsched_status ppi_placement_fits(int32_t kind, const struct ppi_shape *shape, ppsched_error *error);

/* Device of a stage (of the first copy, if there are two); `map` is for MAP. */
uint32_t ppi_placed_device(int32_t kind, const struct ppi_shape *shape, uint32_t stage, const uint32_t *map);

/* Fills the table of a placement that supports the sizes; `map` is for MAP. The caller clears it. */
ppsched_status ppi_placement_make(struct ppi_placement *out, const struct ppi_host *host, int32_t kind,
                                  const struct ppi_shape *shape, const uint32_t *map, ppsched_error *error);

/* "linear", "loop" and so on; NULL for an unknown kind. */
const char *ppi_placement_name(int32_t kind);

/* Row of `device_of` that a microbatch uses. */
static inline uint32_t ppi_copy_of(const struct ppi_placement *placement, const struct ppi_shape *shape, uint32_t microbatch)
{
    uint32_t index = microbatch < shape->microbatches ? microbatch : microbatch % shape->microbatches;
    return placement->copies == 2 && index >= shape->microbatches - shape->microbatches / 2;
}

/* Device that runs a stage for a microbatch, both in range. */
static inline uint32_t ppi_device_of(const struct ppi_placement *placement, const struct ppi_shape *shape, uint32_t stage,
                                     uint32_t microbatch)
{
    return placement->device_of[ppi_copy_of(placement, shape, microbatch) * shape->stages + stage];
}

#endif
