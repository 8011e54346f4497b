/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the data sheet of a device. */
#include "base/checked.h"
#include "base/error.h"
#include "model/model.h"

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
    const struct ppi_bounded pods[] = {{"pod_nodes", device->pod_nodes, 0, PPI_MOST_COUNT},
                                       {"lacks_bf16", device->lacks_bf16, 0, 1}};
    ppsched_status status = ppi_check_bounds(pods, sizeof pods / sizeof pods[0], error);
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
