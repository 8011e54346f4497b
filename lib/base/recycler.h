/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a task that is done over and over: large blocks that are given back are kept for the next turn, so that the system
 * need not make their pages again. */
#ifndef PPSCHED_BASE_RECYCLER_H
#define PPSCHED_BASE_RECYCLER_H

#include "base/host.h"

struct ppi_recycler {
    struct ppi_host host;                /* where memory comes from */
    struct ppi_recycled_block *kept[64]; /* by the logarithm of their size; none at 0 */
};

void ppi_recycler_start(struct ppi_recycler *recycler, const struct ppi_host *host);

/* A host that allocates from it. For one thread at a time; all that comes from it must be given back before it is cleared. */
struct ppi_host ppi_recycler_host(struct ppi_recycler *recycler);

/* Gives back what is kept. */
void ppi_recycler_clear(struct ppi_recycler *recycler);

#endif
