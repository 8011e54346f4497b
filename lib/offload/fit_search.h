/* SPDX-License-Identifier: Apache-2.0 */
/* Searches for as few offload transfers as keep limits, in as short a step as it finds. */
#ifndef PPSCHED_OFFLOAD_FIT_SEARCH_H
#define PPSCHED_OFFLOAD_FIT_SEARCH_H

#include "offload/transfer_plan.h"

/* Which transfers, and how they are placed. */
struct ppi_wait_rule {
    uint32_t chunks; /* all transfers of so many stages of each device; 0: those that are needed */
    uint32_t lead;   /* number of a prefetch distance, see ppi_lead */
    bool is_forced, is_late;
    bool is_picked; /* the transfers are picked already, by the times at hand */
};

struct ppi_fit_search {
    struct ppi_placing *placing;  /* with the limits to keep */
    struct ppi_choice best;       /* of the choices that keep them; no schedule: none yet */
    uint32_t kept;                /* how often `best` has become better */
    bool wants_any;               /* ends with the first that keeps them */
    bool proves;                  /* ends at once where nothing can keep them */
    bool wants_excess;            /* if so, with `overshoot` and `peak` */
    double step;                  /* ends with a choice of that step, the one without copies */
    double overshoot;             /* the least, over choices with all waits, of the largest peak over limit of a device */
    double peak;                  /* the least largest peak of these choices */
    struct ppi_wait_rule rule;    /* of `best` */
    uint32_t chunks;              /* of the rules that offload whole chunks, the number with the shortest step; 0: none tried */
    double shortest;              /* shortest step within the limits since this was reset */
    bool is_blocked;              /* the last waits delay nothing, and limits are not kept */
    uint32_t blocked;             /* sets in a row of which that is so */
    int patience;                 /* rounds in a row no better than the one before */
    uint32_t tries;               /* evaluations that are left */
    uint32_t *slack, *best_slack; /* by device: activations between target and limit */
    double *units;                /* by device: the most memory that one transfer moves */
};

/* Allocates an empty search. */
ppsched_status ppi_within_make(struct ppi_fit_search *out, struct ppi_placing *placing, ppsched_error *error);
void ppi_within_clear(struct ppi_fit_search *within);

/* Searches with 48 evaluations, up to 256 where these are short, and up to 27 more where nothing has been found by then. Where
 * nothing keeps the limits `best` has no schedule. Errors: as of an evaluation; CANCELLED where the config's progress callback
 * stops it. */
ppsched_status ppi_within_search(struct ppi_fit_search *within, ppsched_error *error);

/* Tries all transfers, none of them forced, with one prefetch distance after another. */
ppsched_status ppi_within_leads(struct ppi_fit_search *within, ppsched_error *error);

/* The same, then forced where nothing has been found. */
ppsched_status ppi_within_all(struct ppi_fit_search *within, ppsched_error *error);

#endif
