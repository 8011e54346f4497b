/* SPDX-License-Identifier: Apache-2.0 */
/* The immutable schedule and its queues of ops. */
#ifndef PPSCHED_IR_SCHEDULE_H
#define PPSCHED_IR_SCHEDULE_H

#include <stdatomic.h>
#include <stdbool.h>

#include <ppsched/schedule.h>

#include "base/inline.h"
#include "ir/config.h"
#include "ir/op.h"

struct ppsched_queue {
    const ppsched_op *ops;
    size_t count;
    size_t first; /* index of the first op among all ops of the schedule */
    uint32_t device;
};

/* Whether the rule that the schedule is named after made its ops, and the rule's only option if it has one. */
struct ppi_rule_order {
    bool is_known;
    int64_t option;
};

struct ppsched_schedule {
    ppsched_schedule
        *self; /* mutable, to count references, to free and to note what a check or a runtime said; all else is constant */
    struct ppi_host host;
    atomic_uint references;
    atomic_bool is_sound;                 /* a check has found nothing */
    atomic_uint run_by[2], refused_by[2]; /* bits of runtimes: those of its kind, those of its very order */
    atomic_uint kinds;                    /* bits of the kinds of its ops; 0 until someone asks */
    struct ppi_rule_order by_rule;
    struct ppi_shape shape;
    uint32_t micro_slices; /* over all iterations */
    struct ppi_placement placement;
    bool flushes;
    uint32_t weight_versions;
    char *name;
    ppsched_op *ops; /* all queues, device by device */
    uint64_t op_count;
    struct ppsched_queue *queues;
};

void ppi_schedule_retain(const ppsched_schedule *schedule);
void ppi_schedule_release(const ppsched_schedule *schedule);

static inline uint32_t ppi_schedule_device_of(const ppsched_schedule *schedule, const ppsched_op *op)
{
    return ppi_device_of(&schedule->placement, &schedule->shape, op->stage, op->microbatch);
}

/* An op's micro-slice, over all iterations. */
static inline uint32_t ppi_micro_slice_of(const struct ppi_shape *shape, const ppsched_op *op)
{
    return ppi_micro_slice(shape, op->microbatch, op->slice);
}

/* An op of a micro-slice. */
static inline ppsched_op ppi_op_of_micro_slice(const struct ppi_shape *shape, uint32_t micro_slice, uint32_t stage,
                                               uint8_t kind)
{
    return (ppsched_op){.microbatch = micro_slice / shape->slices,
                        .stage = (uint16_t)stage,
                        .slice = (uint16_t)(micro_slice % shape->slices),
                        .kind = kind,
                        .flags = shape->slices > 1 ? PPSCHED_OP_FLAG_SLICED : 0};
}

/* Number of stage passes (cells): one per stage and micro-slice, with an F and its backward. */
static inline size_t ppi_cell_count(const ppsched_schedule *schedule)
{
    return (size_t)schedule->shape.stages * schedule->micro_slices;
}

/* Index of an op's stage pass, stage by stage; for loops in which the number of slices is a constant. */
PPI_INLINE size_t ppi_cell_with(const ppsched_schedule *schedule, const ppsched_op *op, uint32_t slices)
{
    return (size_t)op->stage * schedule->micro_slices +
           (slices == 1 ? op->microbatch : ppi_micro_slice_of(&schedule->shape, op));
}

static inline size_t ppi_cell_of(const ppsched_schedule *schedule, const ppsched_op *op)
{
    return (size_t)op->stage * schedule->micro_slices + ppi_micro_slice_of(&schedule->shape, op);
}

/* The largest number of ops of a device. */
size_t ppi_longest_queue(const ppsched_schedule *schedule);

/* Whether there are Fs, and no B, I or W. Looks at the last op only, if that is one of these. */
bool ppi_is_forward_only(const ppsched_schedule *schedule);

/* Bits 1 << kind of the kinds of its ops, and bit 0 if some are overlapped pairs. The first call looks at all ops. */
uint32_t ppi_kinds_of(const ppsched_schedule *schedule);

/* Whether all ops are F, B, I or W. */
bool ppi_only_computes(const ppsched_schedule *schedule);

/* Whether some ops are overlapped pairs. */
bool ppi_has_pairs(const ppsched_schedule *schedule);

/* Whether there are Bs, and Is and Ws too. */
bool ppi_mixes_backwards(const ppsched_schedule *schedule);

/* Whether some op sends or receives. */
bool ppi_has_comm_ops(const ppsched_schedule *schedule);

/* Whether some ops recompute, offload, reload or wait for an offload. */
bool ppi_has_saving(const ppsched_schedule *schedule);

#endif
