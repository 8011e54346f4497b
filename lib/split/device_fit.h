/* SPDX-License-Identifier: Apache-2.0 */
/* The cheapest recompute options with which a device's stages fit its memory. */
#ifndef PPSCHED_SPLIT_DEVICE_FIT_H
#define PPSCHED_SPLIT_DEVICE_FIT_H

#include "split/held_passes.h"
#include "split/recompute_options.h"

/* The input for a device. `room`: memory left for activations. */
struct ppi_fit {
    const struct ppi_held_passes *holding;
    const struct ppi_recompute_front *fronts; /* of all stages */
    const double *weight;                     /* of all stages: criticality, the cost of a unit of time added to one, > 0 */
    const uint32_t *pin;                      /* of all stages: the option that it must have, or PPSCHED_NONE */
    double room;
};

/* Chooses an option for each of the device's stages, the cheapest that were found; `options` is indexed by stage. Returns the
 * device's overshoot, 0 where it fits. `*visited` grows by the work. */
double ppi_fit_device(uint32_t *options, const struct ppi_fit *fit, uint64_t *visited);

/* The same for two devices with the same two stages in different copies of the model, with the same options. Where no choice
 * lets both fit, the one that holds least. */
void ppi_fit_pair(uint32_t *options, const struct ppi_fit *pair, uint64_t *visited);

/* Whether the device may fit: with the least that each of its stages can hold, whatever the cost. */
bool ppi_fit_may(const struct ppi_fit *fit);

/* The most that it holds with the chosen options; `*which`: in which held set. */
double ppi_fit_most(const uint32_t *options, const struct ppi_fit *fit, uint32_t *which);

/* Its overshoot with the chosen options; below 0: memory that is left. */
double ppi_fit_overshoot(const uint32_t *options, const struct ppi_fit *fit);

#endif
