/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for a way to place as few trips as hold limits, in as short a step as is found. */
#ifndef PPSCHED_OFFLOAD_FIT_SEARCH_H
#define PPSCHED_OFFLOAD_FIT_SEARCH_H

#include "offload/transfer_plan.h"

/* Which trips, and how they are placed. */
struct ppi_wait_rule {
    uint32_t chunks; /* all of so many stages of each device; 0: what is needed */
    uint32_t lead;   /* by number */
    bool is_forced, is_late;
};

struct ppi_fit_search {
    struct ppi_placing *placing;  /* whose limits are to hold */
    struct ppi_choice best;       /* of what holds them */
    bool wants_any;               /* ends with the first */
    double step;                  /* ends with one of that step: that without copies */
    double overshoot;             /* least that there was of a device's peak over its limit, as a factor */
    double peak;                  /* and the largest peak there */
    struct ppi_wait_rule rule;    /* of the best */
    uint32_t chunks;              /* so many of all are the best of such recipes */
    double shortest;              /* step of what held the limits since this was set */
    int patience;                 /* rounds that are not better than the one before */
    uint32_t tries;               /* evaluations that are left */
    uint32_t *slack, *best_slack; /* a device each: how many activations less than its limit are the aim */
    double *units;                /* of what a trip moves, the most of each device */
};

/* Makes room; nothing has been tried. */
ppsched_status ppi_within_make(struct ppi_fit_search *out, struct ppi_placing *placing, ppsched_error *error);
void ppi_within_clear(struct ppi_fit_search *within);

/* Searches, in at least 48 evaluations, up to 256 where these take no long time, and up to 27 more where nothing has been
 * found by then. Where nothing is found that holds the limits, `best` has no schedule. Errors: as of an evaluation; CANCELLED
 * where the config's listener says so. */
ppsched_status ppi_within_search(struct ppi_fit_search *within, ppsched_error *error);

/* Likewise with all trips that are picked, none of them forced: one lead after another. */
ppsched_status ppi_within_leads(struct ppi_fit_search *within, ppsched_error *error);

/* Likewise, then forced. */
ppsched_status ppi_within_all(struct ppi_fit_search *within, ppsched_error *error);

#endif
