/* SPDX-License-Identifier: Apache-2.0 */
/* Problems in which every stage, device, edge and pair differs, so that a number from the wrong place is seen. */
#ifndef PPSCHED_TESTS_UNEVEN_H
#define PPSCHED_TESTS_UNEVEN_H

#include "support/problem.h"

/* The sizes. Two iterations, three chunks and a number of microbatches that the devices do not divide are what they should be
 * where nothing speaks against it. */
struct uneven {
    uint32_t devices, chunks, microbatches, iterations;
    uint64_t seed; /* other numbers, in another order */
};

enum { UNEVEN_DEVICES = 3, UNEVEN_CHUNKS = 3, UNEVEN_MICROBATCHES = 7, UNEVEN_ITERATIONS = 2 };

/* The usual one of these sizes. */
struct uneven uneven_of_seed(uint64_t seed);

/* So many numbers, no two of them equal, between `low` and `low` + 1. All are multiples of 2^-20, so that sums of thousands
 * are exact. */
void draw_uneven(double *out, size_t count, double low, uint64_t *seed);

/* A config with uneven times (F, I, W by stage; p2p_time, p2p_bandwidth and bytes by edge and stage) and memory (forward,
 * input, weight, static and weights by stage). Pairs take their sum, and there are no limits. The caller destroys it. */
ppsched_config *make_uneven(const struct uneven *problem);

/* Sets a quantity of 1 value a stage, device, pair of stages or pair of devices to so many uneven ones. */
void set_uneven(ppsched_config *config, int32_t quantity, size_t count, double low, uint64_t *seed);

/* The value of a quantity at a place, or `fallback` where none is set. */
double value_at(const ppsched_config *config, int32_t quantity, size_t index, double fallback);

#endif
