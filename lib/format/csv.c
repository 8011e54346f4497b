/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's CSV: row i is rank i, a cell is an op or an overlapped pair. It is compute_only where all ops are F, B, I and W,
 * and compute_comms with other ops. */
#include "base/error.h"
#include "format/csv_reader.h"
#include "format/formats.h"

static ppsched_status fits(const ppsched_schedule *schedule, ppsched_error *error)
{
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        for (size_t i = 0; i < schedule->queues[d].count; i++) {
            const ppsched_op *op = &schedule->queues[d].ops[i];
            if (!ppi_is_of_pytorch(op->kind))
                return ppi_fail_at(error, PPSCHED_ERROR_REFUSED, (struct ppi_place){d, op->stage, op->microbatch, (uint32_t)i},
                                   "PyTorch's CSV has no %s, which device %u has at position %zu", ppi_kind_token(op->kind), d,
                                   i);
        }
    return PPSCHED_OK;
}

static void write_csv(struct ppi_writer *writer, const ppsched_schedule *schedule, const ppsched_timeline *timeline,
                      const ppsched_export_options *options)
{
    char token[PPI_UNIT_TOKEN_SIZE];
    (void)timeline, (void)options;
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        const ppsched_queue *queue = &schedule->queues[d];
        for (size_t i = 0; i < queue->count; i += ppi_unit_length(&queue->ops[i])) {
            if (i > 0)
                ppi_write(writer, ",", 1);
            ppi_write(writer, token, ppi_unit_token(token, &queue->ops[i]));
        }
        ppi_write(writer, "\n", 1);
    }
}

const struct ppi_format ppi_csv_format = {.name = "csv", .fits = fits, .write = write_csv, .read = ppi_read_csv};
