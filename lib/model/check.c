/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a training and a device, and fills in their defaults. */
#include "base/checked.h"
#include "base/error.h"
#include "model/model.h"

enum { MOST_COUNT = 1 << 20, ALL_TARGETS = 2 * PPSCHED_ADAPTER_TARGET_HEAD - 1 };

struct bounded {
    const char *name;
    uint32_t value, least, most;
};

static ppsched_status check_bounds(const struct bounded *list, size_t count, ppsched_error *error)
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
    if (load == 0 || (load >= 1 && load <= MOST_COUNT))
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "expert_load is %g; it must be 1 to %d", load, (int)MOST_COUNT);
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
    const struct bounded sizes[] = {
        {"sequence_length", training->sequence_length, 0, 1 << 30},
        {"micro_batch_size", training->micro_batch_size, 0, MOST_COUNT},
        {"tensor_parallel", training->tensor_parallel, 0, MOST_COUNT},
        {"context_parallel", training->context_parallel, 0, MOST_COUNT},
        {"expert_parallel", training->expert_parallel, 0, MOST_COUNT},
        {"expert_tensor_parallel", training->expert_tensor_parallel, 0, MOST_COUNT},
        {"data_parallel", training->data_parallel, 0, MOST_COUNT},
        {"sharding", training->sharding, 0, 3},
        {"adapter_rank", training->adapter_rank, 0, MOST_COUNT},
        {"adapter_expert_rank", training->adapter_expert_rank, 0, training->adapter_rank},
        {"adapter_targets", training->adapter_targets, 0, training->adapter_rank > 0 ? ALL_TARGETS : 0},
        {"reserved", training->reserved, 0, 0},
        {"recompute_modules", training->recompute_modules, 0, 2 * PPSCHED_RECOMPUTE_MODULE_MLA_UP_PROJECTION - 1}};
    if ((training->flags & ~flags) != 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "flags of the training is %u, with unknown bits; it must be 0 to %u",
                        training->flags, flags);
    ppsched_status status = check_bounds(sizes, sizeof sizes / sizeof sizes[0], error);
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

static ppsched_status check_above_0(const char *name, double value, ppsched_error *error)
{
    if (value > 0 && ppi_is_finite(value))
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s is %g; it must be above 0", name, value);
}

static ppsched_status check_efficiency(const char *name, const ppsched_efficiency *list, uint32_t count, ppsched_error *error)
{
    if (count > 0 && list == NULL)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "%s is NULL, and its count %u", name, count);
    for (uint32_t i = 0; i < count; i++) {
        if (!(list[i].share > 0 && list[i].share <= 1))
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s: share %u is %g; it must be above 0, up to 1", name, i,
                            list[i].share);
        if (!(list[i].least >= 0) || (i > 0 && !(list[i].least < list[i - 1].least)))
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s: `least` %u is %g; values must decrease and be at least 0", name, i,
                            list[i].least);
    }
    return PPSCHED_OK;
}

static ppsched_status check_link(const char *name, const ppsched_link_rate *link, ppsched_error *error)
{
    if (!(link->efficiency >= 0 && link->efficiency <= 1 && link->latency >= 0 && ppi_is_finite(link->latency) &&
          link->all_reduce >= 0 && ppi_is_finite(link->all_reduce) && link->all_gather >= 0 && ppi_is_finite(link->all_gather)))
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "link %s: efficiency must be 0 to 1, latency and factors finite and at least 0", name);
    return PPSCHED_OK;
}

static ppsched_status check_pods(const ppsched_accelerator *device, ppsched_error *error)
{
    const struct bounded pods[] = {{"pod_nodes", device->pod_nodes, 0, MOST_COUNT}, {"lacks_bf16", device->lacks_bf16, 0, 1}};
    ppsched_status status = check_bounds(pods, sizeof pods / sizeof pods[0], error);
    if (status == PPSCHED_OK && device->pod_nodes == 0 && device->beyond.bandwidth != 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "beyond.bandwidth, of links between pods, is %g, but pod_nodes is 0; it must be 1 or more",
                        device->beyond.bandwidth);
    if (status == PPSCHED_OK && device->pod_nodes > 0)
        status = check_above_0("beyond.bandwidth", device->beyond.bandwidth, error);
    return status == PPSCHED_OK ? check_link("between the pods", &device->beyond, error) : status;
}

static ppsched_status check_rates(const ppsched_accelerator *device, ppsched_error *error)
{
    const struct {
        const char *name;
        double value;
    } rates[] = {{"matrix_rate", device->matrix_rate},           {"vector_rate", device->vector_rate},
                 {"memory_bandwidth", device->memory_bandwidth}, {"memory", device->memory},
                 {"inside.bandwidth", device->inside.bandwidth}, {"between.bandwidth", device->between.bandwidth}};
    ppsched_status status = PPSCHED_OK;
    for (size_t i = 0; i < sizeof rates / sizeof rates[0] && status == PPSCHED_OK; i++)
        status = check_above_0(rates[i].name, rates[i].value, error);
    if (status == PPSCHED_OK)
        status = check_efficiency("matrix_efficiency", device->matrix_efficiency, device->matrix_efficiency_count, error);
    if (status == PPSCHED_OK)
        status = check_efficiency("vector_efficiency", device->vector_efficiency, device->vector_efficiency_count, error);
    if (status == PPSCHED_OK)
        status = check_efficiency("memory_efficiency", device->memory_efficiency, device->memory_efficiency_count, error);
    if (status == PPSCHED_OK)
        status = check_link("inside the node", &device->inside, error);
    if (status == PPSCHED_OK)
        status = check_link("between the nodes", &device->between, error);
    return status == PPSCHED_OK ? check_pods(device, error) : status;
}

/* What was measured: shares, times and a slowdown. */
static ppsched_status check_measured(const ppsched_accelerator *device, ppsched_error *error)
{
    const struct {
        const char *name;
        double value, most;
    } list[] = {{"matrix_share", device->matrix_share, 2},
                {"attention_share", device->attention_share, 2},
                {"fp8_share", device->fp8_share, 2},
                {"mxfp8_share", device->mxfp8_share, 2},
                {"nvfp4_share", device->nvfp4_share, 2},
                {"hidden_share", device->hidden_share, 1},
                {"op_time", device->op_time, 1},
                {"host_time", device->host_time, 1},
                {"slowdown", device->slowdown, 100},
                {"rate_8bit", device->rate_8bit, 1e30},
                {"rate_4bit", device->rate_4bit, 1e30},
                {"permute_traffic", device->permute_traffic, 1000},
                {"fused_permute_traffic", device->fused_permute_traffic, 1000},
                {"bias_traffic", device->bias_traffic, 1000},
                {"memory_hidden", device->memory_hidden, 1},
                {"scan_share", device->scan_share, 2},
                {"host_bandwidth", device->host_bandwidth, 1e30},
                {"scale_slowdown", device->scale_slowdown, 1},
                {"part_node_ports", device->part_node_ports, 1000},
                {"pair_share", device->pair_share, 1}};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if (!(list[i].value >= 0 && list[i].value <= list[i].most))
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s is %g; it must be 0 to %g", list[i].name, list[i].value,
                            list[i].most);
    if (device->slowdown != 0 && device->slowdown < 1)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "slowdown is %g; it must be at least 1, or 0 for none", device->slowdown);
    if (device->shares_ports > 1)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "shares_ports is %u; it must be 0 or 1", device->shares_ports);
    return PPSCHED_OK;
}

ppsched_status ppi_model_check_device(const ppsched_accelerator *device, ppsched_error *error)
{
    ppsched_status status = check_rates(device, error);
    return status == PPSCHED_OK ? check_measured(device, error) : status;
}

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
