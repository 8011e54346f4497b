/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the lists with their defaults, once per stage instance. */
#include "ir/other_memory.h"

static double other_memory_or(const ppsched_config *config, int32_t quantity, size_t index, double fallback)
{
    const struct ppi_values *list = &config->values[quantity];
    return list->values != NULL ? ppi_value_at(list, index) : fallback;
}

bool ppi_holds_more(const ppsched_config *config)
{
    for (int32_t q = PPSCHED_QUANTITY_MEM_OPTIMIZER; q <= PPSCHED_QUANTITY_MEM_WORK_BACKWARD_WEIGHT; q++)
        if (config->values[q].values != NULL)
            return true;
    return ppi_memory_rises(config);
}

static struct ppi_other_memory holding_of(const ppsched_config *config, uint32_t stage)
{
    double backward = other_memory_or(config, PPSCHED_QUANTITY_MEM_WORK_BACKWARD, stage, 0);
    return (struct ppi_other_memory){
        .work = {[PPSCHED_KIND_F] = other_memory_or(config, PPSCHED_QUANTITY_MEM_WORK_FORWARD, stage, 0),
                 [PPSCHED_KIND_B] = backward,
                 [PPSCHED_KIND_I] = other_memory_or(config, PPSCHED_QUANTITY_MEM_WORK_BACKWARD_INPUT, stage, backward),
                 [PPSCHED_KIND_W] = other_memory_or(config, PPSCHED_QUANTITY_MEM_WORK_BACKWARD_WEIGHT, stage, backward)},
        .output = other_memory_or(config, PPSCHED_QUANTITY_MEM_OUTPUT, stage, 0),
        .gradients = other_memory_or(config, PPSCHED_QUANTITY_MEM_GRADIENTS, stage, 0),
        .gathered = other_memory_or(config, PPSCHED_QUANTITY_MEM_GATHERED, stage, 0),
        .send = {other_memory_or(config, PPSCHED_QUANTITY_MEM_SEND_FORWARD, stage, 0),
                 other_memory_or(config, PPSCHED_QUANTITY_MEM_SEND_BACKWARD, stage, 0)},
        .receive = {other_memory_or(config, PPSCHED_QUANTITY_MEM_RECEIVE_FORWARD, stage, 0),
                    other_memory_or(config, PPSCHED_QUANTITY_MEM_RECEIVE_BACKWARD, stage, 0)}};
}

void ppi_holdings_fill(struct ppi_other_memory *out, const ppsched_config *config, const struct ppi_placement *placement)
{
    uint32_t stages = config->shape.stages;
    for (uint32_t c = 0; c < placement->copies; c++)
        for (uint32_t s = 0; s < stages; s++) {
            const uint32_t *device = placement->device_of + (size_t)c * stages + s;
            struct ppi_other_memory *holding = &out[(size_t)c * stages + s];
            *holding = holding_of(config, s);
            if (s + 1 < stages)
                holding->leaving[0] = ppi_transfer_cost_of(config, s, false, device[0], device[1]).occupancy;
            if (s > 0)
                holding->leaving[1] = ppi_transfer_cost_of(config, s, true, device[0], device[-1]).occupancy;
        }
}
