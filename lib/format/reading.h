/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader has collected from a text, and the schedule made of it. */
#ifndef PPSCHED_FORMAT_READING_H
#define PPSCHED_FORMAT_READING_H

#include <ppsched/schedule.h>

#include "base/host.h"
#include "format/token.h"
#include "ir/shape.h"

/* A list of numbers for each stage, one after another; `counts` NULL: the text has none. */
struct ppi_stage_lists {
    uint32_t *counts, *values;
    size_t stages, total;
};

struct ppi_reading {
    struct ppi_host host;
    ppsched_error *error;

    ppsched_op *ops; /* device by device */
    size_t count, capacity;
    size_t *ends; /* for each device, `count` after its last op */
    uint32_t devices, device_capacity;
    uint32_t stages, microbatches; /* one more than the largest of the tokens */
    bool has_slices;               /* some token has a slice */
    bool has_places;               /* some token has a place at the other end */

    /* Properties given by the text; after each its initial value, kept where the text says nothing. */
    char *name;                          /* NULL */
    int32_t placement;                   /* DEFAULT: found from the rows */
    uint32_t *map;                       /* for MAP: the device of each stage */
    struct ppi_stage_lists sets;         /* devices of each stage, for MAP */
    struct ppi_stage_lists inputs, runs; /* of each stage: the stages that feed it, its microbatches (none: all) */
    int32_t *passes;                     /* of each stage, as many as `passes_count` */
    size_t passes_count;
    int64_t said_stages, said_microbatches, iterations; /* 0: found from the tokens */
    int64_t slices;                                     /* 1 */
    bool flushes;                                       /* true */
    uint32_t weight_versions;                           /* 1 */
};

void ppi_reading_start(struct ppi_reading *reading, const struct ppi_host *host, ppsched_error *error);

/* Frees what the schedule has not taken over. */
void ppi_reading_clear(struct ppi_reading *reading);

/* Reserves memory for `count` ops in all; called once. */
ppsched_status ppi_reading_reserve(struct ppi_reading *reading, size_t count);

/* Adds an op, for which memory is reserved, to the present device. */
static inline void ppi_reading_add(struct ppi_reading *reading, const ppsched_op *op)
{
    reading->ops[reading->count++] = *op;
    reading->has_places |= op->reserved != 0;
    if (op->stage >= reading->stages)
        reading->stages = op->stage + 1u;
    if (op->microbatch != PPSCHED_NONE && op->microbatch >= reading->microbatches)
        reading->microbatches = op->microbatch + 1;
}

/* The present device has all its ops, the next one begins. */
ppsched_status ppi_reading_end_device(struct ppi_reading *reading);

/* Number of the present device's ops so far. */
size_t ppi_reading_device_count(const struct ppi_reading *reading);

/* Index of a device's first op. */
static inline size_t ppi_reading_first(const struct ppi_reading *reading, uint32_t device)
{
    return device > 0 ? reading->ends[device - 1] : 0;
}

/* Makes the schedule of what was read. */
ppsched_status ppi_reading_finish(ppsched_schedule **out, struct ppi_reading *reading);

#endif
