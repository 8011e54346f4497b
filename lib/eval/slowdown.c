/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/slowdown.h"

#include "base/checked.h"

/* Works until a time, or until nothing is left. */
static void work(struct ppi_pace *pace, double until)
{
    double slow = ppi_smaller(pace->copied, until) - pace->time;
    if (slow > 0 && pace->left > 0) {
        if (pace->left <= slow / pace->slowdown) {
            pace->time += pace->left * pace->slowdown;
            pace->left = 0;
            return;
        }
        pace->left -= slow / pace->slowdown;
        pace->time = ppi_smaller(pace->copied, until);
    }
    double alone = ppi_smaller(until - pace->time, pace->left);
    if (alone > 0) {
        pace->time = alone < pace->left ? until : pace->time + alone;
        pace->left -= alone;
    }
}

void ppi_pace_copy(struct ppi_pace *pace, double start, double end)
{
    work(pace, start);
    pace->copied = ppi_larger(pace->copied, end);
}

double ppi_pace_end(const struct ppi_pace *pace)
{
    struct ppi_pace alone = *pace;
    work(&alone, PPI_INFINITE);
    return alone.time;
}
