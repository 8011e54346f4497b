/* SPDX-License-Identifier: Apache-2.0 */
/* What a step does once: the optimizer's time, and that of sums of gradients and gathers of weights. */
#include "base/checked.h"
#include "base/error.h"
#include "model/links.h"
#include "model/rates.h"

/* A group of `devices` over the replicas, with `between` devices of a pipeline from a replica to the next: in a node those
 * within a replica's stage, for each replica whose stage is there. */
static struct ppi_spread spread_of(const ppsched_model *model, double devices, uint32_t between)
{
    const ppsched_training *training = &model->training;
    uint64_t stage = (uint64_t)training->tensor_parallel * training->context_parallel, node = model->device.node_devices;
    struct ppi_spread group = {devices, (double)stage * training->data_parallel * between, 0};
    if (between == 1)
        return group;
    double own = devices / training->data_parallel, near = (double)node / ((double)stage / own);
    uint64_t replicas = node / (stage * between);
    near = near < 1 ? 1 : near > own ? own : near;
    group.near = near * (double)(replicas < 1 ? 1 : replicas);
    return group;
}

/* Gradients are all-reduced; with sharded states they are reduce-scattered and the weights all-gathered; sharded weights are
 * gathered for both forward and backward, also frozen ones, of which nothing else is done. */
static void add_collectives(ppsched_update_cost *out, const ppsched_model *model, double parameters, double devices,
                            uint32_t between)
{
    const ppsched_training *training = &model->training;
    struct ppi_spread group = spread_of(model, devices, between);
    if (devices <= 1 || parameters == 0)
        return;
    bool is_sharded = training->sharding > 0, is_trained = (training->flags & PPSCHED_TRAINING_FLAG_FROZEN_WEIGHTS) == 0;
    if (is_trained)
        out->gradient_time += ppi_collective_time(model, group, is_sharded ? PPI_GATHER : PPI_ALL_REDUCE,
                                                  parameters * training->gradient_bytes);
    if (training->sharding == 3 || (is_sharded && is_trained))
        out->parameter_time += (training->sharding == 3 ? 2 : 1) *
                               ppi_collective_time(model, group, PPI_GATHER, parameters * training->weight_bytes);
}

void ppi_model_update_between(ppsched_update_cost *out, const ppsched_model *model, double parameters, double expert_parameters,
                              uint32_t between)
{
    const ppsched_training *training = &model->training;
    double common = (double)training->data_parallel * training->context_parallel;
    double experts = common * training->tensor_parallel / training->expert_parallel / training->expert_tensor_parallel;
    double mine = training->sharding == 0 ? parameters
                                          : (parameters - expert_parameters) / common + expert_parameters / experts;
    double bytes = mine * (2 * training->optimizer_bytes + training->gradient_bytes + training->weight_bytes);
    *out = (ppsched_update_cost){.size = sizeof *out};
    if (!model->has_device)
        return;
    bool is_trained = (training->flags & PPSCHED_TRAINING_FLAG_FROZEN_WEIGHTS) == 0;
    out->optimizer_time = is_trained ? ppi_memory_time(model, bytes) : 0;
    ppsched_update_cost dense = *out, expert = *out;
    add_collectives(&dense, model, parameters - expert_parameters, common, between);
    add_collectives(&expert, model, expert_parameters, experts, between);
    out->gradient_time = dense.gradient_time + expert.gradient_time;
    out->parameter_time = dense.parameter_time + expert.parameter_time;
    out->reduce_time = (dense.gradient_time + dense.parameter_time) + (expert.gradient_time + expert.parameter_time);
}

void ppi_model_update(ppsched_update_cost *out, const ppsched_model *model, double parameters, double expert_parameters)
{
    ppi_model_update_between(out, model, parameters, expert_parameters, 1);
}

ppsched_status ppi_model_check_parameters(double parameters, double expert_parameters, ppsched_error *error)
{
    if (expert_parameters >= 0 && parameters >= expert_parameters && ppi_is_finite(parameters))
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE,
                    "parameters is %g, expert_parameters %g; both must be finite and at least 0, and expert_parameters at "
                    "most parameters",
                    parameters, expert_parameters);
}

double ppi_model_copies_time(const ppsched_model *model, uint32_t copies, double devices)
{
    struct ppi_spread group = {copies, devices, devices <= model->device.node_devices ? copies : 1};
    ppsched_layer_memory memory;
    uint32_t row = 0;
    while (row < model->row_count && model->rows[row].role != PPSCHED_MODEL_ROLE_EMBEDDING)
        row++;
    bool is_copied = model->shape->mtp_layers > 0 || ppi_model_has_flag(model, PPSCHED_DESCRIPTION_FLAG_TIED);
    if (!is_copied || copies < 2 || model->training.adapter_rank > 0 || row == model->row_count)
        return 0;
    ppi_model_hold(&memory, model, row);
    if (memory.gradients == 0) /* frozen */
        return 0;
    return ppi_collective_time(model, group, PPI_ALL_REDUCE, memory.gradients);
}
