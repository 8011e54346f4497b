/* SPDX-License-Identifier: Apache-2.0 */
/* Merges adjacent I and W into B, and splits B into both. */
#include "lower/passes.h"

static bool is_pair(const ppsched_op *first, const ppsched_op *second)
{
    return first->kind == PPSCHED_KIND_I && second->kind == PPSCHED_KIND_W && first->stage == second->stage &&
           first->microbatch == second->microbatch && first->slice == second->slice && ppi_unit_length(second) == 1;
}

ppsched_status ppi_merge_backwards(ppsched_builder *out, const ppsched_schedule *schedule, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        const ppsched_queue *queue = &schedule->queues[d];
        for (size_t i = 0; i < queue->count && status == PPSCHED_OK; i++) {
            ppsched_op op = queue->ops[i];
            if (i + 1 < queue->count && is_pair(&queue->ops[i], &queue->ops[i + 1])) {
                op.kind = PPSCHED_KIND_B; /* also as the second of an overlapped pair */
                i++;
            }
            status = ppi_builder_append(out, d, &op, 1, error);
        }
    }
    return status;
}

ppsched_status ppi_split_backwards(ppsched_builder *out, const ppsched_schedule *schedule, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        const ppsched_queue *queue = &schedule->queues[d];
        for (size_t i = 0; i < queue->count && status == PPSCHED_OK; i++) {
            ppsched_op both[2] = {queue->ops[i], queue->ops[i]};
            bool overlapped = i > 0 && (queue->ops[i - 1].flags & PPSCHED_OP_FLAG_OVERLAPPED) != 0;
            size_t count = 1;
            if (both[0].kind == PPSCHED_KIND_B && !overlapped) {
                both[0].kind = PPSCHED_KIND_I;
                both[1].kind = PPSCHED_KIND_W;
                count = 2;
            }
            status = ppi_builder_append(out, d, both, count, error);
        }
    }
    return status;
}
