/* SPDX-License-Identifier: Apache-2.0 */
/* Shares out a global batch among unlike replicas. Numbers of microbatches have lower bounds at first; the best shares by these
 * are timed, and shared out anew, until the best shares are all timed. */
#include "replan/replicas.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "replan/one_strategy.h"
#include "replan/shares.h"

struct sharing {
    ppsched_replicas *replicas;
    const ppsched_replicas_options *options;
    const double **rows; /* by replica: work space */
    uint32_t *shares;    /* by replica: the shares that are looked at */
    struct ppi_poll poll;
    ppsched_error refused; /* why a number of microbatches cannot run */
};

#define VISITS_OF_A_BOUND 500 /* as much work, about, as these visits of ops */

/* --- one number of microbatches --- */

static ppsched_status make_replica_plan(ppsched_plan **out, const struct sharing *s, const ppsched_config *whole,
                                        uint32_t microbatches, ppsched_error *error)
{
    const ppsched_replicas_options *given = s->options;
    const uint32_t devices = whole->shape.devices, chunks = given->chunks;
    const uint32_t group = given->group_size > 0 ? given->group_size : devices;
    const struct ppi_one_strategy asked = {given->strategy,     chunks,        group,
                                           given->split_effort, given->layers, given->free_device_order != 0};
    ppsched_config sized = *whole;
    uint32_t *all = ppi_allocate(&whole->host, devices, sizeof *all);
    if (all == NULL)
        return ppi_fail_memory(error, "the devices");
    for (uint32_t d = 0; d < devices; d++)
        all[d] = d;
    sized.shape.microbatches = microbatches;
    ppsched_status status = ppi_one_strategy_plan(out, &sized, all, devices, &asked, error);
    ppi_release(&whole->host, all);
    return status;
}

/* The bound of all splits and orders, from a candidate with any split. It reads no ops, so it gets a schedule without any. */
static ppsched_status bound_of(double *out, const ppsched_plan *plan, const struct ppi_candidate *candidate,
                               ppsched_error *error)
{
    ppsched_config *config = NULL;
    ppsched_schedule schedule = {.flushes = candidate->strategy->flushes};
    ppsched_status status = ppi_candidate_config(&config, plan, candidate, error);
    if (status == PPSCHED_OK) {
        const int32_t own = candidate->placement;
        ppi_candidate_take_one(plan, candidate, config);
        status = ppi_config_place(&schedule.placement, config,
                                  own != PPSCHED_PLACEMENT_DEFAULT ? own : candidate->strategy->placement, error);
    }
    if (status == PPSCHED_OK)
        status = ppi_candidate_bound(out, NULL, plan, candidate, &schedule, config, error);
    ppi_placement_clear(&schedule.placement, &plan->host);
    ppi_config_destroy(config);
    return status;
}

/* 0 where there are fewer layers than stages: then the plan tells why it cannot run. */
static ppsched_status find_bound(double *out, const ppsched_plan *plan, ppsched_error *error)
{
    struct ppi_candidate candidate = plan->candidates[0];
    const uint32_t stages = candidate.stages, layers = plan->layers->count;
    *out = 0;
    if (layers < stages)
        return PPSCHED_OK;
    candidate.layers = ppi_allocate(&plan->host, stages, sizeof *candidate.layers);
    candidate.recomputes = ppi_allocate_zeroed(&plan->host, layers, 1);
    for (uint32_t s = 0; s < stages && candidate.layers != NULL; s++)
        candidate.layers[s] = (uint32_t)((uint64_t)layers * (s + 1) / stages - (uint64_t)layers * s / stages);
    ppsched_status status = candidate.layers != NULL && candidate.recomputes != NULL ? bound_of(out, plan, &candidate, error)
                                                                                     : ppi_fail_memory(error, "the bound");
    ppi_release(&plan->host, candidate.layers);
    ppi_release(&plan->host, candidate.recomputes);
    return status;
}

/* Takes over the split and order of a candidate. */
static ppsched_status keep_share(struct ppi_share *share, const struct sharing *s, const ppsched_plan *plan,
                                 const struct ppi_candidate *candidate, ppsched_error *error)
{
    const struct ppi_host *host = &s->replicas->host;
    const uint32_t devices = plan->config->shape.devices, layers = plan->layers->count;
    share->split = ppi_allocate(host, candidate->stages, sizeof *share->split);
    share->order = ppi_allocate(host, devices, sizeof *share->order);
    share->recomputes = ppi_allocate(host, layers, 1);
    if (share->split == NULL || share->order == NULL || share->recomputes == NULL)
        return ppi_fail_memory(error, "a split");
    memcpy(share->split, candidate->layers, candidate->stages * sizeof *share->split);
    memcpy(share->recomputes, candidate->recomputes, layers);
    for (uint32_t p = 0; p < devices; p++)
        share->order[p] = candidate->device_order != NULL ? candidate->device_order[p] : p;
    share->proved = candidate->proved;
    return PPSCHED_OK;
}

/* Notes why a number of microbatches cannot run. */
static ppsched_status refuse(struct sharing *s, ppsched_status status, const ppsched_error *error, ppsched_error *out)
{
    if (status != PPSCHED_ERROR_REFUSED && status != PPSCHED_ERROR_RANGE) {
        if (out != NULL)
            *out = *error;
        return status;
    }
    s->refused = *error;
    return PPSCHED_OK;
}

static ppsched_status time_share(struct sharing *s, struct ppi_replica_kind *kind, uint32_t microbatches, ppsched_error *error)
{
    struct ppi_share *share = &kind->shares[microbatches];
    ppsched_plan *plan = NULL;
    ppsched_error reason = {.message = ""};
    ppsched_status status = make_replica_plan(&plan, s, kind->config, microbatches, &reason);
    if (status == PPSCHED_OK)
        status = ppi_plan_run(plan, &reason);
    const struct ppi_candidate *found = status == PPSCHED_OK ? &plan->candidates[plan->order[0]] : NULL;
    if (found != NULL && found->reason != NULL)
        status = ppi_fail(&reason, PPSCHED_ERROR_REFUSED, "%s", found->reason);
    else if (found != NULL && found->metrics.limit_device != PPSCHED_NONE)
        status = ppi_fail(&reason, PPSCHED_ERROR_REFUSED,
                          "no split of %u microbatch%p fits the memory limit of device %u; raise the limit, or recompute",
                          microbatches, found->metrics.limit_device);
    else if (found != NULL)
        status = keep_share(share, s, plan, found, &reason);
    kind->times[microbatches] = status == PPSCHED_OK && found != NULL ? ppi_candidate_step(plan, found) : PPI_INFINITE;
    share->is_known = true;
    ppi_plan_destroy(plan);
    return status == PPSCHED_OK ? PPSCHED_OK : refuse(s, status, &reason, error);
}

/* Fills in the bounds of all numbers of microbatches. Those that the strategy does not support are infinite. */
static ppsched_status fill_bounds(struct sharing *s, struct ppi_replica_kind *kind, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    const uint32_t most = s->replicas->whole - (uint32_t)(s->replicas->count - 1);
    for (uint32_t m = 0; m <= s->replicas->whole; m++)
        kind->bounds[m] = kind->times[m] = PPI_INFINITE;
    for (uint32_t m = 1; m <= most && status == PPSCHED_OK; m++) {
        ppsched_plan *plan = NULL;
        status = ppi_poll_spend(&s->poll, VISITS_OF_A_BOUND, error);
        if (status != PPSCHED_OK)
            return status;
        ppsched_error reason = {.message = ""};
        status = make_replica_plan(&plan, s, kind->config, m, &reason);
        if (status == PPSCHED_OK)
            status = find_bound(&kind->bounds[m], plan, &reason);
        if (status != PPSCHED_OK)
            kind->bounds[m] = PPI_INFINITE;
        kind->times[m] = kind->bounds[m];
        kind->shares[m].is_known = status != PPSCHED_OK;
        ppi_plan_destroy(plan);
        if (status != PPSCHED_OK)
            status = refuse(s, status, &reason, error);
    }
    return status;
}

/* --- all replicas --- */

/* Times the shares that are not timed yet; `*largest`: the time of the slowest replica. */
static ppsched_status time_shares(bool *any, double *largest, struct sharing *s, ppsched_error *error)
{
    ppsched_replicas *replicas = s->replicas;
    ppsched_status status = PPSCHED_OK;
    *any = false;
    *largest = 0;
    for (size_t r = 0; r < replicas->count && status == PPSCHED_OK; r++) {
        struct ppi_replica_kind *kind = &replicas->kinds[replicas->kind_of[r]];
        if (!kind->shares[s->shares[r]].is_known) {
            *any = true;
            status = time_share(s, kind, s->shares[r], error);
        }
        *largest = ppi_larger(*largest, kind->times[s->shares[r]]);
    }
    return status;
}

static ppsched_status share_out(double *largest, struct sharing *s, double limit, ppsched_error *error)
{
    const ppsched_replicas *replicas = s->replicas;
    return ppi_share_batch(s->shares, largest, s->rows, replicas->count, replicas->whole, limit, &s->poll, error);
}

/* Equal shares, the time of which is the first limit. */
static ppsched_status time_equal(double *largest, struct sharing *s, ppsched_error *error)
{
    const uint32_t count = (uint32_t)s->replicas->count, whole = s->replicas->whole;
    bool any;
    for (uint32_t r = 0; r < count; r++)
        s->shares[r] = whole / count + (r < whole % count);
    return time_shares(&any, largest, s, error);
}

/* Whether no shares are better even if each number that is not proved took only its bound. */
static ppsched_status is_proved(uint32_t *proved, struct sharing *s, ppsched_error *error)
{
    ppsched_replicas *replicas = s->replicas;
    double least = 0;
    for (size_t k = 0; k < replicas->kind_count; k++)
        for (uint32_t m = 1; m <= replicas->whole; m++) {
            const struct ppi_replica_kind *kind = &replicas->kinds[k];
            if (kind->shares[m].proved)
                kind->bounds[m] = kind->times[m];
        }
    for (size_t r = 0; r < replicas->count; r++)
        s->rows[r] = replicas->kinds[replicas->kind_of[r]].bounds;
    ppsched_status status = share_out(&least, s, replicas->figures.step_time, error);
    *proved = status == PPSCHED_OK && least >= replicas->figures.step_time;
    return status;
}

static ppsched_status run_shares(struct sharing *s, ppsched_error *error)
{
    ppsched_replicas *replicas = s->replicas;
    ppsched_replicas_figures *figures = &replicas->figures;
    double limit = PPI_INFINITE, largest = PPI_INFINITE;
    bool any = true;
    ppsched_status status = PPSCHED_OK;
    for (size_t k = 0; k < replicas->kind_count && status == PPSCHED_OK; k++)
        status = fill_bounds(s, &replicas->kinds[k], error);
    for (size_t r = 0; r < replicas->count; r++)
        s->rows[r] = replicas->kinds[replicas->kind_of[r]].times;
    if (status == PPSCHED_OK)
        status = time_equal(&limit, s, error);
    figures->equal_step_time = limit < PPI_INFINITE ? limit : 0;
    while (any && status == PPSCHED_OK) {
        status = share_out(&largest, s, limit, error);
        if (status == PPSCHED_OK && !(largest < PPI_INFINITE))
            return ppi_fail(error, PPSCHED_ERROR_REFUSED, "no shares of %u microbatch%p can run on %zu replica%p%s%s",
                            replicas->whole, replicas->count, s->refused.message[0] != '\0' ? ": " : "", s->refused.message);
        if (status == PPSCHED_OK)
            status = time_shares(&any, &largest, s, error);
        limit = ppi_smaller(limit, largest);
    }
    figures->step_time = largest;
    if (status == PPSCHED_OK) {
        memcpy(replicas->microbatches, s->shares, replicas->count * sizeof *s->shares);
        status = is_proved(&figures->proved, s, error);
    }
    return status;
}

/* --- the call --- */

static ppsched_status make_kind(struct ppi_replica_kind *kind, const ppsched_replicas *replicas, const ppsched_config *config,
                                ppsched_error *error)
{
    const size_t length = (size_t)replicas->whole + 1;
    kind->config = config;
    kind->devices = config->shape.devices;
    kind->bounds = ppi_allocate(&replicas->host, length, sizeof *kind->bounds);
    kind->times = ppi_allocate(&replicas->host, length, sizeof *kind->times);
    kind->shares = ppi_allocate_zeroed(&replicas->host, length, sizeof *kind->shares);
    return kind->bounds != NULL && kind->times != NULL && kind->shares != NULL ? PPSCHED_OK
                                                                               : ppi_fail_memory(error, "the replicas");
}

/* Replicas with the same config are of a kind. */
static ppsched_status make_kinds(ppsched_replicas *made, const ppsched_config *const *configs, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (size_t r = 0; r < made->count && status == PPSCHED_OK; r++) {
        uint32_t k = 0;
        while (k < made->kind_count && made->kinds[k].config != configs[r])
            k++;
        made->kind_of[r] = k;
        if (k == made->kind_count) {
            made->kind_count++;
            status = make_kind(&made->kinds[k], made, configs[r], error);
        }
    }
    return status;
}

static ppsched_status make_replicas(ppsched_replicas **out, const ppsched_config *const *configs, size_t count,
                                    const ppsched_replicas_options *options, ppsched_error *error)
{
    const struct ppi_host host = configs[0]->host;
    ppsched_replicas *made = ppi_allocate_zeroed(&host, 1, sizeof *made);
    if (made == NULL)
        return ppi_fail_memory(error, "the replicas");
    made->host = host;
    made->count = count;
    made->whole = options->microbatches;
    made->chunks = options->chunks;
    made->layers = options->layers->count;
    made->figures.size = sizeof made->figures;
    made->kind_of = ppi_allocate(&host, count, sizeof *made->kind_of);
    made->microbatches = ppi_allocate(&host, count, sizeof *made->microbatches);
    made->kinds = ppi_allocate_zeroed(&host, count, sizeof *made->kinds);
    ppsched_status status = made->kind_of != NULL && made->microbatches != NULL && made->kinds != NULL
                                ? make_kinds(made, configs, error)
                                : ppi_fail_memory(error, "the replicas");
    if (status == PPSCHED_OK)
        *out = made;
    else
        ppi_replicas_destroy(made);
    return status;
}

ppsched_status ppi_replicas_make(ppsched_replicas **out, const ppsched_config *const *configs, size_t count,
                                 const ppsched_replicas_options *options, ppsched_error *error)
{
    struct sharing s = {.options = options, .poll = ppi_poll_start(configs[0])};
    ppsched_status status = make_replicas(&s.replicas, configs, count, options, error);
    if (status != PPSCHED_OK)
        return status;
    const struct ppi_host host = s.replicas->host;
    s.rows = ppi_allocate(&host, count, sizeof *s.rows);
    s.shares = ppi_allocate(&host, count, sizeof *s.shares);
    status = s.rows != NULL && s.shares != NULL ? run_shares(&s, error) : ppi_fail_memory(error, "the replicas");
    ppi_release(&host, s.rows);
    ppi_release(&host, s.shares);
    if (status == PPSCHED_OK)
        *out = s.replicas;
    else
        ppi_replicas_destroy(s.replicas);
    return status;
}

static void clear_kind(struct ppi_replica_kind *kind, const ppsched_replicas *replicas)
{
    for (uint32_t m = 0; m <= replicas->whole && kind->shares != NULL; m++) {
        ppi_release(&replicas->host, kind->shares[m].split);
        ppi_release(&replicas->host, kind->shares[m].order);
        ppi_release(&replicas->host, kind->shares[m].recomputes);
    }
    ppi_release(&replicas->host, kind->bounds);
    ppi_release(&replicas->host, kind->times);
    ppi_release(&replicas->host, kind->shares);
}

void ppi_replicas_destroy(ppsched_replicas *replicas)
{
    if (replicas == NULL)
        return;
    const struct ppi_host host = replicas->host;
    for (size_t k = 0; k < replicas->kind_count; k++)
        clear_kind(&replicas->kinds[k], replicas);
    ppi_release(&host, replicas->kinds);
    ppi_release(&host, replicas->kind_of);
    ppi_release(&host, replicas->microbatches);
    ppi_release(&host, replicas);
}
