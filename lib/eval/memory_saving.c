/* SPDX-License-Identifier: Apache-2.0 */
/* An event loop over arrivals of copies, links that become free and ends of slowed units, in a heap by time. */
#include "eval/memory_saving.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"

/* --- work space --- */

/* Notes an op of a stage pass; false if there is one already, or this one is on a wrong device. */
static bool note_op(const struct ppi_saving *saving, const ppsched_queue *queue, const ppsched_op *op)
{
    uint8_t flag = op->kind == PPSCHED_KIND_OFFLOAD     ? PPI_HAS_OFFLOAD
                   : op->kind == PPSCHED_KIND_RELOAD    ? PPI_HAS_RELOAD
                   : op->kind == PPSCHED_KIND_RECOMPUTE ? PPI_HAS_RECOMPUTE
                                                        : PPI_HAS_WAIT;
    struct ppi_kept_pass *pass = ppi_kept_pass_of(saving, op);
    bool is_first = (pass->flags & flag) == 0;
    pass->flags |= flag;
    return is_first && ppi_schedule_device_of(saving->schedule, op) == queue->device;
}

static void note_ops(struct ppi_saving *saving)
{
    const ppsched_schedule *schedule = saving->schedule;
    saving->is_sound = true;
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        for (size_t i = 0; i < schedule->queues[d].count; i++)
            if (ppi_keeps_less(schedule->queues[d].ops[i].kind) &&
                !note_op(saving, &schedule->queues[d], &schedule->queues[d].ops[i]))
                saving->is_sound = false;
    for (size_t i = 0; i < ppi_cell_count(schedule); i++) {
        uint8_t flags = saving->passes[i].flags & ~(uint8_t)PPI_HAS_WAIT;
        if (flags != saving->passes[i].flags && flags == 0)
            saving->is_sound = false;
        if (flags != 0 && flags != PPI_HAS_RECOMPUTE && flags != (PPI_HAS_OFFLOAD | PPI_HAS_RELOAD))
            saving->is_sound = false;
    }
}

ppsched_status ppi_saving_make(struct ppi_saving **out, const ppsched_schedule *schedule, ppsched_error *error)
{
    const struct ppi_host *host = &schedule->host;
    size_t devices = schedule->shape.devices, instances = (size_t)schedule->placement.copies * schedule->shape.stages;
    struct ppi_saving *saving = ppi_allocate_zeroed(host, 1, sizeof *saving);
    if (saving == NULL)
        return ppi_fail_memory(error, "the evaluation");
    saving->host = *host;
    saving->schedule = schedule;
    saving->passes = ppi_allocate_zeroed(host, ppi_cell_count(schedule), sizeof *saving->passes);
    saving->costs = ppi_allocate(host, instances, sizeof *saving->costs);
    saving->streams = ppi_allocate_zeroed(host, devices, 2 * sizeof *saving->streams);
    saving->links = ppi_allocate(host, devices, 2 * sizeof *saving->links);
    saving->paced = ppi_allocate(host, devices, sizeof *saving->paced);
    saving->events.events = ppi_allocate(host, devices,
                                         5 * sizeof *saving->events.events); /* two streams, two links and a unit per device */
    if (saving->passes == NULL || saving->costs == NULL || saving->streams == NULL || saving->links == NULL ||
        saving->paced == NULL || saving->events.events == NULL) {
        ppi_saving_destroy(saving);
        return ppi_fail_memory(error, "the evaluation");
    }
    note_ops(saving);
    *out = saving;
    return PPSCHED_OK;
}

void ppi_saving_destroy(struct ppi_saving *saving)
{
    if (saving == NULL)
        return;
    struct ppi_host host = saving->host;
    ppi_release(&host, saving->passes);
    ppi_release(&host, saving->costs);
    ppi_release(&host, saving->streams);
    ppi_release(&host, saving->links);
    ppi_release(&host, saving->paced);
    ppi_release(&host, saving->events.events);
    ppi_release(&host, saving);
}

/* --- costs --- */

static ppsched_status fail_memory_of(const char *name, uint32_t stage, double value, double whole, ppsched_error *error)
{
    struct ppi_place place = PPI_NOWHERE;
    place.stage = stage;
    return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place, "%s of stage %u is %g; it must be at most mem_forward, which is %g",
                       name, stage, value, whole);
}

static ppsched_status fill_instance(struct ppi_saving_cost *out, const ppsched_config *config,
                                    const struct ppi_instance *instance, uint32_t stage, ppsched_error *error)
{
    const struct ppi_values *kept = &config->values[PPSCHED_QUANTITY_MEM_RECOMPUTE],
                            *moved = &config->values[PPSCHED_QUANTITY_MEM_OFFLOAD];
    double whole = instance->memory[PPSCHED_KIND_F];
    *out = (struct ppi_saving_cost){
        .recompute = ppi_recompute_time(config, stage, instance->duration[PPSCHED_KIND_F], instance->device),
        .offload = ppi_copy_time(config, stage, true, instance->device),
        .reload = ppi_copy_time(config, stage, false, instance->device),
        .latency = ppi_copy_latency(config, instance->device),
        .kept = kept->values != NULL ? ppi_value_at(kept, stage) : 0,
        .moved = moved->values != NULL ? ppi_value_at(moved, stage) : whole};
    if (out->kept > whole)
        return fail_memory_of("mem_recompute", stage, out->kept, whole, error);
    return out->moved > whole ? fail_memory_of("mem_offload", stage, out->moved, whole, error) : PPSCHED_OK;
}

ppsched_status ppi_host_link_of(uint32_t *out, const ppsched_config *config, uint32_t device, uint32_t devices,
                                ppsched_error *error)
{
    const struct ppi_values *given = &config->values[PPSCHED_QUANTITY_HOST_LINK];
    double number = given->values != NULL ? ppi_value_at(given, device) : device;
    struct ppi_place place = PPI_NOWHERE;
    place.device = device;
    if (!(number < devices) || number != (double)(uint32_t)number)
        return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place,
                           "host_link of device %u is %g; it must be an integer from 0 to %u", device, number, devices - 1);
    *out = (uint32_t)number;
    return PPSCHED_OK;
}

static ppsched_status fill_stream(struct ppi_saving *saving, uint32_t device, const ppsched_config *config,
                                  ppsched_error *error)
{
    uint32_t number = 0;
    ppsched_status status = ppi_host_link_of(&number, config, device, saving->schedule->shape.devices, error);
    if (status != PPSCHED_OK)
        return status;
    for (uint32_t path = 0; path < 2; path++) {
        struct ppi_copy_stream *stream = &saving->streams[2 * device + path];
        stream->device = device;
        stream->kind = path == 0 ? PPSCHED_KIND_OFFLOAD : PPSCHED_KIND_RELOAD;
        stream->link = 2 * number + path;
    }
    return PPSCHED_OK;
}

ppsched_status ppi_saving_fill(struct ppi_saving *saving, const ppsched_config *config, const struct ppi_costs *costs,
                               ppsched_error *error)
{
    const ppsched_schedule *schedule = saving->schedule;
    size_t instances = (size_t)schedule->placement.copies * schedule->shape.stages;
    ppsched_status status = PPSCHED_OK;
    for (size_t i = 0; i < instances && status == PPSCHED_OK; i++)
        status = fill_instance(&saving->costs[i], config, &costs->instances[i], (uint32_t)(i % schedule->shape.stages), error);
    saving->slows = false;
    for (uint32_t d = 0; d < schedule->shape.devices && status == PPSCHED_OK; d++) {
        double slowdown = ppi_copy_slowdown(config, d);
        saving->paced[d] = (struct ppi_paced){.slowdown = {.slowdown = slowdown}};
        saving->slows = saving->slows || slowdown > 1;
        status = fill_stream(saving, d, config, error);
    }
    return status;
}

void ppi_saving_reset(struct ppi_saving *saving, ppsched_span *spans)
{
    uint32_t devices = saving->schedule->shape.devices;
    for (size_t i = 0; i < ppi_cell_count(saving->schedule); i++) {
        struct ppi_kept_pass *pass = &saving->passes[i];
        pass->offloaded.bits = pass->reloaded.bits = PPI_UNKNOWN;
        pass->flags &= PPI_HAS_OFFLOAD | PPI_HAS_RELOAD | PPI_HAS_RECOMPUTE | PPI_HAS_WAIT;
    }
    for (uint32_t i = 0; i < 2 * devices; i++) {
        struct ppi_copy_stream *stream = &saving->streams[i];
        stream->head = stream->behind = PPSCHED_NONE;
        stream->cursor = 0;
        stream->has_come = stream->is_alone = false;
        stream->free = 0;
        saving->links[i] = (struct ppi_host_link){0, PPSCHED_NONE, PPSCHED_NONE};
    }
    for (uint32_t d = 0; d < devices; d++)
        saving->paced[d] = (struct ppi_paced){.slowdown = {.slowdown = saving->paced[d].slowdown.slowdown}};
    saving->events.count = 0;
    saving->spans = spans;
}

void ppi_saving_run_ahead(struct ppi_saving *saving)
{
    const uint32_t count = 2 * saving->schedule->shape.devices, shared = count;
    for (uint32_t i = 0; i < count && !saving->slows; i++) { /* nothing waits yet: `last` is the stream that has the link */
        struct ppi_host_link *link = &saving->links[saving->streams[i].link];
        link->last = link->last == PPSCHED_NONE ? i : shared;
    }
    for (uint32_t i = 0; i < count; i++)
        saving->streams[i].is_alone = saving->links[saving->streams[i].link].last == i;
}

/* --- copies --- */

/* Events: a stream's head requests its link; a link with a waiting stream becomes free; a unit ends unless another copy has
 * slowed it. */
enum { COMES, FREES, ENDS };

static const ppsched_op *head_of(const struct ppi_saving *saving, const struct ppi_copy_stream *stream)
{
    return &saving->schedule->queues[stream->device].ops[stream->head];
}

static ppsched_span *span_of(const struct ppi_saving *saving, const struct ppi_copy_stream *stream)
{
    return &saving->spans[saving->schedule->queues[stream->device].first + stream->head];
}

/* Whether all times that the head waits for are known, which has not come yet; `*time`: when it comes. */
static bool may_come(const struct ppi_saving *saving, const struct ppi_copy_stream *stream, double *time)
{
    if (stream->head == PPSCHED_NONE || stream->has_come)
        return false;
    const struct ppi_kept_pass *pass = ppi_kept_pass_of(saving, head_of(saving, stream));
    *time = ppi_larger(span_of(saving, stream)->start, stream->free);
    if (stream->kind != PPSCHED_KIND_RELOAD)
        return true;
    *time = ppi_larger(*time, pass->offloaded.value);
    return pass->offloaded.bits >= 0;
}

/* Finds the next copy that the device has reached. */
static void find_head(struct ppi_saving *saving, struct ppi_copy_stream *stream, const struct ppi_event_loop *loop)
{
    const ppsched_op *ops = saving->schedule->queues[stream->device].ops;
    uint32_t end = (uint32_t)(loop->tracks[stream->device].op - ops);
    stream->has_come = false;
    while (stream->cursor < end && ops[stream->cursor].kind != stream->kind)
        stream->cursor++;
    stream->head = stream->cursor < end ? stream->cursor++ : PPSCHED_NONE;
}

/* Starts the copy at the head of a stream on its link, now; then the next copy is the head. */
static void start_copy(struct ppi_saving *saving, struct ppi_copy_stream *stream, double now, struct ppi_event_loop *loop)
{
    const ppsched_op *op = head_of(saving, stream);
    const struct ppi_saving_cost *cost = ppi_saving_cost_of(saving, op);
    struct ppi_kept_pass *pass = ppi_kept_pass_of(saving, op);
    bool offloads = stream->kind == PPSCHED_KIND_OFFLOAD;
    double end = now + ppi_scaled_delay(offloads ? cost->offload : cost->reload, cost->latency,
                                        ppi_memory_factor_of(loop->costs, saving->schedule, op));
    *span_of(saving, stream) = (ppsched_span){now, end};
    stream->free = saving->links[stream->link].free = end;
    if (saving->slows)
        ppi_slowdown_copy(&saving->paced[stream->device].slowdown, now, end);
    find_head(saving, stream, loop);
    ppi_note(loop, offloads ? &pass->offloaded : &pass->reloaded, end, stream->device);
}

/* Schedules the head's arrival once all times that it waits for are known; where it is alone on its link, it runs. */
static void let_come(struct ppi_saving *saving, struct ppi_copy_stream *stream, struct ppi_event_loop *loop)
{
    double time;
    while (may_come(saving, stream, &time)) {
        if (!stream->is_alone) {
            uint32_t number = (uint32_t)(stream - saving->streams);
            stream->has_come = true;
            ppi_heap_put_ranked(&saving->events, time, 1 + (uint64_t)number, COMES, number);
            return;
        }
        start_copy(saving, stream, time, loop);
    }
}

bool ppi_saving_ask(struct ppi_saving *saving, struct ppi_event_loop *loop, uint32_t device, const ppsched_op *op, double time)
{
    struct ppi_copy_stream *stream = &saving->streams[2 * device + (op->kind == PPSCHED_KIND_RELOAD)];
    struct ppi_kept_pass *pass = ppi_kept_pass_of(saving, op);
    uint32_t position = (uint32_t)(op - saving->schedule->queues[device].ops);
    if (op->kind == PPSCHED_KIND_OFFLOAD)
        pass->flags |= PPI_ASKS_OFFLOAD;
    else if ((pass->flags & PPI_ASKS_OFFLOAD) == 0)
        return false;
    saving->spans[saving->schedule->queues[device].first + position].start = time;
    if (stream->head == PPSCHED_NONE) {
        stream->head = position;
        stream->cursor = position + 1;
        let_come(saving, stream, loop);
    }
    return true;
}

/* The same from the order of time, with what may come then. */
static void run_copy(struct ppi_saving *saving, struct ppi_copy_stream *stream, double now, struct ppi_event_loop *loop)
{
    start_copy(saving, stream, now, loop);
    let_come(saving, stream, loop);
    if (stream->kind == PPSCHED_KIND_OFFLOAD)
        let_come(saving, stream + 1, loop); /* its RELOAD may have waited for this copy */
}

static void join(struct ppi_saving *saving, uint32_t number)
{
    uint32_t own = saving->streams[number].link;
    struct ppi_host_link *link = &saving->links[own];
    saving->streams[number].behind = PPSCHED_NONE;
    if (link->first == PPSCHED_NONE) {
        link->first = number;
        ppi_heap_put_ranked(&saving->events, link->free, 0, FREES, own);
    } else {
        saving->streams[link->last].behind = number;
    }
    link->last = number;
}

/* Runs the first waiting stream of a link that is free. */
static void serve(struct ppi_saving *saving, uint32_t own, double now, struct ppi_event_loop *loop)
{
    struct ppi_host_link *link = &saving->links[own];
    struct ppi_copy_stream *stream = &saving->streams[link->first];
    link->first = stream->behind;
    run_copy(saving, stream, now, loop);
    if (link->first != PPSCHED_NONE)
        ppi_heap_put_ranked(&saving->events, link->free, 0, FREES, own);
}

bool ppi_saving_runs(struct ppi_saving *saving, uint32_t device, double start, double work, double *end)
{
    struct ppi_paced *paced = &saving->paced[device];
    if (paced->is_done) {
        *end = paced->slowdown.time;
        *paced = (struct ppi_paced){.slowdown = paced->slowdown};
        return true;
    }
    if (!paced->has_begun) {
        ppi_slowdown_begin(&paced->slowdown, start, work);
        paced->has_begun = true;
        ppi_heap_put_ranked(&saving->events, ppi_slowdown_end(&paced->slowdown), 0, ENDS, device);
    }
    return false;
}

/* Ends a unit, unless it has been slowed meanwhile. */
static void end_unit(struct ppi_saving *saving, uint32_t device, double now, struct ppi_event_loop *loop)
{
    struct ppi_paced *paced = &saving->paced[device];
    double end = ppi_slowdown_end(&paced->slowdown);
    if (end > now) {
        ppi_heap_put_ranked(&saving->events, end, 0, ENDS, device);
        return;
    }
    ppi_slowdown_begin(&paced->slowdown, end, 0);
    paced->is_done = true;
    loop->ready[loop->ready_count++] = device;
}

bool ppi_saving_step(struct ppi_saving *saving, struct ppi_event_loop *loop)
{
    struct ppi_event event;
    if (!ppi_heap_take(&saving->events, &event))
        return false;
    if (event.what == FREES) {
        serve(saving, event.index, event.time, loop);
        return true;
    }
    if (event.what == ENDS) {
        end_unit(saving, event.index, event.time, loop);
        return true;
    }
    struct ppi_copy_stream *stream = &saving->streams[event.index];
    const struct ppi_host_link *link = &saving->links[stream->link];
    if (link->first != PPSCHED_NONE || link->free > event.time)
        join(saving, event.index);
    else
        run_copy(saving, stream, event.time, loop);
    return true;
}
