/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of the forward and the backward sweep over the dependency graph: the times of stage passes once known, the
 * progress of each device, and the devices that can continue.
 *
 * A device runs until it needs a time that is not known yet; it marks that time and stops. The device that notes a marked
 * time makes the waiting device ready again. A time has at most one reader on another device, so the mark need not name it:
 * it is the reader's home. Each op is thus visited once, and each wait costs one push and one pop. */
#ifndef PPSCHED_EVAL_EVENT_LOOP_H
#define PPSCHED_EVAL_EVENT_LOOP_H

#include "base/inline.h"
#include "base/prefetch.h"
#include "eval/sums.h"
#include "ir/costs.h"
#include "ir/schedule.h"

/* How many bytes ahead a sweep prefetches: four cache lines. Devices take turns, so there are more streams than the hardware
 * prefetcher follows. */
enum { PPI_AHEAD = 256 };

/* A time, which is never negative, or one of the states below, whose bits are negative: test `bits` first; `value` is only for
 * times. */
union ppi_time {
    double value;
    int64_t bits;
};

/* States in place of a time. The last two are of the forward sweep: once a B or I has run, the time of its F is no longer
 * needed, and the state of the stage pass replaces it. */
enum {
    PPI_UNKNOWN = -1,        /* not run yet */
    PPI_AWAITED = -2,        /* not run yet, and a device waits for it */
    PPI_WEIGHT_PENDING = -3, /* F and I have run, W has not */
    PPI_DONE = -4            /* all ops of the stage pass have run */
};

/* A stage pass: the times of its F and of its B or I. */
struct ppi_pass {
    union ppi_time forward, backward;
};

/* A stage instance, in the layout for the inner loops of the sweeps. */
struct ppi_row {
    struct ppi_pass *passes; /* by micro-slice, over all iterations */
    double forward_delay;    /* as in the stage instance */
    double backward_delay;
    double duration[PPI_COMPUTE_KINDS - 1]; /* of kind k: k - 1 */
    double memory[PPI_COMPUTE_KINDS - 1];   /* the same index */
    uint32_t device;
    uint32_t device_before, device_after; /* of the stages before and after; PPSCHED_NONE: none */
    uint32_t unused[7];                   /* makes the size a power of 2, so that an index is a shift */
};

/* Progress of a device: the forward sweep moves `op` up to `end`, the backward sweep down. `span` is that of `op`. */
struct ppi_track {
    double clock; /* end of its last op; in the backward sweep its latest start */
    const ppsched_op *op, *end;
    ppsched_span *span;
    struct ppi_sums sums; /* of the forward sweep */
};

struct ppi_event_loop {
    const ppsched_schedule *schedule;
    const struct ppi_costs *costs;
    struct ppi_pass *passes;  /* stage by stage */
    struct ppi_row *rows;     /* one per stage instance */
    struct ppi_track *tracks; /* one per device */
    uint32_t *active;         /* devices with ops, so that a flush costs no more than an iteration's ops */
    uint32_t active_count;
    uint32_t *ready; /* stack of devices that can continue */
    uint32_t ready_count;
    uint8_t *is_ready, *ran; /* of a stage graph, else NULL: by device, whether it is in `ready`; by stage pass, what has run */
    uint32_t *order;         /* of a stage graph: the ops as they ran, those of several devices once */
    size_t ran_count;
};

/* For a schedule that outlives it; the costs are set afterwards. */
ppsched_status ppi_event_loop_make(struct ppi_event_loop *out, const ppsched_schedule *schedule, ppsched_error *error);
void ppi_event_loop_clear(struct ppi_event_loop *loop);

/* Sets the costs for all sweeps until the next call; they must outlive these. */
void ppi_event_loop_set_costs(struct ppi_event_loop *loop, const struct ppi_costs *costs);

/* Resets all passes to PPI_UNKNOWN, and all tracks to the start of their queues. */
void ppi_event_loop_reset(struct ppi_event_loop *loop, ppsched_span *spans);

/* Makes all active devices ready, the lowest on top. */
void ppi_event_loop_ready_all(struct ppi_event_loop *loop);

/* The row of an op. */
static inline const struct ppi_row *ppi_row_of(const struct ppi_event_loop *loop, const ppsched_op *op)
{
    const ppsched_schedule *schedule = loop->schedule;
    if (schedule->placement.copies == 1)
        return &loop->rows[op->stage];
    return &loop->rows[(size_t)ppi_copy_of(&schedule->placement, &schedule->shape, op->microbatch) * schedule->shape.stages +
                       op->stage];
}

/* Whether the time is known; if not, it is marked. */
static inline bool ppi_is_known(union ppi_time *time)
{
    if (time->bits >= 0)
        return true;
    time->bits = PPI_AWAITED;
    return false;
}

/* What a sweep can assume; a constant where it is inlined. */
enum ppi_form {
    PPI_PLAIN,       /* one copy of the model; microbatches are whole and identical; no given times of pairs are scaled */
    PPI_COPIES,      /* more copies */
    PPI_SCALED,      /* one copy; microbatches are whole and differ */
    PPI_MICRO_SLICES /* anything */
};

static inline enum ppi_form ppi_form_of(const struct ppi_event_loop *loop)
{
    const bool has_one_copy = loop->schedule->placement.copies == 1;
    if (ppi_scales_pairs(loop->costs))
        return PPI_MICRO_SLICES;
    if (loop->schedule->shape.slices > 1 || (loop->costs->factors != NULL && !has_one_copy))
        return PPI_MICRO_SLICES;
    if (loop->costs->factors != NULL)
        return PPI_SCALED;
    return has_one_copy ? PPI_PLAIN : PPI_COPIES;
}

/* What a sweep needs of an op's micro-slice, in addition to its row. */
struct ppi_micro_slice_view {
    uint32_t index;         /* over all iterations */
    uint32_t before, after; /* slices of its microbatch */
    struct ppi_factor factor;
    const struct ppi_instance *instance; /* NULL: all factors are 1 */
};

PPI_INLINE struct ppi_micro_slice_view ppi_view_micro_slice(const struct ppi_event_loop *loop, const ppsched_op *op,
                                                            enum ppi_form form)
{
    const struct ppi_shape *shape = &loop->schedule->shape;
    if (form == PPI_PLAIN || form == PPI_COPIES)
        return (struct ppi_micro_slice_view){.index = op->microbatch, .factor = {1, 1}};
    if (form == PPI_SCALED)
        return (struct ppi_micro_slice_view){
            .index = op->microbatch,
            .factor = loop->costs->factors[op->microbatch < shape->microbatches ? op->microbatch
                                                                                : op->microbatch % shape->microbatches],
            .instance = &loop->costs->instances[op->stage]};
    const struct ppi_instance *instance = ppi_instance_of(loop->costs, loop->schedule, op);
    return (struct ppi_micro_slice_view){.index = ppi_micro_slice_of(shape, op),
                                         .before = op->slice,
                                         .after = shape->slices - 1 - op->slice,
                                         .factor = ppi_factor_on(instance, shape, op->microbatch, op->slice),
                                         .instance = instance};
}

/* Transfer time of a stage pass's input from the stage before (after) it. The row's stage is `behind` stages after that of the
 * view. */
PPI_INLINE double ppi_forward_delay(const struct ppi_row *row, int behind, const struct ppi_micro_slice_view *micro_slice)
{
    return micro_slice->instance == NULL ? row->forward_delay
                                         : ppi_scaled_delay(row->forward_delay, micro_slice->instance[behind].forward_latency,
                                                            micro_slice->factor.memory);
}

PPI_INLINE double ppi_backward_delay(const struct ppi_row *row, int behind, const struct ppi_micro_slice_view *micro_slice)
{
    return micro_slice->instance == NULL ? row->backward_delay
                                         : ppi_scaled_delay(row->backward_delay, micro_slice->instance[behind].backward_latency,
                                                            micro_slice->factor.memory);
}

/* The row of an op in a sweep of a form. */
PPI_INLINE const struct ppi_row *ppi_row_of_form(const struct ppi_event_loop *loop, const ppsched_op *op, enum ppi_form form)
{
    return form == PPI_PLAIN || form == PPI_SCALED ? &loop->rows[op->stage] : ppi_row_of(loop, op);
}

/* Runs the ready devices until there are none: each until it waits, or its track ends. */
PPI_INLINE void ppi_run_ready(struct ppi_event_loop *loop, void (*run)(void *sweep, uint32_t device, enum ppi_form form),
                              void *sweep)
{
    enum ppi_form form = ppi_form_of(loop);
    if (form == PPI_PLAIN)
        while (loop->ready_count > 0)
            run(sweep, loop->ready[--loop->ready_count], PPI_PLAIN);
    else if (form == PPI_COPIES)
        while (loop->ready_count > 0)
            run(sweep, loop->ready[--loop->ready_count], PPI_COPIES);
    else if (form == PPI_SCALED)
        while (loop->ready_count > 0)
            run(sweep, loop->ready[--loop->ready_count], PPI_SCALED);
    else
        while (loop->ready_count > 0)
            run(sweep, loop->ready[--loop->ready_count], PPI_MICRO_SLICES);
}

/* Notes a time, and wakes its reader if that waits for it. */
static inline void ppi_note(struct ppi_event_loop *loop, union ppi_time *time, double value, uint32_t reader)
{
    bool awaited = time->bits == PPI_AWAITED;
    time->value = value;
    if (awaited)
        loop->ready[loop->ready_count++] = reader;
}

#endif
