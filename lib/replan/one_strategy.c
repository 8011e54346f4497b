/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of one strategy for some of the devices of a config. */
#include "replan/one_strategy.h"

#include "ir/device_order.h"

ppsched_status ppi_one_strategy_plan(ppsched_plan **out, const ppsched_config *whole, const uint32_t *devices, uint32_t count,
                                     const struct ppi_one_strategy *asked, ppsched_error *error)
{
    const struct ppi_plan_options options = {.objective = PPSCHED_OBJECTIVE_MAKESPAN,
                                             .strategies = &asked->strategy,
                                             .strategy_count = 1,
                                             .chunks = &asked->chunks,
                                             .chunk_count = 1,
                                             .group_sizes = &asked->group_size,
                                             .group_size_count = asked->group_size > 0,
                                             .layers = asked->layers,
                                             .split_effort = asked->split_effort,
                                             .free_device_order = asked->frees_order};
    ppsched_config *config = NULL;
    ppsched_status status = ppi_config_of_devices(&config, whole, devices, count, count * asked->chunks, error);
    if (status == PPSCHED_OK)
        status = ppi_plan_make(out, config, &options, error);
    ppi_config_destroy(config);
    return status;
}
