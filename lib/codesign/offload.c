/* SPDX-License-Identifier: Apache-2.0 */
/* The split of layers with offload: the best of several splits for wider limits, improved by moving layers from stage to stage
 * while that helps. */
#include "base/checked.h"
#include "base/error.h"
#include "codesign/codesign.h"
#include "eval/timeline.h"

/* Limits under which splits are searched, as multiples of the real ones, which offload then keeps; 0: none. */
static const double widened[] = {0, 2, 1.5, 1.2, 1};
enum { WIDENED = sizeof widened / sizeof widened[0] };

/* Visits counted per op for placing copies under a tight limit, and pricing. Measured: docs/performance.md. */
enum { AN_OFFLOADED_OP = 250 };

/* --- wider limits --- */

static ppsched_status widen_limits(ppsched_config *config, double factor, ppsched_error *error)
{
    struct ppi_values *limits = &config->values[PPSCHED_QUANTITY_MEM_LIMIT];
    if (factor == 0)
        return ppi_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, NULL, 0, error);
    for (size_t i = 0; i < limits->count; i++)
        limits->values[i] *= factor;
    return PPSCHED_OK;
}

/* The best split for the order under such limits becomes the present one. */
static ppsched_status fit_widened(struct ppi_codesign *codesign, double factor, ppsched_error *error)
{
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_status status = ppi_codesign_order(&schedule, &config, codesign, error);
    if (status == PPSCHED_OK)
        status = widen_limits(config, factor, error);
    if (status == PPSCHED_OK)
        status = ppi_codesign_fit(codesign, config, schedule, error);
    ppi_schedule_release(schedule);
    ppi_config_destroy(config);
    codesign->candidate->proved = codesign->candidate->tried_all = false;
    return status;
}

/* Keeps the present split where it is better with its copies. REFUSED where it needs none. */
static ppsched_status keep_offloaded(bool *better, struct ppi_codesign *codesign, ppsched_error *error)
{
    *better = false;
    ppsched_config *config = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_status status = ppi_candidate_config(&config, codesign->plan, codesign->candidate, error);
    if (status == PPSCHED_OK)
        ppi_candidate_take_one(codesign->plan, codesign->candidate, config);
    if (status == PPSCHED_OK)
        status = ppi_candidate_timeline(&timeline, NULL, codesign->plan, codesign->candidate, config,
                                        PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error);
    if (status == PPSCHED_OK)
        *better = ppi_codesign_note(codesign, timeline, config);
    ppi_timeline_destroy(timeline);
    ppi_config_destroy(config);
    return status;
}

/* Tries the splits for all wider limits while tries are left, and further until one fits: the tighter the limit, the more is
 * recomputed. */
static ppsched_status try_widened(struct ppi_codesign *codesign, uint64_t *tries, ppsched_error *error)
{
    const int count = ppi_codesign_is_limited(codesign) ? WIDENED : 1;
    ppsched_status status = PPSCHED_OK;
    for (int i = 0; i < count && (status == PPSCHED_OK || status == PPSCHED_ERROR_REFUSED); i++) {
        bool better;
        if (*tries == 0 && codesign->overshoot <= 0)
            return PPSCHED_OK;
        *tries -= *tries > 0;
        status = fit_widened(codesign, widened[i], error);
        if (status == PPSCHED_OK)
            status = keep_offloaded(&better, codesign, error);
    }
    return status == PPSCHED_ERROR_REFUSED && codesign->time < PPI_INFINITE ? PPSCHED_OK : status;
}

ppsched_status ppi_codesign_offload(struct ppi_codesign *codesign, ppsched_error *error)
{
    const ppsched_plan *plan = codesign->plan;
    ppsched_plan view = *plan;
    view.most_visited = plan->most_visited / WIDENED < PPI_LEAST_VISITS ? PPI_LEAST_VISITS : plan->most_visited / WIDENED;
    codesign->plan = &view;
    bool better;
    uint64_t tries = plan->most_visited / (AN_OFFLOADED_OP * ppi_codesign_ops(codesign));
    ppsched_status status = try_widened(codesign, &tries, error);
    if (status == PPSCHED_OK)
        status = ppi_codesign_move_blocks(&better, codesign, keep_offloaded, &tries, error);
    codesign->plan = plan;
    return status;
}
