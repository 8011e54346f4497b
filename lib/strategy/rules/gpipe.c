/* SPDX-License-Identifier: Apache-2.0 */
/* GPipe: all forwards, then all backwards. */
#include "order/table.h"
#include "strategy/descriptors.h"

static void order(const struct ppi_task *task, uint32_t device, struct ppi_op_writer *writer)
{
    for (uint32_t p = 0; p < task->micro_slices; p++)
        ppi_put_micro_slice(writer, writer->slices, PPSCHED_KIND_F, device, p);
    for (uint32_t i = 0; i < task->micro_slices; i++)
        ppi_put_micro_slice(writer, writer->slices, PPSCHED_KIND_B, device, ppi_backward_micro_slice(i, writer->slices));
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
    .serves_forwards = true,
    .cuts = true,
    .order = order,
};
