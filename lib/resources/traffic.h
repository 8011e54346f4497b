/* SPDX-License-Identifier: Apache-2.0 */
/* Links (ppsched_link) and receive buffers: see <ppsched/resources.h>. */
#ifndef PPSCHED_RESOURCES_TRAFFIC_H
#define PPSCHED_RESOURCES_TRAFFIC_H

#include <ppsched/resources.h>

#include "channel/channels.h"

/* The transfers, with a channel per link. */
struct ppi_traffic {
    struct ppi_channels channels;
    uint32_t *first_channel; /* by sending device: its first channel; then their number */
};

ppsched_status ppi_traffic_make(struct ppi_traffic *out, const ppsched_schedule *schedule, ppsched_error *error);
void ppi_traffic_clear(struct ppi_traffic *traffic);

/* The lists must have capacity for all. */
size_t ppi_link_count(const struct ppi_traffic *traffic);
ppsched_status ppi_list_links(ppsched_link *out, const struct ppi_traffic *traffic, ppsched_error *error);

/* Number and list of the receive buffers of a device. */
uint32_t ppi_slot_count(const struct ppi_traffic *traffic, uint32_t device);
ppsched_status ppi_list_buffers(ppsched_op_buffer *out, const struct ppi_traffic *traffic, uint32_t device, uint32_t slots,
                                ppsched_error *error);

#endif
