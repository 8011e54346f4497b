/* SPDX-License-Identifier: Apache-2.0 */
/* The cheapest recompute options of a device with few stages, and helpers shared with other searches for options. */
#ifndef PPSCHED_SPLIT_CHEAPEST_RECOMPUTE_H
#define PPSCHED_SPLIT_CHEAPEST_RECOMPUTE_H

#include "base/checked.h"
#include "split/device_fit.h"

/* The cheapest options that fit, among those found in a few steps from a good choice; false where the device is too large for
 * that, or none was found. */
bool ppi_fit_cheapest(const struct ppi_fit *fit, uint32_t *options, uint64_t *visited);

/* --- parts --- */

/* The first and the last option that a stage may have. */
static inline uint32_t ppi_fit_first_of(const struct ppi_fit *fit, uint32_t stage)
{
    uint32_t last = fit->fronts[stage].count - 1, pin = fit->pin[stage];
    return pin == PPSCHED_NONE ? 0 : pin < last ? pin : last;
}

static inline uint32_t ppi_fit_last_of(const struct ppi_fit *fit, uint32_t stage)
{
    return fit->pin[stage] == PPSCHED_NONE ? fit->fronts[stage].count - 1 : ppi_fit_first_of(fit, stage);
}

static inline const uint32_t *ppi_fit_set_at(const struct ppi_fit *fit, uint32_t set)
{
    return fit->holding->sets + (size_t)set * fit->holding->width * fit->holding->count;
}

/* The least that any option of a stage holds, for each state of a pass. */
static inline struct ppi_recompute_option ppi_fit_least_of(const struct ppi_fit *fit, uint32_t stage)
{
    const struct ppi_recompute_front *front = &fit->fronts[stage];
    struct ppi_recompute_option least = front->options[ppi_fit_last_of(fit, stage)];
    for (uint32_t d = ppi_fit_first_of(fit, stage); d <= ppi_fit_last_of(fit, stage) && !front->is_ordered; d++)
        for (int i = 0; i < PPI_HELD; i++)
            least.held[i] = ppi_smaller(least.held[i], front->options[d].held[i]);
    return least;
}

/* The memory of the i-th stage's passes in a held set with an option. */
static inline double ppi_fit_need(const struct ppi_fit *fit, const uint32_t *set, uint32_t i,
                                  const struct ppi_recompute_option *option)
{
    const uint32_t *passes = set + (size_t)fit->holding->width * i;
    double need = passes[PPI_HELD_KEPT] * option->held[PPI_HELD_KEPT] + passes[PPI_HELD_WEIGHT] * option->held[PPI_HELD_WEIGHT];
    if (fit->holding->width > PPI_HELD_INPUT)
        need += passes[PPI_HELD_INPUT] * option->held[PPI_HELD_INPUT] + passes[PPI_HELD_WHOLE] * option->held[PPI_HELD_WHOLE];
    return need;
}

#endif
