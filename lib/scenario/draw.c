/* SPDX-License-Identifier: Apache-2.0 */
/* Normal quantiles from +, -, * and / only, in a fixed order: identical on every platform. A table is built
 * once per call, so simple and slow is enough. */
#include "scenario/draw.h"

#include "base/logarithm.h"

static double normal_density(double z)
{
    const double inverse_root_of_two_pi = 0x1.9884533d43651p-2;
    return inverse_root_of_two_pi * ppi_exponential(-z * z / 2);
}

/* The probability of 0 to z: density * (z + z^3 / 3 + z^5 / (3 * 5) + ...). */
static double normal_probability(double z, double density)
{
    double term = z, sum = z;
    for (int i = 3; term > sum * 0x1p-54; i += 2) {
        term = term * z * z / i;
        sum += term;
    }
    return density * sum;
}

/* The z for which 0 to z has probability `p`, by Newton's method from a near one below it. */
static double normal_quantile(double p, double z)
{
    for (int i = 0; i < 5; i++) {
        double density = normal_density(z);
        z += (p - normal_probability(z, density)) / density;
    }
    return z;
}

void ppi_lognormal_table(double out[PPI_DRAWS], double sigma)
{
    double z = 0, sum = 0;
    for (int i = 0; i < PPI_DRAWS / 2; i++) {
        z = normal_quantile((i + 0.5) / PPI_DRAWS, z);
        out[PPI_DRAWS / 2 + i] = ppi_exponential(sigma * z);
        out[PPI_DRAWS / 2 - 1 - i] = ppi_exponential(-sigma * z);
    }
    for (int i = 0; i < PPI_DRAWS; i++)
        sum += out[i];
    for (int i = 0; i < PPI_DRAWS; i++)
        out[i] *= PPI_DRAWS / sum;
}
