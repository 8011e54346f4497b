/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: the price of a told layout. */
#include "price/price.h"

#include "api/null.h"
#include "base/error.h"
#include "base/sized.h"

ppsched_status ppsched_price_create(ppsched_price **out, const ppsched_model *model, const ppsched_pipeline *pipeline,
                                    const ppsched_environment *environment, ppsched_error *error)
{
    struct ppi_host host;
    ppsched_pipeline own;
    PPI_REQUIRE(out);
    PPI_REQUIRE(model);
    ppsched_status status = ppi_take_sized(&own, sizeof own, sizeof(ppsched_pipeline), pipeline, "ppsched_pipeline", error);
    if (status == PPSCHED_OK)
        status = ppi_host_take(&host, environment, error);
    return status == PPSCHED_OK ? ppi_price_create(out, model, &own, &host, error) : status;
}

void ppsched_price_destroy(ppsched_price *price)
{
    ppi_price_destroy(price);
}

ppsched_status ppsched_price_get_step(ppsched_step_price *out, const ppsched_price *price, ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(price);
    return ppi_give_sized(out, &price->step, sizeof price->step, sizeof(ppsched_step_price), "ppsched_step_price", error);
}

ppsched_status ppsched_price_get_device(ppsched_device_price *out, const ppsched_price *price, uint32_t device,
                                        ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(price);
    if (device >= price->device_count)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "there is no device %u; give less than %u", device, price->device_count);
    return ppi_give_sized(out, &price->devices[device], sizeof *price->devices, sizeof(ppsched_device_price),
                          "ppsched_device_price", error);
}

ppsched_status ppsched_price_get_pipeline(ppsched_pipeline *out, const ppsched_price *price, ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(price);
    ppsched_pipeline own = price->pipeline;
    own.size = sizeof own;
    return ppi_give_sized(out, &own, sizeof own, sizeof(ppsched_pipeline), "ppsched_pipeline", error);
}

ppsched_status ppsched_model_get_pipeline_link(double *latency, double *bandwidth, const ppsched_model *model,
                                               const ppsched_pipeline *pipeline, uint32_t from, uint32_t to,
                                               ppsched_error *error)
{
    struct ppi_pricing pricing = {.model = model};
    double time, rate;
    PPI_REQUIRE(model);
    ppsched_status status = ppi_take_sized(&pricing.pipeline, sizeof pricing.pipeline, sizeof(ppsched_pipeline), pipeline,
                                           "ppsched_pipeline", error);
    if (status == PPSCHED_OK)
        status = ppi_pricing_check_order(model, &pricing.pipeline, error);
    if (status != PPSCHED_OK)
        return status;
    if (!model->has_device)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "links need a device; create the model with an accelerator");
    uint32_t last = from > to ? from : to;
    pricing.pipeline.devices = pricing.pipeline.devices > 0 ? pricing.pipeline.devices : 1;
    if (last >= pricing.pipeline.devices)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "there is no device %u; give less than %u", last, pricing.pipeline.devices);
    ppi_pricing_link(&time, &rate, &pricing, from, to);
    if (latency != NULL)
        *latency = time;
    if (bandwidth != NULL)
        *bandwidth = rate;
    return PPSCHED_OK;
}

ppsched_status ppsched_model_get_pipeline_update_cost(ppsched_update_cost *out, const ppsched_model *model,
                                                      const ppsched_pipeline *pipeline, double parameters,
                                                      double expert_parameters, ppsched_error *error)
{
    ppsched_pipeline own;
    ppsched_update_cost cost;
    PPI_REQUIRE(out);
    PPI_REQUIRE(model);
    ppsched_status status = ppi_take_sized(&own, sizeof own, sizeof(ppsched_pipeline), pipeline, "ppsched_pipeline", error);
    if (status == PPSCHED_OK)
        status = ppi_pricing_check_order(model, &own, error);
    if (status == PPSCHED_OK)
        status = ppi_model_check_parameters(parameters, expert_parameters, error);
    if (status != PPSCHED_OK)
        return status;
    bool is_first = own.rank_order == PPSCHED_RANK_ORDER_PIPELINE_FIRST && own.devices > 0;
    ppi_model_update_between(&cost, model, parameters, expert_parameters, is_first ? own.devices : 1);
    return ppi_give_sized(out, &cost, sizeof cost, sizeof(ppsched_update_cost), "ppsched_update_cost", error);
}

ppsched_status ppsched_model_get_copies_time(double *out, const ppsched_model *model, uint32_t copies, int64_t devices,
                                             ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(model);
    if (!model->has_device)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "times need a device; create the model with an accelerator");
    if (devices < 1 || copies > devices)
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "devices is %lld; it must be at least 1, and at least the number of copies, %u", (long long)devices,
                        copies);
    *out = ppi_model_copies_time(model, copies, (double)devices);
    return PPSCHED_OK;
}
