/* SPDX-License-Identifier: Apache-2.0 */
/* The split for a rule that depends on costs by only one number: the least steps between a microbatch's forwards on two chunks
 * of a device, rounded up to whole groups. For each number that makes a different order the best split is searched; the number
 * is then fixed with that split, as its costs could lead to another number. */
#include "base/checked.h"
#include "base/error.h"
#include "codesign/codesign.h"

/* With more splits, or more ops in all orders, not all distances are tried. OTHER_SHARE: the divisor of the first distance's
 * visits for each other. Measured: docs/performance.md. */
enum { FEW_SPLITS = 20000, FEW_OPS = 2000000, OTHER_SHARE = 8 };

/* The best distance so far, and what is true of all that were tried. */
struct measuring {
    uint32_t group, least, most; /* of distances */
    uint32_t best;
    struct ppi_same_kind same;
    bool proved, tried_all;
};

/* The distance in whole groups, which determines the order. */
static uint32_t groups_of(const struct measuring *own, uint32_t distance)
{
    return (distance + own->group - 1) / own->group;
}

/* The distance that follows from the present split, or that the candidate sets. */
static ppsched_status find_distance(uint32_t *out, const struct ppi_codesign *codesign, ppsched_error *error)
{
    const struct ppi_strategy *strategy = codesign->candidate->strategy;
    ppsched_config *config = NULL;
    struct ppi_task task;
    ppsched_status status = ppi_candidate_config(&config, codesign->plan, codesign->candidate, error);
    if (status == PPSCHED_OK)
        status = ppi_task_make(&task, strategy, config, error);
    if (status == PPSCHED_OK)
        *out = (uint32_t)task.option[ppi_option_for(strategy, PPI_ROLE_MIN_GROUP_SIZE) - strategy->options];
    ppi_config_destroy(config);
    return status;
}

/* Searches the split for the order of a distance, and keeps it where it is the best. */
static ppsched_status try_distance(struct measuring *own, struct ppi_codesign *codesign, uint32_t distance, uint64_t visits,
                                   ppsched_error *error)
{
    struct ppi_candidate *candidate = codesign->candidate;
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    bool better = false;
    candidate->min_group_size = distance;
    ppsched_status status = ppi_codesign_order(&schedule, &config, codesign, error);
    if (status == PPSCHED_OK)
        status = ppi_candidate_ask_order(codesign->plan, candidate, schedule, error);
    if (status == PPSCHED_OK)
        status = ppi_codesign_fit_for(codesign, visits, config, schedule, error);
    ppi_schedule_release(schedule);
    ppi_config_destroy(config);
    if (status == PPSCHED_OK)
        status = ppi_codesign_try_order(&better, codesign, error);
    own->proved &= candidate->proved;
    own->tried_all &= candidate->tried_all;
    if (better) {
        own->best = distance;
        own->same = candidate->same;
    }
    return status;
}

static bool may_try_all(const struct measuring *own, const struct ppi_codesign *codesign)
{
    const uint64_t orders = groups_of(own, own->most) - groups_of(own, own->least) + 1;
    return orders * ppi_codesign_ops(codesign) <= FEW_OPS && ppi_codesign_count_splits(codesign) <= FEW_SPLITS;
}

/* Tries other distances: all where splits are few, else the least and the one above the first; none where only splits near
 * another candidate's are searched. */
static ppsched_status try_others(struct measuring *own, struct ppi_codesign *codesign, uint32_t first, ppsched_error *error)
{
    const bool all = may_try_all(own, codesign);
    const uint64_t visits = all ? codesign->plan->most_visited : codesign->plan->most_visited / OTHER_SHARE;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t n = own->least; n <= own->most && status == PPSCHED_OK; n = groups_of(own, n) * own->group + 1) {
        const bool is_next = groups_of(own, n) == groups_of(own, first) + 1;
        if (groups_of(own, n) == groups_of(own, first))
            continue;
        if (!all && (codesign->candidate->only_near || (n != own->least && !is_next))) {
            own->proved = own->tried_all = false;
            continue;
        }
        status = try_distance(own, codesign, n, visits, error);
        status = status == PPSCHED_ERROR_REFUSED ? PPSCHED_OK : status;
    }
    return status;
}

ppsched_status ppi_codesign_distances(struct ppi_codesign *codesign, ppsched_error *error)
{
    struct ppi_candidate *candidate = codesign->candidate;
    const uint32_t devices = codesign->plan->config->shape.devices;
    struct measuring own = {.group = candidate->group_size > 0 && candidate->group_size < devices ? candidate->group_size
                                                                                                  : devices,
                            .least = (devices + 1) / 2,
                            .most = devices,
                            .proved = true,
                            .tried_all = true};
    uint32_t first = 0, usual = 0;
    ppsched_status status = find_distance(&first, codesign, error);
    if (status == PPSCHED_OK)
        status = try_distance(&own, codesign, first, codesign->plan->most_visited, error);
    if (status == PPSCHED_OK)
        status = try_others(&own, codesign, first, error);
    if (status != PPSCHED_OK)
        return status;
    ppi_codesign_go_back(codesign);
    candidate->same = own.same;
    candidate->proved = own.proved && !candidate->strategy->offloads;
    candidate->tried_all = own.tried_all && !candidate->strategy->offloads;
    candidate->min_group_size = 0;
    status = find_distance(&usual, codesign, error);
    candidate->min_group_size = status == PPSCHED_OK && groups_of(&own, usual) == groups_of(&own, own.best) ? 0 : own.best;
    return status;
}
