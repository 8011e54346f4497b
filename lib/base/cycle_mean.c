/* SPDX-License-Identifier: Apache-2.0 */
/* Ends are sums along longest walks from device to device, so they are those of a max-plus matrix: no eigenvalue is above the
 * most that an end advances, or below the least. */
#include "base/cycle_mean.h"

#include "base/checked.h"

bool ppi_repeats(double *out, const double *ends, uint32_t devices, uint32_t count, double least)
{
    const double *before = ends + (size_t)(count - 1) * devices, *after = before + devices;
    double low = PPI_INFINITE, high = 0;
    for (uint32_t d = 0; d < devices; d++) {
        low = ppi_smaller(low, after[d] - before[d]);
        high = ppi_larger(high, after[d] - before[d]);
    }
    *out = high;
    return high <= ppi_larger(low, least) * (1 + 1e-12);
}

/* No device advances by more in the last repetitions, of any number. */
static double upper_bound(const double *ends, uint32_t devices, uint32_t count)
{
    double bound = PPI_INFINITE;
    for (uint32_t k = 1; k <= count; k++) {
        const double *before = ends + (size_t)(count - k) * devices, *after = ends + (size_t)count * devices;
        double most = 0;
        for (uint32_t d = 0; d < devices; d++)
            most = ppi_larger(most, after[d] - before[d]);
        bound = ppi_smaller(bound, most / k);
    }
    return bound;
}

double ppi_cycle_mean(const double *ends, uint32_t devices, uint32_t count)
{
    double mean = 0;
    if (count < devices)
        return upper_bound(ends, devices, count);
    for (uint32_t d = 0; d < devices; d++) {
        double least = PPI_INFINITE;
        for (uint32_t k = 0; k < devices; k++)
            least = ppi_smaller(least, (ends[(size_t)devices * devices + d] - ends[(size_t)k * devices + d]) / (devices - k));
        mean = ppi_larger(mean, least);
    }
    return mean;
}
