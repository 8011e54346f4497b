/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: the cost model of a described model, its accelerators, and the layers that follow from it. */
#include <ppsched/price.h>

#include "api/null.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/sized.h"
#include "model/accelerators.h"
#include "model/model.h"

/* --- accelerators --- */

uint32_t ppsched_accelerator_count(void)
{
    return ppi_accelerator_count();
}

const ppsched_accelerator *ppsched_accelerator_at(uint32_t index)
{
    return ppi_accelerator_at(index);
}

/* --- making a model --- */

ppsched_status ppsched_model_create(ppsched_model **out, const ppsched_description *description,
                                    const ppsched_training *training, const ppsched_accelerator *accelerator,
                                    const ppsched_environment *environment, ppsched_error *error)
{
    struct ppi_host host;
    ppsched_training own;
    ppsched_accelerator device;
    PPI_REQUIRE(out);
    PPI_REQUIRE(description);
    ppsched_status status = ppi_take_sized(&own, sizeof own, sizeof(ppsched_training), training, "ppsched_training", error);
    if (status == PPSCHED_OK)
        status = ppi_take_sized(&device, sizeof device, sizeof(ppsched_accelerator), accelerator, "ppsched_accelerator", error);
    if (status == PPSCHED_OK)
        status = ppi_host_take(&host, environment, error);
    if (status != PPSCHED_OK)
        return status;
    return ppi_model_create(out, description, &own, accelerator != NULL ? &device : NULL, NULL, &host, error);
}

void ppsched_model_destroy(ppsched_model *model)
{
    ppi_model_destroy(model);
}

/* --- costs of a model --- */

static ppsched_status check_row(const ppsched_model *model, uint32_t row, ppsched_error *error)
{
    if (row >= model->row_count)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "row is %u; the model has rows 0 to %u", row, model->row_count - 1);
    return PPSCHED_OK;
}

static ppsched_status check_pass(const ppsched_model *model, uint32_t row, int32_t pass, ppsched_error *error)
{
    ppsched_status status = check_row(model, row, error);
    if (status == PPSCHED_OK && (pass < 0 || pass >= PPI_MODEL_PASSES))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "pass is %d; passes are 0 to %d", pass, PPI_MODEL_PASSES - 1);
    return status;
}

uint32_t ppsched_model_row_count(const ppsched_model *model)
{
    return model != NULL ? model->row_count : 0;
}

ppsched_status ppsched_model_get_row(ppsched_model_row *out, const ppsched_model *model, uint32_t row, ppsched_error *error)
{
    ppsched_model_row own;
    PPI_REQUIRE(out);
    PPI_REQUIRE(model);
    ppsched_status status = check_row(model, row, error);
    if (status != PPSCHED_OK)
        return status;
    ppi_model_describe_row(&own, model, row);
    return ppi_give_sized(out, &own, sizeof own, sizeof(ppsched_model_row), "ppsched_model_row", error);
}

ppsched_status ppsched_model_get_parameters(ppsched_parameters *out, const ppsched_model *model, ppsched_error *error)
{
    ppsched_parameters own;
    PPI_REQUIRE(out);
    PPI_REQUIRE(model);
    ppi_model_count(&own, model);
    return ppi_give_sized(out, &own, sizeof own, sizeof(ppsched_parameters), "ppsched_parameters", error);
}

ppsched_status ppsched_model_get_pass_cost(ppsched_pass_cost *out, const ppsched_model *model, uint32_t row, int32_t pass,
                                           ppsched_error *error)
{
    ppsched_pass_cost own;
    PPI_REQUIRE(out);
    PPI_REQUIRE(model);
    ppsched_status status = check_pass(model, row, pass, error);
    if (status != PPSCHED_OK)
        return status;
    ppi_model_price(&own, model, row, pass);
    return ppi_give_sized(out, &own, sizeof own, sizeof(ppsched_pass_cost), "ppsched_pass_cost", error);
}

ppsched_status ppsched_model_get_attention_share(double *out, const ppsched_model *model, uint32_t row, int32_t pass,
                                                 ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(model);
    ppsched_status status = check_pass(model, row, pass, error);
    if (status == PPSCHED_OK)
        *out = ppi_model_attention_share(model, row, pass);
    return status;
}

ppsched_status ppsched_model_get_memory(ppsched_layer_memory *out, const ppsched_model *model, uint32_t row,
                                        ppsched_error *error)
{
    ppsched_layer_memory own;
    PPI_REQUIRE(out);
    PPI_REQUIRE(model);
    ppsched_status status = check_row(model, row, error);
    if (status != PPSCHED_OK)
        return status;
    ppi_model_hold(&own, model, row);
    return ppi_give_sized(out, &own, sizeof own, PPI_SIZE_UP_TO(ppsched_layer_memory, expert_trained), "ppsched_layer_memory",
                          error);
}

ppsched_status ppsched_model_get_update_cost(ppsched_update_cost *out, const ppsched_model *model, double parameters,
                                             double expert_parameters, ppsched_error *error)
{
    ppsched_update_cost own;
    PPI_REQUIRE(out);
    PPI_REQUIRE(model);
    ppsched_status status = ppi_model_check_parameters(parameters, expert_parameters, error);
    if (status != PPSCHED_OK)
        return status;
    ppi_model_update(&own, model, parameters, expert_parameters);
    return ppi_give_sized(out, &own, sizeof own, sizeof(ppsched_update_cost), "ppsched_update_cost", error);
}

ppsched_status ppsched_layers_from_model(const ppsched_layers **out, const ppsched_model *model,
                                         const ppsched_calibration *calibration, ppsched_error *error)
{
    ppsched_calibration own;
    PPI_REQUIRE(out);
    PPI_REQUIRE(model);
    ppsched_status status = ppi_take_sized(&own, sizeof own, sizeof(ppsched_calibration), calibration, "ppsched_calibration",
                                           error);
    return status == PPSCHED_OK ? ppi_model_layers(out, model, &own, false, error) : status;
}

ppsched_status ppsched_model_get_megatron_memory(ppsched_megatron_memory *out, const ppsched_model *model,
                                                 const ppsched_megatron_pipeline *pipeline, ppsched_error *error)
{
    ppsched_megatron_memory own;
    ppsched_megatron_pipeline cut;
    PPI_REQUIRE(out);
    PPI_REQUIRE(model);
    ppsched_status status = ppi_take_sized(&cut, sizeof cut, sizeof(ppsched_megatron_pipeline), pipeline,
                                           "ppsched_megatron_pipeline", error);
    if (status == PPSCHED_OK && cut.devices == 0)
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "ppsched_megatron_pipeline: devices is 0; it must be at least 1");
    if (status == PPSCHED_OK && (cut.selective > 1 || cut.reserved != 0))
        status = ppi_fail(error, PPSCHED_ERROR_RANGE,
                          "ppsched_megatron_pipeline: selective is %u, reserved is %u; selective must be 0 or 1, reserved 0",
                          cut.selective, cut.reserved);
    if (status != PPSCHED_OK)
        return status;
    status = ppi_model_megatron(&own, model, &cut, error);
    if (status != PPSCHED_OK)
        return status;
    return ppi_give_sized(out, &own, sizeof own, sizeof(ppsched_megatron_memory), "ppsched_megatron_memory", error);
}
