/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the ops of each device and makes the schedule. */
#ifndef PPSCHED_IR_BUILDER_H
#define PPSCHED_IR_BUILDER_H

#include "ir/schedule.h"

/* One device's ops so far. */
struct ppi_segment {
    ppsched_op *ops;
    size_t count, capacity;
};

struct ppsched_builder {
    struct ppi_host host;
    struct ppi_shape shape;
    struct ppi_placement placement;
    bool flushes;
    uint32_t weight_versions;
    char *name;
    struct ppi_segment *segments;
    ppsched_op *block; /* if memory was reserved or adopted: all segments lie in it in order of devices */
};

/* `placement` as in ppi_config_place. */
ppsched_status ppi_builder_create(ppsched_builder **out, const ppsched_config *config, int32_t placement, const char *name,
                                  ppsched_error *error);

/* An empty builder for a schedule of the same sizes, placement, name and so on. */
ppsched_status ppi_builder_like(ppsched_builder **out, const ppsched_schedule *schedule, ppsched_error *error);
void ppi_builder_destroy(ppsched_builder *builder);

/* Reserves memory for `count` ops on each device, in one block that becomes the schedule's. For an empty builder. */
ppsched_status ppi_builder_reserve(ppsched_builder *builder, size_t count, ppsched_error *error);

/* Appends ops whose values have been checked. */
ppsched_status ppi_builder_append(ppsched_builder *builder, uint32_t device, const ppsched_op *ops, size_t count,
                                  ppsched_error *error);

/* Takes ownership of ops in memory of the same host, stored device by device, up to `ends[device]`. For an empty builder. */
void ppi_builder_adopt(ppsched_builder *builder, ppsched_op *ops, const size_t *ends);

ppsched_status ppi_builder_finish(ppsched_schedule **out, ppsched_builder *builder, ppsched_error *error);

/* Writes one device's ops into its reserved part of the block: the fast path for generators. */
struct ppi_op_writer {
    ppsched_op *next, *end;
    uint32_t first_microbatch; /* added to each microbatch */
    uint32_t slices;           /* per microbatch */
};

static inline void ppi_put_flagged(struct ppi_op_writer *writer, uint8_t kind, uint32_t stage, uint32_t microbatch,
                                   uint8_t flags)
{
    if (writer->next == writer->end)
        return;
    *writer->next++ = (ppsched_op){
        .microbatch = writer->first_microbatch + microbatch, .stage = (uint16_t)stage, .kind = kind, .flags = flags};
}

static inline void ppi_put(struct ppi_op_writer *writer, uint8_t kind, uint32_t stage, uint32_t microbatch)
{
    ppi_put_flagged(writer, kind, stage, microbatch, 0);
}

/* Puts an op of a micro-slice, numbered through the microbatches of a run that have `slices` slices each. */
static inline void ppi_put_micro_slice(struct ppi_op_writer *writer, uint32_t slices, uint8_t kind, uint32_t stage,
                                       uint32_t micro_slice)
{
    if (slices == 1) {
        ppi_put(writer, kind, stage, micro_slice);
        return;
    }
    if (writer->next == writer->end)
        return;
    *writer->next++ = (ppsched_op){.microbatch = writer->first_microbatch + micro_slice / slices,
                                   .stage = (uint16_t)stage,
                                   .slice = (uint16_t)(micro_slice % slices),
                                   .kind = kind,
                                   .flags = PPSCHED_OP_FLAG_SLICED};
}

/* Puts an overlapped pair: F, and the B that runs with it. */
static inline void ppi_put_pair(struct ppi_op_writer *writer, uint32_t forward_stage, uint32_t forward_microbatch,
                                uint32_t backward_stage, uint32_t backward_microbatch)
{
    ppi_put_flagged(writer, PPSCHED_KIND_F, forward_stage, forward_microbatch, PPSCHED_OP_FLAG_OVERLAPPED);
    ppi_put(writer, PPSCHED_KIND_B, backward_stage, backward_microbatch);
}

/* The pending Ws, oldest first: those of the Is that the writer has put since the start. `next`: no pending I is before it. */
struct ppi_weight_queue {
    const ppsched_op *next;
};

static inline struct ppi_weight_queue ppi_weight_queue_start(const struct ppi_op_writer *writer)
{
    return (struct ppi_weight_queue){writer->next};
}

/* Puts the oldest pending W; false if there is none. */
static inline bool ppi_put_oldest_weight(struct ppi_op_writer *writer, struct ppi_weight_queue *queue)
{
    while (queue->next < writer->next && queue->next->kind != PPSCHED_KIND_I)
        queue->next++;
    if (queue->next == writer->next)
        return false;
    ppsched_op weight = *queue->next++;
    weight.kind = PPSCHED_KIND_W;
    if (writer->next < writer->end)
        *writer->next++ = weight;
    return true;
}

/* Opens a writer after the device's last op, and closes it: the ops written between are then the device's. */
struct ppi_op_writer ppi_op_writer_open(const ppsched_builder *builder, uint32_t device);
void ppi_op_writer_close(ppsched_builder *builder, uint32_t device, const struct ppi_op_writer *writer);

#endif
