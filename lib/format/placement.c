/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the device of each stage's first op, then the first named placement with these devices, else a map; where a stage has
 * ops on two devices, tries the bidirectional one. */
#include "format/placement.h"

#include <string.h>

#include "base/error.h"

struct rows {
    struct ppi_reading *reading;
    const struct ppi_shape *shape;
    uint32_t *homes;  /* per stage: the device of its first op; PPSCHED_NONE: it has none */
    uint8_t *copies;  /* per microbatch: which model copy runs it, UNKNOWN, FIRST or SECOND */
    size_t elsewhere; /* an op on a device that contradicts its stage's home; `count`: none */
};

enum { UNKNOWN, FIRST, SECOND };

static void find_homes(struct rows *rows)
{
    const struct ppi_reading *reading = rows->reading;
    rows->elsewhere = reading->count;
    memset(rows->homes, 0xFF, rows->shape->stages * sizeof *rows->homes); /* PPSCHED_NONE */
    size_t first = 0;
    for (uint32_t d = 0; d < reading->devices; d++) {
        for (size_t i = first; i < reading->ends[d]; i++) {
            uint32_t *home = &rows->homes[reading->ops[i].stage];
            if (!ppi_is_compute(reading->ops[i].kind))
                continue;
            if (*home == PPSCHED_NONE)
                *home = d;
            else if (*home != d && rows->elsewhere == reading->count)
                rows->elsewhere = i;
        }
        first = reading->ends[d];
    }
}

static ppsched_status refuse_elsewhere(const struct rows *rows)
{
    char token[PPI_TOKEN_SIZE];
    const struct ppi_reading *reading = rows->reading;
    const ppsched_op *op = &reading->ops[rows->elsewhere];
    uint32_t device = 0;
    while (reading->ends[device] <= rows->elsewhere)
        device++;
    size_t position = rows->elsewhere - ppi_reading_first(reading, device);
    ppi_op_token(token, op);
    return ppi_fail_at(reading->error, PPSCHED_ERROR_INVALID_SCHEDULE,
                       (struct ppi_place){device, op->stage, op->microbatch, (uint32_t)position},
                       "device %u, op %zu (%s): stage %u is on another device too; only with half of the microbatches each "
                       "way, as in DualPipe, can a stage s be on two devices, s and %u - s",
                       device, position, token, (unsigned)op->stage, reading->devices - 1);
}

/* Whether a placement has each stage on its home. */
static bool is_placed(const struct rows *rows, int32_t placement)
{
    if (ppi_placement_fits(placement, rows->shape, NULL) != PPSCHED_OK)
        return false;
    for (uint32_t s = 0; s < rows->shape->stages; s++)
        if (rows->homes[s] != ppi_placed_device(placement, rows->shape, s, NULL))
            return false;
    return true;
}

/* Finds the first named placement that has each stage on its home, else makes a map. */
static ppsched_status name_placement(const struct rows *rows)
{
    static const int32_t named[] = {PPSCHED_PLACEMENT_LINEAR, PPSCHED_PLACEMENT_LOOP, PPSCHED_PLACEMENT_V};
    struct ppi_reading *reading = rows->reading;
    for (uint32_t s = 0; s < rows->shape->stages; s++)
        if (rows->homes[s] == PPSCHED_NONE)
            return ppi_fail_at(
                reading->error, PPSCHED_ERROR_INVALID_SCHEDULE, (struct ppi_place){PPSCHED_NONE, s, PPSCHED_NONE, PPSCHED_NONE},
                "stage %u has no F, B, I or W on any device, so its device is not known (stages count from 0)", s);
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        if (is_placed(rows, named[i])) {
            reading->placement = named[i];
            return PPSCHED_OK;
        }
    reading->map = ppi_allocate(&reading->host, rows->shape->stages, sizeof *reading->map);
    if (reading->map == NULL)
        return ppi_fail_memory(reading->error, "the placement");
    for (uint32_t s = 0; s < rows->shape->stages; s++)
        reading->map[s] = rows->homes[s];
    reading->placement = PPSCHED_PLACEMENT_MAP;
    return PPSCHED_OK;
}

/* Finds which model copy runs each microbatch; false, with the op, where an op is on neither copy's device, or its microbatch
 * in both. */
static bool find_copies(struct rows *rows)
{
    const struct ppi_reading *reading = rows->reading;
    uint32_t last = rows->shape->stages - 1, device = 0;
    memset(rows->copies, UNKNOWN, rows->shape->microbatches);
    for (size_t i = 0; i < reading->count; i++) {
        const ppsched_op *op = &reading->ops[i];
        while (reading->ends[device] <= i)
            device++;
        bool in_first = device == op->stage, in_second = device == last - op->stage;
        if (!ppi_is_compute(op->kind) || (in_first && in_second))
            continue;
        uint8_t copy = in_first ? FIRST : SECOND, *known = &rows->copies[op->microbatch];
        if ((!in_first && !in_second) || (*known != UNKNOWN && *known != copy)) {
            rows->elsewhere = i;
            return false;
        }
        *known = copy;
    }
    return true;
}

/* Microbatches per iteration: as the text says, else up to where microbatches of the first copy follow those of the second. */
static uint32_t find_period(const struct rows *rows)
{
    uint32_t total = rows->shape->microbatches, m = 0;
    if (rows->reading->said_microbatches != 0)
        return (uint32_t)rows->reading->said_microbatches;
    while (m < total && rows->copies[m] != SECOND)
        m++;
    while (m < total && rows->copies[m] != FIRST)
        m++;
    return m;
}

/* Checks that each iteration has its first half of microbatches in the first copy, the others in the second. */
static bool find_iterations(struct rows *rows)
{
    uint32_t total = rows->shape->microbatches, period = find_period(rows);
    if (total % period != 0)
        return false;
    for (uint32_t m = 0; m < total; m++) {
        uint8_t wanted = m % period >= period - period / 2 ? SECOND : FIRST;
        if (rows->copies[m] != UNKNOWN && rows->copies[m] != wanted)
            return false;
    }
    rows->reading->iterations = total / period;
    rows->reading->placement = PPSCHED_PLACEMENT_BIDIRECTIONAL;
    return true;
}

static ppsched_status find_placement(struct rows *rows)
{
    find_homes(rows);
    if (rows->elsewhere == rows->reading->count)
        return name_placement(rows);
    if (rows->shape->stages == rows->shape->devices && find_copies(rows) && find_iterations(rows))
        return PPSCHED_OK;
    return refuse_elsewhere(rows);
}

ppsched_status ppi_find_placement(struct ppi_reading *reading, const struct ppi_shape *shape)
{
    struct rows rows = {.reading = reading, .shape = shape};
    rows.homes = ppi_allocate(&reading->host, shape->stages, sizeof *rows.homes);
    rows.copies = ppi_allocate(&reading->host, shape->microbatches, sizeof *rows.copies);
    ppsched_status status = rows.homes != NULL && rows.copies != NULL ? find_placement(&rows)
                                                                      : ppi_fail_memory(reading->error, "the placement");
    ppi_release(&reading->host, rows.homes);
    ppi_release(&reading->host, rows.copies);
    return status;
}
