/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: the lower bound of a problem. */
#include "bound/bound.h"

#include "api/null.h"
#include "base/sized.h"

ppsched_status ppsched_config_find_bound(ppsched_bound *out, const ppsched_config *config, int32_t objective,
                                         ppsched_error *error)
{
    const struct ppi_bound_question question = {PPSCHED_PLACEMENT_DEFAULT, objective, 1, PPI_BOUND_OPS, NULL};
    ppsched_bound own;
    PPI_REQUIRE(out);
    PPI_REQUIRE(config);
    ppsched_status status = ppi_check_choice("objective", objective, PPSCHED_OBJECTIVE_SPAN, PPSCHED_OBJECTIVE_MAKESPAN, error);
    if (status == PPSCHED_OK)
        status = ppi_lower_bound(&own, config, &question, error);
    if (status != PPSCHED_OK)
        return status;
    return ppi_give_sized(out, &own, sizeof own, sizeof(ppsched_bound), "ppsched_bound", error);
}
