/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers over the links of a stage graph, between all devices of both stages. */
#include "base/checked.h"
#include "base/error.h"
#include "ir/costs.h"
#include "ir/stage_graph.h"

/* Bytes of a value from a stage to another. A stage's gradient has by default the bytes of the activation that it got. */
static double bytes_between(const ppsched_config *config, uint32_t from, uint32_t to, bool backward)
{
    const bool has_own = config->values[PPSCHED_QUANTITY_GRADIENT_BYTES].values != NULL;
    return backward && has_own ? ppi_bytes_of(config, from, true) : ppi_bytes_of(config, backward ? to : from, false);
}

struct ppi_transfer_cost ppi_transfer_cost_between(const ppsched_config *config, uint32_t from, uint32_t to, bool backward,
                                                   uint32_t sender, uint32_t receiver)
{
    return ppi_link_cost_of(config, bytes_between(config, from, to, backward), sender, receiver);
}

/* The latest of the transfers from the devices of a stage to those of another. */
static struct ppi_transfer_cost slowest_transfer(const ppsched_config *config, const struct ppi_placement *placement,
                                                 uint32_t from, uint32_t to, bool backward)
{
    struct ppi_transfer_cost most = {0, 0};
    uint32_t senders, receivers;
    const uint32_t *sender = ppi_devices_of(placement, from, &senders), *receiver = ppi_devices_of(placement, to, &receivers);
    const double bytes = bytes_between(config, from, to, backward);
    for (uint32_t i = 0; i < senders; i++)
        for (uint32_t k = 0; k < receivers; k++) {
            struct ppi_transfer_cost cost = ppi_link_cost_of(config, bytes, sender[i], receiver[k]);
            if (cost.occupancy + cost.latency > most.occupancy + most.latency)
                most = cost;
        }
    return most;
}

ppsched_status ppi_link_costs_fill(struct ppi_costs *costs, const ppsched_config *config, const struct ppi_placement *placement,
                                   ppsched_error *error)
{
    const struct ppi_stage_graph *graph = placement->graph;
    if (costs->links == NULL)
        costs->links = ppi_allocate(&costs->host, ppi_graph_link_count(graph), sizeof *costs->links);
    if (costs->links == NULL)
        return ppi_fail_memory(error, "the costs");
    for (uint32_t s = 0; s < graph->stages; s++)
        for (uint32_t i = graph->input_first[s]; i < graph->input_first[s + 1]; i++)
            for (int backward = 0; backward < 2; backward++) {
                const uint32_t from = backward ? s : graph->inputs[i], to = backward ? graph->inputs[i] : s;
                struct ppi_transfer_cost cost = slowest_transfer(config, placement, from, to, backward);
                costs->links[i].delay[backward] = cost.occupancy + cost.latency;
                costs->links[i].latency[backward] = cost.latency;
                if (!ppi_is_finite(costs->links[i].delay[backward]))
                    return ppi_fail_at(error, PPSCHED_ERROR_RANGE,
                                       (struct ppi_place){PPSCHED_NONE, s, PPSCHED_NONE, PPSCHED_NONE},
                                       "stage %u: bytes / p2p_bandwidth + p2p_time is too large for a double", s);
            }
    return PPSCHED_OK;
}
