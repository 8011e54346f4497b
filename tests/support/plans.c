/* SPDX-License-Identifier: Apache-2.0 */
#include "support/plan_choice.h"
#include "support/plans.h"

ppsched_plan *make_plan(const ppsched_config *config, const struct plan_choice *options)
{
    ppsched_plan *plan = NULL;
    ppsched_error error;
    expect_ok(create_plan(&plan, config, options, &error), &error);
    return plan;
}

ppsched_plan *run_plan(const ppsched_config *config, const struct plan_choice *options)
{
    ppsched_plan *plan = make_plan(config, options);
    ppsched_error error;
    expect_ok(ppsched_plan_run(plan, &error), &error);
    return plan;
}

ppsched_candidate candidate_of(const ppsched_plan *plan, uint32_t number)
{
    ppsched_candidate candidate = {.size = sizeof candidate};
    assert_int_equal(ppsched_plan_get_candidate(&candidate, plan, number, NULL), PPSCHED_OK);
    return candidate;
}

ppsched_candidate ranked(const ppsched_plan *plan, uint32_t rank)
{
    ppsched_candidate candidate = candidate_of(plan, ppsched_plan_candidate_at_rank(plan, rank));
    assert_int_equal(candidate.rank, rank);
    return candidate;
}
