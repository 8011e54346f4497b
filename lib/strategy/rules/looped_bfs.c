/* SPDX-License-Identifier: Apache-2.0 */
/* Breadth-first over chunks: all forwards chunk by chunk, then all backwards chunk by chunk, the last first. */
#include "strategy/descriptors.h"

static void order(const struct ppi_task *task, uint32_t device, struct ppi_op_writer *writer)
{
    for (uint32_t c = 0; c < task->chunks; c++)
        for (uint32_t p = 0; p < task->micro_slices; p++)
            ppi_put_micro_slice(writer, writer->slices, PPSCHED_KIND_F, c * task->shape.devices + device, p);
    for (uint32_t c = task->chunks; c-- > 0;)
        for (uint32_t p = task->micro_slices; p-- > 0;)
            ppi_put_micro_slice(writer, writer->slices, PPSCHED_KIND_B, c * task->shape.devices + device, p);
}

static const char *const aliases[] = {"LoopedBFS", "breadth_first"};

const struct ppi_strategy ppi_looped_bfs = {
    .name = "looped_bfs",
    .summary = "GPipe over several chunks per device: one parameter gather per chunk, keeps every microbatch's activations",
    .source = "Breadth-First Pipeline Parallelism (Lamy-Poirier 2022, arXiv 2211.05953), PyTorch",
    .aliases = aliases,
    .alias_count = 2,
    .placement = PPSCHED_PLACEMENT_LOOP,
    .weight_versions = 1,
    .flushes = true,
    .serves_forwards = true,
    .cuts = true,
    .order = order,
};
