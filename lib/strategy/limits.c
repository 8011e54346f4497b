/* SPDX-License-Identifier: Apache-2.0 */
#include "strategy/limits.h"

ppsched_status ppi_fitting_problem(struct ppi_problem *out, const struct ppi_strategy *strategy, const ppsched_config *config,
                                   int32_t placement, ppsched_error *error)
{
    struct ppi_placement place;
    struct ppi_problem problem;
    ppsched_status status = ppi_config_place(&place, config, placement, error);
    if (status != PPSCHED_OK)
        return status;
    status = ppi_problem_make(&problem, config, &place, true, error);
    ppi_release(&config->host, place.device_of);
    if (status != PPSCHED_OK)
        return status;
    if (ppi_problem_unfit_device(&problem) != PPSCHED_NONE) {
        status = ppi_refuse(error, strategy, "no schedule fits the memory limit; the least limit that works is %g",
                            ppi_problem_least_limit(&problem));
        ppi_problem_clear(&problem);
        return status;
    }
    *out = problem;
    return PPSCHED_OK;
}
