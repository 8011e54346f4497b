/* SPDX-License-Identifier: Apache-2.0 */
/* DeepSpeed's instruction lists of 1F1B: a line per rank, "rank <rank> <buffers> <step> | <step> ...", where a step is a list
 * of instructions ("ForwardPass:0", with the buffer) or "-".
 *
 * All ranks run 2(M+D-1) steps. Rank r runs the forward of microbatch m in step 2m+r and its backward in step 2m+2D-1-r,
 * receives in the same step and sends in the next; microbatch m is in buffer m mod max(2, min(D-r, M)). */
#include "base/error.h"
#include "format/formats.h"
#include "order/order_1f1b.h"

static ppsched_status fits(const ppsched_schedule *schedule, ppsched_error *error)
{
    struct ppi_order_1f1b order = ppi_order_of(schedule);
    if (order.chunks > 1)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "DeepSpeed runs one stage per device, not %u stage%p on %u device%p",
                        schedule->shape.stages, schedule->shape.devices);
    return ppi_has_order(schedule, &order, "DeepSpeed", error);
}

/* A rank and its current step. */
struct rank {
    struct ppi_writer *writer;
    uint32_t rank, devices, microbatches, buffers;
    uint32_t step;
    bool empty; /* the step has no instruction yet */
};

static void write_name(struct rank *r, const char *name)
{
    ppi_write_text(r->writer, r->empty && r->step > 0 ? " | " : " ");
    ppi_write_text(r->writer, name);
    r->empty = false;
}

/* Writes an instruction that microbatch m has in step 2m + first, if that is the current step. */
static void write_instruction(struct rank *r, const char *name, uint32_t first)
{
    if (r->step < first || (r->step - first) % 2 != 0 || (r->step - first) / 2 >= r->microbatches)
        return;
    write_name(r, name);
    ppi_write(r->writer, ":", 1);
    ppi_write_integer(r->writer, (r->step - first) / 2 % r->buffers);
}

static void write_step(struct rank *r, bool last_step)
{
    uint32_t forward = r->rank, backward = 2 * r->devices - 1 - r->rank;
    bool first = r->rank == 0, last = r->rank == r->devices - 1;
    r->empty = true;
    if (!first) {
        write_instruction(r, "SendGrad", backward + 1);
        write_instruction(r, "RecvActivation", forward);
    }
    if (first || last)
        write_instruction(r, "LoadMicroBatch", forward);
    write_instruction(r, "ForwardPass", forward);
    if (!last) {
        write_instruction(r, "RecvGrad", backward);
        write_instruction(r, "SendActivation", forward + 1);
    }
    write_instruction(r, "BackwardPass", backward);
    if (last_step)
        write_name(r, "ReduceTiedGrads ReduceGrads OptimizerStep");
    else if (r->empty)
        write_name(r, "-");
}

static uint32_t buffers_of(const struct ppi_shape *shape, uint32_t rank)
{
    uint32_t alive = shape->devices - rank < shape->microbatches ? shape->devices - rank : shape->microbatches;
    return alive > 2 ? alive : 2;
}

static void write_deepspeed(struct ppi_writer *writer, const ppsched_schedule *schedule, const ppsched_timeline *timeline,
                            const ppsched_export_options *options)
{
    const struct ppi_shape *shape = &schedule->shape;
    uint32_t steps = 2 * (shape->microbatches + shape->devices - 1);
    (void)timeline, (void)options;
    for (uint32_t d = 0; d < shape->devices; d++) {
        struct rank r = {writer, d, shape->devices, shape->microbatches, buffers_of(shape, d), 0, true};
        ppi_write_text(writer, "rank ");
        ppi_write_integer(writer, d);
        ppi_write(writer, " ", 1);
        ppi_write_integer(writer, r.buffers);
        for (; r.step < steps; r.step++)
            write_step(&r, r.step == steps - 1);
        ppi_write(writer, "\n", 1);
    }
}

const struct ppi_format ppi_deepspeed_format = {.name = "deepspeed", .fits = fits, .write = write_deepspeed};
