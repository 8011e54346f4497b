/* SPDX-License-Identifier: Apache-2.0 */
/* Counter-based random factors: without state, so that the factor of any op in any scenario is available directly. */
#ifndef PPSCHED_SCENARIO_DRAW_H
#define PPSCHED_SCENARIO_DRAW_H

#include <stddef.h>
#include <stdint.h>

enum { PPI_DRAWS = 4096, PPI_SCENARIO_LANES = 8 }; /* values of a factor, 12 bits; scenarios at once */

/* Fills a table of equally likely values of a lognormal factor with mean 1. */
void ppi_lognormal_table(double out[PPI_DRAWS], double sigma);

/* The mixing step of splitmix64. */
static inline uint64_t ppi_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* The random stream of an op. A scenario uses 12 bits; one number serves four scenarios. */
static inline uint64_t ppi_stream_of(uint64_t seed, uint32_t kind, uint32_t stage, uint32_t microbatch)
{
    return ppi_mix(ppi_mix(ppi_mix(seed) + ((uint64_t)kind << 32 | stage)) + microbatch + 1);
}

/* Multiplies by the factors of PPI_SCENARIO_LANES scenarios from `first` on, which is a multiple of that. */
static inline void ppi_draw(double out[PPI_SCENARIO_LANES], const double *table, uint64_t stream, size_t first)
{
    for (size_t half = 0; half < PPI_SCENARIO_LANES / 4; half++) {
        uint64_t bits = ppi_mix(stream + UINT64_C(0x9E3779B97F4A7C15) * (first / 4 + half + 1));
        for (size_t i = 0; i < 4; i++)
            out[4 * half + i] *= table[(bits >> (16 * i)) & (PPI_DRAWS - 1)];
    }
}

/* The factor of one scenario. */
static inline double ppi_draw_one(const double *table, uint64_t stream, uint32_t scenario)
{
    uint64_t bits = ppi_mix(stream + UINT64_C(0x9E3779B97F4A7C15) * (scenario / 4 + 1));
    return table[(bits >> (16 * (scenario % 4))) & (PPI_DRAWS - 1)];
}

#endif
