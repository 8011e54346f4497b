/* SPDX-License-Identifier: Apache-2.0 */
/* Times of a layer's passes: amounts of work over rates, by the efficiency for their size; collectives by a ring or
 * all-to-all. */
#include "model/blocks.h"

/* --- rates --- */

static double share_at(const ppsched_efficiency *list, uint32_t count, double size)
{
    for (uint32_t i = 0; i < count; i++)
        if (size >= list[i].least)
            return list[i].share;
    return count > 0 ? list[count - 1].share : 1;
}

static double time_of(double amount, double pieces, double rate, const ppsched_efficiency *list, uint32_t count)
{
    double one = pieces > 0 ? amount / pieces : amount;
    return amount > 0 ? amount / (rate * share_at(list, count, one)) : 0;
}

static double or_1(double value)
{
    return value > 0 ? value : 1;
}

/* --- links --- */

struct group {
    double count, span; /* devices of the group, and devices that they are spread over */
};

static struct group group_of(const ppsched_model *model, enum ppi_group group)
{
    const ppsched_training *training = &model->training;
    double t = training->tensor_parallel, c = training->context_parallel;
    if (group == PPI_GROUP_TENSOR)
        return (struct group){t, t};
    if (group == PPI_GROUP_CONTEXT)
        return (struct group){c, t * c};
    if (group == PPI_GROUP_EXPERT_TENSOR)
        return (struct group){training->expert_tensor_parallel, training->expert_tensor_parallel};
    return (struct group){training->expert_parallel, (double)training->expert_parallel * training->expert_tensor_parallel};
}

static double over(const ppsched_link_rate *link, double bytes)
{
    return bytes / (link->bandwidth * or_1(link->efficiency));
}

/* The part within the node uses the inside link, the rest the link between nodes, one after the other. */
static double all_to_all(const ppsched_model *model, struct group group, double bytes)
{
    const ppsched_accelerator *device = &model->device;
    double spread = group.span / group.count, near = device->node_devices / spread;
    near = near < 1 ? 1 : near > group.count ? group.count : near;
    double inside = (near - 1) / group.count * bytes, outside = (group.count - near) / group.count * bytes;
    double time = inside > 0 ? device->inside.latency + over(&device->inside, inside) : 0;
    return time + (outside > 0 ? device->between.latency + over(&device->between, outside) : 0);
}

static double ring(const ppsched_model *model, struct group group, enum ppi_collective collective, double bytes)
{
    const ppsched_accelerator *device = &model->device;
    const ppsched_link_rate *link = group.span <= device->node_devices ? &device->inside : &device->between;
    double factor = collective == PPI_ALL_REDUCE ? 2 * or_1(link->all_reduce) : or_1(link->all_gather);
    return link->latency + over(link, factor * (bytes * (1 - 1 / group.count)));
}

static double collective_time(const ppsched_model *model, const struct ppi_op_cost *op, const struct ppi_layer_pass *pass)
{
    struct group group = group_of(model, op->group);
    if (pass->collective == PPI_NO_COLLECTIVE || group.count <= 1)
        return 0;
    if (pass->collective == PPI_ALL_TO_ALL)
        return all_to_all(model, group, pass->sent);
    return ring(model, group, pass->collective, pass->sent);
}

/* --- layers --- */

/* The vector and memory work of a reducing collective counts as communication. */
static void add_times(ppsched_pass_cost *out, const ppsched_model *model, const struct ppi_op_cost *op,
                      const struct ppi_layer_pass *pass)
{
    const ppsched_accelerator *device = &model->device;
    double vector = time_of(pass->vector, 1, device->vector_rate, device->vector_efficiency, device->vector_efficiency_count);
    double memory = time_of(pass->bytes, 1, device->memory_bandwidth, device->memory_efficiency,
                            device->memory_efficiency_count);
    bool is_sum = pass->collective == PPI_ALL_REDUCE || pass->collective == PPI_GATHER;
    out->matrix_time += time_of(pass->matrix, op->pieces, device->matrix_rate, device->matrix_efficiency,
                                device->matrix_efficiency_count);
    out->vector_time += is_sum ? 0 : vector;
    out->memory_time += is_sum ? 0 : memory;
    out->communication_time += collective_time(model, op, pass) + (is_sum ? vector + memory : 0);
}

static void add_pass(ppsched_pass_cost *out, const ppsched_model *model, const struct ppi_op_cost *op,
                     const struct ppi_layer_pass *pass)
{
    out->matrix_operations += pass->matrix;
    out->vector_operations += pass->vector;
    out->memory_bytes += pass->bytes;
    out->communication_bytes += pass->sent;
    if (model->has_device)
        add_times(out, model, op, pass);
}

/* Whether the row has no backward. */
static bool is_frozen(const ppsched_model *model, uint32_t row)
{
    return model->rows[row].tower != NULL && model->rows[row].tower->is_frozen;
}

void ppi_model_price(ppsched_pass_cost *out, const ppsched_model *model, uint32_t row, int32_t pass)
{
    struct ppi_ops ops;
    bool again = pass == PPSCHED_MODEL_PASS_SELECTIVE || pass == PPSCHED_MODEL_PASS_FULL;
    *out = (ppsched_pass_cost){.size = sizeof *out};
    if (pass != PPSCHED_MODEL_PASS_FORWARD && is_frozen(model, row))
        return;
    for (uint32_t part = 0; ppi_ops_of_part(&ops, model, row, part); part++)
        for (uint32_t i = 0; i < ops.count; i++)
            if (pass != PPSCHED_MODEL_PASS_SELECTIVE || ops.list[i].is_core)
                add_pass(out, model, &ops.list[i], &ops.list[i].pass[again ? PPSCHED_MODEL_PASS_FORWARD : pass]);
    out->time = out->matrix_time + out->vector_time + out->memory_time + out->communication_time;
}

/* --- once per step --- */

/* Gradients are all-reduced; with sharded states they are reduce-scattered and the weights all-gathered; sharded weights are
 * gathered for both forward and backward. */
static double reduce_time(const ppsched_model *model, double parameters, double devices)
{
    const ppsched_training *training = &model->training;
    struct group group = {devices, (double)training->tensor_parallel * training->context_parallel * training->data_parallel};
    if (devices <= 1 || parameters == 0)
        return 0;
    if (training->sharding == 0)
        return ring(model, group, PPI_ALL_REDUCE, parameters * training->gradient_bytes);
    return ring(model, group, PPI_GATHER, parameters * training->gradient_bytes) +
           (training->sharding == 3 ? 2 : 1) * ring(model, group, PPI_GATHER, parameters * training->weight_bytes);
}

void ppi_model_update(ppsched_update_cost *out, const ppsched_model *model, double parameters, double expert_parameters)
{
    const ppsched_training *training = &model->training;
    const ppsched_accelerator *device = &model->device;
    double common = (double)training->data_parallel * training->context_parallel;
    double experts = common * training->tensor_parallel / training->expert_parallel / training->expert_tensor_parallel;
    double mine = training->sharding == 0 ? parameters
                                          : (parameters - expert_parameters) / common + expert_parameters / experts;
    double bytes = mine * (2 * training->optimizer_bytes + training->gradient_bytes + training->weight_bytes);
    *out = (ppsched_update_cost){.size = sizeof *out};
    if (!model->has_device)
        return;
    out->optimizer_time = time_of(bytes, 1, device->memory_bandwidth, device->memory_efficiency,
                                  device->memory_efficiency_count);
    out->reduce_time = reduce_time(model, parameters - expert_parameters, common) +
                       reduce_time(model, expert_parameters, experts);
}
