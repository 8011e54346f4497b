/* SPDX-License-Identifier: Apache-2.0 */
/* Each device's ops are placed in a row sorted by time: an op looks back for the first gap after its inputs' arrival, up to
 * `look_back` ops. Devices take turns until all have run out of ops; a round without progress is a deadlock. */
#include "search/compact.h"

#include <string.h>

#include "base/checked.h"
#include "search/periodic.h"

/* A placed op. */
struct ppi_compact_op {
    double start, end;
    double memory; /* that it adds, in the current direction */
    ppsched_op op;
    int8_t held; /* stage passes that it adds to those held */
};

/* A device whose ops are placed one after another. */
struct ppi_compact_row {
    const ppsched_op *from;        /* the next op */
    struct ppi_compact_op *placed; /* sorted by time */
    size_t count, left;
    int32_t held;         /* stage passes held after the last op */
    double memory, limit; /* the same for memory; its limit */
};

ppsched_status ppi_compactor_make(struct ppi_compactor *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                                  ppsched_error *error)
{
    size_t links = (size_t)PPI_OPS_OF_PASS * problem->stages, ops = links * problem->microbatches;
    *out = (struct ppi_compactor){
        .problem = problem,
        .most = INT32_MAX,
        .look_back = 64, /* measured: docs/performance.md */
        .end = ppi_arena_take(arena, ops, sizeof *out->end),
        .delay = ppi_arena_take_zeroed(arena, links, sizeof *out->delay),
        .row = ppi_arena_take(arena, problem->devices, sizeof *out->row),
        .placed = ppi_arena_take(arena, ops, sizeof *out->placed),
    };
    ppsched_status status = ppi_arena_check(arena, "the search", error);
    for (uint32_t s = 0; s < problem->stages && status == PPSCHED_OK; s++) {
        out->delay[ppi_link_of(problem, s, PPSCHED_KIND_F)] = problem->stage[s].forward_delay;
        out->delay[ppi_link_of(problem, s, PPSCHED_KIND_I)] = problem->stage[s].backward_delay;
    }
    return status;
}

/* --- dependencies --- */

/* When an op's inputs allow it to start, in the current direction; negative where that is not known yet. `end`: where its own
 * end is noted. */
static inline double arrival_of(const struct ppi_compactor *c, uint32_t link, const double *end)
{
    size_t stages = c->problem->stages, chain = stages + stages, stride = c->problem->microbatches;
    double arrival = 0;
    if (!c->backwards) {
        if (link > 0) /* a W follows its I */
            arrival = end[-(ptrdiff_t)(stride * (link < chain ? 1 : stages))];
        return arrival < 0 ? arrival : arrival + c->delay[link];
    }
    if (link + 1 < chain) {
        arrival = end[stride];
        if (arrival < 0)
            return arrival;
        arrival += c->delay[link + 1];
    }
    if (link >= stages && link < chain) /* backwards, an I follows its W, on the same device */
        arrival = ppi_larger(arrival, end[stride * stages]);
    return arrival;
}

/* --- gaps --- */

/* The first position after `arrival`, at most `look_back` ops from the end. */
static inline size_t position_behind(const struct ppi_compact_row *row, uint32_t look_back, double arrival)
{
    size_t i = row->count, first = i > look_back ? i - look_back : 0;
    while (i > first && row->placed[i - 1].end > arrival)
        i--;
    return i;
}

/* The same for an op that takes memory: there must be enough from that position to the end. SIZE_MAX where there never is. */
static inline size_t position_with_memory(const struct ppi_compact_row *row, uint32_t look_back, double arrival, int32_t most,
                                          double limit)
{
    int32_t held = row->held;
    double memory = row->memory;
    size_t i = row->count, first = i > look_back ? i - look_back : 0;
    if (held > most || memory > limit)
        return SIZE_MAX;
    for (; i > first && row->placed[i - 1].end > arrival; i--) {
        held -= row->placed[i - 1].held;
        memory -= row->placed[i - 1].memory;
        if (held > most || memory > limit)
            break;
    }
    return i;
}

/* Places an op at `arrival` or later; false where it never fits into memory. */
static inline bool place(const struct ppi_compactor *c, struct ppi_compact_row *row, const ppsched_op *op, double arrival,
                         double *end)
{
    const struct ppi_stage *stage = &c->problem->stage[op->stage];
    struct ppi_compact_op *placed = row->placed;
    int32_t held = (op->kind == PPSCHED_KIND_F) - (op->kind == PPSCHED_KIND_W || op->kind == PPSCHED_KIND_B);
    double length = stage->duration[op->kind], memory = stage->memory[op->kind];
    if (c->backwards) {
        held = -held;
        memory = -memory;
    }
    size_t i = held > 0 || memory > 0 ? position_with_memory(row, c->look_back, arrival, c->most - held, row->limit - memory)
                                      : position_behind(row, c->look_back, arrival);
    if (i == SIZE_MAX)
        return false;
    double start = i > 0 && placed[i - 1].end > arrival ? placed[i - 1].end : arrival;
    for (; i < row->count && placed[i].start < start + length - c->rounding; i++)
        start = placed[i].end > start ? placed[i].end : start;
    if (i < row->count)
        memmove(&placed[i + 1], &placed[i], (row->count - i) * sizeof *placed);
    *end = start + length;
    placed[i] = (struct ppi_compact_op){start, *end, memory, *op, (int8_t)held};
    row->count++;
    row->held += held;
    row->memory += memory;
    return true;
}

/* --- the pass --- */

/* Places a device's ops until it waits or none is left; false where one cannot be placed. */
static bool run_device(const struct ppi_compactor *c, struct ppi_compact_row *row)
{
    for (; row->left > 0; row->left--, row->from += c->backwards ? -1 : 1) {
        const ppsched_op *op = row->from;
        uint32_t link = ppi_link_of(c->problem, op->stage, op->kind);
        double *end = &c->end[(size_t)link * c->problem->microbatches + op->microbatch];
        double arrival = arrival_of(c, link, end);
        if (arrival < 0)
            return true;
        if (!place(c, row, op, arrival, end))
            return false;
    }
    return true;
}

static bool goes_on(const struct ppi_compactor *c, size_t placed)
{
    enum { VISITS = 3 }; /* counted for a placed op */
    return c->poll == NULL || ppi_poll_spend(c->poll, VISITS * (double)placed, NULL) == PPSCHED_OK;
}

/* Places all ops; false where that is impossible. Devices take turns up and down the pipeline, as microbatches go. */
static bool run(struct ppi_compactor *c, const struct ppi_orders *orders, bool backwards)
{
    const struct ppi_problem *problem = c->problem;
    size_t ops = (size_t)PPI_OPS_OF_PASS * problem->stages * problem->microbatches, left = 0, before = SIZE_MAX;
    c->backwards = backwards;
    for (size_t i = 0; i < ops; i++)
        c->end[i] = -1;
    for (uint32_t d = 0; d < problem->devices; d++) {
        const ppsched_op *first = orders->ops + orders->first[d];
        c->row[d] = (struct ppi_compact_row){.from = backwards ? first + orders->count[d] - 1 : first,
                                             .placed = c->placed + orders->first[d],
                                             .limit = ppi_device_allows(&problem->device[d]),
                                             .left = orders->count[d]};
        left += orders->count[d];
    }
    for (uint32_t turn = 0; left > 0 && left < before; turn++) {
        before = left;
        for (uint32_t k = 0; k < problem->devices; k++) {
            struct ppi_compact_row *row = &c->row[turn % 2 == 0 ? k : problem->devices - 1 - k];
            left -= row->left;
            size_t before_it = row->left;
            if (!run_device(c, row) || !goes_on(c, before_it - row->left))
                return false;
            left += row->left;
        }
    }
    return left == 0;
}

bool ppi_compact(struct ppi_compactor *c, struct ppi_orders *orders, bool backwards, double *span)
{
    if (!run(c, orders, backwards))
        return false;
    *span = 0;
    for (uint32_t d = 0; d < orders->devices; d++) {
        const struct ppi_compact_row *row = &c->row[d];
        ppsched_op *op = orders->ops + orders->first[d];
        for (size_t i = 0; i < row->count; i++)
            op[backwards ? row->count - 1 - i : i] = row->placed[i].op;
        if (row->count > 0)
            *span = ppi_larger(*span, row->placed[row->count - 1].end - row->placed[0].start);
    }
    return true;
}

/* --- late Ws --- */

/* Removes the Ws after a device's last F from its ops; returns how many ops are left. */
static size_t drop_late_weights(ppsched_op *ops, size_t count)
{
    size_t left = count;
    while (left > 0 && ops[left - 1].kind != PPSCHED_KIND_F)
        left--;
    for (size_t i = left; i < count; i++)
        if (ops[i].kind != PPSCHED_KIND_W)
            ops[left++] = ops[i];
    return left;
}

/* Whether an op is an I whose W has not been placed. */
static bool misses_weight(const struct ppi_compactor *c, const ppsched_op *op)
{
    size_t link = ppi_link_of(c->problem, op->stage, PPSCHED_KIND_W);
    return op->kind == PPSCHED_KIND_I && c->end[link * c->problem->microbatches + op->microbatch] < 0;
}

/* Writes a device's ops and its missing Ws, each into the first gap after its I that fits it; returns the span. */
static double fill(const struct ppi_compactor *c, uint32_t d, ppsched_op *out)
{
    const struct ppi_compact_op *placed = c->row[d].placed, *end = placed + c->row[d].count, *due = placed;
    double first = placed < end ? placed->start : 0, clock = first;
    for (const struct ppi_compact_op *next = placed;; next++) {
        double until = next < end ? next->start : PPI_INFINITE;
        for (; due < next; due++) {
            if (!misses_weight(c, &due->op))
                continue;
            double length = c->problem->stage[due->op.stage].duration[PPSCHED_KIND_W];
            if (clock + length > until)
                break;
            *out = due->op;
            out++->kind = PPSCHED_KIND_W;
            clock += length;
        }
        if (next == end)
            return clock - first;
        clock = next->end;
        *out++ = next->op;
    }
}

bool ppi_compact_and_fill(struct ppi_compactor *c, struct ppi_orders *orders, double *span)
{
    for (uint32_t d = 0; d < orders->devices; d++)
        orders->count[d] = drop_late_weights(orders->ops + orders->first[d], orders->count[d]);
    if (!run(c, orders, false))
        return false;
    *span = 0;
    for (uint32_t d = 0; d < orders->devices; d++) {
        *span = ppi_larger(*span, fill(c, d, orders->ops + orders->first[d]));
        orders->count[d] = orders->first[d + 1] - orders->first[d];
    }
    return true;
}
