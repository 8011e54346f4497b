/* SPDX-License-Identifier: Apache-2.0 */
/* Devices run until they wait, as in the sweeps of the evaluator. A device that waits is in the list of the one that it waits
 * for, and is looked at when that has run. Sums are made in the order of the evaluator's, so that they are equal to the last
 * bit. */
#include "steady/ends.h"

#include "base/checked.h"
#include "ir/other_memory.h"

/* Progress of a device. */
struct track {
    double clock, busy, memory, peak, peak_time, first_start;
    size_t next, peak_position; /* positions in the queue */
    size_t wanted;              /* index of the end that it waits for */
    uint32_t waiting, behind;   /* the first device that waits for this one; the next that waits for the same */
};

struct sweep {
    const struct ppi_steady_order *order;
    const struct ppi_instance *instances;
    const uint32_t *device_of;
    uint32_t micro_slices, stages, devices;
    struct track *tracks;
    uint32_t *ready; /* stack of devices that can continue */
    uint32_t ready_count;
    bool is_invalid; /* an op comes before what it needs of its own stage pass */
};

bool ppi_may_time_ends(const struct ppi_strategy *strategy, const ppsched_config *config)
{
    return !strategy->overlaps && !config->senders_wait && config->windows == NULL && !ppi_holds_more(config);
}

/* --- ends --- */

static void wait_for(struct sweep *sweep, uint32_t device, size_t end, uint32_t other)
{
    struct track *track = &sweep->tracks[device];
    track->wanted = end;
    track->behind = sweep->tracks[other].waiting;
    sweep->tracks[other].waiting = device;
}

/* Makes the devices ready that wait for what this one has run by now. */
static void wake(struct sweep *sweep, uint32_t device)
{
    uint32_t next = sweep->tracks[device].waiting;
    sweep->tracks[device].waiting = PPSCHED_NONE;
    for (uint32_t d; (d = next) != PPSCHED_NONE;) {
        next = sweep->tracks[d].behind;
        if (sweep->order->ends[sweep->tracks[d].wanted] >= 0)
            sweep->ready[sweep->ready_count++] = d;
        else
            wait_for(sweep, d, sweep->tracks[d].wanted, device);
    }
}

/* Raises `*start` to when an output of another stage instance is there; false where that is not known yet. */
static inline bool after(struct sweep *sweep, uint32_t device, size_t input, uint32_t stage, double delay, double *start)
{
    const double there = sweep->order->ends[input] + delay;
    if (sweep->order->ends[input] < 0) {
        wait_for(sweep, device, input, sweep->device_of[stage]);
        return false;
    }
    *start = there > *start ? there : *start;
    return true;
}

/* The same for all that an op waits for. */
static inline bool has_inputs(struct sweep *sweep, uint32_t device, struct ppi_steady_op op, uint32_t stage, double *start)
{
    const struct ppi_instance *own = &sweep->instances[stage];
    const double *ends = sweep->order->ends;
    const size_t cells = sweep->order->cells;
    if (op.kind == PPSCHED_KIND_F)
        return stage == 0 || after(sweep, device, op.cell - sweep->micro_slices, stage - 1, own->forward_delay, start);
    if (ends[op.kind == PPSCHED_KIND_W ? cells + op.cell : op.cell] < 0) {
        sweep->is_invalid = true;
        return false;
    }
    return op.kind == PPSCHED_KIND_W || stage + 1 == sweep->stages ||
           after(sweep, device, cells + op.cell + sweep->micro_slices, stage + 1, own->backward_delay, start);
}

/* Runs a device until it waits or its queue ends. */
static void run_device(struct sweep *sweep, uint32_t device)
{
    const struct ppi_steady_order *order = sweep->order;
    struct track *track = &sweep->tracks[device];
    const size_t count = order->devices[device].count;
    double clock = track->clock, busy = track->busy, memory = track->memory;
    size_t i = track->next;
    for (; i < count; i++) {
        const struct ppi_steady_op op = ppi_steady_op_at(order, device, i);
        const uint32_t stage = op.cell / sweep->micro_slices;
        const struct ppi_instance *own = &sweep->instances[stage];
        double start = clock;
        if (!has_inputs(sweep, device, op, stage, &start))
            break;
        if (i == 0)
            track->first_start = start;
        clock = start + own->duration[op.kind];
        order->ends[ppi_end_index(order, op)] = clock;
        busy += own->duration[op.kind];
        memory += own->memory[op.kind];
        if (memory > track->peak) {
            track->peak = memory;
            track->peak_position = i;
            track->peak_time = start;
        }
    }
    track->next = i;
    track->clock = clock;
    track->busy = busy;
    track->memory = memory;
}

static bool run_all(struct sweep *sweep)
{
    for (uint32_t d = sweep->devices; d-- > 0;)
        sweep->ready[sweep->ready_count++] = d;
    while (sweep->ready_count > 0) {
        const uint32_t device = sweep->ready[--sweep->ready_count];
        run_device(sweep, device);
        wake(sweep, device);
    }
    for (uint32_t d = 0; d < sweep->devices; d++)
        if (sweep->is_invalid || sweep->tracks[d].next < sweep->order->devices[d].count ||
            !ppi_is_finite(sweep->tracks[d].clock))
            return false;
    return true;
}

/* --- figures --- */

static void take_figures(ppsched_timeline *timeline, const struct sweep *sweep, const ppsched_config *config)
{
    for (uint32_t d = 0; d < sweep->devices; d++) {
        const struct track *track = &sweep->tracks[d];
        ppsched_device_metrics *figures = &timeline->devices[d];
        figures->peak_position = PPSCHED_NONE;
        ppi_device_figures(timeline, d, config); /* of an empty queue */
        figures->busy = track->busy;
        figures->first_start = track->first_start;
        figures->last_end = track->clock;
        figures->peak_memory = track->peak;
        if (track->peak_position == SIZE_MAX)
            continue;
        figures->peak_position = (uint32_t)track->peak_position;
        figures->peak_time = track->peak_time;
    }
    ppi_sum_up(timeline);
}

/* Runs all ops; false where an evaluation tells what is wrong. */
static bool run(ppsched_timeline *timeline, struct sweep *sweep, const ppsched_config *config)
{
    const size_t ends = sweep->order->kinds * sweep->order->cells;
    if (timeline->costs.factors != NULL || timeline->costs.rises != NULL)
        return false;
    for (size_t i = 0; i < ends; i++)
        sweep->order->ends[i] = -1;
    for (uint32_t d = 0; d < sweep->devices; d++) {
        const double memory = timeline->devices[d].static_memory;
        sweep->tracks[d] = (struct track){.memory = memory, .peak = memory, .peak_position = SIZE_MAX, .waiting = PPSCHED_NONE};
    }
    if (!run_all(sweep))
        return false;
    take_figures(timeline, sweep, config);
    return ppi_is_finite(timeline->metrics.peak_memory) && ppi_is_finite(sweep->devices * timeline->metrics.makespan);
}

ppsched_status ppi_time_ends(ppsched_timeline **out, struct ppi_steady_order *order, const ppsched_config *config,
                             bool wants_idle, struct ppi_arena *arena, ppsched_error *error)
{
    const ppsched_schedule *schedule = order->schedule;
    struct sweep sweep = {.order = order,
                          .device_of = schedule->placement.device_of,
                          .micro_slices = schedule->micro_slices,
                          .stages = schedule->shape.stages,
                          .devices = schedule->shape.devices};
    ppsched_timeline *timeline = NULL;
    ppsched_status status = ppi_timeline_make(&timeline, schedule, config, false, wants_idle, error);
    if (status != PPSCHED_OK)
        return status;
    order->ends = ppi_arena_take(arena, order->kinds * order->cells, sizeof *order->ends);
    sweep.tracks = ppi_arena_take(arena, sweep.devices, sizeof *sweep.tracks);
    sweep.ready = ppi_arena_take(arena, sweep.devices, sizeof *sweep.ready);
    status = ppi_arena_check(arena, "the steady state", error);
    if (status == PPSCHED_OK)
        status = ppi_costs_fill(&timeline->costs, config, &schedule->placement, error);
    if (status == PPSCHED_OK) {
        ppi_static_memory(timeline, config);
        sweep.instances = timeline->costs.instances;
        *out = run(timeline, &sweep, config) ? timeline : NULL;
        timeline->pairs_are_timed = timeline->costs.overlapped.values != NULL;
        timeline->costs.overlapped = (struct ppi_values){0}; /* the config's, which may not outlive this call */
        timeline->costs.pair_ends = timeline->costs.input_pairs = NULL;
    }
    if (status != PPSCHED_OK || *out == NULL)
        ppi_timeline_destroy(timeline);
    return status;
}

/* --- idle time --- */

/* Splits the wait before an op, as the evaluator does. */
static void split_wait(const struct ppi_steady_order *order, const struct ppi_costs *costs, struct ppi_steady_op op,
                       double start, double *clock, bool has_computed, ppsched_idle *idle)
{
    const uint32_t micro_slices = order->schedule->micro_slices, stage = op.cell / micro_slices;
    const bool is_forward = op.kind == PPSCHED_KIND_F;
    double made = 0;
    if (op.kind != PPSCHED_KIND_W && (is_forward ? stage > 0 : stage + 1 < order->schedule->shape.stages)) {
        const struct ppi_instance *own = &costs->instances[stage];
        const struct ppi_steady_op input = {is_forward ? op.cell - micro_slices : op.cell + micro_slices, op.kind};
        const double end = order->ends[ppi_end_index(order, input)];
        made = end + (is_forward ? own->forward_delay : own->backward_delay) > 0 ? end : 0;
    }
    ppi_add_waiting_for_neighbour(idle, has_computed, ppi_part_of_wait(clock, made, start));
    idle->transfer += ppi_part_of_wait(clock, start, start);
}

/* Splits the waits of a device's ops from position `from` to `to`; returns when the last of them ends. */
static double split_ops(const struct ppi_steady_order *order, const struct ppi_costs *costs, uint32_t device,
                        const struct ppi_repeated_part *part, ppsched_idle *idle)
{
    double clock = 0;
    if (part->from > 0)
        clock = order->ends[ppi_end_index(order, ppi_steady_op_at(order, device, part->from - 1))];
    for (size_t i = part->from; i < part->to; i++) {
        const struct ppi_steady_op op = ppi_steady_op_at(order, device, i);
        const double end = order->ends[ppi_end_index(order, op)], start = ppi_start_by_end(order, costs, op);
        if (start > clock)
            split_wait(order, costs, op, start, &clock, i > 0, idle);
        clock = end;
    }
    return clock;
}

void ppi_find_idle_by_ends(const struct ppi_steady_order *order, ppsched_timeline *timeline,
                           const struct ppi_repeated_part *parts, double times)
{
    for (uint32_t d = 0; d < order->schedule->shape.devices; d++) {
        const struct ppi_repeated_part whole = {0, order->devices[d].count};
        const double makespan = timeline->metrics.makespan;
        ppsched_idle idle = {.size = sizeof idle}, more = {0};
        double clock = split_ops(order, &timeline->costs, d, &whole, &idle);
        idle.drain += ppi_part_of_wait(&clock, makespan, makespan);
        split_ops(order, &timeline->costs, d, &parts[d], &more);
        idle.neighbour += times * more.neighbour;
        idle.transfer += times * more.transfer;
        timeline->idle[d] = idle;
    }
}
