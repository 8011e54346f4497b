/* SPDX-License-Identifier: Apache-2.0 */
/* Times of a layer's passes: amounts of work over rates, by the efficiency for their size; collectives, and what of them is
 * hidden; the time of each op on the device and on the host. */
#include "base/inline.h"
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
    int32_t pass;                        /* enum ppsched_model_pass */
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

PPI_INLINE struct ppi_op_times times_of(const ppsched_model *model, const struct ppi_op_cost *op,
                                        const struct ppi_layer_pass *pass)
{
    double vector = ppi_vector_time(model, pass->vector),
           memory = ppi_memory_time(model, pass->bytes + ppi_quantization_bytes(model, pass)),
           matrix = pass->matrix > 0 ? ppi_matrix_time(model, op, pass) : 0, sent = 0;
    if (model->device.memory_hidden > 0 && matrix > 0) {
        double own = ppi_memory_time(model, pass->bytes);
        memory -= model->device.memory_hidden * (own < matrix ? own : matrix);
    }
    bool is_sum = pass->collective == PPI_ALL_REDUCE || pass->collective == PPI_GATHER;
    if (pass->collective != PPI_NO_COLLECTIVE) {
        struct ppi_spread spread = ppi_spread_of(model, op->group);
        sent = pass->collective == PPI_ALL_TO_ALL ? ppi_exchange_time(model, spread, pass->sent, op->copies)
                                                  : ppi_collective_time(model, spread, pass->collective, pass->sent);
        sent += is_sum ? vector + memory : 0;
    }
    return (struct ppi_op_times){.matrix = matrix,
                                 .vector = is_sum ? 0 : vector,
                                 .memory = is_sum ? 0 : memory,
                                 .sent = sent,
                                 .is_any = pass->matrix > 0 || pass->vector > 0 || pass->bytes > 0 || pass->sent > 0};
}

struct ppi_op_times ppi_op_times(const ppsched_model *model, const struct ppi_op_cost *op, const struct ppi_layer_pass *pass)
{
    return times_of(model, op, pass);
}

static void add_times(struct pricing *pricing, const struct ppi_op_cost *op, const struct ppi_layer_pass *pass)
{
    const ppsched_model *model = pricing->model;
    const struct ppi_op_times times = times_of(model, op, pass);
    ppsched_pass_cost *out = pricing->out;
    out->matrix_time += times.matrix;
    out->vector_time += times.vector;
    out->memory_time += times.memory;
    if (pass->collective != PPI_NO_COLLECTIVE) {
        double hidden = (model->training.flags & overlap_of(op->group)) != 0 ? model->device.hidden_share * times.sent : 0;
        out->communication_time += times.sent - hidden;
        pricing->sent[group_of(op->group)] += times.sent - hidden;
        pricing->hidden[group_of(op->group)] += hidden;
    }
    pricing->count += times.is_any;
    pricing->launches += times.is_any + (pass->matrix > 0 && op->pieces > 1 ? (op->pieces - 1) / pieces_at_once : 0);
}

static bool is_idle(const struct ppi_layer_pass *pass)
{
    return pass->matrix == 0 && pass->vector == 0 && pass->bytes == 0 && pass->collective == PPI_NO_COLLECTIVE;
}

/* The op's share of the pass; recomputation runs forwards. */
static void add_pass(struct pricing *pricing, const struct ppi_op_cost *op)
{
    ppsched_pass_cost *out = pricing->out;
    bool is_again = pricing->pass >= PPSCHED_MODEL_PASS_SELECTIVE;
    const struct ppi_layer_pass *pass = &op->pass[is_again ? PPSCHED_MODEL_PASS_FORWARD : pricing->pass];
    if (is_idle(pass))
        return;
    out->matrix_operations += pass->matrix;
    out->vector_operations += pass->vector;
    out->memory_bytes += pass->bytes;
    out->communication_bytes += pass->sent;
    if (pricing->model->has_device)
        add_times(pricing, op, pass);
}

/* Whether the row has no backward. */
static bool is_frozen(const ppsched_model *model, uint32_t row)
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

PPI_INLINE bool is_computed(const ppsched_model *model, const struct ppi_op_cost *op, int32_t pass)
{
    if (pass == PPSCHED_MODEL_PASS_WEIGHT && (model->training.flags & PPSCHED_TRAINING_FLAG_FROZEN_WEIGHTS) != 0)
        return op->is_adapter;
    if (pass == PPSCHED_MODEL_PASS_MODULES)
        return (op->modules & model->training.recompute_modules) != 0;
    return pass != PPSCHED_MODEL_PASS_SELECTIVE || op->is_core;
}

bool ppi_is_computed(const ppsched_model *model, const struct ppi_op_cost *op, int32_t pass)
{
    return is_computed(model, op, pass);
}

/* Prices passes on the device, from one list of ops. */
static void price_passes(struct pricing *pricings, uint32_t count, uint32_t row)
{
    const ppsched_model *model = pricings->model;
    struct ppi_site site = ppi_site_of_row(model, row);
    struct ppi_ops ops;
    for (uint32_t part = 0; ppi_ops_of_part(&ops, &site, row, part); part++)
        for (uint32_t i = 0; i < ops.count; i++)
            for (uint32_t k = 0; k < count; k++)
                if (is_computed(model, &ops.list[i], pricings[k].pass))
                    add_pass(&pricings[k], &ops.list[i]);
    for (uint32_t k = 0; k < count; k++)
        close(&pricings[k]);
}

static struct pricing start(ppsched_pass_cost *out, const ppsched_model *model, int32_t pass)
{
    *out = (ppsched_pass_cost){.size = sizeof *out};
    return (struct pricing){.model = model, .out = out, .pass = pass};
}

/* The host may need longer to launch a pass than the device to run it. It launches both parts of a backward in one go: what
 * is missing counts for the gradients of the input, where `weight` is the other part. */
static void wait_for_host(struct pricing *pricing, const struct pricing *weight)
{
    const ppsched_model *model = pricing->model;
    bool is_launched = model->device.host_time > 0 && (model->training.flags & PPSCHED_TRAINING_FLAG_GRAPHS) == 0;
    if (!is_launched || pricing->pass == PPSCHED_MODEL_PASS_WEIGHT)
        return;
    ppsched_pass_cost *out = pricing->out;
    bool is_backward = pricing->pass == PPSCHED_MODEL_PASS_INPUT;
    double launches = pricing->launches + (is_backward ? weight->launches : 0);
    double late = launches * model->device.host_time - (out->time + (is_backward ? weight->out->time : 0));
    if (late > 0) {
        out->launch_time += late;
        out->time += late;
    }
}

void ppi_model_price(ppsched_pass_cost *out, const ppsched_model *model, uint32_t row, int32_t pass)
{
    ppsched_pass_cost weight;
    struct pricing pricings[] = {start(out, model, pass), start(&weight, model, PPSCHED_MODEL_PASS_WEIGHT)};
    if (pass == PPSCHED_MODEL_PASS_FORWARD || !is_frozen(model, row))
        price_passes(pricings, pass == PPSCHED_MODEL_PASS_INPUT ? 2 : 1, row);
    wait_for_host(&pricings[0], &pricings[1]);
    if (model->measures != NULL)
        ppi_measured_pass(out, model, row, pass);
}

void ppi_model_price_all(ppsched_pass_cost out[PPI_MODEL_PASSES], const ppsched_model *model, uint32_t row)
{
    struct pricing pricings[PPI_MODEL_PASSES];
    for (int32_t pass = 0; pass < PPI_MODEL_PASSES; pass++)
        pricings[pass] = start(&out[pass], model, pass);
    price_passes(pricings, is_frozen(model, row) ? PPSCHED_MODEL_PASS_FORWARD + 1 : PPI_MODEL_PASSES, row);
    for (int32_t pass = 0; pass < PPI_MODEL_PASSES; pass++)
        wait_for_host(&pricings[pass], &pricings[PPSCHED_MODEL_PASS_WEIGHT]);
    for (int32_t pass = 0; pass < PPI_MODEL_PASSES && model->measures != NULL; pass++)
        ppi_measured_pass(&out[pass], model, row, pass);
}
