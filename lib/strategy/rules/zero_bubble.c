/* SPDX-License-Identifier: Apache-2.0 */
/* The zero-bubble paper's handcrafted schedules with one stage per device. The paper calls the input gradient B (here I).
 *
 * Device r runs (D-1-r) * depth warm-up forwards; then for each microbatch the next forward if there is one, I, and one W as
 * soon as the warm-up and the Is together reach (D-1) * depth; then the remaining Ws. With slices the warm-up is longer by the
 * slices before a microbatch's last one, which do not count for the Ws. */
#include "order/table.h"
#include "strategy/descriptors.h"

static void put_run(const struct ppi_task *task, uint32_t device, uint32_t depth, struct ppi_op_writer *writer)
{
    uint32_t slices = writer->slices, weights = 0;
    uint64_t lead = (uint64_t)(task->shape.devices - 1 - device) * depth;
    uint64_t weights_from = (uint64_t)(task->shape.devices - 1) * depth, warmup = lead + slices - 1;
    uint32_t forwards = warmup < task->micro_slices ? (uint32_t)warmup : task->micro_slices;
    for (uint32_t p = 0; p < forwards; p++)
        ppi_put_micro_slice(writer, slices, PPSCHED_KIND_F, device, p);
    for (uint32_t i = 0; i < task->micro_slices; i++) {
        if (forwards < task->micro_slices)
            ppi_put_micro_slice(writer, slices, PPSCHED_KIND_F, device, forwards++);
        ppi_put_micro_slice(writer, slices, PPSCHED_KIND_I, device, ppi_backward_micro_slice(i, slices));
        if (lead + i >= weights_from)
            ppi_put_micro_slice(writer, slices, PPSCHED_KIND_W, device, ppi_backward_micro_slice(weights++, slices));
    }
    while (weights < task->micro_slices)
        ppi_put_micro_slice(writer, slices, PPSCHED_KIND_W, device, ppi_backward_micro_slice(weights++, slices));
}

static void order_h1(const struct ppi_task *task, uint32_t device, struct ppi_op_writer *writer)
{
    put_run(task, device, 1, writer);
}

static void order_h2(const struct ppi_task *task, uint32_t device, struct ppi_op_writer *writer)
{
    put_run(task, device, 2, writer);
}

static const char *const aliases_h1[] = {"zb_1p", "zb1p"};

const struct ppi_strategy ppi_zb_h1 = {
    .name = "zb_h1",
    .summary = "1F1B with the backward split; weight gradients fill the drain, at 1F1B's peak memory",
    .source = "Zero Bubble Pipeline Parallelism (Qi et al. 2023, arXiv 2401.10241), schedule H1",
    .aliases = aliases_h1,
    .alias_count = 2,
    .placement = PPSCHED_PLACEMENT_LINEAR,
    .chunks = 1,
    .weight_versions = 1,
    .splits_backward = true,
    .flushes = true,
    .cuts = true,
    .order = order_h1,
    .repeats = 1,
};

const struct ppi_strategy ppi_zb_h2 = {
    .name = "zb_h2",
    .summary = "H1 with twice the warm-up and memory: no bubble inside a span when F, I and W cost the same",
    .source = "Zero Bubble Pipeline Parallelism (Qi et al. 2023, arXiv 2401.10241), schedule H2",
    .placement = PPSCHED_PLACEMENT_LINEAR,
    .chunks = 1,
    .weight_versions = 1,
    .splits_backward = true,
    .flushes = true,
    .cuts = true,
    .order = order_h2,
    .repeats = 1,
};
