/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses how OFFLOAD and RELOAD are placed. By the times of the schedule without them; where that is over a limit, or lower
 * peaks cost nothing, devices wait for their offloads, and the times with these waits say anew when activations are needed. */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "lower/hold.h"
#include "lower/keep.h"
#include "lower/trips.h"

enum {
    MOST_LEADS = 6,      /* how often reloads that come too late are tried earlier */
    MOST_ROUNDS = 6,     /* and how often places are found anew once devices wait */
    MOST_EXTRA = 1 << 13 /* ops that are timed to find out which lower peaks cost nothing, beside all at once */
};

/* --- choosing --- */

/* A schedule and its figures. */
struct choice {
    ppsched_schedule *schedule;
    ppsched_timeline *timeline;
};

static void clear_choice(struct choice *choice)
{
    ppi_timeline_destroy(choice->timeline);
    if (choice->schedule != NULL)
        ppi_schedule_release(choice->schedule);
    *choice = (struct choice){0};
}

static ppsched_status make_choice(struct choice *out, const struct ppi_placing *placing, const uint32_t *trip_of,
                                  ppsched_error *error)
{
    *out = (struct choice){0};
    ppsched_status status = ppi_place_trips(&out->schedule, placing, trip_of, error);
    if (status == PPSCHED_OK)
        status = ppi_evaluate(&out->timeline, out->schedule, placing->config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error);
    if (status != PPSCHED_OK)
        clear_choice(out);
    return status;
}

/* A lead to try: none, half of an op, and so on, each twice the one before. */
static double lead_of(const struct ppi_placing *placing, int number)
{
    double makespan = placing->plain->metrics.makespan, ops = (double)placing->schedule->op_count;
    double step = ops > 0 ? makespan * placing->schedule->shape.devices / ops : 0; /* about that of an op */
    return number == 0 ? 0 : step / 2 * (double)(1u << (number - 1));
}

static bool is_longer(const struct ppi_placing *placing, const struct choice *choice)
{
    return choice->timeline->metrics.makespan > placing->plain->metrics.makespan * (1 + 1e-12);
}

/* Tries leads while the makespan is longer than without copies; keeps the shortest. */
static ppsched_status choose_lead(struct choice *best, struct ppi_placing *placing, const uint32_t *trip_of,
                                  ppsched_error *error)
{
    struct choice next;
    placing->lead = 0;
    ppsched_status status = make_choice(best, placing, trip_of, error);
    for (int i = 1; i <= MOST_LEADS && status == PPSCHED_OK && is_longer(placing, best); i++) {
        placing->lead = lead_of(placing, i);
        status = make_choice(&next, placing, trip_of, error);
        if (status != PPSCHED_OK)
            break;
        if (next.timeline->metrics.makespan < best->timeline->metrics.makespan) {
            clear_choice(best);
            *best = next;
        } else {
            clear_choice(&next);
        }
    }
    if (status != PPSCHED_OK)
        clear_choice(best);
    return status;
}

/* --- waiting for offloads --- */

/* What is placed, with waits that hold the limits. */
static ppsched_status hold(struct choice *out, const struct ppi_placing *placing, const ppsched_schedule *placed,
                           ppsched_error *error)
{
    *out = (struct choice){0};
    ppsched_status status = ppi_hold(&out->schedule, placing->peaks, placed, placing->plain, placing->config, placing->limits,
                                     error);
    if (status == PPSCHED_OK)
        status = ppi_evaluate(&out->timeline, out->schedule, placing->config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error);
    if (status != PPSCHED_OK)
        clear_choice(out);
    return status;
}

static void keep_shorter(struct choice *best, struct choice *next)
{
    if (best->schedule == NULL || next->timeline->metrics.makespan < best->timeline->metrics.makespan) {
        struct choice before = *best;
        *best = *next;
        *next = before;
    }
}

/* With one lead: places and waits, then places by the times with these waits, and so on; keeps the shortest that holds. */
static ppsched_status hold_in_rounds(struct choice *best, const struct ppi_placing *placing, const uint32_t *trip_of,
                                     ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (int round = 0; round < MOST_ROUNDS && status == PPSCHED_OK; round++) {
        ppsched_schedule *placed = NULL;
        struct choice next = {0};
        status = ppi_place_trips(&placed, placing, trip_of, error);
        if (status == PPSCHED_OK)
            status = hold(&next, placing, placed, error);
        if (placed != NULL)
            ppi_schedule_release(placed);
        if (status != PPSCHED_OK)
            break;
        ppi_take_times(placing, next.timeline);
        if (next.timeline->metrics.limit_device == PPSCHED_NONE)
            keep_shorter(best, &next);
        clear_choice(&next);
        if (best->schedule != NULL && !is_longer(placing, best))
            break;
    }
    return status;
}

/* The last resort: trips go whose copies do not fit in between, a quarter of them more each time until it holds; where all
 * of them do not, with reloads right before their backwards. */
static ppsched_status force(struct choice *best, struct ppi_placing *placing, const uint32_t *trip_of, ppsched_error *error)
{
    uint32_t devices = placing->schedule->shape.devices;
    ppsched_status status = PPSCHED_OK;
    placing->is_forced = true;
    placing->lead = 0;
    for (uint32_t d = 0; d < devices; d++)
        placing->all[d] = placing->taken[d];
    for (uint32_t k = 0; k < 8 && status == PPSCHED_OK && best->schedule == NULL; k++) {
        placing->is_late = k >= 4;
        for (uint32_t d = 0; d < devices; d++)
            placing->taken[d] = (uint32_t)(((uint64_t)placing->all[d] * (1 + k % 4) + 3) / 4);
        ppi_take_times(placing, placing->plain);
        status = hold_in_rounds(best, placing, trip_of, error);
        if (status == PPSCHED_ERROR_INVALID_SCHEDULE) /* where ops take no time, a place may be behind the backward */
            status = PPSCHED_OK;
    }
    placing->is_forced = placing->is_late = false;
    return status;
}

/* The shortest with all trips that waits bring within the config's limits; `best` is as it was where none is. */
static ppsched_status hold_limits(struct choice *best, struct ppi_placing *placing, const uint32_t *trip_of,
                                  ppsched_error *error)
{
    struct choice held = {0};
    ppsched_status status = PPSCHED_OK;
    for (uint32_t d = 0; d < placing->schedule->shape.devices; d++)
        placing->limits[d] = best->timeline->devices[d].memory_limit;
    for (int i = 0; i <= MOST_LEADS && status == PPSCHED_OK && (held.schedule == NULL || is_longer(placing, &held)); i++) {
        placing->lead = lead_of(placing, i);
        ppi_take_times(placing, placing->plain);
        status = hold_in_rounds(&held, placing, trip_of, error);
    }
    if (status == PPSCHED_OK && held.schedule == NULL)
        status = force(&held, placing, trip_of, error);
    if (status == PPSCHED_OK && held.schedule != NULL) {
        clear_choice(best);
        *best = held;
        return PPSCHED_OK;
    }
    clear_choice(&held);
    return status;
}

/* All trips, with all the waits that lower peaks: the least that is found. */
static ppsched_status hold_least(struct choice *best, const struct ppi_placing *placing, ppsched_error *error)
{
    struct choice least;
    for (uint32_t d = 0; d < placing->schedule->shape.devices; d++)
        placing->limits[d] = 0;
    ppsched_status status = hold(&least, placing, best->schedule, error);
    if (status == PPSCHED_OK) {
        clear_choice(best);
        *best = least;
    }
    return status;
}

/* Takes the waits of `placing->limits` where they leave the makespan as it is; or gives up these of one device. */
static ppsched_status try_hold(struct choice *best, struct ppi_placing *placing, const ppsched_schedule *placed, bool *is_free,
                               ppsched_error *error)
{
    struct choice next;
    ppsched_status status = hold(&next, placing, placed, error);
    if (status != PPSCHED_OK)
        return status;
    *is_free = next.timeline->metrics.makespan <= best->timeline->metrics.makespan;
    if (*is_free) {
        clear_choice(best);
        *best = next;
    } else {
        clear_choice(&next);
    }
    return PPSCHED_OK;
}

/* Lowers peaks by waits that cost no time: on all devices as far as it goes, else on one after another, the last first. */
static ppsched_status lower_peaks(struct choice *best, struct ppi_placing *placing, ppsched_error *error)
{
    uint32_t devices = placing->schedule->shape.devices, tries = (uint32_t)(MOST_EXTRA / (1 + placing->schedule->op_count));
    ppsched_schedule *placed = best->schedule;
    bool is_free = false;
    ppi_schedule_retain(placed);
    for (uint32_t d = 0; d < devices; d++)
        placing->limits[d] = 0;
    ppsched_status status = try_hold(best, placing, placed, &is_free, error);
    for (uint32_t d = 0; d < devices; d++) {
        placing->limits[d] = PPI_INFINITE;
        placing->least[d] = placing->peaks[d];
    }
    for (uint32_t d = devices; d-- > 0 && status == PPSCHED_OK && !is_free && tries > 0;) {
        if (placing->least[d] >= best->timeline->devices[d].peak_memory)
            continue;
        bool own = false;
        placing->limits[d] = placing->least[d];
        status = try_hold(best, placing, placed, &own, error);
        if (!own)
            placing->limits[d] = PPI_INFINITE;
        tries--;
    }
    ppi_schedule_release(placed);
    return status;
}

static bool is_over(const struct choice *choice)
{
    return choice->timeline->metrics.limit_device != PPSCHED_NONE;
}

/* All trips; waits where they hold limits, or cost nothing. */
static ppsched_status choose_all(struct choice *best, struct ppi_placing *placing, const uint32_t *trip_of,
                                 ppsched_error *error)
{
    ppsched_status status = choose_lead(best, placing, trip_of, error);
    if (status == PPSCHED_OK)
        status = is_over(best) ? hold_limits(best, placing, trip_of, error) : lower_peaks(best, placing, error);
    if (status != PPSCHED_OK)
        clear_choice(best);
    return status;
}

static ppsched_status refuse_limit(const struct choice *all, ppsched_error *error)
{
    const ppsched_metrics *metrics = &all->timeline->metrics;
    const ppsched_device_metrics *device = &all->timeline->devices[metrics->limit_device];
    return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                    "offload: device %u has a peak of %g, over its limit of %g, with all that can go offloaded; the largest "
                    "peak is %g, on device %u",
                    metrics->limit_device, device->peak_memory, device->memory_limit, metrics->peak_memory,
                    metrics->peak_device);
}

/* Each device takes as few trips, those that live longest first, as hold its limit: halved on all devices at once. */
static ppsched_status choose_few(struct choice *best, struct ppi_placing *placing, const uint32_t *trip_of, uint32_t *low,
                                 uint32_t *high, ppsched_error *error)
{
    uint32_t devices = placing->schedule->shape.devices;
    bool is_open = true;
    ppsched_status status = choose_lead(best, placing, trip_of, error);
    if (status == PPSCHED_OK && is_over(best)) {
        for (uint32_t d = 0; d < devices; d++)
            if (placing->plain->devices[d].peak_memory <= placing->plain->devices[d].memory_limit)
                placing->taken[d] = 0;
        status = hold_limits(best, placing, trip_of, error);
        if (status == PPSCHED_OK && !is_over(best))
            return PPSCHED_OK;
        if (status == PPSCHED_OK)
            status = hold_least(best, placing, error);
        if (status == PPSCHED_OK)
            status = refuse_limit(best, error);
    }
    for (uint32_t d = 0; d < devices; d++) {
        low[d] = 0;
        high[d] = placing->taken[d];
    }
    while (status == PPSCHED_OK && is_open) {
        struct choice next;
        is_open = false;
        for (uint32_t d = 0; d < devices; d++) {
            placing->taken[d] = low[d] + (high[d] - low[d]) / 2;
            is_open = is_open || low[d] < high[d];
        }
        status = choose_lead(&next, placing, trip_of, error);
        if (status != PPSCHED_OK)
            break;
        for (uint32_t d = 0; d < devices; d++) {
            const ppsched_device_metrics *figures = &next.timeline->devices[d];
            if (!ppi_is_over_limit(figures->peak_memory, figures->memory_limit))
                high[d] = placing->taken[d];
            else if (low[d] < high[d])
                low[d] = placing->taken[d] + 1;
        }
        if (next.timeline->metrics.limit_device == PPSCHED_NONE) {
            clear_choice(best);
            *best = next;
        } else {
            clear_choice(&next);
        }
    }
    if (status != PPSCHED_OK)
        clear_choice(best);
    return status;
}

/* --- all of it --- */

static ppsched_status place(ppsched_schedule **out, struct ppi_placing *placing, const uint8_t *marks, uint32_t *trip_of,
                            bool until_limit, ppsched_error *error)
{
    uint32_t devices = placing->schedule->shape.devices;
    struct choice best = {0};
    for (size_t i = 0; i < ppi_cell_count(placing->schedule); i++)
        trip_of[i] = PPSCHED_NONE;
    if (placing->schedule->op_count > 0)
        memcpy(placing->spans, placing->plain->spans, (size_t)placing->schedule->op_count * sizeof *placing->spans);
    ppi_list_trips(placing, marks, trip_of);
    ppi_rank_trips(placing);
    uint32_t *bounds = ppi_allocate(&placing->schedule->host, devices, 2 * sizeof *bounds);
    ppsched_status status = bounds == NULL ? ppi_fail_memory(error, "the offloads")
                            : until_limit  ? choose_few(&best, placing, trip_of, bounds, bounds + devices, error)
                                           : choose_all(&best, placing, trip_of, error);
    ppi_release(&placing->schedule->host, bounds);
    if (status != PPSCHED_OK)
        return status;
    *out = best.schedule;
    best.schedule = NULL;
    clear_choice(&best);
    return PPSCHED_OK;
}

static ppsched_status place_with_room(ppsched_schedule **out, struct ppi_placing *placing, const uint8_t *marks,
                                      bool until_limit, ppsched_error *error)
{
    const struct ppi_host *host = &placing->schedule->host;
    size_t cells = ppi_cell_count(placing->schedule), devices = placing->schedule->shape.devices;
    uint32_t *trip_of = ppi_allocate(host, cells, sizeof *trip_of);
    placing->trips = ppi_allocate(host, cells, sizeof *placing->trips);
    placing->keys = ppi_allocate(host, cells, sizeof *placing->keys);
    placing->order = ppi_allocate(host, cells, sizeof *placing->order);
    placing->scratch = ppi_allocate(host, cells, sizeof *placing->scratch);
    placing->free = ppi_allocate(host, devices, sizeof *placing->free);
    placing->taken = ppi_allocate(host, devices, 2 * sizeof *placing->taken);
    placing->spans = ppi_allocate(host, (size_t)placing->schedule->op_count, sizeof *placing->spans);
    placing->limits = ppi_allocate(host, devices, 3 * sizeof *placing->limits);
    bool has_room = placing->spans != NULL && placing->limits != NULL && trip_of != NULL && placing->trips != NULL &&
                    placing->keys != NULL && placing->order != NULL && placing->scratch != NULL && placing->free != NULL &&
                    placing->taken != NULL;
    placing->all = has_room ? placing->taken + devices : NULL;
    placing->peaks = has_room ? placing->limits + devices : NULL;
    placing->least = has_room ? placing->peaks + devices : NULL;
    ppsched_status status = has_room ? place(out, placing, marks, trip_of, until_limit, error)
                                     : ppi_fail_memory(error, "the offloads");
    ppi_release(host, trip_of);
    ppi_release(host, placing->trips);
    ppi_release(host, placing->keys);
    ppi_release(host, placing->order);
    ppi_release(host, placing->scratch);
    ppi_release(host, placing->free);
    ppi_release(host, placing->taken);
    ppi_release(host, placing->spans);
    ppi_release(host, placing->limits);
    return status;
}

ppsched_status ppi_offload(ppsched_schedule **out, const ppsched_schedule *schedule, const ppsched_config *config,
                           const ppsched_offload_options *options, ppsched_error *error)
{
    ppsched_timeline *plain = NULL;
    uint8_t *marks = NULL;
    ppsched_status status = ppi_require_whole(schedule, error);
    if (status == PPSCHED_OK)
        status = ppi_mark_chunks(&marks, schedule, options->chunks, error);
    if (status == PPSCHED_OK)
        status = ppi_evaluate(&plain, schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error);
    if (status == PPSCHED_OK) {
        struct ppi_placing placing = {.schedule = schedule, .config = config, .plain = plain};
        status = place_with_room(out, &placing, marks, options->until_limit != 0, error);
    }
    ppi_timeline_destroy(plain);
    ppi_release(&schedule->host, marks);
    return status;
}
