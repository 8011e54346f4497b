/* SPDX-License-Identifier: Apache-2.0 */
/* A set of small numbers that lists its members in the order in which CPython's does: PyTorch's RESHARDs come in that order,
 * which is neither that of the numbers nor that in which they were added. (CPython's Objects/setobject.c: open addressing, a
 * number is its own hash, removed members leave a mark behind.) */
#ifndef PPSCHED_LOWER_PYTHON_SET_H
#define PPSCHED_LOWER_PYTHON_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/host.h"

struct ppi_python_set {
    uint32_t *table;       /* members, or PPI_SET_FREE, PPI_SET_REMOVED */
    uint32_t size;         /* of the table, a power of two */
    uint32_t used, filled; /* filled: used, and marks of removed ones */
};

#define PPI_SET_FREE 4294967295u
#define PPI_SET_REMOVED 4294967294u

bool ppi_python_set_make(struct ppi_python_set *out, const struct ppi_host *host);
void ppi_python_set_clear(struct ppi_python_set *set, const struct ppi_host *host);
bool ppi_python_set_has(const struct ppi_python_set *set, uint32_t value);
void ppi_python_set_remove(struct ppi_python_set *set, uint32_t value);

/* False where memory is short. */
bool ppi_python_set_add(struct ppi_python_set *set, const struct ppi_host *host, uint32_t value);

#endif
