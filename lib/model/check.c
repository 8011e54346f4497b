/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a training, and fills in its defaults and those of its device. */
#include "base/checked.h"
#include "base/error.h"
#include "model/model.h"

enum { ALL_TARGETS = 2 * PPSCHED_ADAPTER_TARGET_HEAD - 1 };

ppsched_status ppi_check_bounds(const struct ppi_bounded *list, size_t count, ppsched_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].value < list[i].least || list[i].value > list[i].most)
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s is %u; it must be %u to %u", list[i].name, list[i].value,
                            list[i].least, list[i].most);
    return PPSCHED_OK;
}

/* --- the training --- */

static void complete_adapters(ppsched_training *training)
{
    const uint32_t ends = PPSCHED_ADAPTER_TARGET_ROUTER | PPSCHED_ADAPTER_TARGET_HEAD;
    training->flags |= PPSCHED_TRAINING_FLAG_FROZEN_WEIGHTS;
    if (training->adapter_expert_rank == 0)
        training->adapter_expert_rank = training->adapter_rank;
    if (training->adapter_targets == 0)
        training->adapter_targets = ALL_TARGETS & ~ends;
}

static void complete_training(ppsched_training *training)
{
    uint32_t *ones[] = {&training->sequence_length,  &training->micro_batch_size, &training->tensor_parallel,
                        &training->context_parallel, &training->expert_parallel,  &training->data_parallel};
    for (size_t i = 0; i < sizeof ones / sizeof ones[0]; i++)
        *ones[i] = *ones[i] > 0 ? *ones[i] : 1;
    if (training->expert_tensor_parallel == 0)
        training->expert_tensor_parallel = training->tensor_parallel;
    if (training->adapter_rank > 0)
        complete_adapters(training);
    training->weight_bytes = training->weight_bytes > 0 ? training->weight_bytes : 2;
    training->gradient_bytes = training->gradient_bytes > 0 ? training->gradient_bytes : 4;
    training->expert_load = training->expert_load > 0 ? training->expert_load : 1;
    training->optimizer_bytes = training->optimizer_bytes > 0 ? training->optimizer_bytes : 12;
    training->activation_bytes = training->activation_bytes > 0 ? training->activation_bytes : 2;
}

static ppsched_status check_bytes(const char *name, double bytes, ppsched_error *error)
{
    if (bytes >= 0 && bytes <= 1024)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s is %g; it must be 0 to 1024", name, bytes);
}

/* No device is the fullest with less than an even share. */
static ppsched_status check_load(double load, ppsched_error *error)
{
    if (load == 0 || (load >= 1 && load <= PPI_MOST_COUNT))
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "expert_load is %g; it must be 1 to %d", load, (int)PPI_MOST_COUNT);
}

/* A collective is hidden by its windows, or by the estimate of what overlaps. */
static ppsched_status check_windows(uint32_t flags, ppsched_error *error)
{
    static const struct {
        uint32_t windows, overlaps;
        const char *name;
    } list[] = {{PPSCHED_TRAINING_FLAG_WINDOWS_EXPERTS, PPSCHED_TRAINING_FLAG_OVERLAPS_EXPERTS, "experts"},
                {PPSCHED_TRAINING_FLAG_WINDOWS_TENSOR, PPSCHED_TRAINING_FLAG_OVERLAPS_TENSOR, "tensor parallelism"},
                {PPSCHED_TRAINING_FLAG_WINDOWS_CONTEXT, PPSCHED_TRAINING_FLAG_OVERLAPS_CONTEXT, "context parallelism"}};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if ((flags & list[i].windows) != 0 && (flags & list[i].overlaps) != 0)
            return ppi_fail(error, PPSCHED_ERROR_RANGE,
                            "collectives of %s have windows and overlap in their own layer; set one of the flags",
                            list[i].name);
    return PPSCHED_OK;
}

static ppsched_status check_amounts(const ppsched_training *training, ppsched_error *error)
{
    const uint32_t flags = 2 * PPSCHED_TRAINING_FLAG_WINDOWS_CONTEXT - 1;
    const struct ppi_bounded sizes[] = {
        {"sequence_length", training->sequence_length, 0, 1 << 30},
        {"micro_batch_size", training->micro_batch_size, 0, PPI_MOST_COUNT},
        {"tensor_parallel", training->tensor_parallel, 0, PPI_MOST_COUNT},
        {"context_parallel", training->context_parallel, 0, PPI_MOST_COUNT},
        {"expert_parallel", training->expert_parallel, 0, PPI_MOST_COUNT},
        {"expert_tensor_parallel", training->expert_tensor_parallel, 0, PPI_MOST_COUNT},
        {"data_parallel", training->data_parallel, 0, PPI_MOST_COUNT},
        {"sharding", training->sharding, 0, 3},
        {"adapter_rank", training->adapter_rank, 0, PPI_MOST_COUNT},
        {"adapter_expert_rank", training->adapter_expert_rank, 0, training->adapter_rank},
        {"adapter_targets", training->adapter_targets, 0, training->adapter_rank > 0 ? ALL_TARGETS : 0},
        {"reserved", training->reserved, 0, 0},
        {"recompute_modules", training->recompute_modules, 0, 2 * PPSCHED_RECOMPUTE_MODULE_MLA_UP_PROJECTION - 1}};
    if ((training->flags & ~flags) != 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "flags of the training is %u, with unknown bits; it must be 0 to %u",
                        training->flags, flags);
    ppsched_status status = ppi_check_bounds(sizes, sizeof sizes / sizeof sizes[0], error);
    if (status == PPSCHED_OK)
        status = check_windows(training->flags, error);
    if (status == PPSCHED_OK)
        status = ppi_check_choice("precision", training->precision, 0, PPSCHED_PRECISION_NVFP4, error);
    if (status == PPSCHED_OK)
        status = check_load(training->expert_load, error);
    if (status == PPSCHED_OK)
        status = check_bytes("weight_bytes", training->weight_bytes, error);
    if (status == PPSCHED_OK)
        status = check_bytes("gradient_bytes", training->gradient_bytes, error);
    if (status == PPSCHED_OK)
        status = check_bytes("optimizer_bytes", training->optimizer_bytes, error);
    return status == PPSCHED_OK ? check_bytes("activation_bytes", training->activation_bytes, error) : status;
}

/* --- the device --- */

/* The device has a rate for the precision of the training. */
static ppsched_status check_precision(const ppsched_model *model, ppsched_error *error)
{
    const ppsched_training *training = &model->training;
    bool is_8bit = training->precision == PPSCHED_PRECISION_FP8 || training->precision == PPSCHED_PRECISION_MXFP8 ||
                   (training->flags & PPSCHED_TRAINING_FLAG_ATTENTION_8BIT) != 0;
    const bool lacks = model->device.lacks_bf16 != 0;
    const char *of_16_bits = lacks ? "fp16" : "bf16 or fp16", *or_fp8 = lacks ? "fp16 or fp8" : "bf16, fp16 or fp8";
    if (training->precision == PPSCHED_PRECISION_BF16 && lacks)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the device has no bf16 (lacks_bf16 is 1); use fp16");
    if (is_8bit && model->device.rate_8bit == 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the device has no matrix rate for 8 bits (rate_8bit); use %s", of_16_bits);
    if (training->precision == PPSCHED_PRECISION_MXFP8 && model->device.mxfp8_share == 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the device has no MXFP8 (mxfp8_share is 0); use %s", or_fp8);
    if (training->precision == PPSCHED_PRECISION_NVFP4 && model->device.rate_4bit == 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the device has no matrix rate for 4 bits (rate_4bit); use %s",
                        model->device.rate_8bit > 0 ? or_fp8 : of_16_bits);
    return PPSCHED_OK;
}

/* --- all --- */

ppsched_status ppi_model_complete(ppsched_model *model, ppsched_error *error)
{
    ppsched_status status = check_amounts(&model->training, error);
    if (status != PPSCHED_OK)
        return status;
    model->has_activation_bytes = model->training.activation_bytes > 0;
    complete_training(&model->training);
    status = ppi_model_check_division(model, error);
    if (status != PPSCHED_OK || !model->has_device)
        return status;
    model->device.node_devices = model->device.node_devices > 0 ? model->device.node_devices : 1;
    model->device.hidden_share = model->device.hidden_share == 0 ? 1 : model->device.hidden_share;
    status = ppi_model_check_device(&model->device, error);
    return status == PPSCHED_OK ? check_precision(model, error) : status;
}
