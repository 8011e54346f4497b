/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines whose devices are of several types: consecutive devices of a type have its times, its memory and its links. */
#include "base/error.h"
#include "ir/config.h"
#include "model/table.h"
#include "price/price.h"

uint32_t ppi_pricing_type(const struct ppi_pipeline_types *types, uint32_t device)
{
    uint32_t place = 0;
    if (types == NULL)
        return 0;
    while (place + 1 < types->count && device >= types->last[place])
        place++;
    return types->order[place];
}

uint32_t ppi_pricing_layer_type(const struct ppi_pipeline_types *types, uint32_t device)
{
    return types == NULL ? 0 : 1 + ppi_pricing_type(types, device);
}

const struct ppi_priced_model *ppi_pricing_made(const struct ppi_pricing *pricing, uint32_t device)
{
    return pricing->types == NULL ? pricing->made : &pricing->types->made[ppi_pricing_type(pricing->types, device)];
}

/* --- layers --- */

enum { TIMES = PPSCHED_KIND_W };

static void get_times(double times[TIMES], const ppsched_layer *layer)
{
    times[0] = layer->forward_time;
    times[1] = layer->backward_time;
    times[2] = layer->backward_input_time;
    times[3] = layer->backward_weight_time;
}

/* An entry has the times of the first type, or where these are 0 the longest of all types, with the factors of each type. */
static void scale_entry(ppsched_layer *entry, double *scales, const struct ppi_priced_model *made, uint32_t count, uint32_t e)
{
    double base[TIMES], own[TIMES], first[TIMES];
    get_times(first, entry);
    get_times(base, entry);
    for (uint32_t type = 1; type < count; type++) {
        get_times(own, &made[type].layers->entries[e].given);
        for (int i = 0; i < TIMES; i++)
            base[i] = first[i] == 0 && own[i] > base[i] ? own[i] : base[i];
    }
    for (uint32_t type = 0; type < count; type++) {
        get_times(own, &made[type].layers->entries[e].given);
        for (int i = 0; i < TIMES; i++)
            scales[type * TIMES + i] *= base[i] > 0 ? own[i] / base[i] : 1;
    }
    entry->forward_time = base[0];
    entry->backward_time = base[1];
    entry->backward_input_time = base[2];
    entry->backward_weight_time = base[3];
}

/* Pipelines of each type are slowed down by the number of devices as those of the first are, times a factor of its own. */
static void fill(ppsched_layer *entries, double *scales, const ppsched_layer **list, const struct ppi_priced_model *made,
                 uint32_t count, double devices)
{
    double first = ppi_slowdown_of(&made[0].model->device, devices);
    for (uint32_t e = 0; e < made[0].layers->entry_count; e++, scales += count * TIMES) {
        entries[e] = made[0].layers->entries[e].given;
        entries[e].type_count = count;
        entries[e].device_scale = scales;
        list[e] = &entries[e];
        for (uint32_t i = 0; i < count * TIMES; i++)
            scales[i] = ppi_slowdown_of(&made[i / TIMES].model->device, devices) / first;
        scale_entry(&entries[e], scales, made, count, e);
    }
}

ppsched_status ppi_types_join(struct ppi_priced_model *made, uint32_t count, double devices, ppsched_error *error)
{
    const ppsched_layers *plain = made[0].layers, *joined = NULL;
    struct ppi_arena arena = {.host = &made[0].model->host};
    size_t entries_count = plain->entry_count;
    ppsched_layer *entries = ppi_arena_take(&arena, entries_count, sizeof *entries);
    double *scales = ppi_arena_take(&arena, entries_count * count, TIMES * sizeof *scales);
    const ppsched_layer **list = ppi_arena_take(&arena, entries_count, sizeof *list);
    ppsched_status status = ppi_arena_check(&arena, "the layers of the types", error);
    if (status == PPSCHED_OK) {
        fill(entries, scales, list, made, count, devices);
        status = ppi_layers_make(&joined, arena.host, list, entries_count, error);
    }
    ppi_arena_clear(&arena);
    if (status != PPSCHED_OK)
        return status;
    ppi_layers_release(plain);
    made[0].layers = joined;
    return PPSCHED_OK;
}

/* --- the problem --- */

static ppsched_status set_values(ppsched_config *config, int32_t quantity, const struct ppi_pricing *pricing,
                                 double (*value)(const struct ppi_pricing *, uint32_t, double), double beside,
                                 ppsched_error *error)
{
    uint32_t devices = pricing->pipeline.devices;
    double *values = ppi_allocate(pricing->arena.host, devices, sizeof *values);
    if (values == NULL)
        return ppi_fail_memory(error, "the price");
    for (uint32_t d = 0; d < devices; d++)
        values[d] = value(pricing, ppi_pricing_type(pricing->types, d), beside);
    ppsched_status status = ppi_config_set_values(config, quantity, values, devices, error);
    ppi_release(pricing->arena.host, values);
    return status;
}

static double number_of(const struct ppi_pricing *pricing, uint32_t type, double beside)
{
    (void)pricing, (void)beside;
    return 1 + type;
}

static double limit_of(const struct ppi_pricing *pricing, uint32_t type, double beside)
{
    double limit = pricing->types->limits[type] - pricing->types->beside - beside;
    return limit > 0 ? limit : 0;
}

ppsched_status ppi_types_set(ppsched_config *config, const struct ppi_pricing *pricing, ppsched_error *error)
{
    return set_values(config, PPSCHED_QUANTITY_LAYER_TYPES, pricing, number_of, 0, error);
}

ppsched_status ppi_types_set_limits(ppsched_config *config, const struct ppi_pricing *pricing, double beside,
                                    ppsched_error *error)
{
    return set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, pricing, limit_of, beside, error);
}

/* --- links --- */

struct type_link {
    double latency, rate;
};

/* The first device of the pipeline of the type of a device, and the one after its last. */
static void find_type(uint32_t *first, uint32_t *last, const struct ppi_pipeline_types *types, uint32_t device)
{
    uint32_t place = 0;
    while (place + 1 < types->count && device >= types->last[place])
        place++;
    *first = place > 0 ? types->last[place - 1] : 0;
    *last = types->last[place];
}

/* A type's own nodes have its devices alone. Between types, the slower of their links between nodes or pods counts. */
static struct type_link type_link_of(const struct ppi_pricing *pricing, uint32_t a, uint32_t b)
{
    struct ppi_pricing own = *pricing;
    uint32_t first, last;
    struct type_link link, other;
    find_type(&first, &last, pricing->types, a);
    own.model = ppi_pricing_made(pricing, a)->model;
    own.pipeline.devices = last - first;
    own.types = NULL;
    if (b < last) {
        ppi_pricing_link(&link.latency, &link.rate, &own, a - first, b - first);
        return link;
    }
    ppi_model_link(&link.latency, &link.rate, own.model, UINT32_MAX);
    ppi_model_link(&other.latency, &other.rate, ppi_pricing_made(pricing, b)->model, UINT32_MAX);
    link.latency = link.latency > other.latency ? link.latency : other.latency;
    link.rate = link.rate < other.rate ? link.rate : other.rate;
    return link;
}

ppsched_status ppi_types_set_links(ppsched_config *config, const struct ppi_pricing *pricing, ppsched_error *error)
{
    uint32_t devices = pricing->pipeline.devices;
    const struct ppi_host *host = pricing->arena.host;
    size_t count = (size_t)devices * devices;
    double *latencies = ppi_allocate(host, count, 2 * sizeof *latencies);
    if (latencies == NULL)
        return ppi_fail_memory(error, "the price");
    double *rates = latencies + count;
    for (uint32_t a = 0; a < devices; a++)
        for (uint32_t b = a; b < devices; b++) {
            const struct type_link link = type_link_of(pricing, a, b);
            latencies[(size_t)a * devices + b] = latencies[(size_t)b * devices + a] = link.latency;
            rates[(size_t)a * devices + b] = rates[(size_t)b * devices + a] = link.rate;
        }
    ppsched_status status = ppi_config_set_values(config, PPSCHED_QUANTITY_P2P_TIME, latencies, count, error);
    if (status == PPSCHED_OK)
        status = ppi_config_set_values(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, rates, count, error);
    ppi_release(host, latencies);
    return status;
}
