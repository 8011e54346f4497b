/* SPDX-License-Identifier: Apache-2.0 */
/* GPipe: all forwards, then all backwards. */
#include "strategy/descriptors.h"

static void order(const struct ppi_task *task, uint32_t device, struct ppi_pen *pen)
{
    for (uint32_t m = 0; m < task->run; m++)
        ppi_put(pen, PPSCHED_KIND_F, device, m);
    for (uint32_t m = 0; m < task->run; m++)
        ppi_put(pen, PPSCHED_KIND_B, device, m);
}

static const char *const aliases[] = {"fthenb", "GPipe"};

const struct ppi_strategy ppi_gpipe = {
    .name = "gpipe",
    .summary = "all forwards, then all backwards; simplest, keeps every microbatch's activations",
    .source = "GPipe (Huang et al. 2019, arXiv 1811.06965)",
    .aliases = aliases,
    .alias_count = 2,
    .placement = PPSCHED_PLACEMENT_LINEAR,
    .chunks = 1,
    .weight_versions = 1,
    .flushes = true,
    .order = order,
};
