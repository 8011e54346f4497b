/* SPDX-License-Identifier: Apache-2.0 */
/* The copied lists of all factors share one block, `lists`. */
#include "ir/robust_objective.h"

#include <string.h>

#include "base/error.h"

static const double *move(double **to, const double *list, size_t count)
{
    double *own = *to;
    if (count == 0)
        return NULL;
    memcpy(own, list, count * sizeof *own);
    *to += count;
    return own;
}

ppsched_status ppi_robust_objective_make(struct ppi_robust_objective **out, const struct ppi_host *host,
                                         const struct ppi_robust_objective *asked, ppsched_error *error)
{
    const ppsched_scenario_options *given = &asked->options;
    size_t count = given->device_factor_count + given->stage_factor_count + given->link_factor_count;
    struct ppi_robust_objective *goal = ppi_allocate(host, 1, sizeof *goal);
    double *next = ppi_allocate(host, count, sizeof *next);
    if (goal == NULL || next == NULL) {
        ppi_release(host, goal);
        ppi_release(host, next);
        return ppi_fail_memory(error, "the robust objective");
    }
    *goal = *asked;
    goal->lists = next;
    goal->options.device_factors = move(&next, given->device_factors, given->device_factor_count);
    goal->options.stage_factors = move(&next, given->stage_factors, given->stage_factor_count);
    goal->options.link_factors = move(&next, given->link_factors, given->link_factor_count);
    *out = goal;
    return PPSCHED_OK;
}

void ppi_robust_objective_destroy(struct ppi_robust_objective *goal, const struct ppi_host *host)
{
    if (goal == NULL)
        return;
    ppi_release(host, goal->lists);
    ppi_release(host, goal);
}
