/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses how OFFLOAD and RELOAD are placed: by the times of the schedule without them. Where that is over a limit, or lower
 * peaks cost no time, devices wait for their offloads, and the times with these waits say when activations are needed. */
#include "base/checked.h"
#include "base/error.h"
#include "offload/fit_limit.h"
#include "offload/fit_search.h"
#include "offload/offload.h"
#include "offload/reduce_peaks.h"
#include "offload/select.h"
#include "offload/undelayed.h"

/* Tries prefetch distances while the makespan is longer than without copies; keeps the shortest. */
static ppsched_status choose_lead(struct ppi_choice *best, struct ppi_placing *placing, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i <= ppi_most_leads(placing) && (i == 0 || ppi_choice_is_longer(best, placing)); i++) {
        struct ppi_choice next;
        placing->lead = ppi_lead(placing, i);
        status = ppi_choice_make(&next, placing, error);
        if (status != PPSCHED_OK)
            break;
        if (best->schedule == NULL || ppi_choice_step(&next) < ppi_choice_step(best))
            ppi_choice_keep(best, &next);
        ppi_choice_clear(&next);
    }
    return status;
}

/* All transfers, with waits that keep the limits if any do. */
static ppsched_status hold_limits(struct ppi_choice *best, struct ppi_placing *placing, ppsched_error *error)
{
    struct ppi_fit_search within;
    for (uint32_t d = 0; d < placing->schedule->shape.devices; d++)
        placing->limits[d] = placing->plain->devices[d].memory_limit;
    ppsched_status status = ppi_within_make(&within, placing, error);
    if (status == PPSCHED_OK)
        status = ppi_within_all(&within, error);
    if (status == PPSCHED_OK && within.best.schedule != NULL) {
        ppi_choice_clear(best);
        *best = within.best;
        within.best = (struct ppi_choice){0};
    }
    ppi_within_clear(&within);
    return status;
}

/* All transfers; with waits where these keep limits or cost no time. */
static ppsched_status choose_all(struct ppi_choice *best, struct ppi_placing *placing, bool searches, ppsched_error *error)
{
    *best = (struct ppi_choice){0};
    ppi_pick_chunks(placing, UINT32_MAX);
    ppsched_status status = choose_lead(best, placing, error);
    if (status == PPSCHED_OK && !ppi_choice_fits(best, placing))
        status = hold_limits(best, placing, error);
    else if (status == PPSCHED_OK)
        status = ppi_lower_peaks(best, placing, searches, error);
    if (status != PPSCHED_OK)
        ppi_choice_clear(best);
    return status;
}

/* `timeline`: see ppi_offload_timed. */
static ppsched_status place(ppsched_schedule **out, ppsched_timeline **timeline, double *least, struct ppi_placing *placing,
                            const ppsched_offload_options *options, bool searches, ppsched_error *error)
{
    struct ppi_choice best;
    placing->prefetch_distance = options->prefetch_distance;
    ppi_list_transfers(placing, options->chunks);
    if (options->share > 0 && options->share < 1)
        ppi_keep_shortest(placing, options->share);
    ppsched_status status = options->until_limit != 0 ? ppi_offload_until_limit(&best, least, placing, error)
                                                      : choose_all(&best, placing, searches, error);
    if (status == PPSCHED_OK && timeline != NULL)
        status = ppi_choice_sum_up(&best, placing, error);
    if (status == PPSCHED_OK) {
        *out = best.schedule;
        ppi_schedule_retain(best.schedule);
    }
    if (status == PPSCHED_OK && timeline != NULL) {
        *timeline = best.timeline;
        best.timeline = NULL;
    }
    ppi_choice_clear(&best);
    return status;
}

static ppsched_status offload_by(ppsched_schedule **out, ppsched_timeline **timeline, double *least,
                                 const ppsched_timeline *plain, const ppsched_config *config,
                                 const ppsched_offload_options *options, bool searches, ppsched_error *error)
{
    struct ppi_placing placing = {.schedule = plain->schedule, .config = config, .plain = plain};
    const uint32_t devices = plain->schedule->shape.devices;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t d = 0, link; d < devices && status == PPSCHED_OK; d++)
        status = ppi_host_link_of(&link, config, d, devices, error);
    if (status == PPSCHED_OK)
        status = ppi_placing_make(&placing, error);
    if (status == PPSCHED_OK)
        status = ppi_undelayed_make(&placing, error);
    if (status == PPSCHED_OK)
        status = place(out, timeline, least, &placing, options, searches, error);
    ppi_undelayed_clear(&placing);
    ppi_placing_clear(&placing);
    return status;
}

static ppsched_status offload(ppsched_schedule **out, double *least, const ppsched_schedule *schedule,
                              const ppsched_config *config, const ppsched_offload_options *options, bool searches,
                              ppsched_error *error)
{
    ppsched_timeline *plain = NULL;
    ppsched_status status = ppi_require_whole(schedule, true, error);
    if (status == PPSCHED_OK)
        status = ppi_evaluate(&plain, schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error);
    if (status == PPSCHED_OK)
        status = offload_by(out, NULL, least, plain, config, options, searches, error);
    ppi_timeline_destroy(plain);
    return status;
}

ppsched_status ppi_offload_timed(ppsched_schedule **out, ppsched_timeline **timeline, const ppsched_timeline *plain,
                                 const ppsched_config *config, const ppsched_offload_options *options, ppsched_error *error)
{
    double least;
    ppsched_status status = ppi_require_whole(plain->schedule, true, error);
    return status == PPSCHED_OK ? offload_by(out, timeline, &least, plain, config, options, false, error) : status;
}

ppsched_status ppi_offload(ppsched_schedule **out, const ppsched_schedule *schedule, const ppsched_config *config,
                           const ppsched_offload_options *options, bool searches, ppsched_error *error)
{
    double least;
    return offload(out, &least, schedule, config, options, searches, error);
}

ppsched_status ppi_offload_to_fit(ppsched_schedule **out, double *least, const ppsched_schedule *schedule,
                                  const ppsched_config *config, ppsched_error *error)
{
    const ppsched_offload_options options = {.size = sizeof options, .until_limit = 1};
    return offload(out, least, schedule, config, &options, false, error);
}
