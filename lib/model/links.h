/* SPDX-License-Identifier: Apache-2.0 */
/* Times of collectives on the links of a device. */
#ifndef PPSCHED_MODEL_LINKS_H
#define PPSCHED_MODEL_LINKS_H

#include "model/blocks.h"

/* Devices of a group, devices that they are spread over, and those of the group in one node; 0: they are spread evenly. */
struct ppi_spread {
    double count, span, near;
};

/* How far the devices of a group are apart. */
enum ppi_distance { PPI_IN_NODE, PPI_IN_POD, PPI_BEYOND };

/* The distance of the first and the last of so many consecutive devices, and their link. */
enum ppi_distance ppi_distance_of(const ppsched_accelerator *device, double span);
const ppsched_link_rate *ppi_link_over(const ppsched_accelerator *device, enum ppi_distance distance);

/* The devices of a pod; 0: there are no pods. */
uint64_t ppi_pod_devices(const ppsched_accelerator *device);

struct ppi_spread ppi_spread_of(const ppsched_model *model, enum ppi_group group);

/* Seconds of a collective on `bytes`: for an all-to-all what a device sends, else all that is gathered. 0 for one device. */
double ppi_collective_time(const ppsched_model *model, struct ppi_spread group, enum ppi_collective collective, double bytes);

/* The same of two devices or more, without measured times. */
double ppi_predicted_collective(const ppsched_model *model, struct ppi_spread group, enum ppi_collective collective,
                                double bytes);

/* Seconds of an all-to-all that sends `copies` of each row, of which those to one node cross to it as one. */
double ppi_exchange_time(const ppsched_model *model, struct ppi_spread group, double bytes, double copies);

#endif
