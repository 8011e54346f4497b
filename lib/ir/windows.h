/* SPDX-License-Identifier: Apache-2.0 */
/* The windows of each stage's ops, as the caller gave them: see ppsched_config_set_windows. */
#ifndef PPSCHED_IR_WINDOWS_H
#define PPSCHED_IR_WINDOWS_H

#include <stdbool.h>
#include <stddef.h>

#include <ppsched/pair.h>

#include "base/host.h"

/* Windows of a stage's F, of its B or I, and of its W. */
enum { PPI_WINDOW_LISTS = 3 };

/* Lists by pair of stages: `ends` and `inputs`. */
enum { PPI_PAIR_LISTS = 5 };

struct ppi_stage_windows {
    ppsched_window *of[PPI_WINDOW_LISTS];
    uint32_t count[PPI_WINDOW_LISTS];
};

/* One block of memory. */
struct ppi_windows {
    uint32_t stages; /* 1: all stages are alike */
    double slowdown[PPSCHED_MAX_WINDOW_CHANNELS];
    double *ends; /* from the start of a pair to the end of its forward's windows, by stage of the forward and of the backward;
                     then the same of its backward's windows */
    double *inputs; /* of pairs of F and I, by the same stages: their times, then both ends. 0 without windows of W */
    struct ppi_stage_windows stage[]; /* then the ends and inputs, then the windows */
};

static inline const struct ppi_stage_windows *ppi_windows_of(const struct ppi_windows *windows, uint32_t stage)
{
    return &windows->stage[windows->stages == 1 ? 0 : stage];
}

/* Whether some stage has windows of W; stages of layers without them, or without layers, have none. */
static inline bool ppi_windows_have_weight(const struct ppi_windows *windows)
{
    for (uint32_t s = 0; s < windows->stages; s++)
        if (windows->stage[s].count[PPI_WINDOW_LISTS - 1] > 0)
            return true;
    return false;
}

/* Room for so many windows, which a caller hands out; NULL if memory is short. */
struct ppi_windows *ppi_windows_create(const struct ppi_host *host, uint32_t stages, size_t windows);

/* The first of the windows. */
static inline ppsched_window *ppi_windows_room(struct ppi_windows *windows)
{
    return (ppsched_window *)(void *)(windows->ends + PPI_PAIR_LISTS * (size_t)windows->stages * windows->stages);
}

/* A copy with times multiplied by a factor; NULL if memory is short. */
struct ppi_windows *ppi_windows_copy(const struct ppi_host *host, const struct ppi_windows *windows, double factor);

#endif
