/* SPDX-License-Identifier: Apache-2.0 */
/* Exponentials and logarithms from +, -, * and / only, in a fixed order: identical on every platform, without libm. For calls
 * that are few: simple and slow. */
#ifndef PPSCHED_BASE_LOGARITHM_H
#define PPSCHED_BASE_LOGARITHM_H

/* e^x, within some 1e-13 of it for |x| up to about 30, else within some 1e-11; 0 or infinite where a double cannot hold it. */
double ppi_exponential(double x);

/* The natural logarithm of a finite number above 0, within some 1e-15 of it. */
double ppi_logarithm(double x);

#endif
