/* SPDX-License-Identifier: Apache-2.0 */
/* The cheapest recomputation with which a device's stages fit its memory. */
#ifndef PPSCHED_SPLIT_DEVICE_FIT_H
#define PPSCHED_SPLIT_DEVICE_FIT_H

#include "split/held_passes.h"
#include "split/recompute_options.h"

/* A device's question: `room` is what its activations may take. */
struct ppi_fit {
    const struct ppi_held_passes *holding;
    const struct ppi_recompute_front *fronts; /* of all stages */
    const double *weight;                     /* of all stages: what a unit of time added to one costs, > 0 */
    const uint32_t *pin;                      /* of all stages: the set that it shall have, or PPSCHED_NONE */
    double room;
};

/* Chooses a set for each of the device's stages; `options` is that of all stages. Returns what the device still lacks, 0 where
 * it fits. They are those that cost least, as far as that was found. `*visited` grows by the work that took. */
double ppi_fit_device(uint32_t *options, const struct ppi_fit *fit, uint64_t *visited);

/* The same for two devices that have the same two stages, each in another copy of the model: both recompute alike. Where no
 * choice lets both fit, it is that which holds least. */
void ppi_fit_pair(uint32_t *options, const struct ppi_fit *pair, uint64_t *visited);

/* Whether the device might fit: with what each of its stages holds at least, whatever that adds. */
bool ppi_fit_may(const struct ppi_fit *fit);

/* What it holds at most with the sets that are chosen, and which of the holding's sets that is. */
double ppi_fit_most(const uint32_t *options, const struct ppi_fit *fit, uint32_t *which);

/* What it lacks with the sets that are chosen; below 0 where some is left. */
double ppi_fit_overshoot(const uint32_t *options, const struct ppi_fit *fit);

#endif
