/* SPDX-License-Identifier: Apache-2.0 */
/* Times of collectives on the links of a device. */
#ifndef PPSCHED_MODEL_LINKS_H
#define PPSCHED_MODEL_LINKS_H

#include "model/blocks.h"

/* Devices of a group, devices that they are spread over, and those of the group in one node; 0: they are spread evenly. */
struct ppi_spread {
    double count, span, near;
};

struct ppi_spread ppi_spread_of(const ppsched_model *model, enum ppi_group group);

/* Seconds of a collective on `bytes`: for an all-to-all what a device sends, else all that is gathered. 0 for one device. */
double ppi_collective_time(const ppsched_model *model, struct ppi_spread group, enum ppi_collective collective, double bytes);

/* The same of two devices or more, without measured times. */
double ppi_predicted_collective(const ppsched_model *model, struct ppi_spread group, enum ppi_collective collective,
                                double bytes);

/* Seconds of an all-to-all that sends `copies` of each row, of which those to one node cross to it as one. */
double ppi_exchange_time(const ppsched_model *model, struct ppi_spread group, double bytes, double copies);

#endif
