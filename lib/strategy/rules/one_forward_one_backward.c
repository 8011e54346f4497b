/* SPDX-License-Identifier: Apache-2.0 */
/* 1F1B with one stage per device, and its variants: they differ in the number of warm-up forwards, in whether iterations
 * flush, and in whether a forward and a backward run as an overlapped pair. */
#include "order/order_1f1b.h"
#include "strategy/descriptors.h"
#include "strategy/rules/graph_1f1b.h"

static uint32_t at_most(uint32_t value, uint32_t limit)
{
    return value < limit ? value : limit;
}

static void order(const struct ppi_task *task, uint32_t device, struct ppi_op_writer *writer)
{
    uint32_t behind = task->shape.devices - 1 - device, slices = task->shape.slices;
    if (slices > 1)
        ppi_put_sliced_1f1b(device, task->micro_slices, (uint64_t)behind + slices - 1, writer);
    else
        ppi_put_1f1b(device, task->run, at_most(behind, task->shape.microbatches), false, writer);
}

static void order_eager(const struct ppi_task *task, uint32_t device, struct ppi_op_writer *writer)
{
    ppi_put_1f1b(device, task->run, at_most(2 * (task->shape.devices - 1 - device), task->shape.microbatches), false, writer);
}

/* One more warm-up forward on each side, so that the forward and the backward of a pair do not depend on each other. */
static void order_overlap(const struct ppi_task *task, uint32_t device, struct ppi_op_writer *writer)
{
    ppi_put_1f1b(device, task->run, 2 * (task->shape.devices - 1 - device) + 1, true, writer);
}

static ppsched_status fits_overlap(const struct ppi_task *task, ppsched_error *error)
{
    uint32_t least = 2 * task->shape.devices - 1;
    if (task->run >= least)
        return PPSCHED_OK;
    return ppi_refuse(error, task, "needs at least 2D-1 = %u microbatch%p on %u device%p, not %u", least, task->shape.devices,
                      task->run);
}

static ppsched_status fits_no_flush(const struct ppi_task *task, ppsched_error *error)
{
    if (task->shape.microbatches >= task->shape.devices)
        return PPSCHED_OK;
    return ppi_refuse(error, task, "needs at least as many microbatches as devices, not %u on %u", task->shape.microbatches,
                      task->shape.devices);
}

static ppsched_status fits_eager_no_flush(const struct ppi_task *task, ppsched_error *error)
{
    if (task->shape.microbatches > task->shape.devices)
        return PPSCHED_OK;
    return ppi_refuse(error, task, "needs more microbatches than devices, not %u on %u", task->shape.microbatches,
                      task->shape.devices);
}

/* On a graph, where the config says; on a chain linear. */
static int32_t place(const struct ppi_task *task, const ppsched_config *config)
{
    (void)task;
    return config->graph != NULL ? config->placement : PPSCHED_PLACEMENT_LINEAR;
}

static const char *const aliases_1f1b[] = {"one_f_one_b", "pipedream_flush", "dapple"};
static const char *const aliases_no_flush[] = {"pipedream_2bw"};

const struct ppi_strategy ppi_1f1b = {
    .name = "1f1b",
    .summary = "one forward, one backward in turn; the baseline, keeps at most D microbatches' activations",
    .source = "PipeDream-Flush (Narayanan et al. 2021, arXiv 2006.09503), Megatron-LM, PyTorch",
    .aliases = aliases_1f1b,
    .alias_count = 3,
    .placement = PPSCHED_PLACEMENT_LINEAR,
    .chunks = 1,
    .weight_versions = 1,
    .flushes = true,
    .serves_graphs = true,
    .cuts = true,
    .order = order,
    .order_graph = ppi_order_graph_1f1b,
    .check = ppi_check_graph_1f1b,
    .place = place,
    .repeats = 1,
};

const struct ppi_strategy ppi_seq_1f1b = {
    .name = "seq_1f1b",
    .summary = "1F1B over slices of a microbatch's sequence: bubble and memory of as many times more microbatches",
    .source = "Seq1F1B (Sun et al. 2024, arXiv 2406.03488), sail-sg/zero-bubble-pipeline-parallelism",
    .placement = PPSCHED_PLACEMENT_LINEAR,
    .chunks = 1,
    .weight_versions = 1,
    .flushes = true,
    .cuts = true,
    .is_for_slices = true,
    .order = order,
    .repeats = 1,
};

const struct ppi_strategy ppi_eager_1f1b = {
    .name = "eager_1f1b",
    .summary = "1F1B with twice the warm-up forwards, which hides one hop of delay each way for more memory",
    .source = "eager 1F1B (Zhuang et al. 2023, arXiv 2211.05322)",
    .placement = PPSCHED_PLACEMENT_LINEAR,
    .chunks = 1,
    .weight_versions = 1,
    .flushes = true,
    .order = order_eager,
    .repeats = 1,
};

const struct ppi_strategy ppi_1f1b_no_flush = {
    .name = "1f1b_no_flush",
    .summary = "1F1B that runs on over iterations without a flush, with two versions of the weights",
    .source = "PipeDream-2BW (Narayanan et al. 2021, arXiv 2006.09503)",
    .aliases = aliases_no_flush,
    .alias_count = 1,
    .placement = PPSCHED_PLACEMENT_LINEAR,
    .chunks = 1,
    .weight_versions = 2,
    .flushes = false,
    .fits = fits_no_flush,
    .order = order,
    .repeats = 1,
};

const struct ppi_strategy ppi_eager_1f1b_no_flush = {
    .name = "eager_1f1b_no_flush",
    .summary = "eager 1F1B that runs on over iterations without a flush, with two versions of the weights",
    .source = "eager 1F1B (arXiv 2211.05322) with PipeDream-2BW's weights (arXiv 2006.09503)",
    .placement = PPSCHED_PLACEMENT_LINEAR,
    .chunks = 1,
    .weight_versions = 2,
    .flushes = false,
    .fits = fits_eager_no_flush,
    .order = order_eager,
    .repeats = 1,
};

const struct ppi_strategy ppi_1f1b_overlap = {
    .name = "1f1b_overlap",
    .overlaps = true,
    .summary = "1F1B whose steady forwards and backwards run overlapped, to hide expert-parallel communication",
    .source = "Victarry/PP-Schedule-Visualization; after the overlap of DeepSeek-V3 (arXiv 2412.19437)",
    .placement = PPSCHED_PLACEMENT_LINEAR,
    .chunks = 1,
    .weight_versions = 1,
    .flushes = true,
    .fits = fits_overlap,
    .order = order_overlap,
    .repeats = 1,
};
