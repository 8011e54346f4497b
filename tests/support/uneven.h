/* SPDX-License-Identifier: Apache-2.0 */
/* Problems in which every stage, device, edge and pair differs, so that a number from the wrong place is seen. */
#ifndef PPSCHED_TESTS_UNEVEN_H
#define PPSCHED_TESTS_UNEVEN_H

#include "support/brute.h"
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

/* What else can be set. What is by stage, device, edge, pair, microbatch and slice differs in each of them. */
enum uneven_part {
    UNEVEN_PAIRS = 1 << 0,        /* overlapped times by pair of stages */
    UNEVEN_MICRO_SLICES = 1 << 1, /* times of microbatches, their memory, times of slices (by stage in half of them) */
    UNEVEN_LIMITS = 1 << 2,    /* what devices have, and what they hold beside their stages; neighbours in size differ by far */
    UNEVEN_CAUSES = 1 << 3,    /* memory of all causes: optimizer to work space */
    UNEVEN_SHARDING = 1 << 4,  /* bytes of parameters, bandwidth and slowdown of devices */
    UNEVEN_COPIES = 1 << 5,    /* recomputation, and copies to the host by bytes, bandwidth and latency */
    UNEVEN_RUNTIME = 1 << 6,   /* overhead by kind of op */
    UNEVEN_SPEEDS = 1 << 7,    /* of devices */
    UNEVEN_OVERHEADS = 1 << 8, /* of ops on devices */
    UNEVEN_ALL = (1 << 7) - 1  /* but what devices differ in */
};

/* Sets these parts of a config of any sizes. */
void add_uneven(ppsched_config *config, unsigned parts, uint64_t *seed);

/* The same problem for brute force, of whatever the config gives: times, pairs, bytes, edges, pieces, overhead, and memory of
 * stage passes. A placement of two copies has the costs of its stages in both. */
void brute_costs_of(struct brute_costs *out, const ppsched_config *config);

/* Sets a quantity of 1 value a stage, device, pair of stages or pair of devices to so many uneven ones. */
void set_uneven(ppsched_config *config, int32_t quantity, size_t count, double low, uint64_t *seed);

/* The value of a quantity at a place, or `fallback` where none is set. */
double value_at(const ppsched_config *config, int32_t quantity, size_t index, double fallback);

/* The factor of a slice on a stage; 1 where none is set. */
double slice_scale_at(const ppsched_config *config, uint32_t stage, uint32_t slice);

#endif
