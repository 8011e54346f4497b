/* SPDX-License-Identifier: Apache-2.0 */
/* The cheapest recomputation with which a device's stages fit its memory. */
#ifndef PPSCHED_SPLIT_FIT_H
#define PPSCHED_SPLIT_FIT_H

#include "split/holding.h"
#include "split/menu.h"

/* A device's question: `room` is what its activations may take. */
struct ppi_fit {
    const struct ppi_holding *holding;
    const struct ppi_menu *menus; /* of all stages */
    const double *weight;         /* of all stages: what a unit of time added to one costs, >= 0 */
    double room;
};

/* Chooses a set for each of the device's stages; `dishes` is that of all stages. Returns what the device still lacks, 0 where it
 * fits. With two stages or more it is the cheapest of those tried, with one the cheapest. */
double ppi_fit_device(uint32_t *dishes, const struct ppi_fit *fit);

/* What it lacks with the sets that are chosen; below 0 where some is left. */
double ppi_fit_lack(const uint32_t *dishes, const struct ppi_fit *fit);

#endif
