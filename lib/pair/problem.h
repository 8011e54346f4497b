/* SPDX-License-Identifier: Apache-2.0 */
/* The windows of an overlapped pair: three chains, and what is left of each from any of its windows on. */
#ifndef PPSCHED_PAIR_PROBLEM_H
#define PPSCHED_PAIR_PROBLEM_H

#include <stdbool.h>

#include <ppsched/pair.h>

#include "base/arena.h"

/* The chains, in the order in which they come at equal times. */
enum { PPI_FORWARD, PPI_BACKWARD, PPI_WEIGHT, PPI_CHAINS };
enum { PPI_CHANNELS = PPSCHED_MAX_WINDOW_CHANNELS };

/* What is left of a chain from one of its windows on. */
struct ppi_rest {
    double time;               /* of its windows */
    double tail;               /* until the pair ends; of a backward also by what waits for it */
    double work[PPI_CHANNELS]; /* on each channel */
    double head[PPI_CHANNELS]; /* of its windows before the first one on a channel; infinite if there is none */
};

struct ppi_pair {
    const ppsched_window *windows[PPI_CHAINS]; /* borrowed */
    uint32_t count[PPI_CHAINS];
    uint32_t total;
    double slowdown[PPI_CHANNELS]; /* >= 1 */
    bool slows;                    /* any is above 1 */
    double serial;
    double tolerance;                        /* times that differ by no more are equal */
    struct ppi_rest *rest[PPI_CHAINS];       /* by window, and one more for the end of the chain */
    double behind[PPI_CHAINS][PPI_CHANNELS]; /* what follows the last window of a chain on a channel */
};

/* Checks the caller's windows, and makes the problem of them, in the arena. */
ppsched_status ppi_pair_take(struct ppi_pair *pair, const ppsched_pair_windows *given, struct ppi_arena *arena,
                             ppsched_error *error);

/* Checks the caller's windows, and counts them. */
ppsched_status ppi_pair_count(size_t *out, const ppsched_pair_windows *given, ppsched_error *error);

/* The name of a chain in messages. */
const char *ppi_chain_name(uint32_t chain);

/* The kind of a chain's op: enum ppsched_kind. */
static inline int32_t ppi_chain_kind(uint32_t chain)
{
    static const int32_t kinds[PPI_CHAINS] = {PPSCHED_KIND_F, PPSCHED_KIND_B, PPSCHED_KIND_W};
    return kinds[chain];
}

#endif
