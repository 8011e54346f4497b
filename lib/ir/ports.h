/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs and outputs of an op on one of its devices, one by one, in a schedule with a stage graph. There an op has a port
 * to each device of each stage that feeds it, or that it feeds.
 *
 * The value from one seat to another for micro-slice p has the number 2 (n P + p), where n is the number of the pair of seats,
 * plus 1 for a gradient: see ir/transfer.h for chains. */
#ifndef PPSCHED_IR_PORTS_H
#define PPSCHED_IR_PORTS_H

#include "ir/stage_graph.h"
#include "ir/transfer.h"

struct ppi_ports {
    const ppsched_schedule *schedule;
    ppsched_op op;
    struct ppi_feeds stages; /* those of the other ends */
    uint32_t seat;           /* of the op */
    uint32_t stage, place;   /* the next port: index in `stages`, and of the device in that stage's list */
    bool is_out;
};

/* Ports of an F, B, I or W; a W has none. */
struct ppi_ports ppi_ports_in(const ppsched_schedule *schedule, const ppsched_op *op, uint32_t device);
struct ppi_ports ppi_ports_out(const ppsched_schedule *schedule, const ppsched_op *op, uint32_t device);

/* The next port; false after the last. If `from` and `to` are equal, the value stays on its device, and is no transfer. */
bool ppi_next_port(struct ppi_ports *ports, struct ppi_transfer *out);

/* The same without ports that are no transfers. */
static inline bool ppi_next_sent(struct ppi_ports *ports, struct ppi_transfer *out)
{
    while (ppi_next_port(ports, out))
        if (out->from != out->to)
            return true;
    return false;
}

/* The transfer of a SEND or RECV in the queue of a device; false if it has none. */
bool ppi_transfer_of(const ppsched_schedule *schedule, const ppsched_op *comm, uint32_t device, struct ppi_transfer *out);

/* Why an op has no such other end on a stage graph, or on a chain (NULL), as the end of a message; NULL if it may have. */
const char *ppi_refuse_place(const struct ppi_stage_graph *graph, const ppsched_op *op);

/* The link of a SEND or RECV; PPSCHED_NONE if its stages do not feed each other. */
uint32_t ppi_comm_link(const struct ppi_stage_graph *graph, const ppsched_op *comm);

#endif
