/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces one part of the graph of a config's stages, after a check of its sizes and values. */
#include "ir/stage_graph.h"

#include <string.h>

#include "base/error.h"
#include "ir/config.h"

/* A config's graph while one part of it is replaced. */
struct change {
    ppsched_config *config;
    uint32_t *counts;
    uint8_t *own; /* a list of one byte each for stages, then for stages and microbatches */
    struct ppi_graph_parts parts;
};

static ppsched_status start(struct change *change, ppsched_config *config, ppsched_error *error)
{
    const size_t stages = config->shape.stages, cells = stages * config->shape.microbatches;
    *change = (struct change){.config = config};
    change->counts = ppi_allocate(&config->host, stages, 2 * sizeof *change->counts);
    change->own = ppi_allocate(&config->host, stages + cells, 1);
    if (change->counts == NULL || change->own == NULL) {
        ppi_release(&config->host, change->counts);
        ppi_release(&config->host, change->own);
        return ppi_fail_memory(error, "the stage graph");
    }
    change->parts = ppi_stage_graph_parts_of(config->graph, change->counts);
    return PPSCHED_OK;
}

static ppsched_status finish(struct change *change, ppsched_error *error)
{
    ppsched_config *config = change->config;
    struct ppi_stage_graph *graph = NULL;
    ppsched_status status = ppi_stage_graph_make(&graph, &config->host, &config->shape, &change->parts, error);
    if (status == PPSCHED_OK)
        ppi_config_set_graph(config, graph);
    ppi_release(&config->host, change->counts);
    ppi_release(&config->host, change->own);
    return status;
}

static ppsched_status check_count(const char *name, size_t count, uint32_t stages, ppsched_error *error)
{
    if (count == stages)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_LENGTH, "%s has %zu entries; give %u, one per stage", name, count, stages);
}

static ppsched_status check_inputs(const uint32_t *counts, const uint32_t *inputs, uint32_t stages, ppsched_error *error)
{
    for (uint32_t s = 0; s < stages; s++)
        for (uint32_t i = 0; i < counts[s]; i++, inputs++) {
            struct ppi_place place = PPI_NOWHERE;
            place.stage = s;
            if (*inputs >= stages)
                return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place,
                                   "stage_inputs: stage %u has the input %u; stages are 0 to %u", s, *inputs, stages - 1);
            if (*inputs == s)
                return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place, "stage_inputs: stage %u feeds itself", s);
            if (*inputs > s)
                return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place,
                                   "stage_inputs: stage %u has the input %u; inputs have smaller numbers than the stages "
                                   "that they feed, which leaves no cycle",
                                   s, *inputs);
            for (uint32_t k = 1; k <= i; k++)
                if (inputs[-(ptrdiff_t)k] == *inputs)
                    return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place, "stage_inputs: stage %u has the input %u twice", s,
                                       *inputs);
        }
    return PPSCHED_OK;
}

ppsched_status ppi_config_set_stage_inputs(ppsched_config *config, const uint32_t *counts, const uint32_t *inputs,
                                           size_t stages, ppsched_error *error)
{
    struct change change;
    ppsched_status status = PPSCHED_OK;
    if (stages > 0) {
        status = check_count("stage_inputs", stages, config->shape.stages, error);
        if (status == PPSCHED_OK)
            status = check_inputs(counts, inputs, config->shape.stages, error);
    }
    if (status == PPSCHED_OK)
        status = start(&change, config, error);
    if (status != PPSCHED_OK)
        return status;
    change.parts.input_counts = stages > 0 ? counts : NULL;
    change.parts.inputs = stages > 0 ? inputs : NULL;
    return finish(&change, error);
}

ppsched_status ppi_config_set_stage_passes(ppsched_config *config, const int32_t *passes, size_t count, ppsched_error *error)
{
    struct change change;
    ppsched_status status = PPSCHED_OK;
    if (count > 0) {
        status = check_count("stage_passes", count, config->shape.stages, error);
    }
    for (size_t s = 0; s < count && status == PPSCHED_OK; s++)
        status = ppi_check_choice("stage_passes", passes[s], PPSCHED_STAGE_PASSES_FORWARD_BACKWARD,
                                  PPSCHED_STAGE_PASSES_FORWARD, error);
    if (status == PPSCHED_OK)
        status = start(&change, config, error);
    if (status != PPSCHED_OK)
        return status;
    for (size_t s = 0; s < count; s++)
        change.own[s] = (uint8_t)passes[s];
    change.parts.passes = count > 0 ? change.own : NULL;
    return finish(&change, error);
}

ppsched_status ppi_config_set_stage_microbatches(ppsched_config *config, uint32_t stage, const uint32_t *microbatches,
                                                 size_t count, ppsched_error *error)
{
    struct change change;
    const struct ppi_shape *shape = &config->shape;
    if (stage >= shape->stages)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "stage is %u; it must be 0 to %u", stage, shape->stages - 1);
    for (size_t i = 0; i < count; i++)
        if (microbatches[i] >= shape->microbatches)
            return ppi_fail(error, PPSCHED_ERROR_RANGE,
                            "stage_microbatches: stage %u has microbatch %u; microbatches are 0 to %u", stage, microbatches[i],
                            shape->microbatches - 1);
    ppsched_status status = start(&change, config, error);
    if (status != PPSCHED_OK)
        return status;
    uint8_t *runs = change.own + shape->stages;
    memset(runs, 1, (size_t)shape->stages * shape->microbatches);
    if (change.parts.runs != NULL)
        memcpy(runs, change.parts.runs, (size_t)shape->stages * shape->microbatches);
    memset(runs + (size_t)stage * shape->microbatches, count == 0, shape->microbatches);
    for (size_t i = 0; i < count; i++)
        runs[(size_t)stage * shape->microbatches + microbatches[i]] = 1;
    change.parts.runs = runs;
    return finish(&change, error);
}

static ppsched_status check_devices(const uint32_t *counts, const uint32_t *devices, const struct ppi_shape *shape,
                                    ppsched_error *error)
{
    for (uint32_t s = 0; s < shape->stages; s++) {
        if (counts[s] == 0)
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "the placement map puts stage %u on no device", s);
        for (uint32_t i = 0; i < counts[s]; i++, devices++) {
            struct ppi_place place = {*devices, s, PPSCHED_NONE, s};
            if (*devices >= shape->devices)
                return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place,
                                   "the placement map puts stage %u on device %u; devices are 0 to %u", s, *devices,
                                   shape->devices - 1);
            for (uint32_t k = 1; k <= i; k++)
                if (devices[-(ptrdiff_t)k] == *devices)
                    return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place, "the placement map puts stage %u on device %u twice",
                                       s, *devices);
        }
    }
    return PPSCHED_OK;
}

/* The home of each stage: the first of its devices in ascending order, as `sorted` has them. NULL if memory is short. */
static uint32_t *list_homes(const ppsched_config *config, const uint32_t *counts, const uint32_t *sorted)
{
    uint32_t *map = ppi_allocate(&config->host, config->shape.stages, sizeof *map);
    for (uint32_t s = 0; s < config->shape.stages && map != NULL; sorted += counts[s++])
        map[s] = *sorted;
    return map;
}

/* Sorts the devices of each stage. */
static void sort_sets(uint32_t *devices, const uint32_t *counts, uint32_t stages)
{
    for (uint32_t s = 0; s < stages; devices += counts[s++])
        for (uint32_t i = 1; i < counts[s]; i++)
            for (uint32_t k = i; k > 0 && devices[k - 1] > devices[k]; k--) {
                uint32_t larger = devices[k - 1];
                devices[k - 1] = devices[k];
                devices[k] = larger;
            }
}

static ppsched_status set_devices(ppsched_config *config, const uint32_t *counts, uint32_t *sorted, ppsched_error *error)
{
    struct change change;
    sort_sets(sorted, counts, config->shape.stages);
    uint32_t *map = list_homes(config, counts, sorted);
    ppsched_status status = map != NULL ? start(&change, config, error) : ppi_fail_memory(error, "the placement map");
    if (status == PPSCHED_OK) {
        change.parts.device_counts = counts;
        change.parts.devices = sorted;
        status = finish(&change, error);
    }
    if (status != PPSCHED_OK) {
        ppi_release(&config->host, map);
        return status;
    }
    ppi_release(&config->host, config->map);
    config->map = map;
    config->placement = PPSCHED_PLACEMENT_MAP;
    return PPSCHED_OK;
}

ppsched_status ppi_config_set_stage_devices(ppsched_config *config, const uint32_t *counts, const uint32_t *devices,
                                            size_t stages, ppsched_error *error)
{
    size_t total = 0;
    ppsched_status status = check_count("the placement map", stages, config->shape.stages, error);
    if (status == PPSCHED_OK)
        status = check_devices(counts, devices, &config->shape, error);
    if (status != PPSCHED_OK)
        return status;
    for (size_t s = 0; s < stages; s++)
        total += counts[s];
    uint32_t *sorted = ppi_allocate(&config->host, total, sizeof *sorted);
    if (sorted == NULL)
        return ppi_fail_memory(error, "the placement map");
    memcpy(sorted, devices, total * sizeof *sorted);
    status = set_devices(config, counts, sorted, error);
    ppi_release(&config->host, sorted);
    return status;
}
