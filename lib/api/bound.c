/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: the lower bound of a problem. */
#include "bound/bound.h"

#include "api/null.h"
#include "base/checked.h"
#include "base/sized.h"

enum { USUAL_WORK = 1000000000 };

static ppsched_status find(ppsched_bound *out, const ppsched_config *config, const struct ppi_bound_question *question,
                           ppsched_error *error)
{
    ppsched_bound own;
    PPI_REQUIRE(out);
    PPI_REQUIRE(config);
    ppsched_status status = ppi_check_choice("objective", question->objective, PPSCHED_OBJECTIVE_SPAN,
                                             PPSCHED_OBJECTIVE_MAKESPAN, error);
    if (status == PPSCHED_OK)
        status = ppi_lower_bound(&own, config, question, error);
    if (status != PPSCHED_OK)
        return status;
    return ppi_give_sized(out, &own, sizeof own, PPI_SIZE_UP_TO(ppsched_bound, one_machine), "ppsched_bound", error);
}

ppsched_status ppsched_config_find_bound(ppsched_bound *out, const ppsched_config *config, int32_t objective,
                                         ppsched_error *error)
{
    return find(out, config, &(struct ppi_bound_question){PPSCHED_PLACEMENT_DEFAULT, objective, 1, PPI_BOUND_OPS}, error);
}

ppsched_status ppsched_config_prove_bound(ppsched_bound *out, const ppsched_config *config, int32_t objective, double known,
                                          double work, ppsched_error *error)
{
    struct ppi_bound_question question = {PPSCHED_PLACEMENT_DEFAULT, objective, 1, PPI_BOUND_OPS};
    PPI_REQUIRE(config);
    if (!(known >= 0) || !ppi_is_finite(known) || !(work >= 0) || !ppi_is_finite(work))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "known is %g and work %g; both must be finite and at least 0", known, work);
    struct ppi_poll poll = ppi_poll_start(config);
    question.poll = &poll;
    question.known = known;
    question.visits = work > 0 ? work : USUAL_WORK;
    return find(out, config, &question, error);
}
