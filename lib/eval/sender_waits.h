/* SPDX-License-Identifier: Apache-2.0 */
/* How long devices wait that have sent something: PPSCHED_SENDER_WAITS_LIKE_KIND. Which ops wait follows from the order, for
 * how long from the config, so that the sweeps look it up. Where devices do not wait there is nothing of this. */
#ifndef PPSCHED_EVAL_SENDER_WAITS_H
#define PPSCHED_EVAL_SENDER_WAITS_H

#include "ir/costs.h"
#include "ir/schedule.h"

/* In place of an op: none. */
#define PPI_NO_OP SIZE_MAX

/* What an op waits for beside its turn and its inputs; ops by their index among all of the schedule. */
struct ppi_sender {
    size_t previous; /* the op before it on its device, whose transfer it waits for */
    size_t receiver; /* the op that reads what comes with that */
    double turn;     /* how long that is on its way */
    size_t input;    /* of a W: its I, whose input it counts once more */
    double own;      /* how long that was on its way */
    double room;     /* slack that those which wait for this op leave it; for the sweep back */
};

struct ppi_senders {
    struct ppi_sender *ops;     /* of the schedule */
    size_t *forward, *backward; /* the ops with F, and with B or I, of each stage pass; stage by stage */
};

/* For a schedule's ops, whatever they are. */
ppsched_status ppi_senders_make(struct ppi_senders **out, const ppsched_schedule *schedule, ppsched_error *error);
void ppi_senders_destroy(struct ppi_senders *senders, const struct ppi_host *host);

/* Finds who waits and, unless `costs` is NULL, for how long; ops need be neither complete nor in an order that can be run. */
void ppi_senders_fill(struct ppi_senders *senders, const ppsched_schedule *schedule, const struct ppi_costs *costs);

#endif
