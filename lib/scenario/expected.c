/* SPDX-License-Identifier: Apache-2.0 */
/* The average scenario as a config, for searches that use only one vector of times: for a placement and its stages, or in the
 * speeds of devices alone. */
#include "base/checked.h"
#include "base/error.h"
#include "ir/config.h"
#include "scenario/scenario.h"

struct expecting {
    const ppsched_scenario_options *options;
    uint32_t count, devices, stages;
    const struct ppi_placement *place;
    const struct ppi_costs *costs;
    double *room; /* work space of the longest list */
};

/* One of `each` factors, or its mean over the scenarios. */
static double mean_factor(const double *factors, size_t count, uint32_t each, uint32_t index, uint32_t scenarios)
{
    double sum = 0;
    if (count == 0)
        return 1;
    if (count == each)
        return factors[index];
    for (uint32_t i = 0; i < scenarios; i++)
        sum += factors[(size_t)i * each + index];
    return sum / scenarios;
}

static double stage_factor(const struct expecting *e, uint32_t stage)
{
    const ppsched_scenario_options *options = e->options;
    return mean_factor(options->device_factors, options->device_factor_count, e->devices, e->place->device_of[stage],
                       e->count) *
           mean_factor(options->stage_factors, options->stage_factor_count, e->stages, stage, e->count);
}

/* Sets whole op times, all overheads included, at speed 1. */
static ppsched_status set_times(ppsched_config *config, const struct expecting *e, ppsched_error *error)
{
    static const int32_t quantities[] = {PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_TIMES,
                                         PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES};
    static const int32_t included[] = {PPSCHED_QUANTITY_OP_OVERHEAD,     PPSCHED_QUANTITY_DEVICE_SPEEDS,
                                       PPSCHED_QUANTITY_DEVICE_SCALE,    PPSCHED_QUANTITY_STAGE_SCALE,
                                       PPSCHED_QUANTITY_DEVICE_OVERHEAD, PPSCHED_QUANTITY_BACKWARD_INPUT_SHARE};
    ppsched_status status = PPSCHED_OK;
    for (size_t i = 0; i < sizeof included / sizeof *included && status == PPSCHED_OK; i++)
        status = ppi_config_set_values(config, included[i], NULL, 0, error);
    for (uint8_t kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W && status == PPSCHED_OK; kind++) {
        for (uint32_t s = 0; s < e->stages; s++)
            e->room[s] = e->costs->instances[s].duration[kind] * stage_factor(e, s);
        status = ppi_config_set_values(config, quantities[kind - PPSCHED_KIND_F], e->room, e->stages, error);
    }
    return status;
}

/* Sets the times of pairs, with the factors of their F. */
static ppsched_status set_pairs(ppsched_config *config, const struct expecting *e, ppsched_error *error)
{
    const struct ppi_values given = e->costs->overlapped;
    size_t each = given.count > e->stages ? e->stages : 1;
    if (given.values == NULL)
        return PPSCHED_OK;
    for (uint32_t s = 0; s < e->stages; s++)
        for (size_t b = 0; b < each; b++)
            e->room[s * each + b] = ppi_given_overlap(e->costs, s, (uint32_t)b, e->place->device_of[s]) * stage_factor(e, s);
    return ppi_config_set_values(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, e->room, e->stages * each, error);
}

/* Sets a list by link, multiplied or divided by the links' factors. */
static ppsched_status set_links(ppsched_config *config, const struct expecting *e, int32_t quantity, bool divides,
                                ppsched_error *error)
{
    const struct ppi_values given = config->values[quantity];
    if (given.values == NULL || e->options->link_factors == NULL)
        return PPSCHED_OK;
    for (size_t i = 0; i < (size_t)e->devices * e->devices; i++) {
        double factor = e->options->link_factors[i], value = given.values[given.count == 1 ? 0 : i];
        /* a link factor near 0 must not make a bandwidth infinite */
        e->room[i] = !divides ? value * factor : factor > 0 && value / factor < 1e300 ? value / factor : 1e300;
    }
    return ppi_config_set_values(config, quantity, e->room, (size_t)e->devices * e->devices, error);
}

static ppsched_status set_all(ppsched_config *config, const struct expecting *e, ppsched_error *error)
{
    ppsched_status status = set_times(config, e, error);
    if (status == PPSCHED_OK)
        status = set_pairs(config, e, error);
    if (status == PPSCHED_OK)
        status = set_links(config, e, PPSCHED_QUANTITY_P2P_TIME, false, error);
    return status == PPSCHED_OK ? set_links(config, e, PPSCHED_QUANTITY_P2P_BANDWIDTH, true, error) : status;
}

/* Runs set_all with work space for the longest list: by stage, by link, or pairs as given. */
static ppsched_status expect(ppsched_config *config, struct expecting *e, ppsched_error *error)
{
    size_t most = e->costs->overlapped.count > e->stages ? e->costs->overlapped.count : e->stages;
    ppsched_status status;
    most = e->options->link_factor_count > most ? e->options->link_factor_count : most;
    e->room = ppi_allocate(&config->host, most, sizeof *e->room);
    status = e->room != NULL ? set_all(config, e, error) : ppi_fail_memory(error, "the average scenario");
    ppi_release(&config->host, e->room);
    return status;
}

ppsched_status ppi_expected_config(ppsched_config **out, const ppsched_config *config, const ppsched_scenario_options *options,
                                   uint32_t count, int32_t placement, ppsched_error *error)
{
    struct ppi_placement place = {0};
    struct ppi_costs costs;
    ppsched_config *expected = NULL;
    ppsched_status status = ppi_config_place(&place, config, placement, error);
    if (status != PPSCHED_OK)
        return status;
    status = ppi_costs_make(&costs, config, &place, error);
    if (status == PPSCHED_OK) {
        struct expecting e = {.options = options,
                              .count = count,
                              .devices = config->shape.devices,
                              .stages = config->shape.stages,
                              .place = &place,
                              .costs = &costs};
        status = ppi_config_copy(&expected, config, error);
        if (status == PPSCHED_OK) {
            ppi_robust_objective_destroy(expected->goal, &expected->host);
            expected->goal = NULL;
        }
        if (status == PPSCHED_OK && place.copies == 1)
            status = expect(expected, &e, error);
        ppi_costs_clear(&costs);
    }
    ppi_placement_clear(&place, &config->host);
    if (status == PPSCHED_OK)
        *out = expected;
    else
        ppi_config_destroy(expected);
    return status;
}

static double device_factor(const struct expecting *e, uint32_t device)
{
    return mean_factor(e->options->device_factors, e->options->device_factor_count, e->devices, device, e->count);
}

/* Divides the speeds by the mean factors, and multiplies overheads of devices by them. A factor of 0 would be no speed: such a
 * device counts as very fast. */
static ppsched_status slow_devices(ppsched_config *config, const struct expecting *e, ppsched_error *error)
{
    if (e->options->device_factor_count == 0)
        return PPSCHED_OK;
    for (uint32_t d = 0; d < e->devices; d++)
        e->room[d] = ppi_speed_of(config, d) / ppi_larger(device_factor(e, d), 1e-9);
    ppsched_status status = ppi_config_set_values(config, PPSCHED_QUANTITY_DEVICE_SPEEDS, e->room, e->devices, error);
    if (status != PPSCHED_OK || config->values[PPSCHED_QUANTITY_DEVICE_OVERHEAD].values == NULL)
        return status;
    for (uint32_t d = 0; d < e->devices; d++)
        e->room[d] = ppi_device_overhead(config, d) * device_factor(e, d);
    return ppi_config_set_values(config, PPSCHED_QUANTITY_DEVICE_OVERHEAD, e->room, e->devices, error);
}

ppsched_status ppi_average_config(ppsched_config **out, const ppsched_config *config, const ppsched_scenario_options *options,
                                  uint32_t count, ppsched_error *error)
{
    struct expecting e = {.options = options, .count = count, .devices = config->shape.devices};
    ppsched_config *average = NULL;
    e.room = ppi_allocate(&config->host, (size_t)e.devices * e.devices, sizeof *e.room);
    ppsched_status status = e.room != NULL ? ppi_config_copy(&average, config, error)
                                           : ppi_fail_memory(error, "the average scenario");
    if (status == PPSCHED_OK)
        status = slow_devices(average, &e, error);
    if (status == PPSCHED_OK)
        status = set_links(average, &e, PPSCHED_QUANTITY_P2P_TIME, false, error);
    if (status == PPSCHED_OK)
        status = set_links(average, &e, PPSCHED_QUANTITY_P2P_BANDWIDTH, true, error);
    ppi_release(&config->host, e.room);
    if (status == PPSCHED_OK)
        *out = average;
    else
        ppi_config_destroy(average);
    return status;
}
