/* SPDX-License-Identifier: Apache-2.0 */
/* Exponentials and logarithms as short series. */
#include "base/logarithm.h"

/* The series at x / 256 or, where that is far from 0, at a smaller part, squared until the parts are the whole. */
double ppi_exponential(double x)
{
    if (x < -800)
        return 0;
    double sum = 1, small = x / 256;
    int squares = 8;
    for (; (small > 0.25 || small < -0.25) && squares < 16; squares++)
        small /= 2;
    for (int i = 10; i > 0; i--)
        sum = 1 + small / i * sum;
    for (int i = 0; i < squares; i++)
        sum *= sum;
    return sum;
}

/* x = m * 2^e, with m near 1, and log m = 2 (s + s^3 / 3 + s^5 / 5 + ...) with s = (m - 1) / (m + 1). */
double ppi_logarithm(double x)
{
    const double log_of_two = 0x1.62e42fefa39efp-1, root_of_two = 0x1.6a09e667f3bcdp+0;
    double sum = 0;
    int e = 0;
    for (; x > root_of_two; x /= 2)
        e++;
    for (; x < root_of_two / 2; x *= 2)
        e--;
    double s = (x - 1) / (x + 1);
    for (int i = 23; i > 0; i -= 2)
        sum = sum * s * s + 1.0 / i;
    return e * log_of_two + 2 * s * sum;
}
