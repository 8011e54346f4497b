/* SPDX-License-Identifier: Apache-2.0 */
/* Input of a Megatron-LM launcher for 1F1B and interleaved 1F1B, as one JSON object: arguments, the schedule table, the
 * warm-up of each rank, and the order of each rank in the form of Transformer Engine's make_graphed_callables. */
#include "base/error.h"
#include "format/formats.h"
#include "format/megatron.h"

/* Megatron-LM's rules for groups when it interleaves: g is from D to M, and the last group is whole or has at least D. */
static ppsched_status fits_groups(const struct ppi_order_1f1b *order, ppsched_error *error)
{
    uint32_t last = order->microbatches % order->group_size;
    if (order->devices == 1)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "Megatron-LM interleaves only on two devices or more");
    if (order->microbatches < order->devices)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "Megatron-LM interleaves only with D <= group <= M: %u device%p need at least %u microbatch%p, not %u",
                        order->devices, order->devices, order->microbatches);
    if (order->group_size < order->devices)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "Megatron-LM interleaves only with D <= group <= M: groups of %u to %u microbatch%p, not of %u",
                        order->devices, order->microbatches, order->group_size);
    if (order->group_size > order->microbatches)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "Megatron-LM interleaves only with D <= group <= M: groups of %u to %u microbatch%p, not larger ones",
                        order->devices, order->microbatches);
    if (last > 0 && last < order->devices)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "Megatron-LM needs a last group of at least %u microbatch%p; %u in groups of %u leave %u",
                        order->devices, order->microbatches, order->group_size, last);
    return PPSCHED_OK;
}

ppsched_status ppi_megatron_fits(const ppsched_schedule *schedule, const struct ppi_order_1f1b *order, ppsched_error *error)
{
    struct ppi_order_1f1b found = *order;
    if (order->overlapped && order->chunks == 1 && order->devices > 1 && schedule->placement.copies == 1)
        return ppi_fail(
            error, PPSCHED_ERROR_REFUSED,
            "Megatron-LM overlaps forwards and backwards only with two stages per device or more, or on one device");
    ppsched_status status = ppi_find_order(&found, schedule, "Megatron-LM", error);
    return status == PPSCHED_OK && found.chunks > 1 ? fits_groups(&found, error) : status;
}

/* --- Transformer Engine's list --- */

static ppsched_status refuse_op(const ppsched_queue *queue, size_t i, ppsched_error *error)
{
    const ppsched_op *op = &queue->ops[i];
    struct ppi_place place = {queue->device, op->stage, op->microbatch, (uint32_t)i};
    char token[PPI_UNIT_TOKEN_SIZE];
    ppi_unit_token(token, op);
    if (ppi_unit_length(op) == 2)
        return ppi_fail_at(error, PPSCHED_ERROR_REFUSED, place,
                           "the format megatron has no overlapped pairs, and device %u has %s at position %zu; use csv, json, "
                           "or for interleaved 1F1B the launch arguments of Megatron-LM",
                           queue->device, token, i);
    return ppi_fail_at(error, PPSCHED_ERROR_REFUSED, place,
                       "the format megatron has only whole backwards, and device %u has %s at position %zu; use csv, json or "
                       "sail, or a strategy without I and W such as 1f1b",
                       queue->device, token, i);
}

/* OK, or REFUSED with the first computation for which the list has no number. */
static ppsched_status holds(const ppsched_schedule *schedule, ppsched_error *error)
{
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        for (size_t i = 0; i < schedule->queues[d].count; i++) {
            const ppsched_op *op = &schedule->queues[d].ops[i];
            if (ppi_unit_length(op) == 2 || op->kind == PPSCHED_KIND_I || op->kind == PPSCHED_KIND_W)
                return refuse_op(&schedule->queues[d], i, error);
        }
    return PPSCHED_OK;
}

/* Overlapped pairs are refused: Transformer Engine has another list for them. */
static ppsched_status fits(const ppsched_schedule *schedule, ppsched_error *error)
{
    struct ppi_order_1f1b order = ppi_order_of(schedule);
    ppsched_status status = holds(schedule, error);
    return status == PPSCHED_OK ? ppi_megatron_fits(schedule, &order, error) : status;
}

static void write_sizes(struct ppi_writer *writer, const struct ppi_order_1f1b *order)
{
    ppi_write_field(writer, ",\n \"arguments\": [\"--pipeline-model-parallel-size\", \"", order->devices);
    if (order->chunks > 1) {
        ppi_write_field(writer, "\", \"--num-virtual-stages-per-pipeline-rank\", \"", order->chunks);
        ppi_write_field(writer, "\", \"--microbatch-group-size-per-virtual-pipeline-stage\", \"", order->group_size);
    }
    ppi_write_field(writer, "\"],\n \"pipeline_model_parallel_size\": ", order->devices);
    ppi_write_field(writer, ", \"num_model_chunks\": ", order->chunks);
    ppi_write_field(writer, ", \"num_microbatches\": ", order->microbatches);
    ppi_write_field(writer, ", \"microbatch_group_size_per_vp_stage\": ", order->group_size);
}

static void write_table(struct ppi_writer *writer, const struct ppi_order_1f1b *order)
{
    ppi_write_text(writer, ",\n \"schedule_table\": [");
    struct ppi_table table = ppi_table_start(order->chunks, order->microbatches, order->group_size);
    for (uint64_t k = 0; k < ppi_visits_of(order); k++, ppi_table_advance(&table)) {
        ppi_write_field(writer, k > 0 ? ", [" : "[", table.microbatch);
        ppi_write_field(writer, ", ", table.chunk);
        ppi_write(writer, "]", 1);
    }
    ppi_write(writer, "]", 1);
}

static void write_warmups(struct ppi_writer *writer, const struct ppi_order_1f1b *order)
{
    ppi_write_text(writer, ",\n \"num_warmup_microbatches\": ");
    for (uint32_t d = 0; d < order->devices; d++)
        ppi_write_field(writer, d > 0 ? ", " : "[", ppi_warmup_of(order, d));
    ppi_write(writer, "]", 1);
}

/* A forward of chunk c is written as c+1, its backward as -(c+1). */
static void write_order(struct ppi_writer *writer, const ppsched_queue *queue, uint32_t devices)
{
    for (size_t i = 0; i < queue->count; i++) {
        int64_t chunk = queue->ops[i].stage / devices + 1;
        ppi_write_text(writer, i > 0 ? ", " : "[");
        ppi_write_integer(writer, queue->ops[i].kind == PPSCHED_KIND_F ? chunk : -chunk);
    }
    ppi_write(writer, "]", 1);
}

static void write_megatron(struct ppi_writer *writer, const ppsched_schedule *schedule, const ppsched_timeline *timeline,
                           const ppsched_export_options *options)
{
    struct ppi_order_1f1b order = ppi_order_of(schedule);
    (void)timeline, (void)options;
    ppi_write_text(writer, "{\"strategy\": ");
    ppi_write_json_string(writer, schedule->name);
    write_sizes(writer, &order);
    write_table(writer, &order);
    write_warmups(writer, &order);
    for (uint32_t d = 0; d < order.devices; d++) {
        ppi_write_text(writer, d > 0 ? ",\n  " : ",\n \"_order\": [\n  ");
        write_order(writer, &schedule->queues[d], order.devices);
    }
    ppi_write_text(writer, "]}\n");
}

const struct ppi_format ppi_megatron_format = {.name = "megatron", .fits = fits, .write = write_megatron};
