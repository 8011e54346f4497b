/* SPDX-License-Identifier: Apache-2.0 */
#include "strategy/strategy.h"

#include "api/null.h"
#include "base/sized.h"

#include <ppsched/strategy.h>

uint32_t ppsched_strategy_count(void)
{
    return ppi_strategy_count();
}

ppsched_status ppsched_strategy_describe(uint32_t strategy, ppsched_strategy_info *info)
{
    const struct ppi_strategy *row = ppi_strategy_at(strategy);
    if (row == NULL)
        return PPSCHED_ERROR_ARGUMENT;
    ppsched_strategy_info own = {
        .placement = row->placement,
        .option_count = row->option_count,
        .chunks = row->chunks,
        .weight_versions = row->weight_versions,
        .splits_backward = row->splits_backward,
        .flushes = row->flushes,
        .alias_count = row->alias_count,
        .name = row->name,
        .summary = row->summary,
        .source = row->source,
        .aliases = row->aliases,
        .searches = row->plan != NULL,
    };
    return ppi_give_sized(info, &own, sizeof own, PPI_SIZE_UP_TO(ppsched_strategy_info, reserved));
}

ppsched_status ppsched_strategy_option(uint32_t strategy, uint32_t option, ppsched_option_info *info)
{
    const struct ppi_strategy *row = ppi_strategy_at(strategy);
    if (row == NULL || option >= row->option_count)
        return PPSCHED_ERROR_ARGUMENT;
    const struct ppi_option_row *given = &row->options[option];
    ppsched_option_info own = {
        .minimum = given->choices != NULL ? 0 : given->minimum,
        .maximum = given->choices != NULL ? 0 : given->maximum,
        .name = given->name,
        .default_text = given->default_text,
        .text = given->text,
        .choice_count = given->choices != NULL ? (uint32_t)given->maximum + 1 : 0,
        .choices = given->choices,
    };
    return ppi_give_sized(info, &own, sizeof own, PPI_SIZE_UP_TO(ppsched_option_info, choices));
}

ppsched_status ppsched_strategy_find(const char *name, uint32_t *out, ppsched_error *error)
{
    PPI_REQUIRE(name);
    PPI_REQUIRE(out);
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
