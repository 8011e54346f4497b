/* SPDX-License-Identifier: Apache-2.0 */
/* Shares out a whole so that the largest value is least: row by row, for each sum the least largest value so far. */
#include "replan/shares.h"

#include "base/checked.h"
#include "base/error.h"

/* The smallest and the largest share of a row that the limit allows; false if there is none. */
static bool find_ends(uint32_t *least, uint32_t *most, const double *values, uint32_t whole, double limit)
{
    *least = 1;
    *most = whole;
    while (*least <= whole && !(values[*least] <= limit))
        ++*least;
    while (*most > 0 && !(values[*most] <= limit))
        --*most;
    return *least <= whole;
}

/* Extends sums by a row: `now[n]` is the least largest value with which the rows so far sum to n, and `chosen[n]` the share of
 * this row. */
static ppsched_status add_row(double *now, uint32_t *chosen, const double *before, const double *values, const uint32_t ends[2],
                              uint32_t whole, double limit, struct ppi_poll *poll, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t n = 0; n <= whole && status == PPSCHED_OK; n++) {
        now[n] = PPI_INFINITE;
        chosen[n] = 0;
        for (uint32_t m = ends[0]; m <= ends[1] && m <= n; m++) {
            const double largest = ppi_larger(before[n - m], values[m]);
            if (values[m] <= limit && largest < now[n]) {
                now[n] = largest;
                chosen[n] = m;
            }
        }
        status = ppi_poll_spend(poll, 1 + 0.1 * (ends[1] - ends[0]), error);
    }
    return status;
}

ppsched_status ppi_share_batch(uint32_t *shares, double *largest, const double *const *values, size_t count, uint32_t whole,
                               double limit, struct ppi_poll *poll, ppsched_error *error)
{
    const size_t length = (size_t)whole + 1;
    const struct ppi_host *host = &poll->config->host;
    double *sums = ppi_allocate(host, 2 * length, sizeof *sums);
    uint32_t *chosen = ppi_allocate(host, count * length, sizeof *chosen);
    bool can = sums != NULL && chosen != NULL;
    ppsched_status status = can ? PPSCHED_OK : ppi_fail_memory(error, "the shares");
    *largest = PPI_INFINITE;
    for (size_t n = 0; n < length && can; n++)
        sums[n] = n == 0 ? 0 : PPI_INFINITE;
    for (size_t r = 0; r < count && can; r++) {
        uint32_t ends[2];
        can = find_ends(&ends[0], &ends[1], values[r], whole, limit);
        if (can)
            status = add_row(sums + (r + 1) % 2 * length, chosen + r * length, sums + r % 2 * length, values[r], ends, whole,
                             limit, poll, error);
        can = can && status == PPSCHED_OK;
    }
    can = can && sums[count % 2 * length + whole] < PPI_INFINITE;
    if (can)
        *largest = sums[count % 2 * length + whole];
    for (size_t r = count, rest = whole; r-- > 0 && can;) {
        shares[r] = chosen[r * length + rest];
        rest -= shares[r];
    }
    ppi_release(host, sums);
    ppi_release(host, chosen);
    return status;
}
