/* SPDX-License-Identifier: Apache-2.0 */
/* Links of a pipeline: those inside a node, between nodes or between pods, by where the order of ranks puts its devices. */
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

/* Devices of a stage. */
static uint64_t stage_of(const struct ppi_pricing *pricing)
{
    return (uint64_t)pricing->model->training.tensor_parallel * pricing->model->training.context_parallel;
}

static struct strides strides_of(const struct ppi_pricing *pricing)
{
    uint64_t stage = stage_of(pricing);
    if (pricing->pipeline.rank_order == PPSCHED_RANK_ORDER_PIPELINE_FIRST)
        return (struct strides){stage, stage * pricing->pipeline.devices};
    return (struct strides){stage * pricing->model->training.data_parallel, stage};
}

/* In units of so many devices, the place of a device of the pipeline in the replica where it is last in its unit. */
static uint64_t last_place(const struct ppi_pricing *pricing, uint32_t device, uint64_t unit)
{
    const struct strides strides = strides_of(pricing);
    uint64_t last = 0, first = device * strides.neighbour;
    for (uint64_t r = 0; r < pricing->model->training.data_parallel && r < unit; r++) { /* after as many, places repeat */
        uint64_t place = (r * strides.replica + first) % unit;
        last = place > last ? place : last;
    }
    return last;
}

/* Whether a device and one that is `apart` devices after it share a unit in each replica. */
static bool share_unit(const struct ppi_pricing *pricing, uint32_t apart, uint64_t place, uint64_t unit)
{
    return unit > 0 && place + apart * strides_of(pricing).neighbour + stage_of(pricing) <= unit;
}

/* The links that a pipeline may use, by the smallest unit that two devices share. */
struct links {
    struct link inside, between, outermost;
    uint64_t node, pod; /* devices of each; pod 0: there are none */
    bool are_alike;     /* all pairs use the outermost */
};

static struct links links_of(const struct ppi_pricing *pricing)
{
    const ppsched_accelerator *device = &pricing->model->device;
    double all = (double)stage_of(pricing) * pricing->pipeline.devices * pricing->model->training.data_parallel;
    enum ppi_distance distance = ppi_distance_of(device, all);
    struct links links = {.node = device->node_devices, .pod = ppi_pod_devices(device)};
    uint64_t within = distance == PPI_BEYOND ? links.pod : links.node; /* the largest unit of several */
    links.outermost = link_of(pricing->model, all);
    links.are_alike = pricing->pipeline.devices == 1 || distance == PPI_IN_NODE ||
                      strides_of(pricing).neighbour + stage_of(pricing) > within;
    if (!links.are_alike) {
        links.inside = link_of(pricing->model, 1);
        links.between = link_of(pricing->model, (double)links.node + 1);
    }
    return links;
}

/* The link of a device and one that is `apart` devices after it. in_node, in_pod: last places of the first. */
static const struct link *between_devices(const struct links *links, const struct ppi_pricing *pricing, uint32_t apart,
                                          uint64_t in_node, uint64_t in_pod)
{
    if (links->are_alike)
        return &links->outermost;
    return share_unit(pricing, apart, in_node, links->node) ? &links->inside
           : share_unit(pricing, apart, in_pod, links->pod) ? &links->between
                                                            : &links->outermost;
}

void ppi_pricing_link(double *latency, double *rate, const struct ppi_pricing *pricing, uint32_t a, uint32_t b)
{
    const struct links links = links_of(pricing);
    uint32_t first = a < b ? a : b, apart = a < b ? b - a : a - b;
    uint64_t in_pod = links.pod > 0 ? last_place(pricing, first, links.pod) : 0;
    const struct link *link = between_devices(&links, pricing, apart, last_place(pricing, first, links.node), in_pod);
    *latency = link->latency;
    *rate = link->rate;
}

/* Sets the link of each pair of devices. */
static ppsched_status set_pairs(ppsched_config *config, const struct ppi_pricing *pricing, const struct links *links,
                                ppsched_error *error)
{
    uint32_t devices = pricing->pipeline.devices;
    const struct ppi_host *host = pricing->arena.host;
    double *latencies = ppi_allocate(host, (size_t)devices * devices, 2 * sizeof *latencies);
    if (latencies == NULL)
        return ppi_fail_memory(error, "the price");
    double *rates = latencies + (size_t)devices * devices;
    for (uint32_t a = 0; a < devices; a++) {
        uint64_t in_node = last_place(pricing, a, links->node),
                 in_pod = links->pod > 0 ? last_place(pricing, a, links->pod) : 0;
        for (uint32_t b = a; b < devices; b++) {
            const struct link *link = between_devices(links, pricing, b - a, in_node, in_pod);
            latencies[(size_t)a * devices + b] = latencies[(size_t)b * devices + a] = link->latency;
            rates[(size_t)a * devices + b] = rates[(size_t)b * devices + a] = link->rate;
        }
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
    const struct links links = links_of(pricing);
    const struct link *link = &links.outermost;
    if (!links.are_alike)
        return set_pairs(config, pricing, &links, error);
    ppsched_status status = ppi_config_set_values(config, PPSCHED_QUANTITY_P2P_TIME, &link->latency, 1, error);
    return status == PPSCHED_OK ? ppi_config_set_values(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, &link->rate, 1, error) : status;
}

ppsched_status ppi_pricing_check_order(const ppsched_model *model, const ppsched_pipeline *pipeline, ppsched_error *error)
{
    const ppsched_training *training = &model->training;
    if (pipeline->rank_order < 0 || pipeline->rank_order > PPSCHED_RANK_ORDER_PIPELINE_FIRST)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "rank_order is %d; it must be 0 or 1", pipeline->rank_order);
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
