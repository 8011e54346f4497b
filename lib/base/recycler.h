/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for a task that runs repeatedly: freed large blocks are kept for the next run, so that the system need not map their
 * pages again. */
#ifndef PPSCHED_BASE_RECYCLER_H
#define PPSCHED_BASE_RECYCLER_H

#include "base/host.h"

struct ppi_recycler {
    struct ppi_host host;                /* where memory comes from */
    struct ppi_recycled_block *kept[64]; /* free blocks by the base-2 logarithm of their size; kept[0] stays empty */
};

void ppi_recycler_start(struct ppi_recycler *recycler, const struct ppi_host *host);

/* A host that allocates from the recycler. For one thread at a time; all its blocks must be freed before the recycler is
 * cleared. */
struct ppi_host ppi_recycler_host(struct ppi_recycler *recycler);

/* Frees the kept blocks. */
void ppi_recycler_clear(struct ppi_recycler *recycler);

#endif
