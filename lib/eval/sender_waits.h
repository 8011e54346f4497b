/* SPDX-License-Identifier: Apache-2.0 */
/* How long devices wait after a send: PPSCHED_SENDER_WAITS_LIKE_KIND. Which ops wait follows from the order, and for how long
 * from the config, so the sweeps look it up. Without such waits none of this exists. */
#ifndef PPSCHED_EVAL_SENDER_WAITS_H
#define PPSCHED_EVAL_SENDER_WAITS_H

#include "ir/costs.h"
#include "ir/schedule.h"

/* In place of an op: none. */
#define PPI_NO_OP SIZE_MAX

/* What an op waits for in addition to its device and its inputs; ops by index among all of the schedule. */
struct ppi_sender {
    size_t previous; /* the op before it on its device, whose transfer it waits for */
    size_t receiver; /* the op that reads that transfer */
    double turn;     /* time of that transfer */
    size_t input;    /* of a W: its I, whose input transfer it waits for again */
    double own;      /* time of that transfer */
    double room;     /* slack left by ops that wait for this one; for the backward sweep */
};

struct ppi_senders {
    struct ppi_sender *ops;     /* by op of the schedule */
    size_t *forward, *backward; /* ops with F, and with B or I, of each stage pass, stage by stage */
};

/* For a schedule's ops, valid or not. */
ppsched_status ppi_senders_make(struct ppi_senders **out, const ppsched_schedule *schedule, ppsched_error *error);
void ppi_senders_destroy(struct ppi_senders *senders, const struct ppi_host *host);

/* Finds which ops wait and, unless `costs` is NULL, for how long; the schedule may be incomplete or have a deadlock. */
void ppi_senders_fill(struct ppi_senders *senders, const ppsched_schedule *schedule, const struct ppi_costs *costs);

#endif
