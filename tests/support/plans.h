/* SPDX-License-Identifier: Apache-2.0 */
/* Plans and their candidates; all fail the running test where the library does. */
#ifndef PPSCHED_TESTS_PLANS_H
#define PPSCHED_TESTS_PLANS_H

#include "support/plan_choice.h"
#include "support/problem.h"

/* A plan whose candidates are listed, and one that has been run. */
ppsched_plan *make_plan(const ppsched_config *config, const struct plan_choice *options);
ppsched_plan *run_plan(const ppsched_config *config, const struct plan_choice *options);

/* A candidate by its number, and by its rank, which it then says. */
ppsched_candidate candidate_of(const ppsched_plan *plan, uint32_t number);
ppsched_candidate ranked(const ppsched_plan *plan, uint32_t rank);

#endif
