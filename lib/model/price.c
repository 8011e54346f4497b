/* SPDX-License-Identifier: Apache-2.0 */
/* Times of a layer's passes: amounts of work over rates, by the efficiency for their size; collectives, and what of them is
 * hidden; the time of each op on the device and on the host. */
#include "model/links.h"
#include "model/rates.h"
#include "model/table.h"

/* Pieces that the host launches in the time of an op. */
static const double pieces_at_once = 3;

enum group { TENSOR, CONTEXT, EXPERT, GROUPS };

/* A pass in the making. */
struct pricing {
    const ppsched_model *model;
    ppsched_pass_cost *out;
    double sent[GROUPS], hidden[GROUPS]; /* seconds of collectives, and of these beside matrices */
    uint32_t count;                      /* ops with any work */
    double launches;                     /* of these, a separate one for each piece */
};

static enum group group_of(enum ppi_group group)
{
    if (group == PPI_GROUP_CONTEXT)
        return CONTEXT;
    return group == PPI_GROUP_EXPERT ? EXPERT : TENSOR;
}

static uint32_t overlap_of(enum ppi_group group)
{
    if (group == PPI_GROUP_CONTEXT)
        return PPSCHED_TRAINING_FLAG_OVERLAPS_CONTEXT;
    return group == PPI_GROUP_EXPERT ? PPSCHED_TRAINING_FLAG_OVERLAPS_EXPERTS : PPSCHED_TRAINING_FLAG_OVERLAPS_TENSOR;
}

struct ppi_op_times ppi_op_times(const ppsched_model *model, const struct ppi_op_cost *op, const struct ppi_layer_pass *pass)
{
    double vector = ppi_vector_time(model, pass->vector),
           memory = ppi_memory_time(model, pass->bytes + ppi_quantization_bytes(model, pass)),
           matrix = ppi_matrix_time(model, op, pass);
    if (model->device.memory_hidden > 0 && matrix > 0) {
        double own = ppi_memory_time(model, pass->bytes);
        memory -= model->device.memory_hidden * (own < matrix ? own : matrix);
    }
    bool is_sum = pass->collective == PPI_ALL_REDUCE || pass->collective == PPI_GATHER;
    struct ppi_spread group = ppi_spread_of(model, op->group);
    double sent = pass->collective == PPI_ALL_TO_ALL ? ppi_exchange_time(model, group, pass->sent, op->copies)
                                                     : ppi_collective_time(model, group, pass->collective, pass->sent);
    return (struct ppi_op_times){.matrix = matrix,
                                 .vector = is_sum ? 0 : vector,
                                 .memory = is_sum ? 0 : memory,
                                 .sent = sent + (is_sum ? vector + memory : 0),
                                 .is_any = pass->matrix > 0 || pass->vector > 0 || pass->bytes > 0 || pass->sent > 0};
}

static void add_times(struct pricing *pricing, const struct ppi_op_cost *op, const struct ppi_layer_pass *pass)
{
    const ppsched_model *model = pricing->model;
    const struct ppi_op_times times = ppi_op_times(model, op, pass);
    ppsched_pass_cost *out = pricing->out;
    out->matrix_time += times.matrix;
    out->vector_time += times.vector;
    out->memory_time += times.memory;
    double hidden = (model->training.flags & overlap_of(op->group)) != 0 ? model->device.hidden_share * times.sent : 0;
    out->communication_time += times.sent - hidden;
    pricing->sent[group_of(op->group)] += times.sent - hidden;
    pricing->hidden[group_of(op->group)] += hidden;
    pricing->count += times.is_any;
    pricing->launches += times.is_any + (pass->matrix > 0 && op->pieces > 1 ? (op->pieces - 1) / pieces_at_once : 0);
}

static void add_pass(struct pricing *pricing, const struct ppi_op_cost *op, const struct ppi_layer_pass *pass)
{
    ppsched_pass_cost *out = pricing->out;
    out->matrix_operations += pass->matrix;
    out->vector_operations += pass->vector;
    out->memory_bytes += pass->bytes;
    out->communication_bytes += pass->sent;
    if (pricing->model->has_device)
        add_times(pricing, op, pass);
}

bool ppi_row_is_frozen(const ppsched_model *model, uint32_t row)
{
    return model->rows[row].tower != NULL && model->rows[row].tower->is_frozen;
}

/* Exchanges of experts hide behind another microbatch's work of any kind, other collectives behind this layer's matrices;
 * nothing hides behind less than it lasts, and matrices are slower beside collectives. */
static void hide(struct pricing *pricing)
{
    const ppsched_accelerator *device = &pricing->model->device;
    ppsched_pass_cost *out = pricing->out;
    double near = pricing->hidden[TENSOR] + pricing->hidden[CONTEXT], far = pricing->hidden[EXPERT];
    double beside = near < out->matrix_time ? near : out->matrix_time, left = near > 0 ? 1 - beside / near : 0;
    double work = out->matrix_time - beside + out->vector_time + out->memory_time, across = far < work ? far : work;
    double matrices = out->matrix_time - beside < across ? out->matrix_time : beside + across;
    out->communication_time += near - beside + far - across;
    out->tensor_time = pricing->sent[TENSOR] + left * pricing->hidden[TENSOR];
    out->context_time = pricing->sent[CONTEXT] + left * pricing->hidden[CONTEXT];
    out->expert_time = pricing->sent[EXPERT] + far - across;
    if (device->slowdown > 1)
        out->matrix_time += matrices * (1 - 1 / device->slowdown);
}

/* Each op takes its time on the device. */
static void close(struct pricing *pricing)
{
    ppsched_pass_cost *out = pricing->out;
    hide(pricing);
    out->launch_time = pricing->count * pricing->model->device.op_time;
    out->time = out->matrix_time + out->vector_time + out->memory_time + out->communication_time + out->launch_time;
}

bool ppi_is_computed(const ppsched_model *model, const struct ppi_op_cost *op, int32_t pass)
{
    if (pass == PPSCHED_MODEL_PASS_WEIGHT && (model->training.flags & PPSCHED_TRAINING_FLAG_FROZEN_WEIGHTS) != 0)
        return op->is_adapter;
    if (pass == PPSCHED_MODEL_PASS_MODULES)
        return (op->modules & model->training.recompute_modules) != 0;
    return pass != PPSCHED_MODEL_PASS_SELECTIVE || op->is_core;
}

/* Prices a pass on the device; the result is the number of launches. */
static double price_pass(ppsched_pass_cost *out, const ppsched_model *model, uint32_t row, int32_t pass)
{
    struct ppi_ops ops;
    struct pricing pricing = {.model = model, .out = out};
    bool again = pass >= PPSCHED_MODEL_PASS_SELECTIVE;
    *out = (ppsched_pass_cost){.size = sizeof *out};
    if (pass != PPSCHED_MODEL_PASS_FORWARD && ppi_row_is_frozen(model, row))
        return 0;
    for (uint32_t part = 0; ppi_ops_of_part(&ops, model, row, part); part++)
        for (uint32_t i = 0; i < ops.count; i++)
            if (ppi_is_computed(model, &ops.list[i], pass))
                add_pass(&pricing, &ops.list[i], &ops.list[i].pass[again ? PPSCHED_MODEL_PASS_FORWARD : pass]);
    close(&pricing);
    return pricing.launches;
}

/* The host may need longer to launch a pass than the device to run it. It launches both parts of a backward in one go: what
 * is missing counts for the gradients of the input. */
static void wait_for_host(ppsched_pass_cost *out, const ppsched_model *model, uint32_t row, int32_t pass, double launches)
{
    double ready = out->time;
    bool is_launched = model->device.host_time > 0 && (model->training.flags & PPSCHED_TRAINING_FLAG_GRAPHS) == 0;
    if (!is_launched || pass == PPSCHED_MODEL_PASS_WEIGHT)
        return;
    if (pass == PPSCHED_MODEL_PASS_INPUT) {
        ppsched_pass_cost weight;
        launches += price_pass(&weight, model, row, PPSCHED_MODEL_PASS_WEIGHT);
        ready += weight.time;
    }
    double late = launches * model->device.host_time - ready;
    if (late > 0) {
        out->launch_time += late;
        out->time += late;
    }
}

void ppi_model_price(ppsched_pass_cost *out, const ppsched_model *model, uint32_t row, int32_t pass)
{
    double launches = price_pass(out, model, row, pass);
    wait_for_host(out, model, row, pass, launches);
    if (model->measures != NULL)
        ppi_measured_pass(out, model, row, pass);
}
