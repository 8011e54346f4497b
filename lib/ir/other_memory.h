/* SPDX-License-Identifier: Apache-2.0 */
/* Memory in addition to activations, static memory and weights: work space of ops, outputs, transfers, gradients,
 * parameters. */
#ifndef PPSCHED_IR_OTHER_MEMORY_H
#define PPSCHED_IR_OTHER_MEMORY_H

#include "ir/costs.h"

/* Of one stage instance. Pairs are for F, and for B or I. */
struct ppi_other_memory {
    double work[PPI_COMPUTE_KINDS]; /* by kind */
    double output, gradients, gathered;
    double send[2], receive[2];
    double leaving[2]; /* time for which a transfer occupies its link */
};

/* Whether the config gives any of it, or memory rises inside backwards: then memory levels are sums of causes. */
bool ppi_holds_more(const ppsched_config *config);

/* Fills `out` for each stage instance of the placement. */
void ppi_holdings_fill(struct ppi_other_memory *out, const ppsched_config *config, const struct ppi_placement *placement);

#endif
