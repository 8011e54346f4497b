/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of the sizes; placements by formula, as a table of devices by stage. */
#include "ir/shape.h"

#include <stddef.h>

#include "base/error.h"
#include "ir/stage_graph.h"

static ppsched_status check_size(const char *what, int64_t value, int64_t largest, ppsched_error *error)
{
    if (value >= 1 && value <= largest)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s is %lld; it must be 1 to %lld", what, (long long)value, (long long)largest);
}

ppsched_status ppi_shape_make(struct ppi_shape *out, int64_t devices, int64_t stages, int64_t microbatches, int64_t iterations,
                              ppsched_error *error)
{
    ppsched_status status = check_size("number of devices", devices, PPSCHED_MAX_STAGES, error);
    if (status == PPSCHED_OK)
        status = check_size("number of stages", stages, PPSCHED_MAX_STAGES, error);
    if (status == PPSCHED_OK)
        status = check_size("number of microbatches", microbatches, PPSCHED_MAX_CELLS, error);
    if (status == PPSCHED_OK)
        status = check_size("number of iterations", iterations, PPSCHED_MAX_CELLS, error);
    if (status != PPSCHED_OK)
        return status;
    if (microbatches > PPSCHED_MAX_CELLS / stages || iterations > PPSCHED_MAX_CELLS / stages / microbatches)
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "%lld stage%p times %lld microbatch%p times %lld iteration%p is above the largest supported %lld",
                        (long long)stages, (long long)microbatches, (long long)iterations, (long long)PPSCHED_MAX_CELLS);
    out->devices = (uint32_t)devices;
    out->stages = (uint32_t)stages;
    out->microbatches = (uint32_t)microbatches;
    out->iterations = (uint32_t)iterations;
    out->slices = 1;
    return PPSCHED_OK;
}

ppsched_status ppi_shape_cut(struct ppi_shape *shape, int64_t slices, ppsched_error *error)
{
    size_t whole = (size_t)shape->stages * ppi_total_microbatches(shape);
    ppsched_status status = check_size("number of slices", slices, PPSCHED_MAX_SLICES, error);
    if (status != PPSCHED_OK)
        return status;
    if ((size_t)slices > PPSCHED_MAX_CELLS / whole)
        return ppi_fail(
            error, PPSCHED_ERROR_RANGE,
            "%u stage%p times %u microbatch%p times %u iteration%p times %lld slice%p is above the largest supported "
            "%lld",
            shape->stages, shape->microbatches, shape->iterations, (long long)slices, (long long)PPSCHED_MAX_CELLS);
    shape->slices = (uint32_t)slices;
    return PPSCHED_OK;
}

static ppsched_status check_multiple(const char *name, const struct ppi_shape *shape, ppsched_error *error)
{
    uint32_t below = shape->stages / shape->devices * shape->devices;
    if (shape->stages % shape->devices == 0)
        return PPSCHED_OK;
    if (below == 0 || below + shape->devices > PPSCHED_MAX_STAGES)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "%s placement cannot divide %u stage%p among %u device%p; nearest: %u stage%p", name, shape->stages,
                        shape->devices, below != 0 ? below : shape->devices);
    return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                    "%s placement cannot divide %u stage%p among %u device%p; nearest: %u or %u stage%p", name, shape->stages,
                    shape->devices, below, below + shape->devices);
}

ppsched_status ppi_placement_fits(int32_t kind, const struct ppi_shape *shape, ppsched_error *error)
{
    switch (kind) {
    case PPSCHED_PLACEMENT_LINEAR:
    case PPSCHED_PLACEMENT_BIDIRECTIONAL:
        if (shape->stages == shape->devices)
            return PPSCHED_OK;
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "%s placement needs as many stages as devices, not %u stage%p on %u device%p; nearest: %u stage%p",
                        ppi_placement_name(kind), shape->stages, shape->devices, shape->devices);
    case PPSCHED_PLACEMENT_LOOP:
    case PPSCHED_PLACEMENT_V:
        return check_multiple(ppi_placement_name(kind), shape, error);
    case PPSCHED_PLACEMENT_MAP:
        return PPSCHED_OK;
    default:
        return ppi_check_choice("placement", kind, PPSCHED_PLACEMENT_DEFAULT, PPSCHED_PLACEMENT_MAP, error);
    }
}

uint32_t ppi_placed_device(int32_t kind, const struct ppi_shape *shape, uint32_t stage, const uint32_t *map)
{
    uint32_t place = stage % shape->devices;
    if (kind == PPSCHED_PLACEMENT_MAP)
        return map[stage];
    if (kind == PPSCHED_PLACEMENT_V && stage / shape->devices % 2 == 1)
        return shape->devices - 1 - place;
    return place;
}

ppsched_status ppi_placement_make(struct ppi_placement *out, const struct ppi_host *host, int32_t kind,
                                  const struct ppi_shape *shape, const uint32_t *map, ppsched_error *error)
{
    ppsched_status status = ppi_placement_fits(kind, shape, error);
    if (status != PPSCHED_OK)
        return status;
    uint32_t copies = kind == PPSCHED_PLACEMENT_BIDIRECTIONAL ? 2 : 1;
    uint32_t *table = ppi_allocate(host, (size_t)copies * shape->stages, sizeof *table);
    if (table == NULL)
        return ppi_fail_memory(error, "the placement");
    for (uint32_t s = 0; s < shape->stages; s++)
        table[s] = ppi_placed_device(kind, shape, s, map);
    if (copies == 2)
        for (uint32_t s = 0; s < shape->stages; s++)
            table[shape->stages + s] = shape->devices - 1 - s;
    out->kind = kind;
    out->copies = copies;
    out->device_of = table;
    out->graph = NULL;
    return PPSCHED_OK;
}

void ppi_placement_clear(struct ppi_placement *placement, const struct ppi_host *host)
{
    ppi_release(host, placement->device_of);
    ppi_stage_graph_release(placement->graph);
    *placement = (struct ppi_placement){0};
}

const char *ppi_placement_name(int32_t kind)
{
    static const char *const names[] = {"default", "linear", "loop", "v", "bidirectional", "map"};
    return kind >= 0 && kind <= PPSCHED_PLACEMENT_MAP ? names[kind] : NULL;
}
