/* SPDX-License-Identifier: Apache-2.0 */
/* On a chain an op has one input and one output; on a stage graph its ports. */
#include "eval/comm_buffers.h"

/* Whether a buffer was held; then it no longer is. */
static bool leave(uint8_t *buffer)
{
    bool was_held = *buffer == PPI_BUFFER_STANDING;
    *buffer = was_held ? PPI_BUFFER_NONE : *buffer;
    return was_held;
}

uint32_t ppi_take_received(const struct ppi_comm_buffers *buffers, const ppsched_op *op)
{
    struct ppi_transfer transfer;
    uint32_t count = 0;
    if (buffers->receiving == NULL)
        return 0;
    if (buffers->schedule->placement.graph == NULL) {
        uint32_t input = ppi_input_of(buffers->schedule, op);
        return input != PPSCHED_NONE && leave(&buffers->receiving[input]);
    }
    for (struct ppi_ports ports = ppi_ports_in(buffers->schedule, op, buffers->device); ppi_next_sent(&ports, &transfer);)
        count += leave(&buffers->receiving[transfer.number]);
    return count;
}

/* Whether a buffer has a send; then it is held. */
static bool hold(uint8_t *buffer)
{
    bool is_sent = *buffer == PPI_BUFFER_LISTED;
    *buffer = is_sent ? PPI_BUFFER_STANDING : *buffer;
    return is_sent;
}

uint32_t ppi_hold_sent(const struct ppi_comm_buffers *buffers, const ppsched_op *op)
{
    struct ppi_transfer transfer;
    uint32_t count = 0;
    if (buffers->sending == NULL)
        return 0;
    if (buffers->schedule->placement.graph == NULL) {
        uint32_t output = ppi_output_of(buffers->schedule, op);
        return output != PPSCHED_NONE && hold(&buffers->sending[output]);
    }
    for (struct ppi_ports ports = ppi_ports_out(buffers->schedule, op, buffers->device); ppi_next_sent(&ports, &transfer);)
        count += hold(&buffers->sending[transfer.number]);
    return count;
}

/* On a stage graph only values with comm ops have buffers. */
static uint32_t number_on_graph(const struct ppi_comm_buffers *buffers, const ppsched_op *op)
{
    return ppi_is_comm(op) ? ppi_comm_number(buffers->schedule, buffers->device, op) : PPSCHED_NONE;
}

uint32_t ppi_buffer_sent(const struct ppi_comm_buffers *buffers, const ppsched_op *op)
{
    return buffers->schedule->placement.graph == NULL ? ppi_output_of(buffers->schedule, op) : number_on_graph(buffers, op);
}

uint32_t ppi_buffer_received(const struct ppi_comm_buffers *buffers, const ppsched_op *op)
{
    return buffers->schedule->placement.graph == NULL ? ppi_input_of(buffers->schedule, op) : number_on_graph(buffers, op);
}
