/* SPDX-License-Identifier: Apache-2.0 */
/* Which buffers of sends and receives a device holds, by transfer number, as its queue goes on. */
#ifndef PPSCHED_EVAL_COMM_BUFFERS_H
#define PPSCHED_EVAL_COMM_BUFFERS_H

#include "ir/ports.h"

/* State of a buffer. LISTED: it has a send; STANDING: it is held. */
enum { PPI_BUFFER_NONE = 0, PPI_BUFFER_LISTED = 1, PPI_BUFFER_STANDING = 2 };

struct ppi_comm_buffers {
    uint8_t *sending, *receiving; /* by transfer; NULL if the schedule has none */
    const ppsched_schedule *schedule;
    uint32_t device; /* whose queue goes on */
};

/* The number of received values that a compute op takes; their buffers are free from now on. */
uint32_t ppi_take_received(const struct ppi_comm_buffers *buffers, const ppsched_op *op);

/* The number of values that a compute op has made and that are to be sent; their buffers are held from now on. */
uint32_t ppi_hold_sent(const struct ppi_comm_buffers *buffers, const ppsched_op *op);

/* Number of the value that an op sends, or receives, as far as its buffer may be in use; PPSCHED_NONE: none. */
uint32_t ppi_buffer_sent(const struct ppi_comm_buffers *buffers, const ppsched_op *op);
uint32_t ppi_buffer_received(const struct ppi_comm_buffers *buffers, const ppsched_op *op);

#endif
