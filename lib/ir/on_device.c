/* SPDX-License-Identifier: Apache-2.0 */
/* Times of ops on devices that differ: divided by speeds, multiplied by the factors of the device and of the stage on it,
 * with the device's overhead added. */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "ir/costs.h"
#include "ir/stage_graph.h"

static const int32_t of_devices[] = {PPSCHED_QUANTITY_DEVICE_SPEEDS, PPSCHED_QUANTITY_DEVICE_SCALE,
                                     PPSCHED_QUANTITY_STAGE_SCALE, PPSCHED_QUANTITY_DEVICE_OVERHEAD};

enum { LISTS = sizeof of_devices / sizeof of_devices[0] };

bool ppi_has_speeds(const ppsched_config *config)
{
    for (size_t i = 0; i < LISTS; i++)
        if (config->values[of_devices[i]].values != NULL)
            return true;
    return false;
}

void ppi_as_stated(ppsched_config *out, const ppsched_config *config)
{
    *out = *config;
    for (size_t i = 0; i < LISTS; i++)
        out->values[of_devices[i]] = (struct ppi_values){.values = NULL};
}

double ppi_speed_of(const ppsched_config *config, uint32_t device)
{
    const struct ppi_values *speeds = &config->values[PPSCHED_QUANTITY_DEVICE_SPEEDS];
    return speeds->values != NULL ? ppi_value_at(speeds, device) : 1;
}

/* The factors of a device, and of a stage on a device. */
static double scale_in(const struct ppi_values *by_device, const struct ppi_values *by_stage, size_t kind, size_t stage,
                       size_t stages, size_t device, size_t devices)
{
    const size_t number = kind - PPSCHED_KIND_F;
    const double scale = by_device->values != NULL ? ppi_value_at(by_device, number * devices + device) : 1;
    return by_stage->values != NULL ? scale * ppi_value_at(by_stage, (number * stages + stage) * devices + device) : scale;
}

double ppi_device_scale(const ppsched_config *config, uint32_t kind, uint32_t device)
{
    const struct ppi_values *scale = &config->values[PPSCHED_QUANTITY_DEVICE_SCALE];
    return scale->values != NULL ? ppi_value_at(scale, (size_t)(kind - PPSCHED_KIND_F) * config->shape.devices + device) : 1;
}

double ppi_scale_of(const ppsched_config *config, uint32_t kind, uint32_t stage, uint32_t device)
{
    return scale_in(&config->values[PPSCHED_QUANTITY_DEVICE_SCALE], &config->values[PPSCHED_QUANTITY_STAGE_SCALE], kind, stage,
                    config->shape.stages, device, config->shape.devices);
}

double ppi_device_overhead(const ppsched_config *config, uint32_t device)
{
    const struct ppi_values *overhead = &config->values[PPSCHED_QUANTITY_DEVICE_OVERHEAD];
    return overhead->values != NULL ? ppi_value_at(overhead, device) : 0;
}

void ppi_put_on_device(double *duration, const ppsched_config *config, uint32_t stage, uint32_t device)
{
    const double speed = ppi_speed_of(config, device), overhead = ppi_device_overhead(config, device);
    for (uint32_t kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++)
        duration[kind] = duration[kind] / speed * ppi_scale_of(config, kind, stage, device) + overhead;
}

double ppi_time_on_device(const struct ppi_costs *costs, double time, uint32_t forward_stage, uint32_t device)
{
    const double scaled = time * scale_in(&costs->device_scale, &costs->stage_scale, PPSCHED_KIND_F, forward_stage,
                                          costs->stages, device, costs->devices);
    return costs->speeds.values != NULL ? scaled / ppi_value_at(&costs->speeds, device) : scaled;
}

double ppi_given_overlap(const struct ppi_costs *costs, uint32_t forward_stage, uint32_t backward_stage, uint32_t device)
{
    return ppi_time_on_device(costs, ppi_plain_overlap(costs, forward_stage, backward_stage), forward_stage, device);
}

double ppi_end_in_pair(const struct ppi_costs *costs, const ppsched_op *pair, bool backward, double time)
{
    const size_t stages = costs->pair_end_stages, pairs = stages * stages;
    if (costs->pair_ends == NULL)
        return time;
    const size_t number = stages == 1 ? 0 : pair[0].stage * stages + pair[1].stage;
    const bool is_input = pair[1].kind == PPSCHED_KIND_I && costs->input_pairs != NULL;
    const double *ends = is_input ? costs->input_pairs + pairs : costs->pair_ends;
    const double end = ends[backward ? pairs + number : number], plain = ppi_plain_pair(costs, pair);
    if (end >= plain)
        return time;
    return time == plain ? end : end * (time / plain);
}

ppsched_status ppi_check_on_device(double *duration, const ppsched_config *config, uint32_t device, uint32_t stage,
                                   ppsched_error *error)
{
    ppi_put_on_device(duration, config, stage, device);
    for (int kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++)
        if (!ppi_is_finite(duration[kind]))
            return ppi_fail_at(error, PPSCHED_ERROR_RANGE, (struct ppi_place){device, stage, PPSCHED_NONE, PPSCHED_NONE},
                               "stage %u: a time divided by device_speeds of device %u (%g)%s is too large for a double", stage,
                               device, ppi_speed_of(config, device),
                               ppi_device_overhead(config, device) > 0 ? ", with device_overhead," : "");
    return PPSCHED_OK;
}

ppsched_status ppi_put_on_slowest(double *duration, const ppsched_config *config, const struct ppi_placement *placement,
                                  uint32_t stage, ppsched_error *error)
{
    double longest[PPI_COMPUTE_KINDS] = {0};
    uint32_t count;
    ppsched_status status = PPSCHED_OK;
    const uint32_t *devices = ppi_devices_of(placement, stage, &count);
    for (uint32_t i = 0; i < count && status == PPSCHED_OK; i++) {
        double own[PPI_COMPUTE_KINDS] = {0};
        memcpy(own, duration, sizeof own);
        status = ppi_check_on_device(own, config, devices[i], stage, error);
        for (int kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++)
            longest[kind] = ppi_larger(longest[kind], own[kind]);
    }
    memcpy(duration, longest, sizeof longest);
    return status;
}
