/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: models with measured costs, and where their figures come from. */
#include <ppsched/layer_table.h>

#include "api/null.h"
#include "base/error.h"
#include "base/sized.h"
#include "model/table.h"

ppsched_status ppsched_model_create_measured(ppsched_model **out, const ppsched_description *description,
                                             const ppsched_training *training, const ppsched_accelerator *accelerator,
                                             const ppsched_layer_table *table, const ppsched_environment *environment,
                                             ppsched_error *error)
{
    struct ppi_host host;
    ppsched_training own;
    ppsched_accelerator device;
    ppsched_layer_table measured;
    PPI_REQUIRE(out);
    PPI_REQUIRE(description);
    PPI_REQUIRE(table);
    ppsched_status status = ppi_take_sized(&own, sizeof own, sizeof(ppsched_training), training, "ppsched_training", error);
    if (status == PPSCHED_OK)
        status = ppi_take_sized(&device, sizeof device, sizeof(ppsched_accelerator), accelerator, "ppsched_accelerator", error);
    if (status == PPSCHED_OK)
        status = ppi_take_sized(&measured, sizeof measured, sizeof(ppsched_layer_table), table, "ppsched_layer_table", error);
    if (status == PPSCHED_OK)
        status = ppi_host_take(&host, environment, error);
    if (status != PPSCHED_OK)
        return status;
    return ppi_model_create(out, description, &own, accelerator != NULL ? &device : NULL, &measured, &host, error);
}

ppsched_status ppsched_model_get_row_measure(ppsched_row_measure *out, const ppsched_model *model, uint32_t row,
                                             ppsched_error *error)
{
    ppsched_row_measure own;
    PPI_REQUIRE(out);
    PPI_REQUIRE(model);
    if (row >= model->row_count)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "row is %u; the model has rows 0 to %u", row, model->row_count - 1);
    ppi_describe_measure(&own, model, row);
    return ppi_give_sized(out, &own, sizeof own, sizeof(ppsched_row_measure), "ppsched_row_measure", error);
}

ppsched_status ppsched_model_get_link(double *latency, double *bandwidth, const ppsched_model *model, int64_t devices,
                                      ppsched_error *error)
{
    double time, rate;
    PPI_REQUIRE(model);
    if (devices < 1)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "devices is %lld; it must be at least 1", (long long)devices);
    if (!model->has_device)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "links need a device; create the model with an accelerator");
    ppi_model_link(&time, &rate, model, (double)devices);
    if (latency != NULL)
        *latency = time;
    if (bandwidth != NULL)
        *bandwidth = rate;
    return PPSCHED_OK;
}
