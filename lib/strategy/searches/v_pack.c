/* SPDX-License-Identifier: Apache-2.0 */
#include "strategy/searches/v_pack.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"

enum { FARTHEST = 64 }; /* places by which an op moves to the front at most, so that packing is linear */

ppsched_status ppi_v_pack_make(struct ppi_v_pack *out, const struct ppi_v_planner *p, ppsched_error *error)
{
    const struct ppi_host *host = &p->costs.host;
    struct ppi_v_pack pack = {0};
    size_t slots = PPI_V_SLOTS * (size_t)p->devices;
    pack.packed = ppi_allocate(host, slots * p->microbatches, sizeof *pack.packed);
    pack.count = ppi_allocate(host, p->devices, sizeof *pack.count);
    pack.order = ppi_allocate(host, slots, sizeof *pack.order);
    pack.scratch = ppi_allocate(host, slots, sizeof *pack.scratch);
    pack.weight_end = ppi_allocate(host, 2 * (size_t)p->devices, sizeof *pack.weight_end);
    pack.last_forward = ppi_allocate(host, p->devices, sizeof *pack.last_forward);
    *out = pack;
    if (pack.packed != NULL && pack.count != NULL && pack.order != NULL && pack.scratch != NULL && pack.weight_end != NULL &&
        pack.last_forward != NULL)
        return PPSCHED_OK;
    ppi_v_pack_clear(out, p);
    return ppi_fail_memory(error, "the search");
}

void ppi_v_pack_clear(struct ppi_v_pack *pack, const struct ppi_v_planner *p)
{
    const struct ppi_host *host = &p->costs.host;
    ppi_release(host, pack->packed);
    ppi_release(host, pack->count);
    ppi_release(host, pack->order);
    ppi_release(host, pack->scratch);
    ppi_release(host, pack->weight_end);
    ppi_release(host, pack->last_forward);
    *pack = (struct ppi_v_pack){0};
}

/* --- the order --- */

/* Merges two sorted runs, [from, middle) and [middle, to). */
static void merge(const struct ppi_v_slot *slot, const uint32_t *in, uint32_t *out, size_t from, size_t middle, size_t to)
{
    for (size_t a = from, b = middle, k = from; k < to; k++) {
        bool second = a == middle || (b < to && slot[in[b]].phase < slot[in[a]].phase);
        out[k] = second ? in[b++] : in[a++];
    }
}

/* Sorts a pattern's slots by phase; equal ones stay in the order in which they were laid. */
static void sort(struct ppi_v_pack *pack, const struct ppi_v_pattern *pattern)
{
    size_t count = pattern->used;
    for (size_t i = 0; i < count; i++)
        pack->order[i] = (uint32_t)i;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t from = 0; from < count; from += 2 * width) {
            size_t middle = from + width < count ? from + width : count;
            size_t to = middle + width < count ? middle + width : count;
            merge(pattern->slot, pack->order, pack->scratch, from, middle, to);
        }
        uint32_t *sorted = pack->scratch;
        pack->scratch = pack->order;
        pack->order = sorted;
    }
}

/* --- packing --- */

static struct ppi_v_packed *packed_of(const struct ppi_v_pack *pack, const struct ppi_v_planner *p, uint32_t device)
{
    return pack->packed + (size_t)device * PPI_V_SLOTS * p->microbatches;
}

/* Where an op goes that can start at `ready` and adds memory: the first of the last places that has a gap for it. */
static uint32_t find_place(const struct ppi_v_packed *list, uint32_t count, double ready, double length, double added,
                           double limit)
{
    uint32_t best = count, least = count > FARTHEST ? count - FARTHEST : 0;
    for (uint32_t i = count; i > least && list[i - 1].end > ready && (added <= 0 || list[i - 1].held + added <= limit); i--) {
        double start = ppi_larger(ready, i > 1 ? list[i - 2].end : 0);
        bool fits = added <= 0 || (i > 1 ? list[i - 2].held : 0) + added <= limit;
        if (fits && start + length <= list[i - 1].start)
            best = i - 1;
    }
    return best;
}

/* Puts an op into its device's list; returns its end, infinite where memory does not allow it. */
static double pack_op(struct ppi_v_pack *pack, const struct ppi_v_planner *p, const struct ppi_v_stage *stage, uint8_t kind,
                      uint32_t microbatch, double ready)
{
    uint32_t device = stage->lane->device, *count = &pack->count[device];
    struct ppi_v_packed *list = packed_of(pack, p, device);
    double length = stage->lane->duration[kind], added = stage->lane->memory[kind], limit = p->device[device].limit;
    uint32_t place = find_place(list, *count, ready, length, added, limit);
    double start = place > 0 ? ppi_larger(ready, list[place - 1].end) : ready;
    double held = (place > 0 ? list[place - 1].held : 0) + added;
    if (added > 0 && held > limit)
        return PPI_INFINITE;
    memmove(&list[place + 1], &list[place], (*count - place) * sizeof *list);
    list[place] = (struct ppi_v_packed){
        start, start + length, held, {.microbatch = microbatch, .stage = (uint16_t)(stage - p->stage), .kind = kind}};
    for (uint32_t i = ++*count - 1; i > place; i--)
        list[i].held += added;
    return start + length;
}

/* When what a stage's next op needs is there and its last of that kind is over; infinite where that is not known. */
static double ready_at(const struct ppi_v_planner *p, const struct ppi_v_stage *stage, uint8_t kind, double last_weight_end)
{
    if (kind == PPSCHED_KIND_F)
        return ppi_larger(ppi_v_forward_arrival(p, stage), stage->forwards > 0 ? stage->forward_end[stage->forwards - 1] : 0);
    if (kind == PPSCHED_KIND_I)
        return ppi_larger(ppi_v_input_arrival(p, stage), stage->inputs > 0 ? stage->input_end[stage->inputs - 1] : 0);
    return stage->weights < stage->inputs ? ppi_larger(stage->input_end[stage->weights], last_weight_end) : PPI_INFINITE;
}

/* Packs the next op of a stage; false where what it needs is not there, or memory is short. */
static bool pack_next(struct ppi_v_pack *pack, struct ppi_v_planner *p, struct ppi_v_stage *stage, uint8_t kind)
{
    double *weight_end = &pack->weight_end[stage - p->stage], ready = ready_at(p, stage, kind, *weight_end);
    if (ready == PPI_INFINITE)
        return false;
    uint32_t *count = kind == PPSCHED_KIND_F ? &stage->forwards : kind == PPSCHED_KIND_I ? &stage->inputs : &stage->weights;
    double end = pack_op(pack, p, stage, kind, *count, ready);
    *(kind == PPSCHED_KIND_F   ? &stage->forward_end[*count]
      : kind == PPSCHED_KIND_I ? &stage->input_end[*count]
                               : weight_end) = end;
    ++*count;
    return end < PPI_INFINITE;
}

/* Packs all but the Ws that the pattern has behind a device's last F. */
static bool pack_ops(struct ppi_v_pack *pack, struct ppi_v_planner *p, const struct ppi_v_pattern *pattern)
{
    size_t left = (size_t)pattern->used * p->microbatches;
    for (uint32_t k = 0; left > 0; k++)
        for (uint32_t i = 0; i < pattern->used; i++) {
            const struct ppi_v_slot *slot = &pattern->slot[pack->order[i]];
            if (k < slot->turn || k - slot->turn >= p->microbatches)
                continue;
            struct ppi_v_stage *stage = &p->stage[slot->stage];
            left--;
            if (slot->kind == PPSCHED_KIND_W &&
                slot->start + (k - slot->turn) * pattern->period > pack->last_forward[stage->lane->device])
                continue;
            if (!pack_next(pack, p, stage, slot->kind))
                return false;
        }
    return true;
}

static void write_op(ppsched_op **next, const struct ppi_v_planner *p, const ppsched_op *of, uint8_t kind, double *clock)
{
    **next = *of;
    (*next)->kind = kind;
    ++*next;
    *clock += p->costs.lanes[of->stage].duration[kind];
}

/* Writes a device's ops, with the Ws that are left in the gaps, those of the oldest I first, and behind all others. Returns the
 * device's span. */
static double write_ops(struct ppi_v_pack *pack, const struct ppi_v_planner *p, uint32_t r, bool full_backward, ppsched_op *out)
{
    const struct ppi_v_packed *list = packed_of(pack, p, r), *end = list + pack->count[r], *due = list;
    double clock = list->start;
    for (const struct ppi_v_packed *next = list;; next++) {
        for (;; due++) {
            while (due < next && (due->op.kind != PPSCHED_KIND_I || due->op.microbatch < p->stage[due->op.stage].weights))
                due++;
            if (due == next)
                break;
            double length = p->costs.lanes[due->op.stage].duration[PPSCHED_KIND_W];
            if (!full_backward && next < end && clock + length > next->start)
                break;
            write_op(&out, p, &due->op, PPSCHED_KIND_W, &clock);
        }
        if (next == end)
            return clock - list->start;
        clock = next->end;
        *out++ = next->op;
    }
}

double ppi_v_pack(struct ppi_v_pack *pack, struct ppi_v_planner *p, const struct ppi_v_pattern *pattern, ppsched_op *ops)
{
    double span = 0;
    ppi_v_restart(p, ops);
    memset(pack->count, 0, p->devices * sizeof *pack->count);
    for (uint32_t r = 0; r < p->devices; r++)
        pack->last_forward[r] = pack->weight_end[r] = pack->weight_end[p->devices + r] = 0;
    for (uint32_t i = 0; i < pattern->used; i++) {
        const struct ppi_v_slot *slot = &pattern->slot[i];
        double *last = &pack->last_forward[p->costs.lanes[slot->stage].device];
        if (slot->kind == PPSCHED_KIND_F)
            *last = ppi_larger(*last, slot->start + (p->microbatches - 1) * pattern->period);
    }
    sort(pack, pattern);
    if (!pack_ops(pack, p, pattern))
        return PPI_INFINITE;
    for (uint32_t r = 0; r < p->devices; r++)
        span = ppi_larger(span, write_ops(pack, p, r, pattern->full_backward, ops + (size_t)r * PPI_V_SLOTS * p->microbatches));
    return span;
}
