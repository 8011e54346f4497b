/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: listing strategies and their options, and asking whether a strategy can run a problem. */
#include <ppsched/strategy.h>

#include "api/null.h"
#include "base/sized.h"
#include "strategy/strategy.h"

uint32_t ppsched_strategy_count(void)
{
    return ppi_strategy_count();
}

static ppsched_status check_strategy(uint32_t strategy, ppsched_error *error)
{
    if (strategy < ppi_strategy_count())
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "there is no strategy %u; strategies are 0 to %u", strategy,
                    ppi_strategy_count() - 1);
}

ppsched_status ppsched_strategy_get_info(ppsched_strategy_info *out, uint32_t strategy, ppsched_error *error)
{
    PPI_REQUIRE(out);
    ppsched_status status = check_strategy(strategy, error);
    if (status != PPSCHED_OK)
        return status;
    const struct ppi_strategy *row = ppi_strategy_at(strategy);
    ppsched_strategy_info own = {
        .placement = row->placement,
        .option_count = row->option_count,
        .alias_count = row->alias_count,
        .chunks = row->chunks,
        .weight_versions = row->weight_versions,
        .splits_backward = row->splits_backward,
        .flushes = row->flushes,
        .searches = row->plan != NULL,
        .searches_long = row->searches_long,
        .takes_group_size = ppi_option_for(row, PPI_ROLE_GROUP_SIZE) != NULL,
        .most_memory = row->most_memory,
        .name = row->name,
        .summary = row->summary,
        .source = row->source,
        .aliases = row->aliases,
        .slices = row->is_for_slices ? 2 : row->cuts,
        .offloads = row->offloads,
    };
    return ppi_give_sized(out, &own, sizeof own, sizeof(ppsched_strategy_info), "ppsched_strategy_info", error);
}

ppsched_status ppsched_strategy_get_option(ppsched_option_info *out, uint32_t strategy, uint32_t option, ppsched_error *error)
{
    PPI_REQUIRE(out);
    ppsched_status status = check_strategy(strategy, error);
    if (status != PPSCHED_OK)
        return status;
    const struct ppi_strategy *row = ppi_strategy_at(strategy);
    if (option >= row->option_count)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s has no option %u; it has %u, numbered from 0", row->name, option,
                        row->option_count);
    const struct ppi_option_row *given = &row->options[option];
    ppsched_option_info own = {
        .minimum = given->choices != NULL ? 0 : given->minimum,
        .maximum = given->choices != NULL ? 0 : given->maximum,
        .name = given->name,
        .default_text = given->default_text,
        .summary = given->summary,
        .choice_count = given->choices != NULL ? (uint32_t)given->maximum + 1 : 0,
        .choices = given->choices,
    };
    return ppi_give_sized(out, &own, sizeof own, sizeof(ppsched_option_info), "ppsched_option_info", error);
}

ppsched_status ppsched_strategy_find(uint32_t *out, const char *name, ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(name);
    return ppi_strategy_find(name, out, error);
}

ppsched_status ppsched_strategy_fits(const char *name, const ppsched_config *config, ppsched_error *error)
{
    uint32_t index = 0;
    struct ppi_task task;
    PPI_REQUIRE(name);
    PPI_REQUIRE(config);
    ppsched_status status = ppi_strategy_find(name, &index, error);
    return status == PPSCHED_OK ? ppi_task_make(&task, ppi_strategy_at(index), config, error) : status;
}
