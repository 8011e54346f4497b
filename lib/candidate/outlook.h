/* SPDX-License-Identifier: Apache-2.0 */
/* What a candidate cannot be better than, found without its schedule. */
#ifndef PPSCHED_CANDIDATE_OUTLOOK_H
#define PPSCHED_CANDIDATE_OUTLOOK_H

#include "candidate/candidate.h"

/* The depth of an outlook: the lower bound of the placement; also the order of some devices; also the times of the order, as
 * they are without transfers and offload. */
enum ppi_outlook_depth { PPI_OUTLOOK_BOUND, PPI_OUTLOOK_ORDERS, PPI_OUTLOOK_TIMES };

struct ppi_outlook {
    double step;   /* the step time is not less */
    double memory; /* nor the largest peak of a device */
    double bound;  /* the candidate's lower bound */
    bool is_over;  /* it does not fit its memory limit */
};

/* The bounds found last: as candidates have them, and of problems with whole backwards. Starts zeroed. */
struct ppi_outlook_bounds {
    struct ppi_known_bounds any, whole;
};

/* The depth that is worth its work: the last one only where lowering or offload takes much longer. */
enum ppi_outlook_depth ppi_outlook_depth_of(const ppsched_plan *plan, const struct ppi_candidate *candidate);

/* For candidates without layers and without an order of microbatches. Errors: those of the candidate's config and sizes, such
 * as REFUSED; NO_MEMORY. */
ppsched_status ppi_candidate_outlook(struct ppi_outlook *out, struct ppi_outlook_bounds *known, const ppsched_plan *plan,
                                     const struct ppi_candidate *candidate, enum ppi_outlook_depth depth, ppsched_error *error);

#endif
