/* SPDX-License-Identifier: Apache-2.0 */
/* The check of a schedule with a stage graph: both parts, for stages that any stages feed, that leave out passes, and that run
 * on several devices. An op of several devices runs when it is next on all of them. An op that has run wakes the devices of all
 * stages that it may feed. */
#include <string.h>

#include "base/error.h"
#include "check/check.h"
#include "ir/stage_graph.h"

/* Which ops of a stage pass have run: bits by class. */
enum { FORWARD, BACKWARD, WEIGHT, CLASSES };

struct checking {
    const ppsched_schedule *schedule;
    const struct ppi_stage_graph *graph;
    struct ppi_findings *findings;
    bool is_forward_only;
    uint32_t micro_slices, seats, iteration_end;
    uint32_t *at[CLASSES]; /* positions by seat and micro-slice */
    uint8_t *done;         /* by stage and micro-slice */
    size_t *position;      /* by device */
    uint32_t *ready, ready_count;
    uint8_t *is_ready;
    uint32_t *walk; /* as in struct ppi_progress */
};

/* Why a device waits; as in progress.c. For a flush `other.kind` is 0. */
struct graph_wait {
    uint32_t position, other_device, other_position;
    ppsched_op other;
};

static int class_of(uint8_t kind)
{
    return kind == PPSCHED_KIND_F ? FORWARD : kind == PPSCHED_KIND_W ? WEIGHT : BACKWARD;
}

static size_t cell_of(const struct checking *c, const ppsched_op *op)
{
    return ppi_cell_of(c->schedule, op);
}

static uint32_t *place_of(const struct checking *c, uint32_t seat, const ppsched_op *op)
{
    return &c->at[class_of(op->kind)][(size_t)seat * c->micro_slices + ppi_micro_slice_of(&c->schedule->shape, op)];
}

/* Whether a stage has ops of a kind for a microbatch. */
static bool is_wanted(const struct checking *c, const ppsched_op *op)
{
    if (!ppi_stage_runs(c->graph, op->stage, op->microbatch))
        return false;
    if (op->kind == PPSCHED_KIND_F)
        return true;
    return ppi_stage_has_backward(c->graph, op->stage) &&
           (op->kind == PPSCHED_KIND_I || !ppi_stage_is_frozen(c->graph, op->stage));
}

/* --- the index --- */

static void find(const struct checking *c, int32_t kind, uint32_t device, uint32_t position, const ppsched_op *op,
                 uint32_t other_device, uint32_t other_position)
{
    ppsched_finding finding = {.kind = kind,
                               .device = device,
                               .position = position,
                               .other_device = other_device,
                               .other_position = other_position,
                               .op = *op};
    if (other_position != PPSCHED_NONE)
        finding.other = c->schedule->queues[other_device].ops[other_position];
    ppi_findings_add(c->findings, &finding);
}

static void index_graph_op(const struct checking *c, uint32_t device, uint32_t position)
{
    const ppsched_op *op = &c->schedule->queues[device].ops[position];
    uint32_t seat = ppi_seat_on(&c->schedule->placement, op->stage, device), home = PPSCHED_NONE;
    if (is_wanted(c, op))
        home = c->schedule->placement.device_of[op->stage];
    if (seat == PPSCHED_NONE || home == PPSCHED_NONE) {
        find(c, PPSCHED_FINDING_KIND_MISPLACED, device, position, op, home, PPSCHED_NONE);
        return;
    }
    uint32_t *place = place_of(c, seat, op);
    if (*place != PPI_ABSENT)
        find(c, PPSCHED_FINDING_KIND_DUPLICATE, device, position, op, device, *place);
    else
        *place = position;
}

static void add_missing_of_graph(const struct checking *c, uint8_t kind, uint32_t stage, uint32_t micro_slice, uint32_t device)
{
    const ppsched_op op = ppi_op_of_micro_slice(&c->schedule->shape, micro_slice, stage, kind);
    find(c, PPSCHED_FINDING_KIND_MISSING, device, PPSCHED_NONE, &op, PPSCHED_NONE, PPSCHED_NONE);
}

/* Checks a stage pass on one of its devices. */
static void check_graph_pass(const struct checking *c, uint32_t stage, uint32_t micro_slice, uint32_t seat, uint32_t device)
{
    const size_t cell = (size_t)seat * c->micro_slices + micro_slice;
    const uint32_t backward = c->at[BACKWARD][cell], weight = c->at[WEIGHT][cell];
    const bool frozen = ppi_stage_is_frozen(c->graph, stage);
    if (c->at[FORWARD][cell] == PPI_ABSENT)
        add_missing_of_graph(c, PPSCHED_KIND_F, stage, micro_slice, device);
    if (!ppi_stage_has_backward(c->graph, stage) || c->is_forward_only)
        return;
    if (backward == PPI_ABSENT) {
        add_missing_of_graph(c, weight == PPI_ABSENT && !frozen ? PPSCHED_KIND_B : PPSCHED_KIND_I, stage, micro_slice, device);
        return;
    }
    const bool full = c->schedule->queues[device].ops[backward].kind == PPSCHED_KIND_B;
    if (!full && !frozen && weight == PPI_ABSENT)
        add_missing_of_graph(c, PPSCHED_KIND_W, stage, micro_slice, device);
    if (full && weight != PPI_ABSENT)
        find(c, PPSCHED_FINDING_KIND_DUPLICATE, device, weight, &c->schedule->queues[device].ops[weight], device, backward);
}

/* Checks that a backward of several devices is of one kind on all of them. */
static void check_alike(const struct checking *c, uint32_t stage, uint32_t micro_slice, const uint32_t *devices, uint32_t i)
{
    const size_t first = (size_t)ppi_seat_of(c->graph, stage) * c->micro_slices + micro_slice,
                 own = first + (size_t)i * c->micro_slices;
    const uint32_t a = c->at[BACKWARD][first], b = c->at[BACKWARD][own];
    if (a == PPI_ABSENT || b == PPI_ABSENT)
        return;
    const ppsched_op *there = &c->schedule->queues[devices[0]].ops[a], *here = &c->schedule->queues[devices[i]].ops[b];
    if (here->kind != there->kind)
        find(c, PPSCHED_FINDING_KIND_CONFLICT, devices[i], b, here, devices[0], a);
}

/* Refuses a schedule with ops that graphs do not support. Called before the first finding: a call that fails writes none. */
static ppsched_status refuse_other_ops(const struct checking *c, ppsched_error *error)
{
    for (uint32_t d = 0; d < c->schedule->shape.devices; d++)
        for (size_t i = 0; i < c->schedule->queues[d].count; i++) {
            const ppsched_op *op = &c->schedule->queues[d].ops[i];
            if (!ppi_is_comm(op) && (!ppi_is_compute(op->kind) || ppi_unit_length(op) == 2))
                return ppi_refuse_graph(c->graph, "overlapped pairs, and ops other than F, B, I, W, sends and receives", error);
        }
    return PPSCHED_OK;
}

static void index_graph(const struct checking *c)
{
    const ppsched_schedule *schedule = c->schedule;
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        for (size_t i = 0; i < schedule->queues[d].count; i++)
            if (!ppi_is_comm(&schedule->queues[d].ops[i]))
                index_graph_op(c, d, (uint32_t)i);
    for (uint32_t s = 0; s < schedule->shape.stages; s++) {
        uint32_t count;
        const uint32_t *devices = ppi_devices_of(&schedule->placement, s, &count);
        for (uint32_t p = 0; p < c->micro_slices; p++)
            for (uint32_t i = 0; i < count && ppi_stage_runs(c->graph, s, p / schedule->shape.slices); i++) {
                check_graph_pass(c, s, p, ppi_seat_of(c->graph, s) + i, devices[i]);
                if (i > 0)
                    check_alike(c, s, p, devices, i);
            }
    }
}

/* --- the run --- */

static bool has_graph_op_run(const struct checking *c, const ppsched_op *op, uint32_t stage, uint32_t slice, uint8_t kind,
                             struct graph_wait *wait)
{
    ppsched_op other = ppi_op_beside(op, stage, kind);
    other.slice = (uint16_t)slice;
    if ((c->done[cell_of(c, &other)] >> class_of(kind) & 1) != 0)
        return true;
    wait->other_device = c->schedule->placement.device_of[stage];
    wait->other_position = *place_of(c, ppi_seat_of(c->graph, stage), &other);
    wait->other = wait->other_position != PPI_ABSENT ? c->schedule->queues[wait->other_device].ops[wait->other_position]
                                                     : other;
    return false;
}

static bool feeds_ran(const struct checking *c, const ppsched_op *op, struct graph_wait *wait)
{
    const struct ppi_feeds feeds = ppi_feeds_of(c->graph, op->kind, op->stage);
    for (uint32_t i = 0; i < feeds.count; i++)
        if (ppi_feed_runs(c->graph, &feeds, i, op->microbatch) &&
            !has_graph_op_run(c, op, feeds.stages[i], op->slice, op->kind == PPSCHED_KIND_F ? op->kind : PPSCHED_KIND_I, wait))
            return false;
    return true;
}

/* Whether the inputs from its own stage are there. */
static bool own_ran(const struct checking *c, const ppsched_op *op, struct graph_wait *wait)
{
    if (op->kind == PPSCHED_KIND_F)
        return op->slice == 0 || has_graph_op_run(c, op, op->stage, op->slice - 1u, PPSCHED_KIND_F, wait);
    if (op->kind == PPSCHED_KIND_W)
        return has_graph_op_run(c, op, op->stage, op->slice, PPSCHED_KIND_I, wait);
    return has_graph_op_run(c, op, op->stage, op->slice, PPSCHED_KIND_F, wait) &&
           (op->slice + 1u == c->schedule->shape.slices ||
            has_graph_op_run(c, op, op->stage, op->slice + 1u, PPSCHED_KIND_I, wait));
}

/* Whether an op is next on all its devices. */
static bool is_next_everywhere(const struct checking *c, const ppsched_op *op, struct graph_wait *wait)
{
    uint32_t count;
    const uint32_t *devices = ppi_devices_of(&c->schedule->placement, op->stage, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = *place_of(c, ppi_seat_of(c->graph, op->stage) + i, op);
        if (at == c->position[devices[i]])
            continue;
        wait->other_device = devices[i];
        wait->other_position = at;
        wait->other = *op;
        return false;
    }
    return true;
}

/* Whether a device's next op is misplaced; no op depends on such an op. */
static bool is_passed_over(const struct checking *c, uint32_t device, const ppsched_op *op)
{
    return ppi_seat_on(&c->schedule->placement, op->stage, device) == PPSCHED_NONE || !is_wanted(c, op) ||
           *place_of(c, ppi_seat_on(&c->schedule->placement, op->stage, device), op) != c->position[device];
}

static bool may_run(const struct checking *c, uint32_t device, struct graph_wait *wait)
{
    const ppsched_op *op = &c->schedule->queues[device].ops[c->position[device]];
    *wait = (struct graph_wait){.position = (uint32_t)c->position[device]};
    if (op->microbatch >= c->iteration_end)
        return false;
    return is_passed_over(c, device, op) || (own_ran(c, op, wait) && feeds_ran(c, op, wait) && is_next_everywhere(c, op, wait));
}

static void wake(struct checking *c, uint32_t stage)
{
    uint32_t count;
    const uint32_t *devices = ppi_devices_of(&c->schedule->placement, stage, &count);
    for (uint32_t i = 0; i < count; i++)
        if (!c->is_ready[devices[i]]) {
            c->is_ready[devices[i]] = 1;
            c->ready[c->ready_count++] = devices[i];
        }
}

/* Moves on from an op, and over sends and receives, which the check ignores. */
static void advance(struct checking *c, uint32_t device)
{
    const ppsched_queue *queue = &c->schedule->queues[device];
    size_t *position = &c->position[device];
    for (++*position; *position < queue->count && ppi_is_comm(&queue->ops[*position]); ++*position)
        continue;
}

/* Runs the op that is next on a device, on all its devices. */
static void run_op(struct checking *c, uint32_t device, const ppsched_op *op)
{
    const struct ppi_feeds fed = ppi_fed_by(c->graph, op->kind, op->stage);
    uint32_t count;
    const uint32_t *devices = ppi_devices_of(&c->schedule->placement, op->stage, &count);
    if (is_passed_over(c, device, op)) {
        advance(c, device);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        advance(c, devices[i]);
    c->done[cell_of(c, op)] |= (uint8_t)(1 << class_of(op->kind));
    wake(c, op->stage);
    for (uint32_t i = 0; i < fed.count; i++)
        wake(c, fed.stages[i]);
}

static void run_graph(struct checking *c)
{
    struct graph_wait wait;
    for (uint32_t d = 0; d < c->schedule->shape.devices; d++) {
        c->is_ready[d] = 1;
        c->ready[c->ready_count++] = d;
    }
    while (c->ready_count > 0) {
        uint32_t d = c->ready[--c->ready_count];
        c->is_ready[d] = 0;
        while (c->position[d] < c->schedule->queues[d].count && may_run(c, d, &wait))
            run_op(c, d, &c->schedule->queues[d].ops[c->position[d]]);
    }
}

/* The first op of the current iteration that has not run; false if all have. */
static bool find_unflushed_of_graph(const struct checking *c, struct graph_wait *wait)
{
    for (uint32_t d = 0; d < c->schedule->shape.devices; d++) {
        const ppsched_queue *queue = &c->schedule->queues[d];
        for (size_t i = c->position[d]; i < queue->count; i++)
            if (queue->ops[i].microbatch < c->iteration_end && !ppi_is_comm(&queue->ops[i])) {
                *wait = (struct graph_wait){wait->position, d, (uint32_t)i, queue->ops[i]};
                return true;
            }
    }
    return false;
}

/* Follows the waits from each device that has stopped, as in progress.c: each device waits for one other. */
static void report_graph_waits(const struct checking *c)
{
    struct graph_wait wait;
    for (uint32_t start = 0; start < c->schedule->shape.devices; start++) {
        uint32_t d = start;
        bool cycle = false;
        while (c->position[d] < c->schedule->queues[d].count && (c->walk[d] == 0 || cycle)) {
            if (c->walk[d] == PPSCHED_NONE)
                break;
            c->walk[d] = cycle ? PPSCHED_NONE : start + 1;
            if (may_run(c, d, &wait) || (wait.other.kind == 0 && !find_unflushed_of_graph(c, &wait)))
                break;
            bool absent = wait.other_position == PPI_ABSENT;
            if (absent || cycle) {
                ppsched_finding finding = {.kind = absent ? PPSCHED_FINDING_KIND_BLOCKED : PPSCHED_FINDING_KIND_CYCLE,
                                           .device = d,
                                           .position = wait.position,
                                           .other_device = wait.other_device,
                                           .other_position = absent ? PPSCHED_NONE : wait.other_position,
                                           .op = c->schedule->queues[d].ops[wait.position],
                                           .other = wait.other};
                ppi_findings_add(c->findings, &finding);
            }
            if (absent)
                break;
            d = wait.other_device;
            cycle = cycle || c->walk[d] == start + 1;
        }
    }
}

static void run_iterations(struct checking *c)
{
    const struct ppi_shape *shape = &c->schedule->shape;
    uint32_t runs = c->schedule->flushes ? shape->iterations : 1;
    struct graph_wait wait = {0};
    for (uint32_t d = 0; d < shape->devices; d++)
        if (c->schedule->queues[d].count > 0 && ppi_is_comm(c->schedule->queues[d].ops))
            advance(c, d);
    for (uint32_t i = 0; i < runs; i++) {
        c->iteration_end = (i + 1) * (ppi_total_microbatches(shape) / runs);
        run_graph(c);
        if (find_unflushed_of_graph(c, &wait))
            break;
    }
    report_graph_waits(c);
}

/* --- all of it --- */

static ppsched_status take_room(struct checking *c, ppsched_error *error)
{
    const struct ppi_host *host = &c->schedule->host;
    const uint32_t devices = c->schedule->shape.devices;
    const size_t cells = (size_t)c->seats * c->micro_slices;
    bool is_short = false;
    for (int k = 0; k < CLASSES; k++) {
        c->at[k] = ppi_allocate(host, cells, sizeof *c->at[k]);
        is_short |= c->at[k] == NULL;
        if (c->at[k] != NULL)
            memset(c->at[k], 0xFF, cells * sizeof *c->at[k]); /* all PPI_ABSENT */
    }
    c->done = ppi_allocate_zeroed(host, ppi_cell_count(c->schedule), 1);
    c->position = ppi_allocate_zeroed(host, devices, sizeof *c->position);
    c->ready = ppi_allocate(host, devices, sizeof *c->ready);
    c->is_ready = ppi_allocate_zeroed(host, devices, 1);
    c->walk = ppi_allocate_zeroed(host, devices, sizeof *c->walk);
    if (is_short || c->done == NULL || c->position == NULL || c->ready == NULL || c->is_ready == NULL || c->walk == NULL)
        return ppi_fail_memory(error, "the check");
    return PPSCHED_OK;
}

static void clear_room(struct checking *c)
{
    const struct ppi_host *host = &c->schedule->host;
    for (int k = 0; k < CLASSES; k++)
        ppi_release(host, c->at[k]);
    ppi_release(host, c->done);
    ppi_release(host, c->position);
    ppi_release(host, c->ready);
    ppi_release(host, c->is_ready);
    ppi_release(host, c->walk);
}

ppsched_status ppi_check_graph(const ppsched_schedule *schedule, struct ppi_findings *findings, ppsched_error *error)
{
    const struct ppi_stage_graph *graph = schedule->placement.graph;
    struct checking c = {.schedule = schedule,
                         .graph = graph,
                         .findings = findings,
                         .is_forward_only = ppi_is_forward_only(schedule),
                         .micro_slices = ppi_total_micro_slices(&schedule->shape),
                         .seats = ppi_seat_of(graph, schedule->shape.stages)};
    ppsched_status status = take_room(&c, error);
    if (status == PPSCHED_OK)
        status = refuse_other_ops(&c, error);
    if (status == PPSCHED_OK) {
        index_graph(&c);
        run_iterations(&c);
    }
    clear_room(&c);
    return status;
}
