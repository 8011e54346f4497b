/* SPDX-License-Identifier: Apache-2.0 */
/* The cheapest sets of a device of few stages, and what the search for them shares with other ways to choose. */
#ifndef PPSCHED_SPLIT_CHEAPEST_H
#define PPSCHED_SPLIT_CHEAPEST_H

#include "base/checked.h"
#include "split/fit.h"

/* The cheapest sets that fit, as far as a few steps from a good choice tell; false where the device is too large for that, or
 * none was found. */
bool ppi_fit_cheapest(const struct ppi_fit *fit, uint32_t *dishes, uint64_t *visited);

/* --- parts --- */

/* The sets that a stage may have: these and those between. */
static inline uint32_t ppi_fit_first_of(const struct ppi_fit *fit, uint32_t stage)
{
    uint32_t last = fit->menus[stage].count - 1, pin = fit->pin[stage];
    return pin == PPSCHED_NONE ? 0 : pin < last ? pin : last;
}

static inline uint32_t ppi_fit_last_of(const struct ppi_fit *fit, uint32_t stage)
{
    return fit->pin[stage] == PPSCHED_NONE ? fit->menus[stage].count - 1 : ppi_fit_first_of(fit, stage);
}

static inline const uint32_t *ppi_fit_set_at(const struct ppi_fit *fit, uint32_t set)
{
    return fit->holding->sets + (size_t)set * 2 * fit->holding->count;
}

/* The least of what a stage's sets hold, and of what they hold until W. */
static inline struct ppi_dish ppi_fit_least_of(const struct ppi_fit *fit, uint32_t stage)
{
    const struct ppi_dish *dishes = fit->menus[stage].dishes;
    struct ppi_dish least = dishes[ppi_fit_last_of(fit, stage)];
    for (uint32_t d = ppi_fit_first_of(fit, stage); d <= ppi_fit_last_of(fit, stage) && !fit->releases_at_once; d++) {
        least.held = ppi_smaller(least.held, dishes[d].held);
        least.weight_held = ppi_smaller(least.weight_held, dishes[d].weight_held);
    }
    return least;
}

#endif
