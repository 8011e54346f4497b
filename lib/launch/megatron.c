/* SPDX-License-Identifier: Apache-2.0 */
/* Megatron-LM runs 1F1B, interleaved with several stages per device, and with overlapped pairs where experts' communication is
 * to be overlapped with computation. */
#include "format/megatron.h"

#include "base/error.h"
#include "launch/hybrid.h"
#include "launch/megatron.h"

static bool has_pair(const ppsched_schedule *schedule)
{
    for (uint64_t i = 0; i < schedule->op_count; i++)
        if (ppi_unit_length(&schedule->ops[i]) == 2)
            return true;
    return false;
}

/* --- layers --- */

/* Whether all ranks but the first and the last have equally many decoders, one stage each: there are flags for these two, but
 * not for none. */
static bool differs_at_ends(const struct ppi_parts *parts, uint32_t devices, uint32_t chunks)
{
    if (chunks > 1 || devices < 3 || parts->mtps > 0)
        return false;
    for (uint32_t s = 2; s + 1 < devices; s++)
        if (parts->stages[s].decoders != parts->stages[1].decoders)
            return false;
    return parts->stages[0].decoders > 0 && parts->stages[1].decoders > 0 && parts->stages[devices - 1].decoders > 0;
}

/* Whether Megatron-LM divides layers like this without flags. */
static bool is_plain(const struct ppi_parts *parts)
{
    return parts->is_even && parts->mtps == 0;
}

static bool may_recompute_first(const ppsched_schedule *schedule)
{
    return !has_pair(schedule);
}

/* Refuses what Megatron-LM does not support with overlapped pairs (TransformerConfig.__post_init__). */
static ppsched_status check_overlapped(const struct ppi_parts *parts, bool is_overlapped, ppsched_error *error)
{
    if (is_overlapped && parts->recomputed == PPI_RECOMPUTED_FIRST)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "Megatron-LM overlaps forwards and backwards only without full recomputation");
    if (is_overlapped && parts->mtps > 1)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "Megatron-LM overlaps forwards and backwards with at most one MTP layer, not with %u", parts->mtps);
    return PPSCHED_OK;
}

/* Refuses what Megatron-LM does not support with several residual streams (TransformerConfig.__post_init__). */
static ppsched_status check_streams(const struct ppi_parts *parts, ppsched_error *error)
{
    if (parts->has_streams && parts->mtps > 0)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "Megatron-LM has several residual streams (hyper-connections) only in models without MTP layers");
    if (parts->has_streams && parts->recomputed == PPI_RECOMPUTED_FIRST)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "Megatron-LM has several residual streams (hyper-connections) only without full recomputation");
    return PPSCHED_OK;
}

static ppsched_status fits(struct ppi_launch *launch, ppsched_error *error)
{
    launch->order = ppi_order_of(launch->schedule);
    launch->order.overlapped = has_pair(launch->schedule);
    ppsched_status status = ppi_megatron_fits(launch->schedule, &launch->order, error);
    if (status == PPSCHED_OK && launch->parts != NULL)
        status = check_overlapped(launch->parts, launch->order.overlapped, error);
    if (status == PPSCHED_OK && launch->parts != NULL)
        status = check_streams(launch->parts, error);
    if (status != PPSCHED_OK || launch->parts == NULL)
        return status;
    return launch->parts->is_hybrid ? ppi_hybrid_lay_out(launch->parts, launch->order.overlapped, error)
                                    : ppi_parts_lay_out(launch->parts, launch->schedule->shape.devices, error);
}

static void write_ends(const struct ppi_parts *parts, uint32_t devices, struct ppi_line *line)
{
    uint32_t middle = parts->stages[1].decoders, first = parts->stages[0].decoders, last = parts->stages[devices - 1].decoders;
    if (first != middle)
        ppi_line_flag(line, "--decoder-first-pipeline-num-layers", first);
    if (last != middle)
        ppi_line_flag(line, "--decoder-last-pipeline-num-layers", last);
}

/* The layout string and the pattern include the chunks of a rank, and conflict with their flag. */
void ppi_megatron_write_split(const struct ppi_parts *parts, uint32_t devices, uint32_t chunks, struct ppi_line *line)
{
    if (parts != NULL && parts->is_hybrid) {
        ppi_line_argument(line, "--hybrid-layer-pattern", parts->pattern);
        return;
    }
    if (parts != NULL)
        ppi_line_flag(line, "--num-layers", parts->decoders);
    if (parts != NULL && parts->mtps > 0)
        ppi_line_flag(line, "--mtp-num-layers", parts->mtps);
    if (parts != NULL && !is_plain(parts) && differs_at_ends(parts, devices, chunks))
        write_ends(parts, devices, line);
    else if (parts != NULL && !is_plain(parts))
        ppi_line_argument(line, "--pipeline-model-parallel-layout", parts->layout->text);
    else if (chunks > 1)
        ppi_line_flag(line, "--num-virtual-stages-per-pipeline-rank", chunks);
}

void ppi_megatron_write_recompute(const struct ppi_parts *parts, struct ppi_line *line)
{
    if (parts->recomputed == PPI_RECOMPUTED_NONE)
        return;
    ppi_line_argument(line, "--recompute-granularity", parts->kind);
    if (parts->recomputed == PPI_RECOMPUTED_FIRST) {
        ppi_line_argument(line, "--recompute-method", "block");
        ppi_line_flag(line, "--recompute-num-layers", parts->is_hybrid ? ppi_hybrid_recomputed(parts) : parts->first);
    }
}

void ppi_megatron_write_batch(const struct ppi_launch *launch, struct ppi_line *line)
{
    if (launch->micro_batch == 0)
        return;
    ppi_line_flag(line, "--micro-batch-size", launch->micro_batch);
    ppi_line_flag(line, "--global-batch-size",
                  launch->micro_batch * launch->data_parallel * launch->schedule->shape.microbatches);
}

static void write(const struct ppi_launch *launch, struct ppi_line *line)
{
    const struct ppi_order_1f1b *order = &launch->order;
    ppi_line_flag(line, "--pipeline-model-parallel-size", order->devices);
    ppi_megatron_write_split(launch->parts, order->devices, order->chunks, line);
    if (order->group_size != order->devices)
        ppi_line_flag(line, "--microbatch-group-size-per-virtual-pipeline-stage", order->group_size);
    if (order->overlapped)
        ppi_line_word(line, "--overlap-moe-expert-parallel-comm");
    if (launch->parts != NULL)
        ppi_megatron_write_recompute(launch->parts, line);
    ppi_megatron_write_batch(launch, line);
}

const struct ppi_runtime ppi_megatron_runtime = {
    .name = "megatron",
    .title = "Megatron-LM",
    .fits = fits,
    .write = write,
    .rules = {.has_mtps = true,
              .may_be_uneven = true,
              .may_be_empty = true,
              .sends_one_stream = true,
              .first = "full",
              .all = {"selective"}},
    .may_recompute_first = may_recompute_first,
};
