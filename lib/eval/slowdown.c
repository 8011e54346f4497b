/* SPDX-License-Identifier: Apache-2.0 */
/* Work advances from copy to copy: slowed up to `copied`, then at full rate. */
#include "eval/slowdown.h"

#include "base/checked.h"

/* Advances the unit's work up to a time, or until none is left. */
static void work(struct ppi_slowdown *slowdown, double until)
{
    double slow = ppi_smaller(slowdown->copied, until) - slowdown->time;
    if (slow > 0 && slowdown->left > 0) {
        if (slowdown->left <= slow / slowdown->slowdown) {
            slowdown->time += slowdown->left * slowdown->slowdown;
            slowdown->left = 0;
            return;
        }
        slowdown->left -= slow / slowdown->slowdown;
        slowdown->time = ppi_smaller(slowdown->copied, until);
    }
    double alone = ppi_smaller(until - slowdown->time, slowdown->left);
    if (alone > 0) {
        slowdown->time = alone < slowdown->left ? until : slowdown->time + alone;
        slowdown->left -= alone;
    }
}

void ppi_slowdown_copy(struct ppi_slowdown *slowdown, double start, double end)
{
    work(slowdown, start);
    slowdown->copied = ppi_larger(slowdown->copied, end);
}

double ppi_slowdown_end(const struct ppi_slowdown *slowdown)
{
    struct ppi_slowdown alone = *slowdown;
    work(&alone, PPI_INFINITE);
    return alone.time;
}
