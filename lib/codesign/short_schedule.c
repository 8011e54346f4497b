/* SPDX-License-Identifier: Apache-2.0 */
/* A shorter schedule, on which a split is searched in less time. With V and bidirectional placement no device waits for
 * another once all have started: each further microbatch takes the work of the most loaded device. So few microbatches
 * estimate the time of many, and the whole schedule only decides among the best splits. Where pairs have windows, a microbatch
 * takes less than its work, and there is no shorter schedule. */
#include "base/error.h"
#include "codesign/codesign.h"

/* Microbatches of the shorter schedule: at least ROUNDS per device, at most QUARTERS quarters of all.
 * Measured: docs/performance.md. */
enum { ROUNDS = 2, QUARTERS = 3 };

/* Fewer microbatches with the same remainder by the number of devices. */
static uint32_t fewer_of(const struct ppi_shape *shape)
{
    return ROUNDS * shape->devices + shape->microbatches % shape->devices;
}

static bool is_bound_by_devices(const ppsched_schedule *schedule)
{
    const struct ppi_placement *placement = &schedule->placement;
    const uint32_t stages = schedule->shape.stages, devices = schedule->shape.devices;
    return placement->copies > 1 || (stages == 2 * devices && placement->device_of[0] == placement->device_of[stages - 1]);
}

ppsched_status ppi_candidate_shorten(ppsched_schedule **out, const struct ppi_candidate *candidate,
                                     const ppsched_config *config, const ppsched_schedule *schedule, ppsched_error *error)
{
    const uint32_t fewer = fewer_of(&config->shape);
    ppsched_config *shorter = NULL;
    if (candidate->strategy->plan != NULL || !schedule->flushes || config->windows != NULL || ppi_has_factors(config) ||
        !is_bound_by_devices(schedule) || fewer > config->shape.microbatches / 4 * QUARTERS)
        return PPSCHED_OK;
    ppsched_status status = ppi_config_copy(&shorter, config, error);
    if (status != PPSCHED_OK)
        return status;
    shorter->shape.microbatches = fewer;
    shorter->shape.iterations = 1;
    shorter->progress = NULL;
    status = ppi_generate(out, candidate->strategy, shorter, error);
    ppi_config_destroy(shorter);
    return status == PPSCHED_ERROR_REFUSED ? PPSCHED_OK : status;
}
