/* SPDX-License-Identifier: Apache-2.0 */
/* What the layers of a layout cost, on the devices of each type. */
#include "base/error.h"
#include "job/job.h"
#include "model/table.h"

ppsched_status ppi_job_costs_make(struct ppi_job_costs *costs, const ppsched_job *job, const ppsched_job_layout *layout,
                                  bool *is_possible, ppsched_error *error)
{
    ppsched_training training = ppi_job_training(job, layout);
    const ppsched_layer_table *table = ppi_job_table(job);
    ppsched_status status = PPSCHED_OK;
    *is_possible = true;
    costs->count = job->type_count > 0 ? job->type_count : 1;
    for (uint32_t i = 0; i < costs->count; i++) {
        const ppsched_model *base = job->type_count > 0 ? job->types[i].base : job->base;
        status = ppi_model_create(&costs->models[i], base->description, &training, &base->device, NULL, &base->host, error);
        *is_possible = status != PPSCHED_ERROR_RANGE;
        if (status == PPSCHED_OK && table != NULL)
            status = ppi_model_measure(costs->models[i], table, error);
        if (status == PPSCHED_OK)
            status = ppi_priced_model_make(&costs->made[i], costs->models[i], error);
        if (status != PPSCHED_OK)
            return status;
    }
    return costs->count > 1 ? ppi_types_join(costs->made, costs->count, job->gpus, error) : PPSCHED_OK;
}

void ppi_job_costs_clear(struct ppi_job_costs *costs)
{
    for (uint32_t i = 0; i < costs->count; i++) {
        ppi_priced_model_clear(&costs->made[i]);
        ppi_model_destroy(costs->models[i]);
    }
    *costs = (struct ppi_job_costs){.count = 0};
}

void ppi_job_costs_share(struct ppi_job_costs *costs, uint32_t data_parallel)
{
    for (uint32_t i = 0; i < costs->count; i++)
        costs->models[i]->training.data_parallel = data_parallel;
}

void ppi_job_costs_shard(struct ppi_job_costs *costs, uint32_t sharding)
{
    for (uint32_t i = 0; i < costs->count; i++) {
        costs->models[i]->training.sharding = sharding;
        for (uint32_t row = 0; row < costs->models[i]->row_count; row++)
            ppi_model_hold(&costs->made[i].rows[row].memory, costs->models[i], row);
    }
}
