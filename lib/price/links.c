/* SPDX-License-Identifier: Apache-2.0 */
/* Links of a pipeline: those inside a node or between nodes, by where the order of ranks puts its devices. */
#include "base/error.h"
#include "ir/config.h"
#include "model/table.h"
#include "price/price.h"

struct link {
    double latency, rate;
};

/* The link of two devices that are `span` devices apart, counted with both ends. */
static struct link link_of(const ppsched_model *model, double span)
{
    struct link link;
    ppi_model_link(&link.latency, &link.rate, model, span);
    return link;
}

/* Devices from a device of a pipeline to the next, and from a pipeline to the next. */
struct strides {
    uint64_t neighbour, replica;
};

static struct strides strides_of(const struct ppi_pricing *pricing)
{
    const ppsched_training *training = &pricing->model->training;
    uint64_t stage = (uint64_t)training->tensor_parallel * training->context_parallel;
    if (pricing->pipeline.rank_order == PPSCHED_RANK_ORDER_PIPELINE_FIRST)
        return (struct strides){stage, stage * pricing->pipeline.devices};
    return (struct strides){stage * training->data_parallel, stage};
}

/* Whether two devices of the pipeline share a node in each replica. */
static bool share_node(const struct ppi_pricing *pricing, uint32_t a, uint32_t b)
{
    const ppsched_training *training = &pricing->model->training;
    const struct strides strides = strides_of(pricing);
    uint64_t node = pricing->model->device.node_devices, low = a < b ? a : b, high = a < b ? b : a;
    uint64_t stage = (uint64_t)training->tensor_parallel * training->context_parallel;
    if ((high - low) * strides.neighbour + stage > node)
        return false;
    for (uint64_t r = 0; r < training->data_parallel && r < node; r++) { /* after as many replicas, places repeat */
        uint64_t first = r * strides.replica + low * strides.neighbour, last = r * strides.replica + high * strides.neighbour;
        if (first / node != (last + stage - 1) / node)
            return false;
    }
    return true;
}

/* Sets the link of each pair of devices. */
static ppsched_status set_pairs(ppsched_config *config, const struct ppi_pricing *pricing, ppsched_error *error)
{
    uint32_t devices = pricing->pipeline.devices;
    const struct ppi_host *host = pricing->arena.host;
    const struct link inside = link_of(pricing->model, 1),
                      between = link_of(pricing->model, pricing->model->device.node_devices + 1.0);
    double *latencies = ppi_allocate(host, (size_t)devices * devices, 2 * sizeof *latencies);
    if (latencies == NULL)
        return ppi_fail_memory(error, "the price");
    double *rates = latencies + (size_t)devices * devices;
    for (uint32_t a = 0; a < devices; a++)
        for (uint32_t b = 0; b < devices; b++) {
            const struct link *link = share_node(pricing, a, b) ? &inside : &between;
            latencies[(size_t)a * devices + b] = link->latency;
            rates[(size_t)a * devices + b] = link->rate;
        }
    size_t count = (size_t)devices * devices;
    ppsched_status status = ppi_config_set_values(config, PPSCHED_QUANTITY_P2P_TIME, latencies, count, error);
    if (status == PPSCHED_OK)
        status = ppi_config_set_values(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, rates, count, error);
    ppi_release(host, latencies);
    return status;
}

ppsched_status ppi_pricing_set_links(ppsched_config *config, const struct ppi_pricing *pricing, ppsched_error *error)
{
    const ppsched_training *training = &pricing->model->training;
    uint64_t stage = (uint64_t)training->tensor_parallel * training->context_parallel,
             node = pricing->model->device.node_devices;
    double all = (double)stage * pricing->pipeline.devices * training->data_parallel;
    if (pricing->pipeline.devices > 1 && all > (double)node && strides_of(pricing).neighbour + stage <= node)
        return set_pairs(config, pricing, error);
    const struct link link = link_of(pricing->model, all);
    ppsched_status status = ppi_config_set_values(config, PPSCHED_QUANTITY_P2P_TIME, &link.latency, 1, error);
    return status == PPSCHED_OK ? ppi_config_set_values(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, &link.rate, 1, error) : status;
}

ppsched_status ppi_pricing_check_order(const ppsched_model *model, const ppsched_pipeline *pipeline, ppsched_error *error)
{
    const ppsched_training *training = &model->training;
    uint64_t experts = (uint64_t)training->expert_parallel * training->expert_tensor_parallel,
             stage = (uint64_t)training->tensor_parallel * training->context_parallel;
    if (pipeline->rank_order != PPSCHED_RANK_ORDER_PIPELINE_FIRST || experts == stage || !ppi_model_has_experts(model))
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE,
                    "rank_order: with pipelines before replicas, expert_parallel %u times expert_tensor_parallel %u must be "
                    "tensor_parallel %u times context_parallel %u, so that experts and other weights have the same replicas",
                    training->expert_parallel, training->expert_tensor_parallel, training->tensor_parallel,
                    training->context_parallel);
}
