/* SPDX-License-Identifier: Apache-2.0 */
/* First all possible waits. Where these cost time: for all devices, by halving, the least share of the memory without copies
 * that costs none; then one activation less on one device after another, the one with the largest share first, with all copies
 * and then with as few as are needed, which leave links free for the others. */
#include "offload/reduce_peaks.h"

#include "base/checked.h"
#include "base/error.h"
#include "offload/fit_search.h"

/* Measured: docs/performance.md. */
enum {
    SEARCHED = 1 << 10,        /* most ops of a schedule for which less memory is searched */
    TIMED_IN_SEARCH = 1 << 17, /* ops in all evaluations of such a search */
    TIMED_ELSE = 1 << 13,      /* the same for larger schedules, which only try waits device by device */
    SHARES = 5,                /* halvings of the share between 0 and 1 */
    MOST_PLACES = 20           /* evaluations with other places of copies, for each limit */
};

struct lowering {
    struct ppi_placing *placing;
    struct ppi_choice *best;
    struct ppi_choice placed; /* `best` as it was at first */
    double *least;            /* by device: the peak with all waits */
    double *units;            /* by device: the most memory that one transfer moves */
    bool *is_settled;         /* by device: no less was found */
    bool takes_few;           /* as few copies as keep limits, else all */
    uint32_t tries;           /* evaluations that are left */
};

static uint32_t device_count(const struct lowering *lowering)
{
    return lowering->placing->schedule->shape.devices;
}

static ppsched_status spend(struct lowering *lowering, uint32_t tries, ppsched_error *error)
{
    const ppsched_config *config = lowering->placing->config;
    lowering->tries -= lowering->tries < tries ? lowering->tries : tries;
    if (config->progress == NULL || ppi_config_tell(config, 1, ppi_choice_step(lowering->best)) == 0)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_CANCELLED, "the offload was cancelled");
}

static double sum_of_peaks(const struct ppi_choice *choice)
{
    double sum = 0;
    for (uint32_t d = 0; d < choice->schedule->shape.devices; d++)
        sum += choice->peaks[d];
    return sum;
}

/* Whether `next` is no longer and within the config's limits; it becomes the best where its peaks are also lower. Clears the
 * other. */
static bool take(struct lowering *lowering, struct ppi_choice *next)
{
    bool is_free = ppi_choice_step(next) <= ppi_choice_step(lowering->best) && ppi_choice_fits(next, lowering->placing);
    if (is_free && sum_of_peaks(next) < sum_of_peaks(lowering->best)) {
        ppi_choice_clear(lowering->best);
        *lowering->best = *next;
        *next = (struct ppi_choice){0};
    }
    ppi_choice_clear(next);
    return is_free;
}

/* Evaluates waits for `placing->limits`, which they need not keep. */
static ppsched_status try_waits(struct lowering *lowering, bool *is_free, ppsched_error *error)
{
    struct ppi_choice next;
    ppsched_status status = spend(lowering, 1, error);
    *is_free = false;
    if (status == PPSCHED_OK)
        status = ppi_choice_wait(&next, lowering->placing, &lowering->placed, lowering->placing->limits, error);
    if (status == PPSCHED_OK)
        *is_free = take(lowering, &next);
    return status;
}

/* Searches other places for all copies, or for as few as keep the limits. */
static ppsched_status try_all_places(struct lowering *lowering, bool *is_held, ppsched_error *error)
{
    struct ppi_fit_search within;
    uint32_t most = lowering->tries < MOST_PLACES ? lowering->tries : MOST_PLACES;
    ppsched_status status = ppi_within_make(&within, lowering->placing, error);
    within.tries = most;
    if (status == PPSCHED_OK)
        status = lowering->takes_few ? ppi_within_search(&within, error) : ppi_within_leads(&within, error);
    if (status == PPSCHED_OK)
        status = spend(lowering, most - within.tries, error);
    if (status == PPSCHED_OK && within.best.schedule != NULL)
        *is_held = take(lowering, &within.best);
    ppi_within_clear(&within);
    return status;
}

/* Whether `placing->limits` can be kept. */
static ppsched_status try_limits(struct lowering *lowering, bool *is_held, ppsched_error *error)
{
    struct ppi_choice next;
    *is_held = false;
    ppsched_status status = spend(lowering, 1, error);
    if (status == PPSCHED_OK)
        status = ppi_choice_wait(&next, lowering->placing, &lowering->placed, lowering->placing->limits, error);
    if (status != PPSCHED_OK)
        return status;
    if (ppi_choice_is_within(&next, lowering->placing->limits))
        *is_held = take(lowering, &next);
    else
        ppi_choice_clear(&next);
    return *is_held || lowering->tries == 0 ? PPSCHED_OK : try_all_places(lowering, is_held, error);
}

/* --- all devices at once --- */

static ppsched_status try_all(struct lowering *lowering, bool *is_free, ppsched_error *error)
{
    struct ppi_placing *placing = lowering->placing;
    for (uint32_t d = 0; d < device_count(lowering); d++)
        placing->limits[d] = 0;
    ppsched_status status = try_waits(lowering, is_free, error);
    for (uint32_t d = 0; d < device_count(lowering); d++) {
        placing->limits[d] = PPI_INFINITE;
        lowering->least[d] = placing->peaks[d];
    }
    return status;
}

/* A share of `whole`, rounded down to whole activations. */
static double share_in_units(double whole, double unit, double share)
{
    double count = unit > 0 ? share * whole / unit : PPI_INFINITE;
    return count < 1u << 31 ? unit * (double)(uint32_t)(count + 1e-9) : share * whole;
}

static void set_share(const struct lowering *lowering, double share)
{
    const ppsched_timeline *plain = lowering->placing->plain;
    for (uint32_t d = 0; d < device_count(lowering); d++) {
        double always = plain->devices[d].static_memory, whole = plain->devices[d].peak_memory - always;
        double limit = ppi_larger(always + share_in_units(whole, lowering->units[d], share), lowering->least[d]);
        lowering->placing->limits[d] = ppi_smaller(limit, plain->devices[d].memory_limit);
    }
}

static ppsched_status try_shares(struct lowering *lowering, ppsched_error *error)
{
    double low = 0, high = 1;
    ppsched_status status = PPSCHED_OK;
    for (int i = 0; i < SHARES && status == PPSCHED_OK && lowering->tries > 0; i++) {
        bool is_held;
        double share = (low + high) / 2;
        set_share(lowering, share);
        status = try_limits(lowering, &is_held, error);
        if (is_held)
            high = share;
        else
            low = share;
    }
    return status;
}

/* --- one device after another --- */

/* A device's peak as a share of the peak without copies. */
static double share_of(const struct lowering *lowering, uint32_t device)
{
    double whole = lowering->placing->plain->devices[device].peak_memory;
    return whole > 0 ? lowering->best->peaks[device] / whole : 0;
}

static uint32_t next_device(const struct lowering *lowering)
{
    uint32_t next = PPSCHED_NONE;
    for (uint32_t d = 0; d < device_count(lowering); d++)
        if (!lowering->is_settled[d] && (next == PPSCHED_NONE || share_of(lowering, d) >= share_of(lowering, next)))
            next = d;
    return next;
}

static ppsched_status try_devices(struct lowering *lowering, ppsched_error *error)
{
    double *limits = lowering->placing->limits;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t d = 0; d < device_count(lowering); d++)
        lowering->is_settled[d] = false;
    for (uint32_t d; status == PPSCHED_OK && lowering->tries > 0 && (d = next_device(lowering)) != PPSCHED_NONE;) {
        bool is_held = false;
        for (uint32_t k = 0; k < device_count(lowering); k++)
            limits[k] = lowering->best->peaks[k];
        limits[d] -= lowering->units[d];
        if (lowering->units[d] > 0 && !ppi_is_over_limit(lowering->least[d], limits[d]))
            status = try_limits(lowering, &is_held, error);
        lowering->is_settled[d] = !is_held;
    }
    return status;
}

/* Lowers one device after another, the last first, to its least peak with waits. */
static ppsched_status try_waits_of_devices(struct lowering *lowering, ppsched_error *error)
{
    double *limits = lowering->placing->limits;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t d = device_count(lowering); d-- > 0 && status == PPSCHED_OK && lowering->tries > 0;) {
        bool is_free;
        if (lowering->least[d] >= lowering->best->peaks[d])
            continue;
        limits[d] = lowering->least[d];
        status = try_waits(lowering, &is_free, error);
        if (!is_free)
            limits[d] = PPI_INFINITE;
    }
    return status;
}

static void find_units(struct lowering *lowering)
{
    const struct ppi_placing *placing = lowering->placing;
    for (uint32_t i = 0; i < placing->count; i++) {
        double *unit = &lowering->units[placing->transfers[i].device];
        *unit = ppi_larger(*unit, placing->transfers[i].moved);
    }
}

static ppsched_status lower(struct lowering *lowering, bool searches, ppsched_error *error)
{
    uint64_t ops = lowering->placing->schedule->op_count;
    bool is_free, is_searched = searches && ops <= SEARCHED && lowering->placing->prefetch_distance == 0;
    find_units(lowering);
    ppsched_status status = try_all(lowering, &is_free, error);
    lowering->tries = (uint32_t)((is_searched ? TIMED_IN_SEARCH : TIMED_ELSE) / (1 + ops));
    if (status != PPSCHED_OK || is_free)
        return status;
    if (!is_searched)
        return try_waits_of_devices(lowering, error);
    status = try_shares(lowering, error);
    for (int few = 0; few < 2 && status == PPSCHED_OK; few++) {
        lowering->takes_few = few > 0;
        status = try_devices(lowering, error);
    }
    return status;
}

ppsched_status ppi_lower_peaks(struct ppi_choice *best, struct ppi_placing *placing, bool searches, ppsched_error *error)
{
    const struct ppi_host *host = &placing->schedule->host;
    uint32_t devices = placing->schedule->shape.devices;
    struct lowering lowering = {.placing = placing, .best = best, .placed = {.copies = best->copies}};
    lowering.least = ppi_allocate_zeroed(host, devices, 2 * sizeof *lowering.least);
    lowering.is_settled = ppi_allocate_zeroed(host, devices, sizeof *lowering.is_settled);
    ppsched_status status = PPSCHED_OK;
    if (lowering.least == NULL || lowering.is_settled == NULL) {
        status = ppi_fail_memory(error, "the offloads");
    } else {
        lowering.units = lowering.least + devices;
        lowering.placed.schedule = best->schedule;
        ppi_schedule_retain(best->schedule);
        status = lower(&lowering, searches, error);
    }
    ppi_choice_clear(&lowering.placed);
    ppi_release(host, lowering.least);
    ppi_release(host, lowering.is_settled);
    return status;
}
