/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/memory_saving.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"

/* --- room --- */

/* Notes what a pass has; false where it has it twice, or elsewhere than on its device. */
static bool note_op(const struct ppi_keeping *keeping, const ppsched_queue *queue, const ppsched_op *op)
{
    uint8_t flag = op->kind == PPSCHED_KIND_OFFLOAD     ? PPI_HAS_OFFLOAD
                   : op->kind == PPSCHED_KIND_RELOAD    ? PPI_HAS_RELOAD
                   : op->kind == PPSCHED_KIND_RECOMPUTE ? PPI_HAS_RECOMPUTE
                                                        : PPI_HAS_WAIT;
    struct ppi_kept_pass *pass = ppi_kept_pass_of(keeping, op);
    bool is_first = (pass->flags & flag) == 0;
    pass->flags |= flag;
    return is_first && ppi_schedule_device_of(keeping->schedule, op) == queue->device;
}

static void note_ops(struct ppi_keeping *keeping)
{
    const ppsched_schedule *schedule = keeping->schedule;
    keeping->is_sound = true;
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        for (size_t i = 0; i < schedule->queues[d].count; i++)
            if (ppi_keeps_less(schedule->queues[d].ops[i].kind) &&
                !note_op(keeping, &schedule->queues[d], &schedule->queues[d].ops[i]))
                keeping->is_sound = false;
    for (size_t i = 0; i < ppi_cell_count(schedule); i++) {
        uint8_t flags = keeping->passes[i].flags & ~(uint8_t)PPI_HAS_WAIT;
        if (flags != keeping->passes[i].flags && flags == 0)
            keeping->is_sound = false;
        if (flags != 0 && flags != PPI_HAS_RECOMPUTE && flags != (PPI_HAS_OFFLOAD | PPI_HAS_RELOAD))
            keeping->is_sound = false;
    }
}

ppsched_status ppi_keeping_make(struct ppi_keeping **out, const ppsched_schedule *schedule, ppsched_error *error)
{
    const struct ppi_host *host = &schedule->host;
    size_t devices = schedule->shape.devices, lanes = (size_t)schedule->placement.copies * schedule->shape.stages;
    struct ppi_keeping *keeping = ppi_allocate_zeroed(host, 1, sizeof *keeping);
    if (keeping == NULL)
        return ppi_fail_memory(error, "the evaluation");
    keeping->host = *host;
    keeping->schedule = schedule;
    keeping->passes = ppi_allocate_zeroed(host, ppi_cell_count(schedule), sizeof *keeping->passes);
    keeping->costs = ppi_allocate(host, lanes, sizeof *keeping->costs);
    keeping->streams = ppi_allocate_zeroed(host, devices, 2 * sizeof *keeping->streams);
    keeping->links = ppi_allocate(host, devices, 2 * sizeof *keeping->links);
    keeping->paced = ppi_allocate(host, devices, sizeof *keeping->paced);
    keeping->events.events = ppi_allocate(host, devices, 5 * sizeof *keeping->events.events); /* streams, links, units */
    if (keeping->passes == NULL || keeping->costs == NULL || keeping->streams == NULL || keeping->links == NULL ||
        keeping->paced == NULL || keeping->events.events == NULL) {
        ppi_keeping_destroy(keeping);
        return ppi_fail_memory(error, "the evaluation");
    }
    note_ops(keeping);
    *out = keeping;
    return PPSCHED_OK;
}

void ppi_keeping_destroy(struct ppi_keeping *keeping)
{
    if (keeping == NULL)
        return;
    struct ppi_host host = keeping->host;
    ppi_release(&host, keeping->passes);
    ppi_release(&host, keeping->costs);
    ppi_release(&host, keeping->streams);
    ppi_release(&host, keeping->links);
    ppi_release(&host, keeping->paced);
    ppi_release(&host, keeping->events.events);
    ppi_release(&host, keeping);
}

/* --- costs --- */

static ppsched_status fail_memory_of(const char *name, uint32_t stage, double value, double whole, ppsched_error *error)
{
    struct ppi_place place = PPI_NOWHERE;
    place.stage = stage;
    return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place, "%s of stage %u is %g; it must be at most mem_forward, which is %g",
                       name, stage, value, whole);
}

static ppsched_status fill_lane(struct ppi_keeping_cost *out, const ppsched_config *config, const struct ppi_lane *lane,
                                uint32_t stage, ppsched_error *error)
{
    const struct ppi_values *kept = &config->values[PPSCHED_QUANTITY_MEM_RECOMPUTE],
                            *moved = &config->values[PPSCHED_QUANTITY_MEM_OFFLOAD];
    double whole = lane->memory[PPSCHED_KIND_F];
    *out = (struct ppi_keeping_cost){.recompute = ppi_recompute_time(config, stage, lane->duration[PPSCHED_KIND_F]),
                                     .offload = ppi_copy_time(config, stage, true, lane->device),
                                     .reload = ppi_copy_time(config, stage, false, lane->device),
                                     .latency = ppi_copy_latency(config, lane->device),
                                     .kept = kept->values != NULL ? ppi_value_at(kept, stage) : 0,
                                     .moved = moved->values != NULL ? ppi_value_at(moved, stage) : whole};
    if (out->kept > whole)
        return fail_memory_of("mem_recompute", stage, out->kept, whole, error);
    return out->moved > whole ? fail_memory_of("mem_offload", stage, out->moved, whole, error) : PPSCHED_OK;
}

static ppsched_status fill_stream(struct ppi_keeping *keeping, uint32_t device, const ppsched_config *config,
                                  ppsched_error *error)
{
    const struct ppi_values *given = &config->values[PPSCHED_QUANTITY_HOST_LINK];
    uint32_t devices = keeping->schedule->shape.devices;
    double number = given->values != NULL ? ppi_value_at(given, device) : device;
    struct ppi_place place = PPI_NOWHERE;
    place.device = device;
    if (!(number < devices) || number != (double)(uint32_t)number)
        return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place,
                           "host_link of device %u is %g; it must be an integer from 0 to %u", device, number, devices - 1);
    for (uint32_t way = 0; way < 2; way++) {
        struct ppi_stream *stream = &keeping->streams[2 * device + way];
        stream->device = device;
        stream->kind = way == 0 ? PPSCHED_KIND_OFFLOAD : PPSCHED_KIND_RELOAD;
        stream->link = 2 * (uint32_t)number + way;
    }
    return PPSCHED_OK;
}

ppsched_status ppi_keeping_fill(struct ppi_keeping *keeping, const ppsched_config *config, const struct ppi_costs *costs,
                                ppsched_error *error)
{
    const ppsched_schedule *schedule = keeping->schedule;
    size_t lanes = (size_t)schedule->placement.copies * schedule->shape.stages;
    ppsched_status status = PPSCHED_OK;
    for (size_t i = 0; i < lanes && status == PPSCHED_OK; i++)
        status = fill_lane(&keeping->costs[i], config, &costs->lanes[i], (uint32_t)(i % schedule->shape.stages), error);
    keeping->slows = false;
    for (uint32_t d = 0; d < schedule->shape.devices && status == PPSCHED_OK; d++) {
        double slowdown = ppi_copy_slowdown(config, d);
        keeping->paced[d] = (struct ppi_paced){.pace = {.slowdown = slowdown}};
        keeping->slows = keeping->slows || slowdown > 1;
        status = fill_stream(keeping, d, config, error);
    }
    return status;
}

void ppi_keeping_reset(struct ppi_keeping *keeping, ppsched_span *spans)
{
    uint32_t devices = keeping->schedule->shape.devices;
    for (size_t i = 0; i < ppi_cell_count(keeping->schedule); i++) {
        struct ppi_kept_pass *pass = &keeping->passes[i];
        pass->offloaded.bits = pass->reloaded.bits = PPI_UNKNOWN;
        pass->flags &= PPI_HAS_OFFLOAD | PPI_HAS_RELOAD | PPI_HAS_RECOMPUTE | PPI_HAS_WAIT;
    }
    for (uint32_t i = 0; i < 2 * devices; i++) {
        struct ppi_stream *stream = &keeping->streams[i];
        stream->head = stream->behind = PPSCHED_NONE;
        stream->cursor = 0;
        stream->has_come = false;
        stream->free = 0;
        keeping->links[i] = (struct ppi_host_link){0, PPSCHED_NONE, PPSCHED_NONE};
    }
    for (uint32_t d = 0; d < devices; d++)
        keeping->paced[d] = (struct ppi_paced){.pace = {.slowdown = keeping->paced[d].pace.slowdown}};
    keeping->events.count = 0;
    keeping->spans = spans;
}

/* --- copies --- */

/* A stream's head asks for its link; a link for which one waits is free again; a unit ends if no other copy has slowed it. */
enum { COMES, FREES, ENDS };

static const ppsched_op *head_of(const struct ppi_keeping *keeping, const struct ppi_stream *stream)
{
    return &keeping->schedule->queues[stream->device].ops[stream->head];
}

static ppsched_span *span_of(const struct ppi_keeping *keeping, const struct ppi_stream *stream)
{
    return &keeping->spans[keeping->schedule->queues[stream->device].first + stream->head];
}

/* The head comes as soon as all that it waits for is known. */
static void let_come(struct ppi_keeping *keeping, struct ppi_stream *stream)
{
    if (stream->head == PPSCHED_NONE || stream->has_come)
        return;
    const struct ppi_kept_pass *pass = ppi_kept_pass_of(keeping, head_of(keeping, stream));
    double time = ppi_larger(span_of(keeping, stream)->start, stream->free);
    if (stream->kind == PPSCHED_KIND_RELOAD) {
        if (pass->offloaded.bits < 0)
            return;
        time = ppi_larger(time, pass->offloaded.value);
    }
    uint32_t number = (uint32_t)(stream - keeping->streams);
    stream->has_come = true;
    ppi_heap_put_ranked(&keeping->events, time, 1 + (uint64_t)number, COMES, number);
}

bool ppi_keeping_ask(struct ppi_keeping *keeping, uint32_t device, const ppsched_op *op, double time)
{
    struct ppi_stream *stream = &keeping->streams[2 * device + (op->kind == PPSCHED_KIND_RELOAD)];
    struct ppi_kept_pass *pass = ppi_kept_pass_of(keeping, op);
    uint32_t position = (uint32_t)(op - keeping->schedule->queues[device].ops);
    if (op->kind == PPSCHED_KIND_OFFLOAD)
        pass->flags |= PPI_ASKS_OFFLOAD;
    else if ((pass->flags & PPI_ASKS_OFFLOAD) == 0)
        return false;
    keeping->spans[keeping->schedule->queues[device].first + position].start = time;
    if (stream->head == PPSCHED_NONE) {
        stream->head = position;
        stream->cursor = position + 1;
        let_come(keeping, stream);
    }
    return true;
}

/* The next copy to which the device has come. */
static void find_head(struct ppi_keeping *keeping, struct ppi_stream *stream, const struct ppi_event_loop *loop)
{
    const ppsched_op *ops = keeping->schedule->queues[stream->device].ops;
    uint32_t end = (uint32_t)(loop->tracks[stream->device].op - ops);
    stream->has_come = false;
    while (stream->cursor < end && ops[stream->cursor].kind != stream->kind)
        stream->cursor++;
    stream->head = stream->cursor < end ? stream->cursor++ : PPSCHED_NONE;
    let_come(keeping, stream);
}

/* The link runs the head of a stream from now on. */
static void run_copy(struct ppi_keeping *keeping, struct ppi_stream *stream, double now, struct ppi_event_loop *loop)
{
    const ppsched_op *op = head_of(keeping, stream);
    const struct ppi_keeping_cost *cost = ppi_keeping_cost_of(keeping, op);
    struct ppi_kept_pass *pass = ppi_kept_pass_of(keeping, op);
    bool offloads = stream->kind == PPSCHED_KIND_OFFLOAD;
    double end = now + ppi_scaled_delay(offloads ? cost->offload : cost->reload, cost->latency,
                                        ppi_factor_of(loop->costs, keeping->schedule, op).memory);
    *span_of(keeping, stream) = (ppsched_span){now, end};
    stream->free = keeping->links[stream->link].free = end;
    if (keeping->slows)
        ppi_pace_copy(&keeping->paced[stream->device].pace, now, end);
    find_head(keeping, stream, loop);
    if (offloads) {
        ppi_note(loop, &pass->offloaded, end, stream->device);
        let_come(keeping, stream + 1); /* which may have waited for this one */
    } else {
        ppi_note(loop, &pass->reloaded, end, stream->device);
    }
}

static void join(struct ppi_keeping *keeping, uint32_t number)
{
    uint32_t own = keeping->streams[number].link;
    struct ppi_host_link *link = &keeping->links[own];
    keeping->streams[number].behind = PPSCHED_NONE;
    if (link->first == PPSCHED_NONE) {
        link->first = number;
        ppi_heap_put_ranked(&keeping->events, link->free, 0, FREES, own);
    } else {
        keeping->streams[link->last].behind = number;
    }
    link->last = number;
}

/* Serves who waits for a link, which is free. */
static void serve(struct ppi_keeping *keeping, uint32_t own, double now, struct ppi_event_loop *loop)
{
    struct ppi_host_link *link = &keeping->links[own];
    struct ppi_stream *stream = &keeping->streams[link->first];
    link->first = stream->behind;
    run_copy(keeping, stream, now, loop);
    if (link->first != PPSCHED_NONE)
        ppi_heap_put_ranked(&keeping->events, link->free, 0, FREES, own);
}

bool ppi_keeping_runs(struct ppi_keeping *keeping, uint32_t device, double start, double work, double *end)
{
    struct ppi_paced *paced = &keeping->paced[device];
    if (paced->is_done) {
        *end = paced->pace.time;
        *paced = (struct ppi_paced){.pace = paced->pace};
        return true;
    }
    if (!paced->has_begun) {
        ppi_pace_begin(&paced->pace, start, work);
        paced->has_begun = true;
        ppi_heap_put_ranked(&keeping->events, ppi_pace_end(&paced->pace), 0, ENDS, device);
    }
    return false;
}

/* A unit ends, if it has not been slowed meanwhile. */
static void end_unit(struct ppi_keeping *keeping, uint32_t device, double now, struct ppi_event_loop *loop)
{
    struct ppi_paced *paced = &keeping->paced[device];
    double end = ppi_pace_end(&paced->pace);
    if (end > now) {
        ppi_heap_put_ranked(&keeping->events, end, 0, ENDS, device);
        return;
    }
    ppi_pace_begin(&paced->pace, end, 0);
    paced->is_done = true;
    loop->ready[loop->ready_count++] = device;
}

bool ppi_keeping_step(struct ppi_keeping *keeping, struct ppi_event_loop *loop)
{
    struct ppi_event event;
    if (!ppi_heap_take(&keeping->events, &event))
        return false;
    if (event.what == FREES) {
        serve(keeping, event.index, event.time, loop);
        return true;
    }
    if (event.what == ENDS) {
        end_unit(keeping, event.index, event.time, loop);
        return true;
    }
    struct ppi_stream *stream = &keeping->streams[event.index];
    const struct ppi_host_link *link = &keeping->links[stream->link];
    if (link->first != PPSCHED_NONE || link->free > event.time)
        join(keeping, event.index);
    else
        run_copy(keeping, stream, event.time, loop);
    return true;
}
