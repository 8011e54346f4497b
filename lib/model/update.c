/* SPDX-License-Identifier: Apache-2.0 */
/* What a step does once: the optimizer's time, and that of sums of gradients and gathers of weights. */
#include "model/links.h"
#include "model/rates.h"

/* Gradients are all-reduced; with sharded states they are reduce-scattered and the weights all-gathered; sharded weights are
 * gathered for both forward and backward, also frozen ones, of which nothing else is done. */
static void add_collectives(ppsched_update_cost *out, const ppsched_model *model, double parameters, double devices)
{
    const ppsched_training *training = &model->training;
    struct ppi_spread group = {devices,
                               (double)training->tensor_parallel * training->context_parallel * training->data_parallel};
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

void ppi_model_update(ppsched_update_cost *out, const ppsched_model *model, double parameters, double expert_parameters)
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
    add_collectives(&dense, model, parameters - expert_parameters, common);
    add_collectives(&expert, model, expert_parameters, experts);
    out->gradient_time = dense.gradient_time + expert.gradient_time;
    out->parameter_time = dense.parameter_time + expert.parameter_time;
    out->reduce_time = (dense.gradient_time + dense.parameter_time) + (expert.gradient_time + expert.parameter_time);
}
