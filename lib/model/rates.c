/* SPDX-License-Identifier: Apache-2.0 */
/* The rate of an op: of the data sheet for its data type, times the efficiency for its size, times what was measured. */
#include "model/rates.h"

static double share_at(const ppsched_efficiency *list, uint32_t count, double size)
{
    for (uint32_t i = 0; i < count; i++)
        if (size >= list[i].least)
            return list[i].share;
    return count > 0 ? list[count - 1].share : 1;
}

static double time_of(double amount, double pieces, double rate, const ppsched_efficiency *list, uint32_t count)
{
    if (amount <= 0)
        return 0;
    return amount / (rate * share_at(list, count, pieces > 0 ? amount / pieces : amount));
}

static double linear_rate(const ppsched_model *model)
{
    const ppsched_accelerator *device = &model->device;
    double share = ppi_or_1(device->matrix_share);
    switch (model->training.precision) {
    case PPSCHED_PRECISION_FP8:
        return device->rate_8bit * share * ppi_or_1(device->fp8_share);
    case PPSCHED_PRECISION_MXFP8:
        return device->rate_8bit * share * device->mxfp8_share;
    case PPSCHED_PRECISION_NVFP4:
        return device->rate_4bit * share * ppi_or_1(device->nvfp4_share);
    default:
        return device->matrix_rate * share;
    }
}

/* In 16 bits. */
static double plain_rate(const ppsched_model *model)
{
    return model->device.matrix_rate * ppi_or_1(model->device.matrix_share);
}

static double score_rate(const ppsched_model *model)
{
    const ppsched_accelerator *device = &model->device;
    bool is_8bit = (model->training.flags & PPSCHED_TRAINING_FLAG_ATTENTION_8BIT) != 0;
    double share = device->attention_share > 0 ? device->attention_share : ppi_or_1(device->matrix_share);
    return (is_8bit ? device->rate_8bit : device->matrix_rate) * share;
}

static double rate_of(const ppsched_model *model, const struct ppi_op_cost *op)
{
    if (op->is_linear)
        return linear_rate(model);
    if (op->is_scan && model->device.scan_share > 0)
        return model->device.matrix_rate * model->device.scan_share;
    return op->parameters > 0 ? plain_rate(model) : score_rate(model);
}

double ppi_matrix_time(const ppsched_model *model, const struct ppi_op_cost *op, const struct ppi_layer_pass *pass)
{
    const ppsched_accelerator *device = &model->device;
    return time_of(pass->matrix, op->pieces, rate_of(model, op), device->matrix_efficiency, device->matrix_efficiency_count);
}

/* 2 bytes of an element are read, and it is written as it is and transposed, for W. */
double ppi_quantization_bytes(const ppsched_model *model, const struct ppi_layer_pass *pass)
{
    switch (model->training.precision) {
    case PPSCHED_PRECISION_FP8:
    case PPSCHED_PRECISION_MXFP8:
        return 4 * pass->quantized;
    case PPSCHED_PRECISION_NVFP4:
        return 3 * pass->quantized;
    default:
        return 0;
    }
}

double ppi_vector_time(const ppsched_model *model, double operations)
{
    const ppsched_accelerator *device = &model->device;
    return time_of(operations, 1, device->vector_rate, device->vector_efficiency, device->vector_efficiency_count);
}

double ppi_memory_time(const ppsched_model *model, double bytes)
{
    const ppsched_accelerator *device = &model->device;
    return time_of(bytes, 1, device->memory_bandwidth, device->memory_efficiency, device->memory_efficiency_count);
}
