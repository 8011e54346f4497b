/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of scenarios that were run. */
#include "scenario/scenario.h"

double ppi_scenarios_quantile(const ppsched_scenarios *scenarios, double q)
{
    double place = q * scenarios->metrics.count;
    uint32_t rank = (uint32_t)place;
    rank += rank < place;
    return scenarios->sorted[rank > 0 ? rank - 1 : 0];
}

double ppi_scenarios_figure(const ppsched_scenarios *scenarios, int32_t rank_by, double quantile)
{
    if (rank_by == PPSCHED_RANK_BY_QUANTILE)
        return ppi_scenarios_quantile(scenarios, quantile);
    return rank_by == PPSCHED_RANK_BY_WORST ? scenarios->metrics.worst : scenarios->metrics.mean;
}

void ppi_scenarios_destroy(ppsched_scenarios *scenarios)
{
    if (scenarios == NULL)
        return;
    struct ppi_host host = scenarios->host;
    ppi_release(&host, scenarios->makespans);
    ppi_release(&host, scenarios->sorted);
    ppi_release(&host, scenarios->causes);
    ppi_release(&host, scenarios->peaks);
    ppi_release(&host, scenarios);
}
