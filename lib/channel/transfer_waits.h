/* SPDX-License-Identifier: Apache-2.0 */
/* What a device waits for in a run with transfers, and how its wait is split by cause. */
#ifndef PPSCHED_CHANNEL_TRANSFER_WAITS_H
#define PPSCHED_CHANNEL_TRANSFER_WAITS_H

#include "channel/transfer_state.h"

/* Splits a device's wait for a comm op that is done now, or was done earlier if the device then waited for parameters, a
 * reload, or other devices. */
void ppi_split_comm_wait(struct ppi_transfer_run *run, uint32_t device, uint32_t i);

/* In a model that blocks: whether a device is blocked by the comm op before its position, or by the batch that ends there. */
bool ppi_comm_blocks(const struct ppi_transfer_run *run, uint32_t device);

/* Ends a blocked device's block by comm ops: its wait is attributed to the one that was done last. */
void ppi_leave_block(struct ppi_transfer_run *run, uint32_t device);

/* The same as the next function, on a stage graph. */
uint32_t ppi_last_receive_on_graph(const struct ppi_transfer_run *run, uint32_t device, uint32_t i);

/* The receive of a device's unit that was done last, or one that is not done; PPSCHED_NONE if it needs none. */
static inline uint32_t ppi_last_receive(const struct ppi_transfer_run *run, uint32_t device, uint32_t i)
{
    uint32_t last = PPSCHED_NONE;
    if (run->comms.come != NULL)
        return ppi_last_receive_on_graph(run, device, i);
    for (uint32_t k = i; k < i + ppi_unit_length(&run->schedule->ops[i]); k++) {
        uint32_t receive = ppi_awaited_by(&run->comms.channels, k);
        if (receive == PPSCHED_NONE)
            continue;
        if (!run->comms.done[receive])
            return receive;
        if (last == PPSCHED_NONE || run->timeline->spans[receive].end > run->timeline->spans[last].end)
            last = receive;
    }
    return last;
}

#endif
