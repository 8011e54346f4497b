/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/python_set.h"

#include <string.h>

enum { LEAST_SIZE = 8, LINEAR_PROBES = 9, PERTURB_SHIFT = 5 };

static uint32_t *make_table(const struct ppi_host *host, uint32_t size)
{
    uint32_t *table = ppi_allocate(host, size, sizeof *table);
    if (table != NULL)
        memset(table, 0xff, size * sizeof *table);
    return table;
}

bool ppi_python_set_make(struct ppi_python_set *out, const struct ppi_host *host)
{
    *out = (struct ppi_python_set){.table = make_table(host, LEAST_SIZE), .size = LEAST_SIZE};
    return out->table != NULL;
}

void ppi_python_set_clear(struct ppi_python_set *set, const struct ppi_host *host)
{
    ppi_release(host, set->table);
}

/* Where a value stands, or the free place where it would. Marks of removed members are passed over. */
static uint32_t find(const struct ppi_python_set *set, uint32_t value)
{
    uint32_t mask = set->size - 1, start = value & mask;
    for (uint32_t perturb = value;;) {
        uint32_t probes = start + LINEAR_PROBES <= mask ? LINEAR_PROBES : 0;
        for (uint32_t i = start; i <= start + probes; i++)
            if (set->table[i] == value || set->table[i] == PPI_SET_FREE)
                return i;
        perturb >>= PERTURB_SHIFT;
        start = (start * 5 + 1 + perturb) & mask;
    }
}

bool ppi_python_set_has(const struct ppi_python_set *set, uint32_t value)
{
    return set->table[find(set, value)] == value;
}

void ppi_python_set_remove(struct ppi_python_set *set, uint32_t value)
{
    uint32_t i = find(set, value);
    if (set->table[i] != value)
        return;
    set->table[i] = PPI_SET_REMOVED;
    set->used--;
}

/* Gives it a table for four times as many members, without marks. */
static bool resize(struct ppi_python_set *set, const struct ppi_host *host)
{
    struct ppi_python_set grown = {.size = LEAST_SIZE, .used = set->used, .filled = set->used};
    while (grown.size <= 4 * set->used)
        grown.size *= 2;
    grown.table = make_table(host, grown.size);
    if (grown.table == NULL)
        return false;
    for (uint32_t i = 0; i < set->size; i++)
        if (set->table[i] != PPI_SET_FREE && set->table[i] != PPI_SET_REMOVED)
            grown.table[find(&grown, set->table[i])] = set->table[i];
    ppi_release(host, set->table);
    *set = grown;
    return true;
}

bool ppi_python_set_add(struct ppi_python_set *set, const struct ppi_host *host, uint32_t value)
{
    uint32_t i = find(set, value);
    if (set->table[i] == value)
        return true;
    set->table[i] = value;
    set->used++;
    set->filled++;
    return set->filled * 5 < (set->size - 1) * 3 || resize(set, host);
}
