/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: making a config, and setting its costs, placement, options and progress callback. */
#include "ir/config.h"

#include "api/model_end.h"
#include "api/null.h"
#include "base/sized.h"
#include "candidate/restage.h"
#include "ir/costs.h"
#include "ir/device_order.h"

ppsched_status ppsched_config_create(ppsched_config **out, int64_t devices, int64_t stages, int64_t microbatches,
                                     const ppsched_environment *environment, ppsched_error *error)
{
    struct ppi_host host;
    struct ppi_shape shape;
    PPI_REQUIRE(out);
    ppsched_status status = ppi_host_take(&host, environment, error);
    if (status == PPSCHED_OK)
        status = ppi_shape_make(&shape, devices, stages, microbatches, 1, error);
    if (status == PPSCHED_OK)
        status = ppi_config_create(out, &shape, &host, error);
    return status;
}

ppsched_status ppsched_config_copy(ppsched_config **out, const ppsched_config *config, ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(config);
    return ppi_config_copy(out, config, error);
}

void ppsched_config_destroy(ppsched_config *config)
{
    ppi_config_destroy(config);
}

uint32_t ppsched_config_devices(const ppsched_config *config)
{
    return config != NULL ? config->shape.devices : 0;
}

uint32_t ppsched_config_stages(const ppsched_config *config)
{
    return config != NULL ? config->shape.stages : 0;
}

uint32_t ppsched_config_microbatches(const ppsched_config *config)
{
    return config != NULL ? config->shape.microbatches : 0;
}

uint32_t ppsched_config_iterations(const ppsched_config *config)
{
    return config != NULL ? config->shape.iterations : 0;
}

ppsched_status ppsched_config_set_iterations(ppsched_config *config, int64_t iterations, ppsched_error *error)
{
    PPI_REQUIRE(config);
    const struct ppi_shape *old = &config->shape;
    struct ppi_shape shape;
    ppsched_status status = ppi_shape_make(&shape, old->devices, old->stages, old->microbatches, iterations, error);
    if (status == PPSCHED_OK)
        status = ppi_shape_cut(&shape, old->slices, error);
    if (status == PPSCHED_OK)
        config->shape = shape;
    return status;
}

uint32_t ppsched_config_slices(const ppsched_config *config)
{
    return config != NULL ? config->shape.slices : 0;
}

ppsched_status ppsched_config_set_slices(ppsched_config *config, int64_t slices, ppsched_error *error)
{
    PPI_REQUIRE(config);
    const struct ppi_values *scale = &config->values[PPSCHED_QUANTITY_SLICE_SCALE];
    if (scale->count > 1 && slices != config->shape.slices)
        return ppi_fail(error, PPSCHED_ERROR_LENGTH,
                        "slice_scale has %zu value%p, one per slice%s; clear slice_scale before you set %lld slice%p",
                        scale->count, ppi_has_stage_factors(config) ? " for each stage" : "", (long long)slices);
    return ppi_shape_cut(&config->shape, slices, error);
}

ppsched_status ppsched_config_set_placement(ppsched_config *config, int32_t placement, const uint32_t *map, size_t count,
                                            ppsched_error *error)
{
    PPI_REQUIRE(config);
    return ppi_config_set_placement(config, placement, map, count, error);
}

int32_t ppsched_config_placement(const ppsched_config *config)
{
    return config != NULL ? config->placement : PPSCHED_PLACEMENT_DEFAULT;
}

ppsched_status ppsched_config_set_weight_versions(ppsched_config *config, int64_t versions, ppsched_error *error)
{
    PPI_REQUIRE(config);
    if (versions < 0 || versions > PPI_MOST_VERSIONS)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "weight_versions is %lld; it must be 0 to %d", (long long)versions,
                        PPI_MOST_VERSIONS);
    config->weight_versions = (uint32_t)versions;
    return PPSCHED_OK;
}

ppsched_status ppsched_config_set_split_backward(ppsched_config *config, uint32_t is_allowed, ppsched_error *error)
{
    PPI_REQUIRE(config);
    if (is_allowed > 1)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "split_backward is %u; it must be 0 or 1", is_allowed);
    config->has_whole_backwards = is_allowed == 0;
    return PPSCHED_OK;
}

uint32_t ppsched_config_split_backward(const ppsched_config *config)
{
    return config != NULL && !config->has_whole_backwards;
}

ppsched_status ppsched_config_set_forward_only(ppsched_config *config, uint32_t is_forward_only, ppsched_error *error)
{
    PPI_REQUIRE(config);
    if (is_forward_only > 1)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "forward_only is %u; it must be 0 or 1", is_forward_only);
    config->is_forward_only = is_forward_only != 0;
    return PPSCHED_OK;
}

uint32_t ppsched_config_forward_only(const ppsched_config *config)
{
    return config != NULL && config->is_forward_only;
}

ppsched_status ppsched_config_order_devices(ppsched_config *config, const uint32_t *order, size_t count, ppsched_error *error)
{
    PPI_REQUIRE(config);
    PPI_REQUIRE(order);
    ppsched_status status = ppi_check_device_order(config->shape.devices, order, count, &config->host, error);
    return status == PPSCHED_OK ? ppi_config_order_devices(config, order, error) : status;
}

ppsched_status ppsched_config_set_sender_waits(ppsched_config *config, int32_t sender_waits, ppsched_error *error)
{
    PPI_REQUIRE(config);
    ppsched_status status = ppi_check_choice("sender_waits", sender_waits, PPSCHED_SENDER_WAITS_NEVER,
                                             PPSCHED_SENDER_WAITS_LIKE_KIND, error);
    if (status == PPSCHED_OK)
        config->senders_wait = sender_waits == PPSCHED_SENDER_WAITS_LIKE_KIND;
    return status;
}

int32_t ppsched_config_sender_waits(const ppsched_config *config)
{
    return config != NULL && config->senders_wait ? PPSCHED_SENDER_WAITS_LIKE_KIND : PPSCHED_SENDER_WAITS_NEVER;
}

ppsched_status ppsched_config_set_values(ppsched_config *config, int32_t quantity, const double *values, size_t count,
                                         ppsched_error *error)
{
    PPI_REQUIRE(config);
    if (count > 0)
        PPI_REQUIRE(values);
    if (!ppi_quantity_known(quantity))
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "there is no quantity %d; see enum ppsched_quantity", quantity);
    return ppi_config_set_values(config, quantity, values, count, error);
}

const double *ppsched_config_values(const ppsched_config *config, int32_t quantity, size_t *count)
{
    const struct ppi_values none = {NULL, 0};
    bool known = config != NULL && ppi_quantity_known(quantity);
    const struct ppi_values *list = known ? &config->values[quantity] : &none;
    if (count != NULL)
        *count = list->count;
    return list->values;
}

const char *ppsched_quantity_name(int32_t quantity)
{
    return ppi_quantity_name(quantity);
}

ppsched_status ppsched_config_set_option(ppsched_config *config, const char *name, const char *value, ppsched_error *error)
{
    PPI_REQUIRE(config);
    PPI_REQUIRE(name);
    return ppi_config_set_option(config, name, value, error);
}

ppsched_status ppsched_config_set_progress(ppsched_config *config, ppsched_progress_function tell, void *user,
                                           ppsched_error *error)
{
    PPI_REQUIRE(config);
    config->progress = tell;
    config->progress_user = user;
    return PPSCHED_OK;
}

ppsched_status ppsched_config_validate(const ppsched_config *config, ppsched_error *error)
{
    PPI_REQUIRE(config);
    struct ppi_instance instance;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t s = 0; s < config->shape.stages && status == PPSCHED_OK; s++)
        status = ppi_resolve_stage(config, s, &instance, error);
    return status;
}

ppsched_status ppi_take_model_end(ppsched_model_end *own, const ppsched_model_end **end, ppsched_error *error)
{
    if (*end == NULL)
        return PPSCHED_OK;
    ppsched_status status = ppi_take_sized(own, sizeof *own, sizeof(ppsched_model_end), *end, "ppsched_model_end", error);
    *end = own;
    if (status == PPSCHED_OK && own->reserved != 0)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "ppsched_model_end: reserved is not 0");
    return status;
}

ppsched_status ppsched_config_with_stages(ppsched_config **out, const ppsched_config *config, int64_t stages,
                                          const ppsched_model_end *embedding, const ppsched_model_end *head,
                                          ppsched_error *error)
{
    struct ppi_shape shape;
    ppsched_model_end first, last;
    PPI_REQUIRE(out);
    PPI_REQUIRE(config);
    const struct ppi_shape *old = &config->shape;
    ppsched_status status = ppi_shape_make(&shape, old->devices, stages, old->microbatches, old->iterations, error);
    if (status == PPSCHED_OK)
        status = ppi_shape_cut(&shape, old->slices, error);
    if (status == PPSCHED_OK)
        status = ppi_take_model_end(&first, &embedding, error);
    if (status == PPSCHED_OK)
        status = ppi_take_model_end(&last, &head, error);
    return status == PPSCHED_OK ? ppi_restage(out, config, &shape, embedding, head, NULL, error) : status;
}

ppsched_status ppsched_config_with_microbatches(ppsched_config **out, const ppsched_config *config, int64_t microbatches,
                                                ppsched_error *error)
{
    struct ppi_shape shape;
    PPI_REQUIRE(out);
    PPI_REQUIRE(config);
    const struct ppi_shape *old = &config->shape;
    ppsched_status status = ppi_shape_make(&shape, old->devices, old->stages, microbatches, old->iterations, error);
    if (status == PPSCHED_OK)
        status = ppi_shape_cut(&shape, old->slices, error);
    return status == PPSCHED_OK ? ppi_restage(out, config, &shape, NULL, NULL, NULL, error) : status;
}
