/* SPDX-License-Identifier: Apache-2.0 */
/* Times give when each activation is available and when it is needed again. Reloads get places on their link from the last one
 * back, each as late as it is in time and before the next one. */
#include "offload/transfers.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "ir/builder.h"
#include "offload/offload.h"

/* Runs that wait for others to be merged with: each is at least twice as long as the next. */
enum { MOST_RUNS = 40 };

/* --- memory --- */

/* Numbers the stage instances of each device. */
static ppsched_status count_chunks(struct ppi_placing *placing, ppsched_error *error)
{
    const ppsched_schedule *schedule = placing->schedule;
    const struct ppi_placement *placement = &schedule->placement;
    uint32_t *count = ppi_allocate_zeroed(&schedule->host, schedule->shape.devices, sizeof *count);
    if (count == NULL)
        return ppi_fail_memory(error, "the offloads");
    for (uint32_t s = 0; s < schedule->shape.stages; s++)
        for (uint32_t copy = 0; copy < placement->copies; copy++) {
            size_t instance = (size_t)copy * schedule->shape.stages + s;
            placing->chunk_of[instance] = count[placement->device_of[instance]]++;
        }
    ppi_release(&schedule->host, count);
    return PPSCHED_OK;
}

/* What the transfers of each stage instance take and move. */
static void find_costs(const struct ppi_placing *placing)
{
    const struct ppi_values *moved = &placing->config->values[PPSCHED_QUANTITY_MEM_OFFLOAD];
    const uint32_t stages = placing->schedule->shape.stages;
    for (uint32_t i = 0; i < placing->schedule->placement.copies * stages; i++) {
        const uint32_t device = placing->schedule->placement.device_of[i], stage = i % stages;
        placing->costs[i] = (struct ppi_offload_cost){.offload = ppi_copy_time(placing->config, stage, true, device),
                                                      .reload = ppi_copy_time(placing->config, stage, false, device),
                                                      .latency = ppi_copy_latency(placing->config, device),
                                                      .moved = moved->values != NULL
                                                                   ? ppi_value_at(moved, stage)
                                                                   : placing->plain->costs.instances[i].memory[PPSCHED_KIND_F]};
    }
}

ppsched_status ppi_placing_make(struct ppi_placing *placing, ppsched_error *error)
{
    const ppsched_schedule *schedule = placing->schedule;
    const struct ppi_host *host = &schedule->host;
    size_t cells = ppi_cell_count(schedule), devices = schedule->shape.devices;
    placing->chunk_of = ppi_allocate(host, (size_t)schedule->placement.copies * schedule->shape.stages, sizeof(uint32_t));
    placing->costs = ppi_allocate(host, (size_t)schedule->placement.copies * schedule->shape.stages, sizeof *placing->costs);
    placing->transfer_of = ppi_allocate(host, cells, 3 * sizeof *placing->transfer_of);
    placing->transfers = ppi_allocate(host, cells, sizeof *placing->transfers);
    placing->keys = ppi_allocate(host, cells, sizeof *placing->keys);
    placing->ends = ppi_allocate(host, devices, sizeof *placing->ends);
    placing->free = ppi_allocate(host, devices, 3 * sizeof *placing->free);
    placing->picks = ppi_allocate_zeroed(host, devices, sizeof *placing->picks);
    placing->resident = ppi_allocate(host, cells, sizeof *placing->resident);
    placing->places = ppi_allocate_zeroed(host, devices, sizeof *placing->places);
    placing->spans = ppi_allocate(host, (size_t)schedule->op_count, sizeof *placing->spans);
    placing->taken = ppi_allocate(host, (size_t)schedule->op_count, 2 * sizeof *placing->taken);
    placing->numbers = ppi_allocate(host, (size_t)schedule->op_count, sizeof *placing->numbers);
    placing->states = ppi_allocate(host, cells, sizeof *placing->states);
    placing->copy_ends = ppi_allocate(host, cells, sizeof *placing->copy_ends);
    placing->copy_changes = ppi_allocate(host, cells, 2 * sizeof *placing->copy_changes);
    if (placing->chunk_of == NULL || placing->costs == NULL || placing->transfer_of == NULL || placing->transfers == NULL ||
        placing->keys == NULL || placing->ends == NULL || placing->free == NULL || placing->picks == NULL ||
        placing->resident == NULL || placing->places == NULL || placing->spans == NULL || placing->taken == NULL ||
        placing->numbers == NULL || placing->states == NULL || placing->copy_ends == NULL || placing->copy_changes == NULL)
        return ppi_fail_memory(error, "the offloads");
    placing->order = placing->transfer_of + cells;
    placing->scratch = placing->order + cells;
    placing->limits = placing->free + devices;
    placing->peaks = placing->limits + devices;
    if (schedule->op_count > 0)
        memcpy(placing->spans, placing->plain->spans, (size_t)schedule->op_count * sizeof *placing->spans);
    placing->released = placing->taken + schedule->op_count;
    for (size_t i = 0; i < schedule->op_count; i++) {
        placing->taken[i] = ppi_taken_by(placing->plain, &schedule->ops[i]);
        placing->released[i] = ppi_released_by(placing->plain, &schedule->ops[i]);
    }
    placing->has_plain_times = true;
    find_costs(placing);
    return count_chunks(placing, error);
}

void ppi_placing_clear(struct ppi_placing *placing)
{
    const struct ppi_host *host = &placing->schedule->host;
    ppi_release(host, placing->chunk_of);
    ppi_release(host, placing->costs);
    ppi_release(host, placing->transfer_of);
    ppi_release(host, placing->transfers);
    ppi_release(host, placing->keys);
    ppi_release(host, placing->ends);
    ppi_release(host, placing->free);
    ppi_release(host, placing->picks);
    ppi_release(host, placing->resident);
    ppi_release(host, placing->places);
    ppi_schedule_release(placing->placed);
    ppi_release(host, placing->spans);
    ppi_release(host, placing->taken);
    ppi_release(host, placing->numbers);
    ppi_release(host, placing->states);
    ppi_release(host, placing->copy_ends);
    ppi_release(host, placing->copy_changes);
}

/* --- transfers --- */

static uint32_t link_of(const ppsched_config *config, uint32_t device)
{
    const struct ppi_values *given = &config->values[PPSCHED_QUANTITY_HOST_LINK];
    double number = given->values != NULL ? ppi_value_at(given, device) : device;
    return number < config->shape.devices ? (uint32_t)number : 0; /* an invalid link is refused before */
}

bool ppi_may_share_links(const ppsched_config *config)
{
    for (uint32_t d = 0; d < config->shape.devices; d++)
        if (link_of(config, d) != d)
            return true;
    return false;
}

/* Lists the transfer of an F, or completes the one of a backward. Returns the number of the transfer of the stage pass. */
static uint32_t add_transfer(struct ppi_placing *placing, const ppsched_queue *queue, uint32_t position, uint32_t unit)
{
    const ppsched_op *op = &queue->ops[position];
    uint32_t *number = &placing->transfer_of[ppi_cell_of(placing->schedule, op)], device = queue->device;
    const ppsched_span *span = &placing->spans[queue->first + position];
    if (op->kind == PPSCHED_KIND_F && !ppi_recomputes(placing->plain, op)) {
        const size_t instance = ppi_keep_instance(placing->schedule, op);
        const struct ppi_offload_cost *cost = &placing->costs[instance];
        double factor = ppi_memory_factor_of(&placing->plain->costs, placing->schedule, op);
        *number = placing->count++;
        placing->transfers[*number] = (struct ppi_offload_transfer){
            .device = device,
            .link = link_of(placing->config, device),
            .chunk = placing->chunk_of[instance],
            .forward = unit,
            .ready = span->end,
            .offload = ppi_scaled_delay(cost->offload, cost->latency, factor),
            .reload = ppi_scaled_delay(cost->reload, cost->latency, factor),
            .moved = cost->moved * factor,
            .op = *op};
    } else if (ppi_is_backward(op->kind) && *number != PPSCHED_NONE) {
        placing->transfers[*number].backward = unit;
        placing->transfers[*number].due = span->start;
    }
    return *number;
}

/* Whether an op is of a stage pass of the first `chunks` chunks of its device; 0: of any. */
static bool may_go(const struct ppi_placing *placing, const ppsched_op *op, uint32_t chunks)
{
    return ppi_is_compute(op->kind) && (chunks == 0 || placing->chunk_of[ppi_keep_instance(placing->schedule, op)] < chunks);
}

void ppi_list_transfers(struct ppi_placing *placing, uint32_t chunks)
{
    const ppsched_schedule *schedule = placing->schedule;
    for (size_t i = 0; i < ppi_cell_count(schedule); i++)
        placing->transfer_of[i] = PPSCHED_NONE;
    placing->count = 0;
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        const ppsched_queue *queue = &schedule->queues[d];
        for (uint32_t i = 0; i < queue->count;) {
            uint32_t length = (uint32_t)ppi_unit_length(&queue->ops[i]);
            for (uint32_t k = i; k < i + length; k++)
                placing->numbers[queue->first + k] = may_go(placing, &queue->ops[k], chunks)
                                                         ? add_transfer(placing, queue, k, i)
                                                         : PPSCHED_NONE;
            i += length;
        }
        placing->ends[d] = placing->count;
    }
}

void ppi_note_times(struct ppi_placing *placing, bool are_plain)
{
    placing->has_plain_times = are_plain;
    placing->times = are_plain ? 0 : ++placing->given_times;
}

void ppi_date_transfers(const struct ppi_placing *placing)
{
    for (uint32_t i = 0; i < placing->count; i++) {
        struct ppi_offload_transfer *transfer = &placing->transfers[i];
        const ppsched_span *first = placing->spans + placing->schedule->queues[transfer->device].first;
        transfer->ready = first[transfer->forward].end;
        transfer->due = first[transfer->backward].start;
    }
}

void ppi_take_times(struct ppi_placing *placing, const ppsched_timeline *timeline)
{
    const ppsched_schedule *schedule = timeline->schedule;
    ppsched_span *to = placing->spans;
    if (timeline == placing->plain && placing->has_plain_times)
        return;
    ppi_note_times(placing, timeline == placing->plain);
    for (uint64_t i = 0; i < schedule->op_count; i++)
        if (!ppi_is_copy(schedule->ops[i].kind) && schedule->ops[i].kind != PPSCHED_KIND_OFFLOAD_WAIT)
            *to++ = timeline->spans[i];
    ppi_date_transfers(placing);
}

/* --- places on the links --- */

/* The end of the run that begins at `from`: keys do not fall. Where they all fall, the run is turned round. */
static uint32_t run_from(uint32_t *order, uint32_t from, uint32_t count, const double *keys)
{
    uint32_t to = from + 1;
    if (to < count && keys[order[to]] < keys[order[from]]) {
        while (to < count && keys[order[to]] < keys[order[to - 1]])
            to++;
        for (uint32_t a = from, b = to - 1; a < b; a++, b--) {
            const uint32_t moved = order[a];
            order[a] = order[b];
            order[b] = moved;
        }
    }
    while (to < count && keys[order[to]] >= keys[order[to - 1]])
        to++;
    return to;
}

/* Merges two runs that lie one after the other. */
static void merge_runs(const struct ppi_placing *placing, uint32_t from, uint32_t middle, uint32_t to)
{
    uint32_t *order = placing->order, *left = placing->scratch;
    const double *keys = placing->keys;
    const uint32_t count = middle - from;
    memcpy(left, order + from, count * sizeof *left);
    for (uint32_t a = 0, b = middle, k = from; a < count; k++)
        order[k] = b < to && keys[order[b]] < keys[left[a]] ? order[b++] : left[a++];
}

/* The transfers `first` to `last` - 1 that go, sorted by key; those of equal keys in the order of the list. Each device's are
 * mostly in order already: runs are merged, the shorter ones first. */
static const uint32_t *sorted(const struct ppi_placing *placing, uint32_t first, uint32_t last, uint32_t *count)
{
    uint32_t starts[MOST_RUNS + 1], runs = 0;
    *count = 0;
    for (uint32_t i = first; i < last; i++)
        if (placing->transfers[i].goes)
            placing->order[(*count)++] = i;
    for (uint32_t to = 0; to < *count;) {
        starts[runs++] = to;
        starts[runs] = to = run_from(placing->order, to, *count, placing->keys);
        while (runs > 1 && (to == *count || starts[runs - 1] - starts[runs - 2] < 2 * (to - starts[runs - 1]))) {
            merge_runs(placing, starts[runs - 2], starts[runs - 1], to);
            starts[--runs] = to;
        }
    }
    return placing->order;
}

void ppi_keep_shortest(const struct ppi_placing *placing, double share)
{
    for (uint32_t i = 0; i < placing->count; i++) {
        placing->transfers[i].goes = true;
        placing->keys[i] = placing->transfers[i].ready - placing->transfers[i].due; /* the longest first */
    }
    for (uint32_t d = 0, count; d < placing->schedule->shape.devices; d++) {
        const uint32_t *order = sorted(placing, ppi_first_transfer(placing, d), placing->ends[d], &count);
        double whole = 0, moved = 0;
        for (uint32_t i = 0; i < count; i++)
            whole += placing->transfers[order[i]].moved;
        for (uint32_t i = 0; i < count; i++) {
            moved += placing->transfers[order[i]].moved;
            placing->transfers[order[i]].stays = ppi_is_over_limit(moved, share * whole);
        }
    }
}

static void set_free(const struct ppi_placing *placing, double time)
{
    for (uint32_t d = 0; d < placing->schedule->shape.devices; d++)
        placing->free[d] = time;
}

/* Whether there are at least `prefetch_distance` ops between a stage pass's forward and its backward. */
static bool has_lead(const struct ppi_placing *placing, const struct ppi_offload_transfer *transfer)
{
    return transfer->backward - transfer->forward > placing->prefetch_distance;
}

/* When the first of these ops before the backward starts. */
static double lead_start(const struct ppi_placing *placing, const struct ppi_offload_transfer *transfer)
{
    return placing->spans[placing->schedule->queues[transfer->device].first + transfer->backward - placing->prefetch_distance]
        .start;
}

/* Of the transfers `first` to `last` - 1, whose links have no others. */
static void place_reloads(const struct ppi_placing *placing, uint32_t first, uint32_t last)
{
    uint32_t count;
    for (uint32_t i = first; i < last; i++) {
        struct ppi_offload_transfer *transfer = &placing->transfers[i];
        transfer->goes = transfer->is_picked && has_lead(placing, transfer);
        if (placing->is_forced)
            transfer->goes = transfer->goes && transfer->backward > transfer->forward + 1;
        placing->keys[i] = -transfer->due;
    }
    const uint32_t *order = sorted(placing, first, last, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct ppi_offload_transfer *transfer = &placing->transfers[order[i]];
        double end = ppi_smaller(transfer->due - placing->lead, placing->free[transfer->link]);
        transfer->start = placing->prefetch_distance > 0 ? lead_start(placing, transfer) : end - transfer->reload;
        if (placing->is_forced)
            transfer->start = placing->is_late && placing->prefetch_distance == 0
                                  ? transfer->due
                                  : ppi_larger(transfer->start, transfer->ready);
        else
            transfer->goes = transfer->start >= transfer->ready + transfer->offload;
        if (transfer->goes)
            placing->free[transfer->link] = transfer->start;
    }
}

/* Drops transfers whose offload is not done when their reload is to start. */
static void place_offloads(const struct ppi_placing *placing, uint32_t first, uint32_t last)
{
    uint32_t count;
    for (uint32_t i = first; i < last; i++)
        placing->keys[i] = placing->transfers[i].ready;
    const uint32_t *order = sorted(placing, first, last, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct ppi_offload_transfer *transfer = &placing->transfers[order[i]];
        double end = ppi_larger(transfer->ready, placing->free[transfer->link]) + transfer->offload;
        transfer->goes = placing->is_forced || end <= transfer->start;
        if (transfer->goes)
            placing->free[transfer->link] = end;
    }
}

/* Whether the transfers of a device are placed as they were last. */
static bool stays(const struct ppi_placing *placing, uint32_t device)
{
    const struct ppi_device_places *places = &placing->places[device];
    return places->is_known && places->is_forced == placing->is_forced && places->is_late == placing->is_late &&
           places->lead == placing->lead && places->picks == placing->picks[device].version && places->times == placing->times;
}

/* Finds out which devices must be placed. Those that share links depend on each other. */
static void note_changes(const struct ppi_placing *placing, bool shares_links)
{
    for (uint32_t d = 0; d < placing->schedule->shape.devices; d++)
        if (shares_links || !stays(placing, d))
            placing->places[d].is_known = false;
}

static void note_places(const struct ppi_placing *placing)
{
    for (uint32_t d = 0; d < placing->schedule->shape.devices; d++)
        if (!placing->places[d].is_known)
            placing->places[d] = (struct ppi_device_places){.is_known = true,
                                                            .is_forced = placing->is_forced,
                                                            .is_late = placing->is_late,
                                                            .lead = placing->lead,
                                                            .picks = placing->picks[d].version,
                                                            .times = placing->times};
}

/* Finds which of the picked transfers go, and when. */
static void place_all(const struct ppi_placing *placing)
{
    const bool shares_links = ppi_may_share_links(placing->config);
    const uint32_t devices = placing->schedule->shape.devices;
    note_changes(placing, shares_links);
    set_free(placing, PPI_INFINITE);
    for (uint32_t d = 0; d < devices && !shares_links; d++)
        if (!placing->places[d].is_known)
            place_reloads(placing, ppi_first_transfer(placing, d), placing->ends[d]);
    if (shares_links)
        place_reloads(placing, 0, placing->count);
    set_free(placing, 0);
    for (uint32_t d = 0; d < devices && !shares_links; d++)
        if (!placing->places[d].is_known)
            place_offloads(placing, ppi_first_transfer(placing, d), placing->ends[d]);
    if (shares_links)
        place_offloads(placing, 0, placing->count);
}

/* --- the schedule --- */

static ppsched_op copy_of(const struct ppi_offload_transfer *transfer, uint8_t kind)
{
    return ppi_op_beside(&transfer->op, transfer->op.stage, kind);
}

/* Writes a device's queue into reserved memory; `reloads` are its transfers that go, by start. Returns the number of ops. */
static size_t put_queue(ppsched_op *out, const struct ppi_placing *placing, const ppsched_queue *queue, const uint32_t *reloads,
                        const uint32_t *end)
{
    ppsched_op *to = out;
    for (uint32_t i = 0, length; i < queue->count; i += length) {
        const ppsched_op *unit = &queue->ops[i];
        const ppsched_span *span = &placing->spans[queue->first + i];
        length = (uint32_t)ppi_unit_length(unit);
        for (; reloads < end; reloads++) {
            const struct ppi_offload_transfer *transfer = &placing->transfers[*reloads];
            if (transfer->forward >= i || (span->end <= transfer->start && span->start < transfer->start))
                break;
            *to++ = copy_of(transfer, PPSCHED_KIND_RELOAD);
        }
        *to++ = unit[0];
        if (length > 1)
            *to++ = unit[1];
        for (uint32_t k = 0; k < length; k++) {
            const uint32_t number = unit[k].kind == PPSCHED_KIND_F ? placing->numbers[queue->first + i + k] : PPSCHED_NONE;
            if (number != PPSCHED_NONE && placing->transfers[number].goes)
                *to++ = copy_of(&placing->transfers[number], PPSCHED_KIND_OFFLOAD);
        }
    }
    return (size_t)(to - out);
}

/* Memory for each device's queue with its copies. */
static ppsched_status reserve(ppsched_builder *builder, const struct ppi_placing *placing, ppsched_error *error)
{
    size_t most = 0;
    for (uint32_t d = 0; d < placing->schedule->shape.devices; d++) {
        size_t count = placing->schedule->queues[d].count;
        for (uint32_t i = ppi_first_transfer(placing, d); i < placing->ends[d]; i++)
            count += placing->transfers[i].goes ? 2 : 0;
        most = count > most ? count : most;
    }
    return ppi_builder_reserve(builder, most, error);
}

/* Writes a device's queue into reserved memory. Returns the number of ops. */
static size_t put_device(ppsched_op *out, const struct ppi_placing *placing, uint32_t device)
{
    const uint32_t first = ppi_first_transfer(placing, device), last = placing->ends[device];
    uint32_t count;
    if (placing->places[device].is_known) {
        const ppsched_queue *queue = &placing->placed->queues[device];
        if (queue->count > 0)
            memcpy(out, queue->ops, queue->count * sizeof *out);
        return queue->count;
    }
    for (uint32_t i = first; i < last; i++)
        placing->keys[i] = placing->transfers[i].start;
    const uint32_t *reloads = sorted(placing, first, last, &count);
    return put_queue(out, placing, &placing->schedule->queues[device], reloads, reloads + count);
}

ppsched_status ppi_place_transfers(ppsched_schedule **out, struct ppi_placing *placing, ppsched_error *error)
{
    ppsched_builder *builder = NULL;
    ppsched_status status = ppi_builder_like(&builder, placing->schedule, error);
    place_all(placing);
    if (status == PPSCHED_OK)
        status = reserve(builder, placing, error);
    for (uint32_t d = 0; d < placing->schedule->shape.devices && status == PPSCHED_OK; d++) {
        struct ppi_segment *segment = &builder->segments[d];
        if (d > 0) /* without a gap */
            segment->ops = segment[-1].ops + segment[-1].count;
        segment->count = put_device(segment->ops, placing, d);
    }
    if (status == PPSCHED_OK)
        status = ppi_builder_finish(out, builder, error);
    ppi_builder_destroy(builder);
    if (status != PPSCHED_OK)
        return status;
    ppi_schedule_release(placing->placed);
    placing->placed = *out;
    ppi_schedule_retain(*out);
    note_places(placing);
    return PPSCHED_OK;
}
