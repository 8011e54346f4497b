/* SPDX-License-Identifier: Apache-2.0 */
/* Megatron-LM runs 1F1B, interleaved where a device has several stages, with overlapped pairs where experts' communication
 * shall hide behind computation. */
#include "format/megatron.h"

#include "launch/launch.h"

static bool has_pair(const ppsched_schedule *schedule)
{
    for (uint64_t i = 0; i < schedule->op_count; i++)
        if (ppi_unit_length(&schedule->ops[i]) == 2)
            return true;
    return false;
}

static ppsched_status fits(struct ppi_launch *launch, ppsched_error *error)
{
    launch->order = ppi_order_of(launch->schedule);
    launch->order.overlapped = has_pair(launch->schedule);
    return ppi_megatron_fits(launch->schedule, &launch->order, error);
}

static void write(const struct ppi_launch *launch, struct ppi_line *line)
{
    const struct ppi_order_1f1b *order = &launch->order;
    ppi_line_flag(line, "--pipeline-model-parallel-size", order->devices);
    if (order->chunks > 1)
        ppi_line_flag(line, "--num-virtual-stages-per-pipeline-rank", order->chunks);
    if (order->group_size != order->devices)
        ppi_line_flag(line, "--microbatch-group-size-per-virtual-pipeline-stage", order->group_size);
    if (order->overlapped)
        ppi_line_word(line, "--overlap-moe-expert-parallel-comm");
}

const struct ppi_runtime ppi_megatron_runtime = {
    .name = "megatron",
    .title = "Megatron-LM",
    .fits = fits,
    .write = write,
};
