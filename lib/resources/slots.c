/* SPDX-License-Identifier: Apache-2.0 */
/* Lifetimes are found in one pass over the queue; then those of each arena, in order of their start, take the lowest free slot
 * (interval graph colouring). On a stage graph, a stage may read several values; what is received has an arena for each place
 * at the other end. */
#include "resources/slots.h"

#include "base/error.h"
#include "base/heap.h"
#include "base/sort.h"
#include "ir/ports.h"

/* A stage pass of the device; positions, PPSCHED_NONE: not seen yet. */
struct pass {
    uint32_t first, last;
    uint32_t received[2]; /* an activation, a gradient */
    bool has_input_backward;
};

struct finding {
    const ppsched_schedule *schedule;
    const ppsched_queue *queue;
    struct ppi_slots *slots;
    bool is_forward_only;
    uint32_t micro_slices; /* over all iterations */
    uint32_t *rows;        /* by stage: its row of passes; PPSCHED_NONE: not on this device */
    uint32_t *stages;      /* by row */
    uint32_t row_count;
    struct pass *passes; /* row by row */
};

static struct pass *pass_of(const struct finding *finding, const ppsched_op *op)
{
    return &finding->passes[(size_t)finding->rows[op->stage] * finding->micro_slices +
                            ppi_micro_slice_of(&finding->schedule->shape, op)];
}

static const struct ppi_stage_graph *graph_of(const struct finding *finding)
{
    return finding->schedule->placement.graph;
}

/* Whether an op's stage is on the device. */
static bool is_here(const struct finding *finding, const ppsched_op *op)
{
    if (graph_of(finding) != NULL)
        return finding->rows[op->stage] != PPSCHED_NONE;
    return ppi_schedule_device_of(finding->schedule, op) == finding->queue->device;
}

/* Whether stage passes of a stage end with a backward. */
static bool has_backward(const struct finding *finding, uint32_t stage)
{
    return !finding->is_forward_only && ppi_stage_has_backward(graph_of(finding), stage);
}

static ppsched_status fail_op(const struct finding *finding, const ppsched_op *op, const char *why, ppsched_error *error)
{
    uint32_t device = finding->queue->device, position = (uint32_t)(op - finding->queue->ops);
    char token[PPI_TOKEN_SIZE];
    ppi_op_token(token, op);
    return ppi_fail_at(error, PPSCHED_ERROR_INVALID_SCHEDULE, (struct ppi_place){device, op->stage, op->microbatch, position},
                       "device %u has %s at position %u, %s", device, token, position, why);
}

/* --- lifetimes --- */

static ppsched_status note_op(struct finding *finding, const ppsched_op *op, uint32_t position, ppsched_error *error)
{
    struct pass *pass = pass_of(finding, op);
    if (op->kind == PPSCHED_KIND_F) {
        if (pass->first != PPSCHED_NONE)
            return fail_op(finding, op, "a second time", error);
        pass->first = position;
        return PPSCHED_OK;
    }
    if (pass->first == PPSCHED_NONE)
        return fail_op(finding, op, "before its forward", error);
    if (op->kind == PPSCHED_KIND_W && !pass->has_input_backward)
        return fail_op(finding, op, "before its I", error);
    if (pass->last != PPSCHED_NONE || (op->kind != PPSCHED_KIND_W && pass->has_input_backward))
        return fail_op(finding, op, "after a backward of the same stage pass", error);
    if (op->kind == PPSCHED_KIND_I && !ppi_stage_is_frozen(graph_of(finding), op->stage))
        pass->has_input_backward = true;
    else
        pass->last = position;
    return PPSCHED_OK;
}

static ppsched_status note_queue(struct finding *finding, ppsched_error *error)
{
    const ppsched_queue *queue = finding->queue;
    ppsched_status status = PPSCHED_OK;
    for (size_t i = 0; i < queue->count && status == PPSCHED_OK;) {
        size_t length = ppi_unit_length(&queue->ops[i]);
        for (size_t k = i; k < i + length && status == PPSCHED_OK; k++) {
            if (!ppi_is_compute(queue->ops[k].kind))
                continue;
            if (!is_here(finding, &queue->ops[k]))
                return fail_op(finding, &queue->ops[k], "whose stage is on another device", error);
            status = note_op(finding, &queue->ops[k], (uint32_t)i, error);
        }
        i += length;
    }
    return status;
}

/* --- without a backward: the last op of the device that reads a stage pass --- */

static void read_until(struct pass *pass, uint32_t position)
{
    if (pass->first != PPSCHED_NONE && (pass->last == PPSCHED_NONE || pass->last < position))
        pass->last = position;
}

/* F reads what its inputs on this device made. */
static void note_reads_on_graph(struct finding *finding, const ppsched_op *op)
{
    const struct ppi_feeds feeds = ppi_feeds_of(graph_of(finding), PPSCHED_KIND_F, op->stage);
    for (uint32_t i = 0; i < feeds.count; i++) {
        ppsched_op read = *op;
        read.stage = (uint16_t)feeds.stages[i];
        if (finding->rows[read.stage] != PPSCHED_NONE)
            read_until(pass_of(finding, &read), pass_of(finding, op)->first);
    }
}

/* F reads what the stage before made, if it is on this device, and the keys and values of earlier slices, whose last reader is
 * the last slice. */
static void note_reads_of_forward(struct finding *finding, const ppsched_op *op)
{
    const uint32_t position = pass_of(finding, op)->first;
    const bool is_last = op->slice + 1u == finding->schedule->shape.slices;
    ppsched_op read = *op;
    read_until(pass_of(finding, op), position);
    for (read.slice = 0; is_last && read.slice < op->slice; read.slice++)
        read_until(pass_of(finding, &read), position);
    if (graph_of(finding) != NULL) {
        note_reads_on_graph(finding, op);
        return;
    }
    if (op->stage == 0 || finding->rows[op->stage - 1] == PPSCHED_NONE)
        return;
    read = *op;
    read.stage--;
    read_until(pass_of(finding, &read), position);
}

static ppsched_status note_reads(struct finding *finding, ppsched_error *error)
{
    for (uint32_t i = 0; i < finding->queue->count; i++) {
        const ppsched_op *op = &finding->queue->ops[i];
        if (op->kind == PPSCHED_KIND_F)
            note_reads_of_forward(finding, op);
        if (op->kind != PPSCHED_KIND_SEND_F)
            continue;
        if (!is_here(finding, op))
            return fail_op(finding, op, "whose stage is on another device", error);
        read_until(pass_of(finding, op), i);
    }
    return PPSCHED_OK;
}

/* Whether a device runs a stage pass of one of its stages. */
static bool runs(const struct finding *finding, uint32_t stage, uint32_t microbatch)
{
    const ppsched_schedule *schedule = finding->schedule;
    if (graph_of(finding) != NULL)
        return ppi_stage_runs(graph_of(finding), stage, microbatch);
    return ppi_device_of(&schedule->placement, &schedule->shape, stage, microbatch) == finding->queue->device;
}

/* Checks that all stage passes of the device are complete. */
static ppsched_status check_complete(const struct finding *finding, ppsched_error *error)
{
    const ppsched_schedule *schedule = finding->schedule;
    uint32_t device = finding->queue->device;
    for (uint32_t r = 0; r < finding->row_count; r++)
        for (uint32_t p = 0; p < finding->micro_slices; p++) {
            const struct pass *pass = &finding->passes[(size_t)r * finding->micro_slices + p];
            uint32_t stage = finding->stages[r];
            uint32_t own = p / schedule->shape.slices;
            if ((has_backward(finding, stage) ? pass->last : pass->first) == PPSCHED_NONE && runs(finding, stage, own))
                return ppi_fail_at(error, PPSCHED_ERROR_INVALID_SCHEDULE, (struct ppi_place){device, stage, own, PPSCHED_NONE},
                                   "device %u is missing %s of stage %u, microbatch %u", device,
                                   pass->first == PPSCHED_NONE ? "the forward" : "the backward", stage, own);
        }
    return PPSCHED_OK;
}

/* Finds the device's stages, in ascending order. */
static void find_rows(struct finding *finding)
{
    const ppsched_schedule *schedule = finding->schedule;
    uint32_t stages = schedule->shape.stages;
    for (uint32_t s = 0; s < stages; s++) {
        bool is_own = false;
        for (uint32_t c = 0; c < schedule->placement.copies; c++)
            is_own |= schedule->placement.device_of[(size_t)c * stages + s] == finding->queue->device;
        if (schedule->placement.graph != NULL)
            is_own = ppi_seat_on(&schedule->placement, s, finding->queue->device) != PPSCHED_NONE;
        finding->rows[s] = is_own ? finding->row_count : PPSCHED_NONE;
        if (is_own)
            finding->stages[finding->row_count++] = s;
    }
}

static void put(struct finding *finding, ppsched_lifetime lifetime)
{
    finding->slots->lifetimes[finding->slots->lifetime_count++] = lifetime;
}

/* Puts all lifetimes in one arena, if there are any. */
static void make_one_arena(struct ppi_slots *slots)
{
    slots->arena_count = slots->lifetime_count > 0;
    slots->arenas[0] = (ppsched_arena){.stage = PPSCHED_NONE, .kind = PPSCHED_KIND_F, .count = (uint32_t)slots->lifetime_count};
}

static void list_passes(struct finding *finding)
{
    for (uint32_t r = 0; r < finding->row_count; r++)
        for (uint32_t p = 0; p < finding->micro_slices; p++) {
            const struct pass *pass = &finding->passes[(size_t)r * finding->micro_slices + p];
            if (pass->last != PPSCHED_NONE)
                put(finding, (ppsched_lifetime){p, finding->stages[r], PPSCHED_KIND_F, 0, pass->first, pass->last});
        }
    make_one_arena(finding->slots);
}

static void list_microbatches(struct finding *finding)
{
    for (uint32_t p = 0; p < finding->micro_slices; p++) {
        ppsched_lifetime all = {p, PPSCHED_NONE, PPSCHED_KIND_F, 0, PPSCHED_NONE, 0};
        for (uint32_t r = 0; r < finding->row_count; r++) {
            const struct pass *pass = &finding->passes[(size_t)r * finding->micro_slices + p];
            if (pass->last == PPSCHED_NONE)
                continue;
            all.first = pass->first < all.first ? pass->first : all.first;
            all.last = pass->last > all.last ? pass->last : all.last;
        }
        if (all.first != PPSCHED_NONE)
            put(finding, all);
    }
    make_one_arena(finding->slots);
}

/* --- receives --- */

static ppsched_status note_receive(struct finding *finding, uint32_t position, ppsched_error *error)
{
    const ppsched_op *op = &finding->queue->ops[position];
    if (!is_here(finding, op))
        return fail_op(finding, op, "whose stage is on another device", error);
    struct pass *pass = pass_of(finding, op);
    uint32_t *received = &pass->received[ppi_goes_back(op->kind)];
    if (*received != PPSCHED_NONE)
        return fail_op(finding, op, "a second time", error);
    if (finding->is_forward_only && ppi_goes_back(op->kind))
        return fail_op(finding, op, "which no backward reads", error);
    if (finding->is_forward_only && pass->first < position)
        return fail_op(finding, op, "after its forward", error);
    if (pass->last < position)
        return fail_op(finding, op, "after the backward of its stage pass", error);
    *received = position;
    return PPSCHED_OK;
}

/* Lists a stage's lifetimes of what it receives in one direction. */
static void list_received(struct finding *finding, uint32_t row, bool backward)
{
    struct ppi_slots *slots = finding->slots;
    int32_t kind = backward ? PPSCHED_KIND_RECV_B : PPSCHED_KIND_RECV_F;
    ppsched_arena arena = {.stage = finding->stages[row], .kind = kind, .first = (uint32_t)slots->lifetime_count};
    for (uint32_t p = 0; p < finding->micro_slices; p++) {
        const struct pass *pass = &finding->passes[(size_t)row * finding->micro_slices + p];
        uint32_t last = finding->is_forward_only ? pass->first : pass->last;
        if (pass->received[backward] != PPSCHED_NONE)
            put(finding, (ppsched_lifetime){p, arena.stage, kind, 0, pass->received[backward], last});
    }
    arena.count = (uint32_t)slots->lifetime_count - arena.first;
    if (arena.count > 0)
        slots->arenas[slots->arena_count++] = arena;
}

static ppsched_status list_receives(struct finding *finding, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (size_t i = 0; i < finding->queue->count && status == PPSCHED_OK; i++)
        if (ppi_is_receive(finding->queue->ops[i].kind))
            status = note_receive(finding, (uint32_t)i, error);
    for (uint32_t r = 0; r < finding->row_count && status == PPSCHED_OK; r++) {
        list_received(finding, r, false);
        list_received(finding, r, true);
    }
    return status;
}

/* --- colouring --- */

struct colouring {
    uint32_t *order, *scratch;
    struct ppi_heap held, spare; /* slots: in use, by the position when they become free; free, by number */
};

static bool comes_before(const void *context, uint32_t a, uint32_t b)
{
    const ppsched_lifetime *x = (const ppsched_lifetime *)context + a, *y = (const ppsched_lifetime *)context + b;
    return x->first != y->first ? x->first < y->first : x->last < y->last;
}

static void take_slot(struct colouring *colouring, ppsched_arena *arena, ppsched_lifetime *lifetime)
{
    struct ppi_event event;
    while (colouring->held.count > 0 && colouring->held.events[0].time < lifetime->first) {
        ppi_heap_take(&colouring->held, &event);
        ppi_heap_put(&colouring->spare, event.index, 0, event.index);
    }
    lifetime->slot = ppi_heap_take(&colouring->spare, &event) ? event.index : arena->slots++;
    ppi_heap_put(&colouring->held, lifetime->last, 0, lifetime->slot);
}

static void colour(struct colouring *colouring, ppsched_arena *arena, ppsched_lifetime *lifetimes)
{
    for (uint32_t i = 0; i < arena->count; i++)
        colouring->order[i] = i;
    uint32_t *order = ppi_sort(colouring->order, colouring->scratch, arena->count, comes_before, lifetimes);
    colouring->held.count = colouring->spare.count = 0;
    for (uint32_t i = 0; i < arena->count; i++)
        take_slot(colouring, arena, &lifetimes[order[i]]);
}

static ppsched_status colour_all(struct ppi_slots *slots, ppsched_error *error)
{
    const struct ppi_host *host = &slots->host;
    size_t count = slots->lifetime_count;
    struct colouring colouring = {.order = ppi_allocate(host, count, sizeof *colouring.order),
                                  .scratch = ppi_allocate(host, count, sizeof *colouring.scratch),
                                  .held.events = ppi_allocate(host, count, sizeof *colouring.held.events),
                                  .spare.events = ppi_allocate(host, count, sizeof *colouring.spare.events)};
    bool has_room = colouring.order != NULL && colouring.scratch != NULL && colouring.held.events != NULL &&
                    colouring.spare.events != NULL;
    for (size_t i = 0; has_room && i < slots->arena_count; i++)
        colour(&colouring, &slots->arenas[i], slots->lifetimes + slots->arenas[i].first);
    ppi_release(host, colouring.spare.events);
    ppi_release(host, colouring.held.events);
    ppi_release(host, colouring.scratch);
    ppi_release(host, colouring.order);
    return has_room ? PPSCHED_OK : ppi_fail_memory(error, "the slots");
}

/* --- receives of a stage graph --- */

/* A received value: its lifetime, and the place at its other end. */
struct received {
    ppsched_lifetime lifetime;
    uint32_t place;
};

static bool is_same_arena(const struct received *a, const struct received *b)
{
    return a->lifetime.stage == b->lifetime.stage && a->lifetime.kind == b->lifetime.kind && a->place == b->place;
}

static bool is_received_before(const void *context, uint32_t a, uint32_t b)
{
    const struct received *x = (const struct received *)context + a, *y = (const struct received *)context + b;
    if (x->lifetime.stage != y->lifetime.stage)
        return x->lifetime.stage < y->lifetime.stage;
    if (x->lifetime.kind != y->lifetime.kind)
        return x->lifetime.kind == PPSCHED_KIND_RECV_F;
    return x->place != y->place ? x->place < y->place : x->lifetime.microbatch < y->lifetime.microbatch;
}

/* From the receive to the last op of its stage pass. */
static ppsched_status receive_at(struct received *out, const struct finding *finding, uint32_t position, ppsched_error *error)
{
    const ppsched_op *op = &finding->queue->ops[position];
    struct ppi_transfer transfer;
    if (!is_here(finding, op))
        return fail_op(finding, op, "whose stage is on another device", error);
    if (!ppi_transfer_of(finding->schedule, op, finding->queue->device, &transfer))
        return fail_op(finding, op, "which no other device sends", error);
    const struct pass *pass = pass_of(finding, op);
    const bool ends_late = has_backward(finding, op->stage);
    const uint32_t last = ends_late ? pass->last : pass->first;
    if (last < position)
        return fail_op(finding, op, ends_late ? "after the backward of its stage pass" : "after its forward", error);
    *out = (struct received){{ppi_micro_slice_of(&finding->schedule->shape, op), op->stage, op->kind, 0, position, last},
                             op->reserved};
    return PPSCHED_OK;
}

/* Puts the received values in order, an arena after another. */
static ppsched_status put_received(struct finding *finding, const struct received *all, const uint32_t *order, uint32_t count,
                                   ppsched_error *error)
{
    struct ppi_slots *slots = finding->slots;
    for (uint32_t i = 0; i < count; i++) {
        const struct received *own = &all[order[i]], *before = i > 0 ? &all[order[i - 1]] : NULL;
        const bool goes_on = before != NULL && is_same_arena(own, before);
        if (goes_on && own->lifetime.microbatch == before->lifetime.microbatch)
            return fail_op(finding, &finding->queue->ops[own->lifetime.first], "a second time", error);
        if (!goes_on)
            slots->arenas[slots->arena_count++] = (ppsched_arena){
                .stage = own->lifetime.stage, .kind = own->lifetime.kind, .first = i};
        slots->arenas[slots->arena_count - 1].count++;
        put(finding, own->lifetime);
    }
    return colour_all(slots, error);
}

static ppsched_status list_receives_on_graph(struct finding *finding, ppsched_error *error)
{
    const struct ppi_host *host = &finding->schedule->host;
    struct received *all = ppi_allocate(host, finding->queue->count, sizeof *all);
    uint32_t *order = ppi_allocate(host, finding->queue->count, 2 * sizeof *order), count = 0;
    ppsched_status status = all != NULL && order != NULL ? PPSCHED_OK : ppi_fail_memory(error, "the slots");
    for (uint32_t i = 0; i < finding->queue->count && status == PPSCHED_OK; i++)
        if (ppi_is_receive(finding->queue->ops[i].kind)) {
            status = receive_at(&all[count], finding, i, error);
            order[count] = count;
            count++;
        }
    if (status == PPSCHED_OK)
        status = put_received(finding, all, ppi_sort(order, order + finding->queue->count, count, is_received_before, all),
                              count, error);
    ppi_release(host, order);
    ppi_release(host, all);
    return status;
}

/* --- all of it --- */

static ppsched_status make_room(struct finding *finding, ppsched_error *error)
{
    const struct ppi_host *host = &finding->schedule->host;
    size_t cells;
    finding->rows = ppi_allocate(host, finding->schedule->shape.stages, 2 * sizeof *finding->rows);
    if (finding->rows == NULL)
        return ppi_fail_memory(error, "the slots");
    finding->stages = finding->rows + finding->schedule->shape.stages;
    find_rows(finding);
    cells = (size_t)finding->row_count * finding->micro_slices;
    finding->passes = ppi_allocate(host, cells, sizeof *finding->passes);
    finding->slots->lifetimes = ppi_allocate(host, finding->queue->count, sizeof *finding->slots->lifetimes);
    const size_t arenas = graph_of(finding) != NULL ? finding->queue->count : 2 * (size_t)finding->row_count;
    finding->slots->arenas = ppi_allocate(host, arenas + 1, sizeof *finding->slots->arenas);
    if (finding->passes == NULL || finding->slots->lifetimes == NULL || finding->slots->arenas == NULL)
        return ppi_fail_memory(error, "the slots");
    for (size_t i = 0; i < cells; i++)
        finding->passes[i] = (struct pass){PPSCHED_NONE, PPSCHED_NONE, {PPSCHED_NONE, PPSCHED_NONE}, false};
    return PPSCHED_OK;
}

static ppsched_status find(struct finding *finding, int32_t use, ppsched_error *error)
{
    ppsched_status status = make_room(finding, error);
    if (status == PPSCHED_OK)
        status = note_queue(finding, error);
    if (status == PPSCHED_OK)
        status = check_complete(finding, error);
    if (status == PPSCHED_OK && use == PPSCHED_SLOT_USE_RECEIVE && graph_of(finding) != NULL)
        return list_receives_on_graph(finding, error);
    if (status == PPSCHED_OK && (finding->is_forward_only || graph_of(finding) != NULL))
        status = note_reads(finding, error);
    if (status != PPSCHED_OK)
        return status;
    if (use == PPSCHED_SLOT_USE_RECEIVE)
        status = list_receives(finding, error);
    else if (use == PPSCHED_SLOT_USE_MICROBATCH)
        list_microbatches(finding);
    else
        list_passes(finding);
    return status == PPSCHED_OK ? colour_all(finding->slots, error) : status;
}

ppsched_status ppi_slots_make(struct ppi_slots *out, const ppsched_schedule *schedule, uint32_t device, int32_t use,
                              ppsched_error *error)
{
    struct ppi_slots slots = {.host = schedule->host};
    struct finding finding = {.schedule = schedule,
                              .queue = &schedule->queues[device],
                              .slots = &slots,
                              .is_forward_only = ppi_is_forward_only(schedule),
                              .micro_slices = ppi_total_micro_slices(&schedule->shape)};
    ppsched_status status = find(&finding, use, error);
    ppi_release(&schedule->host, finding.passes);
    ppi_release(&schedule->host, finding.rows);
    if (status != PPSCHED_OK)
        ppi_slots_clear(&slots);
    else
        *out = slots;
    return status;
}

void ppi_slots_clear(struct ppi_slots *slots)
{
    ppi_release(&slots->host, slots->lifetimes);
    ppi_release(&slots->host, slots->arenas);
}
