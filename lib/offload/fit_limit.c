/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule within tighter limits also keeps these, and may be shorter, as no search finds the shortest: the least limit of
 * any device is tried for all devices, and limits of some activations less. A refusal names the least limit that works, found
 * by halving. */
#include "offload/fit_limit.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "offload/fit_search.h"
#include "offload/select.h"

/* Measured: docs/performance.md. */
enum {
    MOST_TIGHTER = 16,       /* the most activations by which limits are tightened */
    TIMED_TIGHTER = 1 << 13, /* ops, counting one evaluation per limit */
    MOST_HALVINGS = 12,      /* of the interval between a limit that is kept and one that is not */
    TIMED_HALVINGS = 1 << 15 /* the same for halvings */
};

static double limit_of(const struct ppi_placing *placing, uint32_t device)
{
    return placing->plain->devices[device].memory_limit;
}

/* Searches under the limits of `placing`; what it finds becomes `*best` where it is better. */
static ppsched_status search(struct ppi_choice *best, struct ppi_placing *placing, bool *is_found, ppsched_error *error)
{
    struct ppi_fit_search within;
    ppsched_status status = ppi_within_make(&within, placing, error);
    within.proves = true;
    if (status == PPSCHED_OK)
        status = ppi_within_search(&within, error);
    *is_found = status == PPSCHED_OK && within.best.schedule != NULL;
    if (*is_found)
        ppi_choice_keep(best, &within.best);
    ppi_within_clear(&within);
    return status;
}

/* --- tighter limits --- */

static bool have_one_limit(const struct ppi_placing *placing)
{
    for (uint32_t d = 1; d < placing->schedule->shape.devices; d++)
        if (limit_of(placing, d) != limit_of(placing, 0))
            return false;
    return true;
}

static void set_least_limit(const struct ppi_placing *placing)
{
    uint32_t devices = placing->schedule->shape.devices;
    double least = PPI_INFINITE;
    for (uint32_t d = 0; d < devices; d++)
        least = ppi_smaller(least, limit_of(placing, d));
    for (uint32_t d = 0; d < devices; d++)
        placing->limits[d] = least;
}

/* Lowers the limits by so many activations; false where a device cannot keep that. */
static bool tighten(const struct ppi_placing *placing, const double *units, uint32_t less)
{
    for (uint32_t d = 0; d < placing->schedule->shape.devices; d++) {
        placing->limits[d] = limit_of(placing, d) - less * units[d];
        if (ppi_is_over_limit(ppi_least_held(placing, d), placing->limits[d]))
            return false;
    }
    return true;
}

static ppsched_status try_tighter(struct ppi_choice *best, struct ppi_placing *placing, ppsched_error *error)
{
    struct ppi_fit_search units;
    bool is_found = true;
    uint64_t most = TIMED_TIGHTER / (1 + placing->schedule->op_count);
    ppsched_status status = ppi_within_make(&units, placing, error);
    if (status == PPSCHED_OK && most > 0 && !have_one_limit(placing)) {
        set_least_limit(placing);
        status = search(best, placing, &is_found, error);
    }
    for (uint32_t k = 1;
         k <= MOST_TIGHTER && k < most && is_found && status == PPSCHED_OK && ppi_choice_is_longer(best, placing); k++) {
        if (!tighten(placing, units.units, k))
            break;
        status = search(best, placing, &is_found, error);
    }
    ppi_within_clear(&units);
    return status;
}

/* --- refusals --- */

/* Sets one limit for all devices, or a factor of their own limits. */
static void set_limits(const struct ppi_placing *placing, bool is_one, double value)
{
    for (uint32_t d = 0; d < placing->schedule->shape.devices; d++)
        placing->limits[d] = is_one ? value : value * limit_of(placing, d);
}

/* Searches under a limit; `*value` becomes the limit that the found choice keeps. */
static ppsched_status try_limit(struct ppi_placing *placing, bool is_one, double *value, bool *is_found, ppsched_error *error)
{
    struct ppi_fit_search within;
    double tried = *value;
    set_limits(placing, is_one, tried);
    ppsched_status status = ppi_within_make(&within, placing, error);
    within.wants_any = within.proves = true;
    within.tries /= 2;
    if (status == PPSCHED_OK)
        status = ppi_within_search(&within, error);
    *is_found = status == PPSCHED_OK && within.best.schedule != NULL;
    if (*is_found) {
        double most = 0;
        for (uint32_t d = 0; d < placing->schedule->shape.devices; d++)
            most = ppi_larger(most, within.best.peaks[d]);
        *value = is_one ? most : tried;
    }
    ppi_within_clear(&within);
    return status;
}

/* A limit, or factor, that nothing can keep. */
static double least_of_all(const struct ppi_placing *placing, bool is_one)
{
    double least = 0;
    for (uint32_t d = 0; d < placing->schedule->shape.devices; d++) {
        double held = ppi_least_held(placing, d);
        least = ppi_larger(least, is_one ? held : held / limit_of(placing, d));
    }
    return least;
}

/* Lowers `*high`, which can be kept, by halving to the least that is found. */
static ppsched_status find_least(double *high, struct ppi_placing *placing, bool is_one, ppsched_error *error)
{
    uint64_t halvings = TIMED_HALVINGS / (1 + placing->schedule->op_count);
    double low = ppi_larger(is_one ? limit_of(placing, 0) : 1, least_of_all(placing, is_one)), at = low;
    ppsched_status status = PPSCHED_OK;
    for (uint64_t i = 0; i < 2 + halvings && i < MOST_HALVINGS && at < *high && status == PPSCHED_OK; i++) {
        bool is_found;
        double value = at;
        status = try_limit(placing, is_one, &value, &is_found, error);
        if (is_found)
            *high = value;
        else
            low = at;
        at = low + (*high - low) / 2;
        if (*high - at < *high / 256)
            break;
    }
    return status;
}

static ppsched_status refuse(double *least, struct ppi_placing *placing, const struct ppi_fit_search *within,
                             ppsched_error *error)
{
    bool is_one = have_one_limit(placing);
    double value = is_one ? within->peak : within->overshoot;
    uint32_t device = 0;
    if (least == NULL)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "offload: no choice fits the memory limits");
    if (!ppi_is_finite(value))
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "offload: no choice fits the memory limits, of which one is 0");
    ppsched_status status = find_least(&value, placing, is_one, error);
    if (status != PPSCHED_OK)
        return status;
    *least = value;
    while (device + 1 < placing->schedule->shape.devices &&
           !ppi_is_over_limit(placing->plain->devices[device].peak_memory, limit_of(placing, device)))
        device++;
    if (is_one)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "offload: no choice fits the memory limit of %g; the least limit found to work is %g",
                        limit_of(placing, 0), value);
    return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                    "offload: no choice fits the memory limits, such as device %u's, %g; %g times these limits work", device,
                    limit_of(placing, device), value);
}

ppsched_status ppi_offload_until_limit(struct ppi_choice *out, double *least, struct ppi_placing *placing, ppsched_error *error)
{
    struct ppi_fit_search within;
    *out = (struct ppi_choice){0};
    for (uint32_t d = 0; d < placing->schedule->shape.devices; d++)
        placing->limits[d] = limit_of(placing, d);
    ppi_pick_chunks(placing, 0);
    if (placing->plain->metrics.limit_device == PPSCHED_NONE)
        return ppi_choice_make(out, placing, error);
    ppsched_status status = ppi_within_make(&within, placing, error);
    within.proves = true;
    within.wants_excess = least != NULL;
    if (status == PPSCHED_OK)
        status = ppi_within_search(&within, error);
    if (status == PPSCHED_OK && within.best.schedule == NULL)
        status = refuse(least, placing, &within, error);
    if (status == PPSCHED_OK) {
        *out = within.best;
        within.best = (struct ppi_choice){0};
        if (ppi_choice_is_longer(out, placing))
            status = try_tighter(out, placing, error);
    }
    if (status != PPSCHED_OK)
        ppi_choice_clear(out);
    ppi_within_clear(&within);
    return status;
}
