/* SPDX-License-Identifier: Apache-2.0 */
/* First plans that may cost no time: for each device as many transfers as keep its limit if copies took no time, then some
 * more where these are too few. If no such plan keeps the limits in the same step: sets of transfers from few to all, each
 * with waits, placed again by the times with these waits, and with earlier reloads. */
#include "offload/fit_search.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "offload/select.h"

/* Measured: docs/performance.md. */
enum {
    LEAST_TRIES = 48,     /* evaluations of a search, however long */
    MOST_TRIES = 256,     /* the same, however short */
    LAST_TRIES = 24,      /* at least so many are left for the last resort, where nothing has been found */
    MOST_TIMED = 3 << 18, /* ops in all evaluations: all 256 up to about 3,000 ops, the least from about 16,000 on */
    MOST_ROUNDS = 6,      /* how often transfers are placed again once devices wait */
    MOST_IDLE = 3,        /* sets in a row without a better one before the search goes on */
    MOST_BLOCKED = 2,     /* sets in a row that delay nothing and are over limits: others would be, too */
    FORCED_BLOCKED = 1,   /* the same of forced transfers before late reloads are tried */
    MOST_RAISES = 6,      /* how often more is offloaded from devices over their limits */
    EXTRA_TIMED = 1 << 13 /* ops in all evaluations that look for transfers that are not needed */
};

/* Activations to spare below the limits, in the order in which they are tried. */
static const uint32_t slacks[] = {1, 0, 2, 3, 4, 6, 8, 12, 16, 24, 32};
enum { SLACKS = sizeof slacks / sizeof slacks[0] };

/* The most evaluations of a search. */
static uint32_t tries_for(const struct ppi_placing *placing)
{
    uint64_t tries = MOST_TIMED / (1 + placing->schedule->op_count);
    return (uint32_t)(tries < LEAST_TRIES ? LEAST_TRIES : tries > MOST_TRIES ? MOST_TRIES : tries);
}

ppsched_status ppi_within_make(struct ppi_fit_search *out, struct ppi_placing *placing, ppsched_error *error)
{
    const struct ppi_host *host = &placing->schedule->host;
    uint32_t devices = placing->schedule->shape.devices;
    *out = (struct ppi_fit_search){.placing = placing,
                                   .step = placing->plain->metrics.makespan,
                                   .overshoot = PPI_INFINITE,
                                   .peak = PPI_INFINITE,
                                   .tries = tries_for(placing)};
    out->slack = ppi_allocate_zeroed(host, devices, 2 * sizeof *out->slack);
    out->units = ppi_allocate_zeroed(host, devices, sizeof *out->units);
    if (out->slack == NULL || out->units == NULL)
        return ppi_fail_memory(error, "the offloads");
    out->best_slack = out->slack + devices;
    for (uint32_t i = 0; i < placing->count; i++) {
        double *unit = &out->units[placing->transfers[i].device];
        *unit = ppi_larger(*unit, placing->transfers[i].moved);
    }
    return PPSCHED_OK;
}

void ppi_within_clear(struct ppi_fit_search *within)
{
    const struct ppi_host *host = &within->placing->schedule->host;
    ppi_choice_clear(&within->best);
    ppi_release(host, within->slack);
    ppi_release(host, within->units);
}

/* --- one try --- */

static bool is_done(const struct ppi_fit_search *within)
{
    return within->best.schedule != NULL && (within->wants_any || ppi_choice_step(&within->best) <= within->step * (1 + 1e-12));
}

static bool goes_on(const struct ppi_fit_search *within)
{
    return within->tries > 0 && !is_done(within);
}

static ppsched_status spend_try(struct ppi_fit_search *within, ppsched_error *error)
{
    const ppsched_config *config = within->placing->config;
    within->tries -= within->tries > 0;
    if (config->progress == NULL ||
        ppi_config_tell(config, 1, within->best.schedule != NULL ? ppi_choice_step(&within->best) : PPI_INFINITE) == 0)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_CANCELLED, "the offload was cancelled");
}

/* Picks what is needed on devices that are over their limits without copies. Returns the number of transfers. */
static uint32_t pick_needed(const struct ppi_fit_search *within)
{
    struct ppi_placing *placing = within->placing;
    uint32_t count = 0;
    for (uint32_t d = 0; d < placing->schedule->shape.devices; d++) {
        bool is_held = !ppi_is_over_limit(placing->plain->devices[d].peak_memory, placing->limits[d]);
        double target = is_held ? PPI_INFINITE : placing->limits[d] - within->slack[d] * within->units[d];
        count += ppi_pick_needed(placing, d, target);
    }
    return count;
}

static void note_excess(struct ppi_fit_search *within, const struct ppi_choice *choice)
{
    double overshoot = 0, most = 0;
    for (uint32_t d = 0; d < choice->schedule->shape.devices; d++) {
        double peak = choice->peaks[d], limit = within->placing->limits[d];
        most = ppi_larger(most, peak);
        if (peak > 0)
            overshoot = ppi_larger(overshoot, limit > 0 ? peak / limit : PPI_INFINITE);
    }
    if (overshoot < within->overshoot)
        within->overshoot = overshoot;
    within->peak = ppi_smaller(within->peak, most);
}

/* Keeps a choice that is within the limits and better; otherwise clears it. */
static bool keep(struct ppi_fit_search *within, struct ppi_choice *choice)
{
    if (ppi_choice_is_within(choice, within->placing->limits)) {
        within->shortest = ppi_smaller(within->shortest, ppi_choice_step(choice));
        const bool is_kept = ppi_choice_keep(&within->best, choice);
        within->kept += is_kept;
        return is_kept;
    }
    ppi_choice_clear(choice);
    return false;
}

static ppsched_status make(struct ppi_fit_search *within, struct ppi_choice *out, ppsched_error *error)
{
    ppsched_status status = spend_try(within, error);
    return status == PPSCHED_OK ? ppi_choice_make(out, within->placing, error) : status;
}

/* --- without loss --- */

/* Raises the slack of devices over their limits, so that more is offloaded; false where there are none. */
static bool raise_slack(const struct ppi_fit_search *within, const struct ppi_choice *choice)
{
    bool is_raised = false;
    for (uint32_t d = 0; d < choice->schedule->shape.devices; d++)
        if (ppi_is_over_limit(choice->peaks[d], within->placing->limits[d])) {
            within->slack[d] += 1 + within->slack[d] / 3;
            is_raised = true;
        }
    return is_raised;
}

/* Evaluates placed transfers with waits. Unless `step` is NULL, the placing takes over the times with them. */
static ppsched_status wait(struct ppi_fit_search *within, const struct ppi_choice *placed, double *step, ppsched_error *error)
{
    struct ppi_choice held;
    ppsched_status status = ppi_choice_wait(&held, within->placing, placed, within->placing->limits, error);
    if (status == PPSCHED_OK && step != NULL) {
        ppi_choice_take_times(within->placing, &held);
        *step = ppi_choice_step(&held);
    }
    if (status != PPSCHED_OK)
        return status;
    within->is_blocked = !held.is_delayed && !ppi_choice_is_within(&held, within->placing->limits);
    keep(within, &held);
    return PPSCHED_OK;
}

/* Evaluates the picked transfers and, where that is over a limit, the same with waits; then `*is_raised`. */
static ppsched_status try_free(struct ppi_fit_search *within, bool *is_raised, ppsched_error *error)
{
    struct ppi_choice placed;
    ppsched_status status = make(within, &placed, error);
    if (status != PPSCHED_OK)
        return status;
    *is_raised = raise_slack(within, &placed);
    if (*is_raised)
        status = spend_try(within, error);
    if (*is_raised && status == PPSCHED_OK)
        status = wait(within, &placed, NULL, error);
    keep(within, &placed);
    return status;
}

/* Offloads less where that keeps the limits in the same step. */
static ppsched_status lessen(struct ppi_fit_search *within, ppsched_error *error)
{
    uint32_t devices = within->placing->schedule->shape.devices;
    uint32_t tries = (uint32_t)(EXTRA_TIMED / (1 + within->placing->schedule->op_count));
    ppsched_status status = PPSCHED_OK;
    for (uint32_t d = 0; d < devices && tries > 0 && status == PPSCHED_OK; d++)
        for (bool is_kept = true; is_kept && within->slack[d] > 0 && tries > 0 && status == PPSCHED_OK; tries--) {
            struct ppi_choice next;
            within->slack[d]--;
            pick_needed(within);
            status = make(within, &next, error);
            is_kept = status == PPSCHED_OK && keep(within, &next);
            within->slack[d] += !is_kept;
        }
    return status;
}

static ppsched_status find_free(struct ppi_fit_search *within, ppsched_error *error)
{
    uint32_t devices = within->placing->schedule->shape.devices, before = PPSCHED_NONE;
    bool is_raised = true;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t d = 0; d < devices; d++)
        within->slack[d] = 1;
    for (int i = 0; i < MOST_RAISES && status == PPSCHED_OK && is_raised && goes_on(within); i++) {
        memcpy(within->best_slack, within->slack, devices * sizeof *within->slack);
        uint32_t count = pick_needed(within);
        if (count == before)
            break;
        before = count;
        within->is_blocked = false;
        status = try_free(within, &is_raised, error);
        if (i == 0 && within->is_blocked)
            within->blocked = 1;
    }
    memcpy(within->slack, within->best_slack, devices * sizeof *within->slack);
    return status == PPSCHED_OK && is_done(within) && !within->wants_any ? lessen(within, error) : status;
}

/* --- with waits --- */

/* Places transfers by the times with the waits before, unless that changes nothing. `*last`: the placement before, then this
 * one. */
static ppsched_status place_again(struct ppi_fit_search *within, struct ppi_choice *last, double *step, bool *is_settled,
                                  ppsched_error *error)
{
    struct ppi_choice next;
    ppsched_status status = ppi_choice_place(&next, within->placing, error);
    *is_settled = status == PPSCHED_OK && ppi_choices_are_same(&next, last);
    if (status == PPSCHED_OK && !*is_settled)
        status = wait(within, &next, step, error);
    ppi_choice_clear(last);
    *last = next;
    return status;
}

/* The same, repeatedly. Where a placement comes again, so do its times, and it would not change again; so it does where waits
 * change no time. `step`: with waits. */
static ppsched_status try_again(struct ppi_fit_search *within, struct ppi_choice *placed, double step, ppsched_error *error)
{
    double last = PPI_INFINITE;
    bool is_settled = within->placing->has_plain_times;
    ppsched_status status = PPSCHED_OK;
    for (int round = 1, idle = 0; round < MOST_ROUNDS && idle < within->patience && status == PPSCHED_OK && goes_on(within);
         round++) {
        status = spend_try(within, error);
        if (status == PPSCHED_OK && !is_settled)
            status = place_again(within, placed, &step, &is_settled, error);
        idle = step < last ? 0 : idle + 1;
        last = step;
    }
    return status;
}

/* Evaluates the picked transfers: at their places, and, where that is over limits, with waits and at other places. */
static ppsched_status try_places(struct ppi_fit_search *within, ppsched_error *error)
{
    struct ppi_choice placed;
    bool is_over;
    ppsched_status status = spend_try(within, error);
    if (status == PPSCHED_OK)
        status = ppi_choice_make_within(&placed, &is_over, within->placing, error);
    if (status == PPSCHED_OK && !is_over) {
        keep(within, &placed);
        within->blocked = 0;
    } else if (status == PPSCHED_OK) {
        double step = PPI_INFINITE;
        status = spend_try(within, error);
        if (status == PPSCHED_OK)
            status = wait(within, &placed, &step, error);
        within->blocked = within->is_blocked ? within->blocked + 1 : 0;
        if (status == PPSCHED_OK)
            status = try_again(within, &placed, step, error);
        ppi_choice_clear(&placed);
    }
    /* ops of time 0: a reload after its backward */
    return status == PPSCHED_ERROR_INVALID_SCHEDULE && within->placing->is_forced ? PPSCHED_OK : status;
}

/* Tries the transfers of a rule. */
static ppsched_status try_rounds(struct ppi_fit_search *within, struct ppi_wait_rule rule, ppsched_error *error)
{
    struct ppi_placing *placing = within->placing;
    const uint32_t before = within->kept;
    placing->lead = ppi_lead(placing, rule.lead);
    placing->is_forced = rule.is_forced;
    placing->is_late = rule.is_late;
    within->patience = rule.chunks > 0 ? MOST_ROUNDS : 2;
    const bool is_picked = rule.is_picked && placing->has_plain_times;
    ppi_take_times(placing, placing->plain);
    if (rule.chunks > 0)
        ppi_pick_chunks(placing, rule.chunks);
    else if (!is_picked)
        pick_needed(within);
    rule.is_picked = false;
    ppsched_status status = try_places(within, error);
    if (within->kept != before) {
        within->rule = rule;
        memcpy(within->best_slack, within->slack, placing->schedule->shape.devices * sizeof *within->slack);
    }
    placing->is_forced = placing->is_late = false;
    return status;
}

static bool set_slack(const struct ppi_fit_search *within, uint32_t slack)
{
    bool is_possible = false;
    for (uint32_t d = 0; d < within->placing->schedule->shape.devices; d++) {
        within->slack[d] = slack;
        is_possible = is_possible || slack * within->units[d] <= within->placing->limits[d] + within->units[d];
    }
    return is_possible;
}

static uint32_t chunks_of_transfers(const struct ppi_fit_search *within)
{
    uint32_t chunks = 0;
    for (uint32_t i = 0; i < within->placing->count; i++)
        chunks = chunks > within->placing->transfers[i].chunk ? chunks : within->placing->transfers[i].chunk + 1;
    return chunks;
}

/* Offloads whole chunks, from `chunks` of them down to `last`; notes the number with the shortest step. */
static ppsched_status try_chunks(struct ppi_fit_search *within, uint32_t chunks, uint32_t last, double *shortest,
                                 ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t k = chunks; k >= last && status == PPSCHED_OK && goes_on(within) && within->blocked < MOST_BLOCKED; k--) {
        within->shortest = PPI_INFINITE;
        status = try_rounds(within, (struct ppi_wait_rule){.chunks = k}, error);
        within->chunks = within->chunks == 0 || within->shortest < *shortest ? k : within->chunks;
        *shortest = ppi_smaller(*shortest, within->shortest);
    }
    return status;
}

/* Offloads what is needed with slacks[first..last] activations to spare, until MOST_IDLE in a row are no better. */
static ppsched_status try_needed(struct ppi_fit_search *within, uint32_t first, uint32_t last, ppsched_error *error)
{
    uint32_t before = PPSCHED_NONE;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = first, idle = 0;
         i < last && idle < MOST_IDLE && status == PPSCHED_OK && goes_on(within) && within->blocked < MOST_BLOCKED; i++) {
        const uint32_t kept = within->kept;
        const bool is_first = within->best.schedule == NULL;
        if (!set_slack(within, slacks[i]))
            break;
        uint32_t count = pick_needed(within);
        if (count != before && !(i == 0 && within->blocked > 0)) /* the first set has been tried without loss */
            status = try_rounds(within, (struct ppi_wait_rule){.is_picked = true}, error);
        idle = within->kept != kept || is_first ? 0 : idle + 1;
        before = count;
    }
    return status;
}

/* The sets that are most often the best come first, as evaluations may be few. */
static ppsched_status try_sets(struct ppi_fit_search *within, ppsched_error *error)
{
    uint32_t chunks = chunks_of_transfers(within);
    double shortest = PPI_INFINITE;
    ppsched_status status = try_needed(within, 0, 1, error);
    if (status == PPSCHED_OK)
        status = try_chunks(within, chunks, chunks, &shortest, error);
    if (status == PPSCHED_OK)
        status = try_needed(within, 1, SLACKS, error);
    return status == PPSCHED_OK && chunks > 1 ? try_chunks(within, chunks - 1, 1, &shortest, error) : status;
}

static ppsched_status try_leads(struct ppi_fit_search *within, struct ppi_wait_rule rule, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    memcpy(within->slack, within->best_slack, within->placing->schedule->shape.devices * sizeof *within->slack);
    for (rule.lead = 1; rule.lead <= ppi_most_leads(within->placing) && status == PPSCHED_OK && goes_on(within); rule.lead++)
        status = try_rounds(within, rule, error);
    return status;
}

/* Offloads more or less than in the best choice, on one device after another. */
static ppsched_status adjust(struct ppi_fit_search *within, ppsched_error *error)
{
    uint32_t devices = within->placing->schedule->shape.devices;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0, idle = 0; idle < 2 * devices && status == PPSCHED_OK && goes_on(within); i = (i + 1) % (2 * devices)) {
        const uint32_t before = within->kept;
        uint32_t d = i / 2;
        memcpy(within->slack, within->best_slack, devices * sizeof *within->slack);
        idle++;
        if ((i % 2 == 0 && within->slack[d] == 0) ||
            !ppi_is_over_limit(within->placing->plain->devices[d].peak_memory, within->placing->limits[d]))
            continue;
        within->slack[d] = i % 2 == 0 ? within->slack[d] - 1 : within->slack[d] + 1;
        status = try_rounds(within, within->rule, error);
        idle = within->kept != before ? 0 : idle;
    }
    return status;
}

/* The last resort: also transfers whose copies do not fit between F and backward, and reloads right before their backwards. */
static ppsched_status force(struct ppi_fit_search *within, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    within->blocked = 0;
    for (uint32_t i = 0; i < 8 && status == PPSCHED_OK && goes_on(within); i++) {
        if (i < 4 && within->blocked >= FORCED_BLOCKED)
            continue;
        const uint32_t kept = within->kept;
        const bool has_found = within->best.schedule != NULL;
        set_slack(within, i % 4 == 3 ? UINT16_MAX : i % 4);
        status = try_rounds(within, (struct ppi_wait_rule){.is_forced = true, .is_late = i >= 4}, error);
        if (i > 4 && has_found && within->rule.is_late && within->kept == kept)
            break;
    }
    return status;
}

/* All transfers, with all waits that lower peaks. */
static ppsched_status wait_for_all(struct ppi_fit_search *within, ppsched_error *error)
{
    struct ppi_placing *placing = within->placing;
    double *none = ppi_allocate_zeroed(&placing->schedule->host, placing->schedule->shape.devices, sizeof *none);
    ppsched_status status = none == NULL ? ppi_fail_memory(error, "the offloads") : PPSCHED_OK;
    placing->lead = 0;
    ppi_take_times(placing, placing->plain);
    ppi_pick_chunks(placing, UINT32_MAX);
    for (int i = 0; i < 3 && status == PPSCHED_OK && !is_done(within); i++) {
        struct ppi_choice next;
        placing->is_forced = i > 0;
        placing->is_late = i > 1;
        status = spend_try(within, error);
        if (status == PPSCHED_OK)
            status = ppi_choice_hold(&next, placing, none, error);
        if (status == PPSCHED_OK) {
            note_excess(within, &next);
            keep(within, &next);
        } else if (status == PPSCHED_ERROR_INVALID_SCHEDULE && i > 0) {
            status = PPSCHED_OK;
        }
    }
    placing->is_forced = placing->is_late = false;
    ppi_release(&placing->schedule->host, none);
    return status;
}

ppsched_status ppi_within_search(struct ppi_fit_search *within, ppsched_error *error)
{
    if (within->proves && !ppi_may_fit(within->placing))
        return within->wants_excess ? wait_for_all(within, error) : PPSCHED_OK;
    within->placing->lead = 0;
    ppi_take_times(within->placing, within->placing->plain);
    ppsched_status status = find_free(within, error);
    if (status == PPSCHED_OK && goes_on(within))
        status = try_sets(within, error);
    if (status == PPSCHED_OK && within->best.schedule != NULL)
        status = try_leads(within, within->rule, error);
    if (status == PPSCHED_OK && within->best.schedule != NULL && within->rule.chunks == 0 && within->chunks > 0)
        status = try_leads(within, (struct ppi_wait_rule){.chunks = within->chunks}, error);
    if (status == PPSCHED_OK && within->best.schedule != NULL && within->rule.chunks == 0)
        status = adjust(within, error);
    if (status == PPSCHED_OK && within->best.schedule == NULL)
        within->tries = within->tries < LAST_TRIES ? LAST_TRIES : within->tries;
    if (status == PPSCHED_OK)
        status = force(within, error);
    if (status == PPSCHED_OK && within->best.schedule == NULL)
        status = wait_for_all(within, error);
    return status;
}

ppsched_status ppi_within_leads(struct ppi_fit_search *within, ppsched_error *error)
{
    struct ppi_wait_rule rule = {.chunks = UINT32_MAX};
    ppsched_status status = PPSCHED_OK;
    for (; rule.lead <= ppi_most_leads(within->placing) && status == PPSCHED_OK && goes_on(within); rule.lead++)
        status = try_rounds(within, rule, error);
    return status;
}

ppsched_status ppi_within_all(struct ppi_fit_search *within, ppsched_error *error)
{
    struct ppi_wait_rule rule = {.chunks = UINT32_MAX, .is_forced = true};
    ppsched_status status = ppi_within_leads(within, error);
    within->tries = within->tries < LAST_TRIES ? LAST_TRIES : within->tries;
    for (int i = 0; i < 2 && status == PPSCHED_OK && within->best.schedule == NULL; i++) {
        rule.is_late = i > 0;
        status = try_rounds(within, rule, error);
    }
    return status;
}
