/* SPDX-License-Identifier: Apache-2.0 */
/* Zero bubble under a memory limit, with real costs: greedy plans with all combinations of their choices, the fixed schedules
 * that fit the limit; where all these stay far from what is possible, greedy plans with another warm-up, and list schedules
 * after repeating patterns. The first with the shortest longest-device span is kept. */
#include "base/checked.h"
#include "base/error.h"
#include "search/explore.h"
#include "strategy/descriptors.h"
#include "strategy/searches/zb_greedy.h"

#define FAR 1.1 /* a span so many times the lower bound is worth more work; most plans with ample memory are closer */

enum { PERIODS = 2 }; /* of the patterns then: more find little more */

/* The choices of the paper's heuristic are tried with all of them taken first, the last changing fastest. */
static ppsched_status try_choices(struct ppi_attempt *attempt, bool even_warmup, ppsched_error *error)
{
    struct ppi_greedy greedy;
    ppsched_status status = ppi_greedy_make(&greedy, &attempt->problem, error);
    if (status != PPSCHED_OK)
        return status;
    for (unsigned code = 0; code < 8 && ppi_attempt_goes_on(attempt); code++) {
        struct ppi_zb_choice choice = {code < 4, code % 4 < 2, code % 2 < 1, even_warmup};
        ppi_attempt_keep(attempt, ppi_zb_plan(&greedy, &choice, attempt->objective, &attempt->candidate));
    }
    ppi_greedy_clear(&greedy);
    return status;
}

/* On uneven stages one may be shorter than the greedy plan. */
static const struct ppi_strategy *const fixed[] = {&ppi_zb_h1, &ppi_zb_h2, &ppi_1f1b, &ppi_eager_1f1b, &ppi_gpipe, NULL};

static ppsched_status plan(struct ppi_attempt *attempt, ppsched_error *error)
{
    ppsched_status status = ppi_attempt_require_fit(attempt, error);
    if (status == PPSCHED_OK)
        status = try_choices(attempt, false, error);
    if (status == PPSCHED_OK && !ppi_is_finite(attempt->objective))
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of times is too large for a double");
    if (status == PPSCHED_OK)
        status = ppi_offer_split(attempt, fixed, error);
    if (status != PPSCHED_OK || attempt->objective <= attempt->goal * FAR)
        return status;
    status = try_choices(attempt, true, error);
    return status == PPSCHED_OK ? ppi_follow_patterns(attempt, PERIODS, error) : status;
}

static const char *const aliases[] = {"zb", "zero_bubble"};

const struct ppi_strategy ppi_zb_auto = {
    .name = "zb_auto",
    .summary = "zero bubble under a memory limit, planned greedily with the real costs of each stage",
    .source = "Zero Bubble Pipeline Parallelism (Qi et al. 2023, arXiv 2401.10241), the heuristic of its code",
    .aliases = aliases,
    .alias_count = 2,
    .placement = PPSCHED_PLACEMENT_LINEAR,
    .chunks = 1,
    .weight_versions = 1,
    .splits_backward = true,
    .flushes = true,
    .plan = plan,
};
