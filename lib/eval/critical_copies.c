/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path of schedules with memory saving, which may include copies. What an op may have waited for is found by
 * comparing times, which are equal to the last bit. */
#include "base/checked.h"
#include "base/error.h"
#include "base/sort.h"
#include "eval/explain.h"
#include "eval/memory_saving.h"
#include "eval/wait_graph.h"

struct trace {
    const ppsched_timeline *timeline;
    const ppsched_schedule *schedule;
    size_t *forward, *backward, *offload, *reload; /* by stage pass: unit of F, unit of B or I, copies */
    size_t *copy_before;                           /* by op: the copy before it on its link, or PPI_NO_NODE */
    double *keys;                                  /* sort keys of copies */
    size_t *last; /* by flush, and for the makespan: the op that ends then, of the lowest device */
    uint32_t *copies, *order, *scratch;
    uint32_t copy_count;
};

/* --- indexing --- */

static bool holds_device(uint8_t kind)
{
    return ppi_is_compute(kind) || kind == PPSCHED_KIND_RECOMPUTE || kind == PPSCHED_KIND_OFFLOAD_WAIT;
}

static void note_op(struct trace *trace, size_t i, size_t unit)
{
    const ppsched_op *op = &trace->schedule->ops[i];
    size_t cell = ppi_kind_has_microbatch(op->kind) ? ppi_cell_of(trace->schedule, op) : 0;
    trace->copy_before[i] = PPI_NO_NODE;
    if (op->kind == PPSCHED_KIND_F)
        trace->forward[cell] = unit;
    else if (ppi_is_backward(op->kind))
        trace->backward[cell] = unit;
    else if (op->kind == PPSCHED_KIND_OFFLOAD)
        trace->offload[cell] = i;
    else if (op->kind == PPSCHED_KIND_RELOAD)
        trace->reload[cell] = i;
    if (ppi_is_copy(op->kind))
        trace->copies[trace->copy_count++] = (uint32_t)i;
}

static bool is_less(const void *keys, uint32_t a, uint32_t b)
{
    return ((const double *)keys)[a] < ((const double *)keys)[b];
}

/* Finds each copy's predecessor on its link: ordered by start, then by end, as copies that take no time come first. */
static void find_copies_before(struct trace *trace, size_t *last)
{
    const struct ppi_saving *saving = trace->timeline->saving;
    for (uint32_t i = 0; i < trace->copy_count; i++) {
        trace->keys[i] = trace->timeline->spans[trace->copies[i]].end;
        trace->order[i] = i;
    }
    const uint32_t *by_end = ppi_sort(trace->order, trace->scratch, trace->copy_count, is_less, trace->keys);
    uint32_t *from = by_end == trace->order ? trace->order : trace->scratch;
    for (uint32_t i = 0; i < trace->copy_count; i++)
        trace->keys[i] = trace->timeline->spans[trace->copies[i]].start;
    const uint32_t *sorted = ppi_sort(from, from == trace->order ? trace->scratch : trace->order, trace->copy_count, is_less,
                                      trace->keys);
    for (uint32_t i = 0; i < 2 * trace->schedule->shape.devices; i++)
        last[i] = PPI_NO_NODE;
    for (uint32_t i = 0; i < trace->copy_count; i++) {
        size_t copy = trace->copies[sorted[i]];
        const ppsched_op *op = &trace->schedule->ops[copy];
        uint32_t device = ppi_schedule_device_of(trace->schedule, op);
        size_t *before = &last[saving->streams[2 * device + (op->kind == PPSCHED_KIND_RELOAD)].link];
        trace->copy_before[copy] = *before;
        *before = copy;
    }
}

/* Finds the first op that ends at each flush, and at the makespan; for a wait, its copy. */
static void find_last(struct trace *trace)
{
    const ppsched_timeline *timeline = trace->timeline;
    for (size_t k = 0; k <= timeline->flush_count; k++)
        trace->last[k] = PPI_NO_NODE;
    for (size_t i = 0; i < trace->schedule->op_count; i += ppi_unit_length(&trace->schedule->ops[i])) {
        const ppsched_op *op = &trace->schedule->ops[i];
        size_t k = holds_device(op->kind) ? op->microbatch / trace->schedule->shape.microbatches : 0;
        double time = k < timeline->flush_count ? timeline->flush_times[k] : timeline->metrics.makespan;
        if (holds_device(op->kind) && trace->last[k] == PPI_NO_NODE && timeline->spans[i].end == time)
            trace->last[k] = op->kind == PPSCHED_KIND_OFFLOAD_WAIT ? trace->offload[ppi_cell_of(trace->schedule, op)] : i;
    }
}

/* --- going back --- */

struct step {
    size_t from; /* PPI_NO_NODE: the start of the schedule */
    int32_t reason;
};

static bool ends_at(const struct trace *trace, size_t i, double time)
{
    return i != PPI_NO_NODE && trace->timeline->spans[i].end == time;
}

/* Finds the op that occupied a device until `time`, before an op of its queue; false if the device was idle. */
static bool find_device(const struct trace *trace, size_t first, size_t i, double time, struct step *step)
{
    while (i-- > first) {
        const ppsched_op *op = &trace->schedule->ops[i];
        const ppsched_span *span = &trace->timeline->spans[i];
        if (!holds_device(op->kind) || (op->kind == PPSCHED_KIND_OFFLOAD_WAIT && span->end == span->start))
            continue;
        if (span->end != time)
            return false;
        if (op->kind == PPSCHED_KIND_OFFLOAD_WAIT)
            *step = (struct step){trace->offload[ppi_cell_of(trace->schedule, op)], PPSCHED_REASON_COPY};
        else
            *step = (struct step){i > first && ppi_unit_length(op - 1) == 2 ? i - 1 : i, PPSCHED_REASON_DEVICE};
        return true;
    }
    return false;
}

static bool find_flush(const struct trace *trace, const ppsched_op *op, double time, struct step *step)
{
    uint32_t microbatches = trace->schedule->shape.microbatches, iteration = op->microbatch / microbatches;
    if (trace->timeline->flush_count == 0 || iteration == 0 || trace->timeline->flush_times[iteration - 1] != time)
        return false;
    *step = (struct step){trace->last[iteration - 1], PPSCHED_REASON_FLUSH};
    return true;
}

/* Finds the input of an op of a unit that starts at `time`. */
static bool find_input(const struct trace *trace, const ppsched_op *op, double time, struct step *step)
{
    const ppsched_schedule *schedule = trace->schedule;
    size_t cell = ppi_cell_of(schedule, op), from = PPI_NO_NODE;
    bool backward = ppi_is_backward(op->kind);
    if (op->kind == PPSCHED_KIND_F && op->stage > 0)
        from = trace->forward[cell - schedule->micro_slices];
    else if (backward && op->stage + 1u < schedule->shape.stages)
        from = trace->backward[cell + schedule->micro_slices];
    if (from == PPI_NO_NODE)
        return false;
    const size_t writer = backward ? from + ppi_unit_length(&schedule->ops[from]) - 1 : from;
    if (ppi_made_at(trace->timeline, writer) + ppi_delay_of(&trace->timeline->costs, schedule, op, backward) != time)
        return false;
    *step = (struct step){from, PPSCHED_REASON_INPUT};
    return true;
}

/* Finds the copy that a unit, or another copy, waited for. */
static bool find_copy(const struct trace *trace, size_t i, double time, struct step *step)
{
    const ppsched_op *op = &trace->schedule->ops[i];
    for (size_t k = i; k < i + ppi_unit_length(op); k++) {
        const ppsched_op *own = &trace->schedule->ops[k];
        size_t cell = ppi_cell_of(trace->schedule, own), from = trace->copy_before[k];
        if (ppi_is_backward(own->kind))
            from = trace->reload[cell];
        else if (own->kind == PPSCHED_KIND_RELOAD && ends_at(trace, trace->offload[cell], time))
            from = trace->offload[cell];
        if (!ends_at(trace, from, time))
            continue;
        *step = (struct step){from, PPSCHED_REASON_COPY};
        return true;
    }
    return false;
}

static struct step came_from(const struct trace *trace, size_t i)
{
    const ppsched_schedule *schedule = trace->schedule;
    const ppsched_op *op = &schedule->ops[i];
    double time = trace->timeline->spans[i].start;
    struct step step = {PPI_NO_NODE, PPSCHED_REASON_BEGIN};
    if (find_device(trace, schedule->queues[ppi_schedule_device_of(schedule, op)].first, i, time, &step) ||
        find_flush(trace, op, time, &step))
        return step;
    for (size_t k = 0; k < ppi_unit_length(op); k++)
        if (find_input(trace, &op[k], time, &step))
            return step;
    find_copy(trace, i, time, &step);
    return step;
}

static size_t go_back(const struct trace *trace, ppsched_critical_op *end)
{
    const ppsched_schedule *schedule = trace->schedule;
    size_t count = 0;
    for (size_t i = trace->last[trace->timeline->flush_count]; i != PPI_NO_NODE; count++) {
        uint32_t device = ppi_schedule_device_of(schedule, &schedule->ops[i]);
        struct step step = came_from(trace, i);
        if (end != NULL)
            *--end = (ppsched_critical_op){.device = device,
                                           .position = (uint32_t)(i - schedule->queues[device].first),
                                           .op = schedule->ops[i],
                                           .reason = step.reason,
                                           .start = trace->timeline->spans[i].start,
                                           .end = trace->timeline->spans[i].end};
        i = step.from;
    }
    return count;
}

/* --- all of it --- */

static void clear(struct trace *trace)
{
    const struct ppi_host *host = &trace->timeline->host;
    ppi_release(host, trace->forward);
    ppi_release(host, trace->copy_before);
    ppi_release(host, trace->last);
    ppi_release(host, trace->keys);
    ppi_release(host, trace->copies);
}

static ppsched_status make(struct trace *trace, ppsched_error *error)
{
    const ppsched_schedule *schedule = trace->schedule;
    const struct ppi_host *host = &trace->timeline->host;
    size_t cells = ppi_cell_count(schedule), ops = (size_t)schedule->op_count;
    size_t *last = ppi_allocate(host, schedule->shape.devices, 2 * sizeof *last);
    trace->forward = ppi_allocate(host, cells, 4 * sizeof *trace->forward);
    trace->copy_before = ppi_allocate(host, ops, sizeof *trace->copy_before);
    trace->last = ppi_allocate(host, trace->timeline->flush_count + 1, sizeof *trace->last);
    trace->keys = ppi_allocate(host, ops, sizeof *trace->keys);
    trace->copies = ppi_allocate(host, ops, 3 * sizeof *trace->copies);
    if (last == NULL || trace->forward == NULL || trace->copy_before == NULL || trace->last == NULL || trace->keys == NULL ||
        trace->copies == NULL) {
        ppi_release(host, last);
        clear(trace);
        return ppi_fail_memory(error, "the critical path");
    }
    trace->backward = trace->forward + cells;
    trace->offload = trace->backward + cells;
    trace->reload = trace->offload + cells;
    trace->order = trace->copies + ops;
    trace->scratch = trace->order + ops;
    for (size_t i = 0; i < 4 * cells; i++)
        trace->forward[i] = PPI_NO_NODE;
    for (size_t i = 0; i < ops; i += ppi_unit_length(&schedule->ops[i]))
        for (size_t k = 0; k < ppi_unit_length(&schedule->ops[i]); k++)
            note_op(trace, i + k, i);
    find_copies_before(trace, last);
    find_last(trace);
    ppi_release(host, last);
    return PPSCHED_OK;
}

ppsched_status ppi_critical_path_with_copies(ppsched_critical_op *out, size_t capacity, size_t *count,
                                             const ppsched_timeline *timeline, ppsched_error *error)
{
    struct trace trace = {.timeline = timeline, .schedule = timeline->schedule};
    ppsched_status status = make(&trace, error);
    if (status != PPSCHED_OK)
        return status;
    *count = go_back(&trace, NULL);
    if (out != NULL && *count <= capacity)
        go_back(&trace, out + *count);
    clear(&trace);
    return PPSCHED_OK;
}
