/* SPDX-License-Identifier: Apache-2.0 */
/* Which device stands where: order[p] is the device, as lists number it, that stands p-th. */
#ifndef PPSCHED_IR_DEVICE_ORDER_H
#define PPSCHED_IR_DEVICE_ORDER_H

#include "ir/config.h"

/* Checks that an order is a permutation of the devices. */
ppsched_status ppi_check_device_order(uint32_t devices, const uint32_t *order, size_t count, const struct ppi_host *host,
                                      ppsched_error *error);

/* Puts the devices of a config in an order: lists by device, and by pair of devices, follow. */
ppsched_status ppi_config_order_devices(ppsched_config *config, const uint32_t *order, ppsched_error *error);

/* Copies a list by device, or several in a row, in an order; or a list by pair of devices. */
void ppi_order_by_device(double *out, const double *list, size_t count, const uint32_t *order, uint32_t devices);
void ppi_order_by_pair(double *out, const double *list, const uint32_t *order, uint32_t devices);

/* Numbers the kinds of devices: type[d] is the first device that is like d in all lists and links. */
void ppi_find_device_types(uint32_t *type, const ppsched_config *config);

/* Makes a config of some devices alone, in the order of `devices`, with `stages` stages. What belongs to stages is not kept.
 * REFUSED for a map, a graph, stage_scale and a robust objective. */
ppsched_status ppi_config_of_devices(ppsched_config **out, const ppsched_config *config, const uint32_t *devices,
                                     uint32_t count, uint32_t stages, ppsched_error *error);

#endif
